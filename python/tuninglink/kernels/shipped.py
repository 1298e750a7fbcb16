"""Kernels of the shipped libraries, read back from their specs."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.kernels.graphs import kernel_problem
from tuninglink.kernels.kernel import SCRATCH_ALIGNMENT, BuiltKernel
from tuninglink.mlir import (
    body,
    collect,
    entries_of,
    integer_value,
    names,
    parameters,
    thread_context,
)
from tuninglink.specs import entry_binding, kernels_of, shipped_libraries, unfit_kernels

if TYPE_CHECKING:
    from tuninglink.iree import Target
    from tuninglink.kernels.graphs import KernelProblem
    from tuninglink.specs import Kernel


def shipped_kernels(target: Target) -> dict[KernelProblem, BuiltKernel]:
    """Return the kernels in PTX of the shipped libraries that a machine runs, by problem, in each spelling."""
    kernels: dict[KernelProblem, BuiltKernel] = {}
    for file in shipped_libraries() if target.backend == "cuda" else ():
        replacing = file.load(thread_context()).replacing if file.may_replace else None
        for entry in replacing.entries if replacing is not None else ():
            assert replacing is not None, "it has entries"
            function = replacing.table.symbols[entry.function]
            if any(unfit_kernels(function, entry_binding(entry, replacing), target)):
                continue
            matcher = replacing.table.lookup(entry.matcher)
            assert matcher is not None, "the library is verified"
            (graph,) = collect(matcher, names.MATCH_DAG)
            *_, last, _ = body(graph)
            (kernel,) = map(_built, kernels_of(function))
            kernels.setdefault(kernel_problem(last), kernel)
    return kernels


def _built(kernel: Kernel) -> BuiltKernel:
    """Return a kernel as it was made, from its launch; see `KernelCall.launched`."""
    launch, declared = kernel.operation, kernel.object
    (item,) = mlir.ArrayAttr(mlir.ArrayAttr(launch.attributes["target_objects"])[0])
    fields = parameters(item)
    assert fields is not None, "it is an object"
    content = mlir.StringAttr(entries_of(fields[0])["data"])
    *sizes, _ = body(launch)
    columns, rows, layers = (integer_value(size.attributes["value"]) for size in sizes)
    memory = [mlir.RankedTensorType(result.type).shape[0] for result in launch.results][1:]
    return BuiltKernel(
        kernel.name,
        declared.architecture if declared else "",
        content.value_bytes,
        (columns, rows, layers),
        prod(kernel.block),
        kernel.shared,
        (memory[0] - SCRATCH_ALIGNMENT) // (columns * rows * layers) if memory else 0,
    )
