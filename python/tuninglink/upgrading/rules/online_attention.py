"""Attention is online attention when matchers see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.problems import read_affine_map
from tuninglink.upgrading.rule import OperationRule, Refusal

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import OperationContext
    from tuninglink.upgrading.source import Mark, Source, Token

_BY_NAME: Final = "transform.match.operation_name"
_BY_STRUCTURE: Final = "transform.iree.match.attention"
_OLD: Final = '"iree_linalg_ext.attention"'
_NEW: Final = '"iree_linalg_ext.online_attention"'


def _rewrite(mark: Mark, context: OperationContext) -> None:
    source = context.outline.source
    limit = source.closers.get(mark.inside, len(source.text))
    if mark.text == _BY_NAME:
        for token in source.tokens(mark.end, limit):
            if token.text == "[":
                _rename(source, token, context)
                return
            if token.text == ":":
                return
    else:
        _restructure(mark, source, limit, context)


def _rename(source: Source, names: Token, context: OperationContext) -> None:
    for token in source.tokens(names.start + 1, names.end - 1):
        if token.text == _OLD and _NEW not in source.text[names.start : names.end]:
            context.edits.replace(token.start, token.end, _NEW)
            context.changed(f"{_OLD} is {_NEW} when it is matched")


def _restructure(mark: Mark, source: Source, limit: int, context: OperationContext) -> None:
    fields: dict[str, Token] = {}
    previous = key = ""
    for token in source.tokens(mark.end, limit):
        if token.text == ":":
            break
        if token.text == "=":
            key = previous
        elif key:
            fields[key], key = token, ""
        previous = token.text
    maps, output, value = (
        fields.get(each) for each in ("indexing_maps", "output_type", "value_type")
    )
    if maps is None or output is None or value is None:
        return
    rows = row_map(source, maps)
    if rows is None:
        raise Refusal("the indexing maps of the attention cannot be read", mark.start)
    edits = context.edits
    edits.replace(mark.start, mark.end, "transform.iree.match.online_attention")
    if "scale_type" not in fields:
        query = fields.get("query_type", value)
        edits.insert(value.end, f", scale_type = {query.text}")
        context.decided(
            "the scale is taken to have the type of the query, as the matcher does not say"
        )
    edits.replace(output.start, output.end, "f32, max_type = f32, sum_type = f32")
    edits.insert(maps.end - 1, f", {rows}, {rows}")
    context.changed(
        "attention is online attention when it is matched, with maximum and sum of each row"
    )


def row_map(source: Source, maps: Token) -> str | None:
    """Returns the map of the rows: of the result without its columns."""
    texts = []
    start = None
    for token in source.tokens(maps.start + 1, maps.end - 1):
        if token.text == "affine_map":
            start = token.start
        elif token.text == "<" and start is not None:
            texts.append(source.text[start : token.end])
            start = None
    read = [read_affine_map(each) for each in texts]
    query, result = (read[0], read[-1]) if len(read) > 1 else (None, None)
    if query is None or result is None:
        return None
    loops = frozenset().union(*query[1])
    domain, _, results = texts[-1].partition("->")
    names = [each.strip() for each in results.strip().removesuffix(">").strip(" ()").split(",")]
    if len(names) != len(result[1]):
        return None
    rows = [name for name, used in zip(names, result[1], strict=True) if used <= loops]
    return f"{domain.rstrip()} -> ({', '.join(rows)})>"


RULE = OperationRule(
    name="online-attention",
    version=(3, 12),
    summary="Backends configure `iree_linalg_ext.online_attention`; a matcher for the attention that it was "
    "made from matches nothing.",
    before='transform.match.operation_name %op ["iree_linalg_ext.attention"] : !transform.any_op',
    after='transform.match.operation_name %op ["iree_linalg_ext.online_attention"] : !transform.any_op',
    evidence=(
        "https://github.com/iree-org/iree/pull/24110",
        "https://github.com/iree-org/iree/pull/24125",
    ),
    operations=frozenset({_BY_NAME, _BY_STRUCTURE}),
    rewrite=_rewrite,
)
