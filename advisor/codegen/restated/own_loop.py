"""The user's own loop, for when the plainer one is not compiled after all."""

from __future__ import annotations

import ast
import textwrap

from ...model import Source
from ..nb_values import Unsupported
from .draft import Draft, Loop


def own_loop(draft: Draft) -> list[str]:
    """Its lines, as written, from the first column. Raises Unsupported."""
    return loop_lines(draft.region.source, draft.region.loop)


def loop_lines(source: Source, loop: Loop) -> list[str]:
    """The lines of a loop, from the first column. Raises Unsupported."""
    for node in ast.walk(loop):
        if isinstance(node, ast.JoinedStr | ast.Constant) and node.end_lineno != node.lineno:
            raise Unsupported("text of several lines in the loop", node.lineno)
    text = source.data[source.line_starts[loop.lineno - 1] : source.span(loop)[1]].decode()
    return textwrap.dedent(text).split("\n")
