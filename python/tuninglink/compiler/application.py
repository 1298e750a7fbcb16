"""The application of specs within a compilation: embedding, reading of their effects, and diagnostics about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.compiler.prepared_dispatches import DispatchSources
from tuninglink.compiler.targets import program_targets
from tuninglink.compiler.tracing import Applied, TaggedSpec, configures, take_tags
from tuninglink.errors import CompileError, Diagnostic, Place, Severity, counted
from tuninglink.files import write_standard_output
from tuninglink.iree import RANGES, Target, containers, find_dispatches
from tuninglink.matching import (
    LinkedDispatch,
    Pruning,
    embed_specs,
    link_dispatches,
    specialize_dispatches,
)
from tuninglink.mlir import (
    DiagnosticSink,
    body,
    collect,
    names,
    note,
    once,
    place_of,
    thread_context,
    to_bytecode,
    visit,
)
from tuninglink.pinning import check_replace_entries
from tuninglink.preprocessing import Replaced, replace_ops, with_made_entries
from tuninglink.specs import (
    FLAGS,
    IN_ONE,
    LIBRARY,
    MAKERS,
    NOT_PREDICTED,
    Applicability,
    DefaultLibrary,
    Spec,
    SpecKind,
    binding_of,
    collect_specs,
    library_of,
    load_spec,
    only_reads,
    provenance_of,
    settings_of,
    spec_attribute,
)
from tuninglink.specs.verification import check_configurations

if TYPE_CHECKING:
    from tuninglink.compiler.session import Invocation
    from tuninglink.specs import ReplaceList, SpecFile

_TRACED: Final = 32
"""The number of entries up to which each is traced in any case: it is cheap, and errors can name the entry."""

_CHECKED: Final = 1_000
"""The number of entries of a spec up to which all configurations are checked if all entries are embedded."""

_MOST_READ: Final = 1_000
"""The number of entries of a spec up to which they are read for the flags of their tuning."""

_OTHERS_MAY_COMPILE: Final = (
    "no spec configured it; another configuration may compile: 'tuninglink tune' searches for one on a device of the "
    "target, and 'tuninglink init' writes the compiler's as a spec to edit"
)


@dataclass(frozen=True)
class SpecChoice:
    """The specs of a compilation, and how they are applied.

    Attributes:
        given: the user's specs, in order of precedence.
        from_project: the number of specs from a project file, which come last and may be for other programs.
        automatic: the positions of specs that the user did not name, which need not configure anything.
        library: the library of default specs, or None.
        exact: whether to trace each entry, or only each spec.
        dump: a directory for the linked specs, `-` for standard output; empty for no dump.
        prune: whether each dispatch receives only the entries that may match in it, unless the specs are dumped or the
            program is written with its specs.
        derive: whether to derive entries for other spellings of the problems of entries.
    """

    given: Sequence[Spec] = ()
    from_project: int = 0
    automatic: frozenset[int] = frozenset()
    library: DefaultLibrary | None = None
    exact: bool = True
    dump: str = ""
    prune: bool = True
    derive: bool = False


class Application:
    """The application of specs to the programs of one compilation, with checks of their configurations."""

    def __init__(
        self,
        choice: SpecChoice,
        report: Callable[[Diagnostic], None],
        machine: Target | None = None,
    ) -> None:
        self._choice = self._given = choice
        self._made = frozenset(at for at, spec in enumerate(choice.given) if spec.maker)
        self._machine = machine
        self._report = report
        self._pruning = Pruning()
        self._tagged: dict[str, TaggedSpec] = {}
        self._configured: set[str] = set()
        self._traceable: set[int] = set()
        self._targets: set[Target | None] = set()
        self._skipped: set[str] = set()
        self._skipped_specs: set[int] = set()
        self._at_errors: dict[Place | None, set[str]] = {}
        self.applied: list[Applied] = []
        self.replaced: list[Replaced] = []
        self._replace_entries: ReplaceList | None = None
        self._foreign: Mapping[int, str] = {}
        # Each finding about a configuration is reported once, as a warning, for all parts of a program.
        self._warnings = once(
            DiagnosticSink(lambda finding: report(replace(finding, severity=Severity.WARNING)))
        )

    def skip(
        self, failing: Mapping[str, Diagnostic], applied: Sequence[Applied]
    ) -> Sequence[Diagnostic]:
        """Start the program again, without specs in dispatches that fail with them. Return a warning for each.

        `applied` are the effects on earlier programs.
        """
        warnings = []
        for dispatch, failure in failing.items():
            causes = [item for item in self.applied if item.dispatch == dispatch]
            self._skipped_specs |= {item.position for item in causes}
            entries = [item.entry for item in causes if item.entry]
            matchers = [f"entry '{entry.matcher}'" for entry in entries]
            skipped = " and ".join(dict.fromkeys(matchers)) or "the spec"
            message = f"{skipped} is skipped in {dispatch}, which does not compile with it"
            place = entries[0].place if entries else None
            why = note(failure.message, failure.place)
            warnings.append(Diagnostic(Severity.WARNING, message, place, (why,)))
        self._skipped = set(failing)
        self._tagged.clear()
        self._configured.clear()
        self.applied[:] = applied
        return warnings

    @property
    def choice(self) -> SpecChoice:
        """The specs, with those that were made for the last program."""
        return self._choice

    def make_specs(self, module: mlir.Operation, configure: Callable[[bytes], bytes]) -> None:
        """Make the specs of libraries for a program at `executable-sources`; see `SpecMaker`."""
        given, sources = list(self._choice.given), b""
        for position in self._made:
            placeholder = self._given.given[position]
            if not sources:
                all_sources = DispatchSources(module)
                sources = to_bytecode(all_sources.program(all_sources.executables).operation)
            text = MAKERS[placeholder.maker].configuring(sources, configure, self._report)
            targets = binding_of(placeholder.module) or ()
            made = load_spec(text.encode(), name=placeholder.source, targets=targets)
            given[position] = replace(made, replacing=given[position].replacing)
        self._choice = replace(self._choice, given=given)

    def only_made(self, failing: Collection[str]) -> bool:
        """Return whether entries of specs that were made configured all of the failing executables, and no others did."""
        causes = [item for item in self.applied if item.dispatch in failing]
        are_made = all(item.position in self._made for item in causes)
        failed = {name.partition("::")[0] for name in failing}  # with all variants
        return are_made and {item.dispatch.partition("::")[0] for item in causes} == failed

    def prepare(self) -> None:
        """Read the specs. Until the end, nothing else may use them, or anything in their context."""
        for spec in self._choice.given if self._choice.prune else ():
            self._pruning.prepare(spec)

    def replace(self, module: mlir.Operation) -> None:
        """Replace ops of a program at `preprocessing`, also by entries of libraries that are made for it."""
        targets = program_targets(module)
        given = with_made_entries(module, targets, self._choice.given, self._given.given)
        choice = self._choice = replace(self._choice, given=given)
        for spec in given:
            if spec.replacing is not None:
                check_replace_entries(spec.replacing, self._warnings)
        replacement = replace_ops(
            *(module, targets, choice.given, choice.library, self._report), machine=self._machine
        )
        self.replaced += replacement.replaced
        self._replace_entries = replacement.entries
        self._foreign = replacement.foreign
        if any(op.name.endswith(".executable") for op in body(module)):
            self._foreign = dict.fromkeys(range(len(choice.given)), "its ops are in dispatches")

    def embed(self, module: mlir.Operation, *, tagged: bool) -> bool:
        """Embed specs in the dispatches of a program at `executable-sources`. Return whether any dispatch has a spec."""
        # Tagged specs leave tags, which `read` reads.
        if not any(container.name == names.EXECUTABLE_VARIANT for container in containers(module)):
            return False
        choice = self._choice
        dispatches = link_dispatches(
            module,
            choice.given,
            library=choice.library,
            # Specs that are written, with or without the program, must be complete.
            pruning=self._pruning if choice.prune and tagged and not choice.dump else None,
            derives=choice.derive,
            diagnostics=DiagnosticSink(self._report),
            context=thread_context(),
        )
        dispatches = tuple(
            replace(dispatch, linked=None) if dispatch.dispatch.name in self._skipped else dispatch
            for dispatch in dispatches
        )
        self._check_configurations(dispatches)
        specialize_dispatches(dispatches)
        if choice.dump or not tagged:
            embed_specs(dispatches, module.context)
            if self._replace_entries is not None:
                content = to_bytecode(self._replace_entries.module)
                module.attributes[names.REPLACE_SPEC] = spec_attribute(content, module.context)
        if choice.dump:
            specs = collect_specs(module)
            if tagged and names.REPLACE_SPEC in module.attributes:
                del module.attributes[names.REPLACE_SPEC]
            if choice.dump == "-":
                write_standard_output(specs.as_stream())
            else:
                specs.write(choice.dump)
        # Tag what each entry configures, in one copy of each linked spec.
        copies: dict[int, tuple[TaggedSpec, mlir.Attribute]] = {}
        for dispatch in dispatches if tagged else ():
            if (linked := dispatch.linked) is None:
                continue
            if id(linked) not in copies:
                counts = (
                    len(part.spec.anatomy.pairs if part.kept is None else part.kept)
                    for part in linked.parts
                )
                copy = TaggedSpec(linked, exact=choice.exact or sum(counts) <= _TRACED)
                copies[id(linked)] = copy, spec_attribute(copy.content, module.context)
                self._traceable.update(origin.position for origin in copy.origins)
            name, inner = dispatch.dispatch.name, dispatch.dispatch.module
            self._tagged[name], attribute = copies[id(linked)]
            inner.attributes[names.EMBEDDED_SPEC] = attribute
            if any(names.TRANSLATION_INFO in op.attributes for op in body(inner)):
                self._configured.add(name)
        self._targets.update(dispatch.dispatch.target for dispatch in dispatches)
        return any(dispatch.linked for dispatch in dispatches)

    def _check_configurations(self, dispatches: Iterable[LinkedDispatch]) -> None:
        """Check all configurations of each spec, or only the configurations of linked entries if the spec is large."""
        sources = {spec.source for spec in self._choice.given}
        # Linked entries are not foreign to the target.
        linked = (
            (part.spec, dispatch.dispatch.target, part.kept)
            for dispatch in dispatches
            for part in (dispatch.linked.parts if dispatch.linked else ())
            if part.spec.source in sources
        )
        checked: dict[tuple[int, Target | None], tuple[Spec, set[int]]] = {}
        for spec, target, kept in (*((spec, None, None) for spec in self._choice.given), *linked):
            count = len(spec.anatomy.pairs)
            positions = range(count if count <= _CHECKED else 0) if kept is None else kept
            checked.setdefault((id(spec), target), (spec, set()))[1].update(positions)
        for (_, target), (spec, of_spec) in checked.items():
            check_configurations(spec, self._warnings, target, sorted(of_spec))

    def read(
        self, module: mlir.Operation, *, search: bool = False
    ) -> list[tuple[mlir.Operation, Applied]]:
        """Read the effects in a program at `executable-configurations`, and remove all tags."""
        effects: list[tuple[mlir.Operation, Applied]] = []
        for dispatch in find_dispatches(module):
            tagged = self._tagged.pop(dispatch.name, None)
            if tagged is not None:
                kept = dispatch.name in self._configured
                first = 0 if search else len(self._choice.given)
                effects += take_tags(dispatch, tagged, kept=kept, search_from=first)
        self.applied += (applied for _, applied in effects)
        return effects

    # The outcomes of the specs so far, as diagnostics.

    @contextmanager
    def locating(self, invocation: Invocation) -> Iterator[None]:
        """Note the dispatches with ops at the places of the errors that end a block, if specs configured such ops."""
        try:
            yield
        except CompileError as failure:
            for place in {one.place for one in failure.diagnostics if one.place}:
                if configured := {item.dispatch for item in self.applied if item.place == place}:
                    self._at_errors[place] = configured

            def note_dispatch(operation: mlir.Operation) -> None:
                self._at_errors.get(place_of(operation.location), set()).add(dispatch.name)

            for dispatch in find_dispatches(invocation.module) if self._at_errors else ():
                visit(dispatch.module, note_dispatch)
            raise

    @property
    def is_ambiguous(self) -> bool:
        """Whether several dispatches have ops at the place of an error, such as those of one op of a model."""
        return any(len(dispatches) > 1 for dispatches in self._at_errors.values())

    def explain(
        self, errors: Sequence[Diagnostic], failing: Collection[str] | None = None
    ) -> tuple[Diagnostic, ...]:
        """Return errors with notes on the entries that configured the failing dispatches; None is for unknown ones.

        Where several dispatches have ops at the place of an error, those that fail count.
        """
        # Two entries may be incompatible in one dispatch, or the backend may reject a configuration. The compiler
        # reports only the location in the program.
        causes: list[list[Applied]] = []
        named: set[str] = set()
        for failure in errors:
            at = {a.dispatch for a in self.applied if failure.place and a.place == failure.place}
            if failing is not None and len(self._at_errors.get(failure.place, at)) > 1:
                at &= set(failing)
            causes.append([a for a in self.applied if a.dispatch in at - named])
            named |= at
        if not named and causes:
            causes[0] = [a for a in self.applied if a.dispatch in (failing or ())]
        # Name the entries that configured the dispatches, and the remedy.
        explained: list[Diagnostic] = []
        for failure, applied in zip(errors, causes, strict=True):
            notes = list(failure.notes)
            for item in applied:
                entry = f"entry '{item.entry.matcher}' of " if item.entry else ""
                place = f" at {item.place}" if item.place else ""
                message = (
                    f"{entry}'{item.spec}' configured {item.operation}{place} in {item.dispatch}"
                )
                notes.append(note(message, item.entry.place if item.entry else None))
                if item.ignored and not item.is_kept:
                    notes.append(note(f"{item.ignored}; {IN_ONE}"))
            for target in {str(item.target): None for item in applied if item.target}:
                check = f"tuninglink check SPEC --target {target} --compile"
                skip = "'--skip-failing-entries' compiles the dispatch without specs"
                notes.append(note(f"'{check}' checks the configuration; {skip}"))
            explained.append(replace(failure, notes=tuple(notes)))
        is_own = failing is not None and not any(causes)
        if is_own and any(failure.message.startswith("failed to run trans") for failure in errors):
            remedies = (*explained[0].notes, note(_OTHERS_MAY_COMPILE))
            explained[0] = replace(explained[0], notes=remedies)
        return tuple(explained)

    def findings(
        self, flags: Sequence[str], why: str, why_not_replacing: str = "", *, is_explained: bool
    ) -> Iterator[Diagnostic]:
        """Yield warnings about specs without effect and about missing flags, and remarks on what the user did not name.

        `why` is the reason why no spec takes effect, if there is one, and `why_not_replacing` why no replace entry does. An
        explanation names the same as the remarks.
        """
        given = self._choice.given
        replacing = {item.position for item in self.replaced}
        replacing |= {position for position, spec in enumerate(given) if spec.only_replaces}
        yield from self.without_replacement(why_not_replacing)
        why_none = why or ("" if self._targets else "there is no dispatch to configure")
        for position, spec in enumerate(given):
            applied = [operation for operation in self.applied if operation.position == position]
            # 1. Each reason why code generation ignores configurations of the spec.
            by_reason: dict[str, list[Applied]] = {}
            for item in applied:
                if item.ignored:
                    by_reason.setdefault(item.ignored, []).append(item)
            for reason, (first, *rest) in by_reason.items():
                what, remedy = f"without effect: {reason}", IN_ONE
                if first.is_kept:
                    what = "which kept another configuration"
                    remedy = (
                        "an existing configuration of a dispatch is kept; "
                        "'tuninglink-opt --tuninglink-strip-configs' removes it"
                    )
                more = f" and {len(rest)} more" if rest else ""
                message = f"spec '{spec.source}' matched in {first.dispatch}{more}, {what}"
                yield Diagnostic(Severity.WARNING, message, first.place, (note(remedy),))
            # 2. The spec configured nothing.
            without_need = self._choice.automatic | self._made | self._skipped_specs | replacing
            if applied or position in without_need:
                continue
            cause = why_none or self._why_unused(position, spec)
            if cause is None:
                continue
            count = len(spec.anatomy.pairs)
            never = f"none of its {count:,} entries was ever the first to match"
            never = "its entry was never the first to match" if count == 1 else never
            message = f"spec '{spec.source}' configured nothing: {cause or never}"
            advice = note("'tuninglink explain' gives the reason for each dispatch")
            notes = () if cause or is_explained else (advice,)
            yield Diagnostic(Severity.WARNING, message, None, notes)
        # 3. The spec was tuned under flags that the compilation lacks.
        for spec in () if why else given:
            if spec.kind is SpecKind.OPAQUE or len(spec.anatomy.pairs) > _MOST_READ:
                continue
            missing, same = dict[str, None](), {flag.removesuffix("=true") for flag in flags}
            for matcher, _ in spec.anatomy.pairs:
                tuned_under = provenance_of(spec.anatomy.table, matcher).get(FLAGS)
                if isinstance(tuned_under, list):
                    absent = (f for f in tuned_under if f.removesuffix("=true") not in same)
                    missing.update(dict.fromkeys(absent))
            if missing:
                message = f"spec '{spec.source}' was written under other flags: {' '.join(missing)}"
                advice = note("add them, for example as @FILE.flags of 'tuninglink tune'")
                yield Diagnostic(Severity.WARNING, message, None, (advice,))
        if not is_explained:
            yield from self._remarks()

    def without_replacement(self, why: str) -> Iterator[Diagnostic]:
        """Yield warnings about specs with replace entries that replaced nothing; `why` none could, if that is known."""
        choice = self._choice
        unneeded = choice.automatic | self._made | {item.position for item in self.replaced}
        # Of a library of several specs, one needs to replace something.
        libraries = [library_of(spec.source) for spec in choice.given]
        done = {name for at, name in enumerate(libraries) if name and at in unneeded}
        for position, spec in enumerate(choice.given):
            is_of_project = position >= len(choice.given) - choice.from_project
            foreign = self._foreign.get(position, "")
            if libraries[position] in done:
                continue
            if spec.replacing and position not in unneeded and not (foreign and is_of_project):
                name = libraries[position] or spec.source
                done |= {name}
                pairs = zip(choice.given, libraries, strict=True)
                members = [own for own, other in pairs if other == name] or [spec]
                first, *rest = [entry for own in members for entry in own.replace_entries]
                never = f"none of its {len(rest) + 1:,} replace entries was ever the first to match"
                only = f"its replace entry '{first.matcher}' was never the first to match"
                never = never if rest else only
                message = f"spec '{name}' replaced nothing: {why or foreign or never}"
                yield Diagnostic(Severity.WARNING, message)

    def _why_unused(self, position: int, spec: Spec) -> str | None:
        """Return why a spec configured nothing: empty if it did not match, None if it may have configured something."""
        if any(RANGES in op.attributes for op in collect(spec.module, names.NAMED_SEQUENCE)):
            return None  # it gives ranges of sizes code of their own, with the compiler's configurations
        # Would its tags have told that it configured something?
        is_list = spec.kind is SpecKind.MATCHER_LIST
        if not (is_list or position in self._traceable or _only_reads(spec)):
            return None
        # It may apply to none of the program's targets. The specs of a project may be for other programs.
        targets = ", ".join(sorted(map(str, filter(None, self._targets)))) or "no known target"
        foreign = ""
        if all(Applicability(spec, target).is_bound_elsewhere for target in self._targets):
            bound = ", ".join(binding_of(spec.module) or ()) or "no target"
            foreign = f"it is bound to {bound}, the program is for {targets}"
        elif all(Applicability(spec, target).is_empty for target in self._targets):
            foreign = f"none of its entries is for {targets}"
        if foreign:
            is_of_project = position >= len(self._choice.given) - self._choice.from_project
            return None if is_of_project else foreign
        if not spec.anatomy.pairs and _only_reads(spec):
            return "its entry points set no configuration"
        entries = map(spec.anatomy.entry, range(len(spec.anatomy.pairs)))
        is_idle = all(settings_of(spec, entry) == {} for entry in entries)
        return "its actions set no configuration" if is_idle else ""

    def _remarks(self) -> Iterator[Diagnostic]:
        """Yield remarks on derived entries, on entries for similar targets, on libraries without effect, and on default specs."""
        effective = [item for item in self.applied if item.is_own is not False]
        remarks: list[tuple[str, Iterable[str], str]] = []
        if derived := [item for item in effective if item.derivation]:
            message = (
                f"entries derived for other spellings of their problems configured {counted(len(derived), 'operation')}; "
                "'--no-derived-entries' leaves them out"
            )
            causes = [f"entry of '{item.spec}' derived {item.derivation}:" for item in derived]
            remarks.append((message, causes, ""))
        if like := [item for item in effective if item.like_target]:
            message = (
                f"entries for targets like {like[0].target} configured {counted(len(like), 'operation')}; "
                "their times were measured elsewhere"
            )
            causes = [
                (f"entry '{item.entry.matcher}' of " if item.entry else "")
                + f"'{item.spec}' is for {item.like_target}:"
                for item in like
            ]
            more = "'tuninglink retune' measures which of them are faster here"
            remarks.append((message, causes, more))
        # Libraries that the user named, and that need not have an effect.
        used = {item.position for item in effective} | {item.position for item in self.replaced}
        if self._choice.automatic and not self._choice.automatic & used:
            message = (
                f"'{LIBRARY}auto' configured nothing: none of its entries was the first to match"
            )
            remarks.append((message, (), "'tuninglink explain' names the nearest ones"))
        for spec in (self._choice.given[position] for position in self._made - used):
            if NOT_PREDICTED in provenance_of(spec.anatomy.table) and not spec.entries:
                message = f"'{spec.source}' configured nothing: no configuration certainly gains"
                remarks.append((message, (), "'tuninglink init --predict' gives the reasons"))
        library = self._choice.library
        by_file: dict[SpecFile, list[Applied]] = {}
        for item in effective:
            if item.position >= len(self._choice.given):
                file = library.find(item.target) if library and item.target else None
                # Otherwise the program contained the spec.
                if file is not None and file.name == item.spec:
                    by_file.setdefault(file, []).append(item)
        for file, applied in by_file.items():
            message = (
                f"the default spec for {applied[0].target} configured {counted(len(applied), 'operation')}; "
                "'--no-default-specs' leaves it out"
            )
            causes = [
                f"entry '{item.entry.matcher}' configured" if item.entry else "an entry configured"
                for item in applied
            ]
            remarks.append((message, causes, f"the spec is '{file.name}'"))
        # The notes are the number of operations of each cause.
        for message, all_causes, more in remarks:
            counts = Counter(all_causes).items()
            notes = [note(f"{cause} {counted(count, 'operation')}") for cause, count in counts]
            notes += [note(more)] if more else []
            yield Diagnostic(Severity.REMARK, message, None, tuple(notes))


def _only_reads(spec: Spec) -> bool:
    paths = (entry_point.path for entry_point in spec.anatomy.entry_points)
    runs = spec.anatomy.table.closure(*paths, with_matchers=True)
    return all(
        not configures(op)
        if op.name == names.ANNOTATE
        else op.name in (names.INCLUDE, names.FOREACH_MATCH) or only_reads(op)
        for _, run in runs
        for op in body(run)
    )
