// The entries for attention in the default spec for gfx942, applied by the compiler's interpreter: each to its
// own shape, and to shapes and types that differ in one thing.
//
// RUN: tuninglink-opt %s --pass-pipeline='builtin.module(tuninglink-materialize-specs,iree-codegen-materialize-user-configs)' | iree-opt --mlir-print-local-scope | filecheck %s

module attributes {hal.executable.target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {
  iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "",
    wgp = <compute = fp32, storage = b32, subgroup = none, subgroup_size_choices = [64],
           max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024,
           max_workgroup_memory_bytes = 65536,
           max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>} {

//===----------------------------------------------------------------------===//
// A batch of two dimensions
//===----------------------------------------------------------------------===//

// The shape of the entry.

// CHECK-LABEL: func.func @two_own_shape
// CHECK-SAME:    pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256] subgroup_size = 64
// CHECK-SAME:    "amdgpu-waves-per-eu" = "2", "denormal-fp-math-f32" = "preserve-sign"
// CHECK:         iree_linalg_ext.online_attention
// CHECK-SAME:      pv_attrs =
// CHECK-SAME:      mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16, col_major = true>, promote_operands = [1], subgroup_basis = {{\[\[}}1, 1, 4, 1, 1, 1], [0, 1, 2, 3, 5]]
// CHECK-SAME:      qk_attrs =
// CHECK-SAME:      mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_32x32x16_F16, col_major = true>, promote_operands = [1], subgroup_basis = {{\[\[}}1, 1, 4, 1, 1, 1], [0, 1, 2, 4, 5]]
// CHECK-SAME:      promote_operands = [1, 2], reduction = [0, 0, 0, 0, 0, 64], workgroup = [1, 1, 128, 0, 0, 0]
func.func @two_own_shape(%query: tensor<2x10x4096x64xf16>, %key: tensor<2x10x64x64xf16>, %value: tensor<2x10x64x64xf16>, %scale: f16,
    %out: tensor<2x10x4096x64xf32>, %max: tensor<2x10x4096xf32>, %sum: tensor<2x10x4096xf32>) -> tensor<2x10x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>, affine_map<(b0, b1, m, n, k1, k2) -> ()>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x64xf16>, tensor<2x10x64x64xf16>, tensor<2x10x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>
  return %0#0 : tensor<2x10x4096x64xf32>
}

// Any batch will do, and every multiple of 128 rows.

// CHECK-LABEL: func.func @two_other_batch
// CHECK-SAME:    pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256] subgroup_size = 64
// CHECK-SAME:    "amdgpu-waves-per-eu" = "2", "denormal-fp-math-f32" = "preserve-sign"
// CHECK:         iree_linalg_ext.online_attention
// CHECK-SAME:      pv_attrs =
// CHECK-SAME:      mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16, col_major = true>, promote_operands = [1], subgroup_basis = {{\[\[}}1, 1, 4, 1, 1, 1], [0, 1, 2, 3, 5]]
// CHECK-SAME:      qk_attrs =
// CHECK-SAME:      mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_32x32x16_F16, col_major = true>, promote_operands = [1], subgroup_basis = {{\[\[}}1, 1, 4, 1, 1, 1], [0, 1, 2, 4, 5]]
// CHECK-SAME:      promote_operands = [1, 2], reduction = [0, 0, 0, 0, 0, 64], workgroup = [1, 1, 128, 0, 0, 0]
func.func @two_other_batch(%query: tensor<1x3x256x64xf16>, %key: tensor<1x3x64x64xf16>, %value: tensor<1x3x64x64xf16>, %scale: f16,
    %out: tensor<1x3x256x64xf32>, %max: tensor<1x3x256xf32>, %sum: tensor<1x3x256xf32>) -> tensor<1x3x256x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>, affine_map<(b0, b1, m, n, k1, k2) -> ()>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>]}>
      ins(%query, %key, %value, %scale : tensor<1x3x256x64xf16>, tensor<1x3x64x64xf16>, tensor<1x3x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<1x3x256x64xf32>, tensor<1x3x256xf32>, tensor<1x3x256xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<1x3x256x64xf32>, tensor<1x3x256xf32>, tensor<1x3x256xf32>
  return %0#0 : tensor<1x3x256x64xf32>
}

