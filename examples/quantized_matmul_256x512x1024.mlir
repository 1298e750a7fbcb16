// A matmul of 8-bit integers, accumulated in 32 bits and scaled back to floats.

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#element = affine_map<(m, n) -> (m, n)>

func.func @quantized(%lhs: tensor<256x1024xi8>, %rhs: tensor<512x1024xi8>) -> tensor<256x512xf32> {
  %zero = arith.constant 0 : i32
  %scale = arith.constant 0.0039 : f32
  %sums = tensor.empty() : tensor<256x512xi32>
  %init = linalg.fill ins(%zero : i32) outs(%sums : tensor<256x512xi32>) -> tensor<256x512xi32>
  %product = linalg.matmul indexing_maps = [#lhs, #rhs, #out]
      ins(%lhs, %rhs : tensor<256x1024xi8>, tensor<512x1024xi8>)
      outs(%init : tensor<256x512xi32>) -> tensor<256x512xi32>
  %floats = tensor.empty() : tensor<256x512xf32>
  %result = linalg.generic {
      indexing_maps = [#element, #element], iterator_types = ["parallel", "parallel"]}
      ins(%product : tensor<256x512xi32>) outs(%floats : tensor<256x512xf32>) {
    ^bb0(%sum: i32, %unused: f32):
      %float = arith.sitofp %sum : i32 to f32
      %scaled = arith.mulf %float, %scale : f32
      linalg.yield %scaled : f32
  } -> tensor<256x512xf32>
  return %result : tensor<256x512xf32>
}
