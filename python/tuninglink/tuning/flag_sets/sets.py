"""Sets of compiler flags as candidates of a whole program, from a list for each backend, plug-ins and files."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, TypeVarTuple

from tuninglink.compiler import Phase, SavedProgram, compiler_run, has_encodings
from tuninglink.errors import CompileError, TuninglinkError
from tuninglink.files import cannot
from tuninglink.iree import TENSOR_UKERNELS_FLAG, find_dispatches, find_root_ops
from tuninglink.mlir import error, note
from tuninglink.plain_data import FLAT, HIDDEN
from tuninglink.spaces import miscompilation
from tuninglink.spaces.model import read_configuration, read_workload
from tuninglink.tuning.candidates import compile_program, prepare_whole_worker
from tuninglink.tuning.deciding import ConfidenceInterval, ModelComparison
from tuninglink.tuning.programs import FunctionCall, ProgramCalls, form_dispatches
from tuninglink.tuning.references import ProgramReference
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError, do_nothing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tuninglink.iree import GivenSizes
    from tuninglink.tuning.programs import CallOptions

    Outputs = Mapping[str, tuple[NDArray[Any], ...]]


GROUP: Final = "tuninglink.flag_sets"
"""The entry-point group under which a plug-in registers a function from a backend to its flag sets."""

NONE: Final = "none"
"""The value of `--flag-sets` for no sets."""


@dataclass(frozen=True)
class FlagSet:
    """Compiler flags that are tried together.

    Attributes:
        name: the name in reports.
        flags: the flags, each `--name` or `--name=value`.
        word: a word that occurs in the programs that the flags apply to; empty for any program.
    """

    name: str
    flags: tuple[str, ...]
    word: str = field(default="", metadata=HIDDEN)

    def conflicts(self, flags: Sequence[str]) -> bool:
        """Return whether one of the flags is already given, with any value."""
        given = {_flag_name(flag) for flag in flags}
        return any(_flag_name(flag) in given for flag in self.flags)

    def suits(self, program: str) -> bool:
        """Return whether the set may apply to a program, from the bytes of its file: text, bytecode or ONNX."""
        path = Path(program)
        if not self.word or not path.is_file() or not path.stat().st_size:
            return True
        with (
            path.open("rb") as file,
            mmap(file.fileno(), 0, access=ACCESS_READ) as content,
        ):
            return content.find(self.word.encode()) >= 0


DEFAULT: Final[FlagSet] = FlagSet("default", ())
"""The user's flags without additions."""

_TILING: Final = "--iree-opt-data-tiling"
_IM2COL: Final = "--iree-global-opt-use-im2col-for-convs"
_UNROLLING: Final = "--iree-llvmcpu-loop-unrolling=true"

_ATTENTION: Final = (
    "--iree-preprocessing-pass-pipeline=builtin.module(util.func("
    "iree-linalg-ext-convert-attention-to-online-attention,iree-linalg-ext-decompose-attention,"
    "canonicalize,cse))"
)
"""Attention as two products and a softmax, which can be vectorized and data-tiled. The scores go through memory."""

_CHANNELS_LAST: Final = (
    "--iree-preprocessing-pass-pipeline=builtin.module(util.func("
    "iree-preprocessing-convert-conv-to-channels-last))"
)
"""Convolutions with images in NHWC and filters in HWCF, which have direct vector code."""

_CPU: Final = (
    FlagSet(
        "attention as products, data tiling, im2col, unrolling",
        (_ATTENTION, _TILING, _IM2COL, _UNROLLING, "--iree-llvmcpu-mlir-opt-level=O3"),
        word="ttention",
    ),
    FlagSet("attention as products", (_ATTENTION,), word="ttention"),
    FlagSet(
        "data tiling, im2col, unrolling",
        (_TILING, _IM2COL, _UNROLLING, "--iree-llvmcpu-mlir-opt-level=O3"),
    ),
    FlagSet(
        "channels last, data tiling, unrolling",
        (_CHANNELS_LAST, _TILING, _UNROLLING, "--iree-llvmcpu-mlir-opt-level=O3"),
        word="onv",
    ),
    FlagSet(
        "channels last, unrolling",
        (_CHANNELS_LAST, _UNROLLING, "--iree-llvmcpu-mlir-opt-level=O3"),
        word="onv",
    ),
    FlagSet("peeling", ("--iree-llvmcpu-vector-pproc-strategy=peel",)),
    FlagSet("im2col, unrolling", (_IM2COL, _UNROLLING, "--iree-llvmcpu-mlir-opt-level=O3")),
    FlagSet(
        "data tiling, im2col, no ukernels",
        (_TILING, _IM2COL, "--iree-llvmcpu-enable-ukernels=none"),
    ),
    FlagSet("data tiling, im2col, O3", (_TILING, _IM2COL, "--iree-opt-level=O3")),
    FlagSet("data tiling", (_TILING,)),
)
"""The sets that were fastest on at least one of ten programs, compiled for one CPU, most promising first.

The sets with im2col or channels last and without data tiling are for programs whose convolutions are tuned.
"""

