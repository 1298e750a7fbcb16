// Upgraded entries that are known not to compile are reported; today's compiler fails for the reported reason.
// RUN: tuninglink upgrade %s -o %t.mlir 2>&1 | filecheck %s
// RUN: iree-opt --no-implicit-module %t.mlir -o /dev/null
// RUN: tuninglink upgrade %t.mlir -o %t.again.mlir
// RUN: cmp %t.mlir %t.again.mlir
// RUN: not tuninglink compile %examples/mmt_2048x1280x5120.mlir --spec %t.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t.vmfb 2>&1 | filecheck %s --check-prefix=COMPILED

// The report and what loads the spec say it as well.
// RUN: tuninglink upgrade %s -o %t.mlir --report | filecheck %s
// RUN: tuninglink link %s -o %t.linked.mlir 2>&1 | filecheck %s

// CHECK: upgrade-known-failures.mlir:{{[0-9]+}}:40: warning: the configuration is upgraded, and does not compile: VectorDistribute needs a 'subgroup_basis'
// COMPILED: error: Could not find a subgroup basis from lowering config
module attributes { transform.with_named_sequence } {
  transform.named_sequence @configure(%op: !transform.any_op {transform.readonly},
                                      %config: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  // `match.contraction` as it was in September 2025.
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32
      {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]}
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>)
    transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
    %config = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
        promote_operands = [0, 1], reduction = [0, 0, 64], workgroup = [64, 128, 0]}>,
      translation_info = <pipeline = LLVMGPUVectorDistribute workgroup_size = [256, 1, 1] subgroup_size = 64>
      > -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes { iree_codegen.tuning_spec_entrypoint } {
    %updated = transform.foreach_match in %root @match -> @configure : (!transform.any_op) -> !transform.any_op
    transform.yield %updated : !transform.any_op
  }
}
