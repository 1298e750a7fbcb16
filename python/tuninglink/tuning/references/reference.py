"""The reference of a task: what its dispatch should compute, from code for another target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuninglink.compiler.session import set_up_command_line
from tuninglink.errors import TuninglinkError
from tuninglink.tuning.candidates.compilation import compile_program
from tuninglink.tuning.devices.measurement import Measurer
from tuninglink.tuning.devices.running import MeasurementError
from tuninglink.tuning.devices.timing import Settings
from tuninglink.tuning.programs.benchmark import Benchmark
from tuninglink.tuning.references.retargeting import retarget
from tuninglink.tuning.references.tolerance import Expected, compare_with, perturbed_inputs
from tuninglink.tuning.results.failures import Failure, FailureKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.tuning.devices.measurement import Outputs
    from tuninglink.tuning.devices.numerics import Comparison
    from tuninglink.tuning.programs.benchmark import BufferLayout
    from tuninglink.tuning.references.retargeting import ReferenceTarget


@dataclass(frozen=True)
class Reference:
    """What a dispatch should compute.

    Attributes:
        target: the name of the target whose code computed it.
        outputs: what each binding that the dispatch writes should hold.
    """

    target: str
    outputs: Mapping[int, Expected]

    def compare(self, layout: BufferLayout, outputs: Outputs, summation: float) -> Failure | None:
        """Returns what is wrong with the outputs of a kernel; None if they are right.

        Args:
            layout: the buffer that the kernel ran on.
            outputs: what it wrote.
            summation: how far sums may be off; see `summation_error`.
        """
        if outputs.violation is not None:
            return Failure(FailureKind.OUT_OF_BOUNDS, outputs.violation)
        for position, comparison in self.comparisons(layout, outputs, summation).items():
            if not comparison.agrees:
                message = f"binding {position}, against {self.target}: {comparison}"
                return Failure(FailureKind.WRONG, message)
        return None

    def comparisons(
        self, layout: BufferLayout, outputs: Outputs, summation: float
    ) -> dict[int, Comparison]:
        """Compares each binding that a kernel wrote; see `compare`."""
        return {
            position: compare_with(layout.bindings[position], actual, expected, summation)
            for position, actual in outputs.bindings.items()
            if (expected := self.outputs.get(position)) is not None
        }


# --- In the process of references ------------------------------------------------------------------------

_measurers: dict[str, Measurer] = {}


def set_up_process() -> None:
    """Sets up the process that computes references."""
    set_up_command_line("tuninglink", ())


def compute_reference(
    source: bytes, function: str, layout: BufferLayout, target: ReferenceTarget, seed: int
) -> Reference | str:
    """Returns the reference of a benchmark, or why there is none; for the process of references.

    Args:
        source: the benchmark at `executable-sources`.
        function: the name of its function.
        layout: the buffer that it runs on.
        target: what the reference is compiled for.
        seed: the seed of the inputs.
    """
    try:
        compiled = compile_program(retarget(source, target), "")
    except TuninglinkError as failure:
        return f"it does not compile for {target.name}: {failure.diagnostics[0].message}"
    if isinstance(compiled, str):
        return f"it does not compile for {target.name}: {compiled}"
    if target.device not in _measurers:
        _measurers[target.device] = Measurer(target.device, (), Settings(seed=seed))
    measurer = _measurers[target.device]
    benchmark = Benchmark(compiled.image, function, layout)
    try:
        values = measurer.outputs(benchmark)
        perturbed = measurer.outputs(benchmark, perturbed_inputs(layout, seed))
    except MeasurementError as failure:
        return f"it fails on {target.name}: {failure}"
    if values.violation is not None:
        return f"it is wrong on {target.name}: {values.violation}"
    outputs = {
        position: Expected(part, perturbed.bindings[position])
        for position, part in values.bindings.items()
    }
    return Reference(target.name, outputs)
