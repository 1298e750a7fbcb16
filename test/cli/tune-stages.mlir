// Parts of tuning: the sizes of spaces, and candidates of a part of the spaces that are drawn, compiled or measured.

// No device is needed to draw and to compile.
// RUN: rm -rf %t && mkdir -p %t
// RUN: tuninglink tune %s --dry-run --iree-hal-target-device=hip --iree-rocm-target=gfx942 | filecheck %s --check-prefix=SIZES
// SIZES: dispatch {{ *}}problem {{ *}}calls {{ *}}pipeline {{ *}}constraints {{ *}}knobs {{ *}}size {{ *}}how
// SIZES: @product_dispatch_0 {{ *}}contraction 128x64x64 f16xf16xf32 {{ *}}1 {{ *}}TileAndFuse {{ *}}the compiler {{ *}}11 {{ *}}{{[0-9,]+}} {{ *}}counted
// SIZES: VectorDistribute {{ *}}the GPU provider {{ *}}10 {{ *}}{{[0-9,]+}} {{ *}}counted

// The name of a function may have slashes, as an imported model's.
// RUN: sed 's|@product|@"a/b/product"|' %s | tuninglink tune - --dry-run --pipeline VectorDistribute --iree-hal-target-device=hip --iree-rocm-target=gfx942 | filecheck %s --check-prefix=SLASHES
// SLASHES: @a/b/product_dispatch_0 {{ *}}contraction 128x64x64 f16xf16xf32

// RUN: tuninglink tune %s --dry-run --pipeline VectorDistribute --knob workgroup[0]=64 --iree-hal-target-device=hip --iree-rocm-target=gfx942 | filecheck %s --check-prefix=PART
// PART-NOT: TileAndFuse
// PART: VectorDistribute {{ *}}the compiler

// RUN: tuninglink tune %s --stop-after candidates --trials 3 --knob workgroup[0]=64 --knob mma_kind=MFMA_F32_32x32x8_F16 --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t/drawn | filecheck %s --check-prefix=DRAWN
// DRAWN: 1 {{ *}}drawn {{.*}}mma_kind = MFMA_F32_32x32x8_F16
// DRAWN: 2 {{ *}}drawn {{.*}}mma_kind = MFMA_F32_32x32x8_F16
// DRAWN: 3 {{ *}}drawn {{.*}}mma_kind = MFMA_F32_32x32x8_F16
// DRAWN-NOT: drawn
// RUN: filecheck %s --input-file=%t/drawn/product_dispatch_0-3.mlir --check-prefix=SPEC
// SPEC: mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16>
// SPEC: workgroup = [64,
// RUN: not test -e %t/drawn/product_dispatch_0-4.mlir

// RUN: tuninglink tune %s --jobs 1 --stop-after compilation --trials 2 --pipeline VectorDistribute --iree-hal-target-device=hip --iree-rocm-target=gfx942 | filecheck %s --check-prefix=COMPILED
// COMPILED: @product_dispatch_0 {{ *}}1 {{ *}}compiles {{ *}}VectorDistribute
// COMPILED: @product_dispatch_0 {{ *}}2 {{ *}}compiles {{ *}}VectorDistribute

// The candidates of a run on a device, the compiler's choice first.
// RUN: tuninglink tune %s --jobs 1 --stop-after measurement --trials 2 --search random --knob enable_loop_peeling=off --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --database %t/tuning.db --report %t/report -o %t/measured 2>%t/progress | filecheck %s --check-prefix=MEASURED
// MEASURED: @product_dispatch_0 {{ *}}1 {{ *}}{{[0-9.]+}} us
// MEASURED: @product_dispatch_0 {{ *}}2 {{.*}}enable_loop_peeling = off
// MEASURED: @product_dispatch_0 {{ *}}3 {{.*}}enable_loop_peeling = off
// RUN: filecheck %s --input-file=%t/progress --check-prefix=ENDED
// ENDED: undecided: the run ends after measurement
// RUN: test -e %t/measured/product_dispatch_0-1.mlir
// RUN: test -e %t/report/report.json
// RUN: tuninglink database show %t/tuning.db | filecheck %s --check-prefix=KEPT
// KEPT: contraction 128x64x64

// Mistakes name what is possible.
// RUN: not tuninglink tune %s --dry-run --knob workgrup[0]=64 --iree-hal-target-device=hip --iree-rocm-target=gfx942 2>&1 | filecheck %s --check-prefix=NAME
// NAME: error: unknown knob 'workgrup[0]'; did you mean 'workgroup[0]'?
// NAME-NEXT: note: its knobs are {{.*}}workgroup[0]{{.*}}mma_kind
// RUN: not tuninglink tune %s --stop-after candidates --knob mma_kind=MFMA_F32_16x16x32_F16 --iree-hal-target-device=hip --iree-rocm-target=gfx942 2>&1 | filecheck %s --check-prefix=VALUE
// VALUE: error: knob 'mma_kind' cannot be MFMA_F32_16x16x32_F16
// VALUE-NEXT: note: possible values: {{.*}}MFMA_F32_16x16x16_F16
// RUN: not tuninglink tune %s --jobs 1 --knob distribution[0]=3000 --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --flag-sets none 2>&1 | filecheck %s --check-prefix=TILE
// TILE: error: knob 'distribution[0]' cannot be 3000
// TILE-NEXT: note: possible values: 0, 1, 2, 4

func.func @product(%a: tensor<128x64xf16>, %b: tensor<64x64xf16>) -> tensor<128x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x64xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x64xf32>) -> tensor<128x64xf32>
  %product = linalg.matmul ins(%a, %b : tensor<128x64xf16>, tensor<64x64xf16>) outs(%filled : tensor<128x64xf32>) -> tensor<128x64xf32>
  return %product : tensor<128x64xf32>
}
