"""Measured times of dispatches: profiles of the runtime and of Tracy."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any, Final, Protocol

from tuninglink.errors import TuninglinkError
from tuninglink.explaining.dispatch_report import DispatchReport
from tuninglink.explaining.explanation import Explanation
from tuninglink.files import cannot
from tuninglink.iree.peak_rates import peaks_of_device
from tuninglink.mlir.diagnostics import error, note

_MICROSECONDS: Final = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
"""The time units of Google Benchmark, in microseconds."""


class MeasuredTimes(Protocol):
    """A source of measured times of dispatches."""

    @property
    def device(self) -> str:
        """The device that was measured; empty if unknown."""

    def microseconds(self, dispatch: DispatchReport) -> float | None:
        """Return the time of one call; None if it was not measured."""

    def default_microseconds(self, dispatch: DispatchReport) -> float | None:
        """Return the time of one call with the compiler's choice; None if it was not measured."""


def with_times(explanation: Explanation, times: Iterable[MeasuredTimes]) -> Explanation:
    """Return an explanation with times; the first source that has a dispatch wins."""
    sources = list(times)
    device = next((source.device for source in sources if source.device), "")
    peaks = peaks_of_device(device)
    dispatches = [
        replace(
            dispatch,
            microseconds=_first(source.microseconds(dispatch) for source in sources),
            default_microseconds=_first(
                source.default_microseconds(dispatch) for source in sources
            ),
            peaks=peaks or dispatch.peaks,
        )
        for dispatch in explanation.dispatches
    ]
    if sources and not any(each.microseconds is not None for each in dispatches):
        notes = (*explanation.notes, "no time is known of any dispatch of the program")
        return replace(explanation, notes=notes)
    timed = sum(each.microseconds is not None for each in dispatches)
    notes = explanation.notes
    if sources and timed < len(dispatches):
        of_all = f"{timed:,} of {len(dispatches):,} dispatches"
        notes = (
            *notes,
            f"times are known of {of_all}; shares of the measured time leave out the others",
        )
    return replace(explanation, dispatches=tuple(dispatches), notes=notes, device=device)


def _first(times: Iterable[float | None]) -> float | None:
    return next((time for time in times if time is not None), None)


@dataclass(frozen=True)
class Profile:
    """Times by name.

    Attributes:
        by_name: microseconds per call, by the name of a dispatch's function or of its benchmark.
        device: see `MeasuredTimes`.
    """

    by_name: Mapping[str, float]
    device: str = ""

    def microseconds(self, dispatch: DispatchReport) -> float | None:
        """See `MeasuredTimes`."""
        executable, _, variant = dispatch.name.replace("@", "").partition("::")
        for function in dispatch.functions:
            # A benchmark of `--iree-hal-dump-executable-benchmarks-to` has all three names.
            for name in (function, f"{executable}_{variant}_{function}"):
                if name in self.by_name:
                    return self.by_name[name]
        return None

    def default_microseconds(self, dispatch: DispatchReport) -> float | None:  # noqa: ARG002 - a profile is of one run
        """See `MeasuredTimes`."""
        return None


def read_profile(path: str) -> Profile:
    """Read a profile.

    The supported formats are the JSON and the CSV of `iree-benchmark-module`, of dispatch benchmarks or with
    `--dispatch_statistics`, and the CSV of `tracy-csvexport`.

    Raises:
        TuninglinkError: it cannot be read, or has another format.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as failure:
        raise TuninglinkError(cannot("read", path, failure)) from None
    try:
        if text.lstrip().startswith("{"):
            return Profile(_benchmarks(json.loads(text)["benchmarks"]))
        return Profile(_table(text))
    except (ValueError, KeyError, TypeError) as failure:
        formats = note(
            "expected --benchmark_format=json or csv of iree-benchmark-module, or the output of tracy-csvexport"
        )
        reason = f"'{path}' is not a profile: {type(failure).__name__}: {failure}"
        raise TuninglinkError(error(reason, notes=[formats])) from None


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
    """Return times of a CSV, which the runtime precedes with lines about the machine."""
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
