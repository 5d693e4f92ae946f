"""Names of sockets that fit: a socket's path has room for about a hundred bytes only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST = 100
"""Bytes; the field holds 108 on Linux and 104 on macOS, with the final zero."""


@contextmanager
def fitting(address: str) -> Iterator[str]:
    """A name for ``address`` that ``bind`` and ``connect`` take, while the context lasts."""
    if len(os.fsencode(address)) <= LONGEST:
        yield address
        return
    folder, name = os.path.split(address)
    handle = os.open(folder, os.O_RDONLY)
    try:
        if Path("/proc/self/fd").is_dir():
            yield f"/proc/self/fd/{handle}/{name}"
            return
        # No such names on macOS; a relative one does. The working directory is put back.
        before = os.open(".", os.O_RDONLY)
        try:
            os.fchdir(handle)
            yield name
        finally:
            os.fchdir(before)
            os.close(before)
    finally:
        os.close(handle)
