"""Reproducers of wrong results and failures: programs, and scripts that run them with the stock tools."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import func  # type: ignore[attr-defined]
from iree.compiler.passmanager import PassManager

from tuninglink.compiler import Phase
from tuninglink.files import write_file
from tuninglink.mlir import body, collect, names, thread_context
from tuninglink.passes.strip_configs import strip_configurations
from tuninglink.tuning.candidates import apply_candidate, apply_specs
from tuninglink.tuning.devices import (
    SYNCHRONOUS_DRIVER,
    THREADED_DRIVER,
    buffer_length,
    patterns,
)
from tuninglink.tuning.programs import (
    COMPILE_FAILURES,
    Access,
    BufferLayout,
    Failure,
    FailureKind,
    OutputVerdict,
)
from tuninglink.tuning.references.operations import UnsupportedOperationError
from tuninglink.tuning.references.points import LOAD, STORE, SUBSPAN, StoredTensor, tensor_of
from tuninglink.tuning.references.references import program_reference_target, retarget

if TYPE_CHECKING:
    import os

    from tuninglink.specs import Spec
    from tuninglink.tuning.candidates import Candidate, TunableTask
    from tuninglink.tuning.programs import TuningTask


class Reproducers:
    """A directory of programs that show failures.

    Args:
        directory: the directory, which is created.
        flags: the flags of the compiler.
        seed: the seed of the inputs of benchmarks.
    """

    def __init__(
        self, directory: str | os.PathLike[str], flags: Sequence[str], seed: int = 0
    ) -> None:
        self._directory = Path(directory)
        self._flags = tuple(flags)
        self._seed = seed

    def keep_candidate(
        self, prepared: TunableTask, candidate: Candidate, failure: Failure, device: str
    ) -> Path | None:
        """Write the program of a candidate that fails on a device.

        Returns:
            The program, or its directory if it fails at run time; None if the machine is the cause, or it is merely
            slower.

        Raises:
            TuninglinkError: it cannot be written.
        """
        if failure.is_external or failure.kind is FailureKind.SLOWER:
            return None
        content = prepared.template.content_for(candidate)
        module = mlir.Module.parse(content, thread_context()).operation
        apply_candidate(module, candidate)
        failure = replace(failure, message=f"{failure.message}\n\n{candidate}")
        phase, suffix = Phase.EXECUTABLE_CONFIGURATIONS, candidate.key[:12]
        return self._write(prepared.task, module, phase, failure, suffix=suffix, device=device)

    def keep_dispatch(
        self, task: TuningTask, failure: Failure, device: str, specs: Sequence[Spec] = ()
    ) -> Path | None:
        """Write the program of a dispatch that fails on a device as the compiler or specs configure it.

        Returns:
            See `keep_candidate`.

        Raises:
            TuninglinkError: it cannot be written.
        """
        if failure.is_external:
            return None
        content, phase, suffix = task.source, Phase.EXECUTABLE_SOURCES, "default"
        if specs:
            content = apply_specs(task.source, self._flags, specs).output
            phase, suffix = Phase.EXECUTABLE_CONFIGURATIONS, "spec"
        module = mlir.Module.parse(content, thread_context()).operation
        return self._write(task, module, phase, failure, suffix=suffix, device=device)

    def keep_wrong(self, task: TuningTask, judgement: OutputVerdict, device: str) -> Path | None:
        """Write a dispatch whose default is wrong, with a script that shows it with the stock tools.

        Returns:
            The directory: of the dispatch as a function on tensors, or else as a benchmark on a buffer.

        Raises:
            TuninglinkError: it cannot be written.
        """
        try:
            text, inputs, outputs = _tensor_function(task.source, task.layout)
        except UnsupportedOperationError:
            return self.keep_dispatch(task, Failure(FailureKind.WRONG, judgement.reason), device)
        module = mlir.Module.parse(text, thread_context())
        programs = {_PROGRAM: text}
        if strip_configurations(module.operation):
            # The expected result is compiled without the configurations that the program holds itself.
            programs[_UNCONFIGURED_PROGRAM] = str(module)
        target = program_reference_target(task.target.backend)
        tensors = [
            (tensor.part.element_type, list(tensor.part.shape), tensor.binding, tensor.part.offset)
            for tensor in inputs
        ]
        script = _WRONG_SCRIPT.format(
            drawing=_DRAWING,
            version=metadata.version("iree-base-compiler"),
            program=_PROGRAM,
            reference_program=list(programs)[-1],
            finding=judgement.reason,
            flags=json.dumps(self._flags),
            reference_flags=json.dumps(target.flags),
            bindings=repr(_binding_rows(task.layout)),
            inputs=json.dumps(tensors),
            seed=self._seed,
            samples=json.dumps([astuple(sample) for sample in judgement.samples]),
            outputs=outputs,
            function=_NAME,
            device=device,
        )
        return self._write_folder(f"{task.label}-wrong-default", programs, script)

    def _write_folder(self, name: str, programs: Mapping[str, str], script: str) -> Path:
        path = self._directory / name
        path.mkdir(parents=True, exist_ok=True)
        for file, text in {**programs, "reproduce.py": script}.items():
            write_file(path / file, text)
        return path

    def _write(
        self,
        task: TuningTask,
        module: mlir.Operation,
        phase: Phase,
        failure: Failure,
        *,
        suffix: str,
        device: str,
    ) -> Path:
        """Write a program with the command that does not compile it, or with a script that runs it and fails."""
        name = f"{task.label}-{failure.kind.value}-{suffix}"
        if failure.kind in COMPILE_FAILURES:
            flags = shlex.join(self._flags)
            command = f"iree-compile %s --compile-from={phase.value} {flags} -o /dev/null"
            lines = (command, "", *failure.message.splitlines())
            path = self._directory / f"{name}.mlir"
            self._directory.mkdir(parents=True, exist_ok=True)
            comments = [f"// {line}".rstrip() for line in lines]
            write_file(path, "\n".join([*comments, "", str(module)]))
            return path
        programs = {_BENCHMARK: _runnable(module, phase, self._flags)}
        if failure.kind is FailureKind.WRONG:
            target = program_reference_target(task.target.backend)
            reference = mlir.Module.parse(retarget(task.source, target), thread_context())
            programs[_REFERENCE] = _runnable(
                reference.operation, Phase.EXECUTABLE_SOURCES, target.flags
            )
        if failure.kind is FailureKind.CRASH and device == SYNCHRONOUS_DRIVER:
            device = THREADED_DRIVER  # whose workers have the stack that the code was measured with
        rows = _binding_rows(task.layout)
        places = [
            (parts[0][0], binding.offset, binding.access is not Access.READ)
            for binding, (*_, parts) in zip(task.layout.bindings, rows, strict=True)
        ]
        script = _FAILING_SCRIPT.format(
            version=metadata.version("iree-base-compiler"),
            finding=failure.message.replace("\\", "\\\\").replace('"""', "'''"),
            benchmark=_BENCHMARK,
            reference=_REFERENCE,
            compilations=repr(
                {name: (p.phase.value, list(p.flags)) for name, p in programs.items()}
            ),
            function=repr(task.function),
            bindings=repr(rows),
            places=repr(places),
            length=buffer_length(task.layout),
            stride=task.layout.stride,
            seed=self._seed,
            drawing=_DRAWING,
            device=repr(device),
        )
        texts = {file: program.text for file, program in programs.items()}
        return self._write_folder(name, texts, script)


