"""The quick look at the kernels: what the rules answer, and whether it is right, in one process.

No profile, no trials: each kernel runs once on small data with its loops observed, every rule is
asked about every nest, and original and rewrite are called on small data and compared bit for bit.
The speed-ups are those of single calls: good for finding gaps, not for quoting.
"""

from __future__ import annotations

import ast
import importlib.util
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from gpuadvise.cases import chains_for
from gpuadvise.matching import match_rules
from gpuadvise.model import Candidate, Exactness, Region
from gpuadvise.options import Options
from gpuadvise.patch import combine
from gpuadvise.targets.kernels import Kernel

OBSERVED = 32
"""Size at which the loops are observed: NP201 leaves shorter arrays alone."""
BIG = {1: 4000, 2: 120, 3: 48, 4: 20}
"""Size at which original and rewrite run, by the depth of the deepest nest: below half a second."""
RUN = ("NP201", "NP202", "NP203", "NB401", "NB403", "NB405")
"""Rules whose rewrites are executed; the others are only asked."""
TOGETHER = {
    "NB403 or NB401": ("NB403", "NB401"),
    "NP202 or NP201": ("NP202", "NP201"),
    "NP202 or NB403 or NB401": ("NP202", "NB403", "NB401"),
}
"""Several rules, the first one's rewrites where they do not exclude each other."""
ROUNDING = 1e-9
"""Relative difference from the loops above which sums in another order count as wrong: they are
within 1e-12 on these kernels."""


@dataclass(frozen=True)
class Answer:
    """What one rule made of one kernel."""

    rule: str
    whole: int
    """Outermost loops that it rewrote as a whole."""
    inner: int
    """Loops inside others that it rewrote."""
    speedup: float | None
    """One call of the function; None if it was not run."""
    wrong: str
    """What differed; empty if nothing."""
    safe: bool


@dataclass(frozen=True)
class Quick:
    """All answers for one kernel."""

    kernel: Kernel
    nests: int
    """Outermost loops of the kernel's function."""
    answers: tuple[Answer, ...]
    refusals: tuple[tuple[str, int, str], ...]
    """(rule or "engine", line, reason)."""


def load(path: Path, name: str) -> ModuleType:
    """Import a file under a name of its own."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba's cache asks for a function's module by name
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Written:
    """What the rules wrote for one kernel, each as a file beside the original."""

    original: ModuleType
    chains: tuple[tuple[Region, ...], ...]
    candidates: Mapping[str, list[Candidate]]
    """By rule, none inside another."""
    files: Mapping[str, Path]
    refusals: tuple[tuple[str, int, str], ...]
    """(rule or "engine", line, reason)."""


def write(
    kernel: Kernel, folder: Path, *, safe_only: bool = False, size: int = OBSERVED
) -> Written:
    """Observe a kernel's loops on data of a size, ask all rules, and write what they answer.

    ``safe_only``: without what is offered under ``--unsafe``.
    """
    source = folder / f"{kernel.kind}_{kernel.function}.py"
    source.write_text(kernel.source, encoding="utf-8")
    module = load(source, source.stem)
    chains = chains_for(kernel.source, kernel.function, module.data(size), path=source)
    tried = match_rules(chains, Options())
    by_rule: dict[str, list[Candidate]] = {}
    for candidate in tried.candidates:
        if safe_only and not candidate.match.safe:
            continue
        by_rule.setdefault(candidate.rule, []).append(candidate)
    candidates = {rule: outermost(found) for rule, found in sorted(by_rule.items())}
    for name, rules in TOGETHER.items():
        if all(rule in candidates for rule in rules):
            together = preferred([candidates[rule] for rule in rules])
            if together not in candidates.values():
                candidates[name] = together
    files = {}
    for rule, found in candidates.items():
        files[rule] = source.with_stem(f"{source.stem}_{rule.replace(' ', '_')}")
        files[rule].write_bytes(combine(found[0].region.source, [c.match.edits for c in found]))
    refusals = tuple(
        (r.rule or "engine", r.refusal.line or 0, r.refusal.reason) for r in tried.refused
    )
    return Written(module, chains, candidates, files, refusals)


def look(kernel: Kernel, folder: Path, *, execute: Sequence[str] = RUN) -> Quick:
    """Ask all rules about a kernel, and run what those in ``execute`` wrote."""
    written = write(kernel, folder)
    function = written.chains[0][0].function
    roots = [node for node in function.body if isinstance(node, ast.For)] if function else []
    answers = []
    for rule, candidates in written.candidates.items():
        speedup, wrong = None, ""
        if rule in TOGETHER:
            continue
        if rule in execute:
            size = _size(written.chains)
            exact = all(c.match.exactness is Exactness.BITS for c in candidates)
            speedup, wrong = _race(
                written.original, written.files[rule], kernel.function, size, exact=exact
            )
        safe = all(c.match.safe for c in candidates)
        whole = sum(candidate.region.loop in roots for candidate in candidates)
        answers.append(Answer(rule, whole, len(candidates) - whole, speedup, wrong, safe))
    return Quick(kernel, len(roots), tuple(answers), written.refusals)


def outermost(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that are not inside a loop which another one rewrites as a whole."""
    loops = [candidate.region.loop for candidate in candidates]
    return [c for c in candidates if not any(_inside(c.region.loop, loop) for loop in loops)]


