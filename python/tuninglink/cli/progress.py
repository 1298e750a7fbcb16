"""Telling who watches that something is going on."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from tuninglink.interrupt_hooks import interrupt_hook

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 1.0
"""The seconds after which somebody who watches wants to know."""

_SHOW_CURSOR = b"\033[?25h"


class Doing:
    """What is going on, which changes; for `progress`.

    Args:
        what: what is going on at first.
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def __call__(self, what: str) -> None:
        """Notes what is going on from now on."""
        self._what = what

    def __str__(self) -> str:
        return self._what


@contextmanager
def progress(what: object) -> Iterator[None]:
    """Shows on the terminal, if there is one, that `what` is going on once the block has taken a second.

    Args:
        what: what is going on; its text is asked for again and again, so it may change.
    """
    if not sys.stderr.isatty():
        yield
        return
    with ExitStack() as shown:
        timer = threading.Timer(PATIENCE, _show, (what, shown))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


def _show(what: object, shown: ExitStack) -> None:
    from rich.console import Console  # noqa: PLC0415 - it takes as long to load as a small run
    from rich.text import Text  # noqa: PLC0415

    class Current:
        def __rich__(self) -> Text:
            return Text(str(what))

    console = Console(stderr=True)
    if console.is_interactive:
        shown.enter_context(interrupt_hook(lambda: os.write(sys.stderr.fileno(), _SHOW_CURSOR)))
        shown.enter_context(console.status(Current()))
