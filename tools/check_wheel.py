"""Compare an installed gpuadvise with the source tree: every module and data file must be there.

A sub-package that pyproject.toml does not list works in an editable install and is missing from
the wheel. Usage: python tools/check_wheel.py SOURCE_TREE, with the Python that has the wheel.
"""

import sys
from pathlib import Path

import gpuadvise

MAPPING = {"advisor": "", "rules": "rules", "targets": "targets"}


def main(tree: Path) -> int:
    """0 if the installed files equal those of the tree."""
    installed = Path(gpuadvise.__file__).parent
    if installed.is_relative_to(tree):
        print(f"gpuadvise is imported from the source tree: {installed}")
        return 1
    wrong = []
    count = 0
    for folder, inside in MAPPING.items():
        for path in sorted((tree / folder).rglob("*")):
            if path.is_dir() or "__pycache__" in path.parts:
                continue
            count += 1
            copy = installed / inside / path.relative_to(tree / folder)
            if not copy.exists() or copy.read_bytes() != path.read_bytes():
                wrong.append(str(path.relative_to(tree)))
    for name in wrong:
        print(f"missing or different in the wheel: {name}")
    print(f"{count} files compared, {len(wrong)} wrong")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
