"""Measurement of benchmarks and programs, in the process that holds the device."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Final

import iree.runtime as rt
from numpy.typing import NDArray

from tuninglink.tuning.devices.device import (
    LOCAL_DRIVERS,
    SYNCHRONOUS_DRIVER,
    DeviceError,
    devices_of,
    driver_of,
    open_device,
    release_memory,
)
from tuninglink.tuning.devices.loading import (
    BenchmarkLoader,
    CallOutputs,
    LoadedProgram,
    Subject,
    interleave,
    parameter_indexes,
)
from tuninglink.tuning.devices.numerics import (
    Outputs,
    buffer_length,
    difference,
    find_violation,
    outputs_of,
    perturbed_patterns,
)
from tuninglink.tuning.devices.running import (
    DispatchTrace,
    Loader,
    ValueTracer,
    bytes_on_host,
    place_inputs,
)
from tuninglink.tuning.devices.times import (
    DeviceReading,
    Rounds,
    Settings,
    Timing,
    WorkerThread,
    wall_seconds,
)
from tuninglink.tuning.programs import Benchmark, CompiledProgram, Failure, ParameterSource

_MOST_PROGRAMS: Final = 6
"""The number of programs that stay loaded while unused, three copies of two. Each may hold large weights."""

_LEAST_SAMPLES: Final = 3
_MOST_SAMPLES: Final = 100
_ENOUGH_SECONDS: Final = 1.0
"""Time after which one sample of a slow benchmark is enough."""

_FIRST_FACTOR: Final = 3.0
_FIRST_US: Final = 20_000.0
"""A first iteration is too slow beyond both this multiple of the limit and this number of microseconds."""


class Measurer:
    """Measures benchmarks on a device that it holds. What cannot be loaded or run raises a `MeasurementError`.

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
        self._programs = Loader(self._device, _MOST_PROGRAMS, timer)
        self._parameters = lru_cache(1)(self._parameter_module)
        self._benchmarks = BenchmarkLoader(uri, self._device, self._loader, self._settings)
        self._expected: dict[Benchmark, Outputs] = {}

    @property
    def loading_seconds(self) -> float:
        """The time spent on loading modules so far, in seconds."""
        return self._loader.seconds + self._programs.seconds

    def measure(
        self, benchmark: Benchmark, seconds: float, limit_microseconds: float | None = None
    ) -> Timing:
        """Measure one benchmark.

        Args:
            benchmark: the benchmark.
            seconds: the time limit of sampling; three samples are taken in any case, unless they take over a second.
            limit_microseconds: the time of an iteration above which no batch is run.
        """
        subject = self._benchmarks.subject(benchmark)
        once = subject.sample(1)
        if limit_microseconds is not None:
            # A single iteration is as uncertain as the overhead of the call.
            overhead = self._benchmarks.overheads[benchmark.layout]
            limit = limit_microseconds + overhead.seconds * 1e6
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
        while len(samples) < _MOST_SAMPLES:
            taken = time.perf_counter() - began
            if samples and taken >= (_ENOUGH_SECONDS if len(samples) < _LEAST_SAMPLES else seconds):
                break
            samples.append(subject.sample(batch))
        return Timing(tuple(samples), batch, self._readings())

    def rounds(
        self, benchmarks: Sequence[Benchmark], count: int, seed: int, seconds: float
    ) -> Rounds:
        """Measure benchmarks against each other: each runs once per round; see `interleave`.

        Args:
            benchmarks: the benchmarks, all of the same layout.
            count: the number of rounds.
            seed: fixes the order within the rounds, and which copies of the modules run.
            seconds: the time after which no further round begins, unless there are too few.
        """
        subjects = [
            self._benchmarks.subject(benchmark, self._benchmarks.copies(benchmark.image, seed))
            for benchmark in benchmarks
        ]
        return self._rounds(subjects, count, seed, seconds)

    def program_rounds(
        self, programs: Sequence[CompiledProgram], count: int, seed: int, seconds: float
    ) -> Rounds:
        """Measure whole programs against each other, as `rounds` does benchmarks; samples are times of a call."""
        release_memory(self._device)
        subjects = []
        for program in programs:
            copies = self._benchmarks.copies(program.image, seed)
            loaded = [self._load(program, self._programs, copy) for copy in copies]
            subjects.append(Subject(loaded, self._settings.sample_seconds))
        return self._rounds(subjects, count, seed, seconds)

    def _rounds(self, subjects: Sequence[Subject], count: int, seed: int, seconds: float) -> Rounds:
        readings: list[DeviceReading] = []
        samples, batches = interleave(
            subjects, count, seed, seconds, lambda: readings.extend(self._readings())
        )
        return Rounds(samples, batches, tuple(readings))

    def _readings(self) -> tuple[DeviceReading, ...]:
        reading = self._sensors.read()
        return (reading,) if reading else ()

    def _load(
        self, program: CompiledProgram, loader: Loader, copy: Hashable = None
    ) -> LoadedProgram:
        libraries: tuple[rt.VmModule, ...] = ()
        if program.parameters.parameters or program.parameters.files:
            libraries = (self._parameters(loader.instance, program.parameters),)
        load = partial(loader.load, program.image, program.function, copy, libraries)
        return LoadedProgram(self._device, load, program, self._settings.seed)

    def _parameter_module(self, instance: rt.VmInstance, source: ParameterSource) -> rt.VmModule:
        indexes = parameter_indexes(source, self._settings.seed)
        providers = [index.create_provider(scope=scope) for scope, index in indexes.items()]
        return rt.create_io_parameters_module(instance, *providers)

    def program_outputs(self, program: CompiledProgram) -> CallOutputs:
        """Run a program once from its initial state."""
        release_memory(self._device)
        return self._load(program, self._programs).outputs()

    def program_traces(
        self, program: CompiledProgram, directory: str
    ) -> tuple[tuple[NDArray[Any], ...], list[DispatchTrace]]:
        """Run once a program compiled with `--iree-flow-trace-dispatch-tensors`; tensors go to files in a directory."""
        tracer = ValueTracer(self._device, directory)
        loaded = self._load(program, Loader(self._device, 1, sink=tracer.sink))
        return loaded.outputs().arrays, tracer.dispatches()

    def compare(self, benchmark: Benchmark, reference: Benchmark, reduction: int) -> Failure | None:
        """Compare the outputs of two benchmarks on the same inputs.

        Args:
            benchmark: the benchmark that is checked.
            reference: the benchmark whose results are right.
            reduction: the number of products in an element of an output.

        Returns:
            None if they agree; else the difference and its place.
        """
        for function in benchmark.sized:
            failure = self.compare(benchmark.at(function), reference.at(function), reduction)
            if failure is not None:
                return replace(failure, message=f"at {function.sizes}: {failure.message}")
        if benchmark.sized:
            return None
        # The outputs of the last reference are kept: several benchmarks are compared with it.
        if reference not in self._expected:
            if any(other.image != reference.image for other in self._expected):
                self._expected.clear()
            self._expected[reference] = self.outputs(reference)
        outputs = self.outputs(benchmark)
        return difference(benchmark.layout, outputs, self._expected[reference], reduction)

    def outputs(self, benchmark: Benchmark, *, is_perturbed: bool = False) -> Outputs:
        """Return the outputs of one iteration of a benchmark on fresh inputs, possibly moved by about one rounding."""
        layout = benchmark.layout
        contents = self._benchmarks.patterns(layout)
        if is_perturbed:
            contents = perturbed_patterns(layout, self._settings.seed)
        buffer = place_inputs(self._device, layout, contents)
        call = self._loader.load(benchmark.image, benchmark.function)
        call((buffer, 1, layout.stride, 1))
        after = bytes_on_host(self._device, buffer)[: buffer_length(layout)]
        violation = find_violation(layout, contents, after)
        return Outputs(
            {index: binding.copy() for index, binding in outputs_of(layout, after).items()},
            None if violation is None else str(violation),
        )


