"""Materialization: the specs of each dispatch of a program, chosen, linked, pruned and embedded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.iree.dispatches import find_dispatches
from tuninglink.matching.derivation.root_forms import RootFormReader
from tuninglink.matching.dispatch_signature import ANYTHING, SignatureReader
from tuninglink.matching.pruning import PruningLinker
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import once
from tuninglink.specs.applicability import Selection
from tuninglink.specs.embedding import (
    carried_spec,
    check_can_hold_specs,
    load_embedded_spec,
    spec_attribute,
)
from tuninglink.specs.loading import in_context
from tuninglink.specs.programs import check_is_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tuninglink.iree.dispatches import Dispatch
    from tuninglink.iree.targets import Target
    from tuninglink.matching.derivation.root_forms import RootForm
    from tuninglink.matching.dispatch_signature import DispatchSignature
    from tuninglink.matching.prunable import Pruning
    from tuninglink.mlir.diagnostics import DiagnosticSink
    from tuninglink.specs.library import DefaultLibrary, DefaultSpecFile
    from tuninglink.specs.linking.linker import LinkedSpec
    from tuninglink.specs.spec import Spec

    _Key = tuple[Target | None, mlir.Attribute | DefaultSpecFile | None]


@dataclass(frozen=True)
class LinkedDispatch:
    """A dispatch with the spec that is linked for it.

    Attributes:
        dispatch: the dispatch.
        linked: the spec; None if the dispatch keeps what it carries, or carries nothing.
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
    """Choose and links the specs of each dispatch; the program is not changed.

    A dispatch gets what of `specs` applies to its target, and after it the default spec of the target; where it
    carries a spec already, that one takes the place of the default. Dispatches of a target with the same specs
    share one linked spec.

    Args:
        root: a module, an executable or a variant.
        specs: the user's specs in order of precedence, in any context.
        library: where default specs are looked up; None for nowhere.
        pruning: what is known of specs for pruning; each dispatch gets only the entries that may match in it then.
            That configures nothing otherwise, and a dispatch in which none may match gets nothing.
        derives: whether entries are derived for root ops that have another form of a problem than the entry for it.
        diagnostics: told about entries that are foreign to a target, about specs that may override an earlier
            one, and about entries of an old default spec that cannot be upgraded.
        context: where specs are loaded and linked; by default where `root` lives. A compilation gives
            another: nothing of what it links may outlive its session, and what Python owns might.

    Returns:
        The dispatches in order.

    Raises:
        SpecError: `root` is no program, a spec cannot be linked, or an embedded one is damaged.
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
    """Embed the linked specs in their dispatches; what many share is made into an attribute once.

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
    """The root ops that entries are derived for, read where they are needed.

    Args:
        dispatches: all dispatches.
        each_its_own: whether a dispatch gets the entries derived for its own root ops; else all dispatches of a target
            get the same.
    """

    def __init__(self, dispatches: Sequence[Dispatch], *, each_its_own: bool) -> None:
        self._dispatches = dispatches
        self._each_its_own = each_its_own
        self._reader = RootFormReader()
        self._by_target: dict[Target | None, tuple[RootForm, ...]] = {}

    def of(self, dispatch: Dispatch) -> tuple[RootForm, ...]:
        """Return the root ops that entries are derived for in a dispatch."""
        if self._each_its_own:
            return self._reader.read(dispatch)
        target = dispatch.target
        if target not in self._by_target:
            same = [each for each in self._dispatches if each.target == target]
            self._by_target[target] = tuple(
                root for each in same for root in self._reader.read(each)
            )
        return self._by_target[target]


class _Linker:
    """Links the specs of dispatches, each distinct combination once."""

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
        # What is said of specs is said for each target.
        self._diagnostics = once(diagnostics) if diagnostics else None
        self._defaults: dict[Target, DefaultSpecFile | None] = {}
        self._selections: dict[Target | None, Selection] = {}
        self._linkers: dict[_Key, PruningLinker | None] = {}

    def link_for(
        self, dispatch: Dispatch, signature: DispatchSignature, roots: _RootForms | None
    ) -> LinkedSpec | None:
        """Return the spec that a dispatch is to carry; None where nothing changes."""
        carried = carried_spec(dispatch.module)
        last = carried or self._default(dispatch.target)
        key = (dispatch.target, last)
        if key not in self._linkers:
            self._linkers[key] = self._linker(dispatch, last)
        linker = self._linkers[key]
        if linker is None:
            return None
        # What is carried is replaced by something, or the compiler would apply it.
        return linker.link(
            signature,
            (lambda: roots.of(dispatch)) if roots else tuple,
            never_nothing=carried is not None,
        )

    def warn_about_foreign(self) -> None:
        """Warn of the entries that were not linked as they are foreign to a target."""
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
        # What is bound to other targets decides nothing here.
        used = {
            position: each
            for position, each in enumerate(self._specs)
            if not selection.of(each).is_bound_elsewhere
        }
        specs = [*used.values()]
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
