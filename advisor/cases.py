"""Makes rules' cases executable: from source text and arguments to the regions a rule looks at.

The text is run once with its loops instrumented, so that the observations are those of a real
run. Used by ``gpuadvise explain`` and by the tests; it executes the text in this process.
"""

from __future__ import annotations

import ast
import copy
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType
from typing import Any, TypeGuard

import numpy as np

from .api import Ignores, Rewrites, RuleFunction, Spots
from .diagnose.beside import neighbours
from .diagnose.regions import not_expressed
from .diagnose.signatures import with_one_signature
from .gpumodel import LineWork
from .loopnest.ir import Nest
from .loopnest.lower import lower
from .model import Match, Mistake, Refusal, Region, Site, SiteObservation, Source
from .observe.gather import Gathered, helped
from .observe.holders import size_of
from .observe.lookup import resolve, used_chains
from .patch import apply_edits
from .rowcalls import as_loop, is_comprehension, is_hidden_loop, is_row_call, statement_of

Function = ast.FunctionDef
Loop = ast.For | ast.While

_OBSERVE = "__gpuadvise_observe__"
LOOKS = 200
"""The first entries of a loop are all looked at; then every so many."""
_NO_OBSERVATION = Refusal("the loop was not reached while it was observed")


# -------------------------------------------------------------------- regions
def region_for(
    text: str, function: str | None, args: tuple[Any, ...] = (), *, path: Path | None = None
) -> Region:
    """The region of the outermost loop of a function, observed while it runs on ``args``.

    ``function`` is a name in the module ``text``, ``"Grid.step"`` for a method (``args[0]`` is
    then the instance), None for a loop at module level, which sees ``args`` not at all. The
    arguments are copied first. Where a function has several loops one after the other, the first
    one counts. Raises LookupError if there is no such function or no loop.

        region = region_for(source_text, "smooth", (np.zeros(5), np.ones(5)))
        match = rule_function(region)
    """
    return chain_for(text, function, args, path=path)[0]


def chain_for(
    text: str,
    function: str | None,
    args: tuple[Any, ...] = (),
    *,
    path: Path | None = None,
    inputs: str = "",
) -> tuple[Region, ...]:
    """Like `region_for`, with the loops inside the outermost one as regions of their own.

    ``inputs``: statements with ``np``, ``rng`` and ``math`` at hand that set ``args`` in the
    module's own namespace or, for a loop at module level, names that the module finds set.
    """
    source = Source(path or Path("case.py").absolute(), text.encode("utf-8"))
    owner, class_name = _find(source.tree, function)
    loops = _hot_loops(source.tree if owner is None else owner, function)
    called = helpers_of(loops[0], source.tree, class_name, owner)
    below = {
        loop: helper for helper in called.values() for loop in _same_scope(helper) if _is_loop(loop)
    }
    later = [] if owner is None else [n for n in owner.body if _is_loop(n) and n not in loops]
    observer = _Observer(source, (*loops, *below, *later))
    _observe(source, observer, function, args, inputs)
    found = [
        _region(source, loop, depth, owner, class_name, function, observer)
        for depth, loop in enumerate(loops)
    ]
    others = [
        _region(source, loop, 0, helper, None, helper.name, observer)
        for loop, helper in below.items()
    ]
    behind = [_region(source, loop, 0, owner, class_name, function, observer) for loop in later]
    beside = neighbours((*found, *behind), lambda near, loop: None)
    return tuple(
        replace(
            r,
            inside=(*(o for o in found if o.loop in _loops_in(r.loop)), *others),
            beside=beside.get(r.loop, ()),
        )
        for r in found
    )


def _loops_in(loop: Loop) -> set[ast.AST]:
    return {node for node in _same_scope(loop) if _is_loop(node)}


def _is_loop(node: ast.AST) -> TypeGuard[Loop]:
    return isinstance(node, Loop)


