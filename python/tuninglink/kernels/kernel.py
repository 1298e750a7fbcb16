"""Kernels and candidates as data, the functions that call kernels, and the base class of providers."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, ClassVar, Final

from iree.compiler import ir as mlir

from tuninglink.errors import TuninglinkError
from tuninglink.iree import Target
from tuninglink.mlir import collect, names, symbols
from tuninglink.payloads import Value, build, constant
from tuninglink.specs import OBJECTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.kernels.graphs import KernelProblem

_TARGETS: Final = {
    "ptx": '"cuda", "cuda-nvptx-fb"',
    "hsaco": '"rocm", "rocm-hsaco-fb"',
}
"""The targets whose executables hold objects, by their formats."""

_CPUS: Final = {"x86_64": "x86_64", "aarch64": "arm_64", "riscv64": "riscv_64"}
"""The families of CPUs in the names of formats of the compiler's own linker."""

_DIGITS: Final = 8
_HOPPER: Final = 90

SCRATCH_ALIGNMENT: Final = 128
"""The bytes that follow the scratch memory of all blocks, so that a kernel can align it for the descriptors of tensors:
the compiler aligns buffers to 64 bytes."""


def kernel_architecture(target: Target) -> str:
    """Return what kernels for a machine are made for: for GPUs of NVIDIA from sm_90 on, its very architecture, `sm_90a`."""
    name = target.architecture or target.family
    match = re.fullmatch(r"sm_(\d+)", name)
    return f"{name}a" if match and int(match[1]) >= _HOPPER else name


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
class FirstKernel:
    """A kernel that runs before another one, which takes its result in the place of operands.

    Attributes:
        kernel: the kernel.
        count: the number of operands that it reads, the first ones.
        result: the type of its result, such as `tensor<4x8x2048xf32>`.
    """

    kernel: BuiltKernel
    count: int
    result: str


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel, and how it is launched.

    Parameters are pointers to the operands of the problem, the result, and the scratch memory if there is any. A function for
    a CPU also gets the three numbers of the block, of 64 bits.

    Attributes:
        name: its name in the object.
        content: the object.
        grid: the numbers of blocks in three dimensions.
        threads: the number of threads of a block; 1 on a CPU.
        shared: the bytes of shared memory of a block.
        scratch: the bytes of memory that each block needs besides; `SCRATCH_ALIGNMENT` more follow those of all blocks.
        format: the format of the object: `ptx`, `hsaco` for AMD GPUs, or `bc`, LLVM's bitcode, for a CPU.
        first: the kernel that runs before it, if there is one.
    """

    name: str
    architecture: str
    content: bytes
    grid: tuple[int, int, int]
    threads: int
    shared: int
    scratch: int = 0
    format: str = "ptx"
    first: FirstKernel | None = None

    @property
    def size(self) -> int:
        """The bytes of its object, and of that of the kernel before it."""
        return len(self.content) + (self.first.kernel.size if self.first else 0)


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

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets that the entry is bound to; none for PTX, which names them."""
        return () if self.kernel.format == "ptx" else (self.kernel.architecture,)

    @property
    def imports(self) -> tuple[str, ...]:
        """The symbols of the module that the function refers to."""
        return (self._executable,) if self.kernel.format == "bc" else ()

    @cached_property
    def _executable(self) -> str:
        digest = hashlib.sha256(repr((self.problem, self.kernel)).encode()).hexdigest()
        return f"{self.kernel.name}_{digest[:_DIGITS]}"

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the call at the current insertion point."""
        inputs = [operands[at] for at in self.problem.taken]
        return self.launched(self.problem.loaded(inputs), self.problem.tensors()[-1])

    def launched(
        self, given: Sequence[Value], written: mlir.Type, destination: Value | None = None
    ) -> Value:
        """Build a launch of the kernel at the current insertion point, and return its result.

        Args:
            given: the operands of the kernel, which may have other shapes.
            written: the type of the result.
            destination: a tensor of this type in whose memory the result is; None for uninitialized memory.
        """
        kernel, first = self.kernel, self.kernel.first
        if first is not None:
            before = replace(self, kernel=first.kernel)
            own = before.launched(given[: first.count], mlir.Type.parse(first.result))
            given = [own, *given[first.count :]]
        inputs, results = [*map(_buffer, given)], [written]
        if kernel.scratch:
            size = prod(kernel.grid) * kernel.scratch + SCRATCH_ALIGNMENT
            byte = mlir.IntegerType.get_signless(8)
            results.append(mlir.RankedTensorType.get([size], byte))
        tied = ["-1 : index"] * len(results)
        operands = list(inputs)
        if destination is not None:
            tied[0] = f"{len(inputs)} : index"
            operands.append(destination)
        if kernel.format == "bc":
            return self._dispatched(operands, results, tied)
        binding = "#hal.pipeline.binding<storage_buffer{}>"
        bindings = [binding.format(", ReadOnly")] * len(inputs) + [binding.format("")] * len(
            results
        )
        attributes = {
            "export_name": f'"{kernel.name}"',
            "layout": f"#hal.pipeline.layout<bindings = [{', '.join(bindings)}]>",
            "operandSegmentSizes": f"array<i32: 0, {len(operands)}, 0, 0>",
            "targets": f"[#hal.executable.target<{_TARGETS[kernel.format]}>]",
            "target_ordinals": "[0 : index]",
            "target_objects": f"[[{self._object}]]",
            "tied_operands": f"[{', '.join(tied)}]",
            "workgroup_size": f"[{kernel.threads} : index, 1 : index, 1 : index]",
            "workgroup_local_memory": f"{kernel.shared} : index",
        }
        parsed = {name: mlir.Attribute.parse(text) for name, text in attributes.items()}
        operation = mlir.Operation.create(
            *(names.DISPATCH_EXTERN, results, operands, parsed), regions=2
        )
        count = operation.regions[0].blocks.append(mlir.Type.parse("!hal.device"))
        with mlir.InsertionPoint(count):
            index = mlir.IndexType.get()
            sizes = [constant(index, size) for size in kernel.grid]
            mlir.Operation.create("hal.return", operands=sizes)
        result: Value = operation.results[0]
        return result

    @property
    def _object(self) -> str:
        content = self.kernel.content
        data = f'dense<"0x{content.hex()}"> : vector<{len(content)}xi8>'
        if self.kernel.format == "ptx":  # text takes half the space
            data = str(mlir.StringAttr.get(content.decode()))
        path = f"{self.kernel.name}.{self.kernel.format}"
        return f'#hal.executable.object<{{path = "{path}", data = {data}}}>'

    def _dispatched(
        self, inputs: Sequence[Value], results: Sequence[mlir.Type], tied: Sequence[str]
    ) -> Value:
        """Build the dispatch of an executable that calls a function, and the executable in the module.

        The compiler links bitcode with its own code, and takes no `hal.dispatch.extern` for a CPU.
        """
        # A result that is tied to an operand has its buffer.
        kernel, kinds = self.kernel, [value.type for value in inputs]
        kinds += [kind for kind, at in zip(results, tied, strict=True) if at.startswith("-1")]
        buffers = [str(kind).replace("tensor<", "memref<", 1) for kind in kinds]
        cpu = _CPUS[Target.parse(kernel.architecture).family]
        listed = f'#hal.executable.target<"llvm-cpu", "embedded-elf-{cpu}"> = [{self._object}]'
        arguments = ", ".join(f"%b{at}: !stream.binding" for at in range(len(kinds)))
        parts = "".join(
            f"%m{at} = stream.binding.subspan %b{at}[%zero] : !stream.binding -> {kind}\n"
            for at, kind in enumerate(buffers)
        )
        numbers = "".join(
            f"%g{at} = stream.dispatch.workgroup.id[{at}] : index\n"
            f"%i{at} = arith.index_castui %g{at} : index to i64\n"
            for at in range(3)
        )
        passed = [*(f"%m{at}" for at in range(len(kinds))), "%i0", "%i1", "%i2"]
        signature = ", ".join([*buffers, "i64", "i64", "i64"])
        grid = "".join(
            f"%c{at} = arith.constant {size} : index\n" for at, size in enumerate(kernel.grid)
        )
        executable = f"""
