"""Puts this folder on the import path, so that tests in sub-folders can ``import harness``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _numpy_errors_as_before() -> Iterator[None]:
    """Programs under test may call ``np.seterr``; the next test must not inherit it."""
    before = np.geterr()
    yield
    np.seterr(**before)
