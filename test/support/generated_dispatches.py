"""Random functions that look like dispatches, to compare root ops on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

T = "tensor<64x64xf32>"
ROW = "tensor<64xf32>"

PRELUDE = f"""
func.func @NAME(%a: {T}, %b: {T}, %places: tensor<64x1xi32>, %rows: tensor<64xi32>, %row: {ROW}, %flag: i1) -> {T}
    attributes {{hal.executable.target = TARGET}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %ones = arith.constant dense<1.0> : tensor<1xf32>
  %empty = tensor.empty() : {T}
  %scalar = tensor.empty() : tensor<f32>
  %indices = tensor.empty() : tensor<64xi32>
  %packed = tensor.empty() : tensor<4x4x16x16xf32>
  %no_places = tensor.empty() : tensor<64x1xi32>
  %images = tensor.empty() : tensor<1x4x6x6xf32>
  %filters = tensor.empty() : tensor<4x64x3x3xf32>
  %heads = tensor.empty() : tensor<1x64x64xf32>
"""

_ADD = """{
  ^bb0(%l: f32, %r: f32):
    %x = arith.addf %l, %r : f32
    iree_linalg_ext.yield %x : f32
  }"""
_LESS = """{
  ^bb0(%l: f32, %r: f32):
    %x = arith.cmpf olt, %l, %r : f32
    iree_linalg_ext.yield %x : i1
  }"""
_DOUBLE = """{
  ^bb0(%l: f32, %r: f32):
    %x = arith.addf %l, %l : f32
    linalg.yield %x : f32
  }"""
_PARALLEL = 'iterator_types = ["parallel", "parallel"]'
_MAPS = "#query, #key, #value, #scale, #head"

# Each takes IN and makes OUT, both of the type T; no other result is used, but IN always is, or the compiler
# would remove what made it.
PIECES = {
    "fill": f"""OUTx = tensor.extract IN[%c0, %c1] : {T}
  OUT = linalg.fill ins(OUTx : f32) outs(%empty : {T}) -> {T}""",
    "copy": f"OUT = linalg.copy ins(IN : {T}) outs(%empty : {T}) -> {T}",
    "map": f"OUT = linalg.map {{ math.exp }} ins(IN : {T}) outs(%empty : {T})",
    "elementwise": f"OUT = linalg.elementwise <exp> ins(IN : {T}) outs(%empty : {T}) -> {T}",
    "transpose": f"OUT = linalg.transpose ins(IN : {T}) outs(%empty : {T}) permutation = [1, 0]",
    "broadcast": f"""OUTx = tensor.extract_slice IN[0, 0] [1, 64] [1, 1] : {T} to {ROW}
  OUT = linalg.broadcast ins(OUTx : {ROW}) outs(%empty : {T}) dimensions = [1]""",
    "parallel": f"""OUT = linalg.generic {{indexing_maps = [#swapped, #id], {_PARALLEL}}}
      ins(IN : {T}) outs(%empty : {T}) {_DOUBLE} -> {T}""",
    "reduction": f"""OUTx = linalg.generic {{indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]}}
      ins(IN : {T}) outs(%row : {ROW}) {_DOUBLE.replace("%l, %l", "%l, %r")} -> {ROW}
  OUT = tensor.insert_slice OUTx into IN[0, 0] [1, 64] [1, 1] : {ROW} into {T}""",
    "reduce": f"""OUTx = linalg.reduce {{ arith.addf }} ins(IN : {T}) outs(%row : {ROW}) dimensions = [1]
  OUT = linalg.broadcast ins(OUTx : {ROW}) outs(%empty : {T}) dimensions = [1]""",
    "matmul": f"""OUTx = linalg.fill ins(%zero : f32) outs(%empty : {T}) -> {T}
  OUT = linalg.matmul ins(IN, %b : {T}, {T}) outs(OUTx : {T}) -> {T}""",
    "contract": f"""OUT = linalg.contract indexing_maps = [#lhs, #rhs, #out]
      ins(IN, %b : {T}, {T}) outs(%empty : {T}) -> {T}""",
    "matvec": f"""OUTx = linalg.matvec ins(IN, %row : {T}, {ROW}) outs(%row : {ROW}) -> {ROW}
  OUT = tensor.insert_slice OUTx into IN[0, 0] [1, 64] [1, 1] : {ROW} into {T}""",
    "dot": f"""OUTx = tensor.extract_slice IN[0, 0] [1, 64] [1, 1] : {T} to {ROW}
  OUTy = linalg.dot ins(OUTx, %row : {ROW}, {ROW}) outs(%scalar : tensor<f32>) -> tensor<f32>
  OUT = tensor.insert_slice OUTy into IN[0, 0] [1, 1] [1, 1] : tensor<f32> into {T}""",
    "convolution": f"""OUTx = tensor.expand_shape IN [[0, 1], [2, 3]] output_shape [1, 64, 8, 8] : {T} into tensor<1x64x8x8xf32>
  OUTy = linalg.conv_2d_nchw_fchw {{dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}}
      ins(OUTx, %filters : tensor<1x64x8x8xf32>, tensor<4x64x3x3xf32>) outs(%images : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  OUTz = tensor.extract_slice OUTy[0, 0, 0, 0] [1, 1, 6, 6] [1, 1, 1, 1] : tensor<1x4x6x6xf32> to tensor<6x6xf32>
  OUT = tensor.insert_slice OUTz into IN[0, 0] [6, 6] [1, 1] : tensor<6x6xf32> into {T}""",
    "pack": f"""OUTx = linalg.pack IN inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %packed : {T} -> tensor<4x4x16x16xf32>
  OUT = linalg.unpack OUTx inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %empty : tensor<4x4x16x16xf32> -> {T}""",
    "pad": f"""OUTx = tensor.extract_slice IN[0, 0] [60, 60] [1, 1] : {T} to tensor<60x60xf32>
  OUT = tensor.pad OUTx low[2, 2] high[2, 2] {{
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  }} : tensor<60x60xf32> to {T}""",
    "concat": f"""OUTx = tensor.extract_slice IN[0, 0] [32, 64] [1, 1] : {T} to tensor<32x64xf32>
  OUT = tensor.concat dim(0) OUTx, OUTx : (tensor<32x64xf32>, tensor<32x64xf32>) -> {T}""",
    "map_load": f"""OUT = iree_linalg_ext.map_load IN into %empty {{
  ^bb0(%i: index, %j: index):
    iree_linalg_ext.yield %j, %i, %zero : index, index, f32
  }} : {T} into {T} -> {T}""",
    "map_store": f"""OUT = iree_linalg_ext.map_store IN into %empty {{
  ^bb0(%i: index, %j: index):
    iree_linalg_ext.yield %j, %i, %flag : index, index, i1
  }} : {T} into {T} -> {T}""",
    "scatter": f"""OUT = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true)
      ins(IN, %places : {T}, tensor<64x1xi32>) outs(%b : {T}) {_ADD} -> {T}""",
    "scatter_computed": f"""OUTx = linalg.generic {{indexing_maps = [#id, #id], {_PARALLEL}}}
      ins(%places : tensor<64x1xi32>) outs(%no_places : tensor<64x1xi32>) {{
  ^bb0(%l: i32, %r: i32):
    %x = arith.addi %l, %l : i32
    linalg.yield %x : i32
  }} -> tensor<64x1xi32>
  OUT = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true)
      ins(IN, OUTx : {T}, tensor<64x1xi32>) outs(%b : {T}) {_ADD} -> {T}""",
    "gather": f"""OUT = iree_linalg_ext.gather dimension_map = [0] ins(IN, %rows : {T}, tensor<64xi32>)
      outs(%empty : {T}) -> {T}""",
    "sort": f"OUT = iree_linalg_ext.sort dimension(1) outs(IN : {T}) {_LESS} -> {T}",
    "scan": f"""OUT, OUTx = iree_linalg_ext.scan dimension(1) inclusive(true) ins(IN : {T})
      outs(%empty, %row : {T}, {ROW}) {_ADD} -> {T}, {ROW}""",
    "arg_compare": f"""OUTx, OUTy = iree_linalg_ext.arg_compare dimension(1) ins(IN : {T})
      outs(%row, %indices : {ROW}, tensor<64xi32>) {_LESS} -> {ROW}, tensor<64xi32>
  OUT = tensor.insert_slice OUTx into IN[0, 0] [1, 64] [1, 1] : {ROW} into {T}""",
    "fft": f"""OUT, OUTx = iree_linalg_ext.fft ins(%c1, %ones, %ones : index, tensor<1xf32>, tensor<1xf32>)
      outs(IN, %b : {T}, {T}) : {T}, {T}""",
    "attention": f"""OUTx = tensor.expand_shape IN [[0, 1], [2]] output_shape [1, 64, 64] : {T} into tensor<1x64x64xf32>
  OUTy = iree_linalg_ext.attention <{{indexing_maps = [{_MAPS}]}}>
      ins(OUTx, OUTx, OUTx, %zero : tensor<1x64x64xf32>, tensor<1x64x64xf32>, tensor<1x64x64xf32>, f32)
      outs(%heads : tensor<1x64x64xf32>) {{
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  }} -> tensor<1x64x64xf32>
  OUT = tensor.collapse_shape OUTy [[0, 1], [2]] : tensor<1x64x64xf32> into {T}""",
    "loop": f"""OUT = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = IN) -> ({T}) {{
    %next = linalg.matmul ins(%sum, %b : {T}, {T}) outs(%sum : {T}) -> {T}
    scf.yield %next : {T}
  }}""",
    "condition": f"""OUT = scf.if %flag -> ({T}) {{
    %then = linalg.elementwise <exp> ins(IN : {T}) outs(%empty : {T}) -> {T}
    scf.yield %then : {T}
  }} else {{
    scf.yield IN : {T}
  }}""",
}

ALIASES = """
#id = affine_map<(i, j) -> (i, j)>
#swapped = affine_map<(i, j) -> (j, i)>
#first = affine_map<(i, j) -> (i)>
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#query = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#key = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#value = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#scale = affine_map<(b, m, n, k1, k2) -> ()>
#head = affine_map<(b, m, n, k1, k2) -> (b, m, n)>
"""


def random_functions(random: Random, count: int, target: str) -> str:
    """Return `count` functions, each a chain of up to five random pieces, compiled for `target`."""
    functions = [
        _function(f"f{number}", random.choices(list(PIECES), k=random.randint(1, 5)), target)
        for number in range(count)
    ]
    return ALIASES + "\n".join(functions)


def _function(name: str, pieces: list[str], target: str) -> str:
    lines = [PRELUDE.replace("NAME", name).replace("TARGET", target)]
    value = "%a"
    for number, piece in enumerate(pieces):
        result = f"%v{number}"
        lines.append(f"  // {piece}\n  {PIECES[piece].replace('OUT', result).replace('IN', value)}")
        value = result
    return "\n".join([*lines, f"  return {value} : {T}\n}}"])
