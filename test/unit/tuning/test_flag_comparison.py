"""The choice of a set of flags, by recorded times and outputs."""

from __future__ import annotations

import math
import time
from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tuninglink.devices import CallOutputs, DeviceDescription, DeviceError, Request, Rounds
from tuninglink.errors import Diagnostic
from tuninglink.mlir import error
from tuninglink.programs import Failure, FailureKind, FunctionCall, ProgramCalls
from tuninglink.tuning.deciding import (
    ConfidenceInterval,
    Numerics,
    OutputJudge,
    TuneOptions,
    TuningSettings,
    relative_error,
)
from tuninglink.tuning.flag_sets import (
    DEFAULT,
    NOT_COMPILED,
    CompiledSource,
    FlagChoice,
    FlagComparison,
    FlagSet,
    FlagsResult,
    KernelChoice,
    Listener,
    SetResult,
    TunedSet,
)
from tuninglink.tuning.flag_sets.choice import _refined, compile_alone
from tuninglink.workers import finished

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.programs import CompiledProgram

CALLS = ProgramCalls((FunctionCall("prefill", 1), FunctionCall("decode", 10)))
TIMES = {
    b"default": (100.0, 20.0),
    b"decodes fast": (200.0, 10.0),
    b"prefills fast": (50.0, 20.0),
    b"both fast": (50.0, 10.0),
    b"wrong": (10.0, 2.0),
    b"wrong, decodes fast": (200.0, 10.0),
    b"less exact": (10.0, 2.0),
    b"wrong, a little slower": (103.0, 20.6),
    b"much slower": (120.0, 24.0),
}
"""The microseconds of both functions: 300, 300, 250, 150 and 30 in all, as a decode counts ten times."""

OPTIONS = TuneOptions(input="", flags=())

SETS = ["decodes fast", "prefills fast", "wrong", "default", "crash", "hang"]


def choice(result: FlagsResult, seconds: float, compile_seconds: float = 0.0) -> FlagChoice:
    """Return the choice after a comparison, with seconds for tuning and for a compilation of the program."""
    jobs = {DEFAULT: finished(CompiledSource(b"", None, compile_seconds))}
    return FlagChoice(OPTIONS, Listener(), result, seconds, jobs)


def tuning_bases(result: FlagsResult, *seconds: float) -> list[FlagSet]:
    return choice(result, *seconds).bases


def finalists(result: FlagsResult, *seconds: float) -> list[FlagSet]:
    return choice(result, *seconds).finalists


def compiled(image: bytes, wrong_defaults: int = 0) -> CompiledSource:
    return CompiledSource(image, CALLS, 1.0, wrong_defaults=wrong_defaults)


COMPILED = compiled(b"default")


def job(result: CompiledSource | str) -> Future:
    future: Future = Future()
    future.set_result(result)
    return future


FAILURES = {
    "crash": "the compiler crashed: 1",
    "late": NOT_COMPILED,
}


def jobs_of(
    *names: str,
    default: CompiledSource | str = COMPILED,
    wrong_defaults: Mapping[str, int] | None = None,
) -> dict[FlagSet, Future]:
    """Return the compilations under sets whose code is that of their names."""
    wrong = wrong_defaults or {}
    jobs = {DEFAULT: job(default)}
    for name in names:
        source = FAILURES.get(name, compiled(name.encode(), wrong.get(name, 0)))
        jobs[FlagSet(name, (f"--{name}",))] = job(source)
    return jobs


def pairs_of(
    device: object,
    *pairs: TunedSet,
    judge: OutputJudge | None = None,
    default: CompiledSource | str = COMPILED,
    wrong_defaults: Mapping[str, int] | None = None,
    default_ms: float | None = None,
) -> FlagsResult:
    """Compare sets with their specs, which give the code of their names."""
    wrong = wrong_defaults or {}
    names = [pair.spec or pair.flag_set.flags[-1].removeprefix("--") for pair in pairs]
    compared = comparison(device, judge=judge, default_ms=default_ms)
    return compared.run_pairs(
        job(default),
        [SetResult(pair.flag_set, entries=pair.entries) for pair in pairs],
        [job(compiled(name.encode(), wrong.get(name, 0))) for name in names],
    )


class RecordedDevice:
    description = DeviceDescription("cuda://0", "a device", "cuda", "", "", 1)

    def program_outputs(self, program: CompiledProgram, *_: object) -> CallOutputs | Failure:
        if program.image == b"hang":
            return Failure(FailureKind.TIMEOUT, "no answer")
        value = 1.01 if program.image.startswith(b"wrong") else 1.0
        value = 1.00005 if program.image == b"less exact" else value
        return CallOutputs((np.full(4, value, np.float32),), 0.001)

    def rounds(self, programs: Sequence[CompiledProgram], count: int, *_: object) -> Rounds:
        times = tuple(TIMES[each.image][each.function == "decode"] for each in programs)
        return Rounds((times,) * count, (1,) * len(times))


def comparison(
    device: object,
    numerics: Numerics = Numerics.ROUNDING,
    *,
    judge: OutputJudge | None = None,
    deadline: float | None = None,
    default_ms: float | None = None,
) -> FlagComparison:
    judge = judge or OutputJudge(numerics=numerics)
    deadline = time.monotonic() + 60.0 if deadline is None else deadline
    return FlagComparison(
        device, judge, TuningSettings(), deadline, compiled_by=deadline, default_ms=default_ms
    )


