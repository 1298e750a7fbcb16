"""Operations of the transform dialect that are gone: those without effect are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rule import OperationRule, Refusal

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import OperationContext
    from tuninglink.upgrading.source import Mark

_WITHOUT_EFFECT: Final = {
    "transform.iree.emit_remark": "it only printed a remark",
    "transform.iree.register_match_callbacks": "it only prepared 'transform.iree.match_callback'",
}
_GONE: Final = {
    "transform.iree.match_callback": "what its callbacks matched was written in the compiler "
    "(https://github.com/iree-org/iree/pull/24500)",
    "transform.iree.take_first": "no operation chooses between two handles "
    "(https://github.com/iree-org/iree/pull/24500)",
    "transform.iree.set_contraction_layout_attributes": "since 3.1 pipelines set layouts, from lowering configs; "
    "what a script says of them has no place there",
}


def _rewrite(mark: Mark, context: OperationContext) -> None:
    if mark.text in _GONE:
        raise Refusal(f"'{mark.text}' is gone: {_GONE[mark.text]}", mark.start)
    text = context.outline.source.text
    start, end = mark.start, _end(mark, context)
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    stop = stop if stop >= 0 else len(text)
    if not text[line:start].strip() and not text[end:stop].strip() and stop < len(text):
        start, end = line, stop + 1
    context.edits.replace(start, end, "")
    context.decided(f"'{mark.text}' is left out: {_WITHOUT_EFFECT[mark.text]}")


def _end(mark: Mark, context: OperationContext) -> int:
    """Returns where an operation without results ends."""
    source = context.outline.source
    limit = source.closers.get(mark.inside, len(source.text))
    end, is_type = mark.end, False
    for token in source.tokens(mark.end, limit):
        if is_type:
            return token.end
        is_next = token.kind == "word" and token.text.startswith("transform.")
        if is_next or mark.text != "transform.iree.emit_remark":
            return end
        is_type = token.text == ":"
        end = token.end
    return end


RULE = OperationRule(
    name="gone-operations",
    version=(3, 12),
    summary="`transform.iree.emit_remark` and `register_match_callbacks` are gone, and do nothing for a match; "
    "what needs `match_callback` or `take_first` is kept out.",
    before='transform.iree.emit_remark "seen" at %op : !transform.any_op\ntransform.yield',
    after="transform.yield",
    evidence=("https://github.com/iree-org/iree/pull/24500",),
    operations=frozenset({*_WITHOUT_EFFECT, *_GONE}),
    rewrite=_rewrite,
)
