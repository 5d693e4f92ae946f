"""``self.parent[x] = self.find(self.parent[x])``: methods that follow a chain, as functions.

Methods of one object that only read its attributes, lists that they store into among them, become
functions that are given the attributes. Python runs the user's own loop.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...loopnest.scope import dotted, local_names, own_nodes
from ...model import Basis, Condition, Edit
from ..nb_helpers import may_be_replaced
from ..nb_text import functions_block, top_level_statement
from .draft import Draft
from .own_loop import loop_lines
from .recursions import chain_of, loops_text, renamed_text


@dataclass(frozen=True)
class _Methods:
    """The methods of one object that a loop calls, and those that they call."""

    owner: str
    kind: ast.ClassDef
    functions: Mapping[str, ast.FunctionDef]
    attributes: Mapping[str, Sequence[str]]
    """Method -> the attributes that it reads, and what it calls, in order."""


def without_recursive_methods(draft: Draft) -> Draft:
    """The draft that calls functions in place of such methods; unchanged where there are none."""
    methods = _methods(draft)
    if methods is None or "setrecursionlimit" in draft.source.data.decode("utf-8", "replace"):
        return draft
    flat = {name: _flat(methods, name) for name in methods.functions}
    if any(function is None for function in flat.values()):
        return draft
    known = {name: function for name, function in flat.items() if function is not None}
    chains = {n: chain for n, f in known.items() if (chain := chain_of(f, n)) is not None}
    if not chains:
        return draft
    names: dict[str, str] = {}
    for name in known:
        names[name] = draft.free(f"_{name.strip('_')}_by_loops", *names.values())
    texts = [
        loops_text(chains[n], new) if n in chains else renamed_text(known[n], names)
        for n, new in names.items()
    ]
    own = loop_lines(draft.source, draft.loop)
    new = draft.advanced(list(_calls(draft, methods, names)))
    top = top_level_statement(new.source, new.loop)
    offset, block = functions_block(new.source, top, texts)
    new = new.elsewhere([Edit(offset, offset, block)])
    test = f"type({methods.owner}) is {methods.kind.name}"
    text = f"{test}, whose methods are called"
    new = new.asking(test, Condition(text, Basis.OBSERVED, guarded=True, test=test))
    plain = dict.fromkeys(names.values(), "raise NotImplementedError")
    return replace(
        new,
        plain={**new.plain, **plain},
        names=new.names | frozenset(names.values()),
        in_python=tuple(own),
    )


# --------------------------------------------------------------------- search
def _methods(draft: Draft) -> _Methods | None:
    paths = list(draft.region.functions)
    owners = {path.rpartition(".")[0] for path in paths}
    if len(owners) != 1 or "" in owners:
        return None
    (owner,) = owners
    functions = {path.rpartition(".")[2]: f for path, f in draft.region.functions.items()}
    tree = draft.region.source.tree
    classes = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and all(f in node.body for f in functions.values())
    ]
    if len(classes) != 1 or any(may_be_replaced(tree, classes[0], name) for name in functions):
        return None
    if any(callee not in functions for f in functions.values() for callee in _called(f)):
        return None
    read = {name: _attributes(f, functions) for name, f in functions.items()}
    while True:
        more = {
            name: tuple(
                dict.fromkeys(
                    [*found, *(a for callee in _called(functions[name]) for a in read[callee])]
                )
            )
            for name, found in read.items()
        }
        if more == read:
            return _Methods(owner, classes[0], functions, more)
        read = more


def _attributes(
    function: ast.FunctionDef, functions: Mapping[str, ast.FunctionDef]
) -> tuple[str, ...]:
    nodes = (n for n in own_nodes(function) if isinstance(n, ast.Attribute))
    found = [n.attr for n in nodes if _is_own(n, function)]
    return tuple(dict.fromkeys(name for name in found if name not in functions))


def _is_own(node: ast.AST, function: ast.FunctionDef) -> bool:
    """``self.parent``."""
    match node:
        case ast.Attribute(value=ast.Name(id=name)):
            return bool(function.args.args) and name == function.args.args[0].arg
    return False


def _called(function: ast.FunctionDef) -> list[str]:
    calls = (n.func for n in own_nodes(function) if isinstance(n, ast.Call))
    return [f.attr for f in calls if isinstance(f, ast.Attribute) and _is_own(f, function)]


# ----------------------------------------------------------------------- text
def _flat(methods: _Methods, name: str) -> ast.FunctionDef | None:
    """The method as a function of the attributes; None where it does more with the object."""
    method = copy.deepcopy(methods.functions[name])
    args = method.args
    plain = not (args.posonlyargs or args.kwonlyargs or args.vararg or args.kwarg or args.defaults)
    if not plain or not args.args or method.decorator_list:
        return None
    itself, given = args.args[0].arg, methods.attributes[name]
    if set(given) & local_names(methods.functions[name]):
        return None

    class _Flat(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.Call:
            self.generic_visit(node)
            match node.func:
                case ast.Attribute(value=ast.Name(id=owner), attr=attr) if owner == itself:
                    more = [ast.Name(a, ast.Load()) for a in methods.attributes.get(attr, ())]
                    node.args = [*more, *node.args]
                    node.func = ast.Name(attr, ast.Load())
            return node

        def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
            self.generic_visit(node)
            read = isinstance(node.value, ast.Name) and node.value.id == itself
            if read and node.attr in given and isinstance(node.ctx, ast.Load):
                return ast.Name(node.attr, ast.Load())
            return node

    method.body = [_Flat().visit(statement) for statement in method.body]
    method.args.args = [*(ast.arg(a) for a in given), *args.args[1:]]
    if any(isinstance(n, ast.Name) and n.id == itself for n in ast.walk(method)):
        return None  # the object itself, or an attribute that is set
    return ast.fix_missing_locations(method)


def _calls(draft: Draft, methods: _Methods, names: Mapping[str, str]) -> list[Edit]:
    """``sets.union(a, b)`` with the function in its place."""
    edits = []
    for node in own_nodes(draft.loop):
        path = dotted(node.func) if isinstance(node, ast.Call) else None
        owner, _, name = (path or "").rpartition(".")
        if not isinstance(node, ast.Call) or owner != methods.owner or name not in names:
            continue
        start, end = draft.source.span(node)
        given = [f"{owner}.{a}" for a in methods.attributes[name]]
        text = ", ".join([*given, *map(draft.source.text, node.args)])
        edits.append(Edit(start, end, f"{names[name]}({text})"))
    return edits
