"""The text of the kernel: the user's own loop with minimal byte edits, as a function."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..layout import indent_unit, reindent
from ..loopnest.scope import dotted
from ..model import Edit, Source
from .nb_chars import helper_body
from .nb_state import WHOLE, State, TextEdit
from .nb_values import Unsupported

LEVEL = "    "


@dataclass(frozen=True)
class Names:
    """What things are called in the new text."""

    params: Mapping[str, str]
    """Input path -> parameter."""
    functions: Mapping[str, str]
    """Checked helper or user function -> its compiled name."""
    arguments: Mapping[str, str]
    """Exponent -> parameter."""
    numpy: str
    numba: str
    """Local name of the numba package, or ``""`` where only ``njit`` was imported."""
    njit: str


def resolved(text: str, names: Names) -> str:
    """Fill in the names that were not known when the edit was made."""
    text = re.sub("\0np\\.", f"{names.numpy}.", text)
    text = re.sub("\0fn\\.(\\w+)", lambda m: names.functions[m[1]], text)
    return re.sub("\0arg\\.(\\w+)", lambda m: names.arguments[m[1]], text)


def edited(
    source: Source, node: ast.stmt, edits: Iterable[TextEdit], names: Names
) -> tuple[Source, ast.stmt]:
    """A copy of the file with edits inside one statement, and that statement in it."""
    start, end = source.span(node)
    inside = sorted(e for e in edits if start <= e.start and e.end <= end)
    parts: list[bytes] = []
    position = 0
    for edit in inside:
        if edit.start < position:
            raise Unsupported("two changes of one expression collide", node.lineno)
        parts += [source.data[position : edit.start], resolved(edit.text, names).encode()]
        position = edit.end
    parts.append(source.data[position:])
    copy = Source(source.path, b"".join(parts))
    for found in ast.walk(copy.tree):
        if (
            isinstance(found, ast.stmt)
            and type(found) is type(node)
            and (found.lineno, found.col_offset) == (node.lineno, node.col_offset)
        ):
            return copy, found
    raise Unsupported("the edited loop is not found again", node.lineno)


def body_text(
    source: Source, node: ast.stmt, edits: Iterable[TextEdit], names: Names, by: int = 1
) -> str:
    """The statement's text with edits, indented ``by`` levels of four spaces."""
    copy, found = edited(source, node, edits, names)
    return reindent(copy, found, by)


def attribute_edits(source: Source, root: ast.AST, params: Mapping[str, str]) -> list[TextEdit]:
    """``self.u`` becomes ``u``, wherever it is read or written in the loop."""
    found: list[TextEdit] = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Attribute | ast.Name):
            path = dotted(node)
            if path is not None and path in params:
                if params[path] != path:
                    start, end = source.span(node)
                    found.append(TextEdit(start, 2 * 10**9, end, params[path]))
                return
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(root)
    return found


def name_edits(source: Source, root: ast.AST, renamed: Mapping[str, str]) -> list[TextEdit]:
    """Names of called functions replaced by those of their compiled forms."""
    found = []
    for node in ast.walk(root):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            new = renamed.get(node.func.id)
            if new is not None:
                start, end = source.span(node.func)
                found.append(TextEdit(start, 2 * 10**9, end, new))
    return found


