"""Original and rewritten code on live objects: inside a forked copy of the user's process.

The process runs an instrumented program. ``restore`` gives every live function of the user's
files the code that its original text compiles to; ``adopt`` then gives the functions that a
candidate changes the code of the new text, and executes the definitions which that text adds.
Function objects stay the same objects, so references to them anywhere keep working.

Everything here works on text that compiles; it raises Unavailable where a change cannot be tried
on a live state (the whole script, run afresh, then has to decide).
"""

from __future__ import annotations

import ast
import gc
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from ..rowcalls import is_hidden_loop

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)


class Unavailable(Exception):
    """The change cannot be tried on a held state, and why."""


CodeIndex = Mapping[str, tuple[types.CodeType, ...]]
"""Qualified name -> the code objects with that name, in source order."""


def compiled(text: bytes | ast.Module, filename: str) -> types.CodeType:
    """Compile a module as the interpreter would, whatever this module's own future flags."""
    return compile(text, filename, "exec", dont_inherit=True)


def code_index(module: types.CodeType) -> CodeIndex:
    """Every function's code object below a module's."""
    found: dict[str, list[types.CodeType]] = {}
    pending = [module]
    while pending:
        for constant in pending.pop().co_consts:
            if isinstance(constant, types.CodeType):
                found.setdefault(constant.co_qualname, []).append(constant)
                pending.append(constant)
    return {name: tuple(sorted(c, key=lambda k: k.co_firstlineno)) for name, c in found.items()}


def live_functions(filename: str) -> list[types.FunctionType]:
    """The function objects whose code comes from a file."""
    return [
        thing
        for thing in gc.get_objects()
        if type(thing) is types.FunctionType and thing.__code__.co_filename == filename
    ]


def future_imports(tree: ast.Module) -> list[ast.stmt]:
    """The ``from __future__`` imports, which change how the rest compiles."""
    return [s for s in tree.body if isinstance(s, ast.ImportFrom) and s.module == "__future__"]


def _unwrap(namespace: dict[str, Any], depth: int = 0) -> None:
    """Put profiled functions back in place of line_profiler's wrappers around them."""
    for name, thing in list(namespace.items()):
        inner = getattr(thing, "__wrapped__", None) if callable(thing) else None
        code = getattr(thing, "__code__", None)
        if inner is not None and code is not None and "line_profiler" in code.co_filename:
            namespace[name] = inner
        elif isinstance(thing, type) and depth == 0:
            for key, member in list(vars(thing).items()):
                function = getattr(member, "__func__", member)
                code = getattr(function, "__code__", None)
                if code is not None and "line_profiler" in code.co_filename:
                    whole = type(member)(function.__wrapped__) if function is not member else None
                    setattr(thing, key, whole or function.__wrapped__)


def restore(namespace: dict[str, Any], text: bytes, filename: str) -> None:
    """Give the live functions of a file the code of its original text."""
    _unwrap(namespace)
    index = code_index(compiled(text, filename))
    for function in live_functions(filename):
        code = _original_code(function, index)
        if code is not None and code.co_freevars == function.__code__.co_freevars:
            function.__code__ = code


def _original_code(function: types.FunctionType, index: CodeIndex) -> types.CodeType | None:
    options = index.get(function.__code__.co_qualname, ())
    for code in options:
        if code.co_firstlineno == function.__code__.co_firstlineno:
            return code
    return options[0] if len(options) == 1 else None


# ------------------------------------------------------------------ alignment
@dataclass(frozen=True)
class Block:
    """A stretch of statements of one list and what it became; ``old`` or ``new`` may be empty."""

    old: tuple[ast.stmt, ...]
    new: tuple[ast.stmt, ...]


def changed_blocks(old: Iterable[ast.stmt], new: Iterable[ast.stmt]) -> Iterator[Block]:
    """Where two lists of statements differ, aligned on the statements they have in common."""
    before, after = list(old), list(new)
    texts = [ast.dump(s) for s in before], [ast.dump(s) for s in after]
    matcher = SequenceMatcher(None, *texts, autojunk=False)
    for tag, start, stop, other, end in matcher.get_opcodes():
        if tag != "equal":
            yield Block(tuple(before[start:stop]), tuple(after[other:end]))


def header(statement: ast.stmt) -> str:
    """What introduces a compound statement: everything but the statements inside it."""
    parts = [
        f"{name}={ast.dump(value) if isinstance(value, ast.AST) else _dumps(value)}"
        for name, value in ast.iter_fields(statement)
        if name not in ("body", "orelse", "finalbody", "handlers")
    ]
    return f"{type(statement).__name__}({', '.join(parts)})"


