// RUN: tuninglink-opt %s --emit-bytecode -o %t.mlirbc
// RUN: tuninglink-opt %t.mlirbc --canonicalize | filecheck %s
// RUN: tuninglink-opt --emit-bytecode < %s | tuninglink-opt - --canonicalize | filecheck %s
// RUN: iree-opt %t.mlirbc --canonicalize | filecheck %s
// RUN: tuninglink-opt %s --no-implicit-module --emit-bytecode \
// RUN:   | tuninglink-opt --no-implicit-module | filecheck %s --check-prefix=ALONE
// RUN: tuninglink-opt %t.mlirbc --mlir-print-debuginfo | filecheck %s --check-prefix=LOCATIONS

// CHECK:      module {
// CHECK-NEXT:   func.func @f(%arg0: i32) -> i32 {
// CHECK-NEXT:     return %arg0 : i32

// ALONE-NOT:  module
// ALONE:      func.func @f(

// LOCATIONS: loc("{{.*}}opt-bytecode.mlir":[[# @LINE + 1]]:1)
func.func @f(%a: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = arith.addi %a, %zero : i32
  return %sum : i32
}
