"""The options of runs that measure candidates."""

from __future__ import annotations

from dataclasses import dataclass

from tuninglink.compiler.compile_options import Phase
from tuninglink.files import STANDARD_STREAM
from tuninglink.iree.given_sizes import GivenSizes
from tuninglink.tuning.problems import Problem
from tuninglink.tuning.programs import CallOptions, FunctionWeight, GivenInput, ParameterFile
from tuninglink.tuning.settings import TuningSettings


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
