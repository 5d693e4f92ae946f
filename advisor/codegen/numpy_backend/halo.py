"""Copies of arrays with a border, so that neighbours across the edge are plain slices."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...loopnest.affine import constant, extent_symbol, variable
from ...loopnest.ir import Kind
from .session import Session
from .values import dtype_text, natural_dtype


@dataclass(frozen=True)
class Halo:
    """How wide the border is on each side of each axis, and what is in it."""

    array: str
    name: str
    left: tuple[int, ...]
    right: tuple[int, ...]
    modes: tuple[str, ...]
    """``wrap``, ``edge`` or ``""`` for each axis."""
    dtype: str

    def widened(self, dim: int, offset: int, mode: str) -> Halo | None:
        """With room for an offset; None if the axis would need two kinds of border."""
        if self.modes[dim] not in ("", mode):
            return None
        left, right, modes = list(self.left), list(self.right), list(self.modes)
        left[dim] = max(left[dim], -offset)
        right[dim] = max(right[dim], offset)
        modes[dim] = mode
        return replace(self, left=tuple(left), right=tuple(right), modes=tuple(modes))


def new_halo(session: Session, array: str) -> Halo:
    """An empty border."""
    info = session.nest.arrays[array]
    name = session.fresh("padded" if not session.halos else f"padded_{array}")
    dtype = natural_dtype(info.element)
    if info.element.kind is Kind.INT:
        dtype = session.narrow.get(array, dtype)
    none = (0,) * info.ndim
    return Halo(array, name, none, none, ("",) * info.ndim, dtype)


def allocation(session: Session, halo: Halo) -> str:
    """The line that makes the buffer."""
    facts = session.facts
    sizes = []
    for dim, (left, right) in enumerate(zip(halo.left, halo.right, strict=True)):
        size = variable(extent_symbol(halo.array, dim))
        sizes.append(facts.text(size + left + right))
    shape = f"({', '.join(sizes)})" if len(sizes) > 1 else sizes[0]
    return f"{halo.name} = {session.np}.empty({shape}, dtype={dtype_text(session.np, halo.dtype)})"


def filling(session: Session, halo: Halo) -> list[str]:
    """The lines that copy the array and its border in.

    The interior first; then one axis after the other, whole lines at a time, so that the corners
    are right after the last axis.
    """
    for dim, (left, right) in enumerate(zip(halo.left, halo.right, strict=True)):
        need = max(left, right, 1)
        size = variable(extent_symbol(halo.array, dim))
        if halo.modes[dim]:
            # A 2-wide border of a 1-wide array would wrap around twice.
            session.facts.require(size - constant(need))
    source = session.array_names.get(halo.array, halo.array)
    lines = [f"{halo.name}[{_interior(halo)}] = {source}"]
    for dim, mode in enumerate(halo.modes):
        if mode:
            lines += _edges(halo, dim, mode)
    return lines


def _interior(halo: Halo) -> str:
    parts = []
    for left, right in zip(halo.left, halo.right, strict=True):
        parts.append(f"{left or ''}:{-right if right else ''}")
    return ", ".join(parts)


def _edges(halo: Halo, dim: int, mode: str) -> list[str]:
    before = ":, " * dim
    left, right = halo.left[dim], halo.right[dim]
    lines = []

    def put(target: str, origin: str) -> None:
        lines.append(f"{halo.name}[{before}{target}] = {halo.name}[{before}{origin}]")

    for k in range(left):  # one line at a time: borders are one or two wide
        if mode == "wrap":
            put(str(k), str(-(right + left) + k) if right or left else "0")
        else:
            put(str(k), str(left))
    for k in range(right):
        if mode == "wrap":
            put(str(-right + k), str(left + k))
        else:
            put(str(-right + k), str(-right - 1))
    return lines
