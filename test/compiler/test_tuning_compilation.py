"""Compiling candidates in workers, and how that fails."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from programs import TARGETS, run
from tuning_programs import matmul, prepared

from tuninglink.programs import Benchmark, Failure, FailureKind
from tuninglink.tuning.candidates import CandidateCompiler, CandidateOrigin
from tuninglink.tuning.references import Reproducers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tuninglink.tuning.candidates import Candidate, PreparedTask

FLAGS = TARGETS["llvm-cpu"]


@pytest.fixture(scope="module")
def compiler() -> Iterator[CandidateCompiler]:
    with CandidateCompiler(FLAGS, jobs=1) as made:
        yield made


@pytest.fixture(scope="module")
def task() -> PreparedTask:
    return prepared(matmul(8, 256, 512), "llvm-cpu")


def refused(task: PreparedTask) -> Candidate:
    """Return a candidate with vectors that are too large for the compiler."""
    default = task.spaces.default
    configuration = default.configuration.replace(
        "vector_common_parallel = [8, 16, 0]", "vector_common_parallel = [8, 256, 0]"
    ).replace("vector_reduction = [0, 0, 16]", "vector_reduction = [0, 0, 512]")
    assert configuration != default.configuration
    return replace(default, configuration=configuration, origin=CandidateOrigin.SPEC)


def test_candidates_become_benchmarks(compiler: CandidateCompiler, task: PreparedTask) -> None:
    candidates = [task.spaces.default, *task.spaces.sample(2, 0)]
    jobs = [compiler.submit(task.template, each, 60.0) for each in candidates]
    found = [job.result() for job in jobs]
    images = set()
    for each in found:
        assert isinstance(each, Benchmark)
        assert each.function == task.task.function
        assert each.layout == task.task.layout
        images.add(each.image)
    assert len(images) == len(candidates)


def test_the_whole_way_gives_the_same_default(
    compiler: CandidateCompiler, task: PreparedTask
) -> None:
    compiled = compiler.submit_program(task.task.source, "", 60.0).result()
    default = compiler.submit(task.template, task.spaces.default, 60.0).result()
    assert not isinstance(compiled, Failure)
    assert isinstance(default, Benchmark)
    assert compiled.image == default.image
    assert compiled.seconds > 0


def test_what_the_compiler_refuses_costs_the_candidate(
    compiler: CandidateCompiler, task: PreparedTask, tmp_path: Path
) -> None:
    candidate = refused(task)
    failure = compiler.submit(task.template, candidate, 60.0).result()
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.COMPILE
    assert "vector" in failure.message
    assert isinstance(compiler.submit(task.template, task.spaces.default, 60.0).result(), Benchmark)

    reproducers = Reproducers(tmp_path / "failures", FLAGS, "local-sync")
    path = reproducers.keep_candidate(task, candidate, failure)
    assert path is not None
    text = path.read_text()
    assert failure.message.splitlines()[0] in text
    with pytest.raises(AssertionError, match="vector"):
        run("iree-compile", "--compile-from=executable-configurations", *FLAGS, source=text)


def test_a_compilation_that_takes_too_long_is_ended(
    compiler: CandidateCompiler, task: PreparedTask
) -> None:
    failure = compiler.submit(task.template, task.spaces.default, 0.0).result()
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.COMPILE_TIMEOUT


def test_compilations_that_nobody_waits_for_are_cancelled(
    task: PreparedTask, caplog: pytest.LogCaptureFixture
) -> None:
    with CandidateCompiler(FLAGS, 1) as compiler:
        jobs = [compiler.submit(task.template, task.spaces.default, 60.0) for _ in range(4)]
        assert all(job.cancel() for job in jobs[1:])
        assert isinstance(jobs[0].result(), Benchmark)
        assert isinstance(
            compiler.submit(task.template, task.spaces.default, 60.0).result(), Benchmark
        )
    assert not caplog.records


def test_a_spec_that_is_none_is_told(compiler: CandidateCompiler, task: PreparedTask) -> None:
    failure = compiler.submit_program(task.task.source, "no spec", 60.0).result()
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.COMPILE
