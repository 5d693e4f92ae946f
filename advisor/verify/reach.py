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
from collections.abc import Collection, Iterator

IMPORTS = frozenset({"numpy", "numba", "math", "itertools", "operator", "collections", "scipy"})
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


def objection(old: bytes, new: bytes, needs: Collection[str] = ()) -> str | None:
    """Why the new text of a file goes beyond what a rewrite may touch; None if it does not.

    Names and attributes that the original text uses are the user's own business.
    """
    before, after = ast.parse(old), ast.parse(new)
    known = set(_used(before))
    for word in _used(after):
        if word not in known and (why := _refused(word, frozenset(needs))):
            return f"the rewrite uses {word.partition(' ')[2]}, {why}"
    targets = set(_module_stores(before))
    for word in _module_stores(after):
        if word not in targets:
            return f"the rewrite changes {word}, which belongs to a module"
    return None


def _refused(word: str, needs: frozenset[str]) -> str | None:
    kind, _, name = word.partition(" ")
    root = name.partition(".")[0]
    if kind == "module" and root not in IMPORTS | needs:
        return "a module that no rewrite of a loop needs"
    if kind == "name" and name in BUILTINS:
        return "with which code reaches beyond its data"
    if kind == "attribute" and (name in SETTINGS or name.startswith("_")):
        return "which is no arithmetic"
    return None


def _used(tree: ast.Module) -> Iterator[str]:
    """Every import, name and attribute of a library in a text, as ``kind name``."""
    modules = {bound for bound, _ in _imports(tree)}
    for _, module in _imports(tree):
        yield f"module {module}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield f"name {node.id}"
        elif isinstance(node, ast.Attribute) and _root(node) in modules:
            yield f"attribute {node.attr}"


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(name bound, module it comes from)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0], alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{'.' * node.level}{node.module or ''}"


def _root(node: ast.expr) -> str:
    """The name that a chain of attributes starts with; empty if it starts with none."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _module_stores(tree: ast.Module) -> Iterator[str]:
    """Attributes of modules that code binds: ``np.sum = fast_sum``."""
    modules = {bound for bound, _ in _imports(tree)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or isinstance(node.ctx, ast.Load):
            continue
        if _root(node) in modules:
            yield ast.unparse(node)
