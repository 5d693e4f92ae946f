"""Kernels of numba on a machine without a GPU: equal or not, in numba's simulator.

It runs a kernel's threads one by one in Python, a hundred thousand times as slowly as a device, so
only small inputs made from the program's own are looked at, and nothing is timed. That the kernels
had a part in it is seen by the same inputs once more with kernels that do nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ..model import Candidate, Finding, Trial, Unavailable
from ..patch import PatchError, combine
from .devices import missing
from .telling import nearest
from .verdicts import verdict_of

if TYPE_CHECKING:
    from .one_trial import StateResult
    from .trying import Trying

LIMIT = 4.0
"""Seconds for one candidate, twice."""
SHARE = 0.3
"""Part of the time left that it may take."""
LEAST = 1.5
IMPORT = "import gpuadvise.verify.simulator"


def on_simulator(trying: Trying, findings: list[Finding]) -> list[Finding]:
    """Findings whose kernels could not run here, with what the simulator says of them."""
    return [
        replace(finding, others=tuple(_looked_at(trying, trial) for trial in finding.others))
        for finding in findings
    ]


def _looked_at(trying: Trying, trial: Trial) -> Trial:
    candidate, verdict = trial.candidate, trial.region_verdict
    why = missing(candidate)
    if "cuda" not in candidate.match.needs or why is None:
        return trial
    if not isinstance(verdict, Unavailable) or not candidate.match.safe:
        return trial
    source = candidate.region.source
    try:
        text = text_for_simulator(combine(source, [candidate.match.edits]))
    except PatchError:
        return trial
    if text is None or b"numba" in source.data:
        return trial  # a script that runs numba itself would find its simulator
    result = _on_small_inputs(trying, candidate, text, verdict)
    if result is None or (result.perturbed.mismatch is None and not result.perturbed.count):
        return trial
    if result.perturbed.mismatch is not None:
        return replace(trial, region_verdict=verdict_of([result]))
    idle = _on_small_inputs(trying, candidate, without_kernels(text), verdict)
    if idle is None or idle.perturbed.mismatch is None:
        return trial
    count = result.perturbed.count
    equal = f"{why}; in numba's simulator equal on {count} small inputs made from the program's"
    return replace(trial, region_verdict=Unavailable(equal))


def _on_small_inputs(
    trying: Trying, candidate: Candidate, text: bytes, verdict: Unavailable
) -> StateResult | None:
    """None where there is no time, or no state of the program."""
    states = nearest(trying.server.states_of(candidate.region), candidate.region)
    limit = min(LIMIT, SHARE * trying.deadline.remaining())
    if not states or limit < LEAST:
        return None
    trying.progress(f"{candidate.rule}, line {candidate.region.site.line}: numba's simulator")
    goal = trying.goal([candidate])
    return states[0].perturb_alone(
        {candidate.region.source.path: text},
        verdict,
        usual=trying.replay(candidate.region),
        exactness=goal.exactness,
        reduction_length=goal.reduction_length,
        limit=limit,
    )


def text_for_simulator(text: bytes) -> bytes | None:
    """The text with its kernels simulated; None if it imports no numba."""
    for node in ast.parse(text).body:
        match node:
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] == "numba":
                return _with_line(text, node.lineno, IMPORT)
            case ast.Import(names=names) if any(n.name.startswith("numba") for n in names):
                return _with_line(text, node.lineno, IMPORT)
    return None


def without_kernels(text: bytes) -> bytes:
    """The same with kernels that return at once."""
    for line, indent in sorted(_kernel_starts(ast.parse(text)), reverse=True):
        text = _with_line(text, line, " " * indent + "return")
    return text


def _kernel_starts(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Line and column of each kernel's first statement behind its docstring."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or len(node.decorator_list) != 1:
            continue
        decorator = ast.unparse(node.decorator_list[0])
        if "cuda.jit" in decorator and "device=True" not in decorator:
            first = node.body[1 if ast.get_docstring(node) is not None else 0]
            yield first.lineno, first.col_offset


def _with_line(text: bytes, number: int, line: str) -> bytes:
    """One line more, in front of another."""
    lines = text.splitlines(keepends=True)
    ending = "\r\n" if lines[number - 1].endswith(b"\r\n") else "\n"
    return b"".join([*lines[: number - 1], f"{line}{ending}".encode(), *lines[number - 1 :]])
