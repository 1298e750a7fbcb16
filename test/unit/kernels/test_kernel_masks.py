"""Masks of attention that programs compute, as frontends write them."""

from __future__ import annotations

import math

import pytest
from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager
from kernel_specs import PTX
from moved_attention import decomposed_program, fused_program, selected_program

from tuninglink.iree import Target
from tuninglink.kernels import (
    BuiltKernel,
    DecomposedAttention,
    KernelCall,
    ScaledAttention,
    guarded_program,
    problems_of,
    repeated_program,
)
from tuninglink.mlir import thread_context
from tuninglink.preprocessing import replace_ops
from tuninglink.replacing import spec
from tuninglink.specs import load_spec

SAME = "affine_map<(m, j) -> (m, j)>"
BOTH = 'iterator_types = ["parallel", "parallel"]'
INDICES = f"""
  %eindex = tensor.empty() : tensor<17xi64>
  %index = linalg.generic {{indexing_maps = [affine_map<(j) -> (j)>], iterator_types = ["parallel"]}} outs(%eindex : tensor<17xi64>) {{
  ^bb0(%out: i64):
    %at = linalg.index 0 : index
    %w = arith.index_cast %at : index to i64
    linalg.yield %w : i64
  }} -> tensor<17xi64>
  %rows = tensor.expand_shape %index [[0, 1]] output_shape [17, 1] : tensor<17xi64> into tensor<17x1xi64>
  %eb = tensor.empty() : tensor<17x17xi1>
  %bits = linalg.generic {{indexing_maps = [affine_map<(m, j) -> (j)>, affine_map<(m, j) -> (m, 0)>, {SAME}], {BOTH}}}
      ins(%index, %rows : tensor<17xi64>, tensor<17x1xi64>) outs(%eb : tensor<17x17xi1>) {{
  ^bb0(%in: i64, %y: i64, %out: i1):
    %w = arith.cmpi sle, %in, %y : i64
    linalg.yield %w : i1
  }} -> tensor<17x17xi1>"""
"""Bits that are 1 for keys until a query."""


def elements(name: str, read: str, kind: str, result: str, body: str) -> str:
    """Return an op on a mask of queries and keys."""
    own, other = f"tensor<17x17x{kind}>", f"tensor<17x17x{result}>"
    return f"""
  %e{name} = tensor.empty() : {other}
  %{name} = linalg.generic {{indexing_maps = [{SAME}, {SAME}], {BOTH}}} ins({read} : {own}) outs(%e{name} : {other}) {{
  ^bb0(%in: {kind}, %out: {result}):
    {body}
    linalg.yield %w : {result}
  }} -> {other}"""


TRIANGLE = """%q = linalg.index 0 : index
    %k = linalg.index 1 : index
    %one = arith.constant 1 : index
    %next = arith.addi %q, %one : index
    %c = arith.cmpi sge, %k, %next : index
    %zero = arith.constant 0.0 : f16
    %w = arith.select %c, %in, %zero : f16"""

MASKS = {
    "bits": (INDICES, "i1", ("sle", "slt")),
    "triangle": (
        "\n  %full = arith.constant dense<-65504.0> : tensor<17x17xf16>"
        + elements("bits", "%full", "f16", "f16", TRIANGLE),
        "f16",
        ("-65504.0", "-1.0"),
    ),
    "turned": (
        "\n  %full = arith.constant dense<0xFC00> : tensor<17x17xf16>"
        + elements(
            "lower", "%full", "f16", "f16", TRIANGLE.replace("sge, %k, %next", "slt, %k, %q")
        )
        + "\n  %eturned = tensor.empty() : tensor<17x17xf16>\n  %bits = linalg.transpose ins(%lower : tensor<17x17xf16>) "
        "outs(%eturned : tensor<17x17xf16>) permutation = [1, 0]",
        "f16",
        ("permutation = [1, 0]", "permutation = [0, 1]"),
    ),
    "products": (
        INDICES.replace("%bits =", "%taken =")
        + elements("numbers", "%taken", "i1", "bf16", "%w = arith.uitofp %in : i1 to bf16")
        + elements(
            "others",
            "%numbers",
            "bf16",
            "bf16",
            "%one = arith.constant 1.0 : bf16\n    %w = arith.subf %one, %in : bf16",
        )
        + elements(
            "bits",
            "%others",
            "bf16",
            "bf16",
            "%least = arith.constant -3.38953139E+38 : bf16\n    %w = arith.mulf %in, %least : bf16",
        ),
        "bf16",
        ("subf %one, %in", "subf %in, %one"),
    ),
    "selections": (
        INDICES.replace("%bits =", "%taken =")
        + elements(
            "bits",
            "%taken",
            "i1",
            "f32",
            "%a = arith.constant 0.0 : f32\n    %b = arith.constant -1.0e9 : f32\n"
            "    %no = arith.constant true\n    %n = arith.xori %in, %no : i1\n"
            "    %w = arith.select %n, %b, %a : f32",
        ),
        "f32",
        ("constant true", "constant false"),
    ),
}
"""Ops that compute %bits, its element type, and a change with which it is another mask."""


