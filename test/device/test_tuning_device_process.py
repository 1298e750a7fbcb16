"""The process of a device: its measurements, and the costs of hanging, crashing and wrong benchmarks."""

from __future__ import annotations

import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import iree.runtime as rt
import numpy as np
import pytest
from clocks import limits_in_processor_time
from device_benchmarks import (
    DOUBLE,
    FAULT,
    HANG,
    LAYOUT,
    OVERRUN,
    READ_BEYOND,
    SLOW_DOUBLE,
    VERY_SLOW_DOUBLE,
    WRONG,
    benchmark,
    compile_program,
    make_inputs,
    straight,
)
from forked_workers import started_workers
from processes import PATIENCE, eventually, marked, processor_seconds
from programs import HOST_CPU
from stack_programs import OVERFLOWING_FLAGS, overflowing

from tuninglink.devices import (
    AheadLoader,
    Caches,
    DeviceError,
    DeviceProcess,
    Measurer,
    Rounds,
    Settings,
    Timing,
    describe,
    device as device_module,
    devices_of,
    measurement,
    open_device,
    patterns,
    place_inputs,
    to_host,
)
from tuninglink.mlir import error
from tuninglink.programs import (
    Access,
    Benchmark,
    Binding,
    BufferLayout,
    CompiledProgram,
    Failure,
    FailureKind,
    ProgramInput,
)
from tuninglink.tuning.deciding import Contestant, Outcome, Race, RaceRules

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", params=["local-sync", "local-task"])
def device(request: pytest.FixtureRequest) -> Iterator[DeviceProcess]:
    with DeviceProcess(request.param, timeout=PATIENCE) as opened:
        yield opened


def failure(answer: object, kind: FailureKind) -> str:
    assert isinstance(answer, Failure)
    assert answer.kind is kind
    return answer.message


def test_a_benchmark_is_timed_in_batches(device: DeviceProcess) -> None:
    def is_batched() -> bool:
        found = device.measure(benchmark(DOUBLE))
        assert isinstance(found, Timing)
        assert len(found.samples) >= 3
        assert found.median > 0
        return found.batch > 1

    assert eventually(is_batched)  # a batch is one call where the machine stands still during it


def test_a_benchmark_beyond_the_limit_is_sampled_once(device: DeviceProcess) -> None:
    found = device.measure(benchmark(SLOW_DOUBLE), limit_microseconds=0.001)
    assert isinstance(found, Timing)
    assert len(found.samples) == 1


def test_rounds_tell_the_slower_benchmark(device: DeviceProcess) -> None:
    found = device.rounds([benchmark(DOUBLE), benchmark(SLOW_DOUBLE)], 5, seed=0)
    assert isinstance(found, Rounds)
    assert len(found.samples) == 5
    assert found.timing(1).least > found.timing(0).least


def test_a_round_of_a_very_slow_benchmark_takes_no_equal_batches(device: DeviceProcess) -> None:
    slow, fast = benchmark(VERY_SLOW_DOUBLE), benchmark(DOUBLE)
    found = device.rounds([slow, fast], 3, seed=0)
    assert isinstance(found, Rounds)
    assert found.batches[0] < found.batches[1]


def test_rounds_end_when_their_time_is_over_but_never_below_three(device: DeviceProcess) -> None:
    found = device.rounds([benchmark(DOUBLE)], 10_000_000, seed=0, seconds=0.0)
    assert isinstance(found, Rounds)
    assert len(found.samples) == 3


def test_a_default_a_thousand_times_as_slow_is_beaten(device: DeviceProcess) -> None:
    """Equal batches of these two would take longer than the time limit of the device."""
    contestants = []
    for element in (VERY_SLOW_DOUBLE, DOUBLE, WRONG):
        timing = device.measure(benchmark(element))
        assert isinstance(timing, Timing)
        contestants.append(Contestant(benchmark(element), timing.least))
    default, right, wrong = contestants
    assert default.microseconds > 100 * right.microseconds

    def check(candidate: Benchmark) -> Failure | None:
        return device.compare(candidate, default.benchmark)

    rules = RaceRules(gap_seconds=0.0)
    result = Race(device, default, [wrong, right], check, rules).run()
    assert result.winner == 1
    assert result.decision is not None
    assert result.decision.outcome is Outcome.FASTER
    assert {each.kind for each in result.failures.values()} == {FailureKind.WRONG}


def test_a_finalist_that_hangs_in_the_heat_is_found_and_the_others_race() -> None:
    with limits_in_processor_time(), DeviceProcess("local-sync", timeout=1) as device:
        benchmarks = (SLOW_DOUBLE, DOUBLE)
        default, right = (Contestant(benchmark(each), 10.0) for each in benchmarks)
        hanging = Contestant(straight(HANG), 10.0)
        rules = RaceRules(gap_seconds=0.0)
        result = Race(device, default, [hanging, right], lambda _: None, rules).run()
    assert {position: each.kind for position, each in result.failures.items()} == {
        0: FailureKind.TIMEOUT
    }
    assert result.winner == 1


