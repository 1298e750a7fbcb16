// A matcher that is used twice in one foreach_match crashes stock tools: their verifier has a warning, quotes the
// operation, and verifies that to quote it. It is an error in every command, and in Python, where the quotes are on.

// RUN: not tuninglink link %s 2>&1 | filecheck %s
// RUN: not tuninglink check %s 2>&1 | filecheck %s
// RUN: not tuninglink compile %examples/mmt_2048x1280x5120.mlir --spec %s --no-default-specs \
// RUN:   --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t.vmfb 2>&1 | filecheck %s
// RUN: not %python -c 'import tuninglink; tuninglink.load_spec("%s")' 2>&1 | filecheck %s

// The parser accepts it in the generic form and in bytecode.
// RUN: iree-opt %S/Inputs/later.mlir --mlir-print-op-generic -o %t.plain.mlir
// RUN: sed 's/matchers = \[@matmul, @fill/matchers = [@matmul, @matmul/' %t.plain.mlir > %t.mlir
// RUN: iree-opt %t.mlir --mlir-print-op-on-diagnostic=false --emit-bytecode -o %t.mlirbc
// RUN: not tuninglink-opt %t.mlir --tuninglink-verify-specs 2>&1 | filecheck %s --check-prefix=PARSED
// RUN: not tuninglink-opt %t.mlirbc --tuninglink-verify-specs 2>&1 | filecheck %s --check-prefix=PARSED
// RUN: not tuninglink link %t.mlirbc 2>&1 | filecheck %s --check-prefix=PARSED
// RUN: not %python -c 'import tuninglink; tuninglink.load_spec("%t.mlir")' 2>&1 | filecheck %s --check-prefix=PARSED
// RUN: not %python -c 'import tuninglink; tuninglink.load_spec("%t.mlirbc")' 2>&1 | filecheck %s --check-prefix=PARSED

// Generic text over several lines:
// RUN: sed 's/, matchers = /,\n matchers = /' %t.mlir > %t.lines.mlir
// RUN: not %python -c 'import tuninglink; tuninglink.load_spec("%t.lines.mlir")' 2>&1 | filecheck %s --check-prefix=PARSED

// PARSED: error: matcher '@matmul' is used more than once

// CHECK: matcher-used-twice.mlir:{{[0-9]+}}:58: error: matcher '@match' is used more than once: only its first entry can apply, and the compiler crashes on this operation; remove the later entries
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
