// Matrix multiplications: every transposition and the usual element types, named and generic, with and
// without something fused to them. One function is one dispatch (two, where a comment says so).

#lhs = affine_map<(m, n, k) -> (m, k)>
#lhs_transposed = affine_map<(m, n, k) -> (k, m)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#rhs_transposed = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

func.func @named_f32(%lhs: tensor<64x128xf32>, %rhs: tensor<128x96xf32>) -> tensor<64x96xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x96xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x96xf32>) -> tensor<64x96xf32>
  %result = linalg.matmul ins(%lhs, %rhs : tensor<64x128xf32>, tensor<128x96xf32>)
      outs(%fill : tensor<64x96xf32>) -> tensor<64x96xf32>
  return %result : tensor<64x96xf32>
}

func.func @named_f16(%lhs: tensor<128x256xf16>, %rhs: tensor<256x128xf16>) -> tensor<128x128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x128xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x128xf32>) -> tensor<128x128xf32>
  %result = linalg.matmul ins(%lhs, %rhs : tensor<128x256xf16>, tensor<256x128xf16>)
      outs(%fill : tensor<128x128xf32>) -> tensor<128x128xf32>
  return %result : tensor<128x128xf32>
}

func.func @rhs_transposed_bf16(%lhs: tensor<128x256xbf16>, %rhs: tensor<64x256xbf16>) -> tensor<128x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x64xf32>) -> tensor<128x64xf32>
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs_transposed, #out],
      iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<128x256xbf16>, tensor<64x256xbf16>) outs(%fill : tensor<128x64xf32>) {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %wide_l = arith.extf %l : bf16 to f32
    %wide_r = arith.extf %r : bf16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<128x64xf32>
  return %result : tensor<128x64xf32>
}

func.func @lhs_transposed_f16(%lhs: tensor<96x64xf16>, %rhs: tensor<96x128xf16>) -> tensor<64x128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x128xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x128xf32>) -> tensor<64x128xf32>
  %result = linalg.generic {
      indexing_maps = [#lhs_transposed, #rhs, #out],
      iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<96x64xf16>, tensor<96x128xf16>) outs(%fill : tensor<64x128xf32>) {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<64x128xf32>
  return %result : tensor<64x128xf32>
}

func.func @both_transposed_i8(%lhs: tensor<64x128xi8>, %rhs: tensor<32x64xi8>) -> tensor<128x32xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<128x32xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<128x32xi32>) -> tensor<128x32xi32>
  %result = linalg.generic {
      indexing_maps = [#lhs_transposed, #rhs_transposed, #out],
      iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<64x128xi8>, tensor<32x64xi8>) outs(%fill : tensor<128x32xi32>) {
  ^bb0(%l: i8, %r: i8, %o: i32):
    %wide_l = arith.extsi %l : i8 to i32
    %wide_r = arith.extsi %r : i8 to i32
    %product = arith.muli %wide_l, %wide_r : i32
    %sum = arith.addi %o, %product : i32
    linalg.yield %sum : i32
  } -> tensor<128x32xi32>
  return %result : tensor<128x32xi32>
}

func.func @batched_f16(%lhs: tensor<4x64x128xf16>, %rhs: tensor<4x128x96xf16>) -> tensor<4x64x96xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x64x96xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
  %result = linalg.batch_matmul ins(%lhs, %rhs : tensor<4x64x128xf16>, tensor<4x128x96xf16>)
      outs(%fill : tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
  return %result : tensor<4x64x96xf32>
}

func.func @vector_f32(%lhs: tensor<256x512xf32>, %rhs: tensor<512xf32>) -> tensor<256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<256xf32>) -> tensor<256xf32>
  %result = linalg.matvec ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512xf32>)
      outs(%fill : tensor<256xf32>) -> tensor<256xf32>
  return %result : tensor<256xf32>
}

// The accumulator is an argument: nothing is filled.
func.func @accumulating_i8(%lhs: tensor<32x64xi8>, %rhs: tensor<64x32xi8>, %sum: tensor<32x32xi32>) -> tensor<32x32xi32> {
  %result = linalg.matmul ins(%lhs, %rhs : tensor<32x64xi8>, tensor<64x32xi8>)
      outs(%sum : tensor<32x32xi32>) -> tensor<32x32xi32>
  return %result : tensor<32x32xi32>
}

func.func @dynamic_f32(%lhs: tensor<?x128xf32>, %rhs: tensor<128x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %lhs, %c0 : tensor<?x128xf32>
  %n = tensor.dim %rhs, %c1 : tensor<128x?xf32>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %result = linalg.matmul ins(%lhs, %rhs : tensor<?x128xf32>, tensor<128x?xf32>)
      outs(%fill : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %result : tensor<?x?xf32>
}

// An elementwise tail is fused into the dispatch; the matmul stays the root op.
func.func @bias_relu(%lhs: tensor<128x64xf16>, %rhs: tensor<64x128xf16>, %bias: tensor<128xf32>) -> tensor<128x128xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x128xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x128xf32>) -> tensor<128x128xf32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<128x64xf16>, tensor<64x128xf16>)
      outs(%fill : tensor<128x128xf32>) -> tensor<128x128xf32>
  %narrow = tensor.empty() : tensor<128x128xf16>
  %result = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%product, %bias : tensor<128x128xf32>, tensor<128xf32>) outs(%narrow : tensor<128x128xf16>) {
  ^bb0(%p: f32, %b: f32, %o: f16):
    %sum = arith.addf %p, %b : f32
    %relu = arith.maximumf %sum, %zero : f32
    %rounded = arith.truncf %relu : f32 to f16
    linalg.yield %rounded : f16
  } -> tensor<128x128xf16>
  return %result : tensor<128x128xf16>
}

// A reduction of the product: two dispatches.
func.func @row_maximum(%lhs: tensor<128x64xf32>, %rhs: tensor<64x256xf32>) -> tensor<128xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<128x256xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x256xf32>) -> tensor<128x256xf32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<128x64xf32>, tensor<64x256xf32>)
      outs(%fill : tensor<128x256xf32>) -> tensor<128x256xf32>
  %rows = tensor.empty() : tensor<128xf32>
  %lowest = linalg.fill ins(%low : f32) outs(%rows : tensor<128xf32>) -> tensor<128xf32>
  %result = linalg.reduce { arith.maximumf } ins(%product : tensor<128x256xf32>)
      outs(%lowest : tensor<128xf32>) dimensions = [1]
  return %result : tensor<128xf32>
}
