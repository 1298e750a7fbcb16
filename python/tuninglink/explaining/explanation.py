"""Effects of specs on a program, as data: `Explanation` with its JSON document and schema; and measured times."""

from __future__ import annotations

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
    ProblemRow,
    ReplacedOperation,
    SpecSummary,
    Status,
    Weight,
)
from tuninglink.files import cannot
from tuninglink.iree import PeakRates, peaks_of_device
from tuninglink.mlir import error, note, thread_context
from tuninglink.plain_data import HIDDEN, named, written
from tuninglink.scaffolding import ProgramReader, is_tunable, single_entry
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
        specs: the specs, in order of precedence; default specs come last.
        notes: notes on the whole program, such as that there is nothing to configure.
        libraries: the shipped libraries that would configure further dispatches.
        device: the device that the times are from; empty if unknown.
        replaced: the ops that were replaced before dispatches were formed.
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
    replaced: tuple[ReplacedOperation, ...] = ()

    @property
    @written()
    def peaks(self) -> Mapping[str, PeakRates]:
        """The known peak rates by target."""
        return {dispatch.target: dispatch.peaks for dispatch in self.dispatches if dispatch.peaks}

    @property
    @written()
    def summary(self) -> Summary:
        """The program as a whole: dispatches by status, and cost."""
        total, tuned = self.weight(), self.weight(Status.TUNED)
        counts = {status.name.lower(): self.count(status) for status in Status}
        share = self.share(tuned)
        return Summary(
            len(self.dispatches),
            **counts,
            measure=self.measure,
            tuned_share=share,
            total=total,
            tuned_total=tuned,
        )

    @written("notes")
    def remarks(self) -> tuple[str, ...]:
        """Return the notes on the whole program, with advice."""
        return (*self.replacements, *self.notes, *self.advice)

    @property
    def replacements(self) -> tuple[str, ...]:
        """A sentence on each replace entry that was taken."""
        by_entry: dict[object, list[ReplacedOperation]] = {}
        for item in self.replaced:
            by_entry.setdefault((item.spec, item.matcher, item.operation), []).append(item)
        sentences = []
        for first, *rest in by_entry.values():
            at = f" at {first.place}" if first.place else ""
            more = f" and {len(rest):,} more" if rest else ""
            matcher = f"@{first.matcher} ({first.matcher_place})"
            entry = matcher if first.matcher_place else f"@{first.matcher}"
            form = f" ({first.form})" if first.form else ""
            sentences.append(
                f"replaced {first.operation}{at}{more} by @{first.called}{form}: entry {entry} of '{first.spec}'"
            )
        return tuple(sentences)

    @written("libraries")
    def library_shares(self) -> tuple[LibraryShare, ...]:
        """Return the shipped libraries that would configure further dispatches."""
        shares = []
        for library in self.libraries:
            covered = (
                dispatch.weight
                for dispatch in self.dispatches
                if dispatch.name in library.dispatches
            )
            shares.append(LibraryShare(library, self.share(sum(covered, Weight()))))
        return tuple(shares)

    @written("dispatches")
    def numbered_dispatches(self) -> Iterator[NumberedDispatch]:
        """Yield the dispatches by problem, most important first."""
        for number, row in enumerate(self.rows):
            for dispatch in row.dispatches:
                yield NumberedDispatch(dispatch, number)

    @property
    def advice(self) -> tuple[str, ...]:
        """A sentence on each library that would configure further dispatches, most useful first."""
        shares = sorted(self.library_shares(), key=lambda library: -library.share)
        return tuple(
            f"'{library.coverage.source}' covers {100 * library.share:.0f} % of the {self.measure}, in dispatches that "
            f"no spec configures: '--spec {library.coverage.source}' applies it"
            for library in shares
        )

    def count(self, status: Status) -> int:
        """Return the number of dispatches with a status."""
        return sum(dispatch.status is status for dispatch in self.dispatches)

    def weight(self, *statuses: Status) -> Weight:
        """Return the cost of the dispatches with some statuses; without any, of all dispatches."""
        wanted = statuses or tuple(Status)
        return sum((each.weight for each in self.dispatches if each.status in wanted), Weight())

    @cached_property
    def rows(self) -> tuple[ProblemRow, ...]:
        """The dispatches, grouped if equal, most important first."""
        groups: dict[object, list[DispatchReport]] = {}
        for each in self.dispatches:
            operations = tuple(
                replace(op, place=None, match=op.match and replace(op.match, provenance=_NOTHING))
                for op in each.operations
            )
            # Dispatches without an op are distinguished by themselves only.
            own = () if operations else (each.name,)
            key = (each.target, each.status, operations, each.cost, each.microseconds, own)
            groups.setdefault(key, []).append(each)
        rows = [
            ProblemRow(tuple(group), sum((each.weight for each in group), Weight()))
            for group in groups.values()
        ]
        return tuple(
            sorted(
                rows,
                key=lambda row: (
                    row.weight.microseconds or 0.0,
                    row.weight.flops,
                    row.weight.bytes,
                ),
                reverse=True,
            )
        )

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
        part, whole = (
            {"FLOPs": each.flops, "bytes": each.bytes}.get(self.measure, each.microseconds or 0.0)
            for each in (weight, self.weight())
        )
        return part / whole if whole else 0.0


