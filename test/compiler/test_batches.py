"""A batch of entries in one run of the interpreter gives what each entry alone gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from long_specs import long_spec
from sized_specs import sized_spec

from tuninglink.checking import EntryChecker, EntryOptions
from tuninglink.compiler import compile_flags, executable_target
from tuninglink.iree import Target
from tuninglink.mlir import thread_context
from tuninglink.payloads import PayloadError, Synthesizer, synthesis as drafts
from tuninglink.solver import DEFAULT_LIMITS
from tuninglink.specs import load_spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler import ir as mlir

    from tuninglink.payloads import Configured, Draft
    from tuninglink.specs import Entry

TARGET = Target.parse("gfx942")


def _attribute() -> mlir.Attribute:
    return executable_target(compile_flags(TARGET), thread_context())


def _entries(spec: str) -> Sequence[Entry]:
    return load_spec(spec.encode()).entries


@pytest.mark.parametrize(
    "spec",
    [
        sized_spec(40, seed=2),
        # Every second entry matches what the one before it matches.
        long_spec([256 * (number // 2 + 1) for number in range(24)]),
        # The compiler rejects a configuration, and with it a whole batch.
        long_spec(range(256, 256 * 13, 256)).replace("subgroup_size = 64", "subgroup_size = 0", 1),
    ],
    ids=["sized", "repeated", "rejected"],
)
def test_entries_in_a_batch_are_checked_as_alone(spec: str) -> None:
    entries = _entries(spec)
    options = EntryOptions(TARGET, str(_attribute()), DEFAULT_LIMITS, wants_programs=True)
    together = EntryChecker(options, print).check_all([(entry, True) for entry in entries])
    alone = EntryChecker(options, print)
    assert together == [
        answers for entry in entries for answers in alone.check_all([(entry, True)])
    ]


def test_an_entry_that_another_one_precedes_is_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = _entries(long_spec([256, 512, 256]))
    counts: list[int] = []
    configured_together = drafts.configured_together

    def count(drafts: Sequence[Draft | None], target: mlir.Attribute) -> list[Configured | None]:
        result = configured_together(drafts, target)
        counts.append(sum(payload is not None for payload in result))
        return result

    monkeypatch.setattr("tuninglink.payloads.synthesis.configured_together", count)
    results = list(Synthesizer(TARGET).configured_together(entries, _attribute()))
    assert not any(isinstance(result, PayloadError) for result in results)
    assert counts == [2]
