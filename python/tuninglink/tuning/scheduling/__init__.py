"""Scheduling: budgets, exploration of candidates, and the use of a run's time: its stages, and the device use in each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from tuninglink.plain_data import FLAT, named


class Stage(Enum):
    """A stage of tuning."""

    PROGRAM = "program"
    """Compilation of the program to its dispatches."""

    DEVICES = "devices"
    """Opening of devices."""

    DEFAULTS = "defaults"
    """Compilation and measurement of the compiler's choices."""

    SPACES = "spaces"
    """Construction of search spaces and matchers."""

    SEARCH = "search"
    """Choice of candidates by the search."""

    COMPILATION = "compilation"
    """Compilation of candidates while none is measured."""

    MEASUREMENT = "measurement"
    """Measurement of candidates, while others may compile."""

    REFERENCE = "reference"
    """Comparison of defaults with references."""

    RACE = "race"
    """Checks and races of finalists."""

    CONFIRMATION = "confirmation"
    """Measurement of the winner in fresh rounds."""

    VERIFICATION = "verification"
    """Compilation with the spec, and comparison of its binary with the winner's."""

    MODEL = "model"
    """Runs of the whole program with and without the spec."""

    OTHER = "other"
    """Everything else."""


@dataclass(frozen=True)
class DeviceUse:
    """The time that devices were in use; the mean of several devices.

    Attributes:
        busy_seconds: the time spent on requests.
        loading_seconds: the part of it spent on loading modules.
    """

    busy_seconds: float = field(default=0.0, metadata=named("device_seconds"))
    loading_seconds: float = 0.0

    def __add__(self, other: DeviceUse) -> DeviceUse:
        return DeviceUse(
            self.busy_seconds + other.busy_seconds, self.loading_seconds + other.loading_seconds
        )

    def __sub__(self, other: DeviceUse) -> DeviceUse:
        return self + DeviceUse(-other.busy_seconds, -other.loading_seconds)


def mean_use(uses: Sequence[DeviceUse]) -> DeviceUse:
    """Return the mean of the use of several devices."""
    total, count = sum(uses, DeviceUse()), max(1, len(uses))
    return DeviceUse(total.busy_seconds / count, total.loading_seconds / count)


@dataclass(frozen=True)
class StageTime:
    """The time of a stage.

    Attributes:
        seconds: its total duration.
        use: the device use during the stage.
    """

    seconds: float = 0.0
    use: DeviceUse = field(default=DeviceUse(), metadata=FLAT)

    def __add__(self, other: StageTime) -> StageTime:
        return StageTime(self.seconds + other.seconds, self.use + other.use)


class Used(Protocol):
    """An object that meters its use."""

    @property
    def use(self) -> DeviceUse:
        """The use since opening."""


class UseMeter:
    """A meter of the use of one device, which serves one request at a time. Other threads may read it."""

    def __init__(self) -> None:
        self._state: tuple[DeviceUse, float | None] = (DeviceUse(), None)

    @contextmanager
    def question(self) -> Iterator[None]:
        """Meter a block as a request."""
        self._state = (self._state[0], time.monotonic())
        try:
            yield
        finally:
            self._state = (self.use, None)

    def loaded(self, seconds: float) -> None:
        """Add seconds of loading in the current request."""
        use, began = self._state
        self._state = (use + DeviceUse(0.0, seconds), began)

    @property
    def use(self) -> DeviceUse:
        """The use so far."""
        use, began = self._state
        return use if began is None else use + DeviceUse(time.monotonic() - began)


class Timeline:
    """The time of each stage of a run. Exactly one stage runs at any time, so their times add up to the total.

    Args:
        clock: returns the time in seconds.

    Attributes:
        began: the time of its creation.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._devices: Used | None = None
        self._stages: list[Stage] = [Stage.OTHER]
        self._times: dict[Stage, StageTime] = {}
        self._use = DeviceUse()
        self.began = self._since = clock()

    def watch(self, devices: Used) -> None:
        """Include the use of devices from now on."""
        self._devices = devices

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[None]:
        """Attribute the time of a block to a stage instead of the enclosing one."""
        self._close()
        self._stages.append(stage)
        try:
            yield
        finally:
            self._close()
            self._stages.pop()

    @property
    def times(self) -> Mapping[Stage, StageTime]:
        """The time of each stage so far, in the order in which they first ended."""
        self._close()
        return dict(self._times)

    @property
    def total(self) -> StageTime:
        """The time of all stages so far."""
        return sum(self.times.values(), StageTime())

    def _close(self) -> None:
        """Add the time since the last call to the current stage."""
        now = self._clock()
        use = self._devices.use if self._devices is not None else DeviceUse()
        stage = self._stages[-1]
        result = StageTime(now - self._since, use - self._use)
        self._times[stage] = self._times.get(stage, StageTime()) + result
        self._since, self._use = now, use
