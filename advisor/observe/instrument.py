"""Puts hooks into a module's code: ``ast`` in, code object out.

The hooks are no names of the program: they are calls of constants, put into the compiled code in
place of marked strings. So ``globals()``, ``dir()``, closures, pickling and the identity of
functions stay what they are, and line numbers too. Hook lines carry the number of the ``def``
(line 1 at top level), so that no line of a loop body gets time that is ours.
"""

from __future__ import annotations

import ast
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ..rowcalls import as_loop, hidden_loops
from .plan import FilePlan, SitePlan

MODULE = "<module>"
_MARK = "\x00gpuadvise hook %d\x00"

COMPILERS = frozenset(
    {
        *("jit", "njit", "vectorize", "guvectorize", "stencil", "cfunc", "jit_module", "overload"),
        *("script", "kernel", "elementwise", "fuse", "compile", "pjit", "pmap", "vmap"),
    }
)
"""Decorators that read a function's bytecode or source: a hook in it would break them."""

INTROSPECTION = frozenset(("locals", "vars", "dir", "eval", "exec"))
"""Functions that use these see a snapshot of the locals, which looking at them renews."""

Hook = Callable[[], object]
Adopt = Callable[[types.CodeType], types.CodeType]
"""Takes a code object that is to be timed and gives it back padded."""


@dataclass(frozen=True)
class LoopHooks:
    """``due()`` counts an entry and says whether to look; ``look()`` looks."""

    due: Hook
    look: Hook


@dataclass
class Makers:
    """Where the hooks come from. None: none of that kind here."""

    site: Callable[[SitePlan, ast.stmt], LoopHooks | None]
    timer: Callable[[int, Sequence[range] | None], Adopt | None]
    """Called with the line whose records are to be dropped, and the lines that are meant."""


@dataclass
class _Scope:
    qualname: str
    node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    hook_line: int
    compiled: bool = False
    """Given to a compiler such as numba: stays as it is, with all that is inside."""
    looks_at_itself: bool = False
    """Uses ``locals()`` or the like: its values are not looked at."""

    @property
    def prefix(self) -> str:
        if isinstance(self.node, ast.Module):
            return ""
        joint = "." if isinstance(self.node, ast.ClassDef) else ".<locals>."
        return self.qualname + joint


def function_names(
    tree: ast.Module,
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every ``def`` of a module with the qualified name that its code object has."""

    def visit(
        node: ast.AST, prefix: str
    ) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield prefix + child.name, child
                yield from visit(child, f"{prefix}{child.name}.<locals>.")
            elif isinstance(child, ast.ClassDef):
                yield from visit(child, f"{prefix}{child.name}.")
            else:
                yield from visit(child, prefix)

    return visit(tree, "")


def is_generator(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """Whether calling it runs its body later: a generator or a coroutine function."""
    if isinstance(node, ast.AsyncFunctionDef):
        return True
    todo: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    while todo:
        part = todo.pop()
        if isinstance(part, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(part))
    return False


def first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The line a code object calls its first: that of the first decorator, if there is one."""
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


def _looks_at_itself(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Name) and n.id in INTROSPECTION for n in ast.walk(node))


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def handed_to_compilers(tree: ast.Module) -> frozenset[str]:
    """Names of functions that appear as an argument of a compiler: ``fast = njit(slow)``."""
    return frozenset(
        argument.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _last_name(node.func) in COMPILERS
        for argument in node.args
        if isinstance(argument, ast.Name)
    )


def is_compiled(
    node: ast.FunctionDef | ast.AsyncFunctionDef, handed: frozenset[str] = frozenset()
) -> bool:
    """Whether a compiler gets the function, by decorator or by call."""
    return node.name in handed or any(_last_name(d) in COMPILERS for d in node.decorator_list)


