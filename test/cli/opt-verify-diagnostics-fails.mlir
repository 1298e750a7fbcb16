// Missing and unexpected diagnostics are errors.

// RUN: not env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --split-input-file \
// RUN:     --verify-diagnostics --example-complain 2>&1 >%t.out | filecheck %s
// RUN: not env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --split-input-file \
// RUN:     --verify-diagnostics=only-expected --example-complain 2>&1 >%t.out \
// RUN:   | filecheck %s --check-prefix=ONLY

// ONLY-NOT: unexpected
// ONLY:     expected error "not this" was not produced

// CHECK:      opt-verify-diagnostics-fails.mlir:[[# @LINE + 4]]:3: error: unexpected error: found 'func.return'
// CHECK-NEXT:   return
// CHECK-NEXT:   ^
func.func @f() {
  return
}

// -----

// CHECK:      opt-verify-diagnostics-fails.mlir:[[# @LINE + 2]]:6: error: 'error' diagnostic emitted when expecting a 'warning'
func.func @f() {
  // expected-warning@+1 {{found 'func.return'}}
  return
}

// -----

// CHECK:      opt-verify-diagnostics-fails.mlir:[[# @LINE - 6]]:6: error: expected warning "found 'func.return'" was not produced
// CHECK:      opt-verify-diagnostics-fails.mlir:[[# @LINE + 3]]:4: error: expected error "not this" was not produced
// CHECK:      <unknown>:0: error: expected remark "from nowhere" was not produced
func.func private @f()
// expected-error@-1 {{not this}}
// expected-remark@unknown {{from nowhere}}
