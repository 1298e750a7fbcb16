"""Which set of flags is taken, by recorded times and outputs."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tuninglink.compiler.phases import Phase
from tuninglink.tuning.devices.timing import Rounds
from tuninglink.tuning.flag_sets.comparison import FlagComparison
from tuninglink.tuning.flag_sets.compilation import CompiledSource, ProgramSource
from tuninglink.tuning.flag_sets.sets import FlagSet
from tuninglink.tuning.programs.call_options import ALL_CALLS
from tuninglink.tuning.programs.program_calls import FunctionCall, ProgramCalls
from tuninglink.tuning.results.failures import Failure, FailureKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.flag_sets.results import FlagsResult, SetResult
    from tuninglink.tuning.programs.compiled_program import CompiledProgram

CALLS = ProgramCalls((FunctionCall("prefill", 1), FunctionCall("decode", 10)))
TIMES = {
    b"default": (100.0, 20.0),
    b"decodes fast": (200.0, 10.0),
    b"prefills fast": (50.0, 20.0),
    b"wrong": (10.0, 2.0),
}
"""The microseconds of both functions: 300, 300, 250 and 30 in all, as a decode counts ten times."""

SETS = ["decodes fast", "prefills fast", "wrong", "default", "crash", "hang"]


def compiled(image: bytes) -> CompiledSource:
    return CompiledSource(image, CALLS, ("llvm-cpu",), 1.0)


class RecordedCompiler:
    def submit(self, _source: object, flags: Sequence[str], _deadline: float, _spec: str) -> Future:
        job: Future = Future()
        name = flags[-1].removeprefix("--")
        job.set_result("the compiler crashed: 1" if name == "crash" else compiled(name.encode()))
        return job


class RecordedDevice:
    def program_outputs(self, program: CompiledProgram) -> tuple[np.ndarray, ...] | Failure:
        if program.image == b"hang":
            return Failure(FailureKind.TIMEOUT, "no answer")
        value = 1.01 if program.image == b"wrong" else 1.0
        return (np.full(4, value, np.float32),)

    def program_rounds(self, programs: Sequence[CompiledProgram], count: int, *_: object) -> Rounds:
        times = tuple(TIMES[each.image][each.function == "decode"] for each in programs)
        return Rounds((times,) * count, (1,) * len(times))


def run(*, allows_numerics: bool = False) -> FlagsResult:
    source = ProgramSource("program.mlir", Phase.START, (), ALL_CALLS)
    comparison = FlagComparison(source, (), 60.0, 0.02, 0, allows_numerics=allows_numerics)
    sets = [FlagSet(name, (f"--{name}",)) for name in SETS]
    compiler = RecordedCompiler()
    jobs = {flag_set: comparison.begin(compiler, flag_set) for flag_set in sets}
    return comparison.run(compiled(b"default"), jobs, RecordedDevice())


def by_name(result: FlagsResult) -> dict[str, SetResult]:
    return {each.flag_set.name: each for each in result.results}


def test_the_weighted_sum_decides() -> None:
    result = run()
    assert result.flags == ("--prefills fast",)
    assert result.default_ms == pytest.approx(0.3)
    assert by_name(result)["decodes fast"].milliseconds == pytest.approx(0.3)
    speedup = by_name(result)["prefills fast"].speedup
    assert speedup is not None
    assert speedup.median == pytest.approx(1.2)


def test_what_is_not_measured_says_why() -> None:
    results = by_name(run())
    assert results["default"].note == "the same code as the default"
    assert results["crash"].note == "the compiler crashed: 1"
    assert results["hang"].note == "no answer"
    assert all(results[each].speedup is None for each in ("default", "crash", "hang"))


def test_other_results_are_taken_only_if_that_is_allowed() -> None:
    wrong = by_name(run())["wrong"]
    assert wrong.error == pytest.approx(0.01, rel=1e-3)
    assert "taken with --allow-numerics only" in wrong.note
    assert run(allows_numerics=True).flags == ("--wrong",)
