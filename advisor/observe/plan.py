"""What the instrumented run is told to do: built by the tool, read inside the script's process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SitePlan:
    """A site to observe, as text and numbers only."""

    key: str
    line: int
    qualname: str
    is_function: bool


@dataclass(frozen=True)
class FilePlan:
    """What to do with one file."""

    path: str
    """Where the run finds it (in the sandbox)."""
    original: str
    functions: tuple[str, ...] | None
    """Functions to time, ``"<module>"`` among them for top-level loops; None: all."""
    sites: tuple[SitePlan, ...]


@dataclass(frozen=True)
class RunPlan:
    """The whole instrumented run."""

    script: str
    module: str | None
    args: tuple[str, ...]
    files: tuple[FilePlan, ...]
    user_files: tuple[str, ...]
    """Files whose functions count as the user's, as the run finds them."""
    budget: float
    """CPU seconds of line timing a function."""
    limit: float | None
    """Wall seconds after which the run ends itself, with what it has."""
    out: str
    """The file that takes the records."""
    expected: float | None = None
    """CPU seconds the program takes by itself, where known."""
    started: float | None = None
    """Monotonic clock when the run was asked for: the limit counts from there; None: from its own
    first line."""
    argv0: str | None = None
    """``sys.argv[0]`` of a script, where that is not its path."""


def plan_to_json(plan: RunPlan) -> dict[str, Any]:
    """Plain values for ``json.dump``."""
    return {
        **vars(plan),
        "files": [
            {**vars(file), "sites": [vars(site) for site in file.sites]} for file in plan.files
        ],
    }


def plan_from_json(data: Mapping[str, Any]) -> RunPlan:
    """Inverse of ``plan_to_json``. Raises KeyError or TypeError on anything else."""
    files = tuple(
        FilePlan(
            path=file["path"],
            original=file["original"],
            functions=None if file["functions"] is None else tuple(file["functions"]),
            sites=tuple(SitePlan(**site) for site in file["sites"]),
        )
        for file in data["files"]
    )
    return RunPlan(
        **{
            **data,
            "args": tuple(data["args"]),
            "user_files": tuple(data["user_files"]),
            "files": files,
        }
    )
