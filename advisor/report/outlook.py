"""Rewrites for a GPU on a terminal: what was measured, what the model predicts, what to run."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from ..model import Report
from ..roofline.fullness import fullness
from ..roofline.occupancy import most_registers, occupancy
from ..roofline.outlook import Outlook, outlooks
from ..roofline.predict import CAPABILITY, Prediction
from . import words
from .findings import rule_title
from .layout import labelled, paragraph


def outlook_view(report: Report) -> Iterator[RenderableType]:
    """The section; nothing where no rewrite for a GPU was found."""
    found = outlooks(report)
    for outlook in found:
        region = outlook.trial.candidate.region
        title = rule_title(outlook.trial.candidate.rule)
        yield paragraph((title, "bold"), f", {words.where(region, report.target.cwd)}")
        yield from _one(outlook)
    if found:
        sweep = words.command(report.target, "crossover")
        where = "" if report.machine.gpus else ", where there is an NVIDIA GPU"
        yield labelled("sizes", f"from which one on it pays: {sweep}{where}")


def _one(outlook: Outlook) -> Iterator[RenderableType]:
    seconds = outlook.measured
    if seconds is None:
        why = words.verdict(outlook.trial.region_verdict)
        yield labelled("measured", f"not here: {why}")
    else:
        yield labelled("measured", f"{words.seconds(seconds)} an entry")
    prediction = outlook.prediction
    if prediction is None:
        yield labelled("predicted", f"nothing: {outlook.why}")
    else:
        yield labelled("predicted", _predicted(outlook, prediction))
        yield labelled("basis", *_basis(prediction))
        yield labelled("likely", _likely(outlook, prediction))
    known = [one.words for one in fullness(outlook.trial)]
    if known:
        yield labelled("occupancy", *known)
    elif outlook.block is not None and prediction is not None:
        yield labelled("occupancy", _occupancy(outlook.block))


def _predicted(outlook: Outlook, prediction: Prediction) -> str:
    text = f"{words.seconds(prediction.seconds)} an entry or more on an {prediction.roof.device}"
    rival, gain = outlook.rival, outlook.gain
    if rival is None or gain is None:
        return text
    against = f"{rival.name} takes {words.seconds(rival.seconds)} here"
    if gain <= 1.0:
        return f"{text}; {against}: no gain at this size"
    return f"{text}; {against}: at most {words.factor(gain)}x"


def _likely(outlook: Outlook, prediction: Prediction) -> str:
    """The estimate: with what each array, each entry and a thread alone take."""
    text = f"about {words.seconds(prediction.expected)} an entry"
    gain = outlook.likely_gain
    if gain is None:
        return text
    return f"{text}: {words.factor(gain)}x" if gain > 1.0 else f"{text}: no gain at this size"


def _occupancy(block: int) -> str:
    """What the block size allows: registers are known once a kernel is compiled for a device."""
    name = ".".join(map(str, CAPABILITY))
    known = occupancy(CAPABILITY, block, 0)
    assert known is not None
    return (
        f"not measured here; blocks of {block} threads fill {words.percent(known.share)} of an SM "
        f"(compute capability {name}) up to {most_registers(CAPABILITY, block)} registers a thread"
    )


def _basis(prediction: Prediction) -> Iterator[str]:
    """The parts of the time, the largest first."""
    parts = [
        (prediction.copies, "copies over the bus, both ways"),
        (prediction.launches, "launches"),
        (prediction.work, f"the work, at the roof of its {prediction.limit}"),
    ]
    for seconds, name in sorted(parts, key=lambda part: -part[0]):
        yield f"{name} {words.seconds(seconds)}"
