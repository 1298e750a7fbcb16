"""A spec without its copies configures the same ops as before."""

from __future__ import annotations

from generated_specs import GeneratedSpec, payloads, spec_lists
from hypothesis import given, settings
from interpreter import apply_spec, numbered_attributes
from iree.compiler import ir as mlir

from tuninglink.mlir import collect, names, symbols, thread_context
from tuninglink.passes.dedupe_sequences import deduplicate_sequences
from tuninglink.specs import Spec, link_specs, load_spec


@settings(max_examples=25)
@given(spec_lists(can_fail=True, reaches=True), payloads())
def test_same_configuration(specs: list[GeneratedSpec], payload: str) -> None:
    """Linked twice with itself, a spec has a copy of everything, and some of them are merged."""
    loaded = [load_spec(each.text().encode()) for each in specs]
    linked = link_specs([*loaded, *loaded]).spec
    module = linked.module.clone()
    merged = deduplicate_sequences(module)
    assert module.verify()
    assert merged or linked.module.attributes.get(names.DEFAULT_ENTRY_POINT) is None
    assert deduplicate_sequences(module) == 0
    for name in (names.LOWERING_CONFIG, "x"):
        expected = numbered_attributes(apply_spec(linked, payload), name)
        assert numbered_attributes(apply_spec(Spec(module, "less"), payload), name) == expected


def test_long_chain_of_copies() -> None:
    """Copies of copies are found to the end of a chain that recursion could not follow."""
    count = 1500
    lines = ["module attributes {transform.with_named_sequence} {"]
    for side in "ab":
        for index in range(count):
            body = '  transform.annotate %op "x" : !transform.any_op\n'
            if index:
                body = f"  transform.include @{side}{index - 1} failures(propagate) (%op) : (!transform.any_op) -> ()\n"
            lines.append(
                f"transform.named_sequence @{side}{index}(%op: !transform.any_op {{transform.readonly}}) {{\n"
                f"{body}  transform.yield\n}}"
            )
    lines.append(
        "transform.named_sequence @main(%op: !transform.any_op {transform.readonly}) -> !transform.any_op\n"
        "    attributes {iree_codegen.tuning_spec_entrypoint} {\n"
        f"  transform.include @a{count - 1} failures(propagate) (%op) : (!transform.any_op) -> ()\n"
        f"  transform.include @b{count - 1} failures(propagate) (%op) : (!transform.any_op) -> ()\n"
        "  transform.yield %op : !transform.any_op\n}\n}"
    )
    module = mlir.Module.parse("\n".join(lines), thread_context()).operation
    assert deduplicate_sequences(module) == count
    assert len(symbols(module)) == count + 1
    assert len(collect(module, names.INCLUDE)) == count - 1 + 2
