"""Sums that a loop inside a block adds up term by term: all terms first, then the sums.

``for i: s = 0.0; for j: s += f(i, j)`` keeps the loop over ``j`` in order, as floats round at each
addition, and pays for its calls in every iteration. Where all terms fit into the cache, ``f`` is
computed for all ``i`` and ``j`` at once, and the rows are added one after the other:
``np.add.reduce`` goes through a matrix row by row, where it has more than one column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...loopnest.ir import PY_BOOL, Assign, Bool, Const, Expr, For, If, Kind, Stmt
from .expressions import evaluate, truth
from .indexing import span_of
from .normal import NotVectorisable, exposed
from .reduced import sums_of_rows, term
from .scalars import closed, materialise, new_buffer, release
from .session import Binding, BufferRef, Context, Env, Session
from .sizes import rows_fit
from .values import SUM

_LARGEST = "2**22"
"""Terms beyond which the original loop runs: they would not fit into the memory of some."""
Body = Callable[[Session, tuple[Stmt, ...], Context, Env], object]


def rows_at_once(session: Session, loop: For, context: Context, env: Env, body: Body) -> bool:
    """Write a loop that only adds up as arrays over it, too; False where it is not one.

    ``body`` writes statements.
    """
    plain = context.spans == context.full and context.mask is None and not context.branch
    around = next((one for one in session.block_loops if _holds(one, loop)), None)
    if around is None or not plain or len(context.spans) != 1 or context.kept or session.narrow:
        return False
    sums = sums_of_rows(loop)
    if not rows_fit(loop, around, session.nest) or sums & session.reductions.keys():
        return False
    before = list(session.lines), list(session.prologue), list(session.domains)
    kept = session.trapped, session.silent, session.hushed, dict(session.masks)
    local = dict(env)
    try:
        _Rows(session, loop, context, local, sums, body).write()
    except NotVectorisable:
        session.lines, session.prologue, session.domains = before
        session.trapped, session.silent, session.hushed, session.masks = kept
        return False
    for name in sums:
        env[name] = local[name]
    return True


def _holds(outer: For, inner: For) -> bool:
    return any(statement is inner for statement in outer.body)


@dataclass
class _Rows:
    """One loop, as rows."""

    session: Session
    loop: For
    context: Context
    env: Env
    sums: frozenset[str]
    body: Body
    terms: str = ""

    def write(self) -> None:
        """All of it. Raises NotVectorisable."""
        session, facts = self.session, self.session.facts
        row = (self.loop.index, span_of(self.loop))
        ((_, columns),) = self.context.spans
        lengths = [row[1].high - row[1].low, columns.high - columns.low]
        if not (facts.require(lengths[0] - 1) and facts.require(lengths[1] - 2)):
            raise NotVectorisable("there may be one column only", self.loop.line)
        texts = (facts.text(facts.canonical(form)) for form in lengths)
        sizes = " * ".join(t if t.isidentifier() else f"({t})" for t in texts)
        session.domains.append(f"{sizes} <= {_LARGEST}")
        spans = (row, *self.context.spans)
        self.terms = session.fresh(f"{session.hidden}terms")
        session.line(f"# the rows of {self.terms} are added one after the other, as the loop does")
        self.statements(self.loop.body, replace(self.context, spans=spans, full=spans))

    def statements(self, body: Sequence[Stmt], context: Context) -> None:
        """Statements in order, those of the sums apart."""
        for number, statement in enumerate(body):
            later = exposed(tuple(body[number + 1 :])) | context.future | self.sums
            here = replace(context, future=later)
            match statement:
                case Assign(name=name, value=value) if name in self.sums:
                    found = term(value, name)
                    assert found is not None
                    self.add(name, *found, here)
                case Assign():
                    self.body(self.session, (statement,), here, self.env)
                case If(test=test, then=then):
                    self.chosen(test, then, here)

    def chosen(self, test: Expr, then: Sequence[Stmt], context: Context) -> None:
        """Terms of some pairs only."""
        session = self.session
        condition = closed(test, self.env)
        if context.mask is not None:
            condition = Bool(PY_BOOL, test.line, "and", (context.mask, condition))
        name = session.fresh(f"{session.hidden}mask")
        mask = materialise(session, name, condition, context, self.env)
        if not isinstance(mask, BufferRef):
            raise NotVectorisable("a condition is the same for all terms", test.line)
        self.statements(then, replace(context, mask=mask, branch=True))

    def add(self, name: str, op: str, added: Expr, context: Context) -> None:
        """The sums of all columns, under the name of one."""
        session, np = self.session, self.session.np
        start = self.env.get(name)
        if start is None or start.expr.type.kind is not Kind.FLOAT:
            raise NotVectorisable(f"{name} may start as an integer", added.line)
        value = evaluate(session, closed(added, self.env), context)
        whole = value.axes == frozenset(context.axes)
        if not whole or value.dtype != "float64" or start.expr.type.dtype not in (None, "float64"):
            raise NotVectorisable("the terms do not change with the columns", added.line)
        first = evaluate(session, start.expr, self.context)
        text = value.text
        if context.mask is not None:
            # what is left out must not change the sign of a zero either
            nothing = "-0.0" if op == "+" else "0.0"
            mask = truth(evaluate(session, context.mask, context))
            text = f"{np}.where({mask.text}, {text}, {nothing})"
        session.line(f"{self.terms} = {np}.ascontiguousarray({text})")
        release(session, name, self.context, self.env)
        axes = frozenset(self.context.axes)
        buffer = new_buffer(session, name, self.context, "float64", axes)
        if op == "+" and isinstance(start.expr, Const) and repr(start.expr.value) == "0.0":
            session.line(f"{buffer.name} = {np}.add.reduce({self.terms}, initial=0.0)")
        elif op == "+":
            session.line(f"{self.terms}[0] += {first.text}")
            session.line(f"{buffer.name} = {np}.add.reduce({self.terms}, initial=-0.0)")
        else:
            session.line(f"{self.terms}[0] = {first.at(SUM)} - {self.terms}[0]")
            session.line(f"{buffer.name} = {np}.subtract.reduce({self.terms})")
        ref = BufferRef(start.expr.type, added.line, buffer)
        self.env[name] = Binding(ref, self.context.spans)
