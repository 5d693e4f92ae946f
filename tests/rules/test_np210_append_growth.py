from __future__ import annotations

import pytest
from ast_rule_harness import outcome, region, rewritten

from gpuadvise.api import Match, Refusal, Rewrites
from gpuadvise.rules.np210_append_growth import CASES, append_growth

HEAD = "import numpy as np\n\n"

EQUAL = {
    "floats": ("xs = np.array([])", "xs = np.append(xs, i * 0.5)"),
    "list_at_first": ("xs = []", "xs = np.append(xs, i)"),
    "int_then_float": ("xs = np.array([1, 2])", "xs = np.append(xs, i + 0.25)"),
    "late_float": ("xs = np.array([1, 2])", "xs = np.append(xs, i if i < 5 else 0.5)"),
    "late_complex": ("xs = np.array([1.5])", "xs = np.append(xs, 1j if i == 6 else 2)"),
    "big_int": ("xs = np.array([1], dtype=np.int32)", "xs = np.append(xs, 2 ** (10 * i))"),
    "uint64_mix": (
        "xs = np.array([2**63], dtype=np.uint64)",
        "xs = np.append(xs, np.array([i], dtype=np.int64 if i % 2 else np.uint64))",
    ),
    "float32": ("xs = np.zeros(2, np.float32)", "xs = np.append(xs, np.float32(i) / 3)"),
    "float32_gets_python_float": ("xs = np.zeros(2, np.float32)", "xs = np.append(xs, i / 3)"),
    "bools": ("xs = np.array([True])", "xs = np.append(xs, i > 3)"),
    "strings": ("xs = np.array(['a'])", "xs = np.append(xs, 'b' * i)"),
    "string_after_number": ("xs = np.array([1.5])", "xs = np.append(xs, 'b' if i == 3 else i)"),
    "objects": ("xs = np.array([None])", "xs = np.append(xs, None if i else [i, i])"),
    "two_dimensional_start": ("xs = np.ones((2, 2))", "xs = np.append(xs, i)"),
    "piece_is_changed_later": (
        "xs = np.array([]); p = np.zeros(2)",
        "p += i; xs = np.append(xs, p); p *= 2",
    ),
    "nothing_mostly": ("xs = [3]", "\n        if i > 99:\n            xs = np.append(xs, i)"),
    "masked": (
        "xs = np.ma.array([1.0, 2.0], mask=[0, 1])",
        "xs = np.append(xs, np.ma.array([i * 1.0], mask=[i % 2]))",
    ),
    "big_endian": ("xs = np.array([1.0], '>f8')", "xs = np.append(xs, np.array([i], '>f8'))"),
    "empty_pieces": ("xs = np.array([1])", "xs = np.append(xs, [])"),
    "vstack_lists": ("xs = np.empty((0, 2))", "xs = np.vstack((xs, [i, i * i]))"),
    "vstack_from_flat": ("xs = np.array([1, 2])", "xs = np.vstack([xs, (i, i / 2)])"),
    "vstack_blocks": ("xs = np.eye(2)", "xs = np.vstack((xs, np.full((2, 2), i)))"),
    "hstack_flat": ("xs = np.array([0.0])", "xs = np.hstack((xs, [i, i]))"),
    "hstack_columns": ("xs = np.eye(2)", "xs = np.hstack((xs, [[i], [2]]))"),
    "columns": ("xs = np.array([1, 2])", "xs = np.column_stack((xs, np.array([i, i * 1.5])))"),
    "concatenate": ("xs = np.array([1, 2])", "xs = np.concatenate((xs, np.arange(i)))"),
    "concatenate_axis": (
        "xs = np.zeros((2, 1))",
        "xs = np.concatenate([xs, np.full((2, 1), i)], axis=1)",
    ),
    "append_axis": ("xs = np.zeros((1, 2), int)", "xs = np.append(xs, [[i, i]], axis=0)"),
    "misfit_raises": ("xs = np.zeros((1, 2))", "xs = np.vstack((xs, [1] * (2 + (i == 7))))"),
    "breaks": ("xs = np.array([])", "xs = np.append(xs, i)\n        if i == 4: break"),
    "two_places": (
        "xs = np.array([])",
        "\n        if i % 2:\n            xs = np.append(xs, i)\n"
        "        else:\n            xs = np.append(xs, -i)",
    ),
    "two_arrays": (
        "xs = np.array([]); ys = np.array([0])",
        "xs = np.append(xs, i); ys = np.append(ys, i * i)",
    ),
}


def program(before: str, body: str) -> str:
    out = "(xs, ys)" if "ys" in before else "xs"
    before = before.replace("; ", "\n    ")
    body = body.replace("; ", "\n        ")
    return (
        f"{HEAD}def f(n):\n    {before}\n    for i in range(n):\n        {body}\n    return {out}\n"
    )


@pytest.mark.parametrize("name", EQUAL)
@pytest.mark.parametrize("trips", [0, 1, 2, 9])
def test_the_grown_array_is_the_same(name, trips):
    text = program(*EQUAL[name])
    new = rewritten(append_growth, text, "f")
    assert "_all" in new and new != text
    assert outcome(new, f"f({trips})") == outcome(text, f"f({trips})")


