"""The settings of the tuner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from tuninglink.compiler import Phase
from tuninglink.files import STANDARD_STREAM
from tuninglink.iree import GivenSizes
from tuninglink.spaces.model import FixedKnob
from tuninglink.tuning.devices import Caches
from tuninglink.tuning.problems import Problem
from tuninglink.tuning.programs import CallOptions, FunctionWeight, GivenInput, ParameterFile


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


@dataclass(frozen=True)
class TuningSettings:
    """The settings of a tuning run.

    Attributes:
        devices: the devices, which must be equal; empty to choose the one for the program's target.
        seconds: the time limit, without the run of the whole program.
        trials: the limit on the candidates of a dispatch; None for no limit.
        top: the number of heaviest tasks to tune; None for all.
        patterns: substrings of the names of dispatches or functions to tune; empty for all.
        min_share: the least share of a task in the time of all dispatches.
        min_gain: the least gain worth an entry, as a fraction.
        jobs: the number of parallel compilations; None for the number of cores.
        timeout: the time limit of a compilation or a benchmark, in seconds.
        caches: whether data is in the caches when a dispatch starts.
        seed: the seed of samples, inputs and orders.
        search: the name of the search.
        runs_model: whether the whole program is run at the end.
        checks_defaults: whether the compiler's choices are compared with references.
        numerics: the acceptance policy for results.
        pipelines: the names of pipelines to choose from; empty for all.
        fixed: knobs with the values that all candidates have.
        stop_after: the last stage of the run; None for the whole run.
    """

    devices: tuple[str, ...] = ()
    seconds: float = math.inf
    trials: int | None = None
    top: int | None = None
    patterns: tuple[str, ...] = ()
    min_share: float = 0.0
    min_gain: float = 0.02
    jobs: int | None = None
    timeout: float = 30.0
    caches: Caches = Caches.PROGRAM
    seed: int = 0
    search: str = "model"
    runs_model: bool = True
    checks_defaults: bool = True
    numerics: Numerics = Numerics.ROUNDING
    pipelines: tuple[str, ...] = ()
    fixed: tuple[FixedKnob, ...] = ()
    stop_after: LastStage | None = None


# --- The options of runs that measure candidates -------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MeasuringOptions:
    """The options of a run that measures candidates.

    Attributes:
        output: the path of the spec; `-` for standard output.
        upgrade: whether specs for an older compiler are upgraded.
        database: the file of the database; empty for no database.
        failures: the directory for candidates that fail to compile; empty to discard them.
        cluster: the address of the Dask scheduler; empty for this machine.
        settings: the settings of tuning.
        flags: the compiler flags.
    """

    output: str = STANDARD_STREAM
    upgrade: bool = True
    database: str = ""
    failures: str = ""
    cluster: str = ""
    settings: TuningSettings
    flags: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TuneOptions(MeasuringOptions):
    """The options of a run of the tuner.

    Attributes:
        input: the path of the program, `-` for standard input; empty with problems.
        compile_from: the last phase that the program has passed.
        specs: specs whose configurations are candidates.
        spec_directories: directories of default specs in addition to the shipped specs.
        default_specs: whether configurations of default specs are candidates.
        report: a directory for the report; empty for no report.
        sizes: the sizes of dynamic dimensions at which the program is tuned.
        functions: the functions of the program to tune for; empty for all.
        inputs: the arguments of these functions.
        parameters: files with the program's weights.
        flag_sets: a file with sets of flags, `none`, or empty for the default sets.
        only_flags: whether only sets of flags are compared.
        expected: the expected results of these functions for these inputs.
        problems: the problems to tune instead of a program.
        dry_run: whether only the sizes of search spaces are shown.
        profile: a file with times of dispatches in the program; empty for no profile.
    """

    input: str
    compile_from: Phase = Phase.START
    specs: tuple[str, ...] = ()
    spec_directories: tuple[str, ...] = ()
    default_specs: bool = True
    report: str = ""
    sizes: tuple[GivenSizes, ...] = ()
    functions: tuple[FunctionWeight, ...] = ()
    inputs: tuple[GivenInput, ...] = ()
    parameters: tuple[ParameterFile, ...] = ()
    flag_sets: str = ""
    only_flags: bool = False
    expected: tuple[GivenInput, ...] = ()
    problems: tuple[Problem, ...] = ()
    dry_run: bool = False
    profile: str = ""

    @property
    def is_partial(self) -> bool:
        """Whether the run ends before a spec is written."""
        return self.dry_run or self.settings.stop_after is not None

    @property
    def title(self) -> str:
        """The name of the input in progress and reports."""
        return "problems" if self.problems else self.input

    @property
    def calls(self) -> CallOptions:
        """The calls of the whole program."""
        return CallOptions(self.functions, self.inputs, self.parameters, self.expected)
