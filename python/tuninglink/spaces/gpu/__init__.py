"""Tuninglink's constraints on the configurations of ops on GPUs, and the properties of a target GPU that they depend on."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.spaces.gpu.contractions import (
        Contraction as Contraction,
        is_derivable as is_derivable,
        read_contraction as read_contraction,
        static_sizes as static_sizes,
    )
    from tuninglink.spaces.gpu.gpu_provider import (
        DENORMALS as DENORMALS,
        DISTRIBUTE as DISTRIBUTE,
        FUNCTION_ATTRIBUTES as FUNCTION_ATTRIBUTES,
        REORDERING as REORDERING,
        CodeOption as CodeOption,
        GpuProvider as GpuProvider,
        code_options as code_options,
        read_options as read_options,
        with_options as with_options,
    )
    from tuninglink.spaces.gpu.gpu_rules import (
        MOST_INTRINSICS as MOST_INTRINSICS,
        Gpu as Gpu,
        GpuRules as GpuRules,
        Number as Number,
        clip as clip,
        knob_name as knob_name,
        look_up as look_up,
        product_of as product_of,
        read_device as read_device,
    )
    from tuninglink.spaces.gpu.gpu_space import (
        GpuSpace as GpuSpace,
        RootLoops as RootLoops,
        read_loops as read_loops,
    )
    from tuninglink.spaces.gpu.without_intrinsics import NO_VECTORS as NO_VECTORS
