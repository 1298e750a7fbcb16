"""An entry point is marked, and returns what it was given."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tuninglink.mlir import names
from tuninglink.upgrading.rule import OperationRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.upgrading.outline import NamedSequence, Outline
    from tuninglink.upgrading.rule import OperationContext
    from tuninglink.upgrading.source import Mark

_ANY_OP: Final = "!transform.any_op"


def _rewrite(mark: Mark, context: OperationContext) -> None:
    sequence = context.sequence
    if sequence is None or sequence.body is None or sequence.start != mark.start:
        return
    text = context.outline.source.text
    marker = sequence.attributes
    is_marked = marker is not None and names.ENTRY_POINT in text[marker.start : marker.end]
    if sequence.name != names.KERNEL_CONFIG and not is_marked:
        return
    argument = _argument(sequence, context)
    if argument is None:
        return
    name, type_end, is_annotated = argument
    if not is_annotated:
        ownership = names.CONSUMED if _searches(sequence, context) else names.READONLY
        context.edits.insert(type_end, f" {{{ownership}}}")
        context.changed(
            f"the entry point's argument is marked '{ownership}', as its body treats it"
        )
    header = sequence.arguments.end
    addition = ""
    if sequence.results is None and _yield(sequence, name, context):
        addition = f" -> {_ANY_OP}"
        context.changed("the entry point returns what it was given")
    if not is_marked:
        if marker is None:
            if sequence.results is None:
                addition += f" attributes {{ {names.ENTRY_POINT} }}"
            else:
                context.edits.insert(sequence.results[1], f" attributes {{ {names.ENTRY_POINT} }}")
        else:
            inner = text[marker.start + 1 : marker.end - 1].strip()
            context.edits.insert(
                marker.start + 1, f"{names.ENTRY_POINT}, " if inner else names.ENTRY_POINT
            )
        context.changed(f"the entry point is marked '{names.ENTRY_POINT}'")
    if addition:
        context.edits.insert(header, addition)


def unmarked(outline: Outline) -> Iterator[NamedSequence]:
    """Yields entry points that today's compiler only knows by their name."""
    text = outline.source.text
    for sequence in outline.sequences:
        marker = sequence.attributes
        is_marked = marker is not None and names.ENTRY_POINT in text[marker.start : marker.end]
        if sequence.name == names.KERNEL_CONFIG and sequence.body is not None and not is_marked:
            yield sequence


def _argument(sequence: NamedSequence, context: OperationContext) -> tuple[str, int, bool] | None:
    """Returns the argument's name, where its type ends, and whether its ownership is stated."""
    group = sequence.arguments
    tokens = list(context.outline.source.tokens(group.start + 1, group.end - 1))
    if len(tokens) < 3 or tokens[0].text[0] != "%" or tokens[2].text != _ANY_OP:  # noqa: PLR2004
        return None
    return tokens[0].text, tokens[2].end, len(tokens) > 3  # noqa: PLR2004


def _searches(sequence: NamedSequence, context: OperationContext) -> bool:
    return next(context.outline.foreach_matches(sequence), None) is not None


def _yield(sequence: NamedSequence, argument: str, context: OperationContext) -> bool:
    """Makes the entry point yield, and tells whether that can be done."""
    assert sequence.body is not None
    outline = context.outline
    body = sequence.body
    last = None
    for mark in outline.marks(body.start, body.end):
        if mark.text == names.YIELD and mark.inside == body.start:
            last = mark
    if last is None:
        return False
    value = argument
    for each in outline.foreach_matches(sequence):
        value = each.result or ""
        if not value:
            value = _fresh(outline.source.text[body.start : body.end])
            context.edits.insert(each.start, f"{value} = ")
    context.edits.insert(last.end, f" {value} : {_ANY_OP}")
    return True


def _fresh(body: str) -> str:
    taken = set(re.findall(r"%[\w$.\-]+", body))
    name, number = "%updated", 0
    while name in taken:
        name, number = f"%updated_{number}", number + 1
    return name


RULE = OperationRule(
    name="entry-points",
    version=(3, 1),
    summary="An entry point is marked `iree_codegen.tuning_spec_entrypoint` and returns an operation; one "
    "that is not is dropped in silence beside another spec.",
    before="transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.readonly}) {\n"
    "  transform.yield\n}",
    after="transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.readonly})"
    " -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {\n"
    "  transform.yield %root : !transform.any_op\n}",
    evidence=(
        "https://github.com/iree-org/iree/pull/19281",
        "https://github.com/iree-org/iree/pull/19449",
    ),
    operations=frozenset({names.NAMED_SEQUENCE}),
    rewrite=_rewrite,
)