# --- Wrong results, as functions on tensors

_NAME: Final = "dispatch"
_PROGRAM: Final = "dispatch.mlir"
_UNCONFIGURED_PROGRAM: Final = "unconfigured.mlir"


def _tensor_function(source: bytes, layout: BufferLayout) -> tuple[str, list[StoredTensor], int]:
    """Return the computation of a dispatch as a function on tensors, its inputs, and the number of its outputs."""
    benchmark = mlir.Module.parse(source, thread_context())
    (dispatch,) = collect(benchmark.operation, names.FUNCTION)
    loads, stores = collect(dispatch, LOAD), collect(dispatch, STORE)
    inputs = [tensor_of(load.operands[0], layout) for load in loads]
    for load, tensor in zip(loads, inputs, strict=True):
        sizes = mlir.RankedTensorType(load.results[0].type).shape
        if math.prod(sizes) != math.prod(tensor.part.shape):
            raise UnsupportedOperationError("a load of a part of a binding")
    for store in stores:
        tensor_of(store.operands[1], layout)
    # Make a function that returns the stored values.
    with benchmark.context, mlir.Location.unknown():
        module = mlir.Module.create()
        with mlir.InsertionPoint(module.body):
            types = [load.results[0].type for load in loads]
            results = [store.operands[0].type for store in stores]
            function = func.FuncOp(_NAME, (types, results))
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
    # Remove unused offsets of bindings.
    PassManager.parse("builtin.module(canonicalize)", context=module.context).run(module.operation)
    return str(module), inputs, len(stores)


_DRAWING: Final = """\
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


def _binding_rows(layout: BufferLayout) -> list[tuple[int, int, list[tuple[str, int, int]]]]:
    """Return `BINDINGS` of a script: bytes, the largest integer, and parts with their type, start and length."""
    rows = []
    for binding, parts in zip(layout.bindings, patterns(layout, 0), strict=True):
        shown = [(part.name, part.start, part.length) for part in parts]
        rows.append((binding.byte_length, binding.largest_integer, shown))
    return rows


_WRONG_SCRIPT: Final = '''\
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


# --- Compiled dispatches that crash, hang or write out of bounds, as benchmarks on a buffer

_BENCHMARK: Final = "benchmark.mlir"
_REFERENCE: Final = "reference.mlir"

_BYTE_VIEW: Final = (0x10000008, 1)
"""The runtime's numbers of element type `i8` and the dense row-major encoding (`iree/hal/buffer_view.h`)."""

_FAILING_SCRIPT: Final = '''\
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
class _Runnable:
    """A benchmark of a dispatch as text, and how to compile it."""

    text: str
    phase: Phase
    flags: tuple[str, ...]


def _runnable(module: mlir.Operation, phase: Phase, flags: Sequence[str]) -> _Runnable:
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
    return _Runnable(str(module), phase, tuple(flags))


def _operation(name: str, kind: mlir.Type, *operands: mlir.Value[Any]) -> mlir.Value[Any]:
    return mlir.Operation.create(name, results=[kind], operands=list(operands)).result


def _constant(kind: mlir.Type, number: int) -> mlir.Value[Any]:
    value = mlir.IntegerAttr.get(kind, number)
    return mlir.Operation.create(
        "arith.constant", results=[kind], attributes={"value": value}
    ).result
