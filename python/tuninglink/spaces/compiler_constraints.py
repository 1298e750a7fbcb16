"""The compiler's constraints, separated from sizes and shared by workloads that differ only in sizes.

The compiler usually writes the same constraints for all sizes of an op: its constraints op takes the sizes as operands
and begins with an assertion about each. The worker process returns the op without these assertions and operands, and
the sizes separately, so that each distinct op is read only once.

Free dimensions are inferred from the compiler's answers: a dimension counts as free once two answers differ only in its
size. The compiler treats small sizes specially, so answers are compared only if their small sizes are equal.

Compiler passes may crash or hang, so they run in a worker process.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import islice
from typing import Final, TypeVar, TypeVarTuple

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.mlir import names
from tuninglink.mlir.attributes import integer_value
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.walk import visit
from tuninglink.solver.answers import UndecidedError
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class CompilerCrashError(UndecidedError):
    """The compiler crashed on a module."""


class IsolatedPassManager:
    """Runs pass pipelines in a pool of workers.

    Args:
        pool: the pool.
        seconds: the time limit of a run.

    Attributes:
        known_crashes: the reasons for compiler crashes, by a key that the caller chooses for the input.
    """

    def __init__(self, pool: Pool, seconds: float = 60.0) -> None:
        self._pool = pool
        self._seconds = seconds
        self.known_crashes: dict[Hashable, str] = {}

    def run(self, pipeline: str, bytecode: bytes) -> bytes:
        """Return a module after running a pass pipeline.

        Args:
            pipeline: a textual pass pipeline.
            bytecode: a module.

        Raises:
            CompilerCrashError, UndecidedError: see `call`.
        """
        return self.call(_run, pipeline, bytecode)

    def call(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Call a function that runs passes in a worker, and return its result.

        Args:
            function: the function, in the form that `Pool.submit` accepts.
            arguments: its arguments.

        Raises:
            CompilerCrashError: the compiler crashed.
            UndecidedError: the compiler exceeded the time limit or reported an error.
        """
        try:
            return self._pool.submit(function, *arguments, seconds=self._seconds).result()
        except JobTimeoutError as failure:
            message = f"the compiler did not answer within {failure.seconds:g} s"
            raise UndecidedError(message) from None
        except WorkerCrashedError as failure:
            raise CompilerCrashError(f"the compiler crashed ({failure.status})") from None
        except OSError as failure:
            message = f"the compiler's process does not start: {failure.strerror}"
            raise UndecidedError(message) from None


def _run(pipeline: str, bytecode: bytes) -> bytes:
    buffer = io.BytesIO()
    passed(pipeline, bytecode).write_bytecode(buffer)
    return buffer.getvalue()


def passed(pipeline: str, bytecode: bytes) -> mlir.Operation:
    """Return a module after running a pass pipeline; called in a worker.

    All runs share the context of the thread, since creating a context takes longer than the passes.

    Raises:
        UndecidedError: the compiler reports an error.
    """
    from iree.compiler import ir  # noqa: PLC0415 - a process that only submits does not need the compiler
    from iree.compiler.passmanager import PassManager  # noqa: PLC0415

    from tuninglink.mlir.diagnostics import thread_context  # noqa: PLC0415

    context = thread_context()
    with context:
        try:
            module = ir.Module.parse(bytecode, context).operation
            PassManager.parse(pipeline, context).run(module)
        except ir.MLIRError as failure:
            messages = [diagnostic.message for diagnostic in failure.error_diagnostics]
            reason = "; ".join(messages or [str(failure)])
            raise UndecidedError(f"the compiler reports: {reason}") from None
        except ValueError as failure:  # raised for a malformed pipeline
            raise UndecidedError(f"the compiler reports: {failure}") from None
    return module


SHARED_PASS_MANAGER: Final = IsolatedPassManager(
    Pool(1, import_module, ("iree.compiler.passmanager",))
)
"""The pass manager shared by all code in this process; its worker starts on the first run."""


_INSERT_CONSTRAINTS = "builtin.module(func.func(iree-codegen-insert-smt-constraints))"
_STRIP_LOCATIONS = "builtin.module(strip-debuginfo)"


