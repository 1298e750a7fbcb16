"""Explanation of the effects of specs on a program, dispatch by dispatch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tuninglink.arguments import Content, several
from tuninglink.compiler.api import compile_with, program_name, read_request
from tuninglink.compiler.applying import SpecChoice
from tuninglink.compiler.compilation import Compilation, Compiler
from tuninglink.compiler.compile_options import CompileOptions, Mode, Phase
from tuninglink.errors import CompileError
from tuninglink.explaining.explainer import Explainer
from tuninglink.explaining.explanation import Explanation, MeasuredTimes, with_times
from tuninglink.explaining.profiles import read_profile
from tuninglink.iree.given_sizes import GivenSizes
from tuninglink.iree.targets import Target
from tuninglink.mlir.diagnostics import Diagnostic, DiagnosticSink, error
from tuninglink.specs.sources import SpecSource

__all__ = [
    "Explainer",
    "Explanation",
    "explain",
    "explain_file",
    "read_profile",
    "until_configured",
    "with_times",
]


def explain(
    source: str | os.PathLike[str] | Content,
    *,
    specs: SpecSource | Iterable[SpecSource] = (),
    default_specs: bool = True,
    spec_directories: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    target: str | Target | None = None,
    flags: str | Iterable[str] = (),
    name: str = "<memory>",
    derived_entries: bool = True,
    upgrade: bool = True,
    times: Iterable[MeasuredTimes] = (),
    sizes: str | Iterable[str] = (),
    diagnostics: DiagnosticSink | None = None,
) -> Explanation:
    """Explain the effects of specs on a program, dispatch by dispatch.

    The program is compiled in this process up to the choice of configurations. The arguments are those of
    `tuninglink.compile`.

    Args:
        source: the path of a program in MLIR, or its content; text or bytecode either way.
        specs: the user's specs in order of precedence: loaded ones, paths, or contents.
        default_specs: whether the default spec of each target comes last.
        spec_directories: searched for default specs before the shipped ones.
        target: what to compile for, as for `tuninglink.compile`.
        flags: flags of `iree-compile`, such as `--iree-hal-target-device=hip`, as words or as one line.
        name: the name of a content in locations.
        derived_entries: whether entries are derived for ops that express the same problem in another form.
        upgrade: whether specs for an older compiler are upgraded; otherwise they are rejected.
        times: measured times, such as `tuninglink.explaining.read_profile` returns.
        sizes: the sizes of dynamic dimensions for costs, in the syntax of `--dim`: `0.0=1,8:2,64`.
        diagnostics: receives warnings and remarks as they are emitted. Errors are raised.

    Returns:
        The outcome for each dispatch and each spec.

    Raises:
        CompileError: the program or a flag is malformed, the compilation does not reach the dispatches, or
            the compiler reported an error.
        SpecError: a spec is malformed, or cannot be linked.
        TuninglinkError: a file or a directory cannot be read.
    """
    asked = read_request(
        specs=specs,
        default_specs=default_specs,
        spec_directories=spec_directories,
        target=target,
        flags=flags,
        derived_entries=derived_entries,
        upgrade=upgrade,
    )
    options = until_configured(asked.options)
    program = program_name(source, name)
    choice = replace(asked.choice, prune=options.prune)
    given = (*asked.options.sizes, *map(GivenSizes.parse, several(sizes, "sizes")))
    explainer = Explainer(choice, program, sizes=given)
    report = diagnostics.emit if diagnostics else None
    compiler = Compiler(options, choice, options.flags, report, asked.warnings, observer=explainer)
    compile_with(compiler, source, name)
    return with_times(explainer.explanation(), times)


def until_configured(options: CompileOptions) -> CompileOptions:
    """Return options that end a compilation at the choice of configurations.

    The output is discarded, so it is written as bytecode, the fastest format.

    Raises:
        CompileError: the compilation ends earlier.
    """
    check_reaches_dispatches(options)
    return replace(options, compile_to=Phase.EXECUTABLE_CONFIGURATIONS, emit_bytecode=True)


def explain_file(
    path: str,
    options: CompileOptions,
    choice: SpecChoice,
    session_flags: Sequence[str] = (),
    report: Callable[[Diagnostic], None] | None = None,
    *,
    step: Callable[[str], None] = lambda _: None,
    is_detailed: bool = False,
) -> tuple[Compilation, Explanation]:
    """Compile a file, and explain the effects of specs on it.

    Args:
        path: the program; `-` is standard input.
        options: the options of the compilation, which must reach `executable-configurations`.
        choice: the specs.
        session_flags: the flags of the session; those of the process are set already.
        report: receives each warning and remark as it is emitted.
        step: called with the name of each step as it begins.
        is_detailed: whether to compute the details that only a page shows.

    Returns:
        The result of the compilation, and the explanation.

    Raises:
        CompileError: the compilation does not reach the dispatches, or the compiler reported an error.
    """
    check_reaches_dispatches(options)
    choice = replace(choice, exact=True)
    explainer = Explainer(choice, path, step, is_detailed=is_detailed, sizes=options.sizes)
    compiler = Compiler(options, choice, session_flags, report, observer=explainer, step=step)
    compilation = compiler.compile_file(os.fspath(path))
    return compilation, explainer.explanation()


def check_reaches_dispatches(options: CompileOptions) -> None:
    """Reject a compilation in which no spec is applied.

    Raises:
        CompileError: the compilation ends too early, begins too late, or has another mode.
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
