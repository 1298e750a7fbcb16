"""Constraints on configurations for llvm-cpu, for which the compiler has none, and the properties of the target CPU."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.spaces.cpu.cpu_rules import (
        BACKEND as BACKEND,
        LOOP_PEELING as LOOP_PEELING,
        PIPELINES as PIPELINES,
        SCALABLE as SCALABLE,
    )
    from tuninglink.spaces.cpu.cpu_space import CpuProvider as CpuProvider, CpuSpace as CpuSpace
    from tuninglink.spaces.cpu.nest import live_values as live_values, neighbors as neighbors
