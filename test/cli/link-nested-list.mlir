// An action that walks a list of its own, in the matched op or in the function around it, decides the matched op
// all the same, and what its list matches.

// RUN: tuninglink link %s %S/Inputs/later.mlir -o %t.mlir
// RUN: tuninglink check %t.mlir 2>&1 | filecheck %s --check-prefix=LINKED
// RUN: tuninglink-opt %S/Inputs/payload.mlir --mlir-print-local-scope \
// RUN:   --pass-pipeline='builtin.module(tuninglink-materialize-specs{specs=%t.mlir default-specs=false},iree-codegen-materialize-user-configs)' \
// RUN:   | filecheck %s

// The chain is checked like any spec.
// LINKED-NOT: {{error|warning}}
// LINKED: opaque spec

// CHECK: linalg.fill {lowering_config = #iree_codegen.lowering_config<tile_sizes = {{\[\[}}3]]>}
// CHECK: linalg.matmul {lowering_config = #iree_codegen.lowering_config<tile_sizes = {{\[\[}}2]]>}
// CHECK: arith.mulf {{.*}} {lowering_config = #iree_codegen.lowering_config<tile_sizes = {{\[\[}}1]]>}

module @earlier attributes {transform.with_named_sequence} {
  transform.named_sequence @multiply(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["arith.mulf"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @matmul(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @fill(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @attention(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @set(%op: !transform.any_op {transform.readonly}) {
    %config = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[3]]> -> !transform.any_param
    transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @walk_op(%op: !transform.any_op {transform.consumed}) {
    %config = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[1]]> -> !transform.any_param
    transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
    %walked = transform.foreach_match restrict_root in %op @attention -> @set : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence @walk_parent(%op: !transform.any_op {transform.readonly}) {
    %config = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[2]]> -> !transform.any_param
    transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
    %parent = transform.get_parent_op %op : (!transform.any_op) -> !transform.any_op
    %walked = transform.foreach_match in %parent @fill -> @set : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %configured = transform.foreach_match in %root @multiply -> @walk_op, @matmul -> @walk_parent : (!transform.any_op) -> !transform.any_op
    transform.yield %configured : !transform.any_op
  }
}
