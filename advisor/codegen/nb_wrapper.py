"""The function around the kernel: it asks the conditions, converts lists, keeps exceptions.

An exception that leaves compiled code has lost the text that Python gives it, and scalars and
lists as they were at that moment. So the arrays are put back as they were and the loop runs again
in Python, which raises it with everything where Python leaves it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..loopnest.definite import bound_before
from ..loopnest.ir import CHAR, Nest
from ..loopnest.scope import declared, local_names, own_nodes
from ..model import Region, Source
from .nb_bounded import KEY as BOUNDED
from .nb_chars import strings_grown
from .nb_guards import Guards, free_local, type_name
from .nb_helpers import method_owners
from .nb_order import Order
from .nb_results import Results
from .nb_scope import observed
from .nb_state import WHOLE
from .nb_text import LEVEL, Names, attribute_edits, body_text
from .nb_values import Unsupported, View

RAISED = "(ArithmeticError, IndexError, ValueError)"
"""What compiled loops raise: divisions, overflows, indices, domains of ``math``."""

_KEEPING = frozenset({"open", "errstate", "printoptions", "localcontext", "Lock", "RLock"})
"""Context managers that let every exception through."""


@dataclass(frozen=True)
class Signature:
    """The kernel from outside."""

    name: str
    params: tuple[str, ...]
    returns: tuple[str, ...]
    flags: Mapping[str, str] = field(default_factory=dict)
    """Variable whose type hangs on the loop -> the flag that says which it is; returned then."""
    lists: Mapping[str, str] = field(default_factory=dict)
    """Lists that the loop appends to, returned last: parameter -> name of what came back."""


class Wrapper(Results):
    """Text of the function around the kernel."""

    source: Source
    order: Order | None
    """The kernel's loops in another order than the user's."""

    def _raises(self) -> bool:
        """An exception may leave the kernel."""
        state = self.state
        return bool(state.may_raise or state.unchecked is not None or state.division.python)

    def _owners(self, names: Names) -> list[str]:
        """Objects that the loop in Python needs: for their methods, and for what it assigns."""
        owners = method_owners(self.state)
        # self.total += 1 / v: whoever catches the exception finds what was added until then
        owners += [p.partition(".")[0] for p in self.found.live_out if "." in p]
        owners += self._read_by_own_loop(names)
        return [o for o in dict.fromkeys(owners) if o not in names.params]

    def _handed_back(self) -> list[str]:
        """Strings that the loop adds to, and lists it replaces: behind the other results."""
        return sorted(strings_grown(self.region) | self._replaced())

    def _replaced(self) -> frozenset[str]:
        nest = self.region.nest
        return nest.replaced if isinstance(nest, Nest) else frozenset()

    def _refuse_lost_state(self) -> None:
        """Raise Unsupported where an exception would lose what the loop had computed.

        Compiled or in Python: on other types than those seen, that may raise what this does not.
        """
        region, live_out = self.region, (*self.found.live_out, *self._handed_back())
        if not live_out:
            return
        refuse_if_caught(region, region.loop)
        lost = declared(region.function) & set(live_out) if region.function is not None else ()
        for name in sorted(lost):
            text = f"an exception in the loop leaves {name} half way, which others can see"
            raise Unsupported(text, region.loop.lineno, "add up in a local variable")

    # ------------------------------------------------------------------ text
    def wrapper(
        self, name: str, kernel: Signature, names: Names, checks: Guards, exponents: list[str]
    ) -> str:
        """The wrapper, after a function with the loop in Python if two places need that."""
        params = [*names.params.values(), *self._owners(names)]
        fallback = self._fallback(kernel, names)
        before = ""
        if checks.tests and self._raises() and len(fallback) > 1:
            python = f"{name}_in_python"
            before = f"def {python}({', '.join(params)}):\n"
            before += f'{LEVEL}"""The loops as they were."""\n'
            before += "\n".join(line for line in _shifted(fallback, -1)) + "\n\n\n"
            fallback = [f"{LEVEL * 2}return {python}({', '.join(params)})"]
        lines = [f"def {name}({', '.join(params)}):"]
        lines.append(
            f'{LEVEL}"""Run the compiled loops where they are equal, else plain Python."""'
        )
        if checks.tests:
            lines += [*self._asked(checks), *fallback]
        lines += [LEVEL + line for line in checks.before]
        arguments = [
            checks.arguments.get(p, p) for p in kernel.params if p in names.params.values()
        ]
        call = f"{kernel.name}({', '.join([*arguments, *exponents])})"
        lines += self._call_lines(kernel, call, names, checks, fallback)
        return before + "\n".join(lines) + "\n"

    def _asked(self, checks: Guards) -> list[str]:
        if len(checks.tests) == 1:
            return [f"{LEVEL}if not ({checks.tests[0]}):"]
        tests = [
            f"{LEVEL * 2}{'' if k == 0 else 'and '}{_grouped(t)}"
            for k, t in enumerate(checks.tests)
        ]
        return [f"{LEVEL}if not (", *tests, f"{LEVEL}):"]

    def _call_lines(
        self, kernel: Signature, call: str, names: Names, checks: Guards, fallback: list[str]
    ) -> list[str]:
        results = self._result_names(kernel.returns)
        received = (*results, *kernel.flags.values(), *kernel.lists.values())
        raises = self._raises()
        single = len(received) == 1 and not checks.after and received == kernel.returns
        single = single and not self._named_text()
        if single and not raises:
            return [f"{LEVEL}return {self._with_flavour(call, names)}"]
        body = [f"{', '.join(received)} = {call}" if received else call]
        rest = [*checks.after, *self._extended(kernel, names)]
        values = [
            self._flavour(path, text, names, kernel.flags)
            for path, text in zip(self.found.live_out, results, strict=True)
        ]
        values += [names.params[path] for path in self._handed_back()]
        if values:
            rest.append(f"return {', '.join(values)}")
        if raises:
            body, rest = self._guarded(body, rest or ["return"], names, fallback), []
        return [LEVEL + line for line in (*body, *rest)]

    def _guarded(
        self, body: list[str], rest: list[str], names: Names, fallback: list[str]
    ) -> list[str]:
        """The call; where it raises, the loop in Python, outside the handler.

        Raised inside the handler, the exception would have the compiled one as its context.
        """
        arrays = [
            names.params[path]
            for path in sorted(self.state.written)
            if path in names.params and observed(self.region, path).kind == "ndarray"
        ]
        before = {a: free_local(f"{a}_before", self.found, names) for a in arrays}
        if not rest[-1].startswith("return"):
            rest = [*rest, "return"]
        again = "raised again by the loop in Python, as it was"
        if any(key == BOUNDED or key.startswith(WHOLE) for key in self.state.checked):
            again = "the loop in Python starts again: it has larger ints, and raises as it did"
        return [
            *(f"{before[a]} = {a}.copy()" for a in arrays),
            "try:",
            *(LEVEL + line for line in body),
            f"except {RAISED}:",
            f"{LEVEL}pass  # {again}",
            "else:",
            *(LEVEL + line for line in rest),
            *(f"{a}[...] = {before[a]}" for a in arrays),
            *_shifted(fallback, -2),
        ]

    def _extended(self, kernel: Signature, names: Names) -> list[str]:
        """Lines that append to the caller's lists what the kernel did to its own."""
        lines = []
        for path in self.state.grown:
            param, value = names.params[path], self.found.entry[path]
            assert isinstance(value, View)
            new = kernel.lists[param] + (f"[len({param}):]" if param in kernel.params else "")
            if value.element == CHAR and value.ndim == 1:
                new = f"map(chr, {new})"
            elif value.element == CHAR:
                new = f"[*map(chr, row)] for row in {new}"
            if path in strings_grown(self.region):
                lines.append(f'{param} += "".join({new})')
                continue
            if path in self._replaced():
                lines.append(f"{param} = {kernel.lists[param]}")
                continue
            if not value.element.is_python:
                dtype = type_name(value.element, names.numpy)
                new = f"{names.numpy}.array({new}, dtype={dtype})"
            lines.append(f"{param}.extend({new})")
        return lines

    def _fallback(self, kernel: Signature, names: Names) -> list[str]:
        """The original loop, two levels deep."""
        if self.region.in_python:
            return self._own_loop(kernel, names)
        state = self.state
        # With flags the kernel hands back more than the loop: if x[i] > limit: c += x[i]
        returns_more = kernel.flags or state.grown
        takes_less = set(state.kept) - set(state.read)
        edited = state.edits or state.bounds or state.called or state.preamble
        changed = edited or returns_more or takes_less
        owners = self._owners(names)
        if not (changed or self.parallel or self.order or owners):
            call = f"{kernel.name}.py_func({', '.join(names.params.values())})"
            return [f"{LEVEL * 2}return {call}"]
        returns: Sequence[str] = kernel.returns
        edits = attribute_edits(self.source, self.region.loop, names.params)
        if owners:
            # methods look at the object itself: so must the loop around them
            edits, returns = [], self.found.live_out
        returns = (*returns, *self._handed_back())
        text = body_text(self.source, self.region.loop, edits, names, by=2)
        return [*text.split("\n"), f"{LEVEL * 2}return {', '.join(returns)}".rstrip()]

    def _read_by_own_loop(self, names: Names) -> list[str]:
        """What the user's own loop reads and the region's does not, and surely has a value."""
        region = self.region
        if not region.in_python or region.observation is None:
            return []
        tree = ast.parse("\n".join(region.in_python))
        bound = bound_before(region.source, region.function, region.loop) or frozenset()
        read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - _stored(tree)
        inputs = set(names.params.values())
        # at module level, functions see the variables themselves
        wanted = (read & bound & local_names(region.function)) - inputs
        return sorted(wanted & set(region.observation.values))

    def _own_loop(self, kernel: Signature, names: Names) -> list[str]:
        """The user's loop where the region's own is another one, on the same inputs."""
        lines = self.region.in_python
        tree = ast.parse("\n".join(lines))
        read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        known = _stored(tree) | {*names.params.values(), *self._owners(names)}
        unknown = (read & local_names(self.region.function)) - known
        if unknown:
            raise Unsupported(f"only Python knows {min(unknown)}", self.region.loop.lineno)
        if any("." in path for path in self.found.live_out):
            raise Unsupported("attributes set in a loop of vectors", self.region.loop.lineno)
        returns = (*kernel.returns, *self._handed_back())
        shifted = [LEVEL * 2 + line if line.strip() else "" for line in lines]
        return [*shifted, f"{LEVEL * 2}return {', '.join(returns)}".rstrip()]