// One dimension differs.

// CHECK-LABEL: func.func @two_other_m
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @two_other_m(%query: tensor<2x10x4160x64xf16>, %key: tensor<2x10x64x64xf16>, %value: tensor<2x10x64x64xf16>, %scale: f16,
    %out: tensor<2x10x4160x64xf32>, %max: tensor<2x10x4160xf32>, %sum: tensor<2x10x4160xf32>) -> tensor<2x10x4160x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>, affine_map<(b0, b1, m, n, k1, k2) -> ()>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4160x64xf16>, tensor<2x10x64x64xf16>, tensor<2x10x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<2x10x4160x64xf32>, tensor<2x10x4160xf32>, tensor<2x10x4160xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4160x64xf32>, tensor<2x10x4160xf32>, tensor<2x10x4160xf32>
  return %0#0 : tensor<2x10x4160x64xf32>
}

// CHECK-LABEL: func.func @two_other_n
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @two_other_n(%query: tensor<2x10x4096x64xf16>, %key: tensor<2x10x64x64xf16>, %value: tensor<2x10x128x64xf16>, %scale: f16,
    %out: tensor<2x10x4096x128xf32>, %max: tensor<2x10x4096xf32>, %sum: tensor<2x10x4096xf32>) -> tensor<2x10x4096x128xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>, affine_map<(b0, b1, m, n, k1, k2) -> ()>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x64xf16>, tensor<2x10x64x64xf16>, tensor<2x10x128x64xf16>, f16)
      outs(%out, %max, %sum : tensor<2x10x4096x128xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x128xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>
  return %0#0 : tensor<2x10x4096x128xf32>
}

// CHECK-LABEL: func.func @two_other_k1
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @two_other_k1(%query: tensor<2x10x4096x128xf16>, %key: tensor<2x10x64x128xf16>, %value: tensor<2x10x64x64xf16>, %scale: f16,
    %out: tensor<2x10x4096x64xf32>, %max: tensor<2x10x4096xf32>, %sum: tensor<2x10x4096xf32>) -> tensor<2x10x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>, affine_map<(b0, b1, m, n, k1, k2) -> ()>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x128xf16>, tensor<2x10x64x128xf16>, tensor<2x10x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>
  return %0#0 : tensor<2x10x4096x64xf32>
}

// CHECK-LABEL: func.func @two_other_k2
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @two_other_k2(%query: tensor<2x10x4096x64xf16>, %key: tensor<2x10x128x64xf16>, %value: tensor<2x10x64x128xf16>, %scale: f16,
    %out: tensor<2x10x4096x64xf32>, %max: tensor<2x10x4096xf32>, %sum: tensor<2x10x4096xf32>) -> tensor<2x10x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>, affine_map<(b0, b1, m, n, k1, k2) -> ()>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x64xf16>, tensor<2x10x128x64xf16>, tensor<2x10x64x128xf16>, f16)
      outs(%out, %max, %sum : tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>
  return %0#0 : tensor<2x10x4096x64xf32>
}

// One type differs.

// CHECK-LABEL: func.func @two_other_query_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @two_other_query_type(%query: tensor<2x10x4096x64xbf16>, %key: tensor<2x10x64x64xf16>, %value: tensor<2x10x64x64xf16>, %scale: f16,
    %out: tensor<2x10x4096x64xf32>, %max: tensor<2x10x4096xf32>, %sum: tensor<2x10x4096xf32>) -> tensor<2x10x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>, affine_map<(b0, b1, m, n, k1, k2) -> ()>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x64xbf16>, tensor<2x10x64x64xf16>, tensor<2x10x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>
  return %0#0 : tensor<2x10x4096x64xf32>
}

// CHECK-LABEL: func.func @two_other_key_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @two_other_key_type(%query: tensor<2x10x4096x64xf16>, %key: tensor<2x10x64x64xbf16>, %value: tensor<2x10x64x64xf16>, %scale: f16,
    %out: tensor<2x10x4096x64xf32>, %max: tensor<2x10x4096xf32>, %sum: tensor<2x10x4096xf32>) -> tensor<2x10x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>, affine_map<(b0, b1, m, n, k1, k2) -> ()>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x64xf16>, tensor<2x10x64x64xbf16>, tensor<2x10x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>
  return %0#0 : tensor<2x10x4096x64xf32>
}

