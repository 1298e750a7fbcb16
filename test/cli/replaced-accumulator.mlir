// A function that starts from zero replaces products that start from any value, also if it is given them and fills them.

// RUN: sed -e 's/%%p1 = tensor.pad %%acc/%%zeros = linalg.fill ins(%%z : f32) outs(%%acc : tensor<34x32xf32>) -> tensor<34x32xf32>\n    %%p1 = tensor.pad %%zeros/' %S/Inputs/replace-rows.mlir > %t.spec.mlir
// RUN: not tuninglink check %t.spec.mlir 2>&1 | filecheck %s --check-prefix=CHECK
// RUN: tuninglink compile %s --target host --spec %t.spec.mlir --compile-to=preprocessing -o %t.replaced.mlir 2>&1 | filecheck %s --check-prefix=COMPILE
// RUN: not tuninglink verify %s --quiet --jobs 1 --target host --spec %t.spec.mlir | filecheck %s --check-prefix=VERIFY
// CHECK: error: replace entry 'match_rows' relies on the accumulator, which its matcher does not see: '@rows' does not use it, so that a program whose accumulator starts at 1 instead of 0 is replaced as well
// COMPILE: warning: replace entry 'match_rows' relies on the accumulator, which its matcher does not see: '@rows' does not use it, so that a program whose accumulator starts at 1 instead of 0 is replaced as well
// VERIFY: the whole program {{ *}}1 {{ *}}wrong {{.*}}; right without the replace entries

func.func @main(%l: tensor<34x48xf32>, %r: tensor<48x32xf32>) -> tensor<34x32xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<34x32xf32>
  %i = linalg.fill ins(%one : f32) outs(%e : tensor<34x32xf32>) -> tensor<34x32xf32>
  %c = linalg.matmul ins(%l, %r : tensor<34x48xf32>, tensor<48x32xf32>) outs(%i : tensor<34x32xf32>) -> tensor<34x32xf32>
  return %c : tensor<34x32xf32>
}
