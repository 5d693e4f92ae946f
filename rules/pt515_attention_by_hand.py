"""Leave attention to ``scaled_dot_product_attention``.

Why it is slow: written out, the scores of all pairs are written to memory and read again by the
softmax and by the product; the built-in function keeps them on the chip, and needs memory for none.
Why it may differ: products and sums are taken in another order, so results differ in their last
digits. The change is tried under ``--unsafe`` only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gpuadvise.api import (
    Basis,
    Condition,
    Edit,
    Exactness,
    Ignores,
    Match,
    Mistake,
    Region,
    Source,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.basics import evidence, meaning
from gpuadvise.gpucode.cupy_traced import example
from gpuadvise.gpucode.torch_loops import torch_name
from gpuadvise.gpucode.torch_traced import traced_lines

LOOP = """\


def run(q, k, v, steps):
    for _ in range(steps):
        q = attend(q, k, v)
    return q
"""
HEAD = """\
import math

import torch


def attend(q, k, v):
"""
INPUTS = "args = (*torch.randn(3, 2, 4, 16, 8), 3)"
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=HEAD
        + """\
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v
"""
        + LOOP,
        line=7,
        function="run",
        inputs=INPUTS,
        after=HEAD
        + """\
    return torch.nn.functional.scaled_dot_product_attention(
        q, k, v, scale=1.0 / math.sqrt(q.size(-1))
    )
"""
        + LOOP,
    ),
    Spots(
        before=HEAD
        + """\
    out = (torch.matmul(q, k.mT) * 0.125).softmax(-1) @ v  # one head
    return out
"""
        + LOOP,
        line=7,
        function="run",
        inputs=INPUTS,
        after=HEAD
        + """\
    out = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, scale=0.125
    )  # one head
    return out
"""
        + LOOP,
    ),
    Spots(
        before=HEAD
        + """\
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    scores = scores.masked_fill(v.isnan(), float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v
"""
        + LOOP,
        line=8,
        function="run",
        after=None,  # a mask goes with it as attn_mask, or as is_causal: that is for a person
    ),
    Ignores(
        before=HEAD
        + """\
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)
"""
        + LOOP,
        because="it is the built-in function",
        function="run",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
    scores = q @ k.transpose(-2, -1)
    weights = torch.softmax(scores, dim=-1)
    print(weights.max())
    return weights @ v
"""
        + LOOP,
        because="the weights themselves are wanted",
        function="run",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
    weights = torch.softmax(q, dim=-1)
    return weights @ v
"""
        + LOOP,
        because="a mixture, not attention: its weights are no product",
        function="run",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v
"""
        + LOOP,
        because="the GPU spends its time elsewhere",
        function="run",
        static=True,
        gpu={
            7: example(0.1, kernels={"gemm": (10, 0.001)}),
            14: example(0.9, kernels={"fft": (10, 0.8)}),
        },
    ),
)
SHARE = 0.1
"""Of the GPU's time in the loop that attention must take."""


@dataclass(frozen=True)
class Attention:
    """``softmax(q @ k.transpose(-2, -1) * scale) @ v``, in one statement or in several."""

    product: ast.BinOp | ast.Call
    """The last product, with the values."""
    statements: tuple[ast.stmt, ...]
    """From the scores to the last product."""
    parts: tuple[ast.expr, ast.expr, ast.expr] | None
    """Query, key, value; None where something comes between scores and softmax."""
    scale: str = ""


@rule(cases=CASES)
def attention_by_hand(region: Region) -> tuple[Mistake, ...] | None:
    """The loop computes attention from single products and a softmax."""
    source = region.source
    torch = torch_name(source)
    if torch is None or region.depth:
        return None
    found = []
    scopes: list[ast.FunctionDef | ast.Module] = [source.tree]
    scopes += [n for n in source.nodes if isinstance(n, ast.FunctionDef)]
    for scope in scopes:
        for attention in _attentions(source, scope):
            mistake = _mistake(region, attention, torch)
            found += [mistake] if mistake is not None else []
    return tuple(found) or None


def _mistake(region: Region, attention: Attention, torch: str) -> Mistake | None:
    lines = {n.lineno for s in attention.statements for n in ast.walk(s) if isinstance(n, ast.expr)}
    seen = evidence(region, lines, ["kernel"])
    if region.gpu is not None:
        here = sum(work.gpu for line, work in region.gpu.items() if line in lines)
        if not here or here < SHARE * sum(work.gpu for work in traced_lines(region)):
            return None
    return Mistake(
        line=min(lines),
        what="attention is written out: all scores go through memory, twice",
        remedy=f"{torch}.nn.functional.scaled_dot_product_attention(q, k, v)",
        evidence=seen.text,
        measured=seen.measured,
        cost=seen.cost,
        match=_match(region.source, attention, torch),
    )


