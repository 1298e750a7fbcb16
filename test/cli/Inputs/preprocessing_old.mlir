module attributes {transform.with_named_sequence} {
  util.func private @neg(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = arith.negf %arg0 : tensor<8x8xf32>
    util.return %0 : tensor<8x8xf32>
  }
  transform.named_sequence @match(%root: !transform.any_op {transform.readonly}) -> (!transform.any_value, !transform.any_op) {
    %b, %m, %n, %k = transform.iree.match.contraction %root, lhs_type = f32, rhs_type = f32, output_type = f32 : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>)
    %in = transform.get_operand %root[0] : (!transform.any_op) -> !transform.any_value
    transform.yield %in, %root : !transform.any_value, !transform.any_op
  }
  transform.named_sequence @swap(%ins: !transform.any_value {transform.readonly}, %root: !transform.any_op {transform.readonly}) {
    %out = transform.get_result %root[0] : (!transform.any_op) -> !transform.any_value
    %module = transform.util.get_nearest_symbol_table %root : (!transform.any_op) -> !transform.any_op
    %func = transform.util.import_symbol @neg into %module if undefined : (!transform.any_op) -> !transform.any_op
    transform.util.cast_and_call %func(%ins) -> %out after %root : (!transform.any_op, !transform.any_value, !transform.any_value, !transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %funcs = transform.structured.match ops{["util.func"]} in %module : (!transform.any_op) -> !transform.any_op
    transform.foreach %funcs : !transform.any_op {
      ^bb1(%func: !transform.any_op):
        transform.foreach_match in %func @match -> @swap : (!transform.any_op) -> (!transform.any_op)
    }
    transform.apply_dce to %module : !transform.any_op
    transform.yield
  }
}
