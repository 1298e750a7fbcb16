// A named matcher does not see how attention changes its scores.

// RUN: not tuninglink check %S/Inputs/replace-attention.mlir 2>&1 | filecheck %s --check-prefix=CHECK
// RUN: tuninglink compile %s --target host --spec %S/Inputs/replace-attention.mlir --compile-to=preprocessing -o %t.replaced.mlir 2>&1 | filecheck %s --check-prefix=COMPILE
// RUN: not tuninglink verify %s --quiet --jobs 1 --target host --spec %S/Inputs/replace-attention.mlir | filecheck %s --check-prefix=VERIFY
// CHECK: error: replace entry 'match_rows' does not see the modification of the scores: a program whose region multiplies them by themselves is replaced as well
// COMPILE: warning: replace entry 'match_rows' does not see the modification of the scores: a program whose region multiplies them by themselves is replaced as well
// VERIFY: the whole program {{ *}}1 {{ *}}wrong {{.*}}; right without the replace entries

func.func @main(%q: tensor<2x9x4xf32>, %k: tensor<2x9x4xf32>, %v: tensor<2x9x4xf32>) -> tensor<2x9x4xf32> {
  %s = arith.constant 0.125 : f32
  %e = tensor.empty() : tensor<2x9x4xf32>
  %o = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, n, k, j) -> (b, m, k)>, affine_map<(b, m, n, k, j) -> (b, j, k)>,
      affine_map<(b, m, n, k, j) -> (b, j, n)>, affine_map<(b, m, n, k, j) -> ()>, affine_map<(b, m, n, k, j) -> (b, m, n)>]}> ins(%q, %k, %v, %s : tensor<2x9x4xf32>, tensor<2x9x4xf32>, tensor<2x9x4xf32>, f32) outs(%e : tensor<2x9x4xf32>) {
  ^bb0(%x: f32):
    %y = arith.mulf %x, %x : f32
    iree_linalg_ext.yield %y : f32
  } -> tensor<2x9x4xf32>
  return %o : tensor<2x9x4xf32>
}
