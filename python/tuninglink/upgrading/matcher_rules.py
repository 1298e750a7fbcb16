"""Matchers of attention."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tuninglink.iree import gpu_enumerators, unknown
from tuninglink.mlir import names
from tuninglink.upgrading.config_rules import attribute_for
from tuninglink.upgrading.loops import read_affine_map
from tuninglink.upgrading.rule_definition import (
    AttributeSite,
    OperationSite,
    Refusal,
    attribute_rule,
    operation_rule,
)
from tuninglink.upgrading.spec_text import VALUE, Dag, SpecText, Token
from tuninglink.upgrading.trees import (
    SUBGROUP_COUNTS,
    CompilationInfo,
    Leaf,
    Node,
    as_node,
    levels_of,
    options_of,
    set_subgroup_basis,
    subgroup_counts,
)

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


# --- Configurations of products: intrinsics, their names and places; and the intrinsics and subgroups of attentions

_PREFIXES: Final = {"#iree_gpu.mfma_layout": "MFMA_", "#iree_gpu.wmma_layout": "WMMA_"}


@attribute_rule(
    "iree_gpu.mfma_layout",
    "iree_gpu.wmma_layout",
    since=(2, 9),
    before="#iree_gpu.mfma_layout<F16_16x16x16_F32>",
    after="#iree_gpu.mma_layout<MFMA_F16_16x16x16_F32>",
    evidence=(
        "iree@bc987188c017ce9c6c0d7d9101f6fe8e1ea38f66:compiler/src/iree/compiler/Codegen/Dialect/GPU/IR/IREEGPUAttrs.td",
    ),
)
def mma_layouts(site: AttributeSite) -> None:
    """`mfma_layout` and `wmma_layout` became `mma_layout`. The kind is part of the enumerator."""
    node, prefix = site.node, _PREFIXES[site.node.head]
    intrinsic = node.positional()
    if intrinsic is None or not isinstance(intrinsic.value, Leaf):
        return
    site.changed(f"'{node.head}' is '#iree_gpu.mma_layout'")
    node.head = "#iree_gpu.mma_layout"
    if not intrinsic.value.text.startswith(prefix):
        intrinsic.value = Leaf(prefix + intrinsic.value.text)


@attribute_rule(
    "iree_gpu.virtual_mma_layout",
    since=(3, 7),
    before="#iree_gpu.virtual_mma_layout<intrinsic = VMFMA_F32_16x16x32_F16>",
    after="#iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16>",
    evidence=("iree#21537",),
)
def virtual_intrinsics(site: AttributeSite) -> None:
    """`virtual_mma_layout<intrinsic = X>` became `virtual_mma_layout<X>`."""
    field = site.node.find("intrinsic")
    if field is not None and field.key is not None:
        field.key = None
        site.changed("the virtual intrinsic is written without 'intrinsic ='")


_OLD_INTRINSIC: Final = re.compile(
    r"(?P<kind>V?MFMA|WMMA|NV_WMMA|NV_MMA_SYNC)_(?P<operands>[A-Z]\w*?)_(?P<shape>\d+x\d+x\d+)_(?P<result>\w+)"
)


@attribute_rule(
    "iree_gpu.mma_layout",
    "iree_gpu.virtual_mma_layout",
    since=(3, 3),
    before="#iree_gpu.mma_layout<MFMA_F16_16x16x16_F32>",
    after="#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>",
    evidence=("iree#18127", "iree#20048"),
)
def intrinsic_names(site: AttributeSite) -> None:
    """Intrinsics are named `KIND_RESULT_MxNxK_OPERANDS`, and those of WMMA include the architecture."""
    node, field = site.node, site.node.positional()
    if field is None or not isinstance(field.value, Leaf):
        return
    layouts = {
        "#iree_gpu.mma_layout": gpu_enumerators("MMAIntrinsic"),
        "#iree_gpu.virtual_mma_layout": gpu_enumerators("VirtualMMAIntrinsic"),
    }
    plain = next(iter(layouts))
    name = field.value.text
    if name in layouts.get(node.head, layouts[plain]):
        return
    for candidate in _candidates(name):
        head = next((head for head, union in layouts.items() if candidate in union), None)
        if head is not None:
            field.value = Leaf(candidate)
            node.head = head if node.head or head != plain else ""
            site.changed(f"intrinsic '{name}' is '{candidate}'")
            return
    union = frozenset().union(*layouts.values())
    raise Refusal(unknown("intrinsic", name, union, likely=next(_candidates(name))))


def _candidates(name: str) -> Iterator[str]:
    """Yield possible present names for an old name, the likeliest first."""
    turned = name
    match = _OLD_INTRINSIC.fullmatch(name)
    if match:
        turned = "{kind}_{result}_{shape}_{operands}".format(**match.groupdict())
        yield turned
    # `WMMA` without a number is older than RDNA4.
    if turned.startswith("WMMA_"):
        yield "WMMAR3" + turned.removeprefix("WMMA")
    yield name


@attribute_rule(
    "iree_codegen.compilation_info",
    since=(2, 9),
    before="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{reduction = [0, 0, 32], workgroup = [64, 128, 0]}>, "
    "translation_info = <pipeline = LLVMGPUVectorDistribute, {mma_schedule = #iree_gpu.mma_schedule<"
    "intrinsic = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, subgroup_m_count = 2, "
    "subgroup_n_count = 2>}>>",
    after="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, reduction = [0, 0, 32], "
    "workgroup = [64, 128, 0], subgroup_m_count = 2, subgroup_n_count = 2}>, "
    "translation_info = <pipeline = LLVMGPUVectorDistribute>>",
    evidence=("iree#17195", "iree#18984"),
)
def mma_schedule(site: AttributeSite) -> None:
    """`mma_schedule` left the translation info. The intrinsic and the subgroup counts are in the lowering config.

    Tile counts, formerly part of it, follow from the rest.
    """
    info = CompilationInfo.of(site.node)
    options = options_of(info.translation) if info is not None else None
    schedule = options.node("mma_schedule") if options is not None else None
    if info is None or options is None or schedule is None:
        return
    levels, pipeline = info.levels, info.pipeline or ""
    if levels is None:
        attribute_for(pipeline)  # the pipeline may be gone, which is the better reason
        raise Refusal(
            f"an 'mma_schedule' with the pipeline '{pipeline}': its lowering config has "
            "no place for the intrinsic"
        )
    # Move the intrinsic and the subgroup counts.
    intrinsic = schedule.value("intrinsic")
    if intrinsic is not None and levels.find("mma_kind") is None:
        levels.insert(0, "mma_kind", intrinsic.copy())
    for name in SUBGROUP_COUNTS:
        count = schedule.value(name)
        if count is not None and levels.find(name) is None:
            levels.add(name, count.copy())
    # Remove the schedule, and options that become empty.
    options.remove("mma_schedule")
    if not options.fields:
        fields = info.translation.fields
        info.translation.remove_field(
            next(field for field in fields if as_node(field.value) is options)
        )
    site.changed("intrinsic and subgroup counts moved from 'mma_schedule' into the lowering config")


_BATCHES: Final = 2
"""The assumed number of batch loops of an attention, if the matcher does not show its loops."""


@attribute_rule(
    "decomposition_config",
    since=(3, 8),
    before="{qk_attrs = {lowering_config = #iree_gpu.lowering_config<{subgroup_m_count = 4, "
    "subgroup_n_count = 1}>}}",
    after="{qk_attrs = {lowering_config = #iree_gpu.lowering_config<{subgroup_basis = "
    "[[1, 1, 4, 1, 1, 1], [0, 1, 2, 4, 5]]}>}}",
    evidence=("iree#21912",),
)
def attention_basis(site: AttributeSite) -> None:
    """Subgroup counts in a `decomposition_config` became a `subgroup_basis` over the attention's loops."""
    for name in ("qk_attrs", "pv_attrs"):
        attributes = site.node.node(name)
        levels = levels_of(attributes.node("lowering_config")) if attributes is not None else None
        counts = subgroup_counts(levels)
        if levels is None or counts is None:
            continue
        is_first = name == "qk_attrs"
        rank, rows, columns, loops = _loops(site, is_first=is_first)
        m_count, n_count = counts
        if not m_count or not n_count:
            raise Refusal("subgroup counts of an attention are not numbers")
        if is_first and n_count != 1:
            raise Refusal(
                "subgroups along the keys of an attention: the compiler never distributed them there"
            )
        basis = [1] * rank
        basis[rows] = m_count
        if n_count != 1:
            basis[columns] = n_count
        text = set_subgroup_basis(levels, basis, loops)
        site.changed(f"{m_count} x {n_count} subgroups are 'subgroup_basis = {text}'")


