"""Clock, power and temperature of devices, from files as the kernel writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tuninglink.devices import Conditions, DeviceReading, ReadingRange, sensors_of

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.devices import Sensors


def write(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{content}\n")


def test_a_processor_reports_clock_and_temperature(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "3412987",
            "class/hwmon/hwmon0/name": "nvme",
            "class/hwmon/hwmon0/temp1_input": "31850",
            "class/hwmon/hwmon3/name": "k10temp",
            "class/hwmon/hwmon3/temp1_input": "61250",
        },
    )
    assert sensors_of("local-task", tmp_path)() == (DeviceReading(3412, None, 61.25),)


def test_a_thermal_zone_stands_in_for_a_monitor(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "class/thermal/thermal_zone0/type": "acpitz",
            "class/thermal/thermal_zone0/temp": "27800",
            "class/thermal/thermal_zone1/type": "x86_pkg_temp",
            "class/thermal/thermal_zone1/temp": "54000",
        },
    )
    assert sensors_of("local-task", tmp_path)() == (DeviceReading(temperature_celsius=54.0),)


COUNTER = "class/powercap/intel-rapl:0"


def clock(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> None:
    times = iter(seconds)
    monkeypatch.setattr("tuninglink.devices.device.time.monotonic", lambda: next(times))


def watts(sensors: Sensors) -> float | None:
    (reading,) = sensors()
    return reading.power_watts


def test_power_is_the_mean_since_the_reading_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock(monkeypatch, 10.0, 12.0, 12.001, 14.0)
    write(tmp_path / COUNTER, {"energy_uj": "5000000", "max_energy_range_uj": "262143328850"})
    sensors = sensors_of("local-task", tmp_path)
    write(tmp_path / COUNTER, {"energy_uj": "135000000"})
    assert watts(sensors) == pytest.approx(65.0)
    assert watts(sensors) == pytest.approx(65.0)  # too soon for another one
    write(tmp_path / COUNTER, {"energy_uj": "315000000"})
    assert watts(sensors) == pytest.approx(90.0)


def test_an_energy_counter_wraps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock(monkeypatch, 1.0, 2.0)
    write(tmp_path / COUNTER, {"energy_uj": "990000000", "max_energy_range_uj": "1000000000"})
    sensors = sensors_of("local-task", tmp_path)
    write(tmp_path / COUNTER, {"energy_uj": "60000000"})
    assert watts(sensors) == pytest.approx(70.0)


def test_packages_of_processors_add_up_and_their_parts_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock(monkeypatch, 0.0, 1.0)
    zones = [f"class/powercap/intel-rapl:{zone}/energy_uj" for zone in ("0", "1", "0:0")]
    write(tmp_path, dict.fromkeys(zones, "0"))
    sensors = sensors_of("local-task", tmp_path)
    write(tmp_path, dict.fromkeys(zones, "40000000"))
    assert sensors() == (DeviceReading(power_watts=80.0),)


def test_a_card_of_amd_reports_all(tmp_path: Path) -> None:
    cards = [f"class/drm/card{number}/device" for number in (10, 2)]
    for card in cards:
        write(tmp_path, {f"{card}/pp_dpm_sclk": "0: 132Mhz\n1: 2100Mhz *"})
    write(
        tmp_path,
        {
            f"{cards[0]}/hwmon/hwmon5/power1_average": "721000000",
            f"{cards[0]}/hwmon/hwmon5/temp1_input": "47000",
            "class/drm/card2-DP-1/device/pp_dpm_sclk": "0: 1Mhz *",
        },
    )
    assert sensors_of("hip://1", tmp_path)() == (DeviceReading(2100, 721.0, 47.0),)
    assert sensors_of("hip://0", tmp_path)() == (DeviceReading(2100),)
    assert not sensors_of("hip://2", tmp_path)()


def test_a_device_without_a_driver_reports_nothing() -> None:
    assert not sensors_of("hip://7")()
    assert not sensors_of("cuda://GPU-00000000-0000-0000-0000-000000000000")()


def test_conditions_are_ranges_of_what_was_reported() -> None:
    readings = [DeviceReading(1980, 650.5), DeviceReading(), DeviceReading(1755, 700.0, 62.0)]
    assert Conditions.of(readings) == Conditions(
        ReadingRange(1755, 1867.5, 1980),
        ReadingRange(650.5, 675.25, 700.0),
        ReadingRange(62, 62, 62),
    )
    assert Conditions.of([DeviceReading()]) is None
