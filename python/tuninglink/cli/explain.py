"""`tuninglink explain`: the effects of specs on a program, dispatch by dispatch."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.compile import COMPILE_USAGE, checked_program, specs_of
from tuninglink.cli.page_output import format_for, render
from tuninglink.cli.project_options import PROJECT_FLAGS, read_flags, set_up_compiler, with_project
from tuninglink.cli.terminal import progress
from tuninglink.cli.usage import SPEC_SECTION, Section, Usage, usage_error
from tuninglink.compiler import EXPLAIN_FLAGS, ExplanationFormat, compile_options
from tuninglink.devices import BoardOptions, Caches
from tuninglink.explaining import explain_file, read_profile, until_configured, with_times
from tuninglink.files import STANDARD_STREAM, check_output, write_output
from tuninglink.llvm_flags import flags_of, group, option, options_from
from tuninglink.programs import CallOptions, FunctionWeight, GivenInput, ParameterFile
from tuninglink.tuning.deciding import MeasuringOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.explaining import MeasuredTimes


_CALL_FLAGS: Final = flags_of(CallOptions)
_CACHES_FLAG: Final = flags_of(MeasuringOptions)["caches"]


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """Settings of the measurement of times."""

    device: str = option(
        "",
        metavar="URI",
        help="Run the program on this device, as in cuda://0, hip://0, vulkan://0, local-task, local-sync or 'run:ssh board', "
        "and measure its dispatches: inside the program, or each alone where the driver has no profiles (cuda, hip).",
    )
    board: BoardOptions = group(BoardOptions)
    functions: tuple[FunctionWeight, ...] = option((), _CALL_FLAGS["function"], name="function")
    inputs: tuple[GivenInput, ...] = option((), _CALL_FLAGS["input"], name="input")
    parameters: tuple[ParameterFile, ...] = option((), _CALL_FLAGS["parameters"])
    caches: Caches = option(
        Caches.PROGRAM,
        _CACHES_FLAG,
        help=f"With a device without profiles: {_CACHES_FLAG.help.replace('Which', 'which')}",
    )


DEVICE_FLAGS: Final = flags_of(DeviceOptions)


_FLAGS: Final = {**EXPLAIN_FLAGS, **DEVICE_FLAGS}

USAGE: Final[Usage] = Usage(
    name="explain",
    positionals=COMPILE_USAGE.positionals,
    flags={**_FLAGS, **PROJECT_FLAGS},
    sections=(
        Section("Target", ("target",)),
        SPEC_SECTION,
        Section("Times and costs", ("profile", "database", "dim", *DEVICE_FLAGS)),
        Section("Output", ("output", "format")),
    ),
    main_flags=("target", "spec", "output"),
    takes_compiler_flags=True,
    description="""
What costs most comes first. For each problem: what it computes, how often it is called and what that costs; the entry
that configured it, and the configuration next to the one that the compiler would have chosen; or the nearest entries,
and the first condition that failed. For each spec: which entries were used, and which were not. INPUT is compiled as
far as configurations are chosen, with the flags that you give; see `tuninglink compile --help`.
""",
    examples=(
        "tuninglink explain model.mlir --target gfx942 --spec mine.mlir",
        "tuninglink explain model.mlir --target gfx942 --spec mine.mlir -o report.html",
    ),
)


def explain_command(arguments: Sequence[str]) -> int:
    own, project_specs = with_project(arguments)
    reader = read_flags(_FLAGS, own)
    # The flags of a measurement need a device, which excludes a profile.
    given = {
        name: (flag.target, reader.values.pop(flag.target))
        for name, flag in DEVICE_FLAGS.items()
        if flag.target in reader.values
    }
    if given and "device" not in given:
        raise usage_error(f"flag '--{next(iter(given))}' needs '--device'")
    if given and "profile" in reader.values:
        raise usage_error("flags '--device' and '--profile' exclude each other")
    device = options_from(DeviceOptions, dict(given.values()))
    options = compile_options(reader)
    path = checked_program(options)
    check_output(options.output)
    set_up_compiler("tuninglink explain", options.flags, upgrade=options.upgrade)
    report_format = format_for(options.output, options.report_format)
    times: list[MeasuredTimes] = []
    if options.profile is not None:
        times.append(read_profile(options.profile))
    measurement = None
    if device.device:
        from tuninglink.tuning import ProgramMeasurement  # noqa: PLC0415 - an extra

        (uri,) = device.board.uris([device.device])
        calls = CallOptions(device.functions, device.inputs, device.parameters)
        measurement = ProgramMeasurement(path, options, uri, calls, device.caches)
    runs_whole = measurement is not None and measurement.is_profiled
    with progress(f"explaining {path}") as step:
        choice = specs_of(options, project_specs)
        compilation, explanation = explain_file(
            path,
            measurement.whole if measurement and runs_whole else until_configured(options),
            choice,
            report=process.show,
            step=step,
            is_detailed=report_format is ExplanationFormat.HTML,
        )
        if options.database is not None:
            # The runtime need not be installed.
            from tuninglink.cli.database import open_database  # noqa: PLC0415
            from tuninglink.tuning.database import recorded_times  # noqa: PLC0415

            with open_database(options.database, read_only=True) as opened:
                times.append(recorded_times(opened, path, options.flags, options.compile_from))
        explanation = (
            with_times(explanation, times)
            if measurement is None
            else measurement.add_times(explanation, compilation.output, choice, step, times)
        )
    # Colors depend on the stream.
    stream = sys.stdout if options.output == STANDARD_STREAM else None
    write_output(options.output, render(explanation, report_format, stream))
    return process.SUCCESS
