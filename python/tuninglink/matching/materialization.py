"""Materialization: the specs of each dispatch of a program, chosen, linked, pruned and embedded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree import Dispatch, find_dispatches
from tuninglink.matching.derivation import DerivedEntry, Deriver, EntryList
from tuninglink.matching.prunable import (
    STRUCTURAL,
    UNKNOWN_DISPATCH,
    DispatchSignature,
    Pruning,
    SignatureReader,
)
from tuninglink.matching.spellings import Root, RootReader
from tuninglink.mlir import DiagnosticSink, names, once, visit
from tuninglink.specs import (
    LINKED_SPEC_NAME,
    LinkedSpec,
    LinkForm,
    Part,
    Selection,
    Spec,
    carried_spec,
    check_can_hold_specs,
    check_is_program,
    choose_form,
    in_context,
    link_nothing,
    link_parts,
    load_embedded_spec,
    only_reads,
    spec_attribute,
    split,
)

if TYPE_CHECKING:
    from tuninglink.iree import Target
    from tuninglink.specs import DefaultLibrary, SpecFile

    _Key = tuple[Target | None, mlir.Attribute | SpecFile | None]


@dataclass(frozen=True)
class LinkedDispatch:
    """A dispatch with the spec that is linked for it."""

    dispatch: Dispatch
    linked: LinkedSpec | None


def link_dispatches(
    root: mlir.Operation,
    specs: Sequence[Spec],
    *,
    library: DefaultLibrary | None,
    pruning: Pruning | None = None,
    derives: bool = False,
    diagnostics: DiagnosticSink | None = None,
    context: mlir.Context | None = None,
) -> tuple[LinkedDispatch, ...]:
    """Select and link the specs of each dispatch, without changing the program.

    A dispatch receives those of `specs` that apply to its target, followed by the default spec of the target. A spec
    that is already embedded replaces the default. Dispatches of a target with the same specs share one linked spec.

    Args:
        root: a module, an executable or a variant.
        specs: the user's specs in order of precedence, in any context.
        library: the library of default specs; None for no default specs.
        pruning: the pruning data of specs. If given, each dispatch receives only the entries that may match in it, or
            no spec if none may match. The resulting configurations are the same.
        derives: whether entries are derived for root ops with another form of an entry's problem.
        diagnostics: receives warnings about entries that are foreign to a target, specs that may override an earlier
            one, and entries of an old default spec that cannot be upgraded.
        context: the context in which specs are loaded and linked; by default that of `root`. A compilation passes a
            separate one, since linked specs are owned by Python and may outlive its session.

    Raises:
        SpecError: `root` is not a program, a spec cannot be linked, or an embedded one is damaged.
        TargetError: see `find_dispatches`.
        TuninglinkError: the default library cannot be read.
    """
    check_is_program(root, remedy="give specs to materialize in the option 'specs'")
    check_can_hold_specs(root)
    inside = context or root.context
    given = [in_context(spec, inside) for spec in specs]
    dispatches = find_dispatches(root)
    signatures, roots = SignatureReader(), RootReader()
    # Diagnostics about specs are reported for each target.
    sink = once(diagnostics) if diagnostics else None
    selections: dict[Target | None, Selection] = {}
    linkers: dict[_Key, PruningLinker | None] = {}
    # Without pruning, the dispatches of a target share a spec, with entries for the root ops of all of them.
    by_target: dict[Target | None, tuple[Root, ...]] = {}

    def roots_of(dispatch: Dispatch) -> Sequence[Root]:
        if not derives or pruning is not None:
            return roots.read(dispatch) if derives else ()
        target = dispatch.target
        if target not in by_target:
            same = (other for other in dispatches if other.target == target)
            by_target[target] = tuple(root for other in same for root in roots.read(other))
        return by_target[target]

    @cache
    def default_of(target: Target | None) -> SpecFile | None:
        return library.find(target) if library is not None and target is not None else None

    def linker_for(
        dispatch: Dispatch, last: mlir.Attribute | SpecFile | None
    ) -> PruningLinker | None:
        selection = selections.setdefault(dispatch.target, Selection(dispatch.target))
        # Entries that are bound to other targets do not affect this one.
        used = {
            position: spec
            for position, spec in enumerate(given)
            if not selection.of(spec).is_bound_elsewhere
        }
        linked = [*used.values()]
        if isinstance(last, mlir.Attribute):
            carried = load_embedded_spec(last, dispatch.name, dispatch.module, inside)
            if not linked and selection.is_whole(carried):
                return None
            linked.append(carried)
        elif last is not None:
            assert library is not None
            linked.append(last.load(inside, upgrade=library.upgrade, diagnostics=sink))
        return (
            PruningLinker(
                linked,
                diagnostics=sink,
                pruning=pruning,
                selection=selection,
                sources=[*used, len(given)],
            )
            if linked
            else None
        )

    def link(dispatch: Dispatch) -> LinkedSpec | None:
        # The last spec is the one embedded in the dispatch, or the default spec.
        carried = carried_spec(dispatch.module)
        last = carried or default_of(dispatch.target)
        key = dispatch.target, last
        if key not in linkers:
            linkers[key] = linker_for(dispatch, last)
        linker = linkers[key]
        if linker is None:
            return None
        signature = signatures.read(dispatch.module) if pruning is not None else UNKNOWN_DISPATCH
        # An embedded spec must be replaced, otherwise the compiler would apply it.
        is_carried = carried is not None
        return linker.link(signature, lambda: roots_of(dispatch), never_nothing=is_carried)

    linked = tuple(LinkedDispatch(dispatch, link(dispatch)) for dispatch in dispatches)
    if sink:
        for selection in selections.values():
            selection.warn(sink)
    return linked


def embed_specs(dispatches: Iterable[LinkedDispatch], context: mlir.Context) -> None:
    """Embed the linked specs in their dispatches; shared specs are converted to an attribute once."""
    attributes: dict[int, mlir.Attribute] = {}
    for dispatch in dispatches:
        linked = dispatch.linked
        if linked is None:
            continue
        if id(linked) not in attributes:
            attributes[id(linked)] = spec_attribute(linked.spec.bytecode(), context)
        dispatch.dispatch.module.attributes[names.EMBEDDED_SPEC] = attributes[id(linked)]


# --- Pruning: each dispatch receives only the entries that may match in it -----------------------

_RUNNING: Final = frozenset(
    {
        names.COLLECT_MATCHING,
        names.FOREACH,
        names.FOREACH_MATCH,
        names.INCLUDE,
        names.NAMED_SEQUENCE,
    }
)
"""The operations of a spec whose effects are those of the operations that they run."""


class PruningLinker:
    """Links specs for dispatches, with only the entries that may match.

    Equal results for several dispatches are linked once. A single spec that was already linked as a chain is split
    again: its original specs become the parts of the result.

    Args:
        specs: at least one spec, in order of precedence, all in one context.
        name: the symbol of the results.
        diagnostics: receives warnings about specs that may override an earlier one, once.
        selection: the applicable entries; all of them by default.
        pruning: existing pruning data of specs.
        sources: the positions of specs in the parts of results; by default those in `specs`. The parts of a chain are
            numbered.
    """

    def __init__(
        self,
        specs: Sequence[Spec],
        *,
        name: str = LINKED_SPEC_NAME,
        diagnostics: DiagnosticSink | None = None,
        selection: Selection | None = None,
        pruning: Pruning | None = None,
        sources: Sequence[int] | None = None,
    ) -> None:
        self._given = specs  # The parts of a chain live as long as the whole.
        form = choose_form(specs, diagnostics=diagnostics)
        if len(specs) == 1 and (members := split(specs[0])):
            # A previously linked chain is pruned part by part.
            name = specs[0].name
            is_for_others = selection is not None and selection.of(specs[0]).is_bound_elsewhere
            specs = [] if is_for_others else members
            form = LinkForm.CHAINED
            sources = None
        self._name = name
        self._form = form
        self._selection = selection
        self._sources = range(len(specs)) if sources is None else sources
        self._specs = list(map((pruning or Pruning()).prunable, specs))
        # The specs that can be pruned; those after one that changes programs cannot.
        self._prunable: list[bool] | None = None
        self._deriver = Deriver(self._specs)
        self._forms_with: dict[object, LinkForm] = {}
        self._linked: dict[object, LinkedSpec | None] = {}
        self._nothing: LinkedSpec | None = None

    def link(
        self,
        signature: DispatchSignature,
        roots: Callable[[], Sequence[Root]] = tuple,
        *,
        never_nothing: bool = False,
    ) -> LinkedSpec | None:
        """Link the entries that may match in a dispatch.

        Args:
            signature: the signature of the dispatch.
            roots: reads the root ops for which entries are derived and appended; none by default.
            never_nothing: whether to return a linked spec even if no entry can match.
        """
        kept: list[Sequence[int] | None] = [None for _ in self._specs]
        if signature != UNKNOWN_DISPATCH:
            if self._prunable is None:
                self._prunable = []
                is_unchanged = True
                for spec in self._specs:
                    self._prunable.append(is_unchanged and spec.is_prunable)
                    is_unchanged = is_unchanged and (
                        spec.is_prunable or not may_restructure(spec.spec.module)
                    )
            kept = [
                spec.index.candidates(signature) if is_prunable else None
                for spec, is_prunable in zip(self._specs, self._prunable, strict=True)
            ]
        lists = self._lists(kept)
        linked = self._link_lists(lists, self._deriver.derive(roots, lists))
        if linked is None and never_nothing:
            if self._nothing is None:
                self._nothing = link_nothing(self._given, name=self._name)
            return self._nothing
        return linked

    def _lists(self, kept: Sequence[Sequence[int] | None]) -> tuple[EntryList, ...]:
        """Return the applicable entries; those for similar targets come last."""
        if self._selection is None:
            return tuple(enumerate(kept))
        exact: list[EntryList] = []
        like: list[EntryList] = []
        for at, positions in enumerate(kept):
            spec = self._specs[at].spec
            applicability = self._selection.of(spec)
            if self._selection.members(spec):
                exact.append((at, () if applicability.is_bound_elsewhere else positions))
                continue
            own, others = applicability.split(applicability.among(positions))
            exact.append((at, own))
            like += [(at, others)] if others != () else []
        return (*exact, *like)

    def _link_lists(
        self, lists: tuple[EntryList, ...], derived: tuple[DerivedEntry, ...]
    ) -> LinkedSpec | None:
        key = lists, derived
        if key not in self._linked:
            parts: list[Part] = []
            for at, positions in lists:
                prunable = self._specs[at]
                if positions is not None:
                    part = prunable.part(positions)
                elif self._selection is None or self._selection.is_whole(prunable.spec):
                    part = Part(prunable.spec, prunable.spec)
                else:
                    # Only the applicable members of a chain are kept.
                    whole = PruningLinker([prunable.spec], selection=self._selection)
                    members = whole.link(UNKNOWN_DISPATCH)
                    part = Part(prunable.spec, members.spec if members else None)
                parts.append(replace(part, source=self._sources[at]))
            parts += [
                Part(each.spec, each.spec, source=self._sources[each.source]) for each in derived
            ]
            used = [part for part in parts if part.copy is not None]
            is_as_given = len(used) <= 1 and self._form is LinkForm.UNTOUCHED
            form = self._form
            added = parts[len(self._specs) :]
            if added and not is_as_given and form is not LinkForm.CHAINED:
                # All derived entries require the same kinds of predicates, so one form holds for all of a source.
                given = [spec.spec for spec in self._specs]
                kinds = tuple(part.spec in given and part.source for part in added)
                if kinds not in self._forms_with:
                    specs = [*given, *(part.spec for part in added)]
                    self._forms_with[kinds] = choose_form(specs)
                form = self._forms_with[kinds]
            linked = used if is_as_given else parts
            self._linked[key] = link_parts(linked, form, name=self._name) if linked else None
        return self._linked[key]


def may_restructure(module: mlir.Operation) -> bool:
    """Return whether a spec may change a program other than by setting attributes."""
    result: list[mlir.Operation] = []

    def visitor(operation: mlir.Operation) -> None:
        name = operation.name
        if name == names.ANNOTATE:
            attribute = operation.attributes["name"]
            if isinstance(attribute, mlir.StringAttr) and attribute.value in STRUCTURAL:
                result.append(operation)
        elif name.startswith("transform.") and name not in _RUNNING and not only_reads(operation):
            result.append(operation)

    visit(module, visitor)
    return bool(result)
