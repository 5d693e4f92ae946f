"""What the ledger promises of the new text, held against the text, before anything is run.

A condition that was only observed is safe because the new code tests it and else runs the original.
Both can be read off the text, for every input at once; runs find a lost test only with an input
that violates exactly this one: ::

    if type(u) is np.ndarray and u.ndim == 2:     # the ledger also promises: u.shape[0] > 0
        ...
    else:
        pass                                      # and the loop was to stand here

"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..model import Condition, Match, Source
from ..patch import apply_edits

Block = Sequence[ast.stmt]


def broken_step(source: Source, new: bytes, match: Match) -> str | None:
    """`broken_promise` of a rewrite; of one in two steps, of each of them."""
    old, ledger = source.data, match.ledger
    if match.restated is not None:
        middle = apply_edits(source, match.restated.edits)
        first = [c for c in ledger if c.test and c.test in match.restated.tests]
        broken = broken_promise(old, middle, first)
        if broken is not None:
            return broken
        old, ledger = middle, tuple(c for c in ledger if c not in first)
    return broken_promise(old, new, ledger)


def broken_promise(old: bytes, new: bytes, ledger: Iterable[Condition]) -> str | None:
    """What the ledger says of the new text of a file and is not so; None if all of it is.

    Every guarded condition must be asked in the new text where it was not in the old one, as often
    as the ledger names it, and the other side of such a test must be statements of the original.
    Raises SyntaxError.
    """
    promised = [c for c in ledger if c.guarded]
    if not promised:
        return None
    before, after = changed_parts(old, new)
    counts = Counter(_key(atom) for atom in asked(after))
    counts.subtract(Counter(_key(atom) for atom in asked(before)))
    guards: set[str] = set()
    for condition in promised:
        atoms = _atoms_of(condition)
        if not atoms and _squeezed(condition.test or condition.text) not in _squeezed(new.decode()):
            return _untested(condition)
        for atom in atoms:
            key = _key(atom)
            if counts[key] < 1:
                return _untested(condition)
            counts[key] -= 1
            guards.add(key)
    return _not_kept(before, after, guards)


def changed_parts(old: bytes, new: bytes) -> tuple[ast.Module, ast.Module]:
    """Both texts without the top-level statements that stand in both: long files are read once."""
    trees = ast.parse(old), ast.parse(new)
    texts = [_statements(tree, text) for tree, text in zip(trees, (old, new), strict=True)]
    for tree, mine, other in zip(trees, texts, reversed(texts), strict=True):
        known = Counter(other)
        kept = []
        for statement, text in zip(tree.body, mine, strict=True):
            if known[text] > 0:
                known[text] -= 1
            else:
                kept.append(statement)
        tree.body = kept
    return trees


def _statements(tree: ast.Module, text: bytes) -> list[bytes]:
    lines = text.splitlines(keepends=True)
    return [b"".join(lines[s.lineno - 1 : s.end_lineno]) for s in tree.body]


def _untested(condition: Condition) -> str:
    return f"the new text does not test {condition.test or condition.text}"


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _key(node: ast.AST) -> str:
    return ast.dump(node)


def _atoms_of(condition: Condition) -> list[ast.expr]:
    """The tests that ``and`` joins in a condition; none if it is not written as one."""
    try:
        parsed = ast.parse((condition.test or condition.text).strip(), mode="eval")
    except SyntaxError:
        return []
    return list(_parts(parsed.body))


def _parts(test: ast.expr) -> Iterator[ast.expr]:
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            for value in values:
                yield from _parts(value)
        case _:
            yield test


# ------------------------------------------------------------------- what is asked
def asked(tree: ast.AST) -> Iterator[ast.expr]:
    """Every test that decides something, taken apart at ``and``, ``not``, in ``all`` and chains."""
    for node in ast.walk(tree):
        match node:
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                yield from _inside(test)
            # Z_is_small = Z_is_small and Z.min() >= 0: asked now, used later.
            case ast.Assign(value=ast.BoolOp() | ast.Compare() as test):
                yield from _inside(test)


def _inside(test: ast.expr) -> Iterator[ast.expr]:
    yield test
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            for value in values:
                yield from _inside(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _inside(operand)
        case ast.Compare(ops=ops) if is_chain(test):
            *asked_of, wanted = test.left, *test.comparators
            for one in asked_of:
                yield ast.Compare(one, ops[:1], [wanted])
        case ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp(elt=each)]):
            yield from _inside(each)


def is_chain(test: ast.expr) -> bool:
    """``type(a) is type(b) is np.ndarray`` asks the same of each name."""
    match test:
        case ast.Compare(ops=[ast.Is(), ast.Is(), *more]):
            return all(isinstance(op, ast.Is) for op in more)
        case ast.Compare(ops=[ast.Eq(), ast.Eq(), *more]):
            return all(isinstance(op, ast.Eq) for op in more)
    return False


# ------------------------------------------------------------------- what is kept
def _not_kept(before: ast.Module, after: ast.Module, guards: set[str]) -> str | None:
    """The line of a guard whose other side is not the original's; None if there is none."""
    blocks = [[_key(statement) for statement in block] for block in _blocks(before)]
    nameless = [[_nameless(statement) for statement in block] for block in _blocks(before)]
    added = _functions(after)
    for name in _functions(before):
        added.pop(name, None)
    expressions = {_key(node) for node in ast.walk(before) if isinstance(node, ast.expr)}
    known = {_key(node) for node in ast.walk(before) if isinstance(node, ast.If | ast.IfExp)}
    plain = False
    for node in ast.walk(after):
        if not isinstance(node, ast.If | ast.IfExp) or _key(node) in known:
            continue
        if not any(_key(part) in guards for part in _inside(node.test)):
            continue
        if isinstance(node, ast.IfExp):
            kept = _key(node.orelse) in expressions
        else:
            early = _negated(node.test)
            other = node.body if early else node.orelse
            plain |= bool(other) and not early
            # In a function of its own, self.grid is the parameter grid.
            kept = not other or _is_original(
                _followed(other, added) if early else other,
                nameless if early else blocks,
                guards,
                _nameless if early else _key,
            )
            kept = kept or (early and _gives_up(node, added, blocks))
        if not kept:
            return f"line {node.lineno} of the new text does not fall back to the original"
    if not plain:
        return None
    lost = Counter(_leaves(before)) - Counter(_leaves(after))
    return f"the new text has lost: {next(iter(lost))}" if lost else None


