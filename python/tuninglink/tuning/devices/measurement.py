"""Measurement of benchmarks and programs, in the process that holds the device."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from tuninglink.tuning.devices.device import (
    LOCAL_DRIVERS,
    SYNCHRONOUS_DRIVER,
    DeviceError,
    devices_of,
    driver_of,
    open_device,
)
from tuninglink.tuning.devices.loading import (
    BenchmarkLoader,
    CallOutputs,
    Interleaving,
    ProgramRunner,
    Subject,
)
from tuninglink.tuning.devices.numerics import (
    Outputs,
    difference,
    find_violation,
    make_inputs,
    outputs_of,
)
from tuninglink.tuning.devices.running import DispatchTrace, Loader, bytes_on_host, to_device
from tuninglink.tuning.devices.times import (
    DeviceReading,
    Rounds,
    Settings,
    Timing,
    WorkerThread,
    wall_seconds,
)
from tuninglink.tuning.programs import Failure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tuninglink.tuning.devices.numerics import Bytes
    from tuninglink.tuning.programs import Benchmark, CompiledProgram


_LEAST_SAMPLES: Final = 3
_MOST_SAMPLES: Final = 100
_ENOUGH_SECONDS: Final = 1.0
"""Time after which one sample of a slow benchmark is enough."""

_FIRST_FACTOR: Final = 3.0
_FIRST_US: Final = 20_000.0
"""A first iteration is too slow beyond both this multiple of the limit and this number of microseconds."""


class Measurer:
    """Measures benchmarks on a device that it holds.

    Args:
        uri: the device.
        cores: the processors for a threaded CPU device; see `open_device`.
        settings: the settings of measurements.

    Raises:
        DeviceError: the device cannot be opened.
    """

    def __init__(
        self, uri: str, cores: Sequence[int] = (), settings: Settings | None = None
    ) -> None:
        self._settings = settings or Settings()
        self._device = open_device(uri, cores)
        self._sensors = sensors_of(uri)
        timer = WorkerThread() if driver_of(uri) == SYNCHRONOUS_DRIVER else wall_seconds
        self._loader = Loader(self._device, timer=timer)
        self._benchmarks = BenchmarkLoader(uri, self._device, self._loader, self._settings)
        self._inputs = lru_cache(1)(partial(make_inputs, seed=self._settings.seed))
        self._expected: dict[Benchmark, Outputs] = {}
        self._programs = ProgramRunner(self._device, self._settings.seed, timer)

    @property
    def loading_seconds(self) -> float:
        """The time spent on loading modules so far, in seconds."""
        return self._loader.seconds + self._programs.loading_seconds

    def measure(
        self, benchmark: Benchmark, seconds: float, limit_microseconds: float | None = None
    ) -> Timing:
        """Measure one benchmark.

        Args:
            benchmark: the benchmark.
            seconds: the time limit of sampling; three samples are taken in any case, unless they take over a second.
            limit_microseconds: the time of an iteration above which no batch is run.

        Raises:
            MeasurementError: it cannot be loaded or run.
        """
        subject = self._benchmarks.subject(benchmark)
        once = subject.sample(1)
        if limit_microseconds is not None:
            # A single iteration is as uncertain as the overhead of the call.
            limit = limit_microseconds + self._benchmarks.overhead(benchmark.layout) * 1e6
            if limit < once < max(_FIRST_FACTOR * limit, _FIRST_US):
                # The first iteration also pays for code and pages that are not there yet.
                once = subject.sample(1)
            if once > limit:
                # Of a short iteration, a sample is cheap, and shows its time without the overhead of the call.
                few = max(1, int(self._settings.sample_seconds * 1e6 / once))
                once = subject.sample(few) if few > 1 else once
                if few == 1 or once > limit_microseconds:
                    return Timing((once,), few, self._readings())
        batch = subject.fitting_batch()
        samples: list[float] = []
        began = time.perf_counter()
        while _needs_more(len(samples), time.perf_counter() - began, seconds):
            samples.append(subject.sample(batch))
        return Timing(tuple(samples), batch, self._readings())

    def rounds(
        self, benchmarks: Sequence[Benchmark], count: int, seed: int, seconds: float
    ) -> Rounds:
        """Measure benchmarks against each other: each runs once per round; see `Interleaving`.

        Args:
            benchmarks: the benchmarks, all of the same layout.
            count: the number of rounds.
            seed: fixes the order within the rounds, and which copies of the modules run.
            seconds: the time after which no further round begins, unless there are too few.

        Raises:
            MeasurementError: a program or benchmark cannot be loaded or run.
        """
        subjects = [
            self._benchmarks.subject(benchmark, self._benchmarks.copies(benchmark.image, seed))
            for benchmark in benchmarks
        ]
        return self._rounds(subjects, Interleaving(count, seed, seconds))

    def program_rounds(
        self, programs: Sequence[CompiledProgram], count: int, seed: int, seconds: float
    ) -> Rounds:
        """Measure whole programs against each other, as `rounds` does benchmarks; samples are times of a call.

        Raises:
            MeasurementError: a program or benchmark cannot be loaded or run.
        """
        copies = [
            self._programs.load(program, self._benchmarks.copies(program.image, seed))
            for program in programs
        ]
        subjects = [Subject(copy, self._settings.sample_seconds) for copy in copies]
        return self._rounds(subjects, Interleaving(count, seed, seconds))

    def program_outputs(self, program: CompiledProgram) -> CallOutputs:
        """Return the outputs of a call of a program; see `ProgramRunner.outputs`.

        Raises:
            MeasurementError: it cannot be loaded or run.
        """
        return self._programs.outputs(program)

    def program_traces(
        self, program: CompiledProgram, directory: str
    ) -> tuple[tuple[NDArray[Any], ...], list[DispatchTrace]]:
        """Return the outputs of a call of a program, and the values of its dispatches; see `ProgramRunner.traces`.

        Raises:
            MeasurementError: it cannot be loaded or run.
        """
        return self._programs.traces(program, directory)

    def compare(self, benchmark: Benchmark, reference: Benchmark, reduction: int) -> Failure | None:
        """Compare the outputs of two benchmarks on the same inputs.

        Args:
            benchmark: the benchmark that is checked.
            reference: the benchmark whose results are right.
            reduction: the number of products in an element of an output.

        Returns:
            None if they agree; else the difference and its place.

        Raises:
            MeasurementError: a program or benchmark cannot be loaded or run.
        """
        for function in benchmark.sized:
            failure = self.compare(benchmark.at(function), reference.at(function), reduction)
            if failure is not None:
                return replace(failure, message=f"at {function.sizes}: {failure.message}")
        if benchmark.sized:
            return None
        expected = self.expected(reference)
        return difference(benchmark.layout, self.outputs(benchmark), expected, reduction)

    def expected(self, benchmark: Benchmark) -> Outputs:
        """Return the result of `outputs`, cached for the last module, since several benchmarks are compared with it.

        Raises:
            MeasurementError: it cannot be loaded or run.
        """
        if benchmark not in self._expected:
            if any(other.image != benchmark.image for other in self._expected):
                self._expected.clear()
            self._expected[benchmark] = self.outputs(benchmark)
        return self._expected[benchmark]

    def outputs(self, benchmark: Benchmark, inputs: Bytes | None = None) -> Outputs:
        """Return the outputs of one iteration of a benchmark on fresh inputs.

        Args:
            benchmark: the benchmark.
            inputs: the initial content of the buffer; by default, that of `make_inputs`.

        Raises:
            MeasurementError: it cannot be loaded or run.
        """
        layout = benchmark.layout
        before = self._inputs(layout) if inputs is None else inputs
        buffer = to_device(self._device, before)
        call = self._loader.load(benchmark.image, benchmark.function)
        call((buffer, 1, layout.stride, 1))
        after = bytes_on_host(self._device, buffer)
        violation = find_violation(layout, before, after)
        return Outputs(
            {index: binding.copy() for index, binding in outputs_of(layout, after).items()},
            None if violation is None else str(violation),
        )

    def _rounds(self, subjects: Sequence[Subject], interleaving: Interleaving) -> Rounds:
        readings: list[DeviceReading] = []
        samples, batches = interleaving.run(subjects, lambda: readings.extend(self._readings()))
        return Rounds(samples, batches, tuple(readings))

    def _readings(self) -> tuple[DeviceReading, ...]:
        reading = self._sensors.read()
        return (reading,) if reading else ()


def _needs_more(samples: int, taken: float, seconds: float) -> bool:
    if samples < _LEAST_SAMPLES:
        return not samples or taken < _ENOUGH_SECONDS
    return samples < _MOST_SAMPLES and taken < seconds


# --- Clock, power and temperature of devices, from NVIDIA's management library and the kernel's files under `/sys`

_NVIDIA_DRIVERS: Final = frozenset({"cuda", "vulkan"})
_AMD_DRIVERS: Final = frozenset({"hip", "amdgpu"})
_SYSTEM: Final = Path("/sys")


class Sensors(Protocol):
    """The sensors of a device."""

    def read(self) -> DeviceReading:
        """Return the current values; None for those that the system does not report."""


class NoSensors:
    """The sensors of a device that reports nothing."""

    def read(self) -> DeviceReading:
        return DeviceReading()


def sensors_of(uri: str) -> Sensors:
    """Return the sensors of a device, whose driver is loaded if the URI gives an index."""
    driver = driver_of(uri)
    if driver in LOCAL_DRIVERS:
        return ProcessorSensors()
    if driver in _NVIDIA_DRIVERS:
        library, identifier = _nvml(), _identifier(uri)
        if library is not None and identifier is not None:
            return NvidiaSensors(library, identifier)
    cards = amd_cards() if driver in _AMD_DRIVERS else []
    number = _number(uri)
    return AmdSensors(cards[number]) if number < len(cards) else NoSensors()


def _number(uri: str) -> int:
    path = uri.partition("://")[2]
    if not path.startswith(_IDENTIFIER):
        return int(path) if path.isdecimal() else 0
    paths = [device.partition("://")[2] for device in _listed(driver_of(uri))]
    return paths.index(path) if path in paths else 0


_IDENTIFIER: Final = "GPU-"
"""The prefix of the UUID of a GPU, which the runtime and NVIDIA's library write alike."""


