// An f16 matmul with a transposed right-hand side that accumulates in f32: what frontends make of a linear
// layer. `tuninglink demo` compiles it for three targets, each time with a spec of its own.

!lhs = tensor<2048x5120xf16>
!rhs = tensor<1280x5120xf16>
!result = tensor<2048x1280xf32>

func.func @linear(%lhs: !lhs, %rhs: !rhs) -> !result {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : !result
  %init = linalg.fill ins(%zero : f32) outs(%empty : !result) -> !result
  %product = linalg.generic {
      indexing_maps = [
        affine_map<(m, n, k) -> (m, k)>,
        affine_map<(m, n, k) -> (n, k)>,
        affine_map<(m, n, k) -> (m, n)>
      ],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !result) {
  ^bb0(%a: f16, %b: f16, %accumulated: f32):
    %wide_a = arith.extf %a : f16 to f32
    %wide_b = arith.extf %b : f16 to f32
    %scaled = arith.mulf %wide_a, %wide_b : f32
    %sum = arith.addf %accumulated, %scaled : f32
    linalg.yield %sum : f32
  } -> !result
  return %product : !result
}
