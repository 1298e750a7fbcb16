"""Several processes find what one finds."""

from __future__ import annotations

from long_specs import long_spec

from tuninglink.checking import Checker
from tuninglink.iree import Target
from tuninglink.plain_data import plain
from tuninglink.solver import Verdict

VALID = [256 * (1 + number % 3) for number in range(60)]
REJECTED = [256 * (1 + number % 22) + 128 for number in range(60)]
"""More problems than there are proposals, at the end of the spec, where another process begins."""


def test_several_processes_report_what_one_reports() -> None:
    spec = long_spec([*VALID, *REJECTED], tile=256).encode()
    one, several = (
        Checker(target=Target.parse("gfx942"), processes=processes).check(spec, "spec.mlir")
        for processes in (1, 3)
    )
    assert plain(several) == plain(one)
    verdicts = [each.is_valid.verdict for each in several.entries if each.is_valid]
    assert verdicts[: len(VALID)] == [Verdict.PROVEN] * len(VALID)
    found = [each.is_valid for each in several.entries[len(VALID) :] if each.is_valid]
    assert len(found) == len(REJECTED)
    nearest = ["the nearest valid configuration" in " ".join(each.details) for each in found]
    assert nearest == [number % 22 < 20 for number in range(60)]
