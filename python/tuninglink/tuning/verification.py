"""Verification of a program's dispatches, and of the whole program, against references."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from tuninglink.arguments import several
from tuninglink.compiler import Phase, program_path, read_options
from tuninglink.errors import TuninglinkError
from tuninglink.iree import GivenSizes
from tuninglink.mlir import error
from tuninglink.plain_data import FLAT, HIDDEN, written
from tuninglink.specs import link_specs, load_specs
from tuninglink.tuning.candidates import CandidateCompiler
from tuninglink.tuning.deciding import ModelRuns, OutputJudge, ProgramVerdict, judge_program
from tuninglink.tuning.devices import Devices, Settings, default_device, may_run
from tuninglink.tuning.programs import (
    ALL_CALLS,
    CallOptions,
    Correctness,
    DispatchedProgram,
    Failure,
    Omission,
    OutputVerdict,
    TuningTask,
    read_program,
    reason_of,
)
from tuninglink.tuning.references import ProgramReference, References
from tuninglink.tuning.traced_program import TraceSource, find_overflow

if TYPE_CHECKING:
    import os

    from tuninglink.arguments import Content
    from tuninglink.iree import Target
    from tuninglink.mlir import DiagnosticSink
    from tuninglink.specs import SpecSource
    from tuninglink.tuning.candidates import Compiled
    from tuninglink.tuning.devices import Device


@dataclass(frozen=True)
class VerifiedDispatch:
    """A verified dispatch.

    Attributes:
        task: the dispatch.
        judgement: the verdict on its result.
        failure: the reason for a missing result; None if it has one.
    """

    task: TuningTask = field(metadata=HIDDEN)
    judgement: OutputVerdict = field(metadata=FLAT)
    failure: Failure | None = field(default=None, metadata=HIDDEN)

    @property
    @written()
    def names(self) -> tuple[str, ...]:
        """The names of the equal dispatches."""
        return self.task.dispatches

    @property
    @written()
    def label(self) -> str:
        """The name of the function of the first one."""
        return self.task.label

    @property
    @written()
    def calls(self) -> int:
        """The number of their calls."""
        return self.task.calls

    @property
    @written()
    def target(self) -> str:
        """The name of the target."""
        return self.task.target.name

    @property
    def is_right(self) -> bool:
        """Whether the dispatch runs and its result is not shown to be wrong."""
        return self.judgement.correctness not in (Correctness.WRONG, Correctness.FAILED)


@dataclass(frozen=True)
class Verification:
    """The verdicts on a program.

    Attributes:
        dispatches: the verdict on each of its distinct dispatches.
        omissions: the dispatches that cannot run alone.
        program: the verdict on the whole program; None if it was not run.
    """

    dispatches: tuple[VerifiedDispatch, ...]
    omissions: tuple[Omission, ...]
    program: ProgramVerdict | None

    @property
    def is_right(self) -> bool:
        """Whether all dispatches run, and no result is shown to be wrong."""
        are_right = all(entry.is_right for entry in self.dispatches)
        return are_right and (self.program is None or self.program.is_right)


def verify(
    program: str | os.PathLike[str] | Content,
    *,
    target: str | Target | None = None,
    flags: str | Iterable[str] = (),
    specs: SpecSource | Iterable[SpecSource] = (),
    device: str = "",
    dispatches: str | Iterable[str] = (),
    sizes: str | Iterable[str] = (),
    calls: CallOptions = ALL_CALLS,
    jobs: int | None = None,
    timeout: float = 60.0,
    seed: int = 0,
    upgrade: bool = True,
    diagnostics: DiagnosticSink | None = None,
) -> Verification:
    """Verify that a program computes correct results, dispatch by dispatch and as a whole, as `tuninglink verify` does.

    Args:
        program: the path of a program, or its content; text or bytecode.
        target: what to compile for: `host`, an SKU, an architecture or a family.
        flags: flags of `iree-compile`, as words or as one line.
        specs: specs to apply, in order of precedence: loaded ones, sources as on the command line, or contents.
        device: the device, such as `cuda://0`; by default the one that runs what is compiled for.
        dispatches: parts of names of dispatches or of their functions; with any, the whole program is not run.
        sizes: the sizes of dynamic dimensions, in the syntax of `--dim`: `0.0=1,8,64`.
        calls: the functions of the program to call, their inputs and expected results.
        jobs: the number of parallel compilations; None for one per core.
        timeout: the time limit of a compilation, a run or a reference, in seconds.
        seed: the seed of the inputs.
        upgrade: whether specs for an older compiler are upgraded; otherwise they are rejected.
        diagnostics: receives warnings about specs.

    Raises:
        CompileError: the program does not compile.
        SpecError: a spec is malformed, or cannot be linked.
        TuninglinkError: no dispatch can run alone, or the device does not run the program.
        TypeError: an argument has another type.
        ValueError: a text gives no sizes.
    """
    words = read_options(flags, target).flags
    loaded, _ = load_specs(specs, upgrade=upgrade, diagnostics=diagnostics)
    spec = link_specs(loaded).spec.text() if loaded else ""
    given = [*map(GivenSizes.parse, several(sizes, "sizes"))]
    with program_path(program) as path:
        dispatched = read_program(path, words, sizes=given, options=calls)
        patterns = several(dispatches, "dispatches")
        tasks = dispatched.matching_tasks(patterns, "'dispatches'")
        source = TraceSource(path, tuple(words), Phase.START, tuple(given), calls)
        with CandidateCompiler(words, jobs) as compiler:
            return verify_dispatches(
                dispatched,
                tasks,
                spec,
                compiler,
                device,
                source=source,
                runs_program=not patterns,
                seed=seed,
                timeout=timeout,
            )


def verify_dispatches(
    program: DispatchedProgram,
    tasks: Sequence[TuningTask],
    spec: str,
    compiler: CandidateCompiler,
    device_uri: str = "",
    *,
    source: TraceSource | None = None,
    runs_program: bool,
    seed: int,
    timeout: float,
    report: Callable[[VerifiedDispatch | ProgramVerdict, int, int], None] = lambda *_: None,
) -> Verification:
    """Verify dispatches of a program, and the program as a whole.

    The spec is a text, empty for none; an empty URI is that of the device which runs the program. Infinities and NaNs are
    traced to a dispatch if the program can be read again from its source. `report` receives each verdict, its number and
    the number of dispatches.

    Raises:
        TuninglinkError: the device does not run the program.
    """
    backend = tasks[0].target.backend
    uri = device_uri or default_device(backend)
    with ExitStack() as opened:
        device = opened.enter_context(Devices([uri], Settings(seed=seed), timeout)).first
        references = opened.enter_context(References(seed, timeout))
        runnable = [
            task for task in tasks if may_run(device.description.driver, task.target.backend)
        ]
        if not runnable:
            message = (
                f"device '{uri}' does not run code for '{backend}'; name another with --device"
            )
            raise TuninglinkError(error(message))
        # Verify dispatch by dispatch; the references of the next ones are computed ahead.
        verified = []
        jobs = [compiler.submit_program(task.source, spec, timeout) for task in runnable]
        for position, (task, job) in enumerate(zip(runnable, jobs, strict=True)):
            if not device.description.is_local:
                for later in runnable[position : position + _AHEAD]:
                    references.begin(later)
            entry = _verified(task, job.result(), device, references)
            verified.append(entry)
            report(entry, position + 1, len(runnable))
            references.release(task)
        # Verify the program as a whole.
        whole = None
        if program.calls is not None and runs_program:
            reference = ProgramReference(program.saved, runnable[0].target.backend, seed, timeout)
            judge = OutputJudge(program.tasks, opened.enter_context(reference))
            runs = ModelRuns(program, compiler, device, seed, judge=judge)
            whole = judge_program(runs, spec)
            if whole.has_overflow and source is not None:
                name = "" if not whole.is_right else whole.source
                try:
                    found = find_overflow(runs, source, spec, timeout, name)
                    reason = found or "none with traces"
                except TuninglinkError as failure:
                    reason = f"no dispatch is named: {reason_of(failure)}"
                judgement = whole.judgement
                judgement = replace(judgement, reason=f"{judgement.reason}; {reason}")
                whole = replace(whole, judgement=judgement)
            report(whole, len(runnable), len(runnable))
    return Verification(tuple(verified), program.omissions, whole)


_AHEAD: Final = 2
"""The number of dispatches whose references are computed ahead."""


def _verified(
    task: TuningTask, compiled: Compiled | Failure, device: Device, references: References
) -> VerifiedDispatch:
    what, result = "does not compile", compiled
    if not isinstance(compiled, Failure):
        outputs = device.outputs(task.benchmark(compiled.image))
        if not isinstance(outputs, Failure):
            return VerifiedDispatch(task, references.judge(task, outputs))
        what, result = "does not run", outputs
    assert isinstance(result, Failure)
    correctness = Correctness.UNCHECKED if result.is_external else Correctness.FAILED
    verdict = OutputVerdict(correctness, f"it {what}: {result.message}")
    return VerifiedDispatch(task, verdict, result)
