"""Payloads, and the error where there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.errors import TuninglinkError
from tuninglink.iree.op_kinds import Role
from tuninglink.mlir import names
from tuninglink.mlir.contexts import thread_context
from tuninglink.mlir.diagnostics import error
from tuninglink.mlir.walk import body, collect
from tuninglink.solver.answers import Verdict
from tuninglink.spaces.workload import read_workload

if TYPE_CHECKING:
    from tuninglink.iree.targets import Target
    from tuninglink.spaces.workload import Workload
    from tuninglink.specs.structure import Entry


class PayloadError(TuninglinkError):
    """No payload can be made for an entry.

    Attributes:
        entry: the entry.
        reason: why not, in words.
        verdict: refuted: it is proven that the matcher matches nothing; not decided: it may, but what it
            matches is not known.
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
        size: how often it runs.
        is_demanded: whether the matcher accepts no other size; else this one was chosen.
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

    The program is plain text: it belongs to no context, and may be handed to another thread or process.

    Attributes:
        entry: the entry.
        target: what the sizes were chosen for, None for nothing in particular.
        text: the program, for `iree-compile`: one public function whose results are those of the root op, which
            stands in a dispatch of its own.
        body: the dispatch as matchers see it: a module with one function, in which the root op is the last
            operation but for the return.
        shapes: the types of the root op's operands, for people.
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
        """Return the dispatch, for providers of constraints: nothing is compiled for it.

        Args:
            target: a `#hal.executable.target` of any context, which goes onto the function.
            context: where the dispatch is to live; by default the context of the calling thread.
        """
        module = mlir.Module.parse(self.body, context or thread_context()).operation
        (function,) = collect(module, names.FUNCTION)
        if target is not None:
            if target.context != module.context:
                target = mlir.Attribute.parse(str(target), module.context)
            function.attributes[names.EXECUTABLE_TARGET] = target
        return read_workload(root_of(function), function, module)


def root_of(function: mlir.Operation) -> mlir.Operation:
    """Return the root op of the function of a payload's body."""
    *_, root, _ = body(function)
    return root
