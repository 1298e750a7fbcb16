"""Checks of a board: what a device `run:COMMAND` lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tuninglink.compiler import compile as compile_program
from tuninglink.devices.board import describe_board, missing_programs, missing_tool, what_stays
from tuninglink.devices.board_calls import BENCHMARK, RUN, check
from tuninglink.devices.board_uri import BoardUri
from tuninglink.devices.running import MeasurementError
from tuninglink.errors import TuninglinkError
from tuninglink.runner import Board, BoardError, BoardFile, Call

_PROGRAM: Final = b"""
func.func @twice(%value: tensor<3xf32>) -> tensor<3xf32> {
  %sum = arith.addf %value, %value : tensor<3xf32>
  return %sum : tensor<3xf32>
}
"""
_INPUT: Final = "3xf32=1 2 3"
_OUTPUT: Final = "3xf32=2 4 6"


@dataclass(frozen=True)
class BoardCheck:
    """The property that a check of a board is about, and the reason why it does not hold; empty if it does.

    Attributes:
        is_warning: whether the board can be used all the same.
    """

    name: str
    failure: str = ""
    is_warning: bool = False


def board_checks(uri: str) -> Iterator[BoardCheck]:
    """Yield the results of the checks of a board; those that depend on a failed one are left out.

    Raises:
        TuninglinkError: the URI is invalid, or its command is not found.
    """
    parts = BoardUri.parse(uri)
    try:
        board = Board(parts.access(), pauses=())
    except BoardError as failure:
        yield BoardCheck("the command runs a shell or the tools", str(failure))
        return
    with board:
        device = describe_board(parts, board)
        how = "the tools alone" if board.prefix else "a shell"
        space = board.state.number("space")
        free = "unknown space" if space is None else f"{space >> 10:,} MB free"
        yield BoardCheck(
            f"the command runs {how}, on {device.name} ({device.machine or 'unknown'})"
        )
        yield BoardCheck(f"there is a directory for files, with {free}")
        yield BoardCheck("the programs for batches are there", missing_programs(board.state))
        missing = [missing_tool(tool, parts, board.state) for tool in (BENCHMARK, RUN)]
        yield BoardCheck(f"{BENCHMARK} runs", missing[0])
        yield BoardCheck(f"{RUN} runs", missing[1])
        if not any(missing) and device.is_processor:
            reason = _failing_code(board, device.machine, device.driver)
            yield BoardCheck(f"code of this compiler for {device.machine} runs", reason)
        left = what_stays(board)
        yield BoardCheck("the board removes the files of a run that is lost", left, is_warning=True)
        for warning in device.warnings:
            if warning != left:
                yield BoardCheck("times are reliable", warning, is_warning=True)


def _failing_code(board: Board, machine: str, driver: str) -> str:
    """Return the reason why a program does not run on a board; empty if it does."""
    flags = [
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=generic",
        f"--iree-llvmcpu-target-triple={machine}-unknown-linux-gnu",
    ]
    try:
        module = BoardFile(compile_program(_PROGRAM, default_specs=False, flags=flags).output)
        words = (f"--module={module.path}", f"--device={driver}", "--function=twice")
        (result,) = board.run([Call(RUN, (*words, f"--input={_INPUT}"), (module,))])
        check(result)
    except (TuninglinkError, BoardError) as failure:
        return str(failure)
    except MeasurementError as failure:
        return failure.failure.message
    return "" if _OUTPUT in result.stdout else f"a wrong result: {result.stdout.strip()}"
