"""The signature of entry points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.mlir import names
from tuninglink.upgrading.rule_definition import OperationSite, operation_rule
from tuninglink.upgrading.spec_text import VALUE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.upgrading.outline import SpecOutline
    from tuninglink.upgrading.outline_parts import NamedSequence

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
        is_entry_point = sequence.name == names.KERNEL_CONFIG and sequence.body is not None
        if is_entry_point and not _is_marked(outline, sequence):
            yield sequence


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
