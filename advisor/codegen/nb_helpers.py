"""The user's functions and methods that are compiled along with the loop."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from ..loopnest.scope import dotted, literal, local_names
from ..model import Source
from .nb_bounded import looks
from .nb_eval import Evaluator
from .nb_flow import Flow
from .nb_paths import assigned_paths
from .nb_scope import Scope, in_closure, is_sibling, sibling
from .nb_state import ARGUMENT, State, TextEdit
from .nb_text import Names, body_text, flag_edits
from .nb_values import Items, Num, Target, Unsupported, Value, number


def call_helper(ev: Evaluator, name: str, function: ast.FunctionDef, node: ast.Call) -> Value:
    """A user function, followed with the arguments of this call."""
    state = ev.state
    key = caller_path(ev.scope, name)
    decorators = [d for d in function.decorator_list if dotted(d) != "staticmethod"]
    if function.args.vararg or function.args.kwarg or decorators:
        raise Unsupported(f"{name}() has * parameters or decorators", node.lineno)
    if key in ev.scope.stack:
        raise Unsupported(f"{name}() calls itself", node.lineno)
    if id(function) not in state.module.nodes:
        raise Unsupported(f"{name}() is defined in another file", node.lineno)
    scope = Scope(state, function, {}, helper=True)
    scope.stack = (*ev.scope.stack, key)
    if is_method(key, function):
        scope.objects[function.args.args[0].arg] = key.rpartition(".")[0]
        scope.env.update((path, v) for path, v in ev.scope.env.items() if "." in path)
    scope.outer = _globals(ev, function)
    for parameter, value in _arguments(ev, name, function, node).items():
        if isinstance(value, Items | Target):
            raise Unsupported(f"{name}() takes more than numbers and arrays", node.lineno)
        scope.env[parameter] = replace(value, entry=False) if isinstance(value, Num) else value
    flow = Flow(Evaluator(state, scope))
    ends = flow.block(function.body)
    ev.scope.attributes.update(scope.attributes)
    if state.recording:
        state.called[key] = function
        state.attributes[key] = tuple(
            dict.fromkeys((*state.attributes.get(key, ()), *scope.attributes))
        )
        for path in scope.attributes:
            if not path.startswith(ARGUMENT):
                ev.scope.need(path)
    if ends and flow.returns:
        raise Unsupported(f"{name}() returns nothing on some path", node.lineno)
    return _returned(ev, flow, name, node)


def _globals(ev: Evaluator, function: ast.FunctionDef) -> dict[str, Value]:
    """What a helper sees of the program's globals: inputs that the loop does not assign.

    The loop in Python becomes a function, whose variables are no globals any more. A function
    beside the loop's own sees the variables of the one around both as well.
    """
    scope, region = ev.scope, ev.state.region
    own = local_names(region.function) | assigned_paths(region.loop)
    known = scope.outer if scope.helper else scope.env
    inside = is_sibling(region, function)
    return {
        name: value
        for name, value in known.items()
        if "." not in name and name not in own and (inside or not in_closure(region, name))
    }


def caller_path(scope: Scope, name: str) -> str:
    """The path under which the loop's own text would call it."""
    head, dot, rest = name.partition(".")
    return scope.objects.get(head, head) + dot + rest


def is_method(key: str, function: ast.FunctionDef) -> bool:
    """Whether the first parameter is the object in front of the dot."""
    static = any(dotted(d) == "staticmethod" for d in function.decorator_list)
    return "." in key and not static and bool(function.args.args)


