"""Matchers of attention."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from tuninglink.mlir import names
from tuninglink.upgrading.iteration_space import read_affine_map
from tuninglink.upgrading.outline_parts import Dag
from tuninglink.upgrading.rule_definition import OperationSite, Refusal, operation_rule
from tuninglink.upgrading.spec_text import VALUE, SpecText, Token

_OPERANDS: Final = ("query", "key", "value", "scale", "output")
_PARAMETER: Final = "!transform.param<i64>"
_VALUE: Final = "!transform.any_value"


@operation_rule(
    names.MATCH_DAG,
    since=(3, 12),
    before="transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
    "  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {\n"
    "  ^bb0(%q: tensor<?x64xf16>, %k: tensor<?x64xf16>, %v: tensor<?x32xf16>, %s: f16, %o: tensor<?x32xf16>):\n"
    "    %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(m, n, k, l) -> (m, k)>, "
    "affine_map<(m, n, k, l) -> (l, k)>, affine_map<(m, n, k, l) -> (l, n)>, affine_map<(m, n, k, l) -> ()>, "
    "affine_map<(m, n, k, l) -> (m, n)>]}> ins(%q, %k, %v, %s : tensor<?x64xf16>, tensor<?x64xf16>, "
    "tensor<?x32xf16>, f16) outs(%o : tensor<?x32xf16>) {\n"
    "    ^bb0(%score: f32):\n      iree_linalg_ext.yield %score : f32\n    } -> tensor<?x32xf16>\n"
    "  } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)\n  transform.yield\n}",
    after="transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
    "  %batch, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op, query_type = f16, "
    "key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32, "
    "indexing_maps = [affine_map<(m, n, k, l) -> (m, k)>, affine_map<(m, n, k, l) -> (l, k)>, "
    "affine_map<(m, n, k, l) -> (l, n)>, affine_map<(m, n, k, l) -> ()>, affine_map<(m, n, k, l) -> (m, n)>, "
    "affine_map<(m, n, k, l) -> (m)>, affine_map<(m, n, k, l) -> (m)>] "
    ": !transform.any_op -> !transform.param<i64>\n"
    "  %query = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value\n"
    "  transform.iree.match.cast_compatible_type %query = tensor<?x64xf16> : !transform.any_value\n"
    "  %key = transform.get_operand %op[1] : (!transform.any_op) -> !transform.any_value\n"
    "  transform.iree.match.cast_compatible_type %key = tensor<?x64xf16> : !transform.any_value\n"
    "  %value = transform.get_operand %op[2] : (!transform.any_op) -> !transform.any_value\n"
    "  transform.iree.match.cast_compatible_type %value = tensor<?x32xf16> : !transform.any_value\n"
    "  transform.yield\n}",
    evidence=("iree#24110", "iree#24125"),
    is_decisive=False,
)
def attention_dags(site: OperationSite) -> None:
    """A DAG of `iree_linalg_ext.attention` became `match.online_attention`.

    The types of query, key and value are checked separately.
    """
    # Read the DAG, and refuse one whose results are used.
    dag = site.outline.dag(site.mark)
    if dag is None or dag.root.text != names.ATTENTION:
        return
    source, sequence = site.source, site.sequence
    start, results = source.results(site.mark.start)
    operand = next(source.tokens(site.mark.end, dag.region.start), None)
    signature = list(source.tokens(dag.region.end, source.closers[site.mark.inside]))[:4]
    if not results or operand is None or sequence is None or len(signature) < 4:  # noqa: PLR2004 - `: () -> ()`
        raise Refusal("the DAG of the attention cannot be read")
    end = signature[-1].end
    for name in results:
        if re.search(re.escape(name) + r"(?![\w$.\-])", source.text[end : sequence.end]):
            raise Refusal(
                "the results of the DAG are used later, and 'match.online_attention' has no such results"
            )
    # Write the matcher op, and checks of the operand types.
    types = _types(site, dag)
    maps = _maps(source, dag)
    row = row_map(source, maps)
    attributes = [
        f"{name}_type = {_element(type_)}" for name, type_ in zip(_OPERANDS, types, strict=True)
    ]
    attributes[-1] = "output_type = f32, max_type = f32, sum_type = f32"
    attributes.append(f"indexing_maps = {source.text[maps.start : maps.end - 1]}, {row}, {row}]")
    parameters = ", ".join(_fresh(site, ("batch", "m", "n", "k1", "k2")))
    matcher = f"{names.MATCH_ONLINE_ATTENTION} {operand.text}, {', '.join(attributes)}"
    lines = [f"{parameters} = {matcher} : !transform.any_op -> {_PARAMETER}"]
    values = _fresh(site, _OPERANDS[:3])
    for number, (value, type_) in enumerate(zip(values, types, strict=False)):
        lines += (
            f"{value} = {names.GET_OPERAND} {operand.text}[{number}] : (!transform.any_op) -> {_VALUE}",
            f"{names.MATCH_TYPE} {value} = {type_} : {_VALUE}",
        )
    separator = "\n" + source.indent(start)
    site.edits.replace(start, end, separator.join(lines))
    site.changed(
        "the DAG of an attention is 'match.online_attention' with the same maps and the same types of query, key "
        "and value"
    )


def _types(site: OperationSite, dag: Dag) -> list[str]:
    """Return the types of the operands of an attention.

    Raises:
        Refusal: the DAG cannot be expressed by a matcher of online attention.
    """
    source, region = site.source, dag.region
    tokens = list(source.tokens(region.start + 1, region.end - 1))
    arguments = _typed(source, tokens[1]) if tokens[0].text.startswith("^") else {}
    operations = [
        mark
        for mark in site.outline.marks(region.start, region.end)
        if mark.inside == region.start and not mark.text.startswith("#")
    ]
    used = _operands(source, dag)
    if len(operations) != 1 or not set(used) <= set(arguments):
        raise Refusal("a DAG of an attention and other operations has no counterpart")
    if len(used) != len(_OPERANDS):
        raise Refusal("a DAG of an attention with a mask has no counterpart")
    if not _is_plain(source, dag):
        raise Refusal("a DAG of an attention that changes its scores has no counterpart")
    return [arguments[name] for name in used]


def _typed(source: SpecText, group: Token) -> dict[str, str]:
    """Return the types of the arguments of a block, by name."""
    typed: dict[str, str] = {}
    name, start = "", -1
    for token in source.tokens(group.start + 1, group.end - 1):
        if token.text.startswith("%"):
            name, start = token.text, -1
        elif token.text not in {":", ","}:
            start = token.start if start < 0 else start
            typed[name] = source.text[start : token.end]
    return typed


def _operands(source: SpecText, dag: Dag) -> list[str]:
    """Return the names of the operands of an attention, in order."""
    tokens = list(source.tokens(dag.root.end, dag.region.end - 1))
    return [
        name
        for word, group in pairwise(tokens)
        if word.text in {"ins", "outs"} and group.text == "("
        for name in VALUE.findall(source.text[group.start : group.end].partition(":")[0])
    ]


def _is_plain(source: SpecText, dag: Dag) -> bool:
    """Return whether an attention uses its scores unchanged."""
    groups = [
        token for token in source.tokens(dag.root.end, dag.region.end - 1) if token.text == "{"
    ]
    inside = source.tokens(groups[-1].start + 1, groups[-1].end - 1) if groups else ()
    operations = [token.text for token in inside if token.kind == "word" and "." in token.text]
    return operations in ([], ["iree_linalg_ext.yield"])


def _maps(source: SpecText, dag: Dag) -> Token:
    """Return the brackets with the indexing maps of an attention."""
    tokens = source.tokens(dag.root.end, dag.region.end - 1)
    group = next((token for token in tokens if token.text in "<{"), None)
    while group is not None:
        inside = list(source.tokens(group.start + 1, group.end - 1))
        for equals, value in pairwise(inside):
            if equals.text == "=" and value.text == "[":
                return value
        group = next((token for token in inside if token.text == "{"), None)
    raise Refusal("the attention has no indexing maps")


def _element(type_: str) -> str:
    """Return the element type of a tensor, or a scalar type unchanged."""
    inside = type_.partition("<")[2].removesuffix(">") or type_
    return inside.rpartition("x")[2].strip()


def _fresh(site: OperationSite, suffixes: tuple[str, ...]) -> list[str]:
    """Return unused names for values of the sequence."""
    assert site.sequence is not None
    text = site.source.text[site.sequence.start : site.sequence.end]
    prefix = "%"
    while any(re.search(re.escape(prefix + suffix) + r"\b", text) for suffix in suffixes):
        prefix += "attention_"
    return [prefix + suffix for suffix in suffixes]


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


def row_map(source: SpecText, maps: Token) -> str:
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
