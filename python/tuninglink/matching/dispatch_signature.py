"""Dispatch signatures: bounds on the operations that matchers will receive, read before preprocessing.

Matchers run after the backend's preprocessing, which renames, fuses, splits and replaces operations. It preserves the
following properties of a dispatch that consists of known operations:

- A contraction or a convolution has the loops of an original operation, apart from their order and from loops of
  size 1, and the element types of original operands.
- An attention has query, key and value of an original one; contractions into which it is decomposed have some of its
  loops.

Everything else may change and is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import ATTENTION_OUTPUTS, affine_maps, indexing_loops
from tuninglink.iree.structured_op import StructuredOp, element_type
from tuninglink.matching.pruning_keys import KEPT_OPERANDS
from tuninglink.mlir import names
from tuninglink.mlir.walk import visit

LoopTuple = tuple[int, ...]
"""The sizes of the loops of an operation, in ascending order and without those of size 1."""


@dataclass(frozen=True)
class DispatchSignature:
    """The upper bound on the ops that matchers can find in a dispatch.

    Attributes:
        loops: the possible loops of contractions and convolutions; None for any.
        attentions: the loops of each attention; None for any.
        element_types: the element types of all operands; None for any.
    """

    loops: frozenset[LoopTuple] | None
    attentions: frozenset[LoopTuple] | None
    element_types: frozenset[str] | None


ANYTHING: Final = DispatchSignature(None, None, None)
"""The signature of a dispatch that contains an unknown operation."""

_STABLE_TYPES: Final = frozenset({"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "index"})
"""The element types that no preprocessing replaces. 1-bit types become bytes, and other small types may be replaced."""

_HARMLESS_DIALECTS: Final = frozenset({"affine", "arith", "func", "math", "scf"})
_HARMLESS: Final = frozenset(
    {
        names.MODULE,
        "hal.interface.binding.subspan",
        "hal.interface.constant.load",
        "iree_tensor_ext.dispatch.tensor.load",
        "iree_tensor_ext.dispatch.tensor.store",
        "iree_tensor_ext.dispatch.workload.ordinal",
        "tensor.dim",
        "tensor.empty",
        "tensor.extract",
        "tensor.extract_slice",
        "tensor.insert_slice",
        "util.assume.int",
        "util.optimization_barrier",
    }
)
"""Operations that do not affect the code of their neighbors."""

_RESHAPES: Final = frozenset({"tensor.collapse_shape", "tensor.expand_shape"})
"""Operations that may be moved past their neighbors, which then have other loops."""


class SignatureReader:
    """Reads dispatches of one context; shared parts are read once."""

    def __init__(self) -> None:
        self._loops: dict[tuple[mlir.Attribute, tuple[mlir.Type, ...]], LoopTuple | None] = {}
        self._types: dict[mlir.Type, str | None] = {}

    def read(self, module: mlir.Operation) -> DispatchSignature:
        """Return the preserved properties of a dispatch at `executable-sources`.

        Args:
            module: the `builtin.module` with its code.
        """
        reading = _Reading(self)
        visit(module, reading.visit)
        return reading.signature()

    def element_type(self, kind: mlir.Type) -> str | None:
        """Return the element type of a shaped type, or the type itself; None if it may change."""
        if kind not in self._types:
            text = str(element_type(kind))
            self._types[kind] = text if text in _STABLE_TYPES else None
        return self._types[kind]

    def loops(self, maps: mlir.Attribute | None, types: Sequence[mlir.Type]) -> LoopTuple | None:
        """Return the loops of an operation with these maps and operand types; None if unknown."""
        if maps is None:
            return None
        key = maps, tuple(types)
        if key not in self._loops:
            self._loops[key] = _loops(affine_maps(maps), types)
        return self._loops[key]


def _loops(maps: Sequence[mlir.AffineMap], types: Sequence[mlir.Type]) -> LoopTuple | None:
    sizes: dict[int, int] = {}
    for loops, kind in zip(map(indexing_loops, maps), types, strict=False):
        if not loops:
            continue
        if not isinstance(kind, mlir.ShapedType) or not kind.has_static_shape:
            return None
        if isinstance(kind, mlir.RankedTensorType) and kind.encoding is not None:
            return None
        sizes.update(
            (loop, size) for loop, size in zip(loops, kind.shape, strict=True) if loop is not None
        )
    if not maps or len(sizes) != maps[0].n_dims:
        return None
    return tuple(sorted(size for size in sizes.values() if size != 1))


class _Reading:
    """The reading of one dispatch."""

    def __init__(self, reader: SignatureReader) -> None:
        self._reader = reader
        self._loops: set[LoopTuple] | None = set()
        self._attentions: set[LoopTuple] | None = set()
        self._types: set[str] | None = set()
        self._is_unknown = False

    def signature(self) -> DispatchSignature:
        if self._is_unknown:
            return ANYTHING
        loops, attentions, types = self._loops, self._attentions, self._types
        return DispatchSignature(
            None if loops is None else frozenset(loops),
            None if attentions is None else frozenset(attentions),
            None if types is None else frozenset(types),
        )

    def visit(self, operation: mlir.Operation) -> mlir.WalkResult | None:
        name = operation.name
        if name in _HARMLESS or name.partition(".")[0] in _HARMLESS_DIALECTS:
            return None
        if name in _RESHAPES:
            self._loops = self._attentions = None
            return None
        if name in ATTENTION_OUTPUTS:
            self._visit_attention(operation)
            return mlir.WalkResult.SKIP
        if name.startswith("linalg.") and self._visit_structured(operation):
            return mlir.WalkResult.SKIP
        self._is_unknown = True
        return mlir.WalkResult.INTERRUPT

    def _visit_structured(self, operation: mlir.Operation) -> bool:
        """Record the loops of an operation; return whether it has indexing maps."""
        maps = StructuredOp(operation).maps_attribute
        if maps is None:
            return False
        types = [operand.type for operand in operation.operands]
        if self._loops is not None:
            loops = self._reader.loops(maps, types)
            if loops is None:
                self._loops = None
            else:
                self._loops.add(loops)
        self._add_types(types)
        return True

    def _visit_attention(self, operation: mlir.Operation) -> None:
        types = [operand.type for operand in operation.operands][:KEPT_OPERANDS]
        if self._attentions is not None:
            loops = self._reader.loops(StructuredOp(operation).maps_attribute, types)
            if loops is None:
                # The ops into which it is decomposed have unknown loops, too.
                self._attentions = self._loops = None
            else:
                self._attentions.add(loops)
        self._add_types(types)

    def _add_types(self, types: Sequence[mlir.Type]) -> None:
        for kind in types:
            element = self._reader.element_type(kind)
            if element is None:
                self._types = None
            elif self._types is not None:
                self._types.add(element)
