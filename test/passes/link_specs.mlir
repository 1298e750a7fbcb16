// RUN: tuninglink-opt --no-implicit-module --split-input-file --tuninglink-link-specs %s | filecheck %s
// RUN: tuninglink-opt --no-implicit-module --split-input-file --tuninglink-link-specs=name=renamed %s \
// RUN:   | filecheck %s --check-prefix=NAME

// Matchers lists become one list. What a renamed matcher includes is renamed with it.

// CHECK-LABEL: module @clash attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence}
// CHECK:       transform.named_sequence @helper(
// CHECK-NEXT:    transform.match.operation_name %arg0 ["linalg.matmul"]
// CHECK:       transform.named_sequence @match(
// CHECK-NEXT:    transform.include @helper failures(propagate) (%arg0)
// CHECK:       transform.named_sequence @apply(
// CHECK:       transform.named_sequence @helper_0(
// CHECK-NEXT:    transform.match.operation_name %arg0 ["linalg.generic"]
// CHECK:       transform.named_sequence @match_0(
// CHECK-NEXT:    transform.include @helper_0 failures(propagate) (%arg0)
// CHECK:       transform.named_sequence @apply_0(
// CHECK:       transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint}
// CHECK-NEXT:    %updated_root = transform.foreach_match in %arg0
// CHECK-NEXT:        @match -> @apply,
// CHECK-NEXT:        @match_0 -> @apply_0 : (!transform.any_op) -> !transform.any_op
// CHECK-NEXT:    transform.yield %updated_root

