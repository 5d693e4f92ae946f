"""Where to look while the program runs: hot loops, and the functions that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..model import FunctionTime, Site, Source
from .program import Program, Scope

MAX_SITES = 400
"""Sites of one run; each costs a tenth of a microsecond at every entry."""


def find_sites(
    sources: Mapping[Path, Source], functions: tuple[FunctionTime, ...]
) -> tuple[Site, ...]:
    """Loops worth observing, each function's own site before its loops.

    Taken are the loops of hot functions, of top-level code, and loops that call a hot function,
    directly or through others. Without any hot function (no sampling profile) every function
    counts as hot. Functions that a compiler such as numba gets are left alone.
    """
    program = Program(sources)
    hot = {
        scope
        for function in functions
        if (scope := program.named(function.file, function.qualname, function.first_line))
    }
    sites: list[Site] = []
    for scope in program.scopes:
        if scope.compiled or len(sites) >= MAX_SITES:
            continue
        everything = not functions or scope in hot or scope.is_module
        loops = [
            Site(scope.file, loop.lineno, scope.qualname)
            for loop in scope.loops
            if everything or _calls_hot(program, scope, loop.lineno, loop.end_lineno or 0, hot)
        ]
        if loops and not scope.is_module and not scope.deferred:
            sites.append(Site(scope.file, scope.line, scope.qualname, is_function=True))
        sites += dict.fromkeys(loops)
    return tuple(sites)


def _calls_hot(program: Program, scope: Scope, first: int, last: int, hot: set[Scope]) -> bool:
    called = program.called_in(scope, first, last)
    return not hot.isdisjoint(program.reachable(called))
