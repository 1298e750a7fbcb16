"""The values of a program's dispatches as it runs, kept in files."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import iree.runtime as rt
import numpy as np

from tuninglink.tuning.devices.buffers import to_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_OUTPUTS: Final = " outputs"
_INPUTS: Final = " inputs"
"""What the compiler writes behind the name of a dispatch, with `--iree-flow-trace-dispatch-tensors`."""


@dataclass(frozen=True)
class TracedTensor:
    """A tensor that was traced; equal contents are kept once.

    Attributes:
        path: the file with its bytes, which is named for their hash.
        dtype: the type of its elements.
        shape: its sizes.
    """

    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def array(self) -> NDArray[Any]:
        """Return its elements."""
        return np.fromfile(self.path, np.uint8).view(self.dtype).reshape(self.shape)

    def has_same_bytes(self, other: TracedTensor) -> bool:
        """Return whether the bytes of another tensor are equal."""
        return Path(self.path).name == Path(other.path).name


@dataclass(frozen=True)
class DispatchTrace:
    """One execution of a dispatch.

    Attributes:
        name: the name of its function.
        inputs: the tensors that it reads.
        outputs: the tensors that it writes.
    """

    name: str
    inputs: tuple[TracedTensor, ...]
    outputs: tuple[TracedTensor, ...]


class ValueTracer:
    """Receives the tensors that a program traces, in the order in which it runs.

    Args:
        device: the device that it runs on.
        directory: gets the files.

    Attributes:
        sink: what the runtime hands the tensors to.
    """

    def __init__(self, device: rt.HalDevice, directory: str) -> None:
        self._device = device
        self._directory = Path(directory)
        self._events: list[tuple[str, tuple[TracedTensor, ...]]] = []
        self.sink = rt.HalModuleDebugSink(self._receive)

    def _receive(self, key: str, views: Sequence[rt.HalBufferView]) -> None:
        self._events.append((key, tuple(map(self._keep, views))))

    def _keep(self, view: rt.HalBufferView) -> TracedTensor:
        array = to_host(self._device, view)
        content = array.tobytes()
        path = self._directory / blake2b(content, digest_size=16).hexdigest()
        if not path.exists():
            path.write_bytes(content)
        return TracedTensor(str(path), array.dtype, array.shape)

    def dispatches(self) -> list[DispatchTrace]:
        """Return the executions of dispatches so far."""
        traces = []
        inputs: dict[str, tuple[TracedTensor, ...]] = {}
        for key, tensors in self._events:
            if key.endswith(_INPUTS):
                inputs[key.removesuffix(_INPUTS)] = tensors
            elif key.endswith(_OUTPUTS):
                name = key.removesuffix(_OUTPUTS)
                traces.append(
                    DispatchTrace(name.rpartition("::")[2], inputs.get(name, ()), tensors)
                )
        return traces
