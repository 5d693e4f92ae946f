"""Linux Landlock: processes that can write only where they are let, whatever they run.

A Landlock domain holds for the thread that enters it and for all that it starts: shells, C
libraries, children that clear their environment. Python's audit hook (``launch.py``) names the
path and the line; this here is what no program gets around. Kernel interface:
https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""Syscall numbers, the same on every architecture that Python 3.11 is built for but alpha."""
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVS = 38

_WRITE_FILE = 1 << 1
_ENTRIES = sum(1 << bit for bit in range(4, 13))
"""Remove a folder or file; make a device, folder, file, socket, pipe, block device or link."""
_REFER = 1 << 13
"""Rename and link from folder to folder; refused everywhere unless asked for."""
_TRUNCATE = 1 << 14
_CONNECT_TCP = 1 << 1
_SCOPES = 0b11
"""Abstract sockets and signals reach only processes of the same domain."""

OLDEST = 2
"""ABI 1 (kernel 5.13) forbids every rename between folders: scripts would fail that do not."""
_TRUNCATE_FROM, _NETWORK_FROM, _SCOPES_FROM = 3, 4, 6

DEVICES = (
    *("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts"),
    *("nvidia*", "nvidia-caps", "kfd", "dri", "infiniband"),
)
"""Below ``/dev``: writing there changes nothing that lasts. No disks."""


def abi() -> int:
    """Version of the kernel's interface; 0 where there is none, or none that is of use."""
    if sys.platform != "linux":
        return 0
    version = _syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    return version if version >= OLDEST else 0


def confined(work: Callable[[], T], writable: Iterable[Path]) -> T:
    """Do ``work`` in a thread of its own that can write only below ``writable`` and to devices.

    Processes that it starts are held for good; the calling thread stays free. Where the kernel
    allows it, they can also not connect over TCP, nor send signals to processes outside. Without
    Landlock, ``work`` is simply done; so it is where no domain can be made (they nest 16 deep).

    Raises what ``work`` raises.
    """
    version = abi()
    if not version:
        return work()
    results: list[T] = []
    problems: list[BaseException] = []

    def confine() -> None:
        try:
            with contextlib.suppress(OSError):
                _enter(version, writable)
            results.append(work())
        except BaseException as problem:  # handed to the caller's thread
            problems.append(problem)

    thread = threading.Thread(target=confine, name="landlock", daemon=True)
    try:
        thread.start()
        thread.join()
    except BaseException:  # Ctrl-C: what has been begun is done before the caller cleans up
        if thread.ident is not None:
            thread.join()
        raise
    if problems:
        raise problems[0]
    return results[0]


def _enter(version: int, writable: Iterable[Path]) -> None:
    rights = _WRITE_FILE | _ENTRIES | _REFER
    if version >= _TRUNCATE_FROM:
        rights |= _TRUNCATE
    words = [rights]
    if version >= _NETWORK_FROM:
        words.append(_CONNECT_TCP)
    if version >= _SCOPES_FROM:
        words.append(_SCOPES)
    attributes = struct.pack(f"={len(words)}Q", *words)
    ruleset = _checked(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), _flags())
    try:
        for path in (*writable, *_devices()):
            _allow(ruleset, path, rights)
        # Without it only root may enter a domain; set-user-id programs lose their rights.
        if _libc().prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no_new_privs")
        _checked(_RESTRICT_SELF, ctypes.c_int(ruleset), _flags())
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # a cache folder that is not there
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _WRITE_FILE | _TRUNCATE
        rule = struct.pack("=Qi", rights, place)
        _checked(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, _flags())
    finally:
        os.close(place)


def _devices() -> list[Path]:
    found = [Path("/dev/shm")]
    for name in DEVICES:
        found += Path("/dev").glob(name)
    # Thread names and the like. For root there is also /proc/sys, which is the whole machine; but
    # CUDA names its threads through /proc and gives up where it may not (cudaErrorOperatingSystem).
    needs_proc = os.geteuid() != 0 or any(Path("/dev").glob("nvidia[0-9]*"))
    return [*found, Path("/proc")] if needs_proc else found


def _flags() -> ctypes.c_uint32:
    return ctypes.c_uint32(0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _syscall(number: int, *arguments: object) -> int:
    call = _libc().syscall
    call.restype = ctypes.c_long
    return int(call(ctypes.c_long(number), *arguments))


def _checked(number: int, *arguments: object) -> int:
    result = _syscall(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), "landlock")
    return result