// CHECK-LABEL: func.func @two_other_value_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @two_other_value_type(%query: tensor<2x10x4096x64xf16>, %key: tensor<2x10x64x64xf16>, %value: tensor<2x10x64x64xbf16>, %scale: f16,
    %out: tensor<2x10x4096x64xf32>, %max: tensor<2x10x4096xf32>, %sum: tensor<2x10x4096xf32>) -> tensor<2x10x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>, affine_map<(b0, b1, m, n, k1, k2) -> ()>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x64xf16>, tensor<2x10x64x64xf16>, tensor<2x10x64x64xbf16>, f16)
      outs(%out, %max, %sum : tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>
  return %0#0 : tensor<2x10x4096x64xf32>
}

// CHECK-LABEL: func.func @two_other_scale_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @two_other_scale_type(%query: tensor<2x10x4096x64xf16>, %key: tensor<2x10x64x64xf16>, %value: tensor<2x10x64x64xf16>, %scale: f32,
    %out: tensor<2x10x4096x64xf32>, %max: tensor<2x10x4096xf32>, %sum: tensor<2x10x4096xf32>) -> tensor<2x10x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>, affine_map<(b0, b1, m, n, k1, k2) -> ()>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x64xf16>, tensor<2x10x64x64xf16>, tensor<2x10x64x64xf16>, f32)
      outs(%out, %max, %sum : tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>
  return %0#0 : tensor<2x10x4096x64xf32>
}

// CHECK-LABEL: func.func @two_other_output_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @two_other_output_type(%query: tensor<2x10x4096x64xf16>, %key: tensor<2x10x64x64xf16>, %value: tensor<2x10x64x64xf16>, %scale: f16,
    %out: tensor<2x10x4096x64xf16>, %max: tensor<2x10x4096xf32>, %sum: tensor<2x10x4096xf32>) -> tensor<2x10x4096x64xf16> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>, affine_map<(b0, b1, m, n, k1, k2) -> ()>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x64xf16>, tensor<2x10x64x64xf16>, tensor<2x10x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<2x10x4096x64xf16>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf16>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>
  return %0#0 : tensor<2x10x4096x64xf16>
}

// CHECK-LABEL: func.func @two_other_max_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @two_other_max_type(%query: tensor<2x10x4096x64xf16>, %key: tensor<2x10x64x64xf16>, %value: tensor<2x10x64x64xf16>, %scale: f16,
    %out: tensor<2x10x4096x64xf32>, %max: tensor<2x10x4096xf16>, %sum: tensor<2x10x4096xf32>) -> tensor<2x10x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>, affine_map<(b0, b1, m, n, k1, k2) -> ()>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x64xf16>, tensor<2x10x64x64xf16>, tensor<2x10x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<2x10x4096x64xf32>, tensor<2x10x4096xf16>, tensor<2x10x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf32>, tensor<2x10x4096xf16>, tensor<2x10x4096xf32>
  return %0#0 : tensor<2x10x4096x64xf32>
}

// CHECK-LABEL: func.func @two_other_sum_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @two_other_sum_type(%query: tensor<2x10x4096x64xf16>, %key: tensor<2x10x64x64xf16>, %value: tensor<2x10x64x64xf16>, %scale: f16,
    %out: tensor<2x10x4096x64xf32>, %max: tensor<2x10x4096xf32>, %sum: tensor<2x10x4096xf16>) -> tensor<2x10x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>, affine_map<(b0, b1, m, n, k1, k2) -> ()>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x64xf16>, tensor<2x10x64x64xf16>, tensor<2x10x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf16>
  return %0#0 : tensor<2x10x4096x64xf32>
}

// The values are not transposed.

