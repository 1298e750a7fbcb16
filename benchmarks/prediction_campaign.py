"""Measures candidates of the dispatches of small models, for `prediction.py`: `collect` and `campaign`."""

from __future__ import annotations

import fcntl
import json
import os
import pickle
import random
import re
import subprocess
import sys
import time
import traceback
from collections import deque
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from tuninglink.compiler import executable_target, set_up_command_line
from tuninglink.devices import (
    LOCAL_DRIVERS,
    BestTime,
    DeviceProcess,
    Measurer,
    Request,
    Settings,
    difference,
    driver_of,
    screen,
)
from tuninglink.errors import counted
from tuninglink.iree import Target
from tuninglink.mlir import thread_context
from tuninglink.predicting import GainModel
from tuninglink.predicting.predictions import climb
from tuninglink.programs import Failure, read_program
from tuninglink.spaces import ProviderRegistry
from tuninglink.tuning.candidates import (
    CandidateCompiler,
    CandidateSpaces,
    NotTunableError,
    prepare,
)
from tuninglink.tuning.database import (
    Database,
    Journal,
)
from tuninglink.tuning.deciding import TrialResult, TuningSettings
from tuninglink.tuning.problems import program_of, read_words
from tuninglink.tuning.search import Search, fastest_first
from tuninglink.workers import Pool

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from tuninglink.devices import Outputs, Timing
    from tuninglink.programs import Benchmark, TuningTask
    from tuninglink.tuning.candidates import Candidate, PreparedTask, SearchProblem

HERE: Final = Path(__file__).parent

MODELS: Final = (
    *("resnet", "vit", "mobilenet", "prefill", "llama", "unet", "ranker", "dit", "efficientnet"),
    *("convnext", "experts", "mixer", "step", "upsampler", "unet_block", "bottleneck", "vgg"),
    *("wavenet", "speech", "windows", "prompt", "recurrent", "detector", "tower", "text"),
    *("encoder_wide", "encoder_long", "encoder_batch"),
)
"""The models of `prediction_models.py` that predictions are trained on."""

HELD_OUT: Final = ("conformer_small", "regnet_small", "relative_small", "bert_small", "gpt_small")
"""Those that predictions are judged by: no dispatch of theirs is trained on."""

EXAMPLES: Final = (
    *("attention_8x512x64", "convolution_2x34x34x64", "matmul_128x768x768"),
    *("matmul_1x1024x1024", "model_mlp", "quantized_matmul_256x512x1024", "transformer"),
)
"""Programs of `examples/` that count as one model."""

WORDS: Final = {
    "quantized": (
        "matmul 64x256x512 i8",
        "matmul 196x192x768 i8 transpose_b",
        "matmul 1x512x2048 i8 transpose_b",
        "matmul 128x320x320 i8",
        "batch_matmul 4x64x64x128 i8",
        "conv 1x64x28x28 64x3x3 i8 padding=1",
        "conv 1x128x14x14 256x1x1 i8",
    ),
    "grouped": (
        "conv 1x64x28x28 64x3x3 f32 padding=1 groups=8",
        "conv 1x96x14x14 96x3x3 f32 padding=1 groups=3",
        "conv 1x48x32x32 96x3x3 f32 padding=1 stride=2 groups=4",
        "conv 1x120x20x20 120x3x3 f32 padding=1 groups=5",
        "conv 1x160x16x16 160x5x5 f32 padding=2 groups=10",
        "conv 2x40x24x24 80x3x3 f32 padding=1 groups=2",
        "conv 1x256x8x8 256x3x3 f32 padding=1 groups=32",
    ),
    "kernels": (
        "matmul 33x1000x257 f32",
        "matmul 250x90x700 f32 transpose_b",
        "softmax 300x700 f32",
        "layer_norm 200x640 f32 affine",
        "transpose 900x500 f32",
        "add 512x600 f32",
        "conv 1x24x60x60 48x3x3 f32 stride=2 padding=1",
        "conv 1x144x30x30 144x3x3 f32 padding=1 groups=144",
        "max_pool 1x64x56x56 3x3 f32 stride=2 padding=1",
        "batch_matmul 8x100x100x48 f32 transpose_b",
        "attention 6x150x150x32 f32",
        "arg_compare 128x2000 f32",
    ),
}
"""Problems in words for CPUs, by the name of the model as which they count."""

