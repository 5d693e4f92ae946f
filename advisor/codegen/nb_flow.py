"""Statements: how values flow through the loop, iterated to a fix point.

Ranges of variables assigned in a loop are widened to infinity, except for counters: a variable that
only ever gets ``x += e`` stays within ``STEPS`` times the range of ``e``, since no process executes
more steps. Conditions narrow ranges on their branches.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from ..loopnest.affine import Affine, constant
from ..loopnest.ir import PY_BOOL, PY_INT, Kind
from ..loopnest.scope import dotted, parameters, stored_names
from .nb_eval import OPERATORS, Evaluator
from .nb_refine import refine
from .nb_scope import Scope
from .nb_state import fail
from .nb_values import (
    INT64_MAX,
    INT64_MIN,
    STEPS,
    Num,
    Sequence_,
    Target,
    Unsupported,
    Value,
    View,
    add,
    compiled,
    dtype_range,
    hull,
    multiply,
)


@dataclass
class Snapshot:
    """The environment at a point of the program."""

    env: dict[str, Value]
    maybe: set[str]


@dataclass
class LoopExits:
    """Where ``break`` and ``continue`` of the innermost loop leave from."""

    breaks: list[Snapshot] = field(default_factory=list)
    continues: list[Snapshot] = field(default_factory=list)


class Flow:
    """Executes statements abstractly in one scope."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.ev = evaluator
        self.scope = evaluator.scope
        self.state = evaluator.state
        self.exits: list[LoopExits] = []
        self.returns: list[Value | None] = []
        self.helper_depth = 0

    # ------------------------------------------------------------ plumbing
    def snapshot(self) -> Snapshot:
        """A copy of where we are."""
        return Snapshot(dict(self.scope.env), set(self.scope.maybe))

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from there."""
        self.scope.env = dict(snapshot.env)
        self.scope.maybe = set(snapshot.maybe)

    def merged(self, snapshots: list[Snapshot], at: ast.AST) -> Snapshot | None:
        """Where several paths meet; None if there is no path."""
        if not snapshots:
            return None
        result = snapshots[0]
        for other in snapshots[1:]:
            result = self._merge(result, other, at)
        return result

    def _merge(self, left: Snapshot, right: Snapshot, at: ast.AST) -> Snapshot:
        env: dict[str, Value] = {}
        maybe = left.maybe | right.maybe
        for name in {**left.env, **right.env}:
            a, b = left.env.get(name), right.env.get(name)
            if a is None or b is None:
                env[name] = a if a is not None else b  # type: ignore[assignment]
                maybe.add(name)
            elif a == b:
                env[name] = a
            elif isinstance(a, Num) and isinstance(b, Num):
                env[name] = self.ev.join(a, b, at, name)
            elif isinstance(a, View) and isinstance(b, View) and self._same_row(a, b):
                env[name] = a
            else:
                maybe.add(name)
                env[name] = a
        return Snapshot(env, maybe)

    @staticmethod
    def _same_row(a: View, b: View) -> bool:
        return (a.array, a.axis, a.ndim) == (b.array, b.axis, b.ndim)

    # ----------------------------------------------------------- statements
    def block(self, body: list[ast.stmt]) -> bool:
        """Execute statements; False if control never reaches the end."""
        return all(self.statement(s) for s in body)

    def statement(self, node: ast.stmt) -> bool:
        """Execute one statement; False if control does not go on behind it."""
        match node:
            case ast.Assign(targets=targets, value=value):
                self._assign_all(targets, value, node)
            case ast.AnnAssign(target=target, value=ast.expr() as value, simple=1):
                raise Unsupported("an annotated assignment in the loop", node.lineno)
            case ast.AugAssign():
                self._augment(node)
            case ast.If(test=test, body=body, orelse=orelse):
                return self._if(node, test, body, orelse)
            case ast.For():
                return self._for(node)
            case ast.While():
                return self._while(node)
            case ast.Break():
                self.exits[-1].breaks.append(self.snapshot())
                return False
            case ast.Continue():
                self.exits[-1].continues.append(self.snapshot())
                return False
            case ast.Return(value=value) if self.scope.helper:
                self.returns.append(None if value is None else self.ev.value(value))
                return False
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=ast.Call() as call) if self.scope.state.module.functions.get(
                dotted(call.func) or ""
            ):
                self.ev.value(call)
            case _:
                text = ast.unparse(node).partition("\n")[0]
                raise Unsupported(f"`{text}` cannot be compiled", node.lineno)
        return True

    def _assign_all(self, targets: list[ast.expr], value: ast.expr, node: ast.stmt) -> None:
        sink = self._sink(targets[0]) if len(targets) == 1 else None
        match targets[0], value:
            case (
                (ast.Tuple(elts=left) | ast.List(elts=left)),
                (ast.Tuple(elts=right) | ast.List(elts=right)),
            ) if len(targets) == 1 and len(left) == len(right):
                values: list[Value] = [self.ev.value(e) for e in right]
                for target, one, source in zip(left, values, right, strict=True):
                    self.bind(target, one, node, source)
                return
        result = self.ev.value(value, sink)
        for target in targets:
            self.bind(target, result, node, value)

    def _sink(self, target: ast.expr) -> str | None:
        """The dtype of the array an expression is stored to at once."""
        if not isinstance(target, ast.Subscript):
            return None
        base = self.ev.value(target.value)
        return compiled(base.element) if isinstance(base, View) else None

    def bind(
        self, target: ast.expr, value: Value, node: ast.AST, source: ast.expr | None = None
    ) -> None:
        """Assign a value to a target."""
        match target:
            case ast.Name() | ast.Attribute():
                self._bind_name(target, value, node)
            case ast.Subscript():
                if not isinstance(value, Num):
                    text = f"`{ast.unparse(target)}` gets more than a number"
                    raise Unsupported(text, target.lineno)
                self._store(target, value, source)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                items = value.items if isinstance(value, Sequence_) else ()
                if len(items) != len(elts):
                    raise Unsupported("an unpacking of something unknown", target.lineno)
                for one, item in zip(elts, items, strict=True):
                    self.bind(one, item, node)
            case _:
                raise Unsupported(f"assignment to `{ast.unparse(target)}`", target.lineno)

    def _bind_name(self, target: ast.Name | ast.Attribute, value: Value, node: ast.AST) -> None:
        path = dotted(target)
        line = target.lineno
        if path is None or (isinstance(target, ast.Attribute) and path not in self.scope.env):
            raise Unsupported(f"assignment to `{ast.unparse(target)}`", line)
        old = self.scope.env.get(path)
        if isinstance(old, View) and not (isinstance(value, View) and self._same_row(old, value)):
            # a, b = b, a  of arrays would have to be undone outside
            raise Unsupported(f"{path} is bound to another array in the loop", line)
        if isinstance(value, View) and old is not None and not isinstance(old, View):
            raise Unsupported(f"{path} is a number first and an array later", line)
        if isinstance(value, Target):
            raise Unsupported(f"{path} stands for a function", line)
        if isinstance(value, Num):
            value = replace(value, entry=False)
            if value.form is None and (value.lows or value.highs):
                form = self.state.bounded_symbol(path, value.lows, value.highs)
                value = replace(value, form=form)
        self.scope.env[path] = value
        self.scope.maybe.discard(path)

    def _store(self, target: ast.Subscript, value: Num, source: ast.expr | None) -> None:
        base = self.ev.value(target.value)
        if not isinstance(base, View):
            raise Unsupported(f"assignment to `{ast.unparse(target)}`", target.lineno)
        view = self.ev.indexed(base, target)
        if view.ndim:
            raise Unsupported(f"`{ast.unparse(target)}` is a whole row", target.lineno)
        self.state.written.add(view.array)
        self._storable(view, value, target)
        if self.state.recording and view.element == PY_INT:
            before = self.state.stored.get(view.array, value)
            self.state.stored[view.array] = hull([before, value], PY_INT)

    def _storable(self, view: View, value: Num, target: ast.Subscript) -> None:
        element, line = view.element, target.lineno
        text = ast.unparse(target)
        if element.is_python:
            if value.types != {element}:
                # a list takes any object: its element would change type
                held = " or ".join(sorted(map(str, value.types)))
                raise Unsupported(f"`{text}` of a list of {element} gets {held}", line)
            return
        if value.type.kind is Kind.COMPLEX and element.kind is not Kind.COMPLEX:
            raise Unsupported(f"`{text}` gets a complex number", line)
        if element.kind is Kind.BOOL and value.type.kind is not Kind.BOOL:
            raise Unsupported(f"`{text}` of a bool array gets {value.type}", line)
        limits = dtype_range(compiled(element))
        if limits is None or element.kind is Kind.BOOL:
            return
        if value.type.kind is Kind.FLOAT and not (value.bounded and value.within(*limits)):
            fail(self.state, f"`{text}` may get a float outside the range of {element}", target)
        if value.type == PY_INT and not value.within(*limits):
            fail(self.state, f"`{text}` may get an int outside the range of {element}", target)

    def _augment(self, node: ast.AugAssign) -> None:
        load = _as_load(node.target)
        old = self.ev.number(load)
        sink = self._sink(node.target)
        added = self.ev.number(node.value)
        result = self.ev.binary(
            None, OPERATORS.get(type(node.op), "@"), load, node.value, old, added, sink, node
        )
        path = dotted(node.target)
        if path is not None and isinstance(node.op, ast.Add | ast.Sub):
            key = (id(node), path)
            self.state.increments[key] = (
                added
                if isinstance(node.op, ast.Add)
                else Num(added.type, _neg(added.high), _neg(added.low))
            )
        self.bind(node.target, result, node, node.value)

    # ---------------------------------------------------------------- paths
    def _if(
        self, node: ast.If, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]
    ) -> bool:
        self.ev.test(test)
        before = self.snapshot()
        ends = []
        for branch, truth in ((body, True), (orelse, False)):
            self.restore(before)
            if refine(self.ev, test, truth) and self.block(branch):
                ends.append(self.snapshot())
        after = self.merged(ends, node)
        if after is None:
            return False
        self.restore(after)
        return True

    def _while(self, node: ast.While) -> bool:
        def head(recording: bool) -> bool:
            del recording
            self.ev.test(node.test)
            return refine(self.ev, node.test, True)

        def leave() -> bool:
            return refine(self.ev, node.test, False)

        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return self._loop(node, head, leave, sure=False, endless=endless)

    def _for(self, node: ast.For) -> bool:
        bind, sure = self._iteration(node)
        sure = sure or self.state.assumption.trips

        def head(recording: bool) -> bool:
            bind()
            return True

        facts = len(self.state.facts)
        try:
            return self._loop(node, head, lambda: True, sure=sure)
        finally:
            del self.state.facts[facts:]

    def _loop(
        self,
        node: ast.For | ast.While,
        head: Callable[[bool], bool],
        leave: Callable[[], bool],
        *,
        sure: bool,
        endless: bool = False,
    ) -> bool:
        """Fix point, then one recorded pass. ``sure``: the body runs at least once."""
        entry = self.snapshot()
        assigned = _assigned(node)
        invariant = self._strip(entry, assigned)
        self.state.quiet += 1
        try:
            invariant = self._fixpoint(node, invariant, head, assigned)
        finally:
            self.state.quiet -= 1
        facts = len(self.state.facts)
        self.restore(invariant)
        ends, exits = self._pass(node, head)
        outs: list[Snapshot] = []
        finished = [*ends, *([] if sure or endless else [entry])]
        if isinstance(node, ast.While):
            # the test is evaluated on all that reaches the head
            finished = [] if endless else [invariant]
        normal = self.merged([self._strip(s, assigned) for s in finished], node)
        if normal is not None:
            self.restore(normal)
            if leave() and self.block(node.orelse):
                outs.append(self.snapshot())
        outs += [self._strip(s, assigned) for s in exits.breaks]
        del self.state.facts[facts:]
        after = self.merged(outs, node)
        if after is None:
            return False
        self.restore(after)
        return True

    def _pass(
        self, node: ast.For | ast.While, head: Callable[[bool], bool]
    ) -> tuple[list[Snapshot], LoopExits]:
        """The body once, from the present environment."""
        self.exits.append(LoopExits())
        try:
            ends = []
            if head(True) and self.block(node.body):
                ends.append(self.snapshot())
        finally:
            exits = self.exits.pop()
        return [*ends, *exits.continues], exits

    def _fixpoint(
        self,
        node: ast.For | ast.While,
        start: Snapshot,
        head: Callable[[bool], bool],
        assigned: set[str],
    ) -> Snapshot:
        current, wider = start, False
        for round_ in range(6):
            self.restore(current)
            ends, _ = self._pass(node, head)
            stripped = [self._strip(s, assigned) for s in ends]
            merged = self.merged([start, *stripped], node)
            assert merged is not None
            merged.maybe -= {n for n in merged.maybe if n not in start.env}
            merged.env = {n: v for n, v in merged.env.items() if n in start.env}
            if merged.env == current.env:
                break
            wider = round_ > 0 or wider
            current = merged if round_ < 1 else self._widened(current, merged)
        if not wider:
            return current
        current = self._bounded_counters(node, start, current, assigned)
        for _ in range(2):
            self.restore(current)
            ends, _ = self._pass(node, head)
            merged = self.merged([start, *(self._strip(s, assigned) for s in ends)], node)
            assert merged is not None
            current = self._met(current, merged)
        return current

    def _widened(self, old: Snapshot, new: Snapshot) -> Snapshot:
        env = dict(new.env)
        for name, value in new.env.items():
            before = old.env.get(name)
            if isinstance(value, Num) and isinstance(before, Num):
                # every Python int that is assigned is shown to fit 64 bits
                whole = value.types == {PY_INT}
                if value.low != before.low:
                    value = replace(value, low=INT64_MIN if whole else None)
                if value.high != before.high:
                    value = replace(value, high=INT64_MAX if whole else None)
                env[name] = value
        return Snapshot(env, new.maybe)

    def _bounded_counters(
        self, node: ast.AST, start: Snapshot, current: Snapshot, assigned: set[str]
    ) -> Snapshot:
        env = dict(current.env)
        for name in assigned:
            first, value = start.env.get(name), env.get(name)
            if not isinstance(first, Num) or not isinstance(value, Num):
                continue
            total = self._added(node, name)
            if total is not None:
                bound = add(first, total, value.type)
                env[name] = replace(value, low=bound.low, high=bound.high)
        return Snapshot(env, current.maybe)

    def _added(self, node: ast.AST, name: str) -> Num | None:
        """All that ``name += e`` can add up to; None if it is also assigned otherwise."""
        low: int | float | None = 0
        high: int | float | None = 0
        found = False
        for inner in ast.walk(node):
            match inner:
                case ast.AugAssign(target=target) if dotted(target) == name:
                    step = self.state.increments.get((id(inner), name))
                    if step is None or step.low is None or step.high is None:
                        return None
                    low, high = min(low, step.low), max(high, step.high)
                    found = True
                case ast.Name(id=other, ctx=ast.Store()) if other == name:
                    if not _is_augmented(node, inner):
                        return None
        if not found:
            return None
        # twice: the rounding errors of a float sum add up too
        return multiply(Num(PY_INT, 0, 2 * STEPS), Num(PY_INT, low, high), PY_INT)

    def _met(self, old: Snapshot, new: Snapshot) -> Snapshot:
        env = dict(old.env)
        for name, value in old.env.items():
            other = new.env.get(name)
            if isinstance(value, Num) and isinstance(other, Num):
                low = value.low if other.low is None else other.low
                high = value.high if other.high is None else other.high
                if value.low is not None and low is not None:
                    low = max(low, value.low)
                if value.high is not None and high is not None:
                    high = min(high, value.high)
                env[name] = replace(value, low=low, high=high)
        return Snapshot(env, old.maybe)

    def _strip(self, snapshot: Snapshot, names: set[str]) -> Snapshot:
        """Without symbolic forms of variables that change in the loop."""
        env = dict(snapshot.env)
        for name in names:
            value = env.get(name)
            if isinstance(value, Num) and not (value.form is not None and value.form.is_const):
                env[name] = replace(value, form=None, lows=(), highs=())
            elif isinstance(value, Num) and value.low != value.high:
                env[name] = replace(value, form=None, lows=(), highs=())
        return Snapshot(env, set(snapshot.maybe))

    # ------------------------------------------------------------ iterables
    def _iteration(self, node: ast.For) -> tuple[Callable[[], None], bool]:
        """How the loop's target gets its value; whether the body surely runs."""
        match node.iter:
            case ast.Call(func=ast.Name(id="range"), args=args) if args and not node.iter.keywords:
                return self._over_range(node, args)
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner]):
                return self._over_enumerate(node, inner)
            case ast.Call(func=ast.Name(id="zip"), args=several) if several:
                views = [self._iterable(i) for i in several]
                items = [self._items(v, i) for v, i in zip(views, several, strict=True)]
                return lambda: self.bind(node.target, Sequence_(tuple(items)), node), False
            case _:
                view = self._iterable(node.iter)
                item = self._items(view, node.iter)
                sure = isinstance(view, Sequence_) and bool(view.items)
                if not sure and isinstance(view, View):
                    self._trip_guard(f"len({dotted(node.iter)}) > 0", node.iter)
                return lambda: self.bind(node.target, item, node), sure

    def _iterable(self, node: ast.expr) -> View | Sequence_:
        value = self.ev.value(node)
        if isinstance(value, View | Sequence_):
            return value
        raise Unsupported(f"a loop over `{ast.unparse(node)}`", node.lineno)

    def _items(self, value: View | Sequence_, node: ast.expr) -> Value:
        """Any item of what is looped over."""
        if isinstance(value, View):
            self.scope.need(value.array)
            rest = replace(value, ndim=value.ndim - 1, axis=value.axis + 1)
            return rest if rest.ndim else self.scope.element(rest)
        return _any_item(self.ev, list(value.items), node)

    def _over_enumerate(self, node: ast.For, inner: ast.expr) -> tuple[Callable[[], None], bool]:
        view = self._iterable(inner)
        item = self._items(view, inner)
        if isinstance(view, View):
            stop = self.ev.extent(view, 0)
        else:
            stop = Num(PY_INT, 0, len(view.items), form=constant(len(view.items)))
        index = self._index(node, Num(PY_INT, 0, 0, form=constant(0)), stop, 1)
        return lambda: self.bind(node.target, Sequence_((index(), item)), node), False

    def _over_range(self, node: ast.For, args: list[ast.expr]) -> tuple[Callable[[], None], bool]:
        values = [self.ev.number(a) for a in args]
        if any(v.type.kind is not Kind.INT for v in values):
            raise Unsupported("range() of something else than integers", node.lineno)
        start = values[0] if len(values) > 1 else Num(PY_INT, 0, 0, form=constant(0))
        stop = values[1] if len(values) > 1 else values[0]
        step = 1
        if len(values) == 3:
            if values[2].low is None or values[2].low != values[2].high or values[2].low == 0:
                return self._over_steps(node, start, stop, values[2])
            step = int(values[2].low)
        if step == 1 and isinstance(node.target, ast.Name):
            self._trip_guard(_range_guard(args), *args)
        index = self._index(node, start, stop, step)
        sure = _surely_runs(start, stop, step)
        return lambda: self.bind(node.target, index(), node), sure

    def _over_steps(
        self, node: ast.For, start: Num, stop: Num, step: Num
    ) -> tuple[Callable[[], None], bool]:
        """range(i * i, n, i): a positive step known only at run time."""
        if step.low is None or step.low <= 0:
            fail(self.state, "the step of range() may be zero or negative", node.iter)
        top = None if stop.high is None else stop.high - 1
        lows = () if start.form is None else (start.form,)
        highs = () if stop.form is None else (stop.form - 1,)

        def bind() -> None:
            form = self.state.bounded_symbol("i", lows, highs)
            value = Num(PY_INT, start.low, top, form=form)
            self.bind(node.target, value, node)

        return bind, False

    def _trip_guard(self, text: str, *args: ast.expr) -> None:
        """Remember the condition under which a loop runs, if it can be asked at entry."""
        if self.state.recording and self.state.assumption.trips:
            names = {n.id for a in args for n in ast.walk(a) if isinstance(n, ast.Name)}
            if names & _assigned(self.state.region.loop):
                raise Unsupported("a loop that may not run at all decides a variable's type")
            self.state.trip_guards.setdefault(text)

    def _index(self, node: ast.For, start: Num, stop: Num, step: int) -> Callable[[], Num]:
        """The index of a counting loop, with its symbolic bounds."""
        lows: tuple[Affine, ...] = () if start.form is None else (start.form,)
        highs: tuple[Affine, ...] = () if stop.form is None else (stop.form - 1,)
        low, high = start.low, None if stop.high is None else stop.high - 1
        if step < 0:
            lows = () if stop.form is None else (stop.form + 1,)
            highs = () if start.form is None else (start.form,)
            low, high = None if stop.low is None else stop.low + 1, start.high
        elif start.low is not None and stop.form is None and stop.high is None:
            high = start.low + STEPS

        def index() -> Num:
            form = self.state.bounded_symbol("i", lows, highs)
            if lows and highs:
                fact = highs[0] - lows[0]
                if fact not in self.state.facts:
                    self.state.facts.append(fact)
            low_, high_ = low, high
            if low_ is not None and high_ is not None and high_ < low_:
                high_ = low_
            return Num(PY_INT, low_, high_, form=form)

        return index