// CHECK-LABEL: func.func @two_value_not_transposed
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @two_value_not_transposed(%query: tensor<2x10x4096x64xf16>, %key: tensor<2x10x64x64xf16>, %value: tensor<2x10x64x64xf16>, %scale: f16,
    %out: tensor<2x10x4096x64xf32>, %max: tensor<2x10x4096xf32>, %sum: tensor<2x10x4096xf32>) -> tensor<2x10x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, n)>, affine_map<(b0, b1, m, n, k1, k2) -> ()>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>, affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x64xf16>, tensor<2x10x64x64xf16>, tensor<2x10x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>
  return %0#0 : tensor<2x10x4096x64xf32>
}

//===----------------------------------------------------------------------===//
// A batch of one dimension
//===----------------------------------------------------------------------===//

// The shape of the entry.

// CHECK-LABEL: func.func @one_own_shape
// CHECK-SAME:    pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256] subgroup_size = 64
// CHECK-SAME:    "amdgpu-waves-per-eu" = "2", "denormal-fp-math-f32" = "preserve-sign"
// CHECK:         iree_linalg_ext.online_attention
// CHECK-SAME:      pv_attrs =
// CHECK-SAME:      mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16, col_major = true>, promote_operands = [1], subgroup_basis = {{\[\[}}1, 4, 1, 1, 1], [0, 1, 2, 4]]
// CHECK-SAME:      qk_attrs =
// CHECK-SAME:      mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_32x32x16_F16, col_major = true>, promote_operands = [1], subgroup_basis = {{\[\[}}1, 4, 1, 1, 1], [0, 1, 3, 4]]
// CHECK-SAME:      promote_operands = [1, 2], reduction = [0, 0, 0, 0, 64], workgroup = [1, 128, 0, 0, 0]
func.func @one_own_shape(%query: tensor<20x4096x64xf16>, %key: tensor<20x64x64xf16>, %value: tensor<20x64x64xf16>, %scale: f16,
    %out: tensor<20x4096x64xf32>, %max: tensor<20x4096xf32>, %sum: tensor<20x4096xf32>) -> tensor<20x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, n, k2)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>]}>
      ins(%query, %key, %value, %scale : tensor<20x4096x64xf16>, tensor<20x64x64xf16>, tensor<20x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>
  return %0#0 : tensor<20x4096x64xf32>
}

// Any batch will do, and every multiple of 128 rows.

// CHECK-LABEL: func.func @one_other_batch
// CHECK-SAME:    pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256] subgroup_size = 64
// CHECK-SAME:    "amdgpu-waves-per-eu" = "2", "denormal-fp-math-f32" = "preserve-sign"
// CHECK:         iree_linalg_ext.online_attention
// CHECK-SAME:      pv_attrs =
// CHECK-SAME:      mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16, col_major = true>, promote_operands = [1], subgroup_basis = {{\[\[}}1, 4, 1, 1, 1], [0, 1, 2, 4]]
// CHECK-SAME:      qk_attrs =
// CHECK-SAME:      mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_32x32x16_F16, col_major = true>, promote_operands = [1], subgroup_basis = {{\[\[}}1, 4, 1, 1, 1], [0, 1, 3, 4]]
// CHECK-SAME:      promote_operands = [1, 2], reduction = [0, 0, 0, 0, 64], workgroup = [1, 128, 0, 0, 0]
func.func @one_other_batch(%query: tensor<7x256x64xf16>, %key: tensor<7x64x64xf16>, %value: tensor<7x64x64xf16>, %scale: f16,
    %out: tensor<7x256x64xf32>, %max: tensor<7x256xf32>, %sum: tensor<7x256xf32>) -> tensor<7x256x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, n, k2)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>]}>
      ins(%query, %key, %value, %scale : tensor<7x256x64xf16>, tensor<7x64x64xf16>, tensor<7x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<7x256x64xf32>, tensor<7x256xf32>, tensor<7x256xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<7x256x64xf32>, tensor<7x256xf32>, tensor<7x256xf32>
  return %0#0 : tensor<7x256x64xf32>
}

// One dimension differs.

