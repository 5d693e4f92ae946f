"""How far apart numbers may be, and how far apart they are.

Tolerances, with ``eps`` that of the reference's dtype and ``n`` the reduction length:

* ``BITS``: none; only NaN payloads are ignored. ``-0.0`` differs from ``0.0``.
* ``REASSOCIATED``: ``8 * eps * sqrt(n) * max|reference|``, the maximum over the whole array or
  list, and of a list of equally long lists over all of these, which stands for a matrix. Rounding
  errors of a sum of ``n`` terms walk at random, so they grow with ``sqrt(n)`` (Higham, Accuracy
  and Stability, 4.2); 8 covers the tail of that walk.
* ``LAST_DIGIT``: ``4 * eps * sqrt(n) * max(|reference|, max|reference| / 16)`` for each element:
  libm and SIMD versions of a function differ by up to 2 units in the last place, on each side.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model import ErrorSize, Exactness

REASSOCIATED_FACTOR = 8.0
LAST_DIGIT_FACTOR = 4.0
LAST_DIGIT_FLOOR = 1.0 / 16.0


@dataclass(frozen=True)
class Tolerance:
    """How far apart floats may be."""

    exactness: Exactness = Exactness.BITS
    reduction_length: int = 1

    def allowed(
        self, reference: npt.NDArray[Any], eps: float, around: float = 0.0
    ) -> npt.NDArray[Any]:
        """Absolute tolerance of every element of ``reference`` (finite parts count).

        ``around`` is the largest number of the matrix that the reference is a part of.
        """
        size = np.abs(reference)
        top = max(around, largest(size))
        growth = eps * sqrt(max(1, self.reduction_length))
        if self.exactness is Exactness.REASSOCIATED:
            return np.full(size.shape, REASSOCIATED_FACTOR * growth * top)
        floor = np.maximum(np.where(np.isfinite(size), size, 0.0), top * LAST_DIGIT_FLOOR)
        return np.asarray(LAST_DIGIT_FACTOR * growth * floor)


def largest(numbers: npt.NDArray[Any]) -> float:
    """The largest absolute value of those that are finite."""
    finite = np.abs(numbers[np.isfinite(numbers)])
    return float(finite.max()) if finite.size else 0.0


def compare_numbers(
    original: npt.NDArray[Any],
    candidate: npt.NDArray[Any],
    tolerance: Tolerance,
    where: str,
    around: float = 0.0,
) -> ErrorSize:
    """Compare two arrays of one dtype and shape. Raises ValueError with the difference.

    ``around``: see `Tolerance.allowed`.
    """
    if original.dtype.kind == "c":
        half = np.dtype(f"f{original.dtype.itemsize // 2}")
        original = np.ascontiguousarray(original).view(half)
        candidate = np.ascontiguousarray(candidate).view(half)
    if original.dtype.kind != "f":
        return _exact(original, candidate, where)
    return _floats(original, candidate, tolerance, where, around)


def _exact(original: npt.NDArray[Any], candidate: npt.NDArray[Any], where: str) -> ErrorSize:
    # Bytes, not ==: NaT and structured dtypes have their own idea of equality.
    if original.tobytes() == candidate.tobytes():
        return ErrorSize()
    with np.errstate(all="ignore"):
        differs = np.flatnonzero(np.atleast_1d(original != candidate))
    at = int(differs[0]) if differs.size else 0
    raise ValueError(
        f"{where}: {max(1, differs.size)} of {original.size} elements differ, the first at "
        f"position {at}: {original.reshape(-1)[at]} became {candidate.reshape(-1)[at]}"
    )


def _floats(
    original: npt.NDArray[Any],
    candidate: npt.NDArray[Any],
    tolerance: Tolerance,
    where: str,
    around: float,
) -> ErrorSize:
    original, candidate = original.reshape(-1), candidate.reshape(-1)
    if original.tobytes() == candidate.tobytes():
        return ErrorSize()
    both_nan = np.isnan(original) & np.isnan(candidate)
    with np.errstate(all="ignore"):
        apart = np.abs(candidate.astype(np.float64) - original.astype(np.float64))
        if original.dtype.itemsize > 8:
            apart = np.abs(candidate - original).astype(np.float64)
        # Of the larger one, as zero has no last place; overflows at the largest of all numbers.
        larger_one = np.fmax(np.abs(original), np.abs(candidate))
        spacing = np.spacing(larger_one).astype(np.float64)
    apart[both_nan | (original == candidate)] = 0.0
    if tolerance.exactness is Exactness.BITS:
        wrong = (original != candidate) & ~both_nan
        wrong |= (
            (original == 0) & (candidate == 0) & (np.signbit(original) != np.signbit(candidate))
        )
    else:
        reference = original.astype(np.float64)
        eps = float(np.finfo(original.dtype).eps)
        wrong = ~(apart <= tolerance.allowed(reference, eps, around))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{where}: {int(wrong.sum())} of {original.size} numbers differ"
            f"{'' if tolerance.exactness is Exactness.BITS else ' by more than rounding'}, the "
            f"first at position {at}: {original[at]!s} became {candidate[at]!s}"
        )
    return _size(original, apart, spacing)


def _size(
    original: npt.NDArray[Any], apart: npt.NDArray[Any], spacing: npt.NDArray[Any]
) -> ErrorSize:
    size = np.abs(original.astype(np.float64))
    moved = np.isfinite(apart) & (apart > 0)
    if not moved.any():
        return ErrorSize()
    apart, size, spacing = apart[moved], size[moved], spacing[moved]
    nonzero = size > 0
    relative = float((apart[nonzero] / size[nonzero]).max()) if nonzero.any() else float("inf")
    return ErrorSize(float(apart.max()), relative, float((apart / spacing).max()))


def larger(one: ErrorSize, other: ErrorSize) -> ErrorSize:
    """The larger of both in every measure, of the numbers of both."""
    return ErrorSize(
        max(one.absolute, other.absolute),
        max(one.relative, other.relative),
        max(one.ulp, other.ulp),
        one.numbers + other.numbers,
    )
