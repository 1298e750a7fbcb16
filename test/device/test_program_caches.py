"""Benchmarks of dispatches that find in the caches what their program leaves there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import iree.runtime as rt
import numpy as np
import pytest
from device_benchmarks import make_inputs
from programs import RUNNABLE_TARGETS

from tuninglink.devices import Loader, open_device, to_device, to_host
from tuninglink.programs import (
    Correctness,
    Failure,
    TuningTask,
    dispatches,
    read_program,
)
from tuninglink.tuning.references import stored_tensors

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.devices import DeviceProcess
    from tuninglink.tuning.candidates import CandidateCompiler
    from tuninglink.tuning.references import References

LAYERS = 6
SIZE = 64


def layers(rows: int = 1, size: int = SIZE, count: int = LAYERS) -> str:
    """Return a program whose equal layers have separate weights, which the compiler packs together."""
    kind, chance = f"tensor<{rows}x{size}xf32>", np.random.default_rng(0)
    lines = [
        f"func.func @main(%y0: {kind}) -> {kind} {{",
        "  %zero = arith.constant 0.0 : f32",
        f"  %empty = tensor.empty() : {kind}",
        f"  %f = linalg.fill ins(%zero : f32) outs(%empty : {kind}) -> {kind}",
    ]
    for layer in range(count):
        weights = chance.standard_normal((size, size), np.float32).tobytes().hex().upper()
        lines += [
            f'  %w{layer} = arith.constant dense<"0x{weights}"> : tensor<{size}x{size}xf32>',
            (
                f"  %y{layer + 1} = linalg.matmul ins(%y{layer}, %w{layer} : {kind}, "
                f"tensor<{size}x{size}xf32>) outs(%f : {kind}) -> {kind}"
            ),
        ]
    return "\n".join([*lines, f"  return %y{count} : {kind}", "}"])


def task_of(source: str, target: str, directory: Path) -> TuningTask:
    path = directory / "layers.mlir"
    path.write_text(source)
    (task,) = read_program(str(path), RUNNABLE_TARGETS[target]).tasks
    return task


def test_on_a_gpu_each_iteration_reads_the_weights_of_another_layer(tmp_path: Path) -> None:
    layout = task_of(layers(), "cuda", tmp_path).layout
    assert 1 < layout.variants == layout.program_sets <= LAYERS
    assert layout.copies(layout.program_sets) == 1


def test_where_arithmetic_is_the_limit_the_caches_do_not_count(tmp_path: Path) -> None:
    assert task_of(layers(512, 512, 3), "cuda", tmp_path).layout.program_sets == 1


def test_on_a_cpu_packed_weights_stay_where_they_are(tmp_path: Path) -> None:
    layout = task_of(layers(), "host-cpu", tmp_path).layout
    assert layout.variants == layout.program_sets == 1


@pytest.fixture
def rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TuningTask:
    """Return the task as for a GPU, with code for the CPU."""
    monkeypatch.setattr(dispatches, "CPU", "none")
    return task_of(layers(), "host-cpu", tmp_path)


def test_variants_compute_what_the_layers_do(
    rotated: TuningTask, compiler: CandidateCompiler
) -> None:
    compiled = compiler.submit_program(rotated.source, "", 600).result()
    assert not isinstance(compiled, Failure)
    layout, device = rotated.layout, open_device("local-sync")
    run = Loader(device).load(compiled.image, rotated.function).run

    def written(sets: int, batch: int) -> bytes:
        """Return the data that a batch writes: those of its last iteration."""
        before = make_inputs(layout)
        buffer = to_device(device, before)
        run((buffer, sets, layout.stride, batch))
        view = rt.HalBufferView(buffer, [len(before)], rt.HalElementType.UINT_8)
        after = to_host(device, view).view(np.uint8)
        return after[after != before].tobytes()

    count = layout.variants
    last = [written(count, batch) for batch in range(1, count + 2)]
    assert len(set(last)) == count
    assert last[count] == last[0] == written(1, count)


def test_a_rotating_benchmark_is_measured(
    rotated: TuningTask, compiler: CandidateCompiler, device: DeviceProcess
) -> None:
    compiled = compiler.submit_program(rotated.source, "", 600).result()
    assert not isinstance(compiled, Failure)
    timing = device.measure(rotated.benchmark(compiled.image))
    assert not isinstance(timing, Failure)
    assert timing.batch >= rotated.layout.variants


def test_the_reference_reads_what_the_first_variant_passes(
    rotated: TuningTask,
    compiler: CandidateCompiler,
    device: DeviceProcess,
    references: References,
) -> None:
    assert rotated.layout.variants > 1
    compiled = compiler.submit_program(rotated.source, "", 600).result()
    assert not isinstance(compiled, Failure)
    outputs = device.outputs(rotated.benchmark(compiled.image))
    assert not isinstance(outputs, Failure)
    (tensor,) = stored_tensors(rotated.source, rotated.layout)
    assert tensor.part.shape == (1, SIZE)
    assert references.judge_by_points(rotated, outputs) is not None
    assert references.judge(rotated, outputs).correctness is Correctness.RIGHT
