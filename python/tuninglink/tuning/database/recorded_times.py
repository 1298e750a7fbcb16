"""Times of a program's dispatches from a database of trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.mlir.contexts import thread_context
from tuninglink.tuning.database import Database
from tuninglink.tuning.programs.dispatches import read_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tuninglink.compiler.phases import Phase
    from tuninglink.explaining.explanation import DispatchReport
    from tuninglink.explaining.operation_report import ConfigurationText
    from tuninglink.tuning.database import Database, Trial

    Times = Mapping[tuple[str, str, str], float]
    """Microseconds by translation_info, lowering_config and decomposition_config."""


@dataclass(frozen=True)
class RecordedTimes:
    """What a database knows of the dispatches of a program.

    Attributes:
        by_dispatch: for each dispatch, by its name, the times of its configurations.
    """

    by_dispatch: Mapping[str, Times]

    def microseconds(self, dispatch: DispatchReport) -> float | None:
        """Return how long one call of a dispatch takes in its configuration; None if that was not measured."""
        if len(dispatch.operations) != 1:
            return None
        times = self.by_dispatch.get(dispatch.name, {})
        return times.get(_key(dispatch.operations[0].configuration))


def recorded_times(
    database: Database, program: str, flags: Sequence[str], first: Phase
) -> RecordedTimes:
    """Look up the dispatches of a program.

    Times of several environments with the same problem are not told apart: the latest trial counts.

    Args:
        database: the database.
        program: the path of the program.
        flags: flags of the compiler; those of the whole process must have been set before.
        first: the phase that the program has gone through already.

    Raises:
        CompileError: the program does not compile.
        DatabaseError: the database cannot be read.
    """
    tasks = read_program(program, flags, first=first).tasks
    result = {task.key: _times(database.trials(task.key)) for task in tasks}
    return RecordedTimes({name: result[task.key] for task in tasks for name in task.dispatches})


def _times(trials: Iterable[Trial]) -> Times:
    times: dict[tuple[str, str, str], float] = {}
    for trial in trials:
        attribute = trial.configuration.attribute
        info = mlir.Attribute.parse(attribute, thread_context()) if attribute else None
        if trial.median is not None and isinstance(info, iree_codegen.CompilationInfoAttr):
            parts = str(info.translation_info), str(info.lowering_config)
            times[(*parts, trial.configuration.decomposition)] = trial.median
    return times


def _key(configuration: ConfigurationText) -> tuple[str, str, str]:
    return (
        configuration.translation_info,
        configuration.lowering_config,
        configuration.decomposition_config,
    )
