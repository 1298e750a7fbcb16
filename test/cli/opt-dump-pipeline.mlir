// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --dump-pass-pipeline \
// RUN:     --pass-pipeline='builtin.module(cse,func.func(example-mark{words="a b",c}),any(loop-invariant-code-motion))' \
// RUN:     2>&1 >%t.out | filecheck %s

// CHECK:      Pass Manager with 3 passes:
// CHECK-NEXT: builtin.module(
// CHECK-NEXT:   cse,
// CHECK-NEXT:   func.func(
// CHECK-NEXT:     example-mark{text=here words={'a b',c} numbers={} times=1 shout=false style=plain}
// CHECK-NEXT:   ),
// CHECK-NEXT:   any(
// CHECK-NEXT:     loop-invariant-code-motion
// CHECK-NEXT:   )
// CHECK-NEXT: )
func.func @f() {
  return
}
