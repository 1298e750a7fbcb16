// Entries for contractions of several sizes and types, and one that may match anything.
module @matmuls attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @mark(%op: !transform.any_op {transform.readonly}, %who: !transform.any_param {transform.readonly}) {
    transform.annotate %op "who" = %who : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @is_f16(%op: !transform.any_op {transform.readonly})
      -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32
        : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch, [] : !transform.param<i64>
    transform.yield %m, %n, %k : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
  }
  transform.named_sequence @f16_64x32x128(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %m, %n, %k = transform.include @is_f16 failures(propagate) (%op)
        : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>)
    transform.iree.match.dims_equal %m, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [32] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [128] : !transform.param<i64>
    %who = transform.param.constant "f16_64x32x128" -> !transform.any_param
    transform.yield %op, %who : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @f16_any_rows(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %m, %n, %k = transform.include @is_f16 failures(propagate) (%op)
        : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>)
    transform.iree.match.dims_equal %n, [32] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [256] : !transform.param<i64>
    %who = transform.param.constant "f16_any_rows" -> !transform.any_param
    transform.yield %op, %who : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @bf16(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = bf16, rhs_type = bf16, output_type = f32
        : !transform.any_op -> !transform.param<i64>
    %who = transform.param.constant "bf16" -> !transform.any_param
    transform.yield %op, %who : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @attention(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    transform.match.operation_name %op ["iree_linalg_ext.attention", "iree_linalg_ext.online_attention"] : !transform.any_op
    %who = transform.param.constant "attention" -> !transform.any_param
    transform.yield %op, %who : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %root
        @f16_64x32x128 -> @mark, @f16_any_rows -> @mark, @bf16 -> @mark, @attention -> @mark
        : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}
