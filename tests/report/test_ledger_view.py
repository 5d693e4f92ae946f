"""The list of what equality rests on."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gpuadvise.model import Basis, Condition
from gpuadvise.report.findings import ledger_view


@pytest.mark.parametrize(
    ("evidence", "shown"),
    [
        ("lines 32-32", "(line 32)"),
        ("lines 3-32", "(lines 3-32)"),
        ("lines 7-12; lines 4-4", "(lines 7-12; line 4)"),
        ("lines 3-31 are", "(lines 3-31 are)"),
    ],
)
def test_one_line_is_no_range(evidence: str, shown: str) -> None:
    console = Console(file=io.StringIO(), width=100)
    console.print(ledger_view([Condition("kept", Basis.PROVED, evidence)]))
    assert shown in console.file.getvalue()
