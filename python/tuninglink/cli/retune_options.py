"""Reading the arguments of `tuninglink retune`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from tuninglink.cli.tune_options import (
    MEASURING_FLAGS,
    limited,
    refuse_compile_flags,
    split_settings,
)
from tuninglink.compiler.flags import COMPILE_FLAGS, FlagReader
from tuninglink.files import STANDARD_STREAM
from tuninglink.llvm_flags import Flag, member_of
from tuninglink.tuning.settings import TuningSettings

if TYPE_CHECKING:
    from collections.abc import Sequence


class RetuneFormat(Enum):
    """How the report is written, named as in `--format`."""

    TABLE = "table"
    JSON = "json"


@dataclass(frozen=True)
class RetuneOptions:
    """What the arguments ask for.

    Attributes:
        specs: the specs, as they are named.
        output: where the new spec goes: a directory for several, `-` for standard output.
        model: the path of a program on whose dispatches entries are measured as well, or nothing.
        improves: whether better configurations are searched for.
        upgrade: whether specs that were written for an older compiler are upgraded.
        report_format: how the report is written.
        database: the file of the database, or nothing.
        failures: a directory for candidates that fail to compile, or nothing.
        cluster: the address of Dask's scheduler, or nothing.
        settings: how to tune.
        flags: flags of the compiler.
    """

    specs: tuple[str, ...]
    output: str
    model: str
    improves: bool
    upgrade: bool
    report_format: RetuneFormat
    database: str
    failures: str
    cluster: str
    settings: TuningSettings
    flags: tuple[str, ...]


_FLAGS: Final = {
    **{name: COMPILE_FLAGS[name] for name in ("o", "no-upgrade")},
    **MEASURING_FLAGS,
    "model": Flag("model"),
    "no-improve": Flag("improves", lambda _: False, switch=True),
    "format": Flag("report_format", member_of(RetuneFormat)),
}


def parse_retune_arguments(arguments: Sequence[str]) -> RetuneOptions:
    """Reads the arguments that come after the program's name.

    Raises:
        CompileError: a value is malformed or missing, or a flag is unknown or of no use.
    """
    reader = FlagReader(_FLAGS, arguments)
    refuse_compile_flags(reader.flags)
    values, settings = split_settings(reader.values)
    defaults: dict[str, Any] = {
        "output": STANDARD_STREAM,
        "improves": True,
        "upgrade": True,
        "report_format": RetuneFormat.TABLE,
        **dict.fromkeys(("model", "database", "failures", "cluster"), ""),
    }
    return RetuneOptions(
        specs=reader.inputs,
        settings=limited(TuningSettings(**settings)),
        flags=reader.flags,
        **(defaults | values),
    )
