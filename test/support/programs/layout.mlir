// Changes of layout, alone and beside something that computes.

#id = affine_map<(i, j) -> (i, j)>

func.func @pack(%input: tensor<128x256xf32>) -> tensor<8x16x16x16xf32> {
  %empty = tensor.empty() : tensor<8x16x16x16xf32>
  %result = linalg.pack %input inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %empty : tensor<128x256xf32> -> tensor<8x16x16x16xf32>
  return %result : tensor<8x16x16x16xf32>
}

func.func @unpack(%input: tensor<8x16x16x16xf32>) -> tensor<128x256xf32> {
  %empty = tensor.empty() : tensor<128x256xf32>
  %result = linalg.unpack %input inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %empty : tensor<8x16x16x16xf32> -> tensor<128x256xf32>
  return %result : tensor<128x256xf32>
}

func.func @pack_padding(%input: tensor<120x250xf32>) -> tensor<8x16x16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x16x16x16xf32>
  %result = linalg.pack %input padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %empty : tensor<120x250xf32> -> tensor<8x16x16x16xf32>
  return %result : tensor<8x16x16x16xf32>
}

func.func @exp_pack(%input: tensor<128x256xf32>) -> tensor<8x16x16x16xf32> {
  %plain = tensor.empty() : tensor<128x256xf32>
  %exp = linalg.elementwise <exp> ins(%input : tensor<128x256xf32>) outs(%plain : tensor<128x256xf32>) -> tensor<128x256xf32>
  %empty = tensor.empty() : tensor<8x16x16x16xf32>
  %result = linalg.pack %exp inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %empty : tensor<128x256xf32> -> tensor<8x16x16x16xf32>
  return %result : tensor<8x16x16x16xf32>
}

func.func @unpack_add(%input: tensor<8x16x16x16xf32>, %bias: tensor<256xf32>) -> tensor<128x256xf32> {
  %empty = tensor.empty() : tensor<128x256xf32>
  %plain = linalg.unpack %input inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %empty : tensor<8x16x16x16xf32> -> tensor<128x256xf32>
  %result = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (j)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%plain, %bias : tensor<128x256xf32>, tensor<256xf32>) outs(%empty : tensor<128x256xf32>) {
  ^bb0(%x: f32, %b: f32, %o: f32):
    %sum = arith.addf %x, %b : f32
    linalg.yield %sum : f32
  } -> tensor<128x256xf32>
  return %result : tensor<128x256xf32>
}

func.func @reduce_pack(%input: tensor<128x256x32xf32>) -> tensor<8x16x16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %plain = tensor.empty() : tensor<128x256xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%plain : tensor<128x256xf32>) -> tensor<128x256xf32>
  %sum = linalg.reduce { arith.addf } ins(%input : tensor<128x256x32xf32>) outs(%fill : tensor<128x256xf32>) dimensions = [2]
  %empty = tensor.empty() : tensor<8x16x16x16xf32>
  %result = linalg.pack %sum inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %empty : tensor<128x256xf32> -> tensor<8x16x16x16xf32>
  return %result : tensor<8x16x16x16xf32>
}

func.func @mmt4d(%lhs: tensor<8x16x16x4xf32>, %rhs: tensor<8x16x16x4xf32>) -> tensor<8x8x16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8x16x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8x16x16xf32>) -> tensor<8x8x16x16xf32>
  %result = linalg.mmt4d ins(%lhs, %rhs : tensor<8x16x16x4xf32>, tensor<8x16x16x4xf32>) outs(%fill : tensor<8x8x16x16xf32>) -> tensor<8x8x16x16xf32>
  return %result : tensor<8x8x16x16xf32>
}
