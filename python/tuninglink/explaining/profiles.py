"""Profiles: times of dispatches by name, as the runtime and Tracy write them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any, Final

from tuninglink.errors import TuninglinkError, reason_for_user
from tuninglink.explaining.dispatch_report import EXPLANATION, DispatchReport
from tuninglink.files import cannot
from tuninglink.mlir.diagnostics import error, note

_MICROSECONDS: Final = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
"""The time units of Google Benchmark, in microseconds."""


@dataclass(frozen=True)
class Profile:
    """Times by name.

    Attributes:
        by_name: microseconds per call, by the name of a dispatch, of its function or of its benchmark.
        counts: the calls in all runs of the program, by the same names; empty where they are unknown.
        runs: the number of runs; None if unknown.
        device: see `MeasuredTimes`.
        defaults: microseconds per call with the compiler's choices, by the same names; empty where they are unknown.
    """

    by_name: Mapping[str, float]
    counts: Mapping[str, float] = field(default_factory=dict)
    runs: float | None = None
    device: str = ""
    defaults: Mapping[str, float] = field(default_factory=dict)

    def microseconds(self, dispatch: DispatchReport) -> float | None:
        """See `MeasuredTimes`."""
        return self.time_of(dispatch.name, dispatch.functions)

    def default_microseconds(self, dispatch: DispatchReport) -> float | None:
        """See `MeasuredTimes`."""
        return _first(self.defaults, dispatch.name, dispatch.functions)

    def time_of(self, dispatch: str, functions: Sequence[str]) -> float | None:
        """Return the microseconds of a call; None if they are not in the profile.

        Args:
            dispatch: the name of the dispatch, such as `@executable::@variant`.
            functions: the functions in it.
        """
        return _first(self.by_name, dispatch, functions)

    def count_of(self, dispatch: str, functions: Sequence[str]) -> float | None:
        """Return the calls in all runs; see `time_of`."""
        return _first(self.counts, dispatch, functions)


def _first(values: Mapping[str, float], dispatch: str, functions: Sequence[str]) -> float | None:
    """Return the value for the first name of a dispatch that has one."""
    executable, _, variant = dispatch.replace("@", "").partition("::")
    # A benchmark of `--iree-hal-dump-executable-benchmarks-to` has all three names.
    joined = (f"{executable}_{variant}_{function}" for function in functions)
    return next((values[name] for name in (dispatch, *functions, *joined) if name in values), None)


def runs_of(counts: Mapping[str, float], calls: Mapping[str, int]) -> float:
    """Return the number of runs of a program in a profile, or 0 if it is unknown.

    The number is the most frequent ratio of a dispatch's calls in the profile to those in the program, since calls in
    loops are unknown.

    Args:
        counts: the calls in the profile, by dispatch.
        calls: the calls in the program, by dispatch.
    """
    ratios = Counter(count / calls[name] for name, count in counts.items() if calls[name])
    return max(ratios, key=lambda ratio: (ratios[ratio], -ratio), default=0.0)


def read_profile(path: str) -> Profile:
    """Read a profile.

    The supported formats are the profiles of the runtime's devices (`.ireeprof`), explanations with times as JSON, the
    JSON and the CSV of `iree-benchmark-module`, of dispatch benchmarks or with `--dispatch_statistics`, and the CSV of
    `tracy-csvexport`.

    Raises:
        TuninglinkError: the file cannot be read, or has another format.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as failure:
        raise TuninglinkError(cannot("read", path, failure)) from None
    if content.startswith(_DEVICE_PROFILE):
        return profile_of(dispatch_events(path), path)
    try:
        text = content.decode()
        if text.lstrip().startswith("{"):
            document = json.loads(text)
            if document.get("format") == EXPLANATION:
                return _explained(document, path)
            return Profile(_benchmarks(document["benchmarks"]))
        return Profile(_table(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as failure:
        formats = note(
            "expected a .ireeprof of --device_profiling_output, an explanation of 'tuninglink explain --device' as JSON, "
            "--benchmark_format=json or csv of iree-benchmark-module, or the output of tracy-csvexport"
        )
        reason = f"'{path}' is not a profile: {reason_for_user(failure)}"
        raise TuninglinkError(error(reason, notes=[formats])) from None


def _explained(document: Mapping[str, Any], path: str) -> Profile:
    """Return the times in an explanation.

    Raises:
        TuninglinkError: the explanation has no times.
    """
    timed = [entry for entry in document["dispatches"] if entry["microseconds"] is not None]
    if not timed:
        remedy = note("explain the program with --device or --profile")
        raise TuninglinkError(error(f"'{path}' has no times of dispatches", notes=[remedy]))
    return Profile(
        {entry["name"]: float(entry["microseconds"]) for entry in timed},
        {entry["name"]: float(entry["calls"]) for entry in timed},
        runs=1.0,
        device=document.get("device", ""),
        defaults={
            entry["name"]: float(entry["default_microseconds"])
            for entry in timed
            if entry.get("default_microseconds") is not None
        },
    )


# --- Profiles of the runtime's devices -------------------------------------------------------------------

_DEVICE_PROFILE: Final = b"IRPF"
"""The first bytes of a profile of devices."""

_FAMILIES: Final = (
    "record it with '--device_profiling_mode=host-execution' on local-sync and local-task, "
    "and with 'dispatch-events,executable-metadata' on amdgpu and vulkan; cuda, hip and metal have no profiles"
)


@dataclass(frozen=True)
class DispatchEvent:
    """One execution of a dispatch.

    Attributes:
        function: the name of its function.
        microseconds: its duration.
        is_of_device: whether the time was measured on the device, not on the host.
    """

    function: str
    microseconds: float
    is_of_device: bool


def profile_of(events: Iterable[DispatchEvent], path: str) -> Profile:
    """Return the mean times of dispatches.

    Args:
        events: the executions of dispatches; times of the host are ignored if there are times of the device.
        path: the file with the events, for messages.

    Raises:
        TuninglinkError: there is no event.
    """
    by_clock: dict[bool, dict[str, list[float]]] = {True: {}, False: {}}
    for event in events:
        by_clock[event.is_of_device].setdefault(event.function, []).append(event.microseconds)
    times = by_clock[True] or by_clock[False]
    if not times:
        message = f"'{path}' has no times of dispatches"
        raise TuninglinkError(error(message, notes=[note(_FAMILIES)]))
    return Profile(
        {name: mean(durations) for name, durations in times.items()},
        {name: len(durations) for name, durations in times.items()},
    )


def dispatch_events(path: str) -> Iterator[DispatchEvent]:
    """Yield the executions of dispatches in a profile of devices, in order.

    Raises:
        TuninglinkError: the runtime's reader is not installed, or cannot read the file.
    """
    command = [str(runtime_tool("iree-profile")), "export", "--format=ireeperf-jsonl", path]
    with subprocess.Popen(  # noqa: S603 - the runtime's own tool
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as export:
        assert export.stdout is not None
        complaints = []
        for line in export.stdout:
            if not line.startswith("{"):
                complaints.append(line.strip())
                continue
            event = _dispatch_event(json.loads(line))
            if event is not None:
                yield event
    if export.returncode:
        reason = " ".join(complaints).rpartition("; ")[2] or f"exit code {export.returncode}"
        raise TuninglinkError(error(f"cannot read profile '{path}': {reason}"))


_DEVICE_EVENT: Final = "dispatch_event"
_HOST_EVENT: Final = "host_execution_event"


def _dispatch_event(record: Mapping[str, Any]) -> DispatchEvent | None:
    kind = record["record_type"]
    if kind not in (_DEVICE_EVENT, _HOST_EVENT) or not record["valid"] or not record["key"]:
        return None
    if kind == _HOST_EVENT and record["op"] != "dispatch":
        return None
    return DispatchEvent(record["key"], record["duration_ns"] / 1e3, kind == _DEVICE_EVENT)


def runtime_tool(name: str) -> Path:
    """Return the path of a tool of the runtime.

    Raises:
        TuninglinkError: the runtime is not installed, or lacks the tool.
    """
    try:
        from iree import _runtime_libs  # type: ignore[attr-defined] # noqa: PLC0415 - an extra
    except ImportError:
        path = None
    else:
        path = Path(_runtime_libs.__path__[0]) / name
    if path is None or not path.exists():
        remedy = note("install it with: pip install 'iree-base-runtime>=3.13'")
        raise TuninglinkError(error(f"'{name}' of IREE's runtime is not installed", notes=[remedy]))
    return path


# --- Google Benchmark and Tracy --------------------------------------------------------------------------


def _benchmarks(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return times of the rows of Google Benchmark: the median over repetitions if reported."""
    medians: dict[str, float] = {}
    runs: dict[str, list[float]] = {}
    for row in rows:
        full = str(row.get("run_name") or row["name"]).removeprefix("BM_")
        calls = float(row.get("calls") or 0)
        # The row of a dispatch is named BENCHMARK/FUNCTION, any other row NAME/TIMING.
        name = full.partition("/")[2] if calls else full.partition("/")[0]
        unit = _MICROSECONDS[str(row["time_unit"])]
        time = float(row["real_time"]) * unit / (calls or 1)
        if row.get("aggregate_name") == "median":
            medians[name] = time
        elif row.get("run_type", "iteration") == "iteration":
            runs.setdefault(name, []).append(time)
    return {name: mean(durations) for name, durations in runs.items()} | medians


def _table(text: str) -> dict[str, float]:
    """Return times of a CSV; the runtime writes lines about the machine before it."""
    lines = text.splitlines(keepends=True)
    start = next(
        at for at, line in enumerate([*lines, "name,"]) if line.startswith(("name,", '"name"'))
    )
    rows = list(csv.DictReader(io.StringIO("".join(lines[start:]))))
    if not rows:
        raise ValueError("it has no rows")
    if "real_time" in rows[0]:
        return _benchmarks(rows)
    return {
        row["name"]: float(row["total_ns"]) / max(float(row["counts"]), 1) * _MICROSECONDS["ns"]
        for row in rows
    }
