"""Exports a model of `torch_models.py`, and runs it with PyTorch: called by `models.py`, in a separate process.

    python benchmarks/torch_export.py bert --dtype f16 --device cuda --directory DIR

Writes to DIR: `program.mlirbc`; `FUNCTION.input.N.npy` and `FUNCTION.expected.N.npy`, whose values PyTorch computed in
f32 with the same weights; and `pytorch.json`, with PyTorch's own time and error in the given type.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from iree.turbine import aot
from torch_models import ALL, build

if TYPE_CHECKING:
    from torch_models import Function, Functions, Inputs

TYPES: Final = {"f16": torch.float16, "f32": torch.float32}
_WARM_UP: Final = 5
_RUNS: Final = 30


def export(functions: Functions, path: Path) -> None:
    """Writes a program with all functions of a model as bytecode."""
    if list(functions) == ["main"]:
        function = functions["main"]
        output = aot.export(function.module, args=function.inputs)
    else:
        root = torch.nn.Module()
        for name, function in functions.items():
            root.add_module(name, function.module)
        builder = aot.FxProgramsBuilder(root)
        for name, function in functions.items():

            @builder.export_program(name=name, args=function.inputs)
            def _(module: torch.nn.Module, *inputs: torch.Tensor, name: str = name) -> Inputs:
                result: Inputs = getattr(module, name)(*inputs)
                return result

        output = aot.export(builder)
    with path.open("wb") as file:
        output.mlir_module.write_bytecode(file)


def outputs(function: Function, device: str, dtype: torch.dtype) -> list[np.ndarray]:
    """Returns what PyTorch computes in a type."""
    module = function.module.to(device, dtype)
    inputs = [
        x.to(device, dtype) if x.is_floating_point() else x.to(device) for x in function.inputs
    ]
    with torch.no_grad():
        result = module(*inputs)
    values = result if isinstance(result, tuple) else (result,)
    return [value.float().cpu().numpy() for value in values]


def error(actual: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """Returns the largest relative error (Frobenius norm) of all outputs."""
    return max(
        float(np.linalg.norm(a - b) / np.linalg.norm(b))
        for a, b in zip(actual, expected, strict=True)
    )


def milliseconds(function: Function, device: str, dtype: torch.dtype) -> float:
    """Returns the median time of a call in PyTorch's eager mode; on a GPU, as a replayed CUDA graph."""
    module = function.module.to(device, dtype)
    inputs = [
        x.to(device, dtype) if x.is_floating_point() else x.to(device) for x in function.inputs
    ]

    def call() -> None:
        with torch.no_grad():
            module(*inputs)

    run, wait = call, torch.cuda.synchronize if device == "cuda" else lambda: None
    if device == "cuda":
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP):
                call()
        wait()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        run = graph.replay
    times = []
    for _ in range(_WARM_UP + _RUNS):
        wait()
        begin = time.perf_counter()
        run()
        wait()
        times.append(1000 * (time.perf_counter() - begin))
    return statistics.median(times[_WARM_UP:])


def main() -> None:
    """Exports one model and runs it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("model", choices=sorted(ALL))
    parser.add_argument("--dtype", choices=sorted(TYPES), default="f16")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cpu")
    parser.add_argument("--threads", type=int, help="threads of PyTorch on a CPU")
    parser.add_argument("--directory", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    directory, dtype = arguments.directory, TYPES[arguments.dtype]
    directory.mkdir(parents=True, exist_ok=True)
    functions = build(arguments.model, dtype)
    export(functions, directory / "program.mlirbc")
    figures = {}
    for name, function in functions.items():
        for position, value in enumerate(function.inputs):
            np.save(directory / f"{name}.input.{position}.npy", value.numpy())
        own = outputs(function, arguments.device, dtype)
        took = milliseconds(function, arguments.device, dtype)
        expected = outputs(function, arguments.device, torch.float32)
        for position, value in enumerate(expected):
            np.save(directory / f"{name}.expected.{position}.npy", value)
        figures[name] = {
            "milliseconds": took,
            "error": error(own, expected),
            "inputs": len(function.inputs),
            "outputs": len(expected),
        }
    (directory / "pytorch.json").write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
