"""The line that says why there is nothing to gain."""

from __future__ import annotations

from gpuadvise.conclusion import conclusion
from gpuadvise.matching import Tried
from gpuadvise.model import Candidate, Finding, Inconclusive, NotFaster, Ratio, Trial, Verified
from gpuadvise.verify.choose import Chosen
