"""CuPy's functions and methods, by what is known of them."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(text.split())


ELEMENTWISE = {
    **dict.fromkeys(
        words(
            "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh "
            "tanh arcsinh arccosh arctanh cbrt rsqrt deg2rad rad2deg"
        ),
        (1, "f"),
    ),
    **dict.fromkeys(words("abs absolute fabs floor ceil rint trunc sign square negative"), (1, "")),
    **dict.fromkeys(words("isnan isinf isfinite logical_not signbit"), (1, "b")),
    **dict.fromkeys(
        words(
            "add subtract multiply power maximum minimum fmax fmin mod remainder floor_divide "
            "bitwise_and bitwise_or bitwise_xor left_shift right_shift"
        ),
        (2, ""),
    ),
    **dict.fromkeys(words("divide true_divide arctan2 hypot copysign logaddexp"), (2, "f")),
    **dict.fromkeys(
        words(
            "equal not_equal less less_equal greater greater_equal logical_and logical_or "
            "logical_xor"
        ),
        (2, "b"),
    ),
}
"""Element-wise functions: operands, and the kind of the result where it does not follow theirs."""
REDUCTIONS = {
    **dict.fromkeys(("sum", "prod"), "add"),
    **dict.fromkeys(("mean", "std", "var"), "f"),
    **dict.fromkeys(("max", "min", "amax", "amin"), ""),
    **dict.fromkeys(("argmax", "argmin", "count_nonzero"), "i"),
    **dict.fromkeys(("any", "all"), "b"),
}
"""Reductions, and the kind of the result: fixed, the operand's, or that of a sum."""
SAME_KIND = words(
    "roll zeros_like ones_like empty_like full_like ascontiguousarray reshape ravel copy "
    "transpose flip concatenate stack vstack hstack cumsum sort tile repeat pad clip"
)
CONSTRUCTORS = words("zeros ones empty full arange linspace eye identity")
FLOATING = words("zeros ones empty eye identity")
"""Constructors whose dtype is float64 where none is given."""
DEVICE_METHODS = words("copy reshape ravel flatten transpose squeeze clip round")
NUMBER_CALLS = {"float": "f", "int": "i", "bool": "b", "len": "i", "abs": "", "round": ""}
