// RUN: tuninglink-opt --no-implicit-module --split-input-file --tuninglink-link-specs %s | filecheck %s

// The compiler looks strategies and microkernels up by name, in strings, among the symbols that a spec imports into
// programs. The strings follow the symbol, wherever they are; the same words in other places do not.

// CHECK-DAG: {kernel = #iree_codegen.ukernel_descriptor<"kernel_0", tensor>}>
// CHECK-DAG: lowering_config<{lowering_strategy = "tile_0", workgroup = [3]}>
// CHECK-LABEL: module @both
// CHECK: @kernel(
// CHECK: @tile(
// CHECK: lowering_config<{lowering_strategy = "tile", workgroup = [1]}>
// CHECK: transform.util.import_symbol @tile into
// CHECK: @kernel_0(
// CHECK: @tile_0(
// CHECK: {attention = {lowering_config = #iree_gpu.lowering_config<{lowering_strategy = "tile_0", workgroup = [2]}>}, note = "tile"}
// CHECK: transform.util.import_symbol @tile_0 into
// CHECK: transform.util.import_symbol @kernel_0 into
module @both attributes {transform.with_named_sequence} {
  module @first attributes {transform.with_named_sequence} {
    util.func private @kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
      util.return %x : tensor<4xf32>
    }
    transform.named_sequence @tile(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "first" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
      transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
      %config = transform.param.constant #iree_gpu.lowering_config<{workgroup = [1], lowering_strategy = "tile"}> -> !transform.any_param
      transform.yield %op, %config : !transform.any_op, !transform.any_param
    }
    transform.named_sequence @ship(%op: !transform.any_op {transform.readonly}, %config: !transform.any_param {transform.readonly}) {
      transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
      %module = transform.util.get_nearest_symbol_table %op : (!transform.any_op) -> !transform.any_op
      %0 = transform.util.import_symbol @tile into %module if undefined : (!transform.any_op) -> !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %0 = transform.foreach_match in %root @match -> @ship : (!transform.any_op) -> !transform.any_op
      transform.yield %0 : !transform.any_op
    }
  }
  module @second attributes {transform.with_named_sequence} {
    util.func private @kernel(%x: tensor<8xf32>) -> tensor<8xf32> {
      util.return %x : tensor<8xf32>
    }
    transform.named_sequence @tile(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "second" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) {
      transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
      %parts = transform.param.constant {note = "tile", attention = {lowering_config = #iree_gpu.lowering_config<{workgroup = [2], lowering_strategy = "tile"}>}} -> !transform.any_param
      %info = transform.param.constant #iree_codegen.compilation_info<
        lowering_config = #iree_gpu.lowering_config<{workgroup = [3], lowering_strategy = "tile"}>,
        translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1],
          {kernel = #iree_codegen.ukernel_descriptor<"kernel", tensor>}>> -> !transform.any_param
      transform.yield %op, %parts, %info : !transform.any_op, !transform.any_param, !transform.any_param
    }
    transform.named_sequence @ship(%op: !transform.any_op {transform.readonly}, %parts: !transform.any_param {transform.readonly}, %info: !transform.any_param {transform.readonly}) {
      transform.annotate %op "decomposition_config" = %parts : !transform.any_op, !transform.any_param
      transform.annotate %op "compilation_info" = %info : !transform.any_op, !transform.any_param
      %symbols = transform.util.create_serialized_module {
      ^bb0(%module: !transform.any_op):
        %0 = transform.util.import_symbol @tile into %module if undefined : (!transform.any_op) -> !transform.any_op
        %1 = transform.util.import_symbol @kernel into %module if undefined : (!transform.any_op) -> !transform.any_op
      } -> !transform.any_param
      %function = transform.get_parent_op %op <isolated_from_above> : (!transform.any_op) -> !transform.any_op
      transform.annotate %function "iree_codegen_external_symbols" = %symbols : !transform.any_op, !transform.any_param
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %0 = transform.foreach_match in %root @match -> @ship : (!transform.any_op) -> !transform.any_op
      transform.yield %0 : !transform.any_op
    }
  }
}

// -----

// Identical strategies are shared, with what they refer to; one that calls another function is not.

// CHECK-LABEL: module @shared
// CHECK: @same(
// CHECK: @differs(
// CHECK-NOT: @same_0(
// CHECK: @differs_0(
// CHECK-NOT: @same_0(
// CHECK: transform.util.import_symbol @same into
// CHECK: transform.util.import_symbol @differs_0 into
module @shared attributes {transform.with_named_sequence} {
  module @first attributes {transform.with_named_sequence} {
    transform.named_sequence @helper(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "helper" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @other(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "first" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @same(%op: !transform.any_op {transform.readonly}) {
      transform.include @helper failures(propagate) (%op) : (!transform.any_op) -> ()
      transform.yield
    }
    transform.named_sequence @differs(%op: !transform.any_op {transform.readonly}) {
      transform.include @other failures(propagate) (%op) : (!transform.any_op) -> ()
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %module = transform.util.get_nearest_symbol_table %root : (!transform.any_op) -> !transform.any_op
      %0 = transform.util.import_symbol @same into %module if undefined : (!transform.any_op) -> !transform.any_op
      %1 = transform.util.import_symbol @differs into %module if undefined : (!transform.any_op) -> !transform.any_op
      transform.yield %root : !transform.any_op
    }
  }
  module @second attributes {transform.with_named_sequence} {
    transform.named_sequence @helper(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "helper" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @other(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "second" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @same(%op: !transform.any_op {transform.readonly}) {
      transform.include @helper failures(propagate) (%op) : (!transform.any_op) -> ()
      transform.yield
    }
    transform.named_sequence @differs(%op: !transform.any_op {transform.readonly}) {
      transform.include @other failures(propagate) (%op) : (!transform.any_op) -> ()
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %module = transform.util.get_nearest_symbol_table %root : (!transform.any_op) -> !transform.any_op
      %0 = transform.util.import_symbol @same into %module if undefined : (!transform.any_op) -> !transform.any_op
      %1 = transform.util.import_symbol @differs into %module if undefined : (!transform.any_op) -> !transform.any_op
      transform.yield %root : !transform.any_op
    }
  }
}

// -----

// Where nested modules dissolve, each string follows the symbol that its own module imports. So does the entry point of
// a strategy in the transform dialect, which is a reference.

// CHECK-DAG: #iree_codegen.translation_info<pipeline = #iree_codegen.transform_dialect_codegen codegen_spec = @tile_0>
// CHECK-LABEL: module @nested
// CHECK: @tile(
// CHECK: lowering_config<{lowering_strategy = "tile", workgroup = [1]}>
// CHECK: transform.util.import_symbol @tile into
// CHECK: @tile_0(
// CHECK: lowering_config<{lowering_strategy = "tile_0", workgroup = [2]}>
// CHECK: transform.util.import_symbol @tile_0 into
module @nested attributes {transform.with_named_sequence} {
  module @first attributes {transform.with_named_sequence} {
    transform.named_sequence @tile(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "first" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %config = transform.param.constant #iree_gpu.lowering_config<{workgroup = [1], lowering_strategy = "tile"}> -> !transform.any_param
      transform.annotate %root "lowering_config" = %config : !transform.any_op, !transform.any_param
      %module = transform.util.get_nearest_symbol_table %root : (!transform.any_op) -> !transform.any_op
      %0 = transform.util.import_symbol @tile into %module if undefined : (!transform.any_op) -> !transform.any_op
      transform.yield %root : !transform.any_op
    }
  }
  module @second attributes {transform.with_named_sequence} {
    module @library attributes {transform.with_named_sequence} {
      transform.named_sequence @tile(%op: !transform.any_op {transform.readonly}) {
        transform.annotate %op "second" : !transform.any_op
        transform.yield
      }
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %config = transform.param.constant #iree_gpu.lowering_config<{workgroup = [2], lowering_strategy = "tile"}> -> !transform.any_param
      transform.annotate %root "lowering_config" = %config : !transform.any_op, !transform.any_param
      %info = transform.param.constant #iree_codegen.translation_info<pipeline = #iree_codegen.transform_dialect_codegen codegen_spec = @library::@tile> -> !transform.any_param
      transform.annotate %root "translation_info" = %info : !transform.any_op, !transform.any_param
      %module = transform.util.get_nearest_symbol_table %root : (!transform.any_op) -> !transform.any_op
      %0 = transform.util.import_symbol @library::@tile into %module if undefined : (!transform.any_op) -> !transform.any_op
      transform.yield %root : !transform.any_op
    }
  }
}