def chains_for(
    text: str, function: str, args: tuple[Any, ...] = (), *, path: Path | None = None
) -> tuple[tuple[Region, ...], ...]:
    """Chains of regions for all loops of a function, observed in one run on ``args``.

    A loop with several loops inside goes on with the first of them; each other one starts a chain
    of its own, as in ``diagnose.regions``. Raises LookupError if there is no such function.
    """
    source = Source(path or Path("case.py").absolute(), text.encode("utf-8"))
    owner, class_name = _find(source.tree, function)
    assert owner is not None
    loops = tuple(node for node in _same_scope(owner) if isinstance(node, Loop))
    observer = _Observer(source, loops)
    _observe(source, observer, function, args, "")
    chains: list[tuple[Loop, ...]] = []
    used: set[Loop] = set()
    for loop in loops:
        chain: list[Loop] = []
        step: Loop | None = None if loop in used else loop
        while step is not None:
            chain.append(step)
            step = next((node for node in _same_scope(step) if isinstance(node, Loop)), None)
        used.update(chain)
        if chain:
            chains.append(tuple(chain))
    found = [
        [
            _region(source, loop, depth, owner, class_name, function, observer)
            for depth, loop in enumerate(chain)
        ]
        for chain in chains
    ]
    beside = neighbours((r for chain in found for r in chain), lambda near, loop: None)
    return tuple(tuple(replace(r, beside=beside.get(r.loop, ())) for r in chain) for chain in found)


def _region(
    source: Source,
    loop: Loop,
    depth: int,
    owner: Function | None,
    class_name: str | None,
    function: str | None,
    observer: _Observer,
) -> Region:
    observation = observer.observation(loop)
    functions = helpers_of(loop, source.tree, class_name, owner)
    nest: Nest | Refusal = _NO_OBSERVATION
    hidden = statement_of(loop)
    if hidden is not None:
        nest = not_expressed(hidden)
    elif observation is not None:

        def lowered(seen: SiteObservation) -> Nest | Refusal:
            return lower(loop, source=source, function=owner, observation=seen, functions=functions)

        observation, nest = with_one_signature(observation, lowered, loop)
    return Region(
        site=Site(source.path, loop.lineno, function or "<module>"),
        source=source,
        loop=loop,
        function=owner,
        class_name=class_name,
        share=0.99,
        depth=depth,
        observation=observation,
        nest=nest,
        functions=functions,
    )


def _find(tree: ast.Module, function: str | None) -> tuple[Function | None, str | None]:
    """The function's definition and its class. Raises LookupError."""
    if function is None:
        return None, None
    scope: ast.Module | ast.ClassDef | Function = tree
    class_name = None
    for name in function.split("."):
        inner = [n for n in ast.walk(scope) if isinstance(n, Function | ast.ClassDef)]
        found = next((n for n in inner if n.name == name and n is not scope), None)
        if found is None:
            raise LookupError(f"no function {function!r}")
        class_name = found.name if isinstance(found, ast.ClassDef) else class_name
        scope = found
    if not isinstance(scope, Function):
        raise LookupError(f"{function!r} is no function")
    return scope, class_name


def _hot_loops(scope: ast.Module | Function, name: str | None) -> tuple[Loop, ...]:
    """The first loop of the scope and the loops in it, outermost first."""
    for node in _same_scope(scope):
        if isinstance(node, Loop):
            return tuple(n for n in (node, *_same_scope(node)) if isinstance(n, Loop))
        if isinstance(node, ast.stmt) and is_row_call(node):
            return (as_loop(node),)
    for node in _same_scope(scope):
        if isinstance(node, ast.stmt) and is_comprehension(node):
            return (as_loop(node),)
    raise LookupError(f"no loop in {name or 'the module'}")