WORDS_ON_GPU: Final = {
    "products": (
        "matmul 2048x1280x5120 f16",
        "matmul 1024x4096x1024 f16 transpose_b",
        "matmul 512x512x2048 f16 transpose_a",
        "matmul 300x1000x700 f16",
        "matmul 1000x4000x250 f16 transpose_b",
        "matmul 1x4096x4096 f16 transpose_b",
        "matmul 8x5120x2560 f16 transpose_b",
        "matmul 64x3072x768 f16",
        "matmul 4096x64x1024 f16",
        "batch_matmul 16x512x512x64 f16 transpose_b",
        "batch_matmul 24x333x64x333 f16",
        "batch_matmul 64x128x256x128 f16",
        "matmul 1536x2048x1024 bf16 transpose_b",
        "matmul 200x900x1300 bf16",
        "matmul 4x4096x2048 bf16 transpose_b",
    ),
    "quantized": (
        "matmul 1024x2048x1024 i8 transpose_b",
        "matmul 512x1280x2560 i8",
        "matmul 8x4096x4096 i8 transpose_b",
        "matmul 1x8192x2048 i8 transpose_b",
        "matmul 333x1000x777 i8",
        "batch_matmul 16x256x256x128 i8",
        "conv 8x128x28x28 128x3x3 i8 padding=1",
        "conv 8x256x14x14 512x1x1 i8",
    ),
    "grouped": (
        "conv 8x64x56x56 64x3x3 f16 padding=1 groups=8",
        "conv 8x96x28x28 96x3x3 f16 padding=1 groups=3",
        "conv 8x48x64x64 96x3x3 f16 padding=1 stride=2 groups=4",
        "conv 4x120x40x40 120x3x3 f16 padding=1 groups=5",
        "conv 4x160x32x32 160x5x5 f16 padding=2 groups=10",
        "conv 8x256x16x16 256x3x3 f16 padding=1 groups=32",
        "conv 8x144x56x56 144x3x3 f16 padding=1 groups=144",
        "conv 4x192x64x64 192x7x7 f16 padding=3 groups=192",
    ),
    "convolutions": (
        "conv 8x64x56x56 64x3x3 f16 padding=1",
        "conv 4x128x60x60 256x3x3 f16 stride=2 padding=1",
        "conv 8x3x160x160 64x7x7 f16 stride=2 padding=3",
        "conv 2x320x64x64 320x3x3 f16 padding=1",
        "conv 8x384x20x20 96x1x1 f16",
        "conv 4x100x50x50 70x3x3 f16 padding=1",
        "conv 8x128x28x28 128x3x3 f16 padding=1 layout=nhwc_fhwc",
        "conv 4x256x32x32 256x3x3 f16 padding=1 layout=nhwc_hwcf",
        "conv 4x128x30x30 128x3x3 bf16 padding=1",
    ),
    "kernels": (
        "softmax 4096x1000 f16",
        "softmax 12000x257 f32",
        "layer_norm 4096x1280 f16 affine",
        "rms_norm 2048x4096 f16 affine",
        "transpose 4096x2500 f16",
        "add 4096x4100 f16",
        "max_pool 8x64x112x112 3x3 f16 stride=2 padding=1",
        "attention 16x512x512x64 f16",
        "attention 24x300x300x80 f16",
        "attention 32x128x1024x128 f16",
        "attention 8x1024x1024x64 bf16",
        "arg_compare 4096x8000 f16",
    ),
    "singles": (
        "matmul 512x768x768 f32",
        "matmul 300x1000x500 f32 transpose_b",
        "matmul 1x4096x2048 f32 transpose_b",
        "matmul 16x2048x2048 f32",
        "batch_matmul 12x256x256x64 f32 transpose_b",
        "conv 4x64x56x56 64x3x3 f32 padding=1",
        "conv 4x256x14x14 512x1x1 f32",
        "conv 8x96x28x28 96x3x3 f32 padding=1 groups=96",
        "layer_norm 4096x768 f32 affine",
        "attention 12x256x256x64 f32",
    ),
}
"""Problems in words for GPUs, by the name of the model as which they count."""