def test_a_benchmark_agrees_with_itself_and_with_a_slower_one(device: DeviceProcess) -> None:
    assert device.compare(benchmark(DOUBLE), benchmark(DOUBLE)) is None
    assert device.compare(benchmark(SLOW_DOUBLE), benchmark(DOUBLE)) is None


def test_a_wrong_result_is_found_and_placed(device: DeviceProcess) -> None:
    message = failure(device.compare(benchmark(WRONG), benchmark(DOUBLE)), FailureKind.WRONG)
    assert message.startswith("binding 1: 64 of 64 elements differ, most at [")
    assert "expected" in message


def test_a_write_out_of_bounds_is_found_and_placed(device: DeviceProcess) -> None:
    answer = device.compare(benchmark(OVERRUN), benchmark(DOUBLE))
    message = failure(answer, FailureKind.OUT_OF_BOUNDS)
    output = LAYOUT.bindings[1]
    assert f"the first at byte {output.offset + output.byte_length}, after binding 1" in message


def test_a_read_beyond_an_operand_is_found_also_times_zero(device: DeviceProcess) -> None:
    answer = device.compare(benchmark(READ_BEYOND), benchmark(DOUBLE))
    message = failure(answer, FailureKind.WRONG)
    assert message.startswith("binding 1: 1 of 64 elements differ, most at [7, 7]: nan")
    assert message.endswith("it may read beyond an operand, where there are NaNs")


def test_a_reference_that_reads_beyond_an_operand_differs_from_itself_alone(
    device: DeviceProcess,
) -> None:
    """What is there is multiplied by zero."""
    reading, right = benchmark(READ_BEYOND), benchmark(DOUBLE)
    assert device.compare(right, reading) is None
    message = failure(device.compare(reading, reading), FailureKind.WRONG)
    assert message.startswith("binding 1: 1 of 64 elements differ, most at [7, 7]: nan")
    assert device.compare(right, right) is None


def test_a_module_that_is_none_costs_itself(device: DeviceProcess) -> None:
    failure(device.measure(Benchmark(b"no module", "f", LAYOUT)), FailureKind.LOAD)
    missing = Benchmark(benchmark(DOUBLE).image, "missing", LAYOUT)
    failure(device.measure(missing), FailureKind.LOAD)
    assert isinstance(device.measure(benchmark(DOUBLE)), Timing)


def test_a_fault_costs_itself(device: DeviceProcess) -> None:
    failure(device.measure(straight(FAULT)), FailureKind.RUN)
    assert isinstance(device.measure(benchmark(DOUBLE)), Timing)


def test_a_hang_costs_itself() -> None:
    with limits_in_processor_time(), DeviceProcess("local-sync", timeout=1) as device:
        message = failure(device.measure(straight(HANG)), FailureKind.TIMEOUT)
        assert "within 1 s" in message
        assert isinstance(device.measure(benchmark(DOUBLE)), Timing)


def test_a_crash_costs_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    marker = f"TEST_OF_DEVICES_{os.getpid()}"
    monkeypatch.setenv(marker, "1")
    with started_workers(), DeviceProcess("local-sync", timeout=PATIENCE) as device:
        (process,) = marked(marker)

        def crash() -> None:
            busy_before = processor_seconds(process)
            assert eventually(lambda: processor_seconds(process) > busy_before + 0.1)
            os.kill(process, signal.SIGSEGV)

        crashing = threading.Thread(target=crash)
        crashing.start()
        failure(device.measure(straight(HANG)), FailureKind.CRASH)
        crashing.join()
        assert isinstance(device.measure(benchmark(DOUBLE)), Timing)
        assert marked(marker) != [process]


def test_cold_caches_rotate_through_more_than_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "shared_cache_bytes", lambda _: 1 << 16)
    measurer = Measurer("local-sync", settings=Settings(caches=Caches.COLD))
    found = measurer.measure(benchmark(DOUBLE), 0.02)
    assert found.batch * LAYOUT.stride > 4 << 16


def test_caches_hold_what_the_program_leaves_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = (1 << 24) // LAYOUT.stride  # more than fits into a sample of DOUBLE by its time
    program = replace(benchmark(DOUBLE), layout=replace(LAYOUT, program_sets=sets))
    monkeypatch.setattr(measurement, "SAMPLE_SECONDS", 1e-6)
    measurer = Measurer("local-sync")
    repeated, rotated = (measurer.measure(each, 0.02) for each in (benchmark(DOUBLE), program))
    assert repeated.batch < sets <= rotated.batch


def test_programs_are_timed_against_each_other() -> None:
    text = """
    func.func @main(%x: tensor<64xf32>, %n: tensor<2xi32>) -> (tensor<64xf32>, tensor<2xi32>) {
      %y = arith.addf %x, %x : tensor<64xf32>
      return %y, %n : tensor<64xf32>, tensor<2xi32>
    }"""
    flags = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=vmvx")
    program = CompiledProgram(
        compile_program(text, *flags),
        "main",
        (ProgramInput((64,), "f32"), ProgramInput((2,), "i32")),
    )
    with DeviceProcess("local-sync") as device:
        found = device.rounds([program, program], 3, seed=1)
        assert isinstance(found, Rounds)
        assert len(found.samples) == 3


