"""Kernels and candidates as data, the functions that call kernels, and the base class of providers."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

from iree.compiler import ir as mlir

from tuninglink.errors import TuninglinkError
from tuninglink.mlir import names
from tuninglink.payloads import Value, build, constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.kernels.problems import KernelProblem

_EXTERN_TARGET: Final = '#hal.executable.target<"cuda", "cuda-nvptx-fb">'


class KernelError(TuninglinkError):
    """An error for a kernel that its provider cannot make."""


@dataclass(frozen=True)
class Candidate:
    """A kernel that a provider could make.

    Attributes:
        provider: the name of the provider.
        architecture: what it is for, such as `sm_90a`.
        options: the tile sizes and other choices of the provider, by name.
    """

    provider: str
    problem: KernelProblem
    architecture: str
    options: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        """A name for symbols: the problem and the options."""
        options = "_".join(f"{name}{value}" for name, value in self.options)
        return re.sub(r"\W", "_", f"{self.provider}_{self.problem}_{options}")


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel, and how it is launched.

    Parameters are pointers to the operands of the problem, the result, and the scratch memory if there is any.

    Attributes:
        name: its name in the object.
        content: the object, as PTX.
        grid: the numbers of blocks in three dimensions.
        threads: the number of threads of a block.
        shared: the bytes of shared memory of a block.
        scratch: the bytes of memory that each block needs besides.
    """

    name: str
    architecture: str
    content: bytes
    grid: tuple[int, int, int]
    threads: int
    shared: int
    scratch: int = 0


class KernelProvider(ABC):
    """A provider of kernels."""

    name: ClassVar[str]

    @abstractmethod
    def candidates(self, problem: KernelProblem, architecture: str) -> Sequence[Candidate]:
        """Return candidates for a problem and an architecture, the most promising first; none if it has none."""

    @abstractmethod
    def source(self, candidate: Candidate) -> str:
        """Return the source of a candidate."""

    @abstractmethod
    def make(self, candidate: Candidate) -> BuiltKernel:
        """Compile a candidate.

        Raises:
            KernelError: it does not compile.
        """


@dataclass(frozen=True)
class KernelCall:
    """A call of a kernel in the place of the ops of a problem; see `tuninglink.replacing.Form`."""

    problem: KernelProblem
    kernel: BuiltKernel

    @property
    def label(self) -> str:
        """The name of the function, for symbols."""
        return f"kernel_{self.kernel.name}"

    def __str__(self) -> str:
        return f"kernel '{self.kernel.name}' for {self.kernel.architecture}"

    @cached_property
    def spellings(self) -> tuple[KernelCall, ...]:
        """The call for each spelling of its problem: all have the operands in the same memory layout."""
        return tuple(replace(self, problem=other) for other in self.problem.spellings)

    @property
    def passed(self) -> range:
        """The positions of the values that the function takes: all of the graph."""
        return range(len(self.problem.tensors()))

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the call at the current insertion point."""
        kernel = self.kernel
        inputs = [_buffer(operands[at]) for at in self.problem.taken]
        results = [self.problem.tensors()[-1]]
        if kernel.scratch:
            blocks = kernel.grid[0] * kernel.grid[1] * kernel.grid[2]
            byte = mlir.IntegerType.get_signless(8)
            results.append(mlir.RankedTensorType.get([blocks * kernel.scratch], byte))
        binding = "#hal.pipeline.binding<storage_buffer{}>"
        bindings = [binding.format(", ReadOnly")] * len(inputs) + [binding.format("")] * len(
            results
        )
        data = f'dense<"0x{kernel.content.hex()}"> : vector<{len(kernel.content)}xi8>'
        named = f'path = "{kernel.name}.ptx", data = {data}'
        attributes = {
            "export_name": f'"{kernel.name}"',
            "layout": f"#hal.pipeline.layout<bindings = [{', '.join(bindings)}]>",
            "operandSegmentSizes": f"array<i32: 0, {len(inputs)}, 0, 0>",
            "targets": f"[{_EXTERN_TARGET}]",
            "target_ordinals": "[0 : index]",
            "target_objects": f"[[#hal.executable.object<{{{named}}}>]]",
            "tied_operands": f"[{', '.join(['-1 : index'] * len(results))}]",
            "workgroup_size": f"[{kernel.threads} : index, 1 : index, 1 : index]",
            "workgroup_local_memory": f"{kernel.shared} : index",
        }
        parsed = {name: mlir.Attribute.parse(text) for name, text in attributes.items()}
        operation = mlir.Operation.create(
            *(names.DISPATCH_EXTERN, results, inputs, parsed), regions=2
        )
        count = operation.regions[0].blocks.append(mlir.Type.parse("!hal.device"))
        with mlir.InsertionPoint(count):
            index = mlir.IndexType.get()
            sizes = [constant(index, size) for size in kernel.grid]
            mlir.Operation.create("hal.return", operands=sizes)
        result: Value = operation.results[0]
        return result


def _buffer(value: Value) -> Value:
    """Build a tensor that holds a number; return a tensor itself."""
    if isinstance(value.type, mlir.RankedTensorType):
        return value
    return build("tensor.from_elements", mlir.RankedTensorType.get([], value.type), value)