_THERMOMETER: Final = "matmul 128x768x768 f32"
_THERMOMETER_ON_GPU: Final = "matmul 1024x2048x1024 f16"

_FASTEST_US: Final = 8.0
_FASTEST_ON_GPU_US: Final = 4.0
_SLOWEST_US: Final = 25_000.0
_SLOWEST_ON_GPU_US: Final = 100_000.0
"""Dispatches outside of these times are left out."""

TRIALS: Final = 44
_FEW_TRIALS: Final = 20
"""Up to so many, the default is not measured again in their middle."""

_COMPARED: Final = 1.25
"""Candidates whose time is this multiple of the default's or more are not compared with it."""

_ROUNDS: Final = 9
_MANY, _RESERVED = 12, 3
_LOAD_SECONDS: Final = 5.0
_COMPILE_SECONDS: Final = 10.0
"""A candidate that takes longer to compile is a failure, as it would delay the compilation of a program."""

# --- Programs and their dispatches ---------------------------------------------------------------------------


def write_programs(place: Path, *, for_gpu: bool) -> None:
    """Write the programs that need no framework."""
    for name, words in (WORDS_ON_GPU if for_gpu else WORDS).items():
        (place / f"{name}.mlir").write_text(program_of(map(read_words, words)))
    for name in EXAMPLES:
        content = (HERE.parent / "examples" / f"{name}.mlir").read_text()
        (place / f"example_{name}.mlir").write_text(content)
    thermometer = _THERMOMETER_ON_GPU if for_gpu else _THERMOMETER
    (place / "thermometer.mlir").write_text(program_of([read_words(thermometer)]))


def read_tasks(program: str, flags: tuple[str, ...], output: str) -> int:
    """Write the dispatches of a program that can be tuned; return their number."""
    tasks = read_program(program, flags).tasks
    part = Path(output).with_suffix(".part")
    part.write_bytes(pickle.dumps(tasks))
    part.rename(output)
    return len(tasks)


def set_up(flags: tuple[str, ...]) -> None:
    """Set up a process that compiles."""
    set_up_command_line("prediction", flags)


def collect(
    directory: Path, python: str, flags: tuple[str, ...], programs: Sequence[Path] = ()
) -> None:
    """Export the models, unless programs are given, and find the dispatches of all programs."""
    (directory / "tasks").mkdir(parents=True, exist_ok=True)
    place = directory / "programs"
    place.mkdir(exist_ok=True)
    target = Target.from_attribute(executable_target(flags, thread_context()))
    write_programs(place, for_gpu=target.backend != "llvm-cpu")
    # Two processes export, those that are held out first.
    names = (*HELD_OUT, *MODELS)
    script = HERE / "prediction_models.py"
    parts = () if programs else (names[::2], names[1::2])
    exports = [subprocess.Popen([python, script, place, *part]) for part in parts]
    # A program that is named as by `torch_export.py` has the name of its folder.
    for given in programs:
        name = given.parent.name if given.stem == "program" else given.stem
        (place / f"{name}{given.suffix}").write_bytes(given.read_bytes())
    jobs: dict[Path, Any] = {}
    with Pool(os.cpu_count() or 1, set_up, (flags,)) as pool:
        is_over = False
        while not is_over:
            is_over = all(process.poll() is not None for process in exports)
            for program in sorted(place.glob("*.mlir*")):
                output = directory / "tasks" / f"{program.stem}.pickle"
                if program not in jobs and not output.exists():
                    arguments = (str(program), flags, str(output))
                    jobs[program] = pool.submit(read_tasks, *arguments, seconds=300.0)
            time.sleep(0 if is_over else 0.3)
        for program, job in jobs.items():
            try:
                print(f"{program.stem}: {counted(job.result(), 'dispatch')}", flush=True)
            except Exception as failure:  # noqa: BLE001 - the other programs remain
                print(f"{program.stem} is left out: {failure}", file=sys.stderr)