def _same_scope(node: ast.AST) -> Iterator[ast.AST]:
    """What is below a node in source order, without the bodies of functions and classes."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function | ast.ClassDef | ast.Lambda | ast.AsyncFunctionDef):
            yield child
            yield from _same_scope(child)


def helpers_of(
    loop: ast.AST, tree: ast.Module, class_name: str | None, owner: Function | None = None
) -> dict[str, ast.FunctionDef]:
    """The user's functions that a loop calls, helpers' helpers too.

    They are the module's, the class's methods, and those beside ``owner`` in another function.
    """
    functions = {n.name: n for n in tree.body if isinstance(n, Function)}
    for node in ast.walk(tree):
        if isinstance(node, Function) and owner in node.body:
            functions |= {n.name: n for n in node.body if isinstance(n, Function)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            functions |= {f"self.{n.name}": n for n in node.body if isinstance(n, Function)}
    methods = _methods(tree)
    found: dict[str, ast.FunctionDef] = {}
    todo: list[tuple[ast.AST, str]] = [(loop, "self")]
    while todo:
        node, receiver = todo.pop()
        for part in ast.walk(node):
            name = ast.unparse(part.func) if isinstance(part, ast.Call) else ""
            given = functions.get(name) or methods.get(name.partition(".")[2])
            if name.startswith("self."):
                name = receiver + name.removeprefix("self")
            if given is not None and name not in found:
                found[name] = given
                todo.append((given, name.rpartition(".")[0] or "self"))
    return found


def _methods(tree: ast.Module) -> dict[str, Function]:
    """Methods by their names, where one class of the file has the name: ``plate.step()``."""
    every = [n for c in tree.body if isinstance(c, ast.ClassDef) for n in c.body]
    named = [n for n in every if isinstance(n, Function)]
    count = Counter(n.name for n in named)
    return {n.name: n for n in named if count[n.name] == 1}


# ---------------------------------------------------------------- observation
@dataclass
class _Observer:
    """Collects what the instrumented loops report, as the hooks in a user's program do."""

    source: Source
    loops: tuple[Loop, ...]
    entries: dict[int, int] = field(default_factory=dict)
    gathered: dict[int, Gathered] = field(default_factory=dict)
    chains: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """What each loop names; asked for at each of its entries."""

    def __call__(self, number: int, local: Mapping[str, Any], names: Mapping[str, Any]) -> None:
        """One entry of loop ``number``."""
        self.entries[number] = self.entries.get(number, 0) + 1
        # An inner loop is entered often, and each look is at every element.
        stride = 1 if self.entries[number] <= LOOKS else LOOKS
        if self.entries[number] % stride:
            return
        if number not in self.chains:
            self.chains[number] = used_chains(self.loops[number])
        found = resolve(self.chains[number], local, names)
        more = helped(found, local, names, frozenset({str(self.source.path)}))
        group = self.gathered.setdefault(number, Gathered()).full(None, found, more)
        group.entries += stride
        group.work += size_of(found)

    def observation(self, loop: Loop) -> SiteObservation | None:
        """What was seen of a loop; None if it was never reached."""
        number = self.loops.index(loop)
        if number not in self.entries:
            return None
        return self.gathered[number].result(self.entries[number])


class _Instrument(ast.NodeTransformer):
    """Puts a call of the observer before each of the loops."""

    def __init__(self, lines: Mapping[tuple[int, int], int]) -> None:
        self.lines = lines

    def visit(self, node: ast.AST) -> Any:
        self.generic_visit(node)
        number = self.lines.get((getattr(node, "lineno", 0), getattr(node, "col_offset", 0)))
        if number is None or not (isinstance(node, Loop) or is_hidden_loop(node)):
            return node
        call = ast.parse(f"{_OBSERVE}({number}, locals(), globals())").body[0]
        return [ast.copy_location(call, node), node]


def _observe(
    source: Source,
    observer: _Observer,
    function: str | None,
    args: tuple[Any, ...],
    inputs: str,
) -> None:
    """Run the text once with the observer in front of its loops."""
    lines = {(loop.lineno, loop.col_offset): n for n, loop in enumerate(observer.loops)}
    tree = ast.fix_missing_locations(_Instrument(lines).visit(ast.parse(source.data)))
    code = compile(tree, str(source.path), "exec", dont_inherit=True)
    try:
        execute(code, function, copy.deepcopy(args), inputs, {_OBSERVE: observer})
    except Exception:
        # Code of a case may raise, as a user's may; what was seen until then is what counts.
        if not observer.entries:
            raise


