"""Jobs of worker processes in tests."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, NoReturn

SLEEPER: Final = [sys.executable, "-c", "import time; time.sleep(600)"]

_initialized: list[str] = []


def initialize(word: str) -> object:
    _initialized.append(word)
    return sys  # which cannot be pickled, and need not be


def initialized() -> list[str]:
    return _initialized


def initialize_slowly(seconds: float) -> None:
    time.sleep(seconds)


def fail_to_initialize() -> NoReturn:
    raise OSError("no device")


def pid() -> int:
    return os.getpid()


def add(left: int, right: int) -> int:
    return left + right


def same(value: bytes) -> bytes:
    return value


def send(text: str, to: int) -> None:
    os.write(to, text.encode())


def print_forever() -> NoReturn:
    while True:
        send("x" * 4096, 2)


def leave(code: int) -> NoReturn:
    sys.exit(code)


def abort(last_words: str) -> NoReturn:
    send(last_words, 2)
    os.abort()


def segfault() -> None:
    ctypes.string_at(0)


def segfault_on(*_: object) -> None:
    segfault()


def leave_on(*_: object) -> NoReturn:
    leave(3)


def hang_on(*_: object) -> None:
    time.sleep(600)


def close_everything_and_hang() -> None:
    os.closerange(3, 256)
    time.sleep(600)


def fail(message: str) -> NoReturn:
    raise KeyError(message)


class UnpicklableError(Exception):
    def __init__(self, left: str, right: str) -> None:
        super().__init__(left + right)


def fail_oddly() -> NoReturn:
    raise UnpicklableError("tea", "pot")


def give_up(reason: str) -> NoReturn:
    from tuninglink.solver import UndecidedError  # noqa: PLC0415 - other jobs need no bindings

    raise UndecidedError(reason)


def return_the_unpicklable() -> object:
    return lambda: None


def wait_for(path: str) -> int:
    """Return the number of the process once there is something at `path`."""
    while not Path(path).exists():
        time.sleep(0.002)
    return os.getpid()


def hang_in_native_code(pids: str) -> None:
    """Start a child, write the numbers of both to a file, and hang with Python's lock held."""
    child = subprocess.Popen(SLEEPER)
    place = Path(pids)
    fresh = place.with_suffix(".fresh")
    fresh.write_text(f"{os.getpid()} {child.pid}")
    fresh.replace(place)
    ctypes.PyDLL(None).sleep(600)


def leave_a_child_and_crash(pids: str) -> NoReturn:
    child = subprocess.Popen(SLEEPER)
    Path(pids).write_text(f"{os.getpid()} {child.pid}")
    os.abort()


def session_niceness() -> str:
    return Path("/proc/self/autogroup").read_text().rpartition(" ")[2].strip()


def run_passes(pipeline: str, bytecode: bytes) -> bytes:
    from tuninglink.mlir import to_bytecode  # noqa: PLC0415 - as above
    from tuninglink.spaces.compiler_constraints import passed  # noqa: PLC0415

    return to_bytecode(passed(pipeline, bytecode))
