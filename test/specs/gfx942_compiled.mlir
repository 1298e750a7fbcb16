// The entries of the default spec for gfx942 in whole programs, for the architecture and for SKUs that have no
// default spec of their own: each configures the dispatch of its shape, and the result compiles.
//
// RUN: tuninglink compile %s --iree-hal-target-device=hip --iree-rocm-target=gfx942 --compile-to=executable-configurations -o - | filecheck %s
// RUN: tuninglink compile %s --iree-hal-target-device=hip --iree-rocm-target=mi300x --compile-to=executable-configurations -o - | filecheck %s
// RUN: tuninglink compile %s --iree-hal-target-device=hip --iree-rocm-target=mi308x --compile-to=executable-configurations -o - | filecheck %s
// RUN: tuninglink compile %s --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t.vmfb
// RUN: iree-dump-module %t.vmfb | filecheck %s --check-prefix=COMPILED

// The compiler takes the text as it is, too.
// RUN: iree-compile %s --iree-hal-target-device=hip --iree-rocm-target=gfx942 --iree-codegen-tuning-spec-path=%S/../../specs/default/gfx942.mlir --compile-to=executable-configurations -o - | filecheck %s

// Without default specs, and for another architecture, the compiler chooses.
// RUN: tuninglink compile %s --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 --compile-to=executable-configurations -o - | filecheck %s --check-prefix=CHOSEN
// RUN: tuninglink compile %s --iree-hal-target-device=hip --iree-rocm-target=gfx90a --compile-to=executable-configurations -o - | filecheck %s --check-prefix=CHOSEN
// CHOSEN-NOT: amdgpu-waves-per-eu
// CHOSEN-NOT: workgroup = [64, 128, 0]

// COMPILED: matmul_dispatch_0

// CHECK:      func.func @matmul_dispatch_0
// CHECK-SAME:   workgroup_size = [256, 1, 1] subgroup_size = 64
// CHECK:      linalg.generic
// CHECK-SAME:   mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 64], subgroup_basis = {{\[\[}}2, 2, 1], [0, 1, 2]], workgroup = [64, 128, 0]
func.func @matmul(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>) -> tensor<2048x1280xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2048x1280xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
  %product = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>)
      outs(%filled : tensor<2048x1280xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.extf %b : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2048x1280xf32>
  return %product : tensor<2048x1280xf32>
}

// The compiler collapses the two dimensions of the batch.

// CHECK:      func.func @attention_dispatch_0_attention_20x4096x64x64x64
// CHECK-SAME:   workgroup_size = [256] subgroup_size = 64
// CHECK-SAME:   "amdgpu-waves-per-eu" = "2"
// CHECK:      iree_linalg_ext.online_attention
// CHECK-SAME:   MFMA_F32_32x32x8_F16, col_major = true>, promote_operands = [1], subgroup_basis = {{\[\[}}1, 4, 1, 1, 1], [0, 1, 2, 4]]
// CHECK-SAME:   VMFMA_F32_32x32x16_F16, col_major = true>, promote_operands = [1], subgroup_basis = {{\[\[}}1, 4, 1, 1, 1], [0, 1, 3, 4]]
// CHECK-SAME:   promote_operands = [1, 2], reduction = [0, 0, 0, 0, 64], workgroup = [1, 128, 0, 0, 0]
#query = affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>
#key = affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>
#value = affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>
#scale = affine_map<(b0, b1, m, n, k1, k2) -> ()>
#result = affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>
func.func @attention(%query: tensor<2x10x4096x64xf16>, %key: tensor<2x10x64x64xf16>,
    %value: tensor<2x10x64x64xf16>) -> tensor<2x10x4096x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<2x10x4096x64xf16>
  %result = iree_linalg_ext.attention <{indexing_maps = [#query, #key, #value, #scale, #result]}>
    ins(%query, %key, %value, %scale
        : tensor<2x10x4096x64xf16>, tensor<2x10x64x64xf16>, tensor<2x10x64x64xf16>, f16)
    outs(%empty : tensor<2x10x4096x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf16>
  return %result : tensor<2x10x4096x64xf16>
}

// A transposition of the result, which is fused, keeps them apart.

// CHECK:      func.func @attention_then_transpose_dispatch_0_attention_2x10x4096x64x64x64
// CHECK-SAME:   workgroup_size = [256] subgroup_size = 64
// CHECK-SAME:   "amdgpu-waves-per-eu" = "2"
// CHECK:      iree_linalg_ext.online_attention
// CHECK-SAME:   MFMA_F32_32x32x8_F16, col_major = true>, promote_operands = [1], subgroup_basis = {{\[\[}}1, 1, 4, 1, 1, 1], [0, 1, 2, 3, 5]]
// CHECK-SAME:   VMFMA_F32_32x32x16_F16, col_major = true>, promote_operands = [1], subgroup_basis = {{\[\[}}1, 1, 4, 1, 1, 1], [0, 1, 2, 4, 5]]
// CHECK-SAME:   promote_operands = [1, 2], reduction = [0, 0, 0, 0, 0, 64], workgroup = [1, 1, 128, 0, 0, 0]
func.func @attention_then_transpose(%query: tensor<2x10x4096x64xf16>, %key: tensor<2x10x64x64xf16>,
    %value: tensor<2x10x64x64xf16>) -> tensor<2x4096x10x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<2x10x4096x64xf16>
  %result = iree_linalg_ext.attention <{indexing_maps = [#query, #key, #value, #scale, #result]}>
    ins(%query, %key, %value, %scale
        : tensor<2x10x4096x64xf16>, tensor<2x10x64x64xf16>, tensor<2x10x64x64xf16>, f16)
    outs(%empty : tensor<2x10x4096x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf16>
  %transposed_empty = tensor.empty() : tensor<2x4096x10x64xf16>
  %transposed = linalg.transpose ins(%result : tensor<2x10x4096x64xf16>)
    outs(%transposed_empty : tensor<2x4096x10x64xf16>) permutation = [0, 2, 1, 3]
  return %transposed : tensor<2x4096x10x64xf16>
}
