"""What belongs to an operation of the transform dialect no longer stands among its other attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rule import OperationRule
from tuninglink.upgrading.trees import Field, Leaf, Node, parse

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import OperationContext
    from tuninglink.upgrading.source import Mark

_KEYWORDS: Final = {
    "transform.print": ("name", "assume_verified", "use_local_scope", "skip_regions"),
    "transform.split_handle": (
        "pass_through_empty_handle",
        "fail_on_payload_too_small",
        "overflow_result",
    ),
}
"""Operations that spell their properties out: `name = "x" skip_regions`."""

_PROPERTIES: Final = {
    "transform.get_parent_op": (
        "isolated_from_above",
        "allow_empty_results",
        "op_name",
        "deduplicate",
        "nth_parent",
    ),
    "transform.iree.bufferize": ("target_gpu", "test_analysis_only", "print_conflicts"),
}
"""Operations that have them in brackets: `<op_name = "x">`."""


def _rewrite(mark: Mark, context: OperationContext) -> None:
    source = context.outline.source
    limit = source.closers.get(mark.inside, len(source.text))
    names = _KEYWORDS.get(mark.text) or _PROPERTIES[mark.text]
    for token in source.tokens(mark.end, limit):
        if token.text == ":" or token.kind == "word":
            return
        if token.text != "{":
            continue
        tree = parse(source, token.start, token.end)
        assert isinstance(tree, Node)
        taken = [each for each in tree.fields if each.name in names]
        if not taken:
            return
        for each in taken:
            tree.remove_field(each)
        if mark.text in _KEYWORDS:
            spelled = " ".join(_spelled(each) for each in taken)
        else:
            spelled = f"<{', '.join(_spelled(each) for each in taken)}>"
        rest = f" {tree.render()}" if tree.fields else ""
        context.edits.replace(token.start, token.end, spelled + rest)
        named = ", ".join(f"'{each.name}'" for each in taken)
        context.changed(f"{named} of '{mark.text}' stands outside of the attributes")
        return


def _spelled(field: Field) -> str:
    if field.key is None:
        return str(field.name)
    value = field.value.text if isinstance(field.value, Leaf) else field.value.render()
    if not value.startswith('"'):
        value = value.partition(":")[0].strip()
    return f"{field.name} = {value}"


RULE = OperationRule(
    name="strict-properties",
    version=(3, 13),
    summary="What belongs to a transform operation is refused among its other attributes.",
    before='transform.print %op {name = "seen"} : !transform.any_op',
    after='transform.print %op name = "seen" : !transform.any_op',
    evidence=("https://github.com/llvm/llvm-project/pull/217290",),
    operations=frozenset({*_KEYWORDS, *_PROPERTIES}),
    rewrite=_rewrite,
)
