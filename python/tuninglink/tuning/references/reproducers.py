"""Reproducers of wrong results and failures: programs, and scripts that run them with the stock tools."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from importlib import metadata, resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from iree.compiler.dialects import func  # type: ignore[attr-defined]
from iree.compiler.passmanager import PassManager

from tuninglink.compiler import Phase
from tuninglink.devices import SYNCHRONOUS_DRIVER, THREADED_DRIVER, patterns
from tuninglink.files import write_file
from tuninglink.mlir import body, collect, names, thread_context
from tuninglink.passes.strip_configs import strip_configurations
from tuninglink.payloads import build, constant
from tuninglink.programs import (
    COMPILE_FAILURES,
    Access,
    BufferLayout,
    Failure,
    FailureKind,
    OutputVerdict,
    UnsupportedOperationError,
)
from tuninglink.tuning.candidates import apply_candidate, apply_specs
from tuninglink.tuning.references.evaluation import LOAD, STORE, SUBSPAN, StoredTensor, tensor_of
from tuninglink.tuning.references.references import program_reference_target, retarget

if TYPE_CHECKING:
    import os

    from tuninglink.programs import TuningTask
    from tuninglink.specs import Spec
    from tuninglink.tuning.candidates import Candidate, TunableTask


@dataclass(frozen=True)
class Reproducers:
    """A directory of programs that show failures.

    Its methods raise a `TuninglinkError` if nothing can be written.

    Attributes:
        directory: the directory, which is created.
        seed: the seed of the inputs of benchmarks.
    """

    directory: str | os.PathLike[str]
    flags: Sequence[str]
    device: str
    seed: int = 0

    def keep_candidate(
        self, prepared: TunableTask, candidate: Candidate, failure: Failure
    ) -> Path | None:
        """Write the program of a candidate that fails on the device, and return its file, or its directory if it runs.

        None means that the machine is the cause, or that the candidate is merely slower.
        """
        if failure.is_external or failure.kind is FailureKind.SLOWER:
            return None
        content = prepared.template.content_for(candidate)
        module = mlir.Module.parse(content, thread_context()).operation
        apply_candidate(module, candidate)
        failure = replace(failure, message=f"{failure.message}\n\n{candidate}")
        phase, suffix = Phase.EXECUTABLE_CONFIGURATIONS, candidate.key[:12]
        return self._write(prepared.task, module, phase, failure, suffix)

    def keep_dispatch(
        self, task: TuningTask, failure: Failure, specs: Sequence[Spec] = ()
    ) -> Path | None:
        """Write the program of a dispatch that fails as the compiler or specs configure it; see `keep_candidate`."""
        if failure.is_external:
            return None
        content, phase, suffix = task.source, Phase.EXECUTABLE_SOURCES, "default"
        if specs:
            content = apply_specs(task.source, self.flags, specs).output
            phase, suffix = Phase.EXECUTABLE_CONFIGURATIONS, "spec"
        module = mlir.Module.parse(content, thread_context()).operation
        return self._write(task, module, phase, failure, suffix)

    def keep_wrong(self, task: TuningTask, judgement: OutputVerdict) -> Path | None:
        """Write a dispatch whose default is wrong, with a script that shows it with the stock tools; return the directory.

        The dispatch is a function on tensors, or else a benchmark on a buffer.
        """
        try:
            text, inputs, outputs = _tensor_function(task.source, task.layout)
        except UnsupportedOperationError:
            return self.keep_dispatch(task, Failure(FailureKind.WRONG, judgement.reason))
        module = mlir.Module.parse(text, thread_context())
        programs = {"dispatch.mlir": text}
        if strip_configurations(module.operation):
            # The expected result is compiled without the configurations that the program holds itself.
            programs["unconfigured.mlir"] = str(module)
        target = program_reference_target(task.target.backend)
        tensors = [
            (tensor.part.element_type, list(tensor.part.shape), tensor.binding, tensor.part.offset)
            for tensor in inputs
        ]
        return self._write_folder(
            f"{task.label}-wrong-default",
            programs,
            "reproduce_wrong.txt",
            reference_program=list(programs)[-1],
            finding=judgement.reason,
            flags=json.dumps([*self.flags]),
            reference_flags=json.dumps(target.flags),
            bindings=_binding_rows(task.layout),
            inputs=json.dumps(tensors),
            samples=json.dumps([astuple(sample) for sample in judgement.samples]),
            outputs=outputs,
            device=self.device,
        )

    def _write_folder(
        self, name: str, programs: Mapping[str, str], template: str, **values: object
    ) -> Path:
        """Write programs, and a script from a template, which draws the inputs of `SEED` as `devices.inputs` does."""
        scripts = resources.files("tuninglink.tuning.references")
        drawing, script = (scripts.joinpath(f).read_text() for f in ("draw_inputs.txt", template))
        script = Template(script).substitute(
            values, version=metadata.version("iree-base-compiler"), seed=self.seed, drawing=drawing
        )
        path = Path(self.directory, name)
        path.mkdir(parents=True, exist_ok=True)
        for file, text in {**programs, "reproduce.py": script}.items():
            write_file(path / file, text)
        return path

    def _write(
        self, task: TuningTask, module: mlir.Operation, phase: Phase, failure: Failure, suffix: str
    ) -> Path:
        """Write a program with the command that does not compile it, or with a script that runs it and fails."""
        name = f"{task.label}-{failure.kind.value}-{suffix}"
        if failure.kind in COMPILE_FAILURES:
            flags = shlex.join(self.flags)
            command = f"iree-compile %s --compile-from={phase.value} {flags} -o /dev/null"
            lines = (command, "", *failure.message.splitlines())
            path = Path(self.directory, f"{name}.mlir")
            path.parent.mkdir(parents=True, exist_ok=True)
            comments = [f"// {line}".rstrip() for line in lines]
            write_file(path, "\n".join([*comments, "", str(module)]))
            return path
        programs = {"benchmark.mlir": _runnable(module)}
        compilations = {"benchmark.mlir": (phase.value, list(self.flags))}
        if failure.kind is FailureKind.WRONG:
            target = program_reference_target(task.target.backend)
            reference = mlir.Module.parse(task.source, thread_context()).operation
            retarget(reference, target)
            programs["reference.mlir"] = _runnable(reference)
            compilations["reference.mlir"] = (Phase.EXECUTABLE_SOURCES.value, list(target.flags))
        device = self.device
        if failure.kind is FailureKind.CRASH and device == SYNCHRONOUS_DRIVER:
            device = THREADED_DRIVER  # whose workers have the stack that the code was measured with
        rows = _binding_rows(task.layout)
        return self._write_folder(
            name,
            programs,
            "reproduce_failing.txt",
            finding=failure.message.replace("\\", "\\\\").replace('"""', "'''"),
            compilations=compilations,
            function=repr(task.function),
            bindings=rows,
            places=[
                (parts[0][0], binding.offset, binding.access is not Access.READ)
                for binding, (*_, parts) in zip(task.layout.bindings, rows, strict=True)
            ],
            length=task.layout.stride + task.layout.guard,
            stride=task.layout.stride,
            device=repr(device),
        )