def test_without_the_type_test_a_late_float_would_be_cut_off():
    text = program(*EQUAL["late_float"])
    new = rewritten(append_growth, text, "f")
    careless = new.replace("and np.promote_types(array.dtype, piece.dtype) == array.dtype", "")
    assert careless != new
    assert outcome(careless, "f(9)") != outcome(text, "f(9)")


REFUSED = {
    "while_size": ("while xs.size < n:\n        xs = np.append(xs, 1.0)", "reads xs"),
    "restarted": (
        "for i in n:\n        xs = np.append([], i)\n        xs = np.append(xs, i)",
        "assigns xs otherwise",
    ),
    "two_ways": (
        "for i in n:\n        xs = np.append(xs, i)\n        xs = np.hstack((xs, i))",
        "more than one way",
    ),
    "locals": (
        "for i in n:\n        xs = np.append(xs, i)\n        print(locals())",
        "locals",
    ),
    "else": (
        "for i in n:\n        xs = np.append(xs, i)\n    else:\n        print(1)",
        "else",
    ),
    "with": (
        "with open('/dev/null') as h:\n        for i in range(n):\n"
        "            xs = np.append(xs, i)",
        "half-way",
    ),
    "generator": (
        "g = (xs for _ in [0])\n    for i in range(n):\n        xs = np.append(xs, i)\n"
        "        next(g, 0)",
        "nested",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(name):
    body, reason = REFUSED[name]
    text = f"{HEAD}def f(n):\n    xs = np.array([])\n    {body}\n    return xs\n"
    answer = append_growth(region(text, "f"))
    assert isinstance(answer, Refusal)
    assert reason in answer.reason


def test_a_handler_that_would_catch_the_misfit_elsewhere_in_the_file():
    text = program("xs = np.eye(2)", "xs = np.vstack((xs, [i, i]))")
    text += "\ntry:\n    f(3)\nexcept ValueError:\n    print('misfit')\n"
    assert isinstance(append_growth(region(text, "f")), Refusal)
    harmless = text.replace("except ValueError", "except KeyError")
    assert isinstance(append_growth(region(harmless, "f")), Match)


def test_a_file_with_its_own_type():
    text = program("xs = np.eye(2)", "xs = np.vstack((xs, [i, i]))") + "\n\ntype = 'linear'\n"
    answer = append_growth(region(text, "f"))
    assert isinstance(answer, Refusal) and "another meaning" in answer.reason


def test_module_level_global_read_by_a_function():
    text = (
        f"{HEAD}xs = np.array([])\n\ndef show():\n    print(xs.size)\n\n"
        "for i in range(4):\n    xs = np.append(xs, i)\n    show()\n"
    )
    assert isinstance(append_growth(region(text)), Refusal)
    alone = text.replace("    print(xs.size)", "    print('-')") + "print(xs.tolist())\n"
    assert outcome(rewritten(append_growth, alone)) == outcome(alone)


@pytest.mark.parametrize(
    "text",
    [
        "import numpy as np\nnp = None\nxs = []\nfor i in range(3):\n    xs = np.append(xs, i)\n",
        "import other as np\nxs = []\nfor i in range(3):\n    xs = np.append(xs, i)\n",
        "import numpy as np\nxs = []\nfor i in range(3):\n    xs = np.append(i, xs)\n",
        "import numpy as np\nxs = []\nfor i in range(3):\n    xs = np.vstack((xs, i), dtype=int)\n",
        "import numpy as np\nxs = []\nfor i in range(3):\n    ys = np.append(xs, i)\n",
        "import numpy as np\nxs = np.eye(3)\nfor i in range(3):\n"
        "    xs = np.concatenate((xs, xs[:1]), axis=0, dtype=float)\n",
        "x = 1\nimport numpy as np\nxs = []\nfor i in range(3):\n    xs = np.append(xs, i)\n",
        "import numpy as np\nxs = []\nfor i in range(3):\n    xs = np.append(\n"
        "        xs,  # so far\n        i)\n",
    ],
)
def test_not_its_business(text):
    assert append_growth(region(text)) is None


def test_line_ends_tabs_comments_and_missing_last_line_end_survive():
    text = (
        b"import numpy as np\r\n\r\nxs = np.zeros(0)  # start\r\nfor i in range(3):\r\n"
        b"\t# grow\r\n\txs = np.append(xs, i)  # here"
    )
    new = rewritten(append_growth, text)
    assert "\n" not in new.replace("\r\n", "")
    assert "\t# grow\r\n\txs_pieces.append(np.array(i, subok=True))  # here\r\n" in new
    assert new.endswith("xs = _append_all(xs, xs_pieces)")
    assert new.startswith("import numpy as np\r\n\r\n\r\ndef _append_all(array, pieces):\r\n\t")


@pytest.mark.parametrize("case", [c for c in CASES if isinstance(c, Rewrites)])
def test_cases_hold_without_observation(case):
    new = rewritten(append_growth, case.before, case.function)
    call = f"{case.function}(*{case.inputs.removeprefix('args = ')})"
    assert outcome(new, call) == outcome(case.before, call)
    for part in case.contains:
        assert part in new
