"""Progress on standard error: a changing line on a terminal, a line for each step with `--verbose`."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from tuninglink.cli.verbosity import is_quiet, is_verbose
from tuninglink.interrupt_hooks import interrupt_hook

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 1.0
"""The delay before progress is shown, in seconds."""

_SHOW_CURSOR = b"\033[?25h"


class Steps:
    """The steps of an activity. A call starts the next step.

    Args:
        what: the activity. Its text is read repeatedly, so it may change.
    """

    def __init__(self, what: object) -> None:
        self._what = what
        self._step = ""
        self._began = self._step_began = time.monotonic()

    def __call__(self, step: str) -> None:
        """Start a step, with a name such as `generating code`."""
        self._tell()
        self._step, self._step_began = step, time.monotonic()

    def end(self) -> None:
        """End the last step and the activity."""
        self("")
        self._step_began = self._began
        self._tell()

    def _tell(self) -> None:
        seconds = time.monotonic() - self._step_began
        if is_verbose():
            print(f"{self}: {seconds:.1f} s", file=sys.stderr, flush=True)  # noqa: T201

    def __str__(self) -> str:
        return f"{self._what}: {self._step}" if self._step else str(self._what)

    def line(self) -> str:
        """Return the activity, its step and the time since its start."""
        return f"{self} ({time.monotonic() - self._began:.0f} s)"


@contextmanager
def progress(what: object) -> Iterator[Steps]:
    """Show an activity on the terminal, if there is one, once the block has taken a second.

    Args:
        what: the activity. Its text is read repeatedly, so it may change.
    """
    steps = Steps(what)
    with ExitStack() as shown:
        if sys.stderr.isatty() and not is_quiet():
            timer = threading.Timer(PATIENCE, _show, (steps, shown))
            timer.daemon = True
            timer.start()
            shown.callback(timer.join)
            shown.callback(timer.cancel)
        yield steps
    steps.end()


def _show(steps: Steps, shown: ExitStack) -> None:
    from rich.console import Console  # noqa: PLC0415 - it takes as long to load as a small run
    from rich.text import Text  # noqa: PLC0415

    class Current:
        def __rich__(self) -> Text:
            return Text(steps.line())

    console = Console(stderr=True)
    if console.is_interactive:
        shown.enter_context(interrupt_hook(lambda: os.write(sys.stderr.fileno(), _SHOW_CURSOR)))
        shown.enter_context(console.status(Current()))