CHANNELS_LAST: Final[FlagSet] = FlagSet("channels last", (_CHANNELS_LAST,), word="onv")
"""The set for GPUs. CUDA's intrinsics compute 1x1 convolutions right only if the results end with the channels."""

_GPU: Final = (
    CHANNELS_LAST,
    FlagSet("O2", ("--iree-opt-level=O2",)),
    FlagSet("O3", ("--iree-opt-level=O3",)),
)
"""On an H200 in f16, code for sm_80: O2 alone gains 1.22 on BERT-base, where it multiplies the error by nine, 1.04 on
ViT-B/16, and 1.56 on a Llama-style decoder with the same error."""

_ROCM: Final = (
    FlagSet("tensor microkernels", (TENSOR_UKERNELS_FLAG,)),
    *_GPU,
)
"""The microkernels are for matrices on gfx942 and gfx950; elsewhere the code is the same."""

_NAME: Final = re.compile(r"([^-].*?)\s*:\s+(?=[\"'-])")
"""The name of a set in a file. The comment after its flags may contain colons, too."""

_SETS: Final = {"llvm-cpu": _CPU, "cuda": _GPU, "rocm": _ROCM}


def flag_sets(
    backend: str,
    source: str,
    flags: Sequence[str],
    *,
    program: str = "",
) -> list[FlagSet]:
    """Return the sets to try, most promising first.

    Args:
        backend: the backend of the compiler, such as `llvm-cpu`.
        source: a file with sets, `none`, or empty for the built-in list and those of plug-ins.
        flags: the user's flags; sets with another value for one of them are left out.
        program: the path of the program; sets that cannot apply to it are left out.

    Raises:
        TuninglinkError: the file cannot be read, or a plug-in fails.
    """
    if source == NONE:
        return []
    sets = (
        read_flag_sets(Path(source)) if source else [*_SETS.get(backend, ()), *_plug_ins(backend)]
    )
    return [
        flag_set for flag_set in sets if not flag_set.conflicts(flags) and flag_set.suits(program)
    ]


