"""A matcher that asks for a name that operations no longer have matches nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.generalization import configures_gpu, is_named_operation
from tuninglink.upgrading.problems import DAG
from tuninglink.upgrading.rule import OperationRule, Refusal
from tuninglink.upgrading.rules import elementwise, transposed_matmuls

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import OperationContext
    from tuninglink.upgrading.source import Mark

_BY_NAME: Final = "transform.match.operation_name"
_FORMS: Final = frozenset({"transform.iree.match.contraction", "transform.iree.match.convolution"})
_GENERIC: Final = '"linalg.generic"'
_GONE: Final = transposed_matmuls.RULE.operations | elementwise.RULE.operations - {
    "linalg.elementwise"
}


def _rewrite(mark: Mark, context: OperationContext) -> None:
    source, sequence = context.outline.source, context.sequence
    limit = source.closers.get(mark.inside, len(source.text))
    listed = next((each for each in source.tokens(mark.end, limit) if each.text in "[:"), None)
    if listed is None or listed.text != "[" or sequence is None:
        return
    tokens = list(source.tokens(listed.start + 1, listed.end - 1))
    names = [token.text.strip('"') for token in tokens if token.kind == "string"]
    gone = [name for name in names if name in _GONE]
    named = [name for name in names if is_named_operation(name)]
    is_for_gpu = configures_gpu(context.outline, sequence)
    if not gone and not (is_for_gpu and named and len(named) == len(names)):
        return
    old = (gone or named)[0]
    marks = context.outline.marks(sequence.start, sequence.end)
    beside = {each.text for each in marks}
    if is_for_gpu and DAG in beside:
        context.edits.replace(listed.start, listed.end, f"[{_GENERIC}]")
        context.changed(f"'{old}' is {_GENERIC} on a GPU when it is matched; the dag says which")
        return
    if is_for_gpu and not beside.isdisjoint(_FORMS):
        context.edits.replace(listed.start, listed.end, f"[{_GENERIC}]")
        context.decided(
            f"'{old}' is {_GENERIC} on a GPU when it is matched; which one the matcher beside it says, but for "
            "the body"
        )
        return
    what = "is gone" if gone else f"is {_GENERIC} on a GPU when it is matched"
    raise Refusal(
        f"it asks for '{old}' by name, which {what} (https://github.com/iree-org/iree/pull/21778), and does not "
        "show what it computes; a matcher with a dag, or 'transform.iree.match.contraction' or '.convolution', "
        "would",
        mark.start,
    )


RULE = OperationRule(
    name="matched-names",
    version=(3, 8),
    summary="Operations are asked for by a name that they no longer have when they are matched. Beside a dag "
    "or a matcher of its form the name is `linalg.generic`; without one the entry is kept out, as it would match "
    "nothing.",
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
    evidence=(
        "https://github.com/llvm/llvm-project/pull/147961",
        "https://github.com/iree-org/iree/pull/21778",
    ),
    operations=frozenset({_BY_NAME}),
    rewrite=_rewrite,
)
