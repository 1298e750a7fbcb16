"""Applying specs within a compilation: embedding them, and reading what became of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
from tuninglink.mlir.diagnostics import Diagnostic, DiagnosticSink, Severity, note
from tuninglink.mlir.walk import body
from tuninglink.specs.dumping import collect_specs
from tuninglink.specs.embedding import spec_attribute
from tuninglink.specs.structure import SpecKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.compiler.tracing import Applied
    from tuninglink.matching.materialization import LinkedDispatch
    from tuninglink.mlir.diagnostics import Place
    from tuninglink.specs.library import DefaultLibrary
    from tuninglink.specs.linking import LinkedSpec
    from tuninglink.specs.model import Spec


_TRACED: Final = 32
"""Up to how many entries each is traced in any case: that costs nothing then, and errors can name it."""


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
    """Applies specs to the programs of one compilation.

    Args:
        choice: the specs.
        report: called with each warning.

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
        self._has_dispatches = False
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
        """Embeds specs in the dispatches of a program at `executable-sources`.

        Args:
            module: the program.
            tagged: whether the specs are to leave tags, for `read`.

        Returns:
            Whether there is a dispatch with a spec.

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
        if choice.dump or not tagged:
            embed_specs(dispatches, module.context)
        if choice.dump:
            self._dump(module)
        if tagged:
            self._embed_tagged(dispatches, module.context)
        self._has_dispatches |= bool(dispatches)
        return any(each.linked for each in dispatches)

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
            search: whether entries that have no tag of their own are looked for by their configuration.

        Returns:
            What took effect in this program, each with the operation that was configured.
        """
        found: list[tuple[mlir.Operation, Applied]] = []
        for dispatch in find_dispatches(module):
            tagged = self._tagged.pop(dispatch.name, None)
            if tagged is not None:
                kept = dispatch.name in self._configured
                found += take_tags(dispatch, tagged, kept=kept, search=search)
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
        if not why and not self._has_dispatches:
            why = "there is no dispatch to configure"
        for position, spec in enumerate(self._choice.given):
            applied = [each for each in self.applied if each.position == position]
            kept = [each for each in applied if each.is_own is False]
            if kept:
                self._warn_about_kept(spec, kept)
            elif not applied and (why or self._would_have_told(position, spec)):
                reason = why or _never_matched(len(spec.anatomy.pairs))
                remedy = (
                    "" if why or is_explained else "'tuninglink explain' says of each dispatch why"
                )
                self._warn(f"spec '{spec.source}' configured nothing: {reason}", remedy=remedy)

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


def _entry_count(linked: LinkedSpec) -> int:
    return sum(
        len(part.spec.anatomy.pairs if part.kept is None else part.kept) for part in linked.parts
    )


def _never_matched(entries: int) -> str:
    if entries == 1:
        return "its entry was never the first to match"
    return f"none of its {entries:,} entries was ever the first to match"
