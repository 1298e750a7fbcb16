"""Targets by name and by attribute, checked against the compiler's own results for the names."""

import ctypes
from collections.abc import Callable
from typing import TypeVar

import pytest
from iree.compiler import ir as mlir
from iree.compiler.api import Session, Source, ctypes_dl
from iree.compiler.dialects import iree_gpu
from releases import since_3_13

from tuninglink.compiler import targets as compiler_targets
from tuninglink.devices import known_compute_units
from tuninglink.errors import TargetError
from tuninglink.iree import Target, read_executable_target, targets as known_targets
from tuninglink.mlir import collect, names, thread_context

T = TypeVar("T")
PROGRAM = b"""
func.func @double(%a: tensor<16xf32>) -> tensor<16xf32> {
  %r = arith.addf %a, %a : tensor<16xf32>
  return %r : tensor<16xf32>
}
"""


def compiled_target(*flags: str) -> Target:
    """Return the target of the one dispatch that the compiler makes of a program with `flags`."""
    return read_target(Target.from_attribute, *flags)


def read_target(read: Callable[[mlir.Attribute], T], *flags: str) -> T:
    """Return the target that is read from its attribute, which does not outlive its session."""
    session = Session()
    session.set_flags(*flags)
    invocation = session.invocation()
    stop_at = ctypes_dl._dylib.ireeCompilerInvocationSetCompileToPhase
    stop_at.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    stop_at(invocation._inv_p, b"executable-sources")
    assert invocation.parse_source(Source.wrap_buffer(session, PROGRAM))
    assert invocation.execute()
    (variant,) = collect(invocation.export_module(), names.EXECUTABLE_VARIANT)
    return read(variant.attributes["target"])


def hip(name: str) -> Target:
    return compiled_target("--iree-hal-target-device=hip", f"--iree-rocm-target={name}")


def cuda(name: str) -> Target:
    return compiled_target("--iree-hal-target-device=cuda", f"--iree-cuda-target={name}")


def vulkan(name: str) -> Target:
    return compiled_target("--iree-hal-target-device=vulkan", f"--iree-vulkan-target={name}")


def cpu(*flags: str) -> Target:
    backend = "--iree-hal-local-target-device-backends=llvm-cpu"
    return compiled_target("--iree-hal-target-device=local", backend, *flags)


ROCM = [(a, s) for families in known_targets.ROCM.values() for a, s in families.items()]
CUDA = [(a, s) for families in known_targets.CUDA.values() for a, s in families.items()]
VULKAN = [(a, s) for families in known_targets.VULKAN.values() for a, s in families.items()]

# The compiler takes each of these for a separate product.
INTEGRATED = {"gfx1103": "phoenix", "gfx1150": "strix-point", "gfx1151": "strix-halo"}

# It compiles for these, but writes nothing about them into the target.
UNDESCRIBED = {"sm_90", "sm_100"}


def assert_described(sku: str, architecture: str, *flags: str) -> None:
    """Compare a product, and the compute units of its device, with the target that the compiler writes."""
    target, units = read_target(
        lambda each: (Target.from_attribute(each), compiled_units(each)), *flags
    )
    assert target == Target.parse(sku)
    assert target.architecture == architecture
    if sku in DEVICES:
        assert known_compute_units(DEVICES[sku]) == units


def compiled_units(target: mlir.Attribute) -> int | None:
    """Return the compute units of a target, if the compiler describes it."""
    info = iree_gpu.TargetInfo.get_gpu_target_info(target)
    if info is None:
        return None
    is_rdna = info.arch.startswith(("gfx11", "gfx12"))  # counted in pairs
    return info.workgroup_count and info.workgroup_count * (2 if is_rdna else 1)


@pytest.mark.parametrize(("architecture", "skus"), ROCM)
def test_rocm_names_mean_what_the_compiler_makes_of_them(
    architecture: str, skus: tuple[str, ...]
) -> None:
    assert hip(architecture) == Target.parse(INTEGRATED.get(architecture, architecture))
    for sku in skus:
        flags = "--iree-hal-target-device=hip", f"--iree-rocm-target={sku}"
        assert_described(sku, architecture, *flags)


@pytest.mark.parametrize(("architecture", "skus"), CUDA)
def test_cuda_names_mean_what_the_compiler_makes_of_them(
    architecture: str, skus: dict[str, int]
) -> None:
    expected = Target("cuda", "cuda") if architecture in UNDESCRIBED else Target.parse(architecture)
    assert cuda(architecture) == expected
    for sku in skus:
        flags = "--iree-hal-target-device=cuda", f"--iree-cuda-target={sku}"
        assert_described(sku, architecture, *flags)


@pytest.mark.parametrize(("architecture", "skus"), VULKAN)
def test_vulkan_names_mean_what_the_compiler_makes_of_them(
    architecture: str, skus: tuple[str, ...]
) -> None:
    assert vulkan(architecture) == Target.parse(architecture)
    for sku in skus:  # the compiler keeps the architecture only
        assert vulkan(sku).names == Target.parse(sku).names[1:]


