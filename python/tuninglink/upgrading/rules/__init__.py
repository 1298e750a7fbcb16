"""The rules, one file each, in the order in which they are applied.

A rule is data: the versions that it bridges, an example before and after, the evidence, and the function
that follows the change. To add one, write a file like the others and name it here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rules import (
    attention_basis,
    attention_dags,
    attention_markers,
    attention_properties,
    denormals,
    elementwise,
    elided_lowering_config,
    entry_points,
    generalized_operations,
    gone_operations,
    intrinsics,
    lane_basis,
    lone_subgroup_counts,
    lowering_config_braces,
    matched_names,
    mma_layouts,
    mma_schedule,
    native_vector_size,
    online_attention,
    packs,
    pipeline_keyword,
    pipeline_options,
    pipelines,
    prefetch_num_stages,
    reorder_workgroups,
    simt_matmuls,
    software_pipelining,
    strict_properties,
    subgroup_basis,
    tile_levels,
    transposed_matmuls,
    virtual_intrinsics,
    waves_per_eu,
    workgroup_sizes,
)

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeRule, OperationRule, Rule

OPERATION_RULES: Final[tuple[OperationRule, ...]] = (
    transposed_matmuls.RULE,
    elementwise.RULE,
    packs.RULE,
    attention_properties.RULE,
    strict_properties.RULE,
    gone_operations.RULE,
)
"""Rules for operations that today's parser does not read."""

ENTRY_POINT_RULES: Final[tuple[OperationRule, ...]] = (entry_points.RULE,)
"""Rules for entry points. Without marker, today's compiler runs one alone; so they apply to specs with
something else that is old."""

MATCHER_RULES: Final[tuple[OperationRule, ...]] = (
    attention_dags.RULE,
    online_attention.RULE,
    matched_names.RULE,
)
"""Rules for what matchers look for. They apply to specs with something else that is old: in one of today,
a matcher that matches nothing is its author's business."""

ATTRIBUTE_RULES: Final[tuple[AttributeRule, ...]] = (
    mma_layouts.RULE,
    virtual_intrinsics.RULE,
    intrinsics.RULE,
    lane_basis.RULE,
    elided_lowering_config.RULE,
    native_vector_size.RULE,
    lowering_config_braces.RULE,
    pipeline_keyword.RULE,
    software_pipelining.RULE,
    workgroup_sizes.RULE,
    waves_per_eu.RULE,
    pipeline_options.RULE,
    reorder_workgroups.RULE,
    prefetch_num_stages.RULE,
    tile_levels.RULE,
    simt_matmuls.RULE,
    mma_schedule.RULE,
    subgroup_basis.RULE,
    attention_basis.RULE,
    lone_subgroup_counts.RULE,
    attention_markers.RULE,
    pipelines.RULE,
    denormals.RULE,
)

RULES: Final[tuple[Rule, ...]] = (
    *OPERATION_RULES,
    *ENTRY_POINT_RULES,
    *MATCHER_RULES,
    generalized_operations.RULE,
    *ATTRIBUTE_RULES,
)
"""Every rule."""
