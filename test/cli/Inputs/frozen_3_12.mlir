// The configurations of 'test/cli/init-all.mlir' for sm_80 under version 3.12.0 of the compiler,
// written by `tuninglink init --all`: 2 of 3 dispatches, 99.2% of the operations.

module @frozen attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence, tuninglink.provenance = {bytes = 208896 : i64, calls = 3 : i64, compiler = "3.12.0", dispatches = 3 : i64, flags = ["--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"], flops = 4228096 : i64, left_out = [{bytes = 65536 : i64, calls = 1 : i64, dispatch = "@normalized_dispatch_0::@cuda_nvptx_fb", dispatches = 1 : i64, flops = 32768 : i64, operation = "reduction 32x256 over 256 f32\E2\86\92f32", reason = "the entry changes the code of @normalized_dispatch_0::@cuda_nvptx_fb, as the compiler's configuration consists of more than the entry"}], program = "test/cli/init-all.mlir", targets = ["sm_80"]}} {
  transform.named_sequence @configure(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.yield 
  }
  // matmul 128x64x256 f16·f16→f32, rhs transposed
  // @product_dispatch_0::@cuda_nvptx_fb: called once; 4,194,304 operations and 131,072 bytes a call
  transform.named_sequence @match_product_dispatch_0_matmul_128x64x256_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {bytes = 131072 : i64, calls = 1 : i64, compiler = "3.12.0", dispatch = "@product_dispatch_0::@cuda_nvptx_fb", dispatches = 1 : i64, flags = ["--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"], flops = 4194304 : i64, operation = "matmul 128x64x256 f16\C2\B7f16\E2\86\92f32, rhs transposed", source = "the compiler's choice"}, tuninglink.targets = ["sm_80"]} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [256] : !transform.param<i64>
    %0 = transform.param.constant #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 8], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>, translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  // elementwise 1024 f32·f32→f32
  // @sum_dispatch_0::@cuda_nvptx_fb: called once; 1,024 operations and 12,288 bytes a call
  transform.named_sequence @match_sum_dispatch_0_elementwise_1024_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {bytes = 12288 : i64, calls = 1 : i64, compiler = "3.12.0", dispatch = "@sum_dispatch_0::@cuda_nvptx_fb", dispatches = 1 : i64, flags = ["--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"], flops = 1024 : i64, operation = "elementwise 1024 f32\C2\B7f32\E2\86\92f32", source = "the compiler's choice"}, tuninglink.targets = ["sm_80"]} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<1024xf32>, %arg2: tensor<1024xf32>, %arg3: tensor<1024xf32>):
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg1, %arg2 : tensor<1024xf32>, tensor<1024xf32>) outs(%arg3 : tensor<1024xf32>) {
      ^bb0(%in: f32, %in_0: f32, %out: f32):
        %2 = arith.addf %in, %in_0 : f32
        linalg.yield %2 : f32
      } -> tensor<1024xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{thread = [4], workgroup = [128]}>, translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>> -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated_root = transform.foreach_match in %arg0 
        @match_product_dispatch_0_matmul_128x64x256_f16xf16xf32 -> @configure, 
        @match_sum_dispatch_0_elementwise_1024_f32 -> @configure : (!transform.any_op) -> !transform.any_op
    transform.yield %updated_root : !transform.any_op
  }
}