class RecordedReference:
    """A reference whose outputs are all one value, and that counts its computations."""

    name = "llvm-cpu"

    def __init__(self, value: float) -> None:
        self.value = value
        self.count = 0

    def outputs(self, *_: object) -> dict[str, tuple[np.ndarray, ...]]:
        self.count += 1
        return {call.label: (np.full(4, self.value, np.float32),) for call in CALLS.functions}


def compared_with(
    reference: RecordedReference | None, *names: str, wrong_defaults: int = 0
) -> FlagsResult:
    """Compare sets with a default that has wrong dispatches. 'prefills fast' has all of them, the other sets have none."""
    default = compiled(b"default", wrong_defaults)
    jobs = jobs_of(*names, default=default, wrong_defaults={"prefills fast": wrong_defaults})
    return comparison(RecordedDevice(), judge=OutputJudge(reference=reference)).run(jobs)


def run(numerics: Numerics = Numerics.ROUNDING) -> FlagsResult:
    return comparison(RecordedDevice(), numerics).run(jobs_of(*SETS))


def by_name(result: FlagsResult) -> dict[str, SetResult]:
    return {each.flag_set.name: each for each in result.results}


def test_a_set_is_awaited_while_the_default_is_called() -> None:
    late: Future[CompiledSource] = Future()

    class CallingDevice(RecordedDevice):
        def program_outputs(self, program: CompiledProgram, *_: object) -> CallOutputs | Failure:
            if not late.done():
                assert program.image == b"default"
                late.set_result(compiled(b"prefills fast"))
            return super().program_outputs(program)

    jobs = {**jobs_of(), FlagSet("prefills fast", ("--fast",)): late}
    compared = comparison(CallingDevice(), deadline=time.monotonic())
    result = compared.run(jobs, lambda: [late], time.monotonic() + 60.0)
    assert result.results[0].milliseconds is not None
    # Nothing is called that nothing waits for, and what is not compiled in time is left out.
    jobs = {**jobs_of(), FlagSet("prefills fast", ("--fast",)): Future()}
    result = comparison(IdleDevice(), deadline=time.monotonic()).run(jobs)
    assert [each.note for each in result.results] == [NOT_COMPILED]


class IdleDevice:
    """A device that runs nothing."""

    description = RecordedDevice.description


def test_a_later_comparison_calls_new_programs_only() -> None:
    called = list[bytes]()

    class ListingDevice(RecordedDevice):
        def program_outputs(self, program: CompiledProgram, *_: object) -> CallOutputs | Failure:
            called.append(program.image)
            return super().program_outputs(program)

    compared, jobs = comparison(ListingDevice()), jobs_of("wrong", "prefills fast")
    first = compared.run(jobs)
    called.clear()
    jobs |= {FlagSet("as before", ()): job(compiled(b"wrong"))} | jobs_of("both fast", "wrong")
    later = compared.run({own: jobs[own] for own in jobs if own.name != "wrong"})
    assert called == [b"both fast"] * len(CALLS.functions)
    assert later.results[0] == first.results[1]
    assert by_name(later)["as before"].is_rejected
    assert later.flags == ("--both fast",)


def test_nothing_runs_where_no_set_is_other_code() -> None:
    result = comparison(IdleDevice()).run(jobs_of("crash", "default"))
    assert not result.reason
    assert [each.note for each in result.results] == [
        "the compiler crashed: 1",
        "the same code as the default",
    ]


def test_a_program_that_cannot_be_called_has_a_reason() -> None:
    calls = ProgramCalls((FunctionCall("main", 1, obstacle="the sizes are dynamic"),))
    default = replace(compiled(b"default"), calls=calls)
    result = comparison(IdleDevice()).run(jobs_of(default=default))
    assert result.reason == "no function of the program can be called: the sizes are dynamic"


class RoundsDevice(RecordedDevice):
    """A device that counts rounds, and on which the default may fail."""

    def __init__(self, failure: FailureKind | None = None) -> None:
        self.failure = failure
        self.count = 0

    def program_outputs(self, program: CompiledProgram, *_: object) -> CallOutputs | Failure:
        if program.image == b"default" and self.failure is not None:
            return Failure(self.failure, "rc 139")
        return super().program_outputs(program)

    def rounds(self, programs: Sequence[CompiledProgram], count: int, *_: object) -> Rounds:
        self.count += count
        return super().rounds(programs, count)


@pytest.mark.parametrize("fails", ["compilation", "run"])
def test_a_set_is_kept_that_runs_where_the_default_does_not(fails: str) -> None:
    default = "failed to distribute" if fails == "compilation" else COMPILED
    device = RoundsDevice(None if fails == "compilation" else FailureKind.CRASH)
    sets = ("crash", "late", "hang", "decodes fast", "prefills fast", "decodes fast")
    result = comparison(device).run(jobs_of(*sets, default=default))
    assert result.flags == ("--prefills fast",)
    why = "failed to distribute" if fails == "compilation" else "rc 139"
    assert result.reason == f"without further flags, {why}"
    assert result.whole is None
    assert by_name(result)["decodes fast"].milliseconds == pytest.approx(0.3)
    assert [each.note for each in result.results[:3]] == [
        FAILURES["crash"],
        NOT_COMPILED,
        "the first call of the program took longer than 10 s",
    ]
    assert tuning_bases(result, 300.0) == [result.best.flag_set]
    # The first one is kept if the others are not faster.
    alone = comparison(device).run(jobs_of("decodes fast", "much slower", default=default))
    assert alone.flags == ("--decodes fast",)


