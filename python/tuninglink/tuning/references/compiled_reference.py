"""The reference of a task: the expected outputs of its dispatch, from code for another target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuninglink.compiler.session import set_up_command_line
from tuninglink.errors import TuninglinkError
from tuninglink.tuning.candidates.compilation import compile_program
from tuninglink.tuning.devices.measurement import Measurer
from tuninglink.tuning.devices.numerics import Outputs
from tuninglink.tuning.devices.running import MeasurementError
from tuninglink.tuning.devices.timing import Settings
from tuninglink.tuning.programs.benchmark import Benchmark, BufferLayout
from tuninglink.tuning.references.retargeting import ReferenceTarget, retarget
from tuninglink.tuning.references.stored_tensors import StoredTensor, stored_tensors
from tuninglink.tuning.references.tolerance import Expected, compare_with, perturbed_inputs
from tuninglink.tuning.results.failures import Failure, FailureKind


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
