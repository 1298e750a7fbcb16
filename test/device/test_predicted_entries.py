"""Dispatches for which the time of a run was too short get predicted entries, if the whole program is not slower with them."""

from __future__ import annotations

import re
import time
from concurrent.futures import wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from programs import TARGETS
from recorded_tuning import DESCRIPTION, REMOTE, RecordedDevices, tune

import tuninglink
from tuninglink.devices import CallOutputs, DeviceDescription
from tuninglink.specs import CACHE_VARIABLE, provenance_of
from tuninglink.tuning.candidates import CandidateCompiler, Compiled
from tuninglink.tuning.deciding import Ledger, TaskOutcome, TuningSettings
from tuninglink.tuning.flag_sets import Listener

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from tuninglink.compiler import SavedProgram
    from tuninglink.programs import Benchmark, CompiledProgram
    from tuninglink.tuning.deciding import TaskResult, TuningResult

FLAGS = (*TARGETS["llvm-cpu"][:2], "--iree-llvmcpu-target-cpu=znver4")
PROGRAM = """
func.func @heavy(%a: tensor<256x512xf32>, %b: tensor<512x512xf32>, %c: tensor<256x512xf32>) -> tensor<256x512xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<256x512xf32>, tensor<512x512xf32>) outs(%c : tensor<256x512xf32>)
      -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>
}

func.func @light(%image: tensor<96x196xf32>, %filter: tensor<96x96xf32>, %sum: tensor<96x196xf32>) -> tensor<96x196xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(n, m, k) -> (k, m)>, affine_map<(n, m, k) -> (n, k)>, affine_map<(n, m, k) -> (n, m)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%image, %filter : tensor<96x196xf32>, tensor<96x96xf32>) outs(%sum : tensor<96x196xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %c, %product : f32
    linalg.yield %next : f32
  } -> tensor<96x196xf32>
  return %0 : tensor<96x196xf32>
}
"""
"""Of these two, the model for CPUs with AVX-512 is certain about the second one only, see `test/cli/predicted.mlir`."""

HEAVY, LIGHT = "@match_heavy", "@match_light"


class RememberingCompiler(CandidateCompiler):
    """Remembers with which spec a program was compiled, and what else its processes do."""

    def __init__(self) -> None:
        super().__init__(FLAGS, 2)
        self.specs: dict[bytes, str] = {}
        self.calls: list[Future] = []

    def call(self, function: Callable, *arguments: object) -> Future:
        self.calls.append(super().call(function, *arguments))
        return self.calls[-1]

    def submit_whole(self, program: SavedProgram, spec: str, seconds: float) -> Future:
        job = super().submit_whole(program, spec, seconds)
        compiled = job.result()
        assert isinstance(compiled, Compiled), compiled
        self.specs[compiled.image] = spec
        return job


