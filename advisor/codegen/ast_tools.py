"""What rules on plain Python text share: who uses a name and how, and edits of whole lines.

Nothing here looks at observed values; what it answers is proved by the text.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from ..model import Edit, Refusal, Source

Scope = ast.Module | ast.FunctionDef
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_FRAME_READERS = frozenset({"eval", "exec", "globals", "locals", "vars", "breakpoint"})


# ------------------------------------------------------------------- the tree
def parents(source: Source) -> dict[ast.AST, ast.AST]:
    """The node directly above each node of the file."""
    return _parents(source.tree)


@lru_cache(maxsize=16)
def _parents(tree: ast.Module) -> dict[ast.AST, ast.AST]:
    # By tree, not by Source: two equal sources have trees of different nodes.
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def ancestors(source: Source, node: ast.AST) -> Iterator[ast.AST]:
    """The nodes above ``node``, innermost first."""
    above = parents(source)
    while node in above:
        node = above[node]
        yield node


def enclosing_statement(source: Source, node: ast.AST) -> ast.stmt:
    """The innermost statement that holds ``node`` (or is it)."""
    if isinstance(node, ast.stmt):
        return node
    return next(above for above in ancestors(source, node) if isinstance(above, ast.stmt))


def block_of(source: Source, statement: ast.stmt) -> list[ast.stmt]:
    """The list of statements that ``statement`` stands in."""
    above = parents(source)[statement]
    for name in ("body", "orelse", "finalbody"):
        block = getattr(above, name, None)
        if isinstance(block, list) and statement in block:
            return block
    return [statement]


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """All nodes below ``scope`` that run in its own frame: not those of nested functions.

    Comprehensions are counted as the scope's own (they run there and then); what a generator
    expression or a lambda defers is not told apart by them, see ``deferred_uses``.
    """
    todo = list(ast.iter_child_nodes(scope))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, SCOPES):
            todo.extend(ast.iter_child_nodes(node))


def names_in(node: ast.AST) -> Iterator[ast.Name]:
    """Every use of a name below ``node``, nested functions included."""
    return (inner for inner in ast.walk(node) if isinstance(inner, ast.Name))


def stores(node: ast.AST, name: str) -> list[ast.Name]:
    """The places below ``node`` that bind or delete ``name``."""
    return [n for n in names_in(node) if n.id == name and not isinstance(n.ctx, ast.Load)]


def loads(node: ast.AST, name: str) -> list[ast.Name]:
    """The places below ``node`` that read ``name``."""
    return [n for n in names_in(node) if n.id == name and isinstance(n.ctx, ast.Load)]


def deferred_uses(source: Source, scope: Scope, name: str) -> ast.AST | None:
    """A nested function, class or lambda that mentions ``name``, or a global/nonlocal statement.

    Such code may run at any call inside the loop. For a module: any function of the file that
    does not have the name as a parameter. ``def show(): print(total)`` sees ``total`` half-way.
    """
    for node in ast.walk(scope):
        if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
            return node
        # A generator expression runs when it is consumed, and sees the value of that moment.
        nested = isinstance(node, SCOPES) and node is not scope
        if (nested or isinstance(node, ast.GeneratorExp)) and not _binds_parameter(node, name):
            inner = next((n for n in names_in(node) if n.id == name), None)
            if inner is not None:
                return inner
    return None


def _binds_parameter(node: ast.AST, name: str) -> bool:
    arguments = getattr(node, "args", None)
    if not isinstance(arguments, ast.arguments):
        return False
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return any(argument.arg == name for argument in every)


def reads_frames(scope: ast.AST) -> ast.Name | None:
    """A call that can see every variable (``locals()``, ``eval(text)``), if there is one."""
    return next((n for n in names_in(scope) if n.id in _FRAME_READERS), None)


def handlers_around(source: Source, scope: Scope, loop: ast.stmt) -> ast.stmt | None:
    """A ``try`` or ``with`` inside the function that could see the loop's half-done work.

    ``with suppress(ValueError): loop`` swallows what the loop raises, as a handler does.
    """
    for node in ancestors(source, loop):
        if node is scope:
            return None
        if isinstance(node, ast.Try | ast.TryStar | ast.With | ast.AsyncWith):
            return node
    return None


# -------------------------------------------------------------- known names
@lru_cache(maxsize=16)
def bound_names(source: Source) -> dict[str, int]:
    """How often each name is bound anywhere in the file, in any scope."""
    found: dict[str, int] = {}
    for node in source.nodes:
        for name in _bound_by(node):
            found[name] = found.get(name, 0) + 1
    return found


def _bound_by(node: ast.AST) -> Iterable[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            return (name,)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return tuple((item.asname or item.name).split(".")[0] for item in names)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            return (name,)
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return (name,)
        case ast.Global(names=listed) | ast.Nonlocal(names=listed):
            return tuple(listed)
    return ()


def is_builtin(source: Source, name: str) -> bool:
    """Whether ``name`` still means the built-in in this file: nothing binds it, no star import."""
    return name not in bound_names(source) and "*" not in bound_names(source)


@lru_cache(maxsize=16)
def module_alias(source: Source, module: str) -> str | None:
    """The one name under which the file imports ``module`` at top level, never rebound."""
    for statement in source.tree.body:
        if isinstance(statement, ast.Import):
            for item in statement.names:
                local = item.asname or item.name
                if item.name == module and bound_names(source).get(local) == 1:
                    return local
    return None


def numpy_function(source: Source, node: ast.expr) -> str | None:
    """``"append"`` for a call of ``np.append`` where ``np`` is certainly NumPy, else None."""
    alias = module_alias(source, "numpy")
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if name == alias:
            return attr
    return None


def catches(source: Source, names: frozenset[str]) -> int | None:
    """Line of a handler in the file that would catch one of these exceptions, or might."""
    harmless = _CATCHES_NOTHING_OF_OURS
    for node in source.nodes:
        if isinstance(node, ast.ExceptHandler):
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            for kind in kinds:
                known = kind.id if isinstance(kind, ast.Name) else None
                if known in names or known not in harmless:
                    return node.lineno
        if isinstance(node, ast.Name | ast.Attribute):
            called = node.id if isinstance(node, ast.Name) else node.attr
            if called == "suppress":
                return node.lineno
    return None


_CATCHES_NOTHING_OF_OURS = frozenset(
    {
        "AttributeError",
        "BrokenPipeError",
        "EOFError",
        "FileExistsError",
        "FileNotFoundError",
        "IOError",
        "ImportError",
        "IndexError",
        "KeyError",
        "KeyboardInterrupt",
        "ModuleNotFoundError",
        "OSError",
        "PermissionError",
        "StopIteration",
        "SystemExit",
        "TypeError",
        "ValueError",
        "ZeroDivisionError",
    }
)


# ---------------------------------------------------------------- whole lines
def stands_alone(source: Source, statement: ast.stmt) -> bool:
    """Whether the statement's lines hold nothing else but spaces before and a comment after.

    ``if ready: total = 0`` and ``a = 1; b = 2`` share their line: no line can be put between.
    """
    start, end = source.span(statement)
    decorators = getattr(statement, "decorator_list", [])
    if decorators:
        start = source.offset(decorators[0].lineno, 0)
    before = source.data[source.line_starts[_first_line(statement) - 1] : start]
    after = source.data[end:].splitlines()[0] if source.data[end:] else b""
    shares = before.removeprefix(b"\xef\xbb\xbf").strip(b" \t\f")
    rest = after.strip()
    return not shares and (not rest or rest.startswith(b"#"))


def indent_of(source: Source, statement: ast.stmt) -> str:
    """The white space before a statement that stands alone."""
    line = source.lines[_first_line(statement) - 1]
    return line[: len(line) - len(line.lstrip())].replace("\ufeff", "")


def _first_line(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", [])
    return decorators[0].lineno if decorators else statement.lineno


def insert_before(source: Source, statement: ast.stmt, lines: Sequence[str]) -> Edit:
    """Put lines above a statement that stands alone, at its column."""
    indent = indent_of(source, statement)
    offset = source.line_starts[_first_line(statement) - 1]
    if offset == 0 and source.data.startswith(b"\xef\xbb\xbf"):
        offset = 3
    return Edit(offset, offset, "".join(_indented(lines, indent, "\n")))


def insert_after(source: Source, statement: ast.stmt, lines: Sequence[str]) -> Edit:
    """Put lines below a statement that stands alone, at its column."""
    assert statement.end_lineno is not None
    indent = indent_of(source, statement)
    offset = min(source.line_starts[statement.end_lineno], len(source.data))
    text = "".join(_indented(lines, indent, "\n"))
    if not source.data[:offset].endswith((b"\n", b"\r")):
        text = "\n" + text.removesuffix("\n")  # the file's last line has no line end
    return Edit(offset, offset, text)


def replace_lines(source: Source, statement: ast.stmt, lines: Sequence[str]) -> Edit:
    """Put lines, at its column, in place of a statement that stands alone.

    A comment behind the statement stays behind the last line.
    """
    start, end = source.span(statement)
    indent = indent_of(source, statement)
    text = "\n".join(_indented(lines, indent, "")).removeprefix(indent)
    return Edit(start, end, text)


def _indented(lines: Sequence[str], indent: str, end: str) -> list[str]:
    return [f"{indent}{line}{end}" if line else end for line in lines]


def shifted(source: Source, statements: Sequence[ast.stmt], by: str) -> list[str] | None:
    """The text of adjacent statements that stand alone, relative to their column, ``by`` added.

    With the comments between them, not the one behind the last: `replace_lines` leaves that where
    it is. None where a string runs over a line end: its inner lines would move.
    """
    first, last = statements[0], statements[-1]
    assert last.end_lineno is not None
    if any(_multi_line_string(node) for part in statements for node in ast.walk(part)):
        return None
    indent = indent_of(source, first)
    result = []
    lines = list(source.lines[_first_line(first) - 1 : last.end_lineno])
    behind = source.line_starts[last.end_lineno - 1], source.span(last)[1]
    lines[-1] = source.data[slice(*behind)].decode("utf-8")
    for line in lines:
        text = line.removeprefix("\ufeff")
        result.append(
            by + (text.removeprefix(indent) if text.startswith(indent) else text.lstrip())
        )
    return [line if line.strip() else "" for line in result]


def _multi_line_string(node: ast.AST) -> bool:
    text = isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )
    return text and node.lineno != node.end_lineno  # type: ignore[attr-defined]


def indent_unit(source: Source) -> str:
    """One step of indentation of the file: its first indented block's, or four spaces."""
    for node in source.nodes:
        body = getattr(node, "body", None)
        if isinstance(node, ast.stmt) and isinstance(body, list) and body:
            inner, outer = indent_of(source, body[0]), indent_of(source, node)
            if body[0].lineno > node.lineno and inner.startswith(outer) and inner != outer:
                return inner[len(outer) :]
    return "    "


