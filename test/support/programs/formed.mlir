// Dispatches that are formed by hand, with operations side by side that the compiler would not put into one.

#id = affine_map<(i, j) -> (i, j)>

// Nothing but a fill, with a value that is computed.
func.func @fill(%value: tensor<f32>) -> tensor<64x64xf32> {
  %result = flow.dispatch.region -> (tensor<64x64xf32>) {
    %scalar = tensor.extract %value[] : tensor<f32>
    %empty = tensor.empty() : tensor<64x64xf32>
    %fill = linalg.fill ins(%scalar : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
    flow.return %fill : tensor<64x64xf32>
  }
  return %result : tensor<64x64xf32>
}

// Two results, neither of which depends on the other. On a CPU the fill is the root op, since it is last.
func.func @fill_and_exp(%value: tensor<f32>, %input: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %result:2 = flow.dispatch.region -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %scalar = tensor.extract %value[] : tensor<f32>
    %empty = tensor.empty() : tensor<64x64xf32>
    %exp = linalg.elementwise <exp> ins(%input : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
    %fill = linalg.fill ins(%scalar : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
    flow.return %exp, %fill : tensor<64x64xf32>, tensor<64x64xf32>
  }
  return %result#0, %result#1 : tensor<64x64xf32>, tensor<64x64xf32>
}

func.func @copy(%input: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %result = flow.dispatch.region -> (tensor<64x64xf32>) {
    %empty = tensor.empty() : tensor<64x64xf32>
    %copy = linalg.copy ins(%input : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
    flow.return %copy : tensor<64x64xf32>
  }
  return %result : tensor<64x64xf32>
}

// On a CPU what is done with the result is the root op, elsewhere the padding is.
func.func @pad_double(%input: tensor<60x60xf32>) -> tensor<64x64xf32> {
  %result = flow.dispatch.region -> (tensor<64x64xf32>) {
    %zero = arith.constant 0.0 : f32
    %pad = tensor.pad %input low[2, 2] high[2, 2] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : f32
    } : tensor<60x60xf32> to tensor<64x64xf32>
    %empty = tensor.empty() : tensor<64x64xf32>
    %double = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%pad : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) {
    ^bb0(%x: f32, %o: f32):
      %sum = arith.addf %x, %x : f32
      linalg.yield %sum : f32
    } -> tensor<64x64xf32>
    flow.return %double : tensor<64x64xf32>
  }
  return %result : tensor<64x64xf32>
}

// What only computes where to write is no root op on a GPU.
func.func @scatter_computed_rows(%updates: tensor<16x64xf32>, %rows: tensor<16x1xi32>, %into: tensor<128x64xf32>) -> tensor<128x64xf32> {
  %result = flow.dispatch.region -> (tensor<128x64xf32>) {
    %one = arith.constant 1 : i32
    %empty = tensor.empty() : tensor<16x1xi32>
    %next = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%rows : tensor<16x1xi32>) outs(%empty : tensor<16x1xi32>) {
    ^bb0(%row: i32, %o: i32):
      %sum = arith.addi %row, %one : i32
      linalg.yield %sum : i32
    } -> tensor<16x1xi32>
    %scatter = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true)
        ins(%updates, %next : tensor<16x64xf32>, tensor<16x1xi32>) outs(%into : tensor<128x64xf32>) {
    ^bb0(%new: f32, %old: f32):
      iree_linalg_ext.yield %new : f32
    } -> tensor<128x64xf32>
    flow.return %scatter : tensor<128x64xf32>
  }
  return %result : tensor<128x64xf32>
}

func.func @scatter_computed_updates(%updates: tensor<16x64xf32>, %rows: tensor<16x1xi32>, %into: tensor<128x64xf32>) -> tensor<128x64xf32> {
  %result = flow.dispatch.region -> (tensor<128x64xf32>) {
    %empty = tensor.empty() : tensor<16x64xf32>
    %double = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%updates : tensor<16x64xf32>) outs(%empty : tensor<16x64xf32>) {
    ^bb0(%x: f32, %o: f32):
      %sum = arith.addf %x, %x : f32
      linalg.yield %sum : f32
    } -> tensor<16x64xf32>
    %scatter = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true)
        ins(%double, %rows : tensor<16x64xf32>, tensor<16x1xi32>) outs(%into : tensor<128x64xf32>) {
    ^bb0(%new: f32, %old: f32):
      iree_linalg_ext.yield %new : f32
    } -> tensor<128x64xf32>
    flow.return %scatter : tensor<128x64xf32>
  }
  return %result : tensor<128x64xf32>
}

// Two matmuls: the last one counts.
func.func @chain(%a: tensor<32x64xf32>, %b: tensor<64x32xf32>, %c: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %result = flow.dispatch.region -> (tensor<32x64xf32>) {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<32x32xf32>
    %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
    %ab = linalg.matmul ins(%a, %b : tensor<32x64xf32>, tensor<64x32xf32>) outs(%fill : tensor<32x32xf32>) -> tensor<32x32xf32>
    %wide = tensor.empty() : tensor<32x64xf32>
    %fill_wide = linalg.fill ins(%zero : f32) outs(%wide : tensor<32x64xf32>) -> tensor<32x64xf32>
    %abc = linalg.matmul ins(%ab, %c : tensor<32x32xf32>, tensor<32x64xf32>) outs(%fill_wide : tensor<32x64xf32>) -> tensor<32x64xf32>
    flow.return %abc : tensor<32x64xf32>
  }
  return %result : tensor<32x64xf32>
}

// On a CPU the root op is inside the loop, elsewhere it is what comes after it.
func.func @loop(%input: tensor<64x64xf32>, %weights: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %result = flow.dispatch.region -> (tensor<64x64xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %power = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %input) -> (tensor<64x64xf32>) {
      %next = linalg.matmul ins(%sum, %weights : tensor<64x64xf32>, tensor<64x64xf32>) outs(%sum : tensor<64x64xf32>) -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    %empty = tensor.empty() : tensor<64x64xf32>
    %exp = linalg.elementwise <exp> ins(%power : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
    flow.return %exp : tensor<64x64xf32>
  }
  return %result : tensor<64x64xf32>
}

// Nothing with a loop: no root op.
func.func @element(%input: tensor<64x64xf32>, %i: index) -> tensor<f32> {
  %result = flow.dispatch.region -> (tensor<f32>) {
    %x = tensor.extract %input[%i, %i] : tensor<64x64xf32>
    %sum = arith.addf %x, %x : f32
    %scalar = tensor.from_elements %sum : tensor<f32>
    flow.return %scalar : tensor<f32>
  }
  return %result : tensor<f32>
}

// Elements that are made from their places.
func.func @iota() -> tensor<128xi32> {
  %result = flow.dispatch.region -> (tensor<128xi32>) {
    %empty = tensor.empty() : tensor<128xi32>
    %iota = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%empty : tensor<128xi32>) {
    ^bb0(%o: i32):
      %i = linalg.index 0 : index
      %place = arith.index_cast %i : index to i32
      linalg.yield %place : i32
    } -> tensor<128xi32>
    flow.return %iota : tensor<128xi32>
  }
  return %result : tensor<128xi32>
}
