"""Spaces of configurations for Vulkan and Metal."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.spaces.spirv.spirv_provider import SpirvProvider as SpirvProvider
