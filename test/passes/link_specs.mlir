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

// Renaming reaches every reference, and only references to what is renamed: those inside dialect attributes, too. What
// nested modules hold moves to the outer one.

// CHECK-LABEL: module @references
// CHECK-NOT:   module
// CHECK:       transform.named_sequence @shared(
// CHECK:       transform.named_sequence @match(
// CHECK:       transform.named_sequence @apply(
// CHECK-NOT:   module
// CHECK:       transform.named_sequence @shared_1(
// CHECK:       transform.named_sequence @user(
// CHECK-NEXT:    transform.include @shared_1 failures(propagate)
// CHECK:       util.global private @global
// CHECK:       transform.named_sequence @shared_2(
// CHECK-NEXT:    transform.include @user failures(propagate)
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

// An opaque spec makes a chain. Entry points get names of their own. Each takes the root and the decided ops, and yields
// both; a list skips decided ops before its entries.

// CHECK-LABEL: module @mixed attributes {transform.with_named_sequence}
// CHECK-NOT:   module
// CHECK:       transform.named_sequence @main(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_op) attributes {tuninglink.entry_point = "reads"}
// CHECK:       transform.named_sequence @main_0(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_op) attributes {tuninglink.entry_point = "silent"}
// CHECK:       transform.named_sequence @match(%arg0: {{[^,]*}}, %arg1: {{[^,]*}}) -> (!transform.any_op, !transform.any_op, !transform.any_op)
// CHECK-NEXT:    transform.match.operation_name
// CHECK-NEXT:    transform.yield %arg0, %arg0, %arg1
// CHECK:       transform.named_sequence @guarded_already(
// CHECK-NEXT:    transform.iree.match.has_no_lowering_config %arg0
// CHECK-NEXT:    transform.yield %arg0, %arg0, %arg1
// CHECK:       transform.named_sequence @apply(
// CHECK-NEXT:    transform.annotate %arg0 "lowering_config"
// CHECK-NEXT:    transform.yield %arg1
// CHECK:       transform.named_sequence @nothing(
// CHECK-NEXT:    transform.yield %arg1
// CHECK:       transform.named_sequence @kernel_config(
// CHECK-NEXT:    %[[GIVEN:.+]] = transform.merge_handles %arg0
// CHECK-NEXT:    %[[LIST:.+]]:2 = transform.include @list failures(propagate) (%[[GIVEN]], %arg1)
// CHECK-NEXT:    %[[ALL:.+]] = transform.merge_handles deduplicate %arg1, %[[LIST]]#1
// CHECK-NEXT:    transform.yield %[[LIST]]#0, %[[ALL]]
// CHECK:       transform.named_sequence @list(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_op) attributes {tuninglink.list}
// CHECK-NEXT:    %[[WALKED:.+]] = transform.merge_handles %arg0
// CHECK-NEXT:    %[[ROOT:.+]], %[[NEW:.+]] = transform.foreach_match flatten_results in %[[WALKED]], %arg1
// CHECK-NEXT:      @is_decided -> @skip,
// CHECK-NEXT:      @match -> @apply,
// CHECK-NEXT:      @guarded_already -> @apply,
// CHECK-NEXT:      @configures_nothing -> @nothing :
// CHECK-NEXT:    transform.yield %[[ROOT]], %[[NEW]]
// CHECK:       transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint}
// CHECK-NEXT:    %[[NONE:.+]] = transform.select "tuninglink.none" in %arg0
// CHECK-NEXT:    %[[FIRST:.+]]:2 = transform.include @main failures(suppress) (%arg0, %[[NONE]])
// CHECK-NEXT:    %[[SECOND:.+]]:2 = transform.include @main_0 failures(suppress) (%[[FIRST]]#0, %[[FIRST]]#1)
// CHECK-NEXT:    %[[THIRD:.+]]:2 = transform.include @kernel_config failures(suppress) (%[[SECOND]]#0, %[[SECOND]]#1)
// CHECK-NEXT:    transform.yield %[[THIRD]]#0
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
// payload a later spec would meet the fill's user before the earlier spec's entry reaches it. What an action is handed
// beside the op in question is freed of what is decided. A matcher that is a helper as well is changed in a copy.

