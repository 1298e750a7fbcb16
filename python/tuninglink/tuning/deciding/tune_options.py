"""The options of `tuninglink tune` and of other runs that measure candidates: each field declares a flag."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Final

from tuninglink.compiler import COMPILE_FLAGS, DIM_FLAG, Phase
from tuninglink.devices import BoardOptions, Caches
from tuninglink.files import STANDARD_STREAM
from tuninglink.iree import GivenSizes, Target, named_target
from tuninglink.llvm_flags import (
    JOBS_FLAG,
    choice,
    group,
    option,
    read_count,
    read_fraction,
    read_name,
    read_number,
    read_positive_duration,
    toggle,
)
from tuninglink.programs import CallOptions
from tuninglink.spaces.model import FixedKnob
from tuninglink.tuning.problems import OPERATIONS, Problem, read_words


class Numerics(Enum):
    """The acceptance policy for results of tuned programs. The values match the flag's."""

    BITWISE = "bitwise"
    """Accept results that are bitwise equal to the default's."""

    ROUNDING = "rounding"
    """Accept differences that a different order of rounding explains."""

    ANY = "any"
    """Accept all results of the whole program."""


class LastStage(Enum):
    """The stages after which a run can end. The values match the flag's."""

    CANDIDATES = "candidates"
    """Draw candidates."""

    COMPILATION = "compilation"
    """Compile them."""

    MEASUREMENT = "measurement"
    """Measure them, without a race."""


_TIMEOUT: Final = 30.0
_RUN_TIMEOUT_PART: Final = 0.1
_LEAST_RUN_TIMEOUT: Final = 5.0


@dataclass(frozen=True)
class TuningSettings:
    """The settings of a tuning run, as the flags of `tuninglink tune` set them.

    Without `seconds` and `trials`, tuning ends when the candidates run out.
    """

    devices: tuple[str, ...] = option(
        (),
        name="device",
        repeats=True,
        metavar="URI",
        help="The device, as in cuda://0, hip://0, local-task or 'run:ssh board'. Others are vulkan://0 and local-sync. May be "
        "repeated: equal devices share the work. Default: the one that runs what is compiled for.",
    )
    board: BoardOptions = group(BoardOptions)
    seconds: float = option(
        math.inf,
        name="budget",
        read=read_positive_duration,
        metavar="TIME",
        help="How long to take, as in 90s, 10m or 1.5h. Default: 10m, or no limit with --trials.",
    )
    trials: int | None = option(
        None,
        read=read_count,
        metavar="N",
        help="Try at most N candidates of each dispatch or entry.",
    )
    top: int | None = option(
        None, read=read_count, metavar="N", help="Tune the N dispatches that take most of the time."
    )
    patterns: tuple[str, ...] = option(
        (),
        name="only",
        repeats=True,
        metavar="PATTERN",
        help="Tune dispatches with this in their name or their function's. May be repeated; * and ? match.",
    )
    min_share: float = option(
        0.0,
        read=read_fraction,
        metavar="PART",
        help="Tune dispatches that take at least this part of the time, as in 5%, and those whose default computes a "
        "wrong result.",
    )
    min_gain: float = option(
        0.02, read=read_fraction, metavar="PART", help="The least gain worth an entry. Default: 2%."
    )
    jobs: int | None = option(None, JOBS_FLAG)
    timeout: float = option(
        _TIMEOUT,
        read=read_positive_duration,
        metavar="TIME",
        help="When a compilation or a benchmark counts as hanging. Default: 30s; of benchmarks a tenth of the budget, if that is "
        "less.",
    )
    caches: Caches = option(
        Caches.PROGRAM,
        choice(
            "",
            Caches,
            "Which data a dispatch finds in the caches: all (warm), none (cold), or what the program leaves there between "
            "two calls (program), as a decode step does. Default: program.",
        ),
    )
    seed: int = option(
        0, read=read_number, metavar="N", help="Fixes samples, inputs and orders. Default: 0."
    )
    search: str = option(
        "model",
        metavar="NAME",
        help="The order of candidates: model, random, neighbors, or the name of a plug-in. Default: model.",
    )
    runs_model: bool = toggle(
        "Do not run the whole program with the spec in the end.", name="no-model", default=True
    )
    checks_defaults: bool = toggle(
        "Compare candidates with the compiler's own choices alone, whether these are right or not.",
        name="no-reference",
        default=True,
    )
    numerics: Numerics = option(
        Numerics.ROUNDING,
        choice(
            "",
            Numerics,
            "Accept results that are equal (bitwise), that differ by rounding, or any. This holds for candidates and for "
            "the tuned program, compared with the compiler's own choices. Default: rounding.",
        ),
    )
    pipelines: tuple[str, ...] = option(
        (),
        name="pipeline",
        repeats=True,
        metavar="NAME",
        help="Choose candidates of this pipeline, such as TileAndFuse. May be repeated.",
    )
    fixed: tuple[FixedKnob, ...] = option(
        (),
        name="knob",
        read=FixedKnob.parse,
        repeats=True,
        metavar="KNOB=VALUE",
        help="Choose candidates with this value of a knob, which has the name that init and explain show, as in "
        "workgroup[0]=64 or mma_kind=MFMA_F32_16x16x16_F16. May be repeated.",
    )
    stop_after: LastStage | None = option(
        None,
        choice(
            "",
            LastStage,
            "End after this stage: list the candidates of each dispatch on standard output, those with the best "
            "estimates, those that compile, or all with their times; -o DIR writes each as a spec. The first two need no "
            "device; --trials is the number of candidates, by default 100.",
        ),
    )

    @property
    def run_timeout(self) -> float:
        """The seconds after which a benchmark counts as hanging: in a short run, one that hangs must not end the others."""
        part = max(_LEAST_RUN_TIMEOUT, _RUN_TIMEOUT_PART * self.seconds)
        return min(self.timeout, part) if self.timeout == _TIMEOUT else self.timeout