def model_of(path: Path) -> str:
    """Return the model that a file of dispatches belongs to."""
    return "examples" if path.stem.startswith("example_") else path.stem


def all_tasks(directory: Path, held_out: Collection[str]) -> list[tuple[str, TuningTask]]:
    """Return the distinct dispatches with their models, in random order from all models in turn.

    A dispatch of several models belongs to one that is held out, if there is any.
    """
    by_model: dict[str, list[TuningTask]] = {}
    for path in sorted((directory / "tasks").glob("*.pickle")):
        if path.stem != "thermometer":
            tasks = pickle.loads(path.read_bytes())
            by_model.setdefault(model_of(path), []).extend(tasks)
    for tasks in by_model.values():
        random.Random(0).shuffle(tasks)

    def in_turn(names: Iterable[str]) -> Iterator[tuple[str, TuningTask]]:
        columns = [[(name, task) for task in by_model[name]] for name in names]
        return (pair for row in zip_longest(*columns) for pair in row if pair is not None)

    judges = [name for name in by_model if name in held_out]
    others = [name for name in by_model if name not in held_out]
    distinct: dict[str, tuple[str, TuningTask]] = {}
    for name, task in (*in_turn(judges), *in_turn(others)):
        if not task.is_dynamic:
            distinct.setdefault(task.key, (name, task))
    mine = [pair for pair in distinct.values() if pair[0] not in held_out]
    theirs = [pair for pair in distinct.values() if pair[0] in held_out]
    # One in four is held out, so that a campaign which ends early has both.
    mixed = chain.from_iterable(zip_longest(theirs, mine[::3], mine[1::3], mine[2::3]))
    return [pair for pair in mixed if pair is not None]


# --- The design of a campaign --------------------------------------------------------------------------------

_FIRST_SOURCES: Final = ("default", "estimate", "uniform")
_LATER_SOURCES: Final = ("best", "best", "uniform", "best", "default", "best", "estimate", "best")
_BEGINNING: Final = 24
_DRAWN: Final = 120


_MOST_UNROLLED: Final = 8192


@lru_cache(100_000)
def _unrolled(sizes: tuple[int | None, ...], knobs: tuple[tuple[str, int], ...]) -> int:
    values = dict(knobs)
    result = 1
    for loop, size in enumerate(sizes):
        tiles = [values.get(f"{level}[{loop}]", 0) for level in _VECTORS]
        result *= min(max(tiles), size or 1) or 1
    return result


_VECTORS: Final = ("vector_common_parallel", "vector_reduction", "vector_inner_parallel")


def unrolled(problem: SearchProblem, candidate: Candidate) -> int:
    """Return the elements of a vector tile of a candidate for CPUs, which the compiler unrolls; 1 for others."""
    return _unrolled(problem.sizes, tuple(candidate.knobs.items()))


class PredictedSearch(Search):
    """Candidates in the order of a model's lower bounds, as a prediction finds them."""

    name: ClassVar[str] = "predicted"
    model: GainModel | None = None

    def propose(self, count: int) -> Sequence[Candidate]:
        """Return the best of the candidates that a prediction climbs to."""
        return self.untried(self._climbed)[:count]

    @cached_property
    def _climbed(self) -> list[Candidate]:
        is_known = isinstance(self._pool, CandidateSpaces) and self._pool.default.space >= 0
        if self.model is None or not is_known:
            return []
        found = (scored.candidate for scored in climb(self._pool, self.model))
        made = (self._pool.candidate(one.pipeline, one.knobs) for one in found)
        return [one for one in made if one is not None]


