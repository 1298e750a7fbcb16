// RUN: tuninglink-opt --no-implicit-module --split-input-file --verify-diagnostics --tuninglink-annotate-root-ops %s

// expected-error @+1 {{expected a program, found a tuning spec; give the program that it is meant for}}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @main(%v: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.yield %v : !transform.any_op
  }
}

// -----

// A program that holds a spec is a program.

module attributes {transform.with_named_sequence} {
  func.func @program() {
    return
  }
  transform.named_sequence @main(%v: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.yield %v : !transform.any_op
  }
}