def read_flag_sets(path: Path) -> list[FlagSet]:
    """Read a file with one set per line, `NAME: FLAG…` or just flags; `#` starts a comment.

    Raises:
        TuninglinkError: the file cannot be read, or a line has a different form.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure if isinstance(failure, OSError) else OSError("it is not UTF-8")
        raise TuninglinkError(cannot("read", path, reason)) from None
    sets = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith("#"):
            continue
        name = _NAME.match(text)
        written = text[name.end() :] if name else text
        try:
            words = shlex.split(written, comments=True)
        except ValueError:  # an unterminated quotation
            words = [written]
        if not words:
            continue
        if not all(word.startswith("--") for word in words):
            remedy = note("expected NAME: --flag --flag=value …")
            raise TuninglinkError(error(f"{path}:{number}: not a set of flags", notes=[remedy]))
        sets.append(FlagSet(name[1] if name else " ".join(words), tuple(words)))
    return sets


def _plug_ins(backend: str) -> list[FlagSet]:
    sets: list[FlagSet] = []
    for plug_in in sorted(entry_points(group=GROUP), key=lambda entry_point: entry_point.name):
        try:
            sets += plug_in.load()(backend)
        except Exception as failure:  # noqa: BLE001 - plug-ins may raise anything
            message = f"the flag sets of plug-in '{plug_in.name}' cannot be used: {failure}"
            raise TuninglinkError(error(message)) from None
    return sets


def _flag_name(flag: str) -> str:
    return flag.partition("=")[0].lstrip("-")


# --- The results of comparing sets of flags, as data, and the sets under which dispatches are tuned

_NEAR: Final = 0.95
"""The speedup from which a set may be as fast: medians of a busy machine vary as much. EfficientNet-B0 on an H200 takes 1.09
times as long with 25 replaced wrong defaults, so that a set which avoids them may cost as much."""


@dataclass(frozen=True)
class SetResult:
    """The result of one set of flags.

    Attributes:
        flag_set: the set.
        milliseconds: the time of the program; None if it was not measured.
        speedup: the speedup over the user's flags; None if it was not measured.
        error: the relative error of the outputs; None likewise.
        note: the reason why the set was not measured or is not selected; empty otherwise.
        is_rejected: whether its outputs are rejected.
        is_slower: whether it is slower at one of the sizes of dynamic arguments.
        is_data_tiled: whether the compiler chooses the layout of operands, which specs cannot configure.
        avoided: by how much the number of defaults that are known to be miscompiled is smaller than with the user's flags.
        entries: the number of entries of the spec tuned under the set; None for the set alone.
    """

    flag_set: FlagSet = field(metadata=FLAT)
    milliseconds: float | None = None
    speedup: ConfidenceInterval | None = field(default=None, metadata=FLAT)
    error: float | None = None
    note: str = ""
    is_rejected: bool = False
    is_slower: bool = False
    is_data_tiled: bool = False
    avoided: int = 0
    entries: int | None = None

    @property
    def median(self) -> float:
        """The estimated speedup, 0 if it was not measured."""
        return self.speedup.median if self.speedup is not None else 0.0

    @property
    def low(self) -> float:
        """The lower bound of the speedup, 0 if it was not measured."""
        return self.speedup.low if self.speedup is not None else 0.0

    @property
    def rank(self) -> tuple[int, float]:
        """The sort key of acceptable sets: correct results come before speed."""
        return self.avoided, self.median

    @property
    def repairs(self) -> bool:
        """Whether the set avoids wrong defaults and may be as fast as the user's flags."""
        return self.avoided > 0 and self.median >= _NEAR

    def may_win(self, median: float) -> bool:
        """Return whether the set is acceptable, and its estimated speedup is larger than the given one."""
        return self.median > median and not self.is_rejected and not self.is_slower


@dataclass(frozen=True)
class FlagsResult:
    """The result of comparing sets of flags.

    Attributes:
        results: the sets, in the order in which they were tried.
        best: the selected set; None if the user's flags are the fastest.
        default_ms: the time of the program with the user's flags; None if it was not measured.
        noise: the speedup of the default against itself; None likewise.
        reason: the reason for comparing no sets; empty if some were compared.
        default_is_tiled: whether the compiler already chooses the layout of operands with the user's flags.
        pairs: the sets under which dispatches were tuned, with their specs, if flags were selected.
        final_ms: the time of the program with the user's flags in the comparison of these pairs.
        finding: the fault of the outputs of the program with the user's flags; empty if there is none, or it was not
            compared.
    """

    results: tuple[SetResult, ...] = ()
    best: SetResult | None = None
    default_ms: float | None = None
    noise: ConfidenceInterval | None = None
    reason: str = ""
    default_is_tiled: bool = False
    pairs: tuple[SetResult, ...] = ()
    final_ms: float | None = None
    finding: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of the best set."""
        return self.best.flag_set.flags if self.best is not None else ()

    @property
    def whole(self) -> ModelComparison | None:
        """The whole program with the selected flags and spec against the user's flags; None if it was not measured."""
        best, default_ms = self.best, self.final_ms if self.pairs else self.default_ms
        if best is None or best.speedup is None or default_ms is None or not best.milliseconds:
            return None
        return ModelComparison(default_ms, best.milliseconds, best.speedup)


@dataclass(frozen=True)
class TunedSet:
    """A set of flags with the spec tuned under it.

    Attributes:
        flag_set: the set; without flags, it stands for the user's flags.
        spec: the spec, as text.
        entries: the number of problems with an entry; with 0, the set is compared without a spec.
    """

    flag_set: FlagSet
    spec: str = ""
    entries: int = 0


_LEAST_SECONDS: Final = 45.0
"""The least time, in seconds, that is divided between two sets."""

_COMPILATIONS: Final = 40.0
"""The least of that time in compilations of the program: reading it, the defaults, the run of the whole and the final
comparison take about eight of each set."""

_REACH: Final = 2.5
"""The largest slowdown that tuning of dispatches is expected to make up for."""

_ALIKE: Final = 1.02
"""The largest slowdown for which a set without data tiling is tuned instead, as specs configure more of it."""

_SURELY_ALIKE: Final = 1.05
"""The largest slowdown by the lower bound of its speedup."""

_SAME: Final[ConfidenceInterval] = ConfidenceInterval(1.0, 1.0, 1.0)
"""The speedup of the user's flags over themselves."""


