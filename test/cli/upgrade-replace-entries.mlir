// Configure entries match ops as they are in dispatches, and replace entries those of the program: only the former are upgraded for it.

// RUN: tuninglink upgrade %s -o %t.new.mlir --report | filecheck %s --check-prefix=REPORT
// RUN: filecheck %s --input-file=%t.new.mlir --check-prefix=UPGRADED
// REPORT: 2 entries: 1 upgraded, 1 unchanged, 0 kept out
// REPORT: @match_rows -> @replace_rows {{.*}}: unchanged
// REPORT: @match_old -> @conf {{.*}}: upgraded
// UPGRADED: {{^  }}transform.named_sequence @match_rows(
// UPGRADED-NEXT: transform.match.operation_name %op ["iree_linalg_ext.attention"]
// UPGRADED-NEXT: transform.iree.match.attention %op
// UPGRADED: {{^  }}transform.named_sequence @match_old(
// UPGRADED-NEXT: transform.match.operation_name %op ["iree_linalg_ext.online_attention"]

// The program is replaced by the upgraded spec as by the old one.
// RUN: tuninglink compile %S/replaced-scale.mlir --target gfx942 --spec %t.new.mlir --compile-to=preprocessing -o %t.new.out.mlir
// RUN: tuninglink compile %S/replaced-scale.mlir --target gfx942 --spec %s --compile-to=preprocessing -o %t.old.out.mlir
// RUN: cmp %t.new.out.mlir %t.old.out.mlir
// RUN: tuninglink explain %S/replaced-scale.mlir --target gfx942 --spec %t.new.mlir | filecheck %s --check-prefix=REPLACED
// REPLACED: replaced iree_linalg_ext.attention at {{.*}} by @rows

// What replaces ops stays as it was.
// RUN: tuninglink upgrade %t.new.mlir --modernize -o %t.modern.mlir --report | filecheck %s --check-prefix=MODERNIZED
// MODERNIZED: 0 of 2 entries modernized
// MODERNIZED-NEXT: @match_old -> @conf: as it was: it has no dag matcher
// MODERNIZED-NEXT: @match_rows -> @replace_rows: as it was: it replaces ops

module attributes {transform.with_named_sequence} {
  util.func private @rows(%q: tensor<2x9x4xf32>, %k: tensor<2x9x4xf32>, %v: tensor<2x9x4xf32>, %s: f32) -> tensor<2x9x4xf32> {
    %e = tensor.empty() : tensor<2x9x4xf32>
    %o = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, n, k, j) -> (b, m, k)>, affine_map<(b, m, n, k, j) -> (b, j, k)>,
      affine_map<(b, m, n, k, j) -> (b, j, n)>, affine_map<(b, m, n, k, j) -> ()>, affine_map<(b, m, n, k, j) -> (b, m, n)>]}> ins(%q, %k, %v, %s : tensor<2x9x4xf32>, tensor<2x9x4xf32>, tensor<2x9x4xf32>, f32) outs(%e : tensor<2x9x4xf32>) {
    ^bb0(%x: f32):
      iree_linalg_ext.yield %x : f32
    } -> tensor<2x9x4xf32>
    util.return %o : tensor<2x9x4xf32>
  }
  transform.named_sequence @match_rows(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !transform.any_op
    %b, %m, %n, %k, %j = transform.iree.match.attention %op, query_type = f32, key_type = f32, value_type = f32, output_type = f32,
      indexing_maps = [affine_map<(b, m, n, k, j) -> (b, m, k)>, affine_map<(b, m, n, k, j) -> (b, j, k)>,
      affine_map<(b, m, n, k, j) -> (b, j, n)>, affine_map<(b, m, n, k, j) -> ()>, affine_map<(b, m, n, k, j) -> (b, m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [9] : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @replace_rows(%root: !transform.any_op {transform.readonly}) {
    %ins = transform.get_operand %root[0, 1, 2, 3] : (!transform.any_op) -> !transform.any_value
    %out = transform.get_result %root[all] : (!transform.any_op) -> !transform.any_value
    %module = transform.util.get_nearest_symbol_table %root : (!transform.any_op) -> !transform.any_op
    %func = transform.util.import_symbol @rows into %module if undefined : (!transform.any_op) -> !transform.any_op
    transform.util.cast_and_call %func(%ins) -> %out after %root { transform.type_conversion.tensor.cast_shape_dynamic_dims } : (!transform.any_op, !transform.any_value, !transform.any_value, !transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.consumed}) {
    %funcs = transform.structured.match ops{["util.func"]} in %module : (!transform.any_op) -> !transform.any_op
    transform.foreach %funcs : !transform.any_op {
    ^bb1(%f: !transform.any_op):
      transform.foreach_match in %f @match_rows -> @replace_rows : (!transform.any_op) -> !transform.any_op
    }
    transform.apply_dce to %module : !transform.any_op
    %inlined = transform.apply_registered_pass "inline" to %module : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence @match_old(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    transform.match.operation_name %op ["iree_linalg_ext.attention"] : !transform.any_op
    %c = transform.param.constant #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{workgroup = [1, 64, 0, 0, 0]}>, translation_info = <LLVMGPUVectorDistribute workgroup_size = [256] subgroup_size = 64>> -> !transform.any_param
    transform.yield %op, %c : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @conf(%op: !transform.any_op {transform.readonly}, %c: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %c : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__kernel_config(%m: !transform.any_op {transform.consumed}) {
    transform.foreach_match in %m @match_old -> @conf : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
