// A result with two users is replaced for both, and each op that an entry matches gets a call of its own.

// RUN: tuninglink check %S/Inputs/replace-rows.mlir 2>&1 | filecheck %s --check-prefix=SOUND
// RUN: tuninglink explain %s --target host --spec %S/Inputs/replace-rows.mlir | filecheck %s --check-prefix=EXPLAIN
// RUN: tuninglink verify %s --quiet --jobs 1 --target host --spec %S/Inputs/replace-rows.mlir | filecheck %s --check-prefix=VERIFY
// SOUND-NOT: {{warning|error}}:
// SOUND: replace-rows.mlir (preprocessing spec, 1 replace entry)
// SOUND-NEXT: replace entries: sound: 1 yes
// SOUND-NEXT: replace entries: reachable: 1 yes
// EXPLAIN: replaced linalg.matmul at {{.*}}replaced-twice.mlir:{{[0-9]+}}:8 and 1 more by @rows: entry @match_rows
// VERIFY: the whole program {{ *}}1 {{ *}}right

func.func @main(%l: tensor<34x48xf32>, %r: tensor<48x32xf32>) -> (tensor<34x32xf32>, tensor<34x32xf32>) {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<34x32xf32>
  %i = linalg.fill ins(%one : f32) outs(%e : tensor<34x32xf32>) -> tensor<34x32xf32>
  %c = linalg.matmul ins(%l, %r : tensor<34x48xf32>, tensor<48x32xf32>) outs(%i : tensor<34x32xf32>) -> tensor<34x32xf32>
  %n = arith.negf %c : tensor<34x32xf32>
  %d = linalg.matmul ins(%l, %r : tensor<34x48xf32>, tensor<48x32xf32>) outs(%c : tensor<34x32xf32>) -> tensor<34x32xf32>
  return %n, %d : tensor<34x32xf32>, tensor<34x32xf32>
}
