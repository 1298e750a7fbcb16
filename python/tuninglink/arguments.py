"""Arguments of functions for users: one item or several, paths or contents, and flags as words or as one line."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from tuninglink.errors import UsageError
from tuninglink.mlir import error

if TYPE_CHECKING:
    from tuninglink.errors import Diagnostic


Content: TypeAlias = bytes | bytearray | memoryview


def several(items: Any, name: str) -> list[Any]:
    """Return the items of the argument `name`; text, a path and a single object are one item.

    Raises:
        TypeError: the value is None.
    """
    if items is None:
        raise TypeError(f"'{name}' takes one item or several, found None")
    if isinstance(items, str | Content | os.PathLike) or not isinstance(items, Iterable):
        return [items]
    return list(items)


def flag_words(flags: str | Iterable[str]) -> list[str]:
    """Return flags as words; a text is split as in a shell.

    Raises:
        UsageError: a quote in the text is not closed.
        TypeError: a flag is not text.
    """
    if isinstance(flags, str):
        try:
            return shlex.split(flags)
        except ValueError as failure:
            raise UsageError(error(f"cannot split the flags '{flags}': {failure}")) from None
    words = several(flags, "flags")
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"a flag is text, such as '--name=value'; found {described(word)}")
    return words


def described(value: object) -> str:
    """Return a value with its type, for errors about arguments of a wrong type."""
    text = repr(value)
    return f"{text if len(text) <= 60 else 'a value'} of type '{type(value).__name__}'"  # noqa: PLR2004 - readable


def content_as_path(path: str | os.PathLike[str], what: str) -> Diagnostic | None:
    """Return the error for the content of a file, such as `the program`, in place of its path; None for a path."""
    text = os.fspath(path)
    if "\n" not in text and "\0" not in text:
        return None
    return error(f"a text is the path of {what}; give its content as bytes, as in text.encode()")
