"""Keeping candidates that the constraints call valid and that fail: each as a file that shows it."""

from __future__ import annotations

import shlex
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.files import write_file
from tuninglink.mlir.contexts import thread_context
from tuninglink.tuning.candidates.templates import apply_candidate
from tuninglink.tuning.references.dispatch_function import tensor_function
from tuninglink.tuning.references.retargeting import HOST
from tuninglink.tuning.references.scalar_ops import UnsupportedOperationError
from tuninglink.tuning.references.wrong_result_script import PROGRAM, reproducer_script

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from tuninglink.tuning.candidates.candidate import Candidate
    from tuninglink.tuning.candidates.compilation import BenchmarkTemplate
    from tuninglink.tuning.programs.dispatches import TuningTask
    from tuninglink.tuning.references.output_verdict import OutputVerdict
    from tuninglink.tuning.results.failures import Failure


class Reproducers:
    """A directory of programs that show a failure.

    Args:
        directory: the directory; it is made.
        flags: the flags of the compiler.
        seed: the seed of the inputs of benchmarks.
    """

    def __init__(
        self, directory: str | os.PathLike[str], flags: Sequence[str], seed: int = 0
    ) -> None:
        self._directory = Path(directory)
        self._flags = tuple(flags)
        self._seed = seed

    def keep(
        self, label: str, template: BenchmarkTemplate, candidate: Candidate, failure: Failure
    ) -> Path:
        """Writes the program of a candidate, with what was said and the command that shows it.

        Raises:
            TuninglinkError: it cannot be written.
        """
        module = mlir.Module.parse(template.content, thread_context()).operation
        apply_candidate(module, candidate)
        path = self._directory / f"{label}-{failure.kind.value}-{candidate.key[:12]}.mlir"
        flags = shlex.join(self._flags)
        command = f"iree-compile %s --compile-from=executable-configurations {flags}"
        said = [f"// {line}" for line in failure.message.splitlines()]
        lines = [
            f"// {command} -o /dev/null",
            "//",
            *said,
            "//",
            f"// {candidate}",
            "",
            str(module),
        ]
        self._directory.mkdir(parents=True, exist_ok=True)
        write_file(path, "\n".join(lines).encode())
        return path

    def keep_wrong(self, task: TuningTask, judgement: OutputVerdict, device: str) -> Path | None:
        """Writes a dispatch whose default is wrong, with a script that shows it with the stock tools.

        Args:
            task: the dispatch.
            judgement: what is wrong.
            device: the device that ran it.

        Returns:
            The directory; None if the dispatch cannot be written as a function on tensors.

        Raises:
            TuninglinkError: it cannot be written.
        """
        try:
            function = tensor_function(task.source, task.layout)
        except UnsupportedOperationError:
            return None
        script = reproducer_script(
            function,
            judgement,
            self._flags,
            HOST.flags,
            device=device,
            seed=self._seed,
            version=metadata.version("iree-base-compiler"),
        )
        path = self._directory / f"{task.label}-wrong-default"
        path.mkdir(parents=True, exist_ok=True)
        write_file(path / PROGRAM, function.text.encode())
        write_file(path / "reproduce.py", script.encode())
        return path
