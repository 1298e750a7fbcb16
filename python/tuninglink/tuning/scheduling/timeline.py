"""Where the time of a run goes: its stages, and how much of each the devices were in use."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


class Stage(Enum):
    """What a tuner does."""

    PROGRAM = "program"
    """The program is compiled to its dispatches."""

    DEVICES = "devices"
    """The devices open."""

    DEFAULTS = "defaults"
    """The compiler's choices are compiled and measured."""

    SPACES = "spaces"
    """Spaces and matchers are made."""

    SEARCH = "search"
    """The search chooses candidates."""

    COMPILATION = "compilation"
    """Candidates compile, and none is measured."""

    MEASUREMENT = "measurement"
    """Candidates are measured, while others may compile."""

    REFERENCE = "reference"
    """Defaults are compared with what their dispatches should compute."""

    RACE = "race"
    """Finalists are checked and compared."""

    CONFIRMATION = "confirmation"
    """The winner is measured on fresh rounds."""

    VERIFICATION = "verification"
    """The spec is compiled, and its binary compared with the winner's."""

    MODEL = "model"
    """The whole program runs with the spec and without."""

    OTHER = "other"
    """Everything else."""


@dataclass(frozen=True)
class DeviceUse:
    """How long devices were in use; the mean where there are several.

    Attributes:
        busy_seconds: with a question to answer.
        loading_seconds: the part of that in which modules were loaded.
    """

    busy_seconds: float = 0.0
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
    """What a stage took.

    Attributes:
        seconds: how long it lasted, all its turns together.
        use: how long the devices were in use meanwhile.
    """

    seconds: float = 0.0
    use: DeviceUse = DeviceUse()

    def __add__(self, other: StageTime) -> StageTime:
        return StageTime(self.seconds + other.seconds, self.use + other.use)


class Used(Protocol):
    """What tells how long it was in use, so far."""

    @property
    def use(self) -> DeviceUse:
        """The use since it was opened."""


class UseMeter:
    """Counts the use of one device, which answers a question at a time. Other threads may read it meanwhile."""

    def __init__(self) -> None:
        self._state: tuple[DeviceUse, float | None] = (DeviceUse(), None)

    @contextmanager
    def question(self) -> Iterator[None]:
        """Count a block."""
        self._state = (self._state[0], time.monotonic())
        try:
            yield
        finally:
            self._state = (self.use, None)

    def loaded(self, seconds: float) -> None:
        """Count the seconds that loading took in the question that runs."""
        use, began = self._state
        self._state = (use + DeviceUse(0.0, seconds), began)

    @property
    def use(self) -> DeviceUse:
        """The use until now."""
        use, began = self._state
        return use if began is None else use + DeviceUse(time.monotonic() - began)


class Timeline:
    """Tells the stages of a run apart. One of them runs at any time, so that they add up to the whole.

    Args:
        clock: tells the time in seconds.

    Attributes:
        began: when it was made.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._devices: Used | None = None
        self._stages: list[Stage] = [Stage.OTHER]
        self._times: dict[Stage, StageTime] = {}
        self._use = DeviceUse()
        self.began = self._since = clock()

    def watch(self, devices: Used) -> None:
        """Read the use of devices from now on."""
        self._devices = devices

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[None]:
        """Count the time of a block to a stage, and none of it to the stage around."""
        self._close()
        self._stages.append(stage)
        try:
            yield
        finally:
            self._close()
            self._stages.pop()

    @property
    def times(self) -> Mapping[Stage, StageTime]:
        """What the stages took until now, in the order in which they first ended."""
        self._close()
        return dict(self._times)

    @property
    def total(self) -> StageTime:
        """What all of them took until now."""
        return sum(self.times.values(), StageTime())

    def _close(self) -> None:
        """Add what passed since the last time to the stage that runs."""
        now = self._clock()
        use = self._devices.use if self._devices is not None else DeviceUse()
        stage = self._stages[-1]
        result = StageTime(now - self._since, use - self._use)
        self._times[stage] = self._times.get(stage, StageTime()) + result
        self._since, self._use = now, use
