"""Retuning with recorded timings: which entries are dropped, kept, improved or left alone, and what is written."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from places import ROOT
from processes import eventually
from programs import HOST_CPU
from recorded_tuning import DESCRIPTION, RecordedDevices, without_pauses
from tuning_programs import CONVOLUTION, depthwise, dispatched, matmul, prepared

import tuninglink
from tuninglink.devices import Rounds
from tuninglink.emission import write_spec
from tuninglink.plain_data import plain
from tuninglink.programs import Failure, FailureKind
from tuninglink.specs import Revision, load_spec, provenance_of, settings_of
from tuninglink.tuning import (
    EntryResult,
    EntryVerdict,
    ProblemSource,
    Retuner,
    RetuningResult,
    Standing,
    retuned_spec,
    target_of,
)
from tuninglink.tuning.database import Database, Journal
from tuninglink.tuning.deciding import Budget, TuningSettings
from tuninglink.tuning.scheduling import TuningContext

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tuninglink.programs import Benchmark
    from tuninglink.specs import Spec
    from tuninglink.tuning.candidates import CandidateCompiler

FLAGS = HOST_CPU
SETTINGS = TuningSettings(trials=3, search="neighbors")

ENTRY = """
  transform.named_sequence @match_NAME(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param)
      attributes {tuninglink.provenance = {compiler = "3.5.0", default_us = 9.0, trials = 40 : i64}} {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [8] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [N] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [128] : !transform.param<i64>
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_cpu.lowering_config<distribution = [4, 32, 0], vector_common_parallel = [4, 8, 0], vector_reduction = [0, 0, 4]>,
      translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }"""


def spec(**sizes: int) -> Spec:
    """Return a spec with an entry for each size."""
    entries = [ENTRY.replace("NAME", name).replace("[N]", f"[{n}]") for name, n in sizes.items()]
    pairs = ", ".join(f"@match_{name} -> @configure" for name in sizes)
    text = f"""
