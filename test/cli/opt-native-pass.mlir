// RUN: tuninglink-opt --canonicalize %s | filecheck %s
// RUN: tuninglink-opt --pass-pipeline='builtin.module(func.func(canonicalize))' %s | filecheck %s

// CHECK-LABEL: func.func @add_zero
// CHECK-NEXT: return %arg0
func.func @add_zero(%a: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = arith.addi %a, %zero : i32
  return %sum : i32
}