// CHECK-LABEL: func.func @one_other_m
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @one_other_m(%query: tensor<20x4160x64xf16>, %key: tensor<20x64x64xf16>, %value: tensor<20x64x64xf16>, %scale: f16,
    %out: tensor<20x4160x64xf32>, %max: tensor<20x4160xf32>, %sum: tensor<20x4160xf32>) -> tensor<20x4160x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, n, k2)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>]}>
      ins(%query, %key, %value, %scale : tensor<20x4160x64xf16>, tensor<20x64x64xf16>, tensor<20x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<20x4160x64xf32>, tensor<20x4160xf32>, tensor<20x4160xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x4160x64xf32>, tensor<20x4160xf32>, tensor<20x4160xf32>
  return %0#0 : tensor<20x4160x64xf32>
}

// CHECK-LABEL: func.func @one_other_n
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @one_other_n(%query: tensor<20x4096x64xf16>, %key: tensor<20x64x64xf16>, %value: tensor<20x128x64xf16>, %scale: f16,
    %out: tensor<20x4096x128xf32>, %max: tensor<20x4096xf32>, %sum: tensor<20x4096xf32>) -> tensor<20x4096x128xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, n, k2)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>]}>
      ins(%query, %key, %value, %scale : tensor<20x4096x64xf16>, tensor<20x64x64xf16>, tensor<20x128x64xf16>, f16)
      outs(%out, %max, %sum : tensor<20x4096x128xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x4096x128xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>
  return %0#0 : tensor<20x4096x128xf32>
}

// CHECK-LABEL: func.func @one_other_k1
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @one_other_k1(%query: tensor<20x4096x128xf16>, %key: tensor<20x64x128xf16>, %value: tensor<20x64x64xf16>, %scale: f16,
    %out: tensor<20x4096x64xf32>, %max: tensor<20x4096xf32>, %sum: tensor<20x4096xf32>) -> tensor<20x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, n, k2)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>]}>
      ins(%query, %key, %value, %scale : tensor<20x4096x128xf16>, tensor<20x64x128xf16>, tensor<20x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>
  return %0#0 : tensor<20x4096x64xf32>
}

// CHECK-LABEL: func.func @one_other_k2
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @one_other_k2(%query: tensor<20x4096x64xf16>, %key: tensor<20x128x64xf16>, %value: tensor<20x64x128xf16>, %scale: f16,
    %out: tensor<20x4096x64xf32>, %max: tensor<20x4096xf32>, %sum: tensor<20x4096xf32>) -> tensor<20x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, n, k2)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>]}>
      ins(%query, %key, %value, %scale : tensor<20x4096x64xf16>, tensor<20x128x64xf16>, tensor<20x64x128xf16>, f16)
      outs(%out, %max, %sum : tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>
  return %0#0 : tensor<20x4096x64xf32>
}

// One type differs.

// CHECK-LABEL: func.func @one_other_query_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @one_other_query_type(%query: tensor<20x4096x64xbf16>, %key: tensor<20x64x64xf16>, %value: tensor<20x64x64xf16>, %scale: f16,
    %out: tensor<20x4096x64xf32>, %max: tensor<20x4096xf32>, %sum: tensor<20x4096xf32>) -> tensor<20x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, n, k2)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>]}>
      ins(%query, %key, %value, %scale : tensor<20x4096x64xbf16>, tensor<20x64x64xf16>, tensor<20x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>
  return %0#0 : tensor<20x4096x64xf32>
}

// CHECK-LABEL: func.func @one_other_key_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @one_other_key_type(%query: tensor<20x4096x64xf16>, %key: tensor<20x64x64xbf16>, %value: tensor<20x64x64xf16>, %scale: f16,
    %out: tensor<20x4096x64xf32>, %max: tensor<20x4096xf32>, %sum: tensor<20x4096xf32>) -> tensor<20x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, n, k2)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>]}>
      ins(%query, %key, %value, %scale : tensor<20x4096x64xf16>, tensor<20x64x64xbf16>, tensor<20x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>
  return %0#0 : tensor<20x4096x64xf32>
}

