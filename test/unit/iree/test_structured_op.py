"""Structured ops as data."""

from __future__ import annotations

import pytest
from iree.compiler import ir as mlir

from tuninglink.iree import Accumulation, OpKind, Role, StructuredOp
from tuninglink.mlir import thread_context, visit

GENERIC = """
func.func @f(%a: {0}, %b: {1}, %c: {2}) -> {2} {{
  %zero = arith.constant 0.0 : {3}
  %init = linalg.fill ins(%zero : {3}) outs(%c : {2}) -> {2}
  %r = linalg.generic {{
      indexing_maps = [affine_map<{4}>, affine_map<{5}>, affine_map<{6}>], iterator_types = {7}}}
      ins(%a, %b : {0}, {1}) outs(%{8} : {2}) {{
  ^bb0(%x: f16, %y: f16, %z: {3}):
    %p = arith.extf %x : f16 to {3}
    %q = arith.extf %y : f16 to {3}
    %m = arith.mulf %p, %q : {3}
    %s = arith.addf %z, %m : {3}
    linalg.yield %s : {3}
  }} -> {2}
  return %r : {2}
}}
"""


def op(text: str, name: str) -> tuple[mlir.Module, StructuredOp]:
    """Return the first op of a name in a module, with the module, which keeps it alive."""
    module = mlir.Module.parse(text, thread_context())
    operations: list[mlir.Operation] = []
    visit(module.operation, lambda inner: operations.append(inner) if inner.name == name else None)
    return module, StructuredOp(operations[0])


def matmul(m: str = "?", init: str = "init") -> str:
    maps = (
        "(b, m, n, k) -> (b, k, m)",
        "(b, m, n, k) -> (n, b, k)",
        "(b, m, n, k) -> (b, m, n)",
    )
    iterators = '["parallel", "parallel", "parallel", "reduction"]'
    types = (f"tensor<4x64x{m}xf16>", "tensor<32x4x64xf16>", f"tensor<4x{m}x32xf32>")
    return GENERIC.format(*types, "f32", *maps, iterators, init)


def test_a_contraction() -> None:
    _module, structured = op(matmul(), "linalg.generic")
    assert structured.kind is OpKind.CONTRACTION
    assert structured.loops == {Role.BATCH: (0,), Role.M: (1,), Role.N: (2,), Role.K: (3,)}
    assert structured.roles == (Role.BATCH, Role.M, Role.N, Role.K)
    assert structured.iterator_types == ("parallel", "parallel", "parallel", "reduction")
    assert structured.sizes == (4, None, 32, 64)
    assert structured.operand_loops == ((0, 3, 1), (2, 0, 3), (0, 1, 2))
    assert structured.element_types == ("f16", "f16", "f32")
    assert [str(operand) for operand in structured.operands] == [
        "4x64x?xf16",
        "32x4x64xf16",
        "4x?x32xf32",
    ]
    assert structured.results == structured.operands[2:]


@pytest.mark.parametrize(("init", "starts_from_fill"), [("init", True), ("c", False)])
def test_an_accumulator_starts_from_a_fill_or_from_given_values(
    init: str, *, starts_from_fill: bool
) -> None:
    _module, structured = op(matmul("128", init), "linalg.generic")
    assert structured.accumulation == Accumulation("f32", starts_from_fill)


def test_a_convolution() -> None:
    _module, structured = op(
        """
        func.func @f(%i: tensor<1x33x34x16xf32>, %f: tensor<3x3x16x8xf32>, %o: tensor<1x16x15x8xf32>)
            -> tensor<1x16x15x8xf32> {
          %r = linalg.conv_2d_nhwc_hwcf {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
              ins(%i, %f : tensor<1x33x34x16xf32>, tensor<3x3x16x8xf32>)
              outs(%o : tensor<1x16x15x8xf32>) -> tensor<1x16x15x8xf32>
          return %r : tensor<1x16x15x8xf32>
        }
        """,
        "linalg.conv_2d_nhwc_hwcf",
    )
    assert structured.kind is OpKind.CONVOLUTION
    assert structured.sizes == (1, 16, 15, 8, 3, 3, 16)
    assert structured.loops[Role.OUTPUT_IMAGE] == (1, 2)
    assert structured.loops[Role.DEPTH] == ()
    assert structured.iterator_types == ("parallel",) * 4 + ("reduction",) * 3
    assert structured.steps == {"strides": (2, 2), "dilations": (1, 2)}
    assert structured.operand_loops[0] == (0, None, None, 6)


