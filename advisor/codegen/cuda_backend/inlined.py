"""The statements of a time loop, those of the functions and methods it calls in their places.

A function keeps its own text: with each statement come the names that its variables have in the
loop. Attributes of an object whose method makes the step, ``plate.u``, become variables.
"""

from __future__ import annotations

import ast
import builtins
import copy
import keyword
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ...loopnest.scope import dotted, local_names, own_nodes, stored_names
from ...model import Region, ValueInfo
from ...names import free_name
from ..ast_tools import bound_names
from ..nb_helpers import may_be_replaced
from ..nb_values import Unsupported

DEEPEST = 4
"""Calls inside each other that are followed: what recurses ends here."""
_INTERCEPTING = frozenset({"__getattr__", "__getattribute__", "__setattr__", "__delattr__"})
_SCALARS = {"int": "int", "float": "float", "bool": "bool"}


@dataclass(frozen=True)
class Callee:
    """A function of the file, or a method with its object."""

    function: ast.FunctionDef
    name: str
    receiver: str | None = None
    """What ``self`` is called in the launcher."""


@dataclass
class Inlined:
    """Reads the statements of a loop; remembers which attributes they use."""

    region: Region
    taken: set[str]
    attributes: dict[str, str] = field(default_factory=dict)
    """Variable of the launcher -> ``"plate.u"``."""
    owners: dict[str, ast.ClassDef] = field(default_factory=dict)
    """Objects whose attributes are used -> their class."""

    def __post_init__(self) -> None:
        seen = self.region.observation
        self.values: Mapping[str, ValueInfo] = {} if seen is None else seen.values
        self.classes = {
            node.name: node
            for node in self.region.source.tree.body
            if isinstance(node, ast.ClassDef)
        }

    # -------------------------------------------------------------- statements
    def block(
        self, body: Sequence[ast.stmt], names: Mapping[str, str], depth: int = 0
    ) -> Iterator[tuple[ast.stmt, dict[str, str]]]:
        """The statements, each with new names for its own. ``names``: those of the scope."""
        for statement in body:
            target: ast.expr | None = None
            callee: Callee | None = None
            match statement:
                case ast.Assign(targets=[ast.expr() as target], value=ast.Call() as call):
                    callee = self._callee(call, names)
                case ast.Expr(value=ast.Call() as call):
                    callee = self._callee(call, names)
            if callee is None or _is_expression(callee.function):
                statement = self._spelled_out(statement, names)
                yield statement, self._with_attributes(statement, names)
            else:
                yield from self._called(target, call, callee, names, depth)

    def _spelled_out(self, statement: ast.stmt, names: Mapping[str, str]) -> ast.stmt:
        """The statement with functions that are one expression in the place of their calls."""
        if not isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign | ast.If):
            return statement
        calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call)]
        callees = [self._callee(call, names) for call in calls]
        if all(c is None or not _is_expression(c.function) for c in callees):
            return statement
        new: ast.stmt = _SpelledOut(self, names).visit(copy.deepcopy(statement))
        return ast.fix_missing_locations(new)

    def expression(self, call: ast.Call, names: Mapping[str, str]) -> ast.expr | None:
        """What a call computes, where the function is one expression."""
        callee = self._callee(call, names)
        if callee is None or not _is_expression(callee.function):
            return None
        self._check(callee, call.lineno)
        result = callee.function.body[-1]
        assert isinstance(result, ast.Return) and result.value is not None
        given: dict[str, ast.expr] = dict(self._arguments(call, callee))
        if callee.receiver is not None:
            # in the caller's spelling, which is renamed once more
            assert isinstance(call.func, ast.Attribute)
            given[callee.function.args.args[0].arg] = call.func.value
        return _Substitute(given).visit(copy.deepcopy(result.value))  # type: ignore[no-any-return]

    def _callee(self, call: ast.Call, names: Mapping[str, str]) -> Callee | None:
        """The function of this file that a call runs; None where it is another's."""
        path = dotted(call.func)
        head, _, method = (path or "").rpartition(".")
        if not head:
            function = self._function(path or "", names)
            return None if function is None else Callee(function, path or "")
        owner = names.get(head, head)
        made_by = self._class_of(owner)
        if made_by is None:
            return None
        found = [f for f in made_by.body if isinstance(f, ast.FunctionDef) and f.name == method]
        if not found or found[0].decorator_list:
            return None
        if may_be_replaced(self.region.source.tree, made_by, method):
            raise Unsupported(f"{path}() may be replaced while the program runs", call.lineno)
        return Callee(found[0], path or "", owner)

    def _function(self, name: str, names: Mapping[str, str]) -> ast.FunctionDef | None:
        given = self.region.functions.get(name)
        if name in names or given is None:
            # a function that a step function calls was seen in a loop of its own at most
            here = [f for f in self.region.source.tree.body if isinstance(f, ast.FunctionDef)]
            given = next((f for f in here if f.name == name and not f.decorator_list), None)
        return None if name in names else given

    def _called(
        self,
        target: ast.expr | None,
        call: ast.Call,
        callee: Callee,
        names: Mapping[str, str],
        depth: int,
    ) -> Iterator[tuple[ast.stmt, dict[str, str]]]:
        function, line = callee.function, call.lineno
        if depth >= DEEPEST:
            raise Unsupported(f"{callee.name}() calls itself, or others too deep", line)
        self._check(callee, line)
        body, returned = _ended(callee, target, line)
        renamed = self._renamed(callee)
        for name, value in self._arguments(call, callee).items():
            known = self._with_attributes(value, names)
            if dotted(value) is not None and self._stays(value, function):
                renamed[name] = ast.unparse(renamed_copy(value, known))
            else:  # dt / 2   is computed before the step, under the parameter's name
                own = ast.Name(renamed[name], ast.Store())
                yield _at(ast.Assign([own], renamed_copy(value, known)), call), {}
        yield from self.block(body, renamed, depth + 1)
        if target is not None and returned is not None:
            result = renamed_copy(returned, self._with_attributes(returned, renamed))
            into = renamed_copy(target, self._with_attributes(target, names))
            yield _at(ast.Assign([into], result), call), {}

    def _check(self, callee: Callee, line: int) -> None:
        """Raise Unsupported for functions whose statements cannot stand in the loop."""
        function, name = callee.function, callee.name
        if callee.receiver is None:
            known = bound_names(self.region.source).get(function.name) == 1
            if function not in self.region.source.tree.body or not known:
                raise Unsupported(f"{name}() is no function of this file", line)
        if any(isinstance(n, ast.Global | ast.Nonlocal) for n in ast.walk(function)):
            raise Unsupported(f"{name}() binds variables of others", line)
        free = {n.id for n in own_nodes(function) if isinstance(n, ast.Name)}
        clash = (free - local_names(function)) & local_names(self.region.function)
        if clash:
            # def look(): print(u)   sees the module's u, and not that of the caller
            text = f"{min(clash)} is a variable of the loop and another one in {name}()"
            raise Unsupported(text, line)
        if {a.arg for a in function.args.args} & stored_names(function):
            raise Unsupported(f"{name}() binds its parameters anew", line)

    def _arguments(self, call: ast.Call, callee: Callee) -> dict[str, ast.expr]:
        """What each parameter is given. Raises Unsupported."""
        args, line = callee.function.args, call.lineno
        names = [a.arg for a in args.args]
        if callee.receiver is not None:
            names = names[1:]
        odd = args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs
        if odd or len(call.args) > len(names) or any(k.arg not in names for k in call.keywords):
            raise Unsupported(f"{callee.name}() gets more than one value for each name", line)
        given = dict(zip(names, call.args, strict=False))
        given |= {k.arg: k.value for k in call.keywords if k.arg is not None}
        for name, value in zip(reversed(names), reversed(args.defaults), strict=False):
            if isinstance(value, ast.Constant):
                given.setdefault(name, value)
        if set(given) != set(names):
            raise Unsupported(f"{callee.name}() has defaults that are no constants", line)
        for value in given.values():
            if not isinstance(value, ast.Name) and any(
                isinstance(n, ast.Call | ast.Starred | ast.NamedExpr) for n in ast.walk(value)
            ):
                raise Unsupported(f"{callee.name}() is given `{ast.unparse(value)}`", line)
        return given

    def _stays(self, value: ast.expr, function: ast.FunctionDef) -> bool:
        """Whether a name or attribute means the same throughout a function that is given it.

        ``step(plate, plate.u)`` may bind ``plate.u`` anew, and go on with the old array.
        """
        if isinstance(value, ast.Name):
            return True
        assert isinstance(value, ast.Attribute)
        if value.attr in _attributes_bound(self.region, function):
            text = f"{function.name}() is given {ast.unparse(value)}, and binds it anew"
            raise Unsupported(text, value.lineno)
        return True

    def _renamed(self, callee: Callee) -> dict[str, str]:
        """New names for the function's variables where the loop has others of that name."""
        function = callee.function
        renamed: dict[str, str] = {}
        source = self.region.source
        for local in sorted(local_names(function)):
            clash = local in self.taken or hasattr(builtins, local)
            renamed[local] = free_name(source, local, self.taken) if clash else local
            self.taken.add(renamed[local])
        if callee.receiver is not None:
            renamed[function.args.args[0].arg] = callee.receiver
        return renamed

    # -------------------------------------------------------------- attributes
    def _class_of(self, owner: str) -> ast.ClassDef | None:
        info = self.values.get(owner)
        if info is None or info.kind != "object":
            return None
        return self.classes.get(info.type_name.rpartition(".")[2])

    def _with_attributes(self, statement: ast.AST, names: Mapping[str, str]) -> dict[str, str]:
        """The names, and those that stand for attributes of objects of the file's classes."""
        found = dict(names)
        for node in ast.walk(statement):
            path = dotted(node) if isinstance(node, ast.Attribute) else None
            head, _, attribute = (path or "").partition(".")
            owner = names.get(head, head)
            made_by = self._class_of(owner) if path is not None else None
            if made_by is None or "." in attribute or _is_method(made_by, attribute):
                continue
            found[path or ""] = self._variable(owner, attribute, made_by, node)
        return {old: new for old, new in found.items() if old != new}

    def _variable(self, owner: str, attribute: str, made_by: ast.ClassDef, node: ast.AST) -> str:
        path = f"{owner}.{attribute}"
        for known, other in self.attributes.items():
            if other == path:
                return known
        if owner not in self.owners:
            _refuse_odd(self.region, made_by)
            self.owners[owner] = made_by
        if path not in self.values:
            line = getattr(node, "lineno", None)
            raise Unsupported(f"nothing was observed of {path}", line, "set it before the loop")
        name = attribute.lstrip("_")
        if name in self.taken or hasattr(builtins, name) or keyword.iskeyword(name):
            name = free_name(self.region.source, f"{owner}_{name}", self.taken)
        self.taken.add(name)
        self.attributes[name] = path
        return name

    def tests(self) -> Iterator[str]:
        """What must hold of the objects, by the names that the loop has for them."""
        for owner, made_by in self.owners.items():
            yield f"type({owner}) is {made_by.name}"
        names = list(self.owners)
        for position, one in enumerate(names):
            for other in names[position + 1 :]:
                yield f"{one} is not {other}"
        for path in self.attributes.values():
            kind = self.values[path].kind
            if kind in _SCALARS:
                yield f"type({path}) is {_SCALARS[kind]}"
            elif kind not in ("ndarray", "list"):
                raise Unsupported(f"{path} is neither a number nor an array")


