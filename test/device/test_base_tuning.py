"""Tuning of a program by the function: under a set of flags in a separate process, and with sets of flags."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from processes import eventually

import tuninglink
from tuninglink.cli.tune import parse_tune_arguments
from tuninglink.errors import TuninglinkError
from tuninglink.programs import PLAIN_INTEGERS, read_program
from tuninglink.specs import load_spec
from tuninglink.tuning import (
    DispatchTuning,
    ProblemReport,
    Tuned,
    TuningReport,
    tune_in_process,
    tune_program,
)
from tuninglink.tuning.deciding import (
    ConfidenceInterval,
    Interruption,
    ModelComparison,
    OutputJudge,
    TaskOutcome,
    TuningSettings,
)
from tuninglink.tuning.flag_sets import (
    DEFAULT,
    GROUP,
    NO_TIME,
    NOT_COMPILED,
    CompiledSource,
    FlagChoice,
    FlagSet,
    FlagsResult,
    Listener,
    SetResult,
    TunedSet,
    choose_flags,
)
from tuninglink.tuning.references import ProgramReference
from tuninglink.workers import finished

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tuninglink.errors import Diagnostic
    from tuninglink.tuning.deciding import Budget

MATMUL = """
func.func @main(%x: tensor<8x64xf32>, %y: tensor<64x128xf32>) -> tensor<8x128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x128xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x128xf32>) -> tensor<8x128xf32>
  %result = linalg.matmul ins(%x, %y : tensor<8x64xf32>, tensor<64x128xf32>)
      outs(%filled : tensor<8x128xf32>) -> tensor<8x128xf32>
  return %result : tensor<8x128xf32>
}
"""
COMPILE = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
SET = FlagSet("peeling", ("--iree-llvmcpu-vector-pproc-strategy=peel",))
GENERIC = COMPILE[:2]
HOST = COMPILE[2]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(MATMUL)
    return path


def test_the_result_comes_back_with_its_report(program: Path) -> None:
    limits = ("--device=local-sync", "--trials=1", "--no-model", "--no-reference")
    options = parse_tune_arguments([str(program), *limits, *COMPILE])
    tuned = tune_in_process(options, SET, Listener(), 600.0, interruption=Interruption())
    assert tuned is not None
    assert "module @tuned" in tuned.spec
    (dispatch,) = tuned.report.dispatches
    assert len(dispatch.history) == 1
    assert tuned.entries == (dispatch.outcome.value == "won")
    assert not tuned.is_interrupted


def test_an_error_comes_back_as_one(tmp_path: Path) -> None:
    program = tmp_path / "program.mlir"
    program.write_text("func.func @main(")
    options = parse_tune_arguments([str(program), "--device=local-sync", *COMPILE])
    with pytest.raises(TuninglinkError, match=r"program\.mlir"):
        tune_in_process(options, DEFAULT, Listener(), 600.0, interruption=Interruption())


def test_the_reference_under_a_set_is_that_of_the_program_without_it(program: Path) -> None:
    """The code of data-tiled dispatches for another processor may be wrong."""
    options = parse_tune_arguments([str(program), "--device=local-sync", *COMPILE])
    plain = read_program(str(program), COMPILE).saved
    jobs = {each: finished(CompiledSource(b"", None, 1.0, saved=plain)) for each in (DEFAULT, SET)}
    choice = FlagChoice(options, Listener(), FlagsResult(), jobs=jobs)
    compiled, original = choice.compiled(SET)
    assert compiled is not None
    assert original is plain
    assert choice.compiled(DEFAULT)[1] is None
    tuning = DispatchTuning(options, Listener(), SET.flags, original=original)
    assert tuning.read_program().original is plain
    alone = replace(tuning, original=None).read_program()
    assert alone.original is alone.saved


def test_outputs_of_the_reference_that_the_comparison_of_sets_has_are_not_computed_again(
    program: Path,
) -> None:
    """These are wrong, so that they are told from those of another computation."""
    wrong = {PLAIN_INTEGERS: {"main": (np.full((8, 128), 1e6, np.float32),)}}
    settings = TuningSettings(devices=("local-sync",), min_share=2.0)  # no task is heavy enough
    options = replace(parse_tune_arguments([str(program), *COMPILE]), settings=settings)
    judge = OutputJudge(reference=ProgramReference(None, "llvm-cpu", 0, 1.0, {**wrong, (0, 1): ""}))
    expected = FlagChoice(options, Listener(), FlagsResult(), judge=judge).expected
    assert expected == wrong
    how = options, DEFAULT, Listener(), 12.0
    tuned = tune_in_process(*how, interruption=Interruption(), expected=expected)
    outputs = tuned.report.outputs
    assert outputs is not None
    assert outputs.default_error is not None
    assert outputs.default_error > 0.9


class Interrupting(Listener):
    """A listener that interrupts a comparison of sets, counted from 1, in the thread that compares."""

    def __init__(self, comparison: int = 0) -> None:
        self.left = comparison

    def __reduce__(self) -> tuple[type[Listener], tuple[()]]:
        return Listener, ()

    def interrupts(self, budget: Budget) -> AbstractContextManager[None]:
        self.budget = budget
        return nullcontext()

    def comparing_sets(self) -> None:
        self.left -= 1
        if not self.left:
            self.budget.stop()


@pytest.mark.parametrize("comparison", [1, 2])
def test_an_interrupt_of_a_comparison_keeps_what_is_known(comparison: int, tmp_path: Path) -> None:
    program, sets = with_sets(tmp_path)
    tuned = tuninglink.tune(
        program,
        flags=GENERIC,
        settings=SETTINGS,
        flag_sets=sets,
        listener=Interrupting(comparison),
    )
    assert tuned.is_interrupted
    assert tuned.flags == ((HOST,) if comparison == 2 else ())
    assert len(load_spec(tuned.spec.encode()).entries) == tuned.entries
    assert len(tuned.report.dispatches) == comparison - 1


@pytest.mark.parametrize(
    ("step", "earlier"),
    [
        ([], ""),
        (["--only=main"], ""),
        (["--flag-sets=none"], "// earlier"),
        (["--only-flags"], "--earlier"),
    ],
)
def test_a_signal_while_the_program_is_compiled_ends_the_command_with_its_files(
    step: list[str], earlier: str, tmp_path: Path
) -> None:
    """Sets of flags are compared, the selection is checked, or the program is compiled up to its dispatches."""
    program, _ = with_sets(tmp_path)
    os.mkfifo(unwritten := tmp_path / "spec.mlir")  # the compiler waits forever for its text
    output, report, database = (tmp_path / name for name in ("tuned.mlir", "report", "trials.db"))
    former = output.with_suffix(".flags") if step == ["--only-flags"] else output
    if earlier:
        former.write_text(earlier)
    files = f"-o {output} --report {report} --database {database}".split()
    waiting = f"--iree-preprocessing-transform-spec-filename={unwritten}"
    words = [program, "--device=local-sync", "--budget=600s", *files, *step, waiting, *GENERIC]
    with (
        subprocess.Popen(
            [sys.executable, "-m", "tuninglink", "tune", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
        unwritten.open("w"),  # once the compiler reads it
    ):
        process.send_signal(signal.SIGTERM)
        shown, messages = process.communicate()
    assert process.returncode == 0, messages
    assert "interrupted; ending with what is known so far" in messages
    assert "nothing wins: tuning was interrupted" in shown
    if earlier:
        assert f"{former} is left as it was" in shown
        assert former.read_text() == earlier
    else:
        assert f"wrote {output} (0 problems)" in shown
        assert load_spec(output.read_bytes()).entries == ()
        assert output.with_suffix(".flags").read_text() == ""
    assert "tuning was interrupted" in (report / "index.html").read_text()
    assert database.exists()


def test_a_second_signal_lets_the_results_be_written(tmp_path: Path) -> None:
    program, _ = with_sets(tmp_path)
    (report := tmp_path / "report").mkdir()
    os.mkfifo(unwritten := tmp_path / "spec.mlir")  # the compiler waits forever for its text
    os.mkfifo(page := report / "index.html")  # which is written last
    output = tmp_path / "tuned.mlir"
    words = [program, "--device=local-sync", "-o", output, "--report", report, *GENERIC]
    waiting = f"--iree-preprocessing-transform-spec-filename={unwritten}"
    with subprocess.Popen(
        [sys.executable, "-m", "tuninglink", "tune", *words, waiting],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        with unwritten.open("w"):
            process.send_signal(signal.SIGTERM)
            assert eventually(output.exists)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        interrupts = (line for line in process.stderr if "interrupted; ending with" in line)
        assert [next(interrupts), next(interrupts)]
        assert "tuning was interrupted" in page.read_text()
        process.communicate()
    assert process.returncode == 0


class Remarks(Listener):
    """A listener that keeps remarks."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def noticed(self, diagnostic: Diagnostic) -> None:
        self.messages.append(diagnostic.message)


