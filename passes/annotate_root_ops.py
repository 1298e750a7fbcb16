"""The pass `tuninglink-annotate-root-ops`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from iree.compiler.dialects import iree_codegen

from tuninglink.iree.dispatch_roots import find_root_ops
from tuninglink.mlir import names
from tuninglink.mlir.passes import Pass, option
from tuninglink.specs.programs import check_is_program

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import DiagnosticSink


@dataclass(frozen=True)
class AnnotateRootOps(Pass):
    """Mark the operations that get a configuration with `root_op`, for any backend.

    They are the operations that `--iree-codegen-add-tuner-attributes` makes the compiler mark, as it chooses
    configurations; this pass marks them where that has happened already or is still to come. A root op is
    looked for in each function of the dispatches, by the rule of the backend in the target that stands
    around: llvm-cpu and vmvx have one, hip and cuda another, vulkan and metal a third; without a target, the
    one of hip and cuda is taken. There is none in a function that computes nothing, and on GPUs none in one
    that runs in a single workgroup. Like the compiler, the pass gives each dispatch one set, `set = 0`.

    The rules are about programs as the backend's preprocessing leaves them, at `executable-configurations`
    or right before the backend selects its lowering strategy. On earlier forms of a dispatch the result is
    the root op of that form.

    Where a spec has configured an operation (where a `compilation_info` is, or the only `lowering_config`),
    that operation is the root op, although the compiler would leave it unmarked.

    Marks that are there already are replaced, unless `keep-existing` is given.

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
        default=False, help="leave functions alone in which an operation is marked already"
    )

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:  # noqa: ARG002 - nothing can be wrong
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
"""The set of every root op: there is one set to a dispatch, and the compiler counts from zero in each."""
