"""Dispatches for CPUs, and configurations for them: random ones, judged, and compiled."""

from __future__ import annotations

import functools
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from programs import TOOLS

from tuninglink.iree.cpu_configurations import CpuLevel
from tuninglink.iree.dispatch_roots import find_root_ops
from tuninglink.mlir import names
from tuninglink.spaces.configuration import read_configuration
from tuninglink.spaces.cpu.provider import CpuProvider
from tuninglink.spaces.registry import ProviderRegistry
from tuninglink.spaces.verification import ConfigurationAnswer, verify_configuration
from tuninglink.spaces.workload import Workload, read_workload

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

DOUBLE_TILING = "#iree_cpu.pipeline<DoubleTilingExpert>"
CONVOLUTION = "#iree_cpu.pipeline<ConvTileAndDecomposeExpert>"
PIPELINES_OF = {
    "matmul": (DOUBLE_TILING,),
    "batch_matmul": (DOUBLE_TILING,),
    "reduction": (DOUBLE_TILING,),
    "elementwise": (DOUBLE_TILING,),
    "biased_matmul": (DOUBLE_TILING,),
    "convolution": (CONVOLUTION, DOUBLE_TILING),
    "pooling": (CONVOLUTION, DOUBLE_TILING),
}
"""The pipelines that each kind of program is tried in."""

_X86 = "x86_64-unknown-unknown-eabi-elf"
_AARCH64 = "aarch64-unknown-unknown-eabi-elf"
CPUS = {
    "znver4": ("znver4", _X86),
    "x86_64": ("generic", _X86),
    "neoverse-v1": ("neoverse-v1", _AARCH64),
    "aarch64": ("generic", _AARCH64),
}
"""For each CPU its name and triple: with vectors of 64 and 16 bytes, with SVE, and with Neon alone."""


def flags_for(cpu: str) -> list[str]:
    """Returns the flags that compile for a CPU."""
    name, triple = CPUS[cpu]
    return [
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        f"--iree-llvmcpu-target-cpu={name}",
        f"--iree-llvmcpu-target-triple={triple}",
    ]


