"""Operations that move, order or choose elements: NumPy's results against the compiler's code for this CPU."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from programs import PROGRAMS

from tuninglink.tuning.candidates.compilation import Compiled, compile_program
from tuninglink.tuning.devices.numerics import Outputs
from tuninglink.tuning.programs.benchmark import Benchmark
from tuninglink.tuning.programs.dispatches import read_program
from tuninglink.tuning.references.compiled_reference import HOST
from tuninglink.tuning.results import Correctness

if TYPE_CHECKING:
    from tuninglink.tuning.devices.device_process import DeviceProcess
    from tuninglink.tuning.programs.dispatches import TuningTask
    from tuninglink.tuning.references.references import References

PROGRAM = PROGRAMS / "moving_elements.mlir"
FUNCTIONS = re.findall(r"^func.func @(\w+)", PROGRAM.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def tasks() -> list[TuningTask]:
    return list(read_program(str(PROGRAM), HOST.flags).tasks)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_numpy_computes_what_the_code_does(
    function: str, tasks: list[TuningTask], device: DeviceProcess, references: References
) -> None:
    own = [task for task in tasks if task.label.startswith(f"{function}_dispatch")]
    assert own
    for task in own:
        compiled = compile_program(task.source, "")
        assert isinstance(compiled, Compiled)
        outputs = device.outputs(Benchmark(compiled.image, task.function, task.layout))
        assert isinstance(outputs, Outputs), outputs
        verdict = references.judge(task, outputs)
        assert verdict.correctness is Correctness.RIGHT, verdict
        assert "as NumPy computes" in verdict.reason
        zeros = Outputs({n: np.zeros_like(data) for n, data in outputs.bindings.items()}, None)
        assert references.judge(task, zeros).correctness is Correctness.WRONG