def below_imports(source: Source, module: str, lines: Sequence[str]) -> Edit | None:
    """Put a helper function below the leading imports, of which ``module`` has to be one.

    The place is the same for every caller, so that two rules which need one helper share it.
    """
    last = None
    seen = False
    body = source.tree.body
    start = 1 if ast.get_docstring(source.tree, clean=False) is not None else 0
    for statement in body[start:]:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            break
        last = statement
        if isinstance(statement, ast.Import):
            seen = seen or any(item.name == module for item in statement.names)
    if last is None or not seen or not stands_alone(source, last):
        return None
    return insert_after(source, last, ["", "", *lines, *_gap_after(source, last)])


def _gap_after(source: Source, statement: ast.stmt) -> list[str]:
    """Blank lines needed so that two stand between the helper and what follows it."""
    assert statement.end_lineno is not None
    following = source.lines[statement.end_lineno :]
    blank = next((n for n, line in enumerate(following) if line.strip()), 2)
    return [""] * max(0, 2 - blank)


# ------------------------------------------------------------------- refusing
def first_refusal(checks: Iterable[Callable[[], Refusal | None]]) -> Refusal | None:
    """The first guard that objects."""
    return next((refusal for check in checks if (refusal := check()) is not None), None)


def is_set_once(source: Source, attr: str) -> bool:
    """No object gets another value for the attribute once it is made, as far as the text tells."""
    making = {
        id(part)
        for node in source.nodes
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        for part in ast.walk(node)
    }
    for node in source.nodes:
        match node:
            case ast.Attribute(attr=found, ctx=ast.Store() | ast.Del()) if found == attr:
                if id(node) not in making:
                    return False
            case ast.Name(id="setattr" | "delattr" | "vars") | ast.Attribute(attr="__dict__"):
                return False
            case _:
                pass
    return True