def _loops(site: AttributeSite, *, is_first: bool) -> tuple[int, int, int, tuple[int, ...]]:
    """Return the number of loops, the loops of rows and of columns, and the loops of the product."""
    space = site.find_space()
    if space is None or not space.is_attention or not space.query_rows:
        *batches, m, n, k1, k2 = range(_BATCHES + 4)
        site.decided("the loops of the attention are assumed to be two batches, M, N, K1, K2")
        loops = (*batches, m, k1, k2) if is_first else (*batches, m, n, k2)
        return _BATCHES + 4, m, n, loops
    if space.is_assumed:
        site.decided("the loops of the attention are assumed to be batches, M, N, K1, K2")
    loops = space.query_key if is_first else space.probability_value
    columns = [loop for loop in space.probability_value if loop not in space.query_key]
    return space.loops, space.query_rows[-1], columns[-1] if columns else -1, loops


_MARKERS: Final = {"qk_attrs": "attention_qk_matmul", "pv_attrs": "attention_pv_matmul"}

_SHAPE: Final = re.compile(r"(?P<kind>V?MFMA)_\w+?_(?P<mn>\d+x\d+)x(?P<k>\d+)_(?P<types>\w+)")
_REUSES: Final = frozenset({("MFMA", "16x16", "16"), ("MFMA", "32x32", "8")})
_REUSES_F8: Final = frozenset({("VMFMA", "16x16", "32"), ("VMFMA", "32x32", "16")})
"""Intrinsics that accept the result of another one of the same shape as right-hand side, without a change of
layout."""


