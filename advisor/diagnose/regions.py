"""Hot loops as regions: with their share of the run, what was seen of them, and their IR."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..loopnest.ir import Nest
from ..loopnest.lower import lower
from ..model import (
    Calls,
    FunctionTime,
    Profile,
    Refusal,
    Region,
    Site,
    SiteObservation,
    Source,
)
from ..rowcalls import is_row_call, statement_of
from .beside import neighbours
from .hotspots import MIN_SHARE
from .program import Call, Loop, Program, Scope
from .signatures import with_one_signature

NOT_REACHED = "the loop was not reached while it was observed"


def regions(
    sources: Mapping[Path, Source],
    sites: tuple[Site, ...],
    profile: Profile,
    observations: Mapping[str, SiteObservation],
    *,
    min_share: float = MIN_SHARE,
) -> tuple[tuple[Region, ...], ...]:
    """Chains of nested loops, each outermost first, the chain with the largest share first.

    A loop with several loops inside starts one chain with the hottest of them; each other inner
    loop starts a chain of its own. Loops below ``min_share`` of the bare run are left out.
    """
    program = Program(sources)
    shares = Shares(program, profile)
    known = {(site.file, site.line, site.qualname): site for site in sites if not site.is_function}
    chains: list[tuple[Region, ...]] = []
    for scope in program.scopes:
        if scope.compiled:
            continue
        calls = _calls(scope, shares, observations)
        for path in _paths(scope, shares, min_share):
            chain: list[Region] = []
            for loop, share in path:
                site = known.get((scope.file, loop.lineno, scope.qualname))
                if site is not None:
                    seen = observations.get(site.key)
                    region = _region(program, scope, loop, site, share, len(chain), seen)
                    chain.append(replace(region, calls=calls))
            if chain:
                chains.append(tuple(chain))
    known_regions = [region for chain in chains for region in chain]

    def cold(near: Region, loop: Loop) -> Region | None:
        site = known.get((near.site.file, loop.lineno, near.site.qualname))
        scope = program.named(near.site.file, near.site.qualname, near.loop.lineno)
        if site is None or scope is None:
            return None
        share = shares.of_loop(scope, loop)
        return _region(program, scope, loop, site, share, near.depth, observations.get(site.key))

    beside = neighbours(known_regions, cold)
    chains = [
        tuple(
            replace(
                region,
                inside=_inside(program, region, known_regions),
                beside=beside.get(region.loop, ()),
            )
            for region in chain
        )
        for chain in chains
    ]
    return tuple(sorted(chains, key=lambda chain: -chain[0].share))


def _calls(
    scope: Scope, shares: Shares, observations: Mapping[str, SiteObservation]
) -> Calls | None:
    """How often a function was called in the observed run, and what part of the run that took."""
    site = Site(scope.file, scope.line, scope.qualname, is_function=True)
    seen = observations.get(site.key)
    if seen is None or seen.entries == 0:
        return None
    return Calls(seen.entries, shares.of_function(scope))


def _inside(program: Program, region: Region, known: list[Region]) -> tuple[Region, ...]:
    """Regions of the loops in a loop, and in the functions that it calls."""
    scope = program.named(region.site.file, region.site.qualname, region.loop.lineno)
    called = frozenset() if scope is None else program.called_in(scope, *region.lines)
    functions = {callee.node for callee in called}
    return tuple(
        other
        for other in known
        if other.source is region.source
        and (_contains(region.loop, other.loop) or other.function in functions)
        and other.loop is not region.loop
    )


def _paths(scope: Scope, shares: Shares, min_share: float) -> list[list[tuple[Loop, float]]]:
    """The scope's hot loops as paths from an outer loop to its hottest inner ones."""
    hot = {loop: shares.of_loop(scope, loop) for loop in scope.loops}
    hot = {loop: share for loop, share in hot.items() if share >= min_share}
    children: dict[Loop, list[Loop]] = {}
    roots: list[Loop] = []
    for loop in hot:  # outer before inner
        around = [o for o in hot if o is not loop and _contains(o, loop)]
        if around:
            children.setdefault(around[-1], []).append(loop)
        else:
            roots.append(loop)
    paths: list[list[tuple[Loop, float]]] = []
    while roots:
        path = [roots.pop(0)]
        while inner := sorted(children.get(path[-1], []), key=lambda child: -hot[child]):
            path.append(inner[0])
            roots.extend(inner[1:])
        paths.append([(loop, hot[loop]) for loop in path])
    return paths


def _contains(outer: Loop, inner: Loop) -> bool:
    text = statement_of(inner) or inner
    return (
        outer.lineno <= inner.lineno
        and (inner.end_lineno or 0) <= (outer.end_lineno or 0)
        and any(node is text for node in ast.walk(outer))
    )


