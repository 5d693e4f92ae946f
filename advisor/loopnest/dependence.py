"""Dependence analysis: which loops of a nest are parallel, reductions, or carried.

Subscripts are compared dimension by dimension: constants (ZIV), equal coefficients of the loop's
index (strong SIV, an exact distance), the GCD test, and symbolic bounds of loop indices. What
these cannot decide counts as a dependence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from .accesses import Access, Accumulator, accesses_in, scalar_roles
from .ir import For, Nest, Stmt, While, statements
from .relations import ANY, Relation, Subscripts


@dataclass(frozen=True)
class Parallel:
    """No iteration needs what another one made."""


@dataclass(frozen=True)
class Reduction:
    """Iterations meet only in accumulators."""

    variables: tuple[Accumulator, ...]


@dataclass(frozen=True)
class Carried:
    """An iteration needs what an earlier one made."""

    reason: str
    """``"iteration i reads u[i - 1], which an earlier iteration wrote (line 14)"``."""
    line: int | None = None
    distance: int | None = None
    """In index units, where it is one constant."""


LoopVerdict = Parallel | Reduction | Carried


@dataclass(frozen=True)
class Dependence:
    """Two statements of one loop body that touch the same place, at least one writing.

    The source must come first. ``carried`` is False within one iteration. ``distance`` counts
    index units from source to sink; None if it varies.
    """

    source: Stmt
    sink: Stmt
    variable: str
    kind: str
    """``flow`` (write, read), ``anti`` (read, write), ``output`` (write, write)."""
    carried: bool
    distance: int | None = None


@dataclass(frozen=True)
class LoopFacts:
    """What is known of one loop, its outer loops held fixed."""

    loop: For | While
    verdict: LoopVerdict
    private: frozenset[str]
    """Scalars assigned anew in every iteration before they are read: expand or privatise them."""
    last_value: frozenset[str]
    """Those of them that are read after the loop: the last iteration's value counts."""
    distances: tuple[int, ...] = ()
    """Constant distances of carried dependences, index units, sorted."""


@dataclass(frozen=True)
class Analysis:
    """The answer for all loops of a nest, outermost first."""

    nest: Nest
    loops: tuple[LoopFacts, ...]
    conditions: tuple[str, ...] = ()
    """What was only observed and the verdicts rest on: names that shared no memory."""
    distinct: tuple[tuple[str, str], ...] = ()
    """Pairs of arrays, one of them written, which must not share memory; not proved distinct."""
    _subscripts: Subscripts | None = field(default=None, repr=False, compare=False)

    def facts(self, loop: For | While) -> LoopFacts:
        """Facts of a loop of the nest (looked up by identity). Raises KeyError."""
        for found in self.loops:
            if found.loop is loop:
                return found
        raise KeyError(f"no such loop (line {loop.line})")

    def verdict(self, loop: For | While) -> LoopVerdict:
        """Parallel, Reduction or Carried. Raises KeyError."""
        return self.facts(loop).verdict

    def can_vectorise(self, loop: For | While) -> bool:
        """Whether all iterations may run at once, statement by statement.

        A parallel loop has no dependence between its iterations, so it may also be moved inside
        any loop it contains.
        """
        return isinstance(loop, For) and isinstance(self.verdict(loop), Parallel)

    def why_not(self, loop: For | While) -> str | None:
        """The sentence for a refusal, None for a parallel loop."""
        match self.verdict(loop):
            case Carried(reason=reason):
                return reason
            case Reduction(variables=variables):
                names = ", ".join(v.target for v in variables)
                return f"the iterations accumulate into {names} (line {variables[0].line})"
        return None

    def dependences(self, loop: For | While) -> tuple[Dependence, ...]:
        """Dependences between the direct statements of a loop's body."""
        assert self._subscripts is not None
        return tuple(_between(self.nest, loop, self._subscripts))

    def groups(self, loop: For | While) -> tuple[tuple[Stmt, ...], ...]:
        """The loop's statements in groups that may be distributed over loops of their own.

        Strongly connected statements stay together, groups come in a legal order, source order
        where there is a choice. Scalars that link two groups must be expanded.
        """
        return _components(loop.body, self.dependences(loop))


_CACHE: list[tuple[Nest, Analysis]] = []


def analyse(nest: Nest) -> Analysis:
    """Classify every loop of the nest; kept for the nests asked about last."""
    for known, analysis in _CACHE:
        if known is nest:
            return analysis
    made = _analysed(nest)
    _CACHE.append((nest, made))
    del _CACHE[:-16]
    return made


def _analysed(nest: Nest) -> Analysis:
    subscripts = Subscripts(nest)
    found = []
    for statement in statements((nest.root,)):
        if isinstance(statement, For | While):
            found.append(_loop_facts(nest, statement, subscripts))
    distinct = _distinct_pairs(nest)
    conditions = tuple(f"{a} and {b} share no memory ({nest.entries} entries)" for a, b in distinct)
    return Analysis(nest, tuple(found), conditions, distinct, subscripts)


