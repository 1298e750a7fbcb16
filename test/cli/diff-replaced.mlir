// Replace entries, and the dispatches that come and go with them.

// RUN: rm -rf %t && mkdir -p %t
// RUN: sed -e 's/\[14, 0\]/[30, 0]/' -e 's/high\[14/high[30/' -e 's/48x48xf32>, /64x48xf32>, /' -e 's/to tensor<48x/to tensor<64x/' -e 's/outs(%%p1 : tensor<48/outs(%%p1 : tensor<64/' -e 's/-> tensor<48x32/-> tensor<64x32/' -e 's/: tensor<48x32xf32> to tensor<34/: tensor<64x32xf32> to tensor<34/' -e 's/@rows/@more/' %S/Inputs/replace-rows.mlir > %t/more.mlir
// RUN: tuninglink diff %S/Inputs/replace-rows.mlir %t/more.mlir | filecheck %s --check-prefix=FUNCTION
// FUNCTION: change {{ *}} @match_rows {{ *}} function changed
// FUNCTION-NEXT: regressions: 0, improvements: 0, changes: 1
// RUN: tuninglink diff %S/Inputs/replace-and-configure.mlir %S/Inputs/replace-rows.mlir | filecheck %s --check-prefix=KINDS
// KINDS: change {{ *}} @match_conf {{ *}} removed
// KINDS-NEXT: regressions: 0, improvements: 0, changes: 1
// RUN: tuninglink link %t/more.mlir %S/Inputs/replace-and-configure.mlir -o %t/linked.mlirbc
// RUN: tuninglink diff %S/Inputs/replace-and-configure.mlir %t/linked.mlirbc --format json | filecheck %s --check-prefix=LINKED
// LINKED: "replace entries": "2"
// LINKED: "what": "@match_rows",
// LINKED: "state": "replaces"
// LINKED: "text": "function changed"
// LINKED: "what": "@match_rows_0",
// LINKED: "text": "added"

// RUN: tuninglink explain %s --target znver4 -o %t/plain.json
// RUN: tuninglink explain %s --target znver4 --spec %S/Inputs/replace-and-configure.mlir -o %t/rows.json
// RUN: tuninglink explain %s --target znver4 --spec %t/more.mlir -o %t/more.json
// RUN: tuninglink diff %t/plain.json %t/rows.json | filecheck %s --check-prefix=REPLACED
// REPLACED: improvement {{ *}} linalg.matmul in @main {{ *}} not replaced → replaced by @rows
// REPLACED: change {{ *}} matmul 34x32x48 {{.*}} no-entry → replaced by @rows
// REPLACED: change {{ *}} matmul 48x32x48 {{.*}} missing → tuned in {{.*}}replace-and-configure.mlir
// REPLACED: regressions: 0, improvements: 1, changes: 2
// RUN: not tuninglink diff %t/rows.json %t/plain.json --fail-on-regression | filecheck %s --check-prefix=LOST
// LOST: regression {{ *}} linalg.matmul in @main {{ *}} replaced by @rows → not replaced
// LOST: regressions: 1, improvements: 0, changes: 2
// RUN: tuninglink diff %t/rows.json %t/more.json --fail-on-regression | filecheck %s --check-prefix=OTHER
// OTHER: change {{ *}} linalg.matmul in @main {{ *}} replaced by @rows → replaced by @more
// OTHER: change {{ *}} matmul 48x32x48 {{.*}} tuned in {{.*}}replace-and-configure.mlir → missing
// OTHER: change {{ *}} matmul 64x32x48 {{.*}} missing → no-entry in {{.*}}more.mlir

func.func @main(%l: tensor<34x48xf32>, %r: tensor<48x32xf32>) -> tensor<34x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<34x32xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<34x32xf32>) -> tensor<34x32xf32>
  %c = linalg.matmul ins(%l, %r : tensor<34x48xf32>, tensor<48x32xf32>) outs(%i : tensor<34x32xf32>) -> tensor<34x32xf32>
  return %c : tensor<34x32xf32>
}
