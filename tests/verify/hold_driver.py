"""Runs a small program up to a hot call or loop and holds its state there.

usage: hold_driver.py ADDRESS FILE KIND WHERE...
  call QUALNAME [N]   the arguments are what the program's ``arguments()`` returns
  loop LINE           everything before that top-level line has run
The program's code is compiled with an extra statement in each function, as instrumentation would.
"""

import ast
import sys
import types
from pathlib import Path

from gpuadvise.verify.states_api import HeldCall, HeldStatement
from gpuadvise.verify.worker import hold


class Instrument(ast.NodeTransformer):
    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        marker = ast.parse("import sys as _gpuadvise_sys").body
        for statement in marker:
            ast.copy_location(statement, node.body[0])
            ast.fix_missing_locations(statement)
        node.body[:0] = marker
        return node


def load(path, before_line=None):
    tree = Instrument().visit(ast.parse(Path(path).read_bytes(), filename=path))
    if before_line is not None:
        tree.body = cut(tree.body, before_line)
    module = types.ModuleType("__main__")
    module.__file__ = path
    sys.modules["__main__"] = module
    sys.path.insert(0, str(Path(path).parent))
    exec(compile(tree, path, "exec"), module.__dict__)
    return module.__dict__


def cut(body, line):
    """What ran before the statement at a line, also inside ``if __name__ == "__main__":``."""
    kept = []
    for statement in body:
        if statement.end_lineno < line:
            kept.append(statement)
        elif statement.lineno < line and isinstance(statement, ast.If):
            statement.body = cut(statement.body, line) or [ast.Pass(lineno=1, col_offset=0)]
            kept.append(ast.fix_missing_locations(statement))
    return kept


def main():
    address, path, kind, where, *rest = sys.argv[1:]
    if kind == "loop":
        space = load(path, int(where))
        hold(
            address,
            HeldStatement(f"{path}:{where}:<module>:0", path, path, int(where), 1, "first", space),
        )
    space = load(path)
    function = space
    for name in where.split("."):
        function = function[name] if isinstance(function, dict) else getattr(function, name)
    reason, entry = (rest[0], int(rest[1])) if rest else ("first", 1)
    args, kwargs = space["arguments"]()
    if isinstance(function, types.MethodType):
        args, function = (function.__self__, *args), function.__func__
    site = f"{path}:{function.__code__.co_firstlineno}:{function.__qualname__}:1"
    print("text that the program had not flushed", end="")
    hold(
        address,
        HeldCall(
            site, path, path, function.__qualname__, entry, reason, function, args, kwargs, space
        ),
    )


main()