def _refuse_odd(region: Region, made_by: ast.ClassDef) -> None:
    """Raise Unsupported for classes whose attributes may be more than variables."""
    line = made_by.lineno
    plain = all(isinstance(d, ast.Name) and d.id == "dataclass" for d in made_by.decorator_list)
    bases = [b for b in made_by.bases if not (isinstance(b, ast.Name) and b.id == "object")]
    if bases or made_by.keywords or not plain:
        text = f"{made_by.name} has bases or decorators, which may change what attributes are"
        raise Unsupported(text, line)
    if bound_names(region.source).get(made_by.name) != 1:
        raise Unsupported(f"{made_by.name} is bound more than once", line)
    for node in made_by.body:
        if isinstance(node, ast.FunctionDef) and node.name in _INTERCEPTING:
            raise Unsupported(f"{made_by.name}.{node.name}() sees its attributes", node.lineno)


def _is_method(made_by: ast.ClassDef, attribute: str) -> bool:
    """Whether the class has something of that name itself: a method, a property, a descriptor."""
    for node in made_by.body:
        match node:
            case ast.FunctionDef(name=name) if name == attribute:
                return True
            case ast.Assign(value=value) | ast.AnnAssign(value=value) if value is not None:
                if attribute in stored_names(node) and not isinstance(value, ast.Constant):
                    return True
    return False


