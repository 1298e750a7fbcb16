"""Linking of many specs, in order of precedence, into one; the first match wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import DiagnosticSink, error, note
from tuninglink.mlir.symbols import references_in, symbol_name
from tuninglink.mlir.walk import body
from tuninglink.specs.linking.chains import chain
from tuninglink.specs.linking.flat_lists import flatten
from tuninglink.specs.linking.link_form import LinkForm, choose_form
from tuninglink.specs.linking.merging import prepared, spec_module
from tuninglink.specs.module_scan import is_entry_point, nested_specs
from tuninglink.specs.spec import Spec, in_context
from tuninglink.specs.structure import Anatomy, Entry
from tuninglink.specs.transform_ops import add_kernel_config, yield_

LINKED_SPEC_NAME = "iree_linked_tuning_spec"
"""The name of a linked spec; the one that the compiler gives."""


@dataclass(frozen=True)
class Part:
    """An input, and its linked part.

    Attributes:
        spec: the input.
        copy: the linked spec: the input itself, a copy with some of its entries, or None if no entry is linked.
        kept: the positions of the linked entries in the input, in order; None for all.
        source: the position of the input that the entries were derived from; None for an input given by the caller.
    """

    spec: Spec
    copy: Spec | None
    kept: Sequence[int] | None = None
    source: int | None = None

    @property
    def entries(self) -> Sequence[Entry]:
        """The entries of the input that are in the result, in order."""
        if self.kept is None:
            return self.spec.entries
        return [self.spec.anatomy.entry(position) for position in self.kept]


@dataclass(frozen=True)
class LinkedSpec:
    """The result of linking.

    Attributes:
        spec: the linked spec, ready for the compiler.
        form: the form of the linked spec.
        parts: the inputs in order of precedence. The result has their entries and entry points in the same order,
            except that a flat spec has only one entry point.
    """

    spec: Spec
    form: LinkForm
    parts: tuple[Part, ...]


def link_specs(
    specs: Sequence[Spec],
    *,
    name: str = LINKED_SPEC_NAME,
    diagnostics: DiagnosticSink | None = None,
) -> LinkedSpec:
    """Link specs into one. The inputs stay as they are.

    Args:
        specs: at least one spec, in order of precedence. The result lives in the context of the first.
        name: the symbol of the result.
        diagnostics: receives warnings, such as about specs that may override an earlier one; by default they are dropped.

    Raises:
        SpecError: there is no spec, or one cannot be linked.
    """
    form = choose_form(specs, diagnostics=diagnostics)
    linked = link_parts([Part(spec, spec) for spec in specs], form, name=name)
    assert linked is not None, "there is a spec"
    return linked


def link_parts(
    parts: Sequence[Part], form: LinkForm, *, name: str = LINKED_SPEC_NAME
) -> LinkedSpec | None:
    """Link a subset of the entries of specs in the form that the whole specs would have.

    Args:
        parts: the linked part of every spec, in order of precedence, all in one context.
        form: the result of `choose_form` for the whole specs.
        name: the symbol of the result.

    Returns:
        The linked spec, or None if no entry is left.
    """
    copies = [part.copy for part in parts if part.copy is not None]
    if not copies:
        return None
    if form is LinkForm.UNTOUCHED:
        return LinkedSpec(copies[0], form, tuple(parts))
    context = copies[0].module.context
    specs = [in_context(copy, context) for copy in copies]
    with context, mlir.Location.fused([spec.module.location for spec in specs]):
        container = spec_module(name)
    _merge(container, [spec.anatomy for spec in specs], form)
    return LinkedSpec(Spec(container, name), form, tuple(parts))


def _merge(container: mlir.Operation, members: Sequence[Anatomy], form: LinkForm) -> None:
    members = list(map(prepared, members))
    (chain if form is LinkForm.CHAINED else flatten)(container, members)


def link_nothing(specs: Sequence[Spec], *, name: str = LINKED_SPEC_NAME) -> LinkedSpec:
    """Return a spec that configures nothing, for specs without an entry to link."""
    with specs[0].module.context, specs[0].module.location:
        container = spec_module(name)
        block = add_kernel_config(container, consumes=False).regions[0].blocks[0]
        with mlir.InsertionPoint(block):
            yield_(list(block.arguments))
    parts = tuple(Part(spec, None, ()) for spec in specs)
    return LinkedSpec(Spec(container, name), LinkForm.FLAT, parts)


def link_nested_specs(
    module: mlir.Operation, name: str | None, diagnostics: DiagnosticSink
) -> None:
    """Link the specs that are nested in `module`, in place; the first match wins.

    A module that holds no spec, or was linked before, stays as it is. As in the compiler's own linking, an entry point
    of the module itself is not run if there are nested specs; a warning reports it.

    Args:
        module: the module that becomes the linked spec.
        name: its new symbol, or None to keep the current symbol.
        diagnostics: receives warnings, such as about specs that may override an earlier one.

    Raises:
        SpecError: a spec cannot be linked; `module` is left unchanged.
    """
    nested = nested_specs(module)
    own = [op for op in body(module) if is_entry_point(op)]
    # As the compiler links specs, they stay nested, and an entry point runs them.
    if not nested or any(len(path) > 1 for op in own for path in references_in(op)):
        return
    for entry_point in own:
        _check_not_run(entry_point, nested[0], diagnostics)
    specs = [Spec(op, "unnamed") for op in nested]
    form = choose_form(specs, diagnostics=diagnostics, next_to_entry_point=bool(own))
    for op in nested:
        op.detach_from_parent()
    _merge(module, [Anatomy(op) for op in nested], form)
    with module.context:
        module.attributes[names.WITH_NAMED_SEQUENCE] = mlir.UnitAttr.get()
        if name is not None:
            module.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)


def _check_not_run(
    own: mlir.Operation, nested: mlir.Operation, diagnostics: DiagnosticSink
) -> None:
    """Warn about an entry point next to nested specs.

    Raises:
        SpecError: the entry point has the name of the entry point that linking adds.
    """
    name = symbol_name(own)
    remedy = "put it into a module of its own, at its place in the order of precedence"
    notes = [note("this nested module is a spec", nested)]
    if name == names.KERNEL_CONFIG:
        message = f"'@{name}' is next to nested specs, whose entry point it would be; {remedy}"
        raise SpecError(error(message, own, notes))
    message = f"entry point '@{name}' is not run, as only nested specs are linked; {remedy}"
    diagnostics.warning(message, own, notes)
