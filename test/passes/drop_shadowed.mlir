// RUN: tuninglink-opt --split-input-file --no-implicit-module --tuninglink-drop-shadowed=report-dropped=true --verify-diagnostics %s | filecheck %s

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// An entry goes behind a wider one, with the action and the helper that only it uses. What others use stays, and so
// does what was not used before.

// CHECK-LABEL: module @narrower
// CHECK:         @unused_before(
// CHECK-NOT:     @only_dead(
// CHECK:         @shared(
// CHECK:         @wide(
// CHECK-NOT:     @narrow(
// CHECK:         @other_type(
// CHECK:         @apply_wide(
// CHECK-NOT:     @apply_narrow(
// CHECK:         foreach_match in %arg0
// CHECK-NEXT:      @wide -> @apply_wide,
// CHECK-NEXT:      @other_type -> @apply_wide :
module @narrower attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @unused_before(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "unused_before" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @only_dead(%op: !transform.any_op {transform.readonly}) {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield
  }
  transform.named_sequence @shared(%op: !transform.any_op {transform.readonly}) {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield
  }
  transform.named_sequence @wide(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.include @shared failures(propagate) (%op) : (!transform.any_op) -> ()
    %b, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out]
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // expected-remark @below {{dropped: '@narrow -> @apply_narrow' is never reached: '@wide' comes first and matches all ops that it matches}}
  transform.named_sequence @narrow(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.include @only_dead failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.include @shared failures(propagate) (%op) : (!transform.any_op) -> ()
    %b, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out]
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @other_type(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.include @shared failures(propagate) (%op) : (!transform.any_op) -> ()
    %b, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = bf16, rhs_type = bf16, output_type = f32, indexing_maps = [#lhs, #rhs, #out]
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply_wide(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "apply_wide" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @apply_narrow(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "apply_narrow" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %root
        @wide -> @apply_wide,
        @narrow -> @apply_narrow,
        @other_type -> @apply_wide : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// The narrower one first is an exception from the wider one; other sizes and other maps are no reason to go either.

// CHECK-LABEL: module @exceptions
// CHECK:         foreach_match in %arg0
// CHECK-NEXT:      @narrow -> @apply,
// CHECK-NEXT:      @other_size -> @apply,
// CHECK-NEXT:      @wide -> @apply :
module @exceptions attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @narrow(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %b, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out]
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @other_size(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %b, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out]
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [1281] : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @wide(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %b, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out]
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "apply" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %root
        @narrow -> @apply,
        @other_size -> @apply,
        @wide -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// Bounds and multiples: what asks for more of a dimension goes. Two that share all sizes between them leave those that
// are dynamic, of which neither is known.

// CHECK-LABEL: module @bounds
// CHECK:         foreach_match in %arg0
// CHECK-NEXT:      @small -> @apply,
// CHECK-NEXT:      @large -> @apply,
// CHECK-NEXT:      @any -> @apply,
// CHECK-NEXT:      @in_sixteens -> @apply :
module @bounds attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @small(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %b, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out]
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
    %lhs = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %lhs[0], umin = 0, umax = 100 : !transform.any_value
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @large(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %b, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out]
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
    %lhs = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %lhs[0], umin = 101, umax = 100000 : !transform.any_value
    transform.yield %op : !transform.any_op
  }
  // expected-remark @below {{dropped: '@smaller -> @apply' is never reached: '@small' comes first}}
  transform.named_sequence @smaller(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %b, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out]
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
    %lhs = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %lhs[0], umin = 8, umax = 99 : !transform.any_value
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @any(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %b, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out]
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @in_sixteens(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %b, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out]
      : !transform.any_op -> !transform.param<i64>
    %lhs = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_is_multiple_of %lhs[1], 16 : !transform.any_value
    transform.yield %op : !transform.any_op
  }
  // expected-remark @below {{dropped: '@in_sixty_fours -> @apply' is never reached: '@in_sixteens' comes first}}
  transform.named_sequence @in_sixty_fours(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %b, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out]
      : !transform.any_op -> !transform.param<i64>
    %lhs = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_is_multiple_of %lhs[1], 64 : !transform.any_value
    transform.yield %op : !transform.any_op
  }
  // expected-remark @below {{dropped: '@fixed -> @apply' is never reached: '@small' comes first}}
  transform.named_sequence @fixed(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %b, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out]
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [32] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [48] : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "apply" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %root
        @small -> @apply,
        @large -> @apply,
        @smaller -> @apply,
        @any -> @apply,
        @in_sixteens -> @apply,
        @in_sixty_fours -> @apply,
        @fixed -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// What matches nothing goes, but not the last entry. One that only looks for what is not configured is narrower than one
// that does not; the other way round it leaves something.

// CHECK-LABEL: module @nothing
// CHECK:         foreach_match in %arg0
// CHECK-NEXT:      @guarded -> @apply,
// CHECK-NEXT:      @unguarded -> @apply :
module @nothing attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  // expected-remark @below {{dropped: '@two_names -> @apply' matches nothing}}
  transform.named_sequence @two_names(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  // expected-remark @below {{dropped: '@two_sizes -> @apply' matches nothing}}
  transform.named_sequence @two_sizes(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %b, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#lhs, #rhs, #out]
      : !transform.any_op -> !transform.param<i64>
    %lhs = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dims_equal %m, [64] : !transform.param<i64>
    transform.iree.match.cast_compatible_type %lhs = tensor<32x?xf16> : !transform.any_value
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @guarded(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.iree.match.has_no_lowering_config %op : !transform.any_op
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @unguarded(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  // expected-remark @below {{dropped: '@guarded_again -> @apply' is never reached: '@guarded' comes first}}
  transform.named_sequence @guarded_again(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.iree.match.has_no_lowering_config %op : !transform.any_op
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "apply" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %root
        @two_names -> @apply,
        @two_sizes -> @apply,
        @guarded -> @apply,
        @unguarded -> @apply,
        @guarded_again -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// CHECK-LABEL: module @only_nothing
// CHECK:         foreach_match in %arg0
// CHECK-NEXT:      @first -> @apply :
module @only_nothing attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @first(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  // expected-remark @below {{dropped: '@second -> @apply' matches nothing}}
  transform.named_sequence @second(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "apply" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %root
        @first -> @apply,
        @second -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// A matcher that is not understood covers nothing and is covered by nothing. Behind one that only looks entries go as
// anywhere; one that may change the payload may make an operation what the earlier matcher did not see.

// CHECK-LABEL: module @opaque
// CHECK:         foreach_match in %arg0
// CHECK-NEXT:      @generic -> @apply,
// CHECK-NEXT:      @looks -> @apply,
// CHECK-NEXT:      @changes -> @apply,
// CHECK-NEXT:      @generic_behind -> @apply,
// CHECK-NEXT:      @copy -> @apply :
module @opaque attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @mark(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "seen" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @generic(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @looks(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_empty %op : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  // expected-remark @below {{dropped: '@generic_again -> @apply' is never reached: '@generic' comes first}}
  transform.named_sequence @generic_again(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @changes(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.include @mark failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @generic_behind(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @copy(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  // expected-remark @below {{dropped: '@copy_again -> @apply' is never reached: '@copy' comes first}}
  transform.named_sequence @copy_again(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "apply" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %root
        @generic -> @apply,
        @looks -> @apply,
        @generic_again -> @apply,
        @changes -> @apply,
        @generic_behind -> @apply,
        @copy -> @apply,
        @copy_again -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// Each 'foreach_match' walks the whole payload, so that an entry of one covers none of another. It may have flags, and
// its actions may do what they like: the first that matches decides. Some entry points have no entries at all.

// CHECK-LABEL: module @several
// CHECK:         @first(
// CHECK:         foreach_match in %arg0
// CHECK-NEXT:      @generic -> @apply :
// CHECK:         foreach_match restrict_root in
// CHECK-NEXT:      @generic -> @can_fail,
// CHECK-NEXT:      @copy -> @apply :
// CHECK:         @nothing(
module @several attributes {transform.with_named_sequence} {
  transform.named_sequence @generic(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  // expected-remark @below {{dropped: '@generic_copy -> @apply' is never reached: '@generic' comes first}}
  transform.named_sequence @generic_copy(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @copy(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @can_fail(%op: !transform.any_op {transform.readonly}) {
    %parent = transform.get_parent_op %op : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "apply" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @first(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %0 = transform.foreach_match in %root @generic -> @apply : (!transform.any_op) -> !transform.any_op
    %1 = transform.foreach_match restrict_root in %0
        @generic -> @can_fail, @generic_copy -> @apply, @copy -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %1 : !transform.any_op
  }
  transform.named_sequence @nothing(%root: !transform.any_op {transform.readonly}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.yield %root : !transform.any_op
  }
}

// -----

// A spec in another module is treated by itself; what is referred to from around it stays. A module without an entry
// point is a library.

// CHECK-LABEL: module @chain
// CHECK:         module @inner
// CHECK-NOT:       @again(
// CHECK:           @used_outside(
// CHECK-NOT:       @only_again(
// CHECK:           foreach_match in %arg0
// CHECK-NEXT:        @generic -> @apply :
// CHECK:         module @library
// CHECK:           @unused(
module @chain attributes {transform.with_named_sequence} {
  module @inner attributes {transform.with_named_sequence} {
    transform.named_sequence @generic(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    // expected-remark @below {{dropped: '@again -> @only_again' is never reached: '@generic' comes first}}
    transform.named_sequence @again(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "apply" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @used_outside(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "used_outside" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @only_again(%op: !transform.any_op {transform.readonly}) {
      transform.include @used_outside failures(propagate) (%op) : (!transform.any_op) -> ()
      transform.yield
    }
    transform.named_sequence @entry(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
        attributes {iree_codegen.tuning_spec_entrypoint} {
      %done = transform.foreach_match in %root
          @generic -> @apply,
          @again -> @only_again : (!transform.any_op) -> !transform.any_op
      transform.yield %done : !transform.any_op
    }
    }
  module @library attributes {transform.with_named_sequence} {
    transform.named_sequence @unused(%op: !transform.any_op {transform.readonly}) {
      transform.yield
    }
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.include @inner::@used_outside failures(propagate) (%root) : (!transform.any_op) -> ()
    %0 = transform.include @inner::@entry failures(suppress) (%root) : (!transform.any_op) -> !transform.any_op
    transform.yield %0 : !transform.any_op
  }
}

// -----

// What is no spec stays as it is.

// CHECK-LABEL: module @program
// CHECK:         func.func @f
module @program {
  func.func @f() {
    return
  }
}

// -----

// A producer that is used twice is not two equal producers: either entry matches what the other one does not.

// CHECK-LABEL: module @shared_producer
// CHECK:         foreach_match in %arg0
// CHECK-NEXT:      @one_producer -> @apply_one,
// CHECK-NEXT:      @two_producers -> @apply_two :
module @shared_producer attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @one_producer(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%a: tensor<?x?xf32>, %e: tensor<?x?xf32>):
      %1 = linalg.copy ins(%a : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
      %r = linalg.matmul ins(%1, %1 : tensor<?x?xf32>, tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @two_producers(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%a: tensor<?x?xf32>, %e: tensor<?x?xf32>):
      %1 = linalg.copy ins(%a : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
      %2 = linalg.copy ins(%a : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
      %r = linalg.matmul ins(%1, %2 : tensor<?x?xf32>, tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply_one(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "one" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @apply_two(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "two" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__kernel_config(%variant: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %0 = transform.foreach_match in %variant
        @one_producer -> @apply_one, @two_producers -> @apply_two : (!transform.any_op) -> !transform.any_op
    transform.yield %0 : !transform.any_op
  }
}

// -----

// As a tree this graph would have 2^32 ops.

// CHECK-LABEL: module @shared_in_a_row
// CHECK:         foreach_match in %arg0
// CHECK-NEXT:      @row -> @apply :
module @shared_in_a_row attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @row(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%p0: f32):
      %p1 = arith.addf %p0, %p0 : f32
      %p2 = arith.addf %p1, %p1 : f32
      %p3 = arith.addf %p2, %p2 : f32
      %p4 = arith.addf %p3, %p3 : f32
      %p5 = arith.addf %p4, %p4 : f32
      %p6 = arith.addf %p5, %p5 : f32
      %p7 = arith.addf %p6, %p6 : f32
      %p8 = arith.addf %p7, %p7 : f32
      %p9 = arith.addf %p8, %p8 : f32
      %p10 = arith.addf %p9, %p9 : f32
      %p11 = arith.addf %p10, %p10 : f32
      %p12 = arith.addf %p11, %p11 : f32
      %p13 = arith.addf %p12, %p12 : f32
      %p14 = arith.addf %p13, %p13 : f32
      %p15 = arith.addf %p14, %p14 : f32
      %p16 = arith.addf %p15, %p15 : f32
      %p17 = arith.addf %p16, %p16 : f32
      %p18 = arith.addf %p17, %p17 : f32
      %p19 = arith.addf %p18, %p18 : f32
      %p20 = arith.addf %p19, %p19 : f32
      %p21 = arith.addf %p20, %p20 : f32
      %p22 = arith.addf %p21, %p21 : f32
      %p23 = arith.addf %p22, %p22 : f32
      %p24 = arith.addf %p23, %p23 : f32
      %p25 = arith.addf %p24, %p24 : f32
      %p26 = arith.addf %p25, %p25 : f32
      %p27 = arith.addf %p26, %p26 : f32
      %p28 = arith.addf %p27, %p27 : f32
      %p29 = arith.addf %p28, %p28 : f32
      %p30 = arith.addf %p29, %p29 : f32
      %p31 = arith.addf %p30, %p30 : f32
      %p32 = arith.addf %p31, %p31 : f32
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "row" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__kernel_config(%variant: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %0 = transform.foreach_match in %variant @row -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %0 : !transform.any_op
  }
}

// -----

// Sequences that were unused before stay, with what they use.

// CHECK-LABEL: module @unused_before
// CHECK:         transform.named_sequence @also
// CHECK:         transform.named_sequence @unused
// CHECK:           @also -> @apply :
// CHECK:         foreach_match
// CHECK-NEXT:      @any -> @apply :
module @unused_before attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @any(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  // expected-remark @+1 {{dropped: '@also -> @apply' is never reached}}
  transform.named_sequence @also(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "row" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @unused(%op: !transform.any_op {transform.consumed}) {
    %0 = transform.foreach_match in %op @also -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence @__kernel_config(%variant: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %0 = transform.foreach_match in %variant @any -> @apply, @also -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %0 : !transform.any_op
  }
}
