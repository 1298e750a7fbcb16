"""Materialization: the specs of each dispatch of a program, chosen, linked, pruned and embedded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.iree.dispatches import Dispatch, find_dispatches
from tuninglink.matching.derivation.problem_forms import RootForm, RootFormReader
from tuninglink.matching.dispatch_signature import ANYTHING, DispatchSignature, SignatureReader
from tuninglink.matching.pruning import PruningLinker
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import DiagnosticSink, once
from tuninglink.specs.applicability import Selection
from tuninglink.specs.embedding import (
    carried_spec,
    check_can_hold_specs,
    load_embedded_spec,
    spec_attribute,
)
from tuninglink.specs.spec import Spec, check_is_program, in_context

if TYPE_CHECKING:
    from tuninglink.iree.targets import Target
    from tuninglink.matching.prunable import Pruning
    from tuninglink.specs.default_library import DefaultLibrary, DefaultSpecFile
    from tuninglink.specs.linking.linker import LinkedSpec

    _Key = tuple[Target | None, mlir.Attribute | DefaultSpecFile | None]


@dataclass(frozen=True)
class LinkedDispatch:
    """A dispatch with the spec that is linked for it.

    Attributes:
        dispatch: the dispatch.
        linked: the spec; None if the dispatch keeps its embedded spec, or has none.
    """

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

    Returns:
        The dispatches in order.

    Raises:
        SpecError: `root` is not a program, a spec cannot be linked, or an embedded one is damaged.
        TargetError: see `find_dispatches`.
        TuninglinkError: the default library cannot be read.
    """
    check_is_program(root, remedy="give specs to materialize in the option 'specs'")
    check_can_hold_specs(root)
    linker = _Linker(
        context or root.context, specs, library=library, diagnostics=diagnostics, pruning=pruning
    )
    reader = SignatureReader() if pruning else None
    dispatches = find_dispatches(root)
    roots = _RootForms(dispatches, each_its_own=pruning is not None) if derives else None
    linked = tuple(
        LinkedDispatch(
            dispatch,
            linker.link_for(dispatch, reader.read(dispatch.module) if reader else ANYTHING, roots),
        )
        for dispatch in dispatches
    )
    linker.warn_about_foreign()
    return linked


def embed_specs(dispatches: Iterable[LinkedDispatch], context: mlir.Context) -> None:
    """Embed the linked specs in their dispatches; shared specs are converted to an attribute once.

    Args:
        dispatches: the dispatches.
        context: the context of the program.
    """
    attributes: dict[int, mlir.Attribute] = {}
    for dispatch in dispatches:
        linked = dispatch.linked
        if linked is None:
            continue
        if id(linked) not in attributes:
            attributes[id(linked)] = spec_attribute(linked.spec.bytecode(), context)
        dispatch.dispatch.module.attributes[names.EMBEDDED_SPEC] = attributes[id(linked)]


class _RootForms:
    """The root ops for which entries are derived, read on demand.

    Args:
        dispatches: all dispatches.
        each_its_own: whether a dispatch receives only the entries derived for its own root ops; otherwise all
            dispatches of a target receive the same entries.
    """

    def __init__(self, dispatches: Sequence[Dispatch], *, each_its_own: bool) -> None:
        self._dispatches = dispatches
        self._each_its_own = each_its_own
        self._reader = RootFormReader()
        self._by_target: dict[Target | None, tuple[RootForm, ...]] = {}

    def of(self, dispatch: Dispatch) -> tuple[RootForm, ...]:
        """Return the root ops for which entries are derived in a dispatch."""
        if self._each_its_own:
            return self._reader.read(dispatch)
        target = dispatch.target
        if target not in self._by_target:
            same = [other for other in self._dispatches if other.target == target]
            self._by_target[target] = tuple(
                root for other in same for root in self._reader.read(other)
            )
        return self._by_target[target]


class _Linker:
    """Links the specs of dispatches, once for each distinct combination."""

    def __init__(
        self,
        context: mlir.Context,
        specs: Sequence[Spec],
        *,
        library: DefaultLibrary | None,
        diagnostics: DiagnosticSink | None,
        pruning: Pruning | None,
    ) -> None:
        self._pruning = pruning
        self._context = context
        self._specs = [in_context(spec, context) for spec in specs]
        self._library = library
        # Diagnostics about specs are reported for each target.
        self._diagnostics = once(diagnostics) if diagnostics else None
        self._defaults: dict[Target, DefaultSpecFile | None] = {}
        self._selections: dict[Target | None, Selection] = {}
        self._linkers: dict[_Key, PruningLinker | None] = {}

    def link_for(
        self, dispatch: Dispatch, signature: DispatchSignature, roots: _RootForms | None
    ) -> LinkedSpec | None:
        """Return the new spec of a dispatch; None if nothing changes."""
        carried = carried_spec(dispatch.module)
        last = carried or self._default(dispatch.target)
        key = (dispatch.target, last)
        if key not in self._linkers:
            self._linkers[key] = self._linker(dispatch, last)
        linker = self._linkers[key]
        if linker is None:
            return None
        # An embedded spec must be replaced, otherwise the compiler would apply it.
        return linker.link(
            signature,
            (lambda: roots.of(dispatch)) if roots else tuple,
            never_nothing=carried is not None,
        )

    def warn_about_foreign(self) -> None:
        """Warn about the entries that were not linked because they are foreign to a target."""
        if self._diagnostics:
            for selection in self._selections.values():
                selection.warn(self._diagnostics)

    def _default(self, target: Target | None) -> DefaultSpecFile | None:
        if target is None or self._library is None:
            return None
        if target not in self._defaults:
            self._defaults[target] = self._library.find(target)
        return self._defaults[target]

    def _linker(
        self, dispatch: Dispatch, last: mlir.Attribute | DefaultSpecFile | None
    ) -> PruningLinker | None:
        selection = self._selections.setdefault(dispatch.target, Selection(dispatch.target))
        # Entries that are bound to other targets do not affect this one.
        used = {
            position: spec
            for position, spec in enumerate(self._specs)
            if not selection.of(spec).is_bound_elsewhere
        }
        specs = [*used.values()]
        # The last spec is the one embedded in the dispatch, or the default spec.
        if isinstance(last, mlir.Attribute):
            carried = load_embedded_spec(last, dispatch.name, dispatch.module, self._context)
            if not specs and selection.is_whole(carried):
                return None
            specs.append(carried)
        elif last is not None:
            assert self._library is not None
            specs.append(
                last.load(
                    self._context, upgrade=self._library.upgrade, diagnostics=self._diagnostics
                )
            )
        if not specs:
            return None
        return PruningLinker(
            specs,
            diagnostics=self._diagnostics,
            pruning=self._pruning,
            selection=selection,
            sources=[*used, len(self._specs)],
        )
