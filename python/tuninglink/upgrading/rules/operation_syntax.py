"""Properties and types in the syntax of operations, and the signature of entry points."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import dropwhile, islice
from typing import TYPE_CHECKING, Final

from tuninglink.iree.release import HAS_ATTENTION_PROPERTIES
from tuninglink.mlir import names
from tuninglink.upgrading.rule_definition import OperationSite, Refusal, operation_rule
from tuninglink.upgrading.spec_text import VALUE
from tuninglink.upgrading.trees import Field, Leaf, Node, parse

if TYPE_CHECKING:
    from tuninglink.upgrading.outline import SpecOutline
    from tuninglink.upgrading.outline_parts import NamedSequence

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


_ANY_OP: Final = "!transform.any_op"


@operation_rule(
    names.NAMED_SEQUENCE,
    since=(3, 1),
    before="transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.readonly}) {\n"
    "  transform.yield\n}",
    after="transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.readonly})"
    " -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {\n"
    "  transform.yield %root : !transform.any_op\n}",
    evidence=("iree#19281", "iree#19449"),
    is_decisive=False,
)
def entry_points(site: OperationSite) -> None:
    """An entry point is marked `iree_codegen.tuning_spec_entrypoint` and returns an operation.

    Without the mark, it is silently dropped next to another spec.
    """
    sequence = site.sequence
    if sequence is None or sequence.body is None or sequence.start != site.mark.start:
        return
    is_marked = _is_marked(site.outline, sequence)
    if sequence.name != names.KERNEL_CONFIG and not is_marked:
        return
    # Annotate the argument.
    group = sequence.arguments
    tokens = list(site.source.tokens(group.start + 1, group.end - 1))
    if [token.text for token in tokens[1:3]] != [":", _ANY_OP]:
        return
    if len(tokens) == 3:  # noqa: PLR2004 - `%root : type`, and no attributes
        searches = any(site.outline.foreach_matches(sequence))
        ownership = names.CONSUMED if searches else names.READONLY
        site.edits.insert(tokens[2].end, f" {{{ownership}}}")
        site.changed(f"the entry point's argument is marked '{ownership}', as its body treats it")
    # Return the root.
    addition, end = "", group.end if sequence.results is None else sequence.results[1]
    if sequence.results is None and _yield(site, sequence, tokens[0].text):
        addition = f" -> {_ANY_OP}"
        site.changed("the entry point returns its argument")
    # Add the mark.
    if not is_marked:
        attributes = sequence.attributes
        if attributes is None:
            addition += f" attributes {{ {names.ENTRY_POINT} }}"
        else:
            inside = site.source.text[attributes.start + 1 : attributes.end - 1].strip()
            comma = ", " if inside else ""
            site.edits.insert(attributes.start + 1, names.ENTRY_POINT + comma)
        site.changed(f"the entry point is marked '{names.ENTRY_POINT}'")
    if addition:
        site.edits.insert(end, addition)


def unmarked(outline: SpecOutline) -> Iterator[NamedSequence]:
    """Yield entry points that today's compiler recognizes only by their name."""
    for sequence in outline.sequences:
        is_runnable = sequence.name == names.KERNEL_CONFIG and sequence.body is not None
        if is_runnable and not _is_marked(outline, sequence):
            yield sequence


def is_entry_point(outline: SpecOutline, sequence: NamedSequence) -> bool:
    """Return whether a sequence is an entry point, by its marker or its name."""
    return sequence.name == names.KERNEL_CONFIG or _is_marked(outline, sequence)


def _is_marked(outline: SpecOutline, sequence: NamedSequence) -> bool:
    marker = sequence.attributes
    return (
        marker is not None and names.ENTRY_POINT in outline.source.text[marker.start : marker.end]
    )


def _yield(site: OperationSite, sequence: NamedSequence, argument: str) -> bool:
    """Make the entry point yield a handle, and return whether that is possible."""
    body = sequence.body
    assert body is not None
    yields = [
        mark
        for mark in site.outline.marks(body.start, body.end)
        if mark.text == names.YIELD and mark.inside == body.start
    ]
    if not yields:
        return False
    value = argument
    for match in site.outline.foreach_matches(sequence):
        value = match.result or ""
        if not value:
            value = _fresh(site.source.text[body.start : body.end])
            site.edits.insert(match.start, f"{value} = ")
    site.edits.insert(yields[-1].end, f" {value} : {_ANY_OP}")
    return True


def _fresh(body: str) -> str:
    taken = set(VALUE.findall(body))
    name, number = "%updated", 0
    while name in taken:
        name, number = f"%updated_{number}", number + 1
    return name
