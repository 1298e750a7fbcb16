"""Parsing of the arguments of `tuninglink retune`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.cli.measuring_options import MEASURING_FLAGS, MeasuringOptions, measuring_values
from tuninglink.cli.project_options import SPEC_PROJECT_FLAGS
from tuninglink.cli.usage import FORMAT_FLAG, ReportFormat
from tuninglink.compiler.flags import COMPILE_FLAGS, FlagReader
from tuninglink.errors import CompileError
from tuninglink.llvm_flags import Flag, switch
from tuninglink.mlir.diagnostics import error

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True)
class RetuneOptions(MeasuringOptions):
    """The options of `tuninglink retune`. For several specs, the output is a directory.

    Attributes:
        specs: the specs, as named by the user.
        model: the path of a program on whose dispatches entries are also measured; empty for none.
        improves: whether to search for better configurations.
        report_format: the format of the report.
        project: the project file; empty for the one in the working directory or above it.
        no_project: whether to ignore project files.
    """

    specs: tuple[str, ...]
    model: str = ""
    improves: bool = True
    report_format: ReportFormat = ReportFormat.TABLE
    project: str = ""
    no_project: bool = False


RETUNE_FLAGS: Final = {
    "output": replace(
        COMPILE_FLAGS["output"],
        metavar="NEW.mlir",
        help="Where the new spec goes; a directory for several. Default: standard output.",
    ),
    "model": Flag(
        "model",
        metavar="MODEL",
        help="Measure each entry on the ops of this program that it configures, too.",
    ),
    "format": replace(
        FORMAT_FLAG,
        help="How the report is written. It goes to standard output if the spec goes elsewhere, else to standard error. "
        "Default: table.",
    ),
    "no-improve": switch(
        "improves", "Search for no better configurations: only keep or drop.", value=False
    ),
    "no-upgrade": COMPILE_FLAGS["no-upgrade"],
    **MEASURING_FLAGS,
    **SPEC_PROJECT_FLAGS,
}


def parse_retune_arguments(arguments: Sequence[str]) -> RetuneOptions:
    """Parse the arguments after the program's name.

    Raises:
        CompileError: a value is malformed or missing, or a flag is unknown or does not apply.
    """
    reader = FlagReader(RETUNE_FLAGS, arguments)
    for flag in reader.flags:
        name = flag.partition("=")[0].removeprefix("--")
        if name in COMPILE_FLAGS:
            raise CompileError(error(f"flag '--{name}' does not apply: only a spec is written"))
    return RetuneOptions(specs=reader.inputs, **measuring_values(reader))