def test_the_end_of_the_budget_ends_the_compilation_up_to_the_dispatches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler waits forever for the text of the program."""
    monkeypatch.setattr("tuninglink.tuning.whole_run._READING_SECONDS", 0.5)
    program, listener = tmp_path / "program.mlir", Remarks()
    os.mkfifo(program)
    options = parse_tune_arguments([str(program), "--device=local-sync", *COMPILE])
    tuned = tune_in_process(options, DEFAULT, listener, 0.0, interruption=Interruption())
    reason = f"the budget was over before {program} was compiled up to its dispatches"
    assert listener.messages == [reason]
    assert tuned is not None
    assert tuned.report.notes == (reason,)
    assert (tuned.entries, load_spec(tuned.spec.encode()).entries) == (0, ())


def test_a_base_that_was_not_read_in_time_does_not_hide_what_was_tuned_under_another(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user interrupts the run while dispatches are tuned under the second base."""
    tiled = SetResult(SET, speedup=ConfidenceInterval(1.3, 1.3, 1.3), is_data_tiled=True)
    options = parse_tune_arguments([str(program), "--device=local-sync", *COMPILE])
    choice = FlagChoice(options, Listener(), FlagsResult((tiled,), tiled), 600.0)
    assert choice.bases == [SET, DEFAULT]
    gain, kept = 1.5, []

    def tune_base(_: object, base: FlagSet, *__: object, **___: object) -> Tuned:
        if base == SET:
            return Tuned("unread", 0, TuningReport("", notes=("the budget was over",)))
        model = ModelComparison(1.0, 1 / gain, ConfidenceInterval(gain, gain, gain))
        choice.interruption.stop()
        return Tuned("tuned", 1, TuningReport("", model=model))

    monkeypatch.setattr("tuninglink.tuning.whole_run.tune_in_process", tune_base)
    monkeypatch.setattr("tuninglink.tuning.whole_run.choose_flags", lambda *_: nullcontext(choice))
    tuned = tune_program(options, Listener(), kept.append)
    assert (tuned.spec, tuned.flags, tuned.is_interrupted) == ("tuned", (), True)
    assert [result.spec for result in kept] == ["tuned"]
    # The set alone may be faster.
    gain = 1.2
    alone = tune_program(options, Listener())
    assert (alone.spec, alone.flags) == ("unread", SET.flags)


