"""A board: a machine that a command reaches, with a directory for files and the runtime's tools.

The command, such as `ssh board` or `adb shell`, runs a shell there, whose standard streams carry archives. An emulator,
such as `qemu-aarch64-static`, runs the tools only; the shell is then one of this machine.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import threading
import time
import uuid
from collections import OrderedDict
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final

from tuninglink.runner.batch import Call, CallResult, IncompleteError, read_results, write_batch
from tuninglink.runner.connection import SharedConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LEASE_SECONDS: Final = 60
"""The usual time of a lease; see `BoardAccess`."""

_PAUSES: Final = (1.0, 5.0, 15.0, 30.0, 60.0)
"""The pauses before the attempts to reach a board again, in seconds: one that reboots needs a minute."""

_BREAKS: Final = 2
"""The number of times that a call must have broken the connection alone."""

_OPENING_SECONDS: Final = 60.0
_MARGIN_SECONDS: Final = 30.0
"""The time for the transport of a batch, besides its calls and the time for its bytes."""

_SLOWEST: Final = 1e6
"""The least rate of a connection, in bytes per second."""

_MEMORY_PART: Final = 4
"""A directory in memory is filled up to this part of what is available, as programs need memory, too."""

_USUAL_MEMORY_KB: Final = 4 << 20
_USUAL_KEPT: Final = 1 << 30
"""The bytes of files to keep where the free space is unknown, as in a root directory of its own."""

_PLAIN: Final = re.compile(r"[\w./+@%:=-]*")
"""Paths that no shell changes."""

_FULL: Final = re.compile(r"no space left|file too large|disk quota exceeded", re.IGNORECASE)
_LEAST_FREE_KB: Final = 64
_FAILED: Final = -1


class BoardError(Exception):
    """A board cannot be reached or used; the message is the reason, in one line."""


class _LostError(Exception):
    """The connection broke, or the board did not answer."""


class _FullError(Exception):
    """There is no space left on the board."""


@dataclass(frozen=True)
class BoardAccess:
    """The way to a board.

    Attributes:
        command: the words of the command in front of others.
        tools: the directory of the runtime's tools there; empty for the search path.
        directory: a directory there for the files of runs; empty for a directory for temporary files.
        lease_seconds: the time after which the board removes the directory of a run that it does not hear of.
    """

    command: tuple[str, ...]
    tools: str = ""
    directory: str = ""
    lease_seconds: int = LEASE_SECONDS

    def __post_init__(self) -> None:
        for what, path in (("tools", self.tools), ("files", self.directory)):
            if not _PLAIN.fullmatch(path):
                message = f"the directory of {what} on a board has other characters than letters, digits and ./_+-: '{path}'"
                raise BoardError(message)
        if self.tools and not self.tools.startswith("/"):
            # Those of an emulator are on this machine.
            tools = Path(self.tools).absolute()
            if not tools.is_dir():
                message = f"the directory of tools on a board is a relative path: '{self.tools}'"
                raise BoardError(message)
            object.__setattr__(self, "tools", str(tools))

    @property
    def emulator(self) -> str:
        """The emulator in the command; empty for none."""
        names = (Path(word).name for word in self.command)
        return next((name for name in names if name.startswith("qemu-")), "")


@dataclass(frozen=True)
class BoardState:
    """The properties of a board when a session was opened, as values by key; see `open.sh`."""

    values: dict[str, list[str]] = field(default_factory=dict)

    def first(self, key: str) -> str:
        """Return the first value of a key; empty if it has none."""
        return next(iter(self.values.get(key, ())), "")

    def number(self, key: str) -> int | None:
        """Return the first value of a key as a number; None if it is none."""
        text = self.first(key)
        return int(text) if text.isdecimal() else None

    def all(self, key: str) -> list[str]:
        """Return all values of a key."""
        return self.values.get(key, [])

    @property
    def is_here(self) -> bool:
        """Whether the board is the machine of this process: both were booted at the same time."""
        with suppress(OSError):
            return Path("/proc/sys/kernel/random/boot_id").read_text().strip() == self.first("boot")
        return False


class Board(ExitStack):
    """A session on a board.

    Calls of several threads travel together: while a batch runs, others wait and form the next one. A batch whose
    connection breaks runs again in a new session; a call that breaks it again alone is lost. Closing removes everything
    from the board. So does the board itself, once the lease is over.

    Args:
        access: the way to the board.
        pauses: the pauses before further attempts to reach the board, in seconds.
        during: returns the context in which a batch runs.

    Attributes:
        state: the properties of the board.
        is_kept: whether the board can end the session by itself: the keeper ran after the command that started it had ended.
        highest_mhz: the highest clock after a call; its users keep it, as the board does not know which calls count.
        prefix: the command in front of the tools if it does not run a shell, as an emulator; else empty.

    Raises:
        BoardError: the board cannot be reached, or its directory cannot be written to.
    """

    def __init__(
        self,
        access: BoardAccess,
        *,
        pauses: Sequence[float] = _PAUSES,
        during: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        super().__init__()
        self.access, self.highest_mhz, self.is_kept = access, 0, True
        self.prefix: tuple[str, ...] = ()
        self._lease_seconds = access.lease_seconds
        self._connection = SharedConnection(access.command)
        self._pauses, self._during = tuple(pauses), during
        self._tools = f"{access.tools.rstrip('/')}/" if access.tools else ""
        self._session, self._directory, self._is_usable = "", "", False
        self._present: OrderedDict[str, int] = OrderedDict()  # sizes, the latest used last
        self._waiting: list[tuple[Sequence[Call], Future[list[CallResult]]]] = []
        self._queue_lock, self._turn = threading.Lock(), threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._contact, self._ended = time.monotonic(), threading.Event()
        try:
            self.state = self._open()
        except (_LostError, _FullError) as failure:
            self._connection.close()
            raise BoardError(str(failure)) from None
        self.callback(self._close)
        with suppress(_LostError, _FullError):
            self._exchange([])  # shows whether there is a keeper
        threading.Thread(target=self._renew, daemon=True).start()

    # --- Batches ---------------------------------------------------------------------------------------------

    def run(self, calls: Sequence[Call]) -> list[CallResult]:
        """Run calls one after another, and return their results. Thread-safe.

        Raises:
            BoardError: the board cannot be reached any more, or there is no space left on it.
        """
        job: Future[list[CallResult]] = Future()
        with self._queue_lock:
            self._waiting.append((calls, job))
        with self._turn:
            if not job.done():
                # Take all that wait, also for the other threads.
                with self._queue_lock:
                    taken, self._waiting = self._waiting, []
                batch = [call for group, _ in taken for call in group]
                try:
                    with self._during():
                        results = iter(self._reliably(batch))
                    for group, waiting in taken:
                        waiting.set_result([next(results) for _ in group])
                except BaseException as failure:
                    for _, waiting in taken:
                        if not waiting.done():
                            waiting.set_exception(failure)
                    if not isinstance(failure, BoardError):
                        raise
        return job.result()

    def _reliably(self, calls: Sequence[Call]) -> list[CallResult]:
        """Run a batch, again if the connection breaks or the directory is full; then each call alone."""
        lost, reason = 0, ""
        pauses = iter(self._pauses)
        while True:
            if self._ended.is_set():
                raise BoardError("the session on the board is closed")
            try:
                if not self._is_usable:
                    self.state = self._open()
                return self._exchange(calls)
            except _FullError as failure:
                is_new, reason = not self._present, str(failure)
                self._present.clear()
                if len(calls) == 1 and is_new:
                    self._is_usable = False
                    return [CallResult(_FAILED, stderr=reason, is_full=True)]
            except _LostError as failure:
                lost += self._is_usable
                reason = str(failure)
            was_usable, self._is_usable = self._is_usable, False
            if len(calls) > 1 and (lost >= _BREAKS or not lost):
                return [result for call in calls for result in self._reliably([call])]
            if lost >= _BREAKS:
                return [CallResult(_FAILED, stderr=reason, is_lost=True)]
            if lost or not was_usable:
                pause = next(pauses, None)
                if pause is None:
                    raise BoardError(f"the board does not answer any more: {reason}")
                self._ended.wait(pause)

    def _exchange(self, calls: Sequence[Call]) -> list[CallResult]:
        """Send a batch to the board, and return the results."""
        # Remove files if there are too many.
        needed = {part.name: part.size for call in calls for f in call.files for part in f.parts()}
        total, evicted = sum(({**self._present, **needed}).values()), list[str]()
        for name in [name for name in self._present if name not in needed]:
            if total <= self._most_kept:
                break
            total -= self._present.pop(name)
            evicted.append(name)
        with TemporaryFile() as archive:
            write_batch(
                archive, calls, self._present, evicted, tools=self._tools, prefix=self.prefix
            )
            seconds = sum(call.seconds for call in calls) + archive.tell() / _SLOWEST
            archive.seek(0)
            answer, errors = self._command("serve.sh", archive, seconds + _MARGIN_SECONDS)
        _, mark, rest = answer.partition(b"tuninglink-answer ")
        line, _, content = rest.partition(b"\n")
        if not mark:
            raise _LostError(errors or "it ended without an answer")
        keeper, free, message = [*line.decode(errors="replace").split(" ", 2), "", ""][:3]
        self.is_kept = keeper == "yes"
        try:
            results = read_results(content, len(calls))
        except IncompleteError as failure:
            if _FULL.search(message + errors) or _is_full(free):
                raise _FullError(f"no space left in '{self._directory}'") from None
            raise _LostError(message or errors or str(failure)) from None
        if any(
            result.status and (_is_full(free) or _FULL.search(result.stderr)) for result in results
        ):
            raise _FullError(f"no space left in '{self._directory}'")
        for name, size in needed.items():
            self._present[name] = size
            self._present.move_to_end(name)
        return results

    # --- The session ---------------------------------------------------------------------------------------

    def _open(self) -> BoardState:
        """Open a session, in place of the last one if there was one; it keeps the files of that."""
        session = uuid.uuid4().hex[:12]
        script = resources.files(__package__).joinpath("open.sh").read_text()
        for name in ("serve", "keeper", "close"):
            text = resources.files(__package__).joinpath(f"{name}.sh").read_text()
            script = script.replace(f"@{name}@\n", text)
        failures = []
        is_local_tool = Path(f"{self._tools}iree-run-module").is_file()
        if self._session:
            self._connection.renew()
        for prefix in (self.prefix,) if self._session else ((), self.access.command):
            if prefix and not is_local_tool:
                continue
            self.prefix = prefix
            values = {
                "base": self.access.directory,
                "session": session,
                "replaced": self._session,
                "kept": " ".join(self._present),
                "limit": str(self._lease_seconds),
                "tools": self._tools,
                "prefix": shlex.join(prefix),
            }
            lines = "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
            with TemporaryFile() as file:
                file.write(f"{lines}{script}".encode())
                file.seek(0)
                try:
                    output, errors = self._command("", file, _OPENING_SECONDS)
                except _LostError as failure:
                    failures.append(str(failure))
                    continue
            state: dict[str, list[str]] = {}
            for line in output.decode(errors="replace").splitlines():
                key, _, value = line.strip().partition(" ")
                state.setdefault(key, []).append(value)
            if "tuninglink-failed" in state:
                raise _FullError(state["tuninglink-failed"][0])
            if "tuninglink-opened" in state and _PLAIN.fullmatch(state["tuninglink-session"][0]):
                self._session, self._directory = session, state["tuninglink-session"][0]
                self._owner = state.get("owner", [""])[0]
                self._is_usable = True
                kept = state.get("kept", ())
                self._present = OrderedDict((n, s) for n, s in self._present.items() if n in kept)
                opened = BoardState(state)
                # Keep files while there is room for twice as many bytes.
                space = opened.number("space")
                self._most_kept = _USUAL_KEPT if space is None else space << 9
                if opened.first("in-memory"):
                    most = (opened.number("memory") or _USUAL_MEMORY_KB) * 1024 // _MEMORY_PART
                    self._most_kept = min(self._most_kept, most)
                return opened
            failures.append(errors or "it ended without an answer")
        if not self._session:
            self.prefix = ()
        raise _LostError(f"'{shlex.join(self.access.command)} sh': {failures[0]}")

    def _command(self, script: str, given: IO[bytes], seconds: float) -> tuple[bytes, str]:
        """Run a script of the session, or the given one without a name; return its output, and the last line of its errors."""
        words: tuple[str, ...] = ("sh", f"{self._directory}/{script}") if script else ("sh",)
        if script and self._owner:
            # Another user may have made such a directory since. There need not be a shell that could check it.
            checked = ("find", self._directory, "-prune", "-user", self._owner, "-exec")
            words = (*checked, *words, "{}", "+")
        with TemporaryFile() as output, TemporaryFile() as errors:
            process = self._started(words, stdin=given, stdout=output, stderr=errors)
            self._process, self._contact = process, time.monotonic()
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                raise _LostError(f"no answer within {seconds:.0f} s") from None
            finally:
                self._kill(process)
                self._process, self._contact = None, time.monotonic()
            output.seek(0)
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
            return output.read(), lines[-1] if lines else ""

    def _started(self, words: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
        """Start a command on the board."""
        command = [*(() if self.prefix else self._connection.command), *words]
        try:
            # Without a terminal, as one that asks for a password would wait.
            return subprocess.Popen(command, start_new_session=True, **streams)  # noqa: S603
        except OSError as failure:
            raise _LostError(f"'{command[0]}' does not start: {failure.strerror}") from None

    @staticmethod
    def _kill(process: subprocess.Popen[bytes]) -> None:
        with suppress(OSError):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _renew(self) -> None:
        """Renew the lease, between batches and during long ones."""
        nothing = subprocess.DEVNULL
        while not self._ended.wait(self._lease_seconds / 6):
            if time.monotonic() - self._contact < self._lease_seconds / 3 or not self._is_usable:
                continue
            with suppress(_LostError):
                words = "touch", "-c", f"{self._directory}/lease"
                process = self._started(words, stdin=nothing, stdout=nothing, stderr=nothing)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_MARGIN_SECONDS)
                self._kill(process)
                self._contact = time.monotonic()

    def _close(self) -> None:
        """End the batch that runs, and remove the directory."""
        self._ended.set()
        if (process := self._process) is not None:
            self._kill(process)
        if self._directory:
            with TemporaryFile() as nothing, suppress(_LostError):
                self._command("close.sh", nothing, _MARGIN_SECONDS)
        self._connection.close()


def _is_full(free_kilobytes: str) -> bool:
    return free_kilobytes.isdecimal() and int(free_kilobytes) < _LEAST_FREE_KB
