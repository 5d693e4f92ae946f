"""``parent[x] = find(parent, parent[x])``: functions that follow a chain by calling themselves.

Compiled code gets two loops in their place: one to the end of the chain, one that shortens it. A
chain that Python might not follow to its end, one call inside the other, is left to Python.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...loopnest.scope import own_nodes
from ...model import Edit
from ..nb_text import functions_block, top_level_statement
from .draft import Draft

DEEPEST = 100
"""Calls inside each other that any program has room for."""
_LOOPS = '''\
def {name}({parameters}):
    """{function}(), with loops in place of its calls of itself."""
    root = {x}
    steps = 0
    while {parent}[root] != root:
        root = {parent}[root]
        steps += 1
        if steps > {most}:
            return 1 // 0  # so many calls may be too many: compiled code leaves it alone
{shorten}    return root
'''
_SHORTEN = """\
    while {parent}[{x}] != root:
        {parent}[{x}], {x} = root, {parent}[{x}]
"""


@dataclass(frozen=True)
class Chain:
    """A function that follows a chain."""

    function: ast.FunctionDef
    parent: str
    x: str
    shortens: bool


def without_recursions(draft: Draft) -> Draft:
    """The draft that calls such loops; unchanged where no function of the loop is like that."""
    known = {n: f for n, f in draft.region.functions.items() if f in draft.region.source.tree.body}
    if known.keys() != draft.region.functions.keys() or "setrecursionlimit" in _words(draft):
        return draft
    chains = {n: chain for n, f in known.items() if (chain := chain_of(f, n)) is not None}
    if not chains:
        return draft
    names: dict[str, str] = {}
    for name in (*chains, *_callers(known, set(chains))):
        names[name] = draft.free(f"_{name.strip('_')}_by_loops", *names.values())
    texts = [
        loops_text(chains[name], new) if name in chains else renamed_text(known[name], names)
        for name, new in names.items()
    ]
    called = [
        Edit(*draft.source.span(node.func), names[node.func.id])
        for node in own_nodes(draft.loop)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    ]
    if not called:
        return draft
    draft = draft.advanced(called)
    top = top_level_statement(draft.source, draft.loop)
    offset, block = functions_block(draft.source, top, texts)
    draft = draft.elsewhere([Edit(offset, offset, block)])
    plain = {new: _plain(known[name]) for name, new in names.items()}
    return replace(
        draft, plain={**draft.plain, **plain}, names=draft.names | frozenset(names.values())
    )


def _words(draft: Draft) -> set[str]:
    nodes = draft.source.nodes
    return {n.attr for n in nodes if isinstance(n, ast.Attribute)} | {
        n.id for n in nodes if isinstance(n, ast.Name)
    }


def _callers(known: Mapping[str, ast.FunctionDef], chains: set[str]) -> Iterator[str]:
    """The loop's functions that call one of these, or one that does."""
    reached = set(chains)
    while True:
        more = {
            name
            for name, function in known.items()
            if name not in reached and reached & _called(function)
        }
        if not more:
            return
        reached |= more
        yield from sorted(more)


def _called(function: ast.FunctionDef) -> set[str]:
    calls = (n.func for n in own_nodes(function) if isinstance(n, ast.Call))
    return {f.id for f in calls if isinstance(f, ast.Name)}


# --------------------------------------------------------------------- search
def chain_of(function: ast.FunctionDef, name: str) -> Chain | None:
    """What the function does, if it follows a chain and nothing else."""
    args = function.args
    other = args.posonlyargs or args.kwonlyargs or args.vararg or args.kwarg or args.defaults
    if other or function.decorator_list:
        return None
    match _without_docstring(function.body):
        case [ast.If(test=test, body=inner, orelse=[]), *rest]:
            place = _place(test)
        case _:
            return None
    if place is None:
        return None
    parent, x, is_end = place
    parameters = [a.arg for a in args.args]
    again = f"{name}({', '.join(f'{parent}[{x}]' if p == x else p for p in parameters)})"
    shortened = [f"{parent}[{x}] = {again}"]
    ends = ([f"return {x}"], [f"return {parent}[{x}]"])
    one, two = [ast.unparse(n) for n in inner], [ast.unparse(n) for n in rest]
    here, further = (one, two) if is_end else (two, one)
    if x not in parameters or here not in ends or {"root", "steps"} & {parent, *parameters}:
        return None
    if further in ([*shortened, ends[1][0]], shortened) and (is_end == (further != shortened)):
        # behind the call, `return x` would be where the chain began
        if not is_end and here != ends[1]:
            return None
        return Chain(function, parent, x, shortens=True)
    if further == [f"return {again}"]:
        return Chain(function, parent, x, shortens=False)
    return None


def _without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body


def _place(test: ast.expr) -> tuple[str, str, bool] | None:
    """Of ``parent[x] != x``: the list, the variable, and whether it holds at the chain's end."""
    match test:
        case (
            ast.Compare(
                left=ast.Subscript(value=ast.Name(id=parent), slice=ast.Name(id=x)),
                ops=[ast.Eq() | ast.NotEq() as op],
                comparators=[ast.Name(id=other)],
            )
            | ast.Compare(
                left=ast.Name(id=other),
                ops=[ast.Eq() | ast.NotEq() as op],
                comparators=[ast.Subscript(value=ast.Name(id=parent), slice=ast.Name(id=x))],
            )
        ) if other == x != parent:
            return parent, x, isinstance(op, ast.Eq)
    return None


# ----------------------------------------------------------------------- text
def loops_text(chain: Chain, name: str) -> str:
    """The function with loops."""
    parameters = ", ".join(a.arg for a in chain.function.args.args)
    shorten = _SHORTEN.format(parent=chain.parent, x=chain.x) if chain.shortens else ""
    return _LOOPS.format(
        name=name,
        parameters=parameters,
        function=chain.function.name,
        x=chain.x,
        parent=chain.parent,
        most=DEEPEST,
        shorten=shorten,
    )


def renamed_text(function: ast.FunctionDef, names: Mapping[str, str]) -> str:
    """A function that calls such ones, calling the new ones."""

    class _Renamed(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
            node.name = names.get(node.name, node.name)
            self.generic_visit(node)
            return node

        def visit_Call(self, node: ast.Call) -> ast.Call:
            self.generic_visit(node)
            if isinstance(node.func, ast.Name) and node.func.id in names:
                node.func = ast.Name(names[node.func.id], ast.Load())
            return node

    copied = _Renamed().visit(copy.deepcopy(function))
    return ast.unparse(ast.fix_missing_locations(copied)) + "\n"


def _plain(function: ast.FunctionDef) -> str:
    """What Python runs: the function itself."""
    return f"return {function.name}({', '.join(a.arg for a in function.args.args)})"
