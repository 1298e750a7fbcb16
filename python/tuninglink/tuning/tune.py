"""Tuning as a function."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from tuninglink.arguments import Content, several
from tuninglink.compiler.api import compiler_flags, program_path
from tuninglink.iree.given_sizes import GivenSizes
from tuninglink.iree.targets import Target
from tuninglink.specs.sources import SpecSource, load_specs
from tuninglink.tuning import Listener
from tuninglink.tuning.candidates.compilation import CandidateCompiler
from tuninglink.tuning.database import Database
from tuninglink.tuning.devices import Settings
from tuninglink.tuning.devices.local import Devices, default_device
from tuninglink.tuning.programs import ALL_CALLS, CallOptions
from tuninglink.tuning.programs.dispatches import read_program
from tuninglink.tuning.references import References
from tuninglink.tuning.results.journal import Journal
from tuninglink.tuning.results.task_result import TuningResult
from tuninglink.tuning.scheduling.budget import Ledger
from tuninglink.tuning.scheduling.task_tuner import TaskTuner
from tuninglink.tuning.search import begin_loading, check_search
from tuninglink.tuning.settings import TuningSettings
from tuninglink.tuning.tuner import Tuner


def tune(
    program: str | os.PathLike[str] | Content,
    *,
    target: str | Target | None = None,
    flags: str | Iterable[str] = (),
    settings: TuningSettings,
    specs: SpecSource | Iterable[SpecSource] = (),
    sizes: str | Iterable[str] = (),
    calls: CallOptions = ALL_CALLS,
    listener: Listener | None = None,
    database: str | os.PathLike[str] = "",
) -> TuningResult:
    """Tune a program on a device, as `tuninglink tune` does, without writing files.

    Args:
        program: the path of the program, or its content; text or bytecode.
        target: what to compile for: `host`, an SKU, an architecture or a family.
        flags: compiler flags that are not process-wide, as words or as one line.
        settings: the settings; without limits, tuning ends when the candidates run out.
        specs: specs whose configurations are candidates: loaded ones, sources as on the command line, or contents.
        sizes: the sizes at which dynamic dispatches are tuned, in the syntax of `--dim`: `0.0=1,8:2,64`.
        calls: the functions of the program to call, and their arguments.
        listener: receives progress events.
        database: the file that keeps all results; its contents are not measured again. Empty for none.

    Raises:
        ValueError: a text gives no sizes.
        TuninglinkError: the program does not compile, or none of its dispatches can be tuned on the device.
    """
    ledger = Ledger(settings.seconds, settings.trials)
    check_search(settings.search)
    begin_loading(settings.search, settings.trials)
    words = compiler_flags(flags, target)
    loaded, _ = load_specs(specs)
    given = [*map(GivenSizes.parse, several(sizes, "sizes"))]
    with program_path(program) as path:
        dispatched = read_program(path, words, sizes=given, options=calls)
    tasks = dispatched.matching_tasks(settings.patterns)
    uris = settings.devices or (default_device(tasks[0].target.backend),)
    measuring = Settings(caches=settings.caches, seed=settings.seed)
    with ExitStack() as opened:
        compiler = opened.enter_context(CandidateCompiler(words, settings.jobs))
        devices = opened.enter_context(Devices(uris, measuring, settings.timeout))
        records = opened.enter_context(Database(Path(database) if database else None))
        journal = Journal(records, devices.first.description, settings, words)
        references = None
        if settings.checks_defaults:
            references = opened.enter_context(References.within(settings.seconds, settings.seed))
        tuner = TaskTuner(
            settings, compiler, devices, listener or Listener(), journal, references=references
        )
        return Tuner(dispatched, words, tuner, ledger, specs=loaded).run()