def with_params(expression: str, params: Mapping[str, str]) -> str:
    """An expression of the user's scope, spelled with the parameters' names."""

    class _Rename(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
            path = dotted(node)
            if path is not None and path in params:
                return ast.Name(params[path], ast.Load())
            self.generic_visit(node)
            return node

    return ast.unparse(_Rename().visit(ast.parse(expression, mode="eval")))


# ------------------------------------------------------------ checked helpers
DOMAIN_TESTS = {
    "sqrt": "x < 0.0",
    "log": "x <= 0.0",
    "log2": "x <= 0.0",
    "log10": "x <= 0.0",
    "log1p": "x <= -1.0",
    "asin": "abs(x) > 1.0",
    "acos": "abs(x) > 1.0",
    "acosh": "x < 1.0",
}


def checked_helper(key: str, name: str, spelled: str, decorator: str) -> str:
    """A function that raises what Python raises where compiled code would go on."""
    head = f"{decorator}\ndef {name}"
    of_text = helper_body(key)
    if of_text is not None:
        return f"{head}(c):\n{of_text}"
    if key in DOMAIN_TESTS:
        return (
            f'{head}(x):\n    """{spelled} with its ValueError, which numba leaves out."""\n'
            f'    if {DOMAIN_TESTS[key]}:\n        raise ValueError("math domain error")\n'
            f"    return {spelled}(x)\n"
        )
    if key in ("sin", "cos", "tan"):
        return (
            f'{head}(x):\n    """{spelled} with its ValueError, which numba leaves out."""\n'
            f'    if x - x != 0.0 and x == x:\n        raise ValueError("math domain error")\n'
            f"    return {spelled}(x)\n"
        )
    if key == "bounded":
        return (
            f'{head}(k):\n    """k, or an exception where Python ints may outgrow 64 bits."""\n'
            f"    if not -(2**{spelled}) <= k <= 2**{spelled}:\n"
            '        raise OverflowError("may not fit 64 bits")\n'
            "    return k\n"
        )
    if key.startswith(WHOLE):
        return (
            f'{head}(x):\n    """{spelled}(x), or an exception where it may not fit 64 bits."""\n'
            "    if not -(2.0**62) < x < 2.0**62:\n"
            '        raise OverflowError("may not fit 64 bits")\n'
            f"    return {spelled}(x)\n"
        )
    if key == "byte":
        return (
            f'{head}(k):\n    """k, or the ValueError of a bytearray that is given no byte."""\n'
            "    if not 0 <= k <= 255:\n"
            '        raise ValueError("byte must be in range(0, 256)")\n'
            "    return k\n"
        )
    if key == "power":
        return (
            f'{head}(x, y):\n    """x ** y with the exceptions that compiled code leaves out."""\n'
            "    if x == 0.0 and y < 0.0:\n"
            '        raise ZeroDivisionError("0.0 cannot be raised to a negative power")\n'
            "    result = x**y\n"
            "    if result - result != 0.0 and x - x == 0.0:\n"
            '        raise OverflowError(34, "Numerical result out of range")\n'
            "    return result\n"
        )
    if key == "complex_square":
        return (
            f'{head}(z):\n    """z ** 2 step by step as CPython computes it."""\n'
            "    p = z * z\n"
            "    result = complex(p.real - 0.0 * p.imag, p.imag + 0.0 * p.real)\n"
            "    if abs(result.real) > 1.7976931348623157e308 or abs(result.imag) > "
            "1.7976931348623157e308:\n"
            '        raise OverflowError("complex exponentiation")\n'
            "    return result\n"
        )
    if key == "complex_abs":
        return (
            f'{head}(z):\n    """abs() of a complex number with its OverflowError."""\n'
            "    size = abs(z)\n"
            "    if size > 1.7976931348623157e308 and z.real - z.real == 0.0 "
            "and z.imag - z.imag == 0.0:\n"
            '        raise OverflowError("absolute value too large")\n'
            "    return size\n"
        )
    return (
        f'{head}(x):\n    """{spelled} with its OverflowError, which numba leaves out."""\n'
        f"    result = {spelled}(x)\n"
        "    if result - result != 0.0 and x - x == 0.0:\n"
        '        raise OverflowError("math range error")\n'
        "    return result\n"
    )


def trailing_comments(source: Source, loop: ast.stmt) -> list[str]:
    """Comment lines below the loop's last statement that are indented as part of its body."""
    assert loop.end_lineno is not None
    own = source.lines[loop.lineno - 1]
    prefix = own[: len(own) - len(own.lstrip())]
    found = []
    for line in source.lines[loop.end_lineno :]:
        inside = line.startswith(prefix) and line[len(prefix) : len(prefix) + 1] in (" ", "\t")
        if not inside or not line.lstrip().startswith("#"):
            break
        found.append(line[len(prefix) :])
    return found


# ---------------------------------------------------------------- placement
def top_level_statement(source: Source, node: ast.stmt) -> ast.stmt:
    """The statement of the module that contains ``node``."""
    for statement in source.tree.body:
        assert statement.end_lineno is not None
        if statement.lineno <= node.lineno <= statement.end_lineno:
            return statement
    raise Unsupported("the loop is not found in its file", node.lineno)


def insertion_offset(source: Source, statement: ast.stmt) -> int:
    """Start of the line above which new functions go: comments stay with their statement."""
    decorators = getattr(statement, "decorator_list", [])
    line = min([statement.lineno, *(d.lineno for d in decorators)])
    while line > 1 and source.lines[line - 2].lstrip().startswith("#"):
        if line == 2 and source.lines[0].startswith("#!"):
            break
        line -= 1
    return source.offset(line, 0)


def in_units(source: Source, text: str) -> str:
    """Levels of four spaces become the file's own."""
    unit = indent_unit(source)
    if unit == LEVEL:
        return text

    def shift(match: re.Match[str]) -> str:
        levels, rest = divmod(len(match[0]), len(LEVEL))
        return unit * levels + " " * rest

    return re.sub(r"(?m)^ +", shift, text)


def functions_block(source: Source, statement: ast.stmt, parts: Sequence[str]) -> tuple[int, str]:
    """Offset and text of new functions above a top-level statement, with PEP 8's blank lines."""
    offset = insertion_offset(source, statement)
    text = "\n\n".join(part.rstrip("\n") + "\n" for part in parts)
    before = source.data[:offset].decode("utf-8", "replace").replace("\r\n", "\n")
    gap = ""
    if before.strip():
        blank = len(before) - len(before.rstrip("\n")) - 1
        gap = "\n" * max(0, 2 - blank)
    return offset, in_units(source, f"{gap}{text}\n\n")


def shadowing(state: State, names: Iterable[str]) -> str | None:
    """A name that the loop uses otherwise."""
    used = {n.id for n in ast.walk(state.region.loop) if isinstance(n, ast.Name)}
    return next((n for n in names if n in used), None)


def replacement(source: Source, loop: ast.stmt, targets: Sequence[str], call: str) -> list[Edit]:
    """The call in the place of the loop statement, comments at its end included."""
    start, end = source.span(loop)
    assert loop.end_lineno is not None
    line_end = source.line_starts[loop.end_lineno]
    behind = source.data[end:line_end].rstrip(b"\r\n")
    if behind.strip().startswith(b"#"):
        end += len(behind.rstrip())
    text = f"{', '.join(targets)} = {call}" if targets else call
    edits = [Edit(start, end, text)]
    count = len(trailing_comments(source, loop))
    if count:
        last = source.line_starts[loop.end_lineno + count]
        edits.append(Edit(line_end, min(last, len(source.data)), ""))
    return edits


def flag_edits(
    source: Source, loop: ast.stmt, marks: Mapping[tuple[int, int], Sequence[str]]
) -> list[TextEdit]:
    """``energy_set = True`` below assignments of ``energy``.

    ``marks``: place of the assignment target (line, column) -> statements. The target of a ``for``
    is marked at the start of the body.
    """
    found = []
    for node in ast.walk(loop):
        match node:
            case ast.Assign(targets=targets):
                pass
            case ast.AugAssign(target=target) | ast.For(target=target):
                targets = [target]
            case _:
                continue
        assert isinstance(node, ast.Assign | ast.AugAssign | ast.For)
        places = [
            (t.lineno, t.col_offset)
            for one in targets
            for t in ast.walk(one)
            if isinstance(t, ast.Name | ast.Attribute | ast.Subscript)
            and isinstance(t.ctx, ast.Store)
        ]
        statements = [text for place in places for text in marks.get(place, ())]
        if not statements:
            continue
        at = node.body[0] if isinstance(node, ast.For) else node
        start, end = source.span(at)
        line = source.lines[at.lineno - 1]
        blank = line[: len(line) - len(line.lstrip())]
        alone = len(blank.encode()) == at.col_offset
        between = f"\n{blank}" if alone else "; "
        text = between.join(statements)
        if isinstance(node, ast.For):
            found.append(TextEdit(start, -3 * 10**9, start, text + between))
        else:
            found.append(TextEdit(end, 3 * 10**9, end, between + text))
    return found
