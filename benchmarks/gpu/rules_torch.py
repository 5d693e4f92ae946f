"""PyTorch rules on a GPU: every case and the bundled programs, before and after.

python benchmarks/gpu/rules_torch.py
"""

from __future__ import annotations

from pathlib import Path

from gpu_cases import cases_table, programs_table

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Print both tables."""
    cases_table("PT")
    targets = ROOT / "targets" / "cuda"
    programs = {
        targets / "torch_training.py": ["--size", "60000", "--steps", "4"],
        targets / "torch_inference.py": ["--steps", "20000"],
    }
    programs |= {p: [] for p in sorted((ROOT / "tests/gpu_rules/torch_programs").glob("*.py"))}
    programs_table(programs, "PT")


if __name__ == "__main__":
    main()
