"""Puts this folder on the import path, so that tests in sub-folders can ``import harness``."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import fake_cupy
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

# A job in the background of a shell (``make test &``) ignores the interrupt, and so would all that
# it starts: what a test interrupts would go on.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _numpy_errors_as_before() -> Iterator[None]:
    """Programs under test may call ``np.seterr``; the next test must not inherit it."""
    before = np.geterr()
    yield
    np.seterr(**before)


@pytest.fixture
def cupy_over_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text for CuPy runs everywhere; tests/codegen/cupy_backend runs it on a GPU, too."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
