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
}