# ------------------------------------------------------------------- helpers
def call_helper(ev: Evaluator, name: str, node: ast.Call) -> Value:
    """A user function, followed with the arguments of this call."""
    state = ev.state
    function = state.module.functions[name]
    args = function.args
    plain = not (args.vararg or args.kwarg or args.kwonlyargs or args.defaults)
    names = parameters(function)
    if not plain or len(names) != len(node.args) or function.decorator_list:
        raise Unsupported(f"{name}() has defaults, * or decorators", node.lineno)
    if state.called.get(name) is None and _depth(ev.scope) > 4:
        raise Unsupported(f"{name}() calls itself or nests too deep", node.lineno)
    values = [ev.value(a) for a in node.args]
    env: dict[str, Value] = {}
    for parameter, value in zip(names, values, strict=True):
        if isinstance(value, Sequence_ | Target):
            raise Unsupported(f"{name}() takes more than numbers and arrays", node.lineno)
        env[parameter] = replace(value, entry=False) if isinstance(value, Num) else value
    scope = Scope(state, function, env, helper=True)
    scope.depth = _depth(ev.scope) + 1
    flow = Flow(Evaluator(state, scope))
    ends = flow.block(function.body)
    if state.recording:
        state.called[name] = function
    if ends and flow.returns:
        raise Unsupported(f"{name}() returns nothing on some path", node.lineno)
    return _returned(ev, flow, name, node)


