"""`tuninglink init --suggest`: specs with configurations that are expected to be fast, without a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.cli import process
from tuninglink.cli.terminal import progress
from tuninglink.errors import CompileError, Diagnostic, Severity, UsageError
from tuninglink.files import STANDARD_STREAM, check_output_directory, make_directory, write_output
from tuninglink.mlir import error, note
from tuninglink.spaces import ProviderRegistry, SelectionError, SpaceSelection
from tuninglink.tuning import Question, Suggestions, suggest, suggested_specs
from tuninglink.tuning.programs import Omission, TuningTask, read_program, reason_of
from tuninglink.tuning.scheduling import estimated_work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.compiler import CompileOptions


def write_suggestions(
    options: CompileOptions,
    count: int,
    selection: SpaceSelection,
    dispatches: Sequence[str],
    top: int | None,
) -> None:
    """Write specs with the configurations that are expected to be fastest: the best ones in the first spec, and so on."""
    assert options.input is not None
    if options.output == STANDARD_STREAM and count > 1:
        remedy = note(f"name a folder: --suggest={count} -o suggestions")
        raise UsageError(error(f"--suggest={count} writes as many specs", notes=[remedy]))
    if options.output != STANDARD_STREAM:
        check_output_directory(options.output)
    with progress(f"reading {options.input}"):
        program = read_program(options.input, options.flags, first=options.compile_from)
    for omission in program.omissions:
        _report(omission)
    tasks = program.matching_tasks(dispatches, "--dispatch")
    tasks = sorted(tasks, key=estimated_work, reverse=True)[:top]
    question = Question(options.flags, count, selection, names_dispatches=bool(dispatches))
    suggestions = _suggestions(tasks, question)
    if not suggestions:
        raise CompileError(error(f"no configuration can be suggested for '{options.input}'"))
    texts = suggested_specs(suggestions)
    if options.output == STANDARD_STREAM:
        write_output(STANDARD_STREAM, texts[0])
        return
    folder = make_directory(options.output)
    for rank, text in enumerate(texts, start=1):
        write_output(str(folder / f"suggestion-{rank}.mlir"), text)


def _suggestions(tasks: Sequence[TuningTask], question: Question) -> list[Suggestions]:
    """Return the configurations for dispatches; report the dispatches without a configuration."""
    registry = ProviderRegistry(process.show)
    suggestions: list[Suggestions] = []
    unselected: list[tuple[TuningTask, SelectionError]] = []
    for task in tasks:
        with progress(f"choosing configurations for {task.label}"):
            try:
                answer = suggest(task, question, registry)
            except SelectionError as failure:
                unselected.append((task, failure))
                continue
        if isinstance(answer, Omission):
            _report(answer)
        else:
            suggestions.append(answer)
    if unselected and not suggestions:
        raise unselected[0][1]
    for task, mistake in unselected:
        _report(Omission(task.dispatches, reason_of(mistake)))
    return suggestions


def _report(omission: Omission) -> None:
    process.show(Diagnostic(Severity.REMARK, f"no configuration for {omission}"))
