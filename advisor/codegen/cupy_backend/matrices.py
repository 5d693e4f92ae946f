"""A block of statements on matrices, made on the device as it stands: one copy there, one back.

The statements are NumPy's, written by this tool. They are read again: where all of them are
arithmetic, masks and products of float arrays, CuPy computes the same on copies of the arrays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...layout import LEVEL, reindent
from ...model import Region, Source
from ...names import free_name
from ..nb_values import Unsupported

FLOATS = frozenset({"float64", "float32"})
SPARE = 4
"""Times the memory of the arrays that they and what is computed from them should need."""
_FUNCTIONS = {"arange": (1, 1), "tri": (1, 1), "where": (3, 3), "tril": (1, 2), "triu": (1, 2)}
_FUNCTIONS |= {"sqrt": (1, 1)}
"""Functions that CuPy has alike, with how many arguments at least and at most."""
_OPERATIONS = ast.Add | ast.Sub | ast.Mult | ast.Div | ast.MatMult
_IN_PLACE = ast.Add | ast.Sub | ast.Mult | ast.Div
_COMPARISONS = ast.Lt | ast.LtE | ast.Gt | ast.GtE | ast.Eq | ast.NotEq


@dataclass
class Block:
    """One block under way. Raises Unsupported for what CuPy might do differently."""

    region: Region
    middle: Source
    statements: Sequence[ast.stmt]
    tested: str
    """The test around the block, as text: what holds in it."""
    numpy: str
    cupy: str
    after: frozenset[str]
    """Names that may be read after the block."""
    made_here: frozenset[str] = frozenset()
    """Arrays of the program that are known to share memory with no other."""
    unseen: frozenset[str] = frozenset()
    """Those of them that nothing looks at afterwards."""
    device: dict[str, str] = field(default_factory=dict)
    """Array of the program -> its copy; a name that the block makes -> what it is called there."""
    read: dict[str, None] = field(default_factory=dict)
    """Arrays whose elements are needed from before the block."""
    written: dict[str, None] = field(default_factory=dict)
    """Arrays that come back."""
    made: set[str] = field(default_factory=set)
    """Names that the block binds."""
    axes: dict[str, int] = field(default_factory=dict)
    """Of arrays, where they are known."""

    def lines(self) -> list[str]:
        """The block on the device where there is one with room for it, else as it is."""
        new = [self._statement(statement) for statement in self.statements]
        back = [array for array in self.written if array not in self.unseen]
        if not back:
            raise Unsupported("the block stores into no array")
        return [
            "if (",
            f"{LEVEL}{self.cupy}.cuda.is_available()",
            *(f"{LEVEL}and {test}" for test in self._tests()),
            "):",
            *(LEVEL + line for line in self._copies()),
            *(LEVEL + ast.unparse(ast.fix_missing_locations(line)) for line in new),
            *(f"{LEVEL}{self.device[a]}.get(out={a})" for a in back),
            "else:",
            *reindent(self.middle, self.statements, 1).split("\n"),
        ]

    # ------------------------------------------------------------------ around
    def _arrays(self) -> list[str]:
        return [name for name in self.device if name not in self.made]

    def _tests(self) -> Iterator[str]:
        arrays, written = self._arrays(), [a for a in self.written if a not in self.unseen]
        unknown = [a for a in arrays if f"type({a})" not in self.tested]
        yield from self._of_all(
            unknown, f"type({{0}}) is {self.numpy}.ndarray", f"{{0}}.dtype == {self._dtype()}"
        )
        asked = [a for a in written if not re.search(rf"\b{a}\.flags\.carray", self.tested)]
        yield from self._of_all(asked, "{0}.flags.carray")
        yield from self._apart(arrays)
        each = free_name(self.middle, "each")
        if len(arrays) > 3:
            total = f"sum({each}.nbytes for {each} in ({', '.join(arrays)}))"
        else:
            total = f"({' + '.join(f'{a}.nbytes' for a in arrays)})"
        yield f"{SPARE} * {total} < {self.cupy}.cuda.runtime.memGetInfo()[0]"

    def _of_all(self, arrays: Sequence[str], *tests: str) -> Iterator[str]:
        if len(arrays) < 3:
            yield from (test.format(array) for array in arrays for test in tests)
            return
        each = free_name(self.middle, "each")
        test = " and ".join(test.format(each) for test in tests)
        yield f"all({test} for {each} in ({', '.join(arrays)}))"

    def _apart(self, arrays: Sequence[str]) -> Iterator[str]:
        """What is stored through one name would be seen through the other."""
        for array in self.written:
            for other in arrays:
                pairs = (f"({array}, {other})", f"({other}, {array})")
                known = any(f"may_share_memory{pair}" in self.tested for pair in pairs)
                known = known or bool({array, other} & self.made_here)
                if other != array and not known and not (other in self.written and other < array):
                    yield f"not {self.numpy}.may_share_memory({array}, {other})"

    def _dtype(self) -> str:
        assert self.region.observation is not None
        values = self.region.observation.values
        dtypes = {values[a].dtype for a in self._arrays()}
        if len(dtypes) != 1:
            raise Unsupported("the matrices are of several types")
        return f"{self.numpy}.{dtypes.pop()}"

    def _copies(self) -> Iterator[str]:
        for array in self._arrays():
            if array in self.read:
                yield f"{self.device[array]} = {self.cupy}.asarray({array})"
            else:
                yield f"{self.device[array]} = {self.cupy}.empty({array}.shape, {array}.dtype)"

    # -------------------------------------------------------------- statements
    def _statement(self, statement: ast.stmt) -> ast.stmt:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self._bound(name, value)
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=name), slice=index) as target], value=value
            ):
                new = self._value(target, value)
                return ast.Assign([self._stored(name, index)], new)
            case ast.AugAssign(target=target, op=op, value=value) if isinstance(op, _IN_PLACE):
                new = self._value(target, value)
                return ast.AugAssign(self._changed(target), op, new)
            case ast.Expr(value=ast.Call(func=func, args=[target, value], keywords=named)) if (
                self._function(func) == "copyto"
            ):
                return self._copied(target, value, named)
        raise Unsupported(f"`{ast.unparse(statement)}` is not followed")

    def _value(self, target: ast.expr, value: ast.expr) -> ast.expr:
        """What is stored. In ``C += C.T`` NumPy reads all first, CuPy while it stores."""
        new = self._expression(value)
        if _viewed(value) and _viewed(value) == _viewed(target):
            return ast.Call(ast.Attribute(new, "copy", ast.Load()), [], [])
        return new

    def _bound(self, name: str, value: ast.expr) -> ast.stmt:
        """A name for what is only needed in the block."""
        new = self._expression(value)
        if name in self.after or name in self._arrays():
            raise Unsupported(f"{name} may be read after the block")
        if name not in self.made:
            self.made.add(name)
            self.device[name] = self._named(name)
        return ast.Assign([ast.Name(self.device[name], ast.Store())], new)

    def _stored(self, name: str, index: ast.expr) -> ast.expr:
        """``C[:]``, of which nothing is read, or a part of an array."""
        whole = isinstance(index, ast.Slice) and index.lower is index.upper is index.step is None
        if not whole or name in self.device:
            self._array(name)
        else:
            self._known(name)
        self.written[name] = None
        new = self._index(index)
        return ast.Subscript(ast.Name(self.device[name], ast.Load()), new, ast.Store())

    def _changed(self, target: ast.expr) -> ast.Name | ast.Subscript:
        """``C`` or ``C[:n]`` on the left of ``+=``."""
        match target:
            case ast.Name(id=name):
                self._array(name)
                self.written[name] = None
                return ast.Name(self.device[name], ast.Store())
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                self._array(name)
                self.written[name] = None
                copied = ast.Name(self.device[name], ast.Load())
                return ast.Subscript(copied, self._index(index), ast.Store())
        raise Unsupported(f"`{ast.unparse(target)}` is not followed")

    def _copied(self, target: ast.expr, value: ast.expr, named: Sequence[ast.keyword]) -> ast.stmt:
        """``np.copyto(C[:-1], .., where=mask)``."""
        new = self._value(target, value)
        name = _viewed(target)
        if not name or name in self.made or [k.arg for k in named] not in ([], ["where"]):
            raise Unsupported(f"`np.copyto({ast.unparse(target)}, ..)` is not followed")
        place = self._expression(target)
        self.written[name] = None
        where = [ast.keyword(k.arg, self._expression(k.value)) for k in named]
        return ast.Expr(ast.Call(self._of_cupy("copyto"), [place, new], where))

    # ------------------------------------------------------------- expressions
    def _expression(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Constant(value=int() | float()):
                return node
            case ast.Name(id=name):
                return self._name(name)
            case ast.Attribute(value=value, attr="T"):
                return ast.Attribute(self._expression(value), "T", ast.Load())
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _OPERATIONS):
                one, two = self._expression(left), self._expression(right)
                if isinstance(op, ast.MatMult) and self._stacked(left, right):
                    # one product of many rows, where @ would make one for each matrix of the stack
                    return ast.Call(self._of_cupy("tensordot"), [one, two, ast.Constant(1)], [])
                return ast.BinOp(one, op, two)
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=2)):
                # NumPy multiplies, CuPy would raise to a power
                return ast.Call(self._of_cupy("square"), [self._expression(left)], [])
            case ast.UnaryOp(op=ast.USub() as op, operand=operand):
                return ast.UnaryOp(op, self._expression(operand))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if isinstance(
                op, _COMPARISONS
            ):
                return ast.Compare(self._expression(left), [op], [self._expression(right)])
            case ast.Subscript(value=ast.Attribute(value=ast.Name(), attr="shape")):
                return node  # of the host's array: a number
            case ast.Subscript(value=ast.Call() | ast.Name() as value, slice=index):
                inner = self._index(index)
                return ast.Subscript(self._expression(value), inner, ast.Load())
            case ast.Call():
                return self._call(node)
        raise Unsupported(f"`{ast.unparse(node)}` is not followed")

    def _call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(
                func=ast.Attribute(value=value, attr="sum"),
                args=[],
                keywords=[ast.keyword(arg="axis", value=ast.Constant(value=int()))],
            ):
                summed = ast.Attribute(self._expression(value), "sum", ast.Load())
                return ast.Call(summed, [], node.keywords)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="math")), args=[inner], keywords=[]):
                if self._is_number(inner):
                    return node
        name = self._function(node.func)
        least, most = _FUNCTIONS.get(name, (1, 0))
        plain = all(k.arg == "dtype" and ast.unparse(k.value) == "bool" for k in node.keywords)
        if not least <= len(node.args) <= most or not plain:
            raise Unsupported(f"`{ast.unparse(node)}` is not followed")
        args = [self._expression(argument) for argument in node.args]
        return ast.Call(self._of_cupy(name), args, node.keywords)

    def _is_number(self, node: ast.expr) -> bool:
        """Whether an expression is of the host's numbers alone."""
        assert self.region.observation is not None
        values = self.region.observation.values
        names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
        seen = [values.get(name) for name in names]
        calls = any(isinstance(n, ast.Call | ast.Attribute) for n in ast.walk(node))
        return not calls and all(s is not None and s.kind in ("int", "float") for s in seen)

    def _index(self, index: ast.expr) -> ast.expr:
        match index:
            case ast.Tuple(elts=parts):
                return ast.Tuple([self._index(part) for part in parts], ast.Load())
            case ast.Slice(lower=lower, upper=upper, step=None):
                ends = [None if end is None else self._expression(end) for end in (lower, upper)]
                return ast.Slice(*ends)
            case ast.Constant(value=None):
                return index
            case ast.Call():
                return self._expression(index)
        raise Unsupported(f"`[{ast.unparse(index)}]` is not followed")

    def _function(self, node: ast.expr) -> str:
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner == self.numpy:
                return name
        return ""

    def _of_cupy(self, name: str) -> ast.expr:
        return ast.Attribute(ast.Name(self.cupy, ast.Load()), name, ast.Load())

    def _stacked(self, left: ast.expr, right: ast.expr) -> bool:
        return self._axes(left) > 2 and self._axes(right) == 2

    def _axes(self, node: ast.expr) -> int:
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        return max((self.axes.get(name, 0) for name in names), default=0)

    # ------------------------------------------------------------------- names
    def _name(self, name: str) -> ast.expr:
        if name in self.made:
            return ast.Name(self.device[name], ast.Load())
        assert self.region.observation is not None
        seen = self.region.observation.values.get(name)
        if seen is not None and seen.kind in ("int", "float"):
            return ast.Name(name, ast.Load())
        return self._array(name)

    def _array(self, name: str) -> ast.expr:
        """A whole array of which elements are needed."""
        if name not in self.device:
            self._known(name)
            self.read[name] = None
        return ast.Name(self.device[name], ast.Load())

    def _known(self, name: str) -> None:
        assert self.region.observation is not None
        seen = self.region.observation.values.get(name)
        if seen is None or seen.kind != "ndarray" or seen.dtype not in FLOATS or not seen.ndim:
            raise Unsupported(f"{name} is no array of floats")
        self.axes[name] = seen.ndim
        self.device[name] = self._named(name)

    def _named(self, name: str) -> str:
        return free_name(self.middle, f"gpu_{name}", set(self.device.values()))


def _viewed(node: ast.expr) -> str:
    """The array that an expression is a part of; empty for what is computed first."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr="T") | ast.Subscript(value=value):
            return _viewed(value)
    return ""
