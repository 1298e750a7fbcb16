"""An example for each upgrade rule: its old form and its new form, whole attributes or operations."""

from __future__ import annotations

from typing import Final

EXAMPLES: Final = {
    "transposed-matmuls": (
        (
            "%r = linalg.matmul_transpose_b ins(%a, %b : tensor<?x?xf16>, tensor<?x?xf16>) "
            "outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>"
        ),
        (
            "%r = linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, "
            "affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>] "
            "ins(%a, %b : tensor<?x?xf16>, tensor<?x?xf16>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>"
        ),
    ),
    "elementwise-operations": (
        ("%r = linalg.exp ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>"),
        (
            "%r = linalg.elementwise <exp> ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>"
        ),
    ),
    "packs": (
        ('transform.match.operation_name %op ["tensor.pack"] : !transform.any_op'),
        ('transform.match.operation_name %op ["linalg.pack"] : !transform.any_op'),
    ),
    "attention-properties": (
        (
            "%r = iree_linalg_ext.attention {indexing_maps = [#q, #k, #v, #s, #o]} "
            "ins(%q, %k, %v, %s : !q, !k, !v, f16) outs(%o : !o) -> !o"
        ),
        (
            "%r = iree_linalg_ext.attention <{indexing_maps = [#q, #k, #v, #s, #o]}> "
            "ins(%q, %k, %v, %s : !q, !k, !v, f16) outs(%o : !o) -> !o"
        ),
    ),
    "strict-properties": (
        ('transform.print %op {name = "seen"} : !transform.any_op'),
        ('transform.print %op name = "seen" : !transform.any_op'),
    ),
    "matcher-types": (
        (
            "%b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, "
            "output_type = f32 : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, "
            "!transform.param<i64>, !transform.param<i64>)"
        ),
        (
            "%b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, "
            "output_type = f32 : !transform.any_op -> !transform.param<i64>"
        ),
    ),
    "gone-operations": (
        ('transform.iree.emit_remark "seen" at %op : !transform.any_op\ntransform.yield'),
        ("transform.yield"),
    ),
    "entry-points": (
        (
            "transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.readonly}) {\n"
            "  transform.yield\n}"
        ),
        (
            "transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.readonly})"
            " -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {\n"
            "  transform.yield %root : !transform.any_op\n}"
        ),
    ),
    "attention-dags": (
        (
            "transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
            "  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {\n"
            "  ^bb0(%q: tensor<?x64xf16>, %k: tensor<?x64xf16>, %v: tensor<?x32xf16>, %s: f16, %o: tensor<?x32xf16>):\n"
            "    %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(m, n, k, l) -> (m, k)>, "
            "affine_map<(m, n, k, l) -> (l, k)>, affine_map<(m, n, k, l) -> (l, n)>, affine_map<(m, n, k, l) -> ()>, "
            "affine_map<(m, n, k, l) -> (m, n)>]}> ins(%q, %k, %v, %s : tensor<?x64xf16>, tensor<?x64xf16>, "
            "tensor<?x32xf16>, f16) outs(%o : tensor<?x32xf16>) {\n"
            "    ^bb0(%score: f32):\n      iree_linalg_ext.yield %score : f32\n    } -> tensor<?x32xf16>\n"
            "  } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)\n  transform.yield\n}"
        ),
        (
            "transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
            "  %batch, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op, query_type = f16, "
            "key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32, "
            "indexing_maps = [affine_map<(m, n, k, l) -> (m, k)>, affine_map<(m, n, k, l) -> (l, k)>, "
            "affine_map<(m, n, k, l) -> (l, n)>, affine_map<(m, n, k, l) -> ()>, affine_map<(m, n, k, l) -> (m, n)>, "
            "affine_map<(m, n, k, l) -> (m)>, affine_map<(m, n, k, l) -> (m)>] "
            ": !transform.any_op -> !transform.param<i64>\n"
            "  %query = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value\n"
            "  transform.iree.match.cast_compatible_type %query = tensor<?x64xf16> : !transform.any_value\n"
            "  %key = transform.get_operand %op[1] : (!transform.any_op) -> !transform.any_value\n"
            "  transform.iree.match.cast_compatible_type %key = tensor<?x64xf16> : !transform.any_value\n"
            "  %value = transform.get_operand %op[2] : (!transform.any_op) -> !transform.any_value\n"
            "  transform.iree.match.cast_compatible_type %value = tensor<?x32xf16> : !transform.any_value\n"
            "  transform.yield\n}"
        ),
    ),
    "online-attention": (
        ('transform.match.operation_name %op ["iree_linalg_ext.attention"] : !transform.any_op'),
        (
            'transform.match.operation_name %op ["iree_linalg_ext.online_attention"] : !transform.any_op'
        ),
    ),
    "matched-names": (
        (
            "transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
            '  transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op\n'
            "  %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, "
            "output_type = f32 : !transform.any_op -> !transform.param<i64>\n"
            "  %c = transform.param.constant #iree_gpu.derived_thread_config -> !transform.any_param\n"
            "  transform.yield\n}"
        ),
        (
            "transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
            '  transform.match.operation_name %op ["linalg.generic"] : !transform.any_op\n'
            "  %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, "
            "output_type = f32 : !transform.any_op -> !transform.param<i64>\n"
            "  %c = transform.param.constant #iree_gpu.derived_thread_config -> !transform.any_param\n"
            "  transform.yield\n}"
        ),
    ),
    "generalized-operations": (
        (
            "transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
            "  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {\n"
            "  ^bb0(%a: tensor<?x8xf32>, %b: tensor<8x?xf32>, %c: tensor<?x?xf32>):\n"
            "    %r = linalg.matmul ins(%a, %b : tensor<?x8xf32>, tensor<8x?xf32>) "
            "outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>\n"
            "  } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)\n"
            "  %c = transform.param.constant #iree_gpu.derived_thread_config -> !transform.any_param\n"
            "  transform.yield\n}"
        ),
        (
            "transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
            "  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {\n"
            "  ^bb0(%a: tensor<?x8xf32>, %b: tensor<8x?xf32>, %c: tensor<?x?xf32>):\n"
            "    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, "
            "affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], "
            'iterator_types = ["parallel", "parallel", "reduction"]} '
            "ins(%a, %b : tensor<?x8xf32>, tensor<8x?xf32>) outs(%c : tensor<?x?xf32>) {\n"
            "    ^bb0(%dag_in: f32, %dag_in_0: f32, %dag_out: f32):\n"
            "      %dag_1 = arith.mulf %dag_in, %dag_in_0 : f32\n"
            "      %dag_2 = arith.addf %dag_out, %dag_1 : f32\n"
            "      linalg.yield %dag_2 : f32\n"
            "    } -> tensor<?x?xf32>\n"
            "  } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)\n"
            "  %c = transform.param.constant #iree_gpu.derived_thread_config -> !transform.any_param\n"
            "  transform.yield\n}"
        ),
    ),
    "mma-layouts": (
        ("#iree_gpu.mfma_layout<F16_16x16x16_F32>"),
        ("#iree_gpu.mma_layout<MFMA_F16_16x16x16_F32>"),
    ),
    "virtual-intrinsics": (
        ("#iree_gpu.virtual_mma_layout<intrinsic = VMFMA_F32_16x16x32_F16>"),
        ("#iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16>"),
    ),
    "intrinsic-names": (
        ("#iree_gpu.mma_layout<MFMA_F16_16x16x16_F32>"),
        ("#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>"),
    ),
    "lane-basis": (
        ("#iree_gpu.lowering_config<{thread = [0, 8], thread_basis = [[1, 64], [0, 1]]}>"),
        ("#iree_gpu.lowering_config<{thread = [0, 8], lane_basis = [[1, 64], [0, 1]]}>"),
    ),
    "elided-lowering-config": (
        (
            "#iree_codegen.compilation_info<lowering_config = <tile_sizes = [[4]]>, "
            "translation_info = <CPUDefault>>"
        ),
        (
            "#iree_codegen.compilation_info<lowering_config = "
            "#iree_codegen.lowering_config<tile_sizes = [[4]]>, translation_info = <CPUDefault>>"
        ),
    ),
    "native-vector-size": (
        ("#iree_codegen.lowering_config<tile_sizes = [[4, 4]], native_vector_size = [4]>"),
        ("#iree_codegen.lowering_config<tile_sizes = [[4, 4]]>"),
    ),
    "lowering-config-braces": (
        ("#iree_gpu.lowering_config<workgroup = [64, 64, 0]>"),
        ("#iree_gpu.lowering_config<{workgroup = [64, 64, 0]}>"),
    ),
    "pipeline-keyword": (
        ("#iree_codegen.translation_info<None workgroup_size = [64]>"),
        ("#iree_codegen.translation_info<pipeline = None workgroup_size = [64]>"),
    ),
    "software-pipelining": (
        ("#iree_codegen.translation_info<LLVMGPUDistribute pipeline_depth = 0 store_stage = 1>"),
        ("#iree_codegen.translation_info<LLVMGPUDistribute>"),
    ),
    "workgroup-sizes": (
        (
            "#iree_codegen.compilation_info<"
            "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[4, 4]]>, "
            "translation_info = <LLVMGPUDistribute>, workgroup_size = [16, 4, 1], subgroup_size = 64>"
        ),
        (
            "#iree_codegen.compilation_info<"
            "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[4, 4]]>, "
            "translation_info = <LLVMGPUDistribute workgroup_size = [16, 4, 1] subgroup_size = 64>>"
        ),
    ),
    "waves-per-eu": (
        ('#iree_codegen.translation_info<LLVMGPUVectorDistribute, {"waves-per-eu" = 2 : i64}>'),
        (
            "#iree_codegen.translation_info<LLVMGPUVectorDistribute, "
            '{llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>'
        ),
    ),
    "pipeline-options": (
        (
            "#iree_codegen.translation_info<LLVMGPUVectorDistribute, "
            '{prefetch_shared_memory, reorder_workgroups = "transpose"}>'
        ),
        (
            "#iree_codegen.translation_info<LLVMGPUVectorDistribute, "
            "{gpu_pipeline_options = #iree_gpu.pipeline_options<"
            "prefetch_shared_memory = true, reorder_workgroups_strategy = Transpose>}>"
        ),
    ),
    "reorder-workgroups": (
        ("#iree_gpu.pipeline_options<reorder_workgroups_strategy = Transpose>"),
        ("#iree_gpu.pipeline_options<reorder_workgroups_strategy = <Transpose>>"),
    ),
    "prefetch-num-stages": (
        ("#iree_gpu.pipeline_options<prefetch_shared_memory = true>"),
        ("#iree_gpu.pipeline_options<prefetch_num_stages = 2>"),
    ),
    "tile-levels": (
        (
            "#iree_codegen.compilation_info<"
            "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[64, 128, 32]]>, "
            "translation_info = #iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute>>"
        ),
        (
            "#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
            "{promote_operands = [0, 1], reduction = [0, 0, 32], workgroup = [64, 128, 0]}>, "
            "translation_info = #iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute>>"
        ),
    ),
    "simt-matmuls": (
        (
            "#iree_codegen.compilation_info<"
            "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[32, 128, 32]]>, translation_info = "
            "<pipeline = LLVMGPUMatmulSimt workgroup_size = [32, 8, 1] subgroup_size = 32>>"
        ),
        (
            "#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
            "{promote_operands = [0, 1], reduction = [0, 0, 32], thread = [4, 4, 0], workgroup = [32, 128, 0]}>, "
            "translation_info = <pipeline = LLVMGPUTileAndFuse workgroup_size = [32, 8, 1] subgroup_size = 32>>"
        ),
    ),
    "mma-schedule": (
        (
            "#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
            "{reduction = [0, 0, 32], workgroup = [64, 128, 0]}>, "
            "translation_info = <pipeline = LLVMGPUVectorDistribute, {mma_schedule = #iree_gpu.mma_schedule<"
            "intrinsic = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, subgroup_m_count = 2, "
            "subgroup_n_count = 2>}>>"
        ),
        (
            "#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
            "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, reduction = [0, 0, 32], "
            "workgroup = [64, 128, 0], subgroup_m_count = 2, subgroup_n_count = 2}>, "
            "translation_info = <pipeline = LLVMGPUVectorDistribute>>"
        ),
    ),
    "subgroup-basis": (
        (
            "#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
            "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], "
            "reduction = [0, 0, 32], subgroup_m_count = 2 : i64, subgroup_n_count = 4 : i64, "
            "workgroup = [64, 128, 0]}>, translation_info = <pipeline = LLVMGPUVectorDistribute>>"
        ),
        (
            "#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
            "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], "
            "reduction = [0, 0, 32], subgroup_basis = [[2, 4, 1], [0, 1, 2]], "
            "workgroup = [64, 128, 0]}>, translation_info = <pipeline = LLVMGPUVectorDistribute>>"
        ),
    ),
    "attention-basis": (
        (
            "{qk_attrs = {lowering_config = #iree_gpu.lowering_config<{subgroup_m_count = 4, "
            "subgroup_n_count = 1}>}}"
        ),
        (
            "{qk_attrs = {lowering_config = #iree_gpu.lowering_config<{subgroup_basis = "
            "[[1, 1, 4, 1, 1, 1], [0, 1, 2, 4, 5]]}>}}"
        ),
    ),
    "lone-subgroup-counts": (
        (
            "#iree_gpu.lowering_config<{subgroup = [2, 4, 0], subgroup_m_count = 2, workgroup = [64, 128, 0]}>"
        ),
        ("#iree_gpu.lowering_config<{subgroup = [2, 4, 0], workgroup = [64, 128, 0]}>"),
    ),
    "attention-markers": (
        (
            "{qk_attrs = {attention_qk_matmul, lowering_config = #iree_gpu.lowering_config<"
            "{mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_32x32x16_F16>}>}, "
            "pv_attrs = {attention_pv_matmul, lowering_config = #iree_gpu.lowering_config<"
            "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16>}>}}"
        ),
        (
            "{qk_attrs = {lowering_config = #iree_gpu.lowering_config<"
            "{mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_32x32x16_F16, col_major = true>}>}, "
            "pv_attrs = {lowering_config = #iree_gpu.lowering_config<"
            "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16, col_major = true>}>}}"
        ),
    ),
    "pipeline-attributes": (
        ("#iree_codegen.translation_info<pipeline = LLVMGPUTileAndFuse>"),
        ("#iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse>>"),
    ),
    "denormals": (
        (
            "#iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute, "
            '{llvm_func_attrs = {"denormal-fp-math-f32" = "preserve-sign"}}>'
        ),
        (
            "#iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute, "
            '{iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>'
        ),
    ),
}
