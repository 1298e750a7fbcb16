// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --mlir-timing \
// RUN:     --pass-pipeline='builtin.module(example-mark,func.func(cse,example-mark-function))' \
// RUN:     2>&1 >%t.out | filecheck %s
// RUN: tuninglink-opt %s --mlir-pass-statistics --cse 2>&1 >%t.out \
// RUN:   | filecheck %s --check-prefix=STATISTICS

// CHECK:      ... Execution time report ...
// CHECK:      {{^ .*%\)  }}Mark
// CHECK-NEXT: {{^ .*%\)  }}'func.func' Pipeline
// CHECK-NEXT: {{^ .*%\)    }}CSEPass
// CHECK:      {{^ .*%\)    }}MarkFunction
// CHECK:      {{^ .*%\)  }}Total

// STATISTICS: ... Pass statistics report ...
// STATISTICS: CSEPass
// STATISTICS: num-cse'd
func.func @f() {
  return
}
