"""The numba back end for CPUs: the user's loop, outlined and compiled.

The loop statement becomes a function of its own in front of the code that holds it; its body stays
the user's text. What was only observed is asked in a small wrapper, which else runs the same loop
in Python.
"""

from __future__ import annotations

import ast
import logging
from collections.abc import Mapping
from functools import partial

from ..loopnest.affine import extent_of
from ..loopnest.ir import Nest
from ..loopnest.scope import own_nodes
from ..model import Edit, Exactness, Match, Refusal, Region
from ..names import free_name, from_import_edit, import_edit
from .answers import answer
from .nb_analyse import Analysed, analyse_region
from .nb_bounded import looks
from .nb_chars import legend
from .nb_growth import unread_lists
from .nb_guards import Guards, guards
from .nb_helpers import call_edits, helper_text, method_tests
from .nb_inline import folded
from .nb_lists import helper_names, with_callees
from .nb_lists import helper_text as list_helper_text
from .nb_order import Order
from .nb_order_text import OrderText, row_edits
from .nb_parallel import parallel_edits
from .nb_scope import observed
from .nb_short import too_short
from .nb_state import ARGUMENT, TextEdit
from .nb_steps import better_order
from .nb_text import (
    LEVEL,
    Names,
    attribute_edits,
    body_text,
    checked_helper,
    edited,
    flag_edits,
    functions_block,
    replacement,
    top_level_statement,
    trailing_comments,
)
from .nb_types import Flagged
from .nb_values import Num, Unsupported, View
from .nb_wrapper import Signature, Wrapper

log = logging.getLogger("gpuadvise.codegen")

WHY = "every iteration runs Python bytecode and boxes each number it touches"


def emit(region: Region, *, parallel: bool, steps: bool = False) -> Match | Refusal:
    """The region compiled by numba, serially or with its outermost parallel loop in threads.

    Refuses with the reason where the result could differ or numba cannot compile it. ``steps``:
    only where several iterations of a loop at once are faster.
    """
    if isinstance(region.nest, Refusal):
        return region.nest
    if region.observation is None:
        return Refusal("the loop was never entered while it was observed", region.loop.lineno)
    if (short := too_short(region)) is not None:
        return short
    return answer(
        lambda region: _match(region, analyse_region(region), parallel, steps),
        region,
        "a compiled form",
    )


def _match(region: Region, found: Analysed, parallel: bool, steps: bool) -> Match:
    """The rewrite with its loops in a better order, if there is one."""
    assert isinstance(region.nest, Nest)
    order = better_order(region.nest, threads=parallel, steps=steps)
    if order is None and steps:
        raise Unsupported("no loop gains by several iterations at once", region.loop.lineno)
    if order is not None:
        try:
            return Emission(region, found, parallel, order).match()
        except Unsupported as error:
            log.debug("line %d keeps its order: %s", region.loop.lineno, error.reason)
            if steps:
                raise
    return Emission(region, found, parallel).match()


