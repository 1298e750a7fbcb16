"""Reading the arguments of `tuninglink verify`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.cli.measuring_options import MEASURING_FLAGS
from tuninglink.cli.report_format import ReportFormat
from tuninglink.compiler.flags import COMPILE_FLAGS, FlagReader
from tuninglink.errors import CompileError
from tuninglink.llvm_flags import Flag, member_of
from tuninglink.mlir.diagnostics import error

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """The options of `tuninglink verify`.

    Attributes:
        input: the path of the program, `-` for standard input.
        flags: flags of the compiler.
        specs: specs to apply.
        upgrade: whether specs that were written for an older compiler are upgraded.
        devices: the device, or nothing for the one that runs the program.
        patterns: only dispatches with one of these in their name; none for all.
        failures: a directory for scripts that show wrong results, or nothing.
        report_format: how the report is written.
        jobs: how many compilations run at once; None for one for each core.
        timeout: the seconds after which a compilation, a run or a reference counts as hanging.
        seed: the seed of the inputs.
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


_FLAGS: Final = {
    **{name: COMPILE_FLAGS[name] for name in ("spec", "no-upgrade")},
    **{name: MEASURING_FLAGS[name] for name in ("device", "failures", "jobs", "timeout", "seed")},
    "only": Flag("patterns", repeats=True),
    "format": Flag("report_format", member_of(ReportFormat)),
}


def parse_verify_arguments(arguments: Sequence[str]) -> VerifyOptions:
    """Reads the arguments that come after the command's name.

    Raises:
        CompileError: there is no input, a value is malformed or missing, or a flag is unknown.
    """
    reader = FlagReader(_FLAGS, arguments)
    if reader.input is None:
        raise CompileError(error("no input; name a program, or - for standard input"))
    return VerifyOptions(input=reader.input, flags=reader.flags, **reader.values)
