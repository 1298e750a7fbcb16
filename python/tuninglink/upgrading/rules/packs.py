"""Packing and unpacking belong to another dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rule import OperationRule

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import OperationContext
    from tuninglink.upgrading.source import Mark

_NEW: Final = {"tensor.pack": "linalg.pack", "tensor.unpack": "linalg.unpack"}
_BY_NAME: Final = "transform.match.operation_name"


def _rewrite(mark: Mark, context: OperationContext) -> None:
    source = context.outline.source
    if mark.text in _NEW:
        context.edits.replace(mark.start, mark.end, _NEW[mark.text])
        context.changed(f"'{mark.text}' is '{_NEW[mark.text]}'")
        return
    limit = source.closers.get(mark.inside, len(source.text))
    names = next((each for each in source.tokens(mark.end, limit) if each.text in "[:"), None)
    if names is None or names.text != "[":
        return
    for token in source.tokens(names.start + 1, names.end - 1):
        old = token.text.strip('"')
        if token.kind == "string" and old in _NEW:
            context.edits.replace(token.start, token.end, f'"{_NEW[old]}"')
            context.changed(f"'{old}' is '{_NEW[old]}'")


RULE = OperationRule(
    name="packs",
    version=(3, 3),
    summary="`tensor.pack` and `tensor.unpack` moved into `linalg`.",
    before='transform.match.operation_name %op ["tensor.pack"] : !transform.any_op',
    after='transform.match.operation_name %op ["linalg.pack"] : !transform.any_op',
    evidence=(
        "https://github.com/llvm/llvm-project/pull/123902",
        "https://github.com/iree-org/iree/pull/19993",
    ),
    operations=frozenset({*_NEW, _BY_NAME}),
    rewrite=_rewrite,
)
