// RUN: tuninglink-opt --split-input-file --no-implicit-module --pass-pipeline='any(tuninglink-index-matchers{longest-list=4})' %s | filecheck %s

// Contractions of one kind become a group, and ranges of sizes groups in it. What is not understood stays in its
// place: in front of all groups here. What may match the same operations is in the group as well, in its place.

// CHECK-LABEL: module @by_size
// CHECK:         transform.named_sequence @is_inside(%arg0: {{.*}}, %arg1: {{.*}}) {
// CHECK-NEXT:      merge_handles deduplicate %arg0, %arg1
// CHECK:         transform.named_sequence @leave() attributes {tuninglink.no_decision} {
// CHECK:         transform.named_sequence @group(%arg0: {{.*}}) -> !transform.any_op {
// CHECK-NEXT:      transform.iree.match.contraction %arg0, lhs_type = f16
// CHECK-NEXT:      transform.yield %arg0
// CHECK:         transform.named_sequence @search(%arg0: !transform.any_op {transform.consumed}) attributes {tuninglink.no_decision} {
// CHECK-NEXT:      foreach_match restrict_root in %arg0, %arg0
// CHECK-NEXT:        @is_inside -> @leave,
// CHECK-NEXT:        @group_0 -> @search_0,
// CHECK-NEXT:        @group_1 -> @search_1,
// CHECK-NEXT:        @any_f16_0 -> @apply :
// CHECK:         transform.named_sequence @group_0(%arg0: {{.*}}, %arg1: {{.*}}) -> !transform.any_op {
// CHECK-NEXT:      %[[LHS:.*]] = transform.get_operand %arg0[0]
// CHECK-NEXT:      transform.iree.match.dim_bounds %[[LHS]][0], umin = 16, umax = 64
// CHECK-NEXT:      transform.yield %arg0
// CHECK:         transform.named_sequence @search_0(
// CHECK-NEXT:      foreach_match restrict_root in %arg0, %arg0
// CHECK-NEXT:        @is_inside -> @leave,
// CHECK-NEXT:        @mmt_16 -> @apply,
// CHECK-NEXT:        @mmt_32 -> @apply,
// CHECK-NEXT:        @mmt_48 -> @apply,
// CHECK-NEXT:        @mmt_64 -> @apply,
// CHECK-NEXT:        @any_f16_0 -> @apply :
// CHECK:         transform.named_sequence @group_1(
// CHECK:           dim_bounds %{{.*}}[0], umin = 80, umax = 128
// CHECK:         transform.named_sequence @mmt_16(%arg0: {{.*}}, %arg1: !transform.any_op {transform.readonly})
// CHECK:         transform.named_sequence @any_f16(%arg0: !transform.any_op {transform.readonly}) ->
// CHECK:         transform.named_sequence @any_f16_0(%arg0: {{.*}}, %arg1: {{.*}}) ->
// CHECK:         transform.named_sequence @__kernel_config(
// CHECK-NEXT:      foreach_match in %arg0
// CHECK-NEXT:        @reaches -> @apply,
// CHECK-NEXT:        @group -> @search,
// CHECK-NEXT:        @any_f16 -> @apply :
module @by_size attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}, %value: !transform.any_param {transform.readonly}) {
    transform.annotate %op "lowering_config" = %value : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @reaches(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %producer = transform.get_producer_of_operand %op[0] : (!transform.any_op) -> !transform.any_op
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %producer, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_16(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [16] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_32(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [32] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_48(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [48] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_64(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [64] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_80(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [80] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_96(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [96] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_112(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [112] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_128(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [128] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @any_f16(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %lhs = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %lhs = tensor<?x?xf16> : !transform.any_value
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated = transform.foreach_match in %root
      @reaches -> @apply,
      @mmt_16 -> @apply,
      @mmt_32 -> @apply,
      @mmt_48 -> @apply,
      @mmt_64 -> @apply,
      @mmt_80 -> @apply,
      @mmt_96 -> @apply,
      @mmt_112 -> @apply,
      @mmt_128 -> @apply,
      @any_f16 -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %updated : !transform.any_op
  }
}

// -----

// Element types and maps tell groups apart; a group whose list is short has no groups in it. An entry between
// them that may match operations of both is in both, in its place, and stays behind them.

// CHECK-LABEL: module @by_types
// CHECK:         transform.named_sequence @search(
// CHECK-NEXT:      foreach_match
// CHECK-NEXT:        @is_inside -> @leave,
// CHECK-NEXT:        @f16_16 -> @apply,
// CHECK-NEXT:        @f16_32 -> @apply,
// CHECK-NEXT:        @generic_0 -> @apply,
// CHECK-NEXT:        @f16_48 -> @apply,
// CHECK-NEXT:        @f16_64 -> @apply :
// CHECK:         transform.named_sequence @search_0(
// CHECK-NEXT:      foreach_match
// CHECK-NEXT:        @is_inside -> @leave,
// CHECK-NEXT:        @f32_16 -> @apply,
// CHECK-NEXT:        @f32_32 -> @apply,
// CHECK-NEXT:        @generic_0 -> @apply,
// CHECK-NEXT:        @f32_48 -> @apply,
// CHECK-NEXT:        @f32_64 -> @apply :
// CHECK:         transform.named_sequence @__kernel_config(
// CHECK-NEXT:      foreach_match in %arg0
// CHECK-NEXT:        @group -> @search,
// CHECK-NEXT:        @group_0 -> @search_0,
// CHECK-NEXT:        @generic -> @apply :
module @by_types attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}, %value: !transform.any_param {transform.readonly}) {
    transform.annotate %op "lowering_config" = %value : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @generic(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    transform.match.operation_name %op ["linalg.generic", "linalg.matmul"] : !transform.any_op
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @f16_16(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [16] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @f16_32(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [32] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @f16_48(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [48] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @f16_64(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [64] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @f32_16(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [16] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @f32_32(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [32] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @f32_48(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [48] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @f32_64(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [64] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated = transform.foreach_match in %root
      @f16_16 -> @apply,
      @f32_16 -> @apply,
      @f16_32 -> @apply,
      @f32_32 -> @apply,
      @generic -> @apply,
      @f16_48 -> @apply,
      @f32_48 -> @apply,
      @f16_64 -> @apply,
      @f32_64 -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %updated : !transform.any_op
  }
}

// -----

// Nothing is gained where most entries may match any operation of a group: matchers that reach elsewhere are
// not understood. The list stays as it is.

// CHECK-LABEL: module @opaque
// CHECK-NOT:     @group
// CHECK:         foreach_match in %arg0
// CHECK-NEXT:      @reaches_0 -> @apply,
// CHECK-NEXT:      @mmt_16 -> @apply,
module @opaque attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}, %value: !transform.any_param {transform.readonly}) {
    transform.annotate %op "lowering_config" = %value : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @reaches_0(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %producer = transform.get_producer_of_operand %op[0] : (!transform.any_op) -> !transform.any_op
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %producer, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @reaches_1(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %producer = transform.get_producer_of_operand %op[1] : (!transform.any_op) -> !transform.any_op
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %producer, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @reaches_2(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %producer = transform.get_producer_of_operand %op[2] : (!transform.any_op) -> !transform.any_op
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %producer, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @reaches_3(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %producer = transform.get_producer_of_operand %op[3] : (!transform.any_op) -> !transform.any_op
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %producer, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @reaches_4(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %producer = transform.get_producer_of_operand %op[4] : (!transform.any_op) -> !transform.any_op
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %producer, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_16(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [16] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_32(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [32] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_48(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [48] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_64(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [64] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated = transform.foreach_match in %root
      @reaches_0 -> @apply,
      @mmt_16 -> @apply,
      @reaches_1 -> @apply,
      @mmt_32 -> @apply,
      @reaches_2 -> @apply,
      @mmt_48 -> @apply,
      @reaches_3 -> @apply,
      @mmt_64 -> @apply,
      @reaches_4 -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %updated : !transform.any_op
  }
}

// -----

// A list that is short enough stays as it is.

// CHECK-LABEL: module @short
// CHECK-NOT:     @group
module @short attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}, %value: !transform.any_param {transform.readonly}) {
    transform.annotate %op "lowering_config" = %value : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @mmt_16(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [16] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_32(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [32] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_48(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [48] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_64(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [64] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated = transform.foreach_match in %root
      @mmt_16 -> @apply,
      @mmt_32 -> @apply,
      @mmt_48 -> @apply,
      @mmt_64 -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %updated : !transform.any_op
  }
}

// -----

// A matcher that is used elsewhere keeps its signature, and a copy stands in the group; symbols of the spec
// keep their names. Without maps nothing is known of operands, and the list of the group is not split.

// CHECK-LABEL: module @used_elsewhere
// CHECK:         transform.named_sequence @group_0(
// CHECK:         transform.named_sequence @search(
// CHECK-NEXT:      foreach_match
// CHECK-NEXT:        @is_inside -> @leave,
// CHECK-NEXT:        @group_1 -> @apply,
// CHECK-NEXT:        @mmt_32 -> @apply,
// CHECK:         transform.named_sequence @group(%arg0: !transform.any_op {transform.readonly}) ->
// CHECK:         transform.named_sequence @group_1(%arg0: {{.*}}, %arg1: {{.*}}) ->
// CHECK:         transform.named_sequence @mmt_32(%arg0: {{.*}}, %arg1: {{.*}}) ->
// CHECK-NEXT:      transform.include @group failures(propagate) (%arg0)
module @used_elsewhere attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}, %value: !transform.any_param {transform.readonly}) {
    transform.annotate %op "lowering_config" = %value : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @group(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32 : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [16] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_32(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %same, %other = transform.include @group failures(propagate) (%op) : (!transform.any_op) -> (!transform.any_op, !transform.any_param)
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_48(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32 : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [48] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_64(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32 : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [64] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_80(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32 : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [80] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @mmt_96(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32 : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [96] : !transform.param<i64>
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated = transform.foreach_match in %root
      @group -> @apply,
      @mmt_32 -> @apply,
      @mmt_48 -> @apply,
      @mmt_64 -> @apply,
      @mmt_80 -> @apply,
      @mmt_96 -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %updated : !transform.any_op
  }
}

// -----

// What is no spec stays as it is.

// CHECK-LABEL: module @no_spec
// CHECK-NEXT:  }
module @no_spec {
}
