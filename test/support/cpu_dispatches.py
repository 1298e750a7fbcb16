"""Dispatches for CPUs, and configurations for them, judged and compiled."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compilations import run_compiler
from iree.compiler import ir as mlir
from processes import PATIENCE
from programs import run

from tuninglink.iree import find_root_ops
from tuninglink.mlir import names
from tuninglink.spaces import ProviderRegistry, verify_configuration
from tuninglink.spaces.cpu import CpuProvider
from tuninglink.spaces.model import Workload, read_configuration, read_workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.spaces import ConfigurationAnswer

DOUBLE_TILING = "#iree_cpu.pipeline<DoubleTilingExpert>"
CONVOLUTION = "#iree_cpu.pipeline<ConvTileAndDecomposeExpert>"
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
    """Return the flags that compile for a CPU."""
    name, triple = CPUS[cpu]
    return [
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        f"--iree-llvmcpu-target-cpu={name}",
        f"--iree-llvmcpu-target-triple={triple}",
    ]


def sources_for(program: str, cpu: str) -> str:
    """Return a program at executable-sources."""
    return run("iree-compile", "--compile-to=executable-sources", *flags_for(cpu), source=program)


def dispatch_of(sources: str) -> Workload:
    """Return the dispatch of a program that has one."""
    module = mlir.Module.parse(sources, mlir.Context())
    (found,) = (
        (root, each.function) for each in find_root_ops(module.operation) for root in each.roots
    )
    return read_workload(*found, module.operation)


def registry() -> ProviderRegistry:
    """Return the provider for CPUs alone."""
    return ProviderRegistry(lambda _: None, own=[CpuProvider()], entry_points=tuple)


def judge(dispatch: Workload, compilation_info: mlir.Attribute) -> ConfigurationAnswer:
    """Return the verdict of the constraints on a configuration, which stays on the root op."""
    info = mlir.Attribute.parse(str(compilation_info), dispatch.root.context)
    dispatch.root.attributes[names.COMPILATION_INFO] = info
    configuration = read_configuration(dispatch.root, dispatch.function)
    assert configuration is not None
    return verify_configuration(dispatch, configuration, registry())


@dataclass(frozen=True)
class Outcome:
    """The outcome of a compilation.

    Attributes:
        result: `compiled`, `refused`, `crashed` or `not in time`.
        message: the first error.
    """

    result: str
    message: str = ""


def compile_configured(
    sources: str, cpu: str, compilation_info: mlir.Attribute, seconds: float = PATIENCE
) -> Outcome:
    """Compile a program at executable-sources with a configuration on its root op, to the end."""
    dispatch = dispatch_of(sources)
    info = mlir.Attribute.parse(str(compilation_info), dispatch.root.context)
    dispatch.root.attributes[names.COMPILATION_INFO] = info
    arguments = ("--compile-from=executable-sources", *flags_for(cpu), "-", "-o", os.devnull)
    try:
        answer = run_compiler("iree-compile", arguments, str(dispatch.module).encode(), seconds)
    except subprocess.TimeoutExpired:
        return Outcome("not in time")
    said = answer.errors.decode()
    errors = [each for each in said.splitlines() if "error:" in each]
    message = errors[0][:300] if errors else said[:300]
    if answer.code == 0:
        return Outcome("compiled")
    return Outcome("refused" if answer.code == 1 else "crashed", message)


def configuration_of(
    pipeline: str, levels: dict[str, Sequence[int]], context: mlir.Context, options: str = ""
) -> mlir.Attribute:
    """Return a `compilation_info`."""
    text = ", ".join(f"{level} = {list(sizes)}" for level, sizes in levels.items())
    rest = f", {{{options}}}" if options else ""
    return mlir.Attribute.parse(
        f"#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<{text}>, "
        f"translation_info = <pipeline = {pipeline}{rest}>>",
        context,
    )


def matmul(m: int, n: int, k: int, types: tuple[str, str] = ("f32", "f32"), batch: int = 0) -> str:
    """Return a program with a matmul, or a batched one."""
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
