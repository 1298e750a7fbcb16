// A function with a scale of its own replaces attention with any scale.

// RUN: sed -e 's/, %%s: f32)/)/' -e 's/%%e = tensor.empty/%%s = arith.constant 0.125 : f32\n    &/' -e 's/%%root\[0, 1, 2, 3\]/%%root[0, 1, 2]/' %S/Inputs/replace-attention.mlir > %t.spec.mlir
// RUN: not tuninglink check %t.spec.mlir 2>&1 | filecheck %s --check-prefix=CHECK
// RUN: tuninglink compile %s --target host --spec %t.spec.mlir --compile-to=preprocessing -o %t.replaced.mlir 2>&1 | filecheck %s --check-prefix=COMPILE
// RUN: not tuninglink verify %s --quiet --jobs 1 --target host --spec %t.spec.mlir | filecheck %s --check-prefix=VERIFY
// CHECK: error: replace entry 'match_rows' relies on the scale, which its matcher does not see: the action does not pass it, so that a program whose scale is 3 instead of 0.125 is replaced as well
// COMPILE: warning: replace entry 'match_rows' relies on the scale, which its matcher does not see: the action does not pass it, so that a program whose scale is 3 instead of 0.125 is replaced as well
// VERIFY: the whole program {{ *}}1 {{ *}}wrong {{.*}}; right without the replace entries

func.func @main(%q: tensor<2x9x4xf32>, %k: tensor<2x9x4xf32>, %v: tensor<2x9x4xf32>) -> tensor<2x9x4xf32> {
  %s = arith.constant 3.0 : f32
  %e = tensor.empty() : tensor<2x9x4xf32>
  %o = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, n, k, j) -> (b, m, k)>, affine_map<(b, m, n, k, j) -> (b, j, k)>,
      affine_map<(b, m, n, k, j) -> (b, j, n)>, affine_map<(b, m, n, k, j) -> ()>, affine_map<(b, m, n, k, j) -> (b, m, n)>]}> ins(%q, %k, %v, %s : tensor<2x9x4xf32>, tensor<2x9x4xf32>, tensor<2x9x4xf32>, f32) outs(%e : tensor<2x9x4xf32>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<2x9x4xf32>
  return %o : tensor<2x9x4xf32>
}
