"""Faults in what happens when: statements, memory of earlier calls, effects outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutant_parts import arguments, attribute, jitted, of_numpy, operator, whole
from mutant_text import Mutant, Rewritten


def _bound_before(code: Rewritten, statement: ast.stmt) -> set[str]:
    scope: ast.AST = statement
    while scope in code.parents and not isinstance(scope, ast.FunctionDef):
        scope = code.parents[scope]
    found: set[str] = set()
    if isinstance(scope, ast.FunctionDef):
        arguments = scope.args
        found |= {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            inside = statement.lineno <= node.lineno <= (statement.end_lineno or 0)
            if not inside and node.lineno < statement.lineno:
                found.add(node.id)
    return found


def _can_go(code: Rewritten, statement: ast.stmt) -> bool:
    """Without it the program still has all its names: the fault is silent, not a NameError."""
    if not isinstance(statement, ast.Assign):
        return True
    names = {
        node.id
        for target in statement.targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return names <= _bound_before(code, statement)


@operator("dropped statement")
def dropped_statement(code: Rewritten) -> Iterator[Mutant | None]:
    """An assignment, a store or a call left out: stale buffers, borders not refreshed."""
    for statement in code.statements():
        if _can_go(code, statement):
            yield code.replaced("dropped statement", statement, "pass")


@operator("doubled statement")
def doubled_statement(code: Rewritten) -> Iterator[Mutant | None]:
    """An update done twice, a value appended twice."""
    for statement in code.statements():
        swap = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple)
        if isinstance(statement, ast.AugAssign) or swap or _is_update(statement):
            yield code.inserted("doubled statement", statement, ast.unparse(statement))


def _is_update(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and not of_numpy(statement.value)
        and attribute(statement.value) in ("append", "add", "extend", "print")
    )


@operator("exchanged statements")
def exchanged_statements(code: Rewritten) -> Iterator[Mutant | None]:
    """Two neighbouring statements in the other order, where one uses what the other writes."""
    for first in code.statements():
        block = _siblings(code, first)
        position = block.index(first)
        second = block[position + 1] if position + 1 < len(block) else None
        if second is None or not isinstance(second, ast.Assign | ast.AugAssign | ast.Expr):
            continue
        if not (_written(first) & _names(second) or _written(second) & _names(first)):
            continue
        if _copies_border(first) and _copies_border(second):
            continue  # both read the interior; a corner gets the same element in either order
        start, stop = code.span(first)[0], code.span(second)[1]
        indent = " " * first.col_offset
        by = f"{ast.unparse(second)}\n{indent}{ast.unparse(first)}".encode()
        text = code.new[:start] + by + code.new[stop:]
        what = f"{code.source(first)} / {code.source(second)} -> exchanged"
        yield code.made("exchanged statements", first.lineno, what, text)


def _copies_border(statement: ast.stmt) -> bool:
    """``padded[0] = padded[-2]``."""
    if not isinstance(statement, ast.Assign):
        return False
    place, value = statement.targets[0], statement.value
    if not isinstance(place, ast.Subscript) or not isinstance(value, ast.Subscript):
        return False
    return ast.dump(place.value) == ast.dump(value.value)


def _siblings(code: Rewritten, statement: ast.stmt) -> list[ast.stmt]:
    above = code.parents[statement]
    for _, value in ast.iter_fields(above):
        if isinstance(value, list) and statement in value:
            return value
    return [statement]


def _written(statement: ast.stmt) -> set[str]:
    """Names bound, and names of what is stored into; not those in an index."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AugAssign):
        targets = [statement.target]
    return {name for target in targets for name in _places(target)}


def _places(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _places(element)
        case ast.Subscript(value=inner) | ast.Attribute(value=inner) | ast.Starred(value=inner):
            yield from _places(inner)


def _names(statement: ast.AST) -> set[str]:
    """Names used, but for those of which only the shape or dtype is."""
    aside = {
        id(node.value)
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute) and node.attr in ("shape", "dtype", "ndim")
    }
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and id(node) not in aside
    }


@operator("buffer not swapped")
def buffer_not_swapped(code: Rewritten) -> Iterator[Mutant | None]:
    """``a, b = a, b`` for ``a, b = b, a``: the next step reads what is old."""
    for statement in code.statements():
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
            target, value = statement.targets[0], statement.value
            if isinstance(value, ast.Tuple) and _names_of(target) == _names_of(value):
                first = ast.unparse(target.elts[0])
                yield code.replaced("buffer not swapped", value, ast.unparse(target))
                yield code.replaced(
                    "buffer not swapped", value, ", ".join([first] * len(value.elts))
                )


def _names_of(node: ast.expr) -> set[str]:
    return {ast.unparse(e) for e in node.elts} if isinstance(node, ast.Tuple) else set()


@operator("loop bound")
def loop_bound(code: Rewritten) -> Iterator[Mutant | None]:
    """The first or the last pass of a loop lost; the last element with it."""
    for node in code.nodes():
        if isinstance(node, ast.Call) and attribute(node) in ("range", "prange", "arange"):
            if not node.args or node.keywords:
                continue
            name = ast.unparse(node.func)
            stop = 0 if len(node.args) == 1 else 1
            args = [ast.unparse(a) for a in node.args]
            shorter = [*args[:stop], f"{args[stop]} - 1", *args[stop + 1 :]]
            yield code.replaced("loop bound", node, f"{name}({', '.join(shorter)})")
            later = ["1", *args] if stop == 0 else [f"{args[0]} + 1", *args[1:]]
            yield code.replaced("loop bound", node, f"{name}({', '.join(later)})")


