// RUN: tuninglink-opt %s --split-input-file --mlir-print-debuginfo | filecheck %s

// CHECK:      func.func @first()
// CHECK:      = loc("{{.*}}opt-split.mlir":[[# @LINE + 1]]:1)
func.func @first() { return }

// CHECK:      // -----
// CHECK:      func.func @second()
// CHECK:      func.func @third()
// -----
// CHECK:      = loc("{{.*}}opt-split.mlir":[[# @LINE + 1]]:1)
func.func @second() { return }
func.func @third() { return }
