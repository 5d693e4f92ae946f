"""Functions that draw, as Python runs them where the loop is not compiled."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ...model import Edit, Source
from ...patch import apply_edits, composed


def with_plain_draws(
    source: Source, edits: Sequence[Edit], plain: Mapping[str, str]
) -> tuple[Edit, ...]:
    """The edits with the generator itself in functions that only Python calls.

    Compiled code has copies of its own of the functions that draw; the user's loop, where it runs
    in Python after all, is faster with the generator, which has not moved while it was compiled.
    """
    new = Source(source.path, apply_edits(source, edits), rebound=source.rebound)
    body = new.tree.body
    made = [n for n in body if isinstance(n, ast.FunctionDef) and n.name in plain]
    others = (n for statement in body if statement not in made for n in ast.walk(statement))
    used = {n.id for n in others if isinstance(n, ast.Name)}
    changes = []
    for node, following in zip(body, [*body[1:], None], strict=True):
        if node not in made or not isinstance(node, ast.FunctionDef):
            continue
        if node.name in used or following is None:
            documented = ast.get_docstring(node) is not None and len(node.body) > 1
            start, end = new.span(node.body[documented])[0], new.span(node)[1]
            changes.append(Edit(start, end, plain[node.name]))
        else:
            changes.append(Edit(new.span(node)[0], _first_byte(new, following), ""))
    return composed(source, edits, changes)


def _first_byte(source: Source, node: ast.stmt) -> int:
    """Where a statement begins, its decorators included."""
    decorators = getattr(node, "decorator_list", [])
    line: int = min([node.lineno, *(d.lineno for d in decorators)])
    return source.line_starts[line - 1]
