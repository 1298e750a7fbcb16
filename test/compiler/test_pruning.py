"""Pruned specs configure exactly what whole ones do, and so do other optimized ones."""

from __future__ import annotations

import random
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from generated_specs import GeneratedSpec, Shape, payloads, spec_lists
from hypothesis import assume, given, settings, strategies as st
from interpreter import apply_spec, numbered_attributes
from matched_operations import seen, spec_of
from optimization_campaign import (
    BACKENDS,
    Outcome,
    check_matchers,
    check_output,
    compare,
    matchers_of,
    specs_for,
)
from programs import TARGETS, program_sources

import tuninglink
from tuninglink.iree import ROLES, OpKind
from tuninglink.matching import (
    UNKNOWN_DISPATCH as ANYTHING,
    DispatchSignature,
    EntryIndex,
    Extent,
    LoopSizes,
    PruningKey,
    PruningLinker,
    may_restructure,
)
from tuninglink.mlir import names
from tuninglink.specs import LinkForm, Spec, load_spec, subset

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTHING = DispatchSignature(frozenset(), frozenset(), frozenset())


@pytest.mark.parametrize("target", BACKENDS)
def test_what_would_match_is_never_left_out(target: str) -> None:
    """On every test program, and with specs for all that is in it, near misses included."""
    outcome = Outcome()
    for number, sources in enumerate(program_sources(target)):
        dispatches = seen(sources, TARGETS[target])
        check_matchers(dispatches, outcome)
        matchers = matchers_of(dispatches)
        if matchers:
            choice = random.Random(number)
            check_output(sources, target, specs_for(matchers, choice), outcome, every=False)
    assert not outcome.failures
    assert outcome.counts["matchers"] > 100
    assert outcome.counts["configured operations"] > 20


def test_random_programs() -> None:
    outcome = Outcome()
    for number in range(10):
        compare(0, number, outcome)
    assert not outcome.failures
    assert outcome.counts["outputs"] > 5


sizes = st.sampled_from((2, 3, 4, 8))
loops = st.lists(sizes, max_size=4).map(lambda each: tuple(sorted(each)))
elements = st.sampled_from(("f16", "f32", "i8"))
keys = st.builds(
    PruningKey,
    kind=st.none() | st.sampled_from(list(ROLES)),
    loops=st.builds(LoopSizes, sizes=loops, is_complete=st.booleans()),
    element_types=st.frozensets(elements, max_size=2),
    extents=st.frozensets(st.builds(Extent, factor=sizes), max_size=1),
)
dispatches = st.builds(
    DispatchSignature,
    loops=st.none() | st.frozensets(loops, max_size=3),
    attentions=st.none() | st.frozensets(loops, max_size=2),
    element_types=st.none() | st.frozensets(elements, max_size=2),
)


@settings(max_examples=200)
@given(st.lists(keys, max_size=8), dispatches)
def test_an_index_finds_what_looking_at_each_entry_finds(
    entries: list[PruningKey], signature: DispatchSignature
) -> None:
    expected = tuple(n for n, each in enumerate(entries) if _can_match(each, signature))
    assert EntryIndex(entries).candidates(signature) == expected


def _can_match(key: PruningKey, signature: DispatchSignature) -> bool:
    if key.kind is None:
        return True
    there = signature.element_types
    has_types = there is None or key.element_types <= there
    if key.kind is OpKind.ATTENTION:
        return has_types and _fits_any(key, signature.attentions)
    attentions = signature.attentions
    if attentions is None:
        return True
    parts = {
        part
        for each in attentions
        for count in range(len(each) + 1)
        for part in combinations(each, count)
    }
    if any(_fits(key, part, checked=False) for part in parts):
        return True
    return has_types and _fits_any(key, signature.loops)


def _fits_any(key: PruningKey, every: frozenset[tuple[int, ...]] | None) -> bool:
    return every is None or any(_fits(key, each, checked=True) for each in every)


def _fits(key: PruningKey, loops: tuple[int, ...], *, checked: bool) -> bool:
    left = list(loops)
    for size in key.loops.sizes:
        if size not in left:
            return False
        left.remove(size)
    if key.loops.is_complete and left:
        return False
    passes = all(any(each.admits(size) for size in loops) for each in key.extents)
    return passes or not checked


MATCHER = """  %d:4 = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32 :
    !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %d#0, [] : !transform.param<i64>
  transform.iree.match.dims_equal %d#1, [{}] : !transform.param<i64>
  transform.iree.match.dims_equal %d#2, [32] : !transform.param<i64>
  transform.iree.match.dims_equal %d#3, [64] : !transform.param<i64>
"""


def matmuls(*rows: int) -> Spec:
    return load_spec(spec_of([MATCHER.format(each) for each in rows]).encode())


def signature(*rows: int) -> DispatchSignature:
    found = frozenset(tuple(sorted((each, 32, 64))) for each in rows)
    return DispatchSignature(found, frozenset(), frozenset({"f16", "f32"}))


def test_dispatches_with_the_same_entries_share_them() -> None:
    linker = PruningLinker([matmuls(16, 48, 80), matmuls(48, 96)])
    one = linker.link(signature(48))
    assert one
    assert linker.link(signature(48, 112)) is one
    assert [part.kept for part in one.parts] == [(1,), (0,)]
    assert [[e.matcher for e in part.entries] for part in one.parts] == [["m1"], ["m0"]]
    assert [e.matcher for e in one.spec.entries] == ["m1", "m0"]
    assert linker.link(signature(112)) is None
    assert linker.link(NOTHING) is None
    everything = linker.link(ANYTHING)
    assert everything
    assert [len(part.entries) for part in everything.parts] == [3, 2]