def test_nothing_runs_where_neither_the_default_nor_a_set_compiles() -> None:
    result = comparison(IdleDevice()).run(jobs_of("crash", default="failed to distribute"))
    assert result.best is None
    assert result.reason == "without further flags, failed to distribute"
    late = comparison(IdleDevice()).run(jobs_of("crash", default=NOT_COMPILED))
    assert late.reason == "the program did not compile in the time for sets of flags"
    assert late.is_postponed
    assert not result.is_postponed


def test_a_default_that_takes_long_is_no_failure() -> None:
    device = RoundsDevice(FailureKind.TIMEOUT)
    result = comparison(device).run(jobs_of("prefills fast"))
    assert not result.flags
    assert result.reason.startswith("the first call of the program took longer than")
    assert result.is_postponed


def test_sets_that_cannot_gain_enough_are_not_timed_further() -> None:
    device = RoundsDevice()
    assert not comparison(device).run(jobs_of("decodes fast", "much slower")).flags
    assert device.count == 8


def test_the_weighted_sum_decides() -> None:
    result = run()
    assert result.flags == ("--prefills fast",)
    assert result.default_ms == pytest.approx(0.3)
    assert by_name(result)["decodes fast"].milliseconds == pytest.approx(0.3)
    speedup = by_name(result)["prefills fast"].speedup
    assert speedup is not None
    assert speedup.median == pytest.approx(1.2)


def at_sizes(name: str) -> FlagsResult:
    """Compare a set for a program at a large size, and a small one that counts more."""
    functions = tuple(
        replace(call, weight=weight, sizes=f"0.0={size}")
        for call, weight, size in zip(CALLS.functions, (1, 100), (512, 1), strict=True)
    )
    default = replace(compiled(b"default"), calls=ProgramCalls(functions))
    return comparison(RecordedDevice()).run(jobs_of(name, default=default))


def test_a_set_is_slower_at_none_of_the_sizes_of_a_dynamic_program() -> None:
    result = at_sizes("decodes fast")
    (slower,) = result.results
    assert slower.speedup is not None
    assert slower.speedup.low > 1.7
    assert slower.note.startswith("slower at 0.0=512: 0.5")
    assert result.flags == ()
    assert tuning_bases(result, 600.0) == [DEFAULT]


def test_a_set_that_is_wrong_and_slower_at_a_size_has_both_notes() -> None:
    (result,) = at_sizes("wrong, decodes fast").results
    assert result.is_rejected
    assert "taken with --numerics any only; slower at 0.0=512: 0.5" in result.note


def test_what_is_not_measured_says_why() -> None:
    results = by_name(run())
    assert results["default"].note == "the same code as the default"
    assert results["crash"].note == "the compiler crashed: 1"
    assert results["hang"].note == "no answer"
    assert all(results[each].speedup is None for each in ("default", "crash", "hang"))


def test_other_results_are_taken_only_if_that_is_allowed() -> None:
    wrong = by_name(run())["wrong"]
    assert wrong.error == pytest.approx(0.01, rel=1e-3)
    assert "taken with --numerics any only" in wrong.note
    assert run(Numerics.ANY).flags == ("--wrong",)


def test_a_set_is_taken_that_is_right_where_the_default_is_wrong() -> None:
    result = compared_with(RecordedReference(1.01), "wrong")
    assert result.flags == ("--wrong",)


class MissingReference(RecordedReference):
    """A reference that is not computed in time."""

    def __init__(self) -> None:
        super().__init__(1.0)

    def outputs(self, *_: object) -> str:
        return "it took more than 12 s"


def test_a_set_that_avoids_wrong_defaults_need_not_be_faster() -> None:
    sets = ("prefills fast", "wrong, a little slower")
    result = compared_with(MissingReference(), *sets, wrong_defaults=25)
    assert result.best is not None
    assert result.best.flag_set.name == "wrong, a little slower"
    assert result.best.avoided == 25
    assert result.best.note.startswith("its outputs differ from those of the default, some of")
    assert tuning_bases(result, 300.0) == finalists(result, 300.0) == [result.best.flag_set]
    # Without wrong defaults, the faster set is taken.
    assert compared_with(MissingReference(), *sets).flags == ("--prefills fast",)


def test_a_set_that_avoids_wrong_defaults_is_not_much_slower() -> None:
    assert not compared_with(None, "much slower", wrong_defaults=25).flags
    # Where it is the fastest one, a gain is not asked for, either.
    assert compared_with(None, "decodes fast", wrong_defaults=25).flags == ("--decodes fast",)


@pytest.mark.parametrize("reference", [RecordedReference(1.0), None])
def test_a_set_that_avoids_wrong_defaults_is_judged_where_that_is_possible(
    reference: RecordedReference | None,
) -> None:
    # Without a reference, nothing judges the dispatches one by one, either.
    result = compared_with(reference, "wrong, a little slower", wrong_defaults=25)
    assert result.results[0].is_rejected
    assert not result.flags


