"""Source code and diffs in colour that can be read on light and on dark terminals."""

from __future__ import annotations

from functools import lru_cache

from pygments.token import Comment, Keyword, Name, Number, Operator, String, Token
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.text import Text

THEME = ANSISyntaxTheme(
    {
        Token: Style(),
        Comment: Style(italic=True),
        Keyword: Style(color="magenta"),
        Keyword.Constant: Style(color="cyan"),
        Operator.Word: Style(color="magenta"),
        Name.Function: Style(bold=True),
        Name.Class: Style(bold=True),
        Number: Style(color="cyan"),
        String: Style(color="green"),
    }
)
"""No yellow, no blue, nothing dim, no background: each is unreadable on one sort of terminal."""


@lru_cache(maxsize=8)
def python_lines(text: str) -> tuple[Text, ...]:
    """The lines of a Python text, highlighted; tabs are shown as four columns."""
    syntax = Syntax("", "python", theme=THEME, tab_size=4)
    # Pygments strips blank lines at both ends; a stop before and after keeps the count.
    highlighted = syntax.highlight(f"#\n{text}\n#")
    return tuple(highlighted.split("\n", allow_blank=True))[1:-1][: text.count("\n") + 1]


def diff_lines(lines: list[str]) -> list[Text]:
    """The lines of a diff; the sign in front says without colour what the colour says."""
    styles = {"+": "green", "-": "red", "@": "cyan"}
    return [Text(line.expandtabs(4), style=styles.get(line[:1], "")) for line in lines]
