"""Problems of recorded tables: what their programs compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.errors import TuninglinkError
from tuninglink.iree.dispatch_roots import find_root_ops
from tuninglink.mlir.diagnostics import error
from tuninglink.spaces.workload import read_workload
from tuninglink.tuning.compute_units import COMPUTE_UNITS, compute_units
from tuninglink.tuning.search_problem import SearchProblem

if TYPE_CHECKING:
    from tuninglink.tuning.tables import RecordedTable


def problem_of_table(table: RecordedTable) -> SearchProblem:
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
    return SearchProblem.of(problem, {COMPUTE_UNITS: compute_units(table.device)})
