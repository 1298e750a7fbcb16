"""Arrays to and from buffers of a device, and the tensors that a program traces, kept in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import iree.runtime as rt
import numpy as np

from tuninglink.tuning.devices.running import MeasurementError
from tuninglink.tuning.programs.compiled_program import element_type
from tuninglink.tuning.results import Failure, FailureKind

if TYPE_CHECKING:
    from numpy.typing import NDArray


_HAL_TYPES: Final = {
    "f64": rt.HalElementType.FLOAT_64,
    "f32": rt.HalElementType.FLOAT_32,
    "f16": rt.HalElementType.FLOAT_16,
    "bf16": rt.HalElementType.BFLOAT_16,
    "f8E4M3FN": rt.HalElementType.FLOAT_8_E4M3_FN,
    "f8E4M3FNUZ": rt.HalElementType.FLOAT_8_E4M3_FNUZ,
    "f8E5M2": rt.HalElementType.FLOAT_8_E5M2,
    "f8E5M2FNUZ": rt.HalElementType.FLOAT_8_E5M2_FNUZ,
    "f8E8M0FNU": rt.HalElementType.FLOAT_8_E8M0_FNU,
    "i1": rt.HalElementType.BOOL_8,
    "i8": rt.HalElementType.INT_8,
    "i16": rt.HalElementType.INT_16,
    "i32": rt.HalElementType.INT_32,
    "i64": rt.HalElementType.INT_64,
}
_NAMES: Final = {
    **{int(hal_type): name for name, hal_type in _HAL_TYPES.items()},
    **{int(getattr(rt.HalElementType, f"SINT_{bits}")): f"i{bits}" for bits in (8, 16, 32, 64)},
    **{int(getattr(rt.HalElementType, f"UINT_{bits}")): f"i{bits}" for bits in (8, 16, 32, 64)},
}


def to_device(device: rt.HalDevice, data: NDArray[np.uint8]) -> rt.HalBuffer:
    """Copy bytes to a new buffer of a device.

    Raises:
        MeasurementError: the device has too little free memory.
    """
    try:
        return device.allocator.allocate_buffer_copy(
            memory_type=rt.MemoryType.DEVICE_LOCAL,
            allowed_usage=rt.BufferUsage.DEFAULT,
            device=device,
            buffer=data,
        )
    except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
        message = f"cannot allocate {len(data)} bytes on the device: {failure}"
        raise MeasurementError(Failure(FailureKind.RUN, message)) from None


def hal_type(name: str) -> Any:
    """Return the runtime's element type for one that MLIR writes as `name`.

    Raises:
        MeasurementError: the runtime has no such type.
    """
    hal_type = _HAL_TYPES.get(name.lstrip("su"))
    if hal_type is None:
        message = f"inputs of type '{name}' cannot be made"
        raise MeasurementError(Failure(FailureKind.LOAD, message))
    return hal_type


def to_host(device: rt.HalDevice, view: rt.HalBufferView) -> NDArray[Any]:
    """Return the elements of a buffer view, as bytes if their type is unknown."""
    data = bytes_on_host(device, view.get_buffer())
    dtype = element_type(_NAMES.get(int(view.element_type), ""))
    return data if dtype is None else data.view(dtype).reshape(view.shape)


def bytes_on_host(device: rt.HalDevice, buffer: rt.HalBuffer) -> NDArray[np.uint8]:
    """Return a copy of the bytes of a buffer.

    The runtime imports a NumPy array as the target of the copy if the device supports it. Vulkan does, but not at the
    addresses that NumPy allocates (`minImportedHostPointerAlignment`).
    """
    view = rt.HalBufferView(buffer, [buffer.byte_length()], rt.HalElementType.UINT_8)
    try:
        return np.array(rt.DeviceArray(device, view).to_host())
    except ValueError:
        return _staged(device, buffer)


def _staged(device: rt.HalDevice, buffer: rt.HalBuffer) -> NDArray[np.uint8]:
    """Return a copy of the bytes of a buffer, by way of another buffer of the device that the host can map."""
    staging = device.allocator.allocate_buffer(
        memory_type=int(rt.MemoryType.HOST_LOCAL | rt.MemoryType.DEVICE_VISIBLE),
        allowed_usage=int(rt.BufferUsage.TRANSFER_TARGET | rt.BufferUsage.MAPPING_SCOPED),
        allocation_size=buffer.byte_length(),
    )
    copied = device.create_semaphore(0)
    device.queue_copy(
        buffer,
        staging,
        wait_semaphores=rt.HalFence.create_at(copied, 0),
        signal_semaphores=rt.HalFence.create_at(copied, 1),
    )
    rt.HalFence.create_at(copied, 1).wait()
    mapped = staging.map()
    return np.array(mapped.asarray([buffer.byte_length()], np.dtype(np.uint8)))


_OUTPUTS: Final = " outputs"
_INPUTS: Final = " inputs"
"""The text after the name of a dispatch in traces of `--iree-flow-trace-dispatch-tensors`."""


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
        """Return the elements of the tensor."""
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
        device: the device that runs the program.
        directory: the directory for the files.

    Attributes:
        sink: the receiver of the runtime's tensors.
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
