"""Constraints on the configurations of ops for Vulkan and Metal, and the properties of a target GPU that they depend on."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.spaces.spirv.spirv_provider import SpirvProvider as SpirvProvider
