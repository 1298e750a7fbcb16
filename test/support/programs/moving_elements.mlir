// Operations that move, order or choose elements, each in a function of its own.

func.func @argmax(%x: tensor<6x40xf32>) -> (tensor<6xf32>, tensor<6xi64>) {
  %least = arith.constant -1.0e30 : f32
  %zero = arith.constant 0 : i64
  %values = tensor.empty() : tensor<6xf32>
  %indices = tensor.empty() : tensor<6xi64>
  %v = linalg.fill ins(%least : f32) outs(%values : tensor<6xf32>) -> tensor<6xf32>
  %i = linalg.fill ins(%zero : i64) outs(%indices : tensor<6xi64>) -> tensor<6xi64>
  %r:2 = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<6x40xf32>) outs(%v, %i : tensor<6xf32>, tensor<6xi64>) {
  ^bb0(%in: f32, %best: f32, %place: i64):
    %n = linalg.index 1 : index
    %here = arith.index_cast %n : index to i64
    %larger = arith.cmpf ogt, %in, %best : f32
    %value = arith.select %larger, %in, %best : f32
    %index = arith.select %larger, %here, %place : i64
    linalg.yield %value, %index : f32, i64
  } -> (tensor<6xf32>, tensor<6xi64>)
  return %r#0, %r#1 : tensor<6xf32>, tensor<6xi64>
}

func.func @topk(%x: tensor<4x32xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
  %least = arith.constant -1.0e30 : f32
  %zero = arith.constant 0 : i32
  %values = tensor.empty() : tensor<4x3xf32>
  %indices = tensor.empty() : tensor<4x3xi32>
  %v = linalg.fill ins(%least : f32) outs(%values : tensor<4x3xf32>) -> tensor<4x3xf32>
  %i = linalg.fill ins(%zero : i32) outs(%indices : tensor<4x3xi32>) -> tensor<4x3xi32>
  %r:2 = iree_linalg_ext.topk dimension(1) ins(%x : tensor<4x32xf32>) outs(%v, %i : tensor<4x3xf32>, tensor<4x3xi32>) {
  ^bb0(%a: f32, %b: f32):
    %first = arith.cmpf ogt, %a, %b : f32
    iree_linalg_ext.yield %first : i1
  } -> tensor<4x3xf32>, tensor<4x3xi32>
  return %r#0, %r#1 : tensor<4x3xf32>, tensor<4x3xi32>
}

func.func @sort(%keys: tensor<4x32xf32>, %values: tensor<4x32xf32>) -> (tensor<4x32xf32>, tensor<4x32xf32>) {
  %r:2 = iree_linalg_ext.sort dimension(1) outs(%keys, %values : tensor<4x32xf32>, tensor<4x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %first = arith.cmpf olt, %a, %b : f32
    iree_linalg_ext.yield %first : i1
  } -> tensor<4x32xf32>, tensor<4x32xf32>
  return %r#0, %r#1 : tensor<4x32xf32>, tensor<4x32xf32>
}

func.func @scan(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x32xf32>
  %last = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x32xf32>) -> tensor<4x32xf32>
  %sum = linalg.fill ins(%zero : f32) outs(%last : tensor<4xf32>) -> tensor<4xf32>
  %r:2 = iree_linalg_ext.scan dimension(1) inclusive(true)
      ins(%x : tensor<4x32xf32>) outs(%start, %sum : tensor<4x32xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    iree_linalg_ext.yield %s : f32
  } -> tensor<4x32xf32>, tensor<4xf32>
  return %r#0 : tensor<4x32xf32>
}

func.func @scatter(%original: tensor<8x16xf32>, %updates: tensor<5x16xf32>, %indices: tensor<5x1xi32>) -> tensor<8x16xf32> {
  %r = iree_linalg_ext.scatter dimension_map = [0] unique_indices(false)
      ins(%updates, %indices : tensor<5x16xf32>, tensor<5x1xi32>) outs(%original : tensor<8x16xf32>) {
  ^bb0(%update: f32, %value: f32):
    %sum = arith.addf %update, %value : f32
    iree_linalg_ext.yield %sum : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

func.func @gather(%source: tensor<8x16xf32>, %indices: tensor<5xi32>) -> tensor<5x16xf32> {
  %empty = tensor.empty() : tensor<5x16xf32>
  %r = iree_linalg_ext.gather dimension_map = [0]
      ins(%source, %indices : tensor<8x16xf32>, tensor<5xi32>) outs(%empty : tensor<5x16xf32>) -> tensor<5x16xf32>
  return %r : tensor<5x16xf32>
}

// A table of two rows: larger indices are out of bounds.
func.func @embedding(%table: tensor<2x16xf32>, %indices: tensor<24xi64>) -> tensor<24x16xf32> {
  %empty = tensor.empty() : tensor<24x16xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%indices : tensor<24xi64>) outs(%empty : tensor<24x16xf32>) {
  ^bb0(%in: i64, %out: f32):
    %row = arith.index_cast %in : i64 to index
    %column = linalg.index 1 : index
    %value = tensor.extract %table[%row, %column] : tensor<2x16xf32>
    linalg.yield %value : f32
  } -> tensor<24x16xf32>
  return %r : tensor<24x16xf32>
}

func.func @pack(%x: tensor<30x40xf32>) -> tensor<4x3x8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x3x8x16xf32>
  %r = linalg.pack %x padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [8, 16]
      into %empty : tensor<30x40xf32> -> tensor<4x3x8x16xf32>
  return %r : tensor<4x3x8x16xf32>
}

func.func @unpack(%x: tensor<3x4x8x16xf32>) -> tensor<30x40xf32> {
  %empty = tensor.empty() : tensor<30x40xf32>
  %r = linalg.unpack %x outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 16]
      into %empty : tensor<3x4x8x16xf32> -> tensor<30x40xf32>
  return %r : tensor<30x40xf32>
}

func.func @cache(%cache: tensor<1x4x12x8xf32>, %new: tensor<4x8xf32>) -> tensor<1x4x12x8xf32> {
  %r = tensor.insert_slice %new into %cache[0, 0, 7, 0] [1, 4, 1, 8] [1, 1, 1, 1]
      : tensor<4x8xf32> into tensor<1x4x12x8xf32>
  return %r : tensor<1x4x12x8xf32>
}

func.func @bits(%x: tensor<64xi32>, %y: tensor<64xi32>) -> (tensor<64xi32>, tensor<64xi1>) {
  %many = arith.constant 0x7fffffff : i32
  %few = arith.constant 3 : i32
  %empty = tensor.empty() : tensor<64xi32>
  %flags = tensor.empty() : tensor<64xi1>
  %r:2 = linalg.generic {
      indexing_maps = [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>, affine_map<(m) -> (m)>, affine_map<(m) -> (m)>],
      iterator_types = ["parallel"]}
      ins(%x, %y : tensor<64xi32>, tensor<64xi32>) outs(%empty, %flags : tensor<64xi32>, tensor<64xi1>) {
  ^bb0(%a: i32, %b: i32, %out: i32, %flag: i1):
    %product = arith.muli %a, %many : i32
    %negative = arith.subi %few, %product : i32
    %shifted = arith.shrui %negative, %few : i32
    %mixed = arith.xori %shifted, %b : i32
    %quotient = arith.divui %mixed, %b : i32
    %below = arith.cmpi ult, %negative, %b : i32
    linalg.yield %quotient, %below : i32, i1
  } -> (tensor<64xi32>, tensor<64xi1>)
  return %r#0, %r#1 : tensor<64xi32>, tensor<64xi1>
}