// CHECK-LABEL: func.func @one_other_value_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @one_other_value_type(%query: tensor<20x4096x64xf16>, %key: tensor<20x64x64xf16>, %value: tensor<20x64x64xbf16>, %scale: f16,
    %out: tensor<20x4096x64xf32>, %max: tensor<20x4096xf32>, %sum: tensor<20x4096xf32>) -> tensor<20x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, n, k2)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>]}>
      ins(%query, %key, %value, %scale : tensor<20x4096x64xf16>, tensor<20x64x64xf16>, tensor<20x64x64xbf16>, f16)
      outs(%out, %max, %sum : tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>
  return %0#0 : tensor<20x4096x64xf32>
}

// CHECK-LABEL: func.func @one_other_scale_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @one_other_scale_type(%query: tensor<20x4096x64xf16>, %key: tensor<20x64x64xf16>, %value: tensor<20x64x64xf16>, %scale: f32,
    %out: tensor<20x4096x64xf32>, %max: tensor<20x4096xf32>, %sum: tensor<20x4096xf32>) -> tensor<20x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, n, k2)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>]}>
      ins(%query, %key, %value, %scale : tensor<20x4096x64xf16>, tensor<20x64x64xf16>, tensor<20x64x64xf16>, f32)
      outs(%out, %max, %sum : tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>
  return %0#0 : tensor<20x4096x64xf32>
}

// CHECK-LABEL: func.func @one_other_output_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @one_other_output_type(%query: tensor<20x4096x64xf16>, %key: tensor<20x64x64xf16>, %value: tensor<20x64x64xf16>, %scale: f16,
    %out: tensor<20x4096x64xf16>, %max: tensor<20x4096xf32>, %sum: tensor<20x4096xf32>) -> tensor<20x4096x64xf16> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, n, k2)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>]}>
      ins(%query, %key, %value, %scale : tensor<20x4096x64xf16>, tensor<20x64x64xf16>, tensor<20x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<20x4096x64xf16>, tensor<20x4096xf32>, tensor<20x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x4096x64xf16>, tensor<20x4096xf32>, tensor<20x4096xf32>
  return %0#0 : tensor<20x4096x64xf16>
}

// CHECK-LABEL: func.func @one_other_max_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @one_other_max_type(%query: tensor<20x4096x64xf16>, %key: tensor<20x64x64xf16>, %value: tensor<20x64x64xf16>, %scale: f16,
    %out: tensor<20x4096x64xf32>, %max: tensor<20x4096xf16>, %sum: tensor<20x4096xf32>) -> tensor<20x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, n, k2)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>]}>
      ins(%query, %key, %value, %scale : tensor<20x4096x64xf16>, tensor<20x64x64xf16>, tensor<20x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<20x4096x64xf32>, tensor<20x4096xf16>, tensor<20x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x4096x64xf32>, tensor<20x4096xf16>, tensor<20x4096xf32>
  return %0#0 : tensor<20x4096x64xf32>
}

// CHECK-LABEL: func.func @one_other_sum_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @one_other_sum_type(%query: tensor<20x4096x64xf16>, %key: tensor<20x64x64xf16>, %value: tensor<20x64x64xf16>, %scale: f16,
    %out: tensor<20x4096x64xf32>, %max: tensor<20x4096xf32>, %sum: tensor<20x4096xf16>) -> tensor<20x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, n, k2)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>]}>
      ins(%query, %key, %value, %scale : tensor<20x4096x64xf16>, tensor<20x64x64xf16>, tensor<20x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf16>
  return %0#0 : tensor<20x4096x64xf32>
}

// The values are not transposed.

// CHECK-LABEL: func.func @one_value_not_transposed
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @one_value_not_transposed(%query: tensor<20x4096x64xf16>, %key: tensor<20x64x64xf16>, %value: tensor<20x64x64xf16>, %scale: f16,
    %out: tensor<20x4096x64xf32>, %max: tensor<20x4096xf32>, %sum: tensor<20x4096xf32>) -> tensor<20x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>]}>
      ins(%query, %key, %value, %scale : tensor<20x4096x64xf16>, tensor<20x64x64xf16>, tensor<20x64x64xf16>, f16)
      outs(%out, %max, %sum : tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x4096x64xf32>, tensor<20x4096xf32>, tensor<20x4096xf32>
  return %0#0 : tensor<20x4096x64xf32>
}

}
