// A fill, a matrix multiplication, and an element-wise op.
#map = affine_map<(i, j) -> (i, j)>
func.func @payload(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %zero: f32) -> tensor<8x8xf32> {
  %filled = linalg.fill ins(%zero : f32) outs(%b : tensor<8x8xf32>) -> tensor<8x8xf32>
  %product = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%filled : tensor<8x8xf32>)
      -> tensor<8x8xf32>
  %squared = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%product : tensor<8x8xf32>) outs(%b : tensor<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %square = arith.mulf %in, %in : f32
    linalg.yield %square : f32
  } -> tensor<8x8xf32>
  return %squared : tensor<8x8xf32>
}
