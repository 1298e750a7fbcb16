// A matcher that is used twice in one foreach_match crashes stock tools: their verifier has a warning, quotes the
// operation, and verifies that to quote it. Linking gives the second pair a copy of the matcher.

// RUN: tuninglink link %s 2>&1 | filecheck %s
// RUN: tuninglink link %s 2>/dev/null | iree-opt --no-implicit-module
// RUN: tuninglink link %S/Inputs/matmul.mlir %s 2>/dev/null | iree-opt --no-implicit-module
// RUN: tuninglink compile %examples/mmt_2048x1280x5120.mlir --spec %s --no-default-specs \
// RUN:   --iree-hal-target-device=hip --iree-rocm-target=gfx942 --compile-to=executable-configurations \
// RUN:   -o %t.mlir 2>&1 | filecheck %s --check-prefix=COMPILE

// CHECK: warning: matcher '@match' is used more than once: only its first entry can apply; remove the later ones
// CHECK: @match -> @apply,
// CHECK: @match_0 -> @apply :

// COMPILE: warning: spec '{{.*}}matcher-used-twice.mlir' configured nothing
module attributes { transform.with_named_sequence } {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) { transform.yield }
  transform.named_sequence @main(%v: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
    %r = transform.foreach_match in %v @match -> @apply, @match -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %r : !transform.any_op
  }
}