def _attributes_bound(region: Region, function: ast.FunctionDef) -> set[str]:
    """Attributes that a function, or one of the file that it may call, binds."""
    found: set[str] = set()
    todo: list[ast.FunctionDef] = [function]
    done: set[ast.FunctionDef] = set()
    named: dict[str, list[ast.FunctionDef]] = {}
    for node in region.source.nodes:
        if isinstance(node, ast.FunctionDef):
            named.setdefault(node.name, []).append(node)
    while todo:
        one = todo.pop()
        if one in done:
            continue
        done.add(one)
        for node in ast.walk(one):
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                found.add(node.attr)
            called = getattr(node, "attr", getattr(node, "id", None))
            todo += named.get(called, []) if isinstance(called, str) else []
    return found


def _ended(
    callee: Callee, target: ast.expr | None, line: int
) -> tuple[list[ast.stmt], ast.expr | None]:
    """The function's statements without its ``return``, and what that gives."""
    function = callee.function
    body = list(function.body)
    if ast.get_docstring(function) is not None:
        body = body[1:]
    last = body[-1] if body else None
    returned = None
    if isinstance(last, ast.Return):
        body, returned = body[:-1], last.value
    if any(
        isinstance(n, ast.Return | ast.Yield | ast.YieldFrom) for s in body for n in ast.walk(s)
    ):
        raise Unsupported(f"{callee.name}() returns in the middle", line)
    if target is not None and not _are_names(returned):
        raise Unsupported(f"{callee.name}() does not return arrays by their names at its end", line)
    if target is None and returned is not None and not _are_names(returned):
        raise Unsupported(f"{callee.name}() computes a result that nobody takes", line)
    return body, returned


