// The entries for attention in the library for SDXL, applied by the compiler: each to shapes of its own, and to none that
// differs in one size or in the element type.
//
// RUN: tuninglink-opt %s --pass-pipeline='builtin.module(tuninglink-materialize-specs{default-specs=false specs=library:sdxl-gfx942},iree-codegen-materialize-user-configs)' | iree-opt --mlir-print-local-scope | filecheck %s

#query = affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>
#key = affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>
#value = affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>
#scale = affine_map<(b0, b1, m, n, k1, k2) -> ()>
#out = affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>
#row = affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>

module attributes {hal.executable.target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {
  iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "",
    wgp = <compute = fp32, storage = b32, subgroup = none, subgroup_size_choices = [64],
           max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024,
           max_workgroup_memory_bytes = 65536,
           max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>} {

// CHECK-LABEL: func.func @halves
// CHECK-SAME:    pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64
// CHECK:         workgroup = [1, 1, 128, 0, 0, 0]
func.func @halves(%query: tensor<2x10x4096x64xf16>, %key: tensor<2x10x4096x64xf16>, %value: tensor<2x10x64x4096xf16>, %scale: f16, %out: tensor<2x10x4096x64xf32>, %max: tensor<2x10x4096xf32>, %sum: tensor<2x10x4096xf32>) -> tensor<2x10x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [#query, #key, #value, #scale, #out, #row, #row]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x64xf16>, tensor<2x10x4096x64xf16>, tensor<2x10x64x4096xf16>, f16) outs(%out, %max, %sum : tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>
  return %0#0 : tensor<2x10x4096x64xf32>
}

// CHECK-LABEL: func.func @halves_other_rows
// CHECK-NOT:     lowering_config
func.func @halves_other_rows(%query: tensor<2x10x4032x64xf16>, %key: tensor<2x10x4096x64xf16>, %value: tensor<2x10x64x4096xf16>, %scale: f16, %out: tensor<2x10x4032x64xf32>, %max: tensor<2x10x4032xf32>, %sum: tensor<2x10x4032xf32>) -> tensor<2x10x4032x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [#query, #key, #value, #scale, #out, #row, #row]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4032x64xf16>, tensor<2x10x4096x64xf16>, tensor<2x10x64x4096xf16>, f16) outs(%out, %max, %sum : tensor<2x10x4032x64xf32>, tensor<2x10x4032xf32>, tensor<2x10x4032xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4032x64xf32>, tensor<2x10x4032xf32>, tensor<2x10x4032xf32>
  return %0#0 : tensor<2x10x4032x64xf32>
}

// CHECK-LABEL: func.func @halves_other_keys
// CHECK-NOT:     lowering_config
func.func @halves_other_keys(%query: tensor<2x10x4096x64xf16>, %key: tensor<2x10x77x64xf16>, %value: tensor<2x10x64x77xf16>, %scale: f16, %out: tensor<2x10x4096x64xf32>, %max: tensor<2x10x4096xf32>, %sum: tensor<2x10x4096xf32>) -> tensor<2x10x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [#query, #key, #value, #scale, #out, #row, #row]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x64xf16>, tensor<2x10x77x64xf16>, tensor<2x10x64x77xf16>, f16) outs(%out, %max, %sum : tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>
  return %0#0 : tensor<2x10x4096x64xf32>
}

// CHECK-LABEL: func.func @halves_other_features
// CHECK-NOT:     lowering_config
func.func @halves_other_features(%query: tensor<2x10x4096x128xf16>, %key: tensor<2x10x4096x128xf16>, %value: tensor<2x10x64x4096xf16>, %scale: f16, %out: tensor<2x10x4096x64xf32>, %max: tensor<2x10x4096xf32>, %sum: tensor<2x10x4096xf32>) -> tensor<2x10x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [#query, #key, #value, #scale, #out, #row, #row]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x128xf16>, tensor<2x10x4096x128xf16>, tensor<2x10x64x4096xf16>, f16) outs(%out, %max, %sum : tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>
  return %0#0 : tensor<2x10x4096x64xf32>
}

// CHECK-LABEL: func.func @other_type
// CHECK-NOT:     lowering_config
func.func @other_type(%query: tensor<2x10x4096x64xbf16>, %key: tensor<2x10x4096x64xbf16>, %value: tensor<2x10x64x4096xbf16>, %scale: bf16, %out: tensor<2x10x4096x64xf32>, %max: tensor<2x10x4096xf32>, %sum: tensor<2x10x4096xf32>) -> tensor<2x10x4096x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [#query, #key, #value, #scale, #out, #row, #row]}>
      ins(%query, %key, %value, %scale : tensor<2x10x4096x64xbf16>, tensor<2x10x4096x64xbf16>, tensor<2x10x64x4096xbf16>, bf16) outs(%out, %max, %sum : tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x4096x64xf32>, tensor<2x10x4096xf32>, tensor<2x10x4096xf32>
  return %0#0 : tensor<2x10x4096x64xf32>
}

// CHECK-LABEL: func.func @bytes
// CHECK-SAME:    pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64
// CHECK:         workgroup = [1, 1, 64, 0, 0, 0]
func.func @bytes(%query: tensor<2x10x1024x64xf8E4M3FNUZ>, %key: tensor<2x10x1024x64xf8E4M3FNUZ>, %value: tensor<2x10x64x1024xf8E4M3FNUZ>, %scale: f32, %out: tensor<2x10x1024x64xf32>, %max: tensor<2x10x1024xf32>, %sum: tensor<2x10x1024xf32>) -> tensor<2x10x1024x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [#query, #key, #value, #scale, #out, #row, #row]}>
      ins(%query, %key, %value, %scale : tensor<2x10x1024x64xf8E4M3FNUZ>, tensor<2x10x1024x64xf8E4M3FNUZ>, tensor<2x10x64x1024xf8E4M3FNUZ>, f32) outs(%out, %max, %sum : tensor<2x10x1024x64xf32>, tensor<2x10x1024xf32>, tensor<2x10x1024xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x1024x64xf32>, tensor<2x10x1024xf32>, tensor<2x10x1024xf32>
  return %0#0 : tensor<2x10x1024x64xf32>
}

// CHECK-LABEL: func.func @bytes_other_rows
// CHECK-NOT:     lowering_config
func.func @bytes_other_rows(%query: tensor<2x10x1000x64xf8E4M3FNUZ>, %key: tensor<2x10x1024x64xf8E4M3FNUZ>, %value: tensor<2x10x64x1024xf8E4M3FNUZ>, %scale: f32, %out: tensor<2x10x1000x64xf32>, %max: tensor<2x10x1000xf32>, %sum: tensor<2x10x1000xf32>) -> tensor<2x10x1000x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [#query, #key, #value, #scale, #out, #row, #row]}>
      ins(%query, %key, %value, %scale : tensor<2x10x1000x64xf8E4M3FNUZ>, tensor<2x10x1024x64xf8E4M3FNUZ>, tensor<2x10x64x1024xf8E4M3FNUZ>, f32) outs(%out, %max, %sum : tensor<2x10x1000x64xf32>, tensor<2x10x1000xf32>, tensor<2x10x1000xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x1000x64xf32>, tensor<2x10x1000xf32>, tensor<2x10x1000xf32>
  return %0#0 : tensor<2x10x1000x64xf32>
}

// CHECK-LABEL: func.func @bytes_other_keys
// CHECK-NOT:     lowering_config
func.func @bytes_other_keys(%query: tensor<2x10x1024x64xf8E4M3FNUZ>, %key: tensor<2x10x1000x64xf8E4M3FNUZ>, %value: tensor<2x10x64x1000xf8E4M3FNUZ>, %scale: f32, %out: tensor<2x10x1024x64xf32>, %max: tensor<2x10x1024xf32>, %sum: tensor<2x10x1024xf32>) -> tensor<2x10x1024x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{indexing_maps = [#query, #key, #value, #scale, #out, #row, #row]}>
      ins(%query, %key, %value, %scale : tensor<2x10x1024x64xf8E4M3FNUZ>, tensor<2x10x1000x64xf8E4M3FNUZ>, tensor<2x10x64x1000xf8E4M3FNUZ>, f32) outs(%out, %max, %sum : tensor<2x10x1024x64xf32>, tensor<2x10x1024xf32>, tensor<2x10x1024xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x10x1024x64xf32>, tensor<2x10x1024xf32>, tensor<2x10x1024xf32>
  return %0#0 : tensor<2x10x1024x64xf32>
}

}
