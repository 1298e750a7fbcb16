"""Workloads of one family share what sizes do not change, and get the answers that they get alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from long_specs import long_spec
from sized_specs import SIZES, sized_spec

from tuninglink.checking import Checker
from tuninglink.compiler import compile_flags, executable_target
from tuninglink.iree import Target
from tuninglink.mlir import thread_context
from tuninglink.payloads import PayloadError, Synthesizer
from tuninglink.spaces import (
    CompilerProvider,
    FamilyConstraints,
    FixedSize,
    ProviderRegistry,
    UnsizedConstraints,
    verify_configuration,
)
from tuninglink.spaces.model import read_configuration
from tuninglink.specs import load_spec

if TYPE_CHECKING:
    from tuninglink.spaces.model import Workload

ENTRIES = 20


@pytest.mark.parametrize("target_name", ["gfx942", "sm_80"])
def test_answers_are_those_without_a_family(target_name: str) -> None:
    target = Target.parse(target_name)
    attribute = executable_target(compile_flags(target), thread_context())
    synthesizer = Synthesizer(target)
    together, alone = (ProviderRegistry(lambda _: None) for _ in range(2))
    spec = load_spec(sized_spec(ENTRIES, seed=1).encode())
    families = []
    for entry in spec.entries:
        try:
            dispatch = synthesizer.configured(entry, attribute).dispatch
        except PayloadError:
            continue
        assert dispatch is not None
        configuration = read_configuration(dispatch.root, dispatch.function)
        assert configuration is not None
        families.append(dispatch.family)
        expected = verify_configuration(replace(dispatch, family=None), configuration, alone)
        assert verify_configuration(dispatch, configuration, together) == expected
    assert None not in families
    assert 1 < len(set(families)) < len(families) // 2


def test_the_compiler_is_asked_twice_for_large_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...] | None] = []
    ask = CompilerProvider._ask

    def count(
        self: CompilerProvider, workload: Workload, pipeline: str
    ) -> list[UnsizedConstraints]:
        asked.append(workload.static_sizes)
        return ask(self, workload, pipeline)

    monkeypatch.setattr(CompilerProvider, "_ask", count)
    checker = Checker(target=Target.parse("gfx942"))
    checker.check(long_spec([256 * number for number in range(1, 30)]).encode(), "spec.mlir")
    assert asked == [(256, 1280, 5120), (512, 1280, 5120)]


def _constraints(sizes: tuple[int, ...], module: bytes = b"") -> list[UnsizedConstraints]:
    dimensions = tuple(FixedSize(size, f"dim ({{}}) == {size}") for size in sizes)
    return [UnsizedConstraints(module, dimensions)]


def test_a_size_is_free_after_two_equal_answers() -> None:
    family = FamilyConstraints()
    family.add((256, 512), _constraints((256, 512)))
    assert family.of((256, 1024)) is None
    family.add((256, 1024), _constraints((256, 1024)))
    assert family.of((256, 2048)) == _constraints((256, 2048))
    assert family.of((512, 2048)) is None


def test_answers_that_differ_are_not_shared() -> None:
    family = FamilyConstraints()
    family.add((256, 512), _constraints((256, 512)))
    family.add((256, 1024), _constraints((256, 1024), b"other"))
    assert family.of((256, 1024)) is None


@pytest.mark.parametrize("size", [size for size in SIZES if size <= 128])
def test_small_sizes_have_answers_of_their_own(size: int) -> None:
    family = FamilyConstraints()
    for large in (512, 1024):
        family.add((large, 512), _constraints((large, 512)))
    assert family.of((size, 512)) is None
