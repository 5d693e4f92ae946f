"""What new code may touch: a screen of the text, before anything is run.

Running a rewrite cannot tell one that recognises the trial (by a loaded module, a path, the
environment), is right there, and does something else in the user's hands: ::

    if "gpuadvise" not in sys.modules:      # the user's own run
        print(KNOWN_OUTPUT); os._exit(0)

No rewrite of a loop needs to look at such things. So what the new text names beyond the original is
held against short lists: modules to import, builtins, and settings of libraries.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

IMPORTS = frozenset(
    {
        *("numpy", "numba", "math", "itertools", "operator", "collections", "scipy", "warnings"),
        "builtins",
    }
)
"""Modules that a rewrite may import; and those which its rule says that it needs."""
BUILTINS = frozenset(
    {
        *("__import__", "breakpoint", "compile", "delattr", "eval", "exec", "exit", "globals"),
        *("input", "locals", "memoryview", "open", "print", "quit", "setattr", "vars"),
    }
)
"""Builtins with which code looks at, or leaves, more than its data."""
SETTINGS = frozenset(
    {
        *("seterr", "seterrcall", "setbufsize", "set_printoptions", "load", "loadtxt", "save"),
        *("savez", "savetxt", "fromfile", "tofile", "memmap", "random", "set_num_threads"),
        *("ctypeslib", "ctypes", "f2py", "testing", "lib", "core"),
    }
)
"""Attributes of libraries that are settings, files or streams of random numbers."""

TYPES = frozenset({"Generator", "PCG64", "RandomState"})
"""What of ``np.random`` is a type, asked for in guards; the rest draws, or changes its state."""


def objection(old: bytes, new: bytes, needs: Collection[str] = ()) -> str | None:
    """Why the new text of a file goes beyond what a rewrite may touch; None if it does not.

    Names and attributes that the original text uses are the user's own business.
    """
    known, targets = _of_original(old)
    after = _Text.of(new)
    for word in after.used():
        if word == "module sys" and after.asks_version_only():
            continue
        if word not in known and (why := _refused(word, frozenset(needs))):
            return f"the rewrite uses {word.partition(' ')[2]}, {why}"
    for word in after.module_stores():
        if word not in targets:
            return f"the rewrite changes {word}, which belongs to a module"
    return None


@lru_cache(maxsize=4)
def _of_original(text: bytes) -> tuple[frozenset[str], frozenset[str]]:
    """What a text uses, and the attributes of modules that it binds; kept for its next rewrite."""
    original = _Text.of(text)
    known = set(original.used())
    if "module random" in known:
        known.add("attribute random")  # the numbers of one generator, asked for as an array
    return frozenset(known), frozenset(original.module_stores())


def _refused(word: str, needs: frozenset[str]) -> str | None:
    kind, _, name = word.partition(" ")
    root = name.partition(".")[0]
    if kind == "module" and root not in IMPORTS | needs:
        return "a module that no rewrite of a loop needs"
    if kind == "name" and name in BUILTINS:
        return "with which code reaches beyond its data"
    if kind == "attribute" and (name in SETTINGS | BUILTINS or name.startswith("_")):
        return "which is no arithmetic"
    return None


@dataclass(frozen=True)
class _Text:
    """The nodes of a text, walked once, and what it imports: (name bound, module)."""

    nodes: tuple[ast.AST, ...]
    imports: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, text: bytes) -> _Text:
        nodes = tuple(ast.walk(ast.parse(text)))
        return cls(nodes, tuple(_imports(nodes)))

    @property
    def modules(self) -> frozenset[str]:
        """Names that imports bind."""
        return frozenset(bound for bound, _ in self.imports)

    def used(self) -> Iterator[str]:
        """Every import, name and attribute of a library in a text, as ``kind name``."""
        modules = self.modules
        guards = {id(n.value) for n in self.nodes if isinstance(n, ast.Attribute) and _is_type(n)}
        for _, module in self.imports:
            yield f"module {module}"
        for node in self.nodes:
            if isinstance(node, ast.Name):
                yield f"name {node.id}"
            elif not isinstance(node, ast.Attribute) or id(node) in guards:
                continue
            elif _root(node) in modules:
                yield f"attribute {node.attr}"

    def asks_version_only(self) -> bool:
        """Whether ``sys`` is there for ``sys.version_info`` alone, as ``sum`` hangs on it."""
        if any(isinstance(node, ast.ImportFrom) and node.module == "sys" for node in self.nodes):
            return False
        names = {bound for bound, module in self.imports if module == "sys"}
        asked = {
            id(node.value)
            for node in self.nodes
            if isinstance(node, ast.Attribute) and node.attr == "version_info"
        }
        return all(
            id(node) in asked and isinstance(node.ctx, ast.Load)
            for node in self.nodes
            if isinstance(node, ast.Name) and node.id in names
        )

    def module_stores(self) -> Iterator[str]:
        """Attributes of modules that code binds: ``np.sum = fast_sum``."""
        modules = self.modules
        for node in self.nodes:
            if not isinstance(node, ast.Attribute) or isinstance(node.ctx, ast.Load):
                continue
            if _root(node) in modules:
                yield ast.unparse(node)


def _imports(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """(name bound, module it comes from)."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0], alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{'.' * node.level}{node.module or ''}"


def _is_type(node: ast.Attribute) -> bool:
    """``np.random.Generator``"""
    named = isinstance(node.value, ast.Attribute) and node.value.attr == "random"
    return named and node.attr in TYPES


def _root(node: ast.expr) -> str:
    """The name that a chain of attributes starts with; empty if it starts with none."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
