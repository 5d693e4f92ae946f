"""Loops that draw from a Mersenne Twister, with the generator's own steps compiled along.

``random.gauss(0, 1)`` becomes a function of the generator's words, functions of the user's that
draw are given the words, and behind the loop the generator is put where the loop left it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...loopnest.scope import declared, dotted, local_names, own_nodes, table
from ...model import Basis, Condition, Edit, ValueInfo
from ...names import import_edit
from ...observe.values import describe
from ..draws_array import python_module
from ..draws_find import LEGACY, PYTHON
from ..nb_text import functions_block, top_level_statement
from ..nb_values import Unsupported
from .conditions import as_flag, below_else
from .draft import Draft
from .draws import most_draws
from .generators import is_calm
from .in_order import before, calls_in
from .own_loop import own_loop
from .twister_families import State
from .twister_find import Draw, Search
from .twister_text import TAU, Kind

_MOST = 80
"""Draws and calls that are rewritten, at most."""
_WORK = 120
"""Of the analysis: about ten seconds."""


def _calls_itself(search: Search, function: ast.FunctionDef) -> bool:
    """Whether the function comes back to itself, through others that draw as well."""
    start = search.found(function, local_names(function))
    inner = search.drawing_functions(list(start))
    return any(f is function for f in inner)


@dataclass(frozen=True)
class Names:
    """New names of the text."""

    functions: Mapping[str, str]
    """Key of a kind, or name of a function of the user's -> the new function."""
    words: str
    kept: str
    math: str

    def state(self, pairs: bool) -> str:
        """What a function that draws is given."""
        return f"{self.words}, {self.kept}" if pairs else self.words


def with_twister(draft: Draft) -> Draft:
    """The draft in which draws are computed from the generator's words. Raises Unsupported."""
    search = Search(draft)
    found = list(search.found(draft.loop, frozenset()))
    if not found:
        return draft
    drawing = search.drawing_functions(found)
    if any(_calls_itself(search, f) for f in drawing):
        raise Unsupported("a function that draws numbers calls itself", draft.loop.lineno)
    if search.work(draft.loop, frozenset()) > _WORK:
        raise Unsupported("too many draws in loops inside each other", draft.loop.lineno)
    draws = [d for d in found if isinstance(d, Draw)]
    draws += [d for f in drawing for d in search.found(f, local_names(f)) if isinstance(d, Draw)]
    first = draws[0]
    if any(d.generator != first.generator for d in draws):
        raise Unsupported("numbers of several generators are drawn", draft.loop.lineno)
    return _Writer(draft, first, draws, drawing).written()


