"""Elements of inputs without the whole inputs: bindings repeat a pattern and may hold gigabytes of weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tuninglink.tuning.programs.element_types import element_type
from tuninglink.tuning.references.scalar_ops import UnsupportedOperationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.devices.inputs import Pattern
    from tuninglink.tuning.references.scalar_ops import Array
    from tuninglink.tuning.references.stored_tensors import StoredTensor


@dataclass(frozen=True)
class DrawnInputs:
    """The contents of a benchmark's bindings before it runs.

    Attributes:
        patterns: the patterns of each binding; later ones overwrite earlier ones.
    """

    patterns: Sequence[Sequence[Pattern]]

    def elements(self, tensor: StoredTensor, position: Array) -> Array:
        """Return elements of a tensor in a binding.

        Args:
            tensor: the tensor.
            position: their positions in row-major order.

        Raises:
            UnsupportedOperationError: the elements are not aligned to their size.
        """
        dtype = element_type(tensor.part.element_type)
        pattern = self._pattern(tensor)
        start = tensor.part.offset - pattern.start
        if dtype is None or start % dtype.itemsize:
            raise UnsupportedOperationError(f"elements of {tensor.part.element_type}")
        repeats = dtype.itemsize // math.gcd(len(pattern.content), dtype.itemsize)
        values = np.tile(pattern.content, repeats).view(dtype)
        result: Array = values[(start // dtype.itemsize + position) % len(values)]
        return result

    def _pattern(self, tensor: StoredTensor) -> Pattern:
        """Return the last pattern that contains a tensor.

        Raises:
            UnsupportedOperationError: the tensor spans several patterns.
        """
        begin, end = tensor.part.offset, tensor.part.offset + tensor.part.byte_length
        for pattern in reversed(self.patterns[tensor.binding]):
            if pattern.start <= begin and end <= pattern.start + pattern.length:
                return pattern
            if pattern.start < end and begin < pattern.start + pattern.length:
                raise UnsupportedOperationError("a tensor that overlaps another one")
        raise UnsupportedOperationError("a tensor beyond its binding")
