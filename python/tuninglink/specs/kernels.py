"""Kernels of specs: code for a device, in the functions of replace entries.

A kernel is a `hal.dispatch.extern` whose object is in the spec. Its architecture is that of the object, PTX; an entry with
another object must be bound to targets that run it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from iree.compiler import ir as mlir

from tuninglink.iree import Target
from tuninglink.mlir import (
    collect,
    entries_of,
    integer_value,
    integers_of,
    names,
    parameters,
)
from tuninglink.specs.kernel_objects import PTX, SM_NAME, KernelObject
from tuninglink.specs.spec import Binding, covers

_SHARED_MEMORY: Final[Mapping[int, int]] = {
    **dict.fromkeys((75,), 64),
    **dict.fromkeys((86, 89, 120, 121), 99),
    **dict.fromkeys((70, 72), 96),
    **dict.fromkeys((80, 87), 163),
    **dict.fromkeys((90, 100, 103), 227),
}
"""The shared memory of a block in KiB, by compute capability: the CUDA programming guide, "technical specifications"."""

_LOCAL_MEMORY: Final[Mapping[str, int]] = {"gfx950": 160, "gfx1250": 320}
"""The local memory of a workgroup in KiB of AMD GPUs that have more than 64."""

KIB: Final = 1024


def block_memory(architecture: str) -> int | None:
    """Return the shared memory of a block in KiB; None if it is not known."""
    if architecture.startswith("gfx"):
        return _LOCAL_MEMORY.get(architecture, 64)
    match = SM_NAME.fullmatch(architecture)
    return _SHARED_MEMORY.get(int(match[1])) if match else None


@dataclass(frozen=True)
class Kernel:
    """A `hal.dispatch.extern` of a spec.

    Attributes:
        name: its name in its object.
        backends: the backends that it has objects for, as `#hal.executable.target` names them.
        content: its first object in the spec; empty if there is none.
        object: what that declares; None if that is not known.
        bindings: the number of buffers: operands, then results.
        constants: the number of 32-bit constants after the bindings.
        block: the numbers of threads of a block; empty if they are not declared.
        shared: the declared shared memory of a block in bytes.
    """

    operation: mlir.Operation
    name: str
    backends: tuple[str, ...]
    content: bytes
    object: KernelObject | None
    bindings: int
    constants: int
    block: tuple[int, ...]
    shared: int

    @classmethod
    def read(cls, operation: mlir.Operation) -> Kernel:
        """Read the attributes of an op."""
        attributes = {name: operation.attributes[name] for name in operation.attributes}
        targets = [parameters(target) for target in mlir.ArrayAttr(attributes["targets"])]
        backends = tuple(mlir.StringAttr(fields[0]).value for fields in targets if fields)
        objects = mlir.ArrayAttr(attributes["target_objects"])
        items = [parameters(item) for listed in objects for item in mlir.ArrayAttr(listed)]
        data = next((own for at in items if at and (own := entries_of(at[0]).get("data"))), None)
        content = data.value_bytes if isinstance(data, mlir.StringAttr) else b""
        if isinstance(data, mlir.DenseElementsAttr):
            content = bytes(memoryview(cast("bytes", data)))
        layout = str(attributes["layout"])
        constants = re.search(r"constants = (\d+)", layout)
        memory = attributes.get("workgroup_local_memory")
        return cls(
            operation,
            mlir.StringAttr(attributes["export_name"]).value,
            backends,
            content,
            KernelObject.read(content),
            layout.count("pipeline.binding<"),
            int(constants[1]) if constants else 0,
            tuple(integers_of(attributes.get("workgroup_size"))),
            integer_value(memory) if memory is not None else 0,
        )

    def __str__(self) -> str:
        machine = self.object.architecture if self.object else ", ".join(self.backends)
        threads = "x".join(str(size) for size in self.block if size > 1) or "1"
        memory = f", {self.shared / KIB:.3g} KiB of shared memory" if self.shared else ""
        return f"kernel '{self.name}' for {machine}: blocks of {threads} threads{memory}"


def kernels_of(function: mlir.Operation) -> tuple[Kernel, ...]:
    """Return the kernels of a function of a spec, or of a whole module."""
    return tuple(map(Kernel.read, collect(function, names.DISPATCH_EXTERN)))


OBJECTS: Final = "hal.executable.objects"
_CODE: Final = frozenset((OBJECTS, "hal.import.static"))


def holds_code(module: mlir.Operation) -> bool:
    """Return whether a module has operations that run code of the device, or that name objects with such code."""
    return any(
        operation.name.startswith(("hal.", "llvm.")) or not _CODE.isdisjoint(operation.attributes)
        for operation in collect(module)
    )


def architecture_runs(architecture: str, target: Target) -> bool:
    """Return whether a machine runs an object for an architecture.

    A code object for `gfx942` runs on that only; for one of several, `gfx9-4-generic`, the binding of the entry counts. PTX for `sm_80` runs on `sm_80` and later, for `sm_90a` on `sm_90` only, for `sm_100f` on the later ones of its family.
    """
    if target.backend == "rocm":
        return architecture == target.architecture or architecture.endswith("-generic")
    needed, own = SM_NAME.fullmatch(architecture), SM_NAME.fullmatch(target.architecture or "")
    if needed is None or own is None or target.backend != "cuda":
        return False
    least, number = int(needed[1]), int(own[1])
    if needed[2] == "a":
        return number == least
    return number >= least and (needed[2] != "f" or number // 10 == least // 10)


def unfit_kernels(
    function: mlir.Operation | None, binding: Binding, target: Target | None
) -> Iterator[str]:
    """Yield why kernels of a function do not run on a target; nothing without a function.

    Of an object that is not PTX, only the binding of its entry tells where it runs.
    """
    for kernel in kernels_of(function) if function is not None else ():
        if target is None or target.backend not in kernel.backends:
            yield f"kernel '{kernel.name}' is for {', '.join(kernel.backends)}"
        elif kernel.object and kernel.object.kind == PTX:
            architecture = kernel.object.architecture
            if not architecture_runs(architecture, target):
                remedy = f"'--target {architecture.rstrip('af')}' is for machines that run it"
                yield f"kernel '{kernel.name}' is for {architecture} ({remedy})"
        elif binding is None:
            yield f"kernel '{kernel.name}' is for unknown machines: its entry is bound to no target"
        elif kernel.object and not architecture_runs(kernel.object.architecture, target):
            yield f"kernel '{kernel.name}' is for {kernel.object.architecture}"
        elif not covers(binding, target):
            yield f"kernel '{kernel.name}' is for {', '.join(binding)}"
