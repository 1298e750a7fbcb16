// Passes are flags, too, and are nested where they belong.

// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --canonicalize \
// RUN:     --example-mark-function='shout times=2 style=quoted' --example-mark="text='x, y'" \
// RUN:   | filecheck %s
// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s -canonicalize \
// RUN:     -example-mark-function='shout times=2 style=quoted' -example-mark="text='x, y'" -o - \
// RUN:   | filecheck %s
// RUN: tuninglink-opt %s --iree-codegen-configuration-preprocessing-pipeline \
// RUN:   | filecheck %s --check-prefix=UNTOUCHED

// CHECK:      module attributes {example.mark = "x, y"} {
// CHECK-NEXT:   func.func @f(%arg0: i32) -> i32 attributes {example.mark = "<HERE HERE>"} {
// CHECK-NEXT:     return %arg0 : i32

// UNTOUCHED:      module {
// UNTOUCHED-NEXT:   func.func @f(%arg0: i32) -> i32 {
// UNTOUCHED-NEXT:     arith.constant
func.func @f(%a: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = arith.addi %a, %zero : i32
  return %sum : i32
}