class Emission(Wrapper):
    """One rewrite under way."""

    def __init__(
        self, region: Region, found: Analysed, parallel: bool, order: Order | None = None
    ) -> None:
        self.region = region
        self.found = found
        self.state = found.state
        self.source = region.source
        self.taken: set[str] = set()
        self.edits: list[Edit] = []
        self.parallel = parallel
        self.order = order
        self.parallel_edits = parallel_edits(region, found) if parallel else ()

    # -------------------------------------------------------------- pieces
    def match(self) -> Match:
        """The finished rewrite."""
        self._refuse_unknown_types()
        model = self._error_model()
        names = self._names()
        checks = guards(self.found, names, self.parallel or self.order is not None)
        if checks.tests or self._raises():
            self._refuse_lost_state()
        for test in method_tests(self.state):
            checks.ask(test, f"{test}, whose methods are called", "the object seen")
        flagged = [n for n in self.found.live_out if self._needs_flag(n)]
        decorator = self._decorator(names, model)
        kernel = Signature(
            self._free(f"_{self._owner()}_kernel"),
            (*self._kernel_params(names), *names.arguments.values()),
            tuple(names.params.get(n, n) for n in self.found.live_out),
            {n: self._free_param(f"{names.params.get(n, n)}_set", names.params) for n in flagged},
            {
                (param := names.params[path]): self._free_param(f"new_{param}", names.params)
                for path in self.state.grown
            },
        )
        self._list_helpers(checks, names)
        parts = [*self._checked(names), *self._helper_copies(names, decorator)]
        compiled = self._kernel(kernel, names, decorator)
        # in threads, what raises must stay a call
        parts = [*(parts if self.parallel else folded(parts, compiled)), compiled]
        exponents = [self._spelled(t, names) for t in self.state.exponents.values()]
        call = f"{kernel.name}({', '.join([*names.params, *exponents])})"
        flavoured = (len(kernel.returns) > 1 and self._flavoured()) or bool(kernel.flags)
        kept = self._result_names(kernel.returns) != kernel.returns
        wrapped = checks.tests or checks.before or flavoured or kept or kernel.lists
        if wrapped or checks.arguments or self._named_text() or self._raises():
            wrapper = self._free(f"_{self._owner()}_loops")
            parts.append(self.wrapper(wrapper, kernel, names, checks, exponents))
            call = f"{wrapper}({', '.join([*names.params, *self._owners(names)])})"
            returned = call
        else:
            returned = self._with_flavour(call, names) if len(kernel.returns) == 1 else call
        targets = (*self.found.live_out, *self._handed_back())
        top = top_level_statement(self.source, self.region.loop)
        offset, text = functions_block(self.source, top, parts)
        self.edits += [
            Edit(offset, offset, text),
            *replacement(self.source, self.region.loop, targets, returned),
        ]
        return Match(
            edits=tuple(self.edits),
            why=WHY,
            change=self._change(kernel.name),
            needs=frozenset({"numba"}),
            ledger=(*checks.ledger, *self._ledger()),
            exactness=Exactness.BITS,
            differences=self._differences(),
        )

    def _kernel_params(self, names: Names) -> list[str]:
        """Inputs of the kernel; a list that is only appended to starts empty there."""
        left_out = unread_lists(self.state) | (set(self.state.kept) - set(self.state.read))
        return [p for path, p in names.params.items() if path not in left_out]

    def _free(self, wanted: str) -> str:
        name = free_name(self.source, wanted, self.taken)
        self.taken.add(name)
        return name

    def _owner(self) -> str:
        """What new names start with: no two regions of a file share it."""
        region = self.region
        name = region.function.name if region.function else "main"
        if region.class_name:
            name = f"{region.class_name.lower()}_{name.strip('_')}"
        scope: ast.AST = region.function or region.source.tree
        loops = [n for n in own_nodes(scope) if isinstance(n, ast.For | ast.While)]
        loops.sort(key=lambda n: (n.lineno, n.col_offset))
        number = next((k for k, n in enumerate(loops, start=1) if n is region.loop), 1)
        return name.strip("_") + (f"_{number}" if number > 1 else "")

    def _names(self) -> Names:
        state = self.state
        params: dict[str, str] = {}
        for path in (*state.read, *state.grown, *state.kept, *self._extra_symbols()):
            if path in self.found.entry and path not in params:
                wanted = path.rpartition(".")[2].lstrip("_") or "value"
                params[path] = path if "." not in path else self._free_param(wanted, params)
        for name in self.found.live_out:
            if "." in name and name not in params:
                params[name] = self._free_param(name.rpartition(".")[2], params)
        owner = self._owner()
        functions = {key: self._free(f"_{owner}_{key}") for key in state.checked}
        functions |= {
            key: self._free(f"_{owner}_{key.rpartition('.')[2].strip('_')}") for key in state.called
        }
        if self._uses_lists():
            helpers = helper_names(state.assumption.list_bits)
            functions |= {key: self._free(name) for key, name in helpers.items()}
        arguments = {key: self._free_param(key, params) for key in state.exponents}
        return Names(params, functions, arguments, *self._packages(params))

    def _packages(self, params: dict[str, str]) -> tuple[str, str, str]:
        """What NumPy, numba and the decorator are called; imports what is not yet."""
        njit, edit = from_import_edit(self.source, "numba", "njit")
        numba = njit.rpartition(".")[0]
        if edit is not None or (self.parallel and not numba):
            numba, edit = import_edit(self.source, "numba")
            njit = f"{numba}.njit"
        numpy, second = import_edit(self.source, "numpy", "np")
        self._import(edit, second if self._needs_numpy(params) else None)
        return numpy, numba, njit

    def _import(self, first: Edit | None, second: Edit | None) -> None:
        """Two imports at one place come in one edit, or blank lines would part them."""
        if first is not None and second is not None and first.start == second.start:
            one = first.text.strip("\n")
            text = second.text.replace("import ", f"{one}\nimport ", 1)
            first, second = None, Edit(second.start, second.end, text)
        self.edits += [edit for edit in (first, second) if edit is not None]

    def _uses_lists(self) -> bool:
        return any(
            observed(self.region, p).kind in ("list", "tuple")
            for p in self.state.read
            if p in self.found.entry and not isinstance(self.found.entry[p], Num)
        )

    def _needs_numpy(self, params: dict[str, str]) -> bool:
        """Arrays are guarded by ``np.`` something, casts and results are spelled with it."""
        if self.state.casts or self._flavoured() or (self.order and any(self.order.rows.values())):
            return True
        for path in params:
            value = self.found.entry.get(path)
            if isinstance(value, View) and path in unread_lists(self.state):
                if not value.element.is_python:
                    return True
                continue
            if value is not None and (not isinstance(value, Num) or not value.type.is_python):
                return True
        return False

    def _extra_symbols(self) -> list[str]:
        """Scalars and arrays that only a guard mentions."""
        symbols = {s for pair in self.state.used_equal for s in pair}
        symbols |= {s for form in self.state.used_sizes for s in form.symbols}
        arrays = {e[0] for e in map(extent_of, symbols) if e is not None}
        return sorted(s for s in symbols | arrays if s in self.found.entry)

    def _free_param(self, wanted: str, params: Mapping[str, str]) -> str:
        used = {n.id for n in ast.walk(self.region.loop) if isinstance(n, ast.Name)}
        name = wanted
        while name in used or name in params.values() or name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def _error_model(self) -> str:
        division = self.state.division
        if division.numpy and division.python:
            for node, left, right, op in division.numpy:
                if op != "/" or not isinstance(node, ast.BinOp):
                    text = "divisions by zero of Python's and of NumPy's kind in one loop"
                    raise Unsupported(text, right.lineno)
                self.state.infix_call(node, left, right, "\0np.divide")
                self.state.casts = True
            return "python"
        divides = any(isinstance(n, ast.Div | ast.FloorDiv | ast.Mod) for n in self._operators())
        return "numpy" if divides and not division.python else "python"

    def _operators(self) -> list[ast.operator]:
        roots: list[ast.AST] = [self.region.loop, *self.state.called.values()]
        return [n for root in roots for n in ast.walk(root) if isinstance(n, ast.operator)]

    def _decorator(self, names: Names, model: str) -> str:
        options = ["cache=True"]
        if self.parallel:
            options.append("parallel=True")
        if model == "numpy":
            options.append('error_model="numpy"')
        if self.state.unchecked is not None:
            if self.parallel:
                text = f"`{ast.unparse(self.state.unchecked)}` may be out of bounds"
                raise Unsupported(text, self.state.unchecked.lineno)
            options.append("boundscheck=True")
        return f"@{names.njit}({', '.join(options)})"

    # ----------------------------------------------------------- functions
    def _spelled(self, text: str, names: Names) -> str:
        return text.replace("\0np.", f"{names.numpy}.")

    def _checked(self, names: Names) -> list[str]:
        return [
            checked_helper(key, names.functions[key], spelled, f"@{names.njit}(cache=True)")
            for key, spelled in self.state.checked.items()
        ]

    def _list_helpers(self, checks: Guards, names: Names) -> None:
        """Each an edit of its own at one place, so that several regions share them."""
        body = self.source.tree.body
        skipped = ast.Import | ast.ImportFrom
        first = next(
            (
                s
                for k, s in enumerate(body)
                if not isinstance(s, skipped) and not (k == 0 and _is_docstring(s))
            ),
            body[-1],
        )
        bits = self.state.assumption.list_bits
        texts = [
            list_helper_text(key, names.functions, LEVEL, bits)
            for key in with_callees(checks.helpers)
        ]
        for text in texts:
            offset, block = functions_block(self.source, first, [text])
            self.edits.append(Edit(offset, offset, block))

    def _helper_copies(self, names: Names, decorator: str) -> list[str]:
        """User functions called in the loop, compiled; those called by others come first."""
        plain = decorator.replace("parallel=True, ", "").replace(", parallel=True", "")
        parts = []
        for key in self.state.called:
            text = helper_text(self.source, self.state, key, names)
            parts.append(f"{plain}\n{text}\n")
        return parts

    def _kernel(self, kernel: Signature, names: Names, decorator: str) -> str:
        loop = self.region.loop
        exponents = {ARGUMENT + key: name for key, name in names.arguments.items()}
        given = {**names.params, **exponents}
        edits: list[TextEdit] = [
            *(e for e in self.state.edits),
            *attribute_edits(self.source, loop, names.params),
            *call_edits(self.source, loop, self.state, names, {}, given),
            *(
                TextEdit(start, 0, end, f"{names.numba}.prange")
                for start, end in self.parallel_edits
            ),
        ]
        lines = [decorator, f"def {kernel.name}({', '.join(kernel.params)}):"]
        lines.append(f'{LEVEL}"""{self._docstring()}"""')
        lines += [f"{LEVEL}{ast.unparse(s)}" for s in self.state.preamble.values()]
        lines += [f"{LEVEL}{flag} = False" for flag in kernel.flags.values()]
        for param in kernel.lists:
            start = f"list({param})" if param in kernel.params else "[]"
            lines.append(f"{LEVEL}{param} = {start}")
        edits += flag_edits(self.source, loop, self._marks(kernel, names))
        lines.append(self._body(edits, names))
        lines += [f"{LEVEL}{line}" for line in trailing_comments(self.source, loop)]
        returned = (*kernel.returns, *kernel.flags.values(), *kernel.lists)
        if returned:
            lines.append(f"{LEVEL}return {', '.join(returned)}")
        return "\n".join(lines) + "\n"

    def _body(self, edits: list[TextEdit], names: Names) -> str:
        """The loop, in the order that is best."""
        loop, order = self.region.loop, self.order
        if order is None:
            return body_text(self.source, loop, edits, names)
        rows = {
            (key, row.name): self._free_param(f"{row.name}_row", names.params)
            for key, rows in order.rows.items()
            for row in rows
        }
        copy, found = edited(
            self.source, loop, [*edits, *row_edits(self.source, order, rows)], names
        )
        free = partial(self._free_param, params=names.params)
        return OrderText(copy, order, found, names.numpy, rows, free).text()

    def _marks(self, kernel: Signature, names: Names) -> dict[tuple[int, int], list[str]]:
        """Statements below assignments that decide a type, or may outgrow 64 bits."""
        marks = looks(self.state, dict(names.params))
        for path, flag in kernel.flags.items():
            after = self._type_after(path)
            assert isinstance(after, Flagged)
            for place, value in after.marks:
                marks.setdefault(place, []).append(f"{flag} = {value}")
        return marks

    def _docstring(self) -> str:
        function = self.region.function
        where = f"{function.name}()" if function else "this script"
        text = f"The loops of {where}, compiled."
        if self.order is not None and (self.order.moved or self.order.swapped):
            text = f"The loops of {where}, compiled, in an order that walks along rows."
        characters = legend(self.region, self.state.called)
        if characters:
            text += f"\n\n{LEVEL}Text is numbers here: {characters}.\n{LEVEL}"
        if self.state.exponents:
            # LLVM turns x ** 2.0 into x * x: another last digit than Python's pow
            text += f"\n\n{LEVEL}Exponents are arguments: as literals they would be multiplied out,"
            text += f"\n{LEVEL}which rounds otherwise.\n{LEVEL}"
        return text


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
