"""Whether the configurations that took effect are valid, by the rules without which code generation fails."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from iree.compiler import ir as mlir

from tuninglink.iree import ancestors
from tuninglink.mlir import names
from tuninglink.solver import UndecidedError
from tuninglink.spaces import ProviderRegistry, broken_necessary_rules
from tuninglink.spaces.cpu import CpuProvider
from tuninglink.spaces.gpu import GpuProvider
from tuninglink.spaces.model import read_configuration, read_workload
from tuninglink.spaces.spirv import SpirvProvider


@lru_cache(1)
def _registry() -> ProviderRegistry:
    # The compiler's own constraints prove nothing invalid, and take a process.
    make: tuple[Callable[[], GpuProvider | SpirvProvider | CpuProvider], ...]
    make = (GpuProvider, SpirvProvider, CpuProvider)
    return ProviderRegistry(lambda _: None, [provider() for provider in make])


def why_invalid(root: mlir.Operation) -> str:
    """Return the first necessary rule that the configuration of a root op breaks; empty if it is not proven invalid."""
    function = next((op for op in ancestors(root) if op.name == names.FUNCTION), None)
    configuration = None if function is None else read_configuration(root, function)
    if function is None or configuration is None or configuration.pipeline is None:
        return ""
    workload = read_workload(root, function)
    try:
        spaces = _registry().spaces(workload, str(configuration.pipeline))
    except UndecidedError:
        return ""
    broken = broken_necessary_rules(spaces, configuration)
    return f"{broken[0]} in pipeline {configuration.pipeline}" if broken else ""
