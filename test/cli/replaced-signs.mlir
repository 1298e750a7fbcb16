// A named matcher does not see whether integers are extended with their sign.

// RUN: not tuninglink check %S/Inputs/replace-signed.mlir 2>&1 | filecheck %s --check-prefix=CHECK
// RUN: tuninglink compile %s --target host --spec %S/Inputs/replace-signed.mlir --compile-to=preprocessing -o %t.replaced.mlir 2>&1 | filecheck %s --check-prefix=COMPILE
// RUN: not tuninglink verify %s --quiet --jobs 1 --target host --spec %S/Inputs/replace-signed.mlir | filecheck %s --check-prefix=VERIFY
// CHECK: error: replace entry 'match_rows' does not see the body beyond its product and sum: an op that extends integers without their sign, by 'cast_unsigned' is replaced as well
// COMPILE: warning: replace entry 'match_rows' does not see the body beyond its product and sum: an op that extends integers without their sign, by 'cast_unsigned' is replaced as well
// VERIFY: the whole program {{ *}}1 {{ *}}wrong {{.*}}; right without the replace entries

func.func @main(%l: tensor<34x48xi8>, %r: tensor<48x32xi8>) -> tensor<34x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<34x32xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<34x32xf32>) -> tensor<34x32xf32>
  %minus = arith.constant dense<-3> : tensor<34x48xi8>
  %n = arith.ori %l, %minus : tensor<34x48xi8>
  %c = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%n, %r : tensor<34x48xi8>, tensor<48x32xi8>) outs(%i : tensor<34x32xf32>) -> tensor<34x32xf32>
  return %c : tensor<34x32xf32>
}
