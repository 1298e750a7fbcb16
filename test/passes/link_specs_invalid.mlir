// RUN: tuninglink-opt --no-implicit-module --split-input-file --verify-diagnostics --tuninglink-link-specs %s

// A later opaque spec cannot be guarded.

module @two_opaque attributes { transform.with_named_sequence } {
  // expected-note @+1 {{'first' comes first}}
  module @first attributes { transform.with_named_sequence } {
    transform.named_sequence @main(%v: !transform.any_op {transform.readonly}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      transform.yield %v : !transform.any_op
    }
  }
  // expected-warning @+1 {{opaque spec 'second' may override what 'first' configured: its matchers cannot be guarded}}
  module @second attributes { transform.with_named_sequence } {
    // expected-note @+1 {{its entry point is more than one plain 'foreach_match' and a yield}}
    transform.named_sequence @main(%v: !transform.any_op {transform.readonly}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      transform.yield %v : !transform.any_op
    }
  }
}

// -----

// What makes a spec opaque is told where it stands.

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
  // expected-warning @+1 {{opaque spec 'failing' may override what 'first', 'typed' configured}}
  module @failing attributes { transform.with_named_sequence } {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.yield %op : !transform.any_op
    }
    // expected-note @+1 {{its action 'apply' does more than annotate, so it can fail}}
    transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
      %0 = transform.get_parent_op %op : (!transform.any_op) -> !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      %r = transform.foreach_match in %v @match -> @apply : (!transform.any_op) -> !transform.any_op
      transform.yield %r : !transform.any_op
    }
  }
  // expected-warning @+1 {{opaque spec 'twice'}}
  module @twice attributes { transform.with_named_sequence } {
    transform.named_sequence @main(%v: !transform.any_op {transform.readonly}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
      transform.yield %v : !transform.any_op
    }
    // expected-note @+1 {{it has more than one entry point}}
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
