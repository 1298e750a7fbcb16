// A 'get_parent_op' finds nothing above the module, nor above the scope of alternatives, which is a copy of the function
// without the module: an error where the spec is applied alone, and hidden where it is linked. The module is found.

// RUN: tuninglink link %s 2>&1 >/dev/null | filecheck %s --check-prefix=COPY
// RUN: sed 's/^.*foreach_match in %copy.*$//' %s >%t.module.mlir
// RUN: tuninglink link %t.module.mlir 2>&1 >/dev/null | filecheck %s --check-prefix=MODULE --allow-empty
// RUN: sed 's/^.*foreach_match in %copy.*$//; s/%root @function_of/%root @module_of/' %s >%t.above.mlir
// RUN: tuninglink link %t.above.mlir 2>&1 >/dev/null | filecheck %s --check-prefix=ABOVE

// COPY: link-failing-parent.mlir:30:14: warning: entry point '@main' of 'failing_parent' may fail here
// MODULE-NOT: warning
// ABOVE: warning: entry point '@main' of 'failing_parent' may fail here

module @failing_parent attributes {transform.with_named_sequence} {
  transform.named_sequence @function_of(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    %function = transform.get_parent_op %op : (!transform.any_op) -> !transform.any_op
    transform.yield %function : !transform.any_op
  }
  transform.named_sequence @above(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %parent = transform.get_parent_op %op : (!transform.any_op) -> !transform.any_op
    transform.yield %parent : !transform.any_op
  }
  transform.named_sequence @module_of(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %function = transform.include @function_of failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    %module = transform.include @above failures(propagate) (%function) : (!transform.any_op) -> !transform.any_op
    transform.yield %module : !transform.any_op
  }
  transform.named_sequence @mark(%op: !transform.any_op {transform.readonly}) {
    %above = transform.get_parent_op %op : (!transform.any_op) -> !transform.any_op
    transform.annotate %op "mark" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %functions = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.alternatives %functions : !transform.any_op {
    ^bb0(%copy: !transform.any_op):
      %0 = transform.foreach_match in %copy @function_of -> @mark : (!transform.any_op) -> !transform.any_op
    }
    %1 = transform.foreach_match in %root @function_of -> @mark : (!transform.any_op) -> !transform.any_op
    transform.yield %1 : !transform.any_op
  }
}
