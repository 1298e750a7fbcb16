"""Specs that are embedded in a dispatch, where the compiler applies them.

The attribute `iree_codegen.tuning_spec_mlirbc` on the module of a dispatch holds a spec as bytecode. The compiler reads
it on every backend, at a fixed point of its pipeline.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError
from tuninglink.iree.dispatches import ancestors
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error
from tuninglink.specs.loading import load_spec
from tuninglink.specs.spec import Spec


def spec_attribute(content: bytes, context: mlir.Context) -> mlir.Attribute:
    """Return the attribute that embeds a spec.

    Args:
        content: the spec as bytecode.
        context: the context of the attribute.
    """
    with context, mlir.Location.unknown():
        kind = mlir.VectorType.get([len(content)], mlir.IntegerType.get_signless(8))
        return mlir.DenseElementsAttr.get(memoryview(content), type=kind)


def carried_spec(module: mlir.Operation) -> mlir.Attribute | None:
    """Return the embedded spec that the compiler would apply to a dispatch, None without one.

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
    """Load a spec from the attribute that embeds it.

    Args:
        attribute: the value of `iree_codegen.tuning_spec_mlirbc`.
        dispatch: the name of the dispatch in diagnostics.
        at: the op with the attribute.
        context: the context of the spec; by default that of the attribute.

    Returns:
        The spec.

    Raises:
        SpecError: the attribute does not hold a spec.
    """
    message = f"the tuning spec that is embedded in {dispatch} cannot be read"
    content = embedded_bytes(attribute)
    if content is None:
        requirement = f"'{names.EMBEDDED_SPEC}' must be a dense vector of i8"
        raise SpecError(error(f"{message}: {requirement}", at))
    name = f"<embedded in {dispatch}>"
    try:
        return load_spec(content, name=name, context=context or attribute.context)
    except SpecError as failure:
        first, *others = failure.diagnostics
        # Offsets into the bytes do not help users; locations recorded in the bytecode do.
        causes = [
            diagnostic
            for diagnostic in (first, *first.notes, *others)
            if not _is_in(name, diagnostic)
        ]
        notes = [replace(diagnostic, severity=Severity.NOTE) for diagnostic in causes]
        raise SpecError(error(f"{message}: {first.message}", at, notes)) from None


def _is_in(file: str, diagnostic: Diagnostic) -> bool:
    return diagnostic.place is None or diagnostic.place.file == file


def embedded_bytes(attribute: mlir.Attribute) -> bytes | None:
    """Return the bytecode that an attribute embeds, None if it is not a dense vector of bytes."""
    if not isinstance(attribute, mlir.DenseElementsAttr):
        return None
    kind = mlir.ShapedType(attribute.type).element_type
    if not isinstance(kind, mlir.IntegerType) or kind.width != 8:  # noqa: PLR2004 - a byte
        return None
    return bytes(memoryview(cast("bytes", attribute)))  # the stubs lack the buffer protocol


def check_can_hold_specs(root: mlir.Operation) -> None:
    """Check that specs can be embedded in an op.

    Raises:
        SpecError: they cannot; the message names the ops that can hold specs.
    """
    if root.name not in (names.MODULE, names.EXECUTABLE, names.EXECUTABLE_VARIANT):
        holders = f"'{names.MODULE}', '{names.EXECUTABLE}' or '{names.EXECUTABLE_VARIANT}'"
        raise SpecError(error(f"cannot embed a tuning spec in '{root.name}': use {holders}", root))
