"""Entries for a target apply to targets that are like it, behind entries for the target itself."""

from __future__ import annotations

import pytest
from iree.compiler import ir as mlir
from problem_forms import NK, TARGETS, linear, linear_entry, spec

import tuninglink
from tuninglink.iree import CPU_VECTORS, Target, find_dispatches
from tuninglink.mlir import thread_context
from tuninglink.specs import is_like

LOCAL = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
SOURCES = "--compile-to=executable-sources"
CONFIGURED = "--compile-to=executable-configurations"
CPU = TARGETS["llvm-cpu"]


def cpu_flags(name: str) -> list[str]:
    triple = "--iree-llvmcpu-target-triple=x86_64-linux-gnu"
    return [*LOCAL, triple, f"--iree-llvmcpu-target-cpu={name}"]


@pytest.mark.parametrize(
    "name", ["haswell", "alderlake", "cascadelake", "rocketlake", "sapphirerapids", "znver4"]
)
def test_the_vector_instructions_are_those_of_the_compiler(name: str) -> None:
    source = linear("nk", NK, "f32").encode()
    flags = [*cpu_flags(name), SOURCES]
    written = tuninglink.compile(source, default_specs=False, flags=flags).output.decode()
    module = mlir.Module.parse(written, thread_context())
    (dispatch,) = find_dispatches(module.operation)
    assert dispatch.target
    assert dispatch.target.cpu_vectors == CPU_VECTORS[name]


@pytest.mark.parametrize(
    ("name", "target", "types", "is_alike"),
    [
        ("skylake-avx512", "rocketlake", {"f32"}, True),
        ("skylake-avx512", "znver4", {"f32"}, True),
        ("rocketlake", "skylake-avx512", {"f32"}, True),
        ("skylake-avx512", "haswell", {"f32"}, False),
        ("skylake-avx512", "knl", {"f32"}, False),
        ("cascadelake", "skylake-avx512", {"i8", "i32"}, False),
        ("skylake-avx512", "cascadelake", {"i8", "i32"}, True),
        ("znver4", "skylake-avx512", {"f32", "i8"}, True),
        ("znver4", "skylake-avx512", {"f32"}, True),
        ("cooperlake", "icelake-server", {"bf16"}, False),
        ("cooperlake", "icelake-server", {"f32"}, True),
        ("skylake-avx512", "neoverse-v2", {"f32"}, False),
        ("neoverse-n1", "cortex-a78", {"f16"}, True),
        ("sm_80", "sm_86", {"f16"}, False),
        ("a100", "rtx4090", {"f16"}, False),
        ("a100", "h200", {"bf16"}, True),
        ("sm_80", "h100", {"f16"}, True),
        ("sm_86", "sm_80", {"f16"}, False),
        ("sm_80", "sm_75", {"f16"}, False),
        ("gfx942", "gfx950", {"f16"}, False),
        ("no_such_target", "sm_86", {"f16"}, False),
    ],
)
def test_which_targets_are_alike(
    name: str, target: str, types: set[str], *, is_alike: bool
) -> None:
    assert is_like(name, Target.parse(target), types) is is_alike


def bound(name: str, target: str) -> bytes:
    """Return a spec for the linear layer that is bound to a target."""
    content = spec(linear_entry("nk", NK, CPU)).decode()
    return content.replace(
        "module @forms attributes {",
        f'module @{name} attributes {{tuninglink.targets = ["{target}"],',
    ).encode()


def configured(cpu: str, *specs: bytes) -> tuple[list[tuple[str, int, str]], list[str]]:
    """Return the entry that configures the linear layer on a CPU, and the diagnostics."""
    result = tuninglink.compile(
        linear("nk", NK, "f32").encode(),
        specs=specs,
        default_specs=False,
        flags=[*cpu_flags(cpu), CONFIGURED],
    )
    applied = [(each.spec_name, each.position, each.like_target) for each in result.applied]
    return applied, [each.message for each in result.diagnostics]


def test_an_entry_for_a_like_target_applies_with_a_remark() -> None:
    applied, said = configured("rocketlake", bound("skylake", "skylake-avx512"))
    assert applied == [("skylake", 0, "skylake-avx512")]
    assert said == [
        "entries for targets like rocketlake configured 1 operation; their times were measured elsewhere"
    ]


def test_an_entry_for_the_target_itself_comes_first() -> None:
    like, exact = bound("skylake", "skylake-avx512"), bound("own", "rocketlake")
    for specs in ((like, exact), (exact, like)):
        applied, said = configured("rocketlake", *specs)
        assert applied == [("own", specs.index(exact), "")]
        assert not [each for each in said if "like" in each]


def test_an_entry_for_another_target_does_not_apply() -> None:
    applied, said = configured("haswell", bound("skylake", "skylake-avx512"))
    assert applied == []
    assert ["it is bound to skylake-avx512" in each for each in said] == [True]


def test_entries_of_one_spec_are_ordered_by_their_targets() -> None:
    like = linear_entry("like", NK, CPU).replace("[16, 32, 0]", "[32, 32, 0]")
    own = linear_entry("own", NK, CPU)
    binding = (
        '-> (!transform.any_op, !transform.any_param) attributes {{tuninglink.targets = ["{}"]}} {{'
    )
    mixed = spec(
        like.replace(
            "-> (!transform.any_op, !transform.any_param) {", binding.format("skylake-avx512")
        ),
        own.replace("-> (!transform.any_op, !transform.any_param) {", binding.format("rocketlake")),
    )
    result = tuninglink.compile(
        linear("nk", NK, "f32").encode(),
        specs=[mixed],
        default_specs=False,
        flags=[*cpu_flags("rocketlake"), CONFIGURED],
    )
    assert [each.entry and each.entry.matcher for each in result.applied] == ["own"]


def test_a_spec_whose_entries_are_not_traced_is_for_a_like_target_too() -> None:
    result = tuninglink.compile(
        linear("nk", NK, "f32").encode(),
        specs=["library:models-avx512", bound("skylake", "skylake-avx512")],
        default_specs=False,
        trace=False,
        flags=[*cpu_flags("rocketlake"), CONFIGURED],
    )
    (applied,) = result.applied
    assert (applied.spec_name, applied.like_target) == ("skylake", "skylake-avx512")
    assert "entries for targets like rocketlake" in result.diagnostics[-1].message
