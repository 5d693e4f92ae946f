"""Trying mutants in several processes: one program's, or a part of them, in each task."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import active_children, get_context
from pathlib import Path

from mutant_run import NO_FAULT, Kept, Row, Selection, results

PARTS = 3
"""Tasks of one program: each runs the program's profile and holds its states anew."""
LAST = 60.0
"""Seconds that the last tasks may take after the limit."""


@dataclass(frozen=True)
class Done:
    """What one task found out."""

    rows: tuple[Row, ...]
    new: dict[str, dict[str, str]]


def parallel(
    programs: Sequence[Path], selection: Selection, *, jobs: int, limit: float, kept: Kept
) -> Iterator[Done]:
    """The tasks as they end; after ``limit`` seconds no more are begun, and ``LAST`` seconds later
    those that still run are ended.

    The first part of every program comes first: what is left out is spread over all of them.
    """
    end = time.monotonic() + limit
    # Not forked: a task's process takes signals and descriptors as a command of its own does.
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    tasks: dict[Future[Done], Path] = {
        pool.submit(_task, program, replace(selection, part=part, parts=PARTS), kept.known): program
        for part in range(PARTS)
        for program in programs
    }
    try:
        for task in as_completed(tasks, timeout=limit + LAST):
            if time.monotonic() > end:
                pool.shutdown(wait=False, cancel_futures=True)
            if not task.cancelled():
                yield _result(task, tasks[task])
    except TimeoutError:
        pass
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in active_children():
            process.terminate()


def _result(task: Future[Done], program: Path) -> Done:
    problem = task.exception()
    return task.result() if problem is None else Done((_lost(program, problem),), {})


def _lost(program: Path, problem: BaseException) -> Row:
    """A part of a program that could not be tried is named in the report."""
    words = f"{type(problem).__name__}: {problem}"
    return Row(program.stem, "none", NO_FAULT, 0, "", "not tried", words)


def _task(program: Path, selection: Selection, known: dict[str, dict[str, str]]) -> Done:
    kept = Kept(None, known)
    try:
        rows = tuple(results([program], selection, kept=kept))
    except RuntimeError as problem:
        rows = (_lost(program, problem),)
    return Done(rows, kept.new)