_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


class MeasuredTimes(Protocol):
    """A source of measured times of dispatches."""

    @property
    def device(self) -> str:
        """The device that was measured; empty if unknown."""

    def times(self, dispatch: DispatchReport) -> tuple[float | None, float | None]:
        """Return the microseconds of one call, and with the compiler's choice; None if they were not measured."""


def with_times(explanation: Explanation, times: Iterable[MeasuredTimes]) -> Explanation:
    """Return an explanation with times; the first source that has a dispatch wins.

    The calls of dispatches are those that a profile counted: a loop of unknown length counts once in the program.
    """
    sources = list(times)
    # 1. The first profile also gives the numbers of calls, where these differ from those in the program.
    profile = next((source for source in sources if isinstance(source, Profile)), Profile({}))
    counts = {
        dispatch.name: count
        for dispatch in explanation.dispatches
        if (count := profile.count_of(dispatch.name, dispatch.functions)) is not None
    }
    static = {dispatch.name: dispatch.calls for dispatch in explanation.dispatches}
    runs = profile.runs or runs_of(counts, static)
    # Initialization runs once, and a branch may not be taken in each run.
    calls = {name: round(count / runs) for name, count in counts.items() if runs and count >= runs}
    changed = sum(count != static[name] for name, count in calls.items())
    if changed:
        of = "1 dispatch" if changed == 1 else f"{changed:,} dispatches"
        counted = f"the calls of {of} are those that the profile counted: they depend on values"
        explanation = replace(
            explanation,
            dispatches=tuple(
                replace(dispatch, calls=calls.get(dispatch.name, dispatch.calls))
                for dispatch in explanation.dispatches
            ),
            notes=(*explanation.notes, counted),
        )
    # 2. The times are those of the first source that has one.
    device = next((source.device for source in sources if source.device), "")
    peaks = peaks_of_device(device)
    dispatches = []
    for dispatch in explanation.dispatches:
        all_times = [source.times(dispatch) for source in sources]
        time, default = (
            next((value for value in values if value is not None), None)
            for values in (zip(*all_times, strict=True) if all_times else ((), ()))
        )
        dispatches.append(
            replace(
                dispatch,
                microseconds=time,
                default_microseconds=default,
                peaks=peaks or dispatch.peaks,
            )
        )
    # Name the dispatches without a time.
    timed, notes = sum(each.microseconds is not None for each in dispatches), explanation.notes
    if sources and not timed:
        notes = (*notes, "no time is known of any dispatch of the program")
        return replace(explanation, notes=notes)
    if sources and timed < len(dispatches):
        of_all = f"{timed:,} of {len(dispatches):,} dispatches"
        others = "shares of the measured time leave out the others"
        notes = (*notes, f"times are known of {of_all}; {others}")
    return replace(explanation, dispatches=tuple(dispatches), notes=notes, device=device)


def with_peaks(explanation: Explanation, peaks: PeakRates) -> Explanation:
    """Return an explanation with the peak rates of the device that its times are from."""
    dispatches = tuple(replace(dispatch, peaks=peaks) for dispatch in explanation.dispatches)
    return replace(explanation, dispatches=dispatches)


# --- Profiles: times of dispatches by name -------------------------------------------------------


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

    def times(self, dispatch: DispatchReport) -> tuple[float | None, float | None]:
        named = dispatch.name, dispatch.functions
        return self.time_of(*named), _first_value(self.defaults, *named)

    def time_of(self, dispatch: str, functions: Sequence[str]) -> float | None:
        """Return the microseconds of a call of a dispatch, such as `@executable::@variant`; None if they are unknown."""
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
    """Return the number of runs of a program, given the calls in a profile and in the program; 0 if it is unknown.

    The number is the most frequent ratio of a dispatch's calls in the profile to those in the program, since calls in
    loops are unknown.
    """
    ratios = Counter(count / calls[name] for name, count in counts.items() if calls[name])
    return max(ratios, key=lambda ratio: (ratios[ratio], -ratio), default=0.0)