module @entries attributes {{transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint}} {{
  transform.named_sequence @configure(%op: !transform.any_op {{transform.readonly}}, %value: !transform.any_param {{transform.readonly}}) {{
    transform.annotate %op "compilation_info" = %value : !transform.any_op, !transform.any_param
    transform.yield
  }}
  {"".join(entries)}
  transform.named_sequence @__kernel_config(%all: !transform.any_op {{transform.consumed}}) -> !transform.any_op
      attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %done = transform.foreach_match in %all {pairs} : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }}
}}"""
    return tuninglink.load_spec(text.encode(), name="entries.mlir")


@dataclass
class Devices(RecordedDevices):
    """Devices on which the compiler's choice takes 200 us, and other code a time that the size of its output determines.

    Attributes:
        times: the microseconds by the columns of the output; two of them come in turn.
        races: how many were run.
    """

    times: dict[int, tuple[float, ...]] = field(default_factory=dict)
    races: int = 0

    def us(self, benchmark: Benchmark, number: int = 0) -> float:
        columns = benchmark.layout.bindings[-1].shape[-1]
        times = self.times.get(columns, (100.0,))
        return 200.0 if benchmark.image in self._defaults else times[number % len(times)]

    def compare(self, benchmark: Benchmark, *_: object) -> Failure | None:
        wrong = benchmark.layout.bindings[-1].shape[-1] == 160
        return Failure(FailureKind.WRONG, "it differs") if wrong else None

    def rounds(self, benchmarks: Sequence[Benchmark], count: int, *_: object) -> Rounds:
        self.races += 1
        numbers = range(count)
        times = tuple(tuple(self.us(each, number) for each in benchmarks) for number in numbers)
        return Rounds(times, (1,) * len(benchmarks))


@pytest.fixture(autouse=True)
def _no_pauses() -> Iterator[None]:
    with without_pauses():
        yield


def retune(
    spec: Spec,
    devices: Devices,
    compiler: CandidateCompiler,
    *,
    database: Database | None = None,
    budget: Budget | None = None,
    flags: Sequence[str] = FLAGS,
    **options: object,
) -> RetuningResult:
    journal = Journal(database, DESCRIPTION, SETTINGS, flags) if database else None
    tasks = TuningContext(SETTINGS, compiler, devices, journal=journal)
    budget = budget or Budget(60.0, SETTINGS.trials)
    return Retuner([spec], flags, tasks, budget, target_of(flags), **options).run()


def test_entries_are_dropped_kept_or_left_alone(compiler: CandidateCompiler) -> None:
    entries = spec(fast=32, slow=64, unsteady=96, wrong=160)
    devices = Devices(times={32: (100.0,), 64: (300.0,), 96: (150.0, 250.0)})
    with Database() as database:
        found = retune(
            entries, devices, compiler, database=database, improves=False, budget=Budget(60)
        )
        assert devices.races > 0
        devices.races = 0
        again = retune(entries, devices, compiler, database=database, improves=False)
        assert devices.races == 0
    assert found.failure is None
    assert [each.verdict for each in found.entries] == [
        EntryVerdict.KEPT,
        EntryVerdict.DROPPED,
        EntryVerdict.UNDECIDED,
        EntryVerdict.DROPPED,
    ]
    assert [each.verdict for each in again.entries] == [each.verdict for each in found.entries]
    assert "slower" in found.entries[1].reason
    assert found.entries[3].reason.endswith("(payload): it differs")
    assert found.entries[0].changes[0].startswith("compiler 3.5.0 -> ")
    assert "default_us 9 us -> 200 us" in found.entries[0].changes

    text = retuned_spec(entries, found.entries)
    written = tuninglink.load_spec(text.encode())
    assert [each.matcher for each in written.entries] == ["match_fast", "match_unsteady"]
    assert "match_slow" not in text
    table = written.anatomy.table
    fast, unsteady = (provenance_of(table, each.matcher) for each in written.entries)
    assert (fast["default_us"], fast["tuned_us"], fast["trials"]) == (200.0, 100.0, 40)
    assert unsteady["compiler"] == "3.5.0"
    standings = [each["problems"][0]["standing"] for each in plain(found)["entries"]]
    assert standings == ["faster", "slower", "undecided", "failed"]


def test_what_wins_is_improved_where_something_is_faster(compiler: CandidateCompiler) -> None:
    """Each benchmark that is measured is faster than the one before, so that the search finds something."""

    class Faster(Devices):
        seen: dict[bytes, float] = {}  # noqa: RUF012 - of one test

        def us(self, benchmark: Benchmark, _number: int = 0) -> float:
            return self.seen.setdefault(benchmark.image, 200.0 / (len(self.seen) + 1))

    entries = spec(first=32)
    (result,) = retune(entries, Faster(), compiler).entries
    assert result.verdict is EntryVerdict.IMPROVED
    assert result.configuration is not None
    written = tuninglink.load_spec(retuned_spec(entries, [result]).encode())
    settings = settings_of(written, written.entries[0])
    assert settings is not None
    assert str(settings["compilation_info"]) == result.configuration.configuration
    assert result.after["trials"] == 3


def test_the_dispatches_of_a_model_replace_programs_of_the_same_sizes(
    compiler: CandidateCompiler,
) -> None:
    model = dispatched(matmul(8, 32, 128), "host-cpu")
    result = retune(spec(first=32, other=64), Devices(), compiler, improves=False, model=model)
    sources = [[each.task.source.value for each in entry.comparisons] for entry in result.entries]
    assert sources == [["model"], ["payload"]]
    assert all(each.standing is Standing.FASTER for each in result.entries[0].comparisons)


def test_flags_that_change_the_ops_of_a_model_leave_a_program_for_an_entry_alone(
    compiler: CandidateCompiler,
) -> None:
    rows = CONVOLUTION.replace("nhwc_hwcf", "nchw_fchw").replace("3x3x16x32", "32x16x3x3")
    rows = rows.replace("2x18x18x16", "2x16x18x18").replace("2x16x16x32", "2x32x16x16")
    task = prepared(rows, "host-cpu")
    neighbor = task.spaces.neighbors(task.spaces.default)[0]
    entries = tuninglink.load_spec(write_spec("rows", [task.entry(neighbor, {})]).encode())
    passes = "builtin.module(util.func(iree-preprocessing-convert-conv-to-channels-last))"
    flags = [*FLAGS, f"--iree-preprocessing-pass-pipeline={passes}"]
    (result,) = retune(entries, Devices(), compiler, flags=flags, improves=False).entries
    assert [each.task.source for each in result.comparisons] == [ProblemSource.PAYLOAD]


def test_what_does_not_compile_is_dropped(compiler: CandidateCompiler) -> None:
    """A tile of parallel loops must not tile the reduction."""
    text = spec(broken=32).text().replace("parallel = [4, 8, 0]", "parallel = [4, 8, 4]")
    (result,) = retune(tuninglink.load_spec(text.encode()), Devices(), compiler).entries
    assert result.verdict is EntryVerdict.DROPPED
    assert result.reason.startswith(("the compiler rejects", "it fails on"))


def test_what_was_decided_before_an_interrupt_is_written(compiler: CandidateCompiler) -> None:
    budget = Budget()
    entries = spec(slow=64, later=32)
    result = retune(
        entries,
        Devices(times={64: (300.0,)}),
        compiler,
        budget=budget,
        tell=lambda _: budget.stop(),
    )
    assert [each.verdict for each in result.entries] == [
        EntryVerdict.DROPPED,
        EntryVerdict.UNTOUCHED,
    ]
    assert "interrupted before its turn" in result.entries[1].reason
    written = tuninglink.load_spec(retuned_spec(entries, result.entries).encode())
    assert [each.matcher for each in written.entries] == ["match_later"]


def test_a_configuration_is_changed_for_one_entry_only() -> None:
    """The other entry, and the spec that was revised, keep theirs."""
    entries = spec(one=32, other=64)
    assert [each.matcher for each in Revision(entries).finish([1]).entries] == ["match_other"]
    revision = Revision(entries)
    assert revision.configures_with(0) == {"compilation_info"}
    changed = re.search(r"#iree_codegen.compilation_info<.*?>>>", ENTRY, re.DOTALL)
    assert changed is not None
    revision.configure(0, {"compilation_info": changed[0].replace("[4, 32, 0]", "[8, 32, 0]")})
    text = revision.finish([0, 1]).text()
    assert "distribution = [8, 32, 0]" in text
    assert "distribution = [4, 32, 0]" in text
    assert "distribution = [8, 32, 0]" not in entries.text()


def test_entries_that_unroll_windows_are_measured_like_others(compiler: CandidateCompiler) -> None:
    """They are in a list of their own, before the one of the configurations."""
    unrolled, other = (
        prepared(depthwise(stride=2), "host-cpu"),
        prepared(matmul(8, 32, 128), "host-cpu"),
    )
    neighbor = other.spaces.neighbors(other.spaces.default)[0]
    entries = tuninglink.load_spec(
        write_spec(
            "both",
            [unrolled.entry(unrolled.spaces.given[0], {}), other.entry(neighbor, {})],
        ).encode()
    )
    assert [len(Revision(entries).finish([position]).entries) for position in (0, 1)] == [1, 1]
    windows, products = 16, 32  # the columns of their outputs
    for slow, fast in ((windows, products), (products, windows)):
        devices = Devices(times={slow: (300.0,), fast: (100.0,)})
        result = retune(entries, devices, compiler, improves=False)
        verdicts = {each.entry.action: each.verdict for each in result.entries}
        (action,) = (name for name in verdicts if name.startswith("unroll"))
        is_kept = verdicts.pop(action) is EntryVerdict.KEPT
        assert is_kept is (fast == windows)
        (verdict,) = verdicts.values()
        assert (verdict is EntryVerdict.DROPPED) is is_kept
        written = tuninglink.load_spec(retuned_spec(entries, result.entries).encode())
        (kept,) = written.entries
        assert (kept.action == action) is is_kept
        provenance = provenance_of(written.anatomy.table, kept.matcher)
        assert provenance["default_us"] == 200.0


def test_replace_entries_are_kept_without_any_other_entry() -> None:
    both = load_spec(ROOT / "test" / "cli" / "Inputs" / "replace-and-configure.mlir")
    dropped = retuned_spec(both, [EntryResult(both, 0, EntryVerdict.DROPPED)])
    left = load_spec(dropped.encode())
    assert not left.entries
    assert [entry.matcher for entry in left.replace_entries] == ["match_rows"]
    assert left.name == both.name


def test_a_signal_lets_the_new_specs_be_written(tmp_path: Path) -> None:
    (directory := tmp_path / "new").mkdir()
    specs, outputs = (
        [folder / name for name in ("a.mlir", "b.mlir")] for folder in (tmp_path, directory)
    )
    for spec in specs:
        spec.write_text(write_spec("empty", []))
    os.mkfifo(outputs[1])
    words = [*specs, "-o", directory, "--device=local-sync", *HOST_CPU]
    command = [sys.executable, "-m", "tuninglink", "retune", *map(str, words)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert eventually(outputs[0].exists)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert any("interrupted; ending with" in line for line in process.stderr)
        assert load_spec(outputs[1].read_bytes()).entries == ()
        process.communicate()
    assert process.returncode == 0