def _distinct_pairs(nest: Nest) -> tuple[tuple[str, str], ...]:
    """Pairs that were seen apart, one of them written, and neither made just before the nest."""
    pairs = []
    names = sorted(nest.arrays)
    for position, one in enumerate(names):
        for two in names[position + 1 :]:
            first, second = nest.arrays[one], nest.arrays[two]
            if two in first.aliases or not (first.written or second.written):
                continue
            if first.allocation is not None or second.allocation is not None:
                continue
            if (first.container == "ndarray") != (second.container == "ndarray"):
                continue
            pairs.append((one, two))
    return tuple(pairs)


def _loop_facts(nest: Nest, loop: For | While, subscripts: Subscripts) -> LoopFacts:
    roles = scalar_roles(nest, loop)
    carried: Carried | None = None
    accumulators: list[Accumulator] = list(roles.accumulators)
    if isinstance(loop, While):
        carried = Carried("the number of trips of a while loop is not known before", loop.line)
    jump = roles.leaves
    if carried is None and jump is not None:
        carried = Carried(
            f"the loop may be left early (line {jump}), so later iterations depend on earlier ones",
            jump,
        )
    if carried is None and roles.recurrence is not None:
        name, line = roles.recurrence
        carried = Carried(
            f"{name} carries a value from one iteration of {_name(loop)} to the next (line {line})",
            line,
        )
    distances: list[int] = []
    array, sums = _arrays(nest, loop, subscripts, distances)
    accumulators += sums
    carried = carried or array
    verdict: LoopVerdict
    if carried is not None:
        verdict = carried
    elif accumulators:
        verdict = Reduction(tuple(accumulators))
    else:
        verdict = Parallel()
    return LoopFacts(loop, verdict, roles.private, roles.last_value, tuple(sorted(set(distances))))


def _name(loop: For | While) -> str:
    """The loop variable as the user wrote it."""
    return ast.unparse(loop.node.target) if isinstance(loop.node, ast.For) else "the loop"


def _arrays(
    nest: Nest, loop: For | While, subscripts: Subscripts, distances: list[int]
) -> tuple[Carried | None, list[Accumulator]]:
    """The first carried dependence through an array, and accumulations into elements."""
    accesses = accesses_in(nest, loop.body)
    by_array: dict[str, list[Access]] = {}
    for access in accesses:
        by_array.setdefault(access.array, []).append(access)
    sums: list[Accumulator] = []
    first: Carried | None = None
    for array, mine in sorted(by_array.items()):
        if not any(a.writes for a in mine):
            continue
        clash, meeting = _clash(loop, array, mine, subscripts, distances)
        if clash is not None:
            first = first or clash
            continue
        sums += _sums(loop, meeting, subscripts)
    for one, others in _shared(nest, by_array):
        for two in others:
            first = first or Carried(
                f"{one} and {two} shared memory, and one of them is written",
                next(a.line for a in by_array[one]),
            )
    return first, sums


def _sums(loop: For | While, meeting: list[Access], subscripts: Subscripts) -> list[Accumulator]:
    """One accumulator for every element expression that several iterations add to."""
    found: dict[tuple[object, ...], Accumulator] = {}
    for access in meeting:
        fixed = subscripts.invariant(access.index, loop)
        found.setdefault(
            access.index,
            Accumulator(
                access.array, access.accumulates or "", access.line, access.index, not fixed
            ),
        )
    return list(found.values())


def _clash(
    loop: For | While,
    array: str,
    accesses: list[Access],
    subscripts: Subscripts,
    distances: list[int],
) -> tuple[Carried | None, list[Access]]:
    """The best-known pair of accesses that meet in different iterations, sums left out.

    Second: the accesses of ``a[f] op= e`` that meet only each other, all with one operator.
    """
    found: Carried | None = None
    meeting: list[Access] = []
    for position, one in enumerate(accesses):
        for two in accesses[position:]:
            if not (one.writes or two.writes):
                continue
            relation = subscripts.relation(one, two, loop)
            if relation is None or relation == 0:
                continue
            if one.accumulates is not None and one.accumulates == two.accumulates:
                meeting += [one, two]
                continue
            if isinstance(relation, int):
                distances.append(abs(relation))
            clash = _sentence(loop, array, one, two, relation)
            if found is None or (found.distance is None and isinstance(relation, int)):
                found = clash
    return found, meeting


def _sentence(
    loop: For | While, array: str, one: Access, two: Access, relation: Relation
) -> Carried:
    write, other = (one, two) if one.writes else (two, one)
    if isinstance(relation, int) and isinstance(loop, For) and loop.step < 0:
        relation = -relation
    name = _name(loop)
    distance = abs(relation) if isinstance(relation, int) else None
    if one is two or other.writes:
        reason = (
            f"different iterations of {name} may write the same element {write.text} "
            f"(line {write.line})"
        )
        return Carried(reason, write.line, distance)
    ahead = relation if write is one else -relation if isinstance(relation, int) else None
    if isinstance(ahead, int) and ahead < 0:
        reason = (
            f"iteration {name} reads {other.text} (line {other.line}), which a later iteration "
            f"overwrites (line {write.line})"
        )
    elif relation is ANY:
        reason = (
            f"iteration {name} reads {other.text} (line {other.line}), which another iteration "
            f"may write (line {write.line})"
        )
    else:
        reason = (
            f"iteration {name} reads {other.text} (line {other.line}), which an earlier iteration "
            f"wrote (line {write.line})"
        )
    return Carried(reason, other.line, distance)


