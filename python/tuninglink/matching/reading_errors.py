"""Why matchers are not read as conditions."""


class NotUnderstoodError(Exception):
    """A matcher asks for something that is not understood; the message says for what."""


class ContradictionError(Exception):
    """A matcher asks for what no operation has; the message says why."""
