// The pad of a vector has one operand and one argument of its block, which is an index.

// RUN: not tuninglink check %s 2>&1 | filecheck %s
// CHECK: error: replace entry 'match' relies on the operand 0, which its matcher does not see

module attributes {transform.with_named_sequence} {

  util.func private @call(%b: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
    util.return %b : tensor<8xf32>
  }
  transform.named_sequence @match(%root: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_value, !transform.any_value) attributes {} {
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %root {
    ^bb0(%a: tensor<5xf32>, %b: tensor<8xf32>, %e: tensor<8xf32>):
 %p = tensor.pad %a low[0] high[3] {
 ^bb0(%i: index):
   %c0 = arith.constant 0.0 : f32
 tensor.yield %c0 : f32
 } : tensor<5xf32> to tensor<8xf32>
%c = linalg.generic {indexing_maps = [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>, affine_map<(m) -> (m)>], iterator_types = ["parallel"]} ins(%p, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
 ^bb0(%x: f32, %y: f32, %z: f32):
   %s = arith.addf %x, %y : f32
   linalg.yield %s : f32
 } -> tensor<8xf32>
} : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    transform.yield %root, %ins, %outs : !transform.any_op, !transform.any_value, !transform.any_value
  }
  transform.named_sequence @replace(%root: !transform.any_op {transform.readonly}, %ins: !transform.any_value {transform.readonly}, %out: !transform.any_value {transform.readonly}) {
    %module = transform.util.get_nearest_symbol_table %root : (!transform.any_op) -> !transform.any_op
    %in = transform.get_operand %root[1, 2] : (!transform.any_op) -> !transform.any_value
 %func = transform.util.import_symbol @call into %module if undefined : (!transform.any_op) -> !transform.any_op
    transform.util.cast_and_call %func(%in) -> %out after %root { transform.type_conversion.tensor.cast_shape_dynamic_dims } : (!transform.any_op, !transform.any_value, !transform.any_value, !transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.consumed}) {
    %funcs = transform.structured.match ops{["util.func"]} in %module : (!transform.any_op) -> !transform.any_op
    transform.foreach %funcs : !transform.any_op {
    ^bb1(%f: !transform.any_op):
      transform.foreach_match in %f @match -> @replace : (!transform.any_op) -> !transform.any_op
    }
    transform.apply_dce to %module : !transform.any_op
    %inlined = transform.apply_registered_pass "inline" to %module : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
