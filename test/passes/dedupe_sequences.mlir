// RUN: tuninglink-opt --split-input-file --no-implicit-module --tuninglink-dedupe-sequences %s | filecheck %s

// Copies of an action become the first of them, copies of what they include and copies by way of that as well;
// locations and names do not count. What differs stays. A second entry with the same matcher is never reached,
// and what only that uses goes with it.

// CHECK-LABEL: module @copies
// CHECK-NEXT:    transform.named_sequence @set(
// CHECK-NEXT:      annotate %arg0 "lowering_config" = %arg1
// CHECK:         transform.named_sequence @apply(
// CHECK-NEXT:      include @set failures(propagate) (%arg0, %arg1)
// CHECK:         transform.named_sequence @other(
// CHECK-NEXT:      annotate %arg0 "compilation_info" = %arg1
// CHECK:         transform.named_sequence @match(
// CHECK-NOT:     @match_copy(
// CHECK:         transform.named_sequence @match_fill(
// CHECK-NOT:     @never(
// CHECK:         transform.named_sequence @__kernel_config(
// CHECK-NEXT:      foreach_match in %arg0
// CHECK-NEXT:        @match -> @apply,
// CHECK-NEXT:        @match_fill -> @apply,
// CHECK-NEXT:        @match_copy_op -> @other :
module @copies attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @set(%op: !transform.any_op {transform.readonly}, %value: !transform.any_param {transform.readonly}) {
    transform.annotate %op "lowering_config" = %value : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @set_copy(%a: !transform.any_op {transform.readonly}, %b: !transform.any_param {transform.readonly}) {
    transform.annotate %a "lowering_config" = %b : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}, %value: !transform.any_param {transform.readonly}) {
    transform.include @set failures(propagate) (%op, %value) : (!transform.any_op, !transform.any_param) -> ()
    transform.yield
  }
  transform.named_sequence @apply_copy(%op: !transform.any_op {transform.readonly}, %value: !transform.any_param {transform.readonly}) {
    transform.include @set_copy failures(propagate) (%op, %value) : (!transform.any_op, !transform.any_param) -> ()
    transform.yield
  }
  transform.named_sequence @other(%op: !transform.any_op {transform.readonly}, %value: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %value : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_copy(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_fill(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_copy_op(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
    %value = transform.param.constant 1 : i64 -> !transform.any_param
    transform.yield %op, %value : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @never(%op: !transform.any_op {transform.readonly}, %value: !transform.any_param {transform.readonly}) {
    transform.annotate %op "never" = %value : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %root
        @match -> @apply, @match_fill -> @apply_copy, @match_copy -> @never, @match_copy_op -> @other : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// The same operations on other values, in another order or with another attribute are no copies, and neither
// are sequences whose arguments are read and consumed.

// CHECK-LABEL: module @different
// CHECK:         @first(
// CHECK:         @second(
// CHECK:         @two(
// CHECK:         @two_crossed(
// CHECK:         @consuming(
// CHECK:         @main(
module @different attributes {transform.with_named_sequence} {
  transform.named_sequence @first(%a: !transform.any_op {transform.readonly}, %b: !transform.any_op {transform.readonly}) {
    transform.annotate %a "x" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @second(%a: !transform.any_op {transform.readonly}, %b: !transform.any_op {transform.readonly}) {
    transform.annotate %b "x" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @two(%a: !transform.any_op {transform.readonly}, %b: !transform.any_op {transform.readonly}) {
    transform.annotate %a "x" : !transform.any_op
    transform.annotate %b "y" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @two_crossed(%a: !transform.any_op {transform.readonly}, %b: !transform.any_op {transform.readonly}) {
    transform.annotate %b "x" : !transform.any_op
    transform.annotate %a "y" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @consuming(%a: !transform.any_op {transform.consumed}, %b: !transform.any_op {transform.readonly}) {
    transform.annotate %b "x" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.include @first failures(propagate) (%root, %root) : (!transform.any_op, !transform.any_op) -> ()
    transform.include @second failures(propagate) (%root, %root) : (!transform.any_op, !transform.any_op) -> ()
    transform.include @two failures(propagate) (%root, %root) : (!transform.any_op, !transform.any_op) -> ()
    transform.include @two_crossed failures(propagate) (%root, %root) : (!transform.any_op, !transform.any_op) -> ()
    %copy = transform.merge_handles %root : !transform.any_op
    transform.include @consuming failures(propagate) (%copy, %root) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield %root : !transform.any_op
  }
}

// -----

// What nothing uses goes, with what only that uses. Entry points, symbols that are no sequences and what these
// refer to stay, even where two are the same.

// CHECK-LABEL: module @unused
// CHECK-NEXT:    util.func private @code()
// CHECK-SAME:      uses = [@used_by_code]
// CHECK-NOT:     @dead
// CHECK:         transform.named_sequence @used_by_code(
// CHECK-NOT:     @dead
// CHECK:         transform.named_sequence @__kernel_config(
// CHECK:           include @used_by_code
// CHECK:         transform.named_sequence @second(
// CHECK:           include @used_by_code
module @unused attributes {transform.with_named_sequence} {
  util.func private @code() attributes {uses = [@used_by_code]}
  transform.named_sequence @dead(%op: !transform.any_op {transform.readonly}) {
    transform.include @dead_helper failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @dead_helper(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "x" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @copy_of_used(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "y" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @used_by_code(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "y" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.readonly}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.include @copy_of_used failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield %root : !transform.any_op
  }
  transform.named_sequence @second(%root: !transform.any_op {transform.readonly}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.include @copy_of_used failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield %root : !transform.any_op
  }
}

// -----

// A module in another one is treated by itself; what is referred to from around it keeps its name.

// CHECK-LABEL: module @outer
// CHECK:         module @inner
// CHECK-NOT:       @copy(
// CHECK:           transform.named_sequence @named(
// CHECK-NOT:       @dead
// CHECK:           transform.named_sequence @entry(
// CHECK-NEXT:        include @named
// CHECK:         transform.named_sequence @__kernel_config(
// CHECK-NEXT:      include @inner::@named
// CHECK-NEXT:      include @inner::@entry
module @outer attributes {transform.with_named_sequence} {
  module @inner attributes {transform.with_named_sequence} {
    transform.named_sequence @copy(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "x" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @named(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "x" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @dead(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "y" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @entry(%op: !transform.any_op {transform.readonly}) -> !transform.any_op
        attributes {iree_codegen.tuning_spec_entrypoint} {
      transform.include @copy failures(propagate) (%op) : (!transform.any_op) -> ()
      transform.yield %op : !transform.any_op
    }
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.readonly}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.include @inner::@named failures(propagate) (%root) : (!transform.any_op) -> ()
    %0 = transform.include @inner::@entry failures(suppress) (%root) : (!transform.any_op) -> !transform.any_op
    transform.yield %0 : !transform.any_op
  }
}

// -----

// The users of a library without an entry point are unknown.

// CHECK-LABEL: module @library
// CHECK:         @one(
// CHECK:         @same(
module @library attributes {transform.with_named_sequence} {
  transform.named_sequence @one(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "x" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @same(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "x" : !transform.any_op
    transform.yield
  }
}

// -----

// The compiler finds what a function carries by name: two strategies stay although they are the same, and so do the
// actions that ship them. As one, a strategy would be found in a function that carries the other one only.

// CHECK-LABEL: module @imported
// CHECK:         transform.named_sequence @tile(
// CHECK:         transform.named_sequence @fuse(
// CHECK:         transform.named_sequence @ship_tile(
// CHECK:           import_symbol @tile into
// CHECK:         transform.named_sequence @ship_fuse(
// CHECK:           import_symbol @fuse into
// CHECK:         foreach_match
// CHECK-NEXT:      @match_fill -> @ship_tile,
// CHECK-NEXT:      @match_copy -> @ship_fuse :
module @imported attributes {transform.with_named_sequence} {
  transform.named_sequence @tile(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "tiled" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @fuse(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "tiled" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @match_fill(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    %config = transform.param.constant #iree_gpu.lowering_config<{workgroup = [1], lowering_strategy = "tile"}> -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_copy(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
    %config = transform.param.constant #iree_gpu.lowering_config<{workgroup = [1], lowering_strategy = "fuse"}> -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @ship_tile(%op: !transform.any_op {transform.readonly}, %config: !transform.any_param {transform.readonly}) {
    transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
    %symbols = transform.util.create_serialized_module {
    ^bb0(%module: !transform.any_op):
      %0 = transform.util.import_symbol @tile into %module if undefined : (!transform.any_op) -> !transform.any_op
    } -> !transform.any_param
    %function = transform.get_parent_op %op <isolated_from_above> : (!transform.any_op) -> !transform.any_op
    transform.annotate %function "iree_codegen_external_symbols" = %symbols : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @ship_fuse(%op: !transform.any_op {transform.readonly}, %config: !transform.any_param {transform.readonly}) {
    transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
    %symbols = transform.util.create_serialized_module {
    ^bb0(%module: !transform.any_op):
      %0 = transform.util.import_symbol @fuse into %module if undefined : (!transform.any_op) -> !transform.any_op
    } -> !transform.any_param
    %function = transform.get_parent_op %op <isolated_from_above> : (!transform.any_op) -> !transform.any_op
    transform.annotate %function "iree_codegen_external_symbols" = %symbols : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %0 = transform.foreach_match in %root @match_fill -> @ship_tile, @match_copy -> @ship_fuse
        : (!transform.any_op) -> !transform.any_op
    transform.yield %0 : !transform.any_op
  }
}
