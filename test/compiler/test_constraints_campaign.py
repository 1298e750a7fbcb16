"""Verdicts that once contradicted the compiler, one for each rule that fixed them (test/campaigns/verdicts.py)."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from cpu_dispatches import DOUBLE_TILING
from gpu_programs import attention, matmul
from mlir_function import Function
from model_programs import rms_norm
from verdict_programs import FORMS
from verdict_trials import TARGETS, Trials

from tuninglink.errors import Severity
from tuninglink.iree import TILE_AND_FUSE, VECTOR_DISTRIBUTE
from tuninglink.solver import Grade, Verdict
from tuninglink.spaces import ProviderRegistry
from tuninglink.spaces.cpu import CpuProvider
from tuninglink.spaces.gpu import GpuProvider

if TYPE_CHECKING:
    from tuninglink.spaces.model import Space

CONVOLUTION_EXPERT = "#iree_cpu.pipeline<ConvTileAndDecomposeExpert>"
_FUNCTION = Function("normalized")
NORMALIZED = _FUNCTION.text(rms_norm(_FUNCTION, 64, 4096, "f16"))


def product(*operands: tuple[int, str], bias: bool = False) -> str:
    """Return a product of m rows by k, and n rows by k, of these element types."""
    function = Function("product")
    (m, lhs), (n, rhs), (k, result) = operands
    left, right = function.argument(m, k, element=lhs), function.argument(n, k, element=rhs)
    found = function.contraction("mk,nk->mn", left, right, result)
    if bias:
        added = function.argument(n, element=result)
        found = function.generic("mn,n->mn", found, added, body="%r = add %0, %1 : T")
    return function.text(found)


def dequantized(m: int, n: int, k: int, narrow: str, wide: str = "f16") -> str:
    """Return a product with weights that are scaled by rows."""
    function = Function("dequantized")
    weights, scales = function.argument(n, k, element=narrow), function.argument(n, element=wide)
    body = "%r = mul %0, %1 : T"
    wider = function.generic("nk,n->nk", weights, scales, body=body, element=wide)
    lhs = function.argument(m, k, element=wide)
    return function.text(function.contraction("mk,nk->mn", lhs, wider, "f32"))


def reduced(element: str, operation: str, length: int = 77) -> str:
    """Return a reduction of rows."""
    function = Function("reduced")
    rows = function.argument(64, length, element=element)
    body = f"%r = {operation} %out, %0 : T"
    return function.text(function.generic("ad->a", rows, body=body, start=1))


def image(columns: int, inputs: int = 16, outputs: int = 16) -> str:
    """Return a convolution of an image with as many columns."""
    function = Function("convolved")
    pixels = function.argument(2, 20, columns + 4, inputs, element="f16")
    weights = function.argument(5, 5, inputs, outputs, element="f16")
    convolution = "linalg.conv_2d_nhwc_hwcf"
    return function.text(
        function.named(convolution, (pixels, weights), (2, 16, columns, outputs), "f32", 0)
    )


INTRINSIC, PADDED, PADDED_LOADS, THREADS = 0, 1, 3, -1
"""The numbers of the spaces of TileAndFuse."""

TAKEN_AS_IT_IS = -2
"""The space of convolutions without implicit GEMM."""

LOADS = 1
"""The space of direct loads on gfx950, which come before padding."""


@dataclass(frozen=True)
class Case:
    """A configuration.

    Attributes:
        source: the program.
        target: what it is compiled for.
        pipeline: the pipeline.
        knobs: the values of knobs; others are 0. Without any, the compiler's own choice.
        verdict: the expected verdict.
        compiles: what the compiler says.
        space: which space of the pipeline.
    """

    source: str
    target: str
    pipeline: str
    knobs: dict[str, int] = field(hash=False)
    verdict: Verdict
    compiles: bool
    space: int = INTRINSIC


def of_dimensions(prefix: str, *tiles: int) -> dict[str, int]:
    return {f"{prefix}[{loop}]": tile for loop, tile in enumerate(tiles)}


REDUCTION_TILES = {
    **of_dimensions("distribution", 16),
    **of_dimensions("vector_common_parallel", 4),
    "vector_reduction[1]": 8,
}

IMAGE_TILES = {
    **of_dimensions("workgroup", 1, 4, 48, 16),
    **of_dimensions("subgroup", 1, 2, 1, 1),
    "reduction[4]": 5,
    "mma_kind": 0,
    "promote_operands": 0,
    "workgroup_size": 384,
    "subgroup_size": 64,
    "prefetch_num_stages": 0,
}

SWIZZLED = {
    **of_dimensions("workgroup", 3, 64, 64),
    "reduction[3]": 1,
    "mma_kind": 0,
    "promotion_types": 2,
    "subgroup_size": 64,
    "prefetch_num_stages": 2,
}
"""Direct loads of a swizzled left operand."""

CASES = {
    "more of an outer dimension than there is": Case(
        matmul(48, 48, 16, batch=4),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 1, 48, 16)
        | of_dimensions("subgroup", 2, 3, 1)
        | {
            "reduction[3]": 1,
            "workgroup_size": 384,
            "subgroup_size": 64,
            "prefetch_num_stages": 2,
            "promote_operands": 3,
        },
        Verdict.NOT_DECIDED,
        compiles=True,
    ),
    "an outer tile larger than its dimension": Case(
        matmul(48, 48, 32, batch=4),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 8, 16, 16)
        | of_dimensions("subgroup", 0, 1, 1)
        | {"reduction[3]": 1, "workgroup_size": 256, "subgroup_size": 64, "promote_operands": 3},
        Verdict.NOT_DECIDED,
        compiles=True,
    ),
    "a tile of more rows than there are": Case(
        matmul(300, 192, 64, "f32"),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 608, 32)
        | of_dimensions("subgroup", 19, 1)
        | {"reduction[2]": 1, "mma_kind": 0, "promote_operands": 2, "workgroup_size": 128}
        | {"subgroup_size": 64, "prefetch_num_stages": 2},
        Verdict.NOT_DECIDED,
        compiles=True,
    ),
    "steps that do not divide the reduction": Case(
        matmul(512, 1024, 100, "i8", result="i32"),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 128, 512)
        | of_dimensions("subgroup", 4, 8)
        | {"reduction[2]": 1, "mma_kind": 1, "promote_operands": 1, "workgroup_size": 128}
        | {"subgroup_size": 64, "prefetch_num_stages": 2},
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "two steps ahead of threads that copy nothing": Case(
        matmul(512, 384, 128),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 64, 2)
        | of_dimensions("thread", 2, 2)
        | {
            "reduction[2]": 8,
            "promote_operands": 0,
            "workgroup_size": 32,
            "prefetch_num_stages": 3,
            "subgroup_size": 64,
        },
        Verdict.NOT_DECIDED,
        compiles=False,
        space=THREADS,
    ),
    "two steps ahead of threads that copy unequal parts": Case(
        matmul(320, 197, 512, transposed=True),
        "gfx1100",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 288, 416)
        | of_dimensions("padding", 288, 416, 16)
        | {
            "subgroup[0]": 9,
            "subgroup[1]": 2,
            "reduction[2]": 1,
            "mma_kind": 0,
            "promote_operands": 0,
        }
        | {"workgroup_size": 832, "prefetch_num_stages": 3}
        | {"subgroup_size": 32},
        Verdict.NOT_DECIDED,
        compiles=False,
        space=PADDED,
    ),
    "a tile beyond a dimension that intrinsics divide": Case(
        matmul(96, 128, 192, batch=3),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 3, 96, 129)
        | of_dimensions("subgroup", 0, 6, 1)
        | {"reduction[3]": 3, "mma_kind": 0, "promote_operands": 3, "workgroup_size": 512}
        | {"subgroup_size": 64, "prefetch_num_stages": 1},
        Verdict.NOT_DECIDED,
        compiles=True,
    ),
    "a tile of keys that is rounded up": Case(
        attention(2, 1024, 128, 128, 320),
        "gfx1100",
        VECTOR_DISTRIBUTE,
        of_dimensions("workgroup", 1, 64, 64)
        | {
            "reduction[4]": 40,
            "subgroup_basis[1]": 4,
            "subgroup_basis[2]": 1,
            "workgroup_size": 128,
        }
        | {"qk_attrs.mma_kind": 1, "pv_attrs.mma_kind": 1}
        | {"subgroup_size": 32, "prefetch_num_stages": 2},
        Verdict.NOT_DECIDED,
        compiles=True,
    ),
    "what another op wants of a single step": Case(
        NORMALIZED,
        "gfx942",
        VECTOR_DISTRIBUTE,
        {
            "workgroup[0]": 16,
            "subgroup_basis[0]": 4,
            "lane_basis[0]": 1,
            "thread[0]": 1,
            "workgroup_size": 512,
        }
        | {
            "partial_reduction[1]": 4096,
            "subgroup_basis[1]": 2,
            "lane_basis[1]": 64,
            "thread[1]": 8,
        }
        | {"subgroup_size": 64, "prefetch_num_stages": 1},
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "a single iteration of an unknown number": Case(
        matmul(128, 128, 320, "bf16", batch=3),
        "aarch64",
        DOUBLE_TILING,
        of_dimensions("distribution", 2, 4, 32)
        | of_dimensions("vector_common_parallel", 1, 2, 32)
        | {"vector_reduction[3]": 64},
        Verdict.REFUTED,
        compiles=False,
    ),
    "operands of different types without an intrinsic": Case(
        product((64, "i8"), (128, "i16"), (64, "i32")),
        "sm_80",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 16, 32)
        | of_dimensions("thread", 2, 2)
        | {"workgroup_size": 128, "reduction[2]": 1, "subgroup_size": 1},
        Verdict.REFUTED,
        compiles=False,
        space=THREADS,
    ),
    "operands of which one is widened": Case(
        product((64, "f16"), (128, "f32"), (64, "f32")),
        "sm_80",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 16, 32)
        | of_dimensions("thread", 2, 2)
        | {"workgroup_size": 128, "reduction[2]": 4, "subgroup_size": 32, "promote_operands": 2},
        Verdict.PROVEN,
        compiles=True,
        space=THREADS,
    ),
    "the result beside weights that are dequantized": Case(
        dequantized(77, 320, 640, "i8"),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 96, 128)
        | of_dimensions("padding", 96, 128, 80)
        | of_dimensions("subgroup", 1, 1)
        | {
            "reduction[2]": 10,
            "promote_operands": 1,
            "workgroup_size": 768,
            "mma_kind": 1,
            "subgroup_size": 64,
        },
        Verdict.NOT_DECIDED,
        compiles=False,
        space=PADDED,
    ),
    "weights that are padded and dequantized two steps ahead": Case(
        dequantized(77, 320, 512, "i8"),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 64, 128)
        | of_dimensions("padding", 64, 128, 64)
        | of_dimensions("subgroup", 1, 1)
        | {
            "reduction[2]": 8,
            "promote_operands": 0,
            "workgroup_size": 512,
            "mma_kind": 1,
            "subgroup_size": 64,
        }
        | {"prefetch_num_stages": 3},
        Verdict.NOT_DECIDED,
        compiles=False,
        space=PADDED,
    ),
    "weights that are dequantized two steps ahead": Case(
        dequantized(77, 256, 512, "i8"),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 64, 128)
        | of_dimensions("padding", 64, 128, 64)
        | of_dimensions("subgroup", 1, 1)
        | {
            "reduction[2]": 8,
            "promote_operands": 0,
            "workgroup_size": 512,
            "mma_kind": 1,
            "subgroup_size": 64,
        }
        | {"prefetch_num_stages": 3},
        Verdict.PROVEN,
        compiles=True,
        space=PADDED,
    ),
    "scales that the threads cannot share": Case(
        dequantized(384, 1280, 320, "i8"),
        "gfx942",
        VECTOR_DISTRIBUTE,
        of_dimensions("workgroup", 64, 320)
        | {
            "reduction[2]": 64,
            "subgroup_basis[0]": 1,
            "subgroup_basis[1]": 2,
            "promote_operands": 0,
            "workgroup_size": 128,
        }
        | {"subgroup_size": 64, "prefetch_num_stages": 2},
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "weights of four bits that are copied": Case(
        dequantized(256, 1024, 128, "i4"),
        "sm_89",
        VECTOR_DISTRIBUTE,
        of_dimensions("workgroup", 128, 128)
        | {
            "reduction[2]": 16,
            "subgroup_basis[0]": 1,
            "subgroup_basis[1]": 1,
            "promote_operands": 0,
            "workgroup_size": 32,
        }
        | {"subgroup_size": 32, "prefetch_num_stages": 2},
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "direct loads with padding": Case(
        matmul(1500, 320, 1024, "f8E5M2"),
        "gfx950",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 288, 384)
        | of_dimensions("padding", 288, 384, 128)
        | of_dimensions("subgroup", 18, 4)
        | {
            "reduction[2]": 1,
            "workgroup_size": 384,
            "mma_kind": 0,
            "prefetch_num_stages": 0,
            "subgroup_size": 64,
        },
        Verdict.NOT_DECIDED,
        compiles=False,
        space=PADDED_LOADS,
    ),
    "direct loads of several products": Case(
        matmul(128, 96, 160, "f32", batch=3),
        "gfx950",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 3, 128, 96)
        | of_dimensions("subgroup", 0, 8, 3)
        | {
            "reduction[3]": 2,
            "workgroup_size": 128,
            "mma_kind": 0,
            "prefetch_num_stages": 2,
            "subgroup_size": 64,
        },
        Verdict.NOT_DECIDED,
        compiles=False,
        space=LOADS,
    ),
    "the result that a bias is added to": Case(
        product((384, "f32"), (256, "f32"), (128, "f32"), bias=True),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 256, 128)
        | of_dimensions("thread", 8, 8)
        | {"reduction[2]": 4, "promote_operands": 1, "workgroup_size": 512, "subgroup_size": 64},
        Verdict.NOT_DECIDED,
        compiles=False,
        space=THREADS,
    ),
    "a reduction in one step": Case(
        product((196, "f16"), (320, "f16"), (64, "f32"), bias=True),
        "gfx1201",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 208, 320)
        | of_dimensions("subgroup", 13, 4)
        | {
            "reduction[2]": 0,
            "promote_operands": 2,
            "workgroup_size": 160,
            "subgroup_size": 32,
            "prefetch_num_stages": 2,
        },
        Verdict.NOT_DECIDED,
        compiles=True,
    ),
    "half precision that RISC-V cannot reduce": Case(
        reduced("f16", "add"),
        "riscv64-v",
        DOUBLE_TILING,
        REDUCTION_TILES,
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "half precision that RISC-V reduces": Case(
        reduced("f16", "add"),
        "riscv64-zvfh",
        DOUBLE_TILING,
        REDUCTION_TILES | {"enable_loop_peeling": 1},
        Verdict.PROVEN,
        compiles=True,
    ),
    "a product that RISC-V cannot reduce": Case(
        reduced("f32", "mul"),
        "riscv64-zvfh",
        DOUBLE_TILING,
        REDUCTION_TILES,
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "floats on a RISC-V without them": Case(
        matmul(64, 64, 64, "f32"),
        "riscv64",
        DOUBLE_TILING,
        of_dimensions("distribution", 16, 16) | of_dimensions("vector_common_parallel", 4, 4),
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "truncations that RISC-V lacks": Case(
        dequantized(256, 128, 320, "i8", "bf16"),
        "riscv64-v",
        DOUBLE_TILING,
        of_dimensions("distribution", 256, 2)
        | of_dimensions("vector_common_parallel", 2, 1)
        | {"vector_reduction[2]": 64},
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "sums of bytes that i8mm takes for wider ones": Case(
        matmul(64, 320, 512, "i8", result="i8"),
        "neoverse-v1",
        DOUBLE_TILING,
        of_dimensions("distribution", 16, 32)
        | of_dimensions("vector_common_parallel", 8, 8)
        | {"vector_reduction[2]": 8, "enable_loop_peeling": 1},
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "a scalable tile": Case(
        matmul(64, 320, 512, "f16", result="f32"),
        "neoverse-v1",
        DOUBLE_TILING,
        of_dimensions("distribution", 16, 0)
        | of_dimensions("vector_common_parallel", 8, 8)
        | {"vector_reduction[2]": 4, "scalable[1]": 1},
        Verdict.PROVEN,
        compiles=True,
    ),
    "a scalable tile of vectors that end with a reduction": Case(
        FORMS["reduction"](random.Random("52/reduction/0")),
        "neoverse-v1",
        DOUBLE_TILING,
        of_dimensions("distribution", 32)
        | of_dimensions("vector_common_parallel", 8)
        | {"vector_reduction[1]": 8, "scalable[0]": 1, "enable_loop_peeling": 1},
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "a fill beside a scalable tile": Case(
        FORMS["depthwise"](random.Random("2/depthwise/5")),
        "neoverse-v1",
        CONVOLUTION_EXPERT,
        {"distribution[2]": 8, "distribution[3]": 128, "scalable[3]": 1}
        | of_dimensions("vector_common_parallel", 4, 1, 4, 16)
        | {"vector_reduction[4]": 1, "vector_reduction[5]": 1},
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "results that overflow the stack": Case(
        FORMS["fused"](random.Random("202/fused/0")),
        "sifive-x280",
        DOUBLE_TILING,
        of_dimensions("distribution", 16)
        | of_dimensions("vector_common_parallel", 1, 4)
        | {"cache_reduction[2]": 128, "vector_reduction[2]": 2, "enable_loop_peeling": 1},
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "half precision that crashes LLVM": Case(
        FORMS["model"](random.Random("405/model/1")),
        "riscv64-v",
        DOUBLE_TILING,
        of_dimensions("distribution", 2, 256)
        | of_dimensions("vector_common_parallel", 1, 16)
        | {"cache_reduction[2]": 256, "vector_reduction[2]": 32, "enable_loop_peeling": 1},
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "levels that the pipeline does not read": Case(
        matmul(64, 256, 16),
        "znver4",
        CONVOLUTION_EXPERT,
        of_dimensions("distribution", 64, 128)
        | of_dimensions("vector_common_parallel", 8, 16)
        | {"vector_reduction[2]": 2, "cache_reduction[0]": 3, "cache_parallel[2]": 5},
        Verdict.PROVEN,
        compiles=True,
    ),
    "a vector that a level without effect does not split": Case(
        matmul(64, 256, 64, "f32"),
        "znver4",
        CONVOLUTION_EXPERT,
        of_dimensions("distribution", 64, 256)
        | of_dimensions("vector_common_parallel", 64, 256)
        | {"vector_reduction[2]": 2, "cache_reduction[0]": 4, "enable_loop_peeling": 1},
        Verdict.REFUTED,
        compiles=False,
    ),
    "padding of whole intrinsics": Case(
        matmul(300, 320, 1280),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 128, 128)
        | of_dimensions("padding", 64, 128, 64)
        | of_dimensions("subgroup", 2, 2)
        | {
            "reduction[2]": 4,
            "promote_operands": 0,
            "workgroup_size": 1024,
            "mma_kind": 0,
            "subgroup_size": 64,
        },
        Verdict.PROVEN,
        compiles=True,
        space=PADDED,
    ),
    "padding of a part of an intrinsic": Case(
        matmul(77, 24, 256, "i8", result="i32", transposed=True),
        "gfx1100",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 240, 32)
        | of_dimensions("padding", 120, 32, 96)
        | of_dimensions("subgroup", 5, 1)
        | {"reduction[2]": 6, "promote_operands": 2, "workgroup_size": 192, "mma_kind": 0}
        | {"subgroup_size": 32, "prefetch_num_stages": 3},
        Verdict.NOT_DECIDED,
        compiles=False,
        space=PADDED,
    ),
    "padding to nothing": Case(
        matmul(384, 320, 1280),
        "sm_80",
        TILE_AND_FUSE,
        of_dimensions("padding", 0, 128, 64)
        | {
            "workgroup[0]": 1,
            "subgroup[0]": 1,
            "workgroup[1]": 1,
            "subgroup[1]": 1,
            "reduction[2]": 1,
            "workgroup_size": 1,
            "subgroup_size": 1,
        },
        Verdict.REFUTED,
        compiles=False,
        space=PADDED,
    ),
    "a step of threads beyond a tile beside another op": Case(
        NORMALIZED,
        "gfx942",
        VECTOR_DISTRIBUTE,
        {
            "workgroup[0]": 4,
            "subgroup_basis[0]": 1,
            "lane_basis[0]": 1,
            "thread[0]": 8,
            "workgroup_size": 512,
        }
        | {
            "partial_reduction[1]": 4096,
            "subgroup_basis[1]": 8,
            "lane_basis[1]": 64,
            "thread[1]": 8,
        }
        | {"subgroup_size": 64, "prefetch_num_stages": 1},
        Verdict.REFUTED,
        compiles=False,
    ),
    "a step of threads beyond a tile of a reduction": Case(
        reduced("f16", "add", 4096),
        "sm_80",
        VECTOR_DISTRIBUTE,
        {
            "workgroup[0]": 4,
            "subgroup_basis[0]": 1,
            "lane_basis[0]": 1,
            "thread[0]": 8,
            "workgroup_size": 128,
        }
        | {"partial_reduction[1]": 512, "subgroup_basis[1]": 4, "lane_basis[1]": 32, "thread[1]": 8}
        | {"subgroup_size": 32, "prefetch_num_stages": 3},
        Verdict.PROVEN,
        compiles=True,
    ),
    "lanes that do not halve": Case(
        reduced("f16", "add", 4096),
        "sm_80",
        VECTOR_DISTRIBUTE,
        {
            "workgroup[0]": 4,
            "subgroup_basis[0]": 1,
            "lane_basis[0]": 1,
            "thread[0]": 1,
            "workgroup_size": 128,
        }
        | {"partial_reduction[1]": 512, "subgroup_basis[1]": 4, "lane_basis[1]": 31, "thread[1]": 8}
        | {"subgroup_size": 32, "prefetch_num_stages": 3},
        Verdict.REFUTED,
        compiles=False,
    ),
    "the lanes of a subgroup, whatever its size is said to be": Case(
        reduced("f16", "add", 4096),
        "sm_80",
        VECTOR_DISTRIBUTE,
        {
            "workgroup[0]": 4,
            "subgroup_basis[0]": 1,
            "lane_basis[0]": 1,
            "thread[0]": 1,
            "workgroup_size": 128,
            "subgroup_size": 16,
        }
        | {
            "partial_reduction[1]": 512,
            "subgroup_basis[1]": 4,
            "lane_basis[1]": 32,
            "thread[1]": 4,
        },
        Verdict.NOT_DECIDED,
        compiles=True,
    ),
    "more lanes than a subgroup of the target has": Case(
        reduced("f16", "add", 4096),
        "sm_80",
        VECTOR_DISTRIBUTE,
        {
            "workgroup[0]": 4,
            "subgroup_basis[0]": 1,
            "lane_basis[0]": 1,
            "thread[0]": 1,
            "workgroup_size": 64,
            "subgroup_size": 64,
        }
        | {
            "partial_reduction[1]": 512,
            "subgroup_basis[1]": 1,
            "lane_basis[1]": 64,
            "thread[1]": 4,
        },
        Verdict.REFUTED,
        compiles=False,
    ),
    "a tile of more columns of an image than there are": Case(
        image(16),
        "gfx942",
        TILE_AND_FUSE,
        IMAGE_TILES,
        Verdict.NOT_DECIDED,
        compiles=True,
    ),
    "a tile of more columns of an image than there are, in part of an intrinsic": Case(
        image(20),
        "gfx942",
        TILE_AND_FUSE,
        IMAGE_TILES,
        Verdict.REFUTED,
        compiles=False,
    ),
    "a tile of a filter, of which one element is copied at a time": Case(
        image(28, inputs=64, outputs=256),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 1, 2, 32, 128)
        | of_dimensions("subgroup", 1, 2, 2, 4)
        | {
            "reduction[4]": 5,
            "reduction[5]": 2,
            "reduction[6]": 1,
            "workgroup_size": 128,
            "subgroup_size": 64,
        },
        Verdict.PROVEN,
        compiles=True,
        space=TAKEN_AS_IT_IS,
    ),
    "a tile of a whole filter and all channels, in steps all the same": Case(
        image(28, inputs=64, outputs=256),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 1, 2, 16, 128)
        | of_dimensions("subgroup", 1, 1, 1, 4)
        | {
            "reduction[4]": 5,
            "reduction[5]": 5,
            "reduction[6]": 4,
            "promote_operands": 3,
            "workgroup_size": 256,
        }
        | {"subgroup_size": 64},
        Verdict.REFUTED,
        compiles=False,
        space=TAKEN_AS_IT_IS,
    ),
    "the results of subgroups without rows": Case(
        matmul(48, 256, 64, batch=8),
        "gfx942",
        TILE_AND_FUSE,
        of_dimensions("workgroup", 8, 64, 64)
        | of_dimensions("subgroup", 4, 1, 4)
        | {
            "reduction[3]": 1,
            "mma_kind": 0,
            "promote_operands": 2,
            "workgroup_size": 512,
            "subgroup_size": 64,
        },
        Verdict.NOT_DECIDED,
        compiles=False,
    ),
    "swizzled rows for three of eight subgroups": Case(
        matmul(128, 64, 96, batch=6),
        "gfx950",
        TILE_AND_FUSE,
        SWIZZLED | of_dimensions("subgroup", 0, 2, 1) | {"workgroup_size": 512},
        Verdict.NOT_DECIDED,
        compiles=False,
        space=LOADS,
    ),
    "swizzled rows for four subgroups": Case(
        matmul(128, 64, 96, batch=6),
        "gfx950",
        TILE_AND_FUSE,
        SWIZZLED | of_dimensions("subgroup", 0, 4, 1) | {"workgroup_size": 256},
        Verdict.PROVEN,
        compiles=True,
        space=LOADS,
    ),
    "types that the device cannot convert": Case(
        product((64, "f8E5M2"), (128, "f8E5M2"), (64, "f32")),
        "gfx942",
        TILE_AND_FUSE,
        {},
        Verdict.REFUTED,
        compiles=False,
    ),
    "a reduction level that tiles a parallel loop": Case(
        matmul(64, 256, 16),
        "aarch64",
        CONVOLUTION_EXPERT,
        of_dimensions("distribution", 64, 128)
        | of_dimensions("vector_common_parallel", 8, 128)
        | {"vector_reduction[0]": 1, "vector_reduction[2]": 2},
        Verdict.NOT_DECIDED,
        compiles=True,
    ),
}


def registry() -> ProviderRegistry:
    return ProviderRegistry(pytest.fail, own=[GpuProvider(), CpuProvider()], entry_points=list)


def whole(space: Space, knobs: dict[str, int]) -> dict[str, int]:
    """Return an assignment in which the knobs that are not given are 0: tiles that tile nothing, and options unset."""
    return {**dict.fromkeys((knob.name for knob in space.constraints.knobs), 0), **knobs}


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_agrees_with_the_compiler(name: str) -> None:
    case = CASES[name]
    trials = Trials.of(case.source, TARGETS[case.target])
    if case.knobs:
        space = registry().spaces(trials.workload, case.pipeline)[case.space]
        trials.configure(space, whole(space, case.knobs))
    answer = trials.judge(registry())
    assert answer is not None
    assert (answer.verdict, trials.compile().compiles) == (case.verdict, case.compiles), answer


@pytest.mark.parametrize("form", ["gather", "scatter"])
def test_what_is_indexed_is_decided(form: str) -> None:
    trials = Trials.of(FORMS[form](random.Random(1)), TARGETS["gfx942"])
    own = trials.judge(registry())
    assert own is not None
    assert own.verdict is Verdict.PROVEN
    (space,) = registry().spaces(trials.workload, own.pipeline)
    tiles = [knob.name for knob in space.constraints.knobs if knob.name.endswith(("_0", "_1"))]
    lows = {knob.name: knob.low or 0 for knob in space.constraints.knobs}
    assignment = {**lows, **dict.fromkeys(tiles, 2), "workgroup_size": 77, "subgroup_size": 64}
    trials.configure(space, assignment)
    answer = trials.judge(registry())
    assert answer is not None
    assert (answer.verdict, trials.compile().compiles) == (Verdict.PROVEN, True)


def test_the_compilers_choice_for_many_columns_is_valid() -> None:
    trials = Trials.of(matmul(1, 256, 4096, transposed=True), TARGETS["gfx942"])
    answer = trials.judge(registry())
    assert answer is not None
    assert answer.verdict is Verdict.PROVEN


def test_copies_under_masks_are_limited() -> None:
    """Each thread reads them by rows, element by element, which takes minutes to compile."""
    trials = Trials.of(matmul(50, 48, 1024), TARGETS["gfx942"])
    space = registry().spaces(trials.workload, TILE_AND_FUSE)[INTRINSIC]
    tiles = of_dimensions("workgroup", 64, 64) | of_dimensions("subgroup", 2, 2)
    assignment = {
        **tiles,
        "mma_kind": 0,
        "workgroup_size": 256,
        "subgroup_size": 64,
        "prefetch_num_stages": 0,
    }
    for promoted, steps, is_limited in ((0, 2, False), (0, 16, True), (3, 16, False)):
        answer = space.constraints.check(
            {**assignment, "promote_operands": promoted, "reduction[2]": steps}
        )
        found = [str(each) for each in answer.violations if "masked elements" in str(each)]
        assert bool(found) is is_limited


@pytest.mark.parametrize(("bias", "subgroups"), [(True, 1), (True, 4), (False, 1)])
def test_fused_results_that_spill_take_minutes(subgroups: int, *, bias: bool) -> None:
    source = product((1024, "f16"), (1024, "f16"), (1024, "f32"), bias=bias)
    trials = Trials.of(source, TARGETS["gfx942"])
    spaces = registry().spaces(trials.workload, VECTOR_DISTRIBUTE)
    space = next(each for each in spaces if each.is_sufficient)
    knobs = of_dimensions("workgroup", 256, 256) | {
        "reduction[2]": 32,
        "promote_operands": 3,
        "workgroup_size": 64 * subgroups,
    }
    knobs |= {
        "subgroup_basis[0]": subgroups,
        "subgroup_basis[1]": 1,
        "subgroup_size": 64,
        "prefetch_num_stages": 2,
    }
    trials.configure(space, whole(space, knobs))
    answer = trials.judge(registry())
    assert answer is not None
    is_slow = bias and subgroups == 1
    assert (Grade.SLOW in {rule.grade for rule in answer.violations}) is is_slow
    if is_slow:
        assert answer.severity is Severity.WARNING
        assert "may take minutes to compile" in str(answer)
        assert answer.knobs


@pytest.mark.parametrize(("step", "is_slow"), [(1, False), (2, False), (4, True), (9, True)])
def test_many_masked_weights_that_are_dequantized_take_minutes(step: int, *, is_slow: bool) -> None:
    trials = Trials.of(dequantized(8, 96, 1024, "i8", "bf16"), TARGETS["gfx1100"])
    space = registry().spaces(trials.workload, TILE_AND_FUSE)[PADDED]
    knobs = of_dimensions("workgroup", 32, 64) | of_dimensions("padding", 32, 64, 16 * step)
    knobs |= of_dimensions("subgroup", 1, 4) | {
        "reduction[2]": step,
        "promote_operands": 1,
        "workgroup_size": 64,
    }
    trials.configure(space, whole(space, {**knobs, "subgroup_size": 32, "prefetch_num_stages": 1}))
    answer = trials.judge(registry())
    assert answer is not None
    slow = [str(rule) for rule in answer.violations if rule.grade is Grade.SLOW]
    assert any("which is computed" in rule for rule in slow) is is_slow, answer
    if step == 1:
        assert (answer.verdict, trials.compile().compiles) == (Verdict.PROVEN, True)


@pytest.mark.parametrize(("step", "is_slow"), [(4, False), (17, True)])
def test_many_masked_elements_of_an_image_take_minutes(step: int, *, is_slow: bool) -> None:
    """With channels first, a thread gathers them one by one."""
    source = FORMS["channels-first"](random.Random("91102/channels-first/0"))
    trials = Trials.of(source, TARGETS["gfx1201"])
    space = registry().spaces(trials.workload, TILE_AND_FUSE)[PADDED]
    knobs = of_dimensions("workgroup", 2, 16, 1, 48) | of_dimensions(
        "padding", 2, 16, 1, 48, 16 * step
    )
    knobs |= of_dimensions("subgroup", 1, 1, 1, 3) | {
        "reduction[4]": step,
        "promote_operands": 0,
        "workgroup_size": 64,
    }
    trials.configure(space, whole(space, {**knobs, "subgroup_size": 32, "prefetch_num_stages": 1}))
    answer = trials.judge(registry())
    assert answer is not None
    slow = [str(rule) for rule in answer.violations if rule.grade is Grade.SLOW]
    assert any("elements of the image" in rule for rule in slow) is is_slow, answer
    if not is_slow:
        assert (answer.verdict, trials.compile().compiles) == (Verdict.PROVEN, True)


def test_copies_of_bytes_under_masks_are_limited_further() -> None:
    source = matmul(2048, 192, 40, "i8", result="i32", transposed=True)
    trials = Trials.of(source, TARGETS["gfx942"])
    space = registry().spaces(trials.workload, TILE_AND_FUSE)[INTRINSIC]
    tiles = (
        of_dimensions("workgroup", 32, 64)
        | of_dimensions("subgroup", 1, 2)
        | {"reduction[2]": 1, "mma_kind": 1}
    )
    assignment = {
        **tiles,
        "promote_operands": 2,
        "workgroup_size": 64,
        "subgroup_size": 64,
        "prefetch_num_stages": 2,
    }
    answer = space.constraints.check(assignment)
    assert any("at most 512 masked elements" in str(each) for each in answer.violations)


def test_intrinsics_for_few_rows_are_not_for_attention() -> None:
    trials = Trials.of(attention(4, 64, 64, 96, 320), TARGETS["gfx942"])
    space = registry().spaces(trials.workload, VECTOR_DISTRIBUTE)[0]
    options = [
        option for knob in space.constraints.knobs for option in getattr(knob, "options", ())
    ]
    assert any("VMFMA" in each for each in options)
    assert not any("VDMFMA" in each for each in options)