ATTENTION = """
func.func @f(%q: {0}, %k: {0}, %v: {0}, %s: f16, %o: {0}, %x: tensor<2x64xf32>, %y: tensor<2x64xf32>) {{
  %r{3} = iree_linalg_ext.{1} <{{indexing_maps = [
      affine_map<(b, m, n, k, l) -> (b, m, k)>, affine_map<(b, m, n, k, l) -> (b, l, k)>,
      affine_map<(b, m, n, k, l) -> (b, l, n)>, affine_map<(b, m, n, k, l) -> ()>, {2}]}}>
      ins(%q, %k, %v, %s : {0}, {0}, {0}, f16) outs({4}) {{
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  }} -> {5}
  return
}}
"""


@pytest.mark.parametrize(
    ("name", "outputs", "results"),
    [
        ("attention", "affine_map<(b, m, n, k, l) -> (b, m, n)>", ["{0}"]),
        (
            "online_attention",
            (
                "affine_map<(b, m, n, k, l) -> (b, m, n)>, affine_map<(b, m, n, k, l) -> (b, m)>, "
                "affine_map<(b, m, n, k, l) -> (b, m)>"
            ),
            ["{0}", "tensor<2x64xf32>", "tensor<2x64xf32>"],
        ),
    ],
)
def test_an_attention(name: str, outputs: str, results: list[str]) -> None:
    tensor = "tensor<2x64x64xf16>"
    types = [tensor_type.format(tensor) for tensor_type in results]
    values = ", ".join(["%o", "%x", "%y"][: len(types)]) + " : " + ", ".join(types)
    count = "" if len(types) == 1 else f":{len(types)}"
    text = ATTENTION.format(tensor, name, outputs, count, values, ", ".join(types))
    _module, structured = op(text, f"iree_linalg_ext.{name}")
    assert structured.kind is OpKind.ATTENTION
    assert structured.roles == (Role.BATCH, Role.M, Role.N, Role.K1, Role.K2)
    assert structured.iterator_types == (
        "parallel",
        "parallel",
        "parallel",
        "reduction",
        "reduction",
    )
    assert structured.sizes == (2, 64, 64, 64, 64)
    expected = Accumulation("f16", starts_from_fill=False)
    if name == "attention":
        expected = Accumulation("f32", starts_from_fill=True)
    assert structured.accumulation == expected


def test_named_ops_have_iterator_types_without_spelling_them_out() -> None:
    _module, structured = op(
        """
        func.func @f(%a: tensor<8x?xf32>, %o: tensor<8xf32>) -> tensor<8xf32> {
          %r = linalg.reduce ins(%a : tensor<8x?xf32>) outs(%o : tensor<8xf32>) dimensions = [1]
            (%x: f32, %y: f32) {
              %s = arith.addf %x, %y : f32
              linalg.yield %s : f32
            }
          return %r : tensor<8xf32>
        }
        """,
        "linalg.reduce",
    )
    assert structured.iterator_types == ("parallel", "reduction")
    assert structured.sizes == (8, None)


def test_an_elementwise_op() -> None:
    maps = ["(i, j) -> (i, j)"] * 3
    types = ["tensor<8x16xf16>", "tensor<8x16xf16>", "tensor<8x16xf32>"]
    text = GENERIC.format(*types, "f32", *maps, '["parallel", "parallel"]', "c")
    _module, structured = op(text, "linalg.generic")
    assert structured.kind is OpKind.ELEMENTWISE
    assert structured.roles == (Role.PARALLEL, Role.PARALLEL)
    assert structured.accumulation is None


def test_a_reduction() -> None:
    _module, structured = op(
        """
        func.func @f(%a: tensor<8x?xf16>, %o: tensor<?xf32>) -> tensor<?xf32> {
          %r = linalg.generic {
              indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
              iterator_types = ["reduction", "parallel"]}
              ins(%a : tensor<8x?xf16>) outs(%o : tensor<?xf32>) {
          ^bb0(%x: f16, %y: f32):
            %p = arith.extf %x : f16 to f32
            %s = arith.maximumf %p, %y : f32
            linalg.yield %s : f32
          } -> tensor<?xf32>
          return %r : tensor<?xf32>
        }
        """,
        "linalg.generic",
    )
    assert structured.kind is OpKind.REDUCTION
    assert structured.roles == (Role.REDUCTION, Role.PARALLEL)
    assert structured.sizes == (8, None)
    assert structured.accumulation == Accumulation("f32", starts_from_fill=False)


def test_an_op_without_indexing_maps_has_no_loops() -> None:
    _module, structured = op("func.func private @f()", "func.func")
    assert structured.kind is OpKind.OTHER
    assert (
        structured.maps == structured.roles == structured.sizes == structured.iterator_types == ()
    )
    assert structured.loops == {}
    assert structured.accumulation is None
