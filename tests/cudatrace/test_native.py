"""The functions that CUPTI calls back, called here from threads as CUPTI would."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpuadvise.cudatrace.buffers import SIZE, Buffers
from gpuadvise.cudatrace.cupti import text_at
from gpuadvise.cudatrace.native import FOREIGN

REQUESTED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
COMPLETED = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
)
NEXT = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)
)


class Library:
    """Records of 16 bytes whose first is not 0; a clock that says 77."""

    def __init__(self) -> None:
        self.cuptiGetTimestamp = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_uint64))(
            self._clock
        )
        self.cuptiActivityGetNextRecord = NEXT(self._next)

    def _clock(self, found: Any) -> int:
        found[0] = 77
        return 0

    def _next(self, buffer: int, valid: int, record: Any) -> int:
        here = buffer if record[0] is None else record[0] + 16
        if here >= buffer + valid or not ctypes.c_int32.from_address(here).value:
            return 1
        record[0] = here
        return 0

    def cuptiActivityRegisterCallbacks(self, requested: Any, completed: Any) -> int:  # noqa: N802
        self.requested, self.completed = REQUESTED(requested.value), COMPLETED(completed.value)
        return 0


class Client:
    """CUPTI's side of the buffers."""

    def __init__(self, **sizes: int) -> None:
        self.library = Library()
        self.buffers = Buffers(self.library, **sizes)
        self.buffers.register()

    def take(self) -> int | None:
        buffer, size, most = ctypes.c_void_p(5), ctypes.c_size_t(), ctypes.c_size_t(9)
        self.library.requested(*map(ctypes.addressof, (buffer, size, most)))
        assert size.value == (SIZE if buffer.value else 0)
        assert most.value == 0
        return buffer.value

    def give(self, buffer: int, valid: int) -> None:
        self.library.completed(None, 0, buffer, SIZE, valid)


def written(buffer: int, records: int) -> int:
    data = np.zeros(records * 4, dtype=np.int32)
    data[::4] = 1
    ctypes.memmove(buffer, data.tobytes(), data.nbytes)
    return data.nbytes


def test_threads_never_share_a_buffer() -> None:
    client = Client(count=200)
    taken: list[int | None] = []

    def work() -> None:
        for _ in range(100):
            buffer = client.take()
            taken.append(buffer)
            if buffer is not None:
                client.give(buffer, 16)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    addresses = [buffer for buffer in taken if buffer is not None]
    assert len(addresses) == len(set(addresses)) == 200
    assert client.buffers.taken == 200
    assert client.buffers.missing == 0
    assert client.buffers.full == ("all 200 buffers for CUDA records are in use", 77)


def test_no_buffer_is_handed_out_beyond_the_memory_that_records_may_take() -> None:
    client = Client(count=10, most=2 * SIZE)
    first, second = client.take(), client.take()
    assert first is not None and second is not None
    client.give(first, SIZE)
    assert client.take() is not None
    assert client.buffers.full is None
    client.give(second, SIZE)
    assert client.take() is None
    assert client.buffers.full == ("0.5 MiB of CUDA records were collected", 77)


def test_records_are_found_in_every_buffer_that_came_back() -> None:
    client = Client(count=3)
    for records in (3, 0, 5):
        buffer = client.take()
        assert buffer is not None
        client.give(buffer, written(buffer, records))
    found = [offsets.tolist() for _, offsets in client.buffers.records()]
    assert found == [[0, 16, 32], [0, 16, 32, 48, 64]]


def test_a_buffer_that_another_client_keeps_is_read_to_its_last_record() -> None:
    client = Client(count=3)
    buffer = client.take()
    assert buffer is not None
    written(buffer, 4)
    assert client.buffers.missing == 1
    assert [len(offsets) for _, offsets in client.buffers.records()] == [4]


def test_a_buffer_that_is_not_ours_is_only_counted() -> None:
    client = Client(count=2)
    before = client.buffers._lengths.copy()
    for address in (0, 4096, client.buffers._whole.ctypes.data + 2 * SIZE):
        client.give(address, 99)
    assert client.buffers._state[FOREIGN] == 3
    assert (client.buffers._lengths == before).all()


WAITING = """
import ctypes, sys
sys.path.insert(0, {folder!r})
from test_native import Client
from gpuadvise.cudatrace.native import FOREIGN
client = Client(count=2)
library = ctypes.PyDLL(None)  # keeps the interpreter's lock while it calls
thread = ctypes.c_ulong()
start = ctypes.c_void_p({function})
assert library.pthread_create(ctypes.byref(thread), None, start, None) == 0
assert library.pthread_join(thread, None) == 0
print(client.buffers._state[FOREIGN])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a thread is made through glibc")
def test_a_callback_does_not_wait_for_the_interpreters_lock() -> None:
    """The main thread has the lock, and waits for a thread that hands a buffer over."""
    program = WAITING.format(
        folder=str(__file__).rpartition("/")[0], function="client.buffers._functions.completed"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "1\n", done.stderr


@pytest.fixture
def page() -> Iterator[int]:
    """The address of a page of memory behind which there is none."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, *[ctypes.c_size_t] * 5]
    address = libc.mmap(None, 8192, 3, 0x22, 2**64 - 1, 0)
    libc.munmap(ctypes.c_void_p(address + 4096), 4096)
    yield address
    libc.munmap(ctypes.c_void_p(address), 4096)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read as Linux shows it")
def test_names_are_read_to_the_end_of_the_memory_and_no_further(page: int) -> None:
    ctypes.memmove(page + 4090, b"square", 6)  # no zero byte follows
    assert text_at(page + 4090) == "square"
    assert text_at(page + 4096) == "?"
    assert text_at(0) == "?"
    long = ctypes.create_string_buffer(b"n" * 1000)
    assert text_at(ctypes.addressof(long)) == "n" * 1000
