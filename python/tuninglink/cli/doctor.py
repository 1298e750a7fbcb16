"""`tuninglink doctor`: a description of the installation, and checks of its compiler; `demo`: a tour of what it does."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.process import SUCCESS
from tuninglink.cli.terminal import print_table, progress
from tuninglink.cli.usage import FORMAT_FLAG, ReportFormat, Usage, usage_error
from tuninglink.compiler import (
    COMPILE_FLAGS,
    compile as compile_program,
    expanded_target,
    set_up_command_line,
)
from tuninglink.devices import BoardOptions, is_board
from tuninglink.errors import TuninglinkError
from tuninglink.files import (
    STANDARD_STREAM,
    check_output_directory,
    make_directory,
    write_file,
    write_output,
)
from tuninglink.llvm_flags import flags_of, group, option, options_from, read_duration
from tuninglink.mlir import error
from tuninglink.plain_data import to_json
from tuninglink.specs import default_spec, load_spec

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    report_format: ReportFormat = option(ReportFormat.TABLE, FORMAT_FLAG, name="format")
    device: str = option(
        "",
        metavar="URI",
        help="Examine this board instead, as in 'run:ssh board': what a device that a command reaches lacks.",
    )
    board: BoardOptions = group(BoardOptions)


DOCTOR_USAGE: Final[Usage] = Usage(
    name="doctor",
    flags=flags_of(DoctorOptions),
    main_flags=("format", "device"),
    description="""
The check compiles a program of one operation for each backend with an embedded spec that must take effect, and looks
for the matcher operations and the knobs that Tuninglink uses. The exit code is 1 if a check fails.
""",
    examples=("tuninglink doctor", "tuninglink doctor --format json > report.json"),
)


def doctor_command(arguments: Sequence[str]) -> int:
    values, _ = DOCTOR_USAGE.parse(arguments)
    options = options_from(DoctorOptions, values)
    if options.device:
        return _examine_board(options)
    from tuninglink.doctor import environment, self_check  # noqa: PLC0415 - loads what it checks

    set_up_command_line("tuninglink doctor", ())
    with progress("examining the installation") as step:
        installed = environment()
        step("checking the compiler")
        results = list(self_check())
    failed = any(result.failure for result in results)
    code = process.FAILURE if failed else process.SUCCESS
    if options.report_format is ReportFormat.JSON:
        write_output(STANDARD_STREAM, to_json({"environment": installed, "checks": results}))
        return code
    # The parts of the installation, with the clock, the power and the temperature that devices report.
    versions = installed.versions.items()
    rows = [("version", name, version or "not installed") for name, version in versions]
    for extra, missing in installed.extras.items():
        rows.append(("extra", extra, f"lacks {', '.join(missing)}" if missing else "installed"))
    for driver in installed.drivers:
        if not driver.devices:
            rows.append(("driver", driver.name, driver.failure or "no device"))
        for device in driver.devices:
            clock, power, heat = device.clock_mhz, device.power_watts, device.temperature_celsius
            state = (
                f"{clock:,} MHz" if clock is not None else "",
                f"{power:.0f} W" if power is not None else "",
                f"{heat:.0f} °C" if heat is not None else "",
            )
            rows.append(("device", device.uri, ", ".join(filter(None, (device.name, *state)))))
    size = f"{installed.cached_files} files, {installed.cached_bytes:,} bytes"
    rows.append(("cache of URLs", str(installed.cache), size))
    rows += [("peak rates", peaks.device, str(peaks)) for peaks in installed.peaks]
    print_table(("part", "name", "state"), rows)
    sys.stdout.write("\n")
    checks = [
        (result.name, f"FAILED: {result.failure}" if result.failure else "ok") for result in results
    ]
    print_table(("check", "result"), checks)
    return code


def _examine_board(options: DoctorOptions) -> int:
    if not is_board(options.device):
        message = f"device '{options.device}' is not a board; those of this machine are listed without '--device'"
        remedy = "write the command that reaches it, as in --device 'run:ssh board'"
        raise usage_error(message, remedy)
    from tuninglink.devices import board_checks  # noqa: PLC0415 - an extra

    set_up_command_line("tuninglink doctor", ())
    (uri,) = options.board.uris([options.device])
    with progress(f"examining {options.device}"):
        results = list(board_checks(uri))
    if options.report_format is ReportFormat.JSON:
        write_output(STANDARD_STREAM, to_json({"checks": results}))
    else:
        kinds = {True: "warning", False: "FAILED"}
        rows = []
        for check in results:
            state = f"{kinds[check.is_warning]}: {check.failure}" if check.failure else "ok"
            rows.append((check.name, state))
        print_table(("check", "result"), rows)
    failed = any(check.failure and not check.is_warning for check in results)
    return process.FAILURE if failed else process.SUCCESS


PROGRAM: Final = "mmt_2048x1280x5120.mlir"
TUNED: Final = "matmul_1x1024x1024.mlir"
DEVICE: Final = "local-sync"
"""A single thread gives decisions even on a busy machine."""

SPECS: Final = {
    "gfx942": "spec_gfx942.mlir",
    "sm_80": "spec_sm_80.mlir",
    "x86_64": "spec_llvm_cpu.mlir",
}
"""The user's spec in `examples/` for each target of the demo."""


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    output: str = option(
        "",
        COMPILE_FLAGS["output"],
        metavar="DIR",
        help="Keep the compiled programs in this directory.",
    )
    budget: float = option(
        20.0,
        read=read_duration,
        metavar="TIME",
        help="How long to tune; 0 tunes nothing. Default: 20s.",
    )


