"""Errors that are the user's to mend; each is one clear line."""


class UserError(Exception):
    """The program that was to be looked at cannot be: its text is the line the user sees."""


class UsageProblem(UserError):
    """The command line asks for something that cannot be done."""
