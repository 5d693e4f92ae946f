"""The bundled example programs: a catalogue, and a way to copy them.

Every other file of this folder is a program that runs on its own. It is data to gpuadvise: nothing
here imports it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpuadvise.errors import UsageProblem

_FOLDER = Path(__file__).parent

_DEFAULT_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "life_naive": ("200", "100"),
    "life_roll": ("300", "1103"),
    "mandelbrot": ("720", "300"),
    "heat": ("150", "240"),
    "pairwise": ("1800", "3"),
    "monte_carlo": ("120000", "52"),
    "nbody": ("150", "40"),
    "matrix_chain": ("120", "6"),
    "module_filter": ("1200000",),
    "grid_lists": ("90", "1200"),
    "refused": ("6000000",),
    "already_fast": ("1024", "20"),
}
"""What each program takes when it is started without arguments; also the order of the list."""
_ON_A_GPU: dict[str, str] = {
    "cupy_life": "CuPy",
    "cupy_pipeline": "CuPy",
    "cupy_polynomial": "CuPy",
    "cupy_resident": "CuPy",
    "numba_host_arrays": "numba-cuda",
    "numba_resident": "numba-cuda",
    "torch_inference": "PyTorch",
    "torch_training": "PyTorch",
    "torch_well_fed": "PyTorch",
}
"""Programs of the folder ``cuda``, which need an NVIDIA GPU and this package."""


@dataclass(frozen=True)
class Example:
    """One bundled program."""

    name: str
    """Its file name without ``.py``."""
    path: Path
    summary: str
    """First line of its docstring."""
    arguments: tuple[str, ...]
    """The sizes it uses when started without arguments, as they would be typed."""
    needs: str = ""
    """What it needs beyond what gpuadvise itself does; empty: nothing."""

    @property
    def source(self) -> str:
        """The program's text."""
        return self.path.read_text(encoding="utf-8")


class UnknownExample(UsageProblem):
    """There is no bundled program of that name."""


@cache
def catalogue() -> tuple[Example, ...]:
    """All bundled programs, the first journey's example first, those for a GPU last."""
    on_cpu = (_example(_FOLDER, name, args) for name, args in _DEFAULT_ARGUMENTS.items())
    on_gpu = (
        _example(_FOLDER / "cuda", name, (), f"an NVIDIA GPU and {package}")
        for name, package in _ON_A_GPU.items()
    )
    return (*on_cpu, *on_gpu)


def get(name: str) -> Example:
    """The program called ``name`` (``life_naive`` or ``life_naive.py``).

    Raises UnknownExample, with the names there are.
    """
    wanted = name.removesuffix(".py").replace("-", "_")
    for example in catalogue():
        if example.name == wanted:
            return example
    names = ", ".join(example.name for example in catalogue())
    raise UnknownExample(f"no example is called {name!r}; there are: {names}")


def copy(name: str, folder: Path) -> Path:
    """Write the program into ``folder`` (made if need be) and return the new file's path.

    Raises UnknownExample, and UsageProblem if a file of that name is there (nothing is
    overwritten) or the folder cannot be written.
    """
    example = get(name)
    path = folder / example.path.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # "x": an example the user has already edited must survive a second copy.
        with path.open("x", encoding="utf-8", newline="") as handle:
            handle.write(example.source)
    except FileExistsError as error:
        raise UsageProblem(f"{error.filename} is there already; nothing was overwritten") from error
    except OSError as error:
        raise UsageProblem(f"{path} cannot be written: {error.strerror}") from error
    return path


def _example(folder: Path, name: str, arguments: tuple[str, ...], needs: str = "") -> Example:
    file = folder / f"{name}.py"
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    summary = docstring.partition("\n")[0]
    return Example(name, file, summary, arguments, needs)
