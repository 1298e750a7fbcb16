"""Peak rates of this machine's processors, measured once by kernels that the compiler builds.

Data sheets rarely list a processor's rates: its clock depends on its load and its vectors, and a virtual machine or
a container may have only a part of it. Three kinds of kernels reach the peaks of compiled code: chains of
fused multiply-adds in registers, products of packed matrices in the caches, and reads and writes of long arrays.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import partial, reduce
from importlib import metadata
from pathlib import Path
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.compiler import CompileOptions, Compiler, Phase, SpecChoice
from tuninglink.devices.device import DeviceDescription, physical_cores, shared_cache_bytes
from tuninglink.devices.device_set import DeviceProcess
from tuninglink.devices.times import Caches, Settings
from tuninglink.errors import TuninglinkError, counted
from tuninglink.files import make_directory, temporary_directory, write_file
from tuninglink.iree import DispatchCost, PeakRates, cost_of, rate_class
from tuninglink.mlir import error, parse_module, thread_context, to_text
from tuninglink.payloads import Value, build, computed, constant, new_function
from tuninglink.plain_data import to_json
from tuninglink.programs import Benchmark, Failure, read_program, reason_of
from tuninglink.specs import cache_directory
from tuninglink.tuning.candidates import prepare_worker
from tuninglink.tuning.problems import ElementType, Product, program_of
from tuninglink.workers import JobError, JobTimeoutError, Pool, WorkerCrashedError

_FLAGS: Final = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-llvmcpu-enable-ukernels=mmt4d",
    "--iree-opt-data-tiling",
    "--iree-input-demote-f64-to-f32=false",
)
_SECONDS: Final = 0.1
"""The time for samples of a kernel."""

PEAK_SECONDS: Final = 4.0
"""The time that the measurement may take, which a short run does not have."""

_BUSY_SECONDS: Final = 3600.0
"""The time after which rates of a busy machine are measured again."""

_TIME_LIMIT: Final = 60.0
"""The time limit for building a kernel, which takes a second."""


@dataclass(frozen=True)
class ProcessorPeaks:
    """The measured peak rates of a processor.

    Attributes:
        compiler: the version of the compiler that built the kernels.
        seconds: the time of the last measurement, in seconds of `time.time()`.
        gflops: 10^9 operations per second, by class of element types; see `PeakRates`. A class is measured when a report
            needs it.
        gbps: 10^9 bytes per second to and from the memory.
        is_busy: whether other processes delayed the measurement, which is then repeated after an hour.
    """

    processor: str
    threads: int
    compiler: str
    seconds: float
    gflops: Mapping[str, float]
    gbps: float
    is_busy: bool

    @property
    def rates(self) -> PeakRates:
        """The peak rates, in the form of those of any device."""
        least = self.gflops[SINGLE]
        tflops = {
            name: (rate if name == DOUBLE else max(rate, least)) / 1e3
            for name, rate in self.gflops.items()
        }
        date = datetime.fromtimestamp(self.seconds, UTC).date()
        busy = ", while other processes ran" if self.is_busy else ""
        source = f"measured with {counted(self.threads, 'thread')} on {date}{busy}"
        return PeakRates(self.processor, source, tflops, self.gbps / 1e3, is_measured=True)


def peaks_of_processor(
    device: DeviceDescription, element_types: Iterable[str], *, measures: bool = True
) -> tuple[PeakRates | None, str]:
    """Return the peak rates of the processor of a local device for some types of elements, from the cache or measured.

    Returns:
        The rates; None if the device is not local, or nothing is in the cache and nothing is measured. And a remark, if
        they cannot be measured.
    """
    if not device.is_local or device.is_board:
        return None, ""
    # Find the kernels whose rates are not in the cache, or were measured on a busy machine.
    compiler = metadata.version("iree-base-compiler")
    path = _path(device, compiler)
    stored = _read(path)
    kept = {} if stored is None else {MEMORY: stored.gbps, **stored.gflops}
    types = set(element_types)
    needed = {MEMORY, SINGLE, *types, *map(rate_class, types)}
    if stored and not (stored.is_busy and time.time() - stored.seconds >= _BUSY_SECONDS):
        needed -= kept.keys()
    names = [name for name in KERNELS if name in needed]
    if not names or not measures:
        return stored.rates if stored else None, ""
    # Measure them.
    try:
        measured, is_busy = _measured(device, names)
    except TuninglinkError as failure:
        return None, f"the peak rates of the processor were not measured: {reason_of(failure)}"
    gflops = kept | {name: max(rate, kept.get(name, 0.0)) for name, rate in measured.items()}
    gbps = gflops.pop(MEMORY)
    peaks = ProcessorPeaks(device.name, device.cores, compiler, time.time(), gflops, gbps, is_busy)
    with suppress(TuninglinkError):  # A cache that cannot be written is ignored.
        make_directory(path.parent)
        write_file(path, to_json(peaks))
    return peaks.rates, ""


def stored_peaks() -> list[ProcessorPeaks]:
    """Return the rates in the cache."""
    files = sorted((cache_directory() / _DIRECTORY).glob("*.json"))
    return [peaks for peaks in map(_read, files) if peaks is not None]


_DIRECTORY: Final = "peaks"


def _path(device: DeviceDescription, compiler: str) -> Path:
    name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{device.name} {device.cores} {compiler}")
    return cache_directory() / _DIRECTORY / f"{name}.json"


def _read(path: Path) -> ProcessorPeaks | None:
    """Return the rates in a file; None if it does not exist or is damaged."""
    try:
        document = json.loads(path.read_bytes())
        names = (field.name for field in fields(ProcessorPeaks))
        peaks = ProcessorPeaks(**{name: document[name] for name in names})
        rates = (peaks.gbps, peaks.gflops[SINGLE], *peaks.gflops.values())
        is_sound = min(rates) > 0 and peaks.seconds <= time.time()
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return peaks if is_sound else None


def _measured(device: DeviceDescription, names: Sequence[str]) -> tuple[dict[str, float], bool]:
    """Return the rates of kernels by name, in 10^9 a second, and whether other processes delayed them."""
    available = physical_cores()
    cores = available[: device.cores]
    with ExitStack() as opened:
        directory = opened.enter_context(temporary_directory())
        workers = min(len(names), len(available))
        pool = opened.enter_context(Pool(workers, prepare_worker, (_FLAGS,)))
        jobs = {
            name: pool.submit(_built, name, tuple(cores), directory, seconds=_TIME_LIMIT)
            for name in names
        }
        # It opens while the kernels are built.
        settings = Settings(caches=Caches.WARM)
        process = opened.enter_context(DeviceProcess(device.uri, cores, settings))
        try:
            kernels = {name: job.result() for name, job in jobs.items()}
        except (JobError, JobTimeoutError, WorkerCrashedError) as failure:
            raise TuninglinkError(error(f"a kernel was not built: {failure}")) from None
        rates = {}
        began, waited = time.monotonic(), _waiting_seconds()
        for name, (benchmark, cost) in kernels.items():
            timing = process.measure(benchmark, _SECONDS)
            if isinstance(timing, Failure):
                raise TuninglinkError(error(f"a kernel did not run: {timing.message}"))
            # Other work on the machine only adds to a time.
            reached = cost.rates(timing.least, None)
            rate = reached.gbps if name == MEMORY else reached.gflops
            assert rate is not None
            rates[name] = rate
        share = (_waiting_seconds() - waited) / (time.monotonic() - began)
    return rates, share > _BUSY


_BUSY: Final = 0.2
"""The share of the time in which some process waits for a processor on a busy machine."""


def _waiting_seconds() -> float:
    """Return the time that some process has waited for a processor; 0 if the kernel does not report it."""
    with suppress(OSError, ValueError):
        some = Path("/proc/pressure/cpu").read_text().partition("\n")[0]
        return int(some.rpartition("total=")[2]) / 1e6
    return 0.0


def _built(name: str, cores: Sequence[int], directory: Path) -> tuple[Benchmark, DispatchCost]:
    """Build a kernel: the dispatch with most operations of its program, which is written to a directory."""
    path = directory / f"{name}.mlir"
    path.write_text(KERNELS[name](cores))
    program = read_program(str(path), _FLAGS)
    costs = {
        task: cost_of(parse_module(task.source, task.label, thread_context()))
        for task in program.tasks
    }
    task = max(costs, key=lambda task: costs[task].flops or 0)
    options = CompileOptions(
        compile_from=Phase.EXECUTABLE_SOURCES, default_specs=False, flags=_FLAGS
    )
    image = Compiler(options, SpecChoice()).compile(task.source, task.label).output
    return task.benchmark(image), costs[task]


# --- Programs whose heaviest dispatch reaches a peak rate of a processor -------------------------

MEMORY: Final = "memory"
SINGLE: Final = "fp32"
"""The class to which narrower types can be widened, so that their rates are at least its rate."""

DOUBLE: Final = "fp64"

_CHAINS: Final = 12
"""Chains of operations side by side: enough for the latency of two units, and each in a register of AVX2."""

_CHAIN_LENGTH: Final = 64
_CHAIN_ELEMENTS: Final = 1 << 17
"""The elements of a core, which keep it busy for milliseconds."""

_ROWS: Final = 512
"""The rows of a core in a product."""

_SIDE: Final = 256
"""The other sizes of a product: a panel of it stays in the caches of a core."""

_READS: Final = 8
"""The arrays that are read for one that is written."""

_LEAST_BYTES: Final = 128 << 20
_MOST_BYTES: Final = 768 << 20
"""The limits of the size of all arrays, which otherwise is four times that of the last-level caches."""


def _chains(kind: str, cores: Sequence[int]) -> str:
    """Return a program of fused multiply-adds in registers."""

    def body(elements: Sequence[Value]) -> Value:
        element = elements[0]
        starts = (constant(element.type, number + 0.5) for number in range(_CHAINS))
        chains = [build("arith.addf", element.type, element, start) for start in starts]
        for _ in range(_CHAIN_LENGTH):
            # Each reads the next one: LLVM would run one chain after another for CPUs with few registers.
            others = [*chains[1:], chains[0]]
            chains = [
                build("math.fma", element.type, chain, element, other)
                for chain, other in zip(chains, others, strict=True)
            ]
        return _sum(chains)

    return _elementwise(kind, len(cores) * _CHAIN_ELEMENTS, 1, body)


def _reading(cores: Sequence[int]) -> str:
    size = min(max(4 * shared_cache_bytes(cores), _LEAST_BYTES), _MOST_BYTES)
    return _elementwise("f32", size // (_READS + 1) // 4, _READS, _sum)


def _product(element: ElementType, cores: Sequence[int]) -> str:
    return program_of([Product(_ROWS * len(cores), _SIDE, _SIDE, element)])


KERNELS: Final[Mapping[str, Callable[[Sequence[int]], str]]] = {
    MEMORY: _reading,
    SINGLE: partial(_chains, "f32"),
    DOUBLE: partial(_chains, "f64"),
    "fp16": partial(_product, ElementType.F16),
    "bf16": partial(_product, ElementType.BF16),
    "int8": partial(_product, ElementType.I8),
}
"""Programs in which the dispatch with most operations reaches a peak rate, given the processors that share the work."""


def _elementwise(
    kind: str, length: int, inputs: int, body: Callable[[Sequence[Value]], Value]
) -> str:
    """Return a program that computes an array from the elements of others, with ops that `body` builds."""
    with thread_context(), mlir.Location.unknown():
        array = mlir.RankedTensorType.get([length], mlir.Type.parse(kind))
        module, block = new_function([array] * inputs, [array], "kernel")
        with mlir.InsertionPoint(block):
            maps = [mlir.AffineMap.get_identity(1)] * (inputs + 1)
            result = computed(
                list(block.arguments),
                maps,
                build("tensor.empty", array),
                lambda *elements: body(elements[:-1]),
            )
            mlir.Operation.create("func.return", operands=[result])
        module.verify()
        return to_text(module)


def _sum(values: Sequence[Value]) -> Value:
    return reduce(lambda total, value: build("arith.addf", total.type, total, value), values)
