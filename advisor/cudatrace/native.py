"""The functions that CUPTI calls back, as machine code that never waits for the interpreter's lock.

CUPTI delivers buffers in a thread of its own, or in one of the program's that just ends, and holds
a lock of its own meanwhile. A Python function called there waits for the interpreter's lock; the
thread that has it may be inside CUDA, waiting for CUPTI's: neither ever goes on. So the functions
are generated with llvmlite (numba's code generator); they touch a block of counters and an array
of lengths with atomic instructions, and nothing else.
"""

from __future__ import annotations

import contextlib
import ctypes
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

TAKEN, USED, DECLINED, DECLINED_AT, FOREIGN = range(5)
"""Counters of the state block: buffers asked for, bytes in those that came back, requests that
were declined, CUPTI's clock at the first of them, and buffers that came back and are not ours."""
COUNTERS = 5

_I64, _I32 = ir.IntType(64), ir.IntType(32)
_POINTER = ir.IntType(8).as_pointer()
_NUMBER = _I64.as_pointer()


@dataclass(frozen=True)
class Pool:
    """Where the buffers lie: ``count`` of ``size`` bytes each from address ``base`` on.

    No buffer is handed out once ``most`` bytes have come back. ``state``: address of `COUNTERS`
    64-bit counters; ``lengths``: address of ``count`` 64-bit numbers, the bytes in use of each
    buffer that came back. ``clock``: address of ``cuptiGetTimestamp``.
    """

    base: int
    size: int
    count: int
    most: int
    state: int
    lengths: int
    clock: int


@dataclass(frozen=True)
class Functions:
    """Addresses of the compiled functions, which stay valid until the process ends."""

    requested: int
    """``CUpti_BuffersCallbackRequestFunc``."""
    completed: int
    """``CUpti_BuffersCallbackCompleteFunc``."""
    offsets: int
    """``int64 (next_record, buffer, valid, found, most)``: where each record begins."""


def compiled(pool: Pool) -> Functions:
    """Compile the three functions for a pool. Raises RuntimeError where LLVM cannot."""
    module = ir.Module(name="gpuadvise_cupti")
    module.triple = llvm.get_process_triple()
    _requested(module, pool)
    _completed(module, pool)
    _offsets(module)
    with contextlib.suppress(RuntimeError):  # LLVM initialises itself since llvmlite 0.45
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
    engine.finalize_object()
    # CUPTI may call until the process ends, after Python has cleared its modules.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))
    return Functions(*(engine.get_function_address(f.name) for f in module.functions))


def _function(module: ir.Module, name: str, result: ir.Type, *arguments: ir.Type) -> Any:
    function = ir.Function(module, ir.FunctionType(result, arguments), name)
    return function, ir.IRBuilder(function.append_basic_block())


def _at(build: ir.IRBuilder, address: int, index: Any = 0) -> Any:
    """Pointer to a 64-bit number: ``address`` is fixed, ``index`` may be computed."""
    start = build.inttoptr(ir.Constant(_I64, address), _NUMBER)
    offset = index if isinstance(index, ir.Value) else ir.Constant(_I64, index)
    return build.gep(start, [offset])


def _add(build: ir.IRBuilder, pointer: Any, value: Any) -> Any:
    """The number before the addition, which no other thread can come between."""
    return build.atomic_rmw("add", pointer, value, "seq_cst")


def _requested(module: ir.Module, pool: Pool) -> None:
    """``void (uint8_t **buffer, size_t *size, size_t *max_records)``: the next buffer, or none."""
    handed = _POINTER.as_pointer()
    function, build = _function(module, "requested", ir.VoidType(), handed, _NUMBER, _NUMBER)
    buffer, size, most_records = function.args
    zero, one = ir.Constant(_I64, 0), ir.Constant(_I64, 1)
    build.store(zero, most_records)  # as many as fit
    used = build.load_atomic(_at(build, pool.state, USED), "seq_cst", 8)
    has_room = build.icmp_unsigned("<", used, ir.Constant(_I64, pool.most))
    with build.if_then(has_room):
        index = _add(build, _at(build, pool.state, TAKEN), one)
        with build.if_then(build.icmp_unsigned("<", index, ir.Constant(_I64, pool.count))):
            offset = build.mul(index, ir.Constant(_I64, pool.size))
            address = build.add(ir.Constant(_I64, pool.base), offset)
            build.store(build.inttoptr(address, _POINTER), buffer)
            build.store(ir.Constant(_I64, pool.size), size)
            build.ret_void()
    build.store(ir.Constant(_POINTER, None), buffer)  # CUPTI then drops records, and counts them
    build.store(zero, size)
    before = _add(build, _at(build, pool.state, DECLINED), one)
    with build.if_then(build.icmp_unsigned("==", before, zero)):
        clock_type = ir.FunctionType(_I32, [_NUMBER]).as_pointer()
        clock = build.inttoptr(ir.Constant(_I64, pool.clock), clock_type)
        build.call(clock, [_at(build, pool.state, DECLINED_AT)])
    build.ret_void()


def _completed(module: ir.Module, pool: Pool) -> None:
    """``void (CUcontext, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)``."""
    function, build = _function(
        module, "completed", ir.VoidType(), _POINTER, _I32, _POINTER, _I64, _I64
    )
    buffer, valid = function.args[2], function.args[4]
    distance = build.sub(build.ptrtoint(buffer, _I64), ir.Constant(_I64, pool.base))
    index = build.udiv(distance, ir.Constant(_I64, pool.size))
    ours = build.icmp_unsigned("<", index, ir.Constant(_I64, pool.count))
    with build.if_else(ours) as (then, otherwise):
        with then:
            build.store_atomic(valid, _at(build, pool.lengths, index), "seq_cst", 8)
            _add(build, _at(build, pool.state, USED), valid)
        with otherwise:  # another client's, whose callbacks ours have replaced
            _add(build, _at(build, pool.state, FOREIGN), ir.Constant(_I64, 1))
    build.ret_void()


def _offsets(module: ir.Module) -> None:
    """Ask CUPTI for one record after the other: their sizes differ by kind and version."""
    step_type = ir.FunctionType(_I32, [_POINTER, _I64, _POINTER.as_pointer()])
    function, build = _function(
        module, "offsets", _I64, step_type.as_pointer(), _POINTER, _I64, _NUMBER, _I64
    )
    step, buffer, valid, found, most = function.args
    start = build.block
    record = build.alloca(_POINTER)
    build.store(ir.Constant(_POINTER, None), record)
    loop, keep, done = (function.append_basic_block(name) for name in ("loop", "keep", "done"))
    build.branch(loop)
    build.position_at_end(loop)
    count = build.phi(_I64)
    count.add_incoming(ir.Constant(_I64, 0), start)
    status = build.call(step, [buffer, valid, record])
    more = build.icmp_signed("==", status, ir.Constant(_I32, 0))
    build.cbranch(build.and_(more, build.icmp_unsigned("<", count, most)), keep, done)
    build.position_at_end(keep)
    here = build.ptrtoint(build.load(record), _I64)
    offset = build.sub(here, build.ptrtoint(buffer, _I64))
    build.store(offset, build.gep(found, [count]))
    count.add_incoming(build.add(count, ir.Constant(_I64, 1)), keep)
    build.branch(loop)
    build.position_at_end(done)
    build.ret(count)
