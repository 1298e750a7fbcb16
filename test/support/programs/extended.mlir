// The compiler's own structured ops: scatter, gather, sort, scan, top-k, FFT.

func.func @scatter(%updates: tensor<16x64xf32>, %rows: tensor<16x1xi32>, %into: tensor<128x64xf32>) -> tensor<128x64xf32> {
  %result = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true)
      ins(%updates, %rows : tensor<16x64xf32>, tensor<16x1xi32>) outs(%into : tensor<128x64xf32>) {
  ^bb0(%new: f32, %old: f32):
    %sum = arith.addf %new, %old : f32
    iree_linalg_ext.yield %sum : f32
  } -> tensor<128x64xf32>
  return %result : tensor<128x64xf32>
}

// What computes the updates and the rows is fused into the dispatch.
func.func @scatter_computed(%updates: tensor<16x64xf32>, %rows: tensor<16x1xi32>, %into: tensor<128x64xf32>) -> tensor<128x64xf32> {
  %one = arith.constant 1 : i32
  %empty = tensor.empty() : tensor<16x64xf32>
  %exp = linalg.elementwise <exp> ins(%updates : tensor<16x64xf32>) outs(%empty : tensor<16x64xf32>) -> tensor<16x64xf32>
  %empty_rows = tensor.empty() : tensor<16x1xi32>
  %next = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]
    } ins(%rows : tensor<16x1xi32>) outs(%empty_rows : tensor<16x1xi32>) {
  ^bb0(%row: i32, %o: i32):
    %sum = arith.addi %row, %one : i32
    linalg.yield %sum : i32
  } -> tensor<16x1xi32>
  %result = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true)
      ins(%exp, %next : tensor<16x64xf32>, tensor<16x1xi32>) outs(%into : tensor<128x64xf32>) {
  ^bb0(%new: f32, %old: f32):
    iree_linalg_ext.yield %new : f32
  } -> tensor<128x64xf32>
  return %result : tensor<128x64xf32>
}

func.func @gather(%table: tensor<128x64xf32>, %rows: tensor<16xi32>) -> tensor<16x64xf32> {
  %empty = tensor.empty() : tensor<16x64xf32>
  %result = iree_linalg_ext.gather dimension_map = [0] ins(%table, %rows : tensor<128x64xf32>, tensor<16xi32>)
      outs(%empty : tensor<16x64xf32>) -> tensor<16x64xf32>
  return %result : tensor<16x64xf32>
}

func.func @sort(%input: tensor<16x128xf32>) -> tensor<16x128xf32> {
  %result = iree_linalg_ext.sort dimension(1) outs(%input : tensor<16x128xf32>) {
  ^bb0(%l: f32, %r: f32):
    %less = arith.cmpf olt, %l, %r : f32
    iree_linalg_ext.yield %less : i1
  } -> tensor<16x128xf32>
  return %result : tensor<16x128xf32>
}

func.func @scan(%input: tensor<16x128xf32>) -> tensor<16x128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x128xf32>
  %empty_sum = tensor.empty() : tensor<16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty_sum : tensor<16xf32>) -> tensor<16xf32>
  %result:2 = iree_linalg_ext.scan dimension(1) inclusive(true) ins(%input : tensor<16x128xf32>)
      outs(%empty, %start : tensor<16x128xf32>, tensor<16xf32>) {
  ^bb0(%l: f32, %r: f32):
    %sum = arith.addf %l, %r : f32
    iree_linalg_ext.yield %sum : f32
  } -> tensor<16x128xf32>, tensor<16xf32>
  return %result#0 : tensor<16x128xf32>
}

func.func @topk(%input: tensor<16x128xf32>) -> (tensor<16x4xf32>, tensor<16x4xi32>) {
  %low = arith.constant 0xFF800000 : f32
  %first = arith.constant 0 : i32
  %empty_values = tensor.empty() : tensor<16x4xf32>
  %empty_indices = tensor.empty() : tensor<16x4xi32>
  %values = linalg.fill ins(%low : f32) outs(%empty_values : tensor<16x4xf32>) -> tensor<16x4xf32>
  %indices = linalg.fill ins(%first : i32) outs(%empty_indices : tensor<16x4xi32>) -> tensor<16x4xi32>
  %result:2 = iree_linalg_ext.topk dimension(1) ins(%input : tensor<16x128xf32>)
      outs(%values, %indices : tensor<16x4xf32>, tensor<16x4xi32>) {
  ^bb0(%l: f32, %r: f32):
    %greater = arith.cmpf ogt, %l, %r : f32
    iree_linalg_ext.yield %greater : i1
  } -> tensor<16x4xf32>, tensor<16x4xi32>
  return %result#0, %result#1 : tensor<16x4xf32>, tensor<16x4xi32>
}

func.func @fft(%real: tensor<64x32xf32>, %imaginary: tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>) {
  %stage = arith.constant 1 : index
  %cosine = arith.constant dense<[1.0]> : tensor<1xf32>
  %sine = arith.constant dense<[-0.0]> : tensor<1xf32>
  %result:2 = iree_linalg_ext.fft ins(%stage, %cosine, %sine : index, tensor<1xf32>, tensor<1xf32>)
      outs(%real, %imaginary : tensor<64x32xf32>, tensor<64x32xf32>) : tensor<64x32xf32>, tensor<64x32xf32>
  return %result#0, %result#1 : tensor<64x32xf32>, tensor<64x32xf32>
}

func.func @winograd_input(%input: tensor<1x10x10x64xf16>) -> tensor<8x8x1x2x2x64xf16> {
  %empty = tensor.empty() : tensor<8x8x1x2x2x64xf16>
  %result = iree_linalg_ext.winograd.input_transform output_tile_size(6) kernel_size(3) image_dimensions([1, 2])
      ins(%input : tensor<1x10x10x64xf16>) outs(%empty : tensor<8x8x1x2x2x64xf16>) -> tensor<8x8x1x2x2x64xf16>
  return %result : tensor<8x8x1x2x2x64xf16>
}
