"""Individual stages of `tuninglink tune`: sizes of search spaces, and drawing, compiling or measuring of candidates."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tuninglink.cli import process
from tuninglink.cli.measuring_options import check_outputs
from tuninglink.cli.project_options import set_up_compiler
from tuninglink.cli.terminal import print_table, progress
from tuninglink.cli.tune_progress import progress_listener
from tuninglink.errors import Diagnostic, Severity
from tuninglink.files import STANDARD_STREAM, check_directory, check_output_directory, write_file
from tuninglink.spaces import pipeline_name, value_text
from tuninglink.tuning import (
    DispatchTuning,
    StagedCandidate,
    compiled_candidates,
    drawn_candidates,
    measured_candidates,
    prepared_tasks,
    space_sizes,
    write_report,
)
from tuninglink.tuning.deciding import LastStage, Ledger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tuninglink.tuning.deciding import TuneOptions


def run_stages(options: TuneOptions, command: str) -> None:
    """Run some of the stages of tuning, and show the result."""
    tuning = DispatchTuning(options, progress_listener(command))
    if options.dry_run:
        set_up_compiler(command, options.flags)
        tasks = prepared_tasks(tuning)
        rows = []
        for task in tasks:
            with progress(f"counting the spaces of {task.task.short_name}"):
                sizes = space_sizes(task.spaces)
            if not sizes:
                # Configurations from other sources remain, such as a rewriting of the operation.
                given = f"configurations from other sources: {len(task.spaces.given)}"
                message = f"{task.task.short_name}: its operation has no space; {given}"
                process.show(Diagnostic(Severity.REMARK, message))
            rows += [
                (
                    task.task.short_name,
                    str(task.spaces.problem),
                    str(task.task.calls),
                    size.pipeline,
                    size.provider,
                    str(size.knobs),
                    f"{size.count:,}",
                    "counted" if size.is_exact else f"at least: {size.reason}",
                )
                for size in sizes
            ]
        print_table(
            ("dispatch", "problem", "calls", "pipeline", "constraints", "knobs", "size", "how"),
            rows,
        )
        return
    if options.output != STANDARD_STREAM:
        check_output_directory(options.output)
    set_up_compiler(command, options.flags)
    if options.settings.stop_after is LastStage.MEASUREMENT:
        _measure(tuning)
        return
    drawn = drawn_candidates(tuning)
    is_compiled = options.settings.stop_after is LastStage.COMPILATION
    _show(options, compiled_candidates(tuning, drawn) if is_compiled else drawn)


def _measure(tuning: DispatchTuning) -> None:
    """Measure candidates, and show them with the compiler's default, fastest first."""
    options = tuning.options
    check_outputs(replace(options, output=STANDARD_STREAM))
    if options.report:
        check_directory(options.report)
    ledger = Ledger(options.settings.seconds, options.settings.trials)
    with tuning.listener.interrupts(ledger.whole):
        result, device = tuning.run(ledger)
    _show(options, measured_candidates(result))
    if options.report:
        report = tuning.report(result, device, measures=not ledger.whole.is_stopped)
        write_report(report, Path(options.report))
    if result.failure is not None:
        raise result.failure


def _show(options: TuneOptions, candidates: Iterable[StagedCandidate]) -> None:
    """List candidates; write candidates that have not failed as specs if a directory for specs is given."""
    rows = []
    ranks: dict[str, int] = {}
    folder = None if options.output == STANDARD_STREAM else Path(options.output)
    for staged in candidates:
        task = staged.task.task
        rank = ranks[task.key] = ranks.get(task.key, 0) + 1
        rows.append(
            (
                task.short_name,
                str(rank),
                _result(staged, options.settings.stop_after),
                pipeline_name(staged.candidate.pipeline),
                ", ".join(_knobs(staged)),
            )
        )
        if folder is not None and staged.failure is None:
            text = staged.task.spec(staged.candidate, {"origin": "candidate", "rank": rank})
            name = f"{task.short_name}-{rank}"
            folder.mkdir(parents=True, exist_ok=True)
            file = re.sub(r"[^\w.-]+", "_", name).strip("_")
            write_file(folder / f"{file}.mlir", text)
    print_table(("dispatch", "rank", "result", "pipeline", "knobs"), rows)


def _knobs(staged: StagedCandidate) -> Iterator[str]:
    """Yield the knobs of a candidate under their names in configurations."""
    candidate, spaces = staged.candidate, staged.task.spaces.spaces
    knobs = spaces[candidate.space].constraints.knobs if candidate.space >= 0 else ()
    for knob in knobs:
        yield f"{knob.name} = {value_text(knob, candidate.knobs[knob.name])}"


def _result(staged: StagedCandidate, stage: LastStage | None) -> str:
    if staged.failure is not None:
        return f"{staged.failure.kind.value}: {staged.failure.message}"
    if staged.microseconds is not None:
        return f"{staged.microseconds:.2f} us"
    return "compiles" if stage is LastStage.COMPILATION else "drawn"