@dataclass(frozen=True)
class FixedSize:
    """The size of a dimension.

    Attributes:
        size: the size.
        message: the compiler's assertion about the size, if it was removed from the constraints op.
    """

    size: int
    message: str = ""


@dataclass(frozen=True)
class UnsizedConstraints:
    """A constraints op, separated from its sizes.

    Attributes:
        module: a module with the op on dimensions of size 0, as bytecode without locations.
        dimensions: the sizes of the dimensions, None for a dynamic one.
    """

    module: bytes
    dimensions: tuple[FixedSize | None, ...]


def insert_constraints(module: bytes, pipeline: str) -> list[UnsizedConstraints]:
    """Return the constraints on the root op of a module in a pipeline, in a worker.

    Raises:
        UndecidedError: the compiler reports an error.
    """
    constrained = passed(_INSERT_CONSTRAINTS, module)
    return [
        _unsized(constraint)
        for constraint in constraints_in(constrained)
        if str(constraint.attributes["pipeline"]) == pipeline
    ]


def constraints_in(module: mlir.Operation) -> list[mlir.Operation]:
    """Return the constraints ops, without visiting their bodies, which contain most of the ops."""
    constraints: list[mlir.Operation] = []

    def visitor(operation: mlir.Operation) -> mlir.WalkResult | None:
        if operation.name != names.CONSTRAINTS:
            return None
        constraints.append(operation)
        return mlir.WalkResult.SKIP

    visit(module, visitor)
    return constraints


def _unsized(operation: mlir.Operation) -> UnsizedConstraints:
    """Separate a constraints op from its sizes, in place."""
    dimensions = _take_sizes(operation)
    with operation.context, mlir.Location.unknown():
        module = mlir.Module.create().operation
        with mlir.InsertionPoint(module.regions[0].blocks[0]):
            index = mlir.IndexType.get()
            zero = mlir.Operation.create(
                "arith.constant",
                results=[index],
                attributes={"value": mlir.IntegerAttr.get(index, 0)},
            )
            copy = operation.clone().operation
        for position in range(len(dimensions)):
            copy.operands[position] = zero.result
        PassManager.parse(_STRIP_LOCATIONS).run(module)
    return UnsizedConstraints(to_bytecode(module), dimensions)


def constant_size(value: mlir.Value[mlir.Type]) -> int | None:
    """Return the value of a size if it is a constant."""
    owner = value.owner
    if isinstance(owner, mlir.Block) or owner.operation.name != "arith.constant":
        return None
    return integer_value(owner.operation.attributes["value"])


def _take_sizes(operation: mlir.Operation) -> tuple[FixedSize | None, ...]:
    """Return the sizes of the dimensions of a constraints op, and erase the assertions about them."""
    block = operation.regions[0].blocks[0]
    result: list[FixedSize | None] = []
    for argument, operand in zip(block.arguments, operation.operands, strict=True):
        size = constant_size(operand)
        if size is None:
            result.append(None)
            continue
        first = [op.operation for op in islice(block.operations, 3)]
        message = _asserted(first, argument, size)
        if message:
            _erase(first)
        result.append(FixedSize(size, message))
    return tuple(result)


def _asserted(
    operations: Sequence[mlir.Operation], argument: mlir.Value[mlir.Type], size: int
) -> str:
    """Return the message of an assertion if it only states that an argument has a size."""
    kinds = ["smt.int.constant", "smt.eq", names.CONSTRAINT_ASSERT]
    if [operation.name for operation in operations] != kinds:
        return ""
    constant, equal, assertion = operations
    message = assertion.attributes["msg"]
    assert isinstance(message, mlir.StringAttr)
    is_size = (
        integer_value(constant.attributes["value"]) == size
        and list(equal.operands) == [argument, constant.result]
        and list(assertion.operands) == [equal.result, argument]
        and _uses(constant) == _uses(equal) == 1
    )
    return message.value if is_size else ""


def _uses(operation: mlir.Operation) -> int:
    return sum(1 for _ in operation.result.uses)


