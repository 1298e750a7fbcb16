"""The arguments of `tuninglink tune`: what makes no sense is refused."""

from __future__ import annotations

import pytest
from places import ROOT

from tuninglink.cli.tune import parse_tune_arguments
from tuninglink.errors import TuninglinkError
from tuninglink.tuning.problems import read_problems


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "no input; name a program, - for standard input, or a problem with --problem"),
        ("p.mlir --problem=conv", "for flag '--problem': expected sizes NxCxW or NxCxHxW"),
        (
            "p.mlir --problems examples/problems.txt",
            "expected a program or problems, found both: 'p.mlir' is a program",
        ),
        (
            "--problems examples/problems.txt --input 1",
            "flag '--input' needs a program, not problems",
        ),
        (
            "--problems examples/problems.txt --only-flags",
            "flag '--only-flags' needs a program, not problems",
        ),
        ("--problems missing.txt", "cannot read 'missing.txt'"),
        (
            "p.mlir --knob workgroup[0]",
            "for flag '--knob': expected KNOB=VALUE, such as workgroup[0]=64",
        ),
        ("p.mlir --stop-after racing", "expected one of candidates, compilation, measurement"),
        ("p.mlir --dry-run --only-flags", "flag '--only-flags' does not apply with '--dry-run'"),
        ("p.mlir --budget 0", "invalid value '0' for flag '--budget': expected a time above 0"),
        ("p.mlir --budget soon", "expected a time such as 90s, 10m or 1.5h"),
        ("p.mlir --min-gain 200%", "expected a part such as 2% or 0.02"),
        ("p.mlir --trials 0", "invalid value '0' for flag '--trials': expected a number above 0"),
        (
            "p.mlir --dim x=8",
            "expected [ARGUMENT.DIMENSION=]SIZE[:WEIGHT],... such as 0.0=1,8:2,64,512",
        ),
        ("p.mlir --compile-to=flow", "'--compile-to' is not a flag of this command"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(TuninglinkError) as caught:
        parse_tune_arguments(arguments.split())
    assert len(caught.value.diagnostics) == 1
    assert message in str(caught.value)


def test_problems_of_flags_and_files_come_once_and_have_no_whole_program() -> None:
    line = "hipblaslt-bench -m 1024 -n 512 -k 1024 --transA T -r f16_r"
    same = "matmul 512x1024x1024 f16 transpose_b"
    (problem,) = read_problems(line)
    file = str(ROOT / "examples" / "problems.txt")
    options = parse_tune_arguments(["--problem", same, "--problem", same, "--problems", file])
    assert options.problems[0] == problem
    assert len(options.problems) == 22
    assert options.title == "problems"
    assert not options.settings.runs_model
    assert options.flag_sets == "none"
