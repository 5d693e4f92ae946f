"""From a function's text and its arguments to a nest, and both sides executed."""

from __future__ import annotations

import ast
import copy
import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import numpy as np
from interpreter import Interpreter

from gpuadvise.loopnest.ir import Nest
from gpuadvise.loopnest.lower import lower
from gpuadvise.loopnest.ranges import Observed, Ranges
from gpuadvise.loopnest.text import number_of
from gpuadvise.model import Refusal, SiteObservation, Source, ValueInfo
from gpuadvise.observe.values import describe


@dataclass
class Setup:
    """A function stopped where its hot loop starts."""

    source: Source
    function: ast.FunctionDef
    loop: ast.For | ast.While
    namespace: dict[str, Any]
    """Globals and locals at the loop's entry."""
    observation: SiteObservation
    functions: dict[str, ast.FunctionDef]


def _paths(node: ast.AST) -> set[str]:
    found = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name | ast.Attribute):
            text = ast.unparse(inner)
            if all(part.isidentifier() for part in text.split(".")):
                found.add(text)
    return found


def value_at(path: str, namespace: dict[str, Any]) -> Any:
    """The live value of a dotted path."""
    head, *rest = path.split(".")
    value = namespace[head]
    for attr in rest:
        value = getattr(value, attr)
    return value


def setup(text: str, *args: Any, helpers: bool = True) -> Setup:
    """Run the last function of the text up to its first outermost loop."""
    text = dedent(text)
    source = Source(Path("script.py"), text.encode())
    function = [n for n in source.tree.body if isinstance(n, ast.FunctionDef)][-1]
    place = next(i for i, s in enumerate(function.body) if isinstance(s, ast.For | ast.While))
    loop = function.body[place]
    assert isinstance(loop, ast.For | ast.While)
    globals_: dict[str, Any] = {"np": np, "math": math}
    exec(compile(source.tree, "script.py", "exec"), globals_)
    prefix = copy.deepcopy(function)
    prefix.body = [*prefix.body[:place], ast.parse("return locals()").body[0]]
    prefix.name = "prefix_"
    prefix.decorator_list = []
    holder: dict[str, Any] = globals_
    module = ast.fix_missing_locations(ast.Module(body=[prefix], type_ignores=[]))
    exec(compile(module, "prefix.py", "exec"), holder)
    local = holder["prefix_"](*copy.deepcopy(args))
    namespace = {**globals_, **local}
    names = _paths(loop)
    wanted = list(names)
    while wanted:
        called = wanted.pop().rpartition(".")[2]
        for inner in ast.walk(source.tree):
            if isinstance(inner, ast.FunctionDef) and inner.name == called:
                fresh = _paths(inner) - names
                names |= fresh
                wanted += list(fresh)
    values: dict[str, ValueInfo] = {}
    live: dict[str, Any] = {}
    for path in sorted(names):
        try:
            live[path] = value_at(path, namespace)
        except (KeyError, AttributeError):
            continue
        values[path] = describe(live[path])
    arrays = [p for p in values if values[p].kind in ("ndarray", "list", "bytearray")]
    aliases = tuple((a, b) for a in arrays for b in arrays if a < b and _shares(live[a], live[b]))
    functions = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef) and node is not function and helpers:
            functions[node.name] = node
            functions[f"self.{node.name}"] = node
    observation = SiteObservation(1, 1, values, aliases)
    return Setup(source, function, loop, namespace, observation, functions)


def _shares(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return bool(np.shares_memory(left, right))
    return left is right


def nest_of(text: str, *args: Any) -> Nest | Refusal:
    """Lower the first outermost loop of the last function."""
    made = setup(text, *args)
    return lower(
        made.loop,
        source=made.source,
        function=made.function,
        observation=made.observation,
        functions=made.functions,
    )


def good(text: str, *args: Any) -> Nest:
    """A nest, or a failure with the refusal's words."""
    nest = nest_of(text, *args)
    assert isinstance(nest, Nest), nest
    return nest


def compare(text: str, *args: Any) -> Nest:
    """Execute the loop as Python and the nest with the interpreter; everything must agree."""
    made = setup(text, *args)
    nest = lower(
        made.loop,
        source=made.source,
        function=made.function,
        observation=made.observation,
        functions=made.functions,
    )
    assert isinstance(nest, Nest), nest
    data = {
        k: v
        for k, v in made.namespace.items()
        if not callable(v) and not isinstance(v, ModuleType) and not k.startswith("__")
    }
    shared = copy.deepcopy(data)
    expected = {**made.namespace, **copy.deepcopy(data)}
    module = ast.Module(body=[made.loop], type_ignores=[])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        functions = {k: v for k, v in made.namespace.items() if callable(v)}
        for function in functions.values():
            if hasattr(function, "__globals__"):
                function.__globals__.update(
                    {k: expected[k] for k in function.__globals__ if k in data}
                )
        exec(compile(module, "loop.py", "exec"), expected)
        paths = {*nest.arrays, *nest.scalars} - nest.made
        values = {path: _numbered(nest, path, value_at(path, shared)) for path in paths}
        machine = Interpreter(nest, values, tuple(Ranges(nest, basis) for basis in Observed))
        machine.run()
    assert not machine.wrong_types, machine.wrong_types[:5]
    assert not machine.outside, machine.outside[:5]
    for name in {*nest.arrays, *nest.live_out, *(nest.privates.keys() - nest.invented)}:
        head = name.split(".")[0]
        if head not in expected:
            continue
        try:
            wanted = value_at(name, expected)
        except (KeyError, AttributeError):
            continue
        if name in values:
            assert_same(values[name], _numbered(nest, name, wanted), name)
    return nest


def _numbered(nest: Nest, name: str, value: Any) -> Any:
    """The numbers that stand for text in the nest."""
    if name in nest.arrays and nest.arrays[name].container == "str":
        return [ord(ch) for ch in value]
    if name in nest.arrays and name in nest.text:
        return [number_of(text, nest.words) for text in value]
    return number_of(value, nest.words) if name in nest.text else value


def assert_same(found: Any, wanted: Any, name: str) -> None:
    """Equal with types, NaN equal to NaN."""
    assert type(found) is type(wanted), (name, found, wanted)
    if isinstance(wanted, np.ndarray):
        np.testing.assert_array_equal(found, wanted, err_msg=name)
    elif isinstance(wanted, list):
        assert repr(found) == repr(wanted), name
    else:
        assert found == wanted or (found != found and wanted != wanted), (name, found, wanted)
