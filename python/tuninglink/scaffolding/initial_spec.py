"""Initial specs: entries for the dispatches of a program, with the compiler's own configurations.

A frozen spec has an entry for each dispatch that an entry can configure, as specs or the compiler configured it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.arguments import Content, several
from tuninglink.compiler import (
    Compilation,
    CompileOptions,
    Compiler,
    DispatchSources,
    Phase,
    SpecChoice,
    executable_name,
    program_source,
    read_request,
)
from tuninglink.emission import (
    ALSO,
    EntryForm,
    Failure,
    SpecEntry,
    accepted,
    forms_for,
    used_part,
    with_comments,
    write_spec,
)
from tuninglink.errors import CompileError, Diagnostic, counted, escaped, printable
from tuninglink.iree import GivenSizes, Target, containers, find_dispatches
from tuninglink.mlir import (
    DiagnosticSink,
    FreshNames,
    error,
    names,
    note,
    symbol_name,
    symbols,
    thread_context,
    to_bytecode,
    to_text,
)
from tuninglink.scaffolding.program_reader import (
    LeftOut,
    ProgramReader,
    StartingPoint,
    can_be_predicted,
    is_tunable,
)
from tuninglink.spaces import AllowedValues, ProviderRegistry, knob_values, meaning, tiled_problem
from tuninglink.spaces.model import Workload, configuration_from
from tuninglink.specs import (
    FLAGS,
    LIBRARY,
    MAKERS,
    NOT_PREDICTED,
    PREDICTED,
    PROVENANCE,
    LinkForm,
    Revision,
    Spec,
    SpecSource,
    expected_gain,
    link_nothing,
    link_specs,
    load_spec,
    load_specs,
    provenance_attribute,
    provenance_of,
    settings_of,
)


@dataclass(frozen=True)
class InitSpec:
    """An initial spec.

    Attributes:
        text: the spec, as MLIR text with comments.
        entries: its entries by the symbol of the matcher, the most expensive first, without those that a frozen spec
            has from the given specs.
        left_out: the selected dispatches without an entry.
        coverage: the part of the program that the entries configure, in words.
        forms: what its replace entries do, in words, by the symbol of the matcher.
    """

    text: str
    entries: Mapping[str, StartingPoint]
    left_out: tuple[LeftOut, ...]
    coverage: str = ""
    forms: Mapping[str, str] = field(default_factory=dict)


def commented(
    text: str,
    entries: Mapping[str, StartingPoint],
    heading: Sequence[str],
    about_knobs: Callable[[StartingPoint], Iterable[str]],
    forms: Mapping[str, str] | None = None,
) -> str:
    """Return a spec of a program with a heading, and with comments on its entries and their knobs."""
    comments: dict[str, tuple[Sequence[str], Iterable[str]]] = {}
    comments |= {matcher: ([form], ()) for matcher, form in (forms or {}).items()}
    for matcher, point in entries.items():
        called = "called once" if point.calls == 1 else f"{point.calls:,} calls"
        cost, count = point.cost, len(point.dispatches)
        if cost.flops is not None and cost.bytes is not None:
            called += f"; {cost.flops:,} operations and {cost.bytes:,} bytes a call"
        more = f" and {count - 1:,} more" if count > 1 else ""
        about = [point.words, f"{point.dispatches[0]}{more}: {called}"]
        comments[matcher] = about, about_knobs(point)
    return with_comments(text, heading, comments)


def _heading(program: str, entries: Mapping[str, StartingPoint]) -> list[str]:
    targets = ", ".join(sorted({point.target for point in entries.values()})) or "its target"
    return [
        f"The compiler's own configurations of '{program}' for {targets}, written by `tuninglink init`.",
        "The spec changes no code until a configuration is edited. `tuninglink check` verifies it afterwards.",
    ]


def _about_knobs(registry: ProviderRegistry | None, point: StartingPoint) -> Iterator[str]:
    """Yield a line for each knob: its name, its value, its meaning, and other valid values."""
    allowed = registry and AllowedValues(point.workload, point.configuration, registry)
    also = ", and the values that are valid while the others stay" if allowed else ""
    yield f"Each knob with its value and its meaning{also}:"
    values = knob_values(point.configuration)
    problem = tiled_problem(point.workload.problem, values)
    for place, value in values.items():
        text = f"  {place} = {value}"
        about = meaning(place, problem)
        yield f"{text}  ({about})" if about else text
        valid = allowed.by_place.get(place) if allowed else None
        if valid is not None:
            alternatives = ", ".join(valid[1:]) or "no other, unless another knob changes, too"
            yield f"      also: {alternatives}"
    options = allowed.options if allowed else {}
    for name in [name for name in options if name not in values]:
        about = meaning(name)
        yield f"Option, not set: {name} ({about}): {', '.join(options[name])}"
    if allowed and not allowed.by_place:
        yield f"Other valid values are unknown: {allowed.reason}"


# --- Initial specs: entries for the dispatches of a program, with the compiler's own configurations

_Chosen = Sequence[tuple[StartingPoint, EntryForm]]
"""The dispatches of the entries, each with the form of its entry."""

_Written = Callable[[_Chosen], tuple[str, dict[str, StartingPoint]]]
"""Writes a spec as text; also returns its entries by the symbol of the matcher."""

_SETTINGS: Final = frozenset({names.COMPILATION_INFO, names.DECOMPOSITION_CONFIG})
"""The attributes by which an entry sets a configuration."""

_FROZEN = "frozen"
"""The symbol of a frozen spec."""

_MEASURES = {"flops": "operations", "bytes": "bytes"}
"""The words for the measures of work."""


def init_spec(
    source: str | os.PathLike[str] | Content,
    *,
    dispatches: str | Iterable[str] = (),
    top: int | None = None,
    frozen: bool = False,
    predict: bool = False,
    specs: SpecSource | Iterable[SpecSource] = (),
    default_specs: bool = True,
    spec_directories: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
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
        frozen: whether to write a frozen spec instead: for all dispatches, as the specs or the compiler configure them,
            with the version of the compiler and the flags in its provenance.
        predict: whether to write the configurations that a model expects to be faster than the compiler's choices instead:
            the spec of `library:predicted`, with comments.
        specs: for a frozen spec, the user's specs, as for `tuninglink.compile`, like the next two arguments.
        default_specs: whether the default spec of each target comes last.
        spec_directories: searched for default specs before the shipped ones.
        target: what to compile for, as for `tuninglink.compile`.
        flags: flags of `iree-compile`, such as `--iree-hal-target-device=hip`, as words or as one line.
        sizes: the sizes of dynamic dimensions for the costs, in the syntax of `--dim`: `0.0=1,8:2,64`.
        name: the name of a program given as content, in locations.
        diagnostics: receives warnings and remarks of the compiler. Errors are raised.

    Raises:
        CompileError: the program or a flag is malformed, the compiler reported an error, or no dispatch matches the
            names.
        SpecError: a spec is malformed, or cannot be linked.
        TuninglinkError: a file cannot be read.
    """
    if frozen and (dispatches or top is not None):
        raise CompileError(error("a frozen spec is for all dispatches: select none"))
    if frozen and predict:
        raise CompileError(error("a frozen spec keeps the choices, and predictions change them"))
    options, choice, _ = read_request(
        target=target,
        flags=flags,
        specs=specs,
        default_specs=default_specs,
        spec_directories=spec_directories,
    )
    own_flags = read_request(flags=flags)[0].flags if frozen else ()
    report = diagnostics.emit if diagnostics else None
    options = replace(options, sizes=tuple(map(GivenSizes.parse, several(sizes, "sizes"))))
    program = program_source(source)
    choice = choice if frozen else SpecChoice()
    writer = _SpecWriter(options, choice, (program, name), options.flags, report, predict=predict)
    shown = printable(program) if isinstance(program, str) else name
    if frozen:
        return writer.freeze(shown, own_flags)
    write = writer.predict if predict else writer.write
    return write(shown, several(dispatches, "dispatches"), top)


