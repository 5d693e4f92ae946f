"""Whether PyTorch work that is timed may still run when the clock is read."""

from __future__ import annotations

import ast

from ..codegen import ast_tools as tools
from ..model import Source
from . import torch as values
from .basics import meaning
from .torch_kinds import FLOATING, SAME

_COPIES = frozenset({"cpu", "to", "cuda", "sort", "median"})
"""Methods that copy to or from the host, or may."""
_QUICK = (SAME | FLOATING | {"backward", "sum", "prod", "norm", "argmax", "argmin"}) - _COPIES
_HOST = frozenset({"range", "len", "enumerate", "zip"})


def never_waits(source: Source, statement: ast.stmt) -> bool:
    """Whether certainly nothing in a statement waits for the GPU; loops are looked into."""
    match statement:
        case ast.For(iter=head, body=body, orelse=[]):
            return _on_host(source, head) and all(never_waits(source, part) for part in body)
        case ast.With(items=items, body=body):
            plain = all(_is_torch(source, item.context_expr) for item in items)
            return plain and all(never_waits(source, part) for part in body)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Expr() | ast.Pass():
            nodes = [statement, *ast.walk(statement)]
            return not any(_may_wait(source, node) for node in nodes)
    return False


def launches(source: Source, statement: ast.stmt) -> list[ast.expr]:
    """What starts work on a device, where the tensors are on one."""
    return [
        node
        for node in tools.own_nodes(statement)
        if isinstance(node, ast.BinOp | ast.Call) and _works(source, node)
    ]


def _works(source: Source, node: ast.BinOp | ast.Call) -> bool:
    known = values.kind(source, node)
    return known.what == "tensor" and known.place != "cpu"


def _may_wait(source: Source, node: ast.AST) -> bool:
    if isinstance(node, ast.IfExp | ast.BoolOp | ast.comprehension | ast.Lambda | ast.NamedExpr):
        return True
    return isinstance(node, ast.Call) and not _is_quick(source, node)


def _is_quick(source: Source, call: ast.Call) -> bool:
    if meaning(source, call.func) is not None:
        return _is_torch(source, call)
    if isinstance(call.func, ast.Name):
        if call.func.id in _HOST:
            return tools.is_builtin(source, call.func.id)
        known = values.kind(source, call.func)
        return known.what == "module" and known.plain
    if not isinstance(call.func, ast.Attribute):
        return False
    base, attr = values.kind(source, call.func.value), call.func.attr
    if attr == "backward":
        return not call.args
    if base.what == "tensor":
        return attr in _QUICK
    if base.what == "optimizer":
        return attr in ("step", "zero_grad") and not call.args
    return base.what == "list" and attr == "append"


def _is_torch(source: Source, node: ast.expr) -> bool:
    """A call of PyTorch that makes a tensor out of others, or ``torch.no_grad()``."""
    name = meaning(source, node.func) if isinstance(node, ast.Call) else None
    if name is None or not name.startswith("torch.") or name.startswith("torch.cuda."):
        return False
    if name in ("torch.no_grad", "torch.inference_mode", "torch.autocast"):
        return True
    return values.kind(source, node).what == "tensor" and not name.endswith(("tensor", "numpy"))


def _on_host(source: Source, head: ast.expr) -> bool:
    """``range(steps)``, or tensors that are on the device already: nothing is copied on the way."""
    match head:
        case ast.Call(func=ast.Name(id=name), args=args):
            if name not in _HOST or not tools.is_builtin(source, name):
                return False
            if name in ("range", "len"):
                return not any(isinstance(n, ast.Call) for a in args for n in ast.walk(a))
            return all(_on_host(source, argument) for argument in args)
        case ast.Name() | ast.Constant():
            return values.kind(source, head).what in ("number", "tensor", "list")
    return False
