"""The computation of a dispatch as a function on tensors, and reproducers of wrong results, which the stock tools run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np
from iree.compiler import ir as mlir
from iree.compiler.dialects import func  # type: ignore[attr-defined]
from iree.compiler.passmanager import PassManager

from tuninglink.iree import REDUCTION, OpKind, StructuredOp
from tuninglink.mlir import body, collect, names, thread_context, visit
from tuninglink.tuning.devices import buffer_length, patterns
from tuninglink.tuning.programs import Access, BufferLayout, element_type, is_float
from tuninglink.tuning.references.operations import UnsupportedOperationError
from tuninglink.tuning.references.points import LOAD, STORE, SUBSPAN, StoredTensor, tensor_of

if TYPE_CHECKING:
    from tuninglink.compiler import Phase
    from tuninglink.tuning.programs import OutputVerdict


NAME: Final = "dispatch"
_SUM: Final = 4.0
_CLEAN_UP: Final = "builtin.module(canonicalize)"
"""The pipeline that removes unused offsets of bindings."""


@dataclass(frozen=True)
class TensorFunction:
    """A dispatch as a function."""

    text: str
    inputs: tuple[StoredTensor, ...]
    outputs: tuple[int, ...]


def tensor_function(source: bytes, layout: BufferLayout) -> TensorFunction:
    """Return the computation of a dispatch as a function on tensors."""
    benchmark = mlir.Module.parse(source, thread_context())
    (dispatch,) = collect(benchmark.operation, names.FUNCTION)
    loads, stores = collect(dispatch, LOAD), collect(dispatch, STORE)
    _expect_whole_loads(loads, layout)
    inputs = tuple(tensor_of(load.operands[0], layout) for load in loads)
    outputs = tuple(tensor_of(store.operands[1], layout).binding for store in stores)
    # Make a function that returns the stored values.
    with benchmark.context, mlir.Location.unknown():
        module = mlir.Module.create()
        with mlir.InsertionPoint(module.body):
            types = [load.results[0].type for load in loads]
            results = [store.operands[0].type for store in stores]
            function = func.FuncOp(NAME, (types, results))
            block = function.add_entry_block()
            with mlir.InsertionPoint(block):
                end = func.ReturnOp([store.operands[0] for store in stores]).operation
    # Move the body there.
    for load, argument in zip(loads, block.arguments, strict=True):
        load.results[0].replace_all_uses_with(argument)
    for operation in (*stores, *loads):
        operation.erase()
    for operation in [op.operation for op in dispatch.regions[0].blocks[0].operations][:-1]:
        if operation.name == SUBSPAN:
            operation.erase()
        else:
            operation.move_before(end)
    PassManager.parse(_CLEAN_UP, context=module.context).run(module.operation)
    return TensorFunction(str(module), inputs, outputs)


def summation_error(source: bytes) -> float:
    """Return the error of a dispatch's sums in a different order, relative to their magnitude.

    Roundings of partial sums that grow as a random walk deviate by 0.2 units of the accumulator's precision times
    `sqrt(terms)` (standard deviation); four units leave room for the largest of millions.

    Args:
        source: its benchmark at `executable-sources`.
    """
    largest = 0.0

    def look(op: StructuredOp, dtype: np.dtype) -> None:
        nonlocal largest
        precision = float(ml_dtypes.finfo(_accumulator(op, dtype)).eps)  # type: ignore[no-untyped-call]
        largest = max(largest, _SUM * precision * math.sqrt(_terms(op)))

    _visit_reductions(source, look)
    return largest


def narrow_sum(source: bytes) -> str:
    """Return the type in which a dispatch adds up, if that is f16 or bf16; otherwise an empty text.

    Args:
        source: its benchmark at `executable-sources`.
    """
    narrow = ""

    def look(op: StructuredOp, _: np.dtype) -> None:
        nonlocal narrow
        blocks = [block for region in op.operation.regions for block in region]
        adds = any(inner.operation.name == "arith.addf" for block in blocks for inner in block)
        if adds and op.results[0].element in ("f16", "bf16"):
            narrow = op.results[0].element

    _visit_reductions(source, look)
    return narrow


def _visit_reductions(source: bytes, look: Callable[[StructuredOp, np.dtype], None]) -> None:
    """Call a function with each reduction to floating-point numbers and the type of its result."""
    benchmark = mlir.Module.parse(source, thread_context())

    def visited(operation: mlir.Operation) -> None:
        op = StructuredOp(operation)
        if op.maps and REDUCTION in op.iterator_types and op.results:
            dtype = element_type(op.results[0].element)
            if dtype is not None and is_float(op.results[0].element):
                look(op, dtype)

    visit(benchmark.operation, visited)


def _accumulator(op: StructuredOp, result: np.dtype) -> np.dtype:
    return np.dtype(np.float32) if op.kind is OpKind.ATTENTION else result


def _terms(op: StructuredOp) -> int:
    loops = zip(op.iterator_types, op.sizes, strict=True)
    sizes = [size or 1 for kind, size in loops if kind == REDUCTION]
    return max(sizes) if op.kind is OpKind.ATTENTION else math.prod(sizes)


def _expect_whole_loads(loads: list[mlir.Operation], layout: BufferLayout) -> None:
    for load in loads:
        tensor = tensor_of(load.operands[0], layout)
        sizes = mlir.RankedTensorType(load.results[0].type).shape
        if math.prod(sizes) != math.prod(tensor.part.shape):
            raise UnsupportedOperationError("a load of a part of a binding")


DRAWING: Final = """\
EIGHT_BITS = ("E4M3FN", "E4M3FNUZ", "E5M2", "E5M2FNUZ", "E8M0FNU")