# --- Clock, power and temperature of devices, from NVIDIA's management library and the kernel's files under `/sys`

_NVIDIA_DRIVERS: Final = frozenset({"cuda", "vulkan"})
_AMD_DRIVERS: Final = frozenset({"hip", "amdgpu"})
_SYSTEM: Final = Path("/sys")

_IDENTIFIER: Final = "GPU-"
"""The prefix of the UUID of a GPU, which the runtime and NVIDIA's library write alike."""


class Sensors:
    """The sensors of a device; these are those of one that reports nothing."""

    def read(self) -> DeviceReading:
        """Return the current values; None for those that the system does not report."""
        return DeviceReading()


def sensors_of(uri: str) -> Sensors:
    """Return the sensors of a device, whose driver is loaded if the URI gives an index."""
    driver, _, path = uri.partition("://")
    if driver in LOCAL_DRIVERS:
        return ProcessorSensors()
    number = int(path) if path.isdecimal() else 0
    if driver in _NVIDIA_DRIVERS and (library := _nvml()) is not None:
        # The index of a GPU in the library may differ from its index in the driver.
        listed = [path] if path.startswith(_IDENTIFIER) else _listed(driver)[number:]
        return NvidiaSensors(library, listed[0]) if listed else Sensors()
    cards = amd_cards() if driver in _AMD_DRIVERS else []
    if cards and path.startswith(_IDENTIFIER):
        paths = _listed(driver)
        number = paths.index(path) if path in paths else 0
    return AmdSensors(cards[number]) if number < len(cards) else Sensors()


