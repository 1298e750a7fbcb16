"""Calls of the runtime's tools on a board: their arguments and files, and what their results say."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from tuninglink.devices.device import SYNCHRONOUS_DRIVER
from tuninglink.devices.measurement import SAMPLE_SECONDS
from tuninglink.devices.numerics import CANARY, Bytes, buffer_length, initial_bytes
from tuninglink.devices.running import MeasurementError, program_arguments
from tuninglink.devices.times import DeviceReading
from tuninglink.programs import BufferLayout, CompiledProgram, FailureKind, element_type
from tuninglink.runner import BoardFile, CallResult

BENCHMARK: Final = "iree-benchmark-module"
RUN: Final = "iree-run-module"

ONCE: Final = ("--benchmark_min_time=1x", "--benchmark_format=json")
"""The flags of a benchmark that runs a function once."""

_WARM_UP_SECONDS: Final = 0.001
KEPT: Final = 8
"""The number of layouts and programs whose inputs are kept."""

_UNITS: Final = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}

_STATUS: Final = re.compile(r"\b([A-Z_]{4,}); (.+?)(?::? Tried:|; while |;? \[|'?\n|$)")
"""A status of the runtime: its code and its message, without attributes and the chain of its context."""

_LOADING: Final = re.compile(r"loading bytecode module|no function `")
"""The text of failures before anything runs."""

_SIGNALED: Final = 128
"""The offset of exit codes for signals."""

_KILLED: Final = 9


def buffer_arguments(
    buffer: BoardFile, layout: BufferLayout, sets: int, batch: int
) -> tuple[str, ...]:
    """Return the arguments of the function of a benchmark that runs a number of iterations."""
    data = f"--input=&{buffer.size}xi8=@{buffer.path}"
    return (data, f"--input={sets}", f"--input={layout.stride}", f"--input={batch}")


def sampling(repeats: int) -> tuple[str, ...]:
    """Return the flags of a benchmark that takes samples of at least a duration."""
    return (
        f"--benchmark_min_time={SAMPLE_SECONDS}s",
        f"--benchmark_min_warmup_time={_WARM_UP_SECONDS}",
        f"--benchmark_repetitions={repeats}",
        "--benchmark_format=json",
    )


def buffer_file(
    layout: BufferLayout, contents: Sequence[Sequence[Any]], sets: int, guard: Bytes = CANARY
) -> BoardFile:
    """Return the buffer of a benchmark as a file that the board assembles: a period of each pattern travels there."""

    def literal(low: int, high: int) -> tuple[BoardFile, int]:
        return BoardFile(initial_bytes(layout, contents, low, high, guard).tobytes()), high - low

    if any(len(parts) > 1 for parts in contents):
        one, _ = literal(0, layout.stride)
    else:
        pieces, at = [], 0
        for binding, (pattern,) in zip(layout.bindings, contents, strict=True):
            pieces.append(literal(at, binding.offset))
            at = binding.offset
            if pattern.length:
                pieces.append((BoardFile(pattern.content.tobytes()), pattern.length))
                at += pattern.length
        pieces.append(literal(at, layout.stride))
        one = BoardFile(pieces=tuple(pieces))
    end = literal(layout.stride, buffer_length(layout))
    return BoardFile(pieces=((one, sets * layout.stride), end))


@dataclass(frozen=True)
class BoardArguments:
    """The flags for the inputs and parameters of a program, and the files that they name."""

    flags: tuple[str, ...]
    files: tuple[BoardFile, ...]


@lru_cache(KEPT)
def board_arguments(program: CompiledProgram, seed: int) -> BoardArguments:
    """Return the arguments of a program for the runtime's tools on a board."""
    files: list[BoardFile] = []

    def place(content: bytes | Path, suffix: str) -> str:
        files.append(BoardFile(content, suffix=suffix))
        return files[-1].path

    flags = program_arguments(program, seed, place)
    return BoardArguments(flags, tuple(files))


def array_of(kind: str, content: bytes) -> np.ndarray:
    """Return a result, whose type was printed as `hal.buffer_view 2x3xf32=...` or `i32=4`."""
    name, _, text = kind.partition("=") if not kind.startswith("hal.") else (kind, "", "")
    if not kind.startswith("hal."):
        return np.asarray(float(text) if name.startswith("f") else int(text))
    *sizes, name = kind.split(" ", 1)[-1].partition("=")[0].split("x")
    dtype = element_type(name)
    data = np.frombuffer(content, np.uint8)
    return data if dtype is None else data.view(dtype).reshape([int(size) for size in sizes])


def readings_of(results: Sequence[CallResult]) -> tuple[DeviceReading, ...]:
    """Return the state of the board after the last of some calls, if it reports any."""
    last = results[-1]
    if last.clock_mhz is None and last.temperature_celsius is None:
        return ()
    return (DeviceReading(last.clock_mhz, None, last.temperature_celsius),)


def check(result: CallResult) -> None:
    """Raise a `MeasurementError` if a call failed."""
    text = result.stderr + result.stdout
    if result.is_lost:
        message = f"the board or its connection failed each time that it ran: {result.stderr}"
        raise MeasurementError(FailureKind.CRASH, message)
    if result.is_full:
        raise MeasurementError(FailureKind.LOAD, f"{result.stderr} on the board")
    if result.is_timeout:
        raise MeasurementError(FailureKind.TIMEOUT, "no answer within the time limit on the board")
    if not result.status:
        return
    status = _STATUS.search(text)
    if status is None and result.status > _SIGNALED:
        message = f"the tool ended with signal {result.status - _SIGNALED}"
        if result.status == _SIGNALED + _KILLED:
            message += ", before its time was over: the board may have too little memory"
        raise MeasurementError(FailureKind.CRASH, message)
    kind = FailureKind.LOAD if _LOADING.search(text) else FailureKind.RUN
    reason = (
        f"{status[2]} ({status[1]})" if status else (text.strip().splitlines() or ["no output"])[-1]
    )
    raise MeasurementError(kind, reason)


def times(result: CallResult, driver: str) -> list[float]:
    """Return the microseconds of a call of the function in each repetition of a benchmark.

    With the driver of one thread, it is the processor time.

    Raises:
        MeasurementError: the call failed.
    """
    check(result)
    try:
        report = json.loads(result.stdout[result.stdout.index("{") :])
        entries: list[Mapping[str, Any]] = report["benchmarks"]
    except (ValueError, KeyError):
        message = f"'{BENCHMARK}' did not write times: {result.stderr.strip()[:200]}"
        raise MeasurementError(FailureKind.RUN, message) from None
    for entry in entries:
        if entry.get("error_occurred"):
            status = _STATUS.search(str(entry.get("error_message")) + result.stderr)
            reason = f"{status[2]} ({status[1]})" if status else str(entry.get("error_message"))
            raise MeasurementError(FailureKind.RUN, reason)
    clock = "cpu_time" if driver == SYNCHRONOUS_DRIVER else "real_time"
    taken = [
        float(entry[clock]) * _UNITS[entry["time_unit"]]
        for entry in entries
        if entry.get("run_type", "iteration") == "iteration"
    ]
    if not taken:
        raise MeasurementError(FailureKind.RUN, f"'{BENCHMARK}' wrote no times")
    return [max(microseconds, 1e-3) for microseconds in taken]
