"""Problems of recorded programs: what they compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.errors import TuninglinkError
from tuninglink.iree.dispatch_roots import find_root_ops
from tuninglink.mlir.diagnostics import error
from tuninglink.spaces.workload import read_workload
from tuninglink.tuning.candidates.search_problem import SearchProblem
from tuninglink.tuning.devices.compute_units import COMPUTE_UNITS, compute_units

if TYPE_CHECKING:
    from tuninglink.tuning.database.tables import RecordedTable


def problem_of_table(table: RecordedTable) -> SearchProblem:
    """Return what the program of a table computes.

    Raises:
        TuninglinkError: the program cannot be parsed, or computes nothing.
    """
    return problem_of_program(table.program, table.device)


def problem_of_program(program: str, device: str) -> SearchProblem:
    """Return what a program computes, as MLIR text, on a device of this name.

    Raises:
        TuninglinkError: the program cannot be parsed, or computes nothing.
    """
    try:
        module = mlir.Module.parse(program, mlir.Context())
    except mlir.MLIRError as failure:
        raise TuninglinkError(error(f"the recorded program cannot be parsed: {failure}")) from None
    result = [(root, op.function) for op in find_root_ops(module.operation) for root in op.roots]
    if not result:
        raise TuninglinkError(error("the recorded program computes nothing"))
    problem = read_workload(*result[0]).problem
    return SearchProblem.of(problem, {COMPUTE_UNITS: compute_units(device)})
