"""The phases of a compilation, in the order in which the compiler runs them."""

from __future__ import annotations

from enum import Enum


class Phase(Enum):
    """A phase, named as in `--compile-to`. Phases compare by their position in the pipeline."""

    START = "start"
    INPUT = "input"
    ABI = "abi"
    PREPROCESSING = "preprocessing"
    GLOBAL_OPTIMIZATION = "global-optimization"
    DISPATCH_CREATION = "dispatch-creation"
    FLOW = "flow"
    STREAM = "stream"
    EXECUTABLE_SOURCES = "executable-sources"
    EXECUTABLE_CONFIGURATIONS = "executable-configurations"
    EXECUTABLE_TARGETS = "executable-targets"
    HAL = "hal"
    VM = "vm"
    END = "end"

    def __lt__(self, other: Phase) -> bool:
        return _POSITIONS[self] < _POSITIONS[other]

    def __le__(self, other: Phase) -> bool:
        return _POSITIONS[self] <= _POSITIONS[other]


_POSITIONS = {phase: position for position, phase in enumerate(Phase)}
