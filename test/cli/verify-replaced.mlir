// A program whose ops a spec replaces is compared with the program as it is.

// RUN: tuninglink verify %s --quiet --jobs 1 --target host --spec %S/Inputs/doubled.mlir | filecheck %s
// CHECK: the whole program {{ *}}1 {{ *}}right {{ *}}relative error

// RUN: sed 's/dense<2.0>/dense<3.0>/' %S/Inputs/doubled.mlir > %t.mlir
// RUN: not tuninglink verify %s --quiet --jobs 1 --target host --spec %t.mlir | filecheck %s --check-prefix=WRONG
// WRONG: the whole program {{ *}}1 {{ *}}wrong {{ *}}relative error 0.{{.*}}; right without the replace entries

func.func @main(%x: tensor<64x48xf32>) -> tensor<64x48xf32> {
  %empty = tensor.empty() : tensor<64x48xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x48xf32>) outs(%empty : tensor<64x48xf32>) {
  ^bb0(%in: f32, %before: f32):
    %both = arith.addf %in, %in : f32
    linalg.yield %both : f32
  } -> tensor<64x48xf32>
  return %sum : tensor<64x48xf32>
}