@functools.cache
def sources_for(program: str, cpu: str) -> str:
    """Returns a program at executable-sources."""
    command = [str(TOOLS / "iree-compile"), "--compile-to=executable-sources", *flags_for(cpu)]
    result = subprocess.run(
        [*command, "-"], input=program, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr[:2000]
    return result.stdout


def dispatch_of(sources: str) -> Workload:
    """Returns the dispatch of a program that has one."""
    module = mlir.Module.parse(sources, mlir.Context())
    (found,) = (
        (root, each.function) for each in find_root_ops(module.operation) for root in each.roots
    )
    return read_workload(*found, module.operation)


def registry() -> ProviderRegistry:
    """Returns the provider for CPUs alone."""
    return ProviderRegistry(lambda _: None, own=[CpuProvider()], entry_points=tuple)


def judge(dispatch: Workload, compilation_info: mlir.Attribute) -> ConfigurationAnswer:
    """Returns what the constraints say about a configuration, which stays on the root op."""
    info = mlir.Attribute.parse(str(compilation_info), dispatch.root.context)
    dispatch.root.attributes[names.COMPILATION_INFO] = info
    configuration = read_configuration(dispatch.root, dispatch.function)
    assert configuration is not None
    return verify_configuration(dispatch, configuration, registry())


@dataclass(frozen=True)
class Outcome:
    """What became of a compilation.

    Attributes:
        result: `compiled`, `refused`, `crashed` or `not in time`.
        message: the first error.
    """

    result: str
    message: str = ""


def compile_configured(
    sources: str, cpu: str, compilation_info: mlir.Attribute, seconds: float = 60.0
) -> Outcome:
    """Compiles a program at executable-sources with a configuration on its root op, to the end."""
    dispatch = dispatch_of(sources)
    info = mlir.Attribute.parse(str(compilation_info), dispatch.root.context)
    dispatch.root.attributes[names.COMPILATION_INFO] = info
    command = [str(TOOLS / "iree-compile"), "--compile-from=executable-sources", *flags_for(cpu)]
    try:
        result = subprocess.run(
            [*command, "-", "-o", "/dev/null"],
            input=str(dispatch.module),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome("not in time")
    errors = [each for each in result.stderr.splitlines() if "error:" in each]
    message = errors[0][:300] if errors else result.stderr[:300]
    if result.returncode == 0:
        return Outcome("compiled")
    return Outcome("refused" if result.returncode == 1 else "crashed", message)


def configuration_of(
    pipeline: str, levels: dict[str, Sequence[int]], context: mlir.Context, options: str = ""
) -> mlir.Attribute:
    """Returns a `compilation_info`."""
    text = ", ".join(f"{level} = {list(sizes)}" for level, sizes in levels.items())
    rest = f", {{{options}}}" if options else ""
    return mlir.Attribute.parse(
        f"#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<{text}>, "
        f"translation_info = <pipeline = {pipeline}{rest}>>",
        context,
    )


TILES = (0, 1, 2, 3, 4, 5, 7, 8, 8, 12, 16, 16, 24, 32, 32, 48, 64, 64, 100, 128, 256)
SMALL_TILES = (0, 1, 1, 1, 2, 3, 4, 8, 16)
_REDUCING_LEVELS = (CpuLevel.CACHE_REDUCTION, CpuLevel.VECTOR_REDUCTION)
_LIKELIHOOD = {
    CpuLevel.DISTRIBUTION: 0.97,
    CpuLevel.CACHE_PARALLEL: 0.2,
    CpuLevel.CACHE_REDUCTION: 0.2,
    CpuLevel.VECTOR_COMMON_PARALLEL: 0.9,
    CpuLevel.VECTOR_REDUCTION: 0.9,
    CpuLevel.VECTOR_INNER_PARALLEL: 0.05,
}


def random_configuration(
    choice: random.Random, dispatch: Workload, pipeline: str
) -> mlir.Attribute:
    """Returns a random configuration: mostly of the form that the pipeline wants, with any sizes."""
    (space,) = CpuProvider().spaces(dispatch, pipeline)
    reduces = [each.reduces for each in space.nest.loops]
    tiles = SMALL_TILES if len(reduces) > 4 or choice.random() < 0.4 else TILES
    levels: dict[str, Sequence[int]] = {}
    for level in CpuLevel:
        if choice.random() < _LIKELIHOOD[level]:
            sizes = [
                choice.choice(tiles) if each == (level in _REDUCING_LEVELS) else 0
                for each in reduces
            ]
            if choice.random() < 0.02:
                sizes[choice.randrange(len(sizes))] = choice.choice((-1, 4))
            levels[level.value] = sizes
    options = "enable_loop_peeling" if choice.random() < 0.3 else ""
    return configuration_of(pipeline, levels, dispatch.root.context, options)


def random_cpu_program(choice: random.Random) -> tuple[str, str]:
    """Returns the kind of a random program with one dispatch, and the program."""
    kind = choice.choice(sorted(PIPELINES_OF))
    return kind, _MAKERS[kind](choice)


def matmul(m: int, n: int, k: int, types: tuple[str, str] = ("f32", "f32"), batch: int = 0) -> str:
    """Returns a program with a matmul, or a batched one."""
    element, out = types
    outer = f"{batch}x" if batch else ""
    lhs, rhs = f"tensor<{outer}{m}x{k}x{element}>", f"tensor<{outer}{k}x{n}x{element}>"
    name = "batch_matmul" if batch else "matmul"
    result = f"tensor<{outer}{m}x{n}x{out}>"
    return _function(
        [lhs, rhs],
        result,
        f"linalg.{name} ins(%0, %1 : {lhs}, {rhs}) outs(%init : {result}) -> {result}",
    )


def _function(arguments: Sequence[str], result: str, operation: str, after: str = "") -> str:
    element = result.rstrip(">").rpartition("x")[2]
    zero = "0" if element.startswith("i") else "0.0"
    listed = ", ".join(f"%{number}: {kind}" for number, kind in enumerate(arguments))
    last = "%after" if after else "%result"
    return (
        f"func.func @main({listed}) -> {result} {{\n"
        f"  %zero = arith.constant {zero} : {element}\n"
        f"  %empty = tensor.empty() : {result}\n"
        f"  %init = linalg.fill ins(%zero : {element}) outs(%empty : {result}) -> {result}\n"
        f"  %result = {operation}\n{after}  return {last} : {result}\n}}\n"
    )


def _random_matmul(choice: random.Random) -> str:
    types = choice.choice((("f32", "f32"), ("f16", "f32"), ("i8", "i32"), ("bf16", "f32")))
    m, n, k = (choice.choice((1, 8, 17, 64, 128, 256)) for _ in range(3))
    return matmul(m, n, k, types)


def _random_batch_matmul(choice: random.Random) -> str:
    m, n, k = (choice.choice((1, 8, 17, 64, 128)) for _ in range(3))
    return matmul(m, n, k, batch=choice.choice((2, 5, 8)))


def _random_biased_matmul(choice: random.Random) -> str:
    m, n, k = (choice.choice((8, 17, 64, 128)) for _ in range(3))
    lhs, rhs, bias = f"tensor<{m}x{k}xf32>", f"tensor<{k}x{n}xf32>", f"tensor<{n}xf32>"
    result = f"tensor<{m}x{n}xf32>"
    after = (
        "  %after = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, "
        "affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], "
        'iterator_types = ["parallel", "parallel"]}\n'
        f"      ins(%result, %2 : {result}, {bias}) outs(%empty : {result}) {{\n"
        "    ^bb0(%x: f32, %y: f32, %z: f32):\n      %sum = arith.addf %x, %y : f32\n"
        f"      linalg.yield %sum : f32\n  }} -> {result}\n"
    )
    product = f"linalg.matmul ins(%0, %1 : {lhs}, {rhs}) outs(%init : {result}) -> {result}"
    return _function([lhs, rhs, bias], result, product, after)


def _random_reduction(choice: random.Random) -> str:
    rows, columns = (choice.choice((8, 17, 64, 256, 1000)) for _ in range(2))
    element = choice.choice(("f32", "f16", "i32"))
    add = "addi" if element == "i32" else "addf"
    kind, result = f"tensor<{rows}x{columns}x{element}>", f"tensor<{rows}x{element}>"
    return _function(
        [kind],
        result,
        "linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], "
        f'iterator_types = ["parallel", "reduction"]}} ins(%0 : {kind}) outs(%init : {result}) {{\n'
        f"    ^bb0(%x: {element}, %y: {element}):\n      %sum = arith.{add} %x, %y : {element}\n"
        f"      linalg.yield %sum : {element}\n  }} -> {result}",
    )


def _random_elementwise(choice: random.Random) -> str:
    rows, columns = (choice.choice((8, 17, 64, 256, 1000)) for _ in range(2))
    element = choice.choice(("f32", "f16", "i8"))
    add = "addi" if element == "i8" else "addf"
    kind, other = f"tensor<{rows}x{columns}x{element}>", f"tensor<{columns}x{rows}x{element}>"
    return _function(
        [kind, other],
        kind,
        "linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>, "
        'affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} '
        f"ins(%0, %1 : {kind}, {other}) outs(%empty : {kind}) {{\n"
        f"    ^bb0(%x: {element}, %y: {element}, %z: {element}):\n"
        f"      %sum = arith.{add} %x, %y : {element}\n"
        f"      linalg.yield %sum : {element}\n  }} -> {kind}",
    )


def _random_convolution(choice: random.Random) -> str:
    height, width, channels = (choice.choice((4, 7, 8, 16)) for _ in range(3))
    inputs, kernel = choice.choice((4, 8, 16)), choice.choice((1, 2, 3))
    image = f"tensor<2x{height + kernel - 1}x{width + kernel - 1}x{inputs}xf32>"
    filters = f"tensor<{kernel}x{kernel}x{inputs}x{channels}xf32>"
    result = f"tensor<2x{height}x{width}x{channels}xf32>"
    return _function(
        [image, filters],
        result,
        f"linalg.conv_2d_nhwc_hwcf ins(%0, %1 : {image}, {filters}) outs(%init : {result}) -> {result}",
    )


def _random_pooling(choice: random.Random) -> str:
    height, width, channels = (choice.choice((4, 7, 8, 16)) for _ in range(3))
    kernel = choice.choice((2, 3))
    image = f"tensor<2x{height + kernel - 1}x{width + kernel - 1}x{channels}xf32>"
    window, result = f"tensor<{kernel}x{kernel}xf32>", f"tensor<2x{height}x{width}x{channels}xf32>"
    return _function(
        [image, window],
        result,
        f"linalg.pooling_nhwc_sum ins(%0, %1 : {image}, {window}) outs(%init : {result}) -> {result}",
    )


_MAKERS = {
    "matmul": _random_matmul,
    "batch_matmul": _random_batch_matmul,
    "biased_matmul": _random_biased_matmul,
    "reduction": _random_reduction,
    "elementwise": _random_elementwise,
    "convolution": _random_convolution,
    "pooling": _random_pooling,
}
