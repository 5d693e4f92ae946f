"""CUPTI's activity buffers, taken as raw bytes through its C interface.

The Python bindings build an object for every record, which takes about 30 microseconds each: a
training loop that launches twenty thousand kernels a second then runs at half its speed. Here a
full buffer is copied in one piece, and only the records' offsets are asked for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

SIZE = 4 << 20
"""Bytes of one buffer: some 50 000 API records."""
ALIGNMENT = 8
"""Required of a buffer's address (CUPTI documentation, ``CUpti_BuffersCallbackRequestFunc``)."""

_Bytes = ctypes.POINTER(ctypes.c_uint8)
_REQUESTED = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_size_t),
)
_COMPLETED = ctypes.CFUNCTYPE(
    None,
    ctypes.c_void_p,
    ctypes.c_uint32,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_size_t,
)


class Buffers:
    """Hands buffers to CUPTI and passes full ones on: bytes, and where each record begins."""

    def __init__(self, completed: Callable[[bytes, list[int]], None]) -> None:
        """Raises OSError if CUPTI's library is not loaded in this process."""
        # PyDLL keeps the interpreter lock: CUPTI holds a lock of its own while it calls back, and
        # a thread that took the interpreter's meanwhile would wait for CUPTI's for ever.
        self.library = ctypes.PyDLL(loaded_library())
        self.dropped = 0
        self._deliver = completed
        self._given: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self._free: list[ctypes.Array[ctypes.c_char]] = []
        # ctypes does not keep them alive itself, and CUPTI calls them until the process ends.
        self._callbacks = (_REQUESTED(self._requested), _COMPLETED(self._completed))

    def register(self) -> None:
        """Make CUPTI use these buffers. Raises OSError with CUPTI's status."""
        self._check(self.library.cuptiActivityRegisterCallbacks(*self._callbacks))

    @property
    def missing(self) -> int:
        """Buffers that CUPTI took and did not give back; after a flush: another client has them."""
        return len(self._given)

    @staticmethod
    def _check(status: int) -> None:
        if status:
            raise OSError(f"CUPTI status {status}")

    def _requested(self, buffer: object, size: object, records: object) -> None:
        memory = self._free.pop() if self._free else ctypes.create_string_buffer(SIZE + ALIGNMENT)
        address = -(-ctypes.addressof(memory) // ALIGNMENT) * ALIGNMENT
        self._given[address] = memory
        buffer[0] = address  # type: ignore[index]
        size[0] = SIZE  # type: ignore[index]
        records[0] = 0  # type: ignore[index]

    def _completed(
        self, context: int | None, stream: int, buffer: int | None, size: int, valid: int
    ) -> None:
        memory = self._given.pop(buffer or 0, None)
        if memory is None or buffer is None:
            return
        if valid:
            self._deliver(ctypes.string_at(buffer, valid), self._offsets(buffer, valid))
        lost = ctypes.c_size_t(0)
        self.library.cuptiActivityGetNumDroppedRecords(
            ctypes.c_void_p(context), ctypes.c_uint32(stream), ctypes.byref(lost)
        )
        self.dropped += lost.value
        self._free.append(memory)

    def _offsets(self, buffer: int, valid: int) -> list[int]:
        """Where each record begins; CUPTI steps, since sizes differ by kind and version."""
        step = self.library.cuptiActivityGetNextRecord
        start, size = ctypes.c_void_p(buffer), ctypes.c_size_t(valid)
        record = ctypes.c_void_p(None)
        pointer = ctypes.byref(record)
        offsets = []
        while step(start, size, pointer) == 0:
            offsets.append((record.value or buffer) - buffer)
        return offsets


def loaded_library() -> str:
    """The file of the CUPTI library that this process has loaded. Raises OSError."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        path = line.split(maxsplit=5)[-1]
        if Path(path).name.startswith("libcupti.so"):
            return path
    raise OSError("CUPTI's library is not loaded")
