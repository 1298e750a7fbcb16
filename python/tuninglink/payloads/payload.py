"""Payloads, their programs from sized templates, and the error for entries without a payload."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.errors import TuninglinkError
from tuninglink.iree import Role
from tuninglink.matching import NAME_ONLY
from tuninglink.mlir import body, collect, error, names, thread_context
from tuninglink.payloads.building import (
    Value,
    bitcast,
    build,
    clone_into,
    constant,
    filled,
    is_number,
    new_function,
)
from tuninglink.payloads.templates import Sized, Template, destination_count
from tuninglink.solver import Verdict
from tuninglink.spaces.model import Workload, read_workload

if TYPE_CHECKING:
    from tuninglink.iree import Target
    from tuninglink.specs import Entry


class PayloadError(TuninglinkError):
    """The error for an entry for which no payload exists or was found.

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
        is_demanded: whether the matcher accepts no other size. Otherwise the size was chosen.
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

    The program is text, so it belongs to no context and can be passed to another thread or process.

    Attributes:
        entry: the entry.
        target: the target that the sizes were chosen for, or None.
        text: the program for `iree-compile`: a public function that returns the results of the root op. The root op
            is in a separate dispatch.
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

        The target is a `#hal.executable.target` of any context. The context is by default that of the calling thread.
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


def write_body(template: Template, sized: Sized, *, fills: bool) -> mlir.Operation:
    """Return a module with a function that computes the template on its arguments."""
    # The module is built in the current context. With `fills`, an accumulation starts from a `linalg.fill`, as in
    # models; otherwise from an argument.
    created = [
        argument
        for argument, accumulates in template.destinations.items()
        if fills and accumulates and is_number(argument.type.element_type)
    ]
    arguments = [argument for argument in template.block.arguments if argument not in created]
    kinds = [_sized_type(result, sized) for result in template.root.results]
    module, block = new_function([_sized_type(argument, sized) for argument in arguments], kinds)
    values: dict[Value, Value] = dict(zip(arguments, block.arguments, strict=True))
    with mlir.InsertionPoint(block):
        values |= {value: _start(template, value, _sized_type(value, sized)) for value in created}
        results = _clone_all(template, sized, values)
        mlir.Operation.create("func.return", operands=results)
    return module


def write_program(template: Template, sized: Sized, *, fills: bool) -> mlir.Operation:
    """Return a program with a dispatch that computes the template."""
    # The dispatch is already formed, so the compiler neither adds operations to it nor collapses its loops. As in
    # models, destinations are created in the dispatch. With `fills`, accumulations start from a `linalg.fill`,
    # otherwise from an argument.
    created = {
        destination
        for destination, accumulates in template.destinations.items()
        if not accumulates or (fills and is_number(destination.type.element_type))
    }
    scalars = {value for value in template.block.arguments if value not in sized.shapes}
    # A fill with a constant would be folded to a constant.
    is_fill = template.root.name == names.FILL
    taken = {scalar for scalar in scalars if is_fill or not is_number(scalar.type)}
    # The function, with an empty dispatch.
    arguments = [
        value for value in template.block.arguments if value not in created | (scalars - taken)
    ]
    kinds = [_sized_type(value, sized) for value in arguments]
    types = [
        kind if isinstance(kind, mlir.RankedTensorType) else mlir.RankedTensorType.get([], kind)
        for kind in kinds
    ]
    results = [_sized_type(result, sized) for result in template.root.results]
    module, block = new_function([*map(_passable, types)], [*map(_passable, results)])
    with mlir.InsertionPoint(block):
        views = map(bitcast, block.arguments, types)
        values: dict[Value, Value] = dict(zip(arguments, views, strict=True))
        region = mlir.Operation.create(
            "flow.dispatch.region",
            results=results,
            attributes={"operandSegmentSizes": mlir.DenseI32ArrayAttr.get([0, 0])},
            regions=2,
        )
        returned = [bitcast(result, _passable(result.type)) for result in region.results]
        mlir.Operation.create("func.return", operands=returned)
    # The dispatch: what it creates, then the ops of the template.
    with mlir.InsertionPoint(region.regions[0].blocks.append()):
        for argument in template.block.arguments:
            if argument in created:
                values[argument] = _start(template, argument, _sized_type(argument, sized))
            elif argument in taken:
                tensor = values[argument]
                values[argument] = build("tensor.extract", tensor.type.element_type, tensor)
            elif argument in scalars:
                values[argument] = constant(argument.type, _SCALE)
        mlir.Operation.create("flow.return", operands=_clone_all(template, sized, values))
    return module


_SCALE: Final = 0.125
"""The value of scalars, such as the scale of an attention."""


def _clone_all(template: Template, sized: Sized, values: dict[Value, Value]) -> list[Value]:
    """Clone the operations at the current insertion point. Return the results of the root op."""
    for operation in template.operations:
        results = [_sized_type(result, sized) for result in operation.results]
        clone = clone_into(operation, values, results)
        if NAME_ONLY in clone.attributes:
            del clone.attributes[NAME_ONLY]
    return [values[result] for result in template.root.results]


def _sized_type(value: Value, sized: Sized) -> mlir.Type:
    kind: mlir.Type = value.type
    if not isinstance(kind, mlir.RankedTensorType):
        return kind
    return mlir.RankedTensorType.get(sized.shapes[value], kind.element_type, kind.encoding)


def _passable(kind: mlir.Type) -> mlir.Type:
    """Return the type as which a tensor crosses the boundary of a program."""
    # `hal.element_type` has no code for floats of 4 and 6 bits, for several of 8 bits, and for TF32, but for all
    # integers.
    assert isinstance(kind, mlir.RankedTensorType)
    element = kind.element_type
    is_common = isinstance(element, (mlir.F16Type, mlir.BF16Type, mlir.F32Type, mlir.F64Type))
    if is_common or not isinstance(element, mlir.FloatType):
        return kind
    return mlir.RankedTensorType.get(
        kind.shape, mlir.IntegerType.get_signless(element.width), kind.encoding
    )


def _start(template: Template, argument: Value, kind: mlir.Type) -> Value:
    """Build a destination: zeros for a sum, or minus infinity for a maximum."""
    assert isinstance(kind, mlir.RankedTensorType)
    if not template.destinations[argument]:
        return build("tensor.empty", kind)
    # The second output of an online attention is a maximum.
    root = template.root
    is_maximum = (
        root.name == names.ONLINE_ATTENTION
        and root.operands[len(root.operands) - destination_count(root) + 1] == argument
    )
    return filled(kind, -math.inf if is_maximum else 0.0)
