"""Which names a piece of code uses, and their values found without running the user's code.

A name is a root (``grid``) or a dotted chain as written (``self.grid``, ``cfg.size.n``). Properties
and ``__getattr__`` are never called: looking must not change the program.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from .instances import class_attribute, stored
from .values import numpy_of_program, unwrap


class _Missing:
    """Marks a chain that has no value, or none that can be had without running user code."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


class Computed:
    """Stands for an attribute that only user code could compute (a property)."""


COMPUTED: Final = Computed()


def dotted(node: ast.expr) -> str | None:
    """``"self.cfg.n"`` for a chain of attributes on a name, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def used_chains(*nodes: ast.AST) -> tuple[str, ...]:
    """All names in the nodes, read or assigned, and all attribute chains with their bases."""
    found: dict[str, None] = {}
    for node in nodes:
        for part in ast.walk(node):
            if not isinstance(part, ast.Name | ast.Attribute):
                continue
            chain = dotted(part)
            if chain is not None:
                _add_prefixes(found, chain)
    return tuple(found)


def _add_prefixes(found: dict[str, None], chain: str) -> None:
    parts = chain.split(".")
    for count in range(1, len(parts) + 1):
        found.setdefault(".".join(parts[:count]))


def resolve(
    chains: tuple[str, ...], local: Mapping[str, Any], global_: Mapping[str, Any]
) -> dict[str, Any]:
    """The value of each chain that has one; the order is that of ``chains``.

    A chain's base must come before it (``used_chains`` sees to that). Built-ins are left out.
    """
    found: dict[str, Any] = {}
    for chain in chains:
        base, dot, name = chain.rpartition(".")
        if not dot:
            if name in local:
                found[chain] = local[name]
            elif name in global_:
                found[chain] = global_[name]
        elif base in found:
            value = attribute(found[base], name)
            if value is not MISSING:
                found[chain] = value
    return found


def attribute(value: Any, name: str) -> Any:
    """``value.name`` where it is plainly stored; ``COMPUTED`` for properties; else MISSING."""
    kind = type(value)  # isinstance would ask the object for its __class__
    if issubclass(kind, types.ModuleType):
        return types.ModuleType.__getattribute__(value, "__dict__").get(name, MISSING)
    if issubclass(kind, type):
        return _stored(_class_attribute(value, name))
    numpy = numpy_of_program()
    if numpy is not None and issubclass(kind, numpy.ndarray | numpy.generic):
        return MISSING  # shape, dtype and T are the array's own business
    if _class_attribute(kind, "__getattribute__") not in _plain_lookups():
        return MISSING
    in_class = _class_attribute(kind, name)
    if type(in_class) is types.MemberDescriptorType:
        try:
            return in_class.__get__(value, kind)
        except AttributeError:  # a slot that nothing was assigned to
            return MISSING
    if hasattr(type(in_class), "__set__"):
        return COMPUTED
    return _of_instance(value, name, in_class)


def _of_instance(value: Any, name: str, in_class: Any) -> Any:
    """What the instance stores under a name; else what its class has, no data descriptor."""
    if type(in_class) is types.FunctionType or not hasattr(type(in_class), "__get__"):
        try:
            found = object.__getattribute__(value, name)
        except AttributeError:
            return MISSING
        is_method = type(found) is types.MethodType and found.__func__ is in_class
        return in_class if is_method else found
    own = stored(value) or {}
    return own[name] if name in own else _stored(in_class)


@cache
def _plain_lookups() -> tuple[Any, ...]:
    """Attribute access as ``object`` does it; SimpleNamespace had its own entry up to 3.12."""
    return tuple(_class_attribute(k, "__getattribute__") for k in (object, types.SimpleNamespace))


def _class_attribute(kind: type, name: str) -> Any:
    known = class_attribute(kind, name)
    return known[0] if known else MISSING


def _stored(value: Any) -> Any:
    """A class attribute as reading it gives it, where that needs no user code."""
    kind = type(value)
    if value is MISSING or kind is types.FunctionType or issubclass(kind, type):
        return value
    if kind is staticmethod or kind is classmethod:
        return value.__func__
    return COMPUTED if hasattr(kind, "__get__") else value


# --------------------------------------------------------- helpers called in a loop
def global_chains(code: types.CodeType) -> Iterator[tuple[str, bool]]:
    """Chains a function's code loads: ``(chain, is_global)``.

    Chains on the first parameter of a method come with ``is_global`` False and that parameter's
    name as root, so that the caller can put its own object in place.
    """
    import dis  # 5 ms that only programs with helpers in hot loops pay

    first = code.co_varnames[0] if code.co_argcount else None
    chain: str | None = None
    is_global = True
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain is not None:
            chain = f"{chain}.{step.argval}"
            yield chain, is_global
            continue
        if step.opname == "COPY" and step.arg == 1:
            continue  # self.time += dt   reads the attribute of a copy of self
        chain = None
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            chain, is_global = str(step.argval), True
            yield chain, True
        elif step.opname.startswith("LOAD_FAST"):
            name = step.argval[-1] if isinstance(step.argval, tuple) else step.argval
            if name == first:
                chain, is_global = str(name), False
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            for inner_chain, inner_global in global_chains(inner):
                if inner_global:
                    yield inner_chain, True


def helper_values(
    chain: str, function: Any, user_files: frozenset[str], *, limit: int = 40
) -> Iterator[tuple[str, Any]]:
    """Globals (and attributes of ``self``) that a helper called as ``chain`` reads, transitively.

    Only Python functions defined in ``user_files`` are followed, at most ``limit`` of them.
    """
    todo = [(chain, function)]
    done: set[int] = set()
    while todo and len(done) < limit:
        chain, function = todo.pop()
        inner = unwrap(function)
        if type(inner) is not types.FunctionType or id(inner) in done:
            continue
        if inner.__code__.co_filename not in user_files:
            continue
        done.add(id(inner))
        base = chain.rpartition(".")[0]
        first = inner.__code__.co_varnames[:1]
        for name, is_global in global_chains(inner.__code__):
            if is_global:
                value = _walk(inner.__globals__, name)
                if value is not MISSING:
                    yield name, value
                    todo.append((name, value))
            elif base and first:
                yield f"{base}{name[len(first[0]) :]}", MISSING


def _walk(namespace: Mapping[str, Any], chain: str) -> Any:
    root, *rest = chain.split(".")
    value = namespace.get(root, MISSING)
    for name in rest:
        if value is MISSING or value is COMPUTED:
            return MISSING
        value = attribute(value, name)
    return value
