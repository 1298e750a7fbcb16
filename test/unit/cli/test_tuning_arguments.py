"""The arguments of `tuninglink tune`: what makes no sense is refused."""

from __future__ import annotations

import pytest

from tuninglink.cli.tune_options import parse_tune_arguments
from tuninglink.errors import TuninglinkError


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "no input; name a program, or - for standard input"),
        ("p.mlir --budget 0", "invalid value '0' for flag '--budget': expected a time above 0"),
        ("p.mlir --budget soon", "expected a time such as 90s, 10m or 1.5h"),
        ("p.mlir --min-gain 200%", "expected a part such as 2% or 0.02"),
        ("p.mlir --trials 0", "invalid value '0' for flag '--trials': expected a number above 0"),
        (
            "p.mlir --dim x=8",
            "expected [ARGUMENT.DIMENSION=]SIZE[:WEIGHT],... such as 0.0=1,8:2,64,512",
        ),
        ("p.mlir --compile-to=flow", "is of no use here: nothing but a spec is written"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: str, message: str) -> None:
    with pytest.raises(TuninglinkError) as caught:
        parse_tune_arguments(arguments.split())
    assert len(caught.value.diagnostics) == 1
    assert message in str(caught.value)
