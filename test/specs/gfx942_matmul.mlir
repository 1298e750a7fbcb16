// The entries for matmuls in the default spec for gfx942, applied by the compiler's interpreter: each to its
// own shape, and to shapes and types that differ in one thing.
//
// RUN: tuninglink-opt %s --pass-pipeline='builtin.module(tuninglink-materialize-specs,iree-codegen-materialize-user-configs)' | iree-opt --mlir-print-local-scope | filecheck %s

module attributes {hal.executable.target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {
  iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "",
    wgp = <compute = fp32, storage = b32, subgroup = none, subgroup_size_choices = [64],
           max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024,
           max_workgroup_memory_bytes = 65536,
           max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>} {

// The shape of the entry.

// CHECK-LABEL: func.func @own_shape
// CHECK-SAME:    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>
// CHECK:         linalg.generic
// CHECK-SAME:      lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 64], subgroup_basis = {{\[\[}}2, 2, 1], [0, 1, 2]], workgroup = [64, 128, 0]}>
func.func @own_shape(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>, %out: tensor<2048x1280xf32>) -> tensor<2048x1280xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%out : tensor<2048x1280xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<2048x1280xf32>
  return %0 : tensor<2048x1280xf32>
}

// One dimension differs.

// CHECK-LABEL: func.func @other_m
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @other_m(%lhs: tensor<2049x5120xf16>, %rhs: tensor<1280x5120xf16>, %out: tensor<2049x1280xf32>) -> tensor<2049x1280xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<2049x5120xf16>, tensor<1280x5120xf16>) outs(%out : tensor<2049x1280xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<2049x1280xf32>
  return %0 : tensor<2049x1280xf32>
}

// CHECK-LABEL: func.func @other_n
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @other_n(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1279x5120xf16>, %out: tensor<2048x1279xf32>) -> tensor<2048x1279xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1279x5120xf16>) outs(%out : tensor<2048x1279xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<2048x1279xf32>
  return %0 : tensor<2048x1279xf32>
}

// CHECK-LABEL: func.func @other_k
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @other_k(%lhs: tensor<2048x5136xf16>, %rhs: tensor<1280x5136xf16>, %out: tensor<2048x1280xf32>) -> tensor<2048x1280xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<2048x5136xf16>, tensor<1280x5136xf16>) outs(%out : tensor<2048x1280xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<2048x1280xf32>
  return %0 : tensor<2048x1280xf32>
}

// One type differs.

// CHECK-LABEL: func.func @other_lhs_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @other_lhs_type(%lhs: tensor<2048x5120xbf16>, %rhs: tensor<1280x5120xf16>, %out: tensor<2048x1280xf32>) -> tensor<2048x1280xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<2048x5120xbf16>, tensor<1280x5120xf16>) outs(%out : tensor<2048x1280xf32>) {
  ^bb0(%a: bf16, %b: f16, %sum: f32):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : f16 to f32
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<2048x1280xf32>
  return %0 : tensor<2048x1280xf32>
}

// CHECK-LABEL: func.func @other_rhs_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @other_rhs_type(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xbf16>, %out: tensor<2048x1280xf32>) -> tensor<2048x1280xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xbf16>) outs(%out : tensor<2048x1280xf32>) {
  ^bb0(%a: f16, %b: bf16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : bf16 to f32
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<2048x1280xf32>
  return %0 : tensor<2048x1280xf32>
}

// CHECK-LABEL: func.func @other_output_type
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @other_output_type(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>, %out: tensor<2048x1280xf16>) -> tensor<2048x1280xf16> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%out : tensor<2048x1280xf16>) {
  ^bb0(%a: f16, %b: f16, %sum: f16):
    %product = arith.mulf %a, %b : f16
    %next = arith.addf %sum, %product : f16
    linalg.yield %next : f16
  } -> tensor<2048x1280xf16>
  return %0 : tensor<2048x1280xf16>
}

// The right-hand side is not transposed.

// CHECK-LABEL: func.func @not_transposed
// CHECK-NOT:     {{lowering_config|translation_info|compilation_info}}
// CHECK:         return
func.func @not_transposed(%lhs: tensor<2048x5120xf16>, %rhs: tensor<5120x1280xf16>, %out: tensor<2048x1280xf32>) -> tensor<2048x1280xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<5120x1280xf16>) outs(%out : tensor<2048x1280xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<2048x1280xf32>
  return %0 : tensor<2048x1280xf32>
}

// Configured already: by a spec that came before, or by the program.

// CHECK-LABEL: func.func @configured
// CHECK-SAME:    workgroup_size = [64, 1, 1]
// CHECK-NOT:     MFMA
// CHECK:         return
func.func @configured(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>, %out: tensor<2048x1280xf32>) -> tensor<2048x1280xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%out : tensor<2048x1280xf32>) attrs = {
        compilation_info = #iree_codegen.compilation_info<
          lowering_config = #iree_gpu.lowering_config<{workgroup = [32, 32, 0]}>,
          translation_info = #iree_codegen.translation_info<
            pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1]>>} {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<2048x1280xf32>
  return %0 : tensor<2048x1280xf32>
}

}
