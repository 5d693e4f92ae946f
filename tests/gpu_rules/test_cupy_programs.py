"""CuPy rules on whole programs: what they find, and that well-written ones draw nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gpuadvise.cases import static_chain
from gpuadvise.matching import looks_at
from gpuadvise.model import Mistake
from gpuadvise.patch import apply_edits
from gpuadvise.registry import rules

HERE = Path(__file__).parent
TARGETS = HERE.parents[1] / "targets" / "cuda"
CUPY = [rule for rule in rules() if rule.code.startswith("CP3")]
FOUND = {
    "damped_wave.py": {("CP304", 9)},
    "heat_monitor.py": {("CP301", 29), ("CP303", 31)},
    "image_stack.py": {("CP302", 16), ("CP303", 17), ("CP308", 18)},
    "peak_finder.py": {("CP307", 20), ("CP310", 12)},
    "kernels_in_loop.py": {("CP309", 7)},
    "top_level_walk.py": {("CP302", 11), ("CP304", 12), ("CP303", 14), ("CP303", 15)},
}
CLEAN = [*sorted((HERE / "cupy_clean").glob("*.py")), TARGETS / "cupy_resident.py"]
OTHERS = [TARGETS / name for name in ("numba_resident.py", "torch_well_fed.py")]


def mistakes(path: Path) -> list[tuple[str, Mistake]]:
    """Everything that the CuPy rules say of a file; every rewrite is applied and parsed."""
    text = path.read_text(encoding="utf-8")
    functions = [n.name for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    found = []
    for function in (None, *functions):
        try:
            chain = static_chain(text, function, path=path)
        except LookupError:
            continue
        for region in chain:
            for rule in (rule for rule in CUPY if looks_at(rule, region)):
                answer = rule.function(region)
                for mistake in answer if isinstance(answer, tuple) else ():
                    if mistake.match is not None:
                        ast.parse(apply_edits(region.source, mistake.match.edits))
                    found.append((rule.code, mistake))
    return found


@pytest.mark.parametrize("name", sorted(FOUND))
def test_mistakes_are_named_at_their_lines(name: str) -> None:
    found = {(code, m.line) for code, m in mistakes(HERE / "cupy_programs" / name)}
    assert found == FOUND[name]


@pytest.mark.parametrize("path", [*CLEAN, *OTHERS], ids=lambda path: path.stem)
def test_well_written_programs_draw_nothing(path: Path) -> None:
    assert [(code, m.line, m.what) for code, m in mistakes(path)] == []
