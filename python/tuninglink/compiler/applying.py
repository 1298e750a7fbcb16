"""Applying specs within a compilation: embedding them, and reading what became of them."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Final

from tuninglink.compiler.tagging import TaggedSpec
from tuninglink.compiler.tracing import take_tags
from tuninglink.files import write_standard_output
from tuninglink.iree.dispatches import containers, find_dispatches
from tuninglink.matching.materialization import embed_specs, link_dispatches
from tuninglink.matching.pruning import Pruning
from tuninglink.mlir import names
from tuninglink.mlir.contexts import thread_context
from tuninglink.mlir.diagnostics import Diagnostic, DiagnosticSink, Severity, note, once
from tuninglink.mlir.walk import body
from tuninglink.specs.applicability import Applicability
from tuninglink.specs.bindings import binding_of, covers
from tuninglink.specs.dumping import collect_specs
from tuninglink.specs.embedding import spec_attribute
from tuninglink.specs.settings import settings_of
from tuninglink.specs.structure import SpecKind
from tuninglink.specs.verification import check_configurations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.compiler.tracing import Applied
    from tuninglink.iree.targets import Target
    from tuninglink.matching.materialization import LinkedDispatch
    from tuninglink.mlir.diagnostics import Place
    from tuninglink.specs.library import DefaultLibrary, DefaultSpecFile
    from tuninglink.specs.linking import LinkedSpec
    from tuninglink.specs.model import Spec


_TRACED: Final = 32
"""Up to how many entries each is traced in any case: that costs nothing then, and errors can name it."""


_CHECKED: Final = 1_000
"""Up to how many entries of a spec have their configurations checked where all of them are embedded."""


@dataclass(frozen=True)
class SpecChoice:
    """Which specs a compilation applies, and what else becomes of them.

    Attributes:
        given: the user's specs, in order of precedence.
        library: where the default spec of each target is looked up; None for nowhere.
        exact: whether each entry is traced, or only each spec.
        dump: a directory that gets the linked specs, `-` for standard output, or nothing.
        prune: whether each dispatch gets only the entries that may match in it, unless the specs are dumped or
            the program is written while it carries them.
    """

    given: Sequence[Spec] = ()
    library: DefaultLibrary | None = None
    exact: bool = True
    dump: str = ""
    prune: bool = True

    def __bool__(self) -> bool:
        return bool(self.given) or self.library is not None


class Application:
    """Applies specs to the programs of one compilation, and reports warnings.

    Attributes:
        applied: what took effect so far.
    """

    def __init__(self, choice: SpecChoice, report: Callable[[Diagnostic], None]) -> None:
        self._choice = choice
        self._report = report
        self._pruning = Pruning()
        self._tagged: dict[str, TaggedSpec] = {}
        self._configured: set[str] = set()
        self._traceable: set[int] = set()
        self._targets: set[Target | None] = set()
        self.applied: list[Applied] = []

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Reads the specs while the block runs, so that large ones cost no time if it waits for the compiler.

        Nothing else may touch the specs, or what lives in their context, within the block.
        """
        with ThreadPoolExecutor(max_workers=1) as executor:
            executor.submit(self._prepare)  # What fails will fail again.
            yield

    def _prepare(self) -> None:
        for spec in self._choice.given:
            if self._choice.prune:
                self._pruning.prepare(spec)
        # The bindings would do so when they meet the first operation of the dialect; it takes 30 ms.
        import_module("iree.compiler.dialects.hal")

    def embed(self, module: mlir.Operation, *, tagged: bool) -> bool:
        """Embeds specs in the dispatches of a program at `executable-sources`; tells whether one has a spec.

        Tagged specs leave tags, for `read`.

        Raises:
            SpecError: a spec cannot be linked.
            TuninglinkError: the default library cannot be read, or the dump not written.
        """
        if not any(each.name == names.EXECUTABLE_VARIANT for each in containers(module)):
            return False
        choice = self._choice
        dispatches = link_dispatches(
            module,
            choice.given,
            library=choice.library,
            # A program that is written with its specs, or specs that are, go elsewhere: they are whole.
            pruning=self._pruning if choice.prune and tagged and not choice.dump else None,
            diagnostics=DiagnosticSink(self._report),
            context=thread_context(),
        )
        self._check_configurations(dispatches)
        if choice.dump or not tagged:
            embed_specs(dispatches, module.context)
        if choice.dump:
            self._dump(module)
        if tagged:
            self._embed_tagged(dispatches, module.context)
        self._targets.update(each.dispatch.target for each in dispatches)
        return any(each.linked for each in dispatches)

    def _check_configurations(self, dispatches: Iterable[LinkedDispatch]) -> None:
        """Warns of what is wrong with configurations: with all in a spec that is not large, else with those linked."""
        given = {each.source for each in self._choice.given}
        linked: dict[int, tuple[Spec, dict[int, None]]] = {
            id(each): (each, dict.fromkeys(_checked(each))) for each in self._choice.given
        }
        for part in (part for each in dispatches if each.linked for part in each.linked.parts):
            kept = _checked(part.spec) if part.kept is None else part.kept
            if part.spec.source in given:
                _, positions = linked.setdefault(id(part.spec), (part.spec, {}))
                positions.update(dict.fromkeys(kept))
        for spec, positions in linked.values():
            check_configurations(spec, self._warnings, positions=sorted(positions))

    @cached_property
    def _warnings(self) -> DiagnosticSink:
        """Says each finding once, however many parts a program has, as a warning."""
        return once(
            DiagnosticSink(lambda each: self._report(replace(each, severity=Severity.WARNING)))
        )

    def _embed_tagged(self, dispatches: Iterable[LinkedDispatch], context: mlir.Context) -> None:
        copies: dict[int, tuple[TaggedSpec, mlir.Attribute]] = {}
        for each in dispatches:
            if each.linked is None:
                continue
            key = id(each.linked)
            if key not in copies:
                exact = self._choice.exact or _entry_count(each.linked) <= _TRACED
                copy = TaggedSpec(each.linked, exact=exact)
                copies[key] = copy, spec_attribute(copy.content, context)
                self._traceable.update(origin.position for origin in copy.origins)
            self._tagged[each.dispatch.name], attribute = copies[key]
            each.dispatch.module.attributes[names.EMBEDDED_SPEC] = attribute
            if any(names.TRANSLATION_INFO in op.attributes for op in body(each.dispatch.module)):
                self._configured.add(each.dispatch.name)

    def _dump(self, module: mlir.Operation) -> None:
        found = collect_specs(module)
        if self._choice.dump == "-":
            write_standard_output(found.as_stream())
        else:
            found.write(self._choice.dump)

    def read(
        self, module: mlir.Operation, *, search: bool = False
    ) -> list[tuple[mlir.Operation, Applied]]:
        """Reads what took effect from a program at `executable-configurations`, and leaves no trace of tags.

        Args:
            module: the program.
            search: whether entries without a tag of their own are looked for by their configuration.
        """
        found: list[tuple[mlir.Operation, Applied]] = []
        for dispatch in find_dispatches(module):
            tagged = self._tagged.pop(dispatch.name, None)
            if tagged is not None:
                kept = dispatch.name in self._configured
                first = 0 if search else len(self._choice.given)
                found += take_tags(dispatch, tagged, kept=kept, search_from=first)
        self.applied += (each for _, each in found)
        return found

    def explain(self, errors: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Returns the errors of a compilation, the first one with what configured the dispatch that it is in.

        Two entries that configure one dispatch exclude each other, and a configuration may be one that the
        backend does not take: the compiler only knows the place in the program.
        """
        for index, each in enumerate(errors):
            here = {a.dispatch for a in self.applied if each.place and a.place == each.place}
            notes = [note(f"{a}", a.place) for a in self.applied if a.dispatch in here]
            if notes:
                explained = replace(each, notes=(*each.notes, *notes))
                return (*errors[:index], explained, *errors[index + 1 :])
        return tuple(errors)

    def warn(self, why: str = "", *, is_explained: bool = False) -> None:
        """Warns of each given spec that configured nothing, or less than it matched.

        Args:
            why: what kept all specs from being applied; by default nothing did.
            is_explained: whether somebody looks at what becomes of each dispatch anyway.
        """
        if not why and not self._targets:
            why = "there is no dispatch to configure"
        for position, spec in enumerate(self._choice.given):
            applied = [each for each in self.applied if each.position == position]
            kept = [each for each in applied if each.is_own is False]
            if kept:
                self._warn_about_kept(spec, kept)
            elif not applied and (why or self._would_have_told(position, spec)):
                known = why or self._why_never_applied(spec)
                reason = known or _never_matched(len(spec.anatomy.pairs))
                remedy = (
                    ""
                    if known or is_explained
                    else "'tuninglink explain' says of each dispatch why"
                )
                self._warn(f"spec '{spec.source}' configured nothing: {reason}", remedy=remedy)

    def _why_never_applied(self, spec: Spec) -> str:
        """Returns why a spec configures nothing, whatever it matches; nothing if that is not so."""
        found = ", ".join(sorted(str(each) for each in self._targets if each)) or "no known target"
        binding = binding_of(spec.module)
        if not any(covers(binding, each) for each in self._targets):
            return f"it is bound to {', '.join(binding or ()) or 'no target'}, the program is for {found}"
        if all(Applicability(spec, each).among(None) == () for each in self._targets):
            return f"none of its entries is for {found}"
        if not any(settings_of(spec, each) != {} for each in spec.entries):
            return "its actions set no configuration"
        return ""

    def remark_on_defaults(self) -> None:
        """Remarks on each default spec that configured something: which, and where."""
        library = self._choice.library
        found: dict[DefaultSpecFile, list[Applied]] = {}
        for each in self.applied:
            if each.position < len(self._choice.given) or each.is_own is False:
                continue
            file = library.find(each.target) if library and each.target else None
            if file is not None and file.path == each.spec:  # Else it was carried by the program.
                found.setdefault(file, []).append(each)
        for file, applied in found.items():
            self._report(_remark(file, applied))

    def _would_have_told(self, position: int, spec: Spec) -> bool:
        """Whether a spec that has left no tag has configured nothing; an opaque one can do so untraced."""
        return position in self._traceable or spec.kind is SpecKind.MATCHER_LIST

    def _warn_about_kept(self, spec: Spec, kept: list[Applied]) -> None:
        first = kept[0]
        more = f" and {len(kept) - 1} more" if len(kept) > 1 else ""
        self._warn(
            f"spec '{spec.source}' matched in {first.dispatch}{more}, which kept another configuration",
            first.place,
            "a dispatch that is configured already stays so; "
            "'tuninglink-opt --tuninglink-strip-configs' strips it",
        )

    def _warn(self, message: str, place: Place | None = None, remedy: str = "") -> None:
        notes = (note(remedy),) if remedy else ()
        self._report(Diagnostic(Severity.WARNING, message, place, notes))


def _checked(spec: Spec) -> range:
    """Returns the positions of the entries to check whether they are linked or not."""
    count = len(spec.anatomy.pairs)
    return range(count if count <= _CHECKED else 0)


def _entry_count(linked: LinkedSpec) -> int:
    return sum(
        len(part.spec.anatomy.pairs if part.kept is None else part.kept) for part in linked.parts
    )


def _remark(file: DefaultSpecFile, applied: Sequence[Applied]) -> Diagnostic:
    """Returns a remark on a default spec: which of its entries configured how many operations."""
    first = applied[0]
    counts = Counter(
        f"entry '{each.entry.matcher}'" if each.entry else "an entry" for each in applied
    )
    notes = [note(f"{what} configured {_operations(count)}") for what, count in counts.items()]
    message = (
        f"the default spec for {first.target} configured {_operations(len(applied))}; "
        "'--no-default-specs' leaves it out"
    )
    notes.append(note(f"the spec is '{file.path}'"))
    return Diagnostic(Severity.REMARK, message, None, tuple(notes))


def _operations(count: int) -> str:
    return "1 operation" if count == 1 else f"{count:,} operations"


def _never_matched(entries: int) -> str:
    if entries == 1:
        return "its entry was never the first to match"
    return f"none of its {entries:,} entries was ever the first to match"