@pytest.mark.parametrize("name", known_targets.CODE_NAMES)
def test_a_code_name_stands_for_the_architecture_that_the_compiler_chooses(name: str) -> None:
    refused = {"cdna3", "cdna4", "hopper"}
    target = Target.parse(name)
    assert target.architecture == known_targets.CODE_NAMES[name]
    if name in refused:
        assert len({**known_targets.ROCM, **known_targets.CUDA}[name]) == 1
    else:
        compile_for = {"rocm": hip, "cuda": cuda, "vulkan": vulkan}[target.backend]
        assert compile_for(name) == target


@pytest.mark.parametrize("name", ["rdna1", "rdna3", "gfx1100", "rx7900xtx", "sm_86", "a100"])
def test_vulkan_has_names_of_its_own_for_gpus_of_other_backends(name: str) -> None:
    assert vulkan(name) == Target.parse(f"vulkan-{name}")
    assert all(each.startswith("vulkan-") for each in vulkan(name).names)
    assert not set(vulkan(name).names) & set(Target.parse(name).names)


@since_3_13  # LLVM knows more names with each release
@pytest.mark.parametrize("instruction_set", ["x86_64", "aarch64", "riscv64"])
def test_cpu_names_are_those_that_the_compiler_lists(instruction_set: str) -> None:
    listed = known_targets.listed_cpus()
    assert listed[instruction_set] == set(known_targets.CPUS[instruction_set].split())


def test_a_cpu_that_only_the_compiler_knows_is_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    older = {
        family: names.replace("cortex-a76 ", "").replace("spacemit-x60", "")
        for family, names in known_targets.CPUS.items()
    }
    monkeypatch.setattr(known_targets, "CPUS", older)
    known_targets.known_target_names.cache_clear()
    try:
        for name, family in (("cortex-a76", "aarch64"), ("Spacemit-X60", "riscv64")):
            assert name.lower() not in known_targets.known_target_names()
            assert compiler_targets.read_target(name) == Target("llvm-cpu", family, name.lower())
        with pytest.raises(TargetError, match="did you mean 'cortex-a7"):
            compiler_targets.read_target("cortex-a74")
    finally:
        known_targets.known_target_names.cache_clear()


def test_cpus() -> None:
    assert cpu("--iree-llvmcpu-target-cpu=znver4").names == ("znver4", "x86_64")
    assert cpu("--iree-llvmcpu-target-cpu=znver4") == Target.parse("znver4")
    arm = "--iree-llvmcpu-target-triple=aarch64-linux-gnu"
    assert cpu(arm, "--iree-llvmcpu-target-cpu=neoverse-v2") == Target.parse("neoverse-v2")
    assert cpu(arm) == Target.parse("aarch64")
    assert cpu(arm, "--iree-llvmcpu-target-cpu=generic") == Target.parse("aarch64")
    wasm = "--iree-llvmcpu-target-triple=wasm32-unknown-emscripten"
    assert cpu(wasm) == Target.parse("wasm32")


def test_backends_that_say_little() -> None:
    assert compiled_target("--iree-hal-target-device=metal") == Target.parse("apple")
    vmvx = compiled_target(
        "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=vmvx"
    )
    assert vmvx == Target.parse("vmvx")
    assert vmvx.names == ("vmvx",)


@pytest.mark.parametrize("backend", known_targets.BACKENDS)
def test_a_backend_is_a_name(backend: str) -> None:
    assert Target.parse(backend).names == (backend,)


DEVICES = {
    "mi100": "AMD Instinct MI100",
    "mi210": "AMD Instinct MI210",
    "mi300a": "AMD Instinct MI300A",
    "mi300x": "AMD Instinct MI300X OAM",
    "mi308x": "AMD Instinct MI308X",
    "mi325x": "AMD Instinct MI325X",
    "mi350x": "AMD Instinct MI350X",
    "mi355x": "AMD Instinct MI355X",
    "rx7900xt": "AMD Radeon RX 7900 XT",
    "rx7900xtx": "Radeon RX 7900 XTX",
    "w7800": "AMD Radeon PRO W7800",
    "w7900": "AMD Radeon PRO W7900",
    "rx7700xt": "AMD Radeon RX 7700 XT",
    "rx7800xt": "AMD Radeon RX 7800 XT",
    "v710": "AMD Radeon PRO V710 MxGPU",
    "w7700": "AMD Radeon PRO W7700",
    "phoenix": "AMD Radeon 780M Graphics",
    "strix-point": "AMD Radeon 890M Graphics",
    "strix-halo": "Radeon 8060S Graphics",
    "rx9060xt": "AMD Radeon RX 9060 XT",
    "r9700": "AMD Radeon AI PRO R9700",
    "rx9070": "AMD Radeon RX 9070",
    "rx9070xt": "AMD Radeon RX 9070 XT",
    "a100": "NVIDIA A100-SXM4-80GB",
    **{
        sku: f"NVIDIA GeForce RTX {sku[3:7]}" + " Ti" * sku.endswith("ti")
        for sku in known_targets.CUDA["ampere"]["sm_86"] | known_targets.CUDA["ada"]["sm_89"]
    },
}
"""The names that runtimes give the devices of the SKUs. A MI250 is two devices, and counted as one target."""


