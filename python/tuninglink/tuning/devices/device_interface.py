"""The interface of a device, which takes requests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from tuninglink.tuning.devices.measurement import Measurer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tuninglink.tuning.devices.device import DeviceDescription
    from tuninglink.tuning.devices.numerics import Outputs
    from tuninglink.tuning.devices.timing import Rounds, Timing
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.programs.compiled_program import CompiledProgram
    from tuninglink.tuning.results.failures import Failure

Answer = TypeVar("Answer", covariant=True)  # noqa: PLC0105

_SLACK: Final = 2.0
"""How many times longer than expected a request may take, beside the time limit of the device."""

_ROUNDS_SECONDS: Final = 20.0
"""Time in which no further round begins, unless the caller gives another."""


@dataclass(frozen=True)
class Request(Generic[Answer]):
    """Work for the process that holds a device.

    Attributes:
        work: a function that can be imported by its name; its first argument is the `Measurer` of the process.
        arguments: its other arguments.
        expected_seconds: how long the work takes where that depends on the arguments; it extends the time limit.
    """

    work: Callable[..., Answer]
    arguments: tuple[object, ...]
    expected_seconds: float = 0.0

    def time_limit(self, timeout: float) -> float:
        """Return the seconds after which the work counts as hanging.

        Args:
            timeout: the time limit of work whose duration is not expected.
        """
        return timeout + _SLACK * self.expected_seconds


class Device(ABC):
    """One device. All that is measured on it is a request, which may raise a `DeviceError`: the device is gone."""

    @property
    @abstractmethod
    def description(self) -> DeviceDescription:
        """The description of the device."""

    @abstractmethod
    def ask(self, request: Request[Answer]) -> Answer | Failure:
        """Return what the work of a request returns, or why it failed."""

    def measure(
        self, benchmark: Benchmark, seconds: float = 0.02, limit_microseconds: float | None = None
    ) -> Timing | Failure:
        """Measure one benchmark; see `Measurer.measure`."""
        return self.ask(Request(Measurer.measure, (benchmark, seconds, limit_microseconds)))

    def rounds(
        self,
        benchmarks: Sequence[Benchmark],
        count: int,
        seed: int,
        seconds: float = _ROUNDS_SECONDS,
    ) -> Rounds | Failure:
        """Measure benchmarks against each other; see `Measurer.rounds`."""
        arguments = (tuple(benchmarks), count, seed, seconds)
        return self.ask(Request(Measurer.rounds, arguments, seconds))

    def program_rounds(
        self,
        programs: Sequence[CompiledProgram],
        count: int,
        seed: int,
        seconds: float = _ROUNDS_SECONDS,
    ) -> Rounds | Failure:
        """Measure whole programs against each other; see `Measurer.program_rounds`."""
        arguments = (tuple(programs), count, seed, seconds)
        return self.ask(Request(Measurer.program_rounds, arguments, seconds))

    def program_outputs(self, program: CompiledProgram) -> tuple[NDArray[Any], ...] | Failure:
        """Return what a call of a program computes; see `ProgramRunner.outputs`."""
        return self.ask(Request(Measurer.program_outputs, (program,), _ROUNDS_SECONDS))

    def compare(
        self, benchmark: Benchmark, reference: Benchmark, reduction: int = 1
    ) -> Failure | None:
        """Compare what a benchmark computes with what another does; see `Measurer.compare`."""
        return self.ask(Request(Measurer.compare, (benchmark, reference, reduction)))

    def outputs(self, benchmark: Benchmark) -> Outputs | Failure:
        """Return what a benchmark computes; see `Measurer.outputs`."""
        return self.ask(Request(Measurer.outputs, (benchmark,)))
