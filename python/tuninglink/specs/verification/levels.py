"""What is wrong with the levels of tiling of a configuration for CPUs, whatever the target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.iree.cpu_configurations import CpuLevel, read_cpu_configuration
from tuninglink.specs.verification.faults import Fault, misspelt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from iree.compiler import ir as mlir

_LEVELS: Final = tuple(level.value for level in CpuLevel)


def level_faults(lowering: mlir.Attribute, loops: int | None) -> Iterator[Fault]:
    """Yields what is wrong with the levels of a `#iree_cpu.lowering_config`.

    The compiler accepts a level of any name, and ignores it. It refuses a level with a negative size.

    Args:
        lowering: a lowering config; nothing is yielded for those of other kinds.
        loops: the number of loops of the operation, None if it is unknown.
    """
    for name, tiling in (read_cpu_configuration(lowering) or {}).items():
        if name not in _LEVELS:
            nearest = misspelt(name, _LEVELS)
            hint = f"; did you mean '{nearest}'?" if nearest else ""
            remedy = "" if nearest else f"the levels are {', '.join(_LEVELS)}"
            message = f"'{name}' is not a level of tiling, and ignored{hint}"
            yield Fault(message, remedy, is_error=bool(nearest), knob=name)
            continue
        sizes = () if tiling is None else tiling.sizes
        if min(sizes, default=0) < 0:
            message = f"'{name}' is {list(sizes)}, and none may be negative"
            yield Fault(message, "0 leaves a loop as it is", is_error=True, knob=name)
        elif loops is not None and sizes and len(sizes) != loops:
            yield Fault(
                f"'{name}' has {len(sizes)} sizes for the {loops} loops that the matcher asks for",
                f"write one size for each loop, such as {[*sizes[:loops], *[0] * (loops - len(sizes))]}",
                knob=name,
            )
