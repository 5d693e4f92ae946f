"""How far a CuPy operation may be from NumPy's of the same name."""

from __future__ import annotations

from ...model import Exactness

_ROUNDED_ALIKE = frozenset(
    [
        "add",
        "subtract",
        "multiply",
        "divide",
        "true_divide",
        "negative",
        "absolute",
        "abs",
        "fabs",
        "square",
        "sqrt",
        "reciprocal",
        "floor",
        "ceil",
        "sign",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "equal",
        "not_equal",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "invert",
    ]
)
"""IEEE 754 prescribes every bit, and CuPy compiles each as a kernel of its own: nothing is there
that a product could be fused with."""
_OF_COMPLEX = frozenset({"add", "subtract", "negative", "equal", "not_equal"})
_INTEGERS = frozenset({"int64", "bool"})
EXACT_REDUCTIONS = frozenset({"any", "all"})
REDUCTIONS = frozenset({"sum", "mean", "max", "min"}) | EXACT_REDUCTIONS


def of_operation(name: str, dtypes: set[str]) -> Exactness:
    """Of an element-wise operation on arrays of these dtypes.

    ``maximum(-0.0, 0.0)`` may be either zero, and ``exp`` comes from another library.
    """
    exact = _OF_COMPLEX if any(d.startswith("complex") for d in dtypes) else _ROUNDED_ALIKE
    if name in exact or (dtypes <= _INTEGERS and name in ("maximum", "minimum")):
        return Exactness.BITS
    return Exactness.LAST_DIGIT


def of_reduction(name: str, dtype: str) -> Exactness:
    """Of a sum, a mean or an extreme over a whole array."""
    if name in EXACT_REDUCTIONS or (dtype in _INTEGERS and name != "mean"):
        return Exactness.BITS
    return Exactness.LAST_DIGIT if name in ("max", "min") else Exactness.REASSOCIATED


def looser(a: Exactness, b: Exactness) -> Exactness:
    """The one that admits more."""
    order = (Exactness.BITS, Exactness.LAST_DIGIT, Exactness.REASSOCIATED)
    return max(a, b, key=order.index)
