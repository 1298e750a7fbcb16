"""Details that take longer to compute and are only on the page: specs to start from, and valid values."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.explaining.dispatch_report import (
    ConfigurationText,
    DispatchReport,
    OperationReport,
    Status,
)
from tuninglink.explaining.explanation import Explanation
from tuninglink.mlir.diagnostics import thread_context
from tuninglink.scaffolding import single_entry
from tuninglink.scaffolding.reading import ProgramReader, is_tunable
from tuninglink.scaffolding.scaffold import StartingPoint
from tuninglink.spaces.configuration import Configuration
from tuninglink.spaces.knob_values import AllowedValues
from tuninglink.spaces.provider_registry import ProviderRegistry

_WITH_VALUES: Final = 10
"""The number of most expensive problems whose valid values are computed, which takes 0.2 s for each."""


def with_details(
    explanation: Explanation, sources: bytes, configured: bytes, calls: Counter[str]
) -> Explanation:
    """Return an explanation with a spec to start from for each tunable dispatch, and with valid values.

    Args:
        explanation: the explanation.
        sources: the executables at `executable-sources`, as bytecode.
        configured: the same executables with the compiler's own configurations, without specs.
        calls: the number of calls of each dispatch.
    """
    reader = ProgramReader(sources, configured, calls)
    points = {name: point for point in reader.points for name in point.dispatches}
    registry = ProviderRegistry(lambda _: None)
    detailed: dict[str, DispatchReport] = {}
    asked = 0
    for row in explanation.rows:
        # Equal dispatches share one starting point.
        first = row.dispatches[0]
        point = points.get(first.name)
        if point is None or not is_tunable(point.workload.problem.kind):
            continue
        asked += 1
        value_registry = registry if asked <= _WITH_VALUES else None
        start = single_entry(explanation.program, point, value_registry)
        for dispatch in row.dispatches:
            detailed[dispatch.name] = replace(dispatch, start=start)
        if (
            value_registry is not None
            and first.status is Status.TUNED
            and len(first.operations) == 1
        ):
            allowed = _with_values(first.operations[0], point, registry)
            for dispatch in row.dispatches:
                knobs = replace(dispatch.operations[0], knobs=allowed.knobs)
                detailed[dispatch.name] = replace(detailed[dispatch.name], operations=(knobs,))
    dispatches = tuple(detailed.get(dispatch.name, dispatch) for dispatch in explanation.dispatches)
    return replace(explanation, dispatches=dispatches)


def _with_values(
    operation: OperationReport, point: StartingPoint, registry: ProviderRegistry
) -> OperationReport:
    configuration = _parsed(operation.configuration)
    place = AllowedValues(point.workload, configuration, registry).by_place
    knobs = tuple(replace(knob, allowed=place.get(knob.name)) for knob in operation.knobs)
    return replace(operation, knobs=knobs)


def _parsed(text: ConfigurationText) -> Configuration:
    parts = (text.lowering_config, text.translation_info, text.decomposition_config)
    lowering, translation, decomposition = (
        mlir.Attribute.parse(part, thread_context()) if part else None for part in parts
    )
    assert lowering is not None  # the dispatch is tuned
    return Configuration(lowering, translation, decomposition)  # type: ignore[arg-type]
