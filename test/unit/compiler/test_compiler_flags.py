"""Arguments: those that are read here, those that are passed on, and refused ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tuninglink.compiler import (
    COMPILE_FLAGS,
    CompileOptions,
    FlagReader,
    Mode,
    OutputFormat,
    Phase,
    compile_options,
)
from tuninglink.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def parse_arguments(arguments: list[str]) -> CompileOptions:
    return compile_options(FlagReader(COMPILE_FLAGS, arguments))


def test_nothing_is_the_defaults() -> None:
    assert parse_arguments([]) == CompileOptions()


def test_the_drivers_flags_are_read() -> None:
    options = parse_arguments(
        [
            "in.mlir",
            "-o",
            "out",
            "--compile-from=abi",
            "--compile-to",
            "flow",
            "--compile-mode=precompile",
            "--output-format=vm-c",
            "--verify=false",
            "--dump-compilation-phases-to=d",
            "--emit-mlir-bytecode",
            "--emit-mlir-bytecode-version=6",
            "--remarks-filter=x",
            "--remarks-output-file=y",
            "--split-input-file",
        ]
    )
    assert options == CompileOptions(
        input="in.mlir",
        output="out",
        output_format=OutputFormat.C_SOURCE,
        mode=Mode.PRECOMPILE,
        compile_from=Phase.ABI,
        compile_to=Phase.FLOW,
        verify=False,
        phase_dumps="d",
        emit_bytecode=True,
        bytecode_version=6,
        remarks_filter="x",
        remarks_file="y",
        split_input=True,
    )


def test_specs_come_in_the_order_in_which_they_are_given() -> None:
    options = parse_arguments(
        [
            "--spec=a",
            "--iree-codegen-tuning-spec-path=b",
            "--spec",
            "c",
            "--iree-codegen-tuning-spec-path=",
        ]
    )
    assert options.specs == ("a", "b", "c")
    assert options.flags == ()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", True),
        ("--no-default-specs", False),
        ("--no-default-specs=false", True),
        ("--iree-codegen-enable-default-tuning-specs", True),
        ("--iree-codegen-enable-default-tuning-specs=false", False),
        ("--iree-codegen-enable-default-tuning-specs=0", False),
        ("--no-default-specs --iree-codegen-enable-default-tuning-specs=1", True),
        ("--iree-codegen-enable-default-tuning-specs=1 --no-default-specs", False),
    ],
)
def test_default_specs_are_on_until_turned_off(arguments: str, *, expected: bool) -> None:
    assert parse_arguments(arguments.split()).default_specs is expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [("", True), ("--no-upgrade", False), ("--no-upgrade=false", True), ("--no-upgrade=1", False)],
)
def test_specs_are_upgraded_until_that_is_turned_off(arguments: str, *, expected: bool) -> None:
    options = parse_arguments(arguments.split())
    assert options.upgrade is expected
    assert options.flags == ()


def test_everything_else_is_handed_on() -> None:
    options = parse_arguments(
        ["-iree-opt-level=O3", "a.mlir", "--mlir-timing", "--iree-opt-const-eval=false"]
    )
    assert options.input == "a.mlir"
    assert options.flags == ("--iree-opt-level=O3", "--mlir-timing", "--iree-opt-const-eval=false")


def test_a_word_behind_a_flag_is_its_value_if_the_flag_needs_one() -> None:
    options = parse_arguments(["--iree-hal-target-backends", "vmvx", "--mlir-timing", "in.mlir"])
    assert options.input == "in.mlir"
    assert options.flags == ("--iree-hal-target-backends=vmvx", "--mlir-timing")


def test_what_follows_two_dashes_is_no_flag() -> None:
    assert parse_arguments(["--", "--spec"]).input == "--spec"
    assert parse_arguments(["-"]).input == "-"


def test_arguments_come_from_files(tmp_path: Path) -> None:
    inner = tmp_path / "inner.rsp"
    inner.write_text("--compile-to=flow '--spec=a b'")
    outer = tmp_path / "outer.rsp"
    outer.write_text(f"in.mlir @{inner}\n-o out")
    options = parse_arguments([f"@{outer}"])
    assert (options.input, options.output) == ("in.mlir", "out")
    assert (options.compile_to, options.specs) == (Phase.FLOW, ("a b",))
    with pytest.raises(UsageError, match="cannot read the response file 'nowhere'"):
        parse_arguments(["@nowhere"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("a b", "expected one input, found 2: 'a', 'b'"),
        ("--mlir-timing a b", "expected one input, found 2: 'a', 'b'"),
        ("-o", "flag '-o' needs a value"),
        ("-o=a -o=b", "flag '-o' is given more than once"),
        ("--compile-to=everything", "invalid value 'everything' for flag '--compile-to': expected"),
        ("--split-input-file=x", "invalid value 'x' for flag '--split-input-file': expected true"),
        ("--emit-mlir-bytecode-version=-2", "expected a number"),
        ("--speck=a", "unknown flag '--speck'; did you mean '--spec'?"),
        ("--no-default-spec", "unknown flag '--no-default-spec'; did you mean '--no-default-specs'?"),
        ("--mlir-timings", "unknown flag '--mlir-timings'; did you mean '--mlir-timing'?"),
        ("--prefer-no", "unknown flag '--prefer-no'"),
        ("-x", "unknown flag '-x'"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(arguments: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_arguments(arguments.split())
    assert len(caught.value.diagnostics) == 1
    assert message in str(caught.value)


def test_phases_are_ordered_as_the_compiler_runs_them() -> None:
    assert Phase.START < Phase.FLOW < Phase.EXECUTABLE_SOURCES <= Phase.EXECUTABLE_SOURCES
    assert Phase.END > Phase.VM
    assert not Phase.HAL <= Phase.STREAM
