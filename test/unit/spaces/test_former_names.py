"""Knobs of former databases have the names of today's spaces."""

from __future__ import annotations

import pytest

from tuninglink.spaces import current_name, current_names

FORMER = {
    "a product in TileAndFuse": (
        "mma_idx wg_0 sg_0 wg_1 sg_1 red_2 wg_size_x sg_size prefetch_num_stages promoted",
        (
            "mma_kind workgroup[0] subgroup[0] workgroup[1] subgroup[1] reduction[2] workgroup_size subgroup_size "
            "prefetch_num_stages promote_operands"
        ),
    ),
    "a batched product in VectorDistribute": (
        "wg_0 sg_0_cnt wg_1 sg_m_cnt wg_2 sg_n_cnt red_3 loaded",
        (
            "workgroup[0] subgroup_basis[0] workgroup[1] subgroup_basis[1] workgroup[2] subgroup_basis[2] reduction[3] "
            "promotion_types"
        ),
    ),
    "an attention with intrinsics": (
        "wg_0 wg_1 wg_2 red_4 sg_m_cnt sg_n_cnt qk_mma_idx pv_mma_idx",
        (
            "workgroup[0] workgroup[1] workgroup[2] reduction[4] subgroup_basis[1] subgroup_basis[2] qk_attrs.mma_kind "
            "pv_attrs.mma_kind"
        ),
    ),
    "a reduction by lanes": (
        "wg_0 sg_0_cnt lane_0_cnt thread_0 red_1 sg_1_cnt lane_1_cnt thread_1",
        (
            "workgroup[0] subgroup_basis[0] lane_basis[0] thread[0] partial_reduction[1] subgroup_basis[1] lane_basis[1] "
            "thread[1]"
        ),
    ),
    "threads along axes": (
        "wg_size_x wg_size_y wg_size_z pad_0 pad_conv_1",
        "workgroup_size[0] workgroup_size[1] workgroup_size[2] padding[0] padding_conv[1]",
    ),
    "a CPU": (
        "distribution_0 vector_common_parallel_1 loop_peeling",
        "distribution[0] vector_common_parallel[1] enable_loop_peeling",
    ),
}


@pytest.mark.parametrize("name", FORMER)
def test_former_names_become_today_s_which_stay(name: str) -> None:
    former, today = (words.split() for words in FORMER[name])
    values = dict(zip(former, range(100), strict=False))
    expected = dict(zip(today, range(100), strict=False))
    assert current_names(values) == expected
    assert current_names(expected) == expected
    assert [current_name(word) for word in today] == today
