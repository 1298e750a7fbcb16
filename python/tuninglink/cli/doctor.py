"""`tuninglink doctor`: a description of the installation, and checks that the compiler behaves as expected."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.terminal import print_table, progress
from tuninglink.cli.usage import FORMAT_FLAG, ReportFormat, Usage
from tuninglink.compiler import set_up_command_line
from tuninglink.doctor import Environment, environment, self_check
from tuninglink.files import STANDARD_STREAM, write_output
from tuninglink.plain_data import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


USAGE: Final[Usage] = Usage(
    name="doctor",
    flags={"format": FORMAT_FLAG},
    main_flags=("format",),
    description="""
The check compiles a program of one operation for each backend with an embedded spec that must take effect, and looks
for the matcher operations and the knobs that Tuninglink uses. The exit code is 1 if a check fails.
""",
    examples=("tuninglink doctor", "tuninglink doctor --format json > report.json"),
)


def doctor_command(arguments: Sequence[str]) -> int:
    values, _ = USAGE.parse(arguments)
    set_up_command_line("tuninglink doctor", ())
    with progress("examining the installation") as step:
        installed = environment()
        step("checking the compiler")
        results = list(self_check())
    if values.get("report_format") is ReportFormat.JSON:
        write_output(STANDARD_STREAM, to_json({"environment": installed, "checks": results}))
    else:
        print_table(("part", "name", "state"), [*_environment_rows(installed)])
        sys.stdout.write("\n")
        rows = [
            (result.name, f"FAILED: {result.failure}" if result.failure else "ok")
            for result in results
        ]
        print_table(("check", "result"), rows)
    failed = any(result.failure for result in results)
    return process.FAILURE if failed else process.SUCCESS


def _environment_rows(installed: Environment) -> Iterator[tuple[str, str, str]]:
    for name, version in installed.versions.items():
        yield "version", name, version or "not installed"
    for extra, missing in installed.extras.items():
        yield "extra", extra, f"lacks {', '.join(missing)}" if missing else "installed"
    for driver in installed.drivers:
        if not driver.devices:
            yield "driver", driver.name, driver.failure or "no device"
        for device in driver.devices:
            # The clock, the power and the temperature that it reports.
            clock, power, heat = device.clock_mhz, device.power_watts, device.temperature_celsius
            state = (
                f"{clock:,} MHz" if clock is not None else "",
                f"{power:.0f} W" if power is not None else "",
                f"{heat:.0f} °C" if heat is not None else "",
            )
            yield "device", device.uri, ", ".join(filter(None, (device.name, *state)))
    size = f"{installed.cached_files} files, {installed.cached_bytes:,} bytes"
    yield "cache of URLs", str(installed.cache), size
    for peaks in installed.peaks:
        yield "peak rates", peaks.device, str(peaks)
