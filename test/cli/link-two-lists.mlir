// The lists of a later spec, and its entry points, leave alone what an earlier spec decided, and go on overriding what
// the later spec itself configured before.

// RUN: tuninglink link %S/Inputs/matmul.mlir %s -o %t.mlir 2>&1 | filecheck %s --allow-empty --check-prefix=SILENT
// RUN: tuninglink-opt %S/Inputs/payload.mlir --mlir-print-local-scope \
// RUN:   --pass-pipeline='builtin.module(tuninglink-materialize-specs{specs=%t.mlir default-specs=false},iree-codegen-materialize-user-configs)' \
// RUN:   | filecheck %s

// SILENT-NOT: warning
// CHECK: linalg.fill {lowering_config = #iree_codegen.lowering_config<tile_sizes = {{\[\[}}6]]>}
// CHECK: linalg.matmul {lowering_config = #iree_codegen.lowering_config<tile_sizes = {{\[\[}}1]]>}
// CHECK: arith.mulf {{.*}} {lowering_config = #iree_codegen.lowering_config<tile_sizes = {{\[\[}}5]]>}

module @later attributes {transform.with_named_sequence} {
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
  transform.named_sequence @set_4(%op: !transform.any_op {transform.readonly}) {
    %config = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[4]]> -> !transform.any_param
    transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @set_5(%op: !transform.any_op {transform.readonly}) {
    %config = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[5]]> -> !transform.any_param
    transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @set_6(%op: !transform.any_op {transform.readonly}) {
    %config = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[6]]> -> !transform.any_param
    transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %first = transform.foreach_match in %root
        @matmul -> @set_4, @multiply -> @set_4 : (!transform.any_op) -> !transform.any_op
    %second = transform.foreach_match in %first
        @matmul -> @set_5, @multiply -> @set_5, @fill -> @set_5 : (!transform.any_op) -> !transform.any_op
    transform.yield %second : !transform.any_op
  }
  transform.named_sequence @more(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %configured = transform.foreach_match in %root
        @matmul -> @set_6, @fill -> @set_6 : (!transform.any_op) -> !transform.any_op
    transform.yield %configured : !transform.any_op
  }
}