def _is_expression(function: ast.FunctionDef) -> bool:
    """Whether a function is ``return`` and an expression that is more than names."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    match body:
        case [ast.Return(value=ast.expr() as value)]:
            return not _are_names(value)
    return False


def _are_names(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Tuple):
        return all(map(_are_names, value.elts))
    return isinstance(value, ast.Name) or (value is not None and dotted(value) is not None)


Node = TypeVar("Node", ast.expr, ast.stmt)


def _at(node: ast.stmt, place: ast.expr) -> ast.stmt:
    """The statement, said to stand where the call does."""
    return ast.fix_missing_locations(ast.copy_location(node, place))


class _SpelledOut(ast.NodeTransformer):
    def __init__(self, inlined: Inlined, names: Mapping[str, str]) -> None:
        self.inlined, self.names = inlined, names

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        found = self.inlined.expression(node, self.names)
        return node if found is None else ast.copy_location(found, node)


class _Substitute(ast.NodeTransformer):
    def __init__(self, given: Mapping[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.given.get(node.id, node))


class _Rename(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        name = self.names.get(dotted(node) or "")
        if name is not None:
            return ast.copy_location(ast.Name(name, node.ctx), node)
        self.generic_visit(node)
        return node


def renamed_copy(node: Node, names: Mapping[str, str]) -> Node:
    """A copy with other names; an attribute's is its dotted path."""
    new: Node = _Rename(names).visit(copy.deepcopy(node))
    return new