// CHECK-LABEL: module @reaching attributes {transform.with_named_sequence}
// CHECK:       transform.named_sequence @helper(%arg0: !transform.any_op {transform.readonly}) -> !transform.any_op {
// CHECK:       transform.named_sequence @helper_0(%arg0: {{[^,]*}}, %arg1: {{[^,]*}}) ->
// CHECK-NEXT:    transform.match.operation_name
// CHECK-NEXT:    transform.yield %arg0, %arg0, %arg1
// CHECK:       transform.named_sequence @producer(
// CHECK-NEXT:    transform.include @helper failures(propagate) (%arg0)
// CHECK-NEXT:    %[[PRODUCER:.+]] = transform.get_producer_of_operand %arg0[0]
// CHECK-NEXT:    transform.yield %[[PRODUCER]], %arg0, %arg1
// CHECK:       transform.named_sequence @apply_0(
// CHECK-NEXT:    %[[FREE:.+]] = transform.include @undecided_of failures(propagate) (%arg0, %arg2)
// CHECK-NEXT:    transform.annotate %[[FREE]] "lowering_config"
// CHECK-NEXT:    %[[TAKEN:.+]] = transform.merge_handles %arg1, %[[FREE]]
// CHECK-NEXT:    transform.yield %[[TAKEN]]
// CHECK:         @is_decided -> @skip,
// CHECK-NEXT:    @match -> @apply :
// CHECK:         @is_decided -> @skip,
// CHECK-NEXT:    @helper_0 -> @apply_0,
// CHECK-NEXT:    @producer -> @apply_0 :
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

// -----

// The first matcher looks at the fill, which the second spec may configure: one walk would meet the fill first.

// CHECK-LABEL: module @looks_at_a_producer attributes {transform.with_named_sequence}
// CHECK:         attributes {tuninglink.entry_point = "first"}
// CHECK:         attributes {tuninglink.entry_point = "second"}
module @looks_at_a_producer attributes { transform.with_named_sequence } {
  module @first attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
      ^bb0(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: f32, %e: tensor<?x?xf32>):
        %z = linalg.fill ins(%c : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
        %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%z : tensor<?x?xf32>) -> tensor<?x?xf32>
      } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  module @second attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
}

// -----

// It makes no difference which spec looks and which one configures: behind the first one every fill is configured.

// CHECK-LABEL: module @looked_at_by_a_later_one attributes {transform.with_named_sequence}
// CHECK:         attributes {tuninglink.entry_point = "first"}
// CHECK:         attributes {tuninglink.entry_point = "second"}
module @looked_at_by_a_later_one attributes { transform.with_named_sequence } {
  module @first attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  module @second attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
      ^bb0(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: f32, %e: tensor<?x?xf32>):
        %z = linalg.fill ins(%c : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
        %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%z : tensor<?x?xf32>) -> tensor<?x?xf32>
      } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
}

// -----

// No entry configures the fill that one matcher reads, and the other graph is just the op itself.

// CHECK-LABEL: module @looks_at_nothing_configured attributes {iree_codegen.tuning_spec_with_default_entrypoint,
// CHECK:         foreach_match in %arg0
// CHECK-NEXT:      @match -> @apply,
// CHECK-NEXT:      @match_0 -> @apply_0,
// CHECK-NEXT:      @match_1 -> @apply_1 :
module @looks_at_nothing_configured attributes { transform.with_named_sequence } {
  module @first attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
      ^bb0(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: f32, %e: tensor<?x?xf32>):
        %z = linalg.fill ins(%c : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
        %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%z : tensor<?x?xf32>) -> tensor<?x?xf32>
      } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  module @second attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32 : !transform.any_op -> !transform.param<i64>
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  module @third attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
      ^bb0(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %e: tensor<?x?xf32>):
        %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
      } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
}

// -----

// A symbol in a graph is one of the program's. That it is called like a sequence of the spec means nothing.

