// A call that casts dynamic sizes to static ones replaces products of any size, unless the matcher compares them.

// RUN: sed -e '/dims_equal %%m/d' -e 's/cast_shape_dynamic_dims }/cast_shape_dynamic_dims ignore_dynamic_info }/' %S/Inputs/replace-rows.mlir > %t.casts.mlir
// RUN: not tuninglink check %t.casts.mlir 2>&1 | filecheck %s --check-prefix=CHECK
// RUN: tuninglink compile %s --target host --spec %t.casts.mlir --compile-to=preprocessing 2>&1 | filecheck %s --check-prefix=COMPILE
// CHECK: error: replace entry 'match_rows' relies on the sizes of the operand 0, which its matcher does not compare with those of tensor<34x48xf32>: a program with dynamic sizes is replaced as well
// CHECK: note: leave out 'ignore_dynamic_info'
// COMPILE: warning: replace entry 'match_rows' relies on the sizes of the operand 0
// COMPILE: tensor.cast {{.*}} tensor<?x48xf32> to tensor<34x48xf32>

// Without that, the entry fails on such a program, which is an error.
// RUN: sed '/dims_equal %%m/d' %S/Inputs/replace-rows.mlir > %t.any.mlir
// RUN: not tuninglink compile %s --target host --spec %t.any.mlir --compile-to=preprocessing 2>&1 | filecheck %s --check-prefix=FAILS
// FAILS: replaced-sizes.mlir:{{[0-9]+}}:8: error: replace entry 'match_rows' of '{{.*}}any.mlir' failed on this linalg.matmul
// FAILS: any.mlir:16:3: note: the replace entry
// FAILS: note: '@match_rows' must match only what '@rows' takes and returns

func.func @main(%l: tensor<?x48xf32>, %r: tensor<48x32xf32>, %i: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %c = linalg.matmul ins(%l, %r : tensor<?x48xf32>, tensor<48x32xf32>) outs(%i : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %c : tensor<?x32xf32>
}
