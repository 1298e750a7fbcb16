// The replace entries of a given spec come first: what they make of the program is tuned, and the result keeps them.

// RUN: tuninglink tune %s --target host --spec %S/Inputs/replace-and-configure.mlir --dry-run | filecheck %s --check-prefix=REPLACED
// RUN: tuninglink tune %s --target host --spec gfx942=%S/Inputs/replace-and-configure.mlir --dry-run | filecheck %s --check-prefix=FOREIGN
// REPLACED: @main_dispatch_0 {{ *}}contraction 48x32x48 f32
// FOREIGN: @main_dispatch_0 {{ *}}contraction 34x32x48 f32

// A function of the program with the name of one of the spec is not called.
// RUN: sed 's/@main/@rows/' %s > %t.rows.mlir
// RUN: tuninglink tune %t.rows.mlir --target host --spec %S/Inputs/replace-and-configure.mlir --dry-run | filecheck %s --check-prefix=RENAMED
// RENAMED: @rows_dispatch_0 {{ *}}contraction 48x32x48 f32

// RUN: tuninglink tune %s --target host --spec %S/Inputs/replace-and-configure.mlir --budget 1s --jobs 1 --flag-sets none -o %t.tuned.mlir
// RUN: tuninglink compile %s --target host --spec %t.tuned.mlir --compile-to=preprocessing | filecheck %s --check-prefix=KEPT
// KEPT: linalg.matmul ins({{.*}} tensor<48x48xf32>

// RUN: not tuninglink tune %s --target host --spec %S/Inputs/replace-and-configure.mlir --iree-preprocessing-transform-spec-filename=%S/Inputs/replace-rows.mlir --dry-run 2>&1 | filecheck %s --check-prefix=BOTH
// BOTH: error: '--iree-preprocessing-transform-spec-filename' and specs with replace entries cannot be combined here
// BOTH: note: a list of replace entries can be given as another --spec

func.func @main(%l: tensor<34x48xf32>, %r: tensor<48x32xf32>) -> tensor<34x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<34x32xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<34x32xf32>) -> tensor<34x32xf32>
  %c = linalg.matmul ins(%l, %r : tensor<34x48xf32>, tensor<48x32xf32>) outs(%i : tensor<34x32xf32>) -> tensor<34x32xf32>
  return %c : tensor<34x32xf32>
}
