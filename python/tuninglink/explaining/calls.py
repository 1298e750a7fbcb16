"""Explaining as a function."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from tuninglink.compiler.compilation import Compiler
from tuninglink.compiler.flags import Mode
from tuninglink.compiler.phases import Phase
from tuninglink.errors import CompileError
from tuninglink.explaining.explainer import Explainer
from tuninglink.ir.diagnostics import error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.compiler.applying import SpecChoice
    from tuninglink.compiler.compilation import Compilation
    from tuninglink.compiler.flags import Options
    from tuninglink.explaining.model import Explanation
    from tuninglink.ir.diagnostics import Diagnostic


def explain_file(
    path: str,
    options: Options,
    choice: SpecChoice,
    session_flags: Sequence[str] = (),
    report: Callable[[Diagnostic], None] | None = None,
) -> tuple[Compilation, Explanation]:
    """Compiles a file, and explains what specs did to it.

    Args:
        path: the program; `-` is standard input.
        options: what the compilation is to do; it must reach `executable-configurations`.
        choice: the specs.
        session_flags: flags to give to the session; those of the whole process are set already.
        report: called with each warning and remark as it is emitted.

    Returns:
        What came of the compilation, and the explanation.

    Raises:
        CompileError: the compilation does not reach the dispatches, or the compiler reported an error.
    """
    check_reaches_dispatches(options)
    choice = replace(choice, exact=True)
    explainer = Explainer(choice, path)
    compiler = Compiler(options, choice, session_flags, report, observer=explainer)
    compilation = compiler.compile_file(os.fspath(path))
    return compilation, explainer.explanation()


def check_reaches_dispatches(options: Options) -> None:
    """Refuses to explain a compilation in which no spec is applied.

    Raises:
        CompileError: it ends too early, begins too late, or runs something else.
    """
    reason = ""
    if options.mode not in (Mode.STANDARD, Mode.HAL_EXECUTABLE):
        reason = f"nothing is configured in --compile-mode={options.mode.value}"
    elif options.compile_to < Phase.EXECUTABLE_CONFIGURATIONS:
        reason = f"the compilation ends before '{Phase.EXECUTABLE_CONFIGURATIONS.value}'"
    elif not options.compile_from <= Phase.EXECUTABLE_SOURCES:
        reason = f"the input is past '{Phase.EXECUTABLE_SOURCES.value}' already"
    if reason:
        raise CompileError(error(f"there is nothing to explain: {reason}"))
