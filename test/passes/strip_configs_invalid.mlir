// RUN: tuninglink-opt --no-implicit-module --split-input-file --verify-diagnostics --tuninglink-strip-configs %s
// RUN: not tuninglink-opt --no-implicit-module --split-input-file --tuninglink-strip-configs=keep=root-op,root-ops %s 2>&1 | filecheck %s --check-prefix=NEAR
// RUN: not tuninglink-opt --no-implicit-module --split-input-file --tuninglink-strip-configs=keep=everything %s 2>&1 | filecheck %s --check-prefix=FAR

// NEAR: error: tuninglink-strip-configs: unknown kind 'root-ops' in option 'keep'; did you mean 'root-op'?
// FAR:  error: tuninglink-strip-configs: unknown kind 'everything' in option 'keep'; expected one of translation-info, lowering-config, compilation-info, decomposition-config, ukernel, constraints, root-op, embedded-spec, marker

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
