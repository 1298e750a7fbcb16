"""Drafts of payloads: sized operations for entries, and their dispatches as the entries configure them.

The compiler's interpreter runs once for the drafts of several entries.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from iree.compiler import ir as mlir

from tuninglink.matching.conditions import Condition, exclude_but_for_sizes
from tuninglink.mlir import names
from tuninglink.mlir.serialization import to_text
from tuninglink.mlir.walk import body, op_names
from tuninglink.payloads.interpretation import configured_functions
from tuninglink.payloads.payload import (
    Payload,
    Size,
    function_of,
    root_of,
    write_body,
    write_program,
)
from tuninglink.spaces.workload import Workload, read_workload
from tuninglink.specs.module_scan import is_any_op, signature

if TYPE_CHECKING:
    from tuninglink.iree.op_kinds import OpKind
    from tuninglink.iree.targets import Target
    from tuninglink.payloads.op_templates import Template
    from tuninglink.payloads.sizing import Sized
    from tuninglink.payloads.unsized_ops import UnsizedOp
    from tuninglink.specs.structure import Entry

_CONFIGURATION: Final = frozenset(
    {names.COMPILATION_INFO, names.LOWERING_CONFIG, names.DECOMPOSITION_CONFIG}
)


@dataclass(frozen=True)
class Configured:
    """A payload, written on demand, and its dispatch with the entry's configuration.

    Attributes:
        shapes: see `Payload.shapes`.
        dispatch: the dispatch; None if it was not requested, or if the compiler rejects the configuration.
        write: writes the payload, in the thread of the entry's context.
    """

    shapes: str
    dispatch: Workload | None
    write: Callable[[], Payload]


@dataclass(frozen=True)
class _Family:
    """See `Workload.family`.

    Attributes:
        unsized: the operation, with open sizes.
        fills: whether an accumulation starts from a `linalg.fill`.
        target: the target.
    """

    unsized: UnsizedOp
    fills: bool
    target: mlir.Attribute

    def __str__(self) -> str:
        return f"{self.unsized.template.owner} {self.fills} {self.target}"


@dataclass(frozen=True)
class Draft:
    """A sized operation for an entry, from which a payload can be written.

    Attributes:
        entry: the entry.
        target: the target of the payload, None for any.
        unsized: the operation, with open sizes.
        sized: the sizes.
        condition: the condition of the entry's matcher.
    """

    entry: Entry
    target: Target | None
    unsized: UnsizedOp
    sized: Sized
    condition: Condition

    @cached_property
    def fills(self) -> bool:
        """Whether an accumulation starts from a `linalg.fill`, which requires that the matcher excludes fills."""
        condition = self.condition
        if condition.names is not None:
            return names.FILL not in condition.names
        return bool(condition.kinds or condition.root is not None or condition.maps is not None)

    @property
    def template(self) -> Template:
        """The operation, with open sizes."""
        return self.unsized.template

    @cached_property
    def body(self) -> mlir.Operation:
        """The body of a payload, which the compiler accepts."""
        module = write_body(self.template, self.sized, fills=self.fills)
        module.verify()
        if self.fills not in self.unsized.verified:  # once for all sizes
            write_program(self.template, self.sized, fills=self.fills).verify()
            self.unsized.verified[self.fills] = settings(function_of(module))
        return module

    def verified(self) -> Draft:
        """Return this draft.

        Raises:
            MLIRError: the compiler rejects its body.
        """
        _ = self.body
        return self

    @cached_property
    def shapes(self) -> str:
        """The types of the operands of the root op."""
        root = root_of(function_of(self.body))
        return ", ".join(str(operand.type) for operand in root.operands)

    def workload(
        self, function: mlir.Operation, module: mlir.Operation, target: mlir.Attribute
    ) -> Workload:
        """Return the dispatch in a configured body.

        Args:
            function: the function of the body.
            module: the module that contains it.
            target: the target of the dispatch.
        """
        root = root_of(function)
        if not self.unsized.is_shared or settings(function) != self.unsized.verified[self.fills]:
            return read_workload(root, function, module)  # the entry changed something else
        family = _Family(self.unsized, self.fills, target)
        if family not in self.unsized.problems:
            dispatch = read_workload(root, function, module)
            is_sized = dispatch.static_sizes == tuple(self.sized.loops)
            self.unsized.problems[family] = dispatch.problem if is_sized else None
        problem = self.unsized.problems[family]
        if problem is None:
            return replace(read_workload(root, function, module), family=family)
        sized_problem = problem.resized(self.sized.loops)
        return Workload(root, function, target, sized_problem, module, family)

    def payload(self) -> Payload:
        """Write the payload."""
        with self.entry.anatomy.module.context, mlir.Location.unknown():
            body = write_body(self.template, self.sized, fills=self.fills)
            program = write_program(self.template, self.sized, fills=self.fills)
        for module in (body, program):
            module.verify()
        sizes = tuple(
            Size(loop, self.template.op.roles[loop], size, loop in self.sized.demanded)
            for loop, size in enumerate(self.sized.loops)
        )
        texts = to_text(program), to_text(body)
        return Payload(self.entry, self.target, *texts, self.shapes, sizes)


def settings(function: mlir.Operation) -> Hashable:
    """Return the names of the attributes in a payload's body, except for the configuration of the root op."""
    *operations, root, _ = body(function)
    others = tuple(tuple(operation.attributes) for operation in operations)
    return others, tuple(name for name in root.attributes if name not in _CONFIGURATION)


