"""The whole journey of a script, top to bottom.

    bare run -> scalene -> line profile + observed values -> regions -> rules -> trials -> report

One run, the first, is the user's own; every other happens in a scratch copy.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from .deadline import Deadline
from .diagnose.hotspots import hot_functions, merge, user_files
from .diagnose.regions import regions as find_regions
from .diagnose.sites import find_sites
from .model import (
    Candidate,
    Exited,
    FunctionTime,
    Killed,
    Match,
    Outcome,
    Profile,
    Refusal,
    Refused,
    Region,
    Report,
    RunResult,
    Source,
    Stopped,
    Target,
)
from .observe.bare import real_run
from .observe.lines import LinesResult, observe_lines
from .observe.machine import describe
from .observe.sandbox import Sandbox
from .observe.scalene import ScaleneResult, profile as run_scalene
from .options import Options
from .progress import Stages
from .registry import Rule, rules
from .verify.choose import Chosen, choose
from .verify.script import ScriptTrials
from .verify.server import StateServer

SHORT_RUN = 0.5
"""Seconds below which scalene's sampling says nothing (FACTS: 100 ms give five samples)."""
LINE_BUDGET = 1.0
"""CPU seconds of line_profiler a function; its line shares were then within 1.2 points."""


@dataclass(frozen=True)
class Observed:
    """What the profiled runs gave."""

    profile: Profile
    chains: tuple[tuple[Region, ...], ...]