def _arguments(
    ev: Evaluator, name: str, function: ast.FunctionDef, node: ast.Call
) -> dict[str, Value]:
    """Parameters with their values; defaults are numbers."""
    args = function.args
    names = [a.arg for a in (*args.posonlyargs, *args.args)]
    defaults = dict(zip(reversed(names), reversed(args.defaults), strict=False))
    keyword_only = [a.arg for a in args.kwonlyargs]
    defaults.update(
        (n, d) for n, d in zip(keyword_only, args.kw_defaults, strict=True) if d is not None
    )
    if is_method(caller_path(ev.scope, name), function):
        names = names[1:]
    if len(node.args) > len(names) or any(isinstance(a, ast.Starred) for a in node.args):
        raise Unsupported(f"{name}() is called with other arguments", node.lineno)
    bound: dict[str, Value] = {n: ev.value(a) for n, a in zip(names, node.args, strict=False)}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in bound:
            raise Unsupported(f"{name}() is called with **", node.lineno)
        bound[keyword.arg] = ev.value(keyword.value)
    for parameter in (*names, *keyword_only):
        if parameter in bound:
            continue
        default = literal(defaults[parameter]) if parameter in defaults else None
        if default is None:
            text = f"{name}() needs {parameter}, or its default is no number"
            raise Unsupported(text, node.lineno)
        bound[parameter] = number(default)
    return bound


def _returned(ev: Evaluator, flow: Flow, name: str, node: ast.Call) -> Value:
    numbers = [v for v in flow.returns if isinstance(v, Num)]
    if not flow.returns:
        return Items(())
    if len(numbers) != len(flow.returns):
        tuples = [v for v in flow.returns if isinstance(v, Items)]
        if len(tuples) == len(flow.returns) == 1:
            return tuples[0]
        raise Unsupported(f"{name}() returns more than one number", node.lineno)
    result = numbers[0]
    for other in numbers[1:]:
        result = ev.join(result, other, node, f"what {name}() returns")
    return result


# ---------------------------------------------------------------------- text
def helper_text(source: Source, state: State, key: str, names: Names) -> str:
    """The function's text under its compiled name, with attributes as its first parameters."""
    function = state.called[key]
    edits = list(state.edits)
    inner: dict[str, str] = {}
    objects: dict[str, str] = {}
    for path in state.attributes[key]:
        inner[path] = _free_local(path, function) if "." in path else path
        if path.startswith(ARGUMENT):
            inner[path] = names.arguments[path.removeprefix(ARGUMENT)]
            if inner[path] in local_names(function):
                raise Unsupported(f"{key}() has a variable {inner[path]}", function.lineno)
    if is_method(key, function):
        objects[function.args.args[0].arg] = key.rpartition(".")[0]
        edits += _without_self(source, function, list(inner.values()))
        edits += _attribute_edits(source, function, objects, inner)
    elif inner:
        edits.append(_with_globals(source, function, list(inner.values())))
    edits += call_edits(source, function, state, names, objects, inner)
    edits += flag_edits(source, function, looks(state, _spelled(inner, objects)))
    text = body_text(source, function, edits, names, by=0)
    return text.replace(f"def {function.name}(", f"def {names.functions[key]}(", 1)


def _spelled(inner: Mapping[str, str], objects: Mapping[str, str]) -> dict[str, str]:
    """What the function calls attributes -> the parameters that stand for them."""
    owners = {owner: name for name, owner in objects.items()}
    spelled = {}
    for path, parameter in inner.items():
        owner, dot, attribute = path.rpartition(".")
        spelled[f"{owners.get(owner, owner)}{dot}{attribute}"] = parameter
    return spelled


def _free_local(path: str, function: ast.FunctionDef) -> str:
    used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    used |= {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)}
    name = path.replace(".", "_")
    while name in used:
        name += "_"
    return name


def _without_self(
    source: Source, function: ast.FunctionDef, attributes: list[str]
) -> list[TextEdit]:
    """``def count(self, i)`` becomes ``def count(self_u, i)``."""
    args = function.args
    first = args.args[0]
    assert first.end_lineno is not None and first.end_col_offset is not None
    start = source.offset(first.lineno, first.col_offset)
    end = source.offset(first.end_lineno, first.end_col_offset)
    if not attributes and len(args.args) > 1:
        following = args.args[1]
        end = source.offset(following.lineno, following.col_offset)
    elif args.posonlyargs or (not attributes and args.kwonlyargs):
        raise Unsupported(f"{function.name}() has parameters of a kind not compiled", first.lineno)
    return [TextEdit(start, 0, end, ", ".join(attributes))]