// NAME:        module @renamed attributes
module @clash attributes { transform.with_named_sequence } {
  module @a attributes { transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint } {
    transform.named_sequence @helper(%op: !transform.any_op {transform.readonly}) {
      transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
      transform.yield
    }
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.include @helper failures(propagate) (%op) : (!transform.any_op) -> ()
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "a" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  // A matcher list need not be in default-entrypoint form, nor have a name.
  module attributes { transform.with_named_sequence } {
    transform.named_sequence @helper(%op: !transform.any_op {transform.readonly}) {
      transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
      transform.yield
    }
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.include @helper failures(propagate) (%op) : (!transform.any_op) -> ()
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "b" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
}

// -----

// Renaming reaches every reference, and only references to what is renamed: nested ones by their root,
// those inside dialect attributes, and not those of a nested module to its own sequence.

// CHECK-LABEL: module @references
// CHECK:       module @library attributes
// CHECK:       transform.named_sequence @shared(
// CHECK:       transform.named_sequence @match(
// CHECK:       transform.named_sequence @apply(
// CHECK:       module @library_0 attributes
// CHECK:         transform.named_sequence @shared(
// CHECK:         transform.named_sequence @user(
// CHECK-NEXT:      transform.include @shared failures(propagate)
// CHECK:       util.global private @global
// CHECK:       transform.named_sequence @shared_1(
// CHECK-NEXT:    transform.include @library_0::@user failures(propagate)
// CHECK:       transform.named_sequence @shared_0(
// CHECK:       transform.named_sequence @match_0(
// CHECK:         transform.param.constant #translation
// CHECK:       transform.named_sequence @apply_0(
// CHECK:       transform.named_sequence @__kernel_config(
module @references attributes { transform.with_named_sequence } {
  module @a attributes { transform.with_named_sequence } {
    module @library attributes { transform.with_named_sequence } { }
    transform.named_sequence @shared(%op: !transform.any_op {transform.readonly}) { transform.yield }
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) { transform.yield }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  module @b attributes { transform.with_named_sequence } {
    module @library attributes { transform.with_named_sequence } {
      transform.named_sequence @shared(%op: !transform.any_op {transform.readonly}) { transform.yield }
      transform.named_sequence @user(%op: !transform.any_op {transform.readonly}) {
        transform.include @shared failures(propagate) (%op) : (!transform.any_op) -> ()
        transform.yield
      }
    }
    util.global private @global = 1 : i32
    transform.named_sequence @shared(%op: !transform.any_op {transform.readonly}) {
      transform.include @library::@user failures(propagate) (%op) : (!transform.any_op) -> ()
      transform.yield
    }
    transform.named_sequence @shared_0(%op: !transform.any_op {transform.readonly}) { transform.yield }
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.include @shared failures(propagate) (%op) : (!transform.any_op) -> ()
      %config = transform.param.constant #iree_codegen.translation_info<pipeline = #iree_codegen.transform_dialect_codegen codegen_spec = @shared> -> !transform.any_param
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) { transform.yield }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
}

// -----

// An older spec has an entry point without marker and result; it counts beside a current one.

// CHECK-LABEL: module @legacy attributes {iree_codegen.tuning_spec_with_default_entrypoint,
// CHECK:       transform.foreach_match in %arg0
// CHECK-NEXT:      @old -> @apply,
// CHECK-NEXT:      @new -> @apply_0 :
module @legacy attributes { transform.with_named_sequence } {
  module attributes { transform.with_named_sequence } {
    transform.named_sequence @old(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) { transform.yield }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) {
      %r = transform.foreach_match in %v @old -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield
    }
  }
  module @current attributes { transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint } {
    transform.named_sequence @new(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) { transform.yield }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @new -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
}

// -----

// An opaque spec makes a chain. Entry points get names of their own and take what they declare; those
// that declare nothing are annotated from their bodies. The outer one consumes as the first one does.

// CHECK-LABEL: module @mixed attributes {transform.with_named_sequence}
// CHECK:       module @reads
// CHECK:         transform.named_sequence @main(%arg0: !transform.any_op {transform.readonly})
// CHECK:       module @silent
// CHECK:         transform.named_sequence @main_1(%arg0: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint}
// CHECK:       module @list
// CHECK:         transform.named_sequence @match(
// CHECK-NEXT:      transform.match.operation_name
// CHECK-NEXT:      transform.iree.match.has_no_lowering_config %arg0
// CHECK-NEXT:      transform.yield %arg0
// CHECK:         transform.named_sequence @guarded_already(
// CHECK-NEXT:      transform.iree.match.has_no_lowering_config %arg0
// CHECK-NEXT:      transform.yield %arg0
// CHECK:         transform.named_sequence @configures_nothing(
// CHECK-NEXT:      transform.yield %arg0
// CHECK:         transform.named_sequence @__kernel_config_1(
// CHECK:       transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint}
// CHECK-NEXT:    %0 = transform.include @reads::@main failures(suppress) (%arg0)
// CHECK-NEXT:    %1 = transform.include @silent::@main_1 failures(suppress) (%0)
// CHECK-NEXT:    %2 = transform.include @list::@__kernel_config_1 failures(suppress) (%1)
// CHECK-NEXT:    transform.yield %2
module @mixed attributes { transform.with_named_sequence } {
  module @reads attributes { transform.with_named_sequence } {
    transform.named_sequence @main(%v: !transform.any_op {transform.readonly}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      transform.yield %v : !transform.any_op
    }
  }
  module @silent attributes { transform.with_named_sequence } {
    transform.named_sequence @main(%v: !transform.any_op) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      transform.yield %v : !transform.any_op
    }
  }
  module @list attributes { transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @guarded_already(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.iree.match.has_no_lowering_config %op : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @configures_nothing(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @nothing(%op: !transform.any_op {transform.readonly}) { transform.yield }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v
          @match -> @apply, @guarded_already -> @apply, @configures_nothing -> @nothing
          : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
}

// -----

// An entry that configures another operation than it was given makes a chain, too: in one walk over the
// payload a later spec would meet the fill's user before the earlier spec's entry reaches it. A matcher
// that is a helper as well is guarded in a copy.

// CHECK-LABEL: module @reaching attributes {transform.with_named_sequence}
// CHECK:       module @first
// CHECK-NOT:     has_no_lowering_config
// CHECK:       module @second
// CHECK:         transform.named_sequence @helper(
// CHECK-NEXT:      transform.match.operation_name
// CHECK-NEXT:      transform.yield
// CHECK:         transform.named_sequence @helper_0(
// CHECK-NEXT:      transform.match.operation_name
// CHECK-NEXT:      transform.iree.match.has_no_lowering_config %arg0
// CHECK:         transform.named_sequence @producer(
// CHECK-NEXT:      transform.include @helper
// CHECK-NEXT:      %[[PRODUCER:.+]] = transform.get_producer_of_operand %arg0[0]
// CHECK-NEXT:      transform.iree.match.has_no_lowering_config %[[PRODUCER]]
// CHECK:         transform.foreach_match in
// CHECK-NEXT:        @helper_0 -> @apply,
// CHECK-NEXT:        @producer -> @apply :
module @reaching attributes { transform.with_named_sequence } {
  module @first attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      %0 = transform.get_producer_of_operand %op[0] : (!transform.any_op) -> !transform.any_op
      transform.yield %0 : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  module @second attributes { transform.with_named_sequence } {
    transform.named_sequence @helper(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @producer(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      %0 = transform.include @helper failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
      %1 = transform.get_producer_of_operand %op[0] : (!transform.any_op) -> !transform.any_op
      transform.yield %1 : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @helper -> @apply, @producer -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
}

// -----

// A spec that is in default-entrypoint form already, and a module without specs, stay as they are.

// CHECK-LABEL: module @finished attributes {iree_codegen.tuning_spec_with_default_entrypoint,
// CHECK-NEXT:    transform.named_sequence @__kernel_config(
module @finished attributes { transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint } {
  transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
    %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %r : !transform.any_op
  }
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) { transform.yield }
}

// -----

// CHECK-LABEL: module @no_specs
// CHECK-NEXT:    func.func private @payload
module @no_specs {
  func.func private @payload()
}
