"""Long statements over several lines, as a formatter would break them."""

from __future__ import annotations

LIMIT = 88
"""Longest line of generated code, the file's own indentation included."""
_OPERATORS = (" | ", " & ", " + ", " - ", " * ", " / ")
"""Where an expression may be broken, loosest first."""


def wrapped(line: str, indent: int, limit: int = LIMIT) -> list[str]:
    """The statement in lines that fit; ``indent`` columns are added later."""
    lead = line[: len(line) - len(line.lstrip())]
    if indent + len(line) <= limit or line.lstrip().startswith(("#", "for ", "if ", "with ")):
        return [line]
    head, operator, value = _assignment(line)
    if not operator:
        head, value = lead, line.lstrip()  # a call alone
    inner = lead + "    "
    broken = _terms(value, inner)
    if operator and len(broken) > 1:
        return [f"{head}{operator}(", *broken, f"{lead})"]
    opening = value.find("(")
    if opening < 0 or _closes(value, opening) != len(value) - 1:
        return [line]
    start, inside = value[: opening + 1], value[opening + 1 : -1]
    if opening and (value[opening - 1].isalnum() or value[opening - 1] == "_"):
        broken = []
        for argument in _split(inside, ", "):
            fits = indent + len(inner) + len(argument) < limit
            *lines, last = [inner + argument] if fits else _terms(argument, inner)
            broken += [*lines, f"{last},"]
    else:
        broken = _terms(inside, inner)  # a comma would make a tuple
    return [f"{head}{operator}{start}", *broken, f"{lead})"]


def _terms(text: str, inner: str) -> list[str]:
    for symbol in _OPERATORS:
        parts = _split(text, symbol)
        if len(parts) > 1:
            rest = [f"{inner}{symbol.strip()} {part}" for part in parts[1:]]
            return [f"{inner}{parts[0]}", *rest]
    return [f"{inner}{text}"]


def _assignment(line: str) -> tuple[str, str, str]:
    """Target, operator and value of an assignment; a call alone counts as a value."""
    for operator in (" = ", " += ", " -= ", " *= "):
        parts = _split(line, operator)
        if len(parts) == 2:
            return parts[0], operator, parts[1]
    return "", "", ""


def _split(text: str, separator: str) -> list[str]:
    """Parts between separators outside all brackets."""
    parts: list[str] = []
    depth = start = position = 0
    while position < len(text):
        character = text[position]
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and text.startswith(separator, position):
            parts.append(text[start:position])
            position += len(separator)
            start = position
            continue
        position += 1
    return [*parts, text[start:]]


def _closes(text: str, opening: int) -> int:
    """Position of the bracket that closes the one at ``opening``."""
    depth = 0
    for position in range(opening, len(text)):
        depth += (text[position] in "([{") - (text[position] in ")]}")
        if depth == 0:
            return position
    return -1