def _depth(scope: Scope) -> int:
    return scope.depth


def _returned(ev: Evaluator, flow: Flow, name: str, node: ast.Call) -> Value:
    numbers = [v for v in flow.returns if isinstance(v, Num)]
    if not flow.returns:
        return Sequence_(())
    if len(numbers) != len(flow.returns):
        tuples = [v for v in flow.returns if isinstance(v, Sequence_)]
        if len(tuples) == len(flow.returns) == 1:
            return tuples[0]
        raise Unsupported(f"{name}() returns more than one number", node.lineno)
    result = numbers[0]
    for other in numbers[1:]:
        result = ev.join(result, other, node, f"what {name}() returns")
    return result


def _any_item(ev: Evaluator, items: list[Value], node: ast.expr) -> Value:
    if not items:
        raise Unsupported("a loop over an empty tuple", node.lineno)
    first = items[0]
    if isinstance(first, Sequence_):
        rows = [i for i in items if isinstance(i, Sequence_)]
        if len(rows) != len(items) or len({len(r.items) for r in rows}) != 1:
            raise Unsupported("a loop over unlike tuples", node.lineno)
        columns = zip(*(r.items for r in rows), strict=True)
        return Sequence_(tuple(_any_item(ev, list(c), node) for c in columns))
    result = first
    for item in items[1:]:
        if not isinstance(result, Num) or not isinstance(item, Num) or item.type != result.type:
            raise Unsupported("a loop over items of unlike types", node.lineno)
        result = replace(ev.join(result, item, node, "the item"), form=None)
    return result


