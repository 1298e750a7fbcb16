// Dag matchers are written as what newer matchers say, where the interpreter shows that it is the same.
// RUN: tuninglink upgrade %s --modernize -o %t.mlir --report | filecheck %s --check-prefix=REPORT
// RUN: filecheck %s --input-file=%t.mlir
// RUN: iree-opt --no-implicit-module %t.mlir -o /dev/null
// RUN: tuninglink compile %examples/mmt_2048x1280x5120.mlir --spec %t.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 --compile-to=executable-configurations | filecheck %s --check-prefix=CONFIGURED

// Once is enough.
// RUN: tuninglink upgrade %t.mlir --modernize -o %t.again.mlir
// RUN: cmp %t.mlir %t.again.mlir

// Bytecode is not upgraded, but modernized all the same.
// RUN: iree-opt --no-implicit-module %t.mlir --emit-bytecode -o %t.mlirbc
// RUN: tuninglink upgrade %t.mlirbc --modernize -o %t.again.mlir --report | filecheck %s --check-prefix=BYTECODE
// RUN: cmp %t.mlir %t.again.mlir
// BYTECODE: 0 of 2 entries modernized

// The report says whether each configuration holds on a target, or why that is not decided.
// RUN: tuninglink upgrade %s --target gfx942 --report -o %t.mlir | filecheck %s --check-prefix=TARGET

// REPORT: 2 entries: 1 upgraded, 1 unchanged, 0 kept out
// REPORT: 1 of 2 entries modernized
// REPORT-NEXT: @match_mmt -> @configure: 'transform.iree.match.contraction'; the same answers on {{[0-9]+}} programs
// REPORT-NEXT: @match_fill -> @note: as it was: it has no dag matcher

// TARGET: configurations on gfx942
// TARGET-NEXT: @match_mmt: invalid: {{.*}}2048 % 96 == 0{{.*}} the nearest valid configuration: workgroup[0]: 96 -> {{[0-9]+}}
// TARGET-NEXT: @match_fill: not decided: it sets no lowering_config, so there is nothing to check

// CONFIGURED: workgroup = [96, 128, 0]

// CHECK-LABEL: transform.named_sequence @match_mmt
// CHECK-NEXT: transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
// CHECK-NEXT: transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
// CHECK-NEXT: %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map, #map1, #map2]
// CHECK-NEXT: transform.iree.match.dims_equal %m_dims, [2048]
// CHECK-NEXT: transform.iree.match.dims_equal %n_dims, [1280]
// CHECK-NEXT: transform.iree.match.dims_equal %k_dims, [5120]
// CHECK: transform.iree.match.regions %arg0
// CHECK: linalg.generic
// CHECK-NOT: cast_compatible_dag_from_root
module attributes { transform.with_named_sequence } {
  transform.named_sequence @configure(%op: !transform.any_op {transform.readonly},
                                      %config: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @note(%op: !transform.any_op {transform.readonly}) { transform.yield }
  transform.named_sequence @match_mmt(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>, %out: tensor<2048x1280xf32>):
      %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
          affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%out : tensor<2048x1280xf32>) {
      ^bb0(%a: f16, %b: f16, %acc: f32):
        %0 = arith.extf %a : f16 to f32
        %1 = arith.extf %b : f16 to f32
        %2 = arith.mulf %0, %1 : f32
        %3 = arith.addf %acc, %2 : f32
        linalg.yield %3 : f32
      } -> tensor<2048x1280xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %config = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
        promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config],
        reduction = [0, 0, 4], subgroup = [3, 4, 0], workgroup = [96, 128, 0]}>,
      translation_info = #iree_codegen.translation_info<pipeline = LLVMGPUTileAndFuse
        workgroup_size = [256, 1, 1] subgroup_size = 64,
        {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 0,
           no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
      > -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_fill(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes { iree_codegen.tuning_spec_entrypoint } {
    %updated = transform.foreach_match in %root @match_mmt -> @configure, @match_fill -> @note
      : (!transform.any_op) -> !transform.any_op
    transform.yield %updated : !transform.any_op
  }
}
