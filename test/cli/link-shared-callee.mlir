// A list in a sequence that is included twice, and that consumes its argument, leaves alone what an earlier spec decided.
// A pass in an included sequence, which consumes the program, runs after an earlier spec.

// RUN: tuninglink link %S/Inputs/matmul.mlir %s -o %t.mlir 2>&1 | filecheck %s --allow-empty --check-prefix=SILENT
// RUN: tuninglink-opt %S/Inputs/payload.mlir --mlir-print-local-scope \
// RUN:   --pass-pipeline='builtin.module(tuninglink-materialize-specs{specs=%t.mlir default-specs=false},iree-codegen-materialize-user-configs)' \
// RUN:   | filecheck %s
// RUN: sed 's/%%list = .*/%%list = transform.apply_registered_pass "canonicalize" to %%root : (!transform.any_op) -> !transform.any_op/' %s >%t.pass.mlir
// RUN: tuninglink link %S/Inputs/matmul.mlir %t.pass.mlir -o %t.mlir 2>&1 | filecheck %s --check-prefix=WARNS
// RUN: tuninglink-opt %S/Inputs/payload.mlir --mlir-print-local-scope \
// RUN:   --pass-pipeline='builtin.module(tuninglink-materialize-specs{specs=%t.mlir default-specs=false},iree-codegen-materialize-user-configs)' \
// RUN:   | filecheck %s --check-prefix=PASS

// SILENT-NOT: warning
// WARNS: warning: opaque spec 'later' may override what {{.*}} configured
// CHECK: linalg.fill {lowering_config = #iree_codegen.lowering_config<tile_sizes = {{\[\[}}6]]>}
// CHECK: linalg.matmul {lowering_config = #iree_codegen.lowering_config<tile_sizes = {{\[\[}}1]]>}
// PASS: linalg.matmul {lowering_config = #iree_codegen.lowering_config<tile_sizes = {{\[\[}}1]]>}

module @later attributes {transform.with_named_sequence} {
  transform.named_sequence @matmul(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @fill(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @set_6(%op: !transform.any_op {transform.readonly}) {
    %config = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[6]]> -> !transform.any_param
    transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @shared(%root: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %list = transform.foreach_match in %root @matmul -> @set_6, @fill -> @set_6 : (!transform.any_op) -> !transform.any_op
    transform.yield %list : !transform.any_op
  }
  transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %once = transform.include @shared failures(propagate) (%root) : (!transform.any_op) -> !transform.any_op
    %twice = transform.include @shared failures(propagate) (%once) : (!transform.any_op) -> !transform.any_op
    transform.yield %twice : !transform.any_op
  }
}
