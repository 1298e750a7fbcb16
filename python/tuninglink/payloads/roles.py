"""The roles of the loops of an operation, under the names that conditions of matchers use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import (  # type: ignore[attr-defined]
    iree_codegen,
    linalg,
)

from tuninglink.iree.structured import (
    contraction_loops,
    convolution_loops,
    is_contraction,
    is_convolution,
)
from tuninglink.iree.structured import indexing_maps as linalg_maps
from tuninglink.mlir import names
from tuninglink.payloads.operations import attention_outputs

if TYPE_CHECKING:
    from iree.compiler.ir import AffineMap

_ATTENTION: Final = ("batch", "m", "n", "k1", "k2")


def indexing_maps(operation: mlir.Operation) -> list[AffineMap]:
    """Returns the indexing maps of an operation, none if it has none."""
    if operation.name.startswith("linalg."):
        maps = linalg_maps(operation)
    else:
        maps = operation.attributes.get("indexing_maps")
    if isinstance(maps, mlir.ArrayAttr | list):
        return [each.value for each in maps if isinstance(each, mlir.AffineMapAttr)]
    return []


def loops_of_roles(operation: mlir.Operation) -> dict[str, list[int]]:
    """Returns the loops in each role, such as `contraction m`, in the order of the compiler's matchers."""
    if operation.name in (names.ATTENTION, names.ONLINE_ATTENTION):
        maps = indexing_maps(operation)
        output = maps[len(maps) - attention_outputs(operation.name)]
        detail: Any = iree_codegen.get_attention_op_detail(maps[0], maps[1], maps[2], output)
        return {f"attention {role}": list(getattr(detail, f"{role}_dims")) for role in _ATTENTION}
    if not operation.name.startswith("linalg."):
        return {}
    if is_contraction(operation):
        found = contraction_loops(indexing_maps(operation))
        return {f"contraction {role}": loops for role, loops in found.items()}
    if is_convolution(operation):
        found = convolution_loops(indexing_maps(operation))
        return {f"convolution {role}": loops for role, loops in found.items()}
    return {}


def steps(operation: mlir.Operation) -> dict[str, list[int]]:
    """Returns the strides and dilations of a convolution, and nothing for other operations."""
    if not operation.name.startswith("linalg.") or not is_convolution(operation):
        return {}
    found: Any = linalg.infer_convolution_dimensions(operation)
    return {
        "convolution strides": list(found.strides),
        "convolution dilations": list(found.dilations),
    }
