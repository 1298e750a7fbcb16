"""Flags, options and help that `tuninglink tune` and `tuninglink retune` share."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tuninglink.compiler.flags import COMPILE_FLAGS
from tuninglink.errors import CompileError
from tuninglink.files import STANDARD_STREAM
from tuninglink.llvm_flags import Flag, member_of, read_count, read_number
from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning.devices.timing import Caches
from tuninglink.tuning.settings import Numerics, TuningSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.compiler.flags import FlagReader

MEASURING_HELP: Final = """\
  --device URI         The device, as in cuda://0 or local-task. May be repeated: equal devices share the work.
                       Default: the one that runs what is compiled for.
  --cluster ADDRESS    Compile and measure on the workers of Dask's scheduler, as in tcp://10.0.0.1:8786.
  --budget TIME        How long to take, as in 90s, 10m or 1.5h. Default: 10m, or no limit with --trials.
  --trials N           Try at most N candidates of each dispatch or entry.
  --min-gain PART      The least gain worth an entry. Default: 2%.
  --database FILE      Keep all results in FILE; what is there already is not measured again.
  --failures DIR       Keep candidates that fail to compile, to run or to compute what they should in DIR, and dispatches
                       whose default does; each with a script or a command that shows it with the stock tools.
  --no-reference       Compare candidates with the compiler's own choices alone, whether these are right or not.
  --numerics WHICH     Which results of candidates and of the tuned program are accepted: bitwise (those that equal the
                       default's bit for bit), rounding (those that differ by rounding), or any. Default: rounding.
  --jobs N             How many compilations run at once. Default: one for each core.
  --timeout TIME       When a compilation or a benchmark counts as hanging. Default: 30s.
  --caches warm|cold   Whether a dispatch finds its data in the caches. Default: warm.
  --search NAME        The order of candidates: model, random or neighbors. Default: model.
  --seed N             Fixes samples, inputs and orders. Default: 0.
"""


@dataclass(frozen=True, kw_only=True)
class MeasuringOptions:
    """The options of a command that measures candidates.

    Attributes:
        output: the path of the spec; `-` for standard output.
        upgrade: whether specs for an older compiler are upgraded.
        database: the file of the database; empty for none.
        failures: the directory for candidates that fail to compile; empty for none.
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


_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def _duration(text: str) -> float:
    match_ = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if match_ is None:
        raise ValueError("expected a time such as 90s, 10m or 1.5h")
    return float(match_[1]) * _UNITS[match_[2]]


def _budget(text: str) -> float:
    seconds = _duration(text)
    if not seconds:
        raise ValueError("there is no time to tune in")
    return seconds


def read_fraction(text: str) -> float:
    """Parse a fraction such as `2%` or `0.02`; a `ValueError` states the expected form."""
    match_ = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", text)
    value = float(match_[1]) / (100 if match_[2] else 1) if match_ else -1.0
    if not 0.0 <= value <= 1.0:
        raise ValueError("expected a part such as 2% or 0.02")
    return value


def _caches(text: str) -> Caches:
    try:
        return Caches(text)
    except ValueError:
        raise ValueError("expected warm or cold") from None


MEASURING_FLAGS: Final = {
    "device": Flag("devices", repeats=True),
    "cluster": Flag("cluster"),
    "budget": Flag("seconds", _budget),
    "trials": Flag("trials", read_count),
    "database": Flag("database"),
    "min-gain": Flag("min_gain", read_fraction),
    "jobs": Flag("jobs", read_count),
    "failures": Flag("failures"),
    "numerics": Flag("numerics", member_of(Numerics)),
    "no-reference": Flag("checks_defaults", lambda _: False, switch=True),
    "timeout": Flag("timeout", _duration),
    "caches": Flag("caches", _caches),
    "seed": Flag("seed", read_number),
    "search": Flag("search"),
}
"""The flags of all commands that measure candidates."""

_SETTINGS: Final = frozenset(TuningSettings.__dataclass_fields__)


def measuring_values(reader: FlagReader) -> dict[str, Any]:
    """Return the values of flags, by the names of the options' fields.

    Raises:
        CompileError: a flag does not apply where only a spec is written, or a benchmark has no time.
    """
    _refuse_compile_flags(reader.flags)
    settings = {name: value for name, value in reader.values.items() if name in _SETTINGS}
    others = {name: value for name, value in reader.values.items() if name not in _SETTINGS}
    return {**others, "settings": _limited(TuningSettings(**settings)), "flags": reader.flags}


def _refuse_compile_flags(flags: Sequence[str]) -> None:
    for flag in flags:
        name = flag.partition("=")[0].removeprefix("--")
        if name in COMPILE_FLAGS:
            raise CompileError(
                error(f"flag '--{name}' is of no use here: nothing but a spec is written")
            )


_DEFAULT_SECONDS: Final = 600.0


def _limited(settings: TuningSettings) -> TuningSettings:
    """Return settings with a limit: ten minutes if neither time nor trials are limited."""
    if settings.timeout <= 0:
        remedy = note("a hanging benchmark is killed after it")
        raise CompileError(error("invalid value '0' for flag '--timeout'", notes=[remedy]))
    if settings.trials is None and settings.seconds == TuningSettings.seconds:
        return replace(settings, seconds=_DEFAULT_SECONDS)
    return settings
