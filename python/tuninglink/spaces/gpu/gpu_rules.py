"""The collector of the knobs and the rules of a space for GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tuninglink.iree.lowering_configs import AMD_SUBGROUP_SIZES, SUBGROUP_SIZE, WORKGROUP_SIZE
from tuninglink.solver import Grade
from tuninglink.solver.expressions import Expression, SizeParameter, any_of, number, select
from tuninglink.spaces.knobs import IntegerKnob, OneOfKnob
from tuninglink.spaces.set_builder import ConstraintSetBuilder

if TYPE_CHECKING:
    from tuninglink.spaces.constraint_set import ConstraintSet
    from tuninglink.spaces.gpu import Gpu
    from tuninglink.spaces.workload import Problem

Number = Any
"""An integer expression, or an integer."""

PROVIDER: Final = "the GPU provider"
"""The default provider of the sets that this module builds."""

THREADS_KNOB: Final = WORKGROUP_SIZE
SUBGROUP_SIZE_KNOB: Final = SUBGROUP_SIZE
STAGES_KNOB: Final = "prefetch_num_stages"

MOST_INTRINSICS: Final = 384
"""The maximum number of intrinsics in one step of a loop: larger numbers take minutes to compile (480 took over a
minute).
"""

MOST_STAGES: Final = 3
"""The maximum number of covered stages. With this number, two steps are in flight; one stage is equivalent to none."""

_MOST_UNROLLED: Final = 1 << 9
_BITS: Final = 8


class GpuRules:
    """Collects the knobs and the rules of a space.

    Args:
        parameters: the names of the parameters of the rules.
        provider: the provider of the sets.
    """

    def __init__(self, parameters: Iterable[str] = (), provider: str = PROVIDER) -> None:
        self._builder = ConstraintSetBuilder()
        self._provider = provider
        for name in parameters:
            self._builder.auxiliary(name)

    def knob(self, name: str, low: int, high: int) -> Expression:
        """Add an integer knob."""
        return self._builder.knob(IntegerKnob(name, low, high), Grade.SUFFICIENT)

    def choice(self, name: str, options: Iterable[object]) -> Expression:
        """Add a knob that chooses among options."""
        return self._builder.knob(OneOfKnob(name, tuple(map(str, options))), Grade.SUFFICIENT)

    def necessary(self, condition: Number, message: str, *values: Number) -> None:
        """Add a rule whose violation makes code generation fail; determined by compiling."""
        self._builder.require(
            condition, message, *values, provenance="code generation fails otherwise"
        )

    def sufficient(self, condition: Number, message: str, *values: Number) -> None:
        """Add a rule whose violation may make code generation fail."""
        self._builder.require(
            condition,
            message,
            *values,
            provenance="code generation may fail otherwise",
            grade=Grade.SUFFICIENT,
        )

    def unsafe(self, condition: Number, message: str, *values: Number) -> None:
        """Add a rule whose violation leads to code that compiles but does not run."""
        self._builder.require(
            condition,
            message,
            *values,
            provenance="the device does not run the code otherwise",
            grade=Grade.UNSAFE,
        )

    def compilers(self, condition: Number, message: str, *values: Number) -> None:
        """Add a rule of the compiler's own constraints."""
        self._builder.require(
            condition,
            message,
            *values,
            provenance="the compiler's own constraints require it where they apply",
            grade=Grade.COMPILER,
        )

    def not_chosen(self, condition: Number, message: str, *values: Number) -> None:
        """Add a limit of the compiler's own search; configurations beyond it compile."""
        self._builder.require(
            condition,
            message,
            *values,
            provenance="the compiler's own constraints look no further",
            grade=Grade.HEURISTIC,
        )

    def propose_nothing(self, reason: str) -> None:
        """Exclude all configurations of a space from proposals, without affecting verdicts."""
        self._builder.require(
            False,  # noqa: FBT003
            reason,
            provenance="others are faster",
            grade=Grade.HEURISTIC,
        )

    def powers_of_two(self, number: Number, high: int, size: int | None = None) -> None:
        """Restrict proposals for a knob to powers of two and the size of the loop, if it has one."""
        values: list[Number] = [1 << position for position in range(high.bit_length())]
        if isinstance(size, SizeParameter):
            values.append(size)
        elif size:
            values = sorted({*values, size})
        self._builder.require(
            any_of(*(number == value for value in values)),
            "it should be a power of two, not {}",
            number,
            provenance="others are rarely fast",
            grade=Grade.HEURISTIC,
        )

    def few(self, count: Number, what: str, most: int = _MOST_UNROLLED) -> None:
        """Limit the number of operations in the code of one thread; more are not covered."""
        self.sufficient(
            count <= most,
            f"a thread must have at most {most} {what} in a step ({{}} <= {most})",
            count,
        )

    def unrolled(self, count: Number, what: str, most: int) -> None:
        """Limit the number of operations in the code of one thread, as more took minutes to compile."""
        self._builder.require(
            count <= most,
            f"a thread must have at most {most} {what} in a step ({{}} <= {most})",
            count,
            provenance="more took minutes to compile",
            grade=Grade.SLOW,
        )

    def look_up(self, index: Expression, values: Sequence[int]) -> Number:
        """Return the value at an index."""
        result = number(values[-1])
        for position, value in reversed([*enumerate(values)][:-1]):
            result = select(index == position, number(value), result)
        return result

    def workgroup(self, device: Gpu) -> tuple[Number, Number, Number]:
        """Add the knobs of a workgroup.

        Returns:
            The number of threads in a workgroup and in a subgroup, and the number of prefetched stages.
        """
        threads = self.knob(THREADS_KNOB, 1, device.threads)
        subgroup_size = self.knob(SUBGROUP_SIZE_KNOB, 1, max(device.subgroup_sizes))
        stages = self.knob(STAGES_KNOB, 0, MOST_STAGES)
        if device.architecture.startswith("gfx"):
            self.necessary(
                any_of(*(subgroup_size == each for each in AMD_SUBGROUP_SIZES)),
                "a subgroup must have 32 or 64 threads, not {}",
                subgroup_size,
            )
        self.compilers(
            subgroup_size == device.subgroup_size,
            f"a subgroup must have {device.subgroup_size} threads, not {{}}",
            subgroup_size,
        )
        return threads, subgroup_size, stages

    def memory_bounds(
        self, least: Sequence[Number], further: Sequence[Number], device: Gpu
    ) -> None:
        """Limit the shared memory of a workgroup where the exact size is unknown.

        Args:
            least: the sizes in bits of certain uses.
            further: the sizes in bits of possible further uses.
            device: the device.
        """
        self.memory(least, device)
        most: Number = number(0)
        for each in (*least, *further):
            most = most + each
        self.sufficient(
            most <= device.memory * _BITS,
            f"shared memory must suffice for the exchanged data ({{}} <= {device.memory} bytes)",
            most / _BITS,
        )

    def threads(
        self, threads: Number, needed: Number, source: str, grade: Grade = Grade.COMPILER
    ) -> None:
        """Require the number of threads in a workgroup that the tiles of a `source` need."""
        require = self.compilers if grade is Grade.COMPILER else self.not_chosen
        require(
            threads == needed,
            f"a workgroup must have the threads {source} ({{}} == {{}})",
            threads,
            needed,
        )

    def memory(self, bits: Sequence[Number], device: Gpu) -> None:
        """Limit the shared memory of a workgroup to the sum of `bits`."""
        used: Number = number(0)
        for bit in bits:
            used = used + bit
        self.necessary(
            used <= device.memory * _BITS,
            f"shared memory must suffice ({{}} <= {device.memory} bytes)",
            used / _BITS,
        )

    def build(self, problem: Problem, pipeline: str, unknown: str = "") -> ConstraintSet:
        """Return the set; the rules must not be used afterwards.

        Args:
            problem: the problem to configure.
            pipeline: the pipeline that the knobs configure.
            unknown: why no configuration is known to be valid; empty if the rules decide.
        """
        return self._builder.build(problem, pipeline, self._provider, unknown=unknown)


def product(factors: Iterable[Number]) -> Number:
    """Return the product of at least one factor."""
    result: Number = None
    for factor in factors:
        result = factor if result is None else result * factor
    return result


def round_up(number: Number, step: Number) -> Number:
    """Return the smallest multiple of `step` that is not less than a positive number."""
    return (number + step - 1) / step * step


def clip(tile: Number, size: Number | None) -> Number:
    """Return a tile clipped to the size of its loop, which is None for a dynamic one."""
    return tile if size is None else select(tile < size, tile, size)
