func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %sum = arith.addf %x, %x : tensor<?xf32>
  return %sum : tensor<?xf32>
}