def init_spec_for_file(
    options: CompileOptions,
    dispatches: Sequence[str],
    top: int | None,
    report: Callable[[Diagnostic], None] | None = None,
    *,
    predict: bool = False,
) -> InitSpec:
    """Write an initial spec for a file, as `init_spec` does. Process-wide flags are set already."""
    assert options.input is not None
    program = options.input, options.input
    writer = _SpecWriter(options, SpecChoice(), program, (), report, predict=predict)
    write = writer.predict if predict else writer.write
    return write(options.input, dispatches, top)


def frozen_spec_for_file(
    options: CompileOptions,
    choice: SpecChoice,
    own_flags: Sequence[str],
    report: Callable[[Diagnostic], None] | None = None,
) -> InitSpec:
    """Write a frozen spec for a file, as `init_spec` does; `own_flags` are recorded. Process-wide flags are set already."""
    assert options.input is not None
    writer = _SpecWriter(options, choice, (options.input, options.input), (), report)
    return writer.freeze(options.input, own_flags)


class _SpecWriter:
    """A writer of initial specs for one program, which compares it with and without a spec.

    `choice` has the specs of the compilation without the written one, `program` the path or the content, and the name.
    """

    def __init__(
        self,
        options: CompileOptions,
        choice: SpecChoice,
        program: tuple[str | bytes, str],
        session_flags: Sequence[str],
        report: Callable[[Diagnostic], None] | None,
        *,
        predict: bool = False,
    ) -> None:
        if not options.compile_from <= Phase.EXECUTABLE_SOURCES:
            text = f"the input is past '{Phase.EXECUTABLE_SOURCES.value}' already"
            raise CompileError(error(f"dispatches cannot be found: {text}"))
        until = replace(options, compile_to=Phase.EXECUTABLE_SOURCES, emit_bytecode=True)
        # Dispatches are formed after ops are replaced; configure entries apply later.
        made = load_specs(f"{LIBRARY}{PREDICTED}", for_program=True)[0] if predict else []
        given = [*made, *choice.given]
        before = {
            at: spec if spec.maker else replace(link_nothing([spec]).spec, replacing=spec.replacing)
            for at, spec in enumerate(given)
            if spec.maker or spec.replacing is not None
        }
        if any(spec.maker for spec in given) and options.compile_from < Phase.PREPROCESSING:
            until = replace(until, compile_to=Phase.PREPROCESSING)
            compiler = Compiler(until, SpecChoice([*before.values()]), session_flags, report)
            program = compiler.compile(*program).output, program[1]
            for at, spec in zip(before, compiler.specs, strict=True):
                given[at] = replace(given[at], replacing=spec.replacing)
            before = {}
            until = replace(
                until, compile_from=until.compile_to, compile_to=Phase.EXECUTABLE_SOURCES
            )
        own = SpecChoice([spec for spec in before.values() if not spec.maker])
        self._sources = Compiler(until, own, session_flags, report).compile(*program).output
        self._session_flags = session_flags
        self._forms = given[0].replacing if predict else None
        self._choice = replace(choice, given=given[len(made) :], exact=True, dump="")
        compiler = self._compiler(Phase.EXECUTABLE_CONFIGURATIONS)
        self._configured = compiler.compile(self._sources, "<dispatches>")
        self._choice = replace(self._choice, given=compiler.specs)
        configured = self._configured.output
        self._reader = ProgramReader(self._sources, configured, sizes=options.sizes)
        self._plain = _dispatch_texts(configured)
        self._report = report or (lambda _: None)
        self._registry = ProviderRegistry(self._report)

    def write(self, program: str, dispatches: Sequence[str], top: int | None) -> InitSpec:
        points, left_out = self._selected(program, dispatches, top)
        entries, left_out = self._verified(points, left_out, _spec)
        text, named = _spec(entries)
        # Add comments to the text.
        knobs = partial(_about_knobs, self._registry)
        text = commented(text, named, _heading(program, named), knobs)
        return InitSpec(text, named, tuple(left_out))

    def _selected(
        self,
        program: str,
        dispatches: Sequence[str],
        top: int | None,
        can_gain: Callable[[Workload], bool] = lambda workload: is_tunable(workload.problem.kind),
    ) -> tuple[list[StartingPoint], list[LeftOut]]:
        """Return the selected problems that entries can be written for, and the other selected dispatches."""
        points = [
            point
            for point in self._reader.points
            if (
                _fits((*point.dispatches, point.label), dispatches)
                if dispatches
                else can_gain(point.workload)
            )
        ][:top]
        left_out = [
            left
            for left in self._reader.left_out
            if not dispatches or _fits(left.dispatches, dispatches)
        ]
        if not points and not left_out:
            present = self._reader.dispatches
            listed = [note(f"there is {dispatch.name}") for dispatch in present[:_SHOWN]]
            message = f"'{program}' has only element-wise ops and copies; name one with --dispatch"
            if not present:
                message = f"there is no dispatch in '{program}'"
            elif dispatches:
                join = ", ".join(f"'{dispatch}'" for dispatch in dispatches)
                message = f"no dispatch in '{program}' is called {join}"
            raise CompileError(error(message, notes=listed))
        return points, left_out

    def predict(self, program: str, dispatches: Sequence[str], top: int | None) -> InitSpec:
        """Write the entries of `library:predicted` for the selected dispatches, as far as they take effect."""
        # 1. The selected entries that take effect.
        points, left_out = self._selected(program, dispatches, top, can_be_predicted)
        configured = self._configured.output
        text = MAKERS[PREDICTED].configuring(self._sources, lambda _: configured, self._report)
        spec = load_spec(text.encode())
        table = spec.anatomy.table
        effective, failure = self._effective(text)
        failing: dict[str, str] = {}
        for position, entry in enumerate(spec.entries if failure else ()):
            alone = Revision(spec).finish([position]).text()
            own, failing[entry.matcher] = self._effective(alone)
            effective |= own
        of_dispatch = {name: point for point in points for name in point.dispatches}
        entries: dict[str, StartingPoint] = {}
        gains: dict[str, str] = {}
        kept: list[int] = []
        for position, entry in enumerate(spec.entries):
            provenance = provenance_of(table, entry.matcher)
            point = of_dispatch.get(str(provenance["dispatch"]))
            if point is None:
                continue
            if entry.matcher not in effective:
                reason = failing.get(entry.matcher) or "its prediction does not take effect"
                left_out.append(LeftOut(point.dispatches, point.words, reason))
                continue
            settings = settings_of(spec, entry, _SETTINGS) or {}
            entries[entry.matcher] = replace(point, configuration=configuration_from(settings))
            gains[point.dispatches[0]] = f"Expected: {expected_gain(provenance)}."
            kept.append(position)
        # 2. The selected dispatches without a prediction.
        reasons: Any = provenance_of(table).get(NOT_PREDICTED, {})
        for name, reason in reasons.items():
            if (point := of_dispatch.get(name)) is not None:
                left_out.append(LeftOut(point.dispatches, point.words, reason))
        if kept:
            spec = replace(Revision(spec).finish(kept), replacing=self._forms)
        elif self._forms:
            spec = Spec(self._forms.module, "")
        else:
            return InitSpec("", {}, tuple(left_out))
        # 3. The text, with the expected gain of each entry and its knobs, or what it replaces.
        targets = ", ".join(sorted({point.target for point in points}))
        heading = [
            f"Configurations of '{escaped(program)}' for {targets} that a model expects to be faster than the compiler's,",
            "written by `tuninglink init --predict`. Nothing was measured: `tuninglink retune` measures the entries.",
        ]
        forms = {entry.matcher: entry.form for entry in self._forms.entries} if self._forms else {}
        text = commented(
            *(spec.text(), entries, heading),
            lambda point: (gains[point.dispatches[0]], *_about_knobs(self._registry, point)),
            forms,
        )
        return InitSpec(text, entries, tuple(left_out), forms=forms)

    def _effective(self, text: str) -> tuple[set[str], str]:
        """Return the matchers of the entries that configure an op; none with the reason if there is no code with them."""
        try:
            applied = self._run(self._sources, Phase.EXECUTABLE_CONFIGURATIONS, text).applied
            module = mlir.Module.parse(self._sources, thread_context()).operation
            executables = list(dict.fromkeys(executable_name(item.dispatch) for item in applied))
            part = to_bytecode(DispatchSources(module).program(executables).operation)
            self._run(part, Phase.EXECUTABLE_TARGETS, text)
        except CompileError as failure:
            reason = failure.diagnostics[0].message
            return set(), f"it does not compile with its prediction: {reason}"
        return {item.entry.matcher for item in applied if item.entry and item.is_own}, ""

    def freeze(self, program: str, own_flags: Sequence[str]) -> InitSpec:
        """Write a spec that configures all dispatches as they are configured without it, as far as entries can."""
        # 1. The entries of the given specs that configure a dispatch stay; the other dispatches get entries.
        given, reader = self._choice.given, self._reader
        used: dict[int, dict[str, list[str]]] = {}
        for item in self._configured.applied:
            if item.position < len(given) and not item.ignored and not item.derivation:
                matcher = item.entry.matcher if item.entry else ""
                used.setdefault(item.position, {}).setdefault(matcher, []).append(item.dispatch)
        tuned = {
            name for matchers in used.values() for names_ in matchers.values() for name in names_
        }
        from importlib import metadata  # noqa: PLC0415 - the other specs do not need it

        version = metadata.version("iree-base-compiler")
        about = {"compiler": version, **({FLAGS: list(own_flags)} if own_flags else {})}
        kept = [
            part
            for position, spec in enumerate(given)
            if (part := used_part(spec, used.get(position, {}), reader.record, about)) is not None
        ]
        points = []
        for point in reader.points:
            names_ = tuple(name for name in point.dispatches if name not in tuned)
            if names_:
                points.append(replace(point, dispatches=names_, calls=reader.calls_of(names_)))
        left_out = []
        for omission in reader.left_out:
            names_ = tuple(name for name in omission.dispatches if name not in tuned)
            if names_:
                left_out.append(replace(omission, dispatches=names_))
        # 2. The entries that have the intended effect, after those of the given specs.
        taken = [symbol for spec in kept for symbol in symbols(spec.module)]
        default = {
            item.dispatch: item.spec
            for item in self._configured.applied
            if item.position >= len(given) and not item.ignored
        }

        def linked(chosen: _Chosen) -> tuple[str, dict[str, StartingPoint]]:
            provenances = [
                {
                    "source": default.get(point.dispatches[0], "the compiler's choice"),
                    **about,
                    **reader.record(point.dispatches, point.words),
                    **(
                        {ALSO: [str(one) for one in point.around if one.lowering_config]}
                        if form.is_wide
                        else {}
                    ),
                }
                for point, form in chosen
            ]
            text, entries = _spec(chosen, taken, provenances)
            own = [load_spec(text.encode())] if chosen or not kept else []
            # One list of all entries is verified as well as others, also if some configure neighbors of their ops.
            is_flat = bool(kept) and any(form.is_wide for _, form in chosen)
            is_flat &= all(spec.anatomy.opaque_because is None for spec in kept)
            form = LinkForm.FLAT if is_flat else None
            return link_specs([*kept, *own], name=_FROZEN, form=form).spec.text(), entries

        chosen, left_out = self._verified(points, left_out, linked, is_wide=True)
        text, entries = linked(chosen)
        # 3. What the spec was written for.
        covered = [name for point in entries.values() for name in point.dispatches]
        covered += sorted(tuned)
        if not covered:
            notes = [note(f"no entry for {omission}") for omission in left_out]
            raise CompileError(error(f"no entry can be written for '{program}'", notes=notes))
        everything = [dispatch.name for dispatch in reader.dispatches]
        whole = reader.record(everything)
        work = {name: whole[name] for name in ("dispatches", "calls", "flops", "bytes")}
        records = [
            {**reader.record(omission.dispatches, omission.words), "reason": omission.reason}
            for omission in left_out
        ]
        targets = sorted({str(one.target) for one in reader.dispatches if one.target})
        module = mlir.Module.parse(text, thread_context()).operation
        with module.context, mlir.Location.unknown():
            module.attributes[PROVENANCE] = provenance_attribute(
                {"program": program, **about, "targets": targets, **work, "left_out": records}
            )
        coverage = f"{len(covered):,} of {counted(len(everything), 'dispatch', 'dispatches')}"
        measure = "flops" if whole["flops"] else "bytes"
        if whole[measure]:
            share = reader.record(covered)[measure] / whole[measure]
            coverage += f", {share:.1%} of the {_MEASURES[measure]}"
        heading = [
            f"The configurations of '{escaped(program)}' for {', '.join(targets)} under version {version} of the compiler,",
            f"written by `tuninglink init --all`: {coverage}.",
        ]
        text = commented(to_text(module), entries, heading, lambda _: ())
        return InitSpec(text, entries, tuple(left_out), coverage)

    def _verified(
        self,
        points: Sequence[StartingPoint],
        left_out: Sequence[LeftOut],
        written: _Written,
        *,
        is_wide: bool = False,
    ) -> tuple[_Chosen, list[LeftOut]]:
        """Return the problems whose entries have the intended effect, each with its form, and the other ones.

        Entries that change code may configure the neighbors of the root op, too, if they are `is_wide`.
        """
        chosen, others = accepted(
            points,
            lambda point: forms_for(point.workload, by_signature=is_wide),
            lambda chosen: self._failures(chosen, written),
            self._reader.parts if is_wide else lambda _: (),
        )
        omitted = [LeftOut(point.dispatches, point.words, reason) for point, reason in others]
        if not is_wide:
            omitted = [
                replace(own, reason=f"{own.reason}; '--all' may write one with the ops around it")
                if own.reason.startswith(_CHANGES)
                else own
                for own in omitted
            ]
        return chosen, [*left_out, *omitted]

    def _failures(self, chosen: _Chosen, written: _Written) -> dict[int, Failure]:
        """Return the failures of entries without the intended effect, by position.

        If the compiler fails, entries are checked one by one.
        """
        if not chosen:
            return {}
        text, entries = written(chosen)
        try:
            compiled = self._run(self._sources, Phase.EXECUTABLE_CONFIGURATIONS, text)
        except CompileError as failure:
            if len(chosen) == 1:
                return {0: Failure(failure.diagnostics[0].message)}
            failing = [at for at in range(len(chosen)) if self._failures([chosen[at]], written)]
            return dict.fromkeys(failing or range(len(chosen)), Failure(_FAILS))
        # The compiler also configures ops around the root op, which may not change the code.
        tuned = _dispatch_texts(compiled.output)
        suspected = [name for name, text in tuned.items() if text != self._plain[name]]
        executables = list(dict.fromkeys(map(executable_name, suspected)))
        module = mlir.Module.parse(self._sources, thread_context()).operation
        differing = self._differing(module, executables, text) if executables else ()
        changed = {name for name in suspected if executable_name(name) in differing}
        # The first reason of each entry.
        numbers = {matcher: number for number, matcher in enumerate(entries)}
        effects = [
            (numbers.get(item.entry.matcher if item.entry else "", -1), item)
            for item in compiled.applied
        ]
        winners = {item.dispatch: number for number, item in effects}
        failures: dict[int, Failure] = {}
        for number, point in enumerate(entries.values()):
            own = {item.dispatch: item for at, item in effects if at == number}
            for name in point.dispatches:
                if name not in own:
                    reason = f"its matcher does not match the root op of {name}"
                    failures.setdefault(number, Failure(reason, by=winners.get(name, -1)))
                elif not own[name].is_own:
                    reason = f"the compiler changes the configuration in {name}"
                    failures.setdefault(number, Failure(reason))
            for name in own:
                if name in changed:
                    reason = f"{_CHANGES} {name}, as the compiler's configuration consists of more than the entry"
                    failures.setdefault(number, Failure(reason, is_code=True))
        return failures

    def _run(self, program: bytes, last: Phase, spec: str = "") -> Compilation:
        """Compile a program at `executable-sources` up to a phase, with the given specs or with one as text."""
        return self._compiler(last, spec).compile(program, "<dispatches>")

    def _compiler(self, last: Phase, spec: str = "") -> Compiler:
        options = CompileOptions(
            compile_from=Phase.EXECUTABLE_SOURCES, compile_to=last, emit_bytecode=True
        )
        choice = self._choice
        if spec:
            given = [load_spec(spec.encode())]
            choice = replace(choice, given=given, from_project=0, automatic=frozenset())
        return Compiler(options, choice, self._session_flags)

    def _differing(self, module: mlir.Operation, executables: list[str], spec: str) -> set[str]:
        """Return the executables whose code the spec changes. If the compiler fails, each is compiled separately."""
        part = to_bytecode(DispatchSources(module).program(executables).operation)
        codes: list[dict[str, str] | None] = []
        for text in ("", spec):
            try:
                compiled = self._run(part, Phase.EXECUTABLE_TARGETS, text)
            except CompileError:
                codes.append(None)
                continue
            program = mlir.Module.parse(compiled.output, mlir.Context()).operation
            codes.append(
                {
                    symbol_name(container) or "": str(container)
                    for container in containers(program)
                    if container.name == names.EXECUTABLE
                }
            )
        plain, code = codes
        if len(executables) > 1 and (plain is None or code is None):
            parts = (self._differing(module, [executable], spec) for executable in executables)
            return {name for differing in parts for name in differing}
        if plain is None:
            return set()  # It does not compile without the spec either.
        return {name for name in executables if code is None or plain[name] != code[name]}