def _negated(test: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _functions(tree: ast.Module) -> dict[str, Block]:
    """Bodies of the functions of a module, without their first texts."""
    found = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return {f.name: f.body[1:] if ast.get_docstring(f) is not None else f.body for f in found}


def _followed(block: Block, added: dict[str, Block]) -> Block:
    """The body of the new function to which a block hands over; the block itself if to none."""
    match block:
        case [ast.Return(value=ast.Call(func=ast.Name(id=name)))] if name in added:
            return added[name]
    return block


def _gives_up(test: ast.If | ast.IfExp, added: dict[str, Block], blocks: list[list[str]]) -> bool:
    """Whether the test ends a new function with None, on which its caller runs the original. ::

    result = _run_on_gpu(u)
    if result is not None:
        return result
    for i in range(n):     # as it was
    """
    if not isinstance(test, ast.If) or list(map(ast.unparse, test.body)) != ["return None"]:
        return False
    inside = {name for name, body in added.items() if any(test is part for part in body)}
    return any(
        _caught(statement.body) in inside and _is_original(body[at:], blocks, set(), _key)
        for body in added.values()
        for at, statement in enumerate(body, start=1)
        if isinstance(statement, ast.If) and body[at:]
    )


def _caught(block: Block) -> str:
    """The function whose result the block returns unless it is None."""
    match block:
        case [
            ast.Assign(targets=[ast.Name(id=one)], value=ast.Call(func=ast.Name(id=function))),
            ast.If(
                test=ast.Compare(
                    left=ast.Name(id=two), ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]
                ),
                body=[ast.Return()],
                orelse=[],
            ),
        ] if one == two:
            return function
    return ""


def _nameless(node: ast.AST) -> str:
    """A statement without the names of what it works on."""
    return ast.dump(_Nameless().visit(copy.deepcopy(node)))


class _Nameless(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("_", node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        return ast.Name("_", node.ctx) if isinstance(root, ast.Name) else self.generic_visit(node)


def _is_original(
    block: Block, blocks: Sequence[Sequence[str]], guards: set[str], key: Callable[[ast.AST], str]
) -> bool:
    """Whether a block is a run of the original's statements, or leads to one."""
    match block:
        case [ast.If(test=test)] if any(_key(part) in guards for part in _inside(test)):
            return True  # another case of data; it is looked at by itself
        case [ast.Return(value=ast.Call(func=ast.Attribute(attr="py_func")))]:
            return True  # the loop before it was compiled
    statements = [key(statement) for statement in block]
    if isinstance(block[-1], ast.Return) and not _runs_in(statements, blocks):
        statements.pop()  # the loop in a function of its own hands its results over
    return bool(statements) and _runs_in(statements, blocks)


def _runs_in(statements: Sequence[str], blocks: Sequence[Sequence[str]]) -> bool:
    size = len(statements)
    return any(
        list(block[at : at + size]) == list(statements)
        for block in blocks
        for at in range(len(block) - size + 1)
    )


def _blocks(tree: ast.AST) -> Iterator[Block]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                yield block


def _leaves(tree: ast.AST) -> Iterator[str]:
    """Simple statements, and the heads of loops and branches."""
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom():
                pass
            case ast.For(target=target, iter=domain):
                yield f"for {ast.unparse(target)} in {ast.unparse(domain)}"
            case ast.While(test=test):
                yield f"while {ast.unparse(test)}"
            case ast.If(test=test):
                yield f"if {ast.unparse(test)}"
            case ast.stmt() if not hasattr(node, "body"):
                yield ast.unparse(node)
