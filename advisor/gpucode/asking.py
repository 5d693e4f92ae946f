"""What rules say of a loop where nothing can be tried: mistakes to be named, and no rewrite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..matching import looks_at
from ..model import Advice, Region
from ..registry import Rule


def named_mistakes(rule: Rule, region: Region) -> Iterator[Advice]:
    """The mistakes that one rule sees in the loop; nothing where it answers anything else."""
    if not looks_at(rule, region):
        return
    try:
        answer = rule.function(region)
    except Exception:  # the full journey reports a rule's bug; here the others' findings stand
        return
    for mistake in answer if isinstance(answer, tuple) else ():
        yield Advice(region, rule.code, replace(mistake, match=None))
