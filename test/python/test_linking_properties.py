"""A linked spec configures every operation as its inputs do one by one, in order of precedence."""

from __future__ import annotations

from generated_specs import GeneratedSpec, Shape, payloads, spec_lists
from hypothesis import assume, given, settings
from interpreter import apply_spec, numbered_attributes
from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.mlir import names
from tuninglink.mlir.contexts import thread_context
from tuninglink.specs import Form, Spec, link_specs, load_spec

LISTS = tuple(shape for shape in Shape if shape.is_list)
CAMPAIGN = settings(deadline=None, derandomize=True, max_examples=150)


def configuration(spec: Spec, payload: str) -> dict[int, str]:
    return numbered_attributes(apply_spec(spec, payload), names.LOWERING_CONFIG)


def alone(spec: GeneratedSpec, payload: str) -> dict[int, str]:
    """Returns what `spec` configures on its own, entry point chained by IREE's linker, not by ours."""
    text = spec.text()
    if spec.shape is Shape.LEGACY:
        text = GeneratedSpec(spec.name, Shape.DEFAULT, spec.entries).text()
    if spec.shape is not Shape.DEFAULT:
        named = text.replace("module attributes", "module @unnamed attributes", 1)
        text = f"module @top attributes {{transform.with_named_sequence}} {{\n{named}\n}}"
        return configuration(_linked_by_iree(text), payload)
    return configuration(load_spec(text.encode()), payload)


def _linked_by_iree(text: str) -> Spec:
    module = mlir.Module.parse(text, thread_context())
    PassManager.parse("builtin.module(iree-codegen-link-tuning-specs)", thread_context()).run(
        module.operation
    )
    return Spec(module.operation, "linked by IREE")


def link(specs: list[GeneratedSpec]) -> tuple[Spec, Form]:
    linked = link_specs(
        [load_spec(each.text().encode(), name=f"spec {n}") for n, each in enumerate(specs)]
    )
    assert linked.spec.module.verify()
    return linked.spec, linked.form


@CAMPAIGN
@given(spec_lists(LISTS), payloads())
def test_matcher_lists(specs: list[GeneratedSpec], payload: str) -> None:
    """The first spec that matches decides, also when it decides to configure nothing."""
    expected: dict[int, str] = {}
    decided: set[int] = set()
    for spec in specs:
        own = alone(spec, payload)
        expected.update({n: value for n, value in own.items() if n not in decided})
        decided.update(alone(spec.marking(), payload))
    linked, form = link(specs)
    assert form in (Form.FLAT, Form.UNTOUCHED)
    assert names.DEFAULT_ENTRY_POINT in linked.module.attributes
    assert configuration(linked, payload) == expected


@CAMPAIGN
@given(spec_lists(can_fail=True), payloads())
def test_any_specs(specs: list[GeneratedSpec], payload: str) -> None:
    """In a chain a later list leaves alone what is configured; an opaque spec cannot be kept from it."""
    assume(not all(spec.is_list for spec in specs))
    expected: dict[int, str] = {}
    for spec in specs:
        own = alone(spec, payload)
        expected.update(
            {n: value for n, value in own.items() if not spec.is_list or n not in expected}
        )
    linked, form = link(specs)
    alone_and_default = len(specs) == 1 and specs[0].shape is Shape.DEFAULT
    assert form is (Form.UNTOUCHED if alone_and_default else Form.CHAINED)
    assert configuration(linked, payload) == expected


@CAMPAIGN
@given(spec_lists(LISTS, reaches=True), payloads())
def test_lists_that_reach_other_operations(specs: list[GeneratedSpec], payload: str) -> None:
    """What an earlier spec configures stays, whichever operation the walk meets first."""
    assume(any(entry.reaches for spec in specs for entry in spec.entries))
    expected: dict[int, str] = {}
    for spec in specs:
        own = alone(spec, payload)
        assume(_writes_once(spec, payload))
        expected.update({n: value for n, value in own.items() if n not in expected})
    linked, form = link(specs)
    assume(form is Form.CHAINED)
    assert configuration(linked, payload) == expected


def _writes_once(spec: GeneratedSpec, payload: str) -> bool:
    """Tells whether no two entries of `spec` configure the same operation: a guard would see the first."""
    written: list[int] = []
    for index, entry in enumerate(spec.entries):
        if entry.value is None:
            continue
        others = tuple(
            each if position == index else GeneratedSpec.silent(each)
            for position, each in enumerate(spec.entries)
        )
        written += alone(GeneratedSpec(spec.name, spec.shape, others), payload)
    return len(written) == len(set(written))