// CHECK-LABEL: module @shown_symbols
// CHECK:         @match_0(
// CHECK:           linalg.fill {hint = @apply}
// CHECK:         @apply_0(
// CHECK:         @match_0 -> @apply_0 :
module @shown_symbols attributes { transform.with_named_sequence } {
  module @first attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32 : !transform.any_op -> !transform.param<i64>
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  module @second attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
      ^bb0(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: f32, %e: tensor<?x?xf32>):
        %z = linalg.fill {hint = @apply} ins(%c : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
        %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%z : tensor<?x?xf32>) -> tensor<?x?xf32>
      } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
}

// -----

// A name with colons in it is no path.

// CHECK-LABEL: module @colons attributes {iree_codegen.tuning_spec_with_default_entrypoint,
// CHECK:         foreach_match in %arg0
// CHECK-NEXT:      @match -> @apply,
// CHECK-NEXT:      @"a::match" -> @apply_0 :
module @colons attributes { transform.with_named_sequence } {
  module @first attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  module @second attributes { transform.with_named_sequence } {
    module @a attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    }
    transform.named_sequence @"a::match"(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @"a::match" -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
}

// -----

// The entry point's name is the entry point's.

// CHECK-LABEL: module @taken_name attributes {transform.with_named_sequence}
// CHECK:         transform.named_sequence @main({{.*}} attributes {tuninglink.entry_point = "__kernel_config"}
// CHECK:         transform.named_sequence @main_0({{.*}} attributes {tuninglink.entry_point = "second"}
// CHECK:         transform.named_sequence @__kernel_config(
// CHECK:           transform.include @main failures(suppress)
// CHECK-NEXT:      transform.include @main_0 failures(suppress)
module @taken_name attributes { transform.with_named_sequence } {
  module @__kernel_config attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
      ^bb0(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: f32, %e: tensor<?x?xf32>):
        %z = linalg.fill ins(%c : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
        %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%z : tensor<?x?xf32>) -> tensor<?x?xf32>
      } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
      transform.yield %op : !transform.any_op
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
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
      transform.yield %op : !transform.any_op
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
}

// -----

// Another op next to the only list of a spec makes the spec opaque. No op is kept from its list.

// CHECK-LABEL: module @parameter_beside
// CHECK:           transform.named_sequence @match_0(%arg0: {{[^,]*}}, %arg1: !transform.any_param {transform.readonly}, %arg2: !transform.any_op {transform.readonly}) ->
// CHECK:           transform.yield %arg0, %arg1, %arg0, %arg2
// CHECK:           %[[VALUE:.+]] = transform.param.constant
// CHECK:           transform.include @list_0 failures(propagate) (%{{.+}}, %[[VALUE]], %arg1)
// CHECK:           transform.foreach_match flatten_results in %{{.+}}, %arg1, %arg2
// CHECK-NEXT:        @is_decided_0 -> @skip,
// CHECK-NEXT:        @match_0 -> @apply_0 :
module @parameter_beside attributes { transform.with_named_sequence } {
  module @first attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lowering_config" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  module @second attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}, %value: !transform.any_param {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
      transform.match.operation_name %op ["linalg.matmul", "linalg.fill"] : !transform.any_op
      transform.yield %op, %value : !transform.any_op, !transform.any_param
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}, %value: !transform.any_param {transform.readonly}) {
      transform.annotate %op "lowering_config" = %value : !transform.any_op, !transform.any_param
      transform.yield
    }
    transform.named_sequence @main(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %value = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[2]]> -> !transform.any_param
      %r = transform.foreach_match in %v, %value @match -> @apply : (!transform.any_op, !transform.any_param) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
}

// -----

// A single nested spec in default-entrypoint form stays one list: a chain would hide the errors of its actions.

// CHECK-LABEL: module @lone attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence}
// CHECK-NOT:   failures(suppress)
// CHECK:       transform.foreach_match in %arg0
// CHECK-NEXT:      @match -> @apply : (!transform.any_op) -> !transform.any_op
module @lone attributes { transform.with_named_sequence } {
  module @only attributes { transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "lone" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
        attributes { iree_codegen.tuning_spec_entrypoint } {
      %updated = transform.foreach_match in %root @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %updated : !transform.any_op
    }
  }
}
