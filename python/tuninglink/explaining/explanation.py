"""Effects of specs on a program, as data: `Explanation` with its JSON document and schema; and measured times."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import mean
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol

from iree.compiler import ir as mlir

from tuninglink.errors import TuninglinkError, reason_for_user
from tuninglink.explaining.reports import (
    EXPLANATION,
    DispatchReport,
    LibraryCoverage,
    LibraryShare,
    NumberedDispatch,
    OperationReport,
    ProblemRow,
    SpecSummary,
    Status,
    Weight,
)
from tuninglink.files import cannot
from tuninglink.iree import PeakRates, peaks_of_device
from tuninglink.mlir import error, note, thread_context
from tuninglink.plain_data import HIDDEN, named, written
from tuninglink.scaffolding import ProgramReader, StartingPoint, is_tunable, single_entry
from tuninglink.spaces import AllowedValues, ProviderRegistry
from tuninglink.spaces.model import Configuration


@dataclass(frozen=True)
class Summary:
    """The dispatches by status, and their cost."""

    dispatches: int
    tuned: int
    kept: int
    no_effect: int = field(metadata=named("no-effect"))
    unmatched: int
    no_entry: int = field(metadata=named("no-entry"))
    not_tunable: int = field(metadata=named("not-tunable"))
    measure: str
    tuned_share: float
    total: Weight
    tuned_total: Weight


@dataclass(frozen=True)
class Explanation:
    """The effects of specs on a program.

    Attributes:
        program: the name of the program.
        specs: the specs, in order of precedence; default specs come last.
        dispatches: the dispatches, in order.
        notes: notes on the whole program, such as that there is nothing to configure.
        libraries: the shipped libraries that would configure further dispatches.
        device: the device that the times are from; empty if unknown.
        format: the kind of the document.
        version: its version. Additions do not change it; changes and removals do.
    """

    format: Literal["tuninglink.explanation"] = field(default=EXPLANATION, init=False)
    version: Literal[2] = field(default=2, init=False)
    program: str
    specs: tuple[SpecSummary, ...]
    dispatches: tuple[DispatchReport, ...] = field(metadata=HIDDEN)
    notes: tuple[str, ...] = field(default=(), metadata=HIDDEN)
    libraries: tuple[LibraryCoverage, ...] = field(default=(), metadata=HIDDEN)
    device: str = ""

    @property
    @written()
    def peaks(self) -> Mapping[str, PeakRates]:
        """The known peak rates by target."""
        return {dispatch.target: dispatch.peaks for dispatch in self.dispatches if dispatch.peaks}

    @property
    @written()
    def summary(self) -> Summary:
        """The program as a whole: dispatches by status, and cost."""
        tuned = self.weight(Status.TUNED)
        return Summary(
            len(self.dispatches),
            tuned=self.count(Status.TUNED),
            kept=self.count(Status.KEPT),
            no_effect=self.count(Status.NO_EFFECT),
            unmatched=self.count(Status.UNMATCHED),
            no_entry=self.count(Status.NO_ENTRY),
            not_tunable=self.count(Status.NOT_TUNABLE),
            measure=self.measure,
            tuned_share=self.share(tuned),
            total=self.weight(),
            tuned_total=tuned,
        )

    @written("notes")
    def remarks(self) -> tuple[str, ...]:
        """Return the notes on the whole program, with advice."""
        return (*self.notes, *self.advice)

    @written("libraries")
    def library_shares(self) -> Iterator[LibraryShare]:
        """Yield the shipped libraries that would configure further dispatches."""
        for library in self.libraries:
            yield LibraryShare(library, self.share(self.covered_by(library)))

    @written("dispatches")
    def numbered_dispatches(self) -> Iterator[NumberedDispatch]:
        """Yield the dispatches by problem, most important first."""
        for number, row in enumerate(self.rows):
            for dispatch in row.dispatches:
                yield NumberedDispatch(dispatch, number)

    def covered_by(self, library: LibraryCoverage) -> Weight:
        """Return the cost of the dispatches that a library would configure."""
        weights = (
            dispatch.weight for dispatch in self.dispatches if dispatch.name in library.dispatches
        )
        return sum(weights, Weight())

    @property
    def advice(self) -> tuple[str, ...]:
        """A sentence on each library that would configure further dispatches, most useful first."""
        shares = {
            library.source: self.share(self.covered_by(library)) for library in self.libraries
        }
        return tuple(
            f"'{source}' covers {100 * share:.0f} % of the {self.measure}, in dispatches that no spec "
            f"configures: '--spec {source}' applies it"
            for source, share in sorted(shares.items(), key=lambda each: -each[1])
        )

    def count(self, status: Status) -> int:
        """Return the number of dispatches with a status."""
        return sum(dispatch.status is status for dispatch in self.dispatches)

    def weight(self, *statuses: Status) -> Weight:
        """Return the cost of the dispatches with some statuses; without any, of all dispatches."""
        dispatches = (
            dispatch for dispatch in self.dispatches if not statuses or dispatch.status in statuses
        )
        return sum((dispatch.weight for dispatch in dispatches), Weight())

    @cached_property
    def rows(self) -> tuple[ProblemRow, ...]:
        """The dispatches, grouped if equal, most important first."""
        groups: dict[object, list[DispatchReport]] = {}
        for dispatch in self.dispatches:
            operations = tuple(
                replace(op, place=None, match=op.match and replace(op.match, provenance=_NOTHING))
                for op in dispatch.operations
            )
            # Dispatches without an op are distinguished by themselves only.
            own = () if operations else (dispatch.name,)
            key = (
                dispatch.target,
                dispatch.status,
                operations,
                dispatch.cost,
                dispatch.microseconds,
                own,
            )
            groups.setdefault(key, []).append(dispatch)
        rows = [
            ProblemRow(tuple(group), sum((each.weight for each in group), Weight()))
            for group in groups.values()
        ]
        return tuple(sorted(rows, key=lambda each: each.weight.impact, reverse=True))

    @property
    def unknown_costs(self) -> int:
        """The number of dispatches with an unknown cost, which depends on dynamic sizes."""
        return sum(
            dispatch.microseconds is None and not dispatch.cost.is_known
            for dispatch in self.dispatches
        )

    @property
    def measure(self) -> str:
        """The measure that shares refer to.

        `time` if known for all dispatches, `measured time` if known for some, `FLOPs`, or `bytes`
        without arithmetic.
        """
        whole = self.weight()
        if whole.microseconds is not None:
            is_complete = all(dispatch.microseconds is not None for dispatch in self.dispatches)
            return "time" if is_complete else "measured time"
        return "FLOPs" if whole.flops else "bytes"

    def share(self, weight: Weight) -> float:
        """Return the share of a weight in the total, from 0 to 1, in terms of `measure`."""
        part, whole = map(self._amount, (weight, self.weight()))
        return part / whole if whole else 0.0

    def _amount(self, weight: Weight) -> float:
        amounts = {"FLOPs": weight.flops, "bytes": weight.bytes}
        return amounts.get(self.measure, weight.microseconds or 0.0)


_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


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
    """Return an explanation with times; the first source that has a dispatch wins.

    The calls of dispatches are those that a profile counted: a loop of unknown length counts once in the program.
    """
    sources = list(times)
    # The first profile also gives the numbers of calls.
    for profile in [source for source in sources if isinstance(source, Profile)][:1]:
        explanation = _with_calls(explanation, profile)
    device = next((source.device for source in sources if source.device), "")
    peaks = peaks_of_device(device)
    # Earlier sources take precedence.
    dispatches = [
        replace(
            dispatch,
            microseconds=_first_time(source.microseconds(dispatch) for source in sources),
            default_microseconds=_first_time(
                source.default_microseconds(dispatch) for source in sources
            ),
            peaks=peaks or dispatch.peaks,
        )
        for dispatch in explanation.dispatches
    ]
    # Name the dispatches without a time.
    if sources and all(dispatch.microseconds is None for dispatch in dispatches):
        notes = (*explanation.notes, "no time is known of any dispatch of the program")
        return replace(explanation, notes=notes)
    timed = sum(dispatch.microseconds is not None for dispatch in dispatches)
    notes = explanation.notes
    if sources and timed < len(dispatches):
        of_all = f"{timed:,} of {len(dispatches):,} dispatches"
        notes = (
            *notes,
            f"times are known of {of_all}; shares of the measured time leave out the others",
        )
    return replace(explanation, dispatches=tuple(dispatches), notes=notes, device=device)


def with_peaks(explanation: Explanation, peaks: PeakRates) -> Explanation:
    """Return an explanation with the peak rates of the device that its times are from."""
    dispatches = tuple(replace(dispatch, peaks=peaks) for dispatch in explanation.dispatches)
    return replace(explanation, dispatches=dispatches)


def _first_time(times: Iterable[float | None]) -> float | None:
    return next((time for time in times if time is not None), None)


def _with_calls(explanation: Explanation, profile: Profile) -> Explanation:
    """Return an explanation with the calls that a profile counted, where these differ from those in the program."""
    counts = {
        dispatch.name: count
        for dispatch in explanation.dispatches
        if (count := profile.count_of(dispatch.name, dispatch.functions)) is not None
    }
    static = {dispatch.name: dispatch.calls for dispatch in explanation.dispatches}
    runs = profile.runs or runs_of(counts, static)
    if not runs:
        return explanation
    # Initialization runs once, and a branch may not be taken in each run.
    calls = {name: round(count / runs) for name, count in counts.items() if count >= runs}
    changed = [name for name, count in calls.items() if count != static[name]]
    if not changed:
        return explanation
    dispatches = tuple(
        replace(dispatch, calls=calls.get(dispatch.name, dispatch.calls))
        for dispatch in explanation.dispatches
    )
    of = "1 dispatch" if len(changed) == 1 else f"{len(changed):,} dispatches"
    message = f"the calls of {of} are those that the profile counted: they depend on values"
    return replace(explanation, dispatches=dispatches, notes=(*explanation.notes, message))


# --- Profiles: times of dispatches by name, as the runtime and Tracy write them ------------------

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
        return _first_value(self.defaults, dispatch.name, dispatch.functions)

    def time_of(self, dispatch: str, functions: Sequence[str]) -> float | None:
        """Return the microseconds of a call; None if they are not in the profile.

        Args:
            dispatch: the name of the dispatch, such as `@executable::@variant`.
            functions: the functions in it.
        """
        return _first_value(self.by_name, dispatch, functions)

    def count_of(self, dispatch: str, functions: Sequence[str]) -> float | None:
        """Return the calls in all runs; see `time_of`."""
        return _first_value(self.counts, dispatch, functions)


def _first_value(
    values: Mapping[str, float], dispatch: str, functions: Sequence[str]
) -> float | None:
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
                # The times in an explanation.
                timed = [
                    entry for entry in document["dispatches"] if entry["microseconds"] is not None
                ]
                if not timed:
                    remedy = note("explain the program with --device or --profile")
                    raise TuninglinkError(
                        error(f"'{path}' has no times of dispatches", notes=[remedy])
                    )
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
            return Profile(_benchmarks(document["benchmarks"]))
        return Profile(_table(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as failure:
        formats = note(
            "expected a .ireeprof of --device_profiling_output, an explanation of 'tuninglink explain --device' as JSON, "
            "--benchmark_format=json or csv of iree-benchmark-module, or the output of tracy-csvexport"
        )
        reason = f"'{path}' is not a profile: {reason_for_user(failure)}"
        raise TuninglinkError(error(reason, notes=[formats])) from None


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
    """Return the mean times of dispatches."""
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


# --- Details that take longer to compute and are only on the page: specs to start from, and valid values

_WITH_VALUES: Final = 10
"""The number of most expensive problems whose valid values are computed, which takes 0.2 s for each."""


def with_details(
    explanation: Explanation, sources: bytes, configured: bytes, calls: Counter[str]
) -> Explanation:
    """Return an explanation with a spec to start from for each tunable dispatch, and with valid values."""
    reader = ProgramReader(sources, configured, calls)
    points = {name: point for point in reader.points for name in point.dispatches}
    registry = ProviderRegistry(lambda _: None)
    detailed: dict[str, DispatchReport] = {}
    asked = 0
    for row in explanation.rows:
        # Equal dispatches share one starting point.
        first = row.dispatches[0]
        point = points.get(first.name)
        if point is None or not is_tunable(point.workload.problem.kind):
            continue
        asked += 1
        value_registry = registry if asked <= _WITH_VALUES else None
        start = single_entry(explanation.program, point, value_registry)
        for dispatch in row.dispatches:
            detailed[dispatch.name] = replace(dispatch, start=start)
        if (
            value_registry is not None
            and first.status is Status.TUNED
            and len(first.operations) == 1
        ):
            allowed = _with_values(first.operations[0], point, registry)
            for dispatch in row.dispatches:
                knobs = replace(dispatch.operations[0], knobs=allowed.knobs)
                detailed[dispatch.name] = replace(detailed[dispatch.name], operations=(knobs,))
    dispatches = tuple(detailed.get(dispatch.name, dispatch) for dispatch in explanation.dispatches)
    return replace(explanation, dispatches=dispatches)


def _with_values(
    operation: OperationReport, point: StartingPoint, registry: ProviderRegistry
) -> OperationReport:
    text = operation.configuration
    parts = (text.lowering_config, text.translation_info, text.decomposition_config)
    lowering, translation, decomposition = (
        mlir.Attribute.parse(part, thread_context()) if part else None for part in parts
    )
    assert lowering is not None  # the dispatch is tuned
    configuration = Configuration(lowering, translation, decomposition)  # type: ignore[arg-type]
    place = AllowedValues(point.workload, configuration, registry).by_place
    knobs = tuple(replace(knob, allowed=place.get(knob.name)) for knob in operation.knobs)
    return replace(operation, knobs=knobs)
