"""What counts as a change of the process, and what is only a library that was loaded meanwhile."""

from __future__ import annotations

import decimal
import locale
import sys

import pytest

from gpuadvise.verify.surroundings import changed_since, snapshot

LOOKED_AT = ("locale", "decimal context")


def test_libraries_that_the_call_imports_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as loaded_later:
        loaded_later.delitem(sys.modules, "locale")
        loaded_later.delitem(sys.modules, "decimal")
        before = snapshot(LOOKED_AT)
    assert {"locale", "decimal"} <= set(sys.modules)
    assert changed_since(before) == {}


def test_what_the_call_sets_is_seen() -> None:
    before = snapshot(LOOKED_AT)
    with decimal.localcontext(prec=7):
        assert list(changed_since(before)) == ["decimal context"]
    known = locale.setlocale(locale.LC_ALL)
    other = "C" if known != "C" else "C.UTF-8"
    try:
        locale.setlocale(locale.LC_ALL, other)
        assert changed_since(before) == {"locale": locale.setlocale(locale.LC_ALL)}
    finally:
        locale.setlocale(locale.LC_ALL, known)
    assert changed_since(before) == {}
