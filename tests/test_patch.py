"""Edits, indentation, imports and diffs on files as people really write them."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gpuadvise.model import Edit, Source
from gpuadvise.patch import (
    Overlap,
    PatchError,
    apply_edits,
    combine,
    free_name,
    from_import_edit,
    import_edit,
    indent_unit,
    reindent,
    replace_statement,
    unified_diff,
)

BOM = b"\xef\xbb\xbf"
STDLIB = Path(sysconfig.get_path("stdlib"))


def source(text: str | bytes, path: str = "/work/prog.py") -> Source:
    return Source(Path(path), text.encode() if isinstance(text, str) else text)


def first(src: Source, kind: type[ast.stmt]) -> ast.stmt:
    return next(node for node in ast.walk(src.tree) if isinstance(node, kind))


# ------------------------------------------------------------------- apply_edits
def test_bytes_outside_an_edit_stay() -> None:
    src = source(BOM + "x = 'é'  # ü\r\ny = 1\r\n\x0c\r\nz = 2".encode())
    start = src.data.index(b"1")
    assert apply_edits(src, [Edit(start, start + 1, "7")]) == src.data.replace(b"= 1", b"= 7")


def test_new_text_gets_the_files_line_ends() -> None:
    src = source("a = 1\r\nb = 2\r\n")
    assert apply_edits(src, [Edit(7, 7, "c = 3\nd = 4\r\n")]) == (
        b"a = 1\r\nc = 3\r\nd = 4\r\nb = 2\r\n"
    )


def test_old_macintosh_line_ends() -> None:
    src = source("a = 1\rfor i in [2]:\r    a += i\rb = 3\r")
    loop = first(src, ast.For)
    out = apply_edits(src, [replace_statement(src, loop, ["if a:", "    a += 2"])])
    assert out == b"a = 1\rif a:\r    a += 2\rb = 3\r"


def test_identical_edits_count_once_and_insertions_keep_their_order() -> None:
    src = source("x = 1\n")
    edits = [Edit(0, 0, "b = 1\n"), Edit(0, 0, "a = 1\n"), Edit(0, 0, "b = 1\n"), Edit(0, 1, "y")]
    assert apply_edits(src, edits) == b"b = 1\na = 1\ny = 1\n"


@pytest.mark.parametrize(
    ("one", "two"),
    [((0, 4), (2, 6)), ((0, 6), (2, 4)), ((0, 5), (3, 3)), ((0, 5), (0, 3)), ((4, 5), (4, 5))],
)
def test_overlaps_are_refused_with_the_line(one: tuple[int, int], two: tuple[int, int]) -> None:
    src = source("xyz = 1\n")
    with pytest.raises(Overlap, match=r"prog\.py, line 1"):
        apply_edits(src, [Edit(*one, "a"), Edit(*two, "b")])


def test_insertions_at_both_ends_of_a_replacement_are_no_overlap() -> None:
    src = source("x = 1\n")
    edits = [Edit(5, 5, " + 2"), Edit(4, 5, "9"), Edit(4, 4, "-")]
    assert apply_edits(src, edits) == b"x = -9 + 2\n"


@pytest.mark.parametrize("span", [(-1, 0), (3, 2), (0, 99)])
def test_edits_outside_the_file_are_refused(span: tuple[int, int]) -> None:
    with pytest.raises(PatchError, match="cannot be edited"):
        apply_edits(source("x = 1\n"), [Edit(*span, "")])


def test_the_byte_order_mark_is_not_editable() -> None:
    with pytest.raises(PatchError, match="cannot be edited"):
        apply_edits(source(BOM + b"x = 1\n"), [Edit(0, 0, "y = 1\n")])


@pytest.mark.parametrize("text", ["x = (1\n", "return 1\n", "x = 1\n  y = 2\n", "x = '\0'\n"])
def test_the_result_must_compile(text: str) -> None:
    with pytest.raises(PatchError, match="would not compile"):
        apply_edits(source("x = 1\n"), [Edit(0, 6, text)])


def test_the_users_own_syntax_warnings_are_not_ours() -> None:
    assert apply_edits(source("x = 1\ny = x is 1\n"), [Edit(0, 1, "z")]).startswith(b"z")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("# -*- coding: latin-1 -*-\ns = 'é'\n".encode("latin-1"), "declared as iso-8859-1"),
        (b"s = '\xe9'\n", "not valid UTF-8"),
        (b"# coding: no-such-thing\n", "not valid UTF-8"),
    ],
)
def test_other_encodings_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(PatchError, match=words):
        apply_edits(source(data), [])


def test_declared_utf8_is_fine() -> None:
    src = source("# vim: set fileencoding=utf-8 :\nx = 'é'\n")
    assert apply_edits(src, []) == src.data


# ------------------------------------------------------------------------ combine
def test_combine_merges_the_imports_of_several_rewrites() -> None:
    src = source("import os\n\nx = 1\ny = 2\n")
    shared = Edit(10, 10, "import numpy as np\n")
    result = combine(src, [(shared, Edit(15, 16, "np.int64(1)")), (shared, Edit(21, 22, "3"))])
    assert result == b"import os\nimport numpy as np\n\nx = np.int64(1)\ny = 3\n"


def test_combine_refuses_two_definitions_of_one_name() -> None:
    src = source("x = 1\n\n\ndef f():\n    pass\n\n\ndef f():\n    pass\n")
    assert combine(src, [(Edit(0, 0, "def g():\n    return 1\n"),)])  # the user's own pair of f
    with pytest.raises(Overlap, match="define 'g'"):
        combine(
            src,
            [
                (Edit(0, 0, "def g():\n    return 1\n"),),
                (Edit(0, 0, "def g():\n    return 2\n"),),
            ],
        )


# ------------------------------------------------------- property: random edits
@st.composite
def edited(draw: st.DrawFn) -> tuple[bytes, list[Edit]]:
    """A file of assignments in any line-end convention and edits of some of its values."""
    eol = draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    mark = draw(st.sampled_from([b"", BOM]))
    words = draw(st.lists(st.sampled_from(["1", "'é'", "'日本'  # ü", '"""a\n  b"""']), min_size=1))
    data, edits = mark, []
    for number, word in enumerate(words):
        data += f"v{number} = ".encode()
        value = word.replace("\n", eol.decode()).encode()
        if draw(st.booleans()):
            end = len(data) + (len(value) if draw(st.booleans()) else 0)
            new = draw(st.sampled_from(["2 + ", "-", "\\\n  3 * "]))
            edits.append(Edit(len(data), end, new + "1" if end > len(data) else new))
        data += value + eol
    if draw(st.booleans()):
        data = data[: -len(eol)]
    return data, draw(st.permutations(edits))


@given(edited())
def test_everything_outside_the_edits_is_byte_equal(case: tuple[bytes, list[Edit]]) -> None:
    data, edits = case
    src = source(data)
    result = apply_edits(src, edits)
    position = 0
    rest = result
    for edit in sorted(edits, key=lambda e: e.start):
        untouched = data[position : edit.start]
        assert rest.startswith(untouched)
        eol = next((e for e in (b"\r\n", b"\r") if e in data), b"\n")
        rest = rest[len(untouched) + len(edit.text.encode().replace(b"\n", eol)) :]
        position = edit.end
    assert rest == data[position:]


# ------------------------------------------------------------------ indentation
@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("if 1:\n  x = 1\n  if 2:\n    y = 2\n", "  "),
        ("if 1:\n\tx = 1\n", "\t"),
        ("x = 1\n", "    "),
        ("def f():\n   x = (1,\n        2)\n   return x\n", "   "),
        ('if 1:\n  s = """\n        no\n        unit\n"""\n', "  "),
    ],
)
def test_indent_unit(text: str, unit: str) -> None:
    assert indent_unit(source(text)) == unit


def test_replacement_gets_the_statements_indentation_and_the_files_unit() -> None:
    src = source("def f(a):\n  for x in a:\n    print(x)\n  return 1\n")
    edit = replace_statement(src, first(src, ast.For), ["if a:", "    for y in a:", "        pass"])
    assert apply_edits(src, [edit]).decode() == (
        "def f(a):\n  if a:\n    for y in a:\n      pass\n  return 1\n"
    )


def test_tabs_win_over_the_files_spaces_where_the_statement_uses_them() -> None:
    src = source(
        "def g():\n    pass\n\ndef h():\n    pass\n\ndef f(a):\n\tfor x in a:\n\t\tprint(x)\n"
    )
    edit = replace_statement(src, first(src, ast.For), ["if a:", "    pass"])
    assert apply_edits(src, [edit]).endswith(b"def f(a):\n\tif a:\n\t\tpass\n")


def test_continuation_lines_and_strings_of_new_text() -> None:
    src = source("if 1:\n  for x in []:\n    pass\n")
    new = ["if 1:", "    y = f(1,", "          2)", '    s = """a', '  b"""']
    assert apply_edits(src, [replace_statement(src, first(src, ast.For), new)]).decode() == (
        'if 1:\n  if 1:\n    y = f(1,\n          2)\n    s = """a\n  b"""\n'
    )


def test_comments_that_the_new_text_lacks_go_above_it() -> None:
    src = source(
        "for i in range(3):  # rows, 日本\n    # the sum\n    t = i  # keep\n"
        "    s = '# no comment'\n    # last\n    u = 1  # end\n# after\n"
    )
    edit = replace_statement(src, first(src, ast.For), ["t = 2  # keep"])
    assert apply_edits(src, [edit]).decode() == (
        "# rows, 日本\n# the sum\n# last\n# end\nt = 2  # keep\n# after\n"
    )


def test_the_original_as_fallback_keeps_its_comments_and_strings() -> None:
    src = source(
        "def f(a, s=''):\n\tfor x in a:  # each\n\t\t# why\n\n\t\ts += '''\n  raw\n'''\n"
        "#\t\tdisabled\n\t\tif (x and\n\t\t\t\ts):\n\t\t\ts = f'{x}\\\n  tail'\n\treturn s\n"
    )
    loop = first(src, ast.For)
    edit = replace_statement(src, loop, ["if 0:", "    pass", "else:", reindent(src, loop)])
    assert apply_edits(src, [edit]).decode() == (
        "def f(a, s=''):\n\tif 0:\n\t\tpass\n\telse:\n\t\tfor x in a:  # each\n\t\t\t# why\n\n"
        "\t\t\ts += '''\n  raw\n'''\n\t\t\t#\t\tdisabled\n\t\t\tif (x and\n\t\t\t\t\ts):\n"
        "\t\t\t\ts = f'{x}\\\n  tail'\n\treturn s\n"
    )


def test_several_neighbours_are_replaced_together() -> None:
    src = source("def f():\n    t = 0  # start\n    for i in []:\n        t += i\n    return t\n")
    body = src.tree.body[0].body  # type: ignore[attr-defined]
    edit = replace_statement(src, body[:2], ["t = 1"])
    assert apply_edits(src, [edit]) == b"def f():\n    # start\n    t = 1\n    return t\n"


def test_decorators_belong_to_the_statement() -> None:
    src = source("import functools\n\n@functools.cache\ndef f():\n    return 1\n")
    edit = replace_statement(src, first(src, ast.FunctionDef), ["f = int"])
    assert apply_edits(src, [edit]) == b"import functools\n\nf = int\n"


@pytest.mark.parametrize(
    ("text", "number"),
    [("a = 1; b = 2\n", 0), ("a = 1; b = 2\n", 1), ("if 1: a = 2\n", 0), ("a = 1;\n", 0)],
)
def test_shared_lines_are_refused(text: str, number: int) -> None:
    src = source(text)
    node = src.tree.body[number]
    if isinstance(node, ast.If):
        node = node.body[0]
    with pytest.raises(PatchError, match="shares its line"):
        replace_statement(src, node, ["pass"])


def test_form_feed_before_a_statement_stays() -> None:
    src = source("x = 1\n\x0cfor i in [1]:\n    x = 2\ny = 3\n")
    edit = replace_statement(src, first(src, ast.For), ["if x:", "    x = 3"])
    assert apply_edits(src, [edit]) == b"x = 1\n\x0cif x:\n    x = 3\ny = 3\n"


def test_statement_at_the_end_without_a_newline() -> None:
    src = source("x = 1\nfor i in [1]: x += i  # go")
    edit = replace_statement(src, first(src, ast.For), ["x = 2"])
    assert apply_edits(src, [edit]) == b"x = 1\n# go\nx = 2"


@pytest.mark.parametrize("name", ["textwrap", "heapq", "fractions", "calendar", "csv", "bisect"])
def test_real_files_survive_replacing_a_statement_by_itself(name: str) -> None:
    original = (STDLIB / f"{name}.py").read_bytes()
    tabbed = source(original.replace(b"\n", b"\r\n"))
    for src in (source(original), tabbed):
        for node in ast.walk(src.tree):
            if isinstance(node, ast.For | ast.While | ast.If | ast.FunctionDef) and not _elif(
                src, node
            ):
                edit = replace_statement(src, node, [reindent(src, node, 0)])
                assert apply_edits(src, [edit]) == src.data
        position = src.offset(src.tree.body[-1].lineno, 0)
        assert apply_edits(src, [Edit(position, position, "")]) == src.data


def _elif(src: Source, node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and src.text(node).startswith("elif")


@pytest.mark.parametrize("name", ["textwrap", "heapq"])
def test_wrapping_real_loops_twice_keeps_their_meaning(name: str) -> None:
    """if True: around every loop, as a tree, is what wrapping the tree gives."""
    src = source((STDLIB / f"{name}.py").read_bytes())
    for node in ast.walk(src.tree):
        if isinstance(node, ast.For | ast.While):
            new = replace_statement(src, node, ["if True:", reindent(src, node)])
            tree = ast.parse(apply_edits(src, [new]))
            wrapped = [
                n
                for n in ast.walk(tree)
                if isinstance(n, ast.If)
                and ast.unparse(n.test) == "True"
                and n.lineno == node.lineno
            ]
            assert ast.dump(wrapped[0].body[0]) == ast.dump(node)


# ---------------------------------------------------------------------- imports
@pytest.mark.parametrize(
    ("text", "local", "result"),
    [
        ("import numpy as xp\nx = 1\n", "xp", None),
        ("import os, numpy\n", "numpy", None),
        ("x = 1\nimport numpy as np\n", "np", None),
        ("import os\nimport sys\n\nx = 1\n", "np", "import os\nimport sys\n{}\nx = 1\n"),
        ('"""Doc."""\n\nx = 1\n', "np", '"""Doc."""\n\n{}\nx = 1\n'),
        ('"""Doc."""\nx = 1\n', "np", '"""Doc."""\n\n{}\nx = 1\n'),
        ('"""Doc."""', "np", '"""Doc."""\n\nimport numpy as np'),
        ("import os", "np", "import os\nimport numpy as np"),
        ("from __future__ import annotations\nx = 1\n", "np",
         "from __future__ import annotations\n{}x = 1\n"),
        ("#!/usr/bin/python\n# coding: utf-8\nx = 1\n", "np",
         "#!/usr/bin/python\n# coding: utf-8\n{}\nx = 1\n"),
        ("# Licence: yours\n\n# size\nn = 2\n", "np", "# Licence: yours\n\n{}\n# size\nn = 2\n"),
        ("# size\nn = 2\n", "np", "{}\n# size\nn = 2\n"),
        ("def f():\n    pass\n", "np", "{}\n\ndef f():\n    pass\n"),
        ("import os; t = {\n    1: 2}\nx = 3\n", "np", "import os; t = {\n    1: 2}\n{}x = 3\n"),
        ("try:\n    import numpy as np\nexcept ImportError:\n    raise\n", "np",
         "{}\ntry:\n    import numpy as np\nexcept ImportError:\n    raise\n"),
        ("def main():\n    import numpy as np\n", "np",
         "{}\n\ndef main():\n    import numpy as np\n"),
        ("import os\nos.environ['A'] = '1'\nimport sys\nn = 1\n", "np",
         "import os\nos.environ['A'] = '1'\nimport sys\n{}n = 1\n"),
        ("try:\n    import a\nexcept ImportError:\n    a = None\nimport sys\n", "np",
         "try:\n    import a\nexcept ImportError:\n    a = None\nimport sys\n{}"),
        ("import os\ndef f(): pass\nimport sys\n", "np",
         "import os\n{}def f(): pass\nimport sys\n"),
        ("import os\nif os:\n    n = 1\nimport sys\n", "np",
         "import os\n{}if os:\n    n = 1\nimport sys\n"),
        ("import numpy.linalg as la\n", "np", "import numpy.linalg as la\n{}"),
    ],
)  # fmt: skip
def test_import_edit(text: str, local: str, result: str | None) -> None:
    src = source(text)
    found, edit = import_edit(src, "numpy", "np")
    assert found == local
    if result is None:
        assert edit is None
    else:
        assert edit is not None
        expected = result.replace("{}", "import numpy as np\n")
        assert apply_edits(src, [edit]).decode() == expected


@pytest.mark.parametrize(
    "text",
    [
        "np = 3\n",
        "def f(np):\n    pass\n",
        "for np in range(3): pass\n",
        "import networkx as np\n",
        "try:\n    import numpy as np\nexcept ImportError:\n    np = None\n",
        "import numpy as np\ndel np\n",
        "print(np)\n",
        "from pylab import *\n",
        "try:\n    pass\nexcept OSError as np:\n    pass\n",
        "match 1:\n    case np:\n        pass\n",
        "match [1]:\n    case [*np]:\n        pass\n",
        "class np: pass\n",
        "if (np := 3): pass\n",
    ],
)
def test_a_name_that_means_something_else_is_not_taken(text: str) -> None:
    local, edit = import_edit(source(text), "numpy", "np")
    assert local == "_np"
    assert edit is not None and edit.text.startswith("import numpy as _np\n")


def test_imports_below_the_code_that_needs_them_do_not_count() -> None:
    src = source("x = 1\nimport numpy as np\n")
    local, edit = import_edit(src, "numpy", "np", above=1)
    assert local == "np" and edit is not None and edit.start == 0


@pytest.mark.parametrize(
    ("text", "local", "new"),
    [
        ("from numba import njit\n", "njit", None),
        ("from numba import njit as jit\n", "jit", None),
        ("import numba as nb\n", "nb.njit", None),
        ("import numba\n", "numba.njit", None),
        ("from numba import prange\n", "njit", "from numba import njit\n"),
        ("from .numba import njit\n", "_njit", "from numba import njit as _njit\n"),
        ("njit = 1\n", "_njit", "from numba import njit as _njit\n"),
    ],
)
def test_from_import_edit(text: str, local: str, new: str | None) -> None:
    found, edit = from_import_edit(source(text), "numba", "njit")
    assert found == local
    assert (edit and edit.text.strip("\n")) == (new and new.strip("\n"))


def test_crlf_import() -> None:
    src = source(BOM + b"import os\r\nx = 1\r\n")
    _, edit = import_edit(src, "numpy", "np")
    assert edit is not None
    assert apply_edits(src, [edit]) == BOM + b"import os\r\nimport numpy as np\r\nx = 1\r\n"


def test_free_names() -> None:
    src = source("def f(a):\n    a.step = 1\n    globals()['kernel'] = 1\n    g(out=2)\n")
    assert free_name(src, "step") == "step_2"
    assert free_name(src, "kernel") == "kernel_2"
    assert free_name(src, "out") == "out_2"
    assert free_name(src, "sum") == "sum_2"
    assert free_name(src, "lambda") == "lambda_2"
    assert free_name(src, "fresh") == "fresh"
    assert free_name(src, "fresh", taken={"fresh", "fresh_2"}) == "fresh_3"


# ------------------------------------------------------------------------ diffs
LINE = st.sampled_from(["x = 1", "", "  é", "\x0cy", "a\u2028b", "tab\t", "long " * 9, "-- q"])


@st.composite
def versions(draw: st.DrawFn) -> tuple[bytes, bytes]:
    eol = draw(st.sampled_from(["\n", "\r\n"]))
    old = draw(st.lists(LINE, max_size=12))
    new = list(old)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(new)))
        new[place : place + draw(st.integers(0, 2))] = draw(st.lists(LINE, max_size=2))
    ends = [draw(st.sampled_from(["", eol])) for _ in range(2)]
    return tuple((eol.join(t) + e).encode() for t, e in zip((old, new), ends, strict=True))  # type: ignore[return-value]


@pytest.mark.parametrize("tool", ["git", "patch"])
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(case=versions())
@example(case=(b"x = 1", b"x = 2\n"))
@example(case=(b"a\r\nb\r\n", b"a\r\nc\r\n"))
def test_diffs_are_taken_by_the_tools(
    tool: str, case: tuple[bytes, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    old, new = case
    if old == new or not old or not new:
        return
    root = tmp_path_factory.mktemp("diff")
    names = [root / "sub dir" / "my prog.py", root / "plain.py"]
    for name in names:
        name.parent.mkdir(exist_ok=True)
        name.write_bytes(old)
    text = unified_diff({n: Source(n, old) for n in names}, dict.fromkeys(names, new), root)
    (root / "p.diff").write_bytes(text.encode("utf-8", "surrogateescape"))
    command = {
        "git": ["git", "apply", "--whitespace=nowarn", "p.diff"],
        "patch": ["patch", "-s", "-p1", "-i", "p.diff"],
    }[tool]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    assert [n.read_bytes() for n in names] == [new, new]


def test_paths_in_diffs(tmp_path: Path) -> None:
    outside = tmp_path / "lib" / "x.py"
    src = Source(outside, b"x = 1\n")
    text = unified_diff({outside: src}, {outside: b"x = 2\n"}, tmp_path / "work")
    name = outside.as_posix().lstrip("/")
    assert text.startswith(f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-x = 1\n+x = 2\n")


def test_unchanged_files_are_not_in_the_diff(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    assert unified_diff({path: Source(path, b"x\n")}, {path: b"x\n"}, tmp_path) == ""


def test_odd_file_names_are_quoted_as_git_does(tmp_path: Path) -> None:
    path = tmp_path / 'a"b.py'
    path.write_bytes(b"x = 1\n")
    text = unified_diff({path: Source(path, b"x = 1\n")}, {path: b"x = 2\n"}, tmp_path)
    (tmp_path / "p.diff").write_text(text)
    subprocess.run(["git", "apply", "p.diff"], cwd=tmp_path, check=True, capture_output=True)
    assert path.read_bytes() == b"x = 2\n"
