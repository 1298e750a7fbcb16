// An attribute that is no configuration: 'check --compile' names it.

// RUN: tuninglink check %s --target gfx942 --compile --all 2>&1 | filecheck %s
// CHECK: warning: action '@act' configures nothing
// CHECK: remark: entry 'match_it' was not decided (compiles): it compiles, but its action sets only 'export_config', and none of 'compilation_info', 'lowering_config', 'translation_info'
// RUN: sed '/transform.annotate/d' %s > %t.mlir
// RUN: tuninglink check %t.mlir --target gfx942 --compile --all 2>&1 | filecheck %s --check-prefix=NOTHING
// NOTHING: (compiles): it compiles, but its action sets none of 'compilation_info'

module attributes {transform.with_named_sequence} {
  transform.named_sequence @match_it(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32 : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %b, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [64] : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @act(%op: !transform.any_op {transform.readonly}) {
    %c = transform.param.constant #iree_codegen.export_config<workgroup_size = [64, 1, 1]> -> !transform.any_param
    transform.annotate %op "export_config" = %c : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %r = transform.foreach_match in %root @match_it -> @act : (!transform.any_op) -> !transform.any_op
    transform.yield %r : !transform.any_op
  }
}
