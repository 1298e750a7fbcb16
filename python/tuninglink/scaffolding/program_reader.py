"""The problems of a program, for entries: root ops of dispatches, with their configurations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from iree.compiler import ir as mlir

from tuninglink.compiler import DispatchSources, materialize_encodings, prepare_dispatches
from tuninglink.emission import (
    Neighbor,
    Neighborhood,
    Preparation,
    by_neighborhood,
    lowering_configs,
    neighborhood,
)
from tuninglink.iree import (
    Dispatch,
    DispatchCost,
    GivenSizes,
    OpKind,
    Target,
    count_calls,
    describe,
    dispatch_costs,
    find_dispatches,
    find_root_ops,
)
from tuninglink.matching import OpInfo
from tuninglink.mlir import symbol_name, thread_context
from tuninglink.passes.strip_configs import strip_configurations
from tuninglink.spaces.model import Configuration, Workload, read_configuration, read_workload


@dataclass(frozen=True)
class StartingPoint:
    """Dispatches with one root op and one configuration, for one entry.

    Attributes:
        label: the name of the function of the first dispatch.
        words: a description of the root op.
        calls: the total number of calls in the program.
        cost: the cost of one call.
        workload: the root op as matchers see it.
        workloads: that of each dispatch: they differ in the functions around the root op.
        configuration: the compiler's own choice.
        attributes: the attributes by which a spec sets this configuration, by name, as MLIR prints them.
        neighborhoods: the other configured ops of each dispatch, by its name.
    """

    dispatches: tuple[str, ...]
    label: str
    words: str
    calls: int
    cost: DispatchCost
    target: str
    workload: Workload
    workloads: tuple[Workload, ...]
    configuration: Configuration
    attributes: Mapping[str, str]
    neighborhoods: Mapping[str, Neighborhood]

    @property
    def around(self) -> tuple[Neighbor, ...]:
        """The neighbors of the root op in the first dispatch."""
        return self.neighborhoods[self.dispatches[0]].neighbors


@dataclass(frozen=True)
class LeftOut:
    """Dispatches without an entry, with a description of their root op as far as it is known, and the reason."""

    dispatches: tuple[str, ...]
    words: str
    reason: str

    def __str__(self) -> str:
        more = f" and {len(self.dispatches) - 1} more" if len(self.dispatches) > 1 else ""
        what = f" ({self.words})" if self.words else ""
        return f"{self.dispatches[0]}{more}{what}: {self.reason}"


class _NoStartError(Exception):
    """An error for a dispatch without a possible entry, with the reason, and the computation if it is known."""


class ProgramReader:
    """The dispatches of a program as the compiler configures them without specs.

    Args:
        sources: the program at `executable-sources`, as bytecode.
        configured: the program at `executable-configurations`.
        calls: the number of calls of each dispatch, in case the program does not determine it.
        sizes: the sizes of dynamic dimensions for the costs.

    Attributes:
        points: the problems that entries can be written for, the most expensive first.
        left_out: the other dispatches.
        dispatches: all dispatches, without configurations.
    """

    def __init__(
        self,
        sources: bytes,
        configured: bytes,
        calls: Counter[str] | None = None,
        sizes: Sequence[GivenSizes] = (),
    ) -> None:
        context = thread_context()
        before = mlir.Module.parse(sources, context).operation
        materialize_encodings(before)
        self._after = mlir.Module.parse(configured, context).operation
        self._calls = count_calls(before) if calls is None else calls
        self._costs = dispatch_costs(before, sizes)
        self.dispatches = find_dispatches(self._after)
        # Read the configurations, and remove them: matchers see ops without.
        self._configurations = {
            dispatch.name: [
                (root, read_configuration(root, function))
                for root, function in _roots(dispatch.module)
            ]
            for dispatch in self.dispatches
        }
        self._configs = {
            dispatch.name: lowering_configs(dispatch.module) for dispatch in self.dispatches
        }
        strip_configurations(self._after)
        self._prepared = prepare_dispatches(self.dispatches, DispatchSources(before))
        self._words = {
            dispatch.name: describe(OpInfo(roots[0][0]))
            for dispatch in self.dispatches
            if (roots := _roots(dispatch.module))
        }
        # Join dispatches of the same problem and configuration.
        points: dict[Hashable, StartingPoint] = {}
        self._labels: dict[str, str] = {}
        left_out: dict[tuple[str, str], tuple[str, ...]] = {}
        for dispatch in self.dispatches:
            try:
                key, point = self._point(dispatch)
            except _NoStartError as failure:
                reason, *words = failure.args
                why = "".join(words), reason
                left_out[why] = (*left_out.get(why, ()), dispatch.name)
                continue
            self._labels[dispatch.name] = point.label
            if key in points:
                same = points[key]
                together, count = (*same.dispatches, *point.dispatches), same.calls + point.calls
                workloads = (*same.workloads, *point.workloads)
                around = {**same.neighborhoods, **point.neighborhoods}
                point = replace(
                    same,
                    dispatches=together,
                    calls=count,
                    workloads=workloads,
                    neighborhoods=around,
                )
            points[key] = point
        self.points = sorted(
            points.values(),
            key=lambda point: (
                point.calls * (point.cost.flops or 0),
                point.calls * (point.cost.bytes or 0),
            ),
            reverse=True,
        )
        self.left_out = [LeftOut(names_, *why) for why, names_ in left_out.items()]

    def calls_of(self, dispatches: Iterable[str]) -> int:
        """Return the number of calls of dispatches in the program."""
        return sum(self._calls[name] for name in dispatches)

    def parts(self, point: StartingPoint) -> Iterator[tuple[StartingPoint, str]]:
        """Yield a problem for each neighborhood of a root op, that with most neighbors first, and why no entry is for it."""
        for names_ in by_neighborhood(point.neighborhoods, point.dispatches):
            label, calls = self._labels[names_[0]], self.calls_of(names_)
            part = replace(point, dispatches=names_, label=label, calls=calls)
            yield part, point.neighborhoods[names_[0]].problem

    def record(self, dispatches: Sequence[str], words: str = "") -> dict[str, Any]:
        """Return the provenance of an entry for dispatches: their computation and the work of their calls, if known."""
        record: dict[str, Any] = {}
        if words := words or self._words.get(dispatches[0], ""):
            record["operation"] = words
        record |= {"dispatch": dispatches[0], "dispatches": len(dispatches)}
        # A program that consists only of dispatches has no calls.
        calls = {name: self._calls[name] if self._calls else 1 for name in dispatches}
        costs = [(self._costs[name], count) for name, count in calls.items()]
        record["calls"] = sum(calls.values())
        record["flops"] = sum(count * (cost.flops or 0) for cost, count in costs)
        record["bytes"] = sum(count * (cost.bytes or 0) for cost, count in costs)
        return record

    def _point(self, dispatch: Dispatch) -> tuple[Hashable, StartingPoint]:
        configured = self._configurations[dispatch.name]
        if not configured:
            raise _NoStartError("it has no configurable op")
        if len(configured) > 1:
            raise _NoStartError("it has several root ops, and a spec can configure one")
        ((after, configuration),) = configured
        # The root op as the spec's matchers see it. If the spec adds a batch loop, it does so before the match.
        roots = [(op, function) for op, function in _roots(dispatch.module) if op == after]
        workloads = (read_workload(*pair, self._after) for pair in roots)
        if not any(map(Preparation.BATCH_LOOP.is_for, workloads)):
            module = self._prepared.modules[dispatch.name]
            if module is None:
                raise _NoStartError(self._prepared.unsure or "the input of matchers is unknown")
            roots = roots if module == dispatch.module else _roots(module)
            if len(roots) != 1:
                raise _NoStartError("the backend rewrites its ops before it chooses a root op")
        root, function = roots[0]
        op = OpInfo(root)
        words = describe(op)
        if configuration is None or configuration.translation_info is None:
            raise _NoStartError("the compiler does not configure its root op", words)
        attributes = configuration.attributes
        workload = read_workload(root, function, self._after)
        point = StartingPoint(
            dispatches=(dispatch.name,),
            label=symbol_name(function) or "",
            words=words,
            calls=self._calls[dispatch.name],
            cost=self._costs[dispatch.name],
            target=str(dispatch.target or ""),
            workload=workload,
            workloads=(workload,),
            configuration=configuration,
            attributes=attributes,
            neighborhoods={dispatch.name: neighborhood(after, self._configs[dispatch.name], root)},
        )
        return (op.key, point.target, tuple(attributes.items())), point


def _roots(module: mlir.Operation) -> list[tuple[mlir.Operation, mlir.Operation]]:
    return [(op, roots.function) for roots in find_root_ops(module) for op in roots.roots]


def can_be_predicted(workload: Workload) -> bool:
    """Return whether a root op can gain by a prediction: on GPUs also one that computes element by element."""
    kind, target = workload.problem.kind, workload.target
    is_gpu = target is not None and Target.from_attribute(target).backend != "llvm-cpu"
    return is_tunable(kind) or (is_gpu and kind is OpKind.ELEMENTWISE)


def is_tunable(kind: OpKind) -> bool:
    """Return whether ops of a kind can benefit from tuning. Elementwise ops do not."""
    return kind not in (OpKind.ELEMENTWISE, OpKind.OTHER)
