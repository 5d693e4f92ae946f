"""Long generated statements are broken without changing what they say."""

from __future__ import annotations

import ast

import pytest

from gpuadvise.codegen.numpy_backend.layout import LIMIT, wrapped

LONG = [
    "out[1:-1] = 0.33333 * (first_values[:-2] + second_values[1:-1] + third_values[2:] + fourth)",
    "total = alpha_alpha_alpha + beta_beta_beta_beta - gamma_gamma_gamma * delta_delta_delta + eps",
    "mask = (first_condition == 1) & (second_condition == 2) | ~(third_condition == 3) & fourth",
    "new[:] = np.where(first_condition == 1, second_values + third_values, fourth_values * five)",
    "np.copyto(destination[1:-1, 1:-1], source[1:-1, 1:-1] + other[1:-1, 1:-1] * 2.0, where=mask)",
    "q[j] = (right_hand_side_of - alpha_alpha * q[j - 1]) / (alpha_alpha * p[j - 1] + beta_beta)",
    "best = np.maximum(best, table_flat[at - n - 1:end - n:n] + (seq[:n - at] + seq[at:n] == 3))",
    "x = first_value_of_all * (second_value_of_all, third_value_of_all, fourth_value_of_all, x)",
]


@pytest.mark.parametrize("line", LONG)
def test_the_statement_is_the_same(line):
    assert len(line) > LIMIT
    text = "\n".join(wrapped(line, 0))
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(line))


def test_what_fits_stays_on_its_line():
    assert wrapped("    a[:] = b + c", 4) == ["    a[:] = b + c"]


def test_a_long_quotient_and_a_long_argument_are_broken() -> None:
    for line in LONG[-3:-1]:
        assert all(len(part) <= LIMIT for part in wrapped(line, 8)), line
