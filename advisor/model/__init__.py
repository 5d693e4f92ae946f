"""The frozen values that pass from one stage of the journey to the next.

Times are seconds, sizes are bytes, shares are fractions of the bare run in
``[0, 1]`` unless a name says otherwise. Lines are 1-based, byte offsets are
0-based offsets into the file's UTF-8 text.
"""

from .profiles import (
    FunctionTime,
    LineTime,
    Profile,
    Site,
    SiteObservation,
    ValueInfo,
)
from .programs import (
    Exited,
    Killed,
    RunEnd,
    RunResult,
    Source,
    Stopped,
    Target,
)
from .reports import (
    Finding,
    Machine,
    Outcome,
    Refused,
    Report,
    StageCost,
    Trial,
)
from .rewrites import (
    Advice,
    Basis,
    Candidate,
    Condition,
    Edit,
    Exactness,
    Match,
    Mistake,
    Refusal,
    Region,
    Restated,
)
from .verdicts import (
    Crashed,
    ErrorSize,
    Inconclusive,
    Mismatch,
    NotFaster,
    Ratio,
    TimedOut,
    Unavailable,
    Usage,
    Verdict,
    Verified,
)

__all__ = [
    "Advice",
    "Basis",
    "Candidate",
    "Condition",
    "Crashed",
    "Edit",
    "ErrorSize",
    "Exactness",
    "Exited",
    "Finding",
    "FunctionTime",
    "Inconclusive",
    "Killed",
    "LineTime",
    "Machine",
    "Match",
    "Mismatch",
    "Mistake",
    "NotFaster",
    "Outcome",
    "Profile",
    "Ratio",
    "Refusal",
    "Refused",
    "Region",
    "Report",
    "Restated",
    "RunEnd",
    "RunResult",
    "Site",
    "SiteObservation",
    "Source",
    "StageCost",
    "Stopped",
    "Target",
    "TimedOut",
    "Trial",
    "Unavailable",
    "Usage",
    "ValueInfo",
    "Verdict",
    "Verified",
]
