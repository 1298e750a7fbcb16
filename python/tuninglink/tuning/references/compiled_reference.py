"""Compiled references: a benchmark retargeted at `executable-sources`, and the outputs of its code for another target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.compiler.compile_options import Phase
from tuninglink.compiler.program_sources import compiler_run
from tuninglink.compiler.session import set_up_command_line
from tuninglink.errors import CompileError, TuninglinkError
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import error, thread_context
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.walk import body, collect
from tuninglink.passes.strip_configs import strip_configurations
from tuninglink.tuning.candidates.compilation import compile_program
from tuninglink.tuning.devices import Settings
from tuninglink.tuning.devices.inputs import perturbed_inputs
from tuninglink.tuning.devices.measurement import Measurer
from tuninglink.tuning.devices.numerics import Expected, Outputs, compare_with
from tuninglink.tuning.devices.running import MeasurementError
from tuninglink.tuning.programs.benchmark import Benchmark, BufferLayout
from tuninglink.tuning.references.stored_tensors import StoredTensor, stored_tensors
from tuninglink.tuning.results import Failure, FailureKind

_PROBE: Final = b"""
util.func public @probe(%value: tensor<8xf32>) -> tensor<8xf32> {
  %sum = arith.addf %value, %value : tensor<8xf32>
  util.return %sum : tensor<8xf32>
}
"""
_DEVICE_TARGET: Final = "#hal.device.target<"


@dataclass(frozen=True)
class ReferenceTarget:
    """A target whose code is a reference for other targets.

    Attributes:
        name: its name in messages.
        device: the runtime's device.
        flags: the compiler flags that select it.
        pipeline: the pipeline of all dispatches, as the text of an attribute; empty leaves the choice to the compiler.
        is_independent: whether its lowering differs from that of the targets that it is a reference for.
    """

    name: str
    device: str
    flags: tuple[str, ...]
    pipeline: str = ""
    is_independent: bool = True


_LOCAL: Final = "--iree-hal-target-device=local"
_BACKEND: Final = "--iree-hal-local-target-device-backends"

HOST: Final = ReferenceTarget(
    "llvm-cpu", "local-task", (_LOCAL, f"{_BACKEND}=llvm-cpu", "--iree-llvmcpu-target-cpu=host")
)
"""Code for the processor of this machine: the reference for other devices."""

SCALAR: Final = ReferenceTarget(
    "llvm-cpu without vectors",
    "local-sync",
    (_LOCAL, f"{_BACKEND}=llvm-cpu", "--iree-llvmcpu-target-cpu=generic"),
    "#iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<Default>>",
)
"""Code for any processor by a pipeline that does not tile and vectorize: the reference for llvm-cpu itself."""

GENERIC: Final = ReferenceTarget(
    "llvm-cpu for a generic processor",
    "local-task",
    (_LOCAL, f"{_BACKEND}=llvm-cpu", "--iree-llvmcpu-target-cpu=generic"),
    is_independent=False,
)
"""Code with other vectors and other tiles: the reference of whole programs for llvm-cpu, of which scalar code takes minutes, and
of dispatches without scalar code, such as attention."""


SCALAR_BACKEND: Final = "llvm-cpu"
"""The backend whose reference is scalar code."""


def reference_targets(backend: str) -> tuple[ReferenceTarget, ...]:
    """Return the targets for dispatches of a backend, most independent first; the first that compiles is the reference."""
    return (SCALAR, GENERIC) if backend == SCALAR_BACKEND else (HOST,)


def program_reference_target(backend: str) -> ReferenceTarget:
    """Return the target whose code for whole programs is compared with that of a backend."""
    return GENERIC if backend == SCALAR_BACKEND else HOST


@cache
def _targets_in_text(flags: tuple[str, ...]) -> tuple[str, str]:
    """Return the executable target and the device selected by flags, as texts of attributes."""
    with compiler_run(_PROBE, flags) as run:
        run.advance(Phase.START, Phase.EXECUTABLE_SOURCES)
        (variant,) = collect(run.module, names.EXECUTABLE_VARIANT)
        device = next(
            str(operation.attributes["initial_value"])
            for operation in body(run.module)
            if "initial_value" in operation.attributes
            and str(operation.attributes["initial_value"]).startswith(_DEVICE_TARGET)
        )
        return str(variant.attributes["target"]), device


def retarget(source: bytes, target: ReferenceTarget) -> bytes:
    """Return a benchmark for another target, as bytecode.

    Args:
        source: the benchmark at `executable-sources`.
        target: the target.

    Raises:
        CompileError: the benchmark has no device or no executable to retarget.
    """
    module = mlir.Module.parse(source, thread_context()).operation
    retarget_module(module, target)
    return to_bytecode(module)


def retarget_module(module: mlir.Operation, target: ReferenceTarget) -> None:
    """Change the target of a program.

    Args:
        module: the program at `executable-sources`.
        target: the target.

    Raises:
        CompileError: the program has no device or no executable to retarget.
    """
    executable_text, device_text = _targets_in_text(target.flags)
    with module.context:
        executable, device = (
            mlir.Attribute.parse(executable_text),
            mlir.Attribute.parse(device_text),
        )
        pipeline = mlir.Attribute.parse(target.pipeline) if target.pipeline else None
    variants = collect(module, names.EXECUTABLE_VARIANT)
    globals_ = [operation for operation in body(module) if _is_device(operation)]
    if not variants or not globals_:
        raise CompileError(error("it has no executable for a device"))
    # A program may hold configurations for the original target.
    strip_configurations(module)
    for variant in variants:
        variant.attributes["target"] = executable
        if pipeline is not None:
            for function in collect(variant, names.FUNCTION):
                function.attributes[names.TRANSLATION_INFO] = pipeline
    for operation in globals_:
        operation.attributes["initial_value"] = device


def _is_device(operation: mlir.Operation) -> bool:
    # Check the type first: the values of other globals may be large.
    is_global = str(operation.attributes.get("type")) == "!hal.device"
    return is_global and str(operation.attributes.get("initial_value")).startswith(_DEVICE_TARGET)


@dataclass(frozen=True)
class Reference:
    """The expected outputs of a dispatch.

    Attributes:
        target: the name of the target whose code computed them.
        outputs: the stored tensors with their expected contents.
        is_independent: see `ReferenceTarget`.
    """

    target: str
    outputs: tuple[tuple[StoredTensor, Expected], ...]
    is_independent: bool = True

    @property
    def byte_length(self) -> int:
        """Its memory use, in bytes."""
        return sum(
            expected.values.nbytes + expected.perturbed.nbytes for _, expected in self.outputs
        )

    def compare(self, outputs: Outputs, summation: float) -> Failure | None:
        """Return the failure of a kernel's outputs; None if they are right.

        Args:
            outputs: the outputs.
            summation: the tolerance of sums; see `summation_error`.
        """
        if outputs.violation is not None:
            return Failure(FailureKind.OUT_OF_BOUNDS, outputs.violation)
        for tensor, expected in self.outputs:
            actual = tensor.content(outputs.bindings)
            if actual.tobytes() == expected.values.tobytes():
                continue
            comparison = compare_with(tensor.part, actual, expected, summation)
            if not comparison.agrees:
                message = f"binding {tensor.binding}, against {self.target}: {comparison}"
                return Failure(FailureKind.WRONG, message)
        return None


# --- In the process of references ------------------------------------------------------------------------

_measurers: dict[str, Measurer] = {}


def set_up_process() -> None:
    """Set up the process that computes references."""
    set_up_command_line("tuninglink", ())


def reference_measurer(device: str, seed: int) -> Measurer:
    """Return the measurer that runs code of references in this process, which has one seed."""
    if device not in _measurers:
        _measurers[device] = Measurer(device, (), Settings(seed=seed))
    return _measurers[device]


def compute_reference(
    source: bytes,
    function: str,
    layout: BufferLayout,
    targets: Sequence[ReferenceTarget],
    seed: int,
) -> Reference | str:
    """Return the reference of a benchmark, or the reasons for having none. Runs in the process of references.

    Args:
        source: the benchmark at `executable-sources`.
        function: the name of its function.
        layout: the layout of its buffer.
        targets: the targets of the reference; the first one for which it compiles and runs is used.
        seed: the seed of the inputs.
    """
    reasons = []
    for target in targets:
        reference = _compute(source, function, layout, target, seed)
        if isinstance(reference, Reference):
            return reference
        reasons.append(reference)
    return "; ".join(reasons)


def _compute(
    source: bytes, function: str, layout: BufferLayout, target: ReferenceTarget, seed: int
) -> Reference | str:
    try:
        compiled = compile_program(retarget(source, target), "")
    except TuninglinkError as failure:
        return f"it does not compile for {target.name}: {failure.diagnostics[0].message}"
    if isinstance(compiled, str):
        return f"it does not compile for {target.name}: {compiled}"
    measurer = reference_measurer(target.device, seed)
    benchmark = Benchmark(compiled.image, function, layout)
    try:
        values = measurer.outputs(benchmark)
        perturbed = measurer.outputs(benchmark, perturbed_inputs(layout, seed))
    except MeasurementError as failure:
        return f"it fails on {target.name}: {failure}"
    if values.violation is not None:
        return f"it is wrong on {target.name}: {values.violation}"
    tensors = stored_tensors(source, layout)
    outputs = tuple(
        (tensor, Expected(tensor.content(values.bindings), tensor.content(perturbed.bindings)))
        for tensor in tensors
    )
    return Reference(target.name, outputs, target.is_independent)
