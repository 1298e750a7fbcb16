"""A compiled program with what one of its functions is called with."""

from __future__ import annotations

from dataclasses import dataclass, field

from tuninglink.tuning.programs.parameters import ParameterSource

PLAIN_INTEGERS = (1, 3)
"""The range of random integers, which may be indices: small, positive and not all equal."""


@dataclass(frozen=True)
class ProgramInput:
    """An argument of a call.

    Attributes:
        shape: the sizes.
        element_type: the element type, as MLIR writes it.
        content: the bytes of the elements; None for random ones.
        is_scalar: whether it is a number instead of a tensor.
        is_updated: whether the function writes results to it.
    """

    shape: tuple[int, ...]
    element_type: str
    content: bytes | None = field(default=None, repr=False)
    is_scalar: bool = False
    is_updated: bool = False


@dataclass(frozen=True)
class CompiledProgram:
    """A compiled program and what one of its functions is called with.

    Attributes:
        image: the module, a VM FlatBuffer.
        function: the name of the function.
        inputs: its arguments, fences aside.
        has_fences: whether a fence to wait for and a fence to signal follow the arguments.
        is_stateful: whether its results may depend on earlier calls; then it starts anew before it is called.
        parameters: where it gets its weights from.
        integers: the least and the largest random integer among the inputs.
    """

    image: bytes = field(repr=False)
    function: str
    inputs: tuple[ProgramInput, ...]
    has_fences: bool = False
    is_stateful: bool = False
    parameters: ParameterSource = field(default_factory=ParameterSource)
    integers: tuple[int, int] = PLAIN_INTEGERS
