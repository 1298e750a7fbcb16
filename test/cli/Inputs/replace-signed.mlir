module @rows attributes {transform.with_named_sequence} {
  util.func private @rows(%a0: tensor<34x48xi8>, %a1: tensor<48x32xi8>, %acc: tensor<34x32xf32>) -> tensor<34x32xf32> {
    %r = linalg.matmul ins(%a0, %a1 : tensor<34x48xi8>, tensor<48x32xi8>) outs(%acc : tensor<34x32xf32>) -> tensor<34x32xf32>
    util.return %r : tensor<34x32xf32>
  }
  transform.named_sequence @match_rows(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = i8, rhs_type = i8, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [34] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [32] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [48] : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @replace_rows(%root: !transform.any_op {transform.readonly}) {
    %ins = transform.get_operand %root[all] : (!transform.any_op) -> !transform.any_value
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
}
