// An entry point that fails is an error where the spec is applied alone. A linked spec suppresses the failure, as that of
// the compiler's own linker does, which deserves a warning. Whether its entries are reached is not decided.

// RUN: tuninglink link %s 2>&1 >%t.mlir | filecheck %s --check-prefix=LINK
// RUN: tuninglink check %s 2>&1 | filecheck %s --check-prefix=CHECK

// LINK: failing-entry-point.mlir:24:5: warning: entry point '@__kernel_config' of 'failing' may fail here
// CHECK: warning: entry point '@__kernel_config' may fail here
// CHECK: not decided: reachable: line {{[0-9]+}}: entry point '@__kernel_config' may fail at 'transform.match.param.cmpi'

module @failing attributes {transform.with_named_sequence} {
  transform.named_sequence @matmul(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    %config = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[1]]> -> !transform.any_param
    transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %one, %one : !transform.param<i64>
    %configured = transform.foreach_match in %root @matmul -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %configured : !transform.any_op
  }
}
