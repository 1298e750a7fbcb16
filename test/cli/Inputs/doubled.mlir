module attributes {transform.with_named_sequence} {
  util.func private @doubled(%x: tensor<64x48xf32>) -> tensor<64x48xf32> {
    %two = arith.constant dense<2.0> : tensor<64x48xf32>
    %result = arith.mulf %x, %two : tensor<64x48xf32>
    util.return %result : tensor<64x48xf32>
  }
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%x: tensor<64x48xf32>, %out: tensor<64x48xf32>):
      %sum = linalg.generic {
          indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x48xf32>) outs(%out : tensor<64x48xf32>) {
      ^bb0(%in: f32, %before: f32):
        %both = arith.addf %in, %in : f32
        linalg.yield %both : f32
      } -> tensor<64x48xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @replace(%op: !transform.any_op {transform.readonly}) {
    %in = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    %out = transform.get_result %op[all] : (!transform.any_op) -> !transform.any_value
    %module = transform.util.get_nearest_symbol_table %op : (!transform.any_op) -> !transform.any_op
    %function = transform.util.import_symbol @doubled into %module if undefined
        : (!transform.any_op) -> !transform.any_op
    transform.util.cast_and_call %function(%in) -> %out after %op {
      transform.type_conversion.tensor.cast_shape_dynamic_dims
    } : (!transform.any_op, !transform.any_value, !transform.any_value, !transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.consumed}) {
    %functions = transform.structured.match ops{["util.func"]} in %module : (!transform.any_op) -> !transform.any_op
    transform.foreach %functions : !transform.any_op {
    ^bb0(%function: !transform.any_op):
      transform.foreach_match in %function @match -> @replace : (!transform.any_op) -> !transform.any_op
    }
    transform.apply_dce to %module : !transform.any_op
    %inlined = transform.apply_registered_pass "inline" to %module : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