def _shared(nest: Nest, by_array: dict[str, list[Access]]) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Arrays of this loop that shared memory with another one of it, one of them written."""
    for name, mine in sorted(by_array.items()):
        others = tuple(
            o
            for o in nest.arrays[name].aliases
            if o in by_array and (any(a.writes for a in mine) or any(a.writes for a in by_array[o]))
        )
        if others:
            yield name, others


# ------------------------------------------------------------ statement graph
def _between(nest: Nest, loop: For | While, subscripts: Subscripts) -> Iterable[Dependence]:
    body = loop.body
    touched = [accesses_in(nest, (s,)) for s in body]
    for i, one in enumerate(body):
        for j in range(i, len(body)):
            two = body[j]
            for a in touched[i]:
                for b in touched[j]:
                    if not (a.writes or b.writes):
                        continue
                    if a.array == b.array:
                        yield from _array_edges(loop, one, two, a, b, subscripts)
                    elif b.array in nest.arrays[a.array].aliases:
                        yield from _both_ways(one, two, a, b)
    yield from _scalar_edges(nest, loop)


def _array_edges(
    loop: For | While, one: Stmt, two: Stmt, a: Access, b: Access, subscripts: Subscripts
) -> Iterable[Dependence]:
    relation = subscripts.relation(a, b, loop)
    if relation is None:
        return
    forward = Dependence(one, two, a.array, _kind(a, b), False, 0)
    if relation == 0 or relation is ANY:
        if one is not two:
            yield forward
        if relation == 0:
            return
    step = loop.step if isinstance(loop, For) else 1
    if relation is ANY:
        yield Dependence(one, two, a.array, _kind(a, b), True)
        yield Dependence(two, one, a.array, _kind(b, a), True)
    elif isinstance(relation, int) and relation * step > 0:
        yield Dependence(one, two, a.array, _kind(a, b), True, abs(relation))
    elif isinstance(relation, int):
        yield Dependence(two, one, a.array, _kind(b, a), True, abs(relation))


def _both_ways(one: Stmt, two: Stmt, a: Access, b: Access) -> Iterable[Dependence]:
    yield Dependence(one, two, a.array, _kind(a, b), True)
    yield Dependence(two, one, b.array, _kind(b, a), True)


def _kind(source: Access, sink: Access) -> str:
    if source.writes:
        return "output" if sink.writes else "flow"
    return "anti"


def _scalar_edges(nest: Nest, loop: For | While) -> Iterable[Dependence]:
    """Scalars link the statement that assigns them with those that read them."""
    from .accesses import scalar_reads, scalar_writes

    private = scalar_roles(nest, loop).private
    body = loop.body
    writes = [scalar_writes(s) for s in body]
    reads = [scalar_reads(s) for s in body]
    for i, one in enumerate(body):
        for j, two in enumerate(body):
            for name in sorted(writes[i] & reads[j]):
                if i < j:
                    yield Dependence(one, two, name, "flow", False, 0)
                elif name not in private:
                    yield Dependence(one, two, name, "flow", True)
                if name not in private and i < j:
                    yield Dependence(two, one, name, "anti", True)
            if i < j:
                for name in sorted(reads[i] & writes[j]):
                    # expansion keeps one copy for each iteration, but within it order counts
                    yield Dependence(one, two, name, "anti", False, 0)
                for name in sorted(writes[i] & writes[j]):
                    yield Dependence(one, two, name, "output", False, 0)
                    # two assignments of one name in one trip: a reader between them binds both
                    yield Dependence(two, one, name, "output", True)


def _components(
    body: tuple[Stmt, ...], edges: tuple[Dependence, ...]
) -> tuple[tuple[Stmt, ...], ...]:
    """Strongly connected components, sources first, ties in source order."""
    count = len(body)
    place = {id(s): k for k, s in enumerate(body)}
    reach = [[i == j for j in range(count)] for i in range(count)]
    direct = {(place[id(e.source)], place[id(e.sink)]) for e in edges}
    for i, j in direct:
        reach[i][j] = True
    for k in range(count):
        for i in range(count):
            if reach[i][k]:
                for j in range(count):
                    reach[i][j] = reach[i][j] or reach[k][j]
    groups: list[list[int]] = []
    for i in range(count):
        home = next((g for g in groups if reach[i][g[0]] and reach[g[0]][i]), None)
        if home is None:
            groups.append([i])
        else:
            home.append(i)
    ordered: list[list[int]] = []
    while groups:
        free = next(g for g in groups if not any(h is not g and reach[h[0]][g[0]] for h in groups))
        groups.remove(free)
        ordered.append(free)
    return tuple(tuple(body[k] for k in group) for group in ordered)


__all__ = [
    "Accumulator",
    "Analysis",
    "Carried",
    "Dependence",
    "LoopFacts",
    "LoopVerdict",
    "Parallel",
    "Reduction",
    "analyse",
]
