"""What names stand for while a loop is lowered, and the types values may have."""

from __future__ import annotations

import ast

from ..model import SiteObservation, Source, ValueInfo
from . import typing_rules as typing
from .bindings import Binding, Env, Frame, Stop, Table, View
from .ir import (
    CHAR,
    PY_INT,
    Const,
    Expr,
    Kind,
    Scalar,
    Stmt,
    Var,
)
from .scope import dotted, module_of

CONTAINERS = ("ndarray", "list", "tuple", "bytearray", "bytes", "str")
_EXACT = {
    "ndarray": "numpy.ndarray",
    "list": "builtins.list",
    "tuple": "builtins.tuple",
    "bytearray": "builtins.bytearray",
    "bytes": "builtins.bytes",
    "str": "builtins.str",
}


class NameLowering:
    """State of one lowering: names, types, the environment."""

    def __init__(self, source: Source, observation: SiteObservation, local: frozenset[str]) -> None:
        self.observation = observation
        self.module = module_of(source)
        self.local = local
        """Names local to the user's function: not to be taken for globals."""
        self.assigned: frozenset[str] = frozenset()
        """Names (dotted for attributes) that the loop's own text assigns."""
        self.env: Env | None = {}
        self.frame = Frame(None)
        self.hoist: list[Stmt] | None = None
        """Where statements go that must run before the expression; None: nowhere."""
        self.running: ast.stmt | None = None
        """The statement that is being lowered."""
        self.mixed: dict[int, tuple[Expr, frozenset[Scalar]]] = {}
        """Expressions with several possible types, by identity (kept alive here)."""
        self.used_arrays: dict[str, ValueInfo] = {}
        self.used_scalars: dict[str, Scalar] = {}
        self.modules: dict[str, str] = {}
        self.helpers: list[str] = []
        self.relies: list[Expr] = []

    # ------------------------------------------------------------- types
    def types_of(self, expr: Expr) -> frozenset[Scalar]:
        """All types the value may have."""
        found = self.mixed.get(id(expr))
        return found[1] if found and found[0] is expr else frozenset((expr.type,))

    def spread(self, expr: Expr, types: frozenset[Scalar]) -> Expr:
        """Record that the value may have several types."""
        if len(types) > 1:
            self.mixed[id(expr)] = (expr, types)
        return expr

    def joined(self, types: frozenset[Scalar], what: str, line: int) -> Scalar:
        """One type that stands for all; for narrow dtypes the NumPy one, to be absorbed."""
        ordered = sorted(types, key=str)
        result = ordered[0]
        for other in ordered[1:]:
            found = typing.join(result, other)
            if found is None:
                return self._narrow(types, what, line)
            result = found
        return result

    def _narrow(self, types: frozenset[Scalar], what: str, line: int) -> Scalar:
        numpy_types = [t for t in types if not t.is_python]
        if len(numpy_types) == 1 and all(
            t.kind is not Kind.BOOL and t.kind is not Kind.COMPLEX for t in types
        ):
            return numpy_types[0]
        names = " on one path and ".join(sorted(str(t) for t in types))
        raise Stop(
            f"{what} is {names} on another", line, "give the variable one type from the start"
        )

    def settled(self, expr: Expr) -> Expr:
        """Refuse a value whose type depends on the path, where that could be told."""
        types = self.types_of(expr)
        if len(types) > 1:
            self.joined(types, "the value", expr.line)
            names = " or ".join(sorted(str(t) for t in types))
            stop = Stop(
                f"a value is of type {names}, depending on the path, where it can be told",
                expr.line,
                "start the variable with a value of its final type",
            )
            stop.unsettled = True
            raise stop
        return expr

    def wide(self, expr: Expr, what: str) -> Expr:
        """Refuse a value that is narrow on one path only (``0`` and uint8)."""
        types = self.types_of(expr)
        if len(types) > 1:
            found = None
            for one in types:
                found = one if found is None else typing.join(found, one)
                if found is None:
                    raise Stop(
                        f"{what} is {' or '.join(sorted(map(str, types)))}, depending on the path",
                        expr.line,
                        "start the variable with a value of its final type",
                    )
        return expr

    # ------------------------------------------------------------- names
    def key(self, name: str) -> str:
        """The IR name of a name in the current text."""
        return self.frame.names.get(name, name)

    def path(self, node: ast.expr) -> str | None:
        """The dotted path in the user's text; parameters of methods mapped to the object."""
        text = dotted(node)
        if text is None:
            return None
        head, dot, rest = text.partition(".")
        if head in self.frame.objects:
            return self.frame.objects[head] + dot + rest
        if head in self.frame.names:
            return self.frame.names[head] + dot + rest
        return text

    def lookup(self, node: ast.Name | ast.Attribute) -> Binding | Expr:
        """What a name or attribute chain stands for."""
        path = self.path(node)
        if path is None:
            raise Stop(f"attribute of {ast.unparse(node)}", node.lineno)
        env = self.env if self.env is not None else {}
        if path in env:
            return env[path]
        return self.external(path, node.lineno)

    def external(self, path: str, line: int) -> Binding | Expr:
        """A value that nobody assigns in the nest."""
        if "." in path:
            constant = self.module_constant(path, line)
            if constant is not None:
                return constant
        if "." not in path and path not in self.local:
            value = self.module.constant(path)
            if value is not None:
                kind = typing.type_of_value(value)
                if kind is not None:
                    return Const(kind, line, value, path)
            rows = self.module.constant_table(path)
            if rows is not None:
                return Table(rows)
        info = self.observation.values.get(path)
        if info is None:
            constant = self.module_constant(path, line)
            if constant is not None:
                return constant
            raise Stop(f"{path} was not seen at the loop's entry", line)
        if info.kind in CONTAINERS and info.kind != "str":
            self.check_array(path, info, line)
            return View(path)
        kind = self.scalar_type(path, info)
        if kind is None:
            constant = self.module_constant(path, line)
            if constant is not None:
                return constant
            raise Stop(f"{path} is {described(info)}, not a number or an array", line)
        self.used_scalars[path] = kind
        return Var(kind, line, path)

    def scalar_type(self, path: str, info: ValueInfo) -> Scalar | None:
        """The type of a value seen at entry, None if it is neither a number nor a short text."""
        raise NotImplementedError

    def check_array(self, path: str, info: ValueInfo, line: int) -> None:
        """Refuse containers that are not plain regular arrays of numbers."""
        if info.type_name not in (_EXACT[info.kind], info.kind, "ndarray"):
            raise Stop(f"{path} is {described(info)}, a subclass with its own operators", line)
        if self.element_of(info) is None:
            raise Stop(self.why_no_element(path, info), line, self.how_to_element(info))
        if info.ndim is None or info.shape is None:
            raise Stop(f"{path} has a different number of axes from entry to entry", line)
        self.used_arrays[path] = info

    @staticmethod
    def element_of(info: ValueInfo) -> Scalar | None:
        """Type of an element as the program reads it."""
        if info.kind == "ndarray":
            return typing.scalar_of_dtype(info.dtype) if info.ndim else None
        if info.kind in ("bytearray", "bytes"):
            return PY_INT
        if info.kind == "str":
            return CHAR
        if not info.regular or info.element is None:
            return None
        return typing.scalar_of(info.element)

    @staticmethod
    def why_no_element(path: str, info: ValueInfo) -> str:
        """Words for a container that cannot be treated as an array."""
        if info.kind == "ndarray":
            return f"{path} is an array of {info.dtype or 'varying dtype'}"
        if not info.regular:
            return f"the {info.kind} {path} holds rows of different lengths, or one row twice"
        if info.element is None:
            return f"the {info.kind} {path} was empty at the loop's entry"
        mixed = info.element.kind == "mixed"
        held = "elements of different types" if mixed else described(info.element)
        return f"the {info.kind} {path} holds {held}"

    @staticmethod
    def how_to_element(info: ValueInfo) -> str | None:
        """What the user could do about it."""
        if info.kind == "list" and not info.regular:
            return "make all rows equally long, or use a flat array and offsets"
        if info.element is not None and info.element.kind == "mixed":
            return "store one type only: 0.0 instead of 0, columns in lists of their own"
        return None

    def module_constant(self, path: str, line: int) -> Const | None:
        """``math.pi``, ``np.inf`` and the like."""
        canonical = self.canonical(path)
        if canonical is None:
            return None
        value = typing.MODULE_CONSTANTS.get(canonical)
        if value is None:
            return None
        kind = typing.type_of_value(value)
        assert kind is not None
        self.note_module(path)
        return Const(kind, line, value, path)

    def canonical(self, path: str) -> str | None:
        """``"np.sqrt"`` to ``"numpy.sqrt"``, ``"sqrt"`` to ``"math.sqrt"``; None if unknown."""
        head, _, rest = path.partition(".")
        if head in self.frame.names:
            return None
        info = self.observation.values.get(path)
        if info is not None and info.target and info.kind != "mixed":
            return _canonical_target(info.target)
        info = self.observation.values.get(head)
        base: str | None = None
        if info is not None and info.kind in ("module", "function", "class"):
            base = info.target
        elif info is None and head not in self.local:
            base = self.module.imports.get(head)
        if base is None:
            return None
        return _canonical_target(f"{base}.{rest}" if rest else base)

    def note_module(self, path: str) -> None:
        """Remember the local name of a module or imported function."""
        head = path.partition(".")[0]
        canonical = self.canonical(head)
        if canonical is not None:
            self.modules[head] = canonical


def _canonical_target(target: str) -> str:
    """``numpy.linalg.norm`` stays; private C module names become the public ones."""
    for private, public in (("builtins.", ""), ("numpy.core.umath.", "numpy.")):
        if target.startswith(private):
            return public + target.removeprefix(private)
    return target


def described(info: ValueInfo) -> str:
    """What was seen, in words."""
    if info.kind == "mixed":
        return "of different types"
    if info.type_name == "property":
        return "a property, which may do anything when it is read"
    return info.type_name.removeprefix("builtins.")
