"""Linking for a target: the user's specs in order, then the target's default spec."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tuninglink.iree.targets import Target
from tuninglink.mlir.diagnostics import DiagnosticSink
from tuninglink.specs.default_library import default_spec
from tuninglink.specs.linking.linker import LINKED_SPEC_NAME, link_specs
from tuninglink.specs.spec import Spec


def link(
    specs: Sequence[Spec],
    target: str | Target | None = None,
    *,
    directories: Sequence[str | os.PathLike[str]] = (),
    name: str = LINKED_SPEC_NAME,
    diagnostics: DiagnosticSink | None = None,
) -> Spec:
    """Link specs into one; the first wins.

    Args:
        specs: the specs in order of precedence. They stay as they are.
        target: the target whose default spec, if any, comes last; None for no default spec.
        directories: searched for the default spec before the shipped ones.
        name: the symbol of the result.
        diagnostics: receives warnings about opaque specs that may override an earlier one; by default they are dropped.

    Returns:
        A spec that the compiler accepts unchanged. A single input in default-entrypoint form is returned itself.

    Raises:
        SpecError: there is nothing to link, or a spec cannot be linked.
        TargetError: no target has this name.
    """
    default = default_spec(target, directories=directories) if target is not None else None
    inputs = [*specs, default] if default is not None else specs
    return link_specs(inputs, name=name, diagnostics=diagnostics).spec
