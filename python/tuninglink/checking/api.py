"""Checking specs as a function."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tuninglink.arguments import Content, described, several
from tuninglink.checking.check_report import CheckReport, Selection, SpecReport
from tuninglink.checking.checker import Checker
from tuninglink.checking.compiling import CompileLimits, Model
from tuninglink.compiler import compiler_flags, no_target, program_path, read_target
from tuninglink.errors import SpecError
from tuninglink.iree import Target
from tuninglink.mlir import DiagnosticSink
from tuninglink.solver import Limits
from tuninglink.specs import Spec, read_specs
from tuninglink.workers import processor_count

if TYPE_CHECKING:
    from tuninglink.specs import SpecSource


def check(
    specs: SpecSource | Iterable[SpecSource],
    *,
    target: str | Target | None = None,
    model: str | os.PathLike[str] | Content | None = None,
    flags: str | Iterable[str] = (),
    compiles: bool = False,
    strict: bool = False,
    jobs: int | None = None,
    timeout: float = CompileLimits.seconds,
    limit: float = Limits.seconds,
    upgrade: bool = True,
) -> CheckReport:
    """Find the faults of specs, entry by entry, as `tuninglink check` does.

    A spec that cannot be read is a finding, too.

    Args:
        specs: the specs: loaded ones, sources as on the command line, or contents. Each is checked by itself.
        target: the target of the configurations: `host`, an SKU, an architecture or a family; None to skip their check.
        model: a program, on whose ops the entries are checked as well.
        flags: flags of `iree-compile` for the model, as words or as one line.
        compiles: whether to compile a program for each entry, for the target.
        strict: whether undecided questions are errors.
        jobs: the number of parallel processes; None for one per core.
        timeout: the time limit of a compilation, in seconds.
        limit: the time limit of a query of the solver, in seconds.
        upgrade: whether specs for an older compiler are upgraded; otherwise they are rejected.

    Raises:
        TargetError: the target is unknown, or the compiler generates no code for it.
        UsageError: a flag is malformed, or the target is missing.
        TypeError: an argument has another type.
    """
    if compiles and target is None:
        raise no_target()
    processes = jobs or processor_count()
    words = compiler_flags(flags, target)
    limits = CompileLimits(timeout, processes) if compiles else None
    name = target if isinstance(target, str) or target is None else target.names[0]
    with program_path(b"" if model is None else model) as path:
        checker = Checker(
            target=read_target(name) if name else None,
            model=None if model is None else Model(path, words),
            compile_limits=limits,
            limits=Limits(limit),
            upgrade=upgrade,
            processes=processes,
        )
        selection = Selection(is_strict=strict)
        reports = [
            replace(report, selection=selection)
            for spec in several(specs, "specs")
            for report in _reports(checker, spec)
        ]
    return CheckReport(name, reports)


def _reports(checker: Checker, spec: SpecSource) -> Iterator[SpecReport]:
    """Yield the report on each spec of a source."""
    if isinstance(spec, Spec):
        yield checker.check(spec.bytecode(), spec.source)
    elif isinstance(spec, str):
        try:
            files = read_specs([spec], DiagnosticSink(lambda _: None))
        except SpecError as failure:
            yield SpecReport(spec, structure=failure.diagnostics)
            return
        for file in files:
            yield checker.check(file.content, file.name, file.targets)
    elif isinstance(spec, os.PathLike | Content):
        yield checker.check(bytes(spec) if isinstance(spec, Content) else spec)
    else:
        raise TypeError(f"a spec is a path, or content as bytes; found {described(spec)}")
