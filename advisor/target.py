"""From the words on the command line to a program that can be run."""

from __future__ import annotations

import ast
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.machinery import PathFinder
from pathlib import Path

from .errors import UsageProblem, UserError
from .loopnest.scope import assigned_from_outside
from .model import Source, Target
from .observe.userfiles import user_files


def resolve(command: tuple[str, ...], module: str | None, cwd: Path | None = None) -> Target:
    """The program meant by ``SCRIPT ARGS`` or ``-m MODULE ARGS``.

    Raises UsageProblem where there is no such program, UserError where it is not valid Python.
    Nothing of the user's is imported or run.
    """
    cwd = cwd or working_folder()
    if module is not None:
        script = find_module(module, cwd)
        target = Target(script, command, module, cwd, sys.executable)
    elif command:
        script = check_file(Path(command[0]))
        # Python would take -x.py for an option of its own.
        typed = f"./{command[0]}" if command[0].startswith("-") else command[0]
        target = Target(script, command[1:], None, cwd, sys.executable, typed)
    else:
        raise UsageProblem("name a script to look at, for example: gpuadvise myscript.py")
    check_syntax(read_source(script))
    return target


def working_folder() -> Path:
    """Where the command was given. Raises UsageProblem if somebody removed that folder since."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageProblem("the folder you are in is not there any more; go to another") from None


def check_file(path: Path) -> Path:
    """The script as an absolute path. Raises UsageProblem if it cannot be read as a file."""
    try:
        known = path.stat()
    except FileNotFoundError:
        raise UsageProblem(f"there is no file {path}") from None
    except (OSError, ValueError) as error:  # too long a name, a null byte in it, links in a circle
        raise UsageProblem(f"{path} cannot be read: {getattr(error, 'strerror', error)}") from error
    if stat.S_ISDIR(known.st_mode):
        raise UsageProblem(f"{path} is a directory; name a script in it, or use -m for a package")
    if not stat.S_ISREG(known.st_mode):  # a pipe can be read once: <(sed .. script.py)
        raise UsageProblem(f"{path} is no regular file, and the script runs several times")
    if not os.access(path, os.R_OK):
        raise UsageProblem(f"{path} cannot be read")
    # Not resolve(): a script that is a symbolic link keeps the folder it was called in.
    return Path(os.path.abspath(path))  # noqa: PTH100


def find_module(name: str, cwd: Path) -> Path:
    """The file that ``python -m name`` would run, found without importing any package."""
    search: list[str] | None = [str(cwd), *sys.path]
    path: Path | None = None
    parts = name.split(".")
    for position, part in enumerate(parts):
        spec = PathFinder.find_spec(part, search) if part else None
        if spec is None:
            where = ".".join(parts[: position + 1])
            raise UsageProblem(f"there is no module {where} here or on the Python path")
        locations = spec.submodule_search_locations
        search = list(locations) if locations is not None else []
        path = Path(spec.origin) if spec.origin else None
    if search:  # a package runs its __main__
        main = PathFinder.find_spec("__main__", search)
        if main is None or main.origin is None:
            raise UsageProblem(f"{name} is a package without __main__.py; it cannot be run with -m")
        path = Path(main.origin)
    if path is None or path.suffix != ".py":
        raise UsageProblem(f"module {name} is not a Python file")
    return path


def read_source(path: Path) -> Source:
    """The file's bytes as they are now. Raises UserError if it cannot be read."""
    try:
        return Source(path, path.read_bytes())
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error


def check_syntax(source: Source) -> ast.Module:
    """The parsed file. Raises UserError with the place if it is not valid Python."""
    try:
        return source.tree
    except SyntaxError as error:
        place = f"{source.path.name}:{error.lineno}" if error.lineno else source.path.name
        raise UserError(f"{place}: not valid Python: {error.msg}") from error
    except ValueError as error:  # null bytes
        raise UserError(f"{source.path.name}: not valid Python: {error}") from error


def read_sources(target: Target) -> Mapping[Path, Source]:
    """The script and the modules beside it, as they are now; broken modules are left out."""
    sources = {}
    for path in user_files(target):
        try:
            source = read_source(path)
            check_syntax(source)
        except UserError:
            if path == target.script:
                raise
            continue  # it may never be imported; if it is, the program itself says what is wrong
        sources[path] = source
    rebound = sorted(set().union(*(assigned_from_outside(s.tree) for s in sources.values())))
    return {path: replace(source, rebound=tuple(rebound)) for path, source in sources.items()}
