"""Parsing of the arguments of `tuninglink verify`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.cli.known_values import known_dispatches
from tuninglink.cli.measuring_options import CALL_FLAGS, MEASURING_FLAGS
from tuninglink.cli.usage import FORMAT_FLAG, JOBS_FLAG, ReportFormat
from tuninglink.compiler.compile_options import Phase
from tuninglink.compiler.flags import COMPILE_FLAGS, DIM_FLAG, FlagReader
from tuninglink.errors import CompileError
from tuninglink.files import STANDARD_STREAM
from tuninglink.llvm_flags import Flag, switch
from tuninglink.mlir.diagnostics import error
from tuninglink.tuning.programs import (
    CallOptions,
    FunctionWeight,
    GivenInput,
    ParameterFile,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.iree.given_sizes import GivenSizes


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """The options of `tuninglink verify`.

    Attributes:
        input: the path of the program, `-` for standard input.
        flags: the compiler flags.
        specs: specs to apply.
        upgrade: whether specs for an older compiler are upgraded.
        devices: the device; empty to choose one that runs the program.
        patterns: substrings of the names of dispatches to verify; empty for all.
        failures: the directory for scripts that show wrong results; empty for none.
        report_format: the format of the report.
        jobs: the number of parallel compilations; None for one per core.
        timeout: the time limit of a compilation, a run or a reference, in seconds.
        seed: the seed of the inputs.
        compile_from: the last phase that the program has passed.
        sizes: the sizes of dynamic dimensions.
        functions: the functions of the program to call; empty for all.
        inputs: their arguments.
        expected: their expected results for these inputs.
        parameters: files with the program's weights.
        traces: whether dispatches are compared as the program runs, instead of alone.
    """

    input: str
    flags: tuple[str, ...]
    specs: tuple[str, ...] = ()
    upgrade: bool = True
    devices: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    failures: str = ""
    report_format: ReportFormat = ReportFormat.TABLE
    jobs: int | None = None
    timeout: float = 60.0
    seed: int = 0
    compile_from: Phase = Phase.START
    sizes: tuple[GivenSizes, ...] = ()
    functions: tuple[FunctionWeight, ...] = ()
    inputs: tuple[GivenInput, ...] = ()
    expected: tuple[GivenInput, ...] = ()
    parameters: tuple[ParameterFile, ...] = ()
    traces: bool = False

    @property
    def calls(self) -> CallOptions:
        """The options for calling the whole program."""
        return CallOptions(self.functions, self.inputs, self.parameters, self.expected)


VERIFY_FLAGS: Final = {
    "spec": replace(
        COMPILE_FLAGS["spec"],
        help="Verify the program with this spec. May be repeated, the first wins.",
    ),
    "no-upgrade": COMPILE_FLAGS["no-upgrade"],
    "device": replace(
        MEASURING_FLAGS["device"],
        help="The device, as in cuda://0. Default: the one that runs what is compiled for.",
    ),
    "only": Flag(
        "patterns",
        repeats=True,
        metavar="PATTERN",
        values=known_dispatches,
        help="Verify dispatches with this in their name or their function's, and not the whole program. May be repeated; "
        "* and ? match.",
    ),
    "trace": switch(
        "traces",
        "Run the program once, and compare its dispatches on the values that they get there, instead of alone on "
        "random ones.",
    ),
    "dim": replace(
        DIM_FLAG,
        help="Verify dynamic dispatches at these sizes: ARGUMENT.DIMENSION=SIZE,... such as 0.0=1,8,64, or sizes alone for "
        "all dynamic dimensions. May be repeated.",
    ),
    **CALL_FLAGS,
    "function": replace(
        CALL_FLAGS["function"],
        metavar="NAME",
        help="Call this function of the program. May be repeated. Default: all.",
    ),
    "failures": replace(
        MEASURING_FLAGS["failures"],
        help="Write the program of each wrong result and failure to DIR, with a script for the stock tools.",
    ),
    "format": FORMAT_FLAG,
    "jobs": JOBS_FLAG,
    "timeout": replace(
        MEASURING_FLAGS["timeout"],
        help="When a compilation, a run or a reference counts as hanging. Default: 60s.",
    ),
    "seed": replace(MEASURING_FLAGS["seed"], help="Fixes the inputs. Default: 0."),
    "compile-from": COMPILE_FLAGS["compile-from"],
}


def parse_verify_arguments(arguments: Sequence[str]) -> VerifyOptions:
    """Parse the arguments after the command's name.

    Raises:
        CompileError: the input is missing, a value is malformed or missing, or a flag is unknown.
    """
    reader = FlagReader(VERIFY_FLAGS, arguments)
    if reader.input is None:
        raise CompileError(error("no input; name a program, or - for standard input"))
    if reader.values.get("traces") and reader.input == STANDARD_STREAM:
        raise CompileError(
            error("--trace compiles the program twice; standard input can be read once only")
        )
    return VerifyOptions(input=reader.input, flags=reader.flags, **reader.values)
