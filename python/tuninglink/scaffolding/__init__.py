"""Initial specs: entries for the dispatches of a program, with the compiler's own configurations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from tuninglink.arguments import Content, several
from tuninglink.compiler.api import compile_with, program_name, read_request
from tuninglink.compiler.applying import SpecChoice
from tuninglink.compiler.compilation import Compiler
from tuninglink.compiler.compile_options import CompileOptions, Phase
from tuninglink.emission import FORMS, NoMatcherError
from tuninglink.emission.spec_writer import SpecEntry, matcher_key, write_spec
from tuninglink.errors import CompileError
from tuninglink.iree.given_sizes import GivenSizes
from tuninglink.iree.targets import Target
from tuninglink.mlir.diagnostics import Diagnostic, DiagnosticSink, error, note
from tuninglink.mlir.symbols import FreshNames
from tuninglink.scaffolding.reading import ProgramReader, is_tunable
from tuninglink.scaffolding.scaffold import (
    Backend,
    InitSpec,
    LeftOut,
    StartingPoint,
    Verifier,
    commented,
)
from tuninglink.spaces.provider_registry import ProviderRegistry

__all__ = ["InitSpec", "init_spec", "init_spec_for_file"]


_Chosen = Sequence[tuple[StartingPoint, str]]
"""The dispatches of the entries, each with its form of matchers."""


def init_spec(
    source: str | os.PathLike[str] | Content,
    *,
    dispatches: str | Iterable[str] = (),
    top: int | None = None,
    target: str | Target | None = None,
    flags: str | Iterable[str] = (),
    sizes: str | Iterable[str] = (),
    name: str = "<memory>",
    diagnostics: DiagnosticSink | None = None,
) -> InitSpec:
    """Write an initial spec for dispatches of a program.

    Each entry has a matcher for one root op and the compiler's own configuration, with a comment on each knob. The
    spec takes effect in the program but does not change its code until it is edited, which the compiler confirms. Like
    `tuninglink.compile`, the function may be called repeatedly.

    Args:
        source: the path of a program in MLIR, or its content; text or bytecode.
        dispatches: parts of names of dispatches or of their functions, with `*` and `?`. By default, all dispatches
            except those that only compute element by element or move data.
        top: the number of entries, for the most expensive problems; None for all.
        target: what to compile for, as for `tuninglink.compile`.
        flags: flags of `iree-compile`, such as `--iree-hal-target-device=hip`, as words or as one line.
        sizes: the sizes of dynamic dimensions for the costs, in the syntax of `--dim`: `0.0=1,8:2,64`.
        name: the name of a program given as content, in locations.
        diagnostics: receives warnings and remarks of the compiler. Errors are raised.

    Raises:
        CompileError: the program or a flag is malformed, the compiler reported an error, or no dispatch matches the
            names.
        TuninglinkError: a file cannot be read.
    """
    request = read_request(
        specs=(),
        default_specs=False,
        spec_directories=(),
        target=target,
        flags=flags,
        upgrade=False,
    )
    report = diagnostics.emit if diagnostics else None
    options = _until_sources(request.options)
    compiler = Compiler(options, SpecChoice(), request.options.flags, report)
    sources = compile_with(compiler, source, name).output
    given = tuple(map(GivenSizes.parse, several(sizes, "sizes")))
    return _SpecWriter(sources, Backend(request.options.flags), report, given).write(
        program_name(source, name), several(dispatches, "dispatches"), top
    )


def init_spec_for_file(
    options: CompileOptions,
    dispatches: Sequence[str],
    top: int | None,
    report: Callable[[Diagnostic], None] | None = None,
) -> InitSpec:
    """Write an initial spec for a file. Process-wide flags are set already.

    Args:
        options: the options of the compilation.
        dispatches: see `init_spec`.
        top: see `init_spec`.
        report: receives each warning and remark of the compiler.

    Raises:
        CompileError: see `init_spec`.
    """
    assert options.input is not None
    compiler = Compiler(_until_sources(options), SpecChoice(), report=report)
    sources = compiler.compile_file(options.input).output
    writer = _SpecWriter(sources, Backend(), report, options.sizes)
    return writer.write(options.input, dispatches, top)


def _until_sources(options: CompileOptions) -> CompileOptions:
    if not options.compile_from <= Phase.EXECUTABLE_SOURCES:
        text = f"the input is past '{Phase.EXECUTABLE_SOURCES.value}' already"
        raise CompileError(error(f"dispatches cannot be found: {text}"))
    return replace(options, compile_to=Phase.EXECUTABLE_SOURCES, emit_bytecode=True)


class _SpecWriter:
    """A writer of initial specs for one program."""

    def __init__(
        self,
        sources: bytes,
        backend: Backend,
        report: Callable[[Diagnostic], None] | None,
        sizes: Sequence[GivenSizes],
    ) -> None:
        configured = backend.run(sources, Phase.EXECUTABLE_CONFIGURATIONS).output
        self._reader = ProgramReader(sources, configured, sizes=sizes)
        self._verifier = Verifier(backend, sources, configured)
        self._registry = ProviderRegistry(report or (lambda _: None))

    def write(self, program: str, dispatches: Sequence[str], top: int | None) -> InitSpec:
        points = [point for point in self._reader.points if _is_selected(point, dispatches)][:top]
        left_out = [
            left
            for left in self._reader.left_out
            if not dispatches or _fits(left.dispatches, dispatches)
        ]
        if not points and not left_out:
            raise CompileError(self._nothing(program, dispatches))
        forms: dict[int, Iterator[str]] = {}
        reasons: dict[int, str] = {}
        for point in points:
            forms_left, reasons[id(point)] = _forms(point)
            forms[id(point)] = iter(forms_left)
        chosen = [(point, next(forms[id(point)], "")) for point in points]
        # Try the next form of each matcher that failed, until the compiler accepts all entries.
        while True:
            left_out += [
                LeftOut(point.dispatches, point.words, reasons[id(point)])
                for point, form in chosen
                if not form
            ]
            chosen = [(point, form) for point, form in chosen if form]
            text, entries = _spec(chosen)
            failures = self._failures(chosen, text, entries)
            if not failures:
                break
            failed = {id(entries[matcher]): reason for matcher, reason in failures.items()}
            reasons |= failed
            chosen = [
                (point, next(forms[id(point)], "") if id(point) in failed else form)
                for point, form in chosen
            ]
        # Add comments to the text.
        heading = _heading(program, entries.values())
        text = commented(text, entries, self._registry, heading)
        return InitSpec(text, entries, tuple(left_out))

    def _failures(
        self, chosen: _Chosen, text: str, entries: Mapping[str, StartingPoint]
    ) -> dict[str, str]:
        """Return the reasons for entries without the intended effect.

        If the compiler fails, entries are checked one by one.
        """
        if not chosen:
            return {}
        try:
            return self._verifier.failures(text, entries)
        except CompileError as failure:
            if len(chosen) == 1:
                return dict.fromkeys(entries, failure.diagnostics[0].message)
        reasons: dict[str, str] = {}
        for matcher, choice in zip(entries, chosen, strict=True):
            reasons |= dict.fromkeys(
                [matcher] if self._failures([choice], *_spec([choice])) else [], _FAILS
            )
        return reasons or dict.fromkeys(entries, _FAILS)

    def _nothing(self, program: str, dispatches: Sequence[str]) -> Diagnostic:
        if not self._reader.dispatches:
            return error(f"there is no dispatch in '{program}'")
        listed = [
            note(f"there is {dispatch.name}") for dispatch in self._reader.dispatches[:_SHOWN]
        ]
        if dispatches:
            join = ", ".join(f"'{dispatch}'" for dispatch in dispatches)
            return error(f"no dispatch in '{program}' is called {join}", notes=listed)
        message = f"'{program}' has only element-wise ops and copies; name one with --dispatch"
        return error(message, notes=listed)


_FAILS = "the compiler fails where the entry takes effect"

_SHOWN = 5
"""The number of dispatches to list if none matches."""


def _is_selected(point: StartingPoint, patterns: Sequence[str]) -> bool:
    if not patterns:
        return is_tunable(point.workload.problem.kind)
    return _fits((*point.dispatches, point.label), patterns)


def _fits(subjects: Iterable[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(subject, f"*{pattern}*") for subject in subjects for pattern in patterns)


def _forms(point: StartingPoint) -> tuple[list[str], str]:
    """Return the forms of matchers for the root op, the most robust first, and the reason why the last one fails."""
    forms = []
    reason = ""
    for form in FORMS:
        try:
            matcher_key(point.workload, form)
        except NoMatcherError as failure:
            reason = str(failure)
            continue
        forms.append(form)
    return forms, reason


def _spec(chosen: _Chosen) -> tuple[str, dict[str, StartingPoint]]:
    """Return a spec, and its entries by the symbol of the matcher."""
    fresh = FreshNames([])
    labels = [fresh.take(point.label) for point, _ in chosen]
    entries = [
        SpecEntry(label, point.workload, form, point.attributes)
        for label, (point, form) in zip(labels, chosen, strict=True)
    ]
    named = {f"match_{label}": point for label, (point, _) in zip(labels, chosen, strict=True)}
    return write_spec("start", entries), named


def single_entry(program: str, point: StartingPoint, registry: ProviderRegistry | None) -> str:
    """Return a spec with one entry, without verification by the compiler; empty if no matcher form fits the op.

    Args:
        program: the name of the program.
        point: the dispatches of the entry.
        registry: the providers of valid values; None to leave them out.
    """
    forms, _ = _forms(point)
    if not forms:
        return ""
    text, entries = _spec([(point, forms[0])])
    return commented(text, entries, registry, _heading(program, [point]))


def _heading(program: str, points: Iterable[StartingPoint]) -> list[str]:
    targets = ", ".join(sorted({point.target for point in points})) or "its target"
    return [
        f"// The compiler's own configurations of '{program}' for {targets}, written by `tuninglink init`.",
        "// The spec changes no code until a configuration is edited. `tuninglink check` verifies it afterwards.",
        "",
    ]
