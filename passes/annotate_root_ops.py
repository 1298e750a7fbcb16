"""The pass `tuninglink-annotate-root-ops`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.iree import find_root_ops
from tuninglink.mlir import DiagnosticSink, Pass, names, option
from tuninglink.specs import check_is_program


@dataclass(frozen=True)
class AnnotateRootOps(Pass):
    """Mark the operations that get a configuration with `root_op`, for any backend.

    They are the operations that the compiler marks with `--iree-codegen-add-tuner-attributes` when it chooses
    configurations. The pass marks them in programs before or after that. Each function of a dispatch has its root op,
    found by the rule of the backend in its target: llvm-cpu and vmvx share a rule, hip and cuda another, vulkan and
    metal a third. Functions without a target follow the rule of hip and cuda. A function without computation has no
    root op; on GPUs, neither has one with a single workgroup. Like the compiler, the pass gives each dispatch one set,
    `set = 0`.

    The rules apply to programs after the backend's preprocessing, at `executable-configurations` or right before the
    backend selects its lowering strategy. On earlier forms of a dispatch, the result is the root op of that form.

    An operation that a spec has configured (with a `compilation_info`, or with the only `lowering_config`) is the root
    op, although the compiler would leave it unmarked.

    Existing marks are replaced, unless `keep-existing` is given.

    Example:
        Before:

        ```mlir
        func.func @dispatch() {
          %0 = linalg.fill …
          %1 = linalg.matmul …
          %2 = linalg.generic {iterator_types = ["parallel", "parallel"], …} …
        }
        ```

        After:

        ```mlir
        func.func @dispatch() {
          %0 = linalg.fill …
          %1 = linalg.matmul {root_op = #iree_codegen.root_op<set = 0>} …
          %2 = linalg.generic {iterator_types = ["parallel", "parallel"], …} …
        }
        ```
    """

    name: ClassVar[str] = "tuninglink-annotate-root-ops"
    anchor: ClassVar[str | None] = None

    keep_existing: bool = option(
        default=False, help="keep functions with a marked operation unchanged"
    )

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:  # noqa: ARG002 - it cannot fail
        """Mark the root ops inside `operation`."""
        check_is_program(operation)
        functions = find_root_ops(operation)
        mark = iree_codegen.RootOpAttr.get(_SET, ctx=operation.context)
        for function in functions:
            if self.keep_existing and function.marked:
                continue
            for marked in function.marked:
                del marked.attributes[names.ROOT_OP]
            for root in function.roots:
                root.attributes[names.ROOT_OP] = mark


_SET = 0
"""The set of every root op. Each dispatch has one set, and the compiler counts from zero in each."""
