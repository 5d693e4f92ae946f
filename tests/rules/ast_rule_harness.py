"""Runs a rule that looks at text only, on a region made without observing anything."""

from __future__ import annotations

import ast
import contextlib
import io
import types
from pathlib import Path

import numpy as np

from gpuadvise.api import Match, Refusal, Region, RuleFunction, Source
from gpuadvise.edits import apply_edits
from gpuadvise.model import Site


def region(text: str | bytes, function: str | None = None, loop: int = 0) -> Region:
    """The region of loop number ``loop`` (in source order) of a function, or of the module."""
    data = text if isinstance(text, bytes) else text.encode()
    source = Source(Path("program.py"), data)
    defs = {n.name: n for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef)}
    scope: ast.AST = defs[function] if function else source.tree
    loops = [n for n in ast.walk(scope) if isinstance(n, ast.For | ast.While)]
    chosen = sorted(loops, key=lambda n: n.lineno)[loop]
    return Region(
        site=Site(source.path, chosen.lineno, function or "<module>"),
        source=source,
        loop=chosen,
        function=defs[function] if function else None,
        class_name=None,
        share=0.9,
        depth=0,
        observation=None,
        nest=Refusal("not lowered"),
        functions=defs,
    )


def rewritten(rule: RuleFunction, text: str | bytes, function: str | None = None) -> str:
    """The program after the rule; fails if the rule does not match."""
    made = region(text, function)
    answer = rule(made)
    assert isinstance(answer, Match), answer
    assert answer.safe
    return apply_edits(made.source, answer.edits).decode()


def outcome(text: str, call: str | None = None) -> object:
    """What running the module (and evaluating ``call`` in it) gives, prints or raises."""
    module = types.ModuleType("__main__")
    printed = io.StringIO()
    result: object = None
    raised = None
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(text, "program.py", "exec"), module.__dict__)
            if call is not None:
                module.__dict__.update(np=np)
                result = eval(call, module.__dict__)
        except BaseException as error:
            raised = type(error)
    return plain(result), printed.getvalue(), raised


def plain(value: object) -> object:
    """A value with its types, comparable by ``==`` down to the bits."""
    if isinstance(value, np.ndarray):
        content = repr(value.tolist()) if value.dtype == object else value.tobytes()
        mask = np.ma.getmaskarray(value).tolist() if isinstance(value, np.ma.MaskedArray) else None
        return (type(value).__name__, value.dtype.str, value.shape, content, mask)
    if isinstance(value, list | tuple):
        return (type(value).__name__, [plain(item) for item in value])
    return (type(value).__name__, repr(value))
