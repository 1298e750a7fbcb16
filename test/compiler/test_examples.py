"""The examples: each program compiles, and is configured by the entries of its specs."""

from __future__ import annotations

import pytest
from places import ROOT

import tuninglink
from tuninglink.compiler import compile_flags
from tuninglink.iree import Target

EXAMPLES = ROOT / "examples"
TWO_DEVICES = (
    *("--iree-hal-target-backends=rocm", "--iree-rocm-target=gfx942"),
    *("--iree-hal-target-backends=cuda", "--iree-cuda-target=sm_80"),
)


def flags_for(*targets: str) -> list[str]:
    return [flag for each in targets for flag in compile_flags(Target.parse(each))]


@pytest.mark.parametrize(
    ("program", "specs", "flags", "entries"),
    [
        ("convolution_2x34x34x64", ["convolution_gfx942"], flags_for("gfx942"), 1),
        ("attention_8x512x64", ["attention_gfx942"], flags_for("gfx942"), 1),
        ("quantized_matmul_256x512x1024", ["quantized_matmul_gfx942"], flags_for("gfx942"), 1),
        ("model_mlp", ["mlp_cpu"], flags_for("znver4"), 2),
        ("mmt_2048x1280x5120", ["gfx942", "sm_80"], TWO_DEVICES, 2),
    ],
)
def test_an_example_compiles_with_its_specs(
    program: str, specs: list[str], flags: list[str], entries: int
) -> None:
    result = tuninglink.compile(
        EXAMPLES / f"{program}.mlir",
        specs=[str(EXAMPLES / f"spec_{each}.mlir") for each in specs],
        default_specs=False,
        flags=[*flags, "--compile-to=executable-targets"],
    )
    assert result.output
    assert len(result.applied) == entries
    assert all(each.is_own for each in result.applied)
