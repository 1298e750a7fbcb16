// A spec of 2024 is brought into today's syntax; what is not old stays as it is, comments included.
// RUN: tuninglink upgrade %s -o %t.mlir --report | filecheck %s --check-prefix=REPORT
// RUN: grep -v CHECK %t.mlir | filecheck %s
// RUN: iree-opt --no-implicit-module %t.mlir -o /dev/null

// Standard input and output; the report then goes to standard error.
// RUN: cat %s | tuninglink upgrade - | grep -v CHECK | filecheck %s
// RUN: tuninglink upgrade %s --report 2>&1 >/dev/null | filecheck %s --check-prefix=REPORT

// Upgrading twice is upgrading once.
// RUN: tuninglink upgrade %t.mlir -o %t.again.mlir
// RUN: cmp %t.mlir %t.again.mlir

// It links, and configures the matmul that it was written for.
// RUN: tuninglink link %t.mlir --target gfx942 -o %t.linked.mlir
// RUN: tuninglink compile %examples/mmt_2048x1280x5120.mlir --spec %t.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 --compile-to=executable-configurations | filecheck %s --check-prefix=CONFIGURED
// RUN: tuninglink compile %examples/mmt_2048x1280x5120.mlir --spec %t.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t.vmfb

// Wherever it is loaded it is upgraded, unless that is turned off.
// RUN: tuninglink compile %examples/mmt_2048x1280x5120.mlir --spec %s --iree-hal-target-device=hip --iree-rocm-target=gfx942 --compile-to=executable-configurations -o %t.configured 2>&1 | filecheck %s --check-prefix=LOADED
// RUN: filecheck %s --check-prefix=CONFIGURED --input-file=%t.configured
// RUN: not tuninglink compile %examples/mmt_2048x1280x5120.mlir --spec %s --no-upgrade --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t.refused 2>&1 | filecheck %s --check-prefix=REFUSED
// RUN: not ls %t.refused
// RUN: mkdir -p %t.defaults && cp %s %t.defaults/gfx942.mlir
// RUN: tuninglink link %t.mlir --target gfx942 --spec-dir %t.defaults -o %t.linked.mlir 2>&1 | filecheck %s --check-prefix=LOADED
// RUN: not tuninglink link %t.mlir --target gfx942 --spec-dir %t.defaults --no-upgrade -o %t.refused 2>&1 | filecheck %s --check-prefix=REFUSED
// RUN: tuninglink-opt %examples/mmt_2048x1280x5120.mlir --tuninglink-materialize-specs=specs=%s -o %t.embedded 2>&1 | filecheck %s --check-prefix=LOADED
// RUN: grep -q tuning_spec_mlirbc %t.embedded
// RUN: not tuninglink-opt %examples/mmt_2048x1280x5120.mlir --tuninglink-materialize-specs='specs=%s upgrade=false' -o %t.refused 2>&1 | filecheck %s --check-prefix=REFUSED

// LOADED-NOT: UserWarning
// LOADED: {{upgrade|gfx942}}.mlir:{{[0-9]+:[0-9]+}}: warning: '@match_any' is excluded, as it cannot be upgraded: the pipeline 'LLVMGPUWarpReduction' is gone
// LOADED-NOT: UserWarning
// REFUSED: {{upgrade|gfx942}}.mlir:{{[0-9]+:[0-9]+}}: error: the spec was written for an older compiler:

// Entries that cannot be upgraded are always reported, with their places.
// RUN: tuninglink upgrade %s -o %t.mlir 2>&1 | filecheck %s --check-prefix=TOLD

