"""Programs in which a floating-point warning is an exception."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuadvise.diagnose.warnings_as_errors import raising_statement
from gpuadvise.model import Source


def source(text: str) -> Source:
    return Source(Path("script.py"), text.encode())


@pytest.mark.parametrize(
    "text",
    [
        'np.seterr(all="raise")',
        'np.seterr("raise")',
        'numpy.seterr(over="ignore", divide="raise")',
        'with np.errstate(invalid="raise"):\n    f()',
        "np.seterr(all=mode)",
        "np.seterrcall(print)",
        'warnings.simplefilter("error")',
        'simplefilter(action="error", category=RuntimeWarning)',
        'warnings.filterwarnings("error", "overflow")',
        'warnings.filterwarnings("error", ".*", MY_CATEGORIES)',
    ],
)
def test_raises(text: str) -> None:
    found = raising_statement([source("import numpy as np\n"), source(f"a = 1\n{text}\n")])
    assert found is not None
    assert found.line == 2
    assert "exceptions" in found.reason


@pytest.mark.parametrize(
    "text",
    [
        'np.seterr(all="ignore")',
        'old = np.seterr(divide="warn", over=None)\nnp.seterr(**old)',
        'with np.errstate(invalid="ignore"):\n    f()',
        'warnings.simplefilter("ignore")',
        'warnings.filterwarnings("error", category=DeprecationWarning)',
        'warnings.simplefilter("error", np.exceptions.ComplexWarning)',
        "handlers[0]()",
    ],
)
def test_leaves_numbers_alone(text: str) -> None:
    assert raising_statement([source(text)]) is None
