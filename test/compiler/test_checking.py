"""Checking specs: the findings, and failing compilations."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest
import worker_jobs
from places import TOOLS
from processes import PATIENCE, children, eventually, marked, processor_seconds
from programs import EXAMPLES, listening

from tuninglink.checking import Checker, CheckReport, CompileLimits, Job, compile_all, entry_checker
from tuninglink.compiler import compile_flags
from tuninglink.errors import Severity
from tuninglink.iree import Target
from tuninglink.payloads import payload_for, spec_of
from tuninglink.plain_data import to_json
from tuninglink.rules import Rule
from tuninglink.solver import Verdict
from tuninglink.specs import load_spec, shipped

if TYPE_CHECKING:
    from pathlib import Path

GFX942 = Target.parse("gfx942")


@pytest.fixture(scope="module")
def job() -> Job:
    (entry,) = load_spec(EXAMPLES / "spec_gfx942.mlir").entries
    payload = payload_for(entry, GFX942)
    return Job(payload.text, spec_of(entry), tuple(compile_flags(GFX942)))


def outcome(job: Job, seconds: float = 120.0) -> tuple[Verdict, str]:
    (answer,) = compile_all([job], CompileLimits(seconds))
    return answer.verdict, answer.reason


def test_what_compiles_with_its_entry_is_proven(job: Job) -> None:
    assert outcome(job) == (Verdict.PROVEN, "")


def test_what_takes_too_long_is_not_decided(job: Job) -> None:
    assert outcome(job, 0.01) == (Verdict.NOT_DECIDED, "it did not compile within 0.01 s")


def test_a_crash_is_an_answer(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_checker, "_compile", worker_jobs.segfault_on)
    assert outcome(job) == (Verdict.REFUTED, "the compiler crashed (segmentation fault)")


def test_what_the_compiler_refuses_is_refuted(job: Job) -> None:
    verdict, reason = outcome(Job("func.func @f() { oops }", job.spec, job.flags))
    assert verdict is Verdict.REFUTED
    assert reason.startswith("the compiler refuses it: ")


def test_an_entry_that_configures_nothing_is_not_decided(job: Job) -> None:
    program = job.program.replace("2048x", "1024x")
    verdict, reason = outcome(Job(program, job.spec, job.flags))
    assert verdict is Verdict.NOT_DECIDED
    assert "does not match" in reason


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_command_that_is_killed_while_it_compiles_leaves_no_process(
    end: signal.Signals, tmp_path: Path
) -> None:
    spec = tmp_path / "spec.mlir"
    text = (EXAMPLES / "spec_gfx942.mlir").read_text()
    # With that many accumulators in one workgroup, it compiles for minutes.
    spec.write_text(text.replace("workgroup = [128, 128, 0]", "workgroup = [2048, 1280, 0]"))
    marker = f"TUNINGLINK_TEST_{os.urandom(8).hex()}"
    arguments = ["check", str(spec), "--target=gfx942", "--compile", "--timeout=3600"]
    process = subprocess.Popen(
        listening([str(TOOLS / "tuninglink"), *arguments]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, marker: ""},
    )

    def is_compiling() -> bool:
        workers = set(marked(marker)) - {process.pid, *children(process.pid)}
        return any(processor_seconds(each) > 2 for each in workers)  # loading takes less

    try:
        assert eventually(is_compiling)
        assert process.poll() is None
        process.send_signal(end)
        _, said = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == (130 if end == signal.SIGINT else -end)
    assert said == (b"tuninglink: interrupted\n" if end == signal.SIGINT else b"")
    assert eventually(lambda: not marked(marker))


def test_compilations_are_answered_in_order(job: Job) -> None:
    broken = Job("oops", job.spec, job.flags)
    answers = compile_all([broken, job, broken], CompileLimits(processes=2))
    wanted = [Verdict.REFUTED, Verdict.PROVEN, Verdict.REFUTED]
    assert [each.verdict for each in answers] == wanted


@pytest.mark.parametrize("name", [target.name for target in shipped()])
def test_default_specs_have_no_errors(name: str) -> None:
    ((target, spec),) = (each for each in shipped().items() if each[0].name == name)
    report = Checker(target=target).check(spec.bytecode(), spec.source)
    assert report.entries
    for each in report.entries:
        assert each.matches.verdict is Verdict.PROVEN
        assert each.is_valid is not None
        assert each.is_valid.verdict is not Verdict.REFUTED
        assert each.is_reachable.verdict is not Verdict.REFUTED


def test_what_cannot_be_read_is_reported() -> None:
    report = Checker().check(b"module {", "broken.mlir")
    assert report.source == "broken.mlir"
    assert not report.entries
    assert report.has_errors()
    assert [each.severity for each in report.diagnostics()] == [Severity.ERROR]


def test_an_unsound_structure_is_all_that_is_reported() -> None:
    spec = (EXAMPLES / "spec_gfx942.mlir").read_bytes()
    report = Checker(target=GFX942).check(spec.replace(b"-> @configure", b"-> @nothing"), "spec")
    assert not report.entries
    assert report.has_errors()


def test_what_only_the_compilers_constraints_reject_is_a_hidden_remark() -> None:
    report = Checker(target=GFX942, compile_limits=CompileLimits()).check(
        EXAMPLES / "spec_gfx942.mlir"
    )
    assert not report.diagnostics()
    (found,) = report.findings()
    assert found.severity is Severity.REMARK
    assert found.rule is Rule.DISCOURAGED
    assert "workgroup_size[0] <= workgroup[m] OR workgroup_size[0] <= workgroup[n]" in found.message
    assert not report.has_errors()
    (entry,) = report.entries
    assert entry.compiles is not None
    assert entry.compiles.verdict is Verdict.PROVEN


def test_the_report_is_json() -> None:
    report = Checker(target=GFX942).check(EXAMPLES / "spec_gfx942.mlir")
    data = json.loads(to_json(CheckReport("gfx942", [report])))
    assert data["schema_version"] == 1
    assert data["target"] == "gfx942"
    (spec,) = data["specs"]
    assert not spec["has_errors"]
    (entry,) = spec["entries"]
    assert entry["matcher"] == "match_linear_2048x1280x5120"
    assert entry["answers"]["matches_itself"]["verdict"] == "proven"
    assert entry["answers"]["compiles"] is None
    assert entry["overlaps"] is None
