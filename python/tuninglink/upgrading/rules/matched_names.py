from __future__ import annotations

from typing import Final

from tuninglink.mlir import names
from tuninglink.upgrading.generic_forms import is_named_operation
from tuninglink.upgrading.rule_definition import OperationSite, Refusal, operation_rule
from tuninglink.upgrading.rules.elementwise_operations import KINDS
from tuninglink.upgrading.rules.transposed_matmuls import MAPS

_FORMS: Final = frozenset({names.MATCH_CONTRACTION, names.MATCH_CONVOLUTION})
_GENERIC: Final = '"linalg.generic"'


@operation_rule(
    names.MATCH_OPERATION_NAME,
    since=(3, 8),
    before="transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
    '  transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op\n'
    "  %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, "
    "output_type = f32 : !transform.any_op -> !transform.param<i64>\n"
    "  %c = transform.param.constant #iree_gpu.derived_thread_config -> !transform.any_param\n"
    "  transform.yield\n}",
    after="transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
    '  transform.match.operation_name %op ["linalg.generic"] : !transform.any_op\n'
    "  %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, "
    "output_type = f32 : !transform.any_op -> !transform.param<i64>\n"
    "  %c = transform.param.constant #iree_gpu.derived_thread_config -> !transform.any_param\n"
    "  transform.yield\n}",
    evidence=("llvm#147961", "iree#21778"),
    is_decisive=False,
)
def matched_names(site: OperationSite) -> None:
    """Named operations are gone, or `linalg.generic` on a GPU when they are matched.

    Next to a DAG or a matcher of its form, the name becomes `linalg.generic`. Otherwise the entry would match nothing,
    and is excluded.
    """
    listed, sequence = site.name_list(), site.sequence
    if listed is None or sequence is None:
        return
    op_names = [token.text.strip('"') for token in site.matched_name_tokens()]
    gone = [name for name in op_names if name in KINDS or name in MAPS]
    named = [name for name in op_names if is_named_operation(name)]
    is_for_gpu = site.generalization.configures_gpu(sequence)
    if not gone and not (is_for_gpu and named and len(named) == len(op_names)):
        return
    # Another matcher op identifies the operation, or the entry is excluded.
    old = (gone or named)[0]
    other_ops = {mark.text for mark in site.outline.marks(sequence.start, sequence.end)}
    if is_for_gpu and names.MATCH_DAG in other_ops:
        site.edits.replace(listed.start, listed.end, f"[{_GENERIC}]")
        site.changed(f"'{old}' is {_GENERIC} on a GPU when it is matched; the DAG identifies it")
        return
    if is_for_gpu and not other_ops.isdisjoint(_FORMS):
        site.edits.replace(listed.start, listed.end, f"[{_GENERIC}]")
        site.decided(
            f"'{old}' is {_GENERIC} on a GPU when it is matched; the other matcher op identifies it, except for the "
            "body"
        )
        return
    what = "is gone" if gone else f"is {_GENERIC} on a GPU when it is matched"
    raise Refusal(
        f"it matches '{old}' by name, which {what} (https://github.com/iree-org/iree/pull/21778), and does not "
        "show its computation; use a matcher with a DAG, or 'transform.iree.match.contraction' or "
        "'.convolution'"
    )
