"""Payloads, and the error for entries without one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.errors import TuninglinkError
from tuninglink.iree.op_kinds import Role
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import error, thread_context
from tuninglink.mlir.walk import body, collect
from tuninglink.solver.answers import Verdict
from tuninglink.spaces.workload import Workload, read_workload

if TYPE_CHECKING:
    from tuninglink.iree.targets import Target
    from tuninglink.specs.structure import Entry


class PayloadError(TuninglinkError):
    """No payload exists for an entry, or none was found.

    Attributes:
        entry: the entry.
        reason: the reason, in words.
        verdict: refuted if the matcher provably matches nothing; undecided if no match was found.
    """

    def __init__(self, entry: Entry, reason: str, verdict: Verdict) -> None:
        what = "matches nothing" if verdict is Verdict.REFUTED else "has no payload"
        super().__init__(error(f"entry '{entry.matcher}' {what}: {reason}", entry.place))
        self.entry = entry
        self.reason = reason
        self.verdict = verdict


@dataclass(frozen=True)
class Size:
    """The size of one loop of the root op.

    Attributes:
        loop: the number of the loop.
        role: the role of the loop.
        size: its trip count.
        is_demanded: whether the matcher accepts no other size. Otherwise it was chosen.
    """

    loop: int
    role: Role
    size: int
    is_demanded: bool

    def __str__(self) -> str:
        has_name = self.role not in (Role.PARALLEL, Role.REDUCTION)
        name = self.role.value if has_name else f"d{self.loop}"
        return f"{name} = {self.size}" + ("" if self.is_demanded else " (free)")


@dataclass(frozen=True)
class Payload:
    """A program that an entry matches.

    The program is text: it belongs to no context and can be passed to another thread or process.

    Attributes:
        entry: the entry.
        target: the target that the sizes were chosen for, or None.
        text: the program, for `iree-compile`: a public function that returns the results of the root op. The root op
            has a dispatch to itself.
        body: the dispatch as matchers see it: a module with one function, whose last operation before the return is
            the root op.
        shapes: the types of the root op's operands, for printing.
        sizes: the sizes of the root op's loops, in order.
    """

    entry: Entry
    target: Target | None
    text: str = field(repr=False)
    body: str = field(repr=False)
    shapes: str
    sizes: tuple[Size, ...]

    def dispatch(
        self, target: mlir.Attribute | None = None, context: mlir.Context | None = None
    ) -> Workload:
        """Return the dispatch for providers of constraints, without compilation.

        Args:
            target: a `#hal.executable.target` of any context, to be attached to the function.
            context: the context of the dispatch; by default that of the calling thread.
        """
        module = mlir.Module.parse(self.body, context or thread_context()).operation
        (function,) = collect(module, names.FUNCTION)
        if target is not None:
            if target.context != module.context:
                target = mlir.Attribute.parse(str(target), module.context)
            function.attributes[names.EXECUTABLE_TARGET] = target
        return read_workload(root_of(function), function, module)


def function_of(module: mlir.Operation) -> mlir.Operation:
    """Return the function of a payload's body."""
    (function,) = body(module)
    return function


def root_of(function: mlir.Operation) -> mlir.Operation:
    """Return the root op of the function of a payload's body."""
    operations = function.regions[0].blocks[0].operations
    root: mlir.Operation = operations[len(operations) - 2].operation
    return root


def module_of(payloads: Iterable[Payload], context: mlir.Context) -> mlir.Operation:
    """Return one module with the functions of all payloads, in order."""
    module = mlir.Module.create(mlir.Location.unknown(context)).operation
    block = module.regions[0].blocks[0]
    for number, payload in enumerate(payloads):
        parsed = mlir.Module.parse(payload.body, context).operation
        (function,) = collect(parsed, names.FUNCTION)
        name = mlir.StringAttr.get(f"payload_{number}", context)
        function.attributes[names.SYMBOL_NAME] = name
        block.append(function)
    return module