def masked_program(ops: str, kind: str) -> str:
    """Return an attention with a mask that ops compute, which is broadcast to batches and heads."""
    wide, folded = f"tensor<2x3x17x17x{kind}>", f"tensor<6x17x17x{kind}>"
    program = fused_program(2, 17, 3, 8, mask=kind)
    before, rest = program.split("%zero = arith.constant", 1)
    after = rest.split("%mask = ", 1)[1].split("\n", 1)[1]
    return f"""{before}{ops}
  %ew = tensor.empty() : {wide}
  %w = linalg.generic {{indexing_maps = [affine_map<(a, b, m, j) -> (m, j)>, affine_map<(a, b, m, j) -> (a, b, m, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}} ins(%bits : tensor<17x17x{kind}>) outs(%ew : {wide}) {{
  ^bb0(%in: {kind}, %out: {kind}):
    linalg.yield %in : {kind}
  }} -> {wide}
  %mask = tensor.collapse_shape %w [[0, 1], [2], [3]] : {wide} into {folded}
{after}"""


def parsed(program: str) -> mlir.Operation:
    """Return a program as the compiler has it at preprocessing."""
    module = mlir.Module.parse(program, thread_context()).operation
    PassManager.parse("builtin.module(canonicalize,cse)", module.context).run(module)
    return module


def read(program: str) -> ScaledAttention:
    """Return the only attention of a program, which computes it again from its graph."""
    (problem,) = problems_of(parsed(program))
    assert isinstance(problem, ScaledAttention)
    (same,) = problems_of(parsed(repeated_program(problem, 1)))
    assert (same.operands, same.layouts) == (problem.operands, problem.layouts)  # type: ignore[union-attr]
    return problem


def replaces(problem: ScaledAttention, program: str) -> bool:
    """Return whether the entries of a kernel for a problem replace an op of a program."""
    kernel = BuiltKernel("add", "sm_80", PTX.encode(), (1, 2, 1), 128, 1024)
    call = KernelCall(problem, kernel)
    assert guarded_program(call, 1)
    entries = load_spec(spec([call]).encode())
    result = replace_ops(parsed(program), [Target.parse("a100")], [entries], None, print)
    return len(result.replaced) == 1


@pytest.mark.parametrize("name", MASKS)
def test_a_causal_mask_is_read_in_each_spelling(name: str) -> None:
    ops, kind, (old, new) = MASKS[name]
    program = masked_program(ops, kind)
    problem = read(program)
    assert (problem.is_causal, problem.taken) == (True, (0,))
    assert replaces(problem, program)
    assert old in program
    other = read(program.replace(old, new))
    assert (other.is_causal, len(other.taken)) == (False, 2)
    assert not replaces(problem, program.replace(old, new))


def test_a_mask_that_depends_on_arguments_or_has_other_rows_is_read_from_memory() -> None:
    given = masked_program("", "i1").replace("@main(", "@main(%bits: tensor<17x17xi1>, ")
    assert (read(given).is_causal, len(read(given).taken)) == (False, 2)
    # The window of a query begins ten keys before it.
    ops = INDICES.replace("%w = arith.cmpi sle", "%v = arith.cmpi sle").replace(
        "linalg.yield %w : i1",
        "%ten = arith.constant 10 : i64\n    %last = arith.addi %in, %ten : i64\n"
        "    %g = arith.cmpi sge, %last, %y : i64\n    %w = arith.andi %v, %g : i1\n    linalg.yield %w : i1",
    )
    windows = read(masked_program(ops, "i1"))
    assert (windows.is_causal, len(windows.taken)) == (False, 2)


