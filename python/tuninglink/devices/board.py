"""Boards as devices: machines that a command reaches, on which the runtime's tools measure.

The URI is `run:COMMAND`, or `run[tools=DIR,dir=DIR,driver=DRIVER]:COMMAND`.
"""

from __future__ import annotations

import shlex
import struct
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path
from typing import Final

from tuninglink.devices.board_calls import BENCHMARK, RUN
from tuninglink.devices.board_measurer import BoardMeasurer
from tuninglink.devices.board_uri import BoardUri
from tuninglink.devices.device import (
    LOCAL_DRIVERS,
    THREADED_DRIVER,
    DeviceDescription,
    DeviceError,
    board_driver,
)
from tuninglink.devices.device_set import Answer, Device, DeviceLostError, Request
from tuninglink.devices.running import MeasurementError
from tuninglink.devices.times import Settings
from tuninglink.errors import Diagnostic
from tuninglink.mlir import error, note
from tuninglink.programs import Failure, FailureKind
from tuninglink.runner import Board, BoardError, BoardState

_TOOLS: Final = (BENCHMARK, RUN)

_TOGETHER: Final = 8
"""The number of candidates that travel together."""

_MACHINES: Final = {0x3E: "x86_64", 0xB7: "aarch64", 0x28: "arm", 0xF3: "riscv64", 0x03: "i386"}
"""The values of `e_machine` in the header of a program."""


def describe_board(uri: BoardUri, board: Board) -> DeviceDescription:
    """Return the description of a board with an open session."""
    state, emulator = board.state, board.access.emulator
    if board.prefix:
        emulator = emulator or Path(board.prefix[0]).name
    driver = board_driver(uri)
    parts = state.all("part")
    name = next(filter(None, map(state.first, ("model", "processor", "hardware"))), "")
    name = name or f"{state.first('machine')} {' '.join(parts)}".strip()
    machine = state.first("machine")
    warnings = []
    if emulator:
        name, machine = f"{emulator} on {name}", _machine_of(uri.tools)
        warnings.append(f"times under an emulator are not times: {emulator} runs the code")
    governors = set(state.all("governor")) - {"performance"}
    if governors:
        names = ", ".join(sorted(governors))
        warnings.append(
            f"the clock governor of {name} is {names}, not performance: times depend on the load before"
        )
    if (state.number("others") or 0) > 0:
        warnings.append(f"another run uses {name}, or ended less than a minute ago")
    if left := what_stays(board):
        warnings.append(left)
    cores = (state.number("processors") or 1) if driver == THREADED_DRIVER else 1
    return DeviceDescription(
        uri.short,
        name,
        driver,
        f"{state.first('kernel')} by {BENCHMARK}",
        metadata.version("iree-base-runtime"),
        cores if driver in LOCAL_DRIVERS else 0,
        machine,
        state.is_here,
        tuple(warnings),
    )


def _machine_of(tools: str) -> str:
    """Return the instruction set of the tools in a local directory, from the header of one; empty if it is unknown."""
    try:
        with Path(tools, RUN).open("rb") as file:
            header = file.read(20)
    except OSError:
        return ""
    number = struct.unpack_from("<H", header, 18)[0] if header[:4] == b"\x7fELF" else 0
    return _MACHINES.get(number, "")


def what_stays(board: Board) -> str:
    """Return what stays on a board if this process or the connection ends, in words; empty for nothing."""
    if board.is_kept:
        return ""
    why = f"{shlex.quote(board.access.command[0])} ends all processes of a command with it"
    return (
        f"{why}: if this run is killed or the network lost, its files stay until the next one there"
    )


def missing_programs(state: BoardState) -> str:
    """Return what a board lacks for batches, in words; empty if nothing."""
    missing = sorted({"tar", "head", "df"} - set(state.all("program")))
    return f"the board lacks {', '.join(missing)}" if missing else ""


def missing_tool(tool: str, uri: BoardUri, state: BoardState) -> str:
    """Return why a tool of the runtime cannot be used on a board; empty if it can."""
    driver, output = board_driver(uri), state.all(f"{tool}-output")
    if state.first(tool) != "0":
        where = f"in '{uri.tools}'" if uri.tools else "in the search path"
        return (
            f"'{tool}' does not run {where} on the board: {next(filter(None, output), 'no output')}"
        )
    if any(line.startswith(f"{driver}:") for line in output):
        return ""
    return f"'{tool}' has no driver '{driver}'"


class BoardDevice(Device, ExitStack):
    """A board as a device. Requests of several threads travel together.

    Args:
        uri: the board.
        settings: the settings of measurements.
        timeout: the seconds that a run of a tool may take before its benchmark counts as hanging.

    Raises:
        DeviceError: the board cannot be reached, or lacks the tools.
    """

    together = _TOGETHER

    def __init__(self, uri: str, settings: Settings, timeout: float) -> None:
        super().__init__()
        self._timeout = timeout
        self._lost: Diagnostic | None = None
        parts = BoardUri.parse(uri)
        access, self._name = parts.access(), parts.short
        try:
            self.board = self.enter_context(Board(access, during=self._metered))
        except BoardError as failure:
            remedy = note(
                f"see what is missing with: tuninglink doctor --device {shlex.quote(parts.short)}"
            )
            raise DeviceError(error(f"device '{parts.short}': {failure}", notes=[remedy])) from None
        try:
            state = self.board.state
            reasons = missing_programs(state), *(missing_tool(t, parts, state) for t in _TOOLS)
            if reason := next(filter(None, reasons), ""):
                remedy = note("name the directory of the tools with --device-tools")
                raise DeviceError(error(f"device '{parts.short}': {reason}", notes=[remedy]))
            self.description = describe_board(parts, self.board)
            self._measurer = BoardMeasurer(self.board, self.description.driver, settings)
        except BaseException:
            self.close()
            raise

    def ask(self, request: Request[Answer]) -> Answer | Failure:
        """See `Device`. A lost board stays lost."""
        if self._lost is not None:
            raise DeviceLostError(self._lost)
        limit = request.time_limit(self._timeout)
        # Requests name methods of `Measurer`; those that a board has are methods of the same names.
        work = getattr(self._measurer.within(limit), request.work.__name__, None)
        if work is None:
            message = f"a board does not do this: {request.work.__name__}"
            return Failure(FailureKind.RUN, message)
        try:
            answer: Answer = work(*request.arguments)
        except MeasurementError as failure:
            return failure.failure
        except BoardError as failure:
            self._lost = error(f"device '{self._name}': {failure}")
            raise DeviceLostError(self._lost) from None
        return answer