def preferred(groups: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """The first group's candidates, and those of later groups for the loops that are left.

    A loop that some group rewrites as a whole is not left to parts of it.
    """
    every = [candidate.region.loop for group in groups for candidate in group]
    chosen: list[Candidate] = []
    for whole in (True, False):
        for group in groups:
            taken = [candidate.region.loop for candidate in chosen]
            for candidate in group:
                loop = candidate.region.loop
                part = any(_inside(loop, other) for other in every)
                if part != whole and not any(_overlap(loop, other) for other in taken):
                    chosen.append(candidate)
    return chosen


def _overlap(one: ast.stmt, two: ast.stmt) -> bool:
    return one is two or _inside(one, two) or _inside(two, one)


def _inside(inner: ast.stmt, outer: ast.stmt) -> bool:
    return inner is not outer and any(node is inner for node in ast.walk(outer))


def _size(chains: Sequence[Sequence[Region]]) -> int:
    return BIG[min(4, max(len(chain) for chain in chains))]


def _race(
    original: ModuleType, patched: Path, function: str, size: int, *, exact: bool
) -> tuple[float, str]:
    """Speed-up of one call after a warm-up call on other data, and what differed."""
    tolerance = 0.0 if exact else ROUNDING
    try:
        module = load(patched, patched.stem)
        for n in (OBSERVED, size):
            a, b = original.data(n), original.data(n)
            begin = time.perf_counter()
            expected = getattr(original, function)(*a)
            middle = time.perf_counter()
            found = getattr(module, function)(*b)
            end = time.perf_counter()
            wrong = differs((expected, a), (found, b), tolerance=tolerance)
            if wrong:
                return math.nan, f"at n = {n}: {wrong}"
    except Exception as error:  # a rewrite is under test: whatever it raises is a finding
        return math.nan, f"{type(error).__name__}: {error}"
    return (middle - begin) / (end - middle), ""


def differs(a: Any, b: Any, where: str = "result", *, tolerance: float = 0.0) -> str:
    """The first place where two results differ, types included; empty if nowhere.

    ``tolerance`` is for floats, relative to the largest value of an array or a list of numbers.
    """
    if type(a) is not type(b):
        return f"{where}: {type(a).__name__} became {type(b).__name__}"
    if isinstance(a, tuple | list):
        if len(a) != len(b):
            return f"{where}: length {len(a)} became {len(b)}"
        if isinstance(a, list) and a == b and _one_type(a) and _one_type(b):
            return ""
        if isinstance(a, list) and tolerance and _one_type(a) and isinstance(a[0], float):
            return differs(np.array(a), np.array(b), where, tolerance=tolerance)
        pairs = enumerate(zip(a, b, strict=True))
        return next(
            (
                w
                for i, (x, y) in pairs
                if (w := differs(x, y, f"{where}[{i}]", tolerance=tolerance))
            ),
            "",
        )
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{where}: {a.dtype}{a.shape} became {b.dtype}{b.shape}"
        if not np.array_equal(a, b) and not np.max(np.abs(a - b)) <= tolerance * np.max(np.abs(a)):
            return f"{where}: at most {np.max(np.abs(a - b)):.3g} apart"
        return ""
    if isinstance(a, float) and abs(a - b) <= tolerance * abs(a):
        return ""
    return "" if a == b else f"{where}: {a!r} became {b!r}"


def _one_type(values: list[Any]) -> bool:
    """A flat list whose elements are all of the type of its first one."""
    return bool(values) and len({type(v) for v in values}) == 1 and not isinstance(values[0], list)


def quick(kernels: Sequence[Kernel], execute: Sequence[str] = RUN) -> Iterator[Quick]:
    """All answers, kernel by kernel; the files made meanwhile are removed."""
    with tempfile.TemporaryDirectory(prefix="gpuadvise-kernels-") as name:
        for kernel in kernels:
            yield look(kernel, Path(name), execute=execute)
