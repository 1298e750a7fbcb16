"""Runs command lines in forks of one process, which has loaded what commands load.

The compiler's command line can be set up once in a process, and most of a small run is loading.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pty
import subprocess
import sys
import termios
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Ending(NamedTuple):
    """The end of a command: its exit code and its standard error, or all that a terminal showed."""

    code: int
    errors: str


@contextmanager
def forked_commands() -> Iterator[Callable[..., Ending]]:
    """Yield a function that runs `tuninglink` with arguments, in the folder where the block was entered.

    Its second argument is the width of a terminal for the output, or None for no terminal.
    """
    # The process's own environment may have a COLUMNS that `os.environ` lacks: readline, which pytest loads, sets it.
    server = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    assert server.stdin is not None
    assert server.stdout is not None

    def run(arguments: Sequence[str], width: int | None = None) -> Ending:
        server.stdin.write(json.dumps([arguments, width]) + "\n")
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
    import tuninglink.cli.tune  # noqa: PLC0415
    import tuninglink.opt.command  # noqa: F401, PLC0415
    from tuninglink.cli.usage import SUMMARIES, module_of  # noqa: PLC0415

    for command in SUMMARIES:
        module_of(command)


@contextmanager
def ending_process() -> Iterator[None]:
    """End this process, a fork, after a block, as Python would end."""
    code: object = 1
    try:
        yield
        code = 0
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - this is the end of a process
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else bool(code))


def _read(descriptor: int) -> str:
    """Read a pipe or a terminal to its end."""
    content = b""
    with os.fdopen(descriptor, "rb", buffering=0) as file, contextlib.suppress(OSError):
        while part := file.read(1 << 16):
            content += part
    return content.decode()


def _serve() -> None:
    load_commands()
    from tuninglink.cli.main import wrap_streams  # noqa: PLC0415
    from tuninglink.cli.process import run  # noqa: PLC0415
    from tuninglink.cli.terminal import take_verbosity  # noqa: PLC0415

    gc.freeze()  # a collection in a fork would copy what it visits
    for line in sys.stdin:
        arguments, width = json.loads(line)
        reader, writer = pty.openpty() if width else os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writer, sys.stderr.fileno())
            os.dup2(writer if width else os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if width:
                termios.tcsetwinsize(writer, (24, width))
                wrap_streams()
            code = run(take_verbosity(arguments))
            sys.stderr.flush()
            os._exit(code)
        os.close(writer)
        shown = _read(reader)
        _, status = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), shown]), flush=True)  # noqa: T201


if __name__ == "__main__":
    _serve()
