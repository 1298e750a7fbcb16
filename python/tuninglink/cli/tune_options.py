"""Reading the arguments of `tuninglink tune`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tuninglink.compiler.flags import COMPILE_FLAGS, FlagReader
from tuninglink.compiler.phases import Phase
from tuninglink.errors import CompileError
from tuninglink.files import STANDARD_STREAM
from tuninglink.llvm_flags import Flag, read_number
from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning.settings import TuningSettings
from tuninglink.tuning.specialization import DimensionSize
from tuninglink.tuning.timing import Caches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class TuneOptions:
    """What the arguments ask for.

    Attributes:
        input: the path of the program, `-` for standard input.
        output: where the spec goes, `-` for standard output.
        compile_from: the phase that the program has gone through already.
        specs: specs whose configurations are candidates.
        spec_directories: where default specs are looked for beside the shipped ones.
        default_specs: whether configurations of default specs are candidates.
        upgrade: whether specs that were written for an older compiler are upgraded.
        database: the file of the database, or nothing.
        report: a directory for the report, or nothing.
        failures: a directory for candidates that fail to compile, or nothing.
        cluster: the address of Dask's scheduler, or nothing.
        sizes: sizes of dynamic dimensions.
        settings: how to tune.
        flags: flags of the compiler.
    """

    input: str
    output: str
    compile_from: Phase
    specs: tuple[str, ...]
    spec_directories: tuple[str, ...]
    default_specs: bool
    upgrade: bool
    database: str
    report: str
    failures: str
    cluster: str
    sizes: tuple[DimensionSize, ...]
    settings: TuningSettings
    flags: tuple[str, ...]


_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def _duration(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if found is None:
        raise ValueError("expected a time such as 90s, 10m or 1.5h")
    return float(found[1]) * _UNITS[found[2]]


def _budget(text: str) -> float:
    seconds = _duration(text)
    if not seconds:
        raise ValueError("there is no time to tune in")
    return seconds


def _fraction(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", text)
    value = float(found[1]) / (100 if found[2] else 1) if found else -1.0
    if not 0.0 <= value <= 1.0:
        raise ValueError("expected a part such as 2% or 0.02")
    return value


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ValueError("expected a number above 0")
    return int(text)


def _caches(text: str) -> Caches:
    try:
        return Caches(text)
    except ValueError:
        raise ValueError("expected warm or cold") from None


_SHARED: Final = (
    *("o", "spec", "spec-dir", "no-default-specs", "no-upgrade", "compile-from"),
    *("iree-codegen-tuning-spec-path", "iree-codegen-enable-default-tuning-specs"),
)
"""The flags of `tuninglink compile` that mean the same here."""

MEASURING_FLAGS: Final = {
    "device": Flag("devices", repeats=True),
    "cluster": Flag("cluster"),
    "budget": Flag("seconds", _budget),
    "trials": Flag("trials", _count),
    "database": Flag("database"),
    "min-gain": Flag("min_gain", _fraction),
    "jobs": Flag("jobs", _count),
    "failures": Flag("failures"),
    "timeout": Flag("timeout", _duration),
    "caches": Flag("caches", _caches),
    "seed": Flag("seed", read_number),
    "search": Flag("search"),
}
"""The flags of all commands that measure candidates."""

_FLAGS: Final = {
    **{name: COMPILE_FLAGS[name] for name in _SHARED},
    **MEASURING_FLAGS,
    "dim": Flag("sizes", DimensionSize.parse, repeats=True),
    "report": Flag("report"),
    "top": Flag("top", _count),
    "only": Flag("patterns", repeats=True),
    "min-share": Flag("min_share", _fraction),
    "generalize": Flag("generalizes", lambda _: True, switch=True),
    "no-model": Flag("runs_model", lambda _: False, switch=True),
}

_SETTINGS: Final = frozenset(TuningSettings.__dataclass_fields__)


def parse_tune_arguments(arguments: Sequence[str]) -> TuneOptions:
    """Reads the arguments that come after the program's name.

    Raises:
        CompileError: there is no input, a value is malformed or missing, or a flag is unknown or of no use.
    """
    reader = FlagReader(_FLAGS, arguments)
    refuse_compile_flags(reader.flags)
    if reader.input is None:
        raise CompileError(error("no input; name a program, or - for standard input"))
    values, settings = split_settings(reader.values)
    defaults: dict[str, Any] = {
        "output": STANDARD_STREAM,
        "compile_from": Phase.START,
        "specs": (),
        "spec_directories": (),
        "sizes": (),
        "default_specs": True,
        "upgrade": True,
        **dict.fromkeys(("database", "report", "failures", "cluster"), ""),
    }
    return TuneOptions(
        input=reader.input,
        settings=limited(TuningSettings(**settings)),
        flags=reader.flags,
        **(defaults | values),
    )


def refuse_compile_flags(flags: Sequence[str]) -> None:
    """Refuses flags about what a compilation writes.

    Raises:
        CompileError: there is one.
    """
    for each in flags:
        name = each.partition("=")[0].removeprefix("--")
        if name in COMPILE_FLAGS:
            raise CompileError(
                error(f"flag '--{name}' is of no use here: nothing but a spec is written")
            )


def split_settings(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the values of flags that are no settings of the tuner, and those that are."""
    settings = {name: each for name, each in values.items() if name in _SETTINGS}
    return {name: each for name, each in values.items() if name not in _SETTINGS}, settings


_DEFAULT_SECONDS: Final = 600.0


def limited(settings: TuningSettings) -> TuningSettings:
    """Returns settings with a limit: where there is neither time nor trials, ten minutes.

    Raises:
        CompileError: a benchmark has no time.
    """
    if settings.timeout <= 0:
        remedy = note("a hanging benchmark is killed after it")
        raise CompileError(error("'0' is no value for flag '--timeout'", notes=[remedy]))
    if settings.trials is None and settings.seconds == TuningSettings.seconds:
        return replace(settings, seconds=_DEFAULT_SECONDS)
    return settings
