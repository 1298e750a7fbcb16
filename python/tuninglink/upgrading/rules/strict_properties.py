"""What belongs to an operation of the transform dialect no longer stands among its other attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rule import OperationRule
from tuninglink.upgrading.trees import Field, Leaf, Node, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.upgrading.rule import OperationContext
    from tuninglink.upgrading.source import Mark, Token

_POSITIONS: Final = ("permutation", "projected_permutation", "single", "any")
_KEYWORDS: Final = {
    "transform.print": ("name", "assume_verified", "use_local_scope", "skip_regions"),
    "transform.split_handle": (
        "pass_through_empty_handle",
        "fail_on_payload_too_small",
        "overflow_result",
    ),
    "transform.match.structured.body": (
        "reduction_position",
        "passthrough",
        "elementwise",
        "contraction",
    ),
    "transform.match.structured.dim": ("parallel", "reduction"),
    "transform.match.structured.init": _POSITIONS,
    "transform.match.structured.input": _POSITIONS,
    "transform.match.structured.result": _POSITIONS,
}
"""Operations that spell their properties out: `name = "x" skip_regions`."""

_FIRST: Final = {"transform.merge_handles": ("deduplicate",)}
"""Operations that spell them out before their operands."""

_LISTED: Final = {
    "transform.iree.match.contraction": ("indexing_maps",),
    "transform.iree.match.convolution": ("indexing_maps",),
}
"""Operations that list them behind the others: `output_type = f32, indexing_maps = […]`."""

_BRACKETS: Final = {
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

_NAMES: Final = {**_KEYWORDS, **_FIRST, **_LISTED, **_BRACKETS}


def _rewrite(mark: Mark, context: OperationContext) -> None:
    source, operation = context.outline.source, mark.text
    previous = mark.end
    for token in _tokens(mark, context):
        if token.text != "{":
            previous = token.end
            continue
        tree = parse(source, token.start, token.end)
        assert isinstance(tree, Node)
        taken = [each for each in tree.fields if each.name in _NAMES[operation]]
        if not taken:
            return
        for each in taken:
            tree.remove_field(each)
        rest = tree.render() if tree.fields else ""
        named = ", ".join(f"'{each.name}'" for each in taken)
        context.changed(f"{named} of '{operation}' stands outside of the attributes")
        spelled = [_spelled(each) for each in taken]
        if operation in _FIRST:
            context.edits.insert(mark.end, "".join(f" {each}" for each in spelled))
            context.edits.replace(previous, token.end, f" {rest}".rstrip())
        elif operation in _LISTED:
            listed = "".join(f", {each}" for each in spelled)
            context.edits.replace(previous, token.end, f"{listed} {rest}".rstrip())
        else:
            text = " ".join(spelled)
            if operation in _BRACKETS:
                text = f"<{', '.join(spelled)}>"
            context.edits.replace(token.start, token.end, f"{text} {rest}".rstrip())
        return


def _tokens(mark: Mark, context: OperationContext) -> Iterator[Token]:
    """Yields the tokens of an operation up to its types."""
    source = context.outline.source
    limit = source.closers.get(mark.inside, len(source.text))
    for token in source.tokens(mark.end, limit):
        is_next = token.kind == "word" and token.text.startswith("transform.")
        if token.text == ":" or is_next:
            return
        yield token


def _spelled(field: Field) -> str:
    if field.key is None:
        return str(field.name)
    value = field.value.text if isinstance(field.value, Leaf) else field.value.render()
    if not value.startswith(('"', "[")):
        value = value.partition(":")[0].strip()
    return f"{field.name} = {value}"


RULE = OperationRule(
    name="strict-properties",
    version=(3, 12),
    summary="What belongs to a transform operation is refused among its other attributes.",
    before='transform.print %op {name = "seen"} : !transform.any_op',
    after='transform.print %op name = "seen" : !transform.any_op',
    evidence=("https://github.com/llvm/llvm-project/pull/217290",),
    operations=frozenset(_NAMES),
    rewrite=_rewrite,
)
