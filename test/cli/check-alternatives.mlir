// Whether a list in alternatives is walked depends on them, so that reachability of its entries is not decided, and none
// is dropped. A linked spec with alternatives is checked like any other.

// RUN: tuninglink link %s %S/Inputs/fills.mlir 2>/dev/null >%t.mlir
// RUN: tuninglink check %t.mlir 2>&1 | filecheck %s --check-prefix=LINKED
// RUN: tuninglink check %s 2>&1 | filecheck %s
// RUN: tuninglink-opt --no-implicit-module --tuninglink-drop-shadowed %s | filecheck %s --check-prefix=DROP

// LINKED-NOT: Traceback
// LINKED: opaque spec
// CHECK: warning: 'transform.alternatives' replaces its scope by a copy: the compiler crashes where that is the function
// CHECK: not decided: reachable: {{.*}}: its list is in a region of another op
// DROP: @match -> @apply,
// DROP-NEXT: @again -> @apply

module @alternatives attributes {transform.with_named_sequence} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @again(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    %config = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[1]]> -> !transform.any_param
    transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %functions = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.alternatives %functions : !transform.any_op {
    ^bb0(%function: !transform.any_op):
      %0 = transform.foreach_match in %function @match -> @apply, @again -> @apply : (!transform.any_op) -> !transform.any_op
    }
    transform.yield %root : !transform.any_op
  }
}
