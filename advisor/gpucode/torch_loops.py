"""What rules on PyTorch loops ask first: does the program time, use streams, or hide things?"""

from __future__ import annotations

import ast
import sys

from ..codegen import ast_tools as tools
from ..model import Region, Source
from .basics import meaning
from .torch_text import own_function, uses

Loop = ast.For | ast.While
_TIMING = (
    *("perf_counter", "perf_counter_ns", "process_time", "monotonic", "time_ns", "timeit"),
    *("Event", "elapsed_time", "profiler", "profile", "record_function", "nvtx", "Timer"),
    *("time", "datetime", "enable_timing", "emit_nvtx", "cudart"),
)
_ORDERING = (
    *("non_blocking", "Stream", "stream", "current_stream", "CUDAGraph", "graph", "wait_stream"),
    *("record_stream", "ExternalStream", "cudagraph_trees", "share_memory_", "data_ptr"),
    *("mapped_array", "managed_array", "pinned", "pinned_array", "mapped", "as_cuda_array"),
    *("from_dlpack", "to_dlpack", "DistributedDataParallel", "distributed", "async_op"),
)
_KNOWN = frozenset(
    {"torch", "torchvision", "numpy", "tqdm", "matplotlib", "pandas", "sklearn", "numba"}
)
_STATEFUL = frozenset({"threading", "multiprocessing", "concurrent", "ctypes", "asyncio", "signal"})


def times(source: Source, node: ast.AST) -> bool:
    """Whether code below ``node`` may measure time: then waiting for the GPU serves that."""
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.keyword(arg=str(name)):
                if name in _TIMING:
                    return True
            case ast.alias(name=name):
                if {name, *name.split(".")} & set(_TIMING):
                    return True
    return False


def orders_by_hand(source: Source) -> ast.AST | None:
    """What in the file makes a synchronisation more than a wait: streams, copies that run on.

    ``y = x.to("cpu", non_blocking=True); torch.cuda.synchronize(); y.numpy()`` needs it.
    """
    return next(uses(source, *_ORDERING), None)


def only_known_imports(source: Source) -> bool:
    """Whether the file imports nothing but the standard library and libraries without streams.

    CuPy or an extension may work on a stream of its own, or read memory by its address;
    another thread may wait for the same device.
    """
    for node in source.nodes:
        if isinstance(node, ast.Import):
            roots = {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.level or node.module is None:
                return False
            roots = {node.module.partition(".")[0]}
        else:
            continue
        if roots & _STATEFUL or not roots <= _KNOWN | sys.stdlib_module_names:
            return False
    return True


def innermost(source: Source, node: ast.AST) -> Loop | None:
    """The loop that runs a node directly."""
    for above in tools.ancestors(source, node):
        if isinstance(above, ast.For | ast.While):
            return above
        if isinstance(above, tools.SCOPES):
            return None
    return None


def torch_name(source: Source) -> str | None:
    """The name under which the file imports ``torch``, never rebound."""
    return tools.module_alias(source, "torch")


def watched(region: Region, names: tuple[str, ...]) -> bool:
    """Whether somebody can see a variable while the loop runs, or its half-done work after.

    ``def show(): print(total)`` called from the loop; ``try: loop / except: print(total)``.
    """
    source, scope = region.source, region.function or region.source.tree
    if tools.handlers_around(source, scope, region.loop) is not None:
        return True
    if tools.reads_frames(scope) is not None:
        return True
    return any(tools.deferred_uses(source, scope, name) is not None for name in names)


def gradients(source: Source, node: ast.AST) -> ast.AST | None:
    """Code below ``node`` that records, uses or changes gradients; None if there is none."""
    names = {
        *("backward", "grad", "zero_grad", "step", "requires_grad", "requires_grad_", "grad_fn"),
        *("autograd", "retain_grad", "register_hook", "is_grad_enabled", "set_grad_enabled"),
        *("enable_grad", "checkpoint", "vjp", "jvp", "jacobian", "hessian", "functional_call"),
        *("no_grad", "inference_mode", "retain_graph", "create_graph", "func", "vmap"),
    }
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.keyword(arg=str(name)):
                if name in names:
                    return inner
    return None


def calls_of(source: Source, node: ast.AST, *names: str) -> list[ast.Call]:
    """Calls of functions named in full, in source order."""
    found = [
        n
        for n in tools.own_nodes(node)
        if isinstance(n, ast.Call) and meaning(source, n.func) in names
    ]
    return sorted(found, key=lambda n: (n.lineno, n.col_offset))


def now_and_then(source: Source, node: ast.AST, loop: Loop) -> bool:
    """Whether code in a loop runs in some of its steps only: ``if step % 100 == 0: print(loss)``.

    Or once in a loop that has loops inside, an epoch: what it waits for was worth a wait.
    """
    inner: ast.AST = node
    for above in tools.ancestors(source, node):
        if above is loop:
            break
        if isinstance(above, ast.If) and inner is not above.test:
            return True
        inner = above
    direct = innermost(source, node) or loop
    return any(_has_loop(source, part) for part in ast.walk(direct) if part is not direct)


def _has_loop(source: Source, node: ast.AST) -> bool:
    if isinstance(node, ast.For | ast.While):
        return True
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    own = own_function(source, node.func.id)
    return own is not None and any(isinstance(n, ast.For | ast.While) for n in ast.walk(own))


def enclosing(source: Source, loop: Loop) -> list[Loop]:
    """The loops around a loop in the same frame, innermost first."""
    found: list[Loop] = []
    for above in tools.ancestors(source, loop):
        if isinstance(above, tools.SCOPES):
            break
        if isinstance(above, ast.For | ast.While):
            found.append(above)
    return found