_BATCH: Final = 10
"""The number of entries in a batch; every root op of a batch is tried with every matcher."""


def configured_together(
    drafts: Sequence[Draft | None], target: mlir.Attribute
) -> list[Configured | None]:
    """Return the payloads of drafts, each configured as by its entry alone.

    Args:
        drafts: drafts for entries of one spec, None for an entry without a draft.
        target: the target of the dispatches, a `#hal.executable.target` in the context of the entries.

    Returns:
        None for an entry that must be run alone: another entry of the batch configures its payload first, a
        configuration is rejected, or the entry may reach ops other than the one that its matcher receives.
    """
    result: list[Configured | None] = [None] * len(drafts)
    chosen = [
        (position, draft)
        for position, draft in enumerate(drafts)
        if draft is not None and draft.unsized.is_shared and _is_local(draft.entry)
    ]
    for start in range(0, len(chosen), _BATCH):
        batch = chosen[start : start + _BATCH]
        payloads = _configured([draft for _, draft in batch], target)
        for (position, _), payload in zip(batch, payloads, strict=True):
            result[position] = payload
    return result


def _configured(drafts: Sequence[Draft], target: mlir.Attribute) -> list[Configured | None]:
    """Run the interpreter once for all drafts."""
    result: list[Configured | None] = [None] * len(drafts)
    if len(drafts) == 1:
        return result
    module = _joined(drafts)
    try:
        functions = configured_functions(
            [draft.entry for draft in drafts], module, target, _excluded(drafts)
        )
    except mlir.MLIRError:
        return result
    for number, (draft, (function, winner)) in enumerate(zip(drafts, functions, strict=True)):
        if function is not None and winner == number:
            name = function_of(draft.body).attributes[names.SYMBOL_NAME]
            function.attributes[names.SYMBOL_NAME] = name
            dispatch = draft.workload(function, module, target)
            if dispatch.family is not None:  # the entry changed nothing else
                result[number] = Configured(draft.shapes, dispatch, draft.payload)
    return result


def _excluded(drafts: Sequence[Draft]) -> list[str]:
    """Return the names of ops in the bodies of drafts that provably no matcher of the drafts matches."""
    # Bodies that differ only in sizes have the same ops.
    bodies = {(draft.unsized, draft.fills): draft.body for draft in drafts}
    excluded = set().union(*map(op_names, bodies.values()))
    for condition in {_Discrete(draft.condition.names, draft.condition.kinds) for draft in drafts}:
        excluded = {name for name in excluded if _excludes(condition, name)}
    if not all(draft.fills for draft in drafts):
        excluded.discard(names.FILL)
    return sorted(excluded)


class _Discrete(NamedTuple):
    """The parts of a condition with few distinct values among matchers."""

    names: frozenset[str] | None
    kinds: frozenset[OpKind]


@lru_cache(maxsize=1024)
def _excludes(discrete: _Discrete, name: str) -> bool:
    """Return whether a condition excludes all ops with a name; fills always count as excluded."""
    condition = Condition(names=discrete.names, kinds=discrete.kinds)
    other = Condition(names=frozenset((name,)))
    return name == names.FILL or exclude_but_for_sizes(condition, other)


def _is_local(entry: Entry) -> bool:
    """Return whether an entry matches and configures only the op that its matcher receives."""
    table = entry.anatomy.table
    sequence = table.symbol(entry.matcher)
    if sequence is None or table.yielded(entry.matcher, 0) != 0:
        return False
    handles = [is_any_op(kind) for kind in signature(sequence).results]
    return sum(handles) == int(handles[0]) == 1 and table.annotations(entry.action) is not None


def _joined(drafts: Sequence[Draft]) -> mlir.Operation:
    """Return a module with copies of the functions of payloads' bodies."""
    context = drafts[0].body.context
    module = mlir.Module.create(mlir.Location.unknown(context)).operation
    with context, mlir.InsertionPoint(module.regions[0].blocks[0]):
        for number, draft in enumerate(drafts):
            copy = function_of(draft.body).clone().operation
            copy.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(f"payload_{number}")
    return module
