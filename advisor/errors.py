"""Errors that are the user's to mend, each one clear line, and those that are ours."""

OUR_BUGS = (
    RecursionError,
    AssertionError,
    LookupError,
    AttributeError,
    TypeError,
    ValueError,
    ArithmeticError,
    NotImplementedError,
)
"""What a mistake in the analysis of one loop raises. It must not end the user's session: the loop
is refused, and ``--verbose`` shows where it was. What is no mistake of that kind (no memory, an
interrupt) is not held back."""


class UserError(Exception):
    """The program that was to be looked at cannot be: its text is the line the user sees."""


class UsageProblem(UserError):
    """The command line asks for something that cannot be done."""