def _as_load(target: ast.expr) -> ast.expr:
    """The target read: same positions, so that text edits still apply."""
    match target:
        case ast.Name():
            copy: ast.expr = ast.Name(target.id, ast.Load())
        case ast.Attribute():
            copy = ast.Attribute(target.value, target.attr, ast.Load())
        case ast.Subscript():
            copy = ast.Subscript(target.value, target.slice, ast.Load())
        case _:
            raise Unsupported(f"assignment to `{ast.unparse(target)}`", target.lineno)
    return ast.copy_location(copy, target)


def _assigned(node: ast.AST) -> set[str]:
    """Names and attribute paths that a statement assigns."""
    names = set(stored_names(node))
    for inner in ast.walk(node):
        match inner:
            case ast.Assign(targets=targets):
                names |= {p for t in targets for p in _paths(t)}
            case ast.AugAssign(target=target):
                names |= set(_paths(target))
            case _:
                pass
    return names


def _paths(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            for element in elts:
                yield from _paths(element)
        case ast.Name() | ast.Attribute():
            path = dotted(target)
            if path is not None:
                yield path


def _is_augmented(root: ast.AST, name: ast.Name) -> bool:
    return any(isinstance(n, ast.AugAssign) and n.target is name for n in ast.walk(root))


def _neg(bound: int | float | None) -> int | float | None:
    return None if bound is None else -bound


def _surely_runs(start: Num, stop: Num, step: int) -> bool:
    if step > 0:
        return start.high is not None and stop.low is not None and start.high < stop.low
    return start.low is not None and stop.high is not None and start.low > stop.high


def _range_guard(args: list[ast.expr]) -> str:
    if len(args) == 1:
        return f"{ast.unparse(args[0])} > 0"
    return f"{ast.unparse(args[0])} < {ast.unparse(args[1])}"


__all__ = ["PY_BOOL", "Flow", "call_helper"]
