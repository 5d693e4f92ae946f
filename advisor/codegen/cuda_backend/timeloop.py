"""A time loop as operations on arrays that stay on the device: kernels, buffers, exchanges.

The statements of the loop, those of the step function it calls included, are read one by one;
whatever is none of a few forms ends the matter with a reason.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...loopnest.ir import Nest
from ...loopnest.scope import local_names, module_of, stored_names
from ...model import Region, ValueInfo
from ..ast_tools import module_alias
from ..bf_plan import nobody_looks
from ..nb_values import Unsupported
from .inlined import Inlined, renamed_copy
from .looks import Looker, appended, arrays_read

_PLAIN = frozenset({"range", "len", "int", "float", "abs", "min", "max", "round", "print", "bool"})
"""Built-ins that a statement of the host may call."""


Renamed = tuple[tuple[str, str], ...]
"""Names of a step function -> names in the launcher, where they differ."""


@dataclass(frozen=True)
class Kernels:
    """A loop nest: one kernel or more."""

    region: Region
    renamed: Renamed


@dataclass(frozen=True)
class Fresh:
    """``new = np.zeros((n, m))``, ``np.empty_like(u)``, ``u.copy()``: an array a step."""

    name: str
    value: ast.expr
    zeros: bool
    copied: str | None = None
    """The array whose elements it starts with."""


@dataclass(frozen=True)
class Exchange:
    """``u = new`` or ``u, v = v, u``: names get arrays that others have."""

    targets: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Keep:
    """``history.append(u)``: the host gets a copy each step."""

    holder: str
    array: str
    copied: bool
    """``append(u.copy())``."""


@dataclass(frozen=True)
class Host:
    """A statement on scalars."""

    statement: ast.stmt
    once: bool
    """It gives the same in every step: ``n, m = u.shape``."""


@dataclass(frozen=True)
class Look:
    """A statement of the host that reads arrays, in each step or in some: ``print(u.mean())``."""

    statement: ast.stmt
    arrays: tuple[str, ...]
    ends: bool
    """It may leave the loop."""
    tests: tuple[str, ...] = ()
    """What must hold for it to do nothing else."""


Operation = Kernels | Fresh | Exchange | Keep | Host | Look


@dataclass
class TimeLoop:
    """The operations of one step, in order. Raises Unsupported where there are others."""

    region: Region
    arrays: set[str] = field(default_factory=set)
    """Names that stand for arrays of the device, in the launcher."""
    operations: list[Operation] = field(default_factory=list)

    def __post_init__(self) -> None:
        region = self.region
        match region.loop:
            case ast.For(
                target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range")), orelse=[]
            ):
                self.index = index
            case _:
                raise Unsupported("the loop does not count with range()", region.loop.lineno)
        self.numpy = module_alias(region.source, "numpy")
        self.nests = {r.loop: r for r in region.inside}
        taken = set(local_names(region.function)) | set(stored_names(region.source.tree))
        self.inlined = Inlined(region, taken)
        statements = [
            (new, names if new is s else {})
            for s, names in self.inlined.block(region.loop.body, {})
            for new in ([s] if s in self.nests else one_each(renamed_copy(s, names)))
        ]
        self.attributes = self.inlined.attributes
        self._refuse_objects(statements)
        self._find_arrays(statements)
        self.steady = self._steady(statements)
        stored = {self.index}.union(*(stored_names(s) for s, _ in statements))
        arrays = frozenset(self.arrays)
        self.looker = Looker(region.source, self.numpy, arrays, frozenset(stored), self.seen)
        for statement, renamed in statements:
            self.operations.append(self._operation(statement, renamed))
        if not any(isinstance(o, Kernels) for o in self.operations):
            raise Unsupported("no loop nest in the loop was observed", region.loop.lineno)

    # ----------------------------------------------------------------- arrays
    def _find_arrays(self, statements: Sequence[tuple[ast.stmt, dict[str, str]]]) -> None:
        observation = self.region.observation
        if observation is None:
            raise Unsupported("the loop was never entered while it was observed")
        used = {
            renamed.get(node.id, node.id)
            for statement, renamed in statements
            for node in ast.walk(statement)
            if isinstance(node, ast.Name)
        }
        used |= set(self.attributes)
        self.arrays |= {n for n in used if self.is_array(n)}
        for statement, _ in statements:
            match statement:  # before = u
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)):
                    if other in self.arrays and self.seen(name) is None:
                        self.arrays.add(name)
        for statement, renamed in statements:
            nest = self.nests.get(statement)  # type: ignore[call-overload]
            if nest is None:
                continue
            if not isinstance(nest.nest, Nest):
                raise Unsupported(nest.nest.reason, nest.nest.line)
            self.arrays |= {renamed.get(a, a) for a in nest.nest.arrays}

    def is_array(self, name: str) -> bool:
        """Whether the variable was an array when the loop was entered."""
        seen = self.seen(name)
        return seen is not None and seen.kind == "ndarray"

    def seen(self, name: str) -> ValueInfo | None:
        """What was observed of a variable of the launcher."""
        assert self.region.observation is not None
        return self.region.observation.values.get(self.attributes.get(name, name))

    def _refuse_objects(self, statements: Sequence[tuple[ast.stmt, dict[str, str]]]) -> None:
        """Raise Unsupported where more than attributes of an object is used."""
        for statement, renamed in statements:
            if statement in self.nests:
                continue
            for node in ast.walk(statement):
                name = renamed.get(node.id, node.id) if isinstance(node, ast.Name) else ""
                if name in self.inlined.owners:
                    text = ast.unparse(statement).partition("\n")[0]
                    raise Unsupported(
                        f"`{text}` may need arrays that are on the device", statement.lineno
                    )

    def _steady(self, statements: Sequence[tuple[ast.stmt, dict[str, str]]]) -> set[str]:
        """Scalars that are the same in every step: assigned once, from shapes and constants."""
        stores: dict[str, int] = {}
        for statement, renamed in statements:
            for name in stored_names(statement):
                key = renamed.get(name, name)
                stores[key] = stores.get(key, 0) + 1
        stores[self.index] = 2
        known: set[str] = set()
        for statement, renamed in statements:
            if not isinstance(statement, ast.Assign):
                continue
            targets = {renamed.get(n, n) for n in stored_names(statement)}
            if targets & self.arrays or any(stores[n] > 1 for n in targets):
                continue
            if _from_shapes(renamed_copy(statement.value, renamed), self.arrays, stores, known):
                known |= targets
        return known

    # -------------------------------------------------------------- operations
    def _operation(self, statement: ast.stmt, renamed: dict[str, str]) -> Operation:
        line = statement.lineno
        if isinstance(statement, ast.For) and statement in self.nests:
            region = self.nests[statement]
            if not isinstance(region.nest, Nest):
                raise Unsupported(region.nest.reason, region.nest.line)
            different = {k: v for k, v in renamed.items() if k != v}
            return Kernels(region, tuple(sorted(different.items())))
        statement = renamed_copy(statement, renamed)
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.arrays:
                if isinstance(value, ast.Name):
                    return self._exchange((name,), (value.id,), line)
                return self._fresh(name, value)
            case ast.Assign(targets=[ast.Tuple(elts=left)], value=ast.Tuple(elts=right)) if any(
                isinstance(e, ast.Name) and e.id in self.arrays for e in left
            ):
                names = [e.id for e in (*left, *right) if isinstance(e, ast.Name)]
                if len(names) == len(left) + len(right) == 2 * len(left):
                    return self._exchange(
                        tuple(names[: len(left)]), tuple(names[len(left) :]), line
                    )
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=holder), attr="append"), args=[kept]
                )
            ) if holder not in self.arrays:
                found = self._kept(holder, kept)
                if found is not None:
                    return found
        return self._host(statement)

    def _exchange(self, targets: tuple[str, ...], sources: tuple[str, ...], line: int) -> Exchange:
        if not {*targets, *sources} <= self.arrays or len(set(sources)) < len(sources):
            raise Unsupported("arrays and other things are exchanged", line)
        return Exchange(targets, sources)

    def _kept(self, holder: str, kept: ast.expr) -> Keep | None:
        match kept:
            case ast.Name(id=array) if array in self.arrays:
                return Keep(holder, array, False)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=array), attr="copy"), args=[], keywords=[]
            ) if array in self.arrays:
                return Keep(holder, array, True)
        return None

    def _fresh(self, name: str, value: ast.expr) -> Fresh:
        match value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=attr), args=args):
                if owner == self.numpy and attr in ("zeros", "zeros_like", "empty", "empty_like"):
                    return Fresh(name, value, attr.startswith("zeros"))
                if owner == self.numpy and attr in ("copy", "array") and not value.keywords:
                    match args:
                        case [ast.Name(id=source)] if source in self.arrays:
                            return Fresh(name, value, False, source)
                if owner in self.arrays and attr == "copy" and not args and not value.keywords:
                    return Fresh(name, value, False, owner)
        text = f"`{ast.unparse(value)}` makes an array in a way that is not followed"
        raise Unsupported(text, value.lineno)

    def _host(self, statement: ast.stmt) -> Host | Look:
        """A statement that the host runs as it stands, which changes no array."""
        bound = stored_names(statement)
        once = bool(bound) and bound <= self.steady
        text = ast.unparse(statement).partition("\n")[0]
        if not once:
            names = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
            if names & self.arrays or not self._harmless(statement):
                return self._look(statement, text)
        return Host(statement, once)

    def _look(self, statement: ast.stmt, text: str) -> Look:
        """A statement that needs what the arrays hold just then. Raises Unsupported."""
        looker = self.looker
        if not looker.may(statement):
            reason = f"`{text}` may need arrays that are on the device"
            raise Unsupported(reason, statement.lineno)
        if not nobody_looks(self.region):
            # try: ..; except ValueError: save(u)   would see what the host had before
            raise Unsupported("a handler may see the arrays half-way", statement.lineno)
        ends = any(isinstance(node, ast.Break) for node in ast.walk(statement))
        read = tuple(arrays_read(statement, frozenset(self.arrays)))
        divisors = {looker.steady_divisor(node) for node in ast.walk(statement)} - {None}
        tests = [f"type({name}) is list" for name in appended(statement)]
        tests += [f"{name} != 0" for name in sorted(filter(None, divisors))]
        return Look(statement, read, ends, tuple(tests))

    def _harmless(self, statement: ast.stmt) -> bool:
        """Only arithmetic, assignments, branches and printing of scalars."""
        module = module_of(self.region.source)
        for node in ast.walk(statement):
            match node:
                case ast.Call(func=ast.Name(id=name)):
                    if name not in _PLAIN or module.bound(name):
                        return False
                case ast.BinOp(op=op, right=right) | ast.AugAssign(op=op, value=right):
                    # x / t  may raise when the arrays of the host are behind those of the device
                    if not isinstance(op, ast.Add | ast.Sub | ast.Mult) and not _nonzero(right):
                        return False
                case ast.Call() | ast.Attribute() | ast.Subscript() | ast.Starred() | ast.Lambda():
                    return False
                case ast.stmt() if not isinstance(
                    node, ast.Assign | ast.AugAssign | ast.If | ast.Expr | ast.Pass
                ):
                    return False
                case ast.NamedExpr() | ast.Await() | ast.Yield() | ast.YieldFrom():
                    return False
                case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                    return False
        return True


def one_each(statement: ast.stmt) -> list[ast.stmt]:
    """``a, b = f(u), g(u)`` as an assignment of each, where no value needs another target."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=left)], value=ast.Tuple(elts=right)) if len(
            left
        ) == len(right):
            names = [one.id for one in left if isinstance(one, ast.Name)]
            read = {n.id for value in right for n in ast.walk(value) if isinstance(n, ast.Name)}
            if len(set(names)) == len(left) and read.isdisjoint(names):
                pairs = zip(left, right, strict=True)
                return [ast.copy_location(ast.Assign([t], v), statement) for t, v in pairs]
    return [statement]


def _nonzero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value > 0


def _from_shapes(
    value: ast.expr, arrays: set[str], stores: dict[str, int], known: set[str]
) -> bool:
    """Whether an expression needs of arrays only their shapes, and of scalars only fixed ones."""
    match value:
        case ast.Constant():
            return True
        case ast.Attribute(value=ast.Name(id=name), attr="shape" | "size" | "ndim"):
            return name in arrays
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
            return name in arrays
        case ast.Name(id=name):
            return name not in arrays and (name in known or name not in stores)
        case ast.BinOp(left=left, right=right):
            return all(_from_shapes(side, arrays, stores, known) for side in (left, right))
        case ast.UnaryOp(operand=operand):
            return _from_shapes(operand, arrays, stores, known)
        case ast.Subscript(value=inner, slice=ast.Constant()):
            return _from_shapes(inner, arrays, stores, known)
        case ast.Tuple(elts=elts):
            return all(_from_shapes(one, arrays, stores, known) for one in elts)
    return False