def _dumps(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(ast.dump(v) if isinstance(v, ast.AST) else repr(v) for v in value)
    return repr(value)


def bodies(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The lists of statements directly inside a statement (of handlers and cases too)."""
    found = [
        value
        for _, value in ast.iter_fields(statement)
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt)
    ]
    for holder in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        found.append(holder.body)
    return found


# ------------------------------------------------------------------ adoption
Execute = Callable[[list[ast.stmt]], None]


def adopt(namespace: dict[str, Any], old: bytes, new: bytes, filename: str, shown: str) -> None:
    """Turn the live module into what it would be with the new text.

    ``filename`` is what live code says it comes from, ``shown`` the file that holds the new text.
    Raises Unavailable if other top-level code changed than definitions.
    """
    before, after = ast.parse(old), ast.parse(new)
    future = future_imports(after)
    for block in changed_blocks(before.body, after.body):
        for statement in _to_execute(block, before, namespace):
            execute(namespace, [*future, statement], shown)
    swap(old, new, filename, shown)


def execute(namespace: dict[str, Any], statements: list[ast.stmt], filename: str) -> None:
    """Run statements as module-level code."""
    if statements:
        module = ast.Module(body=statements, type_ignores=[])
        exec(compiled(module, filename), namespace)


def _to_execute(block: Block, before: ast.Module, namespace: dict[str, Any]) -> Iterator[ast.stmt]:
    """The statements of a changed block which the live module has to run."""
    known = {s.name: s for s in before.body if isinstance(s, DEFINITIONS)}
    removed = {header(s) for s in block.old}
    for statement in block.new:
        counterpart = known.get(statement.name) if isinstance(statement, DEFINITIONS) else None
        if counterpart is not None:
            if _needs_execution(counterpart, statement, namespace):
                yield statement
        elif isinstance(statement, (*IMPORTS, *DEFINITIONS)):
            yield statement
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            _refuse_rebinding(statement, before)
            yield statement
        elif isinstance(statement, ast.If | ast.Try | ast.With) and header(statement) in removed:
            continue  # ``if __name__ == "__main__":`` with a change inside: see statements()
        elif isinstance(statement, ast.If | ast.Try) and not block.old:
            yield statement  # ``try: import numba``
        else:
            raise Unavailable(f"the rewrite changes top-level code (line {statement.lineno})")


def _refuse_rebinding(statement: ast.Assign | ast.AnnAssign, before: ast.Module) -> None:
    # RATE = 0.1 became RATE = 0.2, or total = run(grid) became something else: the live module
    # is past that line, and what followed from it cannot be taken back.
    if bound_names([statement]) & bound_names(before.body):
        raise Unavailable(f"the rewrite changes a top-level assignment (line {statement.lineno})")


def _needs_execution(old: ast.stmt, new: ast.stmt, namespace: dict[str, Any]) -> bool:
    """True if swapping code objects would not do: another signature, decorator or base class."""
    if isinstance(new, ast.ClassDef):
        if header(old) != header(new) or _frame(old) != _frame(new):
            raise Unavailable(f"the rewrite changes class {new.name} itself (line {new.lineno})")
        return False
    assert isinstance(new, ast.FunctionDef | ast.AsyncFunctionDef)
    # A compiled function keeps the machine code of its old body.
    compiled_already = hasattr(namespace.get(new.name), "py_func")
    return header(old) != header(new) or compiled_already


def _frame(node: ast.stmt) -> list[str]:
    """A class body without the bodies of its methods."""
    body = getattr(node, "body", [])
    return [header(s) if isinstance(s, DEFINITIONS) else ast.dump(s) for s in body]


def swap(old: bytes, new: bytes, filename: str, shown: str) -> None:
    """Give live functions with original code the code of the new text.

    Raises Unavailable if a live closure would need variables that it does not have.
    """
    before = code_index(compiled(old, filename))
    after = code_index(compiled(new, shown))
    partner = {
        code: after[name][position]
        for name, codes in before.items()
        for position, code in enumerate(codes)
        if len(after.get(name, ())) == len(codes)
    }
    for function in live_functions(filename):
        code = partner.get(function.__code__)
        if code is None:
            continue
        if code.co_freevars != function.__code__.co_freevars:
            raise Unavailable(f"the rewrite of {function.__qualname__} closes over other variables")
        function.__code__ = code


# ----------------------------------------------------------------- statements
def find_statement(tree: ast.Module, line: int) -> list[tuple[list[ast.stmt], int]]:
    """The path of (list, position) from the top level to the loop statement at a line."""

    def search(statements: list[ast.stmt]) -> list[tuple[list[ast.stmt], int]]:
        for position, statement in enumerate(statements):
            if not statement.lineno <= line <= (statement.end_lineno or statement.lineno):
                continue
            loop = isinstance(statement, ast.For | ast.While) or is_hidden_loop(statement)
            if loop and statement.lineno == line:
                return [(statements, position)]
            for body in () if isinstance(statement, DEFINITIONS) else bodies(statement):
                below = search(body)
                if below:
                    return [(statements, position), *below]
        return []

    path = search(tree.body)
    if not path:
        raise Unavailable(f"no top-level loop at line {line}")
    return path


def statements(
    old: bytes, new: bytes, line: int
) -> tuple[list[ast.stmt], list[ast.stmt], list[ast.stmt]]:
    """What runs at a held module-level loop.

    Returns (definitions to execute before, the original's statements, the candidate's).
    """
    before, after = ast.parse(old), ast.parse(new)
    path = find_statement(before, line)
    mine, other = before.body, after.body
    setup = _added_definitions(before, after)
    for depth, (_, position) in enumerate(path):
        statement = mine[position]
        block = _block_with(mine, other, statement)
        if block is None:
            held = path[-1][0][path[-1][1]]
            return setup, [held], [held]
        if depth + 1 == len(path):
            return setup, *_replacement(block, statement)
        twins = [s for s in block.new if header(s) == header(statement)]
        if len(twins) != 1:
            return setup, *_replacement(block, statement)
        inside = path[depth + 1][0]
        which = next(i for i, body in enumerate(bodies(statement)) if body is inside)
        mine, other = inside, bodies(twins[0])[which]
    raise AssertionError("the path ends at a loop")


def _block_with(old: list[ast.stmt], new: list[ast.stmt], statement: ast.stmt) -> Block | None:
    for block in changed_blocks(old, new):
        if any(s is statement for s in block.old):
            return block
    return None


def _replacement(block: Block, statement: ast.stmt) -> tuple[list[ast.stmt], list[ast.stmt]]:
    # The state is the one right before the loop: a change of what comes before it, as in
    # total = 0.0 / for x in xs: total += x, cannot be tried from there.
    if block.old[0] is not statement:
        first = block.old[0].lineno
        if not all(isinstance(s, (*IMPORTS, *DEFINITIONS)) for s in _until(block.old, statement)):
            raise Unavailable(f"the rewrite changes code before the held loop (line {first})")
    original = list(block.old[next(i for i, s in enumerate(block.old) if s is statement) :])
    candidate = [s for s in block.new if not isinstance(s, (*IMPORTS, *DEFINITIONS))]
    return original, candidate


def _until(items: tuple[ast.stmt, ...], end: ast.stmt) -> Iterator[ast.stmt]:
    for item in items:
        if item is end:
            return
        yield item


def _added_definitions(before: ast.Module, after: ast.Module) -> list[ast.stmt]:
    known = {s.name: (header(s),) for s in before.body if isinstance(s, DEFINITIONS)}
    setup: list[ast.stmt] = []
    for block in changed_blocks(before.body, after.body):
        for statement in block.new:
            if isinstance(statement, IMPORTS):
                setup.append(statement)
            elif isinstance(statement, DEFINITIONS):
                if header(statement) not in known.get(statement.name, ()):
                    setup.append(statement)
            elif isinstance(statement, ast.Assign) and _makes_helper(statement, before, set(known)):
                setup.append(statement)
    return setup


def _makes_helper(statement: ast.Assign, before: ast.Module, known: set[str]) -> bool:
    """``_helper_jit = numba.njit(helper)``: a definition in all but form."""
    calls = isinstance(statement.value, ast.Call)
    names = {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
    return calls and bool(names & known) and not bound_names([statement]) & bound_names(before.body)


def bound_names(statements: Iterable[ast.stmt]) -> set[str]:
    """Names that module-level code binds when it runs (not inside functions and classes)."""
    names: set[str] = set()
    pending: list[ast.AST] = list(statements)
    while pending:
        node = pending.pop()
        if isinstance(node, DEFINITIONS):
            names.add(node.name)
            continue
        if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name.partition(".")[0])
        pending.extend(ast.iter_child_nodes(node))
    return names
