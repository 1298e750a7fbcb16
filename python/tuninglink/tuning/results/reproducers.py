"""Keeping candidates that the constraints call valid and that fail: each as a file that shows it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.files import write_file
from tuninglink.mlir.contexts import thread_context
from tuninglink.tuning.candidates.templates import apply_candidate

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from tuninglink.tuning.candidates.candidate import Candidate
    from tuninglink.tuning.candidates.compilation import BenchmarkTemplate
    from tuninglink.tuning.results.failures import Failure


class Reproducers:
    """A directory of programs that show a failure.

    Args:
        directory: the directory; it is made.
        flags: the flags of the compiler.
    """

    def __init__(self, directory: str | os.PathLike[str], flags: Sequence[str]) -> None:
        self._directory = Path(directory)
        self._flags = tuple(flags)

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