class DesignSearch(PredictedSearch):
    """Candidates near the compiler's choice, first by the estimate, and drawn evenly; later most near the best so far.

    With a model, one in three is what a prediction finds.
    """

    name: ClassVar[str] = "design"

    def untried(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Leave out candidates that unroll so much that they take seconds to compile."""
        default, problem = self._pool.default, self._pool.problem
        most = 0.0 if default is None else 4 * unrolled(problem, default)
        most = max(most, _MOST_UNROLLED)
        return [one for one in super().untried(candidates) if unrolled(problem, one) <= most]

    def propose(self, count: int) -> Sequence[Candidate]:
        """Return candidates of the sources in turn; of others where one has none left."""
        chosen: dict[str, Candidate] = {}
        for number in range(count):
            place = len(self._asked) + number
            turns = _FIRST_SOURCES if place < _BEGINNING else _LATER_SOURCES
            source = turns[place % len(turns)]
            if self.model is not None and not place % 3:
                source = "predicted"
            for name in (source, "best", "uniform", "default"):
                options = [one for one in self._of(name) if one.key not in chosen]
                if options:
                    nearest = options if name == "uniform" else options[:8]
                    is_first = name in {"estimate", "predicted"}
                    pick = options[0] if is_first else self._chance.choice(nearest)
                    chosen[pick.key] = pick
                    break
        return list(chosen.values())

    def _of(self, source: str) -> list[Candidate]:
        if source == "predicted":
            return self.untried(self._climbed)
        if source == "default":
            default = self._pool.default
            near = [] if default is None else [*self._neighbors(default)]
            random.Random(self._seed).shuffle(near)
            return self.untried(near)
        if source == "uniform":
            return self.untried(self.drawn(_DRAWN))
        if source == "estimate":
            return self.untried(fastest_first(self._pool.problem, self.drawn(_DRAWN)))
        for fast in self.best(3):
            near = [*self._neighbors(fast)]
            random.Random(self._seed).shuffle(near)
            if left := self.untried(near):
                return left
        return []


# --- Measuring ------------------------------------------------------------------------------------------------


class PinnedDevice(DeviceProcess):
    """A device whose process runs on one core, before all other processes where the system allows it."""

    core: int | None = None

    def _start(self) -> Any:
        before, policy = os.sched_getaffinity(0), os.sched_getscheduler(0)
        if self.core is None:
            return super()._start()
        # The process inherits both from this thread.
        os.sched_setaffinity(0, {self.core})
        with suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        try:
            return super()._start()
        finally:
            os.sched_setaffinity(0, before)
            os.sched_setscheduler(0, policy, os.sched_param(0))


_kept: dict[Benchmark, Outputs] = {}
"""In the process of a device, the outputs of a default, and of candidates that are to be compared with them."""


def move_to(_: Measurer, processors: Collection[int]) -> None:
    """Move the threads of the process of a device to processors."""
    for thread in Path("/proc/self/task").iterdir():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), processors)


def keep_outputs(measurer: Measurer, benchmark: Benchmark, default: Benchmark) -> None:
    """Run a benchmark, and keep its outputs and those of its default; drop those of other defaults."""
    if default not in _kept:
        _kept.clear()
        _kept[default] = measurer.outputs(default)
    if benchmark != default:
        _kept[benchmark] = measurer.outputs(benchmark)


def compare_kept(
    _: Measurer, benchmark: Benchmark, default: Benchmark, reduction: int
) -> Failure | None:
    """Compare the kept outputs of a benchmark with those of its default, which may have equal code."""
    if benchmark == default:
        return None
    return difference(benchmark.layout, _kept.pop(benchmark), _kept[default], reduction)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock on a file during a block."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def claimed(path: Path) -> Iterator[Callable[[str], object] | None]:
    """Claim a dispatch during a block: yields a function that finishes it, or None if it is finished or claimed."""
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        file.seek(0)
        yield None if file.read() else lambda text: (file.write(text), file.flush())


@dataclass
class Campaign:
    """Measures the dispatches of all models in one process; several may run at once, and take turns at the device."""

    directory: Path
    flags: tuple[str, ...]
    device: PinnedDevice
    compiler: CandidateCompiler
    trials: int
    deadline: float
    models: Mapping[str, GainModel]
    stage: int
    held_out: Collection[str]
    has_design: bool
    reserved: Collection[int]
    seconds: dict[str, float] = field(default_factory=dict)

    def run(self, number: int) -> None:
        """Measure dispatches until the time is over."""
        thermometer = self._thermometer()
        place, read = self.directory / "tasks", 0
        left: deque[tuple[str, TuningTask]] = deque()
        while time.time() < self.deadline:
            # `collect` may still write some.
            if (written := len(list(place.glob("*.pickle")))) != read:
                read, left = written, deque(all_tasks(self.directory, self.held_out))
            if not left:
                return
            name, task = left.popleft()
            if self.models and name not in self.models and not self.has_design:
                continue
            with claimed(self.directory / f"claims{self.stage}" / task.key[:24]) as finish:
                if finish is None:
                    continue
                reading = self._time_default(thermometer, 0.03)
                if not isinstance(reading, Failure):
                    line = {"time": time.time(), "process": number, "us": reading.least}
                    with (self.directory / "thermometer.jsonl").open("a") as file:
                        file.write(json.dumps(line) + "\n")
                began = time.monotonic()
                try:
                    result = self._measure(name, task)
                except NotTunableError as failure:
                    result = f"not tunable: {failure}"
                except Exception:  # noqa: BLE001 - the other dispatches remain
                    result = f"failed: {traceback.format_exc()[-800:]}"
                seconds = time.monotonic() - began
                stamp = datetime.now(UTC).strftime("%H:%M:%S")
                print(f"{stamp} {name} {task.label}: {result} ({seconds:.1f} s)", flush=True)
                if result != "out of time":
                    finish(result)

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[what] = self.seconds.get(what, 0.0) + time.monotonic() - began

    @contextmanager
    def _turn(self) -> Iterator[None]:
        name = re.sub(r"\W+", "-", self.device.description.uri)
        with locked(self.directory / f"{name}.lock"):
            if self.reserved:
                self.device.ask(Request(move_to, (self.reserved,)))
            yield
            if self.reserved:
                self.device.ask(Request(move_to, (os.sched_getaffinity(0),)))

    @property
    def _is_local(self) -> bool:
        return driver_of(self.device.description.uri) in LOCAL_DRIVERS

    @contextmanager
    def _turn_on_cpu(self) -> Iterator[None]:
        """Take a turn at a CPU only: what does not run on a GPU does not disturb it, and takes longer."""
        with self._turn() if self._is_local else nullcontext():
            yield

    def _load(self, *benchmarks: Benchmark) -> Failure | None:
        """Load modules before a turn at a GPU, whose driver compiles them; return a failure or a timeout."""
        for one in () if self._is_local else benchmarks:
            request = Request(Measurer.load, (one.image, one.function), most_seconds=_LOAD_SECONDS)
            loaded = self.device.ask(request)
            if isinstance(loaded, Failure):
                return loaded
        return None

    def _time_default(self, default: Benchmark, seconds: float) -> Timing | Failure:
        failure = self._load(default)
        if failure is not None:
            return failure
        with self._turn():
            return self.device.measure(default, seconds)

    def _thermometer(self) -> Benchmark:
        path = self.directory / "tasks" / "thermometer.pickle"
        (task,) = pickle.loads(path.read_bytes())
        compiled = self.compiler.submit_program(task.source, "", 60.0).result()
        if isinstance(compiled, Failure):
            raise SystemExit(f"the thermometer does not compile: {compiled.message}")
        return task.benchmark(compiled.image)

    def _measure(self, name: str, task: TuningTask) -> str:
        """Measure candidates of a dispatch; return what came of it."""
        description = self.device.description
        compiled = self.compiler.submit_program(task.source, "", 30.0).result()
        if isinstance(compiled, Failure):
            return f"the default does not compile: {compiled.message[:200]}"
        default = task.benchmark(compiled.image)
        if not self._is_local:
            # Random inputs are made, which takes long, before a turn at the GPU.
            self.device.ask(Request(keep_outputs, (default, default)))
        timing = self._time_default(default, 0.06)
        if isinstance(timing, Failure):
            return f"the default does not run: {timing.message[:200]}"
        default_us = timing.least
        is_local = description.is_local
        fastest_us = _FASTEST_US if is_local else _FASTEST_ON_GPU_US
        slowest_us = _SLOWEST_US if is_local else _SLOWEST_ON_GPU_US
        if not fastest_us <= default_us <= slowest_us:
            return f"left out: {default_us:.1f} us"
        self.seconds.clear()
        with self._timed("preparation"):
            registry = ProviderRegistry(lambda _: None)
            prepared = prepare(task, self.flags, (), registry, description.limits)
        if prepared.spaces.default.space < 0 and not prepared.spaces.default_fault:
            return "no space holds the compiler's choice, so that nothing is predicted"
        settings = TuningSettings(devices=(description.uri,))
        with Database(self.directory / f"{name}.db") as database:
            journal = Journal(database, description, settings, self.flags)
            journal.record(prepared, self._default(prepared, timing))
            kind = PredictedSearch if self.models and not self.has_design else DesignSearch
            search = kind(prepared.spaces, 0, default_us)
            search.model = self.models.get(name)
            best = BestTime(default_us)
            results = self._explore(prepared, search, journal, default, best)
            if results is None:
                return "out of time"
            timing = self._time_default(default, 0.06)
            if not isinstance(timing, Failure):
                journal.record(prepared, self._default(prepared, timing))
            self._race(prepared, database, default, results)
        failed = sum(one.failure is not None for one in results)
        times = [one.microseconds for one in results if one.microseconds]
        gain = default_us / min(times) if times else 0.0
        kind = str(prepared.spaces.problem)
        spent = ", ".join(f"{what} {seconds:.1f}" for what, seconds in self.seconds.items())
        numbers = f"{len(results)} trials, {failed} failed, {default_us:.1f} us, {gain:.2f}"
        return f"{kind}: {numbers}; {spent}"

    @staticmethod
    def _default(prepared: PreparedTask, timing: Any) -> TrialResult:
        now = time.monotonic()
        return TrialResult(prepared.spaces.default, timing.least, None, now, timing=timing)

    def _explore(
        self,
        prepared: PreparedTask,
        search: Search,
        journal: Journal,
        default: Benchmark,
        best: BestTime,
    ) -> list[TrialResult] | None:
        """Try candidates; return their results, or None if the time is over."""
        reduction = prepared.spaces.problem.reduction
        checks = not prepared.spaces.default_fault
        default_us = best.microseconds
        waiting: deque[tuple[Candidate, Any]] = deque()
        results: list[TrialResult] = []
        ahead = 2 + self.compiler.jobs
        while True:
            if time.time() > self.deadline:
                return None
            room = min(ahead - len(waiting), self.trials - len(results) - len(waiting))
            with self._timed("search"):
                asked = search.ask(room) if room > 0 else []
            for candidate in asked:
                job = self.compiler.submit(prepared.template, candidate, _COMPILE_SECONDS)
                waiting.append((candidate, job))
            if not waiting:
                return results
            candidate, job = waiting.popleft()
            with self._timed("compilation"):
                outcome = job.result()
            with self._timed("device"):
                own = (candidate, outcome, default, best, reduction)
                result = self._try(*own, default_us=default_us, checks=checks)
            search.tell(candidate, result.microseconds)
            journal.record(prepared, result)
            results.append(result)
            if len(results) == self.trials // 2 and self.trials > _FEW_TRIALS:
                timing = self._time_default(default, 0.04)
                if not isinstance(timing, Failure):
                    journal.record(prepared, self._default(prepared, timing))

    def _try(
        self,
        candidate: Candidate,
        outcome: Benchmark | Failure,
        default: Benchmark,
        best: BestTime,
        reduction: int,
        *,
        default_us: float,
        checks: bool,
    ) -> TrialResult:
        now = time.monotonic()
        if isinstance(outcome, Failure):
            return TrialResult(candidate, None, outcome, now)
        failure = self._load(outcome)
        if failure is not None:
            return TrialResult(candidate, None, failure, now)
        with self._turn():
            measured = screen(self.device, outcome, best)
            if isinstance(measured, Failure):
                return TrialResult(candidate, None, measured, now)
            # A prediction takes no slow candidate, whose outputs do not matter.
            checks = checks and measured.microseconds < _COMPARED * default_us
        if checks:
            # One call disturbs at most a sample of another process; copying and reading its operands takes long.
            with self._turn_on_cpu():
                failure = self.device.ask(Request(keep_outputs, (outcome, default)))
                if failure is None:
                    request = Request(compare_kept, (outcome, default, reduction))
                    failure = self.device.ask(request)
        if failure is not None:
            return TrialResult(candidate, None, failure, now)
        us, timing = measured.microseconds, measured.timing
        return TrialResult(candidate, us, None, now, outcome, timing, spills=outcome.spills)

    def _race(
        self,
        prepared: PreparedTask,
        database: Database,
        default: Benchmark,
        results: Sequence[TrialResult],
    ) -> None:
        """Measure the best three candidates in interleaved rounds with the default, and record them as a race."""
        timed = [one for one in results if one.microseconds is not None and one.benchmark]
        best = sorted(timed, key=lambda one: one.microseconds or 0.0)[:3]
        if not best:
            return
        programs = [default, *(one.benchmark for one in best if one.benchmark)]
        if self._load(*programs) is not None:
            return
        with self._turn():
            rounds = self.device.rounds(programs, _ROUNDS, 0, 1.0)
        if isinstance(rounds, Failure):
            return
        keys = [prepared.spaces.default.key, *(one.candidate.key for one in best)]
        recorded = {trial.configuration.key: trial for trial in database.trials(prepared.task.key)}
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        samples = list(zip(*rounds.samples, strict=True))
        database.record_all(
            replace(recorded[key], stage="race", samples=times, batch=batch, time=now)
            for key, times, batch in zip(keys, samples, rounds.batches, strict=True)
        )


def read_folds(directory: Path) -> dict[str, GainModel]:
    """Return the model that was trained without each group, by group."""
    folds = json.loads((directory / "folds.json").read_text())
    loaded = {name: GainModel.load((directory / name).read_bytes()) for name in {*folds.values()}}
    return {group: loaded[name] for group, name in folds.items()}


def campaign(arguments: argparse.Namespace) -> None:
    """Run a campaign in several processes."""
    directory: Path = arguments.directory
    (directory / f"claims{arguments.stage}").mkdir(exist_ok=True)
    if arguments.number is None:
        command = [sys.executable, *sys.argv]
        split = command.index("--") if "--" in command else len(command)
        until = str(time.time() + arguments.budget)
        processes = []
        for number in range(arguments.processes):
            own = ["--number", str(number), "--until", until]
            processes.append(subprocess.Popen([*command[:split], *own, *command[split:]]))
        for process in processes:
            process.wait()
        return
    set_up(arguments.flags)
    timing = Settings(seed=0)
    PinnedDevice.core = arguments.core
    # The process whose turn it is at a GPU has some processors to itself, where there are many.
    processors = sorted(os.sched_getaffinity(0))
    is_shared = driver_of(arguments.device) in LOCAL_DRIVERS or len(processors) < _MANY
    reserved = () if is_shared else processors[:_RESERVED]
    os.sched_setaffinity(0, set(processors) - set(reserved))
    with ExitStack() as opened:
        device = opened.enter_context(PinnedDevice(arguments.device, (), timing, 8.0))
        if arguments.core is None:
            os.nice(5)  # what follows compiles, and waits for the process of the device
        compiler = opened.enter_context(CandidateCompiler(arguments.flags, arguments.jobs))
        own = (directory, arguments.flags, device, compiler, arguments.trials, arguments.until)
        models = read_folds(arguments.models) if arguments.models else {}
        chosen = (arguments.stage, arguments.held_out, arguments.design, reserved)
        Campaign(*own, models, *chosen).run(arguments.number)
