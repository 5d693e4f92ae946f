from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gpuadvise.codegen import ast_tools as tools
from gpuadvise.codegen import list_uses as lists
from gpuadvise.codegen import rolls
from gpuadvise.edits import apply_edits
from gpuadvise.model import Edit, Source


def source(text: str | bytes) -> Source:
    return Source(Path("program.py"), text if isinstance(text, bytes) else text.encode())


def applied(made: Source, *edits: Edit | None) -> str:
    assert None not in edits
    return apply_edits(made, [edit for edit in edits if edit is not None]).decode()


def loop_of(made: Source) -> ast.stmt:
    return next(n for n in ast.walk(made.tree) if isinstance(n, ast.For | ast.While))


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("for i in x:\n    pass\n", True),
        ("for i in x: pass  # c\n", True),
        ("a = 1; b = 2\nfor i in x: pass\n", True),
        ("if a:\n    for i in x: pass", True),
        ("\ufefffor i in x: pass\n", True),
    ],
)
def test_loops_stand_alone(text, alone):
    made = source(text)
    assert tools.stands_alone(made, loop_of(made)) is alone


def test_statements_that_share_a_line_do_not():
    made = source("a = 1; b = 2\nif a: b = 3\n")
    first, second, branch = made.tree.body
    assert not tools.stands_alone(made, first)
    assert not tools.stands_alone(made, second)
    assert isinstance(branch, ast.If)
    assert not tools.stands_alone(made, branch.body[0])


def test_lines_go_before_and_after_at_the_column():
    made = source("def f(x):\n\tfor i in x:\n\t\tpass  # é\n\n\treturn 1")
    loop = loop_of(made)
    new = applied(
        made,
        tools.insert_before(made, loop, ["a = 1", "if a:", "\tb = 2"]),
        tools.insert_after(made, loop, ["c = 3"]),
    )
    assert new == (
        "def f(x):\n\ta = 1\n\tif a:\n\t\tb = 2\n\tfor i in x:\n\t\tpass  # é\n\tc = 3\n\n"
        "\treturn 1"
    )


def test_after_the_last_line_of_a_file_without_line_end():
    made = source("for i in x:\r\n    pass")
    assert applied(made, tools.insert_after(made, loop_of(made), ["y = 1"])) == (
        "for i in x:\r\n    pass\r\ny = 1"
    )


def test_before_the_first_line_of_a_file_with_byte_order_mark():
    made = source(b"\xef\xbb\xbffor i in x: pass\n")
    new = apply_edits(made, [tools.insert_before(made, loop_of(made), ["y = 1"])])
    assert new == b"\xef\xbb\xbfy = 1\nfor i in x: pass\n"


def test_a_helper_goes_below_the_imports_and_two_equal_ones_are_one():
    made = source('"""Doc."""\nimport os\nimport numpy as np\nx = 1\n')
    edit = tools.below_imports(made, "numpy", ["def helper():", "    return 1"])
    new = applied(made, edit, edit)
    assert new.count("def helper") == 1
    assert "import numpy as np\n\n\ndef helper():\n    return 1\n\n\nx = 1\n" in new


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\nimport numpy as np\n",
        "import os\nif os:\n    import numpy as np\n",
        "import os; import numpy as np; x = 1\n",
    ],
)
def test_no_place_for_a_helper(text):
    assert tools.below_imports(source(text), "numpy", ["pass"]) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import numpy as np\n", "np"),
        ("import numpy\n", "numpy"),
        ("import numpy as np\ndef f(np): pass\n", None),
        ("import numpy as np\nfor np in (): pass\n", None),
        ("try:\n    import numpy as np\nexcept ImportError: np = None\n", None),
    ],
)
def test_name_of_numpy(text, name):
    assert tools.module_alias(source(text), "numpy") == name


def test_equal_sources_do_not_share_their_trees():
    one, two = source("for i in x: pass\n"), source("for i in x: pass\n")
    assert tools.block_of(one, loop_of(one)) is one.tree.body
    assert tools.block_of(two, loop_of(two)) is two.tree.body


def test_text_of_a_block_is_shifted_and_strings_over_lines_are_not():
    made = source("if a:\n    x = 1  # one\n    # two\n    for i in x:\n        y = (i,\n  2)\n")
    branch = made.tree.body[0]
    assert isinstance(branch, ast.If)
    assert tools.shifted(made, branch.body, "  ") == [
        "  x = 1  # one",
        "  # two",
        "  for i in x:",
        "      y = (i,",
        "  2)",
    ]
    text = source('x = """a\nb"""\n')
    assert tools.shifted(text, text.tree.body, "  ") is None


@pytest.mark.parametrize(
    ("use", "kept"),
    [
        ("len(xs)", False),
        ("xs[-1] + xs[0]", False),
        ("xs.append(1)", False),
        ("[x for x in xs]", False),
        ("3 in xs", False),
        ("f'{xs}'", False),
        ("f(*xs)", False),
        ("f(xs)", True),
        ("ys.append(xs)", True),
        ("(xs, 1)", True),
        ("xs is ys", True),
        ("xs.append", True),
        ("xs or ys", True),
        ("iter(xs)", True),
        ("enumerate(xs)", True),
        ("lambda: xs", True),
    ],
)
def test_who_may_hold_a_list(use, kept):
    made = source(f"{use}\n")
    uses = tools.loads(made.tree, "xs")
    assert all(lists.keeps_no_reference(made, each) for each in uses) is not kept


@pytest.mark.parametrize(
    ("call", "base", "shifts"),
    [
        ("np.roll(u, 1)", "u", {None: (1, 1)}),
        ("np.roll(self.u, -2, axis=1)", "self.u", {1: (-2, -2)}),
        ("np.roll(np.roll(u, 1, 0), -1, axis=0)", "u", {0: (0, 0)}),
        ("np.roll(u, (1, -3), axis=(0, 1))", "u", {0: (1, 1), 1: (-3, -3)}),
        ("np.roll(np.roll(u, i, 0), -i, 1)", "u", {0: (-1, 2), 1: (-2, 1)}),
    ],
)
def test_rolls_are_read(call, base, shifts):
    made = source(f"import numpy as np\n{call}\n")
    statement = made.tree.body[1]
    assert isinstance(statement, ast.Expr)
    roll = rolls.parse(made, statement.value)
    assert roll is not None and rolls.dotted(roll.base) == base
    assert roll.values({"i": (-1, 0, 2)}) == shifts


@pytest.mark.parametrize(
    "call",
    [
        "np.roll(f(u), 1)",
        "np.roll(u, 1.5)",
        "np.roll(u, True, 0)",
        "np.roll(u, k + 1, 0)",
        "np.roll(u, (1, 2), axis=0)",
        "np.roll(u, 1, axis=(0, 1))",
        "np.roll(u, *args)",
        "np.roll(np.roll(u, i, 0), j, 0)",
        "other.roll(u, 1)",
    ],
)
def test_rolls_that_are_not_read(call):
    made = source(f"import numpy as np\n{call}\n")
    statement = made.tree.body[1]
    assert isinstance(statement, ast.Expr)
    assert rolls.parse(made, statement.value) is None