@dataclass
class Devices(RecordedDevices):
    """Devices with which the time of the light dispatch is small, and a program has an output."""

    value: Callable[[CompiledProgram], float] = lambda _: 1.0
    us_of_candidates: float = 50.0

    def us(self, benchmark: Benchmark) -> float:
        is_default = benchmark.image in self._defaults
        us = 200.0 if is_default else self.us_of_candidates
        return us / (100 if b"light" in benchmark.image else 1)

    def program_outputs(self, program: CompiledProgram, *_: object) -> CallOutputs:
        return CallOutputs((np.array([self.value(program)], np.float32),), 0.001)


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RememberingCompiler]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(CACHE_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        with RememberingCompiler() as made:
            yield made


@dataclass
class Ending(Listener):
    """Ends the time of a run, or interrupts it, when the first dispatch is decided, so that the other one gets no turn."""

    ledger: Ledger
    compiler: RememberingCompiler
    interrupts: bool = False

    def ended(self, result: TaskResult) -> None:  # noqa: ARG002
        wait(self.compiler.calls)
        if self.interrupts:
            self.ledger.whole.stop()
        self.ledger.whole.deadline = time.monotonic()


SETTINGS = TuningSettings(trials=1, search="random")


def run(
    path: Path,
    compiler: RememberingCompiler,
    devices: Devices,
    settings: TuningSettings = SETTINGS,
    *,
    interrupts: bool = False,
) -> TuningResult:
    program = path / "program.mlir"
    program.write_text(PROGRAM)
    ledger = Ledger(trials=1)
    listener = Ending(ledger, compiler, interrupts)
    how = {"settings": settings, "listener": listener, "ledger": ledger, "flags": FLAGS}
    return tune(program, None, devices, compiler, **how)


def outcomes(result: TuningResult) -> dict[str, str]:
    return {
        re.sub(r"@(\w+?)_dispatch.*", r"\1", own.task.name): own.verdict.value
        for own in result.tasks
    }


def by_spec(
    compiler: RememberingCompiler, heavy: float, light: float, default: float = 500.0
) -> Callable[[CompiledProgram], float]:
    """Return a value of a program by the entries of its spec."""

    def value(program: CompiledProgram) -> float:
        spec = compiler.specs[program.image]
        return default * (heavy if HEAVY in spec else 1.0) * (light if LIGHT in spec else 1.0)

    return value


@pytest.mark.parametrize("description", [DESCRIPTION, REMOTE])
def test_a_dispatch_without_a_turn_gets_its_predicted_entry(
    tmp_path: Path, compiler: RememberingCompiler, description: DeviceDescription
) -> None:
    devices = Devices(by_spec(compiler, 0.9, 0.8), description=description)
    result = run(tmp_path, compiler, devices)
    assert outcomes(result) == {"heavy": "won", "light": "predicted"}
    assert not [one for one in result.omissions if "budget" in one.reason]
    spec = tuninglink.load_spec(result.spec.encode())
    records = {
        entry.matcher: provenance_of(entry.anatomy.table, entry.matcher) for entry in spec.entries
    }
    (light,) = (record for name, record in records.items() if "light" in name)
    (heavy,) = (record for name, record in records.items() if "heavy" in name)
    assert light["source"] == "predicted"
    assert light["expected_speedup"] > light["least_speedup"] > 1.0
    assert "source" not in heavy
    # The program is compared with the default, too, and the result is compiled.
    assert result.model is not None
    assert (result.model.default_ms, round(result.model.tuned_ms, 3)) == (1.0, 0.72)
    assert LIGHT in compiler.specs[result.image or b""]


@pytest.mark.parametrize("harm", ["slower", "wrong"])
def test_a_predicted_entry_that_makes_the_program_worse_is_left_out(
    tmp_path: Path, compiler: RememberingCompiler, harm: str
) -> None:
    times = by_spec(compiler, 0.5, 1.5 if harm == "slower" else 0.8)
    values = by_spec(compiler, 1.0, 2.0 if harm == "wrong" else 1.0, default=1.0)
    result = run(tmp_path, compiler, Devices(times, value=values))
    assert outcomes(result) == {"heavy": "won"}
    assert [one for one in result.omissions if "budget" in one.reason]
    assert LIGHT not in result.spec
    assert result.model is not None
    assert (result.model.default_ms, result.model.tuned_ms) == (1.0, 0.5)


def test_a_run_without_a_winner_has_predicted_entries(
    tmp_path: Path, compiler: RememberingCompiler
) -> None:
    devices = Devices(by_spec(compiler, 1.0, 0.8), us_of_candidates=300.0)
    result = run(tmp_path, compiler, devices)
    assert outcomes(result) == {"heavy": "default", "light": "predicted"}
    assert result.model is not None
    assert (result.model.default_ms, result.model.tuned_ms) == (1.0, 0.8)


@pytest.mark.parametrize(
    "why", ["interrupted", "another pattern", "the heaviest only", "no model run"]
)
def test_no_entry_is_predicted(tmp_path: Path, compiler: RememberingCompiler, why: str) -> None:
    devices, settings = Devices(by_spec(compiler, 0.9, 0.8)), SETTINGS
    if why == "another pattern":
        settings = replace(settings, patterns=("heavy",))
    elif why == "the heaviest only":
        settings = replace(settings, top=1)
    elif why == "no model run":
        settings = replace(settings, runs_model=False)
    result = run(tmp_path, compiler, devices, settings, interrupts=why == "interrupted")
    assert TaskOutcome.PREDICTED not in [own.verdict for own in result.tasks]
    assert LIGHT not in result.spec
