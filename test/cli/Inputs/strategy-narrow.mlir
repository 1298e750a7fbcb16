module @narrow attributes {transform.with_named_sequence} {
  transform.named_sequence @strategy(%op: !transform.any_op {transform.readonly}) {
    transform.print name = "strategy of narrow" skip_regions
    transform.yield
  }
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %n, [256] : !transform.param<i64>
    %config = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_gpu.lowering_config<{workgroup = [64, 64, 0], reduction = [0, 0, 4], subgroup = [2, 2, 0],
        mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], lowering_strategy = "strategy"}>,
      translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64>
    > -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}, %config: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
    %symbols = transform.util.create_serialized_module {
    ^bb0(%module: !transform.any_op):
      transform.util.import_symbol @strategy into %module if undefined : (!transform.any_op) -> !transform.any_op
      transform.annotate %module "transform.with_named_sequence" : !transform.any_op
    } -> !transform.any_param
    %function = transform.get_parent_op %op <isolated_from_above> : (!transform.any_op) -> !transform.any_op
    transform.annotate %function "iree_codegen_external_symbols" = %symbols : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %0 = transform.foreach_match in %root @match -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %0 : !transform.any_op
  }
}