@dataclass
class _Instrumenter(ast.NodeTransformer):
    plan: FilePlan
    makers: Makers
    handed: frozenset[str]
    hooks: list[Hook] = field(default_factory=list)
    adopted: dict[tuple[str, int], Adopt] = field(default_factory=dict)
    scopes: list[_Scope] = field(default_factory=list)
    top_loops: list[range] = field(default_factory=list)
    """Lines of the loops at top level, which are timed there and nothing else."""

    def __post_init__(self) -> None:
        self.loops = {(s.qualname, s.line): s for s in self.plan.sites if not s.is_function}
        self.functions = {(s.qualname, s.line): s for s in self.plan.sites if s.is_function}

    # -------------------------------------------------------------- scopes
    def visit_Module(self, node: ast.Module) -> ast.Module:
        if self._wanted(MODULE):
            adopt = self.makers.timer(1, self.top_loops)
            if adopt is not None:
                self.adopted[MODULE, 0] = adopt
        self.scopes.append(_Scope(MODULE, node, 1))
        self.generic_visit(node)
        self.scopes.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        outer = self.scopes[-1]
        self.scopes.append(
            _Scope(outer.prefix + node.name, node, node.lineno, compiled=outer.compiled)
        )
        self.generic_visit(node)
        self.scopes.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        outer = self.scopes[-1]
        compiled = outer.compiled or is_compiled(node, self.handed)
        name = outer.prefix + node.name
        scope = _Scope(name, node, node.lineno, compiled, _looks_at_itself(node))
        self.scopes.append(scope)
        self.generic_visit(node)
        self.scopes.pop()
        if not compiled and not is_generator(node):
            node.body = self._function_body(node, scope)
        return node

    def _function_body(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope
    ) -> list[ast.stmt]:
        head: list[ast.stmt] = []
        body = list(node.body)
        name = scope.qualname
        if ast.get_docstring(node, clean=False) is not None:
            head.append(body.pop(0))
        site = None if scope.looks_at_itself else self.functions.get((name, node.lineno))
        hooks = self.makers.site(site, node) if site is not None else None
        if hooks is not None:
            head.append(self._look(hooks, node.lineno))
        if not body:
            return head
        if self._wanted(name):
            dropped = node.lineno if body[0].lineno != node.lineno else 0
            adopt = self.makers.timer(dropped, None)
            if adopt is not None:
                self.adopted[name, first_line(node)] = adopt
        return head + body

    # --------------------------------------------------------------- loops
    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        return self._loop(node)

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.stmt]:
        return self._loop(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Statements with a loop inside, of pandas or in brackets, are looked at as loops are."""
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                hidden = hidden_loops([node, *block])
                parts = [self._hidden(s) if s in hidden else [s] for s in block]
                setattr(node, name, [part for shown in parts for part in shown])
        return super().generic_visit(node)

    def _hidden(self, node: ast.stmt) -> list[ast.stmt]:
        scope = self.scopes[-1]
        if scope.qualname == MODULE:
            self.top_loops.append(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        site = self.loops.get((scope.qualname, node.lineno))
        if site is None or scope.compiled or scope.looks_at_itself:
            return [node]
        hooks = self.makers.site(site, as_loop(node))
        return [node] if hooks is None else [self._look(hooks, scope.hook_line), node]

    def _loop(self, node: ast.For | ast.While) -> ast.AST | list[ast.stmt]:
        scope = self.scopes[-1]
        if scope.compiled:
            return node
        if scope.qualname == MODULE:
            self.top_loops.append(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        self.generic_visit(node)
        statements: list[ast.stmt] = [node]
        site = self.loops.get((scope.qualname, node.lineno))
        if scope.looks_at_itself:
            site = None
        hooks = self.makers.site(site, node) if site is not None else None
        if hooks is not None:
            statements.insert(0, self._look(hooks, scope.hook_line))
        return statements

    # --------------------------------------------------------------- pieces
    def _wanted(self, qualname: str) -> bool:
        return self.plan.functions is None or qualname in self.plan.functions

    def _call(self, hook: Hook, line: int) -> ast.expr:
        self.hooks.append(hook)
        mark = ast.Constant(_MARK % (len(self.hooks) - 1))
        return _placed(ast.Call(mark, [], []), line)

    def _look(self, hooks: LoopHooks, line: int) -> ast.stmt:
        """``due() and look()``"""
        test = ast.BoolOp(ast.And(), [self._call(hooks.due, line), self._call(hooks.look, line)])
        return _placed(ast.Expr(_placed(test, line)), line)


_Node = TypeVar("_Node", bound=ast.stmt | ast.expr)


def _placed(node: _Node, line: int) -> _Node:
    """The node with a position; what is below it has one already, or gets the same."""
    for part in ast.walk(node):
        if isinstance(part, ast.stmt | ast.expr) and not hasattr(part, "lineno"):
            part.lineno = part.end_lineno = line
            part.col_offset = part.end_col_offset = 0
    return node


def instrument(data: bytes, plan: FilePlan, makers: Makers) -> types.CodeType:
    """Compile a module with hooks at its sites and line timing in its functions.

    Raises SyntaxError and ValueError exactly where Python itself refuses the text.
    """
    tree = ast.parse(data, filename=plan.path)
    worker = _Instrumenter(plan, makers, handed_to_compilers(tree))
    worker.visit(tree)
    with warnings.catch_warnings():
        # Calling a constant string draws "'str' object is not callable".
        warnings.simplefilter("ignore")
        code = compile(tree, plan.path, "exec", dont_inherit=True)
    marks = {_MARK % number: hook for number, hook in enumerate(worker.hooks)}
    return _finish(code, marks, worker.adopted)


def _finish(
    code: types.CodeType,
    marks: Mapping[str, Hook],
    adopted: Mapping[tuple[str, int], Adopt],
) -> types.CodeType:
    """Put the hooks in place of their marks, innermost code first; hand timed code to its timer."""
    constants: list[object] = []
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            constants.append(_finish(value, marks, adopted))
        elif isinstance(value, str):
            constants.append(marks.get(value, value))
        else:
            constants.append(value)
    code = code.replace(co_consts=tuple(constants))
    line = 0 if code.co_qualname == MODULE else code.co_firstlineno
    adopt = adopted.get((code.co_qualname, line))
    return adopt(code) if adopt is not None else code
