// A configuration that compiles may take more stack than the workers of local-task have, once an elementwise operation is
// fused into the dispatch: this one crashed a model on local-task and ran on local-sync.

// RUN: tuninglink check %s --target skylake-avx512 --compile --jobs 1 2>%t.err >%t.out
// RUN: filecheck %s --check-prefix=TABLE --input-file=%t.out
// RUN: filecheck %s --check-prefix=WARNED --input-file=%t.err

// RUN: tuninglink check %s --target skylake-avx512 2>&1 >%t.table | filecheck %s --check-prefix=ESTIMATED

// TABLE: yes yes yes yes match_large
// TABLE: yes yes yes yes match_small

// WARNED: check-stack.mlir:{{[0-9]+}}:3: warning: entry 'match_large' configures what may crash on local-task: with an elementwise operation after it, its code takes {{[0-9]+}} KiB of stack, and IREE's workers have 128 KiB
// WARNED-NOT: match_small

// Without a compilation, the stack is estimated from the vectors that are alive at once.

// ESTIMATED: check-stack.mlir:{{[0-9]+}}:{{[0-9]+}}: warning: entry 'match_large' configures what may crash on local-task: with an elementwise operation after it, 13 vectors of 'linalg.generic' with 1x1x4x1024 elements of 32 bits should fit into 120 KiB of stack: IREE's workers have 128 KiB
// ESTIMATED-NOT: match_small

module attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
  transform.named_sequence @match_large(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %m, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [256] : !transform.param<i64>
    %config = transform.param.constant #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<cache_reduction = [0, 0, 0, 32], distribution = [0, 4, 0, 0], vector_common_parallel = [1, 2, 64, 0], vector_reduction = [0, 0, 0, 8]>, translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_small(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %m, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [256] : !transform.param<i64>
    %config = transform.param.constant #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [0, 32, 64, 0], vector_common_parallel = [1, 8, 16, 0], vector_reduction = [0, 0, 0, 16]>, translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @configure(%op: !transform.any_op {transform.readonly}, %config: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__kernel_config(%op: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %configured = transform.foreach_match in %op @match_large -> @configure, @match_small -> @configure : (!transform.any_op) -> !transform.any_op
    transform.yield %configured : !transform.any_op
  }
}
