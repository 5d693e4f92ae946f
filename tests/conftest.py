"""Puts this folder on the import path, so that tests in sub-folders can ``import harness``."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import fake_cupy
import numpy as np
import pytest


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
