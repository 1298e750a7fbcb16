// RUN: tuninglink-opt --no-implicit-module --split-input-file --verify-diagnostics --tuninglink-link-specs %s

// Where a later spec may change decided ops in spite of its guards, a warning says why. Several lists, several entry
// points and annotations beside a list are guarded.

module @reasons attributes { transform.with_named_sequence } {
  // expected-note @+1 {{'first' comes first}}
  module @first attributes { transform.with_named_sequence } {
    transform.named_sequence @main(%v: !transform.any_op {transform.readonly}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      transform.yield %v : !transform.any_op
    }
  }
  // expected-warning @+1 {{opaque spec 'typed'}}
  module @typed attributes { transform.with_named_sequence } {
    // expected-note @+1 {{its matcher 'match' takes a typed operation}}
    transform.named_sequence @match(%op: !transform.op<"linalg.generic"> {transform.readonly}) { transform.yield }
    transform.named_sequence @apply() { transform.yield }
    transform.named_sequence @main(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  module @failing attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      %0 = transform.get_parent_op %op : (!transform.any_op) -> !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  module @beside attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) { transform.yield }
    transform.named_sequence @main(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      transform.annotate %v "beside" : !transform.any_op
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  // expected-warning @+1 {{opaque spec 'changing' may override what 'first', 'typed', 'failing', 'beside' configured}}
  module @changing attributes { transform.with_named_sequence } {
    transform.named_sequence @mark(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "asked" : !transform.any_op
      transform.yield
    }
    // expected-note @+1 {{its matcher 'match' may change the program}}
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.include @mark failures(propagate) (%op) : (!transform.any_op) -> ()
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) { transform.yield }
    transform.named_sequence @main(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  module @twice attributes { transform.with_named_sequence } {
    transform.named_sequence @main(%v: !transform.any_op {transform.readonly}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      transform.yield %v : !transform.any_op
    }
    transform.named_sequence @other(%v: !transform.any_op {transform.readonly}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      transform.yield %v : !transform.any_op
    }
  }
}

// -----

module @signature attributes { transform.with_named_sequence } {
  module @old attributes { transform.with_named_sequence } {
    // expected-error @+1 {{entry point '@__kernel_config' must take one '!transform.any_op'}}
    transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.readonly}, %w: !transform.any_op {transform.readonly}) {
      transform.yield
    }
  }
}

// -----

// As in the compiler's own linking, an entry point of the module itself is not run beside nested specs.

module @own_entry_point attributes { transform.with_named_sequence } {
  // expected-warning @+1 {{entry point '@own' is not run, as only nested specs are linked; put it into a module of its own, at its place in the order of precedence}}
  transform.named_sequence @own(%v: !transform.any_op {transform.readonly}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
    transform.yield %v : !transform.any_op
  }
  // expected-note @+1 {{this nested module is a spec}}
  module @nested attributes { transform.with_named_sequence } {
    transform.named_sequence @main(%v: !transform.any_op {transform.readonly}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      transform.yield %v : !transform.any_op
    }
  }
}

// -----

module @own_kernel_config attributes { transform.with_named_sequence } {
  // expected-error @+1 {{'@__kernel_config' is next to nested specs, whose entry point it would be}}
  transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.readonly}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
    transform.yield %v : !transform.any_op
  }
  // expected-note @+1 {{this nested module is a spec}}
  module @nested attributes { transform.with_named_sequence } {
    transform.named_sequence @main(%v: !transform.any_op {transform.readonly}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      transform.yield %v : !transform.any_op
    }
  }
}

// -----

// A guard keeps annotations from decided ops, and nothing else.

module @passes attributes { transform.with_named_sequence } {
  // expected-note @+1 {{'first' comes first}}
  module @first attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
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
  // expected-warning @+1 {{opaque spec 'second' may override what 'first' configured: it cannot be guarded}}
  module @second attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @set(%op: !transform.any_op {transform.readonly}) {
      %0 = transform.get_parent_op %op : (!transform.any_op) -> !transform.any_op
      // expected-note @+1 {{it changes the program other than by annotations}}
      %1 = transform.apply_registered_pass "canonicalize" to %0 : (!transform.any_op) -> !transform.any_op
      transform.yield
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      transform.include @set failures(propagate) (%op) : (!transform.any_op) -> ()
      transform.yield
    }
    transform.named_sequence @main(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
}

// -----

module @repeated attributes { transform.with_named_sequence } {
  module @nested attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) { transform.yield }
    transform.named_sequence @main(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      // expected-warning @+2 {{matcher @match is used more than once, only the first match will apply}}
      // expected-error @+1 {{matcher '@match' is used more than once: only its first entry can apply}}
      %r = transform.foreach_match in %v @match -> @apply, @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
}