# ---------------------------------------------------------------------- finding
def _attentions(source: Source, scope: ast.FunctionDef | ast.Module) -> Iterator[Attention]:
    for node in tools.own_nodes(scope):
        match node:
            case ast.BinOp(left=weights, op=ast.MatMult(), right=values):
                pass
            case ast.Call(args=[weights, values]) if _is(source, node, "matmul", "bmm"):
                pass
            case _:
                continue
        statements: list[ast.stmt] = [tools.enclosing_statement(source, node)]
        softmax = _behind(source, scope, weights, statements)
        argument = _softmax(source, softmax)
        if argument is None:
            continue
        scores = _behind(source, scope, argument, statements)
        if _is_masked(scores):
            yield Attention(node, tuple(statements[::-1]), None)
            continue
        scaled = _scaled(source, scope, scores, statements)
        if scaled is not None:
            query, key, scale = scaled
            yield Attention(node, tuple(statements[::-1]), (query, key, values), scale)


def _is_masked(node: ast.expr) -> bool:
    """``scores.masked_fill(mask == 0, float("-inf"))``"""
    match node:
        case ast.Call(func=ast.Attribute(attr="masked_fill")):
            return True
    return False


def _behind(
    source: Source,
    scope: ast.FunctionDef | ast.Module,
    node: ast.expr,
    statements: list[ast.stmt],
) -> ast.expr:
    """What a name that is bound last, and used once, stands for; the expression itself else."""
    if not isinstance(node, ast.Name):
        return node
    earlier = [s for s in tools.stores(scope, node.id) if s.lineno < node.lineno]
    uses = [n for n in tools.loads(scope, node.id) if not earlier or n.lineno > earlier[-1].lineno]
    if not earlier or len(uses) != 1:
        return node
    statement = tools.enclosing_statement(source, max(earlier, key=lambda n: n.lineno))
    block = tools.block_of(source, statements[-1])
    match statement:
        case ast.Assign(targets=[ast.Name()], value=value) if statement in block:
            statements.append(statement)
            return value
    return node


def _softmax(source: Source, node: ast.expr) -> ast.expr | None:
    """What the softmax along the last axis is taken of."""
    if not isinstance(node, ast.Call):
        return None
    axes = [k.value for k in node.keywords if k.arg == "dim"]
    axes += node.args[1:] if _is(source, node, "softmax", "nn.functional.softmax") else node.args
    if [ast.unparse(axis) for axis in axes] != ["-1"] or len(node.keywords) > 1:
        return None
    if _is(source, node, "softmax", "nn.functional.softmax") and node.args:
        return node.args[0]
    match node.func:
        case ast.Attribute(value=value, attr="softmax") if meaning(source, node.func) is None:
            return value
    return None


def _scaled(
    source: Source,
    scope: ast.FunctionDef | ast.Module,
    node: ast.expr,
    statements: list[ast.stmt],
) -> tuple[ast.expr, ast.expr, str] | None:
    """Query, key and scale of ``q @ k.transpose(-2, -1) / root``."""
    scale = "1.0"
    match node:
        case ast.BinOp(left=inner, op=ast.Div(), right=by):
            scale = f"1.0 / {_operand(source, by)}"
            node = _behind(source, scope, inner, statements)
        case ast.BinOp(left=inner, op=ast.Mult(), right=by):
            scale = source.text(by)
            node = _behind(source, scope, inner, statements)
    match node:
        case ast.BinOp(left=query, op=ast.MatMult(), right=turned):
            pass
        case ast.Call(args=[query, turned]) if _is(source, node, "matmul", "bmm"):
            pass
        case _:
            return None
    key = _transposed(turned)
    return None if key is None else (query, key, scale)


def _operand(source: Source, node: ast.expr) -> str:
    text = source.text(node)
    return text if isinstance(node, ast.Name | ast.Call | ast.Constant) else f"({text})"


def _transposed(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.Attribute(value=value, attr="mT"):
            return value
        case ast.Call(func=ast.Attribute(value=value, attr="transpose"), args=[one, two]):
            return value if {ast.unparse(one), ast.unparse(two)} == {"-1", "-2"} else None
    return None


def _is(source: Source, node: ast.Call, *names: str) -> bool:
    return (meaning(source, node.func) or "").removeprefix("torch.") in names


# -------------------------------------------------------------------- the rewrite
def _match(source: Source, attention: Attention, torch: str) -> Match | None:
    if attention.parts is None:
        return None
    last = attention.statements[-1]
    block = tools.block_of(source, last)
    first = block.index(attention.statements[0])
    # nothing between them: what they read is what the last one would read
    together = tuple(block[first : block.index(last) + 1]) == attention.statements
    if not together or not all(tools.stands_alone(source, s) for s in attention.statements):
        return None
    query, key, value = (source.text(part) for part in attention.parts)
    indent = " " * (len(tools.indent_of(source, last)))
    unit = tools.indent_unit(source)
    call = (
        f"{torch}.nn.functional.scaled_dot_product_attention(\n"
        f"{indent}{unit}{query}, {key}, {value}, scale={attention.scale}\n{indent})"
    )
    edits = [Edit(*source.span(attention.product), call)]
    for statement in attention.statements[:-1]:
        assert statement.end_lineno is not None
        start = source.line_starts[statement.lineno - 1]
        edits.append(Edit(start, source.line_starts[statement.end_lineno], ""))
    return Match(
        edits=tuple(edits),
        why="",
        change="attention is one call that keeps its scores on the chip",
        ledger=(
            Condition(
                "the operands have the shapes of attention, and last digits do not matter",
                Basis.ASSUMED,
                f"line {last.lineno}",
            ),
        ),
        exactness=Exactness.LAST_DIGIT,
    )