def test_a_carried_spec_is_always_replaced() -> None:
    linked = PruningLinker([matmuls(16, 48)]).link(NOTHING, never_nothing=True)
    assert linked
    assert linked.spec.entries == ()


def test_nothing_is_left_out_behind_a_spec_that_changes_programs() -> None:
    changing = load_spec(
        b"""module attributes {transform.with_named_sequence} {
      transform.named_sequence @main(%op: !transform.any_op {transform.readonly}) -> !transform.any_op
          attributes {iree_codegen.tuning_spec_entrypoint} {
        transform.apply_cse to %op : !transform.any_op
        transform.yield %op : !transform.any_op
      }
    }"""
    )
    assert may_restructure(changing.module)
    assert not may_restructure(matmuls(16).module)
    linked = PruningLinker([matmuls(16, 48), changing, matmuls(16, 48)]).link(signature(48))
    assert linked
    assert [part.kept for part in linked.parts] == [(1,), None, None]


def test_later_specs_stay_guarded_where_the_first_is_left_out() -> None:
    opaque = load_spec(
        b"""module attributes {transform.with_named_sequence} {
      transform.named_sequence @main(%op: !transform.any_op {transform.readonly}) -> !transform.any_op
          attributes {iree_codegen.tuning_spec_entrypoint} {
        transform.yield %op : !transform.any_op
      }
    }"""
    )
    linked = PruningLinker([matmuls(16), matmuls(48), opaque, matmuls(48)]).link(signature(48))
    assert linked
    assert linked.form is LinkForm.CHAINED
    assert linked.parts[0].copy is None
    assert linked.spec.text().count("@is_decided ->") == 2


@settings(max_examples=25)
@given(spec_lists(tuple(s for s in Shape if s.is_list)), payloads(), st.data())
def test_a_subset_configures_as_the_spec_without_the_others(
    specs: list[GeneratedSpec], payload: str, data: st.DataObject
) -> None:
    """The pruned spec is what would have been written without the other entries."""
    generated = specs[0]
    assume(not any(entry.through_helper for entry in generated.entries))
    whole = load_spec(generated.text().encode())
    count = len(generated.entries)
    kept = data.draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True).map(sorted))
    fewer = GeneratedSpec(
        generated.name, generated.shape, tuple(generated.entries[each] for each in kept)
    )
    expected = _configuration([load_spec(fewer.text().encode())], payload)
    copy = subset(whole, kept)
    assert copy.module.verify()
    assert _configuration([copy], payload) == expected


def _configuration(specs: Sequence[Spec], payload: str) -> dict[int, str]:
    linked = tuninglink.link(specs)
    return numbered_attributes(apply_spec(linked, payload), names.LOWERING_CONFIG)


def test_what_took_effect_is_told_as_without_pruning() -> None:
    program = """
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @matmul(%a: tensor<48x64xf16>, %b: tensor<64x32xf16>) -> tensor<48x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<48x32xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<48x32xf32>) -> tensor<48x32xf32>
  %r = linalg.matmul ins(%a, %b : tensor<48x64xf16>, tensor<64x32xf16>) outs(%fill : tensor<48x32xf32>) -> tensor<48x32xf32>
  return %r : tensor<48x32xf32>
}"""
    text = spec_of([MATCHER.format(each) for each in (16, 80, 48, 96)])
    text = text.replace('"tuned" = %c', '"lowering_config" = %c')
    for number in range(4):
        tiles = f"#iree_cpu.lowering_config<distribution = [{16 << (number % 2)}, 32, 0]>"
        text = text.replace(
            f"transform.param.constant {number} : i64", f"transform.param.constant {tiles}"
        )
    flags = [*TARGETS["vmvx"], "--compile-to=executable-configurations"]
    compiled = [
        tuninglink.compile(program.encode(), specs=[text.encode()], flags=flags, prune=prune)
        for prune in (False, True)
    ]
    assert compiled[0].output == compiled[1].output
    assert compiled[0].applied == compiled[1].applied
    (applied,) = compiled[1].applied
    assert applied.entry
    assert applied.entry.matcher == "m2"


def test_a_subset_keeps_what_has_colons_in_its_name() -> None:
    """The sequence `library::is_fill` is not the sequence `is_fill` in `library`."""
    helper = """transform.named_sequence @{}(%op: !transform.any_op {{transform.readonly}}) {{
      transform.match.operation_name %op ["{}"] : !transform.any_op
      transform.yield
    }}"""
    library = "module @library attributes {transform.with_named_sequence} {%s}"
    include = "transform.include @{} failures(propagate) (%op) : (!transform.any_op) -> ()\n"
    matchers = [include.format('"library::is_fill"'), include.format("library::@is_fill")]
    text = spec_of(matchers).replace(
        "transform.named_sequence @set(",
        helper.format('"library::is_fill"', "linalg.fill")
        + library % helper.format("is_fill", "linalg.copy")
        + "\ntransform.named_sequence @set(",
    )
    copy = subset(load_spec(text.encode()), [0])
    assert copy.module.verify()
    assert '@"library::is_fill"' in copy.text()