@pytest.mark.parametrize("excludes", [False, True])
@pytest.mark.parametrize("fill", [-math.inf, -65504.0, 2.0])
@pytest.mark.parametrize("computed", [False, True])
def test_scores_are_replaced_by_a_number_where_bits_of_a_mask_say_so(
    *, excludes: bool, fill: float, computed: bool
) -> None:
    number = "0xFC00" if fill == -math.inf else str(fill)
    ops = (INDICES.replace("sle", "sgt") if excludes else INDICES) if computed else ""
    program = selected_program(2, 17, 3, 8, number, excludes=excludes, bits=ops)
    problem = read(program)
    assert isinstance(problem, DecomposedAttention)
    is_causal = computed and fill < 0
    assert problem.is_causal == is_causal
    assert problem.selections == (() if is_causal else ((not excludes, fill),))
    assert problem.operands[3:-1] == (() if is_causal else (("amj", "i1"),))
    assert replaces(problem, program)
    for old, new in (
        (f"dense<{number}>", "dense<-3.0>"),
        ("select %x, %y, %z", "select %x, %z, %y"),
    ):
        assert old in program
        assert not replaces(problem, program.replace(old, new))


def test_scores_may_be_added_to_a_mask_that_is_broadcast() -> None:
    program = decomposed_program(2, 17, 3, 8, masked=True)
    turned = program
    for own, mask in (
        ("affine_map<(a, b, m, j) -> (a, b, m, j)>", "affine_map<(a, b, m, j) -> (b, m, j)>"),
        ("%s3", "%bias"),
        ("tensor<2x3x17x17xf16>", "tensor<3x17x17xf16>"),
    ):
        assert turned.count(f"{own}, {mask}") == 1
        turned = turned.replace(f"{own}, {mask}", f"{mask}, {own}")
    problem, other = read(program), read(turned)
    assert (problem.operands, problem.layouts) == (other.operands, other.layouts)
    assert replaces(other, turned)
    assert not replaces(other, program)


def test_a_softmax_may_broadcast_what_it_computes_of_rows() -> None:
    plain, program = (
        decomposed_program(2, 17, 3, 8, masked=False, broadcast=at) for at in (False, True)
    )
    problem = read(program)
    assert isinstance(problem, DecomposedAttention)
    assert (problem.operands, problem.layouts) == (read(plain).operands, read(plain).layouts)
    assert replaces(problem, program)
    assert not replaces(problem, plain)
    # Sums of other rows.
    other = program.replace("ins(%x3 : tensor<2x3x17x1xf32>)", "ins(%p2 : tensor<2x3x17x1xf32>)")
    assert other != program
    assert not any(isinstance(at, DecomposedAttention) for at in problems_of(parsed(other)))


@pytest.mark.parametrize(("fill", "is_causal"), [("0xFC00", True), ("0.0", False)])
def test_what_a_later_selection_puts_back_is_not_excluded(fill: str, is_causal: bool) -> None:  # noqa: FBT001
    kind, same = "tensor<2x3x17x17xf16>", "affine_map<(a, b, m, j) -> (a, b, m, j)>"
    program = selected_program(2, 17, 3, 8, "0xFC00", excludes=False, bits=INDICES)
    later = f"""%s5 = linalg.generic {{indexing_maps = [affine_map<(a, b, m, j) -> (a, j)>, {same}, {same}],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%pad, %s4 : tensor<2x17xi1>, {kind}) outs(%ehalf : {kind}) {{
  ^bb0(%x: i1, %y: f16, %out: f16):
    %number = arith.constant {fill} : f16
    %w = arith.select %x, %number, %y : f16
    linalg.yield %w : f16
  }} -> {kind}
  %x0 ="""
    before, after = program.split("%x0 =")
    program = before + later + after.replace("ins(%s4 :", "ins(%s5 :", 1)
    program = program.replace(") -> tensor", ", %pad: tensor<2x17xi1>) -> tensor", 1)
    (problem,) = problems_of(parsed(program))
    assert isinstance(problem, DecomposedAttention)
    assert problem.is_causal == is_causal
    assert len(problem.masks) == 2 - is_causal