def dtype(name):
    special = {"bf16": ml_dtypes.bfloat16, "i1": np.bool_, "index": np.int64, "bytes": np.uint8}
    special |= {"f8" + kind: getattr(ml_dtypes, "float8_" + kind.lower()) for kind in EIGHT_BITS}
    return np.dtype(special.get(name) or name.lstrip("su").replace("f", "float").replace("i", "int"))


def values(name, count, seed, largest):
    random = np.random.default_rng(seed)
    drawn = min(count, 1_048_583)
    if name == "bytes":
        x = random.integers(1, 256, drawn, np.uint8)
    elif "f" in name:
        x = random.random(drawn, np.float32) * np.float32(1.875) - np.float32(0.9375)
        x = (np.abs if name == "f8E8M0FNU" else np.positive)(x + np.copysign(np.float32(0.0625), x))
    elif dtype(name) == np.int8:
        x = random.integers(1, 8, drawn, np.int8) * random.choice((-1, 1), drawn)
    elif name == "i1":
        x = random.integers(0, 2, drawn, np.uint8)
    else:
        x = random.integers(min(1, largest), largest + 1, drawn, dtype(name))
    return np.resize(x.astype(dtype(name)), count)


def content(binding):
    length, largest, parts = BINDINGS[binding]
    whole = np.zeros(length, np.uint8)
    for number, (name, start, size) in enumerate(parts):
        seed = (SEED, binding, start) if number else (SEED, binding)
        data = values(name, size // dtype(name).itemsize, seed, largest).view(np.uint8)
        whole[start : start + size] = data
    return whole
"""
"""Functions of a script that draw the contents of `BINDINGS` for `SEED`, as `devices.inputs` does."""


def binding_rows(layout: BufferLayout) -> list[tuple[int, int, list[tuple[str, int, int]]]]:
    """Return `BINDINGS` of a script: bytes, the largest integer, and parts with their type, start and length."""
    rows = []
    for binding, parts in zip(layout.bindings, patterns(layout, 0), strict=True):
        shown = [(part.name, part.start, part.length) for part in parts]
        rows.append((binding.byte_length, binding.largest_integer, shown))
    return rows


PROGRAM: Final = "dispatch.mlir"
UNCONFIGURED_PROGRAM: Final = "unconfigured.mlir"
"""The program without the configurations that it holds itself, from which the expected result is compiled."""

_SCRIPT: Final = '''\
#!/usr/bin/env python3
"""A dispatch whose result is wrong, as iree-compile {version} compiles it.

    python reproduce.py [--device URI]

Compiles {program} and {reference_program} with a set of flags each, runs both on the same random inputs, and prints the relative error of the
first result against the second. Needs iree-base-compiler, iree-base-runtime, NumPy and ml_dtypes.

{finding}
"""

import argparse
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np

NaN, Infinity = float("nan"), float("inf")
HERE = Path(__file__).parent
FLAGS = {flags}
REFERENCE_FLAGS = {reference_flags}
BINDINGS = {bindings}  # bytes, largest integer, parts: element type, start, bytes
INPUTS = {inputs}  # element type, shape, binding, its offset there
SEED = {seed}
SAMPLES = {samples}  # binding, position, actual value, expected value


{drawing}

def run(program, flags, device, name):
    module = HERE / f"{{name}}.vmfb"
    subprocess.run(["iree-compile", HERE / program, "-o", module, *flags], check=True)
    arguments = []
    for number, (element, shape, binding, offset) in enumerate(INPUTS):
        path = HERE / f"input{{number}}.bin"
        length = int(np.prod(shape)) * dtype(element).itemsize
        path.write_bytes(content(binding)[offset : offset + length].tobytes())
        sizes = "".join(f"{{size}}x" for size in shape)
        arguments.append(f"--input={{sizes}}{{element}}=@{{path}}")
    outputs = [HERE / f"{{name}}.{{number}}.npy" for number in range({outputs})]
    command = ["iree-run-module", f"--module={{module}}", "--function={function}", f"--device={{device}}"]
    subprocess.run([*command, *arguments, *(f"--output=@{{path}}" for path in outputs)], check=True)
    return [np.load(path).astype(np.float64) for path in outputs]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="{device}")
    actual = run("{program}", FLAGS, parser.parse_args().device, "actual")
    expected = run("{reference_program}", REFERENCE_FLAGS, "local-task", "expected")
    for number, (one, other) in enumerate(zip(actual, expected)):
        error = np.linalg.norm(one - other) / np.linalg.norm(other)
        print(f"output {{number}}: relative error {{error:.3g}}")
    print("recorded: binding, position, actual value, expected value")
    for sample in SAMPLES:
        print(*sample)
'''


def reproducer_script(
    function: TensorFunction,
    layout: BufferLayout,
    judgement: OutputVerdict,
    flags: Sequence[str],
    reference_flags: Sequence[str],
    *,
    device: str,
    seed: int,
    version: str,
    reference_program: str = PROGRAM,
) -> str:
    """Return a Python script that shows a wrong result."""
    inputs = [
        (tensor.part.element_type, list(tensor.part.shape), tensor.binding, tensor.part.offset)
        for tensor in function.inputs
    ]
    return _SCRIPT.format(
        drawing=DRAWING,
        version=version,
        program=PROGRAM,
        reference_program=reference_program,
        finding=judgement.reason,
        flags=json.dumps(list(flags)),
        reference_flags=json.dumps(list(reference_flags)),
        bindings=repr(binding_rows(layout)),
        inputs=json.dumps(inputs),
        seed=seed,
        samples=json.dumps([astuple(sample) for sample in judgement.samples]),
        outputs=len(function.outputs),
        function=NAME,
        device=device,
    )


# --- Reproducers of compiled dispatches that crash, hang or write out of bounds, for the stock tools only

BENCHMARK: Final = "benchmark.mlir"
REFERENCE: Final = "reference.mlir"

_BYTE_VIEW: Final = (0x10000008, 1)
"""The runtime's numbers of element type `i8` and the dense row-major encoding (`iree/hal/buffer_view.h`)."""

_FAILING_RUN_SCRIPT: Final = '''\
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
    """A benchmark of a dispatch as text."""

    text: str
    phase: Phase
    flags: tuple[str, ...]


def runnable(module: mlir.Operation, phase: Phase, flags: Sequence[str]) -> RunnableBenchmark:
    """Return a benchmark whose function returns its buffer, which `iree-run-module` can write to a file."""
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
    """Return a Python script that runs a benchmark and shows how it fails."""
    places = [
        (parts[0][0], binding.offset, binding.access is not Access.READ)
        for binding, (*_, parts) in zip(layout.bindings, binding_rows(layout), strict=True)
    ]
    compilations = {name: (p.phase.value, list(p.flags)) for name, p in programs.items()}
    return _FAILING_RUN_SCRIPT.format(
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
