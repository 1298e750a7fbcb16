"""The problems of a program, for entries: root ops of dispatches, with the compiler's configurations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.compiler.prepared_dispatches import (
    DispatchSources,
    PreparedDispatches,
    materialize_encodings,
)
from tuninglink.emission.entry_points import Preparation
from tuninglink.iree.dispatch_calls import count_calls
from tuninglink.iree.dispatch_cost import dispatch_costs
from tuninglink.iree.dispatches import Dispatch, find_dispatches, find_root_ops
from tuninglink.iree.given_sizes import GivenSizes
from tuninglink.iree.op_kinds import OpKind
from tuninglink.iree.op_words import describe
from tuninglink.matching.op_info import OpInfo
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import thread_context
from tuninglink.mlir.symbols import symbol_name
from tuninglink.passes.strip_configs import strip_configurations
from tuninglink.scaffolding.scaffold import LeftOut, StartingPoint
from tuninglink.spaces.configuration import Configuration, read_configuration
from tuninglink.spaces.workload import read_workload


class _NoStartError(Exception):
    """An error for a dispatch without a possible entry; the message is the reason, `words` the computation."""

    def __init__(self, reason: str, words: str = "") -> None:
        super().__init__(reason)
        self.words = words


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
        self._before = mlir.Module.parse(sources, context).operation
        materialize_encodings(self._before)
        self._after = mlir.Module.parse(configured, context).operation
        self._calls = count_calls(self._before) if calls is None else calls
        self._costs = dispatch_costs(self._before, sizes)
        self.dispatches = find_dispatches(self._after)
        self._configurations = self._read_configurations()
        strip_configurations(self._after)
        dispatch_names = {dispatch.name for dispatch in self.dispatches}
        self._prepared = PreparedDispatches(
            self._after, DispatchSources(self._before), dispatch_names
        )
        self._read()

    def _read_configurations(self) -> dict[str, list[tuple[mlir.Operation, Configuration | None]]]:
        return {
            dispatch.name: [
                (root, read_configuration(root, result.function))
                for result in find_root_ops(dispatch.module)
                for root in result.roots
            ]
            for dispatch in self.dispatches
        }

    def _read(self) -> None:
        points: dict[Hashable, StartingPoint] = {}
        left_out: dict[tuple[str, str], tuple[str, ...]] = {}
        for dispatch in self.dispatches:
            try:
                key, point = self._point(dispatch)
            except _NoStartError as failure:
                why = failure.words, str(failure)
                left_out[why] = (*left_out.get(why, ()), dispatch.name)
                continue
            existing = points.get(key)
            points[key] = point if existing is None else _joined(existing, point)
        self.points = sorted(points.values(), key=lambda point: point.impact, reverse=True)
        self.left_out = [LeftOut(names_, *why) for why, names_ in left_out.items()]

    def _point(self, dispatch: Dispatch) -> tuple[Hashable, StartingPoint]:
        configured = self._configurations[dispatch.name]
        if not configured:
            raise _NoStartError("it has no configurable op")
        if len(configured) > 1:
            raise _NoStartError("it has several root ops, and a spec can configure one")
        ((after, configuration),) = configured
        root, function = self._seen(dispatch, after)
        op = OpInfo(root)
        words = describe(op)
        if configuration is None or configuration.translation_info is None:
            raise _NoStartError("the compiler does not configure its root op", words)
        attributes = _attributes(configuration)
        point = StartingPoint(
            dispatches=(dispatch.name,),
            label=symbol_name(function) or "",
            words=words,
            calls=self._calls[dispatch.name],
            cost=self._costs[dispatch.name],
            target=str(dispatch.target or ""),
            workload=read_workload(root, function, self._after),
            configuration=configuration,
            attributes=attributes,
        )
        return (op.key, point.target, tuple(attributes.items())), point

    def _seen(
        self, dispatch: Dispatch, after: mlir.Operation
    ) -> tuple[mlir.Operation, mlir.Operation]:
        """Return the root op of a dispatch as the spec's matchers see it, and its function."""
        configured = [(op, function) for op, function in _roots(dispatch.module) if op == after]
        workloads = (read_workload(*pair, self._after) for pair in configured)
        if any(map(Preparation.BATCH_LOOP.is_for, workloads)):
            return configured[0]  # The spec adds the loop before the match.
        module = self._prepared.module(dispatch.name, dispatch.module)
        if module is None:
            raise _NoStartError(self._prepared.unsure or "the input of matchers is unknown")
        root_ops = configured if module == dispatch.module else _roots(module)
        if len(root_ops) != 1:
            raise _NoStartError("the backend rewrites its ops before it chooses a root op")
        return root_ops[0]


def _roots(module: mlir.Operation) -> list[tuple[mlir.Operation, mlir.Operation]]:
    """Return the root ops of a dispatch, each with its function."""
    return [(op, roots.function) for roots in find_root_ops(module) for op in roots.roots]


def is_tunable(kind: OpKind) -> bool:
    """Return whether ops of a kind can benefit from tuning. Elementwise ops do not."""
    return kind not in (OpKind.ELEMENTWISE, OpKind.OTHER)


def _joined(one: StartingPoint, other: StartingPoint) -> StartingPoint:
    dispatches = (*one.dispatches, *other.dispatches)
    return replace(one, dispatches=dispatches, calls=one.calls + other.calls)


def _attributes(configuration: Configuration) -> dict[str, str]:
    lowering, translation = configuration.lowering_config, configuration.translation_info
    assert translation is not None
    info = iree_codegen.CompilationInfoAttr.get(lowering, translation, ctx=lowering.context)
    attributes = {names.COMPILATION_INFO: str(info)}
    if configuration.decomposition_config is not None:
        attributes[names.DECOMPOSITION_CONFIG] = str(configuration.decomposition_config)
    return attributes
