// A small transformer on eight tokens: two layers, 256 channels, one head. The weights are splats, and are kept from
// being folded into the operations that use them by a barrier.

#map = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func private @project(%x: tensor<8x256xf32>, %w: tensor<256x256xf32>) -> tensor<8x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x256xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x256xf32>) -> tensor<8x256xf32>
  %result = linalg.matmul ins(%x, %w : tensor<8x256xf32>, tensor<256x256xf32>)
    outs(%start : tensor<8x256xf32>) -> tensor<8x256xf32>
  return %result : tensor<8x256xf32>
}

// Divides each row by its root mean square.
func.func private @normalize(%x: tensor<8x256xf32>) -> tensor<8x256xf32> {
  %zero = arith.constant 0.0 : f32
  %width = arith.constant 256.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %rows = tensor.empty() : tensor<8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%rows : tensor<8xf32>) -> tensor<8xf32>
  %sums = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<8x256xf32>) outs(%zeros : tensor<8xf32>) {
  ^bb0(%each: f32, %sum: f32):
    %square = arith.mulf %each, %each : f32
    %next = arith.addf %square, %sum : f32
    linalg.yield %next : f32
  } -> tensor<8xf32>
  %empty = tensor.empty() : tensor<8x256xf32>
  %result = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
    ins(%x, %sums : tensor<8x256xf32>, tensor<8xf32>) outs(%empty : tensor<8x256xf32>) {
  ^bb0(%each: f32, %sum: f32, %_: f32):
    %mean = arith.divf %sum, %width : f32
    %positive = arith.addf %mean, %epsilon : f32
    %factor = math.rsqrt %positive : f32
    %scaled = arith.mulf %each, %factor : f32
    linalg.yield %scaled : f32
  } -> tensor<8x256xf32>
  return %result : tensor<8x256xf32>
}

func.func private @attend(%q: tensor<8x256xf32>, %k: tensor<8x256xf32>, %v: tensor<8x256xf32>) -> tensor<8x256xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 6.25e-2 : f32
  %square = tensor.empty() : tensor<8x8xf32>
  %start = linalg.fill ins(%zero : f32) outs(%square : tensor<8x8xf32>) -> tensor<8x8xf32>
  %scores = linalg.generic {
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%q, %k : tensor<8x256xf32>, tensor<8x256xf32>) outs(%start : tensor<8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %product, %sum : f32
    linalg.yield %next : f32
  } -> tensor<8x8xf32>
  %scaled = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
    ins(%scores : tensor<8x8xf32>) outs(%square : tensor<8x8xf32>) {
  ^bb0(%each: f32, %_: f32):
    %next = arith.mulf %each, %scale : f32
    linalg.yield %next : f32
  } -> tensor<8x8xf32>
  %weights = linalg.softmax dimension(1) ins(%scaled : tensor<8x8xf32>) outs(%square : tensor<8x8xf32>) -> tensor<8x8xf32>
  %empty = tensor.empty() : tensor<8x256xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x256xf32>) -> tensor<8x256xf32>
  %result = linalg.matmul ins(%weights, %v : tensor<8x8xf32>, tensor<8x256xf32>)
    outs(%zeros : tensor<8x256xf32>) -> tensor<8x256xf32>
  return %result : tensor<8x256xf32>
}

func.func private @feed_forward(%x: tensor<8x256xf32>, %up: tensor<256x1024xf32>, %down: tensor<1024x256xf32>) -> tensor<8x256xf32> {
  %zero = arith.constant 0.0 : f32
  %wide = tensor.empty() : tensor<8x1024xf32>
  %wide_zeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<8x1024xf32>) -> tensor<8x1024xf32>
  %hidden = linalg.matmul ins(%x, %up : tensor<8x256xf32>, tensor<256x1024xf32>)
    outs(%wide_zeros : tensor<8x1024xf32>) -> tensor<8x1024xf32>
  %active = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
    ins(%hidden : tensor<8x1024xf32>) outs(%wide : tensor<8x1024xf32>) {
  ^bb0(%each: f32, %_: f32):
    %next = arith.maximumf %each, %zero : f32
    linalg.yield %next : f32
  } -> tensor<8x1024xf32>
  %empty = tensor.empty() : tensor<8x256xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x256xf32>) -> tensor<8x256xf32>
  %result = linalg.matmul ins(%active, %down : tensor<8x1024xf32>, tensor<1024x256xf32>)
    outs(%zeros : tensor<8x256xf32>) -> tensor<8x256xf32>
  return %result : tensor<8x256xf32>
}

func.func private @layer(%x: tensor<8x256xf32>) -> tensor<8x256xf32> {
  %wq_splat = arith.constant dense<1.0e-2> : tensor<256x256xf32>
  %wq = util.optimization_barrier %wq_splat : tensor<256x256xf32>
  %wk_splat = arith.constant dense<2.0e-2> : tensor<256x256xf32>
  %wk = util.optimization_barrier %wk_splat : tensor<256x256xf32>
  %wv_splat = arith.constant dense<3.0e-2> : tensor<256x256xf32>
  %wv = util.optimization_barrier %wv_splat : tensor<256x256xf32>
  %wo_splat = arith.constant dense<4.0e-2> : tensor<256x256xf32>
  %wo = util.optimization_barrier %wo_splat : tensor<256x256xf32>
  %up_splat = arith.constant dense<5.0e-3> : tensor<256x1024xf32>
  %up = util.optimization_barrier %up_splat : tensor<256x1024xf32>
  %down_splat = arith.constant dense<6.0e-3> : tensor<1024x256xf32>
  %down = util.optimization_barrier %down_splat : tensor<1024x256xf32>
  %normal = call @normalize(%x) : (tensor<8x256xf32>) -> tensor<8x256xf32>
  %q = call @project(%normal, %wq) : (tensor<8x256xf32>, tensor<256x256xf32>) -> tensor<8x256xf32>
  %k = call @project(%normal, %wk) : (tensor<8x256xf32>, tensor<256x256xf32>) -> tensor<8x256xf32>
  %v = call @project(%normal, %wv) : (tensor<8x256xf32>, tensor<256x256xf32>) -> tensor<8x256xf32>
  %context = call @attend(%q, %k, %v) : (tensor<8x256xf32>, tensor<8x256xf32>, tensor<8x256xf32>) -> tensor<8x256xf32>
  %output = call @project(%context, %wo) : (tensor<8x256xf32>, tensor<256x256xf32>) -> tensor<8x256xf32>
  %residual = arith.addf %x, %output : tensor<8x256xf32>
  %again = call @normalize(%residual) : (tensor<8x256xf32>) -> tensor<8x256xf32>
  %fed = call @feed_forward(%again, %up, %down) : (tensor<8x256xf32>, tensor<256x1024xf32>, tensor<1024x256xf32>) -> tensor<8x256xf32>
  %result = arith.addf %residual, %fed : tensor<8x256xf32>
  return %result : tensor<8x256xf32>
}

func.func @main(%x: tensor<8x256xf32>) -> tensor<8x256xf32> {
  %first = call @layer(%x) : (tensor<8x256xf32>) -> tensor<8x256xf32>
  %second = call @layer(%first) : (tensor<8x256xf32>) -> tensor<8x256xf32>
  return %second : tensor<8x256xf32>
}
