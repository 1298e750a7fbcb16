"""The form of a linked spec, and of its entry points.

A linked spec is one list if one walk over the program makes the same decisions as one walk for each spec, otherwise a
chain. Entry points are converted to the current form: in older specs, `@__kernel_config` has no marker and often no
result. Some entry points do not declare whether they read or consume their argument. The compiler runs such a spec
alone, but silently drops it next to another spec.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from tuninglink.errors import SpecError
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import error, note
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import body
from tuninglink.specs.entry_settings import hidden_failure
from tuninglink.specs.linking.analysis import (
    configures,
    depend_on_each_other,
    restriction,
    untraced,
)
from tuninglink.specs.linking.merging import check_imported_names
from tuninglink.specs.linking.rewriting import declare_ownership
from tuninglink.specs.module_scan import signature
from tuninglink.specs.sequences import argument_attributes, consumes
from tuninglink.specs.structure import SpecKind
from tuninglink.specs.transform_ops import change_signature, check_matchers_differ, yield_more

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import DiagnosticSink
    from tuninglink.specs.spec import Spec
    from tuninglink.specs.structure import Anatomy, EntryPoint
    from tuninglink.specs.transform_ops import Handle


class LinkForm(Enum):
    """The form of a linked spec.

    Attributes:
        UNTOUCHED: a single input that is already in default-entrypoint form.
        FLAT: one `foreach_match` with all entries in order.
        CHAINED: a new entry point that runs the entry points of the inputs in order.
    """

    UNTOUCHED = "untouched"
    FLAT = "flat"
    CHAINED = "chained"


def choose_form(
    specs: Sequence[Spec],
    *,
    diagnostics: DiagnosticSink | None = None,
    next_to_entry_point: bool = False,
) -> LinkForm:
    """Return the form that the given specs would have when linked, without linking them.

    Args:
        specs: at least one spec, in order of precedence.
        diagnostics: receives warnings about entries and specs without the expected effect; by default they are dropped.
        next_to_entry_point: whether the linked spec will be next to an entry point, which rules out default-entrypoint
            form.

    Raises:
        SpecError: there is no spec, or one cannot be linked.
    """
    if not specs:
        raise SpecError(error("nothing to link: no spec was given"))
    members = [spec.anatomy for spec in specs]
    for member in members:
        _check_can_run(member)
    check_imported_names(members)
    if len(specs) == 1 and members[0].has_default_entry_point and not next_to_entry_point:
        return LinkForm.UNTOUCHED
    for member in members:
        for entry_point in member.entry_points:
            check_can_modernize(entry_point)
    if not next_to_entry_point and _can_be_flat(members):
        return LinkForm.FLAT
    if diagnostics:
        _warn_about_failures(specs, diagnostics)
        _warn_about_overriding(specs, diagnostics)
        _warn_about_untraced(specs, diagnostics)
    return LinkForm.CHAINED


def _check_can_run(spec: Anatomy) -> None:
    """Check that the compiler can run a spec.

    Raises:
        SpecError: a sequence is only declared, or a list uses a matcher twice.
    """
    scan = spec.table.scan
    for foreach_match in scan.lists:
        check_matchers_differ(foreach_match)
    if not scan.has_declarations:
        return
    for _, sequence in spec.table.run_by(*(point.path for point in spec.entry_points)):
        if not sequence.regions[0].blocks:
            remedy = "give it a body, or remove what refers to it"
            message = f"'@{symbol_name(sequence)}' is declared and not defined; {remedy}"
            raise SpecError(error(message, sequence))


def _can_be_flat(members: Sequence[Anatomy]) -> bool:
    """Return whether one walk over the program makes the same decisions as one walk for each spec.

    The decisions may differ if an entry configures an op other than the matched one, or if the result of a matcher
    depends on an op that another spec configures. In one walk, that configuration may come too early or too late.
    """
    if any(member.kind is SpecKind.OPAQUE for member in members):
        return False
    return len(members) == 1 or not (
        any(member.reaches_other_ops for member in members) or depend_on_each_other(members)
    )


def _warn_about_failures(specs: Sequence[Spec], diagnostics: DiagnosticSink) -> None:
    """Warn about failing checks in entry points, which are errors in a spec alone but suppressed in a chain."""
    for spec in specs:
        # Where a chain suppresses failures already, linking changes nothing.
        entry_points = () if spec.anatomy.driver else spec.anatomy.entry_points
        for entry_point in entry_points:
            check = hidden_failure(spec.anatomy.table, entry_point.sequence)
            if check is not None:
                diagnostics.warning(
                    f"entry point '@{entry_point.name}' of '{spec.name}' may fail here, which is an error where the "
                    "spec is applied alone; linked, it goes on without a diagnostic",
                    check,
                )


def _warn_about_overriding(specs: Sequence[Spec], diagnostics: DiagnosticSink) -> None:
    """Warn about later specs that can change configured ops of earlier ones despite the guards."""
    for position, spec in enumerate(specs):
        reason = restriction(spec.anatomy) if position else None
        if reason:
            earlier = ", ".join(f"'{other.name}'" for other in specs[:position])
            diagnostics.warning(
                f"opaque spec '{spec.name}' may override what {earlier} configured: "
                "it cannot be guarded",
                spec.module,
                [reason, note(f"'{specs[0].name}' comes first", specs[0].module)],
            )


def _warn_about_untraced(specs: Sequence[Spec], diagnostics: DiagnosticSink) -> None:
    """Warn about specs that decide ops unknown to later specs, which skip configured ops instead."""
    for position, spec in enumerate(specs):
        later = [other for other in specs[position + 1 :] if configures(other.anatomy)]
        reason = untraced(spec.anatomy, is_first=not position) if later else None
        if reason:
            names_of_later = ", ".join(f"'{other.name}'" for other in later)
            diagnostics.warning(
                f"the operations that '{spec.name}' decides are not known after it: "
                f"{names_of_later} may configure them, and may skip others that arrive with a configuration",
                spec.module,
                [reason, note(f"'{later[0].name}' comes later", later[0].module)],
            )


def check_can_modernize(entry_point: EntryPoint) -> None:
    """Check that `modernize` can determine the result of the entry point.

    Raises:
        SpecError: the entry point has no result and consumes its argument without producing a new handle.
    """
    sequence = entry_point.sequence
    if not signature(sequence).results and _handle_to_yield(sequence) is None:
        raise SpecError(
            error(
                f"entry point '@{entry_point.name}' consumes its argument and returns nothing; "
                "let it return the updated handle",
                sequence,
            )
        )


def modernize(sequence: mlir.Operation) -> None:
    """Add the argument's ownership and the result to an entry point if they are missing."""
    with sequence.context, sequence.location:
        if argument_attributes(sequence, 0).isdisjoint({names.CONSUMED, names.READONLY}):
            declare_ownership(sequence)
        if not signature(sequence).results:
            handle = _handle_to_yield(sequence)
            assert handle is not None, "checked by check_can_modernize"
            change_signature(sequence, [], [handle.type])
            yield_more(sequence, [handle])


def _handle_to_yield(sequence: mlir.Operation) -> Handle | None:
    """Return the handle to the payload that is valid at the end of the entry point."""
    handle: Handle = sequence.regions[0].blocks[0].arguments[0]
    for operation in body(sequence):
        if consumes(operation, handle):
            if [result.type for result in operation.results] != [handle.type]:
                return None
            handle = operation.results[0]
    return handle
