"""Embedding specs in the dispatches of a program, from where the compiler applies them.

The attribute `iree_codegen.tuning_spec_mlirbc` on the module of a dispatch holds a spec as bytecode. The
compiler looks there on every backend, at its own place in its pipeline.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError
from tuninglink.iree.dispatches import ancestors, find_dispatches
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import Severity, error
from tuninglink.specs.dispatch_linker import DispatchLinker
from tuninglink.specs.loading import in_context, load_spec
from tuninglink.specs.programs import check_is_program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.iree.dispatches import Dispatch
    from tuninglink.iree.targets import Target
    from tuninglink.mlir.diagnostics import Diagnostic, DiagnosticSink
    from tuninglink.specs.dispatch_linker import LinkerFactory
    from tuninglink.specs.library import DefaultLibrary, DefaultSpecFile
    from tuninglink.specs.linking import LinkedSpec
    from tuninglink.specs.model import Spec


@dataclass(frozen=True)
class MaterializedDispatch:
    """What became of one dispatch.

    Attributes:
        dispatch: the dispatch.
        linked: what it carries now; None if it carries what it carried before, or nothing.
    """

    dispatch: Dispatch
    linked: LinkedSpec | None


def materialize_specs(
    root: mlir.Operation,
    specs: Sequence[Spec],
    *,
    library: DefaultLibrary | None,
    linker: LinkerFactory = DispatchLinker,
    diagnostics: DiagnosticSink | None = None,
    context: mlir.Context | None = None,
) -> tuple[MaterializedDispatch, ...]:
    """Chooses, links and embeds the specs of each dispatch.

    A dispatch gets `specs`, and after them the default spec of its target; where it carries a spec already,
    that one takes the place of the default. What is to be the same for many dispatches is linked, and made
    into an attribute, once.

    Args:
        root: a module, an executable or a variant.
        specs: the user's specs in order of precedence, in any context.
        library: where default specs are looked up; None for nowhere.
        linker: makes what links the specs; by default a dispatch gets all entries. It may leave out those that
            cannot match, and a dispatch in which none may match gets nothing.
        diagnostics: told about specs that may override an earlier one, and about entries of an old default
            spec that cannot be upgraded.
        context: where specs are loaded and linked; by default where `root` lives. A compilation gives
            another: nothing of what it links may outlive its session, and what Python owns might.

    Returns:
        The dispatches in order.

    Raises:
        SpecError: `root` is no program, a spec cannot be linked, or an embedded one is damaged. Nothing has
            changed then.
        TargetError: see `find_dispatches`.
        TuninglinkError: the default library cannot be read.
    """
    check_is_program(root, remedy="give specs to materialize in the option 'specs'")
    _check_can_hold_specs(root)
    choice = _Specs(
        context or root.context,
        root.context,
        specs,
        library=library,
        linker=linker,
        diagnostics=diagnostics,
    )
    plan = [(each, *choice.link_for(each)) for each in find_dispatches(root)]
    for dispatch, _, attribute in plan:
        if attribute is not None:
            dispatch.module.attributes[names.EMBEDDED_SPEC] = attribute
    return tuple(MaterializedDispatch(dispatch, linked) for dispatch, linked, _ in plan)


def relink_embedded_specs(root: mlir.Operation, linker: LinkerFactory) -> None:
    """Links what each dispatch carries anew, such as with only the entries that may match in it.

    What is carried by an operation around a dispatch stays there, and the dispatch gets a spec of its own.

    Args:
        root: a module, an executable or a variant, with specs embedded.
        linker: makes what links a spec.

    Raises:
        SpecError: an embedded spec is damaged. Nothing has changed then.
        TargetError: see `find_dispatches`.
    """
    _check_can_hold_specs(root)
    linkers: dict[mlir.Attribute, DispatchLinker] = {}
    attributes: dict[int, mlir.Attribute] = {}
    plan: list[tuple[mlir.Operation, mlir.Attribute | None]] = []
    for dispatch in find_dispatches(root):
        module = dispatch.module
        carried = carried_spec(module)
        if carried is None:
            continue
        if carried not in linkers:
            linkers[carried] = linker([load_embedded_spec(carried, dispatch.name, module)], None)
        around = any(names.EMBEDDED_SPEC in op.attributes for op in ancestors(module))
        linked = linkers[carried].link(module, never_nothing=around)
        if linked is not None and id(linked) not in attributes:
            attributes[id(linked)] = spec_attribute(linked.spec.bytecode(), root.context)
        plan.append((module, None if linked is None else attributes[id(linked)]))
    for module, attribute in plan:
        if attribute is not None:
            module.attributes[names.EMBEDDED_SPEC] = attribute
        else:
            del module.attributes[names.EMBEDDED_SPEC]


def spec_attribute(content: bytes, context: mlir.Context) -> mlir.Attribute:
    """Returns the attribute that embeds a spec.

    Args:
        content: the spec as bytecode.
        context: where the attribute is to live.
    """
    with context, mlir.Location.unknown():
        kind = mlir.VectorType.get([len(content)], mlir.IntegerType.get_signless(8))
        return mlir.DenseElementsAttr.get(memoryview(content), type=kind)


def carried_spec(module: mlir.Operation) -> mlir.Attribute | None:
    """Returns the attribute of the spec that the compiler would apply to a dispatch, None without one.

    It is on the module itself or on the nearest operation around it that has one.
    """
    around = (op.attributes.get(names.EMBEDDED_SPEC) for op in (module, *ancestors(module)))
    return next(filter(None, around), None)


def load_embedded_spec(
    attribute: mlir.Attribute,
    dispatch: str,
    at: mlir.Operation,
    context: mlir.Context | None = None,
) -> Spec:
    """Loads a spec from the attribute that embeds it.

    Args:
        attribute: the value of `iree_codegen.tuning_spec_mlirbc`.
        dispatch: what diagnostics call the dispatch that carries it.
        at: the operation that carries it.
        context: where the spec is to live; by default where the attribute does.

    Returns:
        The spec.

    Raises:
        SpecError: the attribute holds no spec.
    """
    message = f"the tuning spec that is embedded in {dispatch} cannot be read"
    content = _bytes(attribute)
    if content is None:
        wanted = f"'{names.EMBEDDED_SPEC}' must be a dense vector of i8"
        raise SpecError(error(f"{message}: {wanted}", at))
    name = f"<embedded in {dispatch}>"
    try:
        return load_spec(content, name=name, context=context or attribute.context)
    except SpecError as failure:
        first, *others = failure.diagnostics
        # A place in the bytes tells nobody anything; one that the bytecode brings along does.
        known = [each for each in (first, *first.notes, *others) if not _is_in(name, each)]
        notes = [replace(each, severity=Severity.NOTE) for each in known]
        raise SpecError(error(f"{message}: {first.message}", at, notes)) from None


def _is_in(file: str, diagnostic: Diagnostic) -> bool:
    return diagnostic.place is None or diagnostic.place.file == file


def _bytes(attribute: mlir.Attribute) -> bytes | None:
    if not isinstance(attribute, mlir.DenseElementsAttr):
        return None
    kind = mlir.ShapedType(attribute.type).element_type
    if not isinstance(kind, mlir.IntegerType) or kind.width != 8:  # noqa: PLR2004 - a byte
        return None
    return bytes(memoryview(cast("bytes", attribute)))  # the stubs keep quiet about the buffer


def _check_can_hold_specs(root: mlir.Operation) -> None:
    if root.name not in (names.MODULE, names.EXECUTABLE, names.EXECUTABLE_VARIANT):
        wanted = f"'{names.MODULE}', '{names.EXECUTABLE}' or '{names.EXECUTABLE_VARIANT}'"
        raise SpecError(error(f"cannot embed a tuning spec in '{root.name}': use {wanted}", root))


class _Specs:
    """Links the specs of dispatches, each distinct combination once."""

    def __init__(
        self,
        context: mlir.Context,
        payload_context: mlir.Context,
        specs: Sequence[Spec],
        *,
        library: DefaultLibrary | None,
        linker: LinkerFactory,
        diagnostics: DiagnosticSink | None,
    ) -> None:
        self._make_linker = linker
        self._context = context
        self._payload_context = payload_context
        self._specs = [in_context(each, context) for each in specs]
        self._library = library
        self._diagnostics = diagnostics
        self._defaults: dict[Target, DefaultSpecFile | None] = {}
        self._linkers: dict[mlir.Attribute | DefaultSpecFile | None, DispatchLinker | None] = {}
        self._attributes: dict[int, mlir.Attribute] = {}

    def link_for(self, dispatch: Dispatch) -> tuple[LinkedSpec | None, mlir.Attribute | None]:
        """Returns what a dispatch is to carry, and the attribute for it; None where nothing changes."""
        carried = carried_spec(dispatch.module)
        last = carried or self._default(dispatch.target)
        if last not in self._linkers:
            self._linkers[last] = self._linker(dispatch, last)
        linker = self._linkers[last]
        # What is carried is replaced by something, or the compiler would apply it.
        linked = None
        if linker is not None:
            linked = linker.link(dispatch.module, never_nothing=carried is not None)
        if linked is None:
            return None, None
        if id(linked) not in self._attributes:
            attribute = spec_attribute(linked.spec.bytecode(), self._payload_context)
            self._attributes[id(linked)] = attribute
        return linked, self._attributes[id(linked)]

    def _default(self, target: Target | None) -> DefaultSpecFile | None:
        if target is None or self._library is None:
            return None
        if target not in self._defaults:
            self._defaults[target] = self._library.find(target)
        return self._defaults[target]

    def _linker(
        self, dispatch: Dispatch, last: mlir.Attribute | DefaultSpecFile | None
    ) -> DispatchLinker | None:
        specs = list(self._specs)
        if isinstance(last, mlir.Attribute):
            carried = load_embedded_spec(last, dispatch.name, dispatch.module, self._context)
            if not specs:
                return None
            specs.append(carried)
        elif last is not None:
            assert self._library is not None
            specs.append(
                last.load(
                    self._context, upgrade=self._library.upgrade, diagnostics=self._diagnostics
                )
            )
        return self._make_linker(specs, self._diagnostics) if specs else None