def tuning_bases(
    result: FlagsResult, seconds: float, compile_seconds: float = 0.0
) -> list[FlagSet]:
    """Return the sets under which dispatches are tuned, the best one first.

    If the best set tiles data, specs configure little of the program. Then the best set without data tiling, perhaps
    the default, is also a base, and whole-program times decide. If there is no time for both, the set without data
    tiling is the only base, provided that it is as fast.

    Args:
        result: the comparison of the sets.
        seconds: the time for tuning.
        compile_seconds: the time of a compilation of the program.
    """
    best = result.best
    if best is None:
        return [DEFAULT]
    bases = [best.flag_set]
    if not best.is_data_tiled or result.default_is_tiled:
        return bases
    # By lower bounds, as sets that left early have wide intervals and may have large medians by chance.
    others = [other for other in result.results if not other.is_data_tiled and other.may_win(1.0)]
    others.append(SetResult(DEFAULT, speedup=_SAME))
    other = max(others, key=lambda other: other.low)
    if seconds < max(_LEAST_SECONDS, _COMPILATIONS * compile_seconds):
        is_alike = best.median <= min(_ALIKE * other.median, _SURELY_ALIKE * other.low)
        return [other.flag_set] if is_alike else bases
    if best.median <= _REACH * other.median:
        bases.append(other.flag_set)
    return bases


_MOST_RIVALS: Final = 2

_FINAL_COMPILATIONS: Final = 10.0
"""The least time for another comparison at the end, in compilations of the program."""


def finalists(result: FlagsResult, seconds: float, compile_seconds: float = 0.0) -> list[FlagSet]:
    """Return the best set and sets that are nearly as fast, fastest first, if there is time to compare them again.

    Args:
        result: the comparison of the sets.
        seconds: the time for tuning and for the comparison.
        compile_seconds: the time of a compilation of the program.
    """
    best = result.best
    if best is None or seconds < max(_LEAST_SECONDS, _FINAL_COMPILATIONS * compile_seconds):
        return []
    bar = _NEAR * best.median
    near = [
        other
        for other in result.results
        if other is not best and other.may_win(bar) and other.avoided >= best.avoided
    ]
    near.sort(key=lambda other: -other.median)
    return [best.flag_set, *(other.flag_set for other in near[:_MOST_RIVALS])]


# --- Compilation of a program and its reference in separate processes, one for each set of flags, as flags are global

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

_CUDA: Final = "cuda"
"""The backend for which miscompilations are known."""


@dataclass(frozen=True)
class ProgramSource:
    """A program given by the user.

    Attributes:
        path: its path.
        first: the last phase that the program has passed.
        sizes: the sizes of dynamic dimensions of its arguments.
        calls: its functions to call, and their arguments.
    """

    path: str
    first: Phase
    sizes: tuple[GivenSizes, ...]
    calls: CallOptions


@dataclass(frozen=True)
class CompiledSource:
    """A compiled program.

    Attributes:
        image: the module, a VM FlatBuffer.
        calls: the calls that make up its time; None if its functions cannot be read.
        backends: the backends that compiled it.
        seconds: the compilation time.
        is_data_tiled: whether the compiler chose the layout of operands.
        wrong_defaults: the number of dispatches whose default is known to be miscompiled.
    """

    image: bytes = field(repr=False)
    calls: ProgramCalls | None
    backends: tuple[str, ...]
    seconds: float
    is_data_tiled: bool = False
    wrong_defaults: int = 0


@dataclass(frozen=True)
class FormedSource:
    """A program after the formation of dispatches."""

    program: SavedProgram
    backend: str


