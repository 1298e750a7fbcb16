// A pass that fails says where, and there is no output.

// RUN: not env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --example-complain -o %t.failed 2>&1 \
// RUN:   | filecheck %s
// RUN: not ls %t.failed
// RUN: not env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --example-break 2>&1 \
// RUN:   | filecheck %s --check-prefix=VERIFIER
// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --example-break --verify-each=false \
// RUN:   | filecheck %s --check-prefix=UNVERIFIED
// RUN: not env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --example-raise 2>&1 \
// RUN:   | filecheck %s --check-prefix=BUG
// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --example-complain=severity=remark -o %t.out 2>&1 \
// RUN:   | filecheck %s --check-prefix=REMARK
// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --example-complain=severity=remark \
// RUN:     --mlir-diagnostic-verbosity-level=warnings 2>&1 | filecheck %s --check-prefix=SILENT

// CHECK:      opt-failing-pass.mlir:[[# @LINE + 13]]:3: error: found 'func.return'
// CHECK-NEXT:   return %a : i32
// CHECK-NEXT:   ^

// VERIFIER:   opt-failing-pass.mlir:[[# @LINE + 8]]:1: error: 'func.func' op entry block must have 0 arguments to match function signature
// UNVERIFIED: function_type = () -> ()
// BUG:        error: pass 'example-raise' has a bug, it raised KeyError: 'nobody expects this'
// REMARK:     opt-failing-pass.mlir:[[# @LINE + 6]]:3: remark: found 'func.return'
// SILENT-NOT: remark
// SILENT:     module {
// SILENT-NOT: remark

func.func @f(%a: i32) -> i32 {
  return %a : i32
}
