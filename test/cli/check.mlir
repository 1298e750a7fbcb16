// Every question about every entry: the table on standard output, what is wrong on standard error.
// RUN: not tuninglink check %s --target gfx942 2>%t.err >%t.out
// RUN: filecheck %s --check-prefix=TABLE --input-file=%t.out
// RUN: filecheck %s --check-prefix=WRONG --input-file=%t.err

// TABLE:      check.mlir (matcher list, 6 entries)
// TABLE-NEXT: line matches valid compiles reachable overlaps entry made for it
// TABLE:      yes yes - yes matmul_256x128x512 tensor<256x512xf16>, tensor<128x512xf16>, tensor<256x128xf32>
// TABLE-NEXT: yes NO - yes uneven_tiles tensor<320x512xf16>
// TABLE-NEXT: NO ? - NO two_sizes_at_once
// TABLE-NEXT: yes yes - NO again_256x128x512 tensor<256x512xf16>
// TABLE-NEXT: yes yes - {{yes|\?}} {{.*}} large_matmuls
// TABLE-NEXT: ? ? - ? anything_computed
// TABLE-DAG:  not decided: matches itself: line {{[0-9]+}}: it also requires other ops around the matched one
// TABLE-DAG:  overlap: line {{[0-9]+}}: 'large_matmuls' matches a contraction of f16 x f16 x f32 with m = 256, n = 128, k = 512, which 'matmul_256x128x512' (line {{[0-9]+}}) takes first

// WRONG:      check.mlir:{{[0-9]+}}:{{[0-9]+}}: error: entry 'uneven_tiles' has an invalid configuration: dimension 0 must be divisible by workgroup[0], or fit into it (320 % 96 == 0)
// WRONG:      note: the nearest valid configuration: workgroup[0]: 96 -> 64
// WRONG:      check.mlir:{{[0-9]+}}:3: error: entry 'two_sizes_at_once' matches nothing:
// WRONG:      check.mlir:{{[0-9]+}}:3: warning: entry 'again_256x128x512' is never reached: '@matmul_256x128x512' comes first

// The same as JSON, and to a file; nothing is said besides.
// RUN: not tuninglink check %s --target gfx942 --format json -o %t.json >%t.said 2>&1
// RUN: cmp %t.said /dev/null
// RUN: %python -c "import json, sys; spec, = json.load(open(sys.argv[1]))['specs']; print(*((e['matcher'], *(a and a['verdict'] for a in e['answers'].values())) for e in spec['entries']), sep='\n')" %t.json | filecheck %s --check-prefix=JSON
// JSON:      ('matmul_256x128x512', 'proven', 'proven', None, 'proven')
// JSON-NEXT: ('uneven_tiles', 'proven', 'refuted', None, 'proven')
// JSON-NEXT: ('two_sizes_at_once', 'refuted', 'not decided', None, 'refuted')
// JSON-NEXT: ('again_256x128x512', 'proven', 'proven', None, 'refuted')
// JSON-NEXT: ('large_matmuls', 'proven', 'proven', None, {{.*}})
// JSON-NEXT: ('anything_computed', 'not decided', 'not decided', None, 'not decided')

// Without a target, configurations are not checked.
// RUN: not tuninglink check %s 2>/dev/null | filecheck %s --check-prefix=UNTARGETED
// UNTARGETED: yes - - yes matmul_256x128x512
// UNTARGETED: yes - - yes uneven_tiles

// What is refuted does not compile, and what is valid does.
// RUN: not tuninglink check %s --target gfx942 --compile --jobs 1 2>&1 | filecheck %s --check-prefix=COMPILED
// COMPILED: error: entry 'uneven_tiles' configures what does not compile: the compiler refuses it:
// COMPILED: yes yes yes yes matmul_256x128x512
// COMPILED: yes NO NO yes uneven_tiles

