"""Products of matrices on the GPU: the NumPy form of the loops, with its ``@`` made by CuPy.

The statements around a product are made there, too, where CuPy computes the same: then matrices go
to the device once, and only what has changed comes back.

A product of two n x n matrices does 2 n**3 operations with 3 n**2 numbers: from a few hundred rows
on, taking them to the device and back is the smaller part.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...layout import replace_statement
from ...loopnest.liveness import live_after
from ...model import Basis, Condition, Edit, Match, Refusal, Region, Source
from ...names import free_name, import_edit
from ...patch import apply_edits, composed
from ..ast_tools import module_alias
from ..nb_text import functions_block, top_level_statement
from ..nb_values import Unsupported
from ..numpy_backend import emit_products
from ..together import emit_arrays_together, seen_by_all
from .matrices import FLOATS, Block

_MADE_HERE = re.compile(r"do not share memory: (\w+) is made here")
COPY = 1.0e-10
"""Seconds a byte between pageable memory and the device: 9 to 12 GB/s were measured."""
OPERATION = 5.0e-11
"""Seconds an operation of BLAS on one core. Of what is not hopeless by that, trials decide."""
WARNINGS = "NumPy's warnings (overflow, invalid value, division by zero) are not shown"
HELPER = '''\
def {name}({first}, *others):
    """{first} @ others[0] @ ..: on the GPU, where there is one with room for it."""
    room = 3 * sum(each.nbytes for each in ({first}, *others))
    if not {cupy}.cuda.is_available() or room > {cupy}.cuda.runtime.memGetInfo()[0]:
        for other in others:
            {first} = {first} @ other
        return {first}
    product = {cupy}.asarray({first})
    for other in others:
        product = product @ {cupy}.asarray(other)
    return product.get()
'''


def products_on_gpu(region: Region) -> Match | Refusal | None:
    """The region's sums of products by CuPy; None where they are no products of matrices."""
    match = emit_products(region)
    if not isinstance(match, Match) or not match.safe:
        return None
    try:
        return _offloaded(region, match)
    except Unsupported as error:
        return Refusal(error.reason, region.loop.lineno)


def products_on_gpu_together(region: Region) -> Match | Refusal | None:
    """All loops of ``region.beside`` by CuPy, what one makes for another only on the device.

    None where there is no product of matrices among them, or what CuPy may compute otherwise.
    """
    match = emit_arrays_together(region)
    if not isinstance(match, Match) or not match.safe:
        return None
    seen = replace(region, observation=seen_by_all(region.beside, set()))
    try:
        return _offloaded(seen, match, together=True)
    except Unsupported as error:
        return Refusal(error.reason, region.loop.lineno)


def _offloaded(region: Region, match: Match, together: bool = False) -> Match | None:
    middle = Source(region.source.path, apply_edits(region.source, match.edits))
    places = [node for node in _products(middle, match) if _are_matrices(node, region)]
    if not places:
        return None
    if not any(_pays(node, region) for node in places):
        raise Unsupported("the copies to the device and back take longer than the product")
    cupy, imported = import_edit(middle, "cupy", "cp")
    try:
        edits = [_block_on_device(region, middle, match, places, cupy)]
        where = "the other side of the test"
        silent = [d for d in match.differences if not d.startswith("NumPy's warnings")]
        match = replace(match, differences=(*silent, WARNINGS))
    except Unsupported:
        if together:
            return None
        edits, where = _products_alone(region, middle, places, cupy)
    if imported is not None:
        edits.insert(0, imported)
    condition = Condition(
        "what the device has no room for, or where there is none, is multiplied by NumPy",
        Basis.PROVED,
        where,
    )
    return replace(
        match,
        edits=composed(region.source, match.edits, edits),
        change=f"{match.change.removesuffix('.')}; products of matrices by CuPy",
        needs=match.needs | {"cupy"},
        ledger=(*match.ledger, condition),
    )


def _block_on_device(
    region: Region, middle: Source, match: Match, places: list[ast.BinOp], cupy: str
) -> Edit:
    """The statements around the products with all their arrays on the device meanwhile.

    Raises Unsupported where something else stands among them.
    """
    numpy = module_alias(middle, "numpy")
    guard = _guard_around(middle, match, places)
    # at the top of a module, copies on the device would live as long as the program
    if guard is None or numpy is None or region.function is None:
        raise Unsupported("the products stand alone")
    # a region alone knows its neighbours, too: they are others
    loops = [region.loop] if region.until is None else [r.loop for r in region.beside]
    after = live_after(region.source, region.function, loops[-1])
    if after is None:
        raise Unsupported("the scope's variables may be looked at")
    tested = ast.unparse(guard.test)
    made = frozenset(n for c in match.ledger for n in _MADE_HERE.findall(c.text))
    unseen = frozenset(name for name in made - after if _only_in(loops, name, region))
    block = Block(region, middle, guard.body, tested, numpy, cupy, after, made, unseen)
    lines = block.lines()
    return replace_statement(middle, guard.body, lines)