# ----------------------------------------------------------------------- text
class _Writer:
    """The loop and copies of the functions that draw, given the words."""

    def __init__(
        self,
        draft: Draft,
        first: Draw,
        draws: Sequence[Draw],
        drawing: Sequence[ast.FunctionDef],
    ) -> None:
        self.draft = draft
        self.first = first
        self.family = first.family
        self.draws = draws
        self.drawing = drawing
        kinds = dict.fromkeys(d.method.kind for d in draws)
        known = first.family.kinds
        self.kinds = {k: v for k, v in known.items() if k in kinds or _is_needed(k, kinds, known)}
        self.pairs = any(kind.pairs for kind in self.kinds.values())
        self.new: list[str] = []
        functions = {key: self._free(kind.wanted) for key, kind in self.kinds.items()}
        functions |= {f.name: self._free(f"_{f.name.lstrip('_')}_drawn") for f in drawing}
        before = self.family.beforehand
        words, kept = map(self._free, ("halves", "taken") if before else ("words", "kept"))
        self.tables = self._tables(draws)
        self.shared = tuple(dict.fromkeys(self._shared()))
        self.math, self.math_edit = import_edit(draft.source, "math")
        uses = any("{math}" in kind.text for kind in self.kinds.values())
        if not uses and not any(d.method.math for d in draws):
            self.math_edit = None
        self.names = Names(functions, words, kept, self.math)

    def _free(self, wanted: str) -> str:
        self.new.append(self.draft.free(wanted, *self.new))
        return self.new[-1]

    def _tables(self, draws: Sequence[Draw]) -> dict[str, tuple[str, ValueInfo]]:
        """Lists of numbers that are chosen from where they are written: text -> (name, seen)."""
        found: dict[str, tuple[str, ValueInfo]] = {}
        for draw in draws:
            text = ast.unparse(draw.call.args[0]) if draw.name == "choice" else ""
            items = table(draw.call.args[0]) if text else None
            if items is not None and text not in found:
                value = ast.literal_eval(f"[{text[1:-1]}]")
                found[text] = self._free("_choices"), describe(self.family.chosen_from(value))
        return found

    def _shared(self) -> Iterator[str]:
        """Lists of the module that functions choose from: a compiled one is given them."""
        search = Search(self.draft)
        for function in self.drawing:
            own = local_names(function)
            for draw in search.found(function, own):
                if isinstance(draw, Draw) and draw.name == "choice":
                    known = self.tables.get(ast.unparse(draw.call.args[0]))
                    name = known[0] if known else dotted(draw.call.args[0]) or ""
                    if name.isidentifier() and name not in own:
                        yield name

    def written(self) -> Draft:
        """The draft behind the change. Raises Unsupported."""
        self._check()
        numpy, numpy_edit = import_edit(self.draft.source, "numpy", "np")
        package, edit = f"{numpy}.random", None
        if self.first.kind == PYTHON:
            package, edit = python_module(self.draft.source)
        state = self._state(self.first.generator or package, numpy)
        self.draft = replace(self.draft, names=self.draft.names | frozenset(self.new))
        self._insert_functions(numpy)
        for _ in range(_MOST):
            if not self._step():
                break
        else:
            raise Unsupported("too many draws in one loop", self.draft.loop.lineno)
        draft = self.draft
        lines = self.family.above(state)
        draft = draft.advanced(draft.above(draft.loop, lines), self.family.arrays(state))
        draft = draft.finally_(self.family.behind(state))
        test = self.family.same_kind(state.generator, package, module=self.first.module)
        if test:
            draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
        for one in filter(None, (numpy_edit, edit, self.math_edit)):
            draft = draft.importing(one)
        return replace(draft, plain={**draft.plain, **self._plain(state.generator, package)})

    def _state(self, generator: str, numpy: str) -> State:
        """The names of the generator's state."""
        wanted = ("state", "state_after", "second")
        before, after, second = map(self._free, wanted)
        words, kept, most = self.names.words, self.names.kept, self._most()
        return State(generator, numpy, before, after, second, words, kept, self.pairs, most)

    def _most(self) -> str:
        """How many numbers are drawn beforehand, where they are. Raises Unsupported."""
        if not self.family.beforehand:
            return ""
        draft, line = self.draft, self.draft.loop.lineno
        if draft.edits:
            raise Unsupported("numbers of a generator in a loop that does other odd things", line)
        if self.drawing:
            text = f"{self.drawing[0].name}() draws numbers of a generator that it is not given"
            raise Unsupported(text, line)
        most, tests = most_draws(draft, [draw.call for draw in self.draws])
        for test in tests:
            draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
        self.draft = replace(draft, in_python=tuple(own_loop(draft)))
        return f"{most} + 4096"

    def _plain(self, generator: str, package: str) -> dict[str, str]:
        """What Python runs where the loop is not compiled, by the name of the new function."""
        functions = self.names.functions
        if self.family.beforehand:
            return {functions[key]: "pass" for key in self.kinds}  # nobody calls them
        if not self.first.module:
            # functions cannot see the generator: they work on its words in Python, too
            word = functions["word"]
            known = self.kinds.items()
            bodies = {functions[key]: kind.unlimited(package, word) for key, kind in known}
            return {name: body for name, body in bodies.items() if body}
        plain = {functions[k]: f"return {generator}.{v.plain}" for k, v in self.kinds.items()}
        for function in self.drawing:
            given = ", ".join(a.arg for a in function.args.args)
            plain[functions[function.name]] = f"return {function.name}({given})"
        return plain

    def _check(self) -> None:
        """Functions that draw can be copied, and run in Python as well. Raises Unsupported."""
        own = self.first.kind == LEGACY and not self.first.module
        if own and any("1 // 0" in kind.text for kind in self.kinds.values()):
            text = f"{self.first.generator} draws more than plain numbers from 0 to 1"
            raise Unsupported(text, self.first.call.lineno)
        for function in self.drawing:
            args, line = function.args, function.lineno
            odd = args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs
            nodes = list(own_nodes(function))
            inner = (ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda, ast.FunctionDef, ast.ClassDef)
            if odd or function.decorator_list or declared(function):
                raise Unsupported(f"{function.name}(), which draws numbers, is not plain", line)
            if any(isinstance(n, inner) for n in nodes):
                raise Unsupported(f"{function.name}() does more than can be compiled", line)

    # ------------------------------------------------------------- functions
    def _insert_functions(self, numpy: str) -> None:
        """The generator's steps, and copies of the user's functions that draw, above the loop."""
        draft, names = self.draft, self.names
        known = {**names.functions, "math": names.math, "numpy": numpy, "tau": TAU}
        parts = []
        for kind in self.kinds.values():
            text = kind.text
            for name, value in known.items():
                text = text.replace(f"{{{name}!r}}", repr(value)).replace(f"{{{name}}}", str(value))
            parts.append(text)
        parts += [self._copy(function) for function in self.drawing]
        constants = [
            f"{name} = {self.family.choices(text[1:-1], numpy)}\n"
            for text, (name, _) in self.tables.items()
        ]
        if constants:
            parts.insert(0, "".join(constants))
        top = top_level_statement(draft.source, draft.loop)
        offset, block = functions_block(draft.source, top, parts)
        draft = draft.elsewhere([Edit(offset, offset, block)])
        self.draft = replace(draft, values={**draft.values, **dict(self.tables.values())})

    def _copy(self, function: ast.FunctionDef) -> str:
        """A function of the user's under its new name, with the words in front."""
        source = self.draft.source
        first = function.body[0]
        given = ast.unparse(function.args)
        state = ", ".join((self.names.state(self.pairs), *self.shared))
        head = f"def {self.names.functions[function.name]}({state}{', ' if given else ''}{given}):"
        if first.lineno == function.lineno:
            return f"{head}\n    {source.text(first)}\n"
        start = source.line_starts[first.lineno - 1]
        body = source.data[start : source.span(function)[1]].decode("utf-8")
        return f"{head}\n{body}\n"

    # ----------------------------------------------------------------- draws
    def _step(self) -> bool:
        """Rewrite one draw, or one call of a function that draws; False if there is none."""
        search = Search(self.draft, frozenset(f.name for f in self.drawing))
        scopes: list[tuple[ast.stmt, frozenset[str]]] = [(self.draft.loop, frozenset())]
        copies = {self.names.functions[f.name] for f in self.drawing}
        for function in search.functions.values():
            if function.name in copies:
                scopes.append((function, local_names(function)))
        for scope, own in scopes:
            wanted = {_call_of(d): d for d in search.found(scope, own)}
            if wanted:
                self._rewrite_one(scope, wanted, isinstance(scope, ast.FunctionDef))
                return True
        return False

    def _rewrite_one(
        self, scope: ast.stmt, wanted: Mapping[ast.Call, Draw | ast.Call], copied: bool
    ) -> None:
        """Raises Unsupported."""
        for statement in (scope, *own_nodes(scope)):
            if not isinstance(statement, ast.stmt):
                continue
            for call in calls_in(statement):
                if call not in wanted:
                    continue
                if self._is_late(statement):
                    self._advance(self._made_early(statement), copied)
                    return
                named = before(statement, call)
                if named is not None:
                    self._advance(self._taken(statement, named, call, wanted[call]), copied)
                    return
                if isinstance(statement, ast.If) and isinstance(statement.test, ast.BoolOp):
                    self._advance(self._flagged(statement, statement.test, call), copied)
                    return
        call = next(iter(wanted))
        text = f"{ast.unparse(call.func)}() is called behind what may raise, or not in every case"
        raise Unsupported(text, call.lineno, "assign its result in a line of its own")

    def _advance(self, edits: Sequence[Edit], copied: bool) -> None:
        self.draft = self.draft.elsewhere(edits) if copied else self.draft.advanced(edits)
        self.draft = replace(self.draft, names=self.draft.names | frozenset(self.new))

    def _is_late(self, statement: ast.stmt) -> bool:
        """Whether the statement has no place in front of it: ``while``, ``elif``."""
        if isinstance(statement, ast.While):
            return True
        text = self.draft.source.text(statement)
        return isinstance(statement, ast.If) and text.startswith("elif")

    def _made_early(self, statement: ast.stmt) -> list[Edit]:
        """``while draw() < p:`` with its test in the body, ``elif`` below ``else``."""
        draft = self.draft
        if isinstance(statement, ast.If):
            return below_else(draft, statement)
        assert isinstance(statement, ast.While)
        if statement.orelse or statement is draft.loop:
            raise Unsupported("the test of a while loop draws numbers", statement.lineno)
        test = draft.source.text(statement.test)
        lines = [f"if not ({test}):", "    break"]
        return [
            Edit(*draft.source.span(statement.test), "True"),
            *draft.above(statement.body[0], lines),
        ]

    def _flagged(self, statement: ast.If, test: ast.BoolOp, call: ast.Call) -> list[Edit]:
        """``if a or draw() < p:`` with the draw in a line that is run where ``a`` does not hold."""
        late = enumerate(test.values)
        place = next(k for k, value in late if any(n is call for n in ast.walk(value)))
        if place == 0:
            raise Unsupported("a number is drawn in some cases only", call.lineno)
        return as_flag(self.draft, statement, test, place, self._free("holds"))

    def _taken(
        self, statement: ast.stmt, named: Sequence[ast.expr], call: ast.Call, what: Draw | ast.Call
    ) -> list[Edit]:
        """The draw in a line above the statement, and what the statement evaluates before it."""
        draft, source = self.draft, self.draft.source
        if isinstance(what, Draw) and what.name == "shuffle":
            return self._shuffled(statement, what)
        lines, edits = [], []
        for node in (*named, *_uncalm(call, what)):
            name = self._free("value")
            lines.append(f"{name} = {ast.unparse(node)}")
            edits.append((node, name))
        if isinstance(what, Draw):
            args = [_text_of(a, edits) for a in call.args]
            if what.name == "choice" and (known := self.tables.get(ast.unparse(call.args[0]))):
                args = [known[0]]
            drawn, made = self._drawn(what, args)
        else:
            drawn, made = self._called(call), "{}"
        whole = isinstance(statement, ast.Assign | ast.Expr | ast.Return) and made == "{}"
        if whole and getattr(statement, "value", None) is call and not lines:
            return [Edit(*source.span(call), drawn)]
        number = self._free("drawn" if isinstance(what, Draw) else "answer")
        lines.append(f"{number} = {drawn}")
        made = self._row(statement, call, what, made)
        inside = [(n, t) for n, t in edits if not any(n is a for a in ast.walk(call))]
        replaced = [*inside, (call, made.replace("{}", number))]
        changes = [Edit(*source.span(node), text) for node, text in replaced]
        return [*draft.above(statement, lines), *changes]

    def _row(self, statement: ast.stmt, call: ast.Call, what: Draw | ast.Call, made: str) -> str:
        """``dx, dy = random.choice(MOVES)`` place by place: compiled rows cannot be unpacked."""
        match statement, what:
            case ast.Assign(targets=[ast.Tuple(elts=elts)], value=value), Draw(name="choice") if (
                value is call
            ):
                rows = made.removesuffix("[{}]")
            case _:
                return made
        seen = self.draft.values.get(rows)
        if (
            seen is None
            or seen.kind != "list"
            or seen.shape is None
            or seen.shape[1:] != (len(elts),)
        ):
            return made
        tests = (
            f"set(map(type, {rows})) <= {{list, tuple}}",
            f"set(map(len, {rows})) == {{{len(elts)}}}",
        )
        for test in tests if rows not in dict(self.tables.values()) else ():
            condition = Condition(test, Basis.OBSERVED, guarded=True, test=test)
            self.draft = self.draft.asking(test, condition)
        return ", ".join(f"{made}[{place}]" for place in range(len(elts)))

    def _shuffled(self, statement: ast.stmt, draw: Draw) -> list[Edit]:
        """``random.shuffle(xs)`` as the exchanges that it makes."""
        call = draw.call
        match statement, call.args:
            case ast.Expr(value=value), [ast.Name(id=name)] if value is call:
                pass
            case _:
                raise Unsupported("shuffle() of other than a variable", call.lineno)
        k, other = self._free("k"), self._free("other")
        place = self._drawn(draw, [f"{k} + 1"])[0]
        lines = [
            f"for {k} in range(len({name}) - 1, 0, -1):",
            f"    {other} = {place}",
            f"    {name}[{k}], {name}[{other}] = {name}[{other}], {name}[{k}]",
        ]
        return self.draft.instead(statement, lines)

    def _drawn(self, draw: Draw, args: Sequence[str]) -> tuple[str, str]:
        """The call that draws, and the method's answer with ``{}`` for the number."""
        kind = self.kinds[draw.method.kind]
        given = ", ".join((self.names.state(kind.pairs), *draw.method.given(args)))
        made = draw.method.made("{}", args)
        return (
            f"{self.names.functions[kind.key]}({given})",
            made.replace("{math}", self.names.math),
        )

    def _called(self, call: ast.Call) -> str:
        """The call of a function that draws, with the words in front."""
        source = self.draft.source
        given = [source.text(a) for a in call.args]
        given += [f"{k.arg}={source.text(k.value)}" for k in call.keywords if k.arg]
        if len(given) != len(call.args) + len(call.keywords):
            raise Unsupported("a function that draws is called with **", call.lineno)
        name = self.names.functions[dotted(call.func) or ""]
        return f"{name}({', '.join((self.names.state(self.pairs), *self.shared, *given))})"


def _is_needed(key: str, kinds: Mapping[str, None], known: Mapping[str, Kind]) -> bool:
    return any(key in known[kind].needs for kind in kinds)


def _call_of(found: Draw | ast.Call) -> ast.Call:
    return found.call if isinstance(found, Draw) else found


def _uncalm(call: ast.Call, what: Draw | ast.Call) -> list[ast.expr]:
    """Arguments of a draw that may raise, or are costly to write twice."""
    if not isinstance(what, Draw) or what.name == "choice":
        return []
    return [a for a in call.args if not is_calm(a)]


def _text_of(node: ast.expr, named: Sequence[tuple[ast.expr, str]]) -> str:
    for other, name in named:
        if other is node:
            return name
    text = ast.unparse(node)
    plain = isinstance(node, ast.Name | ast.Constant | ast.Attribute | ast.Subscript)
    return text if plain else f"({text})"
