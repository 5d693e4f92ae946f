"""A loop that keeps something in each step, and has it handled a block of steps at a time."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ..codegen import ast_tools as tools
from ..model import Edit, Region
from ..names import free_name


@dataclass(frozen=True)
class Block:
    """What is kept, and what is done with it."""

    helper: str
    """Name of the generator that goes around the loop's iterable."""
    text: str
    """Its definition, with ``{name}`` in it."""
    kept: str
    """Name of the list, free in the file."""
    handler: str
    """Name of the function that gets the list, and empties it."""
    body: Sequence[tuple[int, str]]
    """Its lines but the last, each with its depth."""
    value: str
    """What a step keeps, instead of the statement."""


def edits(
    region: Region, statement: ast.stmt, block: Block, taken: Sequence[str] = ()
) -> tuple[Edit, ...] | None:
    """The loop with it; None where the file has no place for the generator.

    ``taken``: names that mean something in the handler.
    """
    source, loop = region.source, region.loop
    assert isinstance(loop, ast.For)
    helper, kept = free_name(source, block.helper), block.kept
    handler, unit = free_name(source, block.handler, (kept, *taken)), tools.indent_unit(source)
    below = tools.below_imports(source, "torch", block.text.format(name=helper).splitlines())
    if below is None:
        return None
    gap = [""] if region.function else ["", ""]
    before = [
        f"{kept} = []",
        *gap,
        f"def {handler}({kept}):",
        *(unit * (1 + depth) + line for depth, line in block.body),
        f"{unit}{kept}.clear()",
        *gap,
    ]
    first, last = source.span(loop.iter)
    return (
        below,
        tools.insert_before(source, loop, before),
        Edit(first, first, f"{helper}("),
        Edit(last, last, f", {kept}, {handler})"),
        tools.replace_lines(source, statement, [f"{kept}.append({block.value})"]),
    )
