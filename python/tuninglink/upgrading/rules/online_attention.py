from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tuninglink.mlir import names
from tuninglink.upgrading.iteration_space import read_affine_map
from tuninglink.upgrading.rule_definition import OperationSite, Refusal, operation_rule

if TYPE_CHECKING:
    from tuninglink.upgrading.spec_text import Source, Token

_OLD: Final = f'"{names.ATTENTION}"'
_NEW: Final = f'"{names.ONLINE_ATTENTION}"'


@operation_rule(
    names.MATCH_OPERATION_NAME,
    names.MATCH_ATTENTION,
    since=(3, 12),
    before='transform.match.operation_name %op ["iree_linalg_ext.attention"] : !transform.any_op',
    after='transform.match.operation_name %op ["iree_linalg_ext.online_attention"] : !transform.any_op',
    evidence=("iree#24110", "iree#24125"),
    is_decisive=False,
)
def online_attention(site: OperationSite) -> None:
    """Attention is `iree_linalg_ext.online_attention` when it is matched.

    A matcher for `iree_linalg_ext.attention` matches nothing.
    """
    if site.mark.text == names.MATCH_ATTENTION:
        _restructure(site)
        return
    name_tokens = site.matched_name_tokens()
    for token in name_tokens:
        if token.text == _OLD and all(other.text != _NEW for other in name_tokens):
            site.edits.replace(token.start, token.end, _NEW)
            site.changed(f"{_OLD} is {_NEW} when it is matched")


def _restructure(site: OperationSite) -> None:
    """Convert a matcher of attention to one of online attention."""
    fields: dict[str, Token] = {}
    previous = key = ""
    for token in site.head():
        if token.text == "=":
            key = previous
        elif key:
            fields[key], key = token, ""
        previous = token.text
    if not fields.keys() >= {"indexing_maps", "output_type", "value_type"}:
        return
    maps, output, value = fields["indexing_maps"], fields["output_type"], fields["value_type"]
    rows = row_map(site.source, maps)
    site.edits.replace(site.mark.start, site.mark.end, names.MATCH_ONLINE_ATTENTION)
    if "scale_type" not in fields:
        query = fields.get("query_type", value)
        site.edits.insert(value.end, f", scale_type = {query.text}")
        site.decided(
            "the scale is assumed to have the type of the query, as the matcher does not give it"
        )
    site.edits.replace(output.start, output.end, "f32, max_type = f32, sum_type = f32")
    site.edits.insert(maps.end - 1, f", {rows}, {rows}")
    site.changed(
        "attention is online attention when it is matched, with maximum and sum of each row"
    )


def row_map(source: Source, maps: Token) -> str:
    """Return the map of the rows: that of the result without its columns.

    Raises:
        Refusal: the maps cannot be read.
    """
    tokens = list(source.tokens(maps.start + 1, maps.end - 1))
    texts = [
        source.text[name.start : group.end]
        for name, group in pairwise(tokens)
        if name.text == "affine_map" and group.text == "<"
    ]
    query = read_affine_map(texts[0]) if texts else None
    result = read_affine_map(texts[-1]) if len(texts) > 1 else None
    if query is not None and result is not None:
        loops = frozenset().union(*query[1])
        domain, _, results = texts[-1].partition("->")
        named = [word.strip() for word in results.strip().removesuffix(">").strip(" ()").split(",")]
        if len(named) == len(result[1]):
            rows = [name for name, used in zip(named, result[1], strict=True) if used <= loops]
            return f"{domain.rstrip()} -> ({', '.join(rows)})>"
    raise Refusal("the indexing maps of the attention cannot be read")
