"""``sum``, ``any``, ``all``, ``min``, ``max`` and comprehensions as loops in front of a statement.

What the statement evaluates before them is sums and products of names and constants only, so that
nothing raises in another order.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...loopnest.scope import module_of, own_nodes, parameters
from ...model import Edit
from ..nb_values import Unsupported
from .draft import Draft

_NAMES = {
    "sum": "total",
    "any": "found",
    "all": "holds",
    "min": "smallest",
    "max": "largest",
    "list": "items",
    "call": "answer",
}
_FOLDS = frozenset({"sum", "any", "all", "min", "max"})
_HOLDERS = frozenset({"list", "tuple", "sorted"})
"""Functions that take all elements before they look at any."""
_MOST = 40
"""Comprehensions that one loop may have."""


@dataclass(frozen=True)
class Fold:
    """A comprehension in a statement, and what is made of its elements."""

    statement: ast.stmt
    node: ast.expr
    kind: str
    """The function called; ``"list"`` for a list."""
    element: ast.expr
    generators: Sequence[ast.comprehension]
    start: str = "0"
    """What ``sum`` begins with."""
    chosen: ast.expr | None = None
    """``min`` and ``max`` with a key: what is chosen by the element, which is the key."""
    under: str = ""
    """The condition under which the statement comes to it; empty where it always does."""
    into: str = ""
    """What a list is handed to: ``tuple`` of ``tuple(f(x) for x in xs)``."""


def without_generators(draft: Draft) -> Draft:
    """Each fold of the loop that can be one as a loop in front of its statement."""
    for _ in range(_MOST):
        found = next(_folds(draft), None)
        if found is None:
            return draft
        writer = Writer(draft, found)
        draft = writer.noted(draft.advanced(writer.changes()[1]))
    raise Unsupported("too many comprehensions in one loop", draft.loop.lineno)


# --------------------------------------------------------------------- search
def _folds(draft: Draft) -> Iterator[Fold]:
    for statement in own_nodes(draft.loop):
        root = evaluated_first(draft, statement)
        if root is None or not isinstance(statement, ast.stmt):
            continue
        for part, under in operands(root):
            for node in unconditional(part):
                found = fold_of(draft, statement, node)
                if found is not None:
                    yield replace(found, under=under)


def evaluated_first(draft: Draft, statement: ast.AST) -> ast.expr | None:
    """The expression that a statement evaluates first, and once."""
    match statement:
        case ast.Assign(value=value) | ast.AugAssign(target=ast.Name(), value=value):
            return value
        case ast.AnnAssign(value=ast.expr() as value) | ast.Expr(value=value):
            return value
        case ast.If(test=test) if draft.source.text(statement).startswith("if"):
            return test
        case ast.For(iter=iterable):
            return iterable
    return None


def operands(root: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """The expression; and of ``a and b``, ``b`` with what must hold for it to be evaluated.

    What is in front may be evaluated twice: it calls nothing.
    """
    yield root, ""
    if not isinstance(root, ast.BoolOp):
        return
    for count in range(1, len(root.values)):
        before = root.values[:count]
        if any(isinstance(n, ast.Call | ast.NamedExpr) for b in before for n in ast.walk(b)):
            return
        front = before[0] if count == 1 else ast.BoolOp(root.op, before)
        text = ast.unparse(front)
        yield root.values[count], text if isinstance(root.op, ast.And) else f"not ({text})"


def unconditional(
    root: ast.expr, harmless: frozenset[ast.expr] = frozenset()
) -> Iterator[ast.expr]:
    """Sub-expressions that are always evaluated, and before which nothing is that may raise.

    ``harmless``: calls that are known to raise nothing.
    """
    yield root
    for part in evaluated_parts(root):
        yield from unconditional(part, harmless)
        if not is_calm(part, harmless):
            return


def is_calm(node: ast.expr, harmless: frozenset[ast.expr] = frozenset()) -> bool:
    """Whether evaluating it raises nothing that a loop in front of it could raise first."""
    if node in harmless:
        return True
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return is_calm(left, harmless) and is_calm(right, harmless)
    return False


def evaluated_parts(node: ast.expr) -> Sequence[ast.expr]:
    """Direct parts in the order in which they are evaluated, as far as they always are."""
    match node:
        case ast.BinOp(left=left, right=right):
            return (left, right)
        case ast.UnaryOp(operand=operand):
            return (operand,)
        case ast.BoolOp(values=[first, *_]) | ast.IfExp(test=first):
            return (first,)
        case ast.Compare(left=left, comparators=[first, *_]):
            return (left, first)
        case ast.Call(func=ast.Attribute(value=ast.Name()) | ast.Name(), args=args, keywords=[]):
            return [a for a in args if not isinstance(a, ast.Starred)]
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return elts
        case ast.Subscript(value=value, slice=index):
            return (value, index)
    return ()


def fold_of(draft: Draft, statement: ast.stmt, node: ast.expr) -> Fold | None:
    """The fold that an expression is; None for anything else."""
    found = None
    match node:
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[argument]) if (
            key := _key(node)
        ) is not None:
            target, element = key
            loop = ast.comprehension(_stored(target), argument, [], 0)
            found = Fold(statement, node, name, element, [loop], chosen=_loaded(target))
        case ast.Call(func=ast.Name(id=name), args=[argument, *rest], keywords=[]) if (
            name in _FOLDS and len(rest) <= (name == "sum")
        ):
            if rest and not isinstance(rest[0], ast.Constant):
                return None
            start = ast.unparse(rest[0]) if rest else "0"
            match argument:
                case ast.GeneratorExp() | ast.ListComp():
                    found = Fold(statement, node, name, argument.elt, argument.generators, start)
                case ast.Name() | ast.Subscript(slice=ast.Name() | ast.Constant() | ast.BinOp()):
                    loop = ast.comprehension(_stored("item"), argument, [], 0)
                    found = Fold(statement, node, name, _loaded("item"), [loop], start)
        case ast.Call(func=ast.Name(id=name)) if isinstance(statement, ast.If):
            # the function is written out where it is called, which a condition has no room for
            function = module_of(draft.source).functions.get(name)
            return Fold(statement, node, "call", node, ()) if _is_long(function) else None
        case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as made], keywords=[]) if (
            name in _HOLDERS and draft.is_builtin(name)
        ):
            into = "" if name == "list" else name
            found = Fold(statement, node, "list", made.elt, made.generators, into=into)
        case ast.ListComp(elt=element, generators=generators) if not _known_as_it_is(node):
            found = Fold(statement, node, "list", element, generators)
    if found is None or not _is_plain(found):
        return None
    return found if found.kind == "list" or draft.is_builtin(found.kind) else None


def _is_long(function: ast.FunctionDef | None) -> bool:
    """Whether the function is more than one expression."""
    if function is None:
        return False
    body = [n for n in function.body if not isinstance(n, ast.Expr)]
    return len(body) > 1


def _key(node: ast.Call) -> tuple[str, ast.expr] | None:
    """Parameter and value of ``key=lambda t: ...``."""
    match node.keywords:
        case [ast.keyword(arg="key", value=ast.Lambda(args=args, body=body))]:
            names = [a.arg for a in args.args]
            if len(names) == 1 and not (args.defaults or args.kwonlyargs or args.vararg):
                return names[0], body
    return None


def _stored(name: str) -> ast.expr:
    return ast.Name(name, ast.Store())


def _loaded(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _known_as_it_is(node: ast.ListComp) -> bool:
    """``[0] * m`` and ``[[0] * m for _ in range(n)]``, which are no loops to the lowering."""
    reads = {n.id for n in ast.walk(node.elt) if isinstance(n, ast.Name)}
    match node.generators:
        case [ast.comprehension(target=ast.Name(id=name), ifs=[], iter=ast.Call())]:
            repeated = isinstance(node.elt, ast.Constant | ast.UnaryOp | ast.BinOp)
            return name not in reads and repeated
    return False


def _is_plain(found: Fold) -> bool:
    inner = (ast.NamedExpr, ast.Await, ast.Lambda, ast.Yield, ast.YieldFrom)
    parts = [found.element, *(n for g in found.generators for n in (g.iter, *g.ifs))]
    odd = any(isinstance(n, inner) for part in parts for n in ast.walk(part))
    return not odd and not any(g.is_async for g in found.generators)


# ----------------------------------------------------------------------- text
class Writer:
    """The loop for one fold. ``own``: a list may be filled under the name that it gets."""

    def __init__(self, draft: Draft, fold: Fold, *, own: bool = True) -> None:
        self.draft = draft
        self.fold = fold
        self.new: list[str] = []
        self.targets = self._targets()
        owner = self._owner() if own else None
        self.result = owner or self._free(_NAMES[fold.kind])
        self.owned = owner is not None

    def changes(self) -> tuple[list[str], list[Edit]]:
        """The lines above the loop, and the edits that write them and the loop."""
        fold, draft = self.fold, self.draft
        first, body, last = self._lines()
        loops = [*self._loops(list(fold.generators), body), *last]
        if fold.under:
            loops = [f"if {fold.under}:", *_deeper(loops)]
        lines = [*first, *loops]
        if self.owned:
            return first, draft.instead(fold.statement, lines)
        span = draft.source.span(fold.node)
        result = f"{fold.into}({self.result})" if fold.into else self.result
        return first, [*draft.above(fold.statement, lines), Edit(*span, result)]

    def noted(self, draft: Draft) -> Draft:
        """The draft behind the changes, with what is to be known of the new names."""
        kind = self.fold.kind
        sums = {self.result} if kind == "sum" else set()
        open_ = {self.result} if kind in ("min", "max") else set()
        return replace(
            draft,
            names=draft.names | frozenset(self.new),
            sums=draft.sums | sums,
            open=draft.open | open_,
        )

    def _free(self, wanted: str) -> str:
        self.new.append(self.draft.free(wanted, *self.new))
        return self.new[-1]

    def _owner(self) -> str | None:
        """``y`` of ``y = [...]``, where nothing in the brackets reads ``y``: filled directly."""
        match self.fold.statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                value is self.fold.node and not self.fold.into
            ):
                reads = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
                return None if name in reads else name
        return None

    def _targets(self) -> dict[str, str]:
        """The comprehension's own variables; new names for those the function has as well."""
        draft, node = self.draft, self.fold.node
        inside = set(map(id, ast.walk(node)))
        scope = draft.function or draft.source.tree
        used = {n.id for n in own_nodes(scope) if isinstance(n, ast.Name) and id(n) not in inside}
        if draft.function is not None:
            used |= set(parameters(draft.function))
        found: dict[str, str] = {}
        for generator in self.fold.generators:
            for target in ast.walk(generator.target):
                if isinstance(target, ast.Name) and target.id not in found:
                    taken = target.id in used or target.id in draft.names or draft.function is None
                    found[target.id] = self._free(target.id) if taken else target.id
        return found

    def _text(self, node: ast.expr) -> str:
        """An expression of the comprehension with its variables' new names."""

        class _Rename(ast.NodeTransformer):
            def visit_Name(inner, name: ast.Name) -> ast.Name:  # noqa: N805
                return ast.Name(self.targets.get(name.id, name.id), name.ctx)

        return ast.unparse(_Rename().visit(copy.deepcopy(node)))

    def _loops(self, generators: list[ast.comprehension], body: list[str]) -> list[str]:
        if not generators:
            return body
        generator, *rest = generators
        inner = self._loops(rest, body)
        if rest and self.fold.kind in ("any", "all"):
            inner = [*inner, f"if {self._decided()}:", "    break"]
        for test in reversed(generator.ifs):
            inner = [f"if {self._text(test)}:", *_deeper(inner)]
        head = f"for {self._text(generator.target)} in {self._iterable(generator)}:"
        return [head, *_deeper(inner)]

    def _iterable(self, generator: ast.comprehension) -> str:
        """The first iterable is evaluated outside: it may have names that the targets hide."""
        if generator is self.fold.generators[0]:
            return ast.unparse(generator.iter)
        return self._text(generator.iter)

    def _decided(self) -> str:
        return self.result if self.fold.kind == "any" else f"not {self.result}"

    def _lines(self) -> tuple[list[str], list[str], list[str]]:
        """Lines above the loop, in it, and below it."""
        result, element = self.result, self._text(self.fold.element)
        match self.fold.kind:
            case "sum":
                # ``+=`` would change what is added up where that is no number, and says so
                term = element if _binds(self.fold.element) else f"({element})"
                return [f"{result} = {self.fold.start}"], [f"{result} = {result} + {term}"], []
            case "any":
                body = [f"if {element}:", f"    {result} = True", "    break"]
                return [f"{result} = False"], body, []
            case "all":
                body = [f"if not ({element}):", f"    {result} = False", "    break"]
                return [f"{result} = True"], body, []
            case "call":
                # under a condition, that it does not hold is all that counts
                first = [f"{result} = False"] if self.fold.under else []
                return first, [f"{result} = {element}"], []
            case "list":
                return [f"{result} = []"], [f"{result}.append({element})"], []
        return self._extreme(element)

    def _extreme(self, element: str) -> tuple[list[str], list[str], list[str]]:
        """``min`` and ``max``: the first of those that are as small; of nothing they raise."""
        kind, result = self.fold.kind, self.result
        some, value = self._free(f"some_{_NAMES[kind]}"), self._free("value")
        sign = "<" if kind == "min" else ">"
        best = result if self.fold.chosen is None else self._free(f"{_NAMES[kind]}_key")
        first = [f"{name} = 0" for name in dict.fromkeys((result, best))]
        body = [
            f"{value} = {element}",
            f"if not {some} or {value} {sign} {best}:",
            f"    {best} = {value}",
            f"    {some} = True",
        ]
        if self.fold.chosen is not None:
            body.insert(3, f"    {result} = {self._text(self.fold.chosen)}")
        return [*first, f"{some} = False"], body, [f"if not {some}:", f"    {kind}(())"]


def _binds(node: ast.expr) -> bool:
    """Whether an expression needs no parentheses behind a plus."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mult | ast.Div | ast.FloorDiv | ast.Mod | ast.Pow)
    return isinstance(node, ast.Name | ast.Constant | ast.Call | ast.Subscript | ast.Attribute)


def _deeper(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
