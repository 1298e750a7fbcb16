"""Runs command lines in forks of one process, which has loaded what commands load.

The compiler's command line can be set up once in a process, and most of a small run is loading.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Ending(NamedTuple):
    """The end of a command: its exit code and its standard error."""

    code: int
    errors: str


@contextmanager
def forked_commands() -> Iterator[Callable[[Sequence[str]], Ending]]:
    """Yield a function that runs `tuninglink` with arguments, in the folder where the block was entered."""
    server = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin is not None
    assert server.stdout is not None

    def run(arguments: Sequence[str]) -> Ending:
        server.stdin.write(json.dumps(arguments) + "\n")
        server.stdin.flush()
        return Ending(*json.loads(server.stdout.readline()))

    with server:
        yield run
        server.stdin.close()


def load_commands() -> None:
    """Load what the commands load; NumPy and Z3 on their first use, as in a command."""
    from tuninglink.lazy import load_on_use  # noqa: PLC0415

    load_on_use("z3")
    load_on_use("numpy")
    import tuninglink.checking.checker  # noqa: PLC0415
    import tuninglink.cli.tune_run  # noqa: PLC0415
    import tuninglink.opt.command  # noqa: F401, PLC0415
    from tuninglink.cli.usage import SUMMARIES, module_of  # noqa: PLC0415

    for command in SUMMARIES:
        module_of(command)


def _serve() -> None:
    load_commands()
    from tuninglink.cli.process import run  # noqa: PLC0415

    gc.freeze()  # a collection in a fork would copy what it visits
    for line in sys.stdin:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writer, sys.stderr.fileno())
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = run(json.loads(line))
            sys.stderr.flush()
            os._exit(code)
        os.close(writer)
        with os.fdopen(reader) as errors:
            shown = errors.read()
        _, status = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), shown]), flush=True)  # noqa: T201


if __name__ == "__main__":
    _serve()