def _only_in(loops: Sequence[ast.stmt], name: str, region: Region) -> bool:
    """Whether an array is made for these loops alone: no other statement has its name."""
    assert region.function is not None
    inside = {id(node) for loop in loops for node in ast.walk(loop)}
    named = [n for n in ast.walk(region.function) if isinstance(n, ast.Name) and n.id == name]
    others = [node for node in named if id(node) not in inside]
    return len(others) == 1 and isinstance(others[0].ctx, ast.Store)


def _guard_around(middle: Source, match: Match, places: list[ast.BinOp]) -> ast.If | None:
    """The test that this tool has put around the statements that hold all the products."""
    made = [edit.text.encode() for edit in match.edits]
    for node in ast.walk(middle.tree):
        if not isinstance(node, ast.If) or not node.orelse:
            continue
        start, end = middle.span(node)
        inside = {id(n) for statement in node.body for n in ast.walk(statement)}
        mine = any(middle.data[start:end] in text for text in made)
        if mine and all(id(place) in inside for place in places):
            return node
    return None


def _products_alone(
    region: Region, middle: Source, places: list[ast.BinOp], cupy: str
) -> tuple[list[Edit], str]:
    """Each product by a function that takes its matrices to the device and brings it back."""
    owner = region.function.name.strip("_") if region.function is not None else "loop"
    name = free_name(middle, f"_{owner}_product", set())
    first = ast.copy_location(ast.Expr(places[0]), places[0])
    statement = top_level_statement(middle, first)
    helper = HELPER.format(name=name, first="matrix", cupy=cupy)
    offset, block = functions_block(middle, statement, [helper])
    edits = [Edit(offset, offset, block)]
    for node in places:
        start, end = middle.span(node)
        edits.append(Edit(start, end, f"{name}({', '.join(_factors(node, middle))})"))
    return edits, f"{name}()"


def _products(middle: Source, match: Match) -> Iterator[ast.BinOp]:
    """The outermost products in the text that takes the loop's place."""
    for edit in match.edits:
        start = middle.data.find(edit.text.encode())
        if " @ " not in edit.text or start < 0:
            continue
        end = start + len(edit.text.encode())
        inner: set[ast.AST] = set()
        for node in ast.walk(middle.tree):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                span = middle.span(node)
                if start <= span[0] and span[1] <= end and node not in inner:
                    yield node
                inner |= set(ast.walk(node)) - {node}


def _factors(node: ast.expr, middle: Source) -> list[str]:
    """``a @ b @ c`` from left to right, as text."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return [*_factors(node.left, middle), middle.text(node.right)]
    return [middle.text(node)]


def _are_matrices(node: ast.BinOp, region: Region) -> bool:
    """Whether both sides are certainly arrays of floats with two axes or more."""
    return all(_axes(side, region) >= 2 for side in (node.left, node.right))


def _axes(node: ast.expr, region: Region) -> int:
    """Axes of an expression over the loop's arrays; 0 where that is not plain to see."""
    assert region.observation is not None
    match node:
        case ast.Name(id=name):
            seen = region.observation.values.get(name)
            if seen is None or seen.kind != "ndarray" or seen.dtype not in FLOATS:
                return 0
            return len(seen.shape or ())
        case ast.Attribute(value=value, attr="T"):
            return _axes(value, region)
        case ast.Subscript(value=ast.Name() as value, slice=index):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            whole = all(isinstance(part, ast.Slice) for part in parts)
            return _axes(value, region) if whole else 0
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return max(_axes(left, region), _axes(right, region))
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            sides = _axes(left, region), _axes(right, region)
            return max(sides) if min(sides) >= 2 else 0
        case ast.Call(func=ast.Attribute(attr="where"), args=[_, one, other]):
            return min(_axes(one, region), _axes(other, region))
        case ast.Call(func=ast.Attribute(attr="tril" | "triu"), args=[one, *_]):
            return _axes(one, region)
    return 0


def _pays(node: ast.BinOp, region: Region) -> bool:
    """Whether the product is more work than the copies, by the sizes that were seen."""
    left, right = _extents(node.left, region), _extents(node.right, region)
    if left is None or right is None:
        return True
    rows, inner, columns = left[0], left[1], right[1]
    copied = 8 * (rows * inner + inner * columns + rows * columns)
    return copied * COPY <= 2 * rows * inner * columns * OPERATION


def _extents(node: ast.expr, region: Region) -> tuple[int, int] | None:
    """Rows and columns that were seen, all axes but the last as rows; None where they varied."""
    assert region.observation is not None
    names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
    for name in names:
        seen = region.observation.values.get(name)
        shape = seen.max_shape if seen is not None and seen.kind == "ndarray" else None
        if not shape or len(shape) < 2:
            continue
        rows = 1
        for extent in shape[:-1]:
            rows *= extent
        turned = isinstance(node, ast.Attribute) and node.attr == "T"
        return (shape[-1], rows) if turned else (rows, shape[-1])
    return None