stream.executable private @{self._executable} attributes {{{OBJECTS} = #hal.executable.objects<{{{listed}}}>}} {{
  stream.executable.export public @call workgroups() -> (index, index, index) {{
    {grid} stream.return %c0, %c1, %c2 : index, index, index
  }}
  builtin.module {{
    func.func private @{kernel.name}({signature}) attributes {{hal.import.static, llvm.bareptr = [true]}}
    func.func @call({arguments}) {{
      %zero = arith.constant 0 : index
      {parts} {numbers} call @{kernel.name}({", ".join(passed)}) : ({signature}) -> ()
      return
    }}
  }}
}}"""
        function = mlir.InsertionPoint.current.block.owner.operation
        assert function.parent is not None, "functions are in a module"
        if self._executable not in symbols(function.parent):
            parsed = mlir.Module.parse(executable).operation
            (own,) = collect(parsed, names.STREAM_EXECUTABLE)
            own.move_before(function)
        called = mlir.Attribute.parse(f"[@{self._executable}::@call]")
        segments = mlir.DenseI32ArrayAttr.get([0, len(inputs), 0, 0])
        operation = mlir.Operation.create(
            "flow.dispatch",
            results=[*results],
            operands=[*inputs],
            attributes={
                "entry_points": called,
                "operandSegmentSizes": segments,
                "tied_operands": mlir.Attribute.parse(f"[{', '.join(tied)}]"),
            },
        )
        result: Value = operation.results[0]
        return result


def _buffer(value: Value) -> Value:
    """Build a tensor that holds a number; return a tensor itself."""
    if isinstance(value.type, mlir.RankedTensorType):
        return value
    return build("tensor.from_elements", mlir.RankedTensorType.get([], value.type), value)