# A process of its own: a fork of this one would have its locks, but none of its threads.
_COUNT_PAGES = """
import pickle, resource, sys
from tuninglink.devices import Measurer

uri, rounds, program = pickle.load(sys.stdin.buffer)
measurer = Measurer(uri)
for count in rounds:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    measured = measurer.rounds([program], count, seed=0, seconds=300)
    assert len(measured.samples) == count
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.parametrize("uri", ["local-sync", "local-task"])
def test_calls_of_a_program_do_not_get_new_memory_for_their_results(uri: str) -> None:
    """Clearing the pages of large results may take longer than computing them."""
    length = 10 << 20
    text = f"""
    func.func @main(%x: tensor<{length}xf32>) -> tensor<{length}xf32> {{
      %y = arith.addf %x, %x : tensor<{length}xf32>
      return %y : tensor<{length}xf32>
    }}"""
    inputs = (ProgramInput((length,), "f32"),)
    program = CompiledProgram(compile_program(text, *HOST_CPU), "main", inputs)
    done = subprocess.run(
        [sys.executable, "-c", _COUNT_PAGES],
        input=pickle.dumps((uri, (3, 3, 13), program)),
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr.decode()
    _, few, many = map(int, done.stdout.split())
    assert many - few < 4 * length // resource.getpagesize()


@pytest.mark.parametrize("uri", ["local-sync", "local-task"])
def test_code_that_overflows_the_stack_of_a_worker_fails_on_every_cpu_device(uri: str) -> None:
    shapes = ((1, 128, 256), (1, 256, 1024), (1024,))
    inputs = tuple(ProgramInput(shape, "f32") for shape in shapes)
    program = CompiledProgram(compile_program(overflowing(), *OVERFLOWING_FLAGS), "main", inputs)
    with DeviceProcess(uri) as device:
        message = failure(device.rounds([program], 3, seed=0), FailureKind.CRASH)
    assert "IREE's workers have 128 KiB of stack" in message


def test_a_device_says_what_it_is() -> None:
    with DeviceProcess("local-task", cores=[0]) as device:
        assert device.description.cores == 1
        assert device.description.driver == "local-task"
        assert device.description.is_local
        assert device.description.name


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("nothing", "there is no driver 'nothing'"),
        ("hip://77", "driver 'hip' cannot be loaded|there is no device 'hip://77'"),
        ("vulkan://77", "driver 'vulkan' cannot be loaded|there is no device 'vulkan://77'"),
    ],
)
def test_a_device_that_is_missing_is_one_diagnostic(uri: str, message: str) -> None:
    with pytest.raises(DeviceError, match=message) as raised:
        DeviceProcess(uri)
    assert len(raised.value.diagnostics) == 1
    assert raised.value.diagnostics[0].notes


def test_the_reason_why_a_driver_lists_no_devices_is_the_whole_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(driver: str, _cores: object) -> NoReturn:
        raise DeviceError(error(f"driver '{driver}' lists no devices"))

    monkeypatch.setattr(device_module, "_driver", lambda name: name)
    monkeypatch.setattr(device_module, "devices_of", fail)
    with pytest.raises(DeviceError) as raised:
        describe("vulkan://0")
    assert raised.value.diagnostics[0].message == "driver 'vulkan' lists no devices"


def test_a_number_stands_for_a_device_that_the_driver_lists() -> None:
    try:
        devices = devices_of("vulkan")
    except DeviceError:  # there is no loader of Vulkan here
        return
    for number, device in enumerate(devices):
        assert describe(f"vulkan://{number}") == device


@pytest.mark.parametrize("uri", ["local-sync", "local-task"])
@pytest.mark.parametrize("sets", [1, 5])
def test_a_device_repeats_inputs_as_the_host_would(uri: str, sets: int) -> None:
    length = 5 << 20  # more than one period
    bindings = (
        Binding(Access.READ, "i8", (length,), 64, length),
        Binding(Access.READ, "f16", (3,), length + 128, 6),
        Binding(Access.WRITE, "f32", (8,), length + 256, 32),
    )
    layout = BufferLayout(bindings, stride=length + 384, guard=64)
    device = open_device(uri)
    buffer = place_inputs(device, layout, patterns(layout, 3), sets)
    expected = make_inputs(layout, sets, seed=3)
    view = rt.HalBufferView(buffer, [buffer.byte_length()], rt.HalElementType.UINT_8)
    content = to_host(device, view).view(np.uint8)
    del view, buffer  # they must not outlive the device
    assert (content[: len(expected)] == expected).all()


def test_loading_ahead_answers_for_nothing() -> None:
    loader = AheadLoader("local-sync", 1, timeout=PATIENCE)
    try:
        for each in (benchmark(DOUBLE), Benchmark(b"no module", "main", LAYOUT)):
            assert loader.load(each) is None
    finally:
        loader.pool.close()