def test_a_pair_with_a_set_that_avoids_wrong_defaults_may_be_slower_than_these() -> None:
    sets = [FlagSet(name, (f"--{name}",)) for name in ("wrong, a little slower", "prefills fast")]
    result = pairs_of(
        RecordedDevice(),
        *map(TunedSet, sets),
        judge=OutputJudge(reference=MissingReference()),
        default=compiled(b"default", 25),
        wrong_defaults={"prefills fast": 25},
    )
    assert result.flags == sets[0].flags


def test_a_set_may_have_four_times_the_error_of_the_default() -> None:
    exact = RecordedReference(1.0)
    (rejected,) = compared_with(exact, "less exact").results
    assert rejected.is_rejected
    assert "differ from those of llvm-cpu: relative error 5e-05, at most 1e-05" in rejected.note
    assert exact.count == 1
    # With a default that is off by 2e-5, 3e-5 are accepted.
    assert compared_with(RecordedReference(1.00002), "less exact").flags == ("--less exact",)


def test_the_reference_is_not_computed_for_sets_with_the_outputs_of_the_default() -> None:
    reference = RecordedReference(2.0)
    assert compared_with(reference, "prefills fast").flags == ("--prefills fast",)
    assert reference.count == 0


def test_programs_that_agree_within_a_part_of_the_tolerance_need_no_reference() -> None:
    reference = RecordedReference(2.0)
    judge = OutputJudge(reference=reference, near=0.6)
    result = comparison(RecordedDevice(), judge=judge).run(jobs_of("less exact"))
    assert (by_name(result)["less exact"].error, reference.count) == (
        pytest.approx(5e-5, rel=0.01),
        0,
    )
    result = comparison(RecordedDevice(), judge=replace(judge, near=0.4)).run(jobs_of("less exact"))
    assert (by_name(result)["less exact"].is_rejected, reference.count) == (False, 1)


def test_errors_are_norms_of_differences() -> None:
    draw = np.random.default_rng(0).standard_normal
    exact = draw((3, 50_000)).astype(np.float16)
    noise = 1e-2 * draw(exact.shape)
    actual = (exact + noise).astype(np.float16)
    expected = np.linalg.norm(actual.astype(float) - exact) / np.linalg.norm(exact.astype(float))
    assert relative_error([actual], [exact]) == pytest.approx(expected, rel=1e-9)
    # Infinities count where they are expected only.
    exact[2, -1] = actual[2, -1] = np.inf
    assert relative_error([actual], [exact]) == pytest.approx(expected, rel=1e-3)
    actual[0, 0] = np.inf
    assert math.isinf(relative_error([actual], [exact]))
    actual[0, 0], actual[2, -1] = exact[0, 0], 1.0
    assert math.isinf(relative_error([actual], [exact]))


def test_a_default_that_differs_from_what_the_user_expects_is_reported() -> None:
    expected = (np.full(4, 2.0, np.float32),)
    functions = tuple(replace(call, expected=expected) for call in CALLS.functions)
    default = replace(compiled(b"default"), calls=ProgramCalls(functions))
    result = comparison(RecordedDevice()).run(jobs_of("prefills fast", default=default))
    assert "differ from those of --expected (relative error 0.5," in result.finding
    assert result.flags == ("--prefills fast",)  # its outputs are those of the default
    assert not run().finding


class SlowDevice(RecordedDevice):
    """A device on which all but one program take seconds, by its own clock."""

    def __init__(self, driver: str = "local-sync") -> None:
        self.seconds = 0.0
        self.timed: set[bytes] = set()
        self.description = DeviceDescription(f"{driver}://0", "a device", driver, "", "", 1)

    def program_outputs(self, program: CompiledProgram, *_: object) -> CallOutputs | Failure:
        return self._call(program, 0.5 if program.image == b"both fast" else 6.0)

    def _call(self, program: CompiledProgram, seconds: float) -> CallOutputs | Failure:
        self.seconds += seconds
        outputs = super().program_outputs(program)
        return outputs if isinstance(outputs, Failure) else replace(outputs, seconds=seconds)

    def rounds(self, programs: Sequence[CompiledProgram], count: int, *_: object) -> Rounds:
        self.timed |= {program.image for program in programs}
        return super().rounds(programs, count)


def on_clock(device: SlowDevice, monkeypatch: pytest.MonkeyPatch, seconds: float) -> FlagComparison:
    """Return a comparison by a device's own clock that ends after a number of seconds."""
    clock = SimpleNamespace(monotonic=lambda: device.seconds)
    for module in ("flag_sets.comparison", "deciding.model_run"):
        monkeypatch.setattr(f"tuninglink.tuning.{module}.time", clock)
    return comparison(device, deadline=seconds)


def on_clock_of(
    device: SlowDevice, monkeypatch: pytest.MonkeyPatch, seconds: float, *names: str
) -> FlagsResult:
    return on_clock(device, monkeypatch, seconds).run(jobs_of(*names))


_FIRST_CALLS = 25.0
"""The seconds of the first calls of both functions in the default and both sets."""


