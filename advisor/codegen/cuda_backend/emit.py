"""One region as kernels: analysed as for numba on the CPU, planned, written, guarded."""

from __future__ import annotations

import ast
from dataclasses import replace

from ...loopnest.affine import Affine
from ...loopnest.ir import Kind, Nest
from ...loopnest.ranges import Observed, ranges_of
from ...loopnest.scope import dotted
from ...model import Basis, Condition, Edit, Exactness, Match, Region
from ...names import from_import_edit, import_edit
from ..nb_analyse import Analysed
from ..nb_guards import Guards, free_local, guards
from ..nb_helpers import call_edits, helper_text, method_tests
from ..nb_scope import observed
from ..nb_state import ARGUMENT, Remainder
from ..nb_text import (
    LEVEL,
    Names,
    attribute_edits,
    body_text,
    functions_block,
    replacement,
    top_level_statement,
)
from ..nb_values import Unsupported
from ..numba_cpu import Emission
from .cover import is_covered
from .failing import DIVISOR, looking, may_fail, note_failures, refuse_others
from .library import CHOOSING, chooser, renamed_calls
from .plan import Launch, Repeat, Step, launches
from .relaxed import ask_of_distances
from .replay import Replay, pays
from .rounding import Products, called_with, inexact_calls
from .text import (
    Kernel,
    Launcher,
    LoopText,
    continues_as_returns,
    host_names,
    kernel,
    launcher,
    names_in,
)

WHY = "every iteration runs Python bytecode on one core, though thousands could run at once"


CONTEXT = (
    "a process that has used the GPU takes some hundred megabytes more, and children that it"
    " forks afterwards cannot use the GPU"
)
_WRAPPED = '''\
{0}(device=True)
def {1}(k, n):
    """k % n for -n <= k < 2 * n, without a division."""
    if k < 0:
        return k + n
    return k - n if k >= n else k
'''
_BELOW = '''\
{0}(device=True)
def {1}(k, n):
    """k % n as an index, for -n <= k < 2 * n: a negative one counts from the end as it is."""
    return k - n if k >= n else k
'''