def _dispatch_texts(program: bytes) -> dict[str, str]:
    module = mlir.Module.parse(program, mlir.Context()).operation
    return {dispatch.name: str(dispatch.module) for dispatch in find_dispatches(module)}


_CHANGES = "the entry changes the code of"
_FAILS = "the compiler fails where the entry takes effect"

_SHOWN = 5
"""The number of dispatches to list if none matches."""


def _fits(subjects: Iterable[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(subject, f"*{pattern}*") for subject in subjects for pattern in patterns)


def _spec(
    chosen: _Chosen, taken: Iterable[str] = (), provenances: Sequence[Mapping[str, object]] = ()
) -> tuple[str, dict[str, StartingPoint]]:
    """Return a spec, and its entries by the symbol of the matcher, none of which is taken.

    Entries with a provenance are bound to their targets.
    """
    fresh = FreshNames([name.removeprefix("match_") for name in taken])
    labels = [fresh.take(point.label) for point, _ in chosen]
    entries = [
        SpecEntry(
            label,
            point.workload,
            form.matcher,
            point.attributes,
            neighbors=point.around if form.is_wide else (),
        )
        for label, (point, form) in zip(labels, chosen, strict=True)
    ]
    if provenances:
        targets = [Target.parse(point.target) if point.target else None for point, _ in chosen]
        entries = [
            replace(entry, provenance=provenance, target=target)
            for entry, provenance, target in zip(entries, provenances, targets, strict=True)
        ]
    named = {f"match_{label}": point for label, (point, _) in zip(labels, chosen, strict=True)}
    return write_spec(_FROZEN if provenances else "start", entries), named


def single_entry(program: str, point: StartingPoint, registry: ProviderRegistry | None) -> str:
    """Return a spec with one entry, without verification by the compiler; empty if no matcher form fits the op."""
    forms, _ = forms_for(point.workload)
    if not forms:
        return ""
    text, entries = _spec([(point, EntryForm(forms[0]))])
    return commented(text, entries, _heading(program, entries), partial(_about_knobs, registry))