@attribute_rule(
    "decomposition_config",
    since=(3, 11),
    before="{qk_attrs = {attention_qk_matmul, lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_32x32x16_F16>}>}, "
    "pv_attrs = {attention_pv_matmul, lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16>}>}}",
    after="{qk_attrs = {lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_32x32x16_F16, col_major = true>}>}, "
    "pv_attrs = {lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16, col_major = true>}>}}",
    evidence=("iree#18505", "iree#23633", "iree#23757"),
)
def attention_markers(site: AttributeSite) -> None:
    """The marks `attention_qk_matmul` and `attention_pv_matmul` are gone.

    If they made the compiler transpose both products, the intrinsics get `col_major = true`.
    """
    products = [site.node.node(name) for name in _MARKERS]
    removed = [
        marker
        for product, marker in zip(products, _MARKERS.values(), strict=True)
        if product is not None and product.remove(marker)
    ]
    if not removed:
        return
    site.changed(
        f"the marks {', '.join(map(repr, removed))} are removed, as the compiler no longer reads them"
    )
    first, second = map(_intrinsic, products)
    if first is None or second is None or not _reuses(first, second):
        return
    for kind in (first, second):
        if kind.find("col_major") is None:
            kind.add("col_major", "true")
    site.changed(
        "both intrinsics are 'col_major = true', as the compiler then chose by itself for marked products"
    )


def _intrinsic(product: Node | None) -> Node | None:
    levels = levels_of(product.node("lowering_config")) if product is not None else None
    return levels.node("mma_kind") if levels is not None else None


def _reuses(first: Node, second: Node) -> bool:
    """Return whether the second product can reuse the layout of the first one's result, both transposed."""
    result, operand = _SHAPE.search(first.render()), _SHAPE.search(second.render())
    if result is None or operand is None or result["mn"] != operand["mn"]:
        return False
    shape = (operand["kind"], operand["mn"], operand["k"])
    return shape in _REUSES or (shape in _REUSES_F8 and operand["types"].startswith("F8"))
