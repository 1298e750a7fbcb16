"""Exploration: the order of compiling and measuring, the budget, and prior results."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from tuninglink.devices import Measurement, Timing
from tuninglink.iree import Spills
from tuninglink.programs import Benchmark, BufferLayout, Failure, FailureKind
from tuninglink.tuning.candidates import BenchmarkTemplate, Candidate
from tuninglink.tuning.deciding import (
    Budget,
    ConfidenceInterval,
    Decision,
    ModelComparison,
    ModelRunError,
    ModelVerdict,
    Outcome,
    TrialResult,
    TuningSettings,
    harmless,
    judge_entries,
    with_predicted,
)
from tuninglink.tuning.scheduling import Exploration, TuningContext

if TYPE_CHECKING:
    from collections.abc import Sequence

LAYOUT = BufferLayout((), 0, 0)
TEMPLATE = BenchmarkTemplate(b"", "f", LAYOUT)
BROKEN = 3
"""The candidate that does not compile."""


def candidate(number: int) -> Candidate:
    return Candidate("#pipeline", {"tile": number}, f"#configuration<{number}>")


@dataclass
class Machine:
    """A compiler and a device whose jobs end when they are polled, and a log of both."""

    is_local: bool = True
    log: list[str] = field(default_factory=list)
    at_once: int = 1
    jobs: int = 2
    spills: dict[int, Spills] = field(default_factory=dict)

    @property
    def first(self) -> Machine:
        return self

    @property
    def description(self) -> Machine:
        return self

    def submit(self, *arguments: object) -> Future:
        if len(arguments) == 3:
            return self._compile(arguments[1])
        return self._measure(arguments[0])

    def _compile(self, each: Candidate) -> Future:
        number = each.knobs["tile"]
        self.log.append(f"compile {number}")
        job: Future = Future()
        if number == BROKEN:
            job.set_result(Failure(FailureKind.COMPILE, "no"))
        else:
            spills = self.spills.get(number)
            job.set_result(Benchmark(str(number).encode(), "f", LAYOUT, spills=spills))
        return job

    def _measure(self, benchmark: Benchmark) -> Future:
        number = int(benchmark.image)
        self.log.append(f"measure {number}")
        job: Future = Future()
        job.set_result(Measurement(100.0 - number, Timing((100.0 - number,), 1)))
        return job


@dataclass
class InOrder:
    """Asks for the numbers from 0 on."""

    count: int
    asked: int = 0
    told: dict[int, float | None] = field(default_factory=dict)
    spilled: dict[int, Spills] = field(default_factory=dict)
    rejected: list[int] = field(default_factory=list)

    def ask(self, count: int) -> list[Candidate]:
        numbers = range(self.asked, min(self.asked + count, self.count))
        self.asked += len(numbers)
        return [candidate(each) for each in numbers]

    def tell(self, each: Candidate, microseconds: float | None) -> None:
        self.told[each.knobs["tile"]] = microseconds

    def reject(self, each: Candidate) -> None:
        self.rejected.append(each.knobs["tile"])

    def compiled(self, each: Candidate, spills: Spills | None) -> None:
        if spills is not None:
            self.spilled[each.knobs["tile"]] = spills


def explore(
    machine: Machine,
    search: InOrder,
    budget: Budget,
    known: dict[str, TrialResult] | None = None,
) -> Sequence[TrialResult]:
    exploration = exploration_of(machine, search, known)
    exploration.run(budget)
    return exploration.trials


def exploration_of(
    machine: Machine, search: InOrder, known: dict[str, TrialResult] | None = None
) -> Exploration:
    context = TuningContext(TuningSettings(), machine, machine)
    task = SimpleNamespace(template=TEMPLATE)
    return Exploration(context, task, search, 100.0, 1.0, recorded=known)


@pytest.mark.parametrize("is_local", [True, False])
def test_all_candidates_are_tried_and_told(*, is_local: bool) -> None:
    machine, search = Machine(is_local), InOrder(10)
    results = explore(machine, search, Budget())
    assert sorted(each.candidate.knobs["tile"] for each in results) == list(range(10))
    expected = {each: 100.0 - each for each in range(10)} | {BROKEN: None}
    assert search.told == expected
    (broken,) = (each for each in results if each.failure)
    assert broken.candidate.knobs == {"tile": BROKEN}
    assert f"measure {BROKEN}" not in machine.log


def test_a_cpu_does_not_compile_while_it_measures() -> None:
    machine = Machine()
    explore(machine, InOrder(16), Budget())
    words = [each.partition(" ")[0] for each in machine.log]
    assert words == ["compile"] * 8 + ["measure"] * 7 + ["compile"] * 8 + ["measure"] * 8


@pytest.mark.parametrize("is_local", [True, False])
def test_turns_go_on_where_the_last_one_ended(*, is_local: bool) -> None:
    machine, search = Machine(is_local), InOrder(20)
    exploration = exploration_of(machine, search)
    trials = exploration.trials
    for enough in (3, 11, 100):
        exploration.run(Budget(), lambda enough=enough: len(trials) >= enough)
        assert len(trials) >= min(enough, 20)
    assert exploration.is_exhausted
    assert sorted(each.candidate.knobs["tile"] for each in trials) == list(range(20))
    assert len([each for each in machine.log if each.startswith("compile")]) == 20


def test_the_device_goes_on_while_the_search_chooses() -> None:
    machine = Machine(is_local=False)

    class Waiting(InOrder):
        """Chooses more only when all that it has chosen before is measured."""

        def ask(self, count: int) -> list[Candidate]:
            assert len([each for each in machine.log if each.startswith("measure")]) == max(
                0, self.asked - (self.asked > BROKEN)
            )
            return super().ask(count)

    assert len(explore(machine, Waiting(8), Budget())) == 8


@pytest.mark.parametrize("is_local", [True, False])
def test_the_number_of_trials_is_a_limit(*, is_local: bool) -> None:
    results = explore(Machine(is_local), InOrder(100), Budget(trials=6))
    assert len(results) == 6


def test_a_budget_that_is_stopped_ends_it() -> None:
    budget = Budget()
    machine, search = Machine(), InOrder(1000)
    tell = search.tell

    def stop(each: Candidate, microseconds: float | None) -> None:
        tell(each, microseconds)
        budget.stop()

    search.tell = stop
    assert 1 <= len(explore(machine, search, budget)) <= 8


def test_what_is_known_is_neither_compiled_nor_measured() -> None:
    machine, search = Machine(), InOrder(4)
    known = {
        candidate(0).key: TrialResult(candidate(0), 50.0, None, 0.0),
        candidate(1).key: TrialResult(candidate(1), None, Failure(FailureKind.CRASH, ""), 0.0),
    }
    results = explore(machine, search, Budget(), known)
    assert len(results) == 4
    assert search.told == {0: 50.0, 1: None, 2: 98.0, BROKEN: None}
    assert machine.log == ["compile 2", "compile 3", "measure 2"]


def test_candidates_that_spill_are_measured_after_the_others() -> None:
    machine, search = Machine(spills={0: Spills(4), 1: Spills(), 2: Spills(0, 0, 16)}), InOrder(8)
    results = explore(machine, search, Budget())
    measured = [int(each.removeprefix("measure ")) for each in machine.log if "measure" in each]
    assert measured == [1, 4, 5, 6, 7, 0, 2]
    assert search.spilled == machine.spills
    spills = {each.candidate.knobs["tile"]: each.spills for each in results if each.spills}
    assert spills == machine.spills


def test_wrong_results_of_earlier_runs_are_rejected() -> None:
    """Others that failed tell nothing about the values of knobs with which results are wrong."""
    kinds = [FailureKind.WRONG, FailureKind.OUT_OF_BOUNDS, FailureKind.CRASH]
    known = {
        candidate(number).key: TrialResult(candidate(number), None, Failure(kind, "no"), 0.0)
        for number, kind in enumerate(kinds)
    }
    search = InOrder(3)
    explore(Machine(), search, Budget(), known)
    assert search.rejected == [0, 1]
    assert search.told == {2: None}


def test_recorded_spills_are_told() -> None:
    search = InOrder(1)
    recorded = TrialResult(candidate(0), 50.0, None, 0.0, spills=Spills(7))
    explore(Machine(), search, Budget(), {candidate(0).key: recorded})
    assert search.spilled == {0: Spills(7)}


def test_parts_of_a_budget_stop_with_it() -> None:
    budget = Budget(100.0)
    part = budget.part(0.5)
    assert 49.0 < part.remaining <= 50.0
    budget.stop()
    assert part.is_over
    assert part.remaining == 0.0


# --- The whole model decides -----------------------------------------------------------------------------


def comparison(slowdowns: dict[str, float], entries: list[str]) -> ModelComparison:
    ratio = 1.2
    for each in entries:
        ratio *= slowdowns.get(each, 1.0)
    return ModelComparison(1.0, 1.0 / ratio, ConfidenceInterval(ratio * 0.99, ratio, ratio * 1.01))


@pytest.mark.parametrize("harmful", [[], ["c"], ["a", "f"], ["a", "b", "c", "d", "e", "f"]])
def test_harmful_entries_are_left_out(harmful: list[str]) -> None:
    entries = list("abcdef")
    slowdowns = dict.fromkeys(harmful, 0.5)
    kept = harmless(entries, lambda some: comparison(slowdowns, list(some)))
    assert kept == [each for each in entries if each not in harmful]


@dataclass(frozen=True)
class Entry:
    """An entry of a spec, as far as the guard looks at it."""

    name: str
    default_is_wrong: bool
    default_failure: None = None
    slower_us: float = 0.0

    @property
    def task(self) -> Entry:
        return self

    @property
    def calls(self) -> int:
        return 1

    @property
    def decision(self) -> Decision:
        same = ConfidenceInterval(1.0, 1.0, 1.0)
        return Decision(Outcome.UNDECIDED, same, 1.0, 1.0 + self.slower_us, ())


@dataclass
class Runs:
    """Runs of a program that are slower with some entries and fail with others."""

    slowdowns: dict[str, float]
    failing: str = ""
    left: int = 100

    def begin_ahead(self, spec: str) -> None:
        """Return at once: nothing is compiled."""

    def compare(self, spec: str, *, base: str, is_repair: bool) -> ModelComparison:
        assert is_repair == (not base and bool({"a", "b"} & set(spec)))
        self.left -= 1
        if self.left < 0:
            raise ModelRunError("no time")
        compared = comparison(self.slowdowns, [name for name in spec if name not in base])
        return replace(compared, failure="it fails") if self.failing in list(spec) else compared


@pytest.mark.parametrize(("failing", "kept"), [("", "abdf"), ("b", "adf")])
def test_an_entry_for_a_wrong_default_stays_at_any_speed(failing: str, kept: str) -> None:
    entries = [Entry(name, name in "ab") for name in "abcdef"]
    runs = Runs({"a": 0.9, "c": 0.5, "e": 0.5}, failing)
    verdict = judge_entries(entries, runs, lambda some: "".join(each.name for each in some))
    assert "".join(entry.name for entry in verdict.kept) == kept


def test_other_entries_are_compared_with_the_entries_for_wrong_defaults_alone() -> None:
    """The repairs make the program 5 times slower; this costs no other entry its place."""
    entries = [Entry(name, name in "ab") for name in "abcdef"]
    runs = Runs({"a": 0.2, "d": 0.5})
    verdict = judge_entries(entries, runs, lambda some: "".join(each.name for each in some))
    assert "".join(entry.name for entry in verdict.kept) == "abcef"
    assert verdict.comparison is not None
    assert verdict.comparison.speedup.high < 1.0
    assert any("right results come before speed" in note for note in verdict.comparison.notes)


@pytest.mark.parametrize(
    ("left", "slow", "failing", "slower_us", "kept"),
    [
        (0, "c", "", 0.0, "abcdef"),
        (1, "c", "", 0.0, "ab"),
        (1, "c", "", 1e9, "abcdef"),  # the repairs alone may make the program as slow
        (1, "", "c", 1e9, ""),
        (1, "", "", 0.0, "abcdef"),
    ],
)
def test_without_time_to_find_harmful_entries_all_are_left_out(
    left: int, slow: str, failing: str, slower_us: float, kept: str
) -> None:
    entries = [Entry(name, name in "ab", slower_us=slower_us) for name in "abcdef"]
    runs = Runs(dict.fromkeys(slow, 0.5), failing, left)
    verdict = judge_entries(entries, runs, lambda some: "".join(each.name for each in some))
    assert "".join(entry.name for entry in verdict.kept) == kept
    is_unfinished = kept != "abcdef"
    assert ("the entries at fault were not found: no time" in verdict.reason) == is_unfinished


class PredictedRuns(Runs):
    """Runs of a program with predicted entries, of which c replaces a wrong default."""

    def compare(self, spec: str, *, base: str = "", is_repair: bool) -> ModelComparison:
        assert is_repair == bool({"a", "c"} & ({*spec} - {*base}))
        is_right = super().compare(spec, base=base, is_repair=not base and "a" in spec)
        return replace(is_right, failure="it fails") if self.failing in [*spec] else is_right


@pytest.mark.parametrize(
    ("won", "slow", "failing", "left", "kept"),
    [
        ("ab", "", "", 2, "abcd"),
        ("ab", "d", "", 3, "abc"),
        ("ab", "c", "", 3, "abc"),  # what replaces a wrong default does so at any speed
        ("ab", "", "d", 3, "abc"),
        ("ab", "", "c", 2, "ab"),
        ("ab", "", "", 1, "ab"),
        ("", "", "", 1, "cd"),
        ("", "d", "", 2, "c"),
        ("", "", "c", 2, ""),
    ],
)
def test_predicted_entries_are_added_unless_the_program_is_worse_with_them(
    won: str, slow: str, failing: str, left: int, kept: str
) -> None:
    winners = tuple(Entry(name, name == "a") for name in won)
    predicted = [Entry("c", default_is_wrong=True), Entry("d", default_is_wrong=False)]
    runs = PredictedRuns(dict.fromkeys(slow, 0.5), failing, left)
    verdict = ModelVerdict(winners, reason="of the winners")
    verdict = with_predicted(
        verdict, predicted, runs, lambda some: "".join(each.name for each in some)
    )
    assert "".join(entry.name for entry in verdict.kept) == kept
    assert (verdict.comparison is not None) == (kept != won) == (not verdict.reason)
