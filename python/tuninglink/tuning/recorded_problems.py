"""Problems of recorded tables: what their programs compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.errors import TuninglinkError
from tuninglink.iree.dispatch_roots import find_root_ops
from tuninglink.mlir.diagnostics import error
from tuninglink.spaces.workload import read_workload
from tuninglink.tuning.compute_units import COMPUTE_UNITS, compute_units

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.tuning.tables import RecordedTable


@dataclass(frozen=True)
class RecordedProblem:
    """What the program of a table computes, as a search sees it.

    Attributes:
        kind: the kind of operation, such as `contraction`.
        sizes: how often each loop runs.
        roles: what each loop is to the operation, such as `m`.
        element_types: those of the operands, as MLIR writes them.
        limits: what is known of the device.
    """

    kind: str
    sizes: tuple[int | None, ...]
    roles: tuple[str, ...]
    element_types: tuple[str, ...]
    limits: Mapping[str, int]

    def __str__(self) -> str:
        sizes = "x".join("?" if each is None else str(each) for each in self.sizes)
        return f"{self.kind} {sizes} {'x'.join(self.element_types)}"


def problem_of_table(table: RecordedTable) -> RecordedProblem:
    """Returns what the program of a table computes.

    Raises:
        TuninglinkError: the program cannot be parsed, or computes nothing.
    """
    try:
        module = mlir.Module.parse(table.program, mlir.Context())
    except mlir.MLIRError as failure:
        raise TuninglinkError(
            error(f"the program of the table cannot be parsed: {failure}")
        ) from None
    found = [
        (root, each.function) for each in find_root_ops(module.operation) for root in each.roots
    ]
    if not found:
        raise TuninglinkError(error("the program of the table computes nothing"))
    problem = read_workload(*found[0]).problem
    return RecordedProblem(
        problem.kind.value,
        tuple(each.size for each in problem.dimensions),
        tuple(each.role.value for each in problem.dimensions),
        problem.element_types,
        {COMPUTE_UNITS: compute_units(table.device)},
    )