def test_all_skus_but_those_of_several_devices_are_compared() -> None:
    skus = {sku for _, skus in ROCM + CUDA for sku in skus}
    assert skus - DEVICES.keys() <= {"mi250", "mi250x", "mi455x"}
    assert DEVICES.keys() <= skus


def test_no_two_skus_of_a_cuda_architecture_have_as_many_compute_units() -> None:
    for _, skus in CUDA:
        assert len(set(skus.values())) == len(skus)


def test_names_go_from_the_specific_to_the_general() -> None:
    assert Target.parse("mi300x").names == ("mi300x", "gfx942", "cdna3")
    assert Target.parse("h100").names == ("h100", "sm_90", "hopper")
    assert Target.parse("RX7900XTX").name == "rx7900xtx"
    assert Target.parse("rdna3").names == ("rdna3",)
    assert str(Target.parse(" gfx942 ")) == "gfx942"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cortex-a67", "did you mean 'cortex-a76'? "),
        ("gfx943", "did you mean 'gfx942'? "),
        ("mi300", "did you mean 'mi300x'? "),
        ("?!", ""),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(TargetError) as caught:
        Target.parse(name)
    expected = f"unknown target '{name}'; {hint}'tuninglink targets --all' lists the known ones"
    assert caught.value.diagnostics[0].message == expected


def parsed(text: str) -> Target:
    with mlir.Context():
        return Target.from_attribute(mlir.Attribute.parse(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<"llvm-cpu", "embedded-elf-x86_64">', ("llvm-cpu",)),
        ('<"llvm-cpu", "embedded-elf-x86_64", {cpu = 4 : i32}>', ("llvm-cpu",)),
        ('<"somewhere", "else", {iree_codegen.target_info = "gfx942"}>', ("somewhere",)),
        ('<"some<where\\22", "else>", {a = "<>}"}>', ('some<where"',)),
    ],
)
def test_odd_attributes(text: str, expected: tuple[str, ...]) -> None:
    assert parsed(f"#hal.executable.target{text}").names == expected


GPU = (
    '#hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = '
    '#iree_gpu.target<arch = "ARCH", features = "", wgp = <compute = int32, storage = b32, '
    "subgroup = none, subgroup_size_choices = [64], max_workgroup_sizes = [], "
    "max_thread_count_per_workgroup = 0, max_workgroup_memory_bytes = 0, "
    "max_workgroup_counts = []>CHIP>}>"
)


@pytest.mark.parametrize(
    ("architecture", "chip", "expected"),
    [
        ("gfx942", "", ("gfx942", "cdna3")),
        ("gfx942", ", chip = <wgp_count = 304>", ("gfx942", "cdna3")),
        ("gfx942", ', chip = <wgp_count = 304, sku = "mi300x">', ("mi300x", "gfx942", "cdna3")),
        ("gfx942", ', chip = <wgp_count = 9, sku = "mi9">', ("mi9", "gfx942", "cdna3")),
        ("gfx9999", "", ("gfx9999", "rocm")),
    ],
)
def test_gpus_by_attribute(architecture: str, chip: str, expected: tuple[str, ...]) -> None:
    assert parsed(GPU.replace("ARCH", architecture).replace("CHIP", chip)).names == expected


def test_what_is_read_of_a_target_does_not_need_its_context() -> None:
    """Another context may get the place of the context of a compilation: a cache of its attributes read freed memory."""
    other = mlir.Context()
    other.load_all_available_dialects()
    text = GPU.replace("ARCH", "gfx942").replace("CHIP", "")
    target = read_executable_target(mlir.Attribute.parse(text, other))
    assert target is not None
    assert all(entry.context is thread_context() for entry in target.configuration.values())


def test_another_attribute_is_no_target() -> None:
    with pytest.raises(TargetError, match="expected a #hal"):
        parsed('"gfx942"')


def test_peak_rates_are_those_that_the_compiler_describes() -> None:
    peaks = hip("mi300x").peaks
    assert peaks is not None
    assert (peaks.device, peaks.tbps) == ("mi300x", 5.3)
    assert peaks.tflops == {"fp16": 1307.4, "fp32": 163.4, "fp8": 2614.9, "int8": 2614.9}
    assert hip("gfx942").peaks is None  # an architecture has no memory
    assert hip("mi250x").peaks is None  # a device is half of the product
    assert cpu().peaks is None


def test_host_is_the_processor_of_this_machine() -> None:
    assert compiler_targets.read_target("host") == cpu("--iree-llvmcpu-target-cpu=host")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("rdna3", "name the architecture, such as gfx1100, gfx1101"),
        ("rdna1", "'vulkan-rdna1' is its name for the backend vulkan"),
        ("b200", "GPUs run code for older architectures, such as sm_80"),
    ],
)
def test_targets_without_code_are_named_with_others(name: str, advice: str) -> None:
    with pytest.raises(TargetError, match=f"no code for '{name}'") as failure:
        compiler_targets.read_target(name)
    assert any(advice in item.message for item in failure.value.diagnostics[0].notes)
