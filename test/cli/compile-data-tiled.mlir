// A spec that was tuned without data tiling does not keep a data-tiled program from compiling: its entries are kept
// from operations with encodings, with a warning that names them. Without data tiling they apply.

// RUN: tuninglink compile %s -o %t.tiled.vmfb --spec %S/Inputs/data_tiled_spec.mlir --no-default-specs --iree-opt-data-tiling --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=x86-64-v4 2>&1 | filecheck %s
// CHECK: warning: entry '@match_matmul' of '{{.*}}data_tiled_spec.mlir' is not applied to @main_dispatch_0::@embedded_elf_x86_64
// CHECK-SAME: operations there are data-tiled
// CHECK-NEXT: note: specs are applied before the compiler chooses the layout of encodings
// RUN: iree-compile %s -o %t.stock.vmfb --iree-opt-data-tiling --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=x86-64-v4
// RUN: cmp %t.tiled.vmfb %t.stock.vmfb

// RUN: tuninglink explain %s --spec %S/Inputs/data_tiled_spec.mlir --no-default-specs --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=x86-64-v4 2>&1 | filecheck %s --check-prefix=APPLIES
// APPLIES-NOT: warning
// APPLIES: @main_dispatch_0::@embedded_elf_x86_64 {{ *}}tuned

func.func @main(%a: tensor<128x256xf32>, %b: tensor<256x512xf32>) -> tensor<128x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x512xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x512xf32>) -> tensor<128x512xf32>
  %product = linalg.matmul ins(%a, %b : tensor<128x256xf32>, tensor<256x512xf32>) outs(%start : tensor<128x512xf32>) -> tensor<128x512xf32>
  return %product : tensor<128x512xf32>
}
