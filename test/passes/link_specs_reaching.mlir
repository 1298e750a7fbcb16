// RUN: tuninglink-opt --no-implicit-module --split-input-file --tuninglink-link-specs %s | filecheck %s

// What an action includes configures the function. It yields what it has configured, so that the later spec, whose
// entry configures the function as well, leaves it alone.

// CHECK-LABEL: module @function
// CHECK:         transform.named_sequence @set(%arg0: {{[^,]*}}, %[[BEFORE:.+]]: !transform.any_op {transform.readonly}) -> !transform.any_op {
// CHECK-NEXT:      %[[PARENT:.+]] = transform.get_parent_op %arg0
// CHECK-NEXT:      %[[FUNCTION:.+]] = transform.include @undecided_of failures(propagate) (%[[PARENT]], %[[BEFORE]])
// CHECK-NEXT:      transform.annotate %[[FUNCTION]] "lowering_config"
// CHECK-NEXT:      transform.yield %[[FUNCTION]]
// CHECK:         transform.named_sequence @apply(%arg0: {{[^,]*}}, %arg1: {{[^,]*}}, %arg2: {{[^,]*}}) -> !transform.any_op {
// CHECK-NEXT:      %[[SET:.+]] = transform.include @set failures(propagate) (%arg0, %arg2)
// CHECK-NEXT:      %[[MERGED:.+]] = transform.merge_handles %arg1, %[[SET]]
// CHECK-NEXT:      transform.yield %[[MERGED]]
// CHECK:         transform.named_sequence @apply_0(
// CHECK-NEXT:      %[[FREE:.+]] = transform.include @undecided_of failures(propagate) (%arg0, %arg2)
// CHECK-NEXT:      transform.annotate %[[FREE]] "lowering_config"
module @function attributes { transform.with_named_sequence } {
  module @first attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @fill(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @set(%op: !transform.any_op {transform.readonly}) {
      %function = transform.get_parent_op %op : (!transform.any_op) -> !transform.any_op
      transform.annotate %function "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.include @set failures(propagate) (%op) : (!transform.any_op) -> ()
      transform.yield
    }
    transform.named_sequence @silent(%op: !transform.any_op {transform.readonly}) {
      transform.yield
    }
    transform.named_sequence @main(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
    transform.named_sequence @more(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @fill -> @silent : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  module @second attributes { transform.with_named_sequence } {
    transform.named_sequence @parent(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
      %function = transform.get_parent_op %op : (!transform.any_op) -> !transform.any_op
      transform.yield %function : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @parent -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
}
