"""The text of a file on its way from the user's loop to a plainer one."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ...edits import PatchError
from ...layout import indent_unit, reindent, replace_statement
from ...loopnest.lower import lower
from ...loopnest.scope import local_names, module_of, own_nodes
from ...model import Condition, Edit, Region, Source, ValueInfo
from ...names import free_name
from ...patch import apply_edits, composed
from ..nb_values import Unsupported

Loop = ast.For | ast.While


def constant_info(value: bool | int | float) -> ValueInfo:
    """What is seen of a variable that a line above the loop sets to a number."""
    kind = type(value).__name__
    return ValueInfo(kind, f"builtins.{kind}", minimum=value, maximum=value, constant=True)


@dataclass(frozen=True)
class Draft:
    """A text that does what the user's does, and the loop in it."""

    region: Region
    """The user's own."""
    source: Source
    loop: Loop
    function: ast.FunctionDef | None
    values: Mapping[str, ValueInfo]
    """What was seen, and what the new lines above the loop make."""
    edits: tuple[Edit, ...] = ()
    """From the user's text to this one."""
    tests: tuple[str, ...] = ()
    """What must hold for the new text; else the user's loop runs."""
    ledger: tuple[Condition, ...] = ()
    names: frozenset[str] = frozenset()
    """New names, which are nobody else's."""
    extent: tuple[int, int] = (0, 0)
    """The loop and the lines around it that are new."""
    fresh: frozenset[str] = frozenset()
    """What the new lines above the loop make: it is nothing else, and tests come before it."""
    sums: frozenset[str] = frozenset()
    """Variables that add up what ``sum`` did."""
    open: frozenset[str] = frozenset()
    """New variables set to 0 where nobody reads it: 0.0 would do as well."""
    mixed: frozenset[str] = frozenset()
    """Lists that hold floats in place of ints where nobody may see it."""
    differences: tuple[str, ...] = ()
    """What a user can notice of the new text, see `Match.differences`."""
    plain: Mapping[str, str] = field(default_factory=dict)
    """New functions -> their body where they are not compiled."""
    in_python: tuple[str, ...] = ()
    """What Python runs where the loop is not compiled, if that is not the loop as it is here."""

    @classmethod
    def of(cls, region: Region) -> Draft:
        """The user's own text."""
        assert region.observation is not None
        return cls(
            region,
            region.source,
            region.loop,
            region.function,
            region.observation.values,
            extent=region.source.span(region.loop),
        )

    @property
    def has_inner_loop(self) -> bool:
        """Whether there is a loop in the loop, or in a function that it calls, or a recursion."""
        made = [n for n in self.source.nodes if isinstance(n, ast.FunctionDef)]
        bodies = (
            self.loop,
            *self.region.functions.values(),
            *(f for f in made if f.name in self.names),
        )
        return any(_goes_around(n, one) for one in bodies for n in own_nodes(one))

    def free(self, wanted: str, *more: str) -> str:
        """A new name that no scope of the file has."""
        # a module's names outlive the loop: private ones are nobody's business
        start = "_" if self.function is None and not wanted.startswith("_") else ""
        return free_name(self.source, start + wanted, (*self.names, *more))

    def is_builtin(self, name: str) -> bool:
        """Whether the name means Python's own function in the loop."""
        return name not in local_names(self.function) and not module_of(self.source).bound(name)

    # ------------------------------------------------------------------ text
    def indent(self, node: ast.stmt) -> str:
        """The white space in front of a statement. Raises PatchError if it shares its line."""
        line = self.source.lines[node.lineno - 1]
        blank = line[: len(line) - len(line.lstrip())]
        if len(blank.encode()) != node.col_offset:
            raise PatchError(f"line {node.lineno}: the statement shares its line with another one")
        return blank

    def block(self, node: ast.stmt, lines: Iterable[str]) -> str:
        """Lines, with levels of four spaces, at the depth of a statement."""
        blank, unit = self.indent(node), indent_unit(self.source)
        shifted = []
        for line in lines:
            inner = line.lstrip(" ")
            shifted.append(blank + unit * ((len(line) - len(inner)) // 4) + inner)
        return "\n".join(shifted)

    def above(self, node: ast.stmt, lines: Sequence[str]) -> list[Edit]:
        """The lines in front of a statement."""
        if not lines:
            return []
        start = self.source.span(node)[0]
        blank = self.indent(node)
        return [Edit(start, start, self.block(node, lines)[len(blank) :] + "\n" + blank)]

    def below(self, node: ast.stmt, lines: Sequence[str]) -> list[Edit]:
        """The lines behind a statement and the comment at its end."""
        if not lines:
            return []
        assert node.end_lineno is not None
        end = self.source.span(node)[1]
        line_end = self.source.line_starts[node.end_lineno]
        rest = self.source.data[end:line_end].rstrip(b"\r\n")
        if rest.strip() and not rest.lstrip().startswith(b"#"):
            raise PatchError(f"line {node.end_lineno}: the statement shares its line")
        at = end + len(rest)
        return [Edit(at, at, "\n" + self.block(node, lines))]

    def instead(self, node: ast.stmt, lines: Sequence[str]) -> list[Edit]:
        """The lines in the place of a statement; in one line where the statement shares its."""
        start, end = self.source.span(node)
        try:
            blank = self.indent(node)
        except PatchError:
            return [Edit(start, end, "; ".join(lines))]
        return [Edit(start, end, self.block(node, lines)[len(blank) :])]

    # ----------------------------------------------------------------- steps
    def advanced(
        self,
        edits: Sequence[Edit],
        values: Mapping[str, ValueInfo] | None = None,
        gone: Iterable[str] = (),
    ) -> Draft:
        """The draft behind some edits. ``values``: new names; ``gone``: what has no value now."""
        if not edits:
            return self
        data = apply_edits(self.source, edits)
        source = Source(self.source.path, data, rebound=self.source.rebound)
        loop = self._same_loop(source, edits)
        function = None
        if self.function is not None:
            at = self._moved(self.source.span(self.function)[0], edits)
            function = _statement_at(source, at, ast.FunctionDef)
        first = min(self.extent[0], *(e.start for e in edits))
        last = max(self.extent[1], *(e.end for e in edits))
        left = tuple(gone)
        under = tuple(f"{name}." for name in left)  # body.x, seen at an earlier body
        kept = {n: v for n, v in self.values.items() if n not in left and not n.startswith(under)}
        moved = {n: self._relocated(v, source, edits) for n, v in kept.items()}
        return replace(
            self,
            source=source,
            loop=loop,
            function=function,
            values={**moved, **(values or {})},
            edits=composed(self.region.source, self.edits, edits),
            extent=(first, last + len(data) - len(self.source.data)),
            names=self.names | frozenset(values or ()),
        )

    def begun(self, edits: Sequence[Edit], values: Mapping[str, ValueInfo]) -> Draft:
        """The draft behind edits that write a loop in the place of the user's statement.

        The loop is the first one there. ``values``: what the new lines above it make.
        """
        first, last = self.extent
        data = apply_edits(self.source, edits)
        source = Source(self.source.path, data, rebound=self.source.rebound)
        loops = [n for n in source.nodes if isinstance(n, ast.For)]
        loop = min((n for n in loops if source.span(n)[0] >= first), key=lambda n: n.lineno)
        function = self.function
        if function is not None:
            function = _statement_at(source, self.source.span(function)[0], ast.FunctionDef)
        moved = {n: self._relocated(v, source, edits) for n, v in self.values.items()}
        return replace(
            self,
            source=source,
            loop=loop,
            function=function,
            values={**moved, **values},
            edits=composed(self.region.source, self.edits, edits),
            extent=(first, last + len(data) - len(self.source.data)),
            names=self.names | frozenset(values),
            fresh=frozenset(values),
        )

    def _same_loop(self, source: Source, edits: Sequence[Edit]) -> Loop:
        at = self._moved(self.source.span(self.loop)[0], edits)
        if isinstance(self.loop, ast.For):
            return _statement_at(source, at, ast.For)
        return _statement_at(source, at, ast.While)

    def _moved(self, offset: int, edits: Sequence[Edit]) -> int:
        """Where a byte is behind the edits; what is put in at its place comes before it."""
        shift = 0
        for edit in dict.fromkeys(edits):
            if edit.end <= offset:
                shift += len(edit.text.encode()) - (edit.end - edit.start)
        if b"\r" in self.source.data:
            raise PatchError("line ends other than those of Unix")
        return offset + shift

    def _relocated(self, info: ValueInfo, source: Source, edits: Sequence[Edit]) -> ValueInfo:
        """A function seen, at the line where its ``def`` is now."""
        if info.target_line is None or info.target_file != self.source.path:
            return info
        offset = self._moved(self.source.line_starts[info.target_line - 1], edits)
        line = source.data.count(b"\n", 0, offset) + 1
        return replace(info, target_line=line)

    def importing(self, edit: Edit | None) -> Draft:
        """The draft with an import above all else."""
        return self if edit is None else self.elsewhere([edit])

    def elsewhere(self, edits: Sequence[Edit]) -> Draft:
        """The draft behind edits far above the loop, where its tests do not reach."""
        grown = self.advanced(edits)
        moved = sum(len(e.text.encode()) - (e.end - e.start) for e in dict.fromkeys(edits))
        return replace(grown, extent=(self.extent[0] + moved, self.extent[1] + moved))

    def asking(self, test: str, condition: Condition) -> Draft:
        """The draft on a condition that is tested above it."""
        if test in self.tests:
            return self
        if self.fresh and not self.fresh.isdisjoint(_names_in(test)):
            raise Unsupported(f"a test of what is not made yet: {test}", self.loop.lineno)
        return replace(self, tests=(*self.tests, test), ledger=(*self.ledger, condition))

    def guarded(self) -> Draft:
        """The new text below its tests, and the user's loop for when they fail."""
        if not self.tests:
            return self
        first, last = self.extent
        block = _block_at(self.source, first)
        nodes = [n for n in block if first <= self.source.span(n)[0] < last]
        lines = [*_condition(self.tests), reindent(self.source, nodes, 1), "else:"]
        lines.append(reindent(self.region.source, self.region.loop, 1))
        return self._wrapped(nodes, lines, ast.If)

    def finally_(self, lines: Sequence[str]) -> Draft:
        """The loop with lines that run behind it in any case."""
        text = ["try:", reindent(self.source, self.loop, 1), "finally:"]
        text += [f"    {line}" for line in lines]
        return self._wrapped([self.loop], text, ast.Try)

    def once(self, nodes: Sequence[ast.stmt], lines: Sequence[str], name: str) -> Draft:
        """The draft with lines in the place of statements, its loop being that over ``name``."""
        draft = self._wrapped(nodes, lines, None)
        loops = (n for n in draft.source.nodes if isinstance(n, ast.For))
        loop = next(n for n in loops if isinstance(n.target, ast.Name) and n.target.id == name)
        return replace(draft, loop=loop, names=draft.names | {name})

    def _wrapped(
        self,
        nodes: Sequence[ast.stmt],
        lines: Sequence[str],
        kind: type[ast.If] | type[ast.Try] | None,
    ) -> Draft:
        """The draft with lines in the place of statements, which are the first block in them.

        ``kind``: of the statement that the lines are; None if the caller finds the loop itself.
        """
        edit = replace_statement(self.source, nodes, lines)
        data = apply_edits(self.source, [edit])
        source = Source(self.source.path, data, rebound=self.source.rebound)
        loop = self.loop
        if kind is not None:
            inside = _statement_at(source, edit.start, kind).body
            loop = _loops_in(inside)[_loops_in(nodes).index(self.loop)]
        function = self.function
        if function is not None:
            function = _statement_at(source, self.source.span(function)[0], ast.FunctionDef)
        grown = len(data) - len(self.source.data)
        return replace(
            self,
            source=source,
            loop=loop,
            function=function,
            values={n: self._relocated(v, source, [edit]) for n, v in self.values.items()},
            edits=composed(self.region.source, self.edits, [edit]),
            extent=(self.extent[0], max(self.extent[1], edit.end) + grown),
        )

    # ---------------------------------------------------------------- region
    def restated(self) -> Region:
        """The region of the new loop, lowered."""
        region = self.region
        assert region.observation is not None
        functions = self._functions()
        observation = replace(region.observation, values=self.values, signatures=())
        nest = lower(
            self.loop,
            source=self.source,
            function=self.function,
            observation=observation,
            functions=functions,
        )
        return replace(
            region,
            source=self.source,
            loop=self.loop,
            function=self.function,
            observation=observation,
            nest=nest,
            functions=functions,
            inside=(),
            in_python=self.in_python,
        )

    def _functions(self) -> dict[str, ast.FunctionDef]:
        """The functions that the loop calls, as they are in the new text."""
        before = [n for n in self.region.source.nodes if isinstance(n, ast.FunctionDef)]
        after = [n for n in self.source.nodes if isinstance(n, ast.FunctionDef)]
        made = {f.name: f for f in after if f.name in self.names}
        after = [f for f in after if f.name not in made]
        if [f.name for f in before] != [f.name for f in after]:
            raise Unsupported("the functions of the file are not found again", self.loop.lineno)
        known = dict(zip(map(id, before), after, strict=True))
        return made | {name: known.get(id(f), f) for name, f in self.region.functions.items()}


Found = TypeVar("Found", bound=ast.stmt)


def _statement_at(source: Source, offset: int, kind: type[Found]) -> Found:
    for node in source.nodes:
        if isinstance(node, kind) and source.span(node)[0] == offset:
            return node
    raise PatchError("the restated loop is not found again")


def _goes_around(node: ast.AST, owner: ast.AST) -> bool:
    """Whether the node is a loop, or a call by which a function calls itself."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return isinstance(owner, ast.FunctionDef) and owner.name == name
    return isinstance(node, ast.For | ast.While)


def _names_in(test: str) -> set[str]:
    return {n.id for n in ast.walk(ast.parse(test, mode="eval")) if isinstance(n, ast.Name)}


def _block_at(source: Source, offset: int) -> list[ast.stmt]:
    """The list of statements of which one starts there."""
    for owner in source.nodes:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(owner, name, None)
            if isinstance(block, list) and any(source.span(n)[0] == offset for n in block):
                return block
    raise PatchError("the restated loop is not found again")


def _loops_in(body: Sequence[ast.stmt]) -> list[Loop]:
    nodes = (n for statement in body for n in ast.walk(statement))
    return [n for n in nodes if isinstance(n, ast.For | ast.While)]


def _condition(tests: Sequence[str]) -> list[str]:
    text = " and ".join(tests)
    if len(text) <= 72:
        return [f"if {text}:"]
    return ["if (", f"    {tests[0]}", *(f"    and {test}" for test in tests[1:]), "):"]
