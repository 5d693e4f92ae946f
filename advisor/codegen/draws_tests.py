"""What must hold before the numbers of a loop are drawn at once: types, extents, generators."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from ..loopnest.scope import dotted
from ..model import Region
from . import ast_tools as tools
from .draws_find import GENERATOR, LEGACY, Draw, Stop

if TYPE_CHECKING:
    from .draws_array import Stream


def generator_tests(region: Region, streams: Sequence[Stream], np: str) -> tuple[str, ...]:
    """Generators and numbers are of the types seen, and extents are natural numbers.

    Raises Stop.
    """
    tests: list[str] = []
    for stream in streams:
        if not stream.first.module:
            tests.append(_type_of_generator(region, stream.first, np))
        tests += _argument_tests(region, stream, np)
        tests += _extent_tests(region, stream, np)
    own = [s.first for s in streams if not s.first.module]
    for one, other in combinations(own, 2):
        if one.kind == other.kind:  # two names of one generator
            what = ".bit_generator" if one.kind == GENERATOR else ""
            tests.append(f"{one.generator}{what} is not {other.generator}{what}")
    return tuple(dict.fromkeys(tests))


def _type_of_generator(region: Region, draw: Draw, np: str) -> str:
    names = {LEGACY: f"{np}.random.RandomState", GENERATOR: f"{np}.random.Generator"}
    alias = tools.module_alias(region.source, "random")
    name = names.get(draw.kind) or (alias and f"{alias}.Random")
    if not name:
        raise Stop("the generator's type has no name here", draw.call.lineno)
    return f"type({draw.generator}) is {name}"


def _argument_tests(region: Region, stream: Stream, np: str) -> list[str]:
    """The variables among the arguments are numbers: of an array, one draw gives many numbers."""
    return [t for given in _arguments(stream) for t in _type_tests(region, given, stream, np)]


def _extent_tests(region: Region, stream: Stream, np: str) -> list[str]:
    """The extents are natural numbers.

    With variables among the arguments none of them is 0: a generator refuses ``scale=-1.0``
    whether or not it draws, and a loop without iterations does not call it.
    """
    least = "> 0" if any(_variables(given) for given in _arguments(stream)) else ">= 0"
    tests = []
    for trips in stream.trips:
        extent = ast.parse(trips, mode="eval").body
        tests += _type_tests(region, extent, stream, np)
        is_size = isinstance(extent, ast.Call | ast.Subscript)  # len(x), a.shape[0]: never below 0
        if not isinstance(extent, ast.Constant) and not (is_size and least == ">= 0"):
            tests.append(f"{trips} {least}")
    return tests


def _arguments(stream: Stream) -> list[ast.expr]:
    calls = [draw.call for draw in stream.draws if not draw.choices]
    return [arg for call in calls for arg in (*call.args, *(k.value for k in call.keywords))]


def _type_tests(region: Region, expr: ast.expr, stream: Stream, np: str) -> list[str]:
    """The variables of an expression are numbers of the types seen. Raises Stop.

    Not ``isinstance`` of Python's: True is an int to ``range``, and none to a shape.
    """
    values = region.observation.values if region.observation else {}
    tests = []
    for name in _variables(expr):
        seen, owner = values.get(name), values.get(name.partition(".")[0])
        if owner is not None and owner.kind == "module":
            continue  # np.pi
        if seen is not None and seen.kind in ("int", "float"):
            tests.append(f"type({name}) is {seen.kind}")
        elif seen is not None and seen.kind == "numpy_scalar" and seen.dtype:
            tests.append(f"isinstance({name}, {np}.{seen.dtype.rstrip('_')})")
        else:
            line = stream.first.call.lineno
            raise Stop(f"{name} was not seen to be a number of one type", line)
    return tests


def _variables(expr: ast.AST) -> list[str]:
    """The numbers that an expression reads, without what it only measures."""
    if isinstance(expr, ast.Name | ast.Attribute) and (path := dotted(expr)) is not None:
        return [path]
    if isinstance(expr, ast.Call | ast.Subscript):
        return []
    return [name for child in ast.iter_child_nodes(expr) for name in _variables(child)]