# --- The options of runs that measure candidates -------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MeasuringOptions:
    """The options of a run that measures candidates, whose flags `flags` are those of the compiler."""

    output: str = option(
        STANDARD_STREAM,
        COMPILE_FLAGS["output"],
        metavar="SPEC.mlir",
        help="Where to write the spec. Default: standard output.",
    )
    upgrade: bool = option(True, COMPILE_FLAGS["no-upgrade"], name="no-upgrade")  # noqa: FBT003
    database: str = option(
        "",
        metavar="FILE",
        help="Keep all results in FILE; what is there already is not measured again.",
    )
    failures: str = option(
        "",
        metavar="DIR",
        help="Keep candidates that fail to compile, to run or to compute what they should in DIR, and dispatches whose "
        "default does; each with a script or a command that shows it with the stock tools.",
    )
    cluster: str = option(
        "",
        metavar="ADDRESS",
        help="Compile and measure on the workers of Dask's scheduler, as in tcp://10.0.0.1:8786.",
    )
    settings: TuningSettings = group(TuningSettings)
    flags: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TuneOptions(MeasuringOptions):
    """The options of a run of the tuner. The path of the program is empty with problems."""

    input: str
    problems: tuple[Problem, ...] = option(
        (),
        name="problem",
        read=read_words,
        repeats=True,
        metavar="WORDS",
        help="Tune this problem instead of a program, as in 'matmul 64x64x128 f16'. docs/guides/problems.md lists the "
        "words. May be repeated.",
        values=lambda: OPERATIONS,
    )
    sizes: tuple[GivenSizes, ...] = option(
        (),
        DIM_FLAG,
        name="dim",
        help="Tune at these sizes of dynamic dimensions, as in 0.0=1,8:2,64. That is ARGUMENT.DIMENSION=SIZE[:WEIGHT],... "
        "or sizes alone for all of them; 0.1=1.1=16,64: both have the same. May be repeated.",
    )
    calls: CallOptions = group(CallOptions)
    flag_sets: str = option(
        "",
        metavar="FILE",
        help="Compare these sets of compiler flags first, one a line; none for no sets. Default: those for the backend, "
        "in at most a tenth of --budget. The best ones are written to SPEC.flags.",
        values=lambda: ("none",),
    )
    only_flags: bool = toggle("Only compare sets of flags.")
    forms: bool = toggle(
        "Do not compute ops in other ways, such as attention padded to the sizes of matrix intrinsics.",
        name="no-forms",
        default=True,
    )
    kernels: bool = toggle(
        "Also try kernels: code for the device that the compiler does not generate, from Triton (extra 'kernels') and other "
        "providers. The spec holds those that make the whole program faster, and a program with it runs them."
    )
    profile: str = option(
        "",
        metavar="FILE",
        help="Weigh dispatches by their times in this profile of the program, such as a .ireeprof or what `tuninglink "
        "explain --device` writes as JSON; see its --help. Default: by their times alone.",
    )
    dry_run: bool = toggle(
        "Show the dispatches with the sizes of their spaces, and do nothing else."
    )
    specs: tuple[str, ...] = option(
        (),
        COMPILE_FLAGS["spec"],
        name="spec",
        help="Try the configurations of this spec, too. May be repeated.",
    )
    spec_directories: tuple[str, ...] = option(
        (),
        COMPILE_FLAGS["spec-dir"],
        name="spec-dir",
        help="Look for default specs, which are tried as well, in this directory first. May be repeated.",
    )
    default_specs: bool = toggle("Try no default specs.", name="no-default-specs", default=True)
    report: str = option("", metavar="DIR", help="Write a report to DIR, as JSON and as a page.")
    script: str = option(
        "",
        name="emit-script",
        read=read_name,
        metavar="FILE",
        help="Write a shell script that compiles the program with and without the result, runs both on a device and "
        "compares them, with stock tools only: for a machine without Python. Its inputs are in a folder next to it.",
    )
    compile_from: Phase = option(Phase.START, COMPILE_FLAGS["compile-from"])
    target: str = ""

    @property
    def machine(self) -> Target | None:
        """The target that was named, unless it is this processor; None if flags name it."""
        return named_target(self.target)

    @property
    def is_partial(self) -> bool:
        """Whether the run ends before a spec is written."""
        return self.dry_run or self.settings.stop_after is not None

    @property
    def title(self) -> str:
        """The name of the input in progress and reports."""
        return "problems" if self.problems else self.input
