"""Reproducers of compiled dispatches that crash, hang or write out of bounds, for the stock tools only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.walk import body
from tuninglink.tuning.devices.inputs import buffer_length
from tuninglink.tuning.programs.benchmark import Access, BufferLayout
from tuninglink.tuning.references.dispatch_function import DRAWING, binding_rows

if TYPE_CHECKING:
    from tuninglink.compiler.compile_options import Phase

BENCHMARK: Final = "benchmark.mlir"
REFERENCE: Final = "reference.mlir"

_BYTE_VIEW: Final = (0x10000008, 1)
"""The runtime's numbers of element type `i8` and the dense row-major encoding (`iree/hal/buffer_view.h`)."""

_SCRIPT: Final = '''\
#!/usr/bin/env python3
"""A dispatch that fails at run time, as iree-compile {version} compiles it.

    python reproduce.py [--device URI] [--seconds N]

Compiles {benchmark}, one dispatch that works on the parts of a buffer, and runs it once. Prints whether it
crashes, hangs, writes out of bounds, or how far it is from the reference; the exit code is 1 if it fails. Needs
iree-base-compiler, iree-base-runtime, NumPy and ml_dtypes.

Recorded: {finding}
"""

import argparse
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np

HERE = Path(__file__).parent
COMPILATIONS = {compilations}  # program: first phase, flags
FUNCTION = {function}
BINDINGS = {bindings}  # bytes, largest integer, parts: element type, start, bytes
PLACES = {places}  # element type, offset in bytes, whether it is written
LENGTH, STRIDE = {length}, {stride}
SEED = {seed}


{drawing}

def buffer():
    whole = np.resize(np.frombuffer(b"\\xa5\\x5a\\xc3\\x96", np.uint8), LENGTH)
    for binding, (_, offset, _) in enumerate(PLACES):
        data = content(binding)
        whole[offset : offset + len(data)] = data
    return whole


def run(program, device, seconds):
    phase, flags = COMPILATIONS[program]
    module, output = (HERE / program).with_suffix(".vmfb"), (HERE / program).with_suffix(".npy")
    compile = ["iree-compile", HERE / program, f"--compile-from={{phase}}", "-o", module, *flags]
    subprocess.run(compile, check=True)
    (HERE / "input.bin").write_bytes(buffer().tobytes())
    inputs = [f"&{{LENGTH}}xi8=@{{HERE / 'input.bin'}}", "1", str(STRIDE), "1"]
    command = ["iree-run-module", f"--module={{module}}", f"--function={{FUNCTION}}", f"--device={{device}}"]
    command += [*(f"--input={{value}}" for value in inputs), f"--output=@{{output}}"]
    try:
        status = subprocess.run(command, timeout=seconds).returncode
    except subprocess.TimeoutExpired:
        sys.exit(f"{{program}}: no end after {{seconds:g}} s")
    if status:
        sys.exit(f"{{program}}: iree-run-module ended with {{status}}")
    return np.load(output).view(np.uint8).reshape(-1)


def elements(whole, binding):
    name, offset, _ = PLACES[binding]
    length = BINDINGS[binding][0] // dtype(name).itemsize * dtype(name).itemsize
    return whole[offset : offset + length].view(dtype(name)).astype(np.float64)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default={device})
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    actual = run("{benchmark}", arguments.device, arguments.seconds)
    changed = actual != buffer()
    written = [number for number, (*_, is_written) in enumerate(PLACES) if is_written]
    for number in written:
        offset = PLACES[number][1]
        changed[offset : offset + BINDINGS[number][0]] = False
    print(f"bytes written out of bounds: {{changed.sum()}}")
    fails = changed.any()
    if "{reference}" in COMPILATIONS:
        expected = run("{reference}", "local-task", arguments.seconds)
        for number in written:
            one, other = elements(actual, number), elements(expected, number)
            error = np.linalg.norm(one - other) / np.linalg.norm(other)
            print(f"binding {{number}}: relative error {{error:.3g}}")
            fails |= not error < 1e-2
    sys.exit(int(fails))
'''


@dataclass(frozen=True)
class RunnableBenchmark:
    """A benchmark of a dispatch as text.

    Attributes:
        text: the module; its function returns its buffer.
        phase: the phase of the module.
        flags: the flags of the compiler.
    """

    text: str
    phase: Phase
    flags: tuple[str, ...]


def runnable(module: mlir.Operation, phase: Phase, flags: Sequence[str]) -> RunnableBenchmark:
    """Return a benchmark whose function returns its buffer, which `iree-run-module` can write to a file.

    Args:
        module: a benchmark on a buffer; it is changed.
        phase: the phase of the module.
        flags: the flags of the compiler.
    """
    function = next(op for op in body(module) if op.name == names.UTIL_FUNCTION)
    block = function.regions[0].blocks[0]
    buffer, end = block.arguments[0], list(block.operations)[-1]
    with module.context, mlir.Location.unknown(), mlir.InsertionPoint(end):
        view = mlir.Type.parse("!hal.buffer_view")
        index, i32 = mlir.IndexType.get(), mlir.IntegerType.get_signless(32)
        length = _operation("hal.buffer.length", index, buffer)
        start = _constant(index, 0)
        kind, encoding = (_constant(i32, number) for number in _BYTE_VIEW)
        result = _operation(
            "hal.buffer_view.create", view, buffer, start, length, kind, encoding, length
        )
        mlir.Operation.create("util.return", operands=[result])
        types = [argument.type for argument in block.arguments]
        function.attributes["function_type"] = mlir.TypeAttr.get(
            mlir.FunctionType.get(types, [view])
        )
    end.operation.erase()
    return RunnableBenchmark(str(module), phase, tuple(flags))


def _operation(name: str, kind: mlir.Type, *operands: mlir.Value[Any]) -> mlir.Value[Any]:
    return mlir.Operation.create(name, results=[kind], operands=list(operands)).result


def _constant(kind: mlir.Type, number: int) -> mlir.Value[Any]:
    value = mlir.IntegerAttr.get(kind, number)
    return mlir.Operation.create(
        "arith.constant", results=[kind], attributes={"value": value}
    ).result


def failing_run_script(
    programs: dict[str, RunnableBenchmark],
    function: str,
    layout: BufferLayout,
    finding: str,
    *,
    device: str,
    seed: int,
    version: str,
) -> str:
    """Return a Python script that runs a benchmark and shows how it fails.

    Args:
        programs: the benchmark as `BENCHMARK`, and its reference as `REFERENCE` if there is one.
        function: the name of its function.
        layout: the layout of its buffer.
        finding: the recorded failure.
        device: the runtime's device.
        seed: the seed of the inputs.
        version: the version of the compiler.
    """
    places = [
        (parts[0][0], binding.offset, binding.access is not Access.READ)
        for binding, (*_, parts) in zip(layout.bindings, binding_rows(layout), strict=True)
    ]
    compilations = {name: (p.phase.value, list(p.flags)) for name, p in programs.items()}
    return _SCRIPT.format(
        version=version,
        finding=finding.replace("\\", "\\\\").replace('"""', "'''"),
        benchmark=BENCHMARK,
        reference=REFERENCE,
        compilations=repr(compilations),
        function=repr(function),
        bindings=repr(binding_rows(layout)),
        places=repr(places),
        length=buffer_length(layout),
        stride=layout.stride,
        seed=seed,
        drawing=DRAWING,
        device=repr(device),
    )
