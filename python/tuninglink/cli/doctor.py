"""`tuninglink doctor`: a description of the installation, and checks that the compiler behaves as expected."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.terminal import print_table, progress
from tuninglink.cli.usage import FORMAT_FLAG, ReportFormat, Usage
from tuninglink.compiler import set_up_command_line
from tuninglink.doctor import environment, self_check
from tuninglink.files import STANDARD_STREAM, write_output
from tuninglink.plain_data import to_json

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    failed = any(result.failure for result in results)
    code = process.FAILURE if failed else process.SUCCESS
    if values.get("report_format") is ReportFormat.JSON:
        write_output(STANDARD_STREAM, to_json({"environment": installed, "checks": results}))
        return code
    # The parts of the installation, with the clock, the power and the temperature that devices report.
    rows = [
        ("version", name, version or "not installed")
        for name, version in installed.versions.items()
    ]
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
