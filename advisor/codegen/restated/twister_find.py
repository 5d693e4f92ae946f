"""Which calls of a loop, and of the functions that it calls, draw from a Mersenne Twister."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...loopnest.scope import dotted, local_names, module_of, own_nodes
from .. import ast_tools as tools
from ..draws_find import GENERATOR, LEGACY, PYTHON, Known
from ..nb_values import Unsupported
from .draft import Draft
from .twister_families import Family, family_of
from .twister_text import Method


def draws_of_twisters(draft: Draft) -> int:
    """Draws of the loop, and calls of functions that draw, whether they have a compiled form."""
    search = Search(draft)
    calls = (n for n in own_nodes(draft.loop) if isinstance(n, ast.Call))
    return sum(search.draws(call) for call in calls)


def has_compiled_forms(draft: Draft) -> bool:
    """Whether the steps of all draws of the loop are known."""
    search = Search(draft)
    try:
        found = list(search.found(draft.loop, frozenset()))
    except Unsupported:
        return False
    return bool(found)


@dataclass(frozen=True)
class Draw:
    """One call of a generator's method."""

    call: ast.Call
    generator: str
    kind: str
    module: bool
    name: str
    method: Method

    @property
    def family(self) -> Family:
        """The package's generators."""
        return family_of(self.kind)


class Search:
    """Draws and calls of functions that draw, in the text as it is now."""

    def __init__(self, draft: Draft, drawing: frozenset[str] | None = None) -> None:
        self.draft = draft
        self.region = replace(draft.region, source=draft.source, loop=draft.loop)
        self.functions = dict(module_of(draft.source).functions)
        self.drawing = self._drawing() if drawing is None else drawing

    def _drawing(self) -> frozenset[str]:
        """Functions of the module that draw, themselves or in a function that they call."""
        known: set[str] = set()
        while True:
            more = {
                name
                for name, function in self.functions.items()
                if name not in known and self._draws(function, known)
            }
            if not more:
                return frozenset(known)
            known |= more

    def _draws(self, function: ast.FunctionDef, known: set[str]) -> bool:
        own = local_names(function)
        calls = (n for n in own_nodes(function) if isinstance(n, ast.Call))
        return any(self._asked(c, own) or _called(c, known) for c in calls)

    def draws(self, call: ast.Call) -> bool:
        """Whether a call of the loop draws, itself or in the function that it calls."""
        return self._asked(call, frozenset()) is not None or _called(call, self.drawing)

    def found(self, scope: ast.AST, own: frozenset[str]) -> Iterator[Draw | ast.Call]:
        """Draws, and calls of functions that draw."""
        for node in own_nodes(scope):
            if isinstance(node, ast.Call):
                draw = self._draw(node, own)
                if draw is not None:
                    yield draw
                elif _called(node, self.drawing) and not _called(node, own):
                    yield node

    def drawing_functions(self, found: Sequence[Draw | ast.Call]) -> tuple[ast.FunctionDef, ...]:
        """The functions that draw and are called, with those that these call."""
        todo = [dotted(one.func) or "" for one in found if isinstance(one, ast.Call)]
        names: dict[str, None] = {}
        while todo:
            name = todo.pop()
            if name in names:
                continue
            names[name] = None
            function = self.functions[name]
            inside = self.found(function, local_names(function))
            todo += [dotted(one.func) or "" for one in inside if isinstance(one, ast.Call)]
        return tuple(self.functions[name] for name in names)

    def work(self, scope: ast.AST, own: frozenset[str], depth: int = 0) -> int:
        """A measure of how long the analysis takes: it goes through each loop several times."""
        total = 0
        found = {id(d.call) if isinstance(d, Draw) else id(d): d for d in self.found(scope, own)}
        todo = [(scope, depth)]
        while todo:
            node, around = todo.pop()
            inside = around + isinstance(node, ast.For | ast.While)
            todo += [(child, inside) for child in ast.iter_child_nodes(node)]
            one = found.get(id(node))
            if isinstance(one, Draw):
                total += 4**around
            elif one is not None:
                function = self.functions[dotted(one.func) or ""]
                total += self.work(function, local_names(function), around)
        return total

    def _draw(self, call: ast.Call, own: frozenset[str]) -> Draw | None:
        """What a call draws; ``own``: names of the function that it is in. Raises Unsupported."""
        found = self._asked(call, own)
        if found is None:
            return None
        generator, kind, module, name = found
        family = family_of(kind)
        method = family.method(name, call, self.draft.values)
        odd = call.keywords or any(isinstance(a, ast.Starred) for a in call.args)
        if method is None or odd or not method.least <= len(call.args) <= method.most:
            raise Unsupported(f"{ast.unparse(call.func)}() has no compiled form", call.lineno)
        return Draw(call, generator, kind, module, name, method)

    def _asked(self, call: ast.Call, own: frozenset[str]) -> tuple[str, str, bool, str] | None:
        """The generator whose method a call is, and which method."""
        if (dotted(call.func) or "").partition(".")[0] in own:
            return None
        found = Known(self.region).method(call.func) or self._of_module(call.func)
        if found is None or found[1] not in (PYTHON, LEGACY, GENERATOR) or found[3] in _MADE:
            return None
        return found

    def _of_module(self, func: ast.expr) -> tuple[str, str, bool, str] | None:
        """``random.random`` of a function whose module was not looked at in the run."""
        match func:
            case ast.Attribute(value=ast.Name(id=name), attr=method):
                source = self.draft.source
                if tools.module_alias(source, "random") == name:
                    return self._of_text(name, name, PYTHON, method)
            case ast.Attribute(
                value=ast.Attribute(value=ast.Name(id=name), attr="random"), attr=method
            ):
                if tools.module_alias(self.draft.source, "numpy") == name:
                    return self._of_text(name, f"{name}.random", LEGACY, method)
        return None

    def _of_text(
        self, name: str, owner: str, kind: str, method: str
    ) -> tuple[str, str, bool, str] | None:
        """The same, unless something else is ever bound to the name or the method."""
        source = self.draft.source
        patched = {method, f"{owner}.{method}", "*"} & set(source.rebound)
        once = tools.bound_names(source).get(name) == 1
        return (owner, kind, True, method) if once and not patched else None


_MADE = frozenset(("Random", "RandomState", "default_rng", "Generator", "SystemRandom"))
"""Attributes of the modules that make a generator: they draw nothing."""


def _called(call: ast.Call, names: frozenset[str] | set[str]) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in names
