"""Initial specs: entries for the dispatches of a program, with the compiler's own configurations."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.arguments import Content, several
from tuninglink.compiler import (
    Compilation,
    CompileOptions,
    Compiler,
    DispatchSources,
    Phase,
    SpecChoice,
    executable_name,
    materialize_encodings,
    prepare_dispatches,
    program_source,
    read_request,
)
from tuninglink.emission import (
    FORMS,
    NoMatcherError,
    Preparation,
    SpecEntry,
    matcher_key,
    write_spec,
)
from tuninglink.errors import CompileError, Diagnostic, printable
from tuninglink.iree import (
    Dispatch,
    DispatchCost,
    GivenSizes,
    OpKind,
    Target,
    containers,
    count_calls,
    describe,
    dispatch_costs,
    find_dispatches,
    find_root_ops,
)
from tuninglink.matching import OpInfo
from tuninglink.mlir import (
    DiagnosticSink,
    FreshNames,
    collect,
    error,
    names,
    note,
    place_of,
    symbol_name,
    thread_context,
    to_bytecode,
)
from tuninglink.passes.strip_configs import strip_configurations
from tuninglink.spaces import AllowedValues, ProviderRegistry, knob_values, meaning, tiled_problem
from tuninglink.spaces.model import Configuration, Workload, read_configuration, read_workload
from tuninglink.specs import load_spec


@dataclass(frozen=True)
class StartingPoint:
    """Dispatches with one root op and one configuration, for one entry.

    Attributes:
        label: the name of the function of the first dispatch.
        words: a description of the root op.
        calls: the total number of calls in the program.
        cost: the cost of one call.
        workload: the root op as matchers see it.
        configuration: the compiler's own choice.
        attributes: the attributes by which a spec sets this configuration, by name, as MLIR prints them.
    """

    dispatches: tuple[str, ...]
    label: str
    words: str
    calls: int
    cost: DispatchCost
    target: str
    workload: Workload
    configuration: Configuration
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class LeftOut:
    """Dispatches without an entry, with a description of their root op as far as it is known, and the reason."""

    dispatches: tuple[str, ...]
    words: str
    reason: str

    def __str__(self) -> str:
        more = f" and {len(self.dispatches) - 1} more" if len(self.dispatches) > 1 else ""
        what = f" ({self.words})" if self.words else ""
        return f"{self.dispatches[0]}{more}{what}: {self.reason}"


@dataclass(frozen=True)
class InitSpec:
    """An initial spec.

    Attributes:
        text: the spec, as MLIR text with comments.
        entries: its entries by the symbol of the matcher, the most expensive first.
        left_out: the selected dispatches without an entry.
    """

    text: str
    entries: Mapping[str, StartingPoint]
    left_out: tuple[LeftOut, ...]


def commented(
    text: str,
    entries: Mapping[str, StartingPoint],
    registry: ProviderRegistry | None,
    program: str,
) -> str:
    """Return a spec of a program with comments on its entries and their knobs, with valid values if asked for."""
    # Without aliases, which would be shared, each entry can be edited separately.
    text = str(mlir.Module.parse(text, thread_context()).operation.get_asm(use_local_scope=True))
    module = mlir.Module.parse(text, thread_context())
    targets = ", ".join(sorted({point.target for point in entries.values()})) or "its target"
    heading = [
        f"// The compiler's own configurations of '{program}' for {targets}, written by `tuninglink init`.",
        "// The spec changes no code until a configuration is edited. `tuninglink check` verifies it afterwards.",
        "",
    ]
    above: dict[int, list[str]] = {1: heading}
    for sequence in collect(module.operation, names.NAMED_SEQUENCE):
        point = entries.get(symbol_name(sequence) or "")
        if point is not None:
            called = "called once" if point.calls == 1 else f"{point.calls:,} calls"
            cost, count = point.cost, len(point.dispatches)
            if cost.flops is not None and cost.bytes is not None:
                called += f"; {cost.flops:,} operations and {cost.bytes:,} bytes a call"
            more = f" and {count - 1:,} more" if count > 1 else ""
            about = [point.words, f"{point.dispatches[0]}{more}: {called}"]
            constant = collect(sequence, names.PARAM_CONSTANT)[0]
            knobs = _about_knobs(point, registry)
            for part, comments, indent in ((sequence, about, "  "), (constant, knobs, "    ")):
                place = place_of(part.location)
                assert place is not None  # it was parsed from text
                above[place.line] = [f"{indent}// {comment}" for comment in comments]
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        lines += [*above.get(number, ()), line]
    return "\n".join(lines) + "\n"


def _about_knobs(point: StartingPoint, registry: ProviderRegistry | None) -> Iterator[str]:
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
    options, _, _ = read_request(target=target, flags=flags)
    report = diagnostics.emit if diagnostics else None
    options = replace(options, sizes=tuple(map(GivenSizes.parse, several(sizes, "sizes"))))
    program = program_source(source)
    writer = _SpecWriter(options, program, name, options.flags, report)
    shown = printable(program) if isinstance(program, str) else name
    return writer.write(shown, several(dispatches, "dispatches"), top)


def init_spec_for_file(
    options: CompileOptions,
    dispatches: Sequence[str],
    top: int | None,
    report: Callable[[Diagnostic], None] | None = None,
) -> InitSpec:
    """Write an initial spec for a file, as `init_spec` does. Process-wide flags are set already."""
    assert options.input is not None
    writer = _SpecWriter(options, options.input, options.input, (), report)
    return writer.write(options.input, dispatches, top)


class _SpecWriter:
    """A writer of initial specs for one program, which compares it with and without a spec."""

    def __init__(
        self,
        options: CompileOptions,
        source: str | bytes,
        name: str,
        session_flags: Sequence[str],
        report: Callable[[Diagnostic], None] | None,
    ) -> None:
        if not options.compile_from <= Phase.EXECUTABLE_SOURCES:
            text = f"the input is past '{Phase.EXECUTABLE_SOURCES.value}' already"
            raise CompileError(error(f"dispatches cannot be found: {text}"))
        until = replace(options, compile_to=Phase.EXECUTABLE_SOURCES, emit_bytecode=True)
        compiler = Compiler(until, SpecChoice(), session_flags, report)
        self._sources = compiler.compile(source, name).output
        self._session_flags = session_flags
        configured = self._run(self._sources, Phase.EXECUTABLE_CONFIGURATIONS).output
        self._reader = ProgramReader(self._sources, configured, sizes=options.sizes)
        self._plain = _dispatch_texts(configured)
        self._registry = ProviderRegistry(report or (lambda _: None))

    def write(self, program: str, dispatches: Sequence[str], top: int | None) -> InitSpec:
        points = [
            point
            for point in self._reader.points
            if (
                _fits((*point.dispatches, point.label), dispatches)
                if dispatches
                else is_tunable(point.workload.problem.kind)
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
        text = commented(text, entries, self._registry, program)
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
            compiled = self._run(self._sources, Phase.EXECUTABLE_CONFIGURATIONS, [text])
            # The compiler also configures ops around the root op, which may not change the code.
            tuned = _dispatch_texts(compiled.output)
            suspected = [name for name, text in tuned.items() if text != self._plain[name]]
            executables = list(dict.fromkeys(map(executable_name, suspected)))
            module = mlir.Module.parse(self._sources, thread_context()).operation
            differing = self._differing(module, executables, text) if executables else ()
            changed = {name for name in suspected if executable_name(name) in differing}
            # The first reason of each entry.
            reasons: dict[str, str] = {}
            for matcher, point in entries.items():
                effects = {
                    item.dispatch: item
                    for item in compiled.applied
                    if item.entry and item.entry.matcher == matcher
                }
                for name in point.dispatches:
                    if name not in effects:
                        reason = f"its matcher does not match the root op of {name}"
                        reasons.setdefault(matcher, reason)
                    elif not effects[name].is_own:
                        reason = f"the compiler changes the configuration in {name}"
                        reasons.setdefault(matcher, reason)
                for name in effects:
                    if name in changed:
                        reason = f"the entry changes the code of {name}, as the compiler's configuration consists of more than the entry"
                        reasons.setdefault(matcher, reason)
            return reasons
        except CompileError as failure:
            if len(chosen) == 1:
                return dict.fromkeys(entries, failure.diagnostics[0].message)
        failing = [
            matcher
            for matcher, choice in zip(entries, chosen, strict=True)
            if self._failures([choice], *_spec([choice]))
        ]
        return dict.fromkeys(failing or entries, _FAILS)

    def _run(self, program: bytes, last: Phase, specs: Sequence[str] = ()) -> Compilation:
        """Compile a program at `executable-sources` up to a phase, with specs as text."""
        options = CompileOptions(
            compile_from=Phase.EXECUTABLE_SOURCES, compile_to=last, emit_bytecode=True
        )
        choice = SpecChoice([load_spec(spec.encode()) for spec in specs])
        return Compiler(options, choice, self._session_flags).compile(program, "<dispatches>")

    def _differing(self, module: mlir.Operation, executables: list[str], spec: str) -> set[str]:
        """Return the executables whose code the spec changes. If the compiler fails, each is compiled separately."""
        part = to_bytecode(DispatchSources(module).program(executables).operation)
        codes: list[dict[str, str] | None] = []
        for specs in ((), (spec,)):
            try:
                compiled = self._run(part, Phase.EXECUTABLE_TARGETS, specs)
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


_FAILS = "the compiler fails where the entry takes effect"

_SHOWN = 5
"""The number of dispatches to list if none matches."""


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
    """Return a spec with one entry, without verification by the compiler; empty if no matcher form fits the op."""
    forms, _ = _forms(point)
    if not forms:
        return ""
    text, entries = _spec([(point, forms[0])])
    return commented(text, entries, registry, program)


# --- The problems of a program, for entries: root ops of dispatches, with the compiler's configurations


class _NoStartError(Exception):
    """An error for a dispatch without a possible entry, with the reason, and the computation if it is known."""


class ProgramReader:
    """The dispatches of a program as the compiler configures them without specs.

    Args:
        sources: the program at `executable-sources`, as bytecode.
        configured: the program at `executable-configurations`.
        calls: the number of calls of each dispatch, in case the program does not determine it.
        sizes: the sizes of dynamic dimensions for the costs.

    Attributes:
        points: the problems that entries can be written for, the most expensive first.
        left_out: the other dispatches.
        dispatches: all dispatches, without configurations.
    """

    def __init__(
        self,
        sources: bytes,
        configured: bytes,
        calls: Counter[str] | None = None,
        sizes: Sequence[GivenSizes] = (),
    ) -> None:
        context = thread_context()
        before = mlir.Module.parse(sources, context).operation
        materialize_encodings(before)
        self._after = mlir.Module.parse(configured, context).operation
        self._calls = count_calls(before) if calls is None else calls
        self._costs = dispatch_costs(before, sizes)
        self.dispatches = find_dispatches(self._after)
        # Read the configurations, and remove them: matchers see ops without.
        self._configurations = {
            dispatch.name: [
                (root, read_configuration(root, function))
                for root, function in _roots(dispatch.module)
            ]
            for dispatch in self.dispatches
        }
        strip_configurations(self._after)
        self._prepared = prepare_dispatches(self.dispatches, DispatchSources(before))
        # Join dispatches of the same problem and configuration.
        points: dict[Hashable, StartingPoint] = {}
        left_out: dict[tuple[str, str], tuple[str, ...]] = {}
        for dispatch in self.dispatches:
            try:
                key, point = self._point(dispatch)
            except _NoStartError as failure:
                reason, *words = failure.args
                why = "".join(words), reason
                left_out[why] = (*left_out.get(why, ()), dispatch.name)
                continue
            if key in points:
                same = points[key]
                together, count = (*same.dispatches, *point.dispatches), same.calls + point.calls
                point = replace(same, dispatches=together, calls=count)
            points[key] = point
        self.points = sorted(
            points.values(),
            key=lambda point: (
                point.calls * (point.cost.flops or 0),
                point.calls * (point.cost.bytes or 0),
            ),
            reverse=True,
        )
        self.left_out = [LeftOut(names_, *why) for why, names_ in left_out.items()]

    def _point(self, dispatch: Dispatch) -> tuple[Hashable, StartingPoint]:
        configured = self._configurations[dispatch.name]
        if not configured:
            raise _NoStartError("it has no configurable op")
        if len(configured) > 1:
            raise _NoStartError("it has several root ops, and a spec can configure one")
        ((after, configuration),) = configured
        # The root op as the spec's matchers see it. If the spec adds a batch loop, it does so before the match.
        roots = [(op, function) for op, function in _roots(dispatch.module) if op == after]
        workloads = (read_workload(*pair, self._after) for pair in roots)
        if not any(map(Preparation.BATCH_LOOP.is_for, workloads)):
            module = self._prepared.modules[dispatch.name]
            if module is None:
                raise _NoStartError(self._prepared.unsure or "the input of matchers is unknown")
            roots = roots if module == dispatch.module else _roots(module)
            if len(roots) != 1:
                raise _NoStartError("the backend rewrites its ops before it chooses a root op")
        root, function = roots[0]
        op = OpInfo(root)
        words = describe(op)
        if configuration is None or configuration.translation_info is None:
            raise _NoStartError("the compiler does not configure its root op", words)
        lowering, translation = configuration.lowering_config, configuration.translation_info
        info = iree_codegen.CompilationInfoAttr.get(lowering, translation, ctx=lowering.context)
        attributes = {names.COMPILATION_INFO: str(info)}
        if configuration.decomposition_config is not None:
            attributes[names.DECOMPOSITION_CONFIG] = str(configuration.decomposition_config)
        point = StartingPoint(
            dispatches=(dispatch.name,),
            label=symbol_name(function) or "",
            words=words,
            calls=self._calls[dispatch.name],
            cost=self._costs[dispatch.name],
            target=str(dispatch.target or ""),
            workload=read_workload(root, function, self._after),
            configuration=configuration,
            attributes=attributes,
        )
        return (op.key, point.target, tuple(attributes.items())), point


def _roots(module: mlir.Operation) -> list[tuple[mlir.Operation, mlir.Operation]]:
    return [(op, roots.function) for roots in find_root_ops(module) for op in roots.roots]


def is_tunable(kind: OpKind) -> bool:
    """Return whether ops of a kind can benefit from tuning. Elementwise ops do not."""
    return kind not in (OpKind.ELEMENTWISE, OpKind.OTHER)