def _identifier(uri: str) -> str | None:
    """Return the UUID of a GPU: its index in the library may differ from its index in the driver."""
    path = uri.partition("://")[2]
    if path.startswith(_IDENTIFIER):
        return path
    devices, number = _listed(driver_of(uri)), _number(uri)
    return devices[number].partition("://")[2] if number < len(devices) else None


def _listed(driver: str) -> list[str]:
    try:
        return [device.uri for device in devices_of(driver)]
    except DeviceError:
        return []


# --- NVIDIA ----------------------------------------------------------------------------------------------

_SHADER_CLOCK: Final = 1
"""`NVML_CLOCK_SM` of `nvml.h`."""

_GPU_TEMPERATURE: Final = 0
"""`NVML_TEMPERATURE_GPU` of `nvml.h`."""


@cache
def _nvml() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return library if library.nvmlInit_v2() == 0 else None


class NvidiaSensors:
    """The sensors of a GPU of NVIDIA."""

    def __init__(self, library: ctypes.CDLL, identifier: str) -> None:
        self._library = library
        self._handle = ctypes.c_void_p()
        result = library.nvmlDeviceGetHandleByUUID(identifier.encode(), ctypes.byref(self._handle))
        self._is_known = result == 0

    def read(self) -> DeviceReading:
        """See `Sensors`."""
        power = self._value("nvmlDeviceGetPowerUsage")
        return DeviceReading(
            clock_mhz=self._value("nvmlDeviceGetClockInfo", _SHADER_CLOCK),
            power_watts=None if power is None else power / 1e3,
            temperature_celsius=self._value("nvmlDeviceGetTemperature", _GPU_TEMPERATURE),
        )

    def _value(self, function: str, *arguments: int) -> int | None:
        """Return the result of a function of the library for the GPU; None if it fails."""
        if not self._is_known:
            return None
        value = ctypes.c_uint()
        result = getattr(self._library, function)(self._handle, *arguments, ctypes.byref(value))
        return value.value if result == 0 else None


