"""numba.cuda rules on a GPU: every case and the bundled programs, before and after.

python benchmarks/gpu/rules_numba.py
"""

from __future__ import annotations

from pathlib import Path

from gpu_cases import cases_table, programs_table

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Print both tables."""
    cases_table("NC")
    programs = {
        ROOT / "targets" / "cuda" / "numba_host_arrays.py": ["--size", "1024", "--steps", "400"]
    }
    programs |= {p: [] for p in sorted((ROOT / "tests/gpu_rules/numba_programs").glob("*.py"))}
    programs_table(programs, "NC")


if __name__ == "__main__":
    main()
