"""Functions that take or give vectors, copied in a form for the components."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from ...layout import indent_unit
from ...loopnest.scope import (
    declared,
    literal,
    local_names,
    module_of,
    own_nodes,
    stored_names,
)
from ...model import ValueInfo
from ..nb_values import Unsupported
from .draft import Draft
from .vector_expressions import Expressions
from .vector_methods import Methods
from .vector_statements import Statements
from .vector_values import (
    CALLER,
    Function,
    Number,
    Object,
    Other,
    Value,
    Vector,
    element,
    element_type,
    flat,
    join,
    seen_width,
    shape_of,
    typed_shape,
)

_DEEPEST = 8


@dataclass(frozen=True)
class Copied:
    """A function for arguments of certain types."""

    name: str
    """What to call; the user's own function where it is not about vectors."""
    result: Value
    text: str = ""
    pure: bool = True
    """It only computes."""
    attributes: tuple[str, ...] = ()
    """Attributes of objects that it reads, which it is given first."""


class Functions:
    """The functions of one loop, each looked at once for the types of its arguments."""

    def __init__(self, draft: Draft, numpy: str) -> None:
        self.draft = draft
        self.numpy = numpy
        self.vectors = 0
        """How often something was found that is a vector to this reading only."""
        self.maps = 0
        """How often ``map`` was written out."""
        self.new: list[str] = []
        self.parts: dict[tuple[str, int | str], str] = {}
        self.widths: dict[str, tuple[str, int]] = {}
        """Arrays and lists of lists whose rows are vectors -> what they are, and how wide."""
        self.shapes: dict[str, ValueInfo] = {}
        """Short arrays of the module that functions read."""
        self.handed: dict[str, str] = {}
        """Variables that stand for functions of the module."""
        self.copies: dict[object, Copied] = {}
        self.scopes: list[frozenset[str]] = []
        """Local names of the functions that are being looked at."""
        self.attributes: list[dict[str, None]] = []
        """Attributes of objects that these read."""
        self.methods = Methods(draft)
        self.stack: list[str] = []

    # ----------------------------------------------------------------- names
    def free(self, wanted: str) -> str:
        """A new name."""
        self.new.append(self.draft.free(wanted, *self.new))
        return self.new[-1]

    def component(self, name: str, place: int | str) -> str:
        """The variable of one component, or attribute."""
        key = (name, place)
        if key not in self.parts:
            self.parts[key] = self.free(f"{name}_{place}")
        return self.parts[key]

    def is_helper(self, local: frozenset[str]) -> bool:
        """Whether these are the names of a function, not of the loop."""
        return any(local is scope for scope in self.scopes)

    def rely_on_width(self, path: str, kind: str, width: int) -> None:
        """Rows of an array are used as vectors of a length."""
        if self.scopes:
            raise Unsupported("a function reads rows of an array", self.draft.loop.lineno)
        self.widths[path] = (kind, width)

    def global_vector(self, name: str, info: ValueInfo) -> Vector | None:
        """A short array of the module that functions read: its elements, where it is."""
        width, number = seen_width(info), element_type(info)
        if width is None or number is None or name in local_names(self.draft.function):
            return None
        if name in stored_names(self.draft.loop):
            raise Unsupported(f"a function reads {name}, which the loop sets")
        self.shapes[name] = info
        items = tuple(Number(element(ast.Name(name, ast.Load()), k), number) for k in range(width))
        return Vector(info.kind, items, place=True, owners=frozenset({name}))

    def handed_over(self, name: str, info: ValueInfo) -> str | None:
        """The function of the module that a variable of the user's function always was."""
        source = self.draft.source
        if info.target_file != source.path or name in stored_names(self.draft.loop):
            return None
        for function in module_of(source).functions.values():
            if function.lineno == info.target_line:
                self.handed[name] = function.name
                return function.name
        return None

    # ----------------------------------------------------------------- calls
    def needed(self, owner: Object, name: str) -> str:
        """The parameter for an attribute of an object, in the function that is looked at."""
        self.attributes[-1].setdefault(f"{owner.path}.{name}")
        return self.parameter_for(f"{owner.path}.{name}")

    def parameter_for(self, path: str) -> str:
        """What functions call an attribute of an object."""
        owner, _, name = path.rpartition(".")
        return self.component(owner, name)

    def called(
        self,
        scope: Expressions,
        node: ast.Call,
        function: ast.FunctionDef,
        owner: Object | None = None,
    ) -> Value:
        """The value of a call of a function of the file. Raises Unsupported."""
        name = function.name
        if any(isinstance(a, ast.Starred) for a in node.args):
            raise Unsupported(f"{name}() is called with *", node.lineno)
        given: list[Value] = [] if owner is None else [owner]
        given += [scope.value(a) for a in node.args]
        named = {k.arg: scope.value(k.value) for k in node.keywords if k.arg is not None}
        if len(named) != len(node.keywords):
            raise Unsupported(f"{name}() is called with **", node.lineno)
        copied = self.copy_for(function, given, named, node)
        if not copied.text:
            return self.call_as_it_is(scope, node, copied)
        about = any(isinstance(v, Vector | Function | Object) for v in (*given, *named.values()))
        self.vectors += about or isinstance(copied.result, Vector)
        arguments = [self._attribute(scope, path) for path in copied.attributes]
        arguments += [n.node for value in given for n in _numbers(value)]
        keywords = []
        for key, value in named.items():
            if not isinstance(value, Number):
                raise Unsupported(f"{name}() is given a vector by its name", node.lineno)
            keywords.append(ast.keyword(key, value.node))
        call = ast.Call(ast.Name(copied.name, ast.Load()), arguments, keywords)
        if not isinstance(copied.result, Vector):
            return Number(call, getattr(copied.result, "type", ""))
        args = [a.arg for a in function.args.args]
        owners = {n: v.owners for n, v in zip(args, given, strict=False) if isinstance(v, Vector)}
        result = _outside(copied.result, owners)
        return self.taken(scope, call, result, function.name)

    def _attribute(self, scope: Expressions, path: str) -> ast.expr:
        """An attribute that a function is given: the object's, or what the caller was given."""
        if not self.is_helper(scope.local):
            return ast.parse(path, mode="eval").body
        owner, _, name = path.rpartition(".")
        return ast.Name(self.needed(Object(owner), name), ast.Load())

    def call_as_it_is(self, scope: Expressions, node: ast.Call, copied: Copied) -> Value:
        """A call of a function of numbers."""
        found = scope.plain(node)
        if not copied.pure:
            scope.impure.append(node)
        return Number(found.node, getattr(copied.result, "type", ""))

    def taken(self, scope: Expressions, call: ast.Call, result: Vector, stem: str) -> Vector:
        """The components that a call gives, in variables assigned in front of the statement."""
        names: list[str] = []
        made = self._received(result, stem.strip("_"), names)
        scope.first.append(f"{', '.join(names)} = {ast.unparse(call)}")
        return made

    def _received(self, result: Vector, stem: str, names: list[str]) -> Vector:
        items: list[Number | Vector] = []
        for k, item in enumerate(result.items):
            if isinstance(item, Vector):
                items.append(self._received(item, f"{stem}_{k}", names))
                continue
            names.append(self.free(f"{stem}_{k}"))
            items.append(Number(ast.Name(names[-1], ast.Load()), item.type))
        return Vector(result.kind, tuple(items), owners=result.owners)

    # ---------------------------------------------------------------- copies
    def copy_for(
        self,
        function: ast.FunctionDef,
        given: Sequence[Value],
        named: dict[str, Value],
        node: ast.Call,
    ) -> Copied:
        """The function for these arguments. Raises Unsupported."""
        shapes = tuple(typed_shape(v) for v in given)
        key = (function.name, shapes, tuple((n, typed_shape(v)) for n, v in named.items()))
        if key in self.copies:
            return self.copies[key]
        if function.name in self.stack:
            raise Unsupported(f"{function.name}() calls itself", node.lineno)
        if len(self.stack) >= _DEEPEST:
            raise Unsupported(f"{function.name}() is nested too deeply", node.lineno)
        own = (Vector, Function, Object)
        vectors = [v for v in (*given, *named.values()) if isinstance(v, own)]
        self.stack.append(function.name)
        before = self.vectors, self.maps
        try:
            self._check(function, node)
            copied = self._copied(function, given, named, node)
        except Unsupported:
            if vectors:
                raise
            # not about vectors: the back end looks at it
            self.vectors, self.maps = before
            copied = Copied(function.name, Number(node), pure=False)
        finally:
            self.stack.pop()
        self.copies[key] = copied
        return copied

    def _check(self, function: ast.FunctionDef, node: ast.Call) -> None:
        """What can be copied. Raises Unsupported."""
        name, args = function.name, function.args
        odd = (ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda, ast.FunctionDef, ast.ClassDef)
        if args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs:
            raise Unsupported(f"{name}() has parameters of another kind", node.lineno)
        if function.decorator_list or declared(function):
            raise Unsupported(f"{name}() is decorated or assigns globals", node.lineno)
        if any(isinstance(n, odd) for n in own_nodes(function)):
            raise Unsupported(f"{name}() does more than compute", node.lineno)

    def _copied(
        self,
        function: ast.FunctionDef,
        given: Sequence[Value],
        named: dict[str, Value],
        node: ast.Call,
    ) -> Copied:
        before = self.vectors, self.maps
        bound, params = self._bound(function, given, named, node)
        local = local_names(function)
        self.scopes.append(local)
        self.attributes.append({})
        try:
            scope = Statements(self, local, bound)
            scope.block(function.body)
        finally:
            self.scopes.pop()
            attributes = tuple(self.attributes.pop())
        result = self._result(function, scope)
        own = (Vector, Function, Object)
        about = any(isinstance(v, own) for v in (*given, *named.values(), result))
        if not about and (self.vectors, self.maps) == before:
            return Copied(function.name, result)
        names = [v.name.strip("_") for v in given if isinstance(v, Function)]
        name = self.free("_" + "_".join([function.name.strip("_"), *names, "parts"]))
        params = [*(self.parameter_for(path) for path in attributes), *params]
        how = "component by component" if about or self.vectors > before[0] else "without map()"
        text = self._text(function, f"{name}({', '.join(params)})", how, scope)
        for other in self.copies.values():
            if other.text and other.text.replace(other.name, name) == text:
                name, text = other.name, other.text  # only types that compilers see differ
        return Copied(name, result, text, attributes=attributes)

    def _result(self, function: ast.FunctionDef, scope: Statements) -> Value:
        """What the function gives: one tuple of numbers from one place, or a number."""
        name, results = function.name, scope.results
        if not results or not isinstance(function.body[-1], ast.Return | ast.If):
            raise Unsupported(f"{name}() may return None", function.lineno)
        result = results[0]
        for other in results[1:]:
            if shape_of(other) != shape_of(result):
                raise Unsupported(f"{name}() returns values of several kinds", function.lineno)
            result = join(name, result, other, function.lineno)
        if isinstance(result, Vector) and len(results) > 1:
            raise Unsupported(f"{name}() returns vectors in several places", function.lineno)
        return result

    def _bound(
        self,
        function: ast.FunctionDef,
        given: Sequence[Value],
        named: dict[str, Value],
        node: ast.Call,
    ) -> tuple[dict[str, Value], list[str]]:
        """What the parameters are, and the parameters of the copy."""
        args = [a.arg for a in function.args.args]
        if len(given) > len(args) or set(named) - set(args[len(given) :]):
            raise Unsupported(f"{function.name}() is called with other arguments", node.lineno)
        values = {**dict(zip(args, given, strict=False)), **named}
        defaults = dict(zip(reversed(args), reversed(function.args.defaults), strict=False))
        bound: dict[str, Value] = {}
        params: list[str] = []
        for name in args:
            here = ast.Name(name, ast.Load())
            default = literal(defaults[name]) if name in defaults else None
            value = values.get(name)
            if value is None and default is None:
                raise Unsupported(f"{function.name}() needs {name}", node.lineno)
            if isinstance(value, Function | Object):
                bound[name] = value
                continue
            if isinstance(value, Vector):
                names, vector = self._parameters(name, value)
                params += names
                bound[name] = vector
                continue
            text = name if default is None else f"{name}={ast.unparse(defaults[name])}"
            params.append(text)
            kind = type(default).__name__ if value is None else getattr(value, "type", "")
            bound[name] = Number(here, kind)
            if isinstance(value, Other) and value.rank:
                bound[name] = Other(here)
        return bound, params

    def _parameters(self, name: str, value: Vector) -> tuple[list[str], Vector]:
        """A parameter for each component."""
        names: list[str] = []
        items: list[Number | Vector] = []
        for k, item in enumerate(value.items):
            part = self.component(name, k)
            if isinstance(item, Vector):
                inner, vector = self._parameters(part, item)
                names += inner
                items.append(vector)
                continue
            names.append(part)
            items.append(Number(ast.Name(part, ast.Load()), item.type))
        return names, Vector(value.kind, tuple(items), owners=frozenset({name, CALLER}))

    # ------------------------------------------------------------------ text
    def _text(self, function: ast.FunctionDef, signature: str, how: str, scope: Statements) -> str:
        """The copy: the user's text with the edits, under its new name."""
        source = self.draft.source
        first = function.body[0]
        start, end = source.line_starts[first.lineno - 1], source.span(function)[1]
        if first.lineno == function.lineno:
            start = source.span(first)[0]
        data = bytearray(source.data[start:end])
        edits = dict.fromkeys(scope.edits)
        for edit in sorted(edits, key=lambda e: (e.start, e.end), reverse=True):
            data[edit.start - start : edit.end - start] = edit.text.encode()
        head = f"def {signature}:\n"
        if ast.get_docstring(function) is None:
            head += f'{indent_unit(source)}"""{function.name}(), {how}."""\n'
        return head + textwrap.indent(textwrap.dedent(data.decode()), indent_unit(source)) + "\n"


def _outside(result: Vector, owners: dict[str, frozenset[str]]) -> Vector:
    """What a function gives, as the caller sees it: only parameters have other names there."""
    items = tuple(_outside(i, owners) if isinstance(i, Vector) else i for i in result.items)
    known = [owners[name] for name in result.owners if name in owners]
    return Vector(result.kind, items, owners=frozenset().union(*known))


def _numbers(value: Value) -> Sequence[Number]:
    """What a copy is given for an argument."""
    match value:
        case Vector():
            return list(flat(value))
        case Number():
            return [value]
        case Other(node=node):
            return [Number(node)]
    return []