# --- AMD -------------------------------------------------------------------------------------------------


def amd_cards(system: Path = _SYSTEM) -> list[Path]:
    """Return the folders of AMD's GPUs, in the order of their numbers."""
    clocks = system.glob("class/drm/card[0-9]*/device/pp_dpm_sclk")
    folders = [clock.parent for clock in clocks if _card_number(clock.parent) is not None]
    return sorted(folders, key=lambda folder: _card_number(folder) or 0)


def _card_number(folder: Path) -> int | None:
    digits = folder.parent.name.removeprefix("card")
    return int(digits) if digits.isdecimal() else None


class AmdSensors:
    """The sensors of a GPU of AMD.

    Args:
        folder: the folder of the device under `/sys/class/drm`.
    """

    def __init__(self, folder: Path) -> None:
        self._clock = folder / "pp_dpm_sclk"
        self._power = [*folder.glob("hwmon/*/power1_average"), *folder.glob("hwmon/*/power1_input")]
        self._temperature = [*folder.glob("hwmon/*/temp1_input")]

    def read(self) -> DeviceReading:
        """See `Sensors`."""
        return DeviceReading(
            clock_mhz=self._active_clock(),
            power_watts=_first_number(self._power, 1e6),
            temperature_celsius=_first_number(self._temperature, 1e3),
        )

    def _active_clock(self) -> int | None:
        try:
            levels = self._clock.read_text().splitlines()
        except OSError:
            return None
        active = next((level for level in levels if level.endswith("*")), "")
        digits = "".join(filter(str.isdecimal, active.partition(":")[2]))
        return int(digits) if digits else None


