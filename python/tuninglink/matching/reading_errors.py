"""Errors of reading matchers as conditions."""


class NotUnderstoodError(Exception):
    """A matcher has an unsupported requirement, named in the message."""


class ContradictionError(Exception):
    """A matcher has a requirement that no operation satisfies; the message gives the reason."""