def _erase(operations: Sequence[mlir.Operation]) -> None:
    for operation in reversed(operations):
        operation.erase()


Sizes = tuple[int, ...]

_LARGEST_SPECIAL: Final = 128
"""The largest special size. The constraints treat products with few rows or columns specially, and sizes up to the
number of threads in a subgroup; see `canTargetIntrinsic`.
"""

_MOST_ANSWERS: Final = 256
"""The maximum number of cached answers. All sizes that are not special share one."""


class FamilyConstraints:
    """The compiler's constraints, in one pipeline, on workloads that differ only in sizes."""

    def __init__(self) -> None:
        self._answers: dict[tuple[int | None, ...], _Answer] = {}

    def of(self, sizes: Sizes) -> Sequence[UnsizedConstraints] | None:
        """Return the constraints on a workload with these sizes, None if the compiler must run to determine them."""
        answer = self._answers.get(_special(sizes))
        return None if answer is None else answer.of(sizes)

    def add(self, sizes: Sizes, constraints: Sequence[UnsizedConstraints]) -> None:
        """Add an answer of the compiler.

        Args:
            sizes: the sizes of the loops of a workload.
            constraints: the constraints on it.
        """
        key = _special(sizes)
        if key in self._answers:
            self._answers[key].compare(sizes, constraints)
            return
        if len(self._answers) == _MOST_ANSWERS:
            self._answers.clear()
        is_shared = all(_has_sizes(constraint, sizes) for constraint in constraints)
        self._answers[key] = _Answer(sizes, tuple(constraints), is_shared)


@dataclass
class _Answer:
    """The compiler's first answer, and the differences of other answers from it.

    Attributes:
        sizes: the sizes of the first workload.
        constraints: the constraints on it.
        is_shared: whether, as far as known, answers for other sizes differ only in the sizes.
        free: the dimensions whose sizes differed in otherwise equal answers.
    """

    sizes: Sizes
    constraints: tuple[UnsizedConstraints, ...]
    is_shared: bool
    free: set[int] = field(default_factory=set)

    def of(self, sizes: Sizes) -> Sequence[UnsizedConstraints] | None:
        """Return the constraints for other sizes, None if they are unknown."""
        if not self.is_shared or not self._changed(sizes) <= self.free:
            return None
        return [_resized(constraint, sizes) for constraint in self.constraints]

    def compare(self, sizes: Sizes, constraints: Sequence[UnsizedConstraints]) -> None:
        """Compare an answer with the first one."""
        if not self.is_shared:
            return
        self.is_shared = [_resized(constraint, sizes) for constraint in self.constraints] == list(
            constraints
        )
        if self.is_shared:
            self.free |= self._changed(sizes)
        else:
            self.constraints = ()

    def _changed(self, sizes: Sizes) -> set[int]:
        pairs = zip(self.sizes, sizes, strict=True)
        return {loop for loop, (first, size) in enumerate(pairs) if first != size}


def _special(sizes: Sizes) -> tuple[int | None, ...]:
    return tuple(size if size <= _LARGEST_SPECIAL else None for size in sizes)


def _has_sizes(constraint: UnsizedConstraints, sizes: Sizes) -> bool:
    """Return whether the dimensions of a constraints op are loops with these sizes."""
    dimensions = constraint.dimensions
    return len(dimensions) == len(sizes) and all(
        dimension is not None
        and dimension.size == size
        and (not dimension.message or dimension.message.endswith(f" {size}"))
        for dimension, size in zip(dimensions, sizes, strict=True)
    )


def _resized(constraint: UnsizedConstraints, sizes: Sizes) -> UnsizedConstraints:
    """Return the same constraints for other sizes; messages about sizes end with the new sizes."""
    dimensions: list[FixedSize] = []
    for dimension, size in zip(constraint.dimensions, sizes, strict=True):
        assert dimension is not None
        start = dimension.message.removesuffix(str(dimension.size))
        dimensions.append(FixedSize(size, f"{start}{size}" if start else ""))
    return replace(constraint, dimensions=tuple(dimensions))
