"""Look up constants in a set instead of comparing with every item of a list.

Why it is slow: ``x in items`` compares ``x`` with one item after the other until it finds one.
Why it may differ: a set finds by hash, which is the same thing only for types whose equality goes
with their hash; so the items have to be strings (or integers) written in the text, and what is
looked up is asked for its type each time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gpuadvise.api import (
    Basis,
    Condition,
    Edit,
    Ignores,
    Match,
    Refusal,
    Region,
    Rewrites,
    Source,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.codegen import list_uses as lists
from gpuadvise.names import free_name

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
VOWELS = ["a", "e", "i", "o", "u"]


def count(text):
    n = 0
    for letter in text:
        if letter in VOWELS:  # y is none
            n += 1
    return n
""",
        inputs="args = ('the quick brown fox jumps over the lazy dog',)",
        function="count",
        contains=("VOWELS_set = frozenset(VOWELS)", "# y is none"),
    ),
    Rewrites(
        before="""\
def others(values):
    small_primes = [2, 3, 5, 7, 11, 13]
    found = []
    for v in values:
        if v not in small_primes:
            found.append(v)
    return found
""",
        inputs="args = ([1, 2, 3.0, 4.5, '5', [7], None, True, 11, float('nan')],)",
        function="others",
    ),
    Ignores(
        before="""\
def unique(values):
    seen = ["", "-", "?", "!"]
    for v in values:
        if v not in seen:
            seen.append(v)
    return seen
""",
        because="the list changes in the loop",
        inputs="args = (['a', 'b', 'a', '-'],)",
        function="unique",
        reason="may change",
    ),
    Ignores(
        before="""\
def known(values, items):
    n = 0
    for v in values:
        if v in items:
            n += 1
    return n
""",
        because="the items may be anything, also something that has no hash or other equality",
        inputs="args = ([1, [2]], [[2], 3])",
        function="known",
    ),
)

FEWEST = 4
"""Items from which a look-up by hash, with the question for the type, can be faster."""
_QUIET = frozenset(
    """
    add append capitalize count endswith extend find format get index isalpha isdigit items join
    keys lower lstrip pop replace rstrip setdefault split startswith strip title update upper
    values
    """.split()  # noqa: SIM905
)
_PLAIN = frozenset({"abs", "chr", "enumerate", "float", "int", "ord", "range", "round", "zip"})


@rule(cases=CASES)
def list_membership(region: Region) -> Match | Refusal | None:
    """The hot loop asks whether something is in a list of constants."""
    source, loop = region.source, region.loop
    tests: dict[str, list[ast.Compare]] = {}
    for test in _tests(loop):
        assert isinstance(test.comparators[0], ast.Name)
        tests.setdefault(test.comparators[0].id, []).append(test)
    refusal: Refusal | None = None
    edits: list[Edit] = []
    asked: list[str] = []
    done: list[str] = []
    for name, compares in tests.items():
        kind = _constant_items(source, name)
        if kind is None or not tools.stands_alone(source, loop):
            continue
        objection = _may_change(region, name)
        if objection is not None:
            refusal = refusal or objection
            continue
        edits += _edits(source, loop, name, kind, compares)
        asked += [f"type({source.text(compare.left)}) is {kind}" for compare in compares]
        done.append(name)
    if not done:
        return refusal
    names = " and ".join(done)
    return Match(
        edits=tuple(edits),
        why=f"every test compares with the items of {names} one by one",
        change=f"look up in a set of {names}, made once before the loop",
        ledger=(
            Condition(
                f"{names} keeps the constants it is made of: nothing in this file changes it or "
                "hands it on, and the loop calls no unknown code",
                Basis.PROVED,
                f"lines {loop.lineno}-{loop.end_lineno}",
            ),
            *(
                Condition(test, Basis.OBSERVED, "asked at each look-up", guarded=True)
                for test in dict.fromkeys(asked)
            ),
        ),
    )


def _tests(loop: ast.stmt) -> Iterator[ast.Compare]:
    """The comparisons ``name in name`` of the loop, those of nested functions left out."""
    for node in tools.own_nodes(loop):
        match node:
            case ast.Compare(
                left=ast.Name(), ops=[ast.In() | ast.NotIn()], comparators=[ast.Name()]
            ):
                yield node


def _constant_items(source: Source, name: str) -> str | None:
    """``"str"`` or ``"int"`` if the name is bound once, to a list or tuple of such constants."""
    if tools.bound_names(source).get(name) != 1:
        return None
    for value in lists.values_bound(source, source.tree, name):
        if not isinstance(value, ast.List | ast.Tuple) or len(value.elts) < FEWEST:
            return None
        kinds = {type(e.value) if isinstance(e, ast.Constant) else None for e in value.elts}
        # [1, True, 2.5]: True is in it, and so is 1.0; one type keeps the question for it simple
        if kinds in ({str}, {int}):
            return "str" if kinds == {str} else "int"
    return None


def _may_change(region: Region, name: str) -> Refusal | None:
    source, loop = region.source, region.loop
    for use in tools.loads(source.tree, name):
        holder = tools.parents(source)[use]
        changing = isinstance(holder, ast.Attribute) or (
            isinstance(holder, ast.Subscript) and not isinstance(holder.ctx, ast.Load)
        )
        # words.append(w)    or    learn(words)    puts new items into the list
        if changing or isinstance(holder, ast.Return):
            return Refusal(f"{name} may change (line {use.lineno})", use.lineno)
        if not lists.keeps_no_reference(source, use):
            return Refusal(f"someone else may hold {name}, and it may change", use.lineno)
    missing = [n for n in ("type", "frozenset", "str", "int") if not tools.is_builtin(source, n)]
    if missing:
        # type = "linear"    at the top of the file
        return Refusal(f"the file gives {missing[0]} another meaning", loop.lineno)
    frames = tools.reads_frames(source.tree)
    if frames is not None:
        # globals()["words"].append(w)
        return Refusal(f"{frames.id}() may change {name}", frames.lineno)
    for node in ast.walk(loop):
        # other_module.refresh()    may write into this module's list
        if isinstance(node, ast.Call) and not _quiet(source, node):
            return Refusal(f"the loop calls code that may change {name}", node.lineno)
        if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom):
            return Refusal(f"other code runs in the middle of the loop and may change {name}")
    return None


def _quiet(source: Source, call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=name):
            return name in lists.EAGER | _PLAIN and tools.is_builtin(source, name)
        case ast.Attribute(attr=attr):
            return attr in _QUIET
    return False


def _edits(
    source: Source, loop: ast.stmt, name: str, kind: str, compares: list[ast.Compare]
) -> list[Edit]:
    by_hash = free_name(source, f"{name}_set")
    edits = [tools.insert_before(source, loop, [f"{by_hash} = frozenset({name})"])]
    for compare in compares:
        start, end = source.span(compare)
        asked = source.text(compare.left)
        word = "in" if isinstance(compare.ops[0], ast.In) else "not in"
        edits.append(
            Edit(
                start,
                end,
                f"({asked} {word} {by_hash} if type({asked}) is {kind} else {asked} {word} {name})",
            )
        )
    return edits
