"""Names bound on every path to a loop, and constants that another file rebinds."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gpuadvise.loopnest.definite import bound_before
from gpuadvise.loopnest.scope import Module, assigned_from_outside
from gpuadvise.model import Source
from gpuadvise.target import read_sources, resolve

BOUND: dict[str, tuple[str, set[str]]] = {
    "on one branch only": ("if a:\n    b = 1\nelse:\n    b = c = 2\n", {"a", "b"}),
    "a branch that leaves": ("if a:\n    b = 1\nelse:\n    raise ValueError\n", {"a", "b"}),
    "a loop that may not run": ("for i in a:\n    k = i\n", {"a"}),
    "a loop that surely runs": ("for i in range(3):\n    k = i\n", {"a", "i", "k"}),
    "a loop left early": ("for i in range(3):\n    if a: break\n    k = i\n", {"a"}),
    "tried": ("try:\n    n = int(a)\nexcept ValueError:\n    n = 2\n", {"a", "n"}),
    "tried, and not said what then": (
        "try:\n    n = 1\nexcept ValueError as e:\n    pass\n",
        {"a"},
    ),
    "finally": ("try:\n    n = 1\nfinally:\n    m = 2\n", {"a", "m", "n"}),
    "deleted": ("b = 1\ndel b\n", {"a"}),
    "with": ("with open(a) as g:\n    q = g.read()\n", {"a", "g", "q"}),
    "no end but break": ("while True:\n    b = 1\n    if a: break\n", {"a"}),
    "a case for all": (
        "match a:\n    case 1:\n        b = 1\n    case _:\n        b = 2\n",
        {"a", "b"},
    ),
    "a walrus": ("if (n := len(a)) > 1:\n    pass\n", {"a", "n"}),
}


def before_the_last_loop(text: str) -> set[str]:
    source = Source(Path("case.py"), text.encode())
    function = source.tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    loop = [n for n in ast.walk(function) if isinstance(n, ast.For) and "MARK" in ast.unparse(n)][
        -1
    ]
    found = bound_before(source, function, loop)
    assert found is not None
    return set(found)


@pytest.mark.parametrize("name", BOUND)
def test_bound_before(name: str) -> None:
    body, expected = BOUND[name]
    lines = [f"    {line}\n" for line in f"{body}for z in a: MARK".split("\n")]
    assert before_the_last_loop("def f(a):\n" + "".join(lines)) == expected


def test_an_inner_loop_misses_what_the_outer_one_binds_later() -> None:
    text = "def f(a):\n    for i in a:\n        for j in a: MARK\n        k = 1\n        del a\n"
    assert before_the_last_loop(text) == {"i"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import physics\nphysics.DT = 2\n", {"DT"}),
        ("from grid import Grid as G\nG.cell.size += 1\n", {"size"}),
        ("import physics as p\nsetattr(p, 'DT', 2)\n", {"DT"}),
        ("import physics\nfor k in names:\n    setattr(physics, k, 2)\n", {"*"}),
        ("import sys\nsys.modules['physics'].DT = 2\n", {"DT"}),
        ("import physics\nphysics.run(2)\nself.DT = 3\nbox.DT = 4\n", set()),
    ],
)
def test_assigned_from_outside(text: str, expected: set[str]) -> None:
    assert assigned_from_outside(ast.parse(text)) == expected


def test_what_another_file_rebinds_is_no_constant(tmp_path: Path) -> None:
    (tmp_path / "physics.py").write_text(
        "import math\nDT = 0.1\nN = 5\ndef force(x):\n    return x\n"
    )
    main = tmp_path / "main.py"
    main.write_text("import physics\nphysics.DT = 0.5\nphysics.force = abs\n")
    sources = read_sources(resolve((str(main),), None, tmp_path))
    module = Module(sources[tmp_path / "physics.py"])
    assert (module.constant("DT"), module.constant("N")) == (None, 5)
    assert set(module.functions) == set() and "math" in module.imports
