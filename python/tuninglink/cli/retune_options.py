"""Parsing of the arguments of `tuninglink retune`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.cli.measuring_options import MEASURING_FLAGS, MeasuringOptions, measuring_values
from tuninglink.cli.report_format import ReportFormat
from tuninglink.compiler.flags import COMPILE_FLAGS, FlagReader
from tuninglink.llvm_flags import Flag, member_of

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
    """

    specs: tuple[str, ...]
    model: str = ""
    improves: bool = True
    report_format: ReportFormat = ReportFormat.TABLE


_FLAGS: Final = {
    **{name: COMPILE_FLAGS[name] for name in ("o", "no-upgrade")},
    **MEASURING_FLAGS,
    "model": Flag("model"),
    "no-improve": Flag("improves", lambda _: False, switch=True),
    "format": Flag("report_format", member_of(ReportFormat)),
}


def parse_retune_arguments(arguments: Sequence[str]) -> RetuneOptions:
    """Parse the arguments after the program's name.

    Raises:
        CompileError: a value is malformed or missing, or a flag is unknown or does not apply.
    """
    reader = FlagReader(_FLAGS, arguments)
    return RetuneOptions(specs=reader.inputs, **measuring_values(reader))
