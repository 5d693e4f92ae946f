"""Runs the user's program with hooks, as ``python script.py`` or ``python -m module`` would.

Started as a file: ``python runner.py PLAN.json [SESSION]``, where the session is the module whose
``main`` records and runs the program (default: line timing and observed values). Everything here
lives in the script's process, so it imports little, and no name of it is one of the program's.
"""

from __future__ import annotations

import sys


def _be_nobody() -> str:
    """Take our folder off the search path, and make ``gpuadvise`` importable without running it.

    Counter-example: this folder holds a ``scalene.py``; and a script beside a ``values.py`` of the
    user's must import that one. Returns the plan's path.
    """
    import os.path
    import types

    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    if sys.path and os.path.abspath(sys.path[0]) == here:  # noqa: PTH100
        del sys.path[0]
    root = os.path.dirname(here)  # noqa: PTH120
    for name, folder in (("gpuadvise", root), ("gpuadvise.observe", here)):
        package = types.ModuleType(name)
        package.__path__ = [folder]
        sys.modules[name] = package
    return sys.argv[1]


if __name__ == "__main__":
    _PLAN = _be_nobody()
    from importlib import import_module

    # Our own names must not be in the namespace that the program gets.
    import_module((sys.argv[2:] or ["gpuadvise.observe.session"])[0]).main(_PLAN)
