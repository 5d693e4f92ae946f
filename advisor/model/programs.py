"""A program as the user starts it, its files, and what a run of it gave."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """A program as the user starts it: ``python SCRIPT ARGS`` or ``python -m MODULE ARGS``."""

    script: Path
    """Absolute path of the file that runs as ``__main__``."""
    args: tuple[str, ...] = ()
    module: str | None = None
    cwd: Path = field(default_factory=Path.cwd)
    python: str = "python3"
    typed: str | None = None
    """The script as it was typed, which is its ``sys.argv[0]``; None: the absolute path."""

    @property
    def command(self) -> tuple[str, ...]:
        """What follows the interpreter on the command line."""
        head = ("-m", self.module) if self.module else (self.typed or str(self.script),)
        return (*head, *self.args)


@dataclass(frozen=True)
class Source:
    """A Python file as read from disk, with its bytes kept exactly."""

    path: Path
    data: bytes
    rebound: tuple[str, ...] = ()
    """Attributes that the program assigns on what it imports: ``physics.DT = 0.01`` in another
    file makes ``DT`` no constant of ``physics``. ``"*"``: any."""

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed module. Raises SyntaxError."""
        return ast.parse(self.data, filename=str(self.path))

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree, as ``ast.walk`` gives them: walking a long file takes 0.2 s."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """Byte offset of each line as ``ast`` counts lines (line 1 is at index 0)."""
        starts = [0]
        position = 0
        for line in self.data.splitlines(keepends=True):
            position += len(line)
            starts.append(position)
        return tuple(starts)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The text of each line, without line ends."""
        return tuple(line.decode("utf-8", "replace") for line in self.data.splitlines())

    def offset(self, line: int, column: int) -> int:
        """Byte offset of an ``ast`` position; ``column`` counts UTF-8 bytes, a BOM is skipped."""
        bom = 3 if line == 1 and self.data.startswith(b"\xef\xbb\xbf") else 0
        return self.line_starts[line - 1] + column + bom

    def span(self, node: ast.stmt | ast.expr | ast.keyword) -> tuple[int, int]:
        """Byte range of a node."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return (
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
        )

    def text(self, node: ast.stmt | ast.expr) -> str:
        """The source text of a node, exactly as written."""
        start, end = self.span(node)
        return self.data[start:end].decode("utf-8")


# ------------------------------------------------------------------- runs
@dataclass(frozen=True)
class Exited:
    """The process ended by itself."""

    code: int


@dataclass(frozen=True)
class Killed:
    """The process was ended by a signal."""

    signal: int


@dataclass(frozen=True)
class Stopped:
    """We stopped the process: it ran past ``limit`` seconds."""

    limit: float


RunEnd = Exited | Killed | Stopped


@dataclass(frozen=True)
class RunResult:
    """One finished run of the whole program."""

    end: RunEnd
    wall: float
    cpu: float
    """User plus system seconds of the process and the children it waited for."""
    max_rss: int
    page_faults: int = 0
    stdout: bytes | None = None
    """None where the stream went to the user and was not kept."""
    stderr: bytes | None = None
    files: Mapping[str, str] | None = None
    """Path relative to the scratch root -> content digest, of files the run made or changed
    (``"removed"`` for those it deleted). None for the real run."""

    @property
    def ok(self) -> bool:
        """Ended by itself with status 0."""
        return self.end == Exited(0)
