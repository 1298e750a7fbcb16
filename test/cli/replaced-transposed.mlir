// A comparison of regions does not compare indexing maps.

// RUN: sed -e '/indexing_maps/d' -e 's/output_type = f32,/output_type = f32 : !transform.any_op -> !transform.param<i64>/' -e 's/match.operation_name.*/iree.match.regions %%op : !transform.any_op {\n    ^bb0(%%a: tensor<32x32xf32>, %%b: tensor<32x32xf32>, %%c: tensor<32x32xf32>):\n      %%d = linalg.matmul ins(%%a, %%b : tensor<32x32xf32>, tensor<32x32xf32>) outs(%%c : tensor<32x32xf32>) -> tensor<32x32xf32>\n    }/' -e 's/tensor<..x..xf32>/tensor<32x32xf32>/g' -e 's/\[34\]\|\[48\]/[32]/' -e 's/high.14/high[0/' -e 's/34, 32/32, 32/' %S/Inputs/replace-rows.mlir > %t.spec.mlir
// RUN: not tuninglink check %t.spec.mlir 2>&1 | filecheck %s --check-prefix=CHECK
// RUN: tuninglink compile %s --target host --spec %t.spec.mlir --compile-to=preprocessing -o %t.replaced.mlir 2>&1 | filecheck %s --check-prefix=COMPILE
// RUN: not tuninglink verify %s --quiet --jobs 1 --target host --spec %t.spec.mlir | filecheck %s --check-prefix=VERIFY
// CHECK: error: replace entry 'match_rows' does not see the indexing maps: a program with an operand transposed is replaced as well
// COMPILE: warning: replace entry 'match_rows' does not see the indexing maps: a program with an operand transposed is replaced as well
// VERIFY: the whole program {{ *}}1 {{ *}}wrong {{.*}}; right without the replace entries

func.func @main(%l: tensor<32x32xf32>, %r: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %c = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%l, %r : tensor<32x32xf32>, tensor<32x32xf32>) outs(%i : tensor<32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<32x32xf32>
  return %c : tensor<32x32xf32>
}
