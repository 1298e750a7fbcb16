// A DAG does not see which result of a producer is read.

// RUN: not tuninglink check %S/Inputs/replace-first-result.mlir 2>&1 | filecheck %s --check-prefix=CHECK
// RUN: tuninglink compile %s --target host --spec %S/Inputs/replace-first-result.mlir --compile-to=preprocessing -o %t.replaced.mlir 2>&1 | filecheck %s --check-prefix=COMPILE
// RUN: not tuninglink verify %s --quiet --jobs 1 --target host --spec %S/Inputs/replace-first-result.mlir | filecheck %s --check-prefix=VERIFY
// CHECK: error: replace entry 'match_rows' does not see which result of 'linalg.generic' is read: a program that reads another one is replaced as well
// COMPILE: warning: replace entry 'match_rows' does not see which result of 'linalg.generic' is read: a program that reads another one is replaced as well
// VERIFY: the whole program {{ *}}1 {{ *}}wrong {{.*}}; right without the replace entries

func.func @main(%x: tensor<34x48xf32>, %r: tensor<48x32xf32>) -> (tensor<34x32xf32>, tensor<34x48xf32>) {
  %zero = arith.constant 0.0 : f32
  %y = tensor.empty() : tensor<34x48xf32>
  %e = tensor.empty() : tensor<34x32xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<34x32xf32>) -> tensor<34x32xf32>
  %s:2 = linalg.generic {
    indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
    iterator_types = ["parallel", "parallel"]} ins(%x : tensor<34x48xf32>) outs(%y, %y : tensor<34x48xf32>, tensor<34x48xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %n = arith.negf %a : f32
    linalg.yield %a, %n : f32, f32
  } -> (tensor<34x48xf32>, tensor<34x48xf32>)
  %p = linalg.matmul ins(%s#1, %r : tensor<34x48xf32>, tensor<48x32xf32>) outs(%i : tensor<34x32xf32>) -> tensor<34x32xf32>
  return %p, %s#0 : tensor<34x32xf32>, tensor<34x48xf32>
}
