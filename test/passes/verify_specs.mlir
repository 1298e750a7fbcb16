// RUN: tuninglink-opt --tuninglink-verify-specs --split-input-file --verify-diagnostics --no-implicit-module %s -o /dev/null

// Sound specs get no diagnostics.

module @sound attributes {
  transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint
} {
  transform.named_sequence @is_matmul(%op: !transform.any_op {transform.readonly}) {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield
  }
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    transform.include @is_matmul failures(propagate) (%op) : (!transform.any_op) -> ()
    %config = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_codegen.lowering_config<tile_sizes = [[8, 8, 0]]>,
      translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>>
      -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @apply(
      %op: !transform.any_op {transform.readonly}, %config: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
    transform.annotate %op "seen" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__kernel_config(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %module @match -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// Opaque actions are not checked, nor are sequences that no entry reaches.

module @opaque attributes {transform.with_named_sequence} {
  transform.named_sequence private @unused(!transform.any_op {transform.readonly})
  transform.named_sequence @uses_unused(%op: !transform.any_op {transform.readonly}) {
    transform.include @unused failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.structured %op : !transform.any_op {
    ^bb0(%arg: !transform.any_op):
      %rank = transform.match.structured.rank %arg : (!transform.any_op) -> !transform.param<i64>
      %two = transform.param.constant 2 : i64 -> !transform.param<i64>
      transform.match.param.cmpi eq %rank, %two : !transform.param<i64>
      transform.match.structured.yield
    }
    transform.print %op : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.consumed}) {
    // expected-warning @+1 {{entry point '@main' may fail here}}
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
  transform.named_sequence @main(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %module @match -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// Matchers that only look alike: other attributes, other operands, another helper.

module @distinct attributes {transform.with_named_sequence} {
  transform.named_sequence @small(%op: !transform.any_op {transform.readonly}) {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.yield
  }
  transform.named_sequence @large(%op: !transform.any_op {transform.readonly}) {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield
  }
  transform.named_sequence @a(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.include @small failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @b(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.include @large failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @c(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %in = transform.get_producer_of_operand %op[0] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %in ["linalg.fill"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @d(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %in = transform.get_producer_of_operand %op[0] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @e(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %n = transform.num_associations %op : (!transform.any_op) -> !transform.param<i64>
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %n, %one : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @f(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %n = transform.num_associations %op : (!transform.any_op) -> !transform.param<i64>
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %n, %two : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    %config = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[4]]>
      -> !transform.any_param
    transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @main(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %module
      @a -> @apply, @b -> @apply, @c -> @apply, @d -> @apply, @e -> @apply, @f -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// expected-error @+1 {{not a tuning spec: the module lacks 'transform.with_named_sequence' and an entry point}}
module {
  func.func @payload() {
    return
  }
}

// -----

// expected-error @+1 {{no entry point: mark a named sequence with 'iree_codegen.tuning_spec_entrypoint'}}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {
    transform.yield
  }
}

// -----

// What the compiler refuses is refused.

// expected-error @+1 {{Missing named sequence '__kernel_config'}}
module attributes {
  transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint
} {
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @main(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    // expected-error @+1 {{unresolved matcher symbol @match}}
    %done = transform.foreach_match in %module @match -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// Entry points.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.yield
  }
  // expected-warning @+1 {{action '@apply' configures nothing}}
  transform.named_sequence @apply() {
    transform.yield
  }
  // expected-error @+1 {{entry point '@consumes' neither reads nor consumes its argument, so IREE cannot link it with another spec; declare the argument 'transform.consumed'}}
  transform.named_sequence @consumes(%module: !transform.any_op) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %module @match -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
  // expected-error @+1 {{entry point '@reads' neither reads nor consumes its argument, so IREE cannot link it with another spec; declare the argument 'transform.readonly'}}
  transform.named_sequence @reads(%module: !transform.any_op) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.print %module : !transform.any_op
    transform.yield %module : !transform.any_op
  }
}

// -----

// A warning of the compiler's is handed on.

module attributes {transform.with_named_sequence} {
  // expected-warning @+1 {{argument #0 is not consumed in the body but is marked as consumed}}
  transform.named_sequence @main(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.print %module : !transform.any_op
    transform.yield %module : !transform.any_op
  }
}

// -----

module attributes {transform.with_named_sequence} {
  // expected-warning @+1 {{entry point '@main' does nothing; let it run a 'transform.foreach_match', or remove it}}
  transform.named_sequence @main(%module: !transform.any_op {transform.readonly})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.yield %module : !transform.any_op
  }
  // expected-warning @+1 {{'iree_codegen.tuning_spec_entrypoint' means nothing on 'func.func'; it marks a 'transform.named_sequence'}}
  func.func private @not_a_sequence() attributes {iree_codegen.tuning_spec_entrypoint}
}

// -----

// An older form: linking brings it up to date, the compiler forgets it beside another spec.

module attributes {transform.with_named_sequence} {
  // expected-warning @+1 {{'@__kernel_config' is not marked as an entry point: IREE runs it only if the spec is alone, and silently drops it next to another one; mark it with 'iree_codegen.tuning_spec_entrypoint', or link the spec with tuninglink-link-specs}}
  transform.named_sequence @__kernel_config(%module: !transform.any_op) {
    transform.print %module : !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  // expected-warning @+1 {{'@__kernel_config' is not marked as an entry point: IREE silently drops it, as another entry point is marked}}
  transform.named_sequence @__kernel_config(%module: !transform.any_op {transform.readonly}) {
    transform.print %module : !transform.any_op
    transform.yield
  }
  // expected-note @+1 {{this entry point is marked}}
  transform.named_sequence @main(%module: !transform.any_op {transform.readonly})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.print %module : !transform.any_op
    transform.yield %module : !transform.any_op
  }
}

// -----

module attributes {transform.with_named_sequence} {
  // expected-error @+1 {{entry point '@__kernel_config' must take one '!transform.any_op'}}
  transform.named_sequence @__kernel_config(
      %module: !transform.any_op {transform.readonly}, %more: !transform.any_op {transform.readonly}) {
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  // expected-error @+1 {{entry point '@declared' has no body}}
  transform.named_sequence private @declared(!transform.any_op {transform.readonly})
    -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint}
  // expected-error @+1 {{entry point '@hidden' is private, so it cannot be linked; make it public}}
  transform.named_sequence private @hidden(%module: !transform.any_op {transform.readonly})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.print %module : !transform.any_op
    transform.yield %module : !transform.any_op
  }
}

// -----

module attributes {
  transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint
} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  // expected-warning @+1 {{action '@apply' configures nothing: it sets none of 'compilation_info', 'translation_info', 'lowering_config', 'decomposition_config'; its entries only hide later ones}}
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "seen" : !transform.any_op
    transform.yield
  }
  // expected-warning @+1 {{entry point '@__kernel_config' is private, so it cannot be linked with an opaque spec; make it public}}
  transform.named_sequence private @__kernel_config(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %module @match -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// Sequences that are only declared dangle, as nothing will ever define them.

module attributes {transform.with_named_sequence} {
  // expected-note @+1 {{declared here}}
  transform.named_sequence private @match(!transform.any_op {transform.readonly}) -> !transform.any_op
  // expected-note @+1 {{declared here}}
  transform.named_sequence private @apply(!transform.any_op {transform.readonly})
  // expected-note @+1 {{declared here}}
  transform.named_sequence private @helper(!transform.any_op {transform.readonly})
  transform.named_sequence @includes(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    // expected-error @+1 {{dangling reference to '@helper', which is declared but has no body; define it in this module}}
    transform.include @helper failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @main(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    // expected-error @+2 {{dangling reference to '@match', which is declared but has no body}}
    // expected-error @+1 {{dangling reference to '@apply', which is declared but has no body}}
    %done = transform.foreach_match in %module @match -> @apply, @includes -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// A matcher that is used twice: the compiler warns, and crashes if it may print the operation. Nothing else is checked.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.yield
  }
  transform.named_sequence @a() {
    transform.yield
  }
  transform.named_sequence @b() {
    transform.yield
  }
  transform.named_sequence @main(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    // expected-warning @+2 {{matcher @match is used more than once, only the first match will apply}}
    // expected-error @+1 {{matcher '@match' is used more than once: only its first entry can apply, and the compiler crashes on this operation; remove the later entries}}
    %done = transform.foreach_match in %module @match -> @a, @match -> @b, @match -> @a
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// Matchers that change the payload, by themselves and through others.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @annotates(%op: !transform.any_op {transform.readonly}) {
    // expected-error @+2 {{'transform.annotate' changes the payload on behalf of matcher '@through_helper', whether the matcher goes on to match or not; leave it to the action}}
    // expected-error @+1 {{'transform.annotate' changes the payload on behalf of matcher '@through_structured'}}
    transform.annotate %op "seen" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @cleans_up(%op: !transform.any_op {transform.readonly}) {
    %function = transform.get_parent_op %op : (!transform.any_op) -> !transform.any_op
    transform.foreach %function : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      // expected-error @+1 {{'transform.apply_cse' changes the payload on behalf of matcher '@through_two'}}
      transform.apply_cse to %each : !transform.any_op
    }
    transform.yield
  }
  transform.named_sequence @includes(%op: !transform.any_op {transform.readonly}) {
    transform.include @cleans_up failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @itself(%op: !transform.any_op {transform.readonly}) {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    // expected-error @+1 {{'transform.annotate' changes the payload in matcher '@itself', which the compiler refuses to run; leave it to the action}}
    transform.annotate %op "seen" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @through_helper(%op: !transform.any_op {transform.readonly}) {
    // expected-note @+1 {{which runs it here}}
    transform.include @annotates failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield
  }
  transform.named_sequence @through_structured(%op: !transform.any_op {transform.readonly}) {
    transform.match.structured %op : !transform.any_op {
    ^bb0(%arg: !transform.any_op):
      // expected-note @+1 {{which runs it here}}
      transform.include @annotates failures(propagate) (%arg) : (!transform.any_op) -> ()
      transform.match.structured.yield
    }
    transform.yield
  }
  transform.named_sequence @through_two(%op: !transform.any_op {transform.readonly}) {
    // expected-note @+1 {{which runs it here}}
    transform.include @includes failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  // expected-warning @+1 {{action '@apply' configures nothing}}
  transform.named_sequence @apply() {
    transform.yield
  }
  transform.named_sequence @main(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    // expected-note @+1 {{used as a matcher here}}
    %done = transform.foreach_match in %module
      @itself -> @apply, @through_helper -> @apply, @through_structured -> @apply, @through_two -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// What the compiler does not run in a matcher, though it changes nothing; in a helper it does.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @has_consumer(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %user = transform.get_consumers_of_result %op[0] : (!transform.any_op) -> !transform.any_op
    transform.yield %user : !transform.any_op
  }
  transform.named_sequence @asks_helper(%op: !transform.any_op {transform.readonly}) {
    %user = transform.include @has_consumer failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %user ["linalg.fill"] : !transform.any_op
    transform.yield
  }
  transform.named_sequence @asks_itself(%op: !transform.any_op {transform.readonly}) {
    // expected-error @+1 {{'transform.get_consumers_of_result' cannot be in matcher '@asks_itself': the compiler refuses to run it there; put it into a sequence that the matcher includes}}
    %user = transform.get_consumers_of_result %op[0] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %user ["linalg.matmul"] : !transform.any_op
    transform.yield
  }
  // expected-warning @+1 {{action '@apply' configures nothing}}
  transform.named_sequence @apply() {
    transform.yield
  }
  transform.named_sequence @main(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    // expected-note @+1 {{used as a matcher here}}
    %done = transform.foreach_match in %module @asks_helper -> @apply, @asks_itself -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// A typed matcher fails the compilation; where it is only asked about the root, its author may know better.

module attributes {transform.with_named_sequence} {
  // expected-error @+1 {{matcher '@typed' takes only 'linalg.matmul', and the first other operation that it is tried on fails the compilation; take '!transform.any_op' and match the name with 'transform.match.operation_name'}}
  transform.named_sequence @typed(%op: !transform.op<"linalg.matmul"> {transform.readonly}) {
    transform.yield
  }
  transform.named_sequence @root(%op: !transform.op<"builtin.module"> {transform.readonly}) {
    transform.yield
  }
  // expected-warning @+1 {{action '@apply' configures nothing}}
  transform.named_sequence @apply() {
    transform.yield
  }
  transform.named_sequence @main(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    // expected-note @+1 {{used as a matcher here}}
    %done = transform.foreach_match in %module @typed -> @apply
      : (!transform.any_op) -> !transform.any_op
    %again = transform.foreach_match restrict_root in %done @root -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %again : !transform.any_op
  }
}

// -----

// Constants whose types do not fit, by themselves and where an action takes them.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_param, !transform.any_param) {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    // expected-error @+1 {{the constant does not fit '!transform.param<i32>', which fails the compilation where this matches; take '!transform.any_param', or a constant of that type}}
    %wide = transform.param.constant 1 : i64 -> !transform.param<i32>
    // expected-error @+1 {{the constant does not fit '!transform.param<i64>'}}
    %text = transform.param.constant "text" -> !transform.any_param
    %number = transform.param.constant 1 : i64 -> !transform.any_param
    %yes = transform.param.constant true -> !transform.param<i1>
    transform.yield %text, %number : !transform.any_param, !transform.any_param
  }
  // expected-warning @+2 {{action '@apply' configures nothing}}
  // expected-note @+1 {{action '@apply' takes it as '!transform.param<i64>'}}
  transform.named_sequence @apply(
      %text: !transform.param<i64> {transform.readonly},
      %number: !transform.param<i64> {transform.readonly}) {
    transform.yield
  }
  transform.named_sequence @main(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %module @match -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// Configurations that the compiler overlooks.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    // expected-warning @+1 {{entry '@match -> @from_matcher' sets 'compilation_info' to something other than the compiler looks for there, so it is ignored}}
    %config = transform.param.constant {workgroup = [64, 64]} -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }
  // expected-note @+1 {{set by this action}}
  transform.named_sequence @from_matcher(
      %op: !transform.any_op {transform.readonly}, %config: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @match_fill(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  // expected-warning @+3 {{entry '@match_fill -> @of_its_own' sets 'lowering_config' to something other than the compiler looks for}}
  // expected-warning @+2 {{entry '@match_fill -> @of_its_own' sets 'translation_info' to something other than the compiler looks for}}
  // expected-warning @+1 {{entry '@match_fill -> @of_its_own' sets 'decomposition_config' to something other than the compiler looks for}}
  transform.named_sequence @of_its_own(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "lowering_config" : !transform.any_op
    %one = transform.param.constant 1 : i64 -> !transform.any_param
    transform.annotate %op "translation_info" = %one : !transform.any_op, !transform.any_param
    transform.annotate %op "decomposition_config" = %one : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @main(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %module
      @match -> @from_matcher, @match_fill -> @of_its_own
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// Entries that an earlier one hides: with another constant, another helper of the same content, another
// action.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @is_matmul(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @is_a_matmul(%it: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %it ["linalg.matmul"] : !transform.any_op
    transform.yield %it : !transform.any_op
  }
  // expected-note @+1 {{the earlier matcher}}
  transform.named_sequence @first(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %same = transform.include @is_matmul failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    transform.iree.match.has_no_lowering_config %same : !transform.any_op
    %config = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_codegen.lowering_config<tile_sizes = [[8, 8, 0]]>,
      translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>>
      -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }
  // expected-warning @+1 {{entry '@other_constant -> @apply' is unreachable: '@first' comes first and matches all ops that it matches; remove it, or move it before '@first'}}
  transform.named_sequence @other_constant(%matmul: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %config = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_codegen.lowering_config<tile_sizes = [[16, 16, 0]]>,
      translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>>
      -> !transform.any_param
    %same = transform.include @is_matmul failures(propagate) (%matmul) : (!transform.any_op) -> !transform.any_op
    transform.iree.match.has_no_lowering_config %same : !transform.any_op
    transform.yield %same, %config : !transform.any_op, !transform.any_param
  }
  // expected-warning @+1 {{entry '@other_helper -> @only_marks' is unreachable: '@first' comes first}}
  transform.named_sequence @other_helper(%op: !transform.any_op {transform.readonly}) {
    %same = transform.include @is_a_matmul failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    transform.iree.match.has_no_lowering_config %same : !transform.any_op
    transform.yield
  }
  transform.named_sequence @apply(
      %op: !transform.any_op {transform.readonly}, %config: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  // expected-warning @+1 {{action '@only_marks' configures nothing}}
  transform.named_sequence @only_marks() {
    transform.yield
  }
  transform.named_sequence @main(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %module
      @first -> @apply, @other_constant -> @apply, @other_helper -> @only_marks
      : (!transform.any_op) -> !transform.any_op
    // In another foreach_match, the same matcher is asked again.
    %again = transform.foreach_match in %done @other_constant -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %again : !transform.any_op
  }
}

// -----

// A matcher without conditions leaves nothing to the entries after it.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @matmul(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  // expected-note @+1 {{the earlier matcher}}
  transform.named_sequence @anything(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.yield %op : !transform.any_op
  }
  // expected-warning @+1 {{entry '@fill -> @apply' is unreachable: '@anything' comes first and matches all ops that it matches; remove it, or move it before '@anything'}}
  transform.named_sequence @fill(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    %config = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[4]]>
      -> !transform.any_param
    transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @main(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %module
      @matmul -> @apply, @anything -> @apply, @fill -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// A helper whose answer is ignored.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @is_matmul(%op: !transform.any_op {transform.readonly}) {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield
  }
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {
    // expected-warning @+1 {{matcher '@match' matches even where '@is_matmul' does not: 'failures(suppress)' ignores it; write 'failures(propagate)'}}
    transform.include @is_matmul failures(suppress) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  // expected-warning @+1 {{action '@apply' configures nothing}}
  transform.named_sequence @apply() {
    transform.yield
  }
  transform.named_sequence @main(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %module @match -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// In a module that holds specs, each is verified, and what would be left out is named.

module @container attributes {transform.with_named_sequence} {
  module @user attributes {transform.with_named_sequence} {
    // expected-error @+1 {{entry point '@main' neither reads nor consumes its argument}}
    transform.named_sequence @main(%module: !transform.any_op) -> !transform.any_op
        attributes {iree_codegen.tuning_spec_entrypoint} {
      transform.print %module : !transform.any_op
      transform.yield %module : !transform.any_op
    }
  }
  module @default attributes {transform.with_named_sequence} {
    // expected-warning @+1 {{entry point '@main' does nothing}}
    transform.named_sequence @main(%module: !transform.any_op {transform.readonly}) -> !transform.any_op
        attributes {iree_codegen.tuning_spec_entrypoint} {
      transform.yield %module : !transform.any_op
    }
  }
  // expected-warning @+1 {{module 'library' has no entry point, so it is not linked; mark a named sequence with 'iree_codegen.tuning_spec_entrypoint'}}
  module @library attributes {transform.with_named_sequence} {
    transform.named_sequence @main(%module: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.yield %module : !transform.any_op
    }
  }
}

// -----

// What runs through nested modules is found.

module @chained attributes {transform.with_named_sequence} {
  module @inner attributes {transform.with_named_sequence} {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {
      // expected-error @+1 {{'transform.annotate' changes the payload in matcher '@match'}}
      transform.annotate %op "seen" : !transform.any_op
      transform.yield
    }
    // expected-warning @+1 {{action '@apply' configures nothing}}
    transform.named_sequence @apply() {
      transform.yield
    }
    transform.named_sequence @main(%module: !transform.any_op {transform.consumed}) -> !transform.any_op
        attributes {iree_codegen.tuning_spec_entrypoint} {
      // expected-note @+1 {{used as a matcher here}}
      %done = transform.foreach_match in %module @match -> @apply
        : (!transform.any_op) -> !transform.any_op
      transform.yield %done : !transform.any_op
    }
  }
  transform.named_sequence @__kernel_config(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.include @inner::@main failures(suppress) (%module)
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// -----

// Matchers of collect_matching are matchers, too; what the handle leads to may be changed.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    // expected-error @+1 {{'transform.annotate' changes the payload in matcher '@match'}}
    transform.annotate %op "seen" : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @main(%module: !transform.any_op {transform.readonly})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    // expected-note @+1 {{used as a matcher here}}
    %found = transform.collect_matching @match in %module : (!transform.any_op) -> !transform.any_op
    transform.annotate %found "seen" : !transform.any_op
    transform.yield %module : !transform.any_op
  }
}

// -----

// Configurations: a misspelt knob, sizes for another number of loops, an intrinsic for other types.

module attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @configure(%op: !transform.any_op {transform.readonly},
      %configuration: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                       affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_gpu.lowering_config<{
        // expected-warning @+5 {{entry 'match': code generation reads no 'promot_operands'; did you mean 'promote_operands'?}}
        // expected-warning @+5 {{entry 'match': 'workgroup' has 2 sizes for the 3 loops that the matcher requires}}
        // expected-note @+4 {{there is one size for each loop, 0 for one that is not tiled, such as [64, 64, 0]}}
        // expected-error @+2 {{entry 'match': 'MFMA_F32_16x16x16_BF16' multiplies bf16·bf16, the matcher requires f16·f16}}
        // expected-note @+1 {{choose an intrinsic for the types that are matched, such as 'MFMA_F32_16x16x16_F16'}}
        mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promot_operands = [0, 1],
        reduction = [0, 0, 4], subgroup = [2, 2, 0], workgroup = [64, 64]}>,
      translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64>
    > -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %configured = transform.foreach_match in %module @match -> @configure
      : (!transform.any_op) -> !transform.any_op
    transform.yield %configured : !transform.any_op
  }
}
