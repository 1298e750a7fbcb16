// Reductions: along each dimension, several in one dispatch, fused with what comes before and after.

#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>

func.func @rows(%input: tensor<128x384xf32>) -> tensor<128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<128xf32>) -> tensor<128xf32>
  %result = linalg.reduce { arith.addf } ins(%input : tensor<128x384xf32>) outs(%fill : tensor<128xf32>) dimensions = [1]
  return %result : tensor<128xf32>
}

func.func @columns(%input: tensor<384x128xf16>) -> tensor<128xf16> {
  %zero = arith.constant 0.0 : f16
  %empty = tensor.empty() : tensor<128xf16>
  %fill = linalg.fill ins(%zero : f16) outs(%empty : tensor<128xf16>) -> tensor<128xf16>
  %result = linalg.reduce { arith.maximumf } ins(%input : tensor<384x128xf16>) outs(%fill : tensor<128xf16>) dimensions = [0]
  return %result : tensor<128xf16>
}

func.func @everything(%input: tensor<64x64xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %result = linalg.reduce { arith.addf } ins(%input : tensor<64x64xf32>) outs(%fill : tensor<f32>) dimensions = [0, 1]
  return %result : tensor<f32>
}

func.func @dynamic(%input: tensor<?x?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %input, %c0 : tensor<?x?xf32>
  %empty = tensor.empty(%rows) : tensor<?xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %result = linalg.reduce { arith.addf } ins(%input : tensor<?x?xf32>) outs(%fill : tensor<?xf32>) dimensions = [1]
  return %result : tensor<?xf32>
}

func.func @softmax(%input: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %empty = tensor.empty() : tensor<64x512xf32>
  %result = linalg.softmax dimension(1) ins(%input : tensor<64x512xf32>) outs(%empty : tensor<64x512xf32>) -> tensor<64x512xf32>
  return %result : tensor<64x512xf32>
}

// Two reductions in a row and an elementwise tail: mean, variance, normalization.
func.func @normalization(%input: tensor<32x256xf32>) -> tensor<32x256xf16> {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 256.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %empty = tensor.empty() : tensor<32xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<32xf32>) -> tensor<32xf32>
  %sum = linalg.reduce { arith.addf } ins(%input : tensor<32x256xf32>) outs(%fill : tensor<32xf32>) dimensions = [1]
  %variance = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%input, %sum : tensor<32x256xf32>, tensor<32xf32>) outs(%fill : tensor<32xf32>) {
  ^bb0(%x: f32, %s: f32, %o: f32):
    %mean = arith.divf %s, %count : f32
    %centered = arith.subf %x, %mean : f32
    %square = arith.mulf %centered, %centered : f32
    %next = arith.addf %o, %square : f32
    linalg.yield %next : f32
  } -> tensor<32xf32>
  %narrow = tensor.empty() : tensor<32x256xf16>
  %result = linalg.generic {indexing_maps = [#all, #row, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%input, %sum, %variance : tensor<32x256xf32>, tensor<32xf32>, tensor<32xf32>) outs(%narrow : tensor<32x256xf16>) {
  ^bb0(%x: f32, %s: f32, %v: f32, %o: f16):
    %mean = arith.divf %s, %count : f32
    %centered = arith.subf %x, %mean : f32
    %scaled = arith.divf %v, %count : f32
    %shifted = arith.addf %scaled, %epsilon : f32
    %inverse = math.rsqrt %shifted : f32
    %normal = arith.mulf %centered, %inverse : f32
    %rounded = arith.truncf %normal : f32 to f16
    linalg.yield %rounded : f16
  } -> tensor<32x256xf16>
  return %result : tensor<32x256xf16>
}

// One op with two results: the largest element and where it is.
func.func @maximum_and_index(%input: tensor<16x512xf32>) -> (tensor<16xf32>, tensor<16xi32>) {
  %low = arith.constant 0xFF800000 : f32
  %first = arith.constant 0 : i32
  %empty_values = tensor.empty() : tensor<16xf32>
  %empty_indices = tensor.empty() : tensor<16xi32>
  %values = linalg.fill ins(%low : f32) outs(%empty_values : tensor<16xf32>) -> tensor<16xf32>
  %indices = linalg.fill ins(%first : i32) outs(%empty_indices : tensor<16xi32>) -> tensor<16xi32>
  %result:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%input : tensor<16x512xf32>) outs(%values, %indices : tensor<16xf32>, tensor<16xi32>) {
  ^bb0(%x: f32, %value: f32, %index: i32):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i32
    %larger = arith.cmpf ogt, %x, %value : f32
    %new_value = arith.select %larger, %x, %value : f32
    %new_index = arith.select %larger, %here, %index : i32
    linalg.yield %new_value, %new_index : f32, i32
  } -> (tensor<16xf32>, tensor<16xi32>)
  return %result#0, %result#1 : tensor<16xf32>, tensor<16xi32>
}

// Two reductions of one input side by side, and no tail.
func.func @sum_and_maximum(%input: tensor<64x128xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
  %lowest = linalg.fill ins(%low : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.reduce { arith.addf } ins(%input : tensor<64x128xf32>) outs(%zeros : tensor<64xf32>) dimensions = [1]
  %maximum = linalg.reduce { arith.maximumf } ins(%input : tensor<64x128xf32>) outs(%lowest : tensor<64xf32>) dimensions = [1]
  return %sum, %maximum : tensor<64xf32>, tensor<64xf32>
}
