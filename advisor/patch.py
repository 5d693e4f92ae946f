"""Changing Python files without disturbing them: all of it in one place to import from.

Edits are byte ranges; everything outside them stays byte-equal. Nothing here touches the disk;
``undo.py`` writes.
"""

from __future__ import annotations

from .diff import file_diff, unified_diff
from .edits import Overlap, PatchError, apply_edits, combine, composed
from .layout import indent_unit, reindent, replace_statement
from .names import free_name, from_import_edit, import_edit

__all__ = [
    "Overlap",
    "PatchError",
    "apply_edits",
    "combine",
    "composed",
    "file_diff",
    "free_name",
    "from_import_edit",
    "import_edit",
    "indent_unit",
    "reindent",
    "replace_statement",
    "unified_diff",
]
