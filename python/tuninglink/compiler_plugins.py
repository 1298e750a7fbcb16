"""Plug-ins of the compiler itself, which its library loads when a process loads the library.

The library reads their paths from an environment variable, reports those that do not load on standard error, and goes
on without them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import TYPE_CHECKING, Final

from tuninglink.errors import TuninglinkError, escaped

if TYPE_CHECKING:
    from collections.abc import Sequence


PLUGIN_FLAG: Final = "iree-load-plugin"
PLUGINS_VARIABLE: Final = "IREE_LOAD_PLUGINS"
"""The environment variable with the paths of plug-ins, separated by commas; worker processes inherit it."""

_FAILURE: Final = "[IREE Dynamic Plugin ERROR]: "


def load_compiler(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Load the compiler's library if plug-ins are named by the environment or by `--iree-load-plugin`.

    Call this function before any import of the bindings.

    Returns:
        The arguments without that flag, and a message for each plug-in that could not be loaded.
    """
    rest: list[str] = []
    plugins = list(filter(None, os.environ.get(PLUGINS_VARIABLE, "").split(",")))
    words = iter(arguments)
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        if name != PLUGIN_FLAG or not word.startswith("-"):
            rest.append(word)
        elif path := value if equals else next(words, ""):
            plugins.append(path)
        else:
            return rest, [f"'--{PLUGIN_FLAG}' requires a value"]
    if not plugins:
        return rest, []
    os.environ[PLUGINS_VARIABLE] = ",".join(plugins)
    standard_error = os.dup(2)
    with tempfile.TemporaryFile() as output:
        os.dup2(output.fileno(), 2)
        try:
            import iree.compiler.ir  # noqa: F401, PLC0415 - loads the library
        finally:
            os.dup2(standard_error, 2)
            os.close(standard_error)
        output.seek(0)
        lines = output.read().decode(errors="replace").splitlines()
    sys.stderr.writelines(f"{escaped(line)}\n" for line in lines if not line.startswith(_FAILURE))
    failures = [line.removeprefix(_FAILURE) for line in lines if line.startswith(_FAILURE)]
    return rest, list(dict.fromkeys(failures))


def check_plugins(failures: Sequence[str]) -> None:
    """Raise an error for the plug-ins that could not be loaded."""
    if failures:
        from tuninglink.mlir import error, note  # noqa: PLC0415 - loads the library

        remedy = note(f"plug-ins are named by --{PLUGIN_FLAG} and by {PLUGINS_VARIABLE}")
        *others, last = failures
        raise TuninglinkError(*map(error, others), error(last, notes=[remedy]))
