// Dispatches without a reduction: elementwise, transposing, copying, slicing, looking up.

#id = affine_map<(i, j) -> (i, j)>

func.func @add(%lhs: tensor<64x128xf32>, %rhs: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %empty = tensor.empty() : tensor<64x128xf32>
  %result = linalg.elementwise <add> ins(%lhs, %rhs : tensor<64x128xf32>, tensor<64x128xf32>) outs(%empty : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %result : tensor<64x128xf32>
}

func.func @dynamic_exp(%input: tensor<?x?xf16>) -> tensor<?x?xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %input, %c0 : tensor<?x?xf16>
  %n = tensor.dim %input, %c1 : tensor<?x?xf16>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf16>
  %result = linalg.elementwise <exp> ins(%input : tensor<?x?xf16>) outs(%empty : tensor<?x?xf16>) -> tensor<?x?xf16>
  return %result : tensor<?x?xf16>
}

func.func @transpose(%input: tensor<64x256xf32>) -> tensor<256x64xf32> {
  %empty = tensor.empty() : tensor<256x64xf32>
  %result = linalg.transpose ins(%input : tensor<64x256xf32>) outs(%empty : tensor<256x64xf32>) permutation = [1, 0]
  return %result : tensor<256x64xf32>
}

func.func @compare(%lhs: tensor<64x128xf32>, %rhs: tensor<64x128xf32>) -> tensor<64x128xi8> {
  %empty = tensor.empty() : tensor<64x128xi8>
  %result = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%lhs, %rhs : tensor<64x128xf32>, tensor<64x128xf32>) outs(%empty : tensor<64x128xi8>) {
  ^bb0(%l: f32, %r: f32, %o: i8):
    %less = arith.cmpf olt, %l, %r : f32
    %wide = arith.extui %less : i1 to i8
    linalg.yield %wide : i8
  } -> tensor<64x128xi8>
  return %result : tensor<64x128xi8>
}

// Two results, each with its own op: fused into one.
func.func @sine_and_cosine(%input: tensor<32x64xf32>) -> (tensor<32x64xf32>, tensor<32x64xf32>) {
  %empty = tensor.empty() : tensor<32x64xf32>
  %result:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%input : tensor<32x64xf32>) outs(%empty, %empty : tensor<32x64xf32>, tensor<32x64xf32>) {
  ^bb0(%x: f32, %s: f32, %c: f32):
    %sine = math.sin %x : f32
    %cosine = math.cos %x : f32
    linalg.yield %sine, %cosine : f32, f32
  } -> (tensor<32x64xf32>, tensor<32x64xf32>)
  return %result#0, %result#1 : tensor<32x64xf32>, tensor<32x64xf32>
}

func.func @scalar(%lhs: tensor<f32>, %rhs: tensor<f32>) -> tensor<f32> {
  %empty = tensor.empty() : tensor<f32>
  %result = linalg.elementwise <mul> ins(%lhs, %rhs : tensor<f32>, tensor<f32>) outs(%empty : tensor<f32>) -> tensor<f32>
  return %result : tensor<f32>
}


// Nothing is computed, elements only move.
func.func @slice(%input: tensor<64x128xf32>) -> tensor<32x64xf32> {
  %result = tensor.extract_slice %input[3, 5] [32, 64] [1, 1] : tensor<64x128xf32> to tensor<32x64xf32>
  return %result : tensor<32x64xf32>
}

func.func @insert(%input: tensor<32x64xf32>, %into: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %result = tensor.insert_slice %input into %into[3, 5] [32, 64] [1, 1] : tensor<32x64xf32> into tensor<64x128xf32>
  return %result : tensor<64x128xf32>
}

func.func @pad(%input: tensor<30x60xf32>) -> tensor<32x64xf32> {
  %zero = arith.constant 0.0 : f32
  %result = tensor.pad %input low[1, 2] high[1, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<30x60xf32> to tensor<32x64xf32>
  return %result : tensor<32x64xf32>
}

// Elements are read where another tensor says.
func.func @lookup(%table: tensor<256x64xf32>, %rows: tensor<32xi32>) -> tensor<32x64xf32> {
  %empty = tensor.empty() : tensor<32x64xf32>
  %result = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%rows : tensor<32xi32>) outs(%empty : tensor<32x64xf32>) {
  ^bb0(%row: i32, %o: f32):
    %i = arith.index_cast %row : i32 to index
    %j = linalg.index 1 : index
    %element = tensor.extract %table[%i, %j] : tensor<256x64xf32>
    linalg.yield %element : f32
  } -> tensor<32x64xf32>
  return %result : tensor<32x64xf32>
}