// A sound spec: exit code 0, and silence but for the table.
// RUN: tuninglink check %examples/spec_gfx942.mlir --target gfx942 --compile --jobs 1 2>&1 | filecheck %s --check-prefix=SOUND
// SOUND-NOT: warning:
// SOUND:     spec_gfx942.mlir (matcher list, 1 entry)
// SOUND-NEXT: line matches
// SOUND:     yes {{.*}} yes yes match_linear_2048x1280x5120
// SOUND:     remarks: 1 discouraged-configuration; --all shows them

// With --quiet there is nothing; of a large spec there are the numbers, and all rows with --all.
// RUN: tuninglink check %examples/spec_gfx942.mlir --target gfx942 -q > %t.quiet 2>&1
// RUN: cmp %t.quiet /dev/null
// RUN: tuninglink check library:boo-gfx942 2>&1 | filecheck %s --check-prefix=LARGE
// LARGE:      boo-gfx942 (matcher list, 214 entries)
// LARGE-NEXT: matches: 214 yes
// LARGE-NEXT: reachable: {{[0-9]+}} yes, {{[0-9]+}} ?
// LARGE-NOT:  match_
// RUN: tuninglink check library:boo-gfx942 --all 2>&1 | filecheck %s --check-prefix=WHOLE
// WHOLE-COUNT-214: {{yes|remark}}{{.*}} match_

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #options}>
#tiles_64 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [2, 2, 0], workgroup = [64, 64, 0]}>, translation_info = #translation>
#tiles_32 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [2, 2, 0], workgroup = [64, 64, 0]}>, translation_info = #translation>
#tiles_96 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [3, 2, 0], workgroup = [96, 64, 0]}>, translation_info = #translation>

module attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @configure(%op: !transform.any_op {transform.readonly}, %info: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %info : !transform.any_op, !transform.any_param
    transform.yield
  }

  transform.named_sequence @matmul_256x128x512(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [512] : !transform.param<i64>
    %info = transform.param.constant #tiles_64 -> !transform.any_param
    transform.yield %op, %info : !transform.any_op, !transform.any_param
  }

  transform.named_sequence @uneven_tiles(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [320] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [512] : !transform.param<i64>
    %info = transform.param.constant #tiles_96 -> !transform.any_param
    transform.yield %op, %info : !transform.any_op, !transform.any_param
  }

  transform.named_sequence @two_sizes_at_once(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [640] : !transform.param<i64>
    %lhs = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %lhs[0], umin = 1, umax = 512 : !transform.any_value
    %info = transform.param.constant #tiles_64 -> !transform.any_param
    transform.yield %op, %info : !transform.any_op, !transform.any_param
  }

  transform.named_sequence @again_256x128x512(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [128] : !transform.param<i64>
    %lhs = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %lhs = tensor<256x512xf16> : !transform.any_value
    %info = transform.param.constant #tiles_32 -> !transform.any_param
    transform.yield %op, %info : !transform.any_op, !transform.any_param
  }

  transform.named_sequence @large_matmuls(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out] : !transform.any_op -> !transform.param<i64>
    %lhs = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_is_multiple_of %lhs[0], 256 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %lhs[1], 256 : !transform.any_value
    %rhs = transform.get_operand %op[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_is_multiple_of %rhs[0], 128 : !transform.any_value
    %info = transform.param.constant #tiles_32 -> !transform.any_param
    transform.yield %op, %info : !transform.any_op, !transform.any_param
  }

  transform.named_sequence @anything_computed(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %producer = transform.get_producer_of_operand %op[0] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %producer ["linalg.generic"] : !transform.any_op
    %info = transform.param.constant #tiles_32 -> !transform.any_param
    transform.yield %op, %info : !transform.any_op, !transform.any_param
  }

  transform.named_sequence @__kernel_config(%variant: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %result = transform.foreach_match in %variant
        @matmul_256x128x512 -> @configure,
        @uneven_tiles -> @configure,
        @two_sizes_at_once -> @configure,
        @again_256x128x512 -> @configure,
        @large_matmuls -> @configure,
        @anything_computed -> @configure : (!transform.any_op) -> !transform.any_op
    transform.yield %result : !transform.any_op
  }
}
