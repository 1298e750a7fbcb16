"""Properties and types in the syntax of operations."""

from __future__ import annotations

from itertools import dropwhile, islice
from typing import Final

from tuninglink.iree.release import HAS_ATTENTION_PROPERTIES
from tuninglink.mlir import names
from tuninglink.upgrading.rule_definition import OperationSite, Refusal, operation_rule
from tuninglink.upgrading.trees import Field, Leaf, Node, parse

_PROPERTIES: Final = frozenset({"indexing_maps", "decomposition_config"})


@operation_rule(
    names.ATTENTION,
    names.ONLINE_ATTENTION,
    since=(3, 13),
    before="%r = iree_linalg_ext.attention {indexing_maps = [#q, #k, #v, #s, #o]} "
    "ins(%q, %k, %v, %s : !q, !k, !v, f16) outs(%o : !o) -> !o",
    after="%r = iree_linalg_ext.attention <{indexing_maps = [#q, #k, #v, #s, #o]}> "
    "ins(%q, %k, %v, %s : !q, !k, !v, f16) outs(%o : !o) -> !o",
    evidence=("iree@v3.13.0:compiler/src/iree/compiler/Dialect/LinalgExt/IR/LinalgExtOps.td",),
)
def attention_properties(site: OperationSite) -> None:
    """The properties of attention operations are in `<{…}>`."""
    first = next(site.tokens(), None)
    if not HAS_ATTENTION_PROPERTIES or first is None or first.text != "{":
        return
    attributes = parse(site.source, first.start, first.end)
    assert isinstance(attributes, Node)
    properties = Node("", "{")
    for field in [item for item in attributes.fields if item.name in _PROPERTIES]:
        attributes.remove_field(field)
        properties.add(field.key, field.value)
    if not properties.fields:
        return
    rest = f" {attributes.render()}" if attributes.fields else ""
    site.edits.replace(first.start, first.end, f"<{properties.render()}>{rest}")
    site.changed(f"the indexing maps of '{site.mark.text}' are in '<{{...}}>'")


_POSITIONS: Final = ("permutation", "projected_permutation", "single", "any")
_NAMES: Final = {
    names.PRINT: ("name", "assume_verified", "use_local_scope", "skip_regions"),
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
    "transform.merge_handles": ("deduplicate",),
    names.MATCH_CONTRACTION: ("indexing_maps",),
    names.MATCH_CONVOLUTION: ("indexing_maps",),
    "transform.get_parent_op": (
        "isolated_from_above",
        "allow_empty_results",
        "op_name",
        "deduplicate",
        "nth_parent",
    ),
    "transform.iree.bufferize": ("target_gpu", "test_analysis_only", "print_conflicts"),
}
"""The properties of each operation that follow its operands: `name = "x" skip_regions`."""

_FIRST: Final = frozenset({"transform.merge_handles"})
"""Operations whose properties precede their operands."""

_LISTED: Final = frozenset({names.MATCH_CONTRACTION, names.MATCH_CONVOLUTION})
"""Operations whose properties end the list: `output_type = f32, indexing_maps = […]`."""

_BRACKETS: Final = frozenset({"transform.get_parent_op", "transform.iree.bufferize"})
"""Operations whose properties are in brackets: `<op_name = "x">`."""


@operation_rule(
    *_NAMES,
    since=(3, 12),
    before='transform.print %op {name = "seen"} : !transform.any_op',
    after='transform.print %op name = "seen" : !transform.any_op',
    evidence=("llvm#217290",),
)
def strict_properties(site: OperationSite) -> None:
    """Properties of transform operations left the attribute dictionary."""
    # Find the attribute dictionary.
    operation, previous, group = site.mark.text, site.mark.end, None
    for group in site.head():
        if group.text == "{":
            break
        previous = group.end
    if group is None or group.text != "{":
        return
    tree = parse(site.source, group.start, group.end)
    assert isinstance(tree, Node)
    # Move the properties to the place that the assembly format gives them.
    taken = [field for field in tree.fields if field.name in _NAMES[operation]]
    if not taken:
        return
    for field in taken:
        tree.remove_field(field)
    rest = f" {tree.render()}" if tree.fields else ""
    spelled = [_spelled(field) for field in taken]
    if operation in _FIRST:
        site.edits.insert(site.mark.end, "".join(f" {text}" for text in spelled))
        site.edits.replace(previous, group.end, rest)
    elif operation in _LISTED:
        listed = "".join(f", {text}" for text in spelled)
        site.edits.replace(previous, group.end, listed + rest)
    elif operation in _BRACKETS:
        site.edits.replace(group.start, group.end, f"<{', '.join(spelled)}>{rest}")
    else:
        site.edits.replace(group.start, group.end, f"{' '.join(spelled)}{rest}")
    named = ", ".join(f"'{field.name}'" for field in taken)
    site.changed(f"{named} of '{operation}' moved out of the attributes")


def _spelled(field: Field) -> str:
    if field.key is None:
        return str(field.name)
    value = field.value.text if isinstance(field.value, Leaf) else field.value.render()
    if not value.startswith(('"', "[")):
        value = value.partition(":")[0].strip()
    return f"{field.name} = {value}"


@operation_rule(
    names.MATCH_CONTRACTION,
    names.MATCH_CONVOLUTION,
    since=(3, 8),
    before="%b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, "
    "output_type = f32 : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, "
    "!transform.param<i64>, !transform.param<i64>)",
    after="%b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, "
    "output_type = f32 : !transform.any_op -> !transform.param<i64>",
    evidence=("iree#21981", "iree#22201"),
)
def matcher_types(site: OperationSite) -> None:
    """`match.contraction` and `match.convolution` have one type for all their results, without parentheses."""
    tokens = dropwhile(lambda token: token.text != ":", site.tokens())
    signature = list(islice(tokens, 4))
    if [token.text for token in signature] != [":", "(", "->", "("]:
        return
    source, (_, operand, _, results) = site.source, signature
    types = {word.strip() for word in source.text[results.start + 1 : results.end - 1].split(",")}
    if len(types) != 1:
        raise Refusal(f"the results of '{site.mark.text}' have different types")
    operand_type = source.text[operand.start + 1 : operand.end - 1].strip()
    site.edits.replace(operand.start, results.end, f"{operand_type} -> {types.pop()}")
    site.changed(f"the results of '{site.mark.text}' have one type")