# --- Processors ------------------------------------------------------------------------------------------

_PROCESSOR_MONITORS: Final = frozenset({"coretemp", "k10temp", "zenpower", "cpu_thermal"})
"""The names of the kernel's monitors of processors."""

_PROCESSOR_ZONES: Final = frozenset({"x86_pkg_temp", "cpu-thermal", "cpu_thermal"})
"""The types of thermal zones of processors."""

_LEAST_SECONDS: Final = 0.05
"""The least time between two readings of the energy counters, which advance in steps of milliseconds."""


class ProcessorSensors:
    """The sensors of the processors of this machine.

    The energy counters of the packages are mostly readable by the administrator alone. Power is the mean since the
    previous reading.

    Args:
        system: the kernel's files.
    """

    def __init__(self, system: Path = _SYSTEM) -> None:
        self._clock = system / "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"
        self._temperature = [*_temperatures(system)]
        packages = [
            folder
            for folder in sorted(system.glob("class/powercap/intel-rapl:*"))
            if folder.name.count(":") == 1
        ]
        self._packages = [EnergyCounter(folder) for folder in packages]

    def read(self) -> DeviceReading:
        """See `Sensors`."""
        clock = _number_in(self._clock, 1e3)
        powers = [
            power for counter in self._packages if (power := counter.mean_watts()) is not None
        ]
        return DeviceReading(
            clock_mhz=None if clock is None else int(clock),
            power_watts=sum(powers) if powers else None,
            temperature_celsius=_first_number(self._temperature, 1e3),
        )


class EnergyCounter:
    """The energy counter of a package of processors.

    Args:
        folder: its folder under `/sys/class/powercap`.
    """

    def __init__(self, folder: Path) -> None:
        self._energy = folder / "energy_uj"
        self._range = _number_in(folder / "max_energy_range_uj", 1.0) or 0.0
        self._before = self._now()
        self._watts: float | None = None

    def mean_watts(self) -> float | None:
        """Return the mean power between the last two readings; None if the counter cannot be read."""
        before, now = self._before, self._now()
        if before is None or now is None:
            return None
        seconds = now[0] - before[0]
        if seconds >= _LEAST_SECONDS:
            used = now[1] - before[1]
            if used < 0:  # the counter has wrapped
                used += self._range
            self._before, self._watts = now, used / 1e6 / seconds
        return self._watts

    def _now(self) -> tuple[float, float] | None:
        energy = _number_in(self._energy, 1.0)
        return None if energy is None else (time.monotonic(), energy)


def _temperatures(system: Path) -> list[Path]:
    """Return the files with temperatures of processors, in thousandths of a degree."""
    monitors = [
        folder / "temp1_input"
        for folder in sorted(system.glob("class/hwmon/hwmon*"))
        if _text_in(folder / "name") in _PROCESSOR_MONITORS
    ]
    zones = [
        folder / "temp"
        for folder in sorted(system.glob("class/thermal/thermal_zone*"))
        if _text_in(folder / "type") in _PROCESSOR_ZONES
    ]
    return [*monitors, *zones]


def _first_number(files: list[Path], unit: float) -> float | None:
    numbers = (_number_in(file, unit) for file in files)
    return next((number for number in numbers if number is not None), None)


def _number_in(file: Path, unit: float) -> float | None:
    try:
        return int(_text_in(file)) / unit
    except ValueError:
        return None


def _text_in(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