def execute(
    code: CodeType,
    function: str | None,
    args: tuple[Any, ...] = (),
    inputs: str = "",
    names: dict[str, Any] | None = None,
    seed: int = 0,
) -> tuple[Any, dict[str, Any]]:
    """Run a case's module and function; its result and the module's namespace afterwards.

    The arguments as the function left them are under ``"args"`` in the namespace.
    """
    names = {} if names is None else names
    tools = {"np": np, "math": math, "rng": np.random.default_rng(seed)}
    setting = compile(inputs, "inputs", "exec", dont_inherit=True)
    if function is None:
        names |= {"__name__": "__main__"} | tools
        exec(setting, names)
        exec(code, names)
        return None, names
    names["__name__"] = "case"
    exec(code, names)
    given = dict(names) | tools | {"args": args}
    exec(setting, given)
    names["args"] = given["args"]
    return call(names, function, given["args"]), names


def call(names: Mapping[str, Any], function: str, args: tuple[Any, ...]) -> Any:
    """Call a function of an executed module by its dotted name."""
    first, *rest = function.split(".")
    target = names[first]
    for name in rest:
        target = getattr(target, name)
    return target(*args)


# ---------------------------------------------------------------------- cases
def case_regions(case: Rewrites | Ignores, path: Path | None = None) -> tuple[Region, ...]:
    """The chain of regions of a case, outermost first."""
    return chain_for(case.before, case.function, path=path, inputs=case.inputs)


def first_match(
    function: RuleFunction, chain: tuple[Region, ...]
) -> tuple[Region, Match] | tuple[Refusal, ...]:
    """The first match along a chain, or all refusals."""
    refusals: list[Refusal] = []
    for region in chain:
        answer = function(region)
        if isinstance(answer, Match):
            return region, answer
        if isinstance(answer, Refusal):
            refusals.append(answer)
    return tuple(refusals)


def static_chain(
    text: str,
    function: str | None,
    *,
    path: Path | None = None,
    gpu: Mapping[int, LineWork] | None = None,
) -> tuple[Region, ...]:
    """Regions of a text that is only read: GPU code where there is no GPU.

    ``gpu``: what was traced, by line. Raises LookupError if there is no such function or loop.
    """
    source = Source(path or Path("case.py").absolute(), text.encode("utf-8"))
    owner, class_name = _find(source.tree, function)
    loops = _hot_loops(source.tree if owner is None else owner, function)
    return tuple(
        Region(
            site=Site(source.path, loop.lineno, function or "<module>"),
            source=source,
            loop=loop,
            function=owner,
            class_name=class_name,
            share=0.99,
            depth=depth,
            observation=None,
            nest=_NO_OBSERVATION,
            gpu=gpu,
        )
        for depth, loop in enumerate(loops)
    )


def mistakes_in(
    function: RuleFunction, case: Spots | Ignores, path: Path | None = None
) -> tuple[tuple[Region, Mistake], ...]:
    """The mistakes that a rule names in a static case."""
    found: list[tuple[Region, Mistake]] = []
    for region in static_chain(case.before, case.function, path=path, gpu=case.gpu):
        answer = function(region)
        if isinstance(answer, tuple):
            found += [(region, mistake) for mistake in answer]
    return tuple(found)


def rewritten(function: RuleFunction, case: Rewrites, path: Path | None = None) -> str | None:
    """The case's text after the rule; None if the rule leaves it alone."""
    found = first_match(function, case_regions(case, path))
    match found:
        case (Region() as region, Match() as match):
            return apply_edits(region.source, match.edits).decode("utf-8")
        case _:
            return None
