"""A loop that asks the device in every step whether to go on, asking in every tenth instead."""

from __future__ import annotations

import ast

from ..codegen import ast_tools as tools
from ..model import Basis, Condition, Edit, Exactness, Match, Refusal, Region
from ..names import free_name
from .cupy_sinks import Read
from .cupy_text import objection

EVERY = 10
"""Steps from one test to the next: a wait costs about as much as launching a few kernels."""


def asked_now_and_then(region: Region, read: Read) -> Match | Refusal:
    """The rewrite that tests the end of a loop in every tenth step, from the first on.

    The loop then takes up to nine steps more, which the user has to accept. ``read``: what the
    loop's end depends on, as `cupy_sinks.decides` says.
    """
    source, loop = region.source, region.loop
    refusal = objection(region)
    if refusal is not None:
        return refusal
    step, first, counting = _counter(region)
    now = f"{step} % {EVERY} == {first}"
    statement = tools.enclosing_statement(source, read.call)
    if statement is loop and isinstance(loop, ast.While):
        edit = _put_before(region, loop.test, f"{step} % {EVERY} or ")
    elif isinstance(statement, ast.If):
        edit = _put_before(region, statement.test, f"{now} and ")
    else:
        edit = _assigned(region, statement, now)
    if isinstance(edit, Refusal):
        return edit
    return Match(
        edits=(*counting, edit),
        why="",
        change=f"the loop's end is tested in every {EVERY}th step, not in each",
        needs=frozenset({"cupy"}),
        ledger=(
            Condition(
                f"up to {EVERY - 1} more steps than the test asks for do not matter",
                Basis.ASSUMED,
                f"line {read.call.lineno}",
            ),
        ),
        exactness=Exactness.LAST_DIGIT,
    )


def _counter(region: Region) -> tuple[str, int, list[Edit]]:
    """A name that counts the steps, its value in the first one, and the edits for it."""
    source, loop = region.source, region.loop
    match loop:
        case ast.For(
            target=ast.Name(id=name) as target,
            iter=ast.Call(func=ast.Name(id="range"), args=[ast.expr()], keywords=[]),
        ) if tools.is_builtin(source, "range") and len(tools.stores(loop, name)) == 1:
            if name != "_":
                return name, 0, []
            step = free_name(source, "step")
            return step, 0, [Edit(*source.span(target), step)]
    step = free_name(source, "step")
    made = tools.insert_before(source, loop, [f"{step} = 0"])
    return step, 1, [made, tools.insert_before(source, loop.body[0], [f"{step} += 1"])]


def _put_before(region: Region, test: ast.expr, words: str) -> Edit | Refusal:
    """``step % 10 or error > limit``, where the rest of the test binds stronger."""
    if not isinstance(test, ast.Compare | ast.Call | ast.UnaryOp):
        return Refusal("the test asks for more than the device's number", test.lineno)
    start = region.source.span(test)[0]
    return Edit(start, start, words)


def _assigned(region: Region, statement: ast.stmt, now: str) -> Edit | Refusal:
    """``if step % 10 == 0: error = ..``: until then the loop goes on by the one before."""
    source, loop = region.source, region.loop
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            pass
        case _:
            return Refusal("the number is kept in more than a name", statement.lineno)
    tests = [node.test for node in loop.body if isinstance(node, ast.If)]
    tests += [loop.test] if isinstance(loop, ast.While) else []
    asked = {use for test in tests for use in tools.loads(test, name)}
    if len(tools.stores(loop, name)) != 1 or set(tools.loads(loop, name)) - asked:
        return Refusal(f"{name} is used for more than the test", statement.lineno)
    body = tools.shifted(source, [statement], tools.indent_unit(source))
    if body is None or not tools.stands_alone(source, statement):
        return Refusal("the statement shares its lines", statement.lineno)
    return tools.replace_lines(source, statement, [f"if {now}:", *body])
