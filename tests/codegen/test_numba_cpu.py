"""The numba back end on loops of many styles: same bits, same types, or a reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numba
import numpy as np
import pytest
from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.edits import apply_edits
from gpuadvise.model import Match, Refusal
from harness import assert_same, region_for, run
from numba_corpus import COMPILED, REFUSED, Loop  # type: ignore[import-not-found]


@pytest.fixture(autouse=True)
def _private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled code of tests goes to a folder of their own."""
    old = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(tmp_path_factory.getbasetemp() / "numba")
    yield
    numba.config.CACHE_DIR = old


def rewritten(text: str, function: str | None, args: tuple[Any, ...], parallel: bool = False) -> str:
    """The new text; fails with the refusal's words."""
    region = region_for(text, function, args)
    match = emit(region, parallel=parallel)
    assert isinstance(match, Match), match
    return apply_edits(region.source, match.edits).decode()


@pytest.mark.parametrize("loop", COMPILED, ids=lambda loop: loop.name)
def test_same_bits_and_types(loop: Loop) -> None:
    args = loop.args[0] if loop.args else ()
    after = rewritten(loop.text, loop.function, args)
    for one in loop.args or ((),):
        before, now = run(loop.text, loop.function, one), run(after, loop.function, one)
        if before.error and now.error:  # compiled code words its exceptions otherwise
            now = replace(now, error=(now.error[0], before.error[1]))
        assert_same(before, now, scalar_names=loop.function is not None)


@pytest.mark.parametrize("loop", REFUSED, ids=lambda loop: loop.name)
def test_refused_with_a_reason(loop: Loop) -> None:
    found = emit(region_for(loop.text, loop.function, loop.args[0]), parallel=False)
    assert isinstance(found, Refusal), found
    assert loop.reason is not None and loop.reason in found.reason