def _region(
    program: Program,
    scope: Scope,
    loop: Loop,
    site: Site,
    share: float,
    depth: int,
    observation: SiteObservation | None,
) -> Region:
    source = program.sources[scope.file]
    function = scope.node if isinstance(scope.node, ast.FunctionDef) else None
    helpers: Mapping[str, ast.FunctionDef] = {}
    nest: Nest | Refusal = Refusal(NOT_REACHED, loop.lineno)
    if isinstance(scope.node, ast.AsyncFunctionDef):
        nest = _in_coroutine(scope, loop)
    elif (hidden := statement_of(loop)) is not None:
        nest = not_expressed(hidden)
        helpers = {} if observation is None else _helpers(program, observation)
    elif observation is not None and observation.observed > 0:

        def lowered(seen: SiteObservation) -> Nest | Refusal:
            functions = _helpers(program, seen)
            return lower(
                loop, source=source, function=function, observation=seen, functions=functions
            )

        observation, nest = with_one_signature(observation, lowered, loop)
        helpers = _helpers(program, observation)
    return Region(
        site=site,
        source=source,
        loop=loop,
        function=function,
        class_name=scope.class_name,
        share=share,
        depth=depth,
        observation=observation,
        nest=nest,
        functions=helpers,
    )


def not_expressed(statement: ast.stmt) -> Refusal:
    """What no back end expresses as it is: rules that look at it write a loop first."""
    if is_row_call(statement):
        return Refusal("pandas calls a function for every row", statement.lineno)
    return Refusal("a comprehension", statement.lineno, "write it as a loop")


def _in_coroutine(scope: Scope, loop: Loop) -> Refusal:
    """Other tasks run at every ``await``, and may see or change what the loop works on."""
    return Refusal(
        f"the loop is in the coroutine {scope.qualname} (async def, line {scope.line}), "
        "which other tasks may interrupt",
        loop.lineno,
        "move the loop into a plain function without await and call that",
    )


def _helpers(program: Program, observation: SiteObservation) -> Mapping[str, ast.FunctionDef]:
    """The plain user functions that names stood for, whenever the loop was looked at.

    A decorated function is none: ``@lru_cache`` or a counter around it would be lost.
    """
    found: dict[str, ast.FunctionDef] = {}
    for name, info in observation.values.items():
        if info.kind != "function" or info.target_file is None or info.target_line is None:
            continue
        scope = program.at(info.target_file, info.target_line)
        if scope is None or scope.deferred or scope.compiled:
            continue
        if isinstance(scope.node, ast.FunctionDef) and not _is_decorated(scope.node):
            found[name] = scope.node
    return found


def _is_decorated(node: ast.FunctionDef) -> bool:
    plain = {"staticmethod"}
    return any(not (isinstance(d, ast.Name) and d.id in plain) for d in node.decorator_list)


class Shares:
    """Shares of the bare run, calls of user functions included."""

    def __init__(self, program: Program, profile: Profile) -> None:
        self.program = program
        self.lines = {(time.file, time.line): time for time in profile.lines}
        self.functions = {(f.file, f.qualname): f for f in profile.functions}

    def of_loop(self, scope: Scope, loop: Loop) -> float:
        """Share of a loop statement: its own lines, and what the functions called in it take.

        A function called from elsewhere too counts in part, by the time at its call sites.
        """
        return self._of_lines(scope, loop.lineno, loop.end_lineno or loop.lineno)

    def of_function(self, scope: Scope) -> float:
        """Share of all calls of a function, with what is called in it."""
        return self._of_lines(scope, min(scope.lines, default=1), max(scope.lines, default=0))

    def _of_lines(self, scope: Scope, first: int, last: int) -> float:
        own = sum(
            self.lines[scope.file, line].share
            for line in scope.lines
            if first <= line <= last and (scope.file, line) in self.lines
        )
        reached = self.program.reachable(self.program.called_in(scope, first, last))
        parts = self._parts(scope, first, last, reached - {scope})
        called = sum(self._self_share(callee) * part for callee, part in parts.items())
        return min(1.0, own + called)

    def _self_share(self, scope: Scope) -> float:
        function: FunctionTime | None = self.functions.get((scope.file, scope.qualname))
        return function.share if function is not None else 0.0

    def _parts(
        self, scope: Scope, first: int, last: int, reached: frozenset[Scope]
    ) -> dict[Scope, float]:
        """For each function reached from the lines: which part of its calls comes from there."""
        incoming: dict[Scope, list[Call]] = {callee: [] for callee in reached}
        for call in self.program.calls:
            for callee in call.callees:
                if callee in incoming and call.caller is not callee:
                    incoming[callee].append(call)
        parts = dict.fromkeys(reached, 1.0)
        for _ in range(10):  # call graphs are shallow; recursion converges from above
            for callee, calls in incoming.items():
                weights = [self._weight(call) for call in calls]
                if not any(weights):
                    weights = [1.0] * len(calls)
                inside = sum(
                    weight * self._inside(call, scope, first, last, parts)
                    for call, weight in zip(calls, weights, strict=True)
                )
                if calls:
                    parts[callee] = inside / sum(weights)
        return parts

    def _weight(self, call: Call) -> float:
        time = self.lines.get((call.caller.file, call.line))
        return (time.seconds or 0.0) if time is not None else 0.0

    @staticmethod
    def _inside(
        call: Call, scope: Scope, first: int, last: int, parts: Mapping[Scope, float]
    ) -> float:
        if call.caller is scope:
            return 1.0 if first <= call.line <= last else 0.0
        return parts.get(call.caller, 0.0)
