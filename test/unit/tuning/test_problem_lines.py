"""Problems as words, and as lines that other tools log."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st
from iree.compiler import ir as mlir
from places import ROOT

from tuninglink.errors import Place, TuninglinkError
from tuninglink.iree import OpKind, StructuredOp, is_computing
from tuninglink.tuning.problems import (
    OPERATIONS,
    SCALED_BLOCK,
    Attention,
    Convolution,
    ElementType,
    Gradient,
    Layout,
    Mask,
    MatrixOperation,
    MatrixProblem,
    Pooling,
    PoolingOperation,
    Problem,
    ProblemError,
    Product,
    ScaledType,
    program_of,
    read_problem_file,
    read_problems,
    read_words,
)

if TYPE_CHECKING:
    from pathlib import Path

F16, F32, F8 = ElementType.F16, ElementType.F32, ElementType.F8E4M3FNUZ
NHWC_HWCF, NHWC_FHWC = map(Layout.parse, ("nhwc_hwcf", "nhwc_fhwc"))
NDHWC = Layout.parse("ndhwc_fdhwc")

WORDS = {
    "matmul 2048x1280x5120 f16 transpose_b": Product(2048, 1280, 5120, F16, transposes_b=True),
    "  matmul\t1x1x1  i8 ": Product(1, 1, 1, ElementType.I8),
    "batch_matmul 4x64x32x128 bf16 transpose_b transpose_a": Product(
        64, 32, 128, ElementType.BF16, 4, transposes_a=True, transposes_b=True
    ),
    "batch_matmul 1x2x3x4 f32": Product(2, 3, 4, F32, 1),
    "scaled_matmul 64x48x96 f4E2M1FN": Product(64, 48, 96, ScaledType.F4E2M1FN),
    "scaled_matmul 3x64x48x96 f8E5M2": Product(64, 48, 96, ScaledType.F8E5M2, 3),
    "conv 2x16x14x12 32x3x1 f16": Convolution(2, 16, (14, 12), 32, (3, 1), F16),
    "conv 2x16x14x12 32x3x3 f16 padding=1x0 stride=2 layout=nhwc_hwcf dilation=1x2": Convolution(
        *(2, 16, (14, 12), 32, (3, 3), F16, (2, 2), (1, 0), (1, 2), NHWC_HWCF)
    ),
    "conv 2x16x14x12 32x3x3 f16 groups=4 layout=nhwc_fhwc": Convolution(
        *(2, 16, (14, 12), 32, (3, 3), F16), layout=NHWC_FHWC, groups=4
    ),
    "conv 2x16x14x12 16x3x3 f8E4M3FNUZ groups=16 layout=nhwc_hwcf": Convolution(
        *(2, 16, (14, 12), 16, (3, 3), F8), layout=NHWC_HWCF, groups=16
    ),
    "conv 2x16x140 32x3 bf16 stride=2 padding=1": Convolution(
        *(2, 16, (140,), 32, (3,), ElementType.BF16, (2,), (1,), (1,), Layout.default(1))
    ),
    "conv 2x16x14 16x3 f32 groups=16 layout=nwc_wcf": Convolution(
        *(2, 16, (14,), 16, (3,), F32, (1,), (0,), (1,), Layout.parse("nwc_wcf"), 16)
    ),
    "conv 2x16x8x14x12 32x2x3x1 f16 stride=2x1x2 dilation=2": Convolution(
        *(2, 16, (8, 14, 12), 32, (2, 3, 1), F16, (2, 1, 2), (0,) * 3, (2,) * 3, Layout.default(3))
    ),
    "conv 2x16x14 32x3 f16 groups=2 gradient=weights": Convolution(
        *(2, 16, (14,), 32, (3,), F16, (1,), (0,), (1,), Layout.default(1), 2, Gradient.WEIGHTS)
    ),
    "conv 2x16x14x12 32x3x3 f16 layout=nchw_hwcf_nfwh gradient=data": Convolution(
        *(2, 16, (14, 12), 32, (3, 3), F16),
        layout=Layout("nchw", "hwcf", "nfwh"),
        gradient=Gradient.DATA,
    ),
    "max_pool 2x16x9x14x12 2x3x2 f16": Pooling(
        *(PoolingOperation.MAXIMUM, 2, 16, (9, 14, 12), (2, 3, 2), F16),
        *((2, 3, 2), (0,) * 3, (1,) * 3),
    ),
    "max_pool 2x16x14x12 3x2 f16 stride=2 padding=1": Pooling(
        *(PoolingOperation.MAXIMUM, 2, 16, (14, 12), (3, 2), F16),
        *((2, 2), (1, 1), (1, 1)),
    ),
    "avg_pool 2x16x14 3 f32 channels_last": Pooling(
        *(PoolingOperation.AVERAGE, 2, 16, (14,), (3,), F32),
        *((3,), (0,), (1,)),
        is_channels_last=True,
    ),
    "attention 20x4096x77x64 f16": Attention(20, 4096, 77, 64, F16),
    "attention 20x4096x77x64 f16 mask": Attention(20, 4096, 77, 64, F16, Mask.GIVEN),
    "attention 20x4096x77x64 f16 kv_heads=5 causal": Attention(
        20, 4096, 77, 64, F16, Mask.CAUSAL, kv_heads=5
    ),
    "layer_norm 12x34 f16": MatrixProblem(MatrixOperation.LAYER_NORM, 12, 34, F16),
    "rms_norm 12x34 f32 affine": MatrixProblem(
        MatrixOperation.RMS_NORM, 12, 34, F32, is_affine=True
    ),
    "sum 12x34 f16": MatrixProblem(MatrixOperation.SUM, 12, 34, F16),
    "softmax 12x34 f32": MatrixProblem(MatrixOperation.SOFTMAX, 12, 34, F32),
    "arg_compare 12x34 f16": MatrixProblem(MatrixOperation.ARG_COMPARE, 12, 34, F16),
    "topk 12x34x5 f32": MatrixProblem(MatrixOperation.TOPK, 12, 34, F32, 5),
    "add 12x34 f16": MatrixProblem(MatrixOperation.ADD, 12, 34, F16),
    "transpose 12x34 f32": MatrixProblem(MatrixOperation.TRANSPOSE, 12, 34, F32),
    "gather 12x34x5 f16": MatrixProblem(MatrixOperation.GATHER, 12, 34, F16, 5),
    "scatter 12x34x5 f16": MatrixProblem(MatrixOperation.SCATTER, 12, 34, F16, 5),
}

DRIVER_LINE = "convfp16 -n 16 -c 64 -H 56 -W 28 -k 32 -y 3 -x 1 -p 1 -q 0 -u 2 -v 1 -l 1 -j 1 -F 1"
DRIVER_CONVOLUTION = Convolution(16, 64, (56, 28), 32, (3, 1), F16, (2, 1), (1, 0))
DRIVER_VOLUME = (
    "convbfp16 -n 2 -c 4 -k 8 --in_d 6 -H 9 -W 10 --fil_d 3 -y 2 -x 1 --pad_d 1 -p 0 -q 2 "
    "--conv_stride_d 2 -u 1 -v 1 --dilation_d 1 -l 2 -j 3 --spatial_dim 3 -m conv -g 1 -F 1 -t 1"
)
VOLUME = Convolution(
    *(2, 4, (6, 9, 10), 8, (3, 2, 1), ElementType.BF16),
    *((2, 1, 1), (1, 0, 2), (1, 2, 3), Layout.default(3)),
)
BENCH = "hipblaslt-bench --api_method c -m 1024 -n 512 -k 64"

FUSILLI = "--device 0 --iter 2"


def aten(operation: str, *arguments: tuple[list[int], list[int]] | str | None) -> str:
    """Return a line of BOO: shapes with strides of tensors of f16, absent tensors, and values of other arguments."""
    tensors = [part if isinstance(part, tuple) else ([], []) for part in arguments]
    shapes, strides = ([*part] for part in zip(*tensors, strict=True))
    types = ["c10::Half" if shape else "" for shape in shapes]
    values = [value if isinstance(value, str) else "" for value in arguments]
    return " ".join(
        [f"aten::{operation}", *(f'"{part}"' for part in (shapes, types, strides, values))]
    )


LINES = {
    DRIVER_LINE: DRIVER_CONVOLUTION,
    f"MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver {DRIVER_LINE} -m conv -t 1": (
        DRIVER_CONVOLUTION
    ),
    "conv -n 1 -c 3 -H 8 -W 8 -k 4 -y 3 -x 3": Convolution(1, 3, (8, 8), 4, (3, 3), F32),
    "convbfp16 --batchsize=1 --in_channels 3 -H 8 -W 8 -k 4 -y 1 -x 1 -F 1 -in_layout=NHWC "
    "--fil_layout NHWC -O NHWC": Convolution(
        *(1, 3, (8, 8), 4, (1, 1), ElementType.BF16), layout=NHWC_FHWC
    ),
    DRIVER_VOLUME: VOLUME,
    "convbfp16 -n 2 -c 4 -k 8 -! 6 -H 9 -W 10 -@ 3 -y 2 -x 1 -$ 1 -p 0 -q 2 -# 2 -^ 1 -l 2 -j 3 -_ 3": (
        VOLUME
    ),
    f"{DRIVER_VOLUME} -I NDHWC --fil_layout NDHWC --out_layout NDHWC": replace(
        VOLUME, layout=NDHWC
    ),
    # Layouts imply the number of dimensions.
    f"{DRIVER_VOLUME.replace('--spatial_dim 3', '')} -I NDHWC": replace(
        VOLUME, layout=Layout.parse("ndhwc_fcdhw_nfdhw")
    ),
    f"{DRIVER_LINE} -_ 1": Convolution(
        *(16, 64, (28,), 32, (1,), F16, (1,), (0,), (1,), Layout.default(1))
    ),
    f"{DRIVER_LINE} -I NHWC -O NHWC": replace(DRIVER_CONVOLUTION, layout=Layout.parse("nhwc_fchw")),
    f"{DRIVER_LINE} --pad_mode valid": replace(DRIVER_CONVOLUTION, padding=(0, 0)),
    # A transposed convolution is the gradient of a convolution that exchanges channels and filters.
    "MIOpenDriver.exe convfp16 -n 2 -c 8 -H 5 -W 6 -k 3 -y 3 -x 2 -p 1 -u 2 --trans_output_pad_h 1 -m trans": (
        Convolution(
            *(2, 3, (10, 7), 8, (3, 2), F16, (2, 1), (1, 0)),
            gradient=Gradient.DATA,
        )
    ),
    # The libraries store by columns: their first matrix is our right-hand side.
    f"{BENCH} --transA T --transB N --a_type f16_r --b_type f16_r": Product(
        512, 1024, 64, F16, transposes_b=True
    ),
    f"/opt/rocm/bin/{BENCH} --transB T --print_kernel_info -r bf16_r --batch_count 8": Product(
        512, 1024, 64, ElementType.BF16, 8, transposes_a=True
    ),
    BENCH: Product(512, 1024, 64, F32),
    "GemmTunableOp_Half_NT,nt_25088_4096_64,Gemm_Hipblaslt_NT_1234,1.43": Product(
        4096, 25088, 64, F16, transposes_a=True
    ),
    f"{DRIVER_LINE} -g 4": replace(DRIVER_CONVOLUTION, groups=4),
    f"{BENCH} --a_type f8_fnuz_r --b_type f8_fnuz_r --c_type bf16_r": Product(512, 1024, 64, F8),
    "ScaledGemmTunableOp_Float8_e4m3fnuz_Float8_e4m3fnuz_BFloat16_TN,tn_6_5_4_ld_4_4_6_rw_1_bias_None": (
        Product(5, 6, 4, F8, transposes_b=True)
    ),
    "GemmTunableOp_BFloat16_TN,tn_6_5_4_ld_4_4_6": Product(
        5, 6, 4, ElementType.BF16, transposes_b=True
    ),
    "GemmAndBiasTunableOp_float_NN,nn_6_5_4,Default,0.1": Product(5, 6, 4, F32),
    "GemmStridedBatchedTunableOp_tf32_TT,tt_6_5_4_B_20_ld_4_4_6": Product(
        5, 6, 4, F32, 20, transposes_a=True, transposes_b=True
    ),
    f"{FUSILLI} conv -F 1 -n 16 -c 8 -H 8 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 --in_layout NHWC "
    "--out_layout NHWC --fil_layout NHWC --spatial_dim 2 --bf16": Convolution(
        *(16, 8, (8, 8), 8, (3, 3), ElementType.BF16),
        padding=(1, 1),
        layout=NHWC_FHWC,
    ),
    f"fusilli_benchmark_driver {FUSILLI} matmul -M 16 -N 32 --k=64 -B 2 --transA --a_type f16 --b_type f16 "
    "--out_type f32": Product(16, 32, 64, F16, 2, transposes_a=True),
    "matmul -M 16 -N 32 -K 64 --a_type f32 --b_type f32 --out_type f32 --transB": Product(
        16, 32, 64, F32, transposes_b=True
    ),
    f"{FUSILLI} sdpa -B 2 --heads_q 8 --heads_kv 8 --seq_q 64 --seq_kv 77 -d 32 -t f16": Attention(
        16, 64, 77, 32, F16
    ),
    f"{FUSILLI} sdpa --batch 2 --heads_q 8 --heads_kv 2 --seq_q 64 --seq_kv 77 --head_dim 32 --type f16 --causal --gqa "
    "--scale 0.5 --dropout 0.0": Attention(16, 64, 77, 32, F16, Mask.CAUSAL, kv_heads=4),
    f"{FUSILLI} sdpa -B 1 --heads_q 8 --heads_kv 8 --seq_q 64 --seq_kv 77 -d 32 -t bf16 --mask": Attention(
        8, 64, 77, 32, ElementType.BF16, Mask.GIVEN
    ),
    # Fusilli normalizes over all dimensions but the first.
    f"{FUSILLI} layernorm -X 2x3x128 -F 1 -t f32 --layout NCH": MatrixProblem(
        MatrixOperation.LAYER_NORM, 2, 384, F32
    ),
    f"{FUSILLI} layernorm --input 2x128 --forw 1 --type f16 -l NC --elementwise_affine": (
        MatrixProblem(MatrixOperation.LAYER_NORM, 2, 128, F16, is_affine=True)
    ),
    # Lines of MIOpen, and of BOO, which takes the width of a matrix for its rows.
    "./bin/MIOpenDriver gemmfp16 --a_w 32 --a_h 64 --b_w 128 --transB 1": Product(
        64, 128, 32, F16, transposes_b=True
    ),
    "MIOpenDriver gemm -m 64 -k 32 -n 128 -u 1 -b 3": Product(
        64, 128, 32, F32, 3, transposes_a=True
    ),
    "gemmfp16 --a_w 32 --a_h 64 --b_w 128 --transA 1": Product(32, 128, 64, F16, transposes_a=True),
    "layernorm --input 10x32x42x32 -t 1 --mode 1 --iter 100": MatrixProblem(
        MatrixOperation.LAYER_NORM, 13440, 32, F32, is_affine=True
    ),
    "MIOpenDriver layernormfp16 -X 10x32x42 -o 1": MatrixProblem(
        MatrixOperation.LAYER_NORM, 10, 1344, F16
    ),
    "MIOpen(HIP): Command [LogCmdConvolution] MIOpenDriver.exe convbfp16 -n 2 -c 4 -H 8 -W 8 -k 6 -y 3 -x 3 -F 4": (
        Convolution(*(2, 4, (8, 8), 6, (3, 3), ElementType.BF16), gradient=Gradient.WEIGHTS)
    ),
    # Lines of rocBLAS, as a command and in its logs.
    "./rocblas-bench -f gemm_ex --transposeA T --transposeB N -m 6 -n 5 -k 4 --a_type f16_r --b_type f16_r": (
        Product(5, 6, 4, F16, transposes_b=True)
    ),
    "rocblas-bench -f gemm_strided_batched_ex -r h -m 6 -n 5 -k 4 --batch_count 3 --compute_type s": (
        Product(5, 6, 4, F16, 3)
    ),
    "rocblas-bench -f gemm -r s --transposeB T -m 6 -n 5 -k 4": Product(
        5, 6, 4, F32, transposes_a=True
    ),
    "- { rocblas_function: \"rocblas_gemm_ex\", transA: 'N', transB: 'T', M: 6, N: 5, K: 4, a_type: f16_r, b_type: f16_r }": (
        Product(5, 6, 4, F16, transposes_a=True)
    ),
    "- {function: matmul, M: 6, N: 5, K: 4, transA: T, batch_count: 3, a_type: bf16_r, b_type: bf16_r}": (
        Product(5, 6, 4, ElementType.BF16, 3, transposes_b=True)
    ),
    # Lines of BOO with operations of PyTorch.
    aten("mm", ([64, 32], [1, 64]), ([32, 48], [48, 1])): Product(
        64, 48, 32, F16, transposes_a=True
    ),
    aten("addmm", ([48], [1]), ([64, 32], [32, 1]), ([32, 48], [1, 32]), "1", "1"): Product(
        64, 48, 32, F16, transposes_b=True
    ),
    aten("bmm", ([3, 64, 32], [2048, 32, 1]), ([3, 32, 48], [1536, 1, 32])): Product(
        64, 48, 32, F16, 3, transposes_b=True
    ),
    aten("linear", ([2, 64, 32], [2048, 32, 1]), ([48, 32], [32, 1]), "None"): Product(
        128, 48, 32, F16, transposes_b=True
    ),
    aten(
        "scaled_dot_product_attention",
        *(([2, 8, 64, 32], [16384, 2048, 32, 1]), ([2, 4, 48, 32], [6144, 1536, 32, 1])),
        *(([2, 4, 48, 32], [6144, 1536, 32, 1]), "None", "0.0", "True", "None", "True"),
    ): Attention(16, 64, 48, 32, F16, Mask.CAUSAL, kv_heads=8),
    aten(
        "conv2d",
        *(([2, 3, 8, 9], [216, 1, 27, 3]), ([6, 3, 3, 2], [18, 1, 6, 3]), None),
        *("[2, 1]", "[1, 0]", "[1, 1]", "1"),
    ): Convolution(*(2, 3, (8, 9), 6, (3, 2), F16), (2, 1), (1, 0), layout=NHWC_FHWC),
    aten(
        "convolution",
        *(([2, 4, 9], [36, 9, 1]), ([6, 2, 3], [6, 3, 1]), None, "[1]", "[0]", "[2]"),
        *("False", "[0]", "2"),
    ): Convolution(2, 4, (9,), 6, (3,), F16, (1,), (0,), (2,), Layout.default(1), 2),
    aten(
        "native_layer_norm", ([4, 8, 32], [256, 32, 1]), "[32]", ([32], [1]), ([32], [1]), "1e-5"
    ): (MatrixProblem(MatrixOperation.LAYER_NORM, 32, 32, F16, is_affine=True)),
    aten("argmax", ([4, 8, 16], [128, 16, 1]), "-1", "False"): MatrixProblem(
        MatrixOperation.ARG_COMPARE, 32, 16, F16
    ),
    aten("_softmax", ([4, 16], [16, 1]), "1", "False"): MatrixProblem(
        MatrixOperation.SOFTMAX, 4, 16, F16
    ),
    "[SKIP] --device 0 --iter 2 conv": None,
    "": None,
    "  # a comment": None,
    "Validator,PT_VERSION,2.8.0": None,
    "MIOpen(HIP): Info [get_device_name] Raw device name: gfx90a:sramecc+:xnack-": None,
}


@pytest.mark.parametrize(("line", "problem"), [*WORDS.items(), *LINES.items()])
def test_a_line_is_a_problem(line: str, problem: Problem | None) -> None:
    assert read_problems(line) == (() if problem is None else (problem,))


FORWARD, DATA, WEIGHTS = (
    replace(DRIVER_CONVOLUTION, gradient=gradient)
    for gradient in (None, Gradient.DATA, Gradient.WEIGHTS)
)


@pytest.mark.parametrize(
    ("direction", "convolutions"),
    [
        (0, (FORWARD, DATA, WEIGHTS)),
        (1, (FORWARD,)),
        (2, (DATA,)),
        (4, (WEIGHTS,)),
        (6, (DATA, WEIGHTS)),
        (7, (FORWARD, DATA, WEIGHTS)),
    ],
)
def test_each_direction_of_a_convolution_is_a_problem(
    direction: int, convolutions: tuple[Convolution, ...]
) -> None:
    assert read_problems(f"{DRIVER_LINE[:-1]}{direction}") == convolutions
    # Fusilli has another long name for the flag.
    fusilli = DRIVER_LINE.replace("-F 1", f"--mode {direction}").replace("convfp16", "conv --fp16")
    assert read_problems(f"{FUSILLI} {fusilli}") == convolutions


def test_directions_of_transposed_convolutions_are_exchanged() -> None:
    line = "conv -n 2 -c 8 -H 5 -W 6 -k 3 -y 3 -x 2 -m trans -F 0"
    gradients = [problem.gradient for problem in read_problems(line)]  # type: ignore[union-attr]
    assert gradients == [Gradient.DATA, None, Gradient.WEIGHTS]


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        (
            "matmull 1x2x3 f16",
            1,
            "gather, scatter; did you mean 'matmul'?",
        ),
        ("matmul", 7, "expected sizes MxNxK"),
        ("matmul 1x2 f16", 8, "invalid sizes '1x2': expected MxNxK, numbers from 1 to 2147483647"),
        ("matmul 1x2x0 f16", 8, "invalid sizes '1x2x0'"),
        ("matmul 2147483648x1x1 f16", 8, "invalid sizes '2147483648x1x1'"),
        (f"matmul 1x1x{'9' * 5000} f16", 8, "numbers from 1 to 2147483647"),
        ("matmul 1x2x-3 f16", 8, "invalid sizes '1x2x-3'"),
        ("matmul 1x2x3", 13, "expected type: one of f16, bf16, f32, i8"),
        ("matmul 1x2x3 fp16", 14, "unknown type 'fp16': expected one of f16, bf16, f32, i8"),
        ("matmul 1x2x3 f16 transposeb", 18, "did you mean 'transpose_b'?"),
        ("scaled_matmul 2x3x33 f4E2M1FN", 1, "33 terms are not whole blocks of 32"),
        ("scaled_matmul 2x3x32 f16", 22, "expected one of f4E2M1FN, f8E4M3FN, f8E5M2"),
        ("scaled_matmul 2x3x32 f8E5M2 transpose_b", 29, "unexpected word 'transpose_b' after"),
        ("scaled_matmul 2x3 f8E5M2", 15, "expected MxNxK or BxMxNxK, numbers from 1"),
        ("conv 1x1x9x9 1x3x3 f16 stride=0", 24, "expected N, numbers from 1 to 2147483647"),
        ("conv 1x1x9x9 1x3x3 f16 layout=nchw", 24, "invalid layout 'nchw': expected the orders"),
        ("conv 1x1x9x9 1x3x3 f16 layout=nhcw_nhwc", 24, "invalid layout 'nhcw_nhwc'"),
        ("conv 1x1x9x9 1x3x3 f16 layout=nhwc_fhwc_nhwc", 24, "such as nhwc_fhwc, or also"),
        ("conv 1x1x9x9 1x3x3 f16 gradient=filter", 24, "expected one of data, weights"),
        (
            "conv 1x1x1x9 1x1x3 f16 padding=1x0 stride=2x1 gradient=data",
            1,
            "no window contains an element of the image: its gradient is zero",
        ),
        (
            "conv 1x1x9x9 1x3x3 f16 layout=ncw_fcw",
            1,
            "of 9x9 has a layout such as nchw_fchw, not ncw_fcw",
        ),
        ("conv 1x1 1x3x3 f16", 6, "expected NxCxW or NxCxHxW or NxCxDxHxW, numbers from 1"),
        ("conv 1x1x9x9x9 1x3x3 f16", 16, "invalid sizes '1x3x3': expected FxKDxKHxKW"),
        ("conv 1x1x9x9x9 1x3x3x3 f16 stride=1x2", 28, "invalid sizes '1x2': expected DxHxW"),
        ("conv 1x1x9x9 1x3x3 f16 pading=1", 24, "did you mean 'padding='?"),
        ("conv 1x1x2x2 1x3x3 f16", 1, "the filter of 3x3 does not fit into padded images of 2x2"),
        ("max_pool 1x1x9x9 3x3 i8", 22, "max_pool needs the type f16, bf16 or f32"),
        ("max_pool 1x1 3x3 f16", 10, "expected NxCxW or NxCxHxW or NxCxDxHxW, numbers from 1"),
        ("max_pool 1x1x9x9 3 f16", 18, "invalid sizes '3': expected KHxKW"),
        ("max_pool 1x1x2x2 3x3 f16", 1, "the window of 3x3 does not fit into padded images of 2x2"),
        ("avg_pool 1x1x9x9 3x3 f16 channels_first", 26, "did you mean 'channels_last'?"),
        ("avg_pool 1x1x9x9 3x3 f16 stride=1x1x1", 26, "invalid sizes '1x1x1': expected HxW"),
        ("attention 1x2x3x4 i8", 19, "attention needs the type f16, bf16 or f32"),
        ("attention 1x2x3x4 f16 masked", 23, "unknown word 'masked': expected one of mask, causal"),
        ("attention 1x2x3x4 f16 mask causal", 28, "an attention has one mask"),
        ("attention 4x2x3x4 f16 kv_heads=3", 1, "4 heads of queries cannot share 3 heads of keys"),
        ("layer_norm 2x3 f16 bias", 20, "unknown word 'bias': expected one of affine"),
        ("rms_norm 2x3 i8", 14, "rms_norm needs the type f16, bf16 or f32"),
        ("sum 8x9 f8E5M2", 9, "sum needs the type f16, bf16 or f32"),
        ("softmax 8x9 f16 mask", 17, "unexpected word 'mask' after the type"),
        ("softmax 8x9x2 f16", 9, "invalid sizes '8x9x2': expected ROWSxCOLUMNS"),
        ("topk 8x9 f16", 6, "invalid sizes '8x9': expected ROWSxCOLUMNSxK"),
        ("topk 8x9x10 f16", 1, "rows of 9 do not have 10 elements"),
        ("topk 8x9x2 i8", 12, "topk needs the type f16, bf16 or f32"),
        ("topk 8x9x2 f16 sorted", 16, "unexpected word 'sorted' after the type"),
        ("conv 1x6x9x9 8x3x3 f16 groups=4", 1, "6 channels and 8 filters cannot be divided into 4"),
        (
            f"{DRIVER_LINE[:-1]}8",
            len(DRIVER_LINE),
            "a sum of 1 (forward), 2 (gradient of the data)",
        ),
        (f"{DRIVER_LINE} -z same", len(DRIVER_LINE) + 5, "unknown padding mode 'same'"),
        (f"{DRIVER_LINE} -U fp8", len(DRIVER_LINE) + 5, "casts of operands are not supported"),
        (f"{DRIVER_LINE} -p 99 -m trans", len(DRIVER_LINE) + 5, "the padding exceeds the result"),
        (f"{DRIVER_LINE} -g 3", 1, "64 channels and 32 filters cannot be divided into 3 groups"),
        (f"{DRIVER_LINE} -_ 4", len(DRIVER_LINE) + 5, "only convolutions in one to three dim"),
        (f"{DRIVER_LINE} --in_layout NC", len(DRIVER_LINE) + 14, "unknown layout 'NC': expected"),
        (f"{DRIVER_LINE} -I NCDHWT", len(DRIVER_LINE) + 5, "unknown layout 'NCDHWT': expected"),
        (f"{DRIVER_LINE} --in_h 0", len(DRIVER_LINE) + 9, "invalid value '0' for '--in_h': exp"),
        (f"{DRIVER_LINE} -_ 3", len(DRIVER_LINE) + 6, "flag '-!' is missing"),
        (
            f"{DRIVER_VOLUME} -I NHWC",
            len(DRIVER_VOLUME) + 5,
            "expected the letters of NCDHW in any",
        ),
        (f"{DRIVER_LINE} -m group", len(DRIVER_LINE) + 5, "unknown mode 'group'"),
        (f"{DRIVER_LINE} -I NHCC", len(DRIVER_LINE) + 5, "unknown layout 'NHCC': expected the"),
        ("convfp16 -n 16 -c 2", 20, "flag '-H' is missing"),
        (
            "convfp16 -n x -c 1",
            13,
            "invalid value 'x' for '-n': expected a number from 1 to 2147483647",
        ),
        (f"convfp16 -n {1 << 64}", 13, "expected a number from 1 to 2147483647"),
        ("MIOpenDriver bnormfp16 -n 1", 14, "unknown operation 'bnormfp16': expected one of conv"),
        ("hipblaslt-bench -m 4 -n 4", 26, "flag '-k' is missing"),
        (f"{BENCH} --transA C", len(BENCH) + 11, "unknown --transA 'C': expected one of N, T"),
        (f"{BENCH} --scaleA 3", len(BENCH) + 11, "unknown scale '3': expected one of 0, 1, 2"),
        (f"{BENCH} --a_type f4_r", len(BENCH) + 11, "unknown type 'f4_r': expected one of f32_r"),
        (f"{BENCH} --a_type f16_r", len(BENCH) + 16, "operands of different types"),
        ("GemmTunableOp_Half_NT,nt_1_2", 23, "invalid sizes 'nt_1_2': expected nt_M_N_K"),
        ("GemmTunableOp_Half_NT", 23, "invalid sizes ''"),
        ("GemmTunableOp_Half_NT,nt_0_2_3", 23, "invalid sizes 'nt_0_2_3'"),
        ("GemmTunableOp_Half_NT,nt_00_2_3", 23, "invalid sizes 'nt_00_2_3'"),
        (f"GemmTunableOp_Half_NT,nt_1_2_{1 << 64}", 23, "expected nt_M_N_K"),
        ("GemmTunableOp_Half_NT,nt_1_2_3_B_4", 23, "expected nt_M_N_K"),
        ("GemmStridedBatchedTunableOp_Half_NT,nt_1_2_3", 37, "expected nt_M_N_K_B_BATCH"),
        ("GemmTunableOp_double_NT,nt_1_2_3", 15, "unknown type 'double': expected one of float"),
        ("matmul -M 1 -N 2 --a_type f16 --b_type f16", 43, "flag '-K' is missing"),
        ("matmul -M 1 -N 2 -K 3 --b_type f16", 35, "flag '-a_type' is missing"),
        ("matmul -M 1 -N 2 -K 3 --a_type f16 --b_type f64", 45, "unknown type 'f64'"),
        ("matmul -M 1 -N 2 -K 3 --a_type f16 --b_type f32", 45, "operands of different types"),
        ("sdpa -B 1 -p 0.1", 14, "dropout of 0.1 is not supported"),
        (
            "sdpa -B 1 --heads_q 8 --heads_kv 2 -d 8",
            34,
            "8 heads of queries and 2 of keys need '--gqa', and a whole ratio",
        ),
        ("sdpa -B 1 --heads_q 8 --heads_kv 3 --gqa", 34, "8 heads of queries and 3 of keys"),
        (
            "sdpa -B 1 --heads_q 8 --heads_kv 8 --mask --causal -t f16",
            58,
            "'--mask' and '--causal' exclude each other",
        ),
        (
            "layernorm -X 2x0 -t f16",
            14,
            "invalid value '2x0' for '-X': expected at least 2 numbers",
        ),
        ("layernorm -X 2 -t f16", 14, "expected at least 2 numbers from 1 to 2147483647"),
        ("layernorm -X 2x3 -F 2 -t f16", 21, "only forward layer normalizations"),
        ("--iter 2 batchnorm -X 2x3", 10, "operation 'batchnorm' is not supported"),
        ("./rocblas-bench -f gemm_ex -m 4", 32, "flag '-n' is missing"),
        ("./rocblas-bench -f gemv -m 4", 20, "function 'gemv' is not supported"),
        ("- {function: trsm, M: 4}", 14, "function 'trsm' is not supported"),
        ("layernormint8 -X 2x3", 1, "unknown operation 'layernormint8'"),
        ("layernorm -X 2x3", 17, "dimension 3 of 2 cannot be normalized ('-o')"),
        ("layernorm -X 2x3 -o 1 -F 2", 26, "only forward layer normalizations are supported"),
        ("gemmfp16 --a_w 2 --a_h 3", 25, "flag '-b_w' is missing"),
        ("gemm --a_w 2 --a_h 3 --b_w 4 -F 2", 33, "only forward products are supported"),
        ("gemm --a_w 2 --a_h 3 --b_w 4 -C 1", 33, "stored by columns are not supported"),
        (f"{BENCH} --grouped_gemm 1", len(BENCH) + 17, "grouped products are not supported"),
        ("aten::addmm --x 3", 13, "expected lists of shapes, types, strides and values"),
        ("aten::cumsum --x 3", 1, "unknown operation 'aten::cumsum': expected one of aten::mm"),
        (aten("mm", ([4, 2], [3, 1]), ([2, 5], [5, 1])), 10, "of [4, 2] are not supported: it has"),
        (aten("mm", ([4, 2], [2, 1]), ([3, 5], [5, 1])), 10, "[3, 5] cannot be multiplied"),
        (aten("mm", ([4, 0], [2, 1]), ([3, 5], [5, 1])), 10, "invalid shape [4, 0]"),
        (
            aten("mm", ([4, 2], [2, 1]), ([2, 5], [5, 1])).replace("Half", "Float8", 1),
            10,
            "unknown type 'c10::Float8': expected one of float, c10::Half",
        ),
        (aten("argmax", ([4, 2], [2, 1]), "0", "False"), 14, "dimension 0 is not supported"),
        (aten("argmax", ([4, 2], [1, 4]), "1", "False"), 14, "stored in the order [1, 0]"),
        ("GroupedGemmTunableOp_Half_NT,nt_1_2_3", 1, "unknown operation 'GroupedGemmTunableOp'"),
        (
            "ScaledGemmTunableOp_Float8_e4m3fn_Float8_e5m2_Half_NT,nt_1_2_3",
            21,
            "operands of different types are not supported",
        ),
    ],
)
def test_what_is_no_problem_is_refused_with_its_place(line: str, column: int, message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        read_problems(line)
    assert message in str(caught.value)
    assert caught.value.column == column


def test_all_errors_in_a_file_are_reported_with_their_places(tmp_path: Path) -> None:
    path = tmp_path / "problems.txt"
    path.write_text("# two\nmatmul 1x2x3 f16\n matmul 1x2x3 f17\ngemm\n")
    with pytest.raises(TuninglinkError, match="unknown type 'f17'") as caught:
        read_problem_file(str(path))
    places = [diagnostic.place for diagnostic in caught.value.diagnostics]
    assert places == [Place(str(path), 3, 15), Place(str(path), 4, 1)]


def test_many_errors_in_a_file_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "problems.txt"
    path.write_text("gemm\n" * 25)
    with pytest.raises(TuninglinkError, match="15 more lines of") as caught:
        read_problem_file(str(path))
    assert len(caught.value.diagnostics) == 11


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"# nothing\n", "there is no problem in"), (b"\xff\xfe", "it is not utf-8")],
)
def test_a_file_without_problems_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "problems.txt"
    path.write_bytes(content)
    with pytest.raises(TuninglinkError, match=message):
        read_problem_file(str(path))


def test_the_example_has_every_form() -> None:
    file = read_problem_file(str(ROOT / "examples" / "problems.txt"), is_strict=True)
    # Others are alike; few targets compile products with block scales.
    like_others = {"avg_pool", "rms_norm", "scatter", "sum", "scaled_matmul"}
    words = {str(problem).split()[0] for problem in file.problems}
    assert words == {*OPERATIONS} - like_others
    assert len(file.problems) == 22


FOREIGN_LINES = """
bnormfp16 -n 2 -c 128
MIOpenDriver convfp16 -n 1 -c 2 -H 3 -W 4 -k 5 -y 1 -x 1 -F 8
aten::cumsum
convfp16 -n 1 -c 2 -H 3 -W 4 -k 5 -y 1 -x 1 -F 8
[SKIP] conv
matmul 1x2x3 f16
"""


def test_lines_with_unsupported_problems_are_skipped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "problems.txt"
    path.write_text(FOREIGN_LINES)
    file = read_problem_file(str(path))
    assert file.problems == (Product(1, 2, 3, F16),)
    assert file.unsupported.total() == 4
    assert {
        reason.partition(": expected one of")[0]: count
        for reason, count in file.unsupported.items()
    } == {
        "operation 'bnormfp16' is not supported": 1,
        "direction 8 is not supported: expected a sum of 1 (forward), 2 (gradient of the data) and 4 (of the weights), "
        "or 0 for all": 2,
        "unknown operation 'aten::cumsum'": 1,
    }


def test_they_are_errors_where_files_are_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "problems.txt"
    path.write_text(FOREIGN_LINES)
    with pytest.raises(TuninglinkError) as caught:
        read_problem_file(str(path), is_strict=True)
    places = [diagnostic.place for diagnostic in caught.value.diagnostics]
    assert places == [
        Place(str(path), line, column) for line, column in ((2, 1), (3, 61), (4, 1), (5, 48))
    ]


SIZE = st.integers(1, 64)
ELEMENT = st.sampled_from(ElementType)
PAIR = st.tuples(st.integers(1, 4), st.integers(1, 4))


@st.composite
def _layout(draw: st.DrawFn) -> Layout:
    default = Layout.default(draw(st.integers(1, 3)))
    orders = (default.image, default.filters, default.result)
    return Layout(*("".join(draw(st.permutations(order))) for order in orders))


@st.composite
def _convolution(draw: st.DrawFn) -> Convolution:
    layout, groups, counts = draw(_layout()), draw(st.integers(1, 4)), draw(PAIR)
    size, kernel, strides, padding, dilations = _windows(draw, len(layout.axes))
    image, filters = (2, groups * counts[0], size), groups * counts[1]
    steps = (strides, padding, dilations, layout, groups)
    gradient = draw(st.none() | st.sampled_from(Gradient))
    return Convolution(*image, filters, kernel, draw(ELEMENT), *steps, gradient)


@st.composite
def _pooling(draw: st.DrawFn) -> Pooling:
    operation, channels = draw(st.sampled_from(PoolingOperation)), draw(SIZE)
    size, kernel, strides, padding, dilations = _windows(draw, draw(st.integers(1, 3)))
    image = (operation, 2, channels, size, kernel, draw(st.sampled_from([F16, F32])))
    return Pooling(*image, strides, padding, dilations, draw(st.booleans()))


def _windows(draw: st.DrawFn, rank: int) -> tuple[tuple[int, ...], ...]:
    """Draw the sizes of an image and of windows, the strides, the padding and the dilations."""
    ranges = ((16, 20), (1, 4), (1, 4), (0, 2), (1, 4))
    return tuple(
        tuple(draw(st.integers(least, most)) for _ in range(rank)) for least, most in ranges
    )


@st.composite
def _attention(draw: st.DrawFn) -> Attention:
    kv_heads, ratio, mask = draw(SIZE), draw(SIZE), draw(st.none() | st.sampled_from(Mask))
    sizes = (kv_heads * ratio, draw(SIZE), draw(SIZE), draw(SIZE))
    return Attention(
        *sizes, draw(st.sampled_from([F16, F32])), mask, draw(st.sampled_from([None, kv_heads]))
    )


PROBLEMS = st.one_of(
    st.builds(
        Product,
        *(SIZE, SIZE, SIZE, ELEMENT, st.none() | SIZE),
        transposes_a=st.booleans(),
        transposes_b=st.booleans(),
    ),
    st.builds(
        Product,
        *(SIZE, SIZE, SIZE.map(SCALED_BLOCK.__mul__), st.sampled_from(ScaledType)),
        st.none() | SIZE,
    ),
    _convolution(),
    _pooling(),
    _attention(),
    st.builds(
        MatrixProblem,
        *(st.sampled_from([*MatrixOperation][:3]), SIZE, SIZE, st.sampled_from([F16, F32])),
    ),
    st.builds(
        MatrixProblem,
        st.sampled_from([MatrixOperation.LAYER_NORM, MatrixOperation.RMS_NORM]),
        *(SIZE, SIZE, st.sampled_from([F16, F32])),
        is_affine=st.booleans(),
    ),
    st.builds(
        MatrixProblem,
        st.sampled_from([MatrixOperation.ADD, MatrixOperation.TRANSPOSE]),
        *(SIZE, SIZE, st.sampled_from([F16, F32])),
    ),
    st.builds(
        MatrixProblem,
        st.sampled_from([MatrixOperation.GATHER, MatrixOperation.SCATTER]),
        *(SIZE, SIZE, st.sampled_from([F16, F32]), SIZE),
    ),
    st.builds(
        MatrixProblem,
        *(st.just(MatrixOperation.TOPK), SIZE, st.just(64), st.sampled_from([F16, F32]), SIZE),
    ),
)


@given(PROBLEMS)
def test_words_of_a_problem_are_read_as_the_same_problem_and_make_a_valid_program(
    problem: Problem,
) -> None:
    assert read_words(str(problem)) == problem
    assert program_of([problem, problem]).count("func.func") == 1


WITHOUT_WORD = {
    "online_attention": "the compiler's form of attention",
    "map_load": "made by the compiler of changes of layout",
    "map_store": "made by the compiler of changes of layout",
    "quantize_affine": "the compiler decomposes it before dispatches are formed",
    "dequantize_affine": "the compiler decomposes it before dispatches are formed",
}
"""Ops of IREE that spaces and reports know, with the reason why no word has them."""

HELPERS = {"index", "yield"}


def test_every_kind_of_op_has_a_word_or_a_reason() -> None:
    sources = [ROOT / "python" / "tuninglink" / "mlir" / "names.py"]
    for folder in ("iree", "spaces"):
        sources += (ROOT / "python" / "tuninglink" / folder).rglob("*.py")
    text = "\n".join(path.read_text() for path in sources)
    known_ops = {*re.findall(r"iree_linalg_ext\.(\w+)", text)} - HELPERS
    program = program_of(WORDS.values())
    with mlir.Context(), mlir.Location.unknown():
        module = mlir.Module.parse(program)
        kinds, ops = set(), set()

        def visitor(operation: mlir.Operation) -> mlir.WalkResult:
            if is_computing(operation.name):
                kinds.add(StructuredOp(operation).kind)
            dialect, _, name = operation.name.partition(".")
            if dialect == "iree_linalg_ext":
                ops.add(name)
            return mlir.WalkResult.ADVANCE

        module.operation.walk(visitor)
    assert kinds == {*OpKind}
    assert known_ops - ops == {*WITHOUT_WORD}


def test_every_word_is_tested_and_documented() -> None:
    table = (ROOT / "docs" / "guides" / "problems.md").read_text()
    tested = {line.split()[0] for line in WORDS}
    assert tested == {*OPERATIONS}
    assert [word for word in OPERATIONS if f"`{word} " not in table] == []
