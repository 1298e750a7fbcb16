"""The division of a run's time."""

from __future__ import annotations

from dataclasses import dataclass, field

from tuninglink.tuning.devices import DeviceUse, Stage, Timeline


@dataclass
class Machine:
    """A clock and a device."""

    now: float = 100.0
    use: DeviceUse = field(default_factory=DeviceUse)

    def work(self, seconds: float, on_device: float = 0.0) -> None:
        self.now += seconds
        self.use += DeviceUse(on_device, on_device / 2)


def test_stages_add_up() -> None:
    machine = Machine()
    timeline = Timeline(lambda: machine.now)
    timeline.watch(machine)
    with timeline.stage(Stage.RACE):
        machine.work(1.0, 0.5)
        with timeline.stage(Stage.CONFIRMATION):
            machine.work(2.0, 2.0)
        machine.work(4.0)
    machine.work(8.0)
    times = timeline.times
    assert times[Stage.RACE].seconds == 5.0
    assert times[Stage.RACE].use == DeviceUse(0.5, 0.25)
    assert times[Stage.CONFIRMATION].use == DeviceUse(2.0, 1.0)
    assert times[Stage.OTHER].seconds == 8.0
    assert timeline.total.seconds == 15.0
    assert timeline.total.use == DeviceUse(2.5, 1.25)
