"""``for`` and ``while`` loops, with a fix point over what names stand for at their heads."""

from __future__ import annotations

import ast
from collections.abc import Callable

from .bindings import Binding, Env, LoopContext, Private, Stop, merge_envs
from .fold import loads, measures, reads
from .ir import (
    Const,
    Expr,
    For,
    Stmt,
    Var,
    While,
)
from .lower_assignments import Item
from .lower_domains import Domain, DomainLowering
from .scope import own_nodes


class LoopLowering(DomainLowering):
    """Loops, with a fix point over what each name stands for at the loop's head."""

    def reset_heads(self) -> None:
        """Forget what was found out about loop heads."""
        self.heads: dict[tuple[int, ...], Env] = {}
        self.changed = False

    def loop(self, node: ast.For | ast.While) -> list[Stmt]:
        """A loop statement. Raises Stop."""
        if node.orelse:
            raise Stop("for/while ... else", node.lineno, "use a flag")
        return self.for_loop(node) if isinstance(node, ast.For) else self.while_loop(node)

    # --------------------------------------------------------------- for
    def for_loop(self, node: ast.For) -> list[Stmt]:
        """``for target in iterable``."""
        line = node.lineno
        product = self.product_loop(node)
        if product is not None:
            return product
        domain = self.domain(node.iter)
        domain, before = self.bounds_fixed(domain, node)
        reassigned = self.assigned_in(node.body)
        probe = Var(domain.kind, line, "?")
        index = self.index_name(node.target, domain.item(probe), probe, reassigned)
        if index is None:
            index = self.invent("i")
        variable = Var(domain.kind, line, index)
        entry = self.copy_env()
        assert entry is not None

        def prologue() -> list[Stmt]:
            assert self.env is not None
            self.kill(index)
            self.env[index] = Private(frozenset((domain.kind,)))
            self.all_types.setdefault(index, set()).add(domain.kind)
            return self.bind(node.target, domain.item(variable), index, node)

        walked = self.walked_by(node.iter)
        self.walked += walked
        body, after = self.loop_body(node, entry, prologue)
        del self.walked[len(self.walked) - len(walked) :]
        context = self.last_context
        ran = merge_envs([after, *context.continues, *context.breaks])
        self.env = merge_envs([entry, ran])
        hangs = _unsettled(self.env, ran) or self.needed_after(node, self.env, ran)
        if domain.runs or (hangs and self.relied_to_run(domain, line)):
            self.env = ran
        loop = For(
            line, node, index, domain.start, domain.stop, domain.step, tuple(body), domain.values
        )
        return [*before, loop]

    def needed_after(self, node: ast.For, skipped: Env | None, ran: Env | None) -> bool:
        """Whether a name that only an iteration assigns is read outside the loop."""
        if skipped is None or ran is None or not self.trust_trips:
            return False
        inside = {id(n) for n in ast.walk(node)}
        read = {
            self.key(n.id)
            for n in ast.walk(self.whole)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and id(n) not in inside
        }
        return any(
            isinstance(bound, Private) and bound.defined and not _is_defined(skipped.get(name))
            for name, bound in ran.items()
            if name in read
        )

    def bounds_fixed(self, domain: Domain, node: ast.For) -> tuple[Domain, list[Stmt]]:
        """Python evaluates the bounds once: keep them where the body changes what they read."""
        inside = {self.key(n) for n in self.assigned_in([node])} | self.attributes_assigned(node)
        stores = any(
            isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) for n in ast.walk(node)
        )
        before: list[Stmt] = []
        bounds: list[Expr] = []
        for bound in (domain.start, domain.stop):
            changes = not reads(bound).isdisjoint(inside) or (stores and bool(loads(bound)))
            changes = changes or measures(bound) or any(self.varies(x.array) for x in loads(bound))
            if changes:
                name = self.invent("stop" if bound is domain.stop else "start")
                before.append(self.put(name, bound, node))
                bounds.append(Var(bound.type, bound.line, name))
            else:
                bounds.append(bound)
        fixed = Domain(bounds[0], bounds[1], domain.step, domain.item, domain.values, domain.kind)
        return fixed, before

    def walked_by(self, node: ast.expr) -> list[str]:
        """Growing lists that the iterable goes through as they are, not as they were."""
        match node:
            case ast.Call(func=ast.Name(id="range")):
                return []
        paths = {self.path(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)}
        return [p for p in paths if p is not None and self.varies(p)]

    def attributes_assigned(self, node: ast.stmt) -> set[str]:
        """Attribute paths that the statement assigns."""
        return {
            path
            for n in ast.walk(node)
            if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
            if (path := self.path(n)) is not None
        }

    @staticmethod
    def assigned_in(body: list[ast.stmt]) -> frozenset[str]:
        """Names stored by the statements."""
        return frozenset(
            n.id
            for statement in body
            for n in (statement, *own_nodes(statement))
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        )

    def index_name(
        self, target: ast.expr, item: Item, probe: Var, reassigned: frozenset[str]
    ) -> str | None:
        """The user's own name for the index, if there is one that the body leaves alone."""
        match target:
            case ast.Name(id=name):
                if item is probe and name not in reassigned:
                    return self.key(name)
            case ast.Tuple(elts=elts) if isinstance(item, tuple) and len(item) == len(elts):
                names = [e.id for e in elts if isinstance(e, ast.Name)]
                for part, value in zip(elts, item, strict=True):
                    if isinstance(part, ast.Name) and names.count(part.id) == 1:
                        found = self.index_name(part, value, probe, reassigned)
                        if found is not None:
                            return found
        return None

    def bind(self, target: ast.expr, item: Item, index: str, node: ast.For) -> list[Stmt]:
        """Give the loop's targets their values; nothing to do where the index is the target."""
        match target, item:
            case ast.Name(id=name), Var(name=same) if self.key(name) == same == index:
                return []
            case ast.Tuple(elts=elts), tuple():
                if len(elts) != len(item):
                    raise Stop(f"{len(item)} values for {len(elts)} targets", node.lineno)
                result: list[Stmt] = []
                for part, value in zip(elts, item, strict=True):
                    result += self.bind(part, value, index, node)
                return result
        return self.assign(target, item, node)

    # ------------------------------------------------------------- while
    def while_loop(self, node: ast.While) -> list[Stmt]:
        """``while test``; the test is evaluated at the head, so nothing is hoisted from it."""
        entry = self.copy_env()
        assert entry is not None
        test: list[Expr] = []
        at_test: list[Env | None] = []

        def prologue() -> list[Stmt]:
            saved, self.hoist = self.hoist, None
            try:
                test.append(self.truth(self.test(node.test)))
            finally:
                self.hoist = saved
            at_test.append(self.copy_env())
            return []

        body, _ = self.loop_body(node, entry, prologue)
        context = self.last_context
        endless = isinstance(test[-1], Const) and bool(test[-1].value)
        leaving = [] if endless else [at_test[-1]]
        self.env = merge_envs([*leaving, *context.breaks])
        return [While(node.lineno, node, test[-1], tuple(body))]

    # -------------------------------------------------------------- both
    def loop_body(
        self, node: ast.For | ast.While, entry: Env, prologue: Callable[[], list[Stmt]]
    ) -> tuple[list[Stmt], Env | None]:
        """The body, lowered under what may hold at the head; the environment at its end."""
        key = (*self.frame.path, id(node))
        known = self.heads.get(key)
        self.env = merge_envs([entry, known])
        context = LoopContext()
        self.frame.loops.append(context)
        body = prologue()
        body += self.block(node.body)
        self.frame.loops.pop()
        after = self.env
        head = merge_envs([entry, after, *context.continues])
        assert head is not None
        merged = merge_envs([head, known])
        if merged != known:
            assert merged is not None
            self.heads[key] = merged
            self.changed = True
        self.last_context = context
        return body, after

    last_context: LoopContext


def _is_defined(bound: Binding | None) -> bool:
    return isinstance(bound, Private) and bound.defined


def _unsettled(skipped: Env | None, ran: Env | None) -> bool:
    """Whether the type of some variable hangs on whether the loop runs."""
    if skipped is None or ran is None:
        return False
    for name, bound in skipped.items():
        one = ran.get(name)
        if isinstance(bound, Private) and isinstance(one, Private) and one.types != bound.types:
            return True
    return False