def read_profile(path: str) -> Profile:
    """Read a profile: one of the runtime's devices (`.ireeprof`), or an explanation with times as JSON."""
    try:
        content = Path(path).read_bytes()
    except OSError as failure:
        raise TuninglinkError(cannot("read", path, failure)) from None
    if content.startswith(_DEVICE_PROFILE):
        # Prefer times on the device to times on the host.
        by_clock: dict[bool, dict[str, list[float]]] = {True: {}, False: {}}
        for event in dispatch_events(path):
            by_clock[event.is_of_device].setdefault(event.function, []).append(event.microseconds)
        times = by_clock[True] or by_clock[False]
        if not times:
            message = f"'{path}' has no times of dispatches"
            raise TuninglinkError(error(message, notes=[note(_FAMILIES)]))
        return Profile(
            {name: mean(durations) for name, durations in times.items()},
            {name: len(durations) for name, durations in times.items()},
        )
    try:
        text = content.decode()
        document: Any = json.loads(text) if text.lstrip().startswith("{") else {"format": ""}
        if document["format"] != EXPLANATION:
            raise ValueError("it has another format")
        timed = [entry for entry in document["dispatches"] if entry["microseconds"] is not None]
        profile = Profile(
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
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as failure:
        formats = note(
            "expected a .ireeprof of --device_profiling_output, or an explanation of 'tuninglink explain --device' as JSON"
        )
        reason = f"'{path}' is not a profile: {reason_for_user(failure)}"
        raise TuninglinkError(error(reason, notes=[formats])) from None
    if not timed:
        remedy = note("explain the program with --device or --profile")
        raise TuninglinkError(error(f"'{path}' has no times of dispatches", notes=[remedy]))
    return profile


_DEVICE_PROFILE: Final = b"IRPF"
"""The first bytes of a profile of devices."""

_FAMILIES: Final = (
    "record it with '--device_profiling_mode=host-execution' on local-sync and local-task, "
    "and with 'dispatch-events,executable-metadata' on amdgpu and vulkan; cuda, hip and metal have no profiles"
)


@dataclass(frozen=True)
class DispatchEvent:
    """One execution of a dispatch, timed on the device or on the host."""

    function: str
    microseconds: float
    is_of_device: bool


def dispatch_events(path: str) -> Iterator[DispatchEvent]:
    """Yield the executions of dispatches in a profile of devices, in order."""
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
            record: Mapping[str, Any] = json.loads(line)
            kind = record["record_type"]
            is_dispatch = kind == _DEVICE_EVENT or (
                kind == _HOST_EVENT and record.get("op") == "dispatch"
            )
            if is_dispatch and record["valid"] and record["key"]:
                duration = record["duration_ns"] / 1e3
                yield DispatchEvent(record["key"], duration, kind == _DEVICE_EVENT)
    if export.returncode:
        reason = " ".join(complaints).rpartition("; ")[2] or f"exit code {export.returncode}"
        raise TuninglinkError(error(f"cannot read profile '{path}': {reason}"))


_DEVICE_EVENT: Final = "dispatch_event"
_HOST_EVENT: Final = "host_execution_event"


def runtime_tool(name: str) -> Path:
    """Return the path of a tool of the runtime, which is an extra."""
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
            (operation,) = first.operations
            text = operation.configuration
            parts = (text.lowering_config, text.translation_info, text.decomposition_config)
            attributes = [
                mlir.Attribute.parse(part, thread_context()) if part else None for part in parts
            ]
            configuration = Configuration(*attributes)  # type: ignore[arg-type]
            place = AllowedValues(point.workload, configuration, registry).by_place
            knobs = tuple(replace(knob, allowed=place.get(knob.name)) for knob in operation.knobs)
            for dispatch in row.dispatches:
                operations = (replace(dispatch.operations[0], knobs=knobs),)
                detailed[dispatch.name] = replace(detailed[dispatch.name], operations=operations)
    dispatches = tuple(detailed.get(dispatch.name, dispatch) for dispatch in explanation.dispatches)
    return replace(explanation, dispatches=dispatches)
