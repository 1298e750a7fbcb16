"""Kernels read back from specs: those of the shipped libraries, and how long the CUDA driver compiles those of a spec."""

from __future__ import annotations

import ctypes
import os
import time
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.kernels.graphs import kernel_problem
from tuninglink.kernels.kernel import SCRATCH_ALIGNMENT, BuiltKernel
from tuninglink.mlir import (
    body,
    collect,
    integer_value,
    names,
    thread_context,
)
from tuninglink.specs import KIB, entry_binding, kernels_of, shipped_libraries, unfit_kernels
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.iree import Target
    from tuninglink.kernels.graphs import KernelProblem
    from tuninglink.specs import Kernel

_LOADING: Final = 15.0
"""The time limit for loading the kernels of a spec, in seconds."""


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
    *sizes, _ = body(launch)
    columns, rows, layers = (integer_value(size.attributes["value"]) for size in sizes)
    memory = [mlir.RankedTensorType(result.type).shape[0] for result in launch.results][1:]
    return BuiltKernel(
        kernel.name,
        declared.architecture if declared else "",
        kernel.content,
        (columns, rows, layers),
        prod(kernel.block),
        kernel.shared,
        (memory[0] - SCRATCH_ALIGNMENT) // (columns * rows * layers) if memory else 0,
    )


def kernels_summary(spec: str, devices: Sequence[str] = ()) -> str:
    """Return the number and the size of the kernels of a spec, and how long the CUDA driver compiles them; empty without kernels.

    There is a time if the device is one of CUDA on this machine, and loads all of them.

    Args:
        spec: the spec, as text.
        devices: the URIs of the devices that run them; the first one of CUDA by default.
    """
    module = mlir.Module.parse(spec, thread_context())
    kernels = [*{(own.name, own.content) for own in kernels_of(module.operation)}]
    driver, _, place = (devices or ("cuda",))[0].partition("://")
    seconds = None
    if kernels and driver == "cuda":
        # The driver keeps what it compiles, such as the candidates of a run, on disk.
        with Pool(1, os.putenv, ("CUDA_CACHE_DISABLE", "1")) as pool:
            loading = pool.submit(
                load_kernels, kernels, int(place) if place.isdecimal() else 0, seconds=_LOADING
            )
            with suppress(JobTimeoutError, WorkerCrashedError):
                seconds = loading.result()
    size = sum(len(content) for _, content in kernels) / KIB
    ending = (
        "" if seconds is None else f"; the driver compiles them in {seconds:.1f} s at first load"
    )
    return f"kernels: {len(kernels)}, {size:.0f} KiB{ending}" if kernels else ""


def load_kernels(kernels: Sequence[tuple[str, bytes]], ordinal: int) -> float | None:
    """Return the seconds in which the CUDA driver loads kernels, as the runtime does; None if it does not.

    Args:
        kernels: the names of the kernels, and their PTX.
        ordinal: the number of the device.
    """
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    device, module, result = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    if (
        cuda.cuInit(0)
        or cuda.cuDeviceGet(ctypes.byref(device), ordinal)
        or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(result), device)
        or cuda.cuCtxSetCurrent(result)
    ):
        return None
    began = time.perf_counter()
    for name, content in kernels:
        # Symbols may be loaded when they are used first.
        if cuda.cuModuleLoadDataEx(
            ctypes.byref(module), content, 0, None, None
        ) or cuda.cuModuleGetFunction(ctypes.byref(result), module, name.encode()):
            return None
    return time.perf_counter() - began