def slow_result(
    device: SlowDevice, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> tuple[FlagsResult, ConfidenceInterval, ConfidenceInterval]:
    """Return the result and the speedups of a set that is as fast as the default, and of one that is faster."""
    names = ("prefills fast", "both fast")
    result = on_clock_of(device, monkeypatch, _FIRST_CALLS + seconds, *names)
    assert result.results[0].milliseconds == pytest.approx(12_000)
    behind, fast = (each.speedup for each in result.results)
    assert behind is not None
    assert fast is not None
    return result, behind, fast


def test_programs_far_behind_after_their_first_call_are_not_timed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = SlowDevice()
    _, behind, fast = slow_result(device, monkeypatch, 120.0)
    assert device.timed == {b"default", b"both fast"}
    assert (behind.low, behind.median, behind.high) == pytest.approx((1 / 1.3, 1.0, 1.3))
    assert fast.median == pytest.approx(2.0)


def test_loading_a_program_is_not_part_of_its_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    device = LoadingDevice()
    result = on_clock_of(device, monkeypatch, 140.0, "both fast")
    assert device.timed == {b"default", b"both fast"}
    assert result.results[0].median == pytest.approx(2.0)


class LoadingDevice(SlowDevice):
    """A device on which weights take long to load, and calls are short."""

    def program_outputs(self, program: CompiledProgram, *_: object) -> CallOutputs | Failure:
        self.seconds += 20.0
        return self._call(program, 0.001)


def test_first_calls_on_gpus_tell_less_as_drivers_compile_in_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = SlowDevice("cuda")
    _, behind, _ = slow_result(device, monkeypatch, 60.0)
    assert device.timed == {b"default", b"both fast"}
    assert (behind.low, behind.median, behind.high) == pytest.approx((1 / 3, 1.0, 3.0))


def test_first_calls_decide_where_no_rounds_fit_into_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = SlowDevice()
    result, _, fast = slow_result(device, monkeypatch, 60.0)
    assert not device.timed
    assert result.default_ms == result.results[0].milliseconds
    assert result.noise is not None
    assert result.noise.high == pytest.approx(1.3**2)
    assert (fast.low, fast.median, fast.high) == pytest.approx((12 / 1.3, 12, 12 * 1.3))


def test_sets_that_do_not_fit_into_the_time_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    device = SlowDevice()
    result = on_clock_of(device, monkeypatch, 30.0, "both fast", "wrong", "prefills fast")
    assert result.flags == ("--both fast",)
    assert by_name(result)["wrong"].is_rejected
    assert by_name(result)["prefills fast"].note == "it was not run: there was no time left"
    # A driver may have compiled the default for longer than it compiles the others.
    result = on_clock_of(SlowDevice("cuda"), monkeypatch, 24.0, "both fast", "wrong", "much slower")
    notes = [own.note.partition(" ")[0] for own in result.results]
    assert notes == ["", "its", "it"]


class LimitedDevice(SlowDevice):
    """A device on which a call takes a number of seconds, or ends at its time limit."""

    call_seconds = 0.0

    def program_outputs(
        self, program: CompiledProgram, most_seconds: float = math.inf
    ) -> CallOutputs | Failure:
        answer = self._call(program, min(self.call_seconds, most_seconds))
        is_late = most_seconds < self.call_seconds
        return Failure(FailureKind.TIMEOUT, "no answer") if is_late else answer


@pytest.mark.parametrize(
    ("seconds", "total", "note", "reason"),
    [
        (1.0, 4.0, "", ""),
        (3.0, 6.0, "it was not run: there was no time left", ""),
        (8.0, 8.0, "", "the first call of the program took longer than 8 s"),
    ],
)
def test_the_functions_of_a_tuned_program_share_the_time_of_its_comparison(
    monkeypatch: pytest.MonkeyPatch, seconds: float, total: float, note: str, reason: str
) -> None:
    """There are 8 s for the default and a tuned program, which have two functions each."""
    device = LimitedDevice("cuda")
    device.call_seconds = seconds
    compared = on_clock(device, monkeypatch, 8.0)
    tuned = SetResult(FlagSet("both fast", ("--fast",)), entries=1)
    result = compared.run_pairs(job(COMPILED), [tuned], [job(compiled(b"both fast"))])
    assert device.seconds == total
    assert result.results[0].note == note
    assert result.reason == reason
    assert result.flags == (("--fast",) if total == 4.0 else ())


class HangingDevice(SlowDevice):
    """A device on which one program does not end, and the others are fast."""

    def program_outputs(
        self, program: CompiledProgram, most_seconds: float = 70.0
    ) -> CallOutputs | Failure:
        return self._call(program, min(70.0, most_seconds) if program.image == b"hang" else 0.5)


@pytest.mark.parametrize(("seconds", "waited"), [(45.0, 10.0), (8.0, 7.0), (4.0, 5.0)])
def test_a_set_under_which_the_program_does_not_end_is_not_awaited(
    monkeypatch: pytest.MonkeyPatch, seconds: float, waited: float
) -> None:
    device = HangingDevice("cuda")
    result = on_clock_of(device, monkeypatch, seconds, "hang", "both fast")
    assert by_name(result)["hang"].note == "no answer"
    # Two functions of the default and two of the other set take 0.5 s each.
    assert device.seconds == pytest.approx(waited + 2.0)
    assert result.flags == ("--both fast",)


def test_a_request_may_have_a_shorter_time_limit() -> None:
    request = Request(len, (), expected_seconds=20.0)
    assert request.time_limit(30.0) == 70.0
    assert replace(request, most_seconds=10.0).time_limit(30.0) == 10.0


class BusyDevice(RecordedDevice):
    """A device whose times are mostly those of other work: ten times as long in one of four samples."""

    def __init__(self) -> None:
        self.chance = np.random.default_rng(7)

    def rounds(self, programs: Sequence[CompiledProgram], count: int, *_: object) -> Rounds:
        (times, *_), batches = super().rounds(programs, 1).samples, (1,) * len(programs)
        shape = (count, len(times))
        noise = self.chance.lognormal(0.0, 0.4, shape) * self.chance.choice((1, 1, 1, 10), shape)
        return Rounds(tuple(map(tuple, (np.array(times) * noise).tolist())), batches)


def test_a_set_that_is_twice_as_fast_is_taken_on_a_busy_device() -> None:
    result = comparison(BusyDevice()).run(jobs_of("decodes fast", "both fast", "wrong"))
    assert result.flags == ("--both fast",)
    assert by_name(result)["wrong"].is_rejected


class UnequalDevice(RecordedDevice):
    """A device on which the first copy of the default takes longer than the second."""

    def rounds(self, programs: Sequence[CompiledProgram], count: int, *_: object) -> Rounds:
        (times, *_), batches = super().rounds(programs, 1).samples, (1,) * len(programs)
        count_of_copy = len(CALLS.functions)
        slow = tuple(1.5 * time for time in times[:count_of_copy])
        return Rounds(((*slow, *times[count_of_copy:]),) * count, batches)


def test_a_set_that_seems_faster_and_is_not_taken_has_the_reason() -> None:
    """A set had 1.30 [1.14, 1.57], and then no set was faster."""
    result = comparison(UnequalDevice()).run(jobs_of("prefills fast", "much slower"))
    assert result.best is None
    assert [each.note for each in result.results] == [
        "not certain: the default against itself is 1.500 [1.500, 1.500]",
        "",
    ]


def test_equal_code_is_not_taken_on_a_busy_device() -> None:
    result = comparison(BusyDevice()).run(jobs_of("decodes fast"))
    assert result.best is None
    speedup = result.results[0].speedup
    assert speedup is not None
    assert speedup.low < 1.0 < speedup.high


@pytest.mark.parametrize("name", ["both fast", "decodes fast"])
def test_the_flags_alone_are_kept_where_no_spec_makes_the_program_faster(name: str) -> None:
    flag_set = FlagSet("set", ("--prefills fast",))
    tuned = [TunedSet(flag_set), TunedSet(flag_set, name, 3)]
    result = pairs_of(BusyDevice(), *tuned)
    assert result.best is not None
    assert result.best.flag_set == flag_set
    assert result.best.entries == (3 if name == "both fast" else 0)


class DisturbedDevice(RecordedDevice):
    """A device on which other work, up to a round, makes one program a little slower and all others much slower."""

    def __init__(self, disturbed: int) -> None:
        self.left = disturbed

    def rounds(self, programs: Sequence[CompiledProgram], count: int, *_: object) -> Rounds:
        (times, *_), batches = super().rounds(programs, 1).samples, (1,) * len(programs)
        factors = [1.1 if program.image == b"robust" else 1.6 for program in programs]
        slow = tuple(time * factor for time, factor in zip(times, factors, strict=True))
        disturbed = min(count, self.left)
        self.left -= disturbed
        return Rounds((slow,) * disturbed + (times,) * (count - disturbed), batches)


@pytest.mark.parametrize("disturbed", [0, 100])
def test_a_spec_that_is_only_faster_beside_other_work_is_not_taken(
    disturbed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TIMES, b"robust", (60.0, 12.0))
    flag_set = FlagSet("set", ("--both fast",))
    tuned = [TunedSet(flag_set), TunedSet(flag_set, "robust", 3)]
    result = pairs_of(DisturbedDevice(disturbed), *tuned, default_ms=0.3)
    assert result.best is not None
    assert result.best.entries == 0
    assert result.default_ms == pytest.approx(0.3)


class ScatteredDevice(RecordedDevice):
    """A device on which the times of one program scatter."""

    def rounds(self, programs: Sequence[CompiledProgram], count: int, *_: object) -> Rounds:
        times, batches = super().rounds(programs, 1).samples[0], (1,) * len(programs)
        spread = np.random.default_rng(3).uniform(1.0, 1.6, (count, len(times)))
        is_scattered = [program.image == b"scattered" for program in programs]
        rounds = np.where(is_scattered, np.array(times) * spread, times)
        return Rounds(tuple(map(tuple, rounds.tolist())), batches)


@pytest.mark.parametrize(("microseconds", "entries"), [(48.0, 0), (35.0, 3)])
def test_a_spec_that_may_be_behind_the_set_alone_is_not_taken(
    microseconds: float, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TIMES, b"scattered", (microseconds, microseconds / 5))
    monkeypatch.setattr("tuninglink.tuning.deciding.model_run._MOST_ROUNDS", 30)
    flag_set = FlagSet("set", ("--both fast",))
    tuned = [TunedSet(flag_set), TunedSet(flag_set, "scattered", 3)]
    result = pairs_of(ScatteredDevice(), *tuned)
    assert result.best is not None
    assert result.best.entries == entries


def test_sets_may_have_to_compute_the_same_bits() -> None:
    result = run(Numerics.BITWISE)
    assert result.flags == ("--prefills fast",)
    assert "bit for bit" in by_name(result)["wrong"].note


def test_the_pair_of_flags_and_spec_that_is_fastest_as_a_whole_is_taken() -> None:
    tuned = [
        TunedSet(FlagSet("tiled", ("--prefills fast",)), "decodes fast", 3),
        TunedSet(DEFAULT, "both fast", 2),
    ]
    result = pairs_of(RecordedDevice(), *tuned)
    assert result.best is not None
    assert result.best.flag_set == DEFAULT
    assert result.best.speedup is not None
    assert result.best.speedup.median == pytest.approx(2.0)


def test_a_set_without_entries_takes_part_alone() -> None:
    alone = TunedSet(FlagSet("set", ("--prefills fast",)), "", 0)
    result = pairs_of(RecordedDevice(), alone)
    assert result.flags == ("--prefills fast",)


# --- The sets under which dispatches are tuned ------------------------------------------------------------------


def measured(
    name: str, median: float, *, is_data_tiled: bool, is_rejected: bool = False
) -> SetResult:
    speedup = ConfidenceInterval(median, median, median)
    flag_set = FlagSet(name, (f"--{name}",))
    return SetResult(
        flag_set, 1.0, speedup, 0.0, is_rejected=is_rejected, is_data_tiled=is_data_tiled
    )


TILED = measured("tiled", 1.4, is_data_tiled=True)
PLAIN = measured("plain", 1.2, is_data_tiled=False)


@pytest.mark.parametrize(
    ("results", "best", "bases"),
    [
        ([TILED, PLAIN], TILED, ["tiled", "plain"]),
        ([TILED, measured("slow", 0.9, is_data_tiled=False)], TILED, ["tiled", "default"]),
        (
            [TILED, measured("wrong", 1.3, is_data_tiled=False, is_rejected=True)],
            TILED,
            ["tiled", "default"],
        ),
        ([TILED, PLAIN], PLAIN, ["plain"]),
        ([TILED, PLAIN], None, ["default"]),
        ([measured("far", 4.0, is_data_tiled=True)], None, ["default"]),
    ],
)
def test_dispatches_are_tuned_where_specs_configure_them_too(
    results: list[SetResult], best: SetResult | None, bases: list[str]
) -> None:
    chosen = tuning_bases(FlagsResult(tuple(results), best), 300.0)
    assert [base.name for base in chosen] == bases


def test_one_set_is_tuned_where_another_cannot_catch_up_or_time_is_short() -> None:
    far = measured("far", 4.0, is_data_tiled=True)
    assert [base.name for base in tuning_bases(FlagsResult((far,), far), 300.0)] == ["far"]
    short = tuning_bases(FlagsResult((TILED, PLAIN), TILED), 20.0)
    assert [base.name for base in short] == ["tiled"]
    # Where the default does not run, a set that does is not compared with it.
    only = replace(TILED, speedup=None)
    for seconds in (20.0, 300.0):
        failing = FlagsResult((only,), only, reason="without further flags, it does not compile")
        assert [base.name for base in tuning_bases(failing, seconds)] == ["tiled"]


def test_a_program_that_takes_long_to_compile_is_tuned_under_one_set() -> None:
    both = FlagsResult((TILED, PLAIN), TILED)
    assert [base.name for base in tuning_bases(both, 300.0, 5.0)] == ["tiled", "plain"]
    assert [base.name for base in tuning_bases(both, 300.0, 10.0)] == ["tiled"]
    alike = measured("alike", TILED.median / 1.01, is_data_tiled=False)
    results = FlagsResult((TILED, alike), TILED)
    assert [base.name for base in tuning_bases(results, 300.0, 5.0)] == ["tiled", "alike"]
    assert [base.name for base in tuning_bases(results, 300.0, 10.0)] == ["alike"]


def test_time_for_compiling_tuned_programs_is_left_only_where_that_has_not_been_done() -> None:
    compared = choice(FlagsResult((TILED,), TILED, default_ms=5.0), 200.0, 4.0)
    alone = replace(compared.options, settings=replace(compared.options.settings, runs_model=False))
    assert compared.final_seconds == 6.0
    assert replace(compared, options=alone).final_seconds == 18.0
    assert replace(compared, late=(PLAIN.flag_set,)).final_seconds == 18.0
    assert choice(FlagsResult((TILED,)), 200.0, 4.0).final_seconds == 0.0


def test_sets_that_are_nearly_as_fast_are_compared_again() -> None:
    near = measured("near", 1.35, is_data_tiled=False)
    wrong = measured("wrong", 1.39, is_data_tiled=True, is_rejected=True)
    others = [measured(f"nearer {number}", 1.36, is_data_tiled=True) for number in (1, 2)]
    result = FlagsResult((near, TILED, PLAIN, wrong), TILED)
    assert [finalist.name for finalist in finalists(result, 300.0, 5.0)] == ["tiled", "near"]
    more = replace(result, results=(*result.results, *others))
    names = [finalist.name for finalist in finalists(more, 300.0, 5.0)]
    assert names == ["tiled", "nearer 1", "nearer 2"]
    assert not finalists(result, 40.0)
    assert not finalists(result, 300.0, 31.0)
    assert not finalists(replace(result, best=None), 300.0)


def test_a_set_that_left_early_is_tuned_only_if_it_is_surely_as_fast() -> None:
    early = replace(PLAIN, speedup=ConfidenceInterval(0.9, 1.4, 1.6))
    both = FlagsResult((TILED, early, PLAIN), TILED)
    assert [base.name for base in tuning_bases(both, 300.0, 10.0)] == ["tiled"]
    alone = FlagsResult((TILED, early), TILED)
    assert [base.name for base in tuning_bases(alone, 300.0, 5.0)] == ["tiled", "default"]
    sure = replace(early, flag_set=FlagSet("sure", ("--sure",)))
    sure = replace(sure, speedup=ConfidenceInterval(1.05, 1.1, 1.2))
    both = FlagsResult((TILED, early, sure), TILED)
    assert [base.name for base in tuning_bases(both, 300.0, 5.0)] == ["tiled", "sure"]


WITH_FORMS = FlagSet("forms", ("--forms",), forms="module {}")
FIRST_SET = FlagSet("data tiling", ("--tiled",))


@pytest.mark.parametrize("are_formed", [True, False])
@pytest.mark.parametrize("compile_seconds", [0.05, 10.0])
def test_forms_take_a_tenth_more_on_a_cpu_if_they_may_compile_in_it(
    *, are_formed: bool, compile_seconds: float
) -> None:
    began, waiting = time.monotonic(), Future[CompiledSource | str]()
    done = {DEFAULT: job(COMPILED), FIRST_SET: job(CompiledSource(b"", CALLS, compile_seconds))}
    other: Future[CompiledSource | str] = job(COMPILED) if are_formed else waiting
    waits = not are_formed and compile_seconds < 1
    left = 1.0 if waits else 50.0
    seconds = compile_alone(done | {WITH_FORMS: other}, began, 0.01, left, [WITH_FORMS])
    took = time.monotonic() - began
    if not waits:
        assert seconds < 4  # a wait takes 5 s
    else:
        assert 0.1 <= seconds <= took + 0.01


def test_forms_and_no_kernels_are_awaited_where_the_first_set_has_no_code_of_its_own() -> None:
    kernel, began = FlagSet("kernel", (), forms="module {}"), time.monotonic()
    default = job(CompiledSource(b"", CALLS, 0.05))
    alike = {DEFAULT: default, FIRST_SET: job("the same code as the default")}
    late = Future[CompiledSource | str]()
    kernels = alike | {kernel: late, WITH_FORMS: job(COMPILED)}
    assert compile_alone(kernels, began, 0.01, 50.0, [WITH_FORMS]) < 4  # a wait takes 5 s
    forms = alike | {kernel: job(COMPILED), WITH_FORMS: late}
    assert compile_alone(forms, began, 0.01, 1.0, [WITH_FORMS]) >= 0.1


def test_the_first_set_without_forms_is_awaited_after_one_with_forms() -> None:
    began, waiting = time.monotonic(), Future[CompiledSource | str]()
    default = job(CompiledSource(b"", CALLS, 0.05))
    jobs = {DEFAULT: default, WITH_FORMS: default, FIRST_SET: waiting}
    assert compile_alone(jobs, began, 0.01, 1.0, [WITH_FORMS]) >= 0.1


def test_the_first_set_is_awaited_for_two_fifths_of_the_time_on_a_cpu_and_forms_are_not() -> None:
    began, waiting = time.monotonic(), Future[CompiledSource | str]()
    compiling = {FIRST_SET: waiting, WITH_FORMS: waiting}
    seconds = compile_alone({DEFAULT: job(COMPILED)} | compiling, began, 0.01, 0.4, [WITH_FORMS])
    assert 0.16 + 0.04 <= seconds <= time.monotonic() - began + 0.04


def test_a_winner_stays_where_nothing_is_shown_of_a_set_without_losing_kernels() -> None:
    class Losing(KernelChoice):
        def refined(self, results: Sequence[SetResult]) -> list[FlagSet]:  # noqa: ARG002
            return [FlagSet("fewer", ("--no-such-flag",))]

    jobs = jobs_of("prefills fast")
    first = comparison(RecordedDevice()).run(jobs)
    warnings = list[Diagnostic]()

    def refined(device: object) -> FlagsResult:
        return _refined(
            *(Losing(), OPTIONS, comparison(device), first, jobs),
            seconds=9.0,
            report=warnings.append,
        )

    for device in (RecordedDevice(), RoundsDevice(FailureKind.TIMEOUT)):
        result = refined(device)
        assert result.flags == ("--prefills fast",)
        assert not result.reason
        assert [*by_name(result)] == ["prefills fast", "fewer"]
        assert jobs[FlagSet("fewer", ("--no-such-flag",))].result().startswith("the compiler rej")

    class Lost(RecordedDevice):
        def program_outputs(self, *_: object) -> CallOutputs | Failure:
            raise DeviceError(error("the device is gone"))

    assert not warnings
    assert refined(Lost()) == first
    assert list(map(str, warnings)) == ["warning: 'fewer' is not compared: the device is gone"]
