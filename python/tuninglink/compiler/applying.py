"""Application of specs within a compilation: embedding of specs, and reading of their effects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.compiler.outcomes import SpecOutcomes
from tuninglink.compiler.tagging import TaggedSpec
from tuninglink.compiler.tracing import Applied, take_tags
from tuninglink.files import write_standard_output
from tuninglink.iree.dispatches import containers, find_dispatches
from tuninglink.iree.targets import Target
from tuninglink.matching.materialization import LinkedDispatch, embed_specs, link_dispatches
from tuninglink.matching.prunable import Pruning
from tuninglink.matching.specialization_ranges import specialize_dispatches
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import Diagnostic, DiagnosticSink, Severity, once, thread_context
from tuninglink.mlir.walk import body
from tuninglink.specs.default_library import DefaultLibrary
from tuninglink.specs.embedding import collect_specs, spec_attribute
from tuninglink.specs.linking.linker import LinkedSpec
from tuninglink.specs.spec import Spec
from tuninglink.specs.verification import check_configurations

_TRACED: Final = 32
"""The number of entries up to which each is traced in any case: it is cheap, and errors can name the entry."""


_CHECKED: Final = 1_000
"""The number of entries of a spec up to which all configurations are checked if all entries are embedded."""


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
        derive: whether to derive entries for ops that express the problem of an entry in another form.
    """

    given: Sequence[Spec] = ()
    from_project: int = 0
    automatic: frozenset[int] = frozenset()
    library: DefaultLibrary | None = None
    exact: bool = True
    dump: str = ""
    prune: bool = True
    derive: bool = False

    def __bool__(self) -> bool:
        return bool(self.given) or self.library is not None


class Application:
    """The application of specs to the programs of one compilation, with checks of their configurations.

    Attributes:
        applied: the effects so far.
    """

    def __init__(self, choice: SpecChoice, report: Callable[[Diagnostic], None]) -> None:
        self._choice = choice
        self._report = report
        self._pruning = Pruning()
        self._tagged: dict[str, TaggedSpec] = {}
        self._configured: set[str] = set()
        self._traceable: set[int] = set()
        self._targets: set[Target | None] = set()
        self._skipped: set[str] = set()
        self._skipped_specs: set[int] = set()
        self.applied: list[Applied] = []

    def skip(self, dispatches: Collection[str], applied: Sequence[Applied]) -> None:
        """Start the program again, without specs in some of its dispatches.

        Args:
            dispatches: the names of these dispatches.
            applied: the effects before this program.
        """
        self._skipped = set(dispatches)
        self._skipped_specs |= {
            entry.position for entry in self.applied if entry.dispatch in self._skipped
        }
        self._tagged.clear()
        self._configured.clear()
        self.applied[:] = applied

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Read the specs while the block runs, so that large specs take no extra time if it waits for the compiler.

        The block must not use the specs, or anything in their context.
        """
        with ThreadPoolExecutor(max_workers=1) as executor:
            executor.submit(self._prepare)  # A failure is repeated, and reported, later.
            yield

    def _prepare(self) -> None:
        for spec in self._choice.given:
            if self._choice.prune:
                self._pruning.prepare(spec)

    def embed(self, module: mlir.Operation, *, tagged: bool) -> bool:
        """Embed specs in the dispatches of a program at `executable-sources`. Return whether any dispatch has a spec.

        Tagged specs leave tags, which `read` reads.

        Raises:
            SpecError: a spec cannot be linked.
            TuninglinkError: the default library cannot be read, or the dump cannot be written.
        """
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
        if choice.dump:
            self._dump(module)
        if tagged:
            self._embed_tagged(dispatches, module.context)
        self._targets.update(dispatch.dispatch.target for dispatch in dispatches)
        return any(dispatch.linked for dispatch in dispatches)

    def _check_configurations(self, dispatches: Iterable[LinkedDispatch]) -> None:
        """Check all configurations of each spec, or only the configurations of linked entries if the spec is large."""
        given = {spec.source for spec in self._choice.given}
        checked: dict[tuple[int, Target | None], tuple[Spec, dict[int, None]]] = {
            (id(spec), None): (spec, dict.fromkeys(_checked(spec))) for spec in self._choice.given
        }
        for dispatch in dispatches:
            for part in dispatch.linked.parts if dispatch.linked else ():
                if part.spec.source in given:
                    # Linked entries are not foreign to the target.
                    key = id(part.spec), dispatch.dispatch.target
                    kept = _checked(part.spec) if part.kept is None else part.kept
                    checked.setdefault(key, (part.spec, {}))[1].update(dict.fromkeys(kept))
        for (_, target), (spec, positions) in checked.items():
            check_configurations(spec, self._warnings, target, sorted(positions))

    @cached_property
    def _warnings(self) -> DiagnosticSink:
        """A sink that reports each finding once, as a warning, for all parts of a program."""
        return once(
            DiagnosticSink(
                lambda finding: self._report(replace(finding, severity=Severity.WARNING))
            )
        )

    def _embed_tagged(self, dispatches: Iterable[LinkedDispatch], context: mlir.Context) -> None:
        copies: dict[int, tuple[TaggedSpec, mlir.Attribute]] = {}
        for dispatch in dispatches:
            if dispatch.linked is None:
                continue
            key = id(dispatch.linked)
            if key not in copies:
                exact = self._choice.exact or _entry_count(dispatch.linked) <= _TRACED
                copy = TaggedSpec(dispatch.linked, exact=exact)
                copies[key] = copy, spec_attribute(copy.content, context)
                self._traceable.update(origin.position for origin in copy.origins)
            self._tagged[dispatch.dispatch.name], attribute = copies[key]
            dispatch.dispatch.module.attributes[names.EMBEDDED_SPEC] = attribute
            if any(
                names.TRANSLATION_INFO in op.attributes for op in body(dispatch.dispatch.module)
            ):
                self._configured.add(dispatch.dispatch.name)

    def _dump(self, module: mlir.Operation) -> None:
        specs = collect_specs(module)
        if self._choice.dump == "-":
            write_standard_output(specs.as_stream())
        else:
            specs.write(self._choice.dump)

    def read(
        self, module: mlir.Operation, *, search: bool = False
    ) -> list[tuple[mlir.Operation, Applied]]:
        """Read the effects in a program at `executable-configurations`, and remove all tags.

        Args:
            module: the program.
            search: whether to find entries without a separate tag by their configuration.
        """
        effects: list[tuple[mlir.Operation, Applied]] = []
        for dispatch in find_dispatches(module):
            tagged = self._tagged.pop(dispatch.name, None)
            if tagged is not None:
                kept = dispatch.name in self._configured
                first = 0 if search else len(self._choice.given)
                effects += take_tags(dispatch, tagged, kept=kept, search_from=first)
        self.applied += (applied for _, applied in effects)
        return effects

    @property
    def outcomes(self) -> SpecOutcomes:
        """The outcomes of the specs so far."""
        return SpecOutcomes(
            given=self._choice.given,
            from_project=self._choice.from_project,
            automatic=self._choice.automatic,
            library=self._choice.library,
            applied=self.applied,
            targets=self._targets,
            traceable=self._traceable,
            skipped=self._skipped_specs,
        )


def _checked(spec: Spec) -> range:
    """Return the positions of the entries to check even if they are not linked."""
    count = len(spec.anatomy.pairs)
    return range(count if count <= _CHECKED else 0)


def _entry_count(linked: LinkedSpec) -> int:
    return sum(
        len(part.spec.anatomy.pairs if part.kept is None else part.kept) for part in linked.parts
    )
