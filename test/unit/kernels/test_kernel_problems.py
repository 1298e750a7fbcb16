"""Graphs that kernels compute are read from programs; which programs the entries of kernels replace."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from attention_programs import program_of as attention_program
from contraction_programs import contraction
from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager
from kernel_programs import (
    GENERIC,
    NAMED,
    convolution_program,
    dequantized_program,
    extended_program,
    heads_program,
    linear_program,
    product_program,
    quantized_program,
    shifted_program,
)
from kernel_specs import PTX
from moved_attention import decomposed_program, fused_program, grouped_program

from tuninglink.errors import Diagnostic
from tuninglink.iree import Target
from tuninglink.kernels import (
    BuiltKernel,
    ConvolutionProblem,
    DecomposedAttention,
    FirstKernel,
    KernelCall,
    KernelProblem,
    ProductProblem,
    QuantizedProduct,
    ScaledAttention,
    TritonProvider,
    guarded_program,
    kernel_problem,
    problems_of,
    repeated_program,
)
from tuninglink.mlir import DiagnosticSink, collect, names, symbols, thread_context
from tuninglink.pinning import check_replace_entries
from tuninglink.preprocessing import replace_ops
from tuninglink.replacing import Attention, NoFormError, spec
from tuninglink.specs import load_spec

ALL = ("bias", "gelu", "residual", "scale", "relu", "factor", "truncation")
KERNEL = BuiltKernel("add", "sm_80", PTX.encode(), (1, 2, 1), 128, 1024)
"""A kernel that is not run."""


def read(program: str) -> KernelProblem:
    """Return the graph that ends with the value that the function returns."""
    module = mlir.Module.parse(program, thread_context()).operation
    (end,) = collect(module, "util.return")
    return kernel_problem(end.operands[0].owner.operation)


def replaces(problem: KernelProblem, program: str) -> bool:
    """Return whether the entries of a kernel for a problem replace an op of a program."""
    module = mlir.Module.parse(program, thread_context()).operation
    # As the compiler does before, which moves constants out of bodies.
    PassManager.parse("builtin.module(canonicalize,cse)", module.context).run(module)
    entries = load_spec(spec([KernelCall(problem, KERNEL)]).encode())
    result = replace_ops(module, [Target.parse("a100")], [entries], None, print)
    return len(result.replaced) == 1


@pytest.mark.parametrize("rhs", ["nk", "kn"])
@pytest.mark.parametrize("product", [NAMED, GENERIC], ids=["named", "generic"])
def test_a_product_with_steps_is_read_and_replaced(rhs: str, product: str) -> None:
    program = product_program(17, 24, 40, ALL, rhs=rhs, product=product)
    problem = read(program)
    assert isinstance(problem, ProductProblem)
    assert problem.operands == (
        ("mk", "f16"),
        (rhs, "f16"),
        ("n", "f32"),
        ("mn", "f32"),
        ("", "f32"),  # a number, which the kernel reads from memory
        ("mn", "f16"),
    )
    # A kernel for one spelling takes the place of both, and of none that computes something else.
    for spelled in (NAMED, GENERIC):
        same = product_program(17, 24, 40, ALL, rhs=rhs, product=spelled)
        assert replaces(problem, same)
        for old, new in (
            ("%zero = arith.constant 0.0", "%zero = arith.constant 1.0"),
            ("0.125", "0.25"),
            ("math.erf", "math.tanh"),
            ("arith.cmpf ugt", "arith.cmpf ult"),
        ):
            assert old in same
            assert not replaces(problem, same.replace(old, new))
        assert not replaces(problem, product_program(17, 24, 40, ALL[1:], rhs=rhs, product=spelled))
        other = {"nk": "kn", "kn": "nk"}[rhs]
        assert not replaces(problem, product_program(17, 24, 40, ALL, rhs=other, product=spelled))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (
            product_program(8, 8, 8).replace(
                "%zero = arith.constant 0", "%zero = arith.constant 1"
            ),
            "does not start at zero",
        ),
        (product_program(8, 8, 8, ["relu"]).replace("ugt", "one"), "comparison without code"),
        (product_program(8, 8, 8, ["gelu"]).replace("erf", "cos"), "'math.cos'"),
        (
            product_program(8, 8, 8, ["bias"]).replace("linalg.yield %r", "linalg.yield %x"),
            "yields something else",
        ),
        (
            product_program(8, 8, 8, ["bias"]).replace(
                "%r = arith.addf %x",
                "%small = arith.truncf %x : f32 to f8E4M3FN\n"
                "    %wide = arith.extf %small : f8E4M3FN to f32\n    %r = arith.addf %wide",
            ),
            "op on other types",
        ),
        (
            product_program(8, 8, 8, ["bias", "residual"])
            .replace("ins(%s0, %o1", "ins(%s0, %soft")
            .replace(
                "  %s1 =",
                "  %soft = linalg.softmax dimension(1) ins(%s0 : tensor<8x8xf32>) "
                "outs(%o1 : tensor<8x8xf32>) -> tensor<8x8xf32>\n  %s1 =",
            ),
            "another op",
        ),
    ],
)
def test_a_graph_without_a_kernel_has_a_reason(program: str, reason: str) -> None:
    with pytest.raises(NoFormError, match=reason):
        read(program)


def test_an_op_that_reads_the_first_row_of_several_has_no_kernel() -> None:
    program = product_program(8, 8, 8, ["residual"])
    same = "affine_map<(m, n) -> (m, n)>"
    assert program.count(f"{same}, {same}, {same}") == 1
    first = program.replace(
        f"{same}, {same}, {same}", f"{same}, affine_map<(m, n) -> (0, n)>, {same}"
    )
    with pytest.raises(NoFormError, match="operand of other loops"):
        read(first)


def test_products_of_operands_without_one_side_of_a_tile_have_no_kernels() -> None:
    problem = ProductProblem(contraction(128, 128, 128))
    assert TritonProvider().candidates(problem, "sm_90a")
    for left, right in (("k", "kn"), ("m", "kn"), ("mk", "k"), ("mk", "n")):
        own = replace(problem.contraction, operands=(left, right, "mn"))
        assert not TritonProvider().candidates(ProductProblem(own), "sm_90a")


def test_a_product_that_is_used_elsewhere_is_computed_there_as_well() -> None:
    program = product_program(8, 8, 8, ["bias", "residual"])
    program = program.replace("ins(%s0, %o1", "ins(%s0, %p")
    # Both uses are in the graph.
    problem = read(program)
    assert isinstance(problem, ProductProblem)
    assert [step.chained for step in problem.steps] == [((0, 0),), ((0, 1), (1, 0))]
    assert replaces(problem, program)
    # Another op reads the product, or the first step.
    for value in ("%p", "%s0"):
        elsewhere = program.replace(
            "util.return", f"util.optimization_barrier {value} : tensor<8x8xf32>\n  util.return"
        )
        with pytest.raises(NoFormError):
            read(elsewhere)


def test_the_largest_graph_is_replaced_where_several_end_with_an_op() -> None:
    program = product_program(8, 8, 8, ["bias", "residual"])
    smaller = product_program(8, 8, 8, ["residual"]).replace("ins(%p, %o0", "ins(%o0, %p")
    program = program.replace("ins(%s0, %o1", "ins(%s0, %p")
    calls = [
        KernelCall(read(own), replace(KERNEL, name=name))
        for own, name in ((smaller, "one_step"), (program, "two_steps"))
    ]
    module = mlir.Module.parse(program, thread_context()).operation
    PassManager.parse("builtin.module(canonicalize,cse)", module.context).run(module)
    entries = load_spec(spec(calls).encode())
    replace_ops(module, [Target.parse("a100")], [entries], None, print)
    assert '"two_steps"' in str(module)
    assert '"one_step"' not in str(module)


@pytest.mark.parametrize("batches", [1, 3])
def test_a_kernel_reads_weights_that_a_program_moves_and_extends(batches: int) -> None:
    program = linear_program(batches, 17, 24, 40)
    problem = read(program)
    assert isinstance(problem, ProductProblem)
    assert problem.operands == (
        ("amk", "f16"),
        ("nk", "f16"),  # neither transposed nor broadcast
        ("a1n", "f16"),
        ("amn", "f16"),
    )
    plain = problem.plain
    assert plain.operands[:2] == (("amk" if batches > 1 else "mk", "f16"), ("nk", "f16"))
    assert plain.operands[2:] == (("an" if batches > 1 else "n", "f16"), (plain.operands[-1]))
    assert replaces(problem, program)
    for old, new in (
        ("permutation = [1, 0]", "permutation = [0, 1]"),
        ("(a, k, n) -> (k, n)", "(a, k, n) -> (n, k)"),
        ("math.exp", "math.absf"),
        ("%s, %p16", "%s, %s"),
    ):
        assert old in program
        square = linear_program(batches, 17, 24, 24).replace(old, new)
        assert not replaces(read(linear_program(batches, 17, 24, 24)), square)
    # Without the gate, batches are rows.
    without = read(linear_program(batches, 17, 24, 40, gate=False))
    assert isinstance(without, ProductProblem)
    assert without.plain.operands == (("mk", "f16"), ("nk", "f16"), ("mn", "f16"))
    assert without.plain.loop_sizes["m"] == 17 * batches


@pytest.mark.parametrize("rhs", ["nk", "kn"])
def test_a_product_of_bytes_is_read_and_replaced_as_frontends_write_it(rhs: str) -> None:
    programs = {
        name: quantized_program(17, 24, 40, rhs=rhs, product=name)
        for name in ("named", "generic", "wide")
    }
    problems = {name: read(program) for name, program in programs.items()}
    for name, problem in problems.items():
        assert problem.operands == (
            *(("mk", "i8"), (rhs, "i8"), ("n", "i32"), ("n", "f32")),
            ("mn", "i8"),
        )
        # A kernel for sums of 32 bits takes the place of both spellings, and of none that computes something else.
        for other, program in programs.items():
            assert replaces(problem, program) == ((name == "wide") == (other == "wide"))
        for old, new in (
            ("constant 0 : i", "constant 1 : i"),
            ("arith.addi %x", "arith.subi %x"),
            ("sitofp", "uitofp"),
            ("0.00390625", "0.5"),
            ("math.roundeven", "math.round"),
            ("math.roundeven", "math.floor"),
            *([] if name == "named" else [("arith.extsi %x", "arith.extui %x")]),
        ):
            assert old in programs[name]
            assert not replaces(problem, programs[name].replace(old, new))


@pytest.mark.parametrize("zero", [0, 3])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("quantized", [False, True])
def test_a_product_of_dequantized_numbers_is_one_of_integers(
    *, zero: int, per_channel: bool, signed: bool, quantized: bool
) -> None:
    options = {"per_channel": per_channel, "quantized": quantized, "signed": signed}
    program = dequantized_program(17, 24, 40, zero=zero, **options)
    problem = read(program)
    assert isinstance(problem, QuantizedProduct)
    # Scales and zero points are numbers that the kernel reads.
    assert problem.operands == (
        *(("mk", "i8"), ("nk", "i8")),
        ("n" if zero or not signed else "", "i32"),
        *(("", "f32"), ("n" if per_channel else "", "f32"), ("n", "f32")),
        *([("", "f32")] if quantized else []),
        *([("", "i64")] if quantized and zero else []),
        ("mn", "i8" if quantized else "f32"),
    )
    assert problem.plain.contraction.types == ("i8", "i8", "i32")
    assert str(problem).removesuffix("_divf") == "quantized_product_17x24x40_i8_i32_mulf_addf"
    # One kernel is for all scales.
    assert replaces(problem, program)
    assert replaces(problem, program.replace("constant 0.3125", "constant 0.5"))
    bounds = "quant_min = 0" if quantized and not signed else "quant_min = -128"
    for old, new in (
        (bounds, bounds[:-1] + "1"),
        ("addf", "subf"),
        ("fill ins(%zero", "fill ins(%c"),
    ):
        assert old in program
        assert not replaces(problem, program.replace(old, new))
    for name, value in options.items():
        other = dequantized_program(17, 24, 40, zero=zero, **{**options, name: not value})
        # A graph that begins with another one is replaced in part.
        assert replaces(problem, other) == (name == "quantized" and not value)
    assert not replaces(problem, dequantized_program(17, 24, 40, zero=3 - zero, **options))


@pytest.mark.parametrize(
    ("signs", "points"),
    [("us", (None, None)), ("us", (-128, 0)), ("ss", (None, 0)), ("uu", (3, -7))],
)
def test_a_product_of_bytes_less_zero_points_is_one_of_bytes(
    signs: str, points: tuple[int | None, ...]
) -> None:
    program = shifted_program(2, 17, 24, 40, signs=signs, points=points)
    problem = read(program)
    assert isinstance(problem, QuantizedProduct)
    assert problem.plain.contraction.types == ("i8", "i8", "i32")
    assert problem.plain.contraction.loop_sizes == {"m": 34, "n": 24, "k": 40}
    # A zero point of bytes with a sign needs the sums of the other operand, if it is not 0.
    is_zero = [
        point == (0 if sign == "s" else -128) for sign, point in zip(signs, points, strict=True)
    ]
    sums = [kind for kind in problem.operands if kind in {("pm", "i32"), ("n", "i32")}]
    expected = [("pm", "i32")] * (not is_zero[1]) + [("n", "i32")] * (not is_zero[0])
    assert sums == expected
    assert replaces(problem, program)
    assert not replaces(problem, program.replace("arith.subi", "arith.addi"))
    turned = signs.translate(str.maketrans("us", "su"))
    assert not replaces(problem, shifted_program(2, 17, 24, 40, signs=turned, points=points))
    for other in {(None, None), (-128, 0), (0, -128), (3, -7)} - {points}:
        zeros = [
            number is not None and number == (0 if sign == "s" else -128)
            for sign, number in zip(signs, other, strict=True)
        ]
        # One kernel is for all zero points that are not 0.
        given = shifted_program(2, 17, 24, 40, signs=signs, points=other)
        fits = all(not own or zero for own, zero in zip(is_zero, zeros, strict=True))
        assert replaces(problem, given) == fits


def test_a_graph_that_quantizes_its_result_is_replaced_as_a_whole() -> None:
    programs = [dequantized_program(17, 24, 40, quantized=at) for at in (False, True)]
    plain, whole = map(read, programs)
    assert isinstance(whole, QuantizedProduct)
    assert (whole.begins_with(plain), plain.begins_with(whole)) == (True, False)
    assert whole.ops_after(plain) == 1


def test_a_batch_of_dequantized_rows_is_one_product() -> None:
    same, none = "affine_map<(a, m, n) -> (a, m, n)>", "affine_map<(a, m, n) -> ()>"
    program = f"""util.func public @main(%l: tensor<3x17x40xi8>, %w: tensor<40x24xi8>) -> tensor<3x17x24xf32> {{
  %zero = arith.constant 0.0 : f32
  %c = arith.constant 0.03125 : f32
  %el = tensor.empty() : tensor<3x17x40xf32>
  %dl = iree_linalg_ext.dequantize_affine <indexing_maps = [{same}, {none}, {same}], quant_min = -128, quant_max = 127>
    ins(%l, %c : tensor<3x17x40xi8>, f32) outs(%el : tensor<3x17x40xf32>) -> tensor<3x17x40xf32>
  %ew = tensor.empty() : tensor<40x24xf32>
  %dw = iree_linalg_ext.dequantize_affine <indexing_maps = [affine_map<(k, n) -> (k, n)>, affine_map<(k, n) -> ()>, affine_map<(k, n) -> (k, n)>], quant_min = -128, quant_max = 127>
    ins(%w, %c : tensor<40x24xi8>, f32) outs(%ew : tensor<40x24xf32>) -> tensor<40x24xf32>
  %eb = tensor.empty() : tensor<3x40x24xf32>
  %b = linalg.generic {{indexing_maps = [affine_map<(a, k, n) -> (k, n)>, affine_map<(a, k, n) -> (a, k, n)>], iterator_types = ["parallel", "parallel", "parallel"]}}
    ins(%dw : tensor<40x24xf32>) outs(%eb : tensor<3x40x24xf32>) {{
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }} -> tensor<3x40x24xf32>
  %e = tensor.empty() : tensor<3x17x24xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<3x17x24xf32>) -> tensor<3x17x24xf32>
  %p = linalg.batch_matmul ins(%dl, %b : tensor<3x17x40xf32>, tensor<3x40x24xf32>)
    outs(%i : tensor<3x17x24xf32>) -> tensor<3x17x24xf32>
  util.return %p : tensor<3x17x24xf32>
}}"""
    problem = read(program)
    assert isinstance(problem, QuantizedProduct)
    assert problem.operands[:2] == (("pmk", "i8"), ("kn", "i8"))
    assert problem.plain.loop_sizes["m"] == 3 * 17
    assert replaces(problem, program)


def test_a_quantized_product_is_read_with_its_zero_points() -> None:
    program = """util.func public @main(%l: tensor<17x40xi8>, %r: tensor<40x24xi8>) -> tensor<17x24xi32> {
  %zero = arith.constant 0 : i32
  %left = arith.constant 3 : i32
  %e = tensor.empty() : tensor<17x24xi32>
  %i = linalg.fill ins(%zero : i32) outs(%e : tensor<17x24xi32>) -> tensor<17x24xi32>
  %p = linalg.quantized_matmul ins(%l, %r, %left, %zero : tensor<17x40xi8>, tensor<40x24xi8>, i32, i32)
    outs(%i : tensor<17x24xi32>) -> tensor<17x24xi32>
  util.return %p : tensor<17x24xi32>
}"""
    problem = read(program)
    assert problem.operands == (
        ("mk", "i8"),
        ("kn", "i8"),
        ("n", "i32"),
        ("", "i32"),
        ("mn", "i32"),
    )
    assert replaces(problem, program)
    assert not replaces(problem, program.replace("constant 3", "constant 4"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Weights have a scale for each element of a row, and the left operand is of floats.
        ("affine_map<(i, j) -> (i)>", "affine_map<(i, j) -> (j)>"),
        ("ins(%dl, %t", "ins(%el, %t"),
    ],
)
def test_products_of_other_numbers_are_products_of_floats(old: str, new: str) -> None:
    program = dequantized_program(17, 40, 40)
    assert old in program
    module = mlir.Module.parse(program.replace(old, new), thread_context()).operation
    assert not any(isinstance(at, QuantizedProduct) for at in problems_of(module))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("math.roundeven", "math.round", "'math.round'"),
        ("arith.sitofp", "arith.uitofp", "'arith.uitofp'"),
        ("constant 0 : i32", "constant 1 : i32", "does not start at zero"),
        (
            "arith.sitofp %0 : i32",
            "arith.cmpi slt, %0, %y : i32\n %b = arith.sitofp %1 : i1",
            "op on other types",
        ),
        (
            "arith.sitofp %0 : i32",
            "arith.cmpi ult, %0, %y : i32\n %b = arith.sitofp %1 : i1",
            "comparison without code",
        ),
    ],
)
def test_integers_without_code_have_a_reason(old: str, new: str, reason: str) -> None:
    program = quantized_program(17, 24, 40)
    assert old in program
    changed = program.replace(old, new)
    if "%b =" in new:
        changed = changed.replace("arith.mulf %1", "arith.mulf %b")
    with pytest.raises(NoFormError, match=reason):
        read(changed)
    unsigned = quantized_program(17, 24, 40, product="generic").replace("extsi %x", "extui %x")
    with pytest.raises(NoFormError, match="numbers without a sign"):
        read(unsigned)


def test_extensions_of_both_operands_are_left_out() -> None:
    program = extended_program(17, 24, 40)
    problem = read(program)
    assert problem.operands == (("mk", "f16"), ("kn", "f16"), ("mn", "f32"))
    assert replaces(problem, program)
    # With one of them, the kernel would multiply different types.
    program = extended_program(17, 24, 40, lhs="f32")
    assert read(program).operands == (("mk", "f32"), ("kn", "f32"), ("mn", "f32"))


def test_the_first_tiles_of_patches_have_few_rows() -> None:
    # The fastest ones on an H200.
    program = convolution_program((4, 3, 224, 224), (1024, 3, 14, 14), stride=14, bias=True)
    candidates = TritonProvider().candidates(read(program), "sm_90a")
    first = [dict(own.options) for own in candidates[:8]]
    assert [first[0][size] for size in "mnk"] == [64, 128, 64]
    assert (64, 128, 128, 4) in [tuple(own[size] for size in "mnkw") for own in first]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("filters", [(24, 5, 3, 3), (24, 5, 1, 1)])
def test_a_convolution_with_steps_is_a_product_of_windows(
    *, bias: bool, filters: tuple[int, ...]
) -> None:
    program = convolution_program((2, 5, 8, 9), filters, bias=bias)
    problem = read(program)
    assert isinstance(problem, ConvolutionProblem)
    is_matrix = filters[2:] == (1, 1)
    images = "akm" if is_matrix else "amk"
    others = [("n", "f32")] if bias else []
    assert problem.operands == (
        *((images, "f16"), ("nk", "f16"), *others),
        *(("n", "f32"), ("anm", "f16"), ("anm", "f16")),
    )
    assert (
        problem.work == 2 * 24 * (8 - filters[2] + 1) * (9 - filters[3] + 1) * 5 * filters[2] ** 2
    )
    windows = problem.plain.windows
    assert (windows is None) == is_matrix
    # No step has channels of one pixel.
    assert windows is None or windows.is_planar
    assert replaces(problem, program)
    strided = convolution_program((2, 5, 8, 9), filters, stride=2, bias=bias)
    assert not replaces(problem, strided)
    assert replaces(read(strided), strided)
    assert not replaces(problem, convolution_program((2, 5, 8, 9), filters, bias=not bias))
    assert not replaces(problem, program.replace("mulf", "subf"))
    with pytest.raises(NoFormError, match=r"does not start at zero|other than a bias"):
        read(program.replace("outs(%i : ", "outs(%e : ").replace("[0, 2, 3]", "[0, 3, 2]"))


def test_a_graph_whose_beginning_has_its_own_kernel_is_matched_from_there_on() -> None:
    def both(steps: tuple[str, ...], others: tuple[str, ...]) -> str:
        first, second = (product_program(8, 8, 8, own) for own in (steps, others))
        return first.replace("@main", "@first") + second.replace("@main", "@second")

    def problems(program: str) -> list[tuple[int, int]]:
        module = mlir.Module.parse(program, thread_context()).operation
        return [
            (len(problem.steps), count)
            for problem, count in problems_of(module).items()
            if isinstance(problem, ProductProblem)
        ]

    program = both(("bias", "scale", "relu"), ("bias",))
    assert sorted(problems(program)) == [(1, 1), (3, 1)]
    assert sorted(problems(both(("bias", "gelu"), ("gelu",)))) == [(1, 1), (2, 1)]
    # The kernel of each graph replaces it, whichever comes first.
    module = mlir.Module.parse(program, thread_context()).operation
    calls = [
        KernelCall(problem, replace(KERNEL, content=f"// {at}\n{PTX}".encode()))
        for at, problem in enumerate(sorted(problems_of(module), key=lambda one: len(one.steps)))  # type: ignore[union-attr]
    ]
    for ordered in (calls, calls[::-1]):
        again = mlir.Module.parse(program, thread_context()).operation
        PassManager.parse("builtin.module(canonicalize,cse)", again.context).run(again)
        entries = load_spec(spec(ordered).encode())
        result = replace_ops(again, [Target.parse("a100")], [entries], None, print)
        names_of = {one.function: one.entry.function for one in result.replaced}
        assert len(result.replaced) == len(names_of) == 2
        assert len({*names_of.values()}) == 2
        text = str(again)
        assert text.count("hal.dispatch.extern") == 2
        assert "arith.maximumf" not in text  # the kernel computes all that follows the product
        # Nothing is wrong but the kernel, which has no four parameters.
        faults = list[Diagnostic]()
        assert entries.replacing is not None
        check_replace_entries(entries.replacing, DiagnosticSink(faults.append))
        assert all("is declared with 4 pointers" in fault.message for fault in faults)


def test_a_graph_that_uses_its_beginning_again_is_counted_with_that() -> None:
    gated = linear_program(2, 11, 40, 96, gate=False)
    problem = read(gated)
    assert isinstance(problem, ProductProblem)
    assert len(problem.steps) > 1
    beginning = replace(problem, steps=problem.steps[:1])
    assert (problem.ops_after(beginning), problem.ops_after(problem)) == (0, 0)
    assert problem.ops_after(read(attention_program(ATTENTION))) == 0


ATTENTION = Attention(
    ("abmk", "abjk", "abjn", "", "abmn"),
    ("f16", "f16", "f16", "f32", "f16"),
    "abmnkj",
    (2, 3, 17, 8, 16, 33),
)


def test_an_attention_is_replaced_in_each_spelling_with_its_scale_only() -> None:
    problem = ScaledAttention(ATTENTION, 0.5)
    assert len(problem.spellings) > 2
    for spelled in problem.spellings:
        program = attention_program(spelled.attention)
        assert replaces(problem, program)
        assert not replaces(replace(problem, scale=3.0), program)
    other = replace(ATTENTION, operands=("abmk", "abkj", "abjn", "", "abmn"))
    assert not replaces(problem, attention_program(other))
    assert not replaces(problem, attention_program(ATTENTION.with_mask("mj", "f16")))


@pytest.mark.parametrize("masked", [False, True])
def test_heads_stay_where_a_program_has_them(*, masked: bool) -> None:
    sizes = {"batches": 2, "heads": 3, "rows": 17, "keys": 20, "size": 16}
    program = heads_program(**sizes, masked=masked)
    problem = read(program)
    assert isinstance(problem, ScaledAttention)
    batches, features = ((2, 17 * 48), (3, 16)), ((16, 1),)
    pairs = ((2, 20 * 48), (3, 16))
    mask = [({"a": ((2, 340), (3, 0)), "m": ((17, 20),), "j": ((20, 1),)}, 0)] if masked else []
    assert problem.layouts == (
        ({"a": batches, "m": ((17, 48),), "k": features}, 0),
        ({"a": pairs, "j": ((20, 48),), "k": features}, 0),
        ({"a": pairs, "j": ((20, 48),), "n": features}, 0),
        *mask,
        ({"a": batches, "m": ((17, 48),), "n": features}, 0),
    )
    assert replaces(problem, program)
    other = {**sizes, "heads": 2, "batches": 3}
    assert not replaces(problem, heads_program(**other, masked=masked))
    assert not replaces(problem, heads_program(**sizes, masked=not masked))
    assert not replaces(problem, program.replace("0.25", "0.5"))
    # An op that transposes otherwise gives other strides.
    square = heads_program(**{**sizes, "batches": 3, "keys": 3, "rows": 3}, masked=masked)
    before, after = square.split("%ck = ")
    turned = "[2, 1, 0, 3]".join(before.rsplit("[0, 2, 1, 3]", 1)) + "%ck = " + after
    problem = read(square)
    assert replaces(problem, square)
    assert not replaces(problem, turned)
    changed = read(turned)
    assert isinstance(changed, ScaledAttention)
    moved = {"a": ((3, 16), (3, 48)), "j": ((3, 144),), "k": features}
    assert changed.layouts[1] == (moved, 0)
    assert replaces(changed, turned)
    # So is one that is not transposed at all.
    given = program.replace("%k: tensor<2x20x3x16xf16>", "%k: tensor<6x20x16xf16>")
    lines = [
        line for line in given.splitlines() if not line.strip().startswith(("%ek ", "%tk ", "%ck "))
    ]
    cached = "\n".join(lines).replace("%ck", "%k")
    problem = read(cached)
    assert isinstance(problem, ScaledAttention)
    assert problem.layouts[1] == ({"a": ((6, 320),), "j": ((20, 16),), "k": features}, 0)
    assert replaces(problem, cached)
    # The result is used as attention computes it: its transposition is not a part of the graph.
    used = program.replace(
        "util.return %r", "util.optimization_barrier %o : tensor<6x17x16xf16>\n  util.return %r"
    )
    with pytest.raises(NoFormError):
        read(used)
    module = mlir.Module.parse(used, thread_context()).operation
    (alone,) = problems_of(module)
    assert isinstance(alone, ScaledAttention)
    assert (alone.layouts[:-1], alone.following) == (read(program).layouts[:-1], ())  # type: ignore[union-attr]
    assert replaces(alone, used)


def test_an_attention_reads_what_the_program_moves_and_writes_its_result_moved() -> None:
    fused = fused_program(2, 17, 3, 8)
    problem = read(fused)
    assert isinstance(problem, ScaledAttention)
    assert problem.taken == (0,)  # queries, keys and values are in one tensor
    row, image = 3 * 3 * 8, 17 * 3 * 3 * 8
    batches = ((2, image), (3, 8))
    features = ((8, 1),)
    assert problem.layouts == (
        ({"a": batches, "m": ((17, row),), "k": features}, 0),
        ({"a": batches, "j": ((17, row),), "k": features}, 24),
        ({"a": batches, "j": ((17, row),), "n": features}, 48),
        ({"a": ((2, 17 * 24), (3, 8)), "m": ((17, 24),), "n": features}, 0),
    )
    assert replaces(problem, fused)
    # Another frontend numbers the loops in another order.
    other = fused.replace("(a, m, n, k, j)", "(a, m, k, j, n)")
    assert replaces(problem, other)
    assert read(other) in problem.spellings
    # Keys and values in each other's place, another scale or order, and square sizes in another order, differ.
    for other in (
        fused_program(2, 17, 3, 8, first=1),
        fused.replace("0.3", "0.4"),
        fused_program(2, 17, 4, 8),
    ):
        assert not replaces(problem, other)
    square = fused_program(2, 3, 3, 8)
    assert replaces(read(square), square)
    for old, new in (
        ("permutation = [2, 0, 3, 1, 4]", "permutation = [2, 0, 1, 3, 4]"),
        ("permutation = [0, 2, 1, 3]", "permutation = [0, 1, 2, 3]"),
    ):
        assert old in square
        assert not replaces(read(square), square.replace(old, new))
    # Heads of a group read the same keys.
    grouped = read(grouped_program(2, 17, 6, 3, 8))
    assert isinstance(grouped, ScaledAttention)
    assert grouped.taken == (0, 1, 2)
    assert grouped.layouts[1] == (
        {"a": ((2, 17 * 24), (3, 8), (2, 0)), "j": ((17, 24),), "k": features},
        0,
    )
    assert replaces(grouped, grouped_program(2, 17, 6, 3, 8))
    assert not replaces(grouped, grouped_program(2, 17, 6, 2, 8))


def test_a_number_of_a_tensor_that_is_broadcast_is_read_as_an_operand() -> None:
    whole, folded = "tensor<2x17x3x3x8xf16>", "tensor<6x17x8xf16>"
    spread = f"""%n = tensor.extract_slice %x[0, 0, 0, 0, 0] [1, 1, 1, 1, 1] [1, 1, 1, 1, 1] : {whole} to tensor<f16>
  %u = tensor.expand_shape %n [] output_shape [1, 1, 1] : tensor<f16> into tensor<1x1x1xf16>
  %d = tensor.empty() : {folded}
  %o0 = linalg.generic {{indexing_maps = [affine_map<(a, m, k) -> (0, 0, 0)>, affine_map<(a, m, k) -> (a, m, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}} ins(%u : tensor<1x1x1xf16>) outs(%d : {folded}) {{
  ^bb0(%in: f16, %out: f16):
    linalg.yield %in : f16
  }} -> {folded}
  %unused ="""
    program = fused_program(2, 17, 3, 8)
    assert "%o0 = " in program
    problem = read(program.replace("%o0 =", spread))
    assert isinstance(problem, ScaledAttention)
    assert problem.layouts[0] == ({"a": ((6, 0),), "m": ((17, 0),), "k": ((8, 0),)}, 0)


@pytest.mark.parametrize(("n", "loops"), [(24, "n"), (1, "akn")])
def test_a_tile_is_read_along_one_of_its_sides(n: int, loops: str) -> None:
    one, all_ = f"tensor<1x1x{n}xf16>", "tensor<3x40x24xf16>"
    program = f"""util.func public @main(%l: tensor<3x17x40xf16>, %w: {one}) -> tensor<3x17x24xf32> {{
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : {one}
  %t = linalg.transpose ins(%w : {one}) outs(%e0 : {one}) permutation = [1, 0, 2]
  %e1 = tensor.empty() : {all_}
  %b = linalg.generic {{indexing_maps = [affine_map<(a, k, n) -> (0, 0, {"n" if n > 1 else "0"})>, affine_map<(a, k, n) -> (a, k, n)>],
      iterator_types = ["parallel", "parallel", "parallel"]}} ins(%t : {one}) outs(%e1 : {all_}) {{
  ^bb0(%in: f16, %out: f16):
    linalg.yield %in : f16
  }} -> {all_}
  %e2 = tensor.empty() : tensor<3x17x24xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e2 : tensor<3x17x24xf32>) -> tensor<3x17x24xf32>
  %r = linalg.batch_matmul ins(%l, %b : tensor<3x17x40xf16>, {all_}) outs(%z : tensor<3x17x24xf32>) -> tensor<3x17x24xf32>
  util.return %r : tensor<3x17x24xf32>
}}"""
    problem = read(program)
    assert problem.plain.operands[1] == (loops, "f16")
    assert replaces(problem, program)


@pytest.mark.parametrize("mask", ["f16", "i1"])
def test_a_causal_mask_is_part_of_the_graph(mask: str) -> None:
    program = fused_program(2, 17, 3, 8, mask=mask)
    problem = read(program)
    assert isinstance(problem, ScaledAttention)
    assert (problem.is_causal, problem.taken, len(problem.layouts)) == (True, (0,), 4)
    assert replaces(problem, program)
    assert not replaces(problem, fused_program(2, 17, 3, 8))
    # Another mask is read from memory.
    changes = [
        ("sge, %row, %column", "sle, %row, %column"),
        ("sge, %row, %column", "sge, %column, %row"),
    ]
    changes += [("linalg.index 2", "linalg.index 1"), ("sge", "sgt")]
    changes += [("select %y, %zero, %least", "select %y, %least, %zero"), ("0xFC00", "-1.0")] * (
        mask == "f16"
    )
    for old, new in changes:
        assert old in program
        other = read(program.replace(old, new))
        assert isinstance(other, ScaledAttention)
        assert (other.is_causal, len(other.taken)) == (False, 2)
        assert not replaces(problem, program.replace(old, new))
    # Constants may be inside of the op, as in what is compared with the kernel.
    again = mlir.Module.parse(repeated_program(problem, 1), thread_context()).operation
    ((same, _),) = problems_of(again).items()
    assert (same.operands, same.layouts) == (problem.operands, problem.layouts)  # type: ignore[union-attr]
    # Layers may have one mask for all.
    twice = program.replace(
        "util.return", f"util.optimization_barrier %mask : tensor<6x17x17x{mask}>\n  util.return"
    )
    assert replaces(problem, twice)


def test_an_attention_that_is_used_elsewhere_is_computed_there_as_well() -> None:
    program = fused_program(2, 17, 3, 8)
    kinds = {"%r": "tensor<6x17x8xf16>", "%heads": "tensor<2x3x17x8xf16>"}
    for value, kind in kinds.items():
        elsewhere = program.replace(
            "util.return", f"util.optimization_barrier {value} : {kind}\n  util.return"
        )
        with pytest.raises(NoFormError):
            read(elsewhere)
        module = mlir.Module.parse(elsewhere, thread_context()).operation
        ((problem, count),) = problems_of(module).items()
        # Its operands are still read as they are.
        assert isinstance(problem, ScaledAttention)
        assert (count, problem.taken, problem.following) == (1, (0,), ())
        assert replaces(problem, elsewhere)
    # Others may read what the program moves: it stays.
    barrier = "util.optimization_barrier %t : tensor<3x2x3x17x8xf16>\n  util.return"
    moved = program.replace("util.return", barrier)
    assert replaces(read(program), moved)
    # An entry without the moves matches in the place of one with them.
    first = program.replace("@main", "@first")
    second = program.replace(
        "util.return", "util.optimization_barrier %r : tensor<6x17x8xf16>\n  util.return"
    )
    module = mlir.Module.parse(first + second, thread_context()).operation
    assert [*problems_of(module).values()] == [2]


@pytest.mark.parametrize("masked", [False, True])
def test_an_attention_of_products_and_a_softmax_is_read_and_replaced(*, masked: bool) -> None:
    program = decomposed_program(2, 17, 3, 8, masked=masked)
    module = mlir.Module.parse(program, thread_context()).operation
    ((problem, count),) = problems_of(module).items()
    assert isinstance(problem, DecomposedAttention)
    batches, features = ((2, 17 * 24), (3, 8)), ((8, 1),)
    masks = [
        ({"a": ((2, 289), (3, 0)), "m": ((17, 17),), "j": ((17, 1),)}, 0),
        ({"a": ((2, 0), (3, 289)), "m": ((17, 17),), "j": ((17, 1),)}, 0),
    ]
    assert (count, problem.scale, problem.taken) == (1, 0.25, tuple(range(5 if masked else 3)))
    assert problem.layouts == (
        ({"a": batches, "m": ((17, 24),), "k": features}, 0),
        ({"a": batches, "j": ((17, 24),), "k": features}, 0),
        ({"a": batches, "j": ((17, 24),), "n": features}, 0),
        *(masks if masked else []),
        ({"a": batches, "m": ((17, 24),), "n": features}, 0),
    )
    assert replaces(problem, program)
    for old, new in (("0.25", "0.5"), ("mulf %x, %factor", "divf %x, %factor")):
        assert old in program
        assert not replaces(problem, program.replace(old, new))
    assert not replaces(problem, decomposed_program(2, 17, 3, 8, masked=not masked))
    # A scale by division is the same as another one by multiplication.
    divided = read(program.replace("arith.mulf %x, %factor", "arith.divf %x, %factor"))
    assert isinstance(divided, DecomposedAttention)
    assert divided.scale == 4
    # A mask may be a constant of the program.
    if masked:
        bias = "%bias = arith.constant dense<0.5> : tensor<3x17x17xf16>\n  "
        program = program.replace("%zero = ", f"{bias}%zero = ", 1)
        program = program.replace(", %bias: tensor<3x17x17xf16>", "")
        assert replaces(read(program), program)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("arith.mulf %x, %factor", "arith.subf %x, %factor"),
        ("arith.mulf %x, %factor", "arith.divf %x, %none"),
        ("arith.subf %x, %y : f32", "arith.subf %y, %x : f32"),
        ("arith.divf %x, %y : f32", "arith.divf %y, %x : f32"),
        ("math.exp %x", "math.exp2 %x"),
        ("arith.addf %x, %z : f32", "arith.maximumf %x, %z : f32"),
        ("%zero = arith.constant 0.0", "%zero = arith.constant 1.0"),
        ("ins(%x0 : tensor<2x3x17x17xf32>) outs(%z1", "ins(%ex0 : tensor<2x3x17x17xf32>) outs(%z1"),
        ("util.return", "util.optimization_barrier %x5 : tensor<2x3x17x17xf16>\n  util.return"),
        # The sums are those of columns.
        (
            '(a, b, m, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]',
            '(a, b, j, 0)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"]',
        ),
        # The weights are transposed as they are converted; numbers in the place of sums and of peaks.
        (
            "%x5 = linalg.generic {indexing_maps = [affine_map<(a, b, m, j) -> (a, b, m, j)>",
            "%x5 = linalg.generic {indexing_maps = [affine_map<(a, b, m, j) -> (a, b, j, m)>",
        ),
        ("ins(%x2, %x3 :", "ins(%x2, %rows :"),
        ("ins(%x0, %p2 :", "ins(%x0, %rows :"),
    ],
)
def test_products_with_something_other_than_a_softmax_between_them_are_left_alone(
    old: str, new: str
) -> None:
    program = decomposed_program(2, 17, 3, 8, masked=False)
    program = program.replace(
        "%ehalf = ",
        "%ex0 = tensor.empty() : tensor<2x3x17x17xf32>\n  %rows = arith.constant dense<2.0> : tensor<2x3x17x1xf32>\n  %none = arith.constant 0.0 : f16\n  %ehalf = ",
    )
    assert old in program
    module = mlir.Module.parse(program.replace(old, new), thread_context()).operation
    assert not any(isinstance(problem, DecomposedAttention) for problem in problems_of(module))


def test_a_softmax_of_more_scores_than_a_row_is_left_alone() -> None:
    program = decomposed_program(2, 17, 3, 8, masked=False)
    wide, flat = "tensor<2x3x1x289xf16>", "tensor<2x3x289xf16>"
    scores = f"""%s4 = tensor.collapse_shape %s3 [[0], [1], [2, 3]] : tensor<2x3x17x17xf16> into {flat}
  %s5 = tensor.expand_shape %s4 [[0], [1], [2, 3]] output_shape [2, 3, 1, 289] : {flat} into {wide}
  %ewide = tensor.empty() : {wide}
  %x0 ="""
    weights = f"""%w0 = tensor.collapse_shape %x5 [[0], [1], [2, 3]] : {wide} into {flat}
  %w1 = tensor.expand_shape %w0 [[0], [1], [2, 3]] output_shape [2, 3, 17, 17] : {flat} into tensor<2x3x17x17xf16>
  %x6 = tensor.collapse_shape %w1"""
    begin, softmax = program.split("%x5 = ")
    softmax, rest = softmax.split("%x6 = tensor.collapse_shape %x5")
    softmax = softmax.replace("outs(%ehalf", "outs(%ewide").replace("3x17x17xf16", "3x1x289xf16")
    program = f"{begin}%x5 = {softmax}{weights}{rest}"
    for old, new in (
        ("%x0 =", scores),
        ("ins(%s3 : tensor<2x3x17x17xf16>) outs(%efull", f"ins(%s5 : {wide}) outs(%efull"),
        ("tensor<2x3x17x17xf32>", "tensor<2x3x1x289xf32>"),
        ("tensor<2x3x17x", "tensor<2x3x1x"),
        ("tensor<2x3x1x17xf16>", "tensor<2x3x17x17xf16>"),
        ("tensor<2x3x1x8xf16>", "tensor<2x3x17x8xf16>"),
        ("[2, 3, 17, 1]", "[2, 3, 1, 1]"),
    ):
        assert old in program
        program = program.replace(old, new)
    module = mlir.Module.parse(program, thread_context()).operation
    assert module.verify()
    assert not any(isinstance(problem, DecomposedAttention) for problem in problems_of(module))


def test_a_contraction_whose_accumulation_is_not_shown_is_left_alone() -> None:
    problem = ProductProblem(contraction(17, 8, 24))
    module = product_program(17, 8, 24, rhs="kn")
    assert replaces(problem, module)
    assert not replaces(problem, module.replace("outs(%i :", "outs(%e :"))


def test_the_function_calls_the_kernel_with_its_launch() -> None:
    text = spec([KernelCall(ProductProblem(contraction(17, 8, 24)), KERNEL)])
    module = mlir.Module.parse(text, thread_context()).operation
    (kernel, *others) = collect(module, names.DISPATCH_EXTERN)
    assert not others
    assert [str(value.type) for value in kernel.operands] == [
        "tensor<17x24xf16>",
        "tensor<24x8xf16>",
    ]
    assert [int(size.value) for size in kernel.attributes["workgroup_size"]] == [128, 1, 1]
    grid = kernel.regions[0].blocks[0].operations[-1].operands
    assert [int(at.owner.attributes["value"].value) for at in grid] == [1, 2, 1]
    # A kernel that runs before it reads both operands.
    first = FirstKernel(replace(KERNEL, name="parts"), 2, "tensor<4x17x8xf32>")
    text = spec([KernelCall(ProductProblem(contraction(17, 8, 24)), replace(KERNEL, first=first))])
    module = mlir.Module.parse(text, thread_context()).operation
    parts, kernel = collect(module, names.DISPATCH_EXTERN)
    assert parts.attributes["export_name"] == mlir.StringAttr.get("parts", module.context)
    assert [str(value.type) for value in parts.operands] == [
        "tensor<17x24xf16>",
        "tensor<24x8xf16>",
    ]
    assert [value.owner for value in kernel.operands] == [parts]
    assert str(kernel.operands[0].type) == "tensor<4x17x8xf32>"
    scratch = replace(KERNEL, scratch=256)
    assert "tensor<640xi8>" in spec([KernelCall(ProductProblem(contraction(17, 8, 24)), scratch)])


@pytest.mark.parametrize(
    "program",
    [
        product_program(17, 24, 40, ALL),
        quantized_program(17, 24, 40),
        dequantized_program(17, 24, 40),
        linear_program(3, 17, 24, 40),
        convolution_program((2, 5, 8, 9), (24, 5, 3, 3), bias=True),
        attention_program(ATTENTION.with_mask("mj", "i1")),
        heads_program(batches=2, heads=3, rows=17, keys=20, size=16, masked=True),
        fused_program(2, 17, 3, 8),
        fused_program(2, 17, 3, 8, mask="i1"),
        decomposed_program(2, 17, 3, 8, masked=True),
    ],
)
def test_guards_are_after_operands_and_the_result(program: str) -> None:
    problem = read(program)
    text = guarded_program(KernelCall(problem, replace(KERNEL, scratch=256)), 2)
    module = mlir.Module.parse(text, thread_context()).operation
    guarded, plain = collect(module, names.DISPATCH_EXTERN)
    kinds = [mlir.RankedTensorType(value.type) for value in plain.operands]
    kinds.append(mlir.RankedTensorType(plain.results[0].type))
    wide = [mlir.RankedTensorType(value.type) for value in guarded.operands]
    assert wide[-1] == guarded.results[0].type
    for own, other in zip(kinds, wide, strict=True):
        has_guard = own.rank > 0 and str(own.element_type) != "i1"
        elements = math.prod(own.shape) + 4096 if has_guard else math.prod(own.shape)
        assert math.prod(other.shape) == elements
    # The result of the first call is in the buffer of its last operand.
    tied = [int(at.value) for at in mlir.ArrayAttr(guarded.attributes["tied_operands"])]
    assert tied == [len(guarded.operands) - 1, -1]


def test_each_spelling_imports_the_executable_that_its_function_calls() -> None:
    kernel = replace(KERNEL, architecture="x86_64", content=b"BC", threads=1, format="bc")
    problem = ProductProblem(contraction(17, 8, 24))
    assert len(problem.spellings) > 1
    module = mlir.Module.parse(spec([KernelCall(problem, kernel)]), thread_context()).operation
    called = [
        mlir.SymbolRefAttr(mlir.ArrayAttr(op.attributes["entry_points"])[0]).value[0]
        for op in collect(module, "flow.dispatch")
    ]
    imported = {
        mlir.FlatSymbolRefAttr(op.attributes["symbol"]).value
        for op in collect(module, names.IMPORT_SYMBOL)
    }
    assert called
    assert {*called} <= imported <= {*symbols(module)}
