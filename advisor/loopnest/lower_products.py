"""``for i, j in itertools.product(..)`` as loops inside each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .bindings import Gone, Stop
from .ir import Stmt
from .lower_rows import RowLowering
from .scope import own_nodes


class ProductLowering(RowLowering):
    """The one iterable that stands for several loops."""

    generated: dict[int, ast.stmt]
    """Loops written for other text, by the identity of that text."""

    def product_loop(self, node: ast.For) -> list[Stmt] | None:
        """The statements of a loop over ``itertools.product``; None for other loops."""
        factors = self.factors(node.iter)
        if factors is None:
            return None
        line = node.lineno
        match node.target:
            case ast.Tuple(elts=elts) | ast.List(elts=elts) if len(elts) == len(factors):
                names = [e.id for e in elts if isinstance(e, ast.Name)]
            case _:
                names = []
        if len(set(names)) != len(factors):
            raise Stop("product() into something else than one name each", line)
        if any(isinstance(n, ast.Break) for n in _own_jumps(node.body)):
            raise Stop("break out of a loop over product()", line, "write the loops out")
        assigned = set(names) | {
            n.id
            for statement in node.body
            for n in (statement, *own_nodes(statement))
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        for factor in factors:
            self.check_factor(factor, assigned)
        if id(node) not in self.generated:
            # made once: the fix point over loop heads knows loops by their nodes
            self.generated[id(node)] = _nested(node, names, factors)
        result = self.statement(self.generated[id(node)])
        sure = all(self.table(f) is not None for f in factors)
        if self.env is not None and not sure:
            for name in names:
                # i = 5; for i, j in product(range(3), range(0)): ..; print(i): still 5
                self.env[self.key(name)] = Gone("may be from before the loop over product()")
                if self.frame.is_root:
                    self.rebound.setdefault(self.key(name), line)
        return result

    def factors(self, node: ast.expr) -> list[ast.expr] | None:
        """What the product is of; None if the expression is no product."""
        if not isinstance(node, ast.Call):
            return None
        path = self.path(node.func)
        if path is None or self.canonical(path) != "itertools.product":
            return None
        repeat: object = 1
        for keyword in node.keywords:
            if keyword.arg != "repeat" or not isinstance(keyword.value, ast.Constant):
                raise Stop("product() repeated a number of times that varies", node.lineno)
            repeat = keyword.value.value
        if type(repeat) is not int or not 1 <= repeat * len(node.args) <= 6:
            raise Stop("product() of too many or no factors", node.lineno)
        return list(node.args) * repeat

    def check_factor(self, node: ast.expr, assigned: set[str]) -> None:
        """product() takes its factors once: they must not change in the loop. Raises Stop."""
        if self.table(node) is not None:
            return
        match node:
            case ast.Call(func=ast.Name(id="range"), keywords=[]):
                calm = ast.Call | ast.Name | ast.Constant | ast.BinOp | ast.UnaryOp
                calm |= ast.operator | ast.unaryop | ast.expr_context
                names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                if all(isinstance(n, calm) for n in ast.walk(node)) and not names & assigned:
                    return
        raise Stop(f"product() of {ast.unparse(node)}", node.lineno, "write the loops out")


def _nested(node: ast.For, names: list[str], factors: list[ast.expr]) -> ast.For:
    body = node.body
    for name, factor in zip(reversed(names), reversed(factors), strict=True):
        target = ast.copy_location(ast.Name(id=name, ctx=ast.Store()), node.target)
        loop = ast.copy_location(ast.For(target=target, iter=factor, body=body, orelse=[]), node)
        body = [loop]
    assert isinstance(loop, ast.For)
    return loop


def _own_jumps(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that are not in a loop further inside."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.For | ast.While | ast.FunctionDef | ast.ClassDef):
            for child in ast.iter_child_nodes(statement):
                if isinstance(child, ast.stmt):
                    yield from _own_jumps([child])
