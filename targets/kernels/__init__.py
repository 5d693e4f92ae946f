"""The 30 kernels of the PolyBench suite as plain Python loops, over arrays and over lists.

Each file of ``arrays/`` and ``lists/`` is a program that runs on its own, written from the
kernel's mathematical definition: a function called like the file, ``data(n)`` that makes its
arguments by formula, and a ``main()`` that prints a checksum. Both forms print the same.
``python benchmarks/kernels.py`` shows what gpuadvise makes of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent

KINDS = ("arrays", "lists")

POLYBENCH = {
    "2mm": "two_mm",
    "3mm": "three_mm",
    "adi": "adi",
    "atax": "atax",
    "bicg": "bicg",
    "cholesky": "cholesky",
    "correlation": "correlation",
    "covariance": "covariance",
    "deriche": "deriche",
    "doitgen": "doitgen",
    "durbin": "durbin",
    "fdtd-2d": "fdtd_2d",
    "floyd-warshall": "floyd_warshall",
    "gemm": "gemm",
    "gemver": "gemver",
    "gesummv": "gesummv",
    "gramschmidt": "gramschmidt",
    "heat-3d": "heat_3d",
    "jacobi-1d": "jacobi_1d",
    "jacobi-2d": "jacobi_2d",
    "lu": "lu",
    "ludcmp": "ludcmp",
    "mvt": "mvt",
    "nussinov": "nussinov",
    "seidel-2d": "seidel_2d",
    "symm": "symm",
    "syr2k": "syr2k",
    "syrk": "syrk",
    "trisolv": "trisolv",
    "trmm": "trmm",
}
"""The suite's name of each kernel, and the name of its function and file here."""


@dataclass(frozen=True)
class Kernel:
    """One program: a kernel in one of its two forms."""

    title: str
    """As the suite calls it: ``"jacobi-2d"``."""
    function: str
    """Name of the function that does the work."""
    kind: str
    """``"arrays"`` or ``"lists"``."""

    @property
    def path(self) -> Path:
        """The program's file."""
        return _FOLDER / self.kind / f"{self.function}.py"

    @property
    def source(self) -> str:
        """The program's text."""
        return self.path.read_text(encoding="utf-8")


def kernels() -> tuple[Kernel, ...]:
    """All 60 programs, those over arrays first."""
    return tuple(Kernel(t, f, kind) for kind in KINDS for t, f in sorted(POLYBENCH.items()))
