"""The bench that starts holders, and what bounds the runs of whole scripts."""

from __future__ import annotations

from typing import Any

import pytest
from holding import bench

from gpuadvise.observe.sandbox import Sandbox

__all__ = ["bench"]


@pytest.fixture
def limits_of_runs(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """Grows by the seconds that each run in a sandbox is given."""
    limits: list[float | None] = []
    run = Sandbox.run

    def noted(box: Sandbox, *args: Any, limit: float | None = None, **options: Any) -> Any:
        limits.append(limit)
        return run(box, *args, limit=limit, **options)

    monkeypatch.setattr(Sandbox, "run", noted)
    return limits
