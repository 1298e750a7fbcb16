"""Exports a model of PyTorch and runs it there: called by `models.py`, in a separate process.

    python benchmarks/torch_export.py bert --dtype f16 --device cuda --directory DIR

Writes `program.mlirbc` by iree-turbine, or `program.mlir` by ONNX for the models that are listed so, and the files of
`program_files.py`.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import torch
from fresh_torch_models import FRESH
from iree.turbine import aot
from mixed_torch_models import MIXED
from program_files import FrameworkRun, largest_error, median_milliseconds, write_runs
from small_torch_models import ONNX_MODELS, SMALL_MODELS
from torch_models import HELD_OUT, MODELS, SHORTENED, build

import tuninglink.torch

if TYPE_CHECKING:
    import numpy as np
    from torch_models import Function, Functions, Inputs

TYPES: Final = {"f16": torch.float16, "f32": torch.float32}
_WARM_UP: Final = 5


def export(functions: Functions, path: Path) -> None:
    """Write a program with all functions of a model as bytecode."""
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


def export_onnx(function: Function, path: Path) -> None:
    """Write a program with one function by way of ONNX."""
    with tempfile.TemporaryDirectory() as scratch:
        model = Path(scratch) / "model.onnx"
        exported = torch.onnx.export(function.module, function.inputs, dynamo=True, verbose=False)
        assert exported is not None
        exported.model.graph.name = "main"
        exported.save(model)
        subprocess.run(["iree-import-onnx", model, "-o", path], check=True)


def _call(function: Function, device: str, dtype: torch.dtype) -> tuple[torch.nn.Module, Inputs]:
    """Return the module and the inputs of a function on a device, in a type."""
    inputs = tuple(
        x.to(device, dtype) if x.is_floating_point() else x.to(device) for x in function.inputs
    )
    return function.module.to(device, dtype), inputs


def outputs(function: Function, device: str, dtype: torch.dtype) -> list[np.ndarray]:
    """Return PyTorch's outputs in a type."""
    module, inputs = _call(function, device, dtype)
    with torch.no_grad():
        result = module(*inputs)
    values = result if isinstance(result, tuple) else (result,)
    return [value.float().cpu().numpy() for value in values]


def milliseconds(function: Function, device: str, dtype: torch.dtype) -> float:
    """Return the median time of a call in PyTorch's eager mode; on a GPU, as a replayed CUDA graph."""
    module, inputs = _call(function, device, dtype)

    def call() -> None:
        with torch.no_grad():
            module(*inputs)

    if device == "cpu":
        return median_milliseconds(call)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(_WARM_UP):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return median_milliseconds(graph.replay, torch.cuda.synchronize)


def main() -> None:
    """Export one model and run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    models = {**MODELS, **SHORTENED, **HELD_OUT, **SMALL_MODELS, **ONNX_MODELS, **FRESH, **MIXED}
    parser.add_argument("model", choices=sorted(models))
    parser.add_argument("--dtype", choices=sorted(TYPES), default="f16")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cpu")
    parser.add_argument("--threads", type=int, help="threads of PyTorch on a CPU")
    parser.add_argument("--directory", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    # Export the program.
    directory, dtype = arguments.directory, TYPES[arguments.dtype]
    directory.mkdir(parents=True, exist_ok=True)
    functions = build(models[arguments.model], dtype)
    if arguments.model in ONNX_MODELS:
        export_onnx(functions["main"], directory / "program.mlir")
    elif arguments.model in {**FRESH, **MIXED}:
        main = functions["main"]
        content = tuninglink.torch.export(main.module, main.inputs)
        (directory / "program.mlirbc").write_bytes(content)
    else:
        export(functions, directory / "program.mlirbc")
    # Run the model in the given type, and in f32 for the expected outputs.
    runs = {}
    for name, function in functions.items():
        inputs = [value.numpy() for value in function.inputs]
        own = outputs(function, arguments.device, dtype)
        took = milliseconds(function, arguments.device, dtype)
        expected = outputs(function, arguments.device, torch.float32)
        runs[name] = FrameworkRun(inputs, expected, took, largest_error(own, expected))
    write_runs(directory, runs)


if __name__ == "__main__":
    main()