DEMO_USAGE: Final[Usage] = Usage(
    name="demo",
    flags=flags_of(DemoOptions),
    main_flags=("output", "budget"),
    description="""
The table shows which entry of which spec configured which dispatch, and whether the configuration that the compiler
used is the entry's own, all of it: both are read from the configured program.

Then configurations of a small matmul are measured on the CPU of this machine, against the compiler's choice.
""",
    examples=("tuninglink demo -o compiled",),
)


def demo_command(arguments: Sequence[str]) -> int:
    values, _ = DEMO_USAGE.parse(arguments)
    options = DemoOptions(**values)
    if options.output:
        check_output_directory(options.output)
    set_up_command_line("tuninglink demo", ())
    examples = resources.files("tuninglink") / "examples"
    sys.stdout.write(f"compiling {_shown(PROGRAM)}\n\n")
    rows: list[tuple[str, ...]] = []
    for target, spec in SPECS.items():
        started = time.monotonic()
        with progress(f"compiling for {target}"):
            result = compile_program(
                (examples / PROGRAM).read_bytes(),
                name=_shown(PROGRAM),
                specs=[load_spec((examples / spec).read_bytes(), name=_shown(spec))],
                flags=expanded_target(target),
            )
        seconds = time.monotonic() - started
        default = (
            f"then the default spec for {target}" if default_spec(target) else "no default spec"
        )
        size = len(result.output)
        sys.stdout.write(
            f"{target}: {_shown(spec)}, {default}: {size:,} bytes in {seconds:.1f} s\n"
        )
        if options.output:
            name = f"{Path(PROGRAM).stem}.{target}.vmfb"
            write_file(make_directory(options.output) / name, result.output)
        if not result.applied:
            raise TuninglinkError(error(f"no entry of '{_shown(spec)}' configured anything"))
        for applied in result.applied:
            if not applied.is_own:
                message = f"{applied}, but not with the entry's own configuration"
                raise TuninglinkError(error(message))
            assert applied.entry, "the specs of the demo are matcher lists"
            rows.append((target, applied.dispatch, applied.entry.matcher, applied.spec, "yes"))
    sys.stdout.write("\n")
    print_table(("target", "dispatch", "entry", "spec", "its own configuration"), rows)
    if options.budget:
        _tune(options.budget)
    return SUCCESS


def _tune(seconds: float) -> None:
    """Tune a small dispatch on the CPU of this machine, and show the times."""
    if find_spec("iree.runtime") is None or find_spec("sklearn") is None:
        sys.stdout.write("\nto see a dispatch tuned as well: pip install 'tuninglink[tune]'\n")
        return
    from tuninglink.cli.tune import dispatch_table  # noqa: PLC0415 - the extra may be missing
    from tuninglink.tuning import tune  # noqa: PLC0415 - the extra may be missing
    from tuninglink.tuning.deciding import TuningSettings  # noqa: PLC0415
    from tuninglink.tuning.flag_sets import NONE  # noqa: PLC0415

    sys.stdout.write(f"\ntuning {_shown(TUNED)} on this machine for {seconds:.0f} s\n\n")
    settings = TuningSettings(devices=(DEVICE,), seconds=seconds, runs_model=False)
    path = resources.files("tuninglink") / "examples" / TUNED
    with resources.as_file(path) as program, progress(f"tuning {_shown(TUNED)}"):
        tuned = tune(program, flags=expanded_target("host"), settings=settings, flag_sets=NONE)
    if not tuned.report.dispatches:
        sys.stdout.write("that was too little time to try a candidate; --budget gives more\n")
        return
    sys.stdout.write(dispatch_table(tuned.report, sys.stdout))


def _shown(name: str) -> str:
    return f"examples/{name}"


USAGES: Final = {"doctor": DOCTOR_USAGE, "demo": DEMO_USAGE}
