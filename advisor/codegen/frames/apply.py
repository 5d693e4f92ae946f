"""``df.apply(f, axis=1)``, written as a list over the columns that the function reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ...model import Basis, Condition, Edit, Match, Region, Source
from ...names import free_name
from ...patch import apply_edits, reindent, replace_statement
from ...rowcalls import row_call, statement_of
from .. import ast_tools as tools
from .asked import condition_lines, frame_tests, guarded, pandas_name, row_tests
from .columns import variable
from .rows import Handed, Rows, check_labels, labels_of_parameter, observed_frame, row_uses
from .stop import Stop
from .stores import identifier, repr_of

_NUMBERS = frozenset({"abs", "bool", "float", "int", "len", "max", "min", "pow", "round", "str"})
_ARRAYS = frozenset(
    {
        *("abs", "arctan2", "ceil", "cos", "exp", "floor", "hypot", "isnan", "log", "log10"),
        *("log2", "maximum", "minimum", "sign", "sin", "sqrt", "tan", "tanh"),
    }
)
_TEXT = frozenset(
    {"endswith", "lower", "lstrip", "replace", "rstrip", "startswith", "strip", "title", "upper"}
)
"""Calls that change nothing, and give a number or text: no list, of which a frame would be made."""
_PLAIN = (
    *(ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp),
    *(ast.Call, ast.Attribute, ast.Subscript, ast.JoinedStr, ast.FormattedValue, ast.keyword),
    *(ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
    *(ast.Return, ast.If, ast.Assign, ast.AugAssign, ast.Expr, ast.Pass),
)
"""All that the function may consist of."""


@dataclass(frozen=True)
class Applied(Rows):
    """A call that applies a function to every row of a frame."""

    call: ast.Call
    value: ast.expr | None
    """What a lambda gives; None where the function is a plain one of the file."""


def find_applied(region: Region) -> Applied | None:
    """The call in the statement that the region is; None if it is none.

    Raises Stop where the function does more than read columns and give a number or text.
    """
    statement = statement_of(region.loop)
    call = row_call(statement) if statement is not None else None
    if call is None or not isinstance(call.func, ast.Attribute):
        return None
    known = observed_frame(region, call.func.value)
    if known is None:
        return None
    extra = [keyword for keyword in call.keywords if keyword.arg != "axis"]
    if extra or len(call.args) + len(call.keywords) != 2:
        raise Stop("apply is given arguments of its own", call.lineno)
    frame, columns = known
    value: ast.expr | None = None
    match call.args[0]:
        case ast.Lambda(args=ast.arguments(args=[row], posonlyargs=[], kwonlyargs=[]), body=body):
            _check_plain(region, [body])
            reads, handed = row_uses(region, [body], row.arg)
            if handed:
                raise Stop("the row is handed on", call.lineno, "apply that function itself")
            name, value = row.arg, body
        case ast.Name(id=function_name):
            name, reads, handed = "row", (), (_plain_function(region, function_name),)
        case other:
            raise Stop(f"what {region.source.text(other)} does is not known", call.lineno)
    asked = [read.node for read in reads if read.attribute and read.label == "name"]
    if asked:
        raise Stop(f"{name}.name is read", asked[0].lineno)
    found = Applied(frame, columns, name, reads, (), handed, False, call, value)
    check_labels(found, call.lineno)
    if not found.labels:
        raise Stop("no column is read", call.lineno)
    return found


def _plain_function(region: Region, name: str) -> Handed:
    """The row as it is handed to a function of the file."""
    source = region.source
    defined = (n for n in source.tree.body if isinstance(n, ast.FunctionDef) and n.name == name)
    function = next(defined, None)
    if function is None:
        raise Stop(f"what {name} does is not known")
    only_one = tools.bound_names(source).get(name) == 1 and not {name, "*"} & {*source.rebound}
    if not only_one or function.decorator_list or function.args.vararg or function.args.kwarg:
        raise Stop(f"{name} may be another function by then", function.lineno)
    docstring = ast.get_docstring(function, clean=False) is not None
    _check_plain(region, function.body[1:] if docstring else function.body)
    labels = labels_of_parameter(source, function, 0)
    if labels is None or len(function.args.args) - len(function.args.defaults) > 1:
        raise Stop(f"{name} uses more of the row than columns by name", function.lineno)
    return Handed(ast.Name("row", ast.Load()), labels)


def _check_plain(region: Region, block: list[ast.expr] | list[ast.stmt]) -> None:
    """Raise Stop at what might have an effect, or give more than a number or text."""
    for part in block:
        for node in ast.walk(part):
            line = getattr(node, "lineno", None)
            if not isinstance(node, _PLAIN):
                raise Stop(f"{type(node).__name__.lower()} in the function", line)
            match node:
                case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                    raise Stop("the function writes to more than variables of its own", line)
            if isinstance(node, ast.Call) and not _harmless(region.source, node.func):
                raise Stop(f"the function calls {ast.unparse(node.func)}", line)


def _harmless(source: Source, function: ast.expr) -> bool:
    match function:
        case ast.Name(id=name):
            return name in _NUMBERS and tools.is_builtin(source, name)
        case ast.Attribute(value=ast.Name(id=module), attr=attr):
            if module == tools.module_alias(source, "math"):
                return attr not in ("modf", "frexp")
            if module == tools.module_alias(source, "numpy"):
                return attr in _ARRAYS
            return attr in _TEXT
        case ast.Attribute(attr=attr):
            return attr in _TEXT
    return False


# ---------------------------------------------------------------------- rewrite
def columns_for_apply(region: Region, applied: Applied) -> Match:
    """The rewrite. Raises Stop where equality cannot be shown."""
    statement = statement_of(region.loop)
    assert statement is not None
    pandas = pandas_name(region)
    frame = applied.frame
    tests = [
        *frame_tests(applied, pandas),
        # Of no rows the function is asked for once, to see what it gives.
        f"not {frame}.empty",
        # The result would have them, too.
        f"not {frame}.attrs",
        f"{frame}.flags.allows_duplicate_labels",
        *row_tests(applied, pandas),
        *_no_lists(applied),
    ]
    array = free_name(region.source, "rows")
    start, end = region.source.span(applied.call)
    text = _series(region, applied, pandas, array)
    new = Source(region.source.path, apply_edits(region.source, [Edit(start, end, text)]))
    changed = next(n for n in new.nodes if _same_place(n, statement))
    assert isinstance(changed, ast.stmt)
    lines = [
        *condition_lines(tests),
        f"    {array} = {frame}.to_numpy()  # of one type, as apply makes its rows",
        reindent(new, changed, 1),
        "else:",
        reindent(region.source, statement, 1),
    ]
    where = f"lines {region.lines[0]}-{region.lines[1]}"
    what = "the function reads columns by name, changes nothing, and gives numbers or text"
    return Match(
        edits=(replace_statement(region.source, statement, lines),),
        why="every row is made into a Series, of all columns, and each read looks up a label",
        change="call the function with the columns' values, and make one Series of the results",
        ledger=(*guarded(tests), Condition(what, Basis.PROVED, where)),
    )


def _same_place(node: ast.AST, statement: ast.stmt) -> bool:
    here = (statement.lineno, statement.col_offset)
    return isinstance(node, ast.stmt) and (node.lineno, node.col_offset) == here


def _no_lists(applied: Applied) -> Iterator[str]:
    """A function that gives lists makes apply give a frame; cells of objects may be lists."""
    dtypes = dict(applied.columns)
    for label in applied.labels:
        if dtypes[label] == "object":
            yield f"set(map(type, {applied.frame}[{repr_of(label)}])) <= {{str, int, float}}"


def _series(region: Region, applied: Applied, pandas: str, array: str) -> str:
    """``pd.Series([a * b for a, b in zip(..)], index=df.index)``, over several lines."""
    source, frame = region.source, applied.frame
    names: dict[str, str] = {}
    for label in applied.labels:
        taken = {array, *names.values()}
        names[label] = variable(source, applied.row, identifier(label), taken)
    columns = [f"{array}[:, {frame}.columns.get_loc({repr_of(label)})]" for label in names]
    over = columns[0] if len(columns) == 1 else f"zip({', '.join(columns)})"
    indent = " " * (region.loop.col_offset + 4)
    if len(columns) > 1 and len(over) > 50:
        inner = "".join(f"{indent}        {column},\n" for column in columns)
        over = f"zip(\n{inner}{indent}    )"
    lines = [
        f"{pandas}.Series(",
        f"{indent}[",
        f"{indent}    {_value(source, applied, names)}",
        f"{indent}    for {', '.join(names.values())} in {over}",
        f"{indent}],",
        f"{indent}index={frame}.index,",
        f"{indent[:-4]})",
    ]
    return "\n".join(lines)


def _value(source: Source, applied: Applied, names: dict[str, str]) -> str:
    """What the function gives for one row."""
    if applied.value is None:
        function = source.text(applied.call.args[0])
        row = ", ".join(f"{repr_of(label)}: {names[label]}" for label in applied.labels)
        return f"{function}({{{row}}})"
    start, end = source.span(applied.value)
    data = source.data
    for read in sorted(applied.reads, key=lambda read: -source.span(read.node)[0]):
        first, last = source.span(read.node)
        new = names[read.label].encode()
        data = data[:first] + new + data[last:]
        end += len(new) - (last - first)
    text = data[start:end].decode()
    return f"({text})" if "\n" in text else text
