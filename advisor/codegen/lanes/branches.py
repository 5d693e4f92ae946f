"""Conditions: values chosen lane by lane, or branches with the lanes that take them."""

from __future__ import annotations

from collections.abc import Sequence

from ...loopnest.ir import Assign, If, Stmt
from ..numpy_backend.normal import NotVectorisable, may_raise, negate
from .expressions import Expressions
from .flow import assigned, exposed, flat, has_loop, risky
from .names import Names, elements, is_short, plain, text_of, words
from .slots import Slots
from .values import Num, Val, both, opposite


class Branches(Slots):
    """Writes ``if`` statements."""

    def sequence(self, body: Sequence[Stmt], names: Names, live: frozenset[str]) -> None:
        """The statements in order; ``live``: what is read behind them. Raises NotVectorisable."""
        raise NotImplementedError

    def _if(self, statement: If, names: Names, live: frozenset[str]) -> None:
        if has_loop((statement,)):
            self._apart(statement, names, live)
            return
        asking = Expressions(self.w, names)
        test = asking.truth(statement.test)
        if not test.vector:
            self._one_way(statement, test, names, live)
            return
        changed = sorted(assigned((statement,)) & live)
        if not changed and not risky((statement,)):
            return
        if len(changed) != 1 or len(list(flat((statement,)))) > 3:
            test = asking.hold(test, "chosen")
        self._merge(self._both(statement, test, asking, names), names, changed)

    def _merge(self, new: dict[str, Val], names: Names, changed: Sequence[str]) -> None:
        """Give the scalars their new values, all at once where one needs the old one of another."""
        values = {name: self.fitting(name, new[name]) for name in changed if name in new}
        targets = {n: names.python.setdefault(n, self.w.fresh(plain(n))) for n in values}
        done: set[str] = set()
        for name, value in list(values.items()):
            if words(text_of(value)) & done:
                break
            done |= {targets[name], f"{targets[name]}_real", f"{targets[name]}_imag"}
        else:
            for name, value in values.items():
                names.values[name] = self.put(targets[name], value)
            return
        held = {
            name: self.put(self.w.fresh(f"new_{targets[name]}"), v) for name, v in values.items()
        }
        for name, value in held.items():
            names.values[name] = self.put(targets[name], value)

    def _both(self, statement: If, test: Num, asking: Expressions, names: Names) -> dict[str, Val]:
        """The scalars behind a condition, chosen lane by lane."""
        sides = []
        for arm, mask in ((statement.then, test), (statement.orelse, opposite(test))):
            local = Names(dict(names.values), names.size, names.arrays, names.nest)
            inner = Expressions(self.w, local)
            inner.mask = mask if asking.mask is None else both(asking.mask, mask)
            self._arm(arm, local, inner)
            sides.append(local.values)
        result = {}
        for name in assigned((statement,)):
            a, b = sides[0].get(name), sides[1].get(name)
            if a is not None and b is not None:
                new = self.fitting(name, a), self.fitting(name, b)
                result[name] = asking.chosen(test, *new, statement.line)
            elif (known := a or b) is not None:
                result[name] = known
        return result

    def _arm(self, arm: Sequence[Stmt], local: Names, asking: Expressions) -> None:
        """A branch, computed for all lanes; nothing of it has a name that counts yet."""
        for position, statement in enumerate(arm):
            rest = exposed(arm[position + 1 :])
            match statement:
                case Assign(name=name, value=value):
                    new = self.fitting(name, asking.of(value))
                    if (name in rest and not is_short(new)) or may_raise(value):
                        new = self.put(self.w.fresh(plain(name)), new)
                    local.values[name] = new
                case If(test=test):
                    inner = asking.hold(asking.truth(test), "chosen")
                    if not inner.vector:
                        raise NotVectorisable("a condition that all share", statement.line)
                    local.values.update(self._both(statement, inner, asking, local))
                case _:
                    raise NotVectorisable("a statement has no array form", statement.line)

    def _one_way(self, statement: If, test: Num, names: Names, live: frozenset[str]) -> None:
        """A condition that is the same for all lanes."""
        arms = [statement.then, statement.orelse]
        ends: list[Names] = []
        blocks: list[list[str]] = []
        wide: frozenset[str] = frozenset()
        lines = self.w.lines
        for _ in range(2):
            ends, blocks = [], []
            for arm in arms:
                local = Names(
                    dict(names.values), names.size, names.arrays, names.nest, names.python
                )
                self.w.lines, self.w.level = [], self.w.level + 1
                self.sequence(arm, local, live)
                self.widen(local, wide & local.values.keys())
                blocks.append(self.w.lines)
                self.w.level -= 1
                ends.append(local)
            wide = frozenset().union(*(end.vectors() for end in ends)) & assigned((statement,))
        self.w.lines = lines
        for head, block in ((f"if {test.text}:", blocks[0]), ("else:", blocks[1])):
            if block or head != "else:":
                self.w.line(head)
                self.w.lines += block or ["    " * (self.w.level + 1) + "pass"]
        for name in assigned((statement,)):
            found = [end.values.get(name) for end in ends]
            if found[0] is not None and found[0] == found[1]:
                names.values[name] = found[0]
            elif name in live:
                raise NotVectorisable(f"{name} may have no value", statement.line)

    def _apart(self, statement: If, names: Names, live: frozenset[str]) -> None:
        """Branches with loops inside: each with the lanes that take it."""
        asking = Expressions(self.w, names)
        test = asking.truth(statement.test)
        if not test.vector:
            self._one_way(statement, test, names, live)
            return
        two = has_loop(statement.then) and has_loop(statement.orelse)
        test = asking.hold(test, "chosen") if two else test
        changed = sorted(assigned((statement,)) & live)
        sides = [(statement.then, test), (statement.orelse, opposite(test))]
        if not has_loop(statement.orelse):
            sides.reverse()
        elif not has_loop(statement.then):
            sides[1] = (statement.orelse, asking.truth(negate(statement.test)))
        plain = Names(dict(names.values), names.size, names.arrays, names.nest)
        if not two:
            inner = Expressions(self.w, plain)
            inner.mask = sides[0][1]
            self._arm(sides.pop(0)[0], plain, inner)
        full: dict[str, Val] = {}
        for name in changed:
            full[name] = self.room(names, name, plain.values.get(name))
        for arm, mask in sides:
            self._part(arm, mask, names, full, changed)
        names.values.update(full)
        for name in changed:
            value = full[name]
            names.python[name] = text_of(value).split(",")[0].removesuffix("_real")

    def _part(
        self, arm: Sequence[Stmt], mask: Num, names: Names, full: dict[str, Val], changed: list[str]
    ) -> None:
        where = self.w.fresh("some")
        self.w.line(f"{where} = {self.np}.flatnonzero({mask.text})")
        self.w.line(f"if {where}.size:")
        self.w.level += 1
        local = Names(dict(names.values), f"{where}.size", names.arrays, names.nest)
        self._compress(local, exposed(arm), where, names)
        written = frozenset(changed) & assigned(arm)
        self.sequence(arm, local, written)
        for name in sorted(written):
            self.store(full[name], where, local.values[name])
        self.w.level -= 1

    def _compress(self, local: Names, wanted: frozenset[str], where: str, names: Names) -> None:
        """Arrays of some of the lanes only, under names of their own."""
        for name in sorted(wanted & names.vectors()):
            target = self.w.fresh(plain(name))
            local.python[name] = target
            local.values[name] = self.put(target, elements(names.values[name], where))
