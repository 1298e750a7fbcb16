"""Reasons why a matcher does not match, against the interpreter: the named conditions failed, and no others."""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING

import pytest
from iree.compiler import ir as mlir
from iree.compiler.dialects import linalg
from iree.compiler.passmanager import PassManager
from matched_operations import ANY_OP, matchable, matchers_for, seen, spec_of
from programs import PROGRAMS, TARGETS, run

from tuninglink.matching import MatcherReader, OpInfo, compare
from tuninglink.mlir import collect, collected_diagnostics, names, thread_context, to_bytecode
from tuninglink.specs import SequenceTable, spec_attribute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matched_operations import Seen

    from tuninglink.matching import MatcherComparison

DEMANDS = (
    *(names.MATCH_OPERATION_NAME, names.MATCH_DIMS_EQUAL, names.MATCH_TYPE),
    *(names.MATCH_DIM_MULTIPLE, names.MATCH_DIM_BOUNDS, names.MATCH_REGIONS),
)
"""The operations of a matcher that can go without leaving a hole."""


@cache
def dispatches(target: str) -> list[Seen]:
    """Return the dispatches of test programs, as matchers see them; one operation each, for the most part."""
    found = []
    for name in ("matmul", "convolution", "attention"):
        source = (PROGRAMS / f"{name}.mlir").read_text()
        sources = run(
            "iree-compile",
            "--compile-to=executable-sources",
            *TARGETS[target],
            "-o=-",
            source=source,
        )
        found += seen(sources, TARGETS[target])
    return found


def operations(target: str) -> list[tuple[Seen, mlir.Operation]]:
    return [(each, op) for each in dispatches(target) for op in matchable(each.prepared)]


def interpret(spec: mlir.Operation, payload: mlir.Operation) -> list[bool]:
    """Return for each matchable operation of a payload whether the only matcher of a spec matches it."""
    context = payload.context
    module = payload.clone()
    module.attributes[names.EMBEDDED_SPEC] = spec_attribute(to_bytecode(spec), context)
    manager = PassManager.parse("builtin.module(iree-codegen-materialize-user-configs)", context)
    with collected_diagnostics(context):
        manager.run(module.operation)
    return ["tuned" in each.attributes for each in matchable(module.operation)]


def parse(matcher: str) -> mlir.Operation:
    return mlir.Module.parse(spec_of([matcher]), thread_context()).operation


def compared(spec: mlir.Operation, operation: mlir.Operation) -> MatcherComparison:
    return compare(MatcherReader(SequenceTable(spec)).read("m0"), OpInfo(operation))


def matches(spec: mlir.Operation, each: Seen, operation: mlir.Operation) -> bool:
    position = list(matchable(each.prepared)).index(operation)
    return interpret(spec, each.prepared)[position]


def without_first_difference(
    spec: mlir.Operation, operation: mlir.Operation, comparison: MatcherComparison
) -> Iterator[mlir.Operation]:
    """Yield the spec without the one demand that is claimed to be the first that fails."""
    first = comparison.differences[0]
    count = len(collect(spec, *DEMANDS))
    for position in range(count):
        changed = spec.clone().operation
        collect(changed, *DEMANDS)[position].erase()
        left = compared(changed, operation).differences
        if not left or left[0] != first:
            yield changed
            return
    changed = spec.clone().operation
    for each in collect(changed, names.MATCH_CONTRACTION, names.MATCH_CONVOLUTION):
        attribute = first.condition.replace(" ", "_")
        if first.condition.endswith("map"):
            maps = linalg.get_indexing_maps(operation)
            assert maps is not None
            each.attributes["indexing_maps"] = maps
        elif attribute in each.attributes:
            kind = mlir.Type.parse(first.actual, spec.context)
            each.attributes[attribute] = mlir.TypeAttr.get(kind, spec.context)
        else:
            return
        yield changed


@pytest.mark.parametrize("target", ["hip", "llvm-cpu"])
def test_every_matcher_for_an_operation_is_compared_as_the_interpreter_does(target: str) -> None:
    source = random.Random(1)
    found = operations(target)
    told = matched = 0
    for _ in range(60):
        wanted, (each, operation) = source.choice(found)[1], source.choice(found)
        if source.random() < 0.2:
            wanted = operation
        spec = parse(source.choice(list(matchers_for(wanted))))
        verdict = compared(spec, operation).matches
        told += verdict is not None
        matched += verdict is True
        if verdict is not None:
            assert verdict == matches(spec, each, operation), (spec, operation)
    assert told > 40
    assert matched > 5


@pytest.mark.parametrize("target", ["hip", "llvm-cpu"])
def test_without_what_failed_first_a_matcher_goes_on_to_the_next_condition(target: str) -> None:
    source = random.Random(2)
    found = operations(target)
    repaired = reached = 0
    for _ in range(25):
        wanted, (each, operation) = source.choice(found)[1], source.choice(found)
        spec = parse(source.choice(list(matchers_for(wanted))))
        comparison = compared(spec, operation)
        while comparison.differences:
            assert not matches(spec, each, operation)
            changed = next(without_first_difference(spec, operation, comparison), None)
            if changed is None:
                break  # An operation of another kind.
            repaired += 1
            before, spec = comparison, changed
            comparison = compared(spec, operation)
            assert len(comparison.differences) < len(before.differences)
        if comparison.matches:
            reached += 1
            assert matches(spec, each, operation)
    assert repaired > 20
    assert reached > 5


def dag_matcher(operation: mlir.Operation, *, regions_only: bool) -> str:
    """Return the body of a matcher that has an operation as its example."""
    operands = dict.fromkeys(operation.operands)
    arguments = ", ".join(f"{each.get_name()}: {each.type}" for each in operands)
    example = operation.get_asm(use_local_scope=True)
    if regions_only:
        return (
            f"  transform.iree.match.regions %op : {ANY_OP} {{\n  ^bb0({arguments}):\n"
            f"  {example}\n  }}\n"
        )
    return (
        f"  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {{\n"
        f"  ^bb0({arguments}):\n  {example}\n"
        f"  }} : ({ANY_OP}) -> (!transform.any_value, !transform.any_value)\n"
    )


@pytest.mark.parametrize("regions_only", [False, True])
@pytest.mark.parametrize("target", ["hip", "llvm-cpu"])
def test_examples_in_matchers_are_compared_as_the_interpreter_does(
    target: str, *, regions_only: bool
) -> None:
    source = random.Random(3)
    told = matched = 0
    found = operations(target)
    for _, example in source.sample(found, 8):
        try:
            spec = parse(dag_matcher(example, regions_only=regions_only))
        except mlir.MLIRError:
            continue  # The operation uses values from around it, or the matcher is not allowed.
        for each, operation in found:
            verdict = compared(spec, operation).matches
            if verdict or (verdict is False and source.random() < 0.2):
                told += 1
                matched += verdict
                assert verdict == matches(spec, each, operation), (str(example), str(operation))
    assert told > 15
    assert matched > 3
