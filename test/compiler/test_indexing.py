"""An indexed spec configures a program byte for byte as the list does that it was made from."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from indexed_specs import SIZES, random_payload, random_spec
from interpreter import apply_spec
from iree.compiler import ir as mlir
from matched_operations import spec_of
from optimization_campaign import Outcome, check_payloads
from places import SHARED
from programs import run

from tuninglink.errors import Diagnostic, Severity
from tuninglink.matching import (
    LONGEST_LIST,
    Condition,
    IndexEntry,
    IndexGroup,
    Indexing,
    index_matchers,
    plan_index,
)
from tuninglink.mlir import DiagnosticSink
from tuninglink.specs import LinkForm, Spec, link_specs, load_spec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tuninglink.matching import Item

CORPUS = SHARED / "corpus"


def indexed(spec: Spec, longest: int) -> tuple[Spec, int]:
    """Return a copy of a spec that is indexed, and the number of groups in it."""
    module = spec.module.clone()
    groups = index_matchers(module, longest=longest).groups
    assert module.verify()
    return Spec(module, spec.source), groups


def configured(spec: Spec, payload: str) -> str:
    """Return a payload after a spec was applied, or the error."""
    assert mlir.Module.parse(payload, spec.module.context)
    try:
        return str(apply_spec(spec, payload))
    except mlir.MLIRError as failure:
        return str(failure)


@pytest.mark.parametrize("seed", range(4))
def test_random_lists(seed: int) -> None:
    """Entries overlap, guard themselves, reach elsewhere and are not understood; payloads nest."""
    random = Random(seed)
    groups = tuned = 0
    for _ in range(8):
        spec = load_spec(random_spec(random, random.randint(20, 120)).encode())
        copy, count = indexed(spec, longest=random.choice((1, 2, 4, 8)))
        groups += count
        for _ in range(2):
            payload = random_payload(random, 12)
            expected = configured(spec, payload)
            assert configured(copy, payload) == expected
            tuned += expected.count("tuned = ")
    assert groups > 15
    assert tuned > 100


CONTRACTION = """  %d:4 = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %d#1, [{}] : !transform.param<i64>
"""


def test_indexed_specs_are_linked_like_others() -> None:
    """A chain of an indexed spec, an opaque one and an indexed one."""
    lists = [spec_of([CONTRACTION.format(size) for size in SIZES]) for _ in range(2)]
    opaque = """module attributes {transform.with_named_sequence} {
      transform.named_sequence @main(%op: !transform.any_op {transform.readonly}) -> !transform.any_op
          attributes {iree_codegen.tuning_spec_entrypoint} {
        transform.yield %op : !transform.any_op
      }
    }"""
    specs = [load_spec(each.encode()) for each in (lists[0], opaque, lists[1])]
    linked = link_specs(specs)
    assert linked.form is LinkForm.CHAINED
    remarks: list[Diagnostic] = []
    modules = [each.module.clone() for each in specs]
    sink = DiagnosticSink(remarks.append)
    results = [index_matchers(each, longest=2, diagnostics=sink) for each in modules]
    assert results == [Indexing(4, 1), Indexing(), Indexing(4, 1)]
    assert [each.severity for each in remarks] == [Severity.REMARK]
    indexed_ones = link_specs([Spec(each, "indexed") for each in modules])
    assert indexed_ones.spec.text().count("restrict_root") == 2
    payload = random_payload(Random(0), 12)
    assert configured(indexed_ones.spec, payload) == configured(linked.spec, payload)


def test_link_indexes_what_it_links() -> None:
    specs = [spec_of([CONTRACTION.format(n) for n in range(1, 101, 1 + each)]) for each in (0, 1)]
    linked = link_specs([load_spec(each.encode()) for each in specs]).spec
    _, groups = indexed(linked, LONGEST_LIST)
    assert groups > 1
    with TemporaryDirectory() as folder:
        path = Path(folder) / "first.mlir"
        path.write_text(specs[0])
        content = run("tuninglink", "link", "--index", str(path), source=specs[1])
    copy = load_spec(content.encode())
    assert copy.text().count("foreach_match restrict_root") == groups
    payload = random_payload(Random(0), 12)
    assert configured(copy, payload) == configured(linked, payload)


def test_an_indexed_spec_stays_as_it_is() -> None:
    spec = load_spec(spec_of([CONTRACTION.format(size) for size in SIZES]).encode())
    once, groups = indexed(spec, longest=2)
    assert groups == 1
    twice, groups = indexed(once, longest=2)
    assert groups == 0
    assert twice.text() == once.text()


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"{CORPUS} is not there")
@pytest.mark.parametrize("name", ["boo_2025_05", "boo_2025_06", "punet_mi300", "sdxl_int8"])
@pytest.mark.filterwarnings("ignore:.*is excluded, as it cannot be upgraded")
def test_published_specs(name: str) -> None:
    outcome = Outcome()
    check_payloads(load_spec(CORPUS / f"{name}.mlir"), outcome)
    assert not outcome.failures
    assert outcome.counts["payloads"] > 10


def entries_of(count: int, choice: Random) -> list[IndexEntry]:
    """Return entries of one structure, every tenth with another size missing, and some that are opaque."""
    structure = Condition(names=frozenset({"linalg.matmul"}))
    entries = []
    for position in range(count):
        sizes = {(0, 0): choice.randint(1, 512), (0, 1): choice.randint(1, 512)}
        if position % 1000 == 0:
            entries.append(IndexEntry(position))
            continue
        if position % 100 == 0:
            del sizes[0, 1]
        condition = Condition(names=frozenset({"linalg.matmul"}))
        entries.append(IndexEntry(position, condition, structure, sizes))
    return entries


def lists_in(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    yield items
    for item in items:
        if isinstance(item, IndexGroup):
            yield from lists_in(item.items)


@pytest.mark.parametrize("count", [1_000, 8_000])
def test_a_tree_grows_as_the_list_does(count: int) -> None:
    """The number of repeated entries is bounded, and so is the number of entries that an operation is compared with."""
    lists = list(lists_in(plan_index(entries_of(count, Random(1)), 64)))
    assert sum(map(len, lists)) < 2 * count
    assert max(map(len, lists)) <= 200
    for items in lists:
        positions = [each.position for each in items if isinstance(each, IndexEntry)]
        assert positions == sorted(set(positions))


@pytest.mark.parametrize("seed", range(20))
def test_the_first_that_fits_is_the_same(seed: int) -> None:
    """By exhaustive search in the planned tree, for sizes that an operation may have."""
    random = Random(seed)
    entries = entries_of(random.randint(10, 300), random)
    items = plan_index(entries, random.choice((1, 4, 16)))
    for _ in range(50):
        rows, columns = random.choice(entries).sizes.get((0, 0), 1), random.randint(1, 512)
        opaque = frozenset(each.position for each in entries if random.random() < 0.5)
        operation = {(0, 0): rows, (0, 1): columns}
        assert first(items, operation, opaque) == first(entries, operation, opaque)


def first(
    items: Sequence[Item], operation: Mapping[tuple[int, int], int], opaque: frozenset[int]
) -> int | None:
    """Return the first entry that matches an operation of the structure; of the opaque ones, those given do."""
    for item in items:
        if isinstance(item, IndexGroup):
            check = item.check
            if isinstance(check, Condition) or check.least <= operation[check.axis] <= check.most:
                return first(item.items, operation, opaque)
        elif item.condition is None:
            if item.position in opaque:
                return item.position
        elif all(operation[axis] == size for axis, size in item.sizes.items()):
            return item.position
    return None
