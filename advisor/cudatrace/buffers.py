"""CUPTI's activity buffers, taken as raw bytes through its C interface.

The Python bindings build an object for every record, which takes about 30 microseconds each: a
training loop that launches twenty thousand kernels a second then runs at half its speed. Here
buffers are pieces of one region of memory that CUPTI fills while the program runs; they are read
when it has ended. No Python runs in CUPTI's callbacks (`native` says why).
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .native import COUNTERS, DECLINED, DECLINED_AT, TAKEN, USED, Functions, Pool, compiled

SIZE = 1 << 18
"""Bytes of one buffer: some 6500 API records. Every thread that calls CUDA has one of its own, and
it is not used again: small ones let thousands of threads come and go."""
COUNT = 4096
"""Buffers of the region. Memory is taken for those that CUPTI writes to, not for the others."""
MOST = 192 << 20
"""Bytes of records after which no further buffer is handed out: some 750 000 kernel launches."""
NOT_BACK = -1
_RESERVE_NOTHING = getattr(mmap, "MAP_NORESERVE", 0x4000)
"""Linux: the region counts as used where it is written, also where overcommitting is limited."""

_WALK = ctypes.CFUNCTYPE(
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_int64,
)
_Bytes = npt.NDArray[np.uint8]
_Offsets = npt.NDArray[np.int64]


class Buffers:
    """Hands buffers to CUPTI, and after the run says where each record begins."""

    def __init__(self, library: Any = None, *, count: int = COUNT, most: int = MOST) -> None:
        """``library``: CUPTI's functions; None: those of the library that is loaded.

        Raises OSError if CUPTI's library is not loaded in this process or there is no memory.
        """
        self.library = load() if library is None else library
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _RESERVE_NOTHING
        self._region = mmap.mmap(-1, SIZE * count, flags=flags)
        self._whole: _Bytes = np.frombuffer(self._region, dtype=np.uint8)
        self._state = np.zeros(COUNTERS, dtype=np.int64)
        self._lengths = np.full(count, NOT_BACK, dtype=np.int64)
        for kept in (self._region, self._state, self._lengths):
            # CUPTI writes there until the process ends, after Python has cleared its modules.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
        self._most = most
        self._functions = self._compile(count, most)

    def _compile(self, count: int, most: int) -> Functions:
        return compiled(
            Pool(
                base=self._whole.ctypes.data,
                size=SIZE,
                count=count,
                most=most,
                state=self._state.ctypes.data,
                lengths=self._lengths.ctypes.data,
                clock=_address(self.library.cuptiGetTimestamp),
            )
        )

    def register(self) -> None:
        """Make CUPTI use these buffers. Raises OSError with CUPTI's status."""
        requested, completed = self._functions.requested, self._functions.completed
        status = self.library.cuptiActivityRegisterCallbacks(
            ctypes.c_void_p(requested), ctypes.c_void_p(completed)
        )
        if status:
            raise OSError(f"CUPTI status {status}")

    # ------------------------------------------------------------------- state
    @property
    def taken(self) -> int:
        """Buffers that CUPTI has asked for and got: 0 as long as the program used no CUDA."""
        return min(int(self._state[TAKEN]), len(self._lengths))

    @property
    def missing(self) -> int:
        """Buffers that CUPTI took and did not give back; after a flush: another client has them."""
        return int((self._lengths[: self.taken] == NOT_BACK).sum())

    @property
    def full(self) -> tuple[str, int] | None:
        """Why a request had to be declined, and CUPTI's clock then; None as long as none was."""
        if not self._state[DECLINED]:
            return None
        since, used = int(self._state[DECLINED_AT]), int(self._state[USED])
        if used < self._most:
            return f"all {len(self._lengths)} buffers for CUDA records are in use", since
        return f"{used / 2**20:.1f} MiB of CUDA records were collected", since

    def lost(self) -> int:
        """Records that CUPTI has dropped since the last time it was asked."""
        lost = ctypes.c_size_t(0)
        self.library.cuptiActivityGetNumDroppedRecords(None, 0, ctypes.byref(lost))
        return lost.value

    # ----------------------------------------------------------------- reading
    def records(self) -> Iterator[tuple[_Bytes, _Offsets]]:
        """Each buffer's bytes, and where its records begin; to be called after a flush.

        A buffer that did not come back holds what was written before another client took CUPTI
        over. It was all zeros at first, so the records end where CUPTI finds none.
        """
        for index in range(self.taken):
            length = int(self._lengths[index])
            data = self._whole[index * SIZE :][: SIZE if length == NOT_BACK else length]
            if len(data):
                yield data, self._offsets(data)

    def _offsets(self, data: _Bytes) -> _Offsets:
        found = np.zeros(len(data) // 8, dtype=np.int64)  # no record is smaller than 8 bytes
        walk = _WALK(self._functions.offsets)
        count = walk(
            _address(self.library.cuptiActivityGetNextRecord),
            data.ctypes.data,
            len(data),
            found.ctypes.data,
            len(found),
        )
        return found[:count]


def _address(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def load() -> Any:
    """The functions of the CUPTI library that this process has loaded. Raises OSError."""
    # A CDLL gives the interpreter's lock back while it calls: other threads go on.
    return ctypes.CDLL(loaded_library())


def loaded_library() -> str:
    """The file of the CUPTI library that this process has loaded. Raises OSError."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        path = line.split(maxsplit=5)[-1]
        if Path(path).name.startswith("libcupti.so"):
            return path
    raise OSError("CUPTI's library is not loaded")
