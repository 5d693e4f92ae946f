"""The bundled programs: listed, copied, and each running alone as its docstring says."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import gpuadvise.targets as targets
from gpuadvise.errors import UsageProblem

SMALL = {
    "life_naive": ("20", "5"),
    "life_roll": ("20", "8"),
    "mandelbrot": ("40", "30"),
    "heat": ("12", "10"),
    "pairwise": ("40", "3"),
    "monte_carlo": ("50", "8"),
    "nbody": ("8", "3"),
    "matrix_chain": ("9", "3"),
    "module_filter": ("2000",),
    "grid_lists": ("20", "12"),
    "refused": ("400",),
    "already_fast": ("256", "2"),
}


ON_CPU = [example for example in targets.catalogue() if not example.needs]
ON_GPU = [example for example in targets.catalogue() if example.needs]


def test_every_program_of_the_folder_is_listed_once():
    folder = Path(targets.__file__).parent
    on_disk = sorted(p.stem for p in folder.glob("*.py") if p.stem != "__init__")
    assert sorted(e.name for e in ON_CPU) == on_disk
    assert set(SMALL) == set(on_disk)
    on_gpu = sorted(p.stem for p in (folder / "cuda").glob("*.py") if p.stem != "__init__")
    assert sorted(e.name for e in ON_GPU) == on_gpu


@pytest.mark.parametrize("example", ON_GPU, ids=lambda e: e.name)
def test_programs_for_a_gpu_say_what_they_need_and_take(example):
    package = {"cupy": "CuPy", "numba": "numba-cuda", "torch": "PyTorch"}
    assert example.needs == f"an NVIDIA GPU and {package[example.name.partition('_')[0]]}"
    assert example.summary.endswith(".") and len(example.summary) <= 100
    for option in ("--size", "--steps"):
        assert f'add_argument("{option}", type=int, default=' in example.source


@pytest.mark.parametrize("example", ON_CPU, ids=lambda e: e.name)
def test_docstring_says_what_it_is_and_how_to_start_it(example):
    docstring = ast.get_docstring(ast.parse(example.source))
    assert example.summary and example.summary.endswith(".")
    assert len(example.summary) <= 80
    assert f"Usage: python {example.name}.py [" in docstring
    assert docstring.count("[") == len(example.arguments)


@pytest.mark.parametrize("example", ON_CPU, ids=lambda e: e.name)
def test_defaults_are_those_of_the_program(example):
    for argument in example.arguments:
        assert argument in example.source.replace("_", "")


@pytest.mark.parametrize("name", SMALL)
def test_runs_alone_and_repeats(name, tmp_path):
    copied = targets.copy(name, tmp_path / "fresh")
    command = [sys.executable, "-W", "error", copied.name, *SMALL[name]]
    runs = [
        subprocess.run(command, cwd=copied.parent, capture_output=True, text=True, check=False)
        for _ in range(2)
    ]
    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
    assert runs[0].stderr == ""
    assert runs[0].stdout and runs[0].stdout == runs[1].stdout
    assert any(c.isdigit() for c in runs[0].stdout)
    assert [p.name for p in copied.parent.iterdir()] == [f"{name}.py"], "leaves files behind"


def test_copy_keeps_a_file_that_is_there(tmp_path):
    mine = tmp_path / "heat.py"
    mine.write_text("print('mine')\n")
    with pytest.raises(UsageProblem, match="already"):
        targets.copy("heat", tmp_path)
    assert mine.read_text() == "print('mine')\n"


def test_copy_is_byte_equal(tmp_path):
    example = targets.get("life-naive.py")
    assert targets.copy(example.name, tmp_path).read_bytes() == example.path.read_bytes()


def test_an_unknown_name_is_answered_with_the_names_there_are():
    with pytest.raises(targets.UnknownExample, match=r"no example is called 'lfie'.*life_naive"):
        targets.get("lfie")


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(UsageProblem, match="taken"):
        targets.copy("heat", tmp_path / "taken" / "below")
    with pytest.raises(UsageProblem, match="already"):
        targets.copy("heat", tmp_path / "taken")
