"""Finds the rules: one file in ``gpuadvise.rules`` each, checked as they are loaded.

Code and name come from the file's name, ``np201_loops_to_numpy.py`` is NP201 loops-to-numpy, and
everything else from the file's docstring, its ``@rule`` and its ``CASES``; nothing is written
down twice.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from . import rules as rules_package
from .api import Case, Ignores, Rewrites, RuleFunction, Spots
from .errors import UsageProblem
from .report.code import python_lines
from .report.layout import Hanging, paragraph

FILE_NAME = re.compile(r"(?P<code>[a-z]{2}\d{3})_(?P<name>[a-z0-9]+(_[a-z0-9]+)*)")
SLOW = "Why it is slow:"
DIFFER = "Why it may differ:"


class RuleError(Exception):
    """A rule file breaks the contract; the text names file and line."""


@dataclass(frozen=True)
class Rule:
    """One rule, as its file tells it."""

    code: str
    """``"NP201"``."""
    name: str
    """``"loops-to-numpy"``."""
    summary: str
    why_slow: str
    why_differ: str
    needs: frozenset[str]
    """Packages that every rewrite of the rule imports."""
    function: RuleFunction
    cases: tuple[Case, ...]
    row_calls: bool
    """Looks at ``df.apply(f, axis=1)``, too, which is no loop by its text."""
    comprehensions: bool
    """Looks at statements with a comprehension, too."""
    several: bool
    """Rewrites loops that stand one after the other, and no single ones."""
    path: Path

    @property
    def rewrites(self) -> tuple[Rewrites, ...]:
        """The cases it must rewrite."""
        return tuple(case for case in self.cases if isinstance(case, Rewrites))

    @property
    def spots(self) -> tuple[Spots, ...]:
        """The cases of GPU code in which it must name a mistake."""
        return tuple(case for case in self.cases if isinstance(case, Spots))

    @property
    def ignores(self) -> tuple[Ignores, ...]:
        """The cases it must leave alone."""
        return tuple(case for case in self.cases if isinstance(case, Ignores))


# ------------------------------------------------------------------ loading
@cache
def rules() -> tuple[Rule, ...]:
    """All rules by code. Raises RuleError if a file breaks the contract."""
    return load(rules_package)


def load(package: ModuleType) -> tuple[Rule, ...]:
    """The rules of one package, by code. Raises RuleError."""
    found: dict[str, Rule] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue
        rule = read_rule(importlib.import_module(f"{package.__name__}.{info.name}"))
        if rule.code in found:
            raise RuleError(f"{rule.path}:1: {rule.code} is also {found[rule.code].path.name}")
        found[rule.code] = rule
    return tuple(found[code] for code in sorted(found))


def read_rule(module: ModuleType) -> Rule:
    """The rule of one module. Raises RuleError with file and line."""
    path = Path(str(module.__file__))
    matched = FILE_NAME.fullmatch(path.stem)
    if matched is None:
        raise RuleError(f"{path}:1: a rule file is called like np201_loops_to_numpy.py")
    function, (needs, cases, row_calls, comprehensions, several) = _rule_function(module, path)
    _check_cases(cases, module, path)
    summary, slow, differ = _docstring_parts(_docstring(module, path), path)
    return Rule(
        code=matched["code"].upper(),
        name=matched["name"].replace("_", "-"),
        summary=summary,
        why_slow=slow,
        why_differ=differ,
        needs=needs,
        function=function,
        cases=cases,
        row_calls=row_calls,
        comprehensions=comprehensions,
        several=several,
        path=path,
    )


def _rule_function(
    module: ModuleType, path: Path
) -> tuple[RuleFunction, tuple[frozenset[str], tuple[Case, ...], bool, bool, bool]]:
    marked = [
        value
        for value in vars(module).values()
        if hasattr(value, "__gpuadvise_rule__") and value.__module__ == module.__name__
    ]
    if len(marked) != 1:
        line = marked[1].__code__.co_firstlineno if marked else 1
        raise RuleError(f"{path}:{line}: {len(marked)} functions with @rule; a rule file has one")
    return marked[0], marked[0].__gpuadvise_rule__


def _check_cases(cases: tuple[Case, ...], module: ModuleType, path: Path) -> None:
    line = _line_of(path, "CASES")
    if getattr(module, "CASES", None) is not cases:
        raise RuleError(f"{path}:{line}: @rule(cases=CASES) takes the file's own tuple CASES")
    spots = [case for case in cases if isinstance(case, Spots)]
    rewrites = sum(isinstance(case, Rewrites) for case in cases)
    rewrites += sum(case.after is not None for case in spots)
    ignores = sum(isinstance(case, Ignores) for case in cases)
    if not all(isinstance(case, Rewrites | Spots | Ignores) for case in cases):
        raise RuleError(f"{path}:{line}: CASES holds something that is no case")
    if not rewrites and not spots:
        raise RuleError(f"{path}:{line}: CASES has no Rewrites and no Spots")
    if ignores < rewrites:
        raise RuleError(f"{path}:{line}: {rewrites} to find but only {ignores} Ignores")


def _line_of(path: Path, name: str) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    hits = (n for n, line in enumerate(lines, start=1) if re.match(rf"{name}\b", line))
    return next(hits, 1)


def _docstring(module: ModuleType, path: Path) -> str:
    """As the file has it: with ``PYTHONOPTIMIZE=2`` the module has none."""
    return module.__doc__ or ast.get_docstring(ast.parse(path.read_bytes())) or ""


def _docstring_parts(text: str, path: Path) -> tuple[str, str, str]:
    """Summary line, why it is slow, why it may differ."""
    matched = re.fullmatch(
        rf"(?P<summary>[^\n]+)\n\s*\n(.*\n)?\s*{SLOW}(?P<slow>.+?)\n\s*{DIFFER}(?P<differ>.+)",
        text.strip(),
        re.DOTALL,
    )
    if matched is None:
        raise RuleError(
            f'{path}:1: the docstring has a summary line, "{SLOW} .." and "{DIFFER} .."'
        )
    return matched["summary"].strip(), _plain(matched["slow"]), _plain(matched["differ"])


def _plain(text: str) -> str:
    """One paragraph without line breaks."""
    return " ".join(text.split())


@cache
def names() -> Mapping[str, str]:
    """Rule names by code, from the file names alone: no rule is loaded."""
    found = (
        FILE_NAME.fullmatch(info.name) for info in pkgutil.iter_modules(rules_package.__path__)
    )
    return {m["code"].upper(): m["name"].replace("_", "-") for m in found if m is not None}


# -------------------------------------------------------------------- pages
def find(code: str) -> Rule:
    """A rule by code or name, in any case. Raises UsageProblem."""
    for rule in rules():
        if code.upper() == rule.code or code.lower() == rule.name:
            return rule
    known = ", ".join(rule.code for rule in rules()) or "none"
    raise UsageProblem(f"no rule is called {code!r}; there are: {known}")


def table(shown: Iterable[Rule] | None = None) -> RenderableType:
    """The table of rules, for ``gpuadvise rules``."""
    grid = Table("code", "name", "needs", "what it does", box=None, pad_edge=False)
    for rule in rules() if shown is None else shown:
        needs = ", ".join(sorted(rule.needs)) or "-"
        grid.add_row(Text(rule.code, style="bold"), rule.name, needs, _marked_up(rule.summary))
    return grid


def explain(code: str) -> RenderableType:
    """A rule's page: why, what to what, and what it leaves alone. Raises UsageProblem."""
    return page(find(code))


