"""Kernels of Triton are compiled without a GPU, fit their declarations, and are in the compiled program."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from attention_programs import program_of as attention_program
from contraction_programs import contraction
from iree.compiler import ir as mlir
from kernel_programs import (
    GENERIC,
    NAMED,
    convolution_program,
    dequantized_program,
    heads_program,
    linear_program,
    product_program,
    quantized_program,
)
from moved_attention import decomposed_program, fused_program, grouped_program

import tuninglink
from tuninglink.checking import Checker
from tuninglink.kernels import (
    BuiltKernel,
    Candidate,
    ConvolutionProblem,
    KernelCall,
    KernelError,
    KernelProblem,
    ProductProblem,
    ScaledAttention,
    TritonProvider,
    kernel_problem,
    kernel_providers,
)
from tuninglink.mlir import collect, thread_context
from tuninglink.replacing import Attention, spec
from tuninglink.specs import HSACO, KernelObject

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("triton", reason="the extra 'kernels' is not installed")

ATTENTION = ScaledAttention(
    Attention(
        ("abmk", "abjk", "abjn", "", "abmn"),
        ("f16", "f16", "f16", "f32", "f16"),
        "abmnkj",
        (2, 3, 33, 72, 72, 33),
    ),
    0.5,
)
OPTIONS = {"m": 64, "n": 64, "k": 32, "w": 4, "s": 2, "g": 8, "t": 0}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


def made(problem: KernelProblem, architecture: str, **options: int) -> BuiltKernel:
    candidate = Candidate("triton", problem, architecture, tuple(options.items()))
    return TritonProvider().make(candidate)


def compiled(
    problem: KernelProblem, kernel: BuiltKernel, program: str, target: str = "h200"
) -> bytes:
    """Compile a program with a kernel, which must fit its declaration and be used once."""
    text = spec([KernelCall(problem, kernel)])
    assert not Checker().check(text.encode(), "spec.mlir").structure
    result = tuninglink.compile(
        program.replace("util.func public", "func.func").replace("util.return", "return").encode(),
        specs=[text.encode()],
        target=target,
        default_specs=False,
    )
    assert len(result.replaced) == 1
    return result.output


def test_a_product_with_steps_is_one_kernel() -> None:
    program = product_program(33, 40, 72, ("bias", "gelu", "truncation"))
    module = mlir.Module.parse(program, thread_context()).operation
    (end,) = collect(module, "util.return")
    problem = kernel_problem(end.operands[0].owner.operation)
    kernel = made(problem, "sm_80", **OPTIONS)
    ptx = KernelObject.read(kernel.content)
    assert ptx is not None
    assert ptx.architecture == "sm_80"
    (entry,) = ptx.entries
    assert entry.parameters == (64,) * 4  # without those for scratch memory
    output = compiled(problem, kernel, program)
    assert kernel.content in output
    assert output.count(b".entry") == 1  # nothing is left to the compiler


@pytest.mark.parametrize("bias", [False, True])
def test_a_convolution_with_steps_is_one_kernel(*, bias: bool) -> None:
    program = convolution_program((2, 16, 10, 12), (24, 16, 3, 3), bias=bias)
    module = mlir.Module.parse(program, thread_context()).operation
    (end,) = collect(module, "util.return")
    problem = kernel_problem(end.operands[0].owner.operation)
    assert TritonProvider().candidates(problem, "sm_90a")
    steps = {dict(own.options)["k"] for own in TritonProvider().candidates(problem, "sm_90a")}
    assert steps == {16}  # the channels of a pixel
    kernel = made(problem, "sm_90a", **{**OPTIONS, "k": 16})
    assert kernel.grid == (2, 2, 1)  # 80 pixels of two images
    output = compiled(problem, kernel, program)
    assert kernel.content in output
    # The compiler transposes images and filters, so that channels are contiguous.
    assert output.count(b".entry") == 3


@pytest.mark.parametrize(
    ("images", "filters", "stride"),
    [
        ((4, 3, 32, 32), (24, 3, 16, 16), 16),
        ((4, 3, 28, 28), (24, 3, 14, 14), 14),
        ((2, 3, 19, 19), (24, 3, 7, 7), 2),
    ],
)
def test_a_convolution_of_few_channels_reads_images_as_they_are(
    images: tuple[int, ...], filters: tuple[int, ...], stride: int
) -> None:
    program = convolution_program(images, filters, stride=stride, bias=True)
    module = mlir.Module.parse(program, thread_context()).operation
    (end,) = collect(module, "util.return")
    problem = kernel_problem(end.operands[0].owner.operation)
    first, *others = TritonProvider().candidates(problem, "sm_90a")
    # Steps go on from one channel to the next.
    assert {dict(own.options)["k"] for own in (first, *others)} >= {16, 32, 64}
    kernel = TritonProvider().make(first)
    # Only of patches of 16 pixels, copies of 16 bytes can be on their way.
    assert (b"cp.async.cg" in kernel.content) == (filters[-1] == 16)
    output = compiled(problem, kernel, program)
    assert kernel.content in output
    assert output.count(b".entry") == 1


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize(
    "program",
    [
        linear_program(3, 17, 24, 40),
        convolution_program((2, 32, 12, 11), (24, 32, 3, 3), bias=True),
        heads_program(batches=2, heads=3, rows=33, keys=40, size=64, masked=True),
    ],
    ids=["linear", "convolution", "heads"],
)
def test_programs_of_pytorch_have_a_kernel_in_both_types(program: str, element: str) -> None:
    program = program.replace("f16", element)
    module = mlir.Module.parse(program, thread_context()).operation
    (end,) = collect(module, "util.return")
    problem = kernel_problem(end.operands[0].owner.operation)
    first, *_ = TritonProvider().candidates(problem, "sm_90a")
    kernel = TritonProvider().make(first)
    output = compiled(problem, kernel, program)
    assert kernel.content in output
    # Nothing but images and filters is moved.
    assert output.count(b".entry") == (3 if isinstance(problem, ConvolutionProblem) else 1)


@pytest.mark.parametrize("rhs", ["nk", "kn"])
@pytest.mark.parametrize("product", ["named", "wide"])
def test_a_product_of_bytes_with_steps_is_one_kernel(product: str, rhs: str) -> None:
    program = quantized_program(130, 136, 192, rhs=rhs, product=product)
    module = mlir.Module.parse(program, thread_context()).operation
    (end,) = collect(module, "util.return")
    problem = kernel_problem(end.operands[0].owner.operation)
    candidates = TritonProvider().candidates(problem, "sm_90a")
    # The tensor cores read bytes along k.
    assert {dict(at.options)["t"] for at in candidates} == ({0, 1} if rhs == "nk" else {0})
    first = next(at for at in candidates if dict(at.options)["m"] == 64)
    kernel = TritonProvider().make(first)
    assert b"wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8" in kernel.content
    output = compiled(problem, kernel, program)
    assert kernel.content in output
    assert output.count(b".entry") == 1
    for architecture in ("sm_80", "gfx942"):
        assert made(problem, architecture, **OPTIONS).architecture == architecture


@pytest.mark.parametrize("product", [NAMED, GENERIC], ids=["named", "generic"])
@pytest.mark.parametrize("rhs", ["nk", "kn"])
def test_a_product_of_f8_is_one_kernel(rhs: str, product: str) -> None:
    kinds = {"f8E4M3FN": ("sm_90a", "h200"), "f8E4M3FNUZ": ("gfx942", "gfx942")}
    others = ("sm_89", "gfx90a", "gfx942", "gfx950", "sm_90a")
    for element, (architecture, target) in kinds.items():
        program = product_program(
            130, 136, 192, ("bias", "truncation"), rhs=rhs, product=product, element=element
        )
        module = mlir.Module.parse(program, thread_context()).operation
        (end,) = collect(module, "util.return")
        problem = kernel_problem(end.operands[0].owner.operation)
        assert [own for own in others if TritonProvider().candidates(problem, own)] == [
            architecture
        ]
        candidates = TritonProvider().candidates(problem, architecture)
        first = next(at for at in candidates if dict(at.options)["m"] == 64)
        kernel = TritonProvider().make(first)
        if architecture == "sm_90a":
            assert b"wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3" in kernel.content
            # Sums of 128 products are added to others.
            assert b"add.rn.f32" in kernel.content or b"add.f32" in kernel.content
        assert kernel.content in compiled(problem, kernel, program, target)


@pytest.mark.parametrize("signed", [True, False])
def test_a_product_of_dequantized_numbers_is_one_kernel(*, signed: bool) -> None:
    program = dequantized_program(130, 256, 128, signed=signed)
    module = mlir.Module.parse(program, thread_context()).operation
    (end,) = collect(module, "util.return")
    problem = kernel_problem(end.operands[0].owner.operation)
    kernel = TritonProvider().make(TritonProvider().candidates(problem, "sm_90a")[0])
    assert kernel.content in compiled(problem, kernel, program)


@pytest.mark.parametrize("element", ["f16", "i8"])
def test_a_product_of_few_rows_is_divided_in_parts(element: str) -> None:
    program = product_program(8, 160, 4096, ("bias", "gelu", "truncation"))
    if element == "i8":
        program = quantized_program(8, 160, 4096)
    module = mlir.Module.parse(program, thread_context()).operation
    (end,) = collect(module, "util.return")
    problem = kernel_problem(end.operands[0].owner.operation)
    for architecture, target in (("sm_90a", "h200"), ("gfx942", "gfx942")):
        candidates = TritonProvider().candidates(problem, architecture)[:8]
        parts = [at for at in candidates if "z" in dict(at.options)]
        assert len(parts) >= 2
        for candidate in parts[:1]:
            kernel = TritonProvider().make(candidate)
            assert kernel.first is not None
            count = dict(candidate.options)["z"]
            columns = -(-160 // dict(candidate.options)["n"])
            assert kernel.first.kernel.grid == (columns, 1, count)
            assert kernel.first.count == 2
            kind = "f32" if element == "f16" else "i32"
            assert kernel.first.result == f"tensor<{count}x8x160x{kind}>"
            assert kernel.grid == (16, 1, 1)
            output = compiled(problem, kernel, program, target)
            assert kernel.content in output
            assert kernel.first.kernel.content in output
            assert output.count(b".entry") == (2 if target == "h200" else 0)
            assert kernel.size == len(kernel.content) + len(kernel.first.kernel.content)


def test_k_is_divided_where_processors_have_no_work() -> None:
    provider = TritonProvider()

    def parts(*sizes: int, rhs: str = "nk") -> list[dict[str, int]]:
        problem = ProductProblem(contraction(*sizes, rhs=rhs))
        candidates = provider.candidates(problem, "sm_90a")
        return [own for own in (dict(at.options) for at in candidates) if "z" in own]

    for m, n, k in ((8, 2048, 5632), (64, 512, 4096), (1, 160, 1024)):
        for own in parts(m, n, k):
            steps = -(-k // own["k"])
            # No part is empty, and all blocks run at once, or in two turns.
            assert (own["z"] - 1) * -(-steps // own["z"]) < steps
            assert own["z"] * -(-n // own["n"]) <= 2 * 132 + own["z"]
    assert parts(8, 2048, 5632)
    assert not parts(65, 2048, 5632)
    assert not parts(8, 2048, 256)
    assert not parts(8, 32_768, 4096)


def test_a_product_without_elements_has_no_kernel() -> None:
    for sizes in ((0, 24, 40), (17, 0, 40), (17, 24, 0)):
        assert not TritonProvider().candidates(ProductProblem(contraction(*sizes)), "sm_90a")


def test_sums_of_bytes_that_may_be_too_large_are_left_to_the_compiler() -> None:
    for k, sums, count in ((131_071, "i64", 1), (131_072, "i64", 0), (131_072, "i32", 1)):
        problem = ProductProblem(replace(contraction(17, 24, k), types=("i8", "i8", sums)))
        assert bool(TritonProvider().candidates(problem, "sm_90a")) == bool(count)
    for types in (("i8", "i8", "f32"), ("i8", "i8", "i8"), ("i32", "i32", "i32")):
        problem = ProductProblem(replace(contraction(17, 24, 40), types=types))
        assert not TritonProvider().candidates(problem, "sm_90a")


def test_an_op_on_rows_of_images_has_no_kernel() -> None:
    program = convolution_program((2, 16, 10, 12), (24, 16, 3, 3), bias=False)
    rows = program.replace("(n, 0, 0)>", "(y, 0, 0)>").replace("24x1x1xf32", "8x1x1xf32")
    module = mlir.Module.parse(rows, thread_context()).operation
    (end,) = collect(module, "util.return")
    problem = kernel_problem(end.operands[0].owner.operation)
    assert not TritonProvider().candidates(problem, "sm_90a")


def test_descriptors_are_made_in_scratch_memory() -> None:
    problem = ProductProblem(contraction(33, 40, 72, rhs="nk"))
    kernel = made(problem, "sm_90a", **{**OPTIONS, "t": 1})
    assert kernel.scratch
    assert b".target sm_90a" in kernel.content
    # The compiler packs buffers at multiples of 64 bytes. Descriptors are at those of 128.
    loaded = rb"ld\.param\.b64 (%\w+),\[\w+_param_3\];\nadd\.s64 \1,\1,127;\nand\.b64 \1,\1,-128;"
    assert len(re.findall(loaded, kernel.content)) == kernel.content.count(b"_param_3];") > 0
    assert kernel.content in compiled(problem, kernel, product_program(33, 40, 72))


def test_tiles_of_160_columns_are_multiplied_in_two_parts() -> None:
    program = product_program(2048, 1280, 72)
    problem = ProductProblem(contraction(2048, 1280, 72, rhs="nk"))
    for tma in (0, 1):
        options = {"m": 128, "n": 128, "x": 32, "k": 64, "w": 8, "s": 3, "g": 8, "t": tma}
        kernel = made(problem, "sm_90a", **options)
        assert kernel.grid == (16 * 8, 1, 1)
        for width in (128, 32):
            assert b"wgmma.mma_async.sync.aligned.m64n%dk16" % width in kernel.content
        assert kernel.content in compiled(problem, kernel, program)


def test_an_attention_is_replaced_by_iree_compile_as_well() -> None:
    kernel = made(ATTENTION, "sm_90a", m=64, j=32, w=4, s=2)
    assert kernel.grid == (1, 6, 1)
    program = attention_program(ATTENTION.attention)
    assert kernel.content in compiled(ATTENTION, kernel, program)


@pytest.mark.parametrize(
    "program",
    [
        fused_program(2, 33, 4, 24),
        grouped_program(2, 33, 4, 2, 24),
        decomposed_program(2, 33, 4, 24, masked=True),
    ],
)
def test_an_attention_with_what_moves_its_operands_and_its_result_is_one_kernel(
    program: str,
) -> None:
    module = mlir.Module.parse(program, thread_context()).operation
    (end,) = collect(module, "util.return")
    problem = kernel_problem(end.operands[0].owner.operation)
    assert TritonProvider().candidates(problem, "sm_90a")
    kernel = made(problem, "sm_90a", m=64, j=32, w=4, s=2)
    output = compiled(problem, kernel, program)
    assert kernel.content in output
    assert output.count(b".entry") == 1  # the compiler moves nothing


def test_an_attention_of_one_query_or_one_key_compiles() -> None:
    for rows, keys in ((1, 64), (33, 1)):
        attention = replace(ATTENTION.attention, sizes=(2, 3, rows, 64, 64, keys))
        kernel = made(ScaledAttention(attention, 0.5), "sm_80", m=16, j=32, w=4, s=2)
        assert kernel.grid == (-(-rows // 16), 6, 1)


def test_a_mask_of_i1_is_a_byte_for_each_element() -> None:
    problem = replace(ATTENTION, attention=ATTENTION.attention.with_mask("mj", "i1"))
    assert TritonProvider().candidates(problem, "sm_90a")
    kernel = made(problem, "sm_80", m=64, j=32, w=4, s=2)
    program = attention_program(problem.attention)
    assert kernel.content in compiled(problem, kernel, program)


def blocks(candidate: Candidate) -> int:
    """Return the number of tiles of a candidate."""
    return TritonProvider().launches(candidate)[0].grid[0]


def test_candidates_fit_the_memory_of_their_architecture() -> None:
    (provider, *_) = kernel_providers()
    problem = ProductProblem(contraction(1028, 1024, 4096))
    for architecture, limit in (("sm_80", 163), ("sm_90a", 227)):
        candidates = provider.candidates(problem, architecture)
        assert len(candidates) > 10
        assert len({candidate.name for candidate in candidates}) == len(candidates)
        for candidate in candidates:
            options = dict(candidate.options)
            width = options["m"] + options["n"] + options["x"]
            needed = 2 * options["s"] * options["k"] * width
            assert needed <= limit * 1024
            assert not (options["t"] and architecture == "sm_80")
    assert not provider.candidates(ProductProblem(contraction(70_000, 8, 8, 8)), "sm_80")
    assert not provider.candidates(ProductProblem(contraction(65_536, 32_768, 8)), "sm_80")
    # Few rows need small tiles.
    for rows, tile in ((1, 16), (16, 16), (17, 32), (32, 32)):
        few = [ProductProblem(contraction(rows, 1024, 4096, rhs=rhs)) for rhs in ("kn", "nk")]
        attention = replace(ATTENTION.attention, sizes=(2, 3, rows, 64, 64, 1024))
        for small in (*few, ScaledAttention(attention, 0.5)):
            candidates = provider.candidates(small, "sm_90a")
            assert len(candidates) >= 8
            assert dict(candidates[0].options)["m"] == tile
        # No step is twice as long as a row.
        short = ProductProblem(contraction(rows, 1024, 200, rhs="nk"))
        assert {dict(at.options)["k"] for at in provider.candidates(short, "sm_90a")} == {64, 256}
    # The first tiles give most of the processors work: 788 rows are 7 tiles of 128.
    for n, least, most in ((768, 66, 132), (3072, 66, 132), (65_536, 1024, 4096)):
        candidates = provider.candidates(ProductProblem(contraction(788, n, 768)), "sm_90a")
        assert least <= blocks(candidates[0]) <= most
        first = [dict(candidate.options) for candidate in candidates[:8]]
        assert len({(options["m"], options["n"]) for options in first}) >= 3
        assert {options["t"] for options in first} == {0, 1}
    # A tile of 160 columns, 128 and 32, gives 128 processors equal work. What shares a processor has half of its memory.
    candidates = provider.candidates(ProductProblem(contraction(2048, 1280, 5120)), "sm_90a")
    first = [dict(candidate.options) for candidate in candidates[:8]]
    assert (first[0]["m"], first[0]["n"], first[0]["x"]) == (128, 128, 32)
    assert {blocks(at) for at in candidates if ("x", 32) in at.options} >= {128}
    for options in (dict(at.options) for at in candidates if blocks(at) > 132):
        if options["k"] == 64 and options["s"] > 2:
            width = options["m"] + options["n"] + options["x"]
            assert 2 * options["s"] * options["k"] * width <= 227 * 1024 / 2
    # Rows that are far apart, as batches lie between them.
    apart = replace(contraction(1024, 65_536, 64, 128), operands=("mak", "akn", "man"))
    assert not provider.candidates(ProductProblem(apart), "sm_80")
    assert not provider.candidates(problem, "gfx1100")
    assert not provider.candidates(problem, "sm_75")


def test_a_kernel_that_does_not_fit_has_a_reason() -> None:
    problem = ProductProblem(contraction(1028, 1024, 4096))
    with pytest.raises(KernelError, match="Triton does not compile 'triton_product_1028"):
        made(problem, "sm_80", **{**OPTIONS, "m": 48})


def test_a_kernel_that_needs_too_much_memory_is_refused() -> None:
    sizes = (2, 3, 64, 512, 64, 1024)
    wide = ScaledAttention(replace(ATTENTION.attention, sizes=sizes), 0.5)
    with pytest.raises(KernelError, match=r"KiB of shared memory; a block has 99"):
        made(wide, "sm_89", m=64, j=64, w=4, s=3)
    for candidate in TritonProvider().candidates(wide, "sm_80"):
        options = dict(candidate.options)
        needed = options["m"] * 64 + options["s"] * options["j"] * (64 + 512)
        assert 2 * needed <= 163 * 1024


def test_ptx_is_as_new_as_its_architecture() -> None:
    for architecture, version in (("sm_90a", 86), ("sm_103a", 88)):
        kernel = made(ProductProblem(contraction(33, 40, 72)), architecture, **OPTIONS)
        content = KernelObject.read(kernel.content)
        assert content is not None
        assert (content.architecture, content.version) == (architecture, version)
        assert (
            not Checker()
            .check(
                spec([KernelCall(ProductProblem(contraction(33, 40, 72)), kernel)]).encode(),
                "s.mlir",
            )
            .structure
        )


def test_a_kernel_for_an_amd_gpu_is_a_code_object_whose_entry_is_bound() -> None:
    problem = ProductProblem(contraction(33, 40, 72))
    kernel = made(problem, "gfx942", **OPTIONS)
    content = KernelObject.read(kernel.content)
    assert content is not None
    assert (content.kind, content.architecture) == (HSACO, "gfx942")
    # Without those for scratch memory.
    assert [(at.name, at.parameters) for at in content.entries] == [(kernel.name, (64,) * 3)]
    assert kernel.threads == 256
    assert len(TritonProvider().candidates(problem, "gfx942")) >= 8
    text = spec([KernelCall(problem, kernel)])
    assert 'tuninglink.targets = ["gfx942"]' in text
    program = product_program(33, 40, 72, rhs="kn")
    program = program.replace("util.func public", "func.func").replace("util.return", "return")
    # The compiler refuses other objects for a product such as mi300x.
    for target, count in (("gfx942", 1), ("gfx950", 0), ("h200", 0)):
        result = tuninglink.compile(
            program.encode(), specs=[text.encode()], target=target, default_specs=False
        )
        assert len(result.replaced) == count
        assert (kernel.content in result.output) == bool(count)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, ""),
        ({"threads": 512}, "has blocks of 512 threads"),
        ({"shared": 70_000}, "needs 68.36 KiB of shared memory; a block on gfx942 has 64"),
        ({"scratch": 8}, "is declared with 4 pointers"),
        ({"name": "other"}, "is not in its object"),
        ({"architecture": "gfx950"}, "is for gfx942, and its entry is bound to gfx950"),
    ],
)
def test_the_declaration_is_compared_with_a_code_object(
    changes: dict[str, Any], message: str
) -> None:
    problem = ProductProblem(contraction(33, 40, 72))
    kernel = replace(made(problem, "gfx942", **OPTIONS), **changes)
    report = Checker().check(spec([KernelCall(problem, kernel)]).encode(), "spec.mlir")
    messages = {finding.message for finding in report.structure}  # of each spelling
    assert len(messages) == bool(message)
    assert message in "".join(messages)
