// A program of one dispatch with one operation to configure, for self_check.
func.func @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> {
  %sum = arith.addf %a, %b : tensor<16xf32>
  return %sum : tensor<16xf32>
}