def _listed(driver: str) -> list[str]:
    """Return the paths of the URIs of a driver's devices."""
    with suppress(DeviceError):
        return [device.uri.partition("://")[2] for device in devices_of(driver)]
    return []


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


class NvidiaSensors(Sensors):
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


def amd_cards(system: Path = _SYSTEM) -> list[Path]:
    """Return the folders of AMD's GPUs, in the order of their numbers."""
    folders = {
        int(digits): clock.parent
        for clock in system.glob("class/drm/card[0-9]*/device/pp_dpm_sclk")
        if (digits := clock.parent.parent.name.removeprefix("card")).isdecimal()
    }
    return [folders[number] for number in sorted(folders)]


class AmdSensors(Sensors):
    """The sensors of a GPU of AMD, from the folder of its device under `/sys/class/drm`."""

    def __init__(self, folder: Path) -> None:
        self._clock = folder / "pp_dpm_sclk"
        self._power = [*folder.glob("hwmon/*/power1_average"), *folder.glob("hwmon/*/power1_input")]
        self._temperature = [*folder.glob("hwmon/*/temp1_input")]

    def read(self) -> DeviceReading:
        """See `Sensors`."""
        levels = _text_in(self._clock).splitlines()
        active = next((level for level in levels if level.endswith("*")), "")
        digits = "".join(filter(str.isdecimal, active.partition(":")[2]))
        return DeviceReading(
            clock_mhz=int(digits) if digits else None,
            power_watts=_first_number(self._power, 1e6),
            temperature_celsius=_first_number(self._temperature, 1e3),
        )


_PROCESSOR_MONITORS: Final = frozenset({"coretemp", "k10temp", "zenpower", "cpu_thermal"})
"""The names of the kernel's monitors of processors."""

_PROCESSOR_ZONES: Final = frozenset({"x86_pkg_temp", "cpu-thermal", "cpu_thermal"})
"""The types of thermal zones of processors."""

_LEAST_SECONDS: Final = 0.05
"""The least time between two readings of the energy counters, which advance in steps of milliseconds."""


class ProcessorSensors(Sensors):
    """The sensors of the processors of this machine, from the kernel's files.

    The energy counters of the packages are mostly readable by the administrator alone. Power is the mean since the
    previous reading.
    """

    def __init__(self, system: Path = _SYSTEM) -> None:
        self._clock = system / "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"
        self._temperature = [
            folder / file
            for pattern, label, names, file in (
                ("class/hwmon/hwmon*", "name", _PROCESSOR_MONITORS, "temp1_input"),
                ("class/thermal/thermal_zone*", "type", _PROCESSOR_ZONES, "temp"),
            )
            for folder in sorted(system.glob(pattern))
            if _text_in(folder / label) in names
        ]
        self._packages = [
            EnergyCounter(folder)
            for folder in sorted(system.glob("class/powercap/intel-rapl:*"))
            if folder.name.count(":") == 1
        ]

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
    """The energy counter of a package of processors, from its folder under `/sys/class/powercap`."""

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