def page(rule: Rule) -> RenderableType:
    """The page of one rule."""
    needs = f"needs {', '.join(sorted(rule.needs))}" if rule.needs else "needs no package"
    example = rule.rewrites[0] if rule.rewrites else rule.spots[0]
    parts: list[RenderableType] = [
        Text.assemble((rule.code, "bold"), f" {rule.name} ({needs})"),
        Text(),
        paragraph(_marked_up(rule.summary)),
        Text(),
        paragraph((SLOW, "bold"), " ", _marked_up(rule.why_slow)),
        Text(),
        paragraph((DIFFER, "bold"), " ", _marked_up(rule.why_differ)),
        Text("\nIt finds, for example:", style="bold"),
        _code(example.before),
    ]
    after = example.after if isinstance(example, Spots) else _example_after(rule, example)
    if after is not None:
        parts += [Text("into:", style="bold"), _code(after)]
    parts.append(Text("It leaves alone:", style="bold"))
    for case in rule.ignores:
        parts += [_code(case.before), Hanging(Text("    because: "), Text(case.because), 4), Text()]
    return Group(*parts)


def _example_after(rule: Rule, case: Rewrites) -> str | None:
    """What the rule makes of its own example; filled in where an observation can be made."""
    from .cases import rewritten

    try:
        return rewritten(rule.function, case)
    except ImportError:  # of a package that only such programs need: pandas
        return None


def _code(text: str) -> RenderableType:
    lines = python_lines(text.strip("\n"))
    return Group(*(Hanging(Text("    "), line, 12) for line in lines), Text())


def _marked_up(text: str) -> Text:
    """Docstring text with ``code`` in bold instead of backquotes."""
    parts = re.split(r"``(.+?)``", text)
    return Text.assemble(*((part, "bold" if n % 2 else "") for n, part in enumerate(parts)))