def test_entries_without_a_gain_for_the_program_are_left_out_of_the_report(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = SetResult(SET, speedup=ConfidenceInterval(1.3, 1.3, 1.3), entries=0)
    options = parse_tune_arguments([str(program), "--device=local-sync", *COMPILE])
    choice = FlagChoice(options, Listener(), FlagsResult((best,), best), 600.0)
    names = "names", "problem", "target", "configuration", "history"
    problem = ProblemReport(
        **dict.fromkeys(names, ()),
        outcome=TaskOutcome.WON,
        share=1.0,
        default_us=2.0,
        tuned_us=1.0,
        speedup=None,
    )
    report = TuningReport("", dispatches=(problem, replace(problem, outcome=TaskOutcome.DEFAULT)))
    whole_run = "tuninglink.tuning.whole_run"
    monkeypatch.setattr(f"{whole_run}.tune_in_process", lambda *_, **__: Tuned("", 1, report))
    monkeypatch.setattr(f"{whole_run}.choose_flags", lambda *_: nullcontext(choice))
    compared = replace(choice.result, pairs=(replace(best, entries=1), best))
    monkeypatch.setattr(FlagChoice, "compare_tuned", lambda *_: compared)
    tuned = tune_program(options, Listener())
    assert tuned.entries == 0
    outcomes = [dispatch.outcome for dispatch in tuned.report.dispatches]
    assert outcomes == [TaskOutcome.LEFT_OUT, TaskOutcome.DEFAULT]


class Sets(Listener):
    """A listener that keeps the comparisons of sets of flags."""

    results: tuple[FlagsResult, ...] = ()

    def sets_compared(self, result: FlagsResult) -> None:
        self.results = (*self.results, result)


SETTINGS = TuningSettings(
    devices=("local-sync",),
    seconds=600.0,
    trials=1,
    search="random",
    jobs=1,
    runs_model=False,
    checks_defaults=False,
)


def with_sets(tmp_path: Path) -> tuple[Path, Path]:
    """Return a larger program, and sets of flags of which one is far faster: code for this processor."""
    program, sets = tmp_path / "large.mlir", tmp_path / "sets"
    program.write_text(
        MATMUL.replace("8x64", "256x256").replace("64x128", "256x256").replace("8x128", "256x256")
    )
    sets.write_text(f"host: {HOST}\nunknown: --iree-nonsense\n")
    return program, sets


def test_the_function_compares_sets_of_flags_as_the_command_does(tmp_path: Path) -> None:
    """Code for this processor is far faster than code for any processor."""
    program, sets = with_sets(tmp_path)
    listener = Sets()
    tuned = tuninglink.tune(
        program, flags=GENERIC, settings=SETTINGS, flag_sets=sets, listener=listener
    )
    first, final = listener.results
    assert first.results[1].note == "the compiler rejects the flags"
    assert tuned.flags == (HOST,)
    assert [report.is_taken for report in tuned.report.flag_sets][:2].count(True) <= 1
    assert tuned.whole == final.whole
    assert tuned.whole is not None
    assert tuned.whole.speedup.low > 1.5
    assert len(tuned.report.dispatches[0].history) == 1
    assert "module @tuned" in tuned.spec


def test_a_machine_that_becomes_busy_does_not_lose_what_was_tuned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare = FlagChoice.compare_tuned

    def disturbed(self: FlagChoice, tuned: Sequence[TunedSet], seconds: float) -> FlagsResult:
        noise = ConfidenceInterval(0.4, 1.0, 1.1)
        return replace(compare(self, tuned, seconds), best=None, noise=noise)

    monkeypatch.setattr(FlagChoice, "compare_tuned", disturbed)
    program, sets = with_sets(tmp_path)
    tuned = tuninglink.tune(program, flags=GENERIC, settings=SETTINGS, flag_sets=sets)
    assert tuned.flags == (HOST,)
    assert tuned.entries == sum(
        dispatch.outcome.value == "won" for dispatch in tuned.report.dispatches
    )


@pytest.mark.parametrize("note", [NO_TIME, NOT_COMPILED])
def test_a_final_comparison_without_time_does_not_lose_what_was_tuned(
    note: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(self: FlagChoice, tuned: Sequence[TunedSet], seconds: float) -> FlagsResult:  # noqa: ARG001
        pairs = tuple(SetResult(pair.flag_set, note=note, entries=1) for pair in tuned)
        return replace(self.result, best=None, pairs=pairs)

    monkeypatch.setattr(FlagChoice, "compare_tuned", late)
    program, sets = with_sets(tmp_path)
    tuned = tuninglink.tune(program, flags=GENERIC, settings=SETTINGS, flag_sets=sets)
    assert tuned.flags == (HOST,)
    assert not tuned.sets.pairs


def test_sets_that_compile_while_dispatches_are_tuned_are_compared_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On devices other than the processor."""
    monkeypatch.setattr("tuninglink.tuning.flag_sets.choice.LOCAL_DRIVERS", frozenset())
    monkeypatch.setattr("tuninglink.tuning.flag_sets.choice._PART", 1e-4)
    program, sets = with_sets(tmp_path)
    listener = Sets()
    tuned = tuninglink.tune(
        program, flags=GENERIC, settings=SETTINGS, flag_sets=sets, listener=listener
    )
    first, final = listener.results
    assert "it is compared at the end: there was no time before" in [
        result.note for result in first.results
    ]
    assert tuned.flags == (HOST,)
    assert tuned.whole == final.whole
    assert tuned.whole is not None
    assert tuned.whole.speedup.low > 1.5


SOFTMAX = """
func.func @main(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %empty = tensor.empty() : tensor<64x256xf32>
  %result = linalg.softmax dimension(1) ins(%x : tensor<64x256xf32>) outs(%empty : tensor<64x256xf32>)
      -> tensor<64x256xf32>
  return %result : tensor<64x256xf32>
}
"""


def test_a_set_is_kept_under_which_a_program_compiles_that_does_not_otherwise(
    tmp_path: Path,
) -> None:
    """Reductions whose order may change have a vector of partial sums on the stack."""
    program, sets = tmp_path / "softmax.mlir", tmp_path / "sets"
    program.write_text(SOFTMAX)
    exact = "--iree-llvmcpu-reassociate-fp-reductions=false"
    sets.write_text(f"peeling: {SET.flags[0]}\nexact: {exact}\n")
    flags = (*COMPILE, "--iree-opt-level=O2", "--iree-llvmcpu-stack-allocation-limit=16")
    arguments = ("--only-flags", "--flag-sets", str(sets), "--device=local-sync", *flags)
    options = parse_tune_arguments([str(program), *arguments])
    with choose_flags(options, Listener(), time.monotonic() + 300.0) as choice:
        assert choice.result.flags == (exact,)
    assert "without further flags, 'func.func' op exceeded stack" in choice.result.reason
    assert not choice.contestants([])


ATTENTION = """
func.func @main(%query: tensor<2x40x16xf32>, %key: tensor<2x48x16xf32>, %value: tensor<2x48x16xf32>)
    -> tensor<2x40x16xf32> {
  %scale = arith.constant 0.25 : f32
  %empty = tensor.empty() : tensor<2x40x16xf32>
  %result = iree_linalg_ext.attention <{indexing_maps = [
      affine_map<(b, m, n, k, j) -> (b, m, k)>, affine_map<(b, m, n, k, j) -> (b, j, k)>,
      affine_map<(b, m, n, k, j) -> (b, j, n)>, affine_map<(b, m, n, k, j) -> ()>,
      affine_map<(b, m, n, k, j) -> (b, m, n)>]}>
      ins(%query, %key, %value, %scale : tensor<2x40x16xf32>, tensor<2x48x16xf32>, tensor<2x48x16xf32>, f32)
      outs(%empty : tensor<2x40x16xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x40x16xf32>
  return %result : tensor<2x40x16xf32>
}
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_of_the_first_set_and_forms_is_compiled_beside_the_default_on_a_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    # All run, and which of them is the fastest does not matter.
    monkeypatch.setattr(
        "tuninglink.tuning.flag_sets.comparison.FlagComparison._worth_rounds", lambda *_: {}
    )
    program, sets = tmp_path / "attention.mlir", tmp_path / "sets"
    program.write_text(ATTENTION)
    sets.write_text("first: --iree-llvmcpu-loop-unrolling=true\nother: --iree-opt-level=O2\n")
    limits = ["--device=local-sync", "--budget=3000s", f"--jobs={jobs}", f"--flag-sets={sets}"]
    options = parse_tune_arguments([str(program), *limits, *COMPILE])
    with choose_flags(options, Listener(), time.monotonic() + 3000.0) as choice:
        names = [result.flag_set.name for result in choice.result.results]
    forms = "attention as products, data tiling"
    assert names[:2] == ([forms, "first"] if jobs == 1 else ["first", forms])
    assert names[3:] == ["other"]


SLOW = """
  %empty = tensor.empty() : tensor<512x512xf32>
  %result = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x512xf32>) outs(%empty : tensor<512x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %first = math.tanh %in : f32
    %second = math.tanh %first : f32
    %third = math.tanh %second : f32
    %nothing = arith.subf %third, %third : f32
    %sum = arith.addf %in, %nothing : f32
    linalg.yield %sum : f32
  } -> tensor<512x512xf32>
"""
FORM = f"""
module attributes {{transform.with_named_sequence}} {{
  util.func private @itself(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {{
    {SLOW.replace("%third, %third", "%in, %in")}
    util.return %result : tensor<512x512xf32>
  }}
  transform.named_sequence @match(%op: !transform.any_op {{transform.readonly}}) -> !transform.any_op {{
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {{
    ^bb0(%x: tensor<512x512xf32>):
      {SLOW}
    }} : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    transform.yield %op : !transform.any_op
  }}
  transform.named_sequence @replace(%op: !transform.any_op {{transform.readonly}}) {{
    %in = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    %out = transform.get_result %op[all] : (!transform.any_op) -> !transform.any_value
    %module = transform.util.get_nearest_symbol_table %op : (!transform.any_op) -> !transform.any_op
    %function = transform.util.import_symbol @itself into %module if undefined
        : (!transform.any_op) -> !transform.any_op
    transform.util.cast_and_call %function(%in) -> %out after %op {{
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    }} : (!transform.any_op, !transform.any_value, !transform.any_value, !transform.any_op) -> !transform.any_op
    transform.yield
  }}
  transform.named_sequence @__transform_main(%module: !transform.any_op {{transform.consumed}}) {{
    %functions = transform.structured.match ops{{["util.func"]}} in %module : (!transform.any_op) -> !transform.any_op
    transform.foreach %functions : !transform.any_op {{
    ^bb0(%function: !transform.any_op):
      transform.foreach_match in %function @match -> @replace : (!transform.any_op) -> !transform.any_op
    }}
    transform.apply_dce to %module : !transform.any_op
    %inlined = transform.apply_registered_pass "inline" to %module : (!transform.any_op) -> !transform.any_op
    transform.yield
  }}
}}
"""


def test_forms_of_a_set_that_wins_are_entries_of_the_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plug-in gives the set: one element-wise op that returns its operand is replaced by another."""
    program, forms = tmp_path / "slow.mlir", tmp_path / "forms.mlir"
    arguments = "(%x: tensor<512x512xf32>) -> tensor<512x512xf32>"
    program.write_text(
        f"func.func @main{arguments} {{ {SLOW} return %result : tensor<512x512xf32> }}"
    )
    forms.write_text(FORM)
    metadata = tmp_path / "more_forms-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: more-forms\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\nmore = more_forms:sets\n")
    (tmp_path / "more_forms.py").write_text(
        "from tuninglink.tuning.flag_sets import FlagSet\n"
        f"def sets(backend):\n    return [FlagSet('itself', (), forms=open({str(forms)!r}).read())]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("tuninglink.tuning.flag_sets.sets._SETS", {})
    tuned = tuninglink.tune(program, flags=(*GENERIC, HOST), settings=SETTINGS)
    assert tuned.flags == ()
    assert tuned.whole is not None
    assert tuned.whole.speedup.low > 1.5
    # The spec alone replaces the op, without the file.
    forms.unlink()
    specs = [tuned.spec.encode()]
    for given, is_replaced in (([], False), (specs, True)):
        compilation = tuninglink.compile(
            program, specs=given, flags=(*GENERIC, HOST, "--compile-to=flow")
        )
        assert (b"math.tanh" not in compilation.output) == is_replaced