def _with_globals(source: Source, function: ast.FunctionDef, names: list[str]) -> TextEdit:
    """``def count(i, j)`` becomes ``def count(grid, i, j)``."""
    args = function.args
    if args.kwonlyargs:
        raise Unsupported(f"{function.name}() has parameters of a kind not compiled")
    positional = [*args.posonlyargs, *args.args]
    if positional:
        first = positional[0]
        at = source.offset(first.lineno, first.col_offset)
        return TextEdit(at, 0, at, "".join(f"{name}, " for name in names))
    start = source.span(function)[0]
    at = source.data.index(b"(", start) + 1
    return TextEdit(at, 0, at, ", ".join(names))


def _attribute_edits(
    source: Source, root: ast.AST, objects: dict[str, str], inner: dict[str, str]
) -> list[TextEdit]:
    found: list[TextEdit] = []

    def visit(node: ast.AST) -> None:
        path = dotted(node) if isinstance(node, ast.Attribute) else None
        if path is not None:
            head, dot, rest = path.partition(".")
            new = inner.get(objects.get(head, head) + dot + rest)
            if new is not None and isinstance(node, ast.expr):
                start, end = source.span(node)
                found.append(TextEdit(start, 2 * 10**9, end, new))
                return
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(root)
    return found


def call_edits(
    source: Source,
    root: ast.AST,
    state: State,
    names: Names,
    objects: dict[str, str],
    spelled: dict[str, str],
) -> list[TextEdit]:
    """Calls of compiled functions under their new names, attributes put in front.

    ``spelled``: attribute path -> what it is called where the call stands.
    """
    found: list[TextEdit] = []
    for node in ast.walk(root):
        path = dotted(node.func) if isinstance(node, ast.Call) else None
        if path is None or not isinstance(node, ast.Call):
            continue
        head, dot, rest = path.partition(".")
        key = objects.get(head, head) + dot + rest
        if key not in state.called:
            continue
        start, end = source.span(node.func)
        found.append(TextEdit(start, 2 * 10**9, end, names.functions[key]))
        attributes = ", ".join(spelled[p] for p in state.attributes.get(key, ()))
        if not attributes:
            continue
        given = [*node.args, *(k.value for k in node.keywords)]
        if node.keywords and not node.args:
            raise Unsupported(f"{path}() is called with keywords only", node.lineno)
        at = source.span(given[0])[0] if given else source.span(node)[1] - 1
        if given:
            attributes += ", "
        found.append(TextEdit(at, -(10**12), at, attributes))
    return found


def method_tests(state: State) -> list[str]:
    """What must hold for the methods called to be those compiled. Raises Unsupported.

    ``class Torus(Grid)`` may have another ``count``; ``grid.count = faster`` replaces it.
    """
    tests: dict[str, None] = {}
    tree = state.source.tree
    for key, function in state.called.items():
        owner, dot, name = key.rpartition(".")
        if not dot:
            continue
        classes = [c for c in tree.body if isinstance(c, ast.ClassDef) and function in c.body]
        if len(classes) != 1 or may_be_replaced(tree, classes[0], name):
            raise Unsupported(f"{key}() may be replaced while the program runs", function.lineno)
        tests.setdefault(f"type({owner}) is {classes[0].name}")
    return list(tests)


def may_be_replaced(tree: ast.Module, owner: ast.ClassDef, name: str) -> bool:
    """Whether the file assigns the method or its class, or attributes by computed names."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()) if attr == name:
                return True
            case ast.Name(id="setattr" | "delattr" | "vars") | ast.Attribute(attr="__dict__"):
                return True
            case ast.Name(id=found, ctx=ast.Store()) if found in (owner.name, name):
                return found == owner.name or node in list(ast.walk(owner))
    same = [c for c in ast.walk(tree) if isinstance(c, ast.ClassDef) and c.name == owner.name]
    defined = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == name]
    return len(same) != 1 or len(defined) != 1


def method_owners(state: State) -> list[str]:
    """Names of what the loop in Python calls that is no global: objects, functions beside it."""
    roots = (
        key.partition(".")[0]
        for key in state.called
        if "." in key or sibling(state.region, key) is not None
    )
    return list(dict.fromkeys(roots))
