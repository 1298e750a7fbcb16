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

// -----

// A pass may replace ops, so that which ones the first spec decided is lost. A pass that decides nothing before it
// loses nothing.

module @passes attributes {transform.with_named_sequence} {
  // expected-warning @+2 {{the operations that 'marks' decides are not known after it: 'configures', 'last' may configure them, and may skip others that arrive with a configuration}}
  // expected-note @+1 {{'marks' comes first}}
  module @marks attributes {transform.with_named_sequence} {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @mark(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "mark" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %0 = transform.foreach_match in %root @match -> @mark : (!transform.any_op) -> !transform.any_op
      // expected-note @+1 {{it changes the program other than by annotations}}
      %1 = transform.apply_registered_pass "cse" to %0 : (!transform.any_op) -> !transform.any_op
      transform.yield %1 : !transform.any_op
    }
  }
  // expected-warning @+3 {{opaque spec 'configures' may override what 'marks' configured: it cannot be guarded}}
  // expected-warning @+2 {{the operations that 'configures' decides are not known after it: 'last' may configure them}}
  // expected-note @+1 {{'configures' comes later}}
  module @configures attributes {transform.with_named_sequence} {
    transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      // expected-note @+1 {{it changes the program other than by annotations}}
      %0 = transform.apply_registered_pass "iree-codegen-materialize-device-encoding" to %root : (!transform.any_op) -> !transform.any_op
      transform.annotate %0 "mark" : !transform.any_op
      transform.yield %0 : !transform.any_op
    }
  }
  // expected-note @+1 {{'last' comes later}}
  module @last attributes {transform.with_named_sequence} {
    transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      transform.annotate %root "last" : !transform.any_op
      transform.yield %root : !transform.any_op
    }
  }
}

// -----

module @prepared attributes {transform.with_named_sequence} {
  module @first attributes {transform.with_named_sequence} {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @mark(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "mark" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %0 = transform.apply_registered_pass "iree-codegen-materialize-device-encoding" to %root : (!transform.any_op) -> !transform.any_op
      %1 = transform.foreach_match in %0 @match -> @mark : (!transform.any_op) -> !transform.any_op
      transform.yield %1 : !transform.any_op
    }
  }
  module @last attributes {transform.with_named_sequence} {
    transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      transform.annotate %root "last" : !transform.any_op
      transform.yield %root : !transform.any_op
    }
  }
}

// -----

// Neither does it know what an include configures before it fails, or what a loop decides.

module @lost attributes {transform.with_named_sequence} {
  // expected-warning @+1 {{the operations that 'failing' decides are not known after it: 'looping', 'last' may configure them}}
  module @failing attributes {transform.with_named_sequence} {
    transform.named_sequence @set(%root: !transform.any_op {transform.readonly}) {
      transform.annotate %root "set" : !transform.any_op
      transform.match.operation_name %root ["func.func"] : !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      // expected-note @+1 {{what it configures before it fails is not known}}
      transform.include @set failures(suppress) (%root) : (!transform.any_op) -> ()
      transform.yield %root : !transform.any_op
    }
  }
  // expected-warning @+2 {{the operations that 'looping' decides are not known after it: 'last' may configure them}}
  // expected-note @+1 {{'looping' comes later}}
  module @looping attributes {transform.with_named_sequence} {
    transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %copies = transform.structured.match ops{["linalg.copy"]} in %root : (!transform.any_op) -> !transform.any_op
      // expected-note @+1 {{what it decides inside is not known behind it}}
      transform.foreach %copies : !transform.any_op {
      ^bb0(%copy: !transform.any_op):
        transform.annotate %copy "mark" : !transform.any_op
      }
      transform.yield %root : !transform.any_op
    }
  }
  // expected-note @+1 {{'last' comes later}}
  module @last attributes {transform.with_named_sequence} {
    transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      transform.annotate %root "last" : !transform.any_op
      transform.yield %root : !transform.any_op
    }
  }
}

// -----

// An annotation fails without exactly one value: lists of dimensions, which matchers yield, may have any length. The
// value of a constant is one, also through includes and the operands of a list.

module @values attributes {transform.with_named_sequence} {
  module @failing attributes {transform.with_named_sequence} {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.param<i64>) {
      %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32 : !transform.any_op -> !transform.param<i64>
      transform.yield %op, %b : !transform.any_op, !transform.param<i64>
    }
    transform.named_sequence @set(%op: !transform.any_op {transform.readonly}, %value: !transform.param<i64> {transform.readonly}) {
      // expected-warning @+1 {{entry point '@main' of 'failing' may fail here}}
      transform.annotate %op "mark" = %value : !transform.any_op, !transform.param<i64>
      transform.yield
    }
    transform.named_sequence @act(%op: !transform.any_op {transform.readonly}, %value: !transform.param<i64> {transform.readonly}) {
      transform.include @set failures(propagate) (%op, %value) : (!transform.any_op, !transform.param<i64>) -> ()
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %0 = transform.foreach_match in %root @match -> @act : (!transform.any_op) -> !transform.any_op
      %1 = transform.foreach_match in %0 @match -> @act : (!transform.any_op) -> !transform.any_op
      transform.yield %1 : !transform.any_op
    }
  }
  module @sound attributes {transform.with_named_sequence} {
    transform.named_sequence @value() -> !transform.any_param {
      %value = transform.param.constant 1 : i64 -> !transform.any_param
      transform.yield %value : !transform.any_param
    }
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}, %given: !transform.any_param {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) {
      transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
      %value = transform.include @value failures(propagate) () : () -> !transform.any_param
      transform.yield %op, %given, %value : !transform.any_op, !transform.any_param, !transform.any_param
    }
    transform.named_sequence @act(%op: !transform.any_op {transform.readonly}, %given: !transform.any_param {transform.readonly}, %value: !transform.any_param {transform.readonly}) {
      transform.annotate %op "given" = %given : !transform.any_op, !transform.any_param
      transform.annotate %op "value" = %value : !transform.any_op, !transform.any_param
      %own = transform.include @value failures(propagate) () : () -> !transform.any_param
      transform.annotate %op "own" = %own : !transform.any_op, !transform.any_param
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %given = transform.param.constant 2 : i64 -> !transform.any_param
      %0 = transform.foreach_match in %root, %given @match -> @act : (!transform.any_op, !transform.any_param) -> !transform.any_op
      transform.yield %0 : !transform.any_op
    }
  }
}

