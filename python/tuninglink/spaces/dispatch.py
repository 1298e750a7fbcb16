"""What a root op computes, as a problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from iree.compiler import ir as mlir
from iree.compiler.dialects import (  # type: ignore[attr-defined]
    iree_codegen,
    iree_gpu,
    linalg,
)

from tuninglink.mlir import names
from tuninglink.spaces.problem import Dimension, OpKind, Problem, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_ATTENTIONS = frozenset({"iree_linalg_ext.attention", "iree_linalg_ext.online_attention"})


def problem_of(root: mlir.Operation, limits: Mapping[str, int]) -> Problem:
    """Returns what a root op computes.

    Args:
        root: the operation.
        limits: what the target can do.
    """
    kind, roles = _roles(root)
    maps = _indexing_maps(root)
    sizes = _sizes(root, maps)
    dimensions = tuple(
        Dimension(roles.get(index, Role.PARALLEL), size) for index, size in enumerate(sizes)
    )
    return Problem(kind, dimensions, tuple(_element_types(root)), limits)


def target_around(function: mlir.Operation) -> mlir.Attribute | None:
    """Returns the `#hal.executable.target` that is written on or around a function, the nearest one."""
    operation: mlir.Operation | None = function
    while operation is not None:
        is_variant = operation.name == names.EXECUTABLE_VARIANT
        target = operation.attributes.get("target" if is_variant else names.EXECUTABLE_TARGET)
        if target is not None:
            return target
        operation = operation.parent.operation if operation.parent is not None else None
    return None


def gpu_limits(target: mlir.Attribute) -> dict[str, int]:
    """Returns what a GPU can do, under the names that the compiler uses.

    Args:
        target: a `#hal.executable.target` that describes a GPU; the bindings end the process on others.
    """
    info = iree_gpu.TargetInfo.get_gpu_target_info(target)
    return {
        "max_thread_count_per_workgroup": info.max_thread_count_per_workgroup,
        "max_workgroup_memory_bytes": info.max_workgroup_memory_bytes,
        "simds_per_workgroup": info.simds_per_workgroup,
    }


def _roles(root: mlir.Operation) -> tuple[OpKind, dict[int, Role]]:
    if root.name in _ATTENTIONS:
        return OpKind.ATTENTION, _attention_roles(root)
    if not root.name.startswith("linalg."):
        return OpKind.OTHER, {}
    if linalg.isa_contraction_op(root):
        found: Any = linalg.infer_contraction_dimensions(root)
        roles = {"batch": Role.BATCH, "m": Role.M, "n": Role.N, "k": Role.K}
        return OpKind.CONTRACTION, _collect(found, roles)
    if linalg.isa_convolution_op(root):
        found = linalg.infer_convolution_dimensions(root)
        return OpKind.CONVOLUTION, _collect(found, _CONVOLUTION_ROLES)
    iterators = root.attributes.get("iterator_types")
    if not isinstance(iterators, mlir.ArrayAttr):
        return OpKind.OTHER, {}
    parallel = mlir.Attribute.parse("#linalg.iterator_type<parallel>", root.context)
    reduced = [index for index, each in enumerate(iterators) if each != parallel]
    kind = OpKind.REDUCTION if reduced else OpKind.ELEMENTWISE
    return kind, dict.fromkeys(reduced, Role.REDUCTION)


_CONVOLUTION_ROLES = {
    "batch": Role.BATCH,
    "output_image": Role.OUTPUT_IMAGE,
    "output_channel": Role.OUTPUT_CHANNEL,
    "filter_loop": Role.FILTER,
    "input_channel": Role.INPUT_CHANNEL,
    "depth": Role.DEPTH,
}


def _attention_roles(root: mlir.Operation) -> dict[int, Role]:
    maps = _indexing_maps(root)
    outputs = _output_count(root)
    query, key, value, output = maps[0], maps[1], maps[2], maps[len(maps) - outputs]
    found: Any = iree_codegen.get_attention_op_detail(query, key, value, output)
    roles = {"batch": Role.BATCH, "m": Role.M, "n": Role.N, "k1": Role.K1, "k2": Role.K2}
    return _collect(found, {f"{name}_dims": role for name, role in roles.items()})


def _output_count(root: mlir.Operation) -> int:
    return max(1, len(root.results))


def _collect(found: Any, roles: Mapping[str, Role]) -> dict[int, Role]:
    return {index: role for name, role in roles.items() for index in getattr(found, name)}


def _indexing_maps(root: mlir.Operation) -> Sequence[mlir.AffineMap]:
    if root.name.startswith("linalg."):
        found = linalg.get_indexing_maps(root)
        return [each.value for each in found or () if isinstance(each, mlir.AffineMapAttr)]
    maps = root.attributes.get("indexing_maps")
    if not isinstance(maps, mlir.ArrayAttr):
        return []
    return [each.value for each in maps if isinstance(each, mlir.AffineMapAttr)]


def _sizes(root: mlir.Operation, maps: Sequence[mlir.AffineMap]) -> list[int | None]:
    """Returns the size of each loop: that of the first static operand dimension that it alone indexes."""
    sizes: list[int | None] = [None] * (maps[0].n_dims if maps else 0)
    for operand, each in zip(root.operands, maps, strict=False):
        shape = operand.type
        if not isinstance(shape, mlir.ShapedType) or not shape.has_rank:
            continue
        for position, result in enumerate(each.results):
            if not isinstance(result, mlir.AffineDimExpr) or shape.is_dynamic_dim(position):
                continue
            if sizes[result.position] is None:
                sizes[result.position] = shape.get_dim_size(position)
    return sizes


def _element_types(root: mlir.Operation) -> Iterable[str]:
    for operand in root.operands:
        kind = operand.type
        element = kind.element_type if isinstance(kind, mlir.ShapedType) else kind
        yield str(element)