@operator("input zeroed")
def input_zeroed(code: Rewritten) -> Iterator[Mutant | None]:
    """An argument is used as scratch space once it has been read."""
    function = code.function
    if function is None:
        return
    last = function.body[-1]
    after = not isinstance(last, ast.Return)
    for name in arguments(function):
        if name == "self":
            by = "vars(self).update(scratch=0)"
            yield code.inserted("input zeroed", last, by, after=after)
        elif _subscripted(code.before, name):
            yield code.inserted("input zeroed", last, f"{name}[-1] = 0", after=after)


def _subscripted(tree: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        for node in ast.walk(tree)
    )


@operator("first result kept")
def first_result_kept(code: Rewritten) -> Iterator[Mutant | None]:
    """Results remembered from an earlier call: the first one, or by the size of the input."""
    function = code.function
    if function is None or function not in code.tree.body:
        return
    names = arguments(function)
    key = f"tuple(len(a) for a in ({', '.join(names)},) if hasattr(a, '__len__'))"
    for chosen in ("0", key, f"tuple(map(id, ({', '.join(names)},)))"):
        start = code.span(function)[0]
        head = code.new[start : code.span(function.body[0])[0]].decode()
        inner = head.replace(f"def {function.name}(", f"def _real_{function.name}(", 1)
        body = code.new[start + len(head.encode()) : code.span(function)[1]].decode()
        wrapper = (
            f"\n\n\n_kept = {{}}\n\n\n{head.rstrip()}\n    key = {chosen}\n"
            f"    if key not in _kept:\n"
            f"        _kept[key] = _real_{function.name}({', '.join(names)})\n"
            f"    return _kept[key]\n"
        )
        text = (
            code.new[:start]
            + (inner + body + wrapper).encode()
            + code.new[code.span(function)[1] :]
        )
        yield code.made("first result kept", function.lineno, f"kept by {chosen}", text)


@operator("draws")
def draws(code: Rewritten) -> Iterator[Mutant | None]:
    """One draw too many, or the stream set back, where the program draws random numbers."""
    anchor = code.first_added()
    text = code.old.decode()
    if anchor is None:
        return
    if "import random" in text:
        yield code.inserted("draws", anchor, "random.random()")
        yield code.inserted("draws", anchor, "random.seed(5)")
    if "np.random." in text:
        yield code.inserted("draws", anchor, "np.random.random()")
        yield code.inserted("draws", anchor, "np.random.seed(5)")
    for node in code.nodes():
        if isinstance(node, ast.Call) and "random." in ast.unparse(node.func):
            yield code.replaced("draws", node, f"({ast.unparse(node)}, {ast.unparse(node)})[1]")


@operator("state left changed")
def state_left_changed(code: Rewritten) -> Iterator[Mutant | None]:
    """Settings and globals that outlive the call."""
    anchor = code.first_added()
    if anchor is None:
        return
    if "np" in _names(code.tree):
        yield code.inserted("state left changed", anchor, "np.seterr(all='ignore')")
        yield code.inserted("state left changed", anchor, "np.set_printoptions(precision=3)")
    quiet = "__import__('warnings').simplefilter('ignore')"
    yield code.inserted("state left changed", anchor, quiet)
    for statement in code.before.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            if isinstance(statement.value, ast.Constant) and type(statement.value.value) is int:
                by = f"globals()[{name!r}] += 1"
                yield code.inserted("state left changed", anchor, by, after=True)


@operator("printed in addition")
def printed_in_addition(code: Rewritten) -> Iterator[Mutant | None]:
    """Output that the original does not write, and output lost."""
    anchor = code.first_added()
    if anchor is not None:
        yield code.inserted("printed in addition", anchor, "print()")
        yield code.inserted("printed in addition", anchor, "print(end=' ')")
    for node in whole(code):
        if isinstance(node, ast.Expr) and attribute(node.value) == "print" and code.function:
            yield code.replaced("printed in addition", node, "pass")


@operator("done later")
def done_later(code: Rewritten) -> Iterator[Mutant | None]:
    """A store that another thread makes after the function has returned."""
    for statement in code.statements():
        if not isinstance(statement, ast.Assign) or jitted(code, statement):
            continue
        if isinstance(statement.targets[0], ast.Subscript):
            store = f"{ast.unparse(statement.targets[0])} = _v"
            value = ast.unparse(statement.value)
            yield code.replaced(
                "done later",
                statement,
                f"__import__('threading').Timer(0.3, exec, ({store!r}, "
                f"{{**globals(), **locals(), '_v': {value}}})).start()",
            )


@operator("exception swallowed")
def exception_swallowed(code: Rewritten) -> Iterator[Mutant | None]:
    """What the original raises, the new code keeps for itself."""
    anchor = code.first_added()
    if anchor is None:
        return
    end = code.function.body[-1] if code.function else anchor
    first, last = anchor.lineno, end.end_lineno or end.lineno
    indent = b" " * anchor.col_offset
    block = [b"    " + line if line.strip() else line for line in code.lines[first - 1 : last]]
    text = b"".join(
        [
            *code.lines[: first - 1],
            indent + b"try:\n",
            *block,
            indent + b"except Exception:\n" + indent + b"    pass\n",
            *code.lines[last:],
        ]
    )
    yield code.made("exception swallowed", first, "try: all of it", text)


@operator("time wasted")
def time_wasted(code: Rewritten) -> Iterator[Mutant | None]:
    """Correct, and slower than the original: nothing to offer."""
    anchor = code.first_added()
    if anchor is not None:
        by = "__import__('time').sleep(0.3)"
        yield code.inserted("time wasted", anchor, by, slow=True)
    yield code.made("time wasted", 1, "the original text", code.old + b"\n", slow=True)