class SetCompiler:
    """Compiles a program under sets of flags, in order of submission.

    Args:
        jobs: the number of parallel compilations.
    """

    def __init__(self, jobs: int) -> None:
        self._threads = ThreadPoolExecutor(jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def submit(
        self, source: ProgramSource, flags: Sequence[str], deadline: float, spec: str = ""
    ) -> Future[CompiledSource | str]:
        """Compile a program.

        Args:
            source: the program.
            flags: all flags of the compiler.
            deadline: the time limit, in seconds of `time.monotonic()`.
            spec: the spec to apply; empty for none.

        Returns:
            A future of the program or of the failure.
        """
        return self._threads.submit(_compile, source, tuple(flags), deadline, spec)


def _compile(
    source: ProgramSource, flags: tuple[str, ...], deadline: float, spec: str
) -> CompiledSource | str:
    return _in_process(flags, deadline, compile_source, source, spec)


def _in_process(
    flags: tuple[str, ...],
    deadline: float,
    function: Callable[[*Arguments], Result | str],
    *arguments: *Arguments,
) -> Result | str:
    """Call a function in a separate process whose command line holds flags."""
    left = deadline - time.monotonic()
    if left <= 0:
        return "it was not compiled: there was no time left"
    try:
        with Pool(1, prepare_whole_worker, (flags,)) as pool:
            try:
                pool.submit(do_nothing).result()
            except WorkerCrashedError:
                return "the compiler rejects the flags"
            return pool.submit(function, *arguments, seconds=left).result()
    except JobTimeoutError as failure:
        return f"it did not compile within {failure.seconds:.3g} s"
    except WorkerCrashedError as failure:
        return f"the compiler crashed: {failure.status}"


def formed_source(source: ProgramSource) -> FormedSource | str:
    """Form the dispatches of a program in this process, whose command line holds the flags."""
    try:
        with compiler_run(source.path, ()) as run:
            _, saved = form_dispatches(
                run, first=source.first, sizes=source.sizes, options=source.calls
            )
            targets = [dispatch.target for dispatch in find_dispatches(run.module)]
            backends = [target.backend for target in targets if target is not None]
            if not backends:
                return "it has no dispatch"
            return FormedSource(saved, backends[0])
    except CompileError as failure:
        return failure.diagnostics[0].message


def compile_source(source: ProgramSource, spec: str) -> CompiledSource | str:
    """Compile a program in this process, whose command line holds the flags."""
    began = time.monotonic()
    try:
        with compiler_run(source.path, ()) as run:
            # Form the dispatches, and read their properties.
            calls, saved = form_dispatches(
                run, first=source.first, sizes=source.sizes, options=source.calls
            )
            dispatches = find_dispatches(run.module)
            targets = [dispatch.target for dispatch in dispatches]
            backends = tuple(
                dict.fromkeys(target.backend for target in targets if target is not None)
            )
            is_tiled = any(has_encodings(dispatch.module) for dispatch in dispatches)
            wrong_defaults, phase = 0, Phase.EXECUTABLE_SOURCES
            if _CUDA in backends:
                run.advance(phase, phase := Phase.EXECUTABLE_CONFIGURATIONS)
                # The number of dispatches of a configured program whose code is known to be miscompiled.
                configured = [
                    (read_workload(root, op.function), read_configuration(root, op.function))
                    for op in find_root_ops(run.module)
                    for root in op.roots
                ]
                wrong_defaults = sum(
                    configuration is not None and bool(miscompilation(workload, configuration))
                    for workload, configuration in configured
                )
            # Without a spec, finish this compilation; with one, compile the saved program.
            if not spec:
                run.advance(phase, Phase.END)
                image = run.image()
        if spec:
            compiled = compile_program(saved.content, spec, saved.phase)
            if isinstance(compiled, str):
                return compiled
            image = compiled.image
    except CompileError as failure:
        return failure.diagnostics[0].message
    seconds = time.monotonic() - began
    return CompiledSource(image, calls, backends, seconds, is_tiled, wrong_defaults)


@dataclass
class SourceReference:
    """The expected outputs of a program, computed in separate processes when they are first needed.

    Attributes:
        source: the program.
        flags: the user's flags.
        seed: the seed of random inputs.
        seconds: the time limit.
        name: the name of the reference target, once it was computed.
    """

    source: ProgramSource
    flags: tuple[str, ...]
    seed: int
    seconds: float
    name: str = ""
    _outputs: dict[tuple[int, int], Outputs | str] = field(default_factory=dict)

    def outputs(
        self, calls: ProgramCalls, functions: Sequence[FunctionCall], integers: tuple[int, int]
    ) -> Outputs | str:
        """See `ProgramReference.outputs`."""
        if integers not in self._outputs:
            self._outputs[integers] = self._compute(calls, functions, integers)
        return self._outputs[integers]

    def _compute(
        self, calls: ProgramCalls, functions: Sequence[FunctionCall], integers: tuple[int, int]
    ) -> Outputs | str:
        end = time.monotonic() + self.seconds
        formed = _in_process(self.flags, end, formed_source, self.source)
        if isinstance(formed, str):
            return formed
        left = max(0.0, end - time.monotonic())
        with ProgramReference(formed.program, formed.backend, self.seed, left) as reference:
            self.name = reference.name
            return reference.outputs(calls, functions, integers)
