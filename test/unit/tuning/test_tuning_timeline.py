"""The division of a run's time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuninglink.devices import Stage, Timeline, UsedTime

if TYPE_CHECKING:
    import pytest


@dataclass
class Machine:
    """A clock and a device."""

    now: float = 100.0
    use: float = 0.0

    def work(self, seconds: float, on_device: float = 0.0) -> None:
        self.now += seconds
        self.use += on_device


def test_stages_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine()
    monkeypatch.setattr("tuninglink.devices.times.time.monotonic", lambda: machine.now)
    timeline = Timeline()
    timeline.device_use = lambda: machine.use
    with timeline.stage(Stage.RACE):
        machine.work(1.0, 0.5)
        with timeline.stage(Stage.CONFIRMATION):
            machine.work(2.0, 2.0)
        machine.work(4.0)
    machine.work(8.0)
    times = timeline.times()
    assert times == {
        Stage.OTHER: UsedTime(8.0),
        Stage.RACE: UsedTime(5.0, 0.5),
        Stage.CONFIRMATION: UsedTime(2.0, 2.0),
    }
    assert sum(used.seconds for used in times.values()) == 15.0
