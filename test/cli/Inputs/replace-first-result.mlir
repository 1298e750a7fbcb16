module @rows attributes {transform.with_named_sequence} {
  util.func private @rows(%x: tensor<34x48xf32>, %y: tensor<34x48xf32>, %r: tensor<48x32xf32>, %acc: tensor<34x32xf32>) -> tensor<34x32xf32> {
    %p = linalg.matmul ins(%x, %r : tensor<34x48xf32>, tensor<48x32xf32>) outs(%acc : tensor<34x32xf32>) -> tensor<34x32xf32>
    util.return %p : tensor<34x32xf32>
  }
  transform.named_sequence @match_rows(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_value) {
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%x: tensor<34x48xf32>, %y: tensor<34x48xf32>, %r: tensor<48x32xf32>, %i: tensor<34x32xf32>):
      %s:2 = linalg.generic {
        indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
        iterator_types = ["parallel", "parallel"]} ins(%x : tensor<34x48xf32>) outs(%y, %y : tensor<34x48xf32>, tensor<34x48xf32>) {
      ^bb0(%a: f32, %b: f32, %c: f32):
        %n = arith.negf %a : f32
        linalg.yield %a, %n : f32, f32
      } -> (tensor<34x48xf32>, tensor<34x48xf32>)
      %p = linalg.matmul ins(%s#0, %r : tensor<34x48xf32>, tensor<48x32xf32>) outs(%i : tensor<34x32xf32>) -> tensor<34x32xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    transform.yield %op, %ins : !transform.any_op, !transform.any_value
  }
  transform.named_sequence @replace_rows(%root: !transform.any_op {transform.readonly}, %ins: !transform.any_value {transform.readonly}) {
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