# --- Wrong results, as functions on tensors


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
            function = func.FuncOp("dispatch", (types, results))
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


def _binding_rows(layout: BufferLayout) -> list[tuple[int, int, list[tuple[str, int, int]]]]:
    """Return `BINDINGS` of a script: bytes, the largest integer, and parts with their type, start and length."""
    rows = []
    for binding, parts in zip(layout.bindings, patterns(layout, 0), strict=True):
        shown = [(part.name, part.start, part.length) for part in parts]
        rows.append((binding.byte_length, binding.largest_integer, shown))
    return rows


# --- Compiled dispatches that crash, hang or write out of bounds, as benchmarks on a buffer


def _runnable(module: mlir.Operation) -> str:
    """Return a benchmark whose function returns its buffer, which `iree-run-module` can write to a file."""
    function = next(op for op in body(module) if op.name == names.UTIL_FUNCTION)
    block = function.regions[0].blocks[0]
    buffer, end = block.arguments[0], list(block.operations)[-1]
    with module.context, mlir.Location.unknown(), mlir.InsertionPoint(end):
        view = mlir.Type.parse("!hal.buffer_view")
        index, i32 = mlir.IndexType.get(), mlir.IntegerType.get_signless(32)
        length = build("hal.buffer.length", index, buffer)
        # The numbers of element type `i8` and of the dense row-major encoding are from `iree/hal/buffer_view.h`.
        element, encoding = constant(i32, 0x10000008), constant(i32, 1)
        operands = (buffer, constant(index, 0), length, element, encoding, length)
        result = build("hal.buffer_view.create", view, *operands)
        mlir.Operation.create("util.return", operands=[result])
        types = [argument.type for argument in block.arguments]
        function.attributes["function_type"] = mlir.TypeAttr.get(
            mlir.FunctionType.get(types, [view])
        )
    end.operation.erase()
    return str(module)