// -----

// An action that unrolls loops tiles an op that has them, so that it does not fail.

module @unrolling attributes {transform.with_named_sequence} {
  module @unroll attributes {transform.with_named_sequence} {
    transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @unroll(%op: !transform.any_op {transform.consumed}) {
      %function = transform.get_parent_op %op <op_name = "func.func"> : (!transform.any_op) -> !transform.any_op
      %tile, %loop = transform.structured.tile_using_for %op tile_sizes [0, 0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      "transform.loop.unroll"(%loop) <{factor = 8 : i64}> : (!transform.any_op) -> ()
      transform.apply_cse to %function : !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %0 = transform.foreach_match in %root @match -> @unroll : (!transform.any_op) -> !transform.any_op
      transform.yield %0 : !transform.any_op
    }
  }
}

// -----

// Names of imported symbols in the options of a pass and in pipelines are not renamed.

module @options attributes {transform.with_named_sequence} {
  module @first attributes {transform.with_named_sequence} {
    // expected-note @+1 {{the other one}}
    transform.named_sequence @tile(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "first" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %module = transform.util.get_nearest_symbol_table %root : (!transform.any_op) -> !transform.any_op
      %0 = transform.util.import_symbol @tile into %module if undefined : (!transform.any_op) -> !transform.any_op
      transform.yield %root : !transform.any_op
    }
  }
  module @second attributes {transform.with_named_sequence} {
    transform.named_sequence @tile(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "second" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %module = transform.util.get_nearest_symbol_table %root : (!transform.any_op) -> !transform.any_op
      %0 = transform.util.import_symbol @tile into %module if undefined : (!transform.any_op) -> !transform.any_op
      // expected-error @+1 {{'@tile' is named in a string here, and another spec defines another '@tile'; rename it in one of the specs}}
      %1 = transform.apply_registered_pass "iree-transform-dialect-interpreter" with options = {"entry-point" = "tile"} to %module : (!transform.any_op) -> !transform.any_op
      transform.yield %root : !transform.any_op
    }
  }
}

// -----

module @parameter attributes {transform.with_named_sequence} {
  module @first attributes {transform.with_named_sequence} {
    // expected-note @+1 {{the other one}}
    transform.named_sequence @tile(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "first" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %module = transform.util.get_nearest_symbol_table %root : (!transform.any_op) -> !transform.any_op
      %0 = transform.util.import_symbol @tile into %module if undefined : (!transform.any_op) -> !transform.any_op
      transform.yield %root : !transform.any_op
    }
  }
  module @second attributes {transform.with_named_sequence} {
    transform.named_sequence @tile(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "second" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %module = transform.util.get_nearest_symbol_table %root : (!transform.any_op) -> !transform.any_op
      %0 = transform.util.import_symbol @tile into %module if undefined : (!transform.any_op) -> !transform.any_op
      %name = transform.param.constant "tile" -> !transform.any_param
      // expected-error @+1 {{'@tile' is named in a string here}}
      %1 = transform.apply_registered_pass "iree-transform-dialect-interpreter" with options = {"entry-point" = %name} to %module : (!transform.any_op, !transform.any_param) -> !transform.any_op
      transform.yield %root : !transform.any_op
    }
  }
}

// -----

module @pipeline attributes {transform.with_named_sequence} {
  module @first attributes {transform.with_named_sequence} {
    // expected-note @+1 {{the other one}}
    transform.named_sequence @tile(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "first" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %module = transform.util.get_nearest_symbol_table %root : (!transform.any_op) -> !transform.any_op
      %0 = transform.util.import_symbol @tile into %module if undefined : (!transform.any_op) -> !transform.any_op
      transform.yield %root : !transform.any_op
    }
  }
  module @second attributes {transform.with_named_sequence} {
    transform.named_sequence @tile(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "second" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %module = transform.util.get_nearest_symbol_table %root : (!transform.any_op) -> !transform.any_op
      %0 = transform.util.import_symbol @tile into %module if undefined : (!transform.any_op) -> !transform.any_op
      // expected-error @+1 {{'@tile' is named in a string here}}
      %info = transform.param.constant #iree_codegen.translation_info<pipeline = #iree_codegen.pass_pipeline<"iree-transform-dialect-interpreter{entry-point=tile}">> -> !transform.any_param
      transform.annotate %root "translation_info" = %info : !transform.any_op, !transform.any_param
      transform.yield %root : !transform.any_op
    }
  }
}
