"""The form of a linked spec: one list wherever one walk over the program decides what several would, else a chain."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from tuninglink.errors import SpecError
from tuninglink.mlir.diagnostics import error, note
from tuninglink.specs.dependence import depend_on_each_other
from tuninglink.specs.entry_points import check_can_modernize
from tuninglink.specs.guardable import overrides_because
from tuninglink.specs.structure import SpecKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.mlir.diagnostics import DiagnosticSink
    from tuninglink.specs.model import Spec
    from tuninglink.specs.structure import Anatomy


class LinkForm(Enum):
    """What a linked spec looks like.

    Attributes:
        UNTOUCHED: the only input, which was in default-entrypoint form.
        FLAT: one `foreach_match` with all entries in order.
        CHAINED: a nested module for each input, run one after the other.
    """

    UNTOUCHED = "untouched"
    FLAT = "flat"
    CHAINED = "chained"


def choose_form(specs: Sequence[Spec], *, diagnostics: DiagnosticSink | None = None) -> LinkForm:
    """Tells what linking these specs gives, without linking them.

    Args:
        specs: at least one spec, in order of precedence.
        diagnostics: told about specs that may override an earlier one; by default nobody is.

    Raises:
        SpecError: there is no spec, or one cannot be linked.
    """
    if not specs:
        raise SpecError(error("nothing to link: no spec was given"))
    members = [each.anatomy for each in specs]
    if len(specs) == 1 and members[0].has_default_entry_point:
        return LinkForm.UNTOUCHED
    return form_of(members, [each.name for each in specs], diagnostics)


def form_of(
    members: Sequence[Anatomy], labels: Sequence[str], diagnostics: DiagnosticSink | None
) -> LinkForm:
    """Returns the form for specs that stand in modules; `labels` are their names in diagnostics.

    Raises:
        SpecError: one cannot be linked.
    """
    for member in members:
        for entry_point in member.entry_points:
            check_can_modernize(entry_point, member.table)
    if _can_be_flat(members):
        return LinkForm.FLAT
    if diagnostics:
        _warn_about_opaque_specs(members, labels, diagnostics)
    return LinkForm.CHAINED


def _can_be_flat(members: Sequence[Anatomy]) -> bool:
    """Tells whether one walk over the program decides what one walk for each spec would.

    Not if an entry configures another op than the one that its matcher was asked about, nor if the answer of a
    matcher depends on what another spec configures elsewhere: the other one may come too early, or too late.
    """
    if any(member.kind is SpecKind.OPAQUE for member in members):
        return False
    if len(members) == 1:
        return True
    return not any(member.reaches_other_ops for member in members) and not depend_on_each_other(
        members
    )


def _warn_about_opaque_specs(
    members: Sequence[Anatomy], labels: Sequence[str], diagnostics: DiagnosticSink
) -> None:
    for position, member in enumerate(members):
        reason = overrides_because(member) if position else None
        if reason:
            earlier = ", ".join(f"'{label}'" for label in labels[:position])
            diagnostics.warning(
                f"opaque spec '{labels[position]}' may override what {earlier} configured: "
                "it cannot be guarded",
                member.module,
                [reason, note(f"'{labels[0]}' comes first", members[0].module)],
            )
