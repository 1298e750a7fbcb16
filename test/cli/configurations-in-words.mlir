// What is wrong with a configuration is said in words before the compiler fails on it or ignores it: by `check`,
// `compile` and `explain`, at the place in the spec.

// RUN: rm -rf %t && mkdir -p %t
// RUN: cp %S/Inputs/mma_spec.mlir %t/right.mlir
// RUN: sed 's/promote_operands/promot_operands/' %t/right.mlir > %t/knob.mlir
// RUN: sed 's/"compilation_info"/"compilation_inf"/' %t/right.mlir > %t/name.mlir
// RUN: sed 's/workgroup = .64, 64, 0./workgroup = [64, 64]/' %t/right.mlir > %t/rank.mlir
// RUN: sed 's/MFMA_F32_16x16x16_F16/MFMA_F32_16x16x16_BF16/' %t/right.mlir > %t/type.mlir
// RUN: sed 's/lhs_type = f16/lhs_type = bf16/' %t/right.mlir > %t/lhs.mlir

// What is said below, by `check` of all these.
// RUN: not tuninglink check %t/knob.mlir %t/name.mlir %t/rank.mlir %t/type.mlir %t/lhs.mlir 2>&1 | filecheck %s --check-prefixes=KNOB,NAME,RANK,TYPE,LHS
// RUN: tuninglink check %t/knob.mlir %t/name.mlir %t/rank.mlir >%t/out 2>&1

// Nothing is said of what is right.
// RUN: tuninglink compile %s --spec %t/right.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 --compile-to=executable-configurations -o %t/out 2>%t/silence
// RUN: not grep . %t/silence
// RUN: tuninglink-opt %t/right.mlir --tuninglink-verify-specs -o %t/out 2>%t/silence
// RUN: not grep . %t/silence

// A misspelt knob.
// RUN: tuninglink compile %s --spec %t/knob.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 --compile-to=executable-configurations -o %t/out 2>&1 | filecheck %s --check-prefix=KNOB
// KNOB: knob.mlir:{{[0-9]+}}:{{[0-9]+}}: warning: entry 'match_matmul': code generation reads no 'promot_operands'; did you mean 'promote_operands'?

// An annotation that the compiler does not read: the entry matches, and configures nothing.
// RUN: tuninglink compile %s --spec %t/name.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 --compile-to=executable-configurations -o %t/out 2>&1 | filecheck %s --check-prefixes=NAME,NOTHING
// RUN: tuninglink explain %s --spec %t/name.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 2>&1 | filecheck %s --check-prefixes=NAME,NOTHING,NEAREST
// NAME: name.mlir:{{[0-9]+}}:{{[0-9]+}}: warning: action '@configure' sets 'compilation_inf', which the compiler does not read: what its entries match stays as it is; did you mean 'compilation_info'?
// NOTHING: warning: spec '{{.*}}name.mlir' configured nothing: its actions set no configuration
// NEAREST: matched {{.*}}@match_matmul {{.*}}matched and configured nothing: its action annotates 'compilation_inf' only

// Sizes for another number of loops.
// RUN: tuninglink compile %s --spec %t/rank.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 --compile-to=executable-configurations -o %t/out 2>&1 | filecheck %s --check-prefix=RANK
// RANK: warning: entry 'match_matmul': 'workgroup' has 2 sizes for the 3 loops that the matcher requires
// RANK: note: there is one size for each loop, 0 for one that is not tiled

// An intrinsic for other types: code generation fails.
// RUN: not tuninglink compile %s --spec %t/type.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t/out 2>&1 | filecheck %s --check-prefix=TYPE
// TYPE: {{error|warning}}: entry 'match_matmul': 'MFMA_F32_16x16x16_BF16' multiplies bf16·bf16, the matcher requires f16·f16

// An lhs of another type than the model has: the entry matches nothing, and what is wrong with it is said all the same.
// RUN: tuninglink compile %s --spec %t/lhs.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 --compile-to=executable-configurations -o %t/out 2>&1 | filecheck %s --check-prefix=LHS
// LHS: {{error|warning}}: entry 'match_matmul': 'MFMA_F32_16x16x16_F16' multiplies f16·f16, the matcher requires bf16·f16
// LHS: note: choose an intrinsic for the types that are matched

// An intrinsic of another vendor, of another architecture, and a pipeline of another backend.
// RUN: not tuninglink check %t/right.mlir --target sm_80 2>&1 | filecheck %s --check-prefix=VENDOR
// RUN: tuninglink compile %s --spec %t/right.mlir --iree-hal-target-device=cuda --iree-cuda-target=sm_80 --compile-to=executable-configurations -o %t/out 2>&1 | filecheck %s --check-prefixes=VENDOR,UNAPPLIED
// RUN: tuninglink explain %s --spec %t/right.mlir --iree-hal-target-device=cuda --iree-cuda-target=sm_80 -o %t/out 2>&1 | filecheck %s --check-prefixes=VENDOR,UNAPPLIED
// VENDOR: right.mlir:{{[0-9]+}}:{{[0-9]+}}: {{error|warning}}: entry 'match_matmul'{{.*}}: 'MFMA_F32_16x16x16_F16' is not an intrinsic of sm_80; for f16·f16→f32 there is 'NV_MMA_SYNC_F32_16x8x16_F16'
// UNAPPLIED: configured nothing: none of its entries is for sm_80
// RUN: not tuninglink check %t/right.mlir --target gfx1100 2>&1 | filecheck %s --check-prefix=ARCHITECTURE
// ARCHITECTURE: 'MFMA_F32_16x16x16_F16' is not an intrinsic of gfx1100; for f16·f16→f32 there is 'WMMAR3_F32_16x16x16_F16'
// RUN: not tuninglink check %t/right.mlir --target znver4 2>&1 | filecheck %s --check-prefix=PIPELINE
// PIPELINE: '#iree_gpu.pipeline<TileAndFuse>' is not a pipeline of llvm-cpu

// Bound to another target it is not asked about.
// RUN: tuninglink link gfx942=%t/right.mlir -o %t/bound.mlir
// RUN: tuninglink check %t/bound.mlir --target sm_80 2>&1 | filecheck %s --check-prefix=BOUND
// BOUND-NOT: error
// BOUND: {{[0-9]+}} {{ *}}yes {{ *}}- {{ *}}- {{ *}}yes

func.func @matmul(%a: tensor<128x256xf16>, %b: tensor<256x512xf16>) -> tensor<128x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x512xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x512xf32>) -> tensor<128x512xf32>
  %product = linalg.matmul ins(%a, %b : tensor<128x256xf16>, tensor<256x512xf16>)
      outs(%filled : tensor<128x512xf32>) -> tensor<128x512xf32>
  return %product : tensor<128x512xf32>
}
