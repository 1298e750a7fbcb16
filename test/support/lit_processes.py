"""Processes of the lit tests: commands in Python run in forks of lit, which has loaded what they load.

A command takes 0.2 seconds of processor time to start, and lit starts 900. A command with another Python path starts as
a process of its own, as do commands of other programs, and those of the documentation and of pytest's tests.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import filecheck.main
from forked_commands import ending_process, load_commands

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def _run_tuninglink() -> None:
    from tuninglink.cli.main import main  # noqa: PLC0415 - a compiler's CI may have it elsewhere

    main()


def _run_opt() -> None:
    from tuninglink.cli.opt import main  # noqa: PLC0415

    main()


def _run_filecheck() -> None:
    filecheck.main.main(sys.argv)


_OWN: Final = {"tuninglink": _run_tuninglink, "tuninglink-opt": _run_opt}

_programs: Final[dict[str, Callable[[], None]]] = {"filecheck": _run_filecheck}


def fork_commands() -> None:
    """Load what Tuninglink's commands load, and have them and their workers run in forks."""
    from forked_workers import FORKING, start_server  # noqa: PLC0415 - loads the package

    from tuninglink.workers import pool  # noqa: PLC0415

    load_commands()
    _programs.update(_OWN)
    start_server()
    pool.subprocess = FORKING


class Process(subprocess.Popen[str]):
    """A process of a lit test."""

    def __init__(self, args: Sequence[str], **options: Any) -> None:
        program = _programs.get(args[0])
        if program and _python_path(options["env"]) == _python_path(os.environ):
            options["preexec_fn"] = partial(_run, program, args, options["env"])
        super().__init__(args, **options)


def _python_path(environment: Mapping[str, str]) -> str:
    """Return the folders that a test or a compiler's CI adds. lit adds its own for `diff` and `cat`."""
    path = environment.get("PYTHONPATH", "")
    return "" if Path(path).name == "lit" else path


def _run(
    program: Callable[[], None], arguments: Sequence[str], environment: Mapping[str, str]
) -> NoReturn:
    """Run a program in this process, a fork, as Python would after its start, and end it."""
    gc.freeze()  # a collection would copy the pages of what lit has loaded
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [*arguments]
    with ending_process():
        reading, writing = sys.__stdin__, sys.__stdout__
        assert reading
        assert writing
        sys.stdin = open(0, closefd=False, encoding=reading.encoding, errors=reading.errors)  # noqa: SIM115
        sys.stdout = open(1, "w", closefd=False, encoding=writing.encoding, errors=writing.errors)  # noqa: SIM115
        sys.stderr = open(2, "w", 1, sys.getdefaultencoding(), "backslashreplace", closefd=False)  # noqa: SIM115
        program()
