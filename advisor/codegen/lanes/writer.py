"""The program of a lane as the text of one for all lanes of a block."""

from __future__ import annotations

from collections.abc import Sequence

from ...loopnest.ir import Assign, Const, Expr, For, If, Kind, Stmt, While
from ..numpy_backend.normal import NotVectorisable
from .branches import Branches
from .expressions import Expressions
from .flow import LaneLoop, Leave, Selected, assigned, exposed
from .leaving import Leaving
from .names import Names, elements, plain, power, range_text
from .spread import at_head, diverges
from .values import Num, number


class Writer(Branches):
    """Writes statements in sets of lanes."""

    def sequence(self, body: Sequence[Stmt], names: Names, live: frozenset[str]) -> None:
        """The statements in order; ``live``: what is read behind them. Raises NotVectorisable."""
        for position, statement in enumerate(body):
            after = exposed(body[position + 1 :]) | live
            match statement:
                case Assign(name=name, value=Const()) if name not in after:
                    pass
                case Assign(name=name, value=value):
                    self.assign(names, name, Expressions(self.w, names).of(value))
                case If():
                    self._if(statement, names, after)
                case Selected(test=test):
                    self._select(test, names, after)
                case LaneLoop():
                    self._loop(statement, names, after)
                case _:
                    raise NotVectorisable("a statement has no array form", statement.line)

    def _select(self, test: Expr, names: Names, live: frozenset[str]) -> None:
        """Go on with the lanes for which the test holds."""
        asking = Expressions(self.w, names)
        mask = asking.truth(test)
        if not mask.vector:
            mask = self.wide(mask, names.size)  # type: ignore[assignment]
        where = self.w.fresh("some")
        self.w.line(f"{where} = {self.np}.flatnonzero({mask.text})")
        self.w.line(f"if not {where}.size:")
        self.w.line("    continue")
        for name in sorted(live & names.vectors()):
            target = names.python.setdefault(name, self.w.fresh(plain(name)))
            names.values[name] = self.put(target, elements(names.values[name], where))
        names.size = f"{where}.size"
        for name in list(names.vectors() - live):
            del names.values[name]

    def _loop(self, loop: LaneLoop, names: Names, live: frozenset[str]) -> None:
        head = at_head(loop, names.vectors())
        if diverges(loop, head):
            Leaving(self, loop, names, live).write()
        else:
            self._together(loop, names, live, head)

    def _together(
        self, loop: LaneLoop, names: Names, live: frozenset[str], head: frozenset[str]
    ) -> None:
        """A loop that all lanes run equally often."""
        self.own(names, assigned(loop.body) & names.values.keys(), head)
        inner = exposed(loop.body) | live | (exposed(loop.otherwise))
        self.w.line(self.header(loop, names))
        self.w.level += 1
        before, count = dict(names.values), len(self.w.lines)
        self.test_integers(loop, names)
        for position, statement in enumerate(loop.body):
            after = exposed(loop.body[position + 1 :]) | inner
            if isinstance(statement, Leave):
                test = Expressions(self.w, names).truth(statement.test)
                self.w.line(f"if {test.text}:")
                self.w.level += 1
                if statement.arm or loop.otherwise:
                    raise NotVectorisable("a way out of a loop that all take", statement.line)
                self.w.line("break")
                self.w.level -= 1
            else:
                self.sequence((statement,), names, after)
        self.as_before(names, before, assigned(loop.body) & inner, loop.line)
        if len(self.w.lines) == count:
            self.w.line("pass")
        self.w.level -= 1
        for name in (assigned((loop,)) & live) - before.keys():
            raise NotVectorisable(f"{name} may have no value", loop.line)
        self.sequence(loop.otherwise, names, live)

    def header(self, loop: LaneLoop, names: Names) -> str:
        """``for k in range(n):`` or ``while test:`` of a loop that is the same for all."""
        asking = Expressions(self.w, names)
        match loop.loop:
            case While(test=test):
                return f"while {asking.truth(test).text}:"
            case For(index=index, values=values) if values is not None:
                names.values[index] = self._index(names, index, self.w.nest.privates[index].kind)
                items = ", ".join(map(repr, values))
                return f"for {names.python[index]} in ({items}{',' * (len(values) == 1)}):"
            case For(index=index, start=start, stop=stop, step=step):
                low, high = asking.number(start), asking.number(stop)
                names.values[index] = self._index(names, index, Kind.INT)
                return f"for {names.python[index]} in {range_text(low.text, high.text, step)}:"

    def _index(self, names: Names, index: str, kind: Kind) -> Num:
        return number(names.python.setdefault(index, self.w.fresh(plain(index))), kind)

    def test_integers(self, loop: LaneLoop, names: Names) -> None:
        """Leave it to Python where one more iteration might need more than 64 bits."""
        for name, (low, high) in sorted(self.bounds.tests.get(id(loop), {}).items()):
            value = names.values.get(name)
            if not isinstance(value, Num):
                continue
            text = value.text
            if value.vector:
                tests = [f"{text}.max() > {power(high)}", f"{text}.min() < {power(low)}"]
            else:
                tests = [f"{text} > {power(high)}", f"{text} < {power(low)}"]
            tests = tests if low == -high else tests[:1]  # else it cannot fall below
            self.w.line(f"if {' or '.join(tests)}:")
            self.w.line('    raise OverflowError("an integer beyond 64 bits")')
