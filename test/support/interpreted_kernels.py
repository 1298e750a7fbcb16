"""Run sources of kernels in Triton's interpreter on arrays of NumPy: a process whose environment has TRITON_INTERPRET=1.

Standard input is a pickled list of calls: a source, the name and the grid of each launch, operands and result. The second
launch takes what the first one computes in the place of two operands. Standard output gets the results.
"""

from __future__ import annotations

import linecache
import pickle
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


TYPES = {"float16": "fp16", "float32": "fp32", "int8": "i8", "int32": "i32", "int64": "i64"} | {
    "float8_e4m3fn": "fp8e4nv"
}


class Buffer:
    """An array, as far as the interpreter takes it for a tensor of PyTorch."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.dtype = TYPES[str(array.dtype)]

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def untyped_storage(self) -> Buffer:
        return self

    def cpu(self) -> Buffer:
        return self

    def new_empty(self, _: int, device: str) -> Buffer:  # noqa: ARG002 - the interpreter names it
        return Buffer(self.array)

    def set_(self, *_: object) -> None:
        """Leave the array: the storage is that of the same one."""

    def storage_offset(self) -> int:
        return 0

    def size(self) -> tuple[int, ...]:
        return self.array.shape

    def stride(self) -> tuple[int, ...]:
        return self.array.strides

    def copy_(self, _: Buffer) -> None:
        """Leave the array, which the kernel has written."""


def steps(*bounds: Any) -> range:
    """Return a range whose bounds may be tensors of one element, of which the interpreter makes no integers for NumPy 2.4."""
    return range(*(int(at.handle.data.item()) if hasattr(at, "handle") else at for at in bounds))


def run(
    source: str, launches: list[tuple[str, tuple[int, int, int], Any]], arrays: list[Any]
) -> Any:
    path = f"<{launches[-1][0]}>"
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    module: dict[str, Any] = {"__name__": launches[-1][0], "range": steps}
    exec(compile(source, path, "exec"), module)
    for name, grid, partial in launches[:-1]:
        module[name][grid](*map(Buffer, [*arrays[:2], partial]))
        arrays = [partial, *arrays[2:]]
    name, grid, _ = launches[-1]
    module[name][grid](*map(Buffer, arrays))
    return arrays[-1]


if __name__ == "__main__":
    calls = pickle.load(sys.stdin.buffer)
    pickle.dump([run(*call) for call in calls], sys.stdout.buffer)
