"""Reproducers of failures: programs, and scripts that run them with the stock tools."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.compiler import Phase
from tuninglink.files import write_file
from tuninglink.mlir import thread_context
from tuninglink.passes.strip_configs import strip_configurations
from tuninglink.tuning.candidates import apply_candidate, apply_specs
from tuninglink.tuning.devices import SYNCHRONOUS_DRIVER, THREADED_DRIVER
from tuninglink.tuning.programs import COMPILE_FAILURES, Failure, FailureKind, OutputVerdict
from tuninglink.tuning.references.operations import UnsupportedOperationError
from tuninglink.tuning.references.references import program_reference_target, retarget
from tuninglink.tuning.references.reproducers import (
    BENCHMARK,
    PROGRAM,
    REFERENCE,
    UNCONFIGURED_PROGRAM,
    RunnableBenchmark,
    failing_run_script,
    reproducer_script,
    runnable,
    tensor_function,
)

if TYPE_CHECKING:
    import os

    from tuninglink.specs import Spec
    from tuninglink.tuning.candidates import Candidate, TunableTask
    from tuninglink.tuning.programs import TuningTask


_SCRIPT: Final = "reproduce.py"


class Reproducers:
    """A directory of programs that show failures.

    Args:
        directory: the directory, which is created.
        flags: the flags of the compiler.
        seed: the seed of the inputs of benchmarks.
    """

    def __init__(
        self, directory: str | os.PathLike[str], flags: Sequence[str], seed: int = 0
    ) -> None:
        self._directory = Path(directory)
        self._flags = tuple(flags)
        self._seed = seed

    def keep_candidate(
        self, prepared: TunableTask, candidate: Candidate, failure: Failure, device: str
    ) -> Path | None:
        """Write the program of a candidate that fails.

        Args:
            prepared: the task of the candidate.
            candidate: its configuration.
            failure: how it fails.
            device: the device that ran it.

        Returns:
            The program, or its directory if it fails at run time; None if the machine is the cause, or it is merely
            slower.

        Raises:
            TuninglinkError: it cannot be written.
        """
        if failure.is_external or failure.kind is FailureKind.SLOWER:
            return None
        content = prepared.template.content_for(candidate)
        module = mlir.Module.parse(content, thread_context()).operation
        apply_candidate(module, candidate)
        task, phase = prepared.task, Phase.EXECUTABLE_CONFIGURATIONS
        name = f"{task.label}-{failure.kind.value}-{candidate.key[:12]}"
        notes = [*failure.message.splitlines(), "", str(candidate)]
        if failure.kind in COMPILE_FAILURES:
            return self._write_program(name, module, phase, notes)
        failure = replace(failure, message="\n".join(notes))
        return self._write_run(name, task, runnable(module, phase, self._flags), failure, device)

    def keep_dispatch(
        self, task: TuningTask, failure: Failure, device: str, specs: Sequence[Spec] = ()
    ) -> Path | None:
        """Write the program of a dispatch that fails as the compiler or a spec configures it.

        Args:
            task: the dispatch.
            failure: how it fails.
            device: the device that ran it.
            specs: the specs that configure it; none for the compiler's choice.

        Returns:
            See `keep_candidate`.

        Raises:
            TuninglinkError: it cannot be written.
        """
        if failure.is_external:
            return None
        content, phase = task.source, Phase.EXECUTABLE_SOURCES
        if specs:
            content, phase = (
                apply_specs(task.source, self._flags, specs).output,
                Phase.EXECUTABLE_CONFIGURATIONS,
            )
        module = mlir.Module.parse(content, thread_context()).operation
        name = f"{task.label}-{failure.kind.value}-{'spec' if specs else 'default'}"
        notes = failure.message.splitlines()
        if failure.kind in COMPILE_FAILURES:
            return self._write_program(name, module, phase, notes)
        return self._write_run(name, task, runnable(module, phase, self._flags), failure, device)

    def keep_wrong(self, task: TuningTask, judgement: OutputVerdict, device: str) -> Path | None:
        """Write a dispatch whose default is wrong, with a script that shows it with the stock tools.

        Args:
            task: the dispatch.
            judgement: the finding.
            device: the device that ran it.

        Returns:
            The directory: of the dispatch as a function on tensors, or else as a benchmark on a buffer.

        Raises:
            TuninglinkError: it cannot be written.
        """
        try:
            function = tensor_function(task.source, task.layout)
        except UnsupportedOperationError:
            return self.keep_dispatch(task, Failure(FailureKind.WRONG, judgement.reason), device)
        module = mlir.Module.parse(function.text, thread_context())
        programs = {PROGRAM: function.text}
        if strip_configurations(module.operation):
            programs[UNCONFIGURED_PROGRAM] = str(module)
        script = reproducer_script(
            function,
            task.layout,
            judgement,
            self._flags,
            program_reference_target(task.target.backend).flags,
            device=device,
            seed=self._seed,
            version=metadata.version("iree-base-compiler"),
            reference_program=list(programs)[-1],
        )
        path = self._directory / f"{task.label}-wrong-default"
        path.mkdir(parents=True, exist_ok=True)
        for file, text in programs.items():
            write_file(path / file, text)
        write_file(path / _SCRIPT, script)
        return path

    def _write_program(
        self, name: str, module: mlir.Operation, phase: Phase, notes: Sequence[str]
    ) -> Path:
        """Write a program that does not compile, with the command that shows it."""
        flags = shlex.join(self._flags)
        command = f"iree-compile %s --compile-from={phase.value} {flags} -o /dev/null"
        lines = [f"// {line}".rstrip() for line in (command, "", *notes)]
        path = self._directory / f"{name}.mlir"
        self._directory.mkdir(parents=True, exist_ok=True)
        write_file(path, "\n".join([*lines, "", str(module)]))
        return path

    def _write_run(
        self,
        name: str,
        task: TuningTask,
        benchmark: RunnableBenchmark,
        failure: Failure,
        device: str,
    ) -> Path:
        """Write a program that fails at run time, with a script that runs it."""
        programs = {BENCHMARK: benchmark}
        if failure.kind is FailureKind.WRONG:
            target = program_reference_target(task.target.backend)
            reference = mlir.Module.parse(retarget(task.source, target), thread_context())
            programs[REFERENCE] = runnable(
                reference.operation, Phase.EXECUTABLE_SOURCES, target.flags
            )
        if failure.kind is FailureKind.CRASH and device == SYNCHRONOUS_DRIVER:
            device = THREADED_DRIVER  # whose workers have the stack that the code was measured with
        script = failing_run_script(
            programs,
            task.function,
            task.layout,
            failure.message,
            device=device,
            seed=self._seed,
            version=metadata.version("iree-base-compiler"),
        )
        path = self._directory / name
        path.mkdir(parents=True, exist_ok=True)
        for file, program in programs.items():
            write_file(path / file, program.text)
        write_file(path / _SCRIPT, script)
        return path
