"""What the user sees while the tool works: the stage, the elapsed time, what comes next."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from .model import StageCost

STAGES = ("bare run", "scalene", "line profile", "rewrites", "trials")
"""In order; shown as "what comes next". A "first line profile" stands in for scalene where
sampling says too little."""
START = "start"
"""Loading the tool and copying the program's folder; on a busy machine no small part."""
TOGETHER = "scalene beside line profile"
"""The second and the third at a time."""


@dataclass
class Stages:
    """Measures the stages of one journey, and shows them where someone is watching.

    The display goes to a terminal only, and never while the user's own run has that terminal.
    """

    console: Console | None = None
    clock: Callable[[], float] = time.monotonic
    costs: list[StageCost] = field(default_factory=list)
    _show: Callable[[str], None] = field(default=lambda _text: None, repr=False)

    @contextmanager
    def stage(self, name: str, *, quiet: bool = False) -> Iterator[None]:
        """Time a stage; ``quiet`` while the user's program owns the terminal."""
        start = self.clock()
        watched = self.console is not None and self.console.is_terminal and not quiet
        try:
            if watched:
                assert self.console is not None
                with self._display(self.console, name):
                    yield
            else:
                yield
        finally:
            self._show = _nothing
            self.costs.append(StageCost(name, self.clock() - start))

    def began(self, seconds: float) -> None:
        """What the tool's own start and the scratch copy took, before the first stage."""
        self.costs.insert(0, StageCost(START, seconds))

    def detail(self, text: str) -> None:
        """Say what the running stage is busy with."""
        self._show(text)

    @contextmanager
    def _display(self, console: Console, name: str) -> Iterator[None]:
        columns = (
            SpinnerColumn(),
            TextColumn("[bold]{task.description}[/]"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[detail]}"),
        )
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task(name, total=None, detail=following(name))
            self._show = lambda text: progress.update(task, detail=text)
            yield


def _nothing(_text: str) -> None:
    """No display."""


def following(name: str) -> str:
    """``"then scalene"``, or nothing after the last stage."""
    if name == "first line profile":
        return "then line profile"
    if name == TOGETHER:
        return "then rewrites"
    position = STAGES.index(name) + 1 if name in STAGES else len(STAGES)
    return f"then {STAGES[position]}" if position < len(STAGES) else ""
