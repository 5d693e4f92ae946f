"""Module globals that may be left different by a rewrite, because nobody reads them again."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from .rebuild import DEFINITIONS, bodies, bound_names, changed_blocks, header

_REFLECTION = frozenset({"globals", "locals", "vars", "exec", "eval", "dir"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Use(Enum):
    """What happens first to a name."""

    READ = "read"
    WRITTEN = "written"
    NEITHER = "neither"


def ignorable_globals(old: bytes, new: bytes) -> frozenset[str]:
    """Names whose value after the rewritten statements need not be that of the original.

    Those that only the new text binds, and those that the replaced statements bound and that are
    bound again, or never read, in all that may run later: loop variables, temporaries.
    """
    before, after = ast.parse(old), ast.parse(new)
    added = bound_names(after.body) - bound_names(before.body) - _mentioned([before])
    # print(globals()), exec("print(i)")
    if _mentioned([before, after]) & _REFLECTION:
        return frozenset(added)
    in_functions = set(_read_in_functions([before, after]))
    gone = {
        name
        for statement, later in _replaced(before.body, after.body)
        for name in bound_names([statement]) - in_functions
        if first_use(later, name) is not Use.READ
    }
    return frozenset(added | gone)


def _mentioned(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that are read anywhere below."""
    return {
        node.id
        for top in nodes
        for node in ast.walk(top)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)
    }


def _read_in_functions(trees: Iterable[ast.AST]) -> Iterator[str]:
    """Names of the module that functions, classes and lambdas may use whenever they are called."""
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, (*_SCOPES, ast.ClassDef)):
                yield from free_names(node)
            elif isinstance(node, ast.Global):
                yield from node.names


def _replaced(
    old: Sequence[ast.stmt], new: Sequence[ast.stmt], after: Sequence[ast.stmt] = ()
) -> Iterator[tuple[ast.stmt, list[ast.stmt]]]:
    """Changed statements of the old text, each with what runs after it."""
    for block in changed_blocks(old, new):
        for statement in block.old:
            if isinstance(statement, DEFINITIONS):
                continue
            position = next(i for i, s in enumerate(old) if s is statement)
            later = [*old[position + 1 :], *after]
            twins = [s for s in block.new if header(s) == header(statement)]
            same_shape = len(twins) == 1 and len(bodies(twins[0])) == len(bodies(statement))
            loop = isinstance(statement, ast.For | ast.While)
            if same_shape and isinstance(statement, ast.If | ast.With | ast.For | ast.While):
                # Inside a loop, the next iteration comes later too.
                later = [statement, *later] if loop else later
                for mine, other in zip(bodies(statement), bodies(twins[0]), strict=True):
                    yield from _replaced(mine, other, later)
            else:
                yield statement, later


# ------------------------------------------------------------------ first use
def first_use(statements: Iterable[ast.stmt], name: str) -> Use:
    """What happens first to a name when these statements run; READ if that is not certain."""
    for statement in statements:
        use = _use(statement, name)
        if use is not Use.NEITHER:
            return use
    return Use.NEITHER


def _use(statement: ast.stmt, name: str) -> Use:
    if isinstance(statement, DEFINITIONS):
        return Use.WRITTEN if statement.name == name else Use.NEITHER
    if isinstance(statement, ast.For):
        return _loop_use(statement, name)
    if isinstance(statement, ast.While):
        # No iteration may happen: what the body binds is not bound for sure.
        both = (first_use([_test(statement.test), *statement.body], name),)
        later = first_use(statement.orelse, name)
        return Use.READ if Use.READ in (*both, later) else Use.NEITHER
    if isinstance(statement, ast.If):
        if name in free_names(statement.test):
            return Use.READ
        uses = {first_use(statement.body, name), first_use(statement.orelse, name)}
        if Use.READ in uses:
            return Use.READ
        return Use.WRITTEN if uses == {Use.WRITTEN} else Use.NEITHER
    if name in free_names(statement):
        return Use.READ
    simple = isinstance(statement, ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom)
    return Use.WRITTEN if simple and name in bound_names([statement]) else Use.NEITHER


def _loop_use(loop: ast.For, name: str) -> Use:
    if name in free_names(loop.iter):
        return Use.READ
    target = bound_names([ast.Assign(targets=[loop.target], value=ast.Constant(None), lineno=0)])
    # for i in range(n): print(i) reads its own i; what comes after may see an older one (n == 0).
    body = Use.NEITHER if name in target else first_use(loop.body, name)
    uses = {body, first_use(loop.orelse, name)}
    return Use.READ if Use.READ in uses else Use.NEITHER


def _test(expression: ast.expr) -> ast.stmt:
    return ast.Expr(expression)


def free_names(node: ast.AST) -> set[str]:
    """Names a piece of code reads (or deletes) that it does not bind in a scope of its own."""
    if isinstance(node, _SCOPES):
        body: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
        inner = set().union(*map(free_names, body))
        own = _locals(node)
        outside: list[ast.AST] = [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        outside += getattr(node, "decorator_list", [])
        return (inner - own).union(*map(free_names, outside))
    if isinstance(node, _COMPREHENSIONS):
        own = {
            n.id
            for generator in node.generators
            for n in ast.walk(generator.target)
            if isinstance(n, ast.Name)
        }
        first = free_names(node.generators[0].iter)
        inner = set().union(*map(free_names, ast.iter_child_nodes(node)))
        return (inner - own) | first
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Store) else {node.id}
    found = set().union(*map(free_names, ast.iter_child_nodes(node)))
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        found.add(node.target.id)
    return found


def _locals(scope: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    arguments = scope.args
    own = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    own |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None}
    if isinstance(scope, ast.Lambda):
        return own
    declared = {name for n in ast.walk(scope) if isinstance(n, ast.Global) for name in n.names}
    return (own | bound_names(scope.body)) - declared