// REPORT: 2 entries: 1 upgraded, 0 unchanged, 1 kept out
// REPORT: @match_linear -> @configure ({{.*}}upgrade.mlir:{{[0-9]+:[0-9]+}}): upgraded
// REPORT: intrinsic-names: intrinsic 'MFMA_F16_16x16x16_F32' is 'MFMA_F32_16x16x16_F16'
// REPORT: tile-levels: tile sizes [64, 128, 64] are workgroup [64, 128, 0] and reduction [0, 0, 64]
// REPORT: subgroup-basis: 2 x 2 subgroups are 'subgroup_basis = [{{\[}}2, 2, 1], [0, 1, 2]]'
// REPORT: @match_any -> @configure ({{.*}}): kept out
// REPORT-NEXT: @match_any: the pipeline 'LLVMGPUWarpReduction' is gone
// REPORT: outside of the entries
// REPORT: entry-points: the entry point returns its argument

// TOLD: upgrade.mlir:{{[0-9]+:[0-9]+}}: warning: '@match_any' is kept out: the pipeline 'LLVMGPUWarpReduction' is gone
// TOLD-NEXT: %config = transform.param.constant
// TOLD-NEXT: ^

// CONFIGURED: subgroup_basis = [{{\[}}2, 2, 1], [0, 1, 2]]

// CHECK: module attributes { transform.with_named_sequence } {
module attributes { transform.with_named_sequence } {

  transform.named_sequence @configure(%op: !transform.any_op {transform.readonly},
                                      %config: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
    // CHECK: transform.print %op name = "configured" : !transform.any_op
    transform.print %op {name = "configured"} : !transform.any_op
    transform.yield
  }

  transform.named_sequence @is_linear(%op: !transform.any_op {transform.readonly}) {
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%lhs: tensor<?x?xf16>, %rhs: tensor<?x?xf16>, %out: tensor<?x?xf32>):
      // CHECK: %product = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
      // CHECK-SAME: ins(%lhs, %rhs :
      %product = linalg.matmul_transpose_b ins(%lhs, %rhs : tensor<?x?xf16>, tensor<?x?xf16>)
          outs(%out : tensor<?x?xf32>) -> tensor<?x?xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    transform.yield
  }

  transform.named_sequence @match_linear(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    transform.include @is_linear failures(propagate) (%op) : (!transform.any_op) -> ()
    %lhs = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %lhs = tensor<2048x5120xf16> : !transform.any_value
    // CHECK: lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 64], workgroup = [64, 128, 0], subgroup_basis = {{.*}}}>, // measured
    // CHECK-NEXT: translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute>
    // CHECK-NEXT: workgroup_size = [128, 2, 1] subgroup_size = 64,
    // CHECK-NEXT: {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, reorder_workgroups_strategy = <Transpose>>}>
    %config = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_codegen.lowering_config<tile_sizes = [[64, 128, 64]]>, // measured
      translation_info = #iree_codegen.translation_info<LLVMGPUVectorDistribute
        workgroup_size = [128, 2, 1] subgroup_size = 64,
        {mma_schedule = #iree_gpu.mma_schedule<
           intrinsic = #iree_gpu.mma_layout<MFMA_F16_16x16x16_F32>,
           subgroup_m_count = 2, subgroup_n_count = 2>,
         prefetch_shared_memory, reorder_workgroups = "transpose"}>
      > -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }

  // CHECK: // Kept out: the pipeline 'LLVMGPUWarpReduction' is gone
  // CHECK-NEXT: // transform.named_sequence @match_any(
  transform.named_sequence @match_any(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %config = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_codegen.lowering_config<tile_sizes = [[32, 32, 16]]>,
      translation_info = <LLVMGPUWarpReduction>, workgroup_size = [16, 8, 1]> -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }

  // CHECK: @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
  // CHECK-NEXT: [[RESULT:%[a-z0-9_]+]] = transform.foreach_match in %root
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) {
    transform.foreach_match in %root
      // CHECK-NEXT: // The first entry.
      // CHECK-NEXT: @match_linear -> @configure
      // CHECK-NEXT: // Kept out: @match_any -> @configure
      // The first entry.
      @match_linear -> @configure,
      @match_any -> @configure
      : (!transform.any_op) -> !transform.any_op
    // CHECK: transform.yield [[RESULT]] : !transform.any_op
    transform.yield
  }
}
