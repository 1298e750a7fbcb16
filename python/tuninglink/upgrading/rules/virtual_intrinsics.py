from __future__ import annotations

from tuninglink.upgrading.rule_definition import AttributeSite, attribute_rule


@attribute_rule(
    "iree_gpu.virtual_mma_layout",
    since=(3, 7),
    before="#iree_gpu.virtual_mma_layout<intrinsic = VMFMA_F32_16x16x32_F16>",
    after="#iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16>",
    evidence=("iree#21537",),
)
def virtual_intrinsics(site: AttributeSite) -> None:
    """`virtual_mma_layout<intrinsic = X>` became `virtual_mma_layout<X>`."""
    field = site.node.find("intrinsic")
    if field is not None and field.key is not None:
        field.key = None
        site.changed("the virtual intrinsic is written without 'intrinsic ='")
