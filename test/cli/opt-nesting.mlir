// Passes of both kinds mix and nest under any anchor.

// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --pass-pipeline='builtin.module( \
// RUN:     hal.executable(hal.executable.variant(builtin.module( \
// RUN:       func.func(canonicalize, example-mark-function{text=deep}), \
// RUN:       example-mark{text="a b" words={x,y} numbers=1,2}))), cse)' \
// RUN:   | filecheck %s
// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s \
// RUN:     --pass-pipeline='any(any(example-mark{text=child}))' \
// RUN:   | filecheck %s --check-prefix=ANY

#target = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">

// CHECK-NOT:     example.mark
// CHECK-LABEL:   hal.executable private @executable {
// CHECK:           hal.executable.variant public @first
// CHECK:             builtin.module attributes {example.mark = "a b x y 1 2"} {
// CHECK-NEXT:          func.func @entry() attributes {example.mark = "deep"} {
// CHECK-NEXT:            return
// CHECK:           hal.executable.variant public @second
// CHECK:             builtin.module attributes {example.mark = "a b x y 1 2"} {
// CHECK-NEXT:          func.func @entry() attributes {example.mark = "deep"} {
// CHECK-LABEL:   module @outside {
// CHECK-NOT:     example.mark

// ANY-LABEL:   hal.executable private @executable attributes {example.mark = "child"} {
// ANY-NOT:       example.mark
// ANY-LABEL:   module @outside attributes {example.mark = "child"} {
// ANY-NEXT:      func.func @entry() {

hal.executable private @executable {
  hal.executable.variant public @first target(#target) {
    builtin.module {
      func.func @entry() {
        %unused = arith.constant 0 : i32
        return
      }
    }
  }
  hal.executable.variant public @second target(#target) {
    builtin.module {
      func.func @entry() {
        return
      }
    }
  }
}

module @outside {
  func.func @entry() {
    return
  }
}