def refuse_if_caught(region: Region, loop: ast.stmt) -> None:
    """Raise Unsupported where the scope catches an exception of the loop and goes on.

    ``try: for v in x: total += 1 / v`` .. ``except ZeroDivisionError: print(total)``: what the
    kernel had added up by then is lost. ``with suppress(ZeroDivisionError):`` does the same.
    """
    scope: ast.AST = region.source.tree if region.function is None else region.function
    for node in own_nodes(scope):
        if not isinstance(node, ast.Try | ast.TryStar | ast.With | ast.AsyncWith):
            continue
        if not any(inner is loop for statement in node.body for inner in ast.walk(statement)):
            continue
        if isinstance(node, ast.With | ast.AsyncWith) and all(map(_lets_through, node.items)):
            continue
        if isinstance(node, ast.Try) and not node.handlers and _goes_on(node.finalbody):
            continue
        text = "an exception in the loop may be caught, and what it had computed is lost"
        raise Unsupported(text, node.lineno)


def _stored(tree: ast.AST) -> set[str]:
    """Variables that get a value in a text."""
    names = (n for n in ast.walk(tree) if isinstance(n, ast.Name))
    return {n.id for n in names if not isinstance(n.ctx, ast.Load)}


def _goes_on(body: list[ast.stmt]) -> bool:
    """``finally: log.close()``: the exception leaves it, unless it returns or breaks."""
    leaves = (ast.Return, ast.Break, ast.Continue)
    return not any(isinstance(n, leaves) for statement in body for n in ast.walk(statement))


def _lets_through(item: ast.withitem) -> bool:
    """``with open(path) as file``: its exit swallows nothing."""
    match item.context_expr:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _KEEPING
    return False


def _shifted(lines: Sequence[str], levels: int) -> list[str]:
    """Lines one level further out. Text inside long strings moves along: loops hold none."""
    cut = LEVEL * -levels
    return [line.removeprefix(cut) for line in lines]


def _grouped(test: str) -> str:
    """A test inside a chain of ``and``."""
    return test if not isinstance(ast.parse(test, mode="eval").body, ast.IfExp) else f"({test})"
