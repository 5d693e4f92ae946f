"""What forked processes share all the same: open files and shared memory, made private.

``fork`` copies memory, but parent and child go on sharing the position in every open file, the
file behind it, and memory that was mapped as shared. A held state would then move on with the
program it was taken from (``for line in stream``), and one attempt would find what another one
wrote (``np.memmap(..., mode="r+")``).
"""

# pathlib would be one more module that the program has not imported itself
# ruff: noqa: PTH116, PTH208

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import sys
from collections.abc import Collection, Iterator

FILE_LIMIT = 16 << 20
"""Bytes of a file open for writing that are copied; of a larger one, only the position is."""
MEMORY_LIMIT = 1 << 30
"""Bytes of shared memory that are copied in all."""
_MODES = os.O_ACCMODE | os.O_APPEND


def make_private(keep: Collection[int] = ()) -> None:
    """Give this process its own copy of what ``fork`` shares (Linux; elsewhere nothing).

    ``keep``: descriptors that stay as they are, besides the standard streams and what is the same
    file as one of them.
    """
    if sys.platform != "linux":
        return
    streams = {_identity(number) for number in range(3)}
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        if descriptor not in keep and _identity(descriptor) not in streams:
            with contextlib.suppress(OSError):
                _own_file(descriptor)
    with contextlib.suppress(OSError, ValueError):
        _own_memory()


def anything_shared(keep: Collection[int] = ()) -> bool:
    """Whether ``make_private`` has anything to do in a fork of this process as it is now."""
    if sys.platform != "linux":
        return False
    streams = {_identity(number) for number in range(3)}
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        if descriptor in keep or _identity(descriptor) in streams:
            continue
        with contextlib.suppress(OSError):
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return True
    return any(True for _ in shared_mappings())


def _identity(descriptor: int) -> tuple[int, int] | None:
    """The file behind a descriptor; None if it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _own_file(descriptor: int) -> None:
    import fcntl

    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL) & _MODES
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    written = flags & os.O_ACCMODE != os.O_RDONLY
    if written and status.st_size <= FILE_LIMIT:
        copy = _copied(descriptor, status.st_size)
        fcntl.fcntl(copy, fcntl.F_SETFL, flags & os.O_APPEND)
    else:
        copy = os.open(f"/proc/self/fd/{descriptor}", flags | os.O_CLOEXEC)
    try:
        os.lseek(copy, position, os.SEEK_SET)
        os.dup2(copy, descriptor, inheritable=os.get_inheritable(descriptor))
    finally:
        os.close(copy)


def _copied(descriptor: int, size: int) -> int:
    """An anonymous file with the same content."""
    copy = os.memfd_create("private", os.MFD_CLOEXEC)
    # Through a descriptor of its own: this one may be open for writing only.
    source = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        at = 0
        while at < size:
            done = os.sendfile(copy, source, at, size - at)
            if not done:
                break
            at += done
    finally:
        os.close(source)
    return copy


# -------------------------------------------------------------------- memory
def shared_mappings() -> Iterator[tuple[int, int, int]]:
    """(start, size, protection) of the writable shared memory of this process."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:  # noqa: PTH123
        lines = maps.readlines()
    for line in lines:
        place, permissions, offset, _, _, *path = line.split(maxsplit=5)
        if permissions[1:4:2] != "ws":
            continue
        name = path[0].rstrip("\n").removesuffix(" (deleted)") if path else ""
        # Devices, and what is none of the program's data (GPU queues, io_uring).
        if name.startswith(("/dev/", "anon_inode:")) and not name.startswith(_SHARED):
            continue
        start, end = (int(part, 16) for part in place.split("-"))
        if _within(name, int(offset, 16) + end - start):
            yield start, end - start, 3 | (4 if permissions[2] == "x" else 0)


_SHARED = ("/dev/shm/", "/dev/zero")


def _within(name: str, end: int) -> bool:
    """False where the file is shorter than the mapping: reading there ends the process."""
    try:
        return name.startswith(_SHARED) or end - os.stat(name).st_size < os.sysconf("SC_PAGESIZE")
    except OSError:
        return not name.startswith("/") or name.startswith(("/memfd:", "/SYSV"))


def _own_memory() -> None:
    """Put an anonymous copy in the place of every shared mapping."""
    found = list(shared_mappings())
    if not found or sum(size for _, size, _ in found) > MEMORY_LIMIT:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    word, address = ctypes.c_size_t, ctypes.c_void_p
    libc.mmap.restype = libc.mremap.restype = address
    libc.mmap.argtypes = [address, word, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mremap.argtypes = [address, word, word, ctypes.c_int, address]
    for start, size, protection in found:
        copy = libc.mmap(None, size, protection, 0x22, -1, 0)  # MAP_PRIVATE | MAP_ANONYMOUS
        if copy in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "mmap")
        ctypes.memmove(copy, start, size)
        moved = libc.mremap(copy, size, size, 3, start)  # MREMAP_MAYMOVE | MREMAP_FIXED
        if moved != start:
            raise OSError(ctypes.get_errno(), "mremap")