class CudaEmission(Emission):
    """One rewrite under way."""

    def __init__(self, region: Region, found: Analysed, step: Step) -> None:
        super().__init__(region, found, parallel=False)
        self.step = step
        self.parallel = True  # guards: arrays share no memory, and the loop in Python stays
        self.loop = region.loop
        assert isinstance(self.loop, ast.For) and isinstance(region.nest, Nest)
        self.nest: Nest = region.nest
        self.zeroed: dict[str, tuple[str, ...]] = {}
        """Arrays of which each thread sets its own element to zero first, with its subscript."""
        self.choosers: dict[str, str] = {}
        """Built-ins ``min`` and ``max`` -> the function that takes their place."""
        self.rests_on_elements = False
        """Whether a test in front asks what an array holds."""
        self.flag = ""
        """The array in which kernels note that Python would raise; empty if it cannot."""

    def prepare(self, known: frozenset[str] = frozenset()) -> None:
        """Everything but the functions around the kernels. ``known``: see `guards`."""
        self._refuse_what_kernels_lack()
        self._error_model()
        self.products = Products(self.source, self.state, launches(self.step))
        self.products.edit()
        self._rename_calls()
        wraps = self._wrap_once()
        looked = self._note_failures()
        self.names = names = self._names()
        self.checks = guards(self.found, names, True, known)
        for test in method_tests(self.state):
            self.checks.ask(test, f"{test}, whose methods are called", "the object seen")
        self.rests_on_elements = ask_of_distances(self.nest, self.checks, names.params)
        self._layouts(self.checks, names, known)
        self._list_helpers(self.checks, names)
        self.text = self._text(names)
        decorator = f"@{names.njit}"
        self.parts = [text.format(decorator) for text in wraps]
        self.parts += [chooser(kind, name, decorator) for kind, name in self.choosers.items()]
        self.parts += self._looking(looked, names)
        self.parts += self._device_functions(names)
        self.kernels = self._kernels(names, self.text)
        self.parts += [one.text for one in self.kernels]

    def match(self) -> Match:
        """The finished rewrite."""
        self.prepare()
        names, checks, kernels, parts = self.names, self.checks, self.kernels, self.parts
        run = self._free(f"_{self._owner()}_on_gpu")
        made = self._launcher(run, kernels, names)
        if made.replay is not None:
            parts.append(made.replay.text)
        parts.append(launcher(made, self.step, kernels, self.text))
        wrapper = self._free(f"_{self._owner()}_loops")
        parts.append(self._wrapper(wrapper, run, names, checks))
        call = f"{wrapper}({', '.join([*names.params, *self._owners(names)])})"
        top = top_level_statement(self.source, self.loop)
        offset, block = functions_block(self.source, top, parts)
        self.edits += [
            Edit(offset, offset, block),
            *replacement(self.source, self.loop, (), call),
        ]
        return Match(
            edits=tuple(self.edits),
            why=WHY,
            change=self._changed(kernels),
            needs=frozenset({"numba", "cuda"}),
            ledger=(*checks.ledger, *self._ledger(), *self.conditions()),
            exactness=self.exactness(),
            differences=self.what_differs(),
        )

    def what_differs(self) -> tuple[str, ...]:
        """What a user can notice although every result is equal."""
        return (*self._differences(), CONTEXT)

    def exactness(self) -> Exactness:
        """Whether only operations are used that both round alike."""
        return Exactness.LAST_DIGIT if inexact_calls(self.state) else Exactness.BITS

    # -------------------------------------------------------------- refusals
    def _refuse_what_kernels_lack(self) -> None:
        state, line = self.state, self.loop.lineno
        if state.made or state.native or state.grown:
            raise Unsupported("lists that grow have no place on a GPU", line)
        refuse_others(state, list(launches(self.step)))
        if state.preamble:
            name = next(iter(state.preamble))
            raise Unsupported(f"{name} is a list, which a kernel cannot read", line)
        for name in self.found.live_out:
            raise Unsupported(f"{name} is read after the loop", line)
        types = dict(self.nest.privates)
        types |= {name: array.element for name, array in self.nest.arrays.items()}
        types |= {name: scalar.type for name, scalar in self.nest.scalars.items()}
        for name, type_ in types.items():
            if type_.kind is Kind.COMPLEX:
                raise Unsupported(f"{name} is complex: its products round otherwise there", line)
        if not any(array.ndim for array in self.nest.arrays.values()):
            raise Unsupported("the loop works on no array", line)

    # --------------------------------------------------------------- names
    def _packages(self, params: dict[str, str]) -> tuple[str, str, str]:
        cuda, edit = from_import_edit(self.source, "numba", "cuda")
        numpy, second = import_edit(self.source, "numpy", "np")
        for one in (edit, second):
            self._import_below(one)
        for function in self.products.functions:
            local, third = from_import_edit(self.source, "numba.cuda.libdevice", function)
            if local != function:
                raise Unsupported(f"the file has a name {function} of its own")
            self._import_below(third)
        self.warnings, edit = import_edit(self.source, "warnings")
        self._import_below(edit)
        return numpy, cuda.rpartition(".")[0] or "numba", f"{cuda}.jit"

    def _rename_calls(self) -> None:
        """NumPy's functions under the names that numba.cuda knows."""
        for function, name in renamed_calls(self.state):
            if name in CHOOSING:
                if name not in self.choosers:
                    self.choosers[name] = self._free(f"_{self._owner()}_{name}")
                name = self.choosers[name]
            elif name.startswith("math."):
                local, edit = import_edit(self.source, "math")
                name = name.replace("math", local, 1)
                if edit is not None and edit not in self.edits:
                    self._import_below(edit)
            self.state.replace(function, name)

    def _wrap_once(self) -> list[str]:
        """``(i + 1) % n`` without its division, which takes a GPU some forty instructions.

        The functions that do it, as text with a gap for the decorator.
        """
        names: dict[str, str] = {}
        for node, found in self.state.remainders.items():
            if found is None or node not in self.products.parents:
                continue
            assert isinstance(node, ast.BinOp)
            text = _BELOW if self._is_index(node, found) else _WRAPPED
            wanted = "below" if text is _BELOW else "wrapped"
            if text not in names:
                # named after the function: rewrites of two functions may go into one file
                names[text] = self._free(f"_{self._owner()}_{wanted}")
            called_with(self.state, node, found.left, found.right, names[text])
        return [text.format("{0}", name) for text, name in names.items()]

    def _is_index(self, node: ast.BinOp, found: Remainder) -> bool:
        """Whether a remainder is nothing but the index of an axis with that many elements."""
        parents = self.products.parents
        axis, holder = 0, parents[node]
        if isinstance(holder, ast.Tuple):
            axis, holder = holder.elts.index(node), parents[holder]
        if not isinstance(holder, ast.Subscript) or holder.value is node:
            return False
        path = dotted(holder.value)
        if path is None or path not in self.nest.arrays:
            return False
        if observed(self.region, path).kind != "ndarray":
            return False
        return found.modulus - self.state.extent(path, axis) == Affine((), 0)

    def _note_failures(self) -> dict[str, str]:
        """Where Python may raise, the kernels note it. Names of the functions that look."""
        if not may_fail(self.state):
            return {}
        self.flag = self._free_param("failed", {})
        functions = {}
        if self.state.division.python:
            functions[DIVISOR] = self._free(f"_{self._owner()}_divisor")
        note_failures(self.state, functions, self.flag)
        return functions

    def _looking(self, functions: dict[str, str], names: Names) -> list[str]:
        decorator = f"@{names.njit}(device=True)"
        parts = [looking(key, name, "", decorator) for key, name in functions.items()]
        return parts + [
            looking(key, names.functions[key], spelled, decorator)
            for key, spelled in self.state.checked.items()
        ]

    def _import_below(self, edit: Edit | None) -> None:
        """One more import, behind one that goes to the same place."""
        if edit is None:
            return
        for position, other in enumerate(self.edits):
            if other.start == edit.start:
                text = other.text.rstrip("\n") + "\n" + edit.text.lstrip("\n")
                self.edits[position] = replace(other, text=text)
                return
        self.edits.append(edit)

    # ---------------------------------------------------------------- guards
    def _layouts(self, checks: Guards, names: Names, known: frozenset[str]) -> None:
        """Copies to and from the device are of whole blocks of memory."""
        arrays = [
            (path, names.params[path])
            for path in self.nest.arrays
            if path in names.params
            and path not in known
            and observed(self.region, path).kind == "ndarray"
        ]
        for flag, written in (("carray", True), ("c_contiguous", False)):
            chosen = [p for path, p in arrays if (path in self.state.written) is written]
            if not chosen:
                continue
            if len(chosen) == 1:
                test = f"{chosen[0]}.flags.{flag}"
            else:
                a = free_local("a", self.found, names)
                test = f"all({a}.flags.{flag} for {a} in ({', '.join(chosen)}))"
            what = "in one block of memory" + (", writeable" if written else "")
            checks.ask(test, f"{', '.join(chosen)}: {what}", "")

    def conditions(self) -> list[Condition]:
        """What equality rests on beyond what holds for compiled loops on the CPU."""
        found = [
            Condition("iterations run as threads depend on none of each other", Basis.PROVED),
            Condition(
                "there is a CUDA device, and the arrays fit its free memory",
                Basis.OBSERVED,
                guarded=True,
                test="cuda.is_available()",
            ),
        ]
        if self.flag:
            text = "kernels note where Python raises; then the loop runs again in Python"
            found.append(Condition(text, Basis.PROVED, "the arrays are untouched until the end"))
        if self.products.functions:
            text = "products are rounded before they are added, as in Python"
            used = ", ".join(self.products.functions)
            found.append(Condition(text, Basis.PROVED, f"{used} is never fused"))
        return found

    # ------------------------------------------------------------------ text
    def _text(self, names: Names) -> LoopText:
        exponents = {ARGUMENT + key: name for key, name in names.arguments.items()}
        given = {**names.params, **exponents}
        edits = [
            *self.state.edits,
            *attribute_edits(self.source, self.loop, names.params),
            *call_edits(self.source, self.loop, self.state, names, {}, given),
        ]
        for launch in launches(self.step):
            edits += continues_as_returns(self.source, launch)
        assert isinstance(self.loop, ast.For)
        return LoopText(self.source, self.loop, edits, names)

    def _device_functions(self, names: Names) -> list[str]:
        """User functions called in the loop, compiled for the device."""
        return [
            f"@{names.njit}(device=True)\n{helper_text(self.source, self.state, key, names)}\n"
            for key in self.state.called
        ]

    def _kernels(self, names: Names, text: LoopText) -> list[Kernel]:
        candidates = [*names.params.values(), *names.arguments.values()]
        candidates += [self.flag] if self.flag else []
        candidates += sorted(host_names(self.step) - set(candidates))
        extents = {
            names.params[path]: [(names.params[a], axis) for a, axis in scalar.equals]
            for path, scalar in self.nest.scalars.items()
            if path in names.params and all(a in names.params for a, _ in scalar.equals)
        }
        found = []
        for launch in launches(self.step):
            name = self._free(f"_{self._owner()}_kernel")
            decorator = f"@{names.njit}(cache=True)"
            doc = self._doc(launch)
            zeroed = [f"{names.params[a]}[{', '.join(at)}]" for a, at in self.zeroed.items()]
            found.append(kernel(name, launch, text, candidates, decorator, doc, zeroed, extents))
        return found

    def _doc(self, launch: Launch) -> str:
        function = self.region.function
        where = f"of {function.name}()" if function else "of this script"
        indices = [axis.index for axis in launch.axes]
        listed = f"({', '.join(indices)})" if len(indices) > 1 else indices[0]
        return f"One thread for each {listed} of the loops {where}."

    def _launcher(self, name: str, kernels: list[Kernel], names: Names) -> Launcher:
        used = {a for one in kernels for a in one.arguments}
        arrays = {p: path for path, p in names.params.items() if path in self.nest.arrays}
        on_device = {p: self._free_param(f"gpu_{p}", names.params) for p in arrays if p in used}
        written = tuple(p for p in on_device if arrays[p] in self.state.written)
        covered = frozenset(p for p in written if is_covered(arrays[p], self.step, self.nest))
        plain = "kernel" if len(kernels) == 1 else "kernel_{}"
        configured = {
            one.name: self._free_param(plain.format(k), names.params)
            for k, one in enumerate(kernels, start=1)
        }
        exponents = tuple(names.arguments.values())
        function = self.region.function
        where = f"{function.name}()" if function else "this script"
        doc = f"Run the loops of {where} on the GPU; False, and nothing done, if they do not fit."
        params = (*names.params.values(), *exponents)
        cuda = names.njit.removesuffix(".jit")
        grid, block = (self._free_param(wanted, names.params) for wanted in ("grid", "block"))
        return Launcher(
            name=name,
            doc=doc,
            params=params,
            on_device=on_device,
            written=written,
            covered=covered,
            configured=configured,
            grid=grid,
            block=block,
            warnings=self.warnings,
            cuda=cuda,
            flag=self.flag,
            numpy=names.numpy,
            replay=self._replay(kernels, names),
        )

    def _replay(self, kernels: list[Kernel], names: Names) -> Replay | None:
        """How steps that launch the same each time are replayed; None where that gains nothing."""
        step = self.step
        if not isinstance(step, Repeat) or not all(isinstance(s, Launch) for s in step.steps):
            return None
        host = host_names(step)
        if any(not host.isdisjoint({*names_in(k.extents), *k.arguments}) for k in kernels):
            return None
        count = ranges_of(self.nest, Observed.EVERYTHING).trips.get(id(step.loop))
        if not pays(count, [(k.launch, self.nest) for k in kernels]):
            return None
        return Replay(
            helper=self._free(f"_{self._owner()}_by_graph"),
            stream=self._free_param("stream", names.params),
            run=self._free_param("run", names.params),
            count=self._free_param("count", names.params),
        )

    def _wrapper(self, name: str, run: str, names: Names, checks: Guards) -> str:
        """The function that asks, and else runs the loop in Python."""
        params = [*names.params.values(), *self._owners(names)]
        cuda = names.njit.removesuffix(".jit")
        exponents = [self._spelled(t, names) for t in self.state.exponents.values()]
        given = [checks.arguments.get(p, p) for p in names.params.values()]
        call = f"{run}({', '.join([*given, *exponents])})"
        tests = [*checks.tests, f"{cuda}.is_available()"]
        if not checks.before:
            tests.append(call)
        lines = [f"def {name}({', '.join(params)}):"]
        lines.append(f'{LEVEL}"""Run the loops on the GPU where they are equal, else in Python."""')
        lines += [f"{LEVEL}if (", f"{LEVEL * 2}{_grouped(tests[0])}"]
        lines += [f"{LEVEL * 2}and {_grouped(t)}" for t in tests[1:]]
        lines.append(f"{LEVEL}):")
        if checks.before:
            lines += [LEVEL * 2 + line for line in checks.before]
            lines.append(f"{LEVEL * 2}if {call}:")
            lines += [LEVEL * 3 + line for line in (*checks.after, "return")]
        else:
            lines.append(f"{LEVEL * 2}return")
        edits = [] if self._owners(names) else attribute_edits(self.source, self.loop, names.params)
        lines.append(body_text(self.source, self.loop, edits, names))
        return "\n".join(lines) + "\n"

    def _changed(self, kernels: list[Kernel]) -> str:
        name = kernels[0].name
        if len(kernels) > 1:
            name += f" and {len(kernels) - 1} more"
        change = f"the loops become the CUDA kernel {name}, by numba.cuda"
        if isinstance(self.step, Repeat):
            change += "; the arrays stay on the device meanwhile"
        return change


def _grouped(test: str) -> str:
    """A test inside a chain of ``and``."""
    return test if not isinstance(ast.parse(test, mode="eval").body, ast.IfExp) else f"({test})"
