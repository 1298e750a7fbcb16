"""Judging entries one by one: a program is generated for each entry, and its configuration checked on the program.

A program with a fused elementwise op shows how much stack the code of an entry may need in a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.checking.configuration_checks import ConfigurationChecks, Judged
from tuninglink.checking.entry_answers import Answer, Details
from tuninglink.iree.op_kinds import OpKind
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.mlir.diagnostics import Diagnostic, first_error, thread_context
from tuninglink.mlir.serialization import parse_module
from tuninglink.mlir.walk import collect, visit
from tuninglink.payloads import PayloadError, Synthesizer
from tuninglink.payloads.interpretation import apply_alone
from tuninglink.solver.answers import Limits, Verdict
from tuninglink.spaces.cpu import BACKEND as CPU_BACKEND
from tuninglink.spaces.provider_registry import ProviderRegistry
from tuninglink.specs.entry_settings import unrolled_loops

if TYPE_CHECKING:
    from tuninglink.iree.targets import Target
    from tuninglink.matching.entry_conditions import MatcherConditions
    from tuninglink.payloads import Payload
    from tuninglink.payloads.drafts import Configured
    from tuninglink.spaces.workload import Workload
    from tuninglink.specs.structure import Entry


def with_fused_consumer(program: str) -> str:
    """Return a program whose dispatch ends with an elementwise op: `x * erf(x)`, the expensive part of a GELU.

    Args:
        program: a program with a `flow.dispatch.region`, as `payload_for` makes it.

    Returns:
        The program; empty if its results are not tensors of floating-point numbers.
    """
    module = parse_module(program.encode(), "payload.mlir", thread_context())
    return str(module) if add_consumer(module, collect(module, "flow.return")) else ""


def add_consumer(module: mlir.Operation, returns: Sequence[mlir.Operation]) -> bool:
    """Add the elementwise op `x * erf(x)` before ops that return the results of a dispatch.

    Returns:
        Whether the op was added, which requires tensors of floating-point numbers.
    """
    kinds = [operand.type for terminator in returns for operand in terminator.operands]
    if not kinds or not all(map(_is_float_tensor, kinds)):
        return False
    with module.context, mlir.Location.unknown():
        for terminator in returns:
            with mlir.InsertionPoint(terminator):
                for position, operand in enumerate(terminator.operands):
                    terminator.operands[position] = _consumer(operand)
    return True


def _is_float_tensor(kind: mlir.Type) -> bool:
    if not isinstance(kind, mlir.RankedTensorType) or not kind.has_static_shape:
        return False
    return isinstance(kind.element_type, (mlir.F16Type, mlir.BF16Type, mlir.F32Type, mlir.F64Type))


def _consumer(value: mlir.Value[mlir.RankedTensorType]) -> mlir.Value[mlir.RankedTensorType]:
    """Build the elementwise op at the current insertion point."""
    kind = value.type
    empty = mlir.Operation.create("tensor.empty", results=[kind])
    identity = mlir.AffineMapAttr.get(mlir.AffineMap.get_identity(kind.rank))
    parallel = mlir.Attribute.parse("#linalg.iterator_type<parallel>")
    generic = mlir.Operation.create(
        "linalg.generic",
        results=[kind],
        operands=[value, empty.result],
        attributes={
            "indexing_maps": mlir.ArrayAttr.get([identity, identity]),
            "iterator_types": mlir.ArrayAttr.get([parallel] * kind.rank),
            "operandSegmentSizes": mlir.DenseI32ArrayAttr.get([1, 1]),
        },
        regions=1,
    )
    element = kind.element_type
    block = generic.regions[0].blocks.append(element, element)
    with mlir.InsertionPoint(block):
        (number, _) = block.arguments
        error_function = mlir.Operation.create("math.erf", results=[element], operands=[number])
        product = mlir.Operation.create(
            "arith.mulf", results=[element], operands=[number, error_function.result]
        )
        mlir.Operation.create("linalg.yield", operands=[product.result])
    return generic.result


def _rewrites(entry: Entry) -> bool:
    """Return whether the action of an entry rewrites its op instead of configuring it."""
    return bool(unrolled_loops(entry.anatomy.table, entry.action))


def _judge_unrolling(entry: Entry, payload: Payload, target: mlir.Attribute) -> Answer:
    """Return whether an entry unrolls the window of the op that it matches in a payload."""
    copies = unrolled_loops(entry.anatomy.table, entry.action)
    for size, count in zip(payload.sizes, copies, strict=False):
        if count not in (0, size.size):
            reason = f"it makes {count} copies for a loop of {size.size} iterations"
            return Answer(Verdict.NOT_DECIDED, reason)
    dispatch = payload.dispatch(target, entry.anatomy.module.context)
    assert dispatch.module is not None
    try:
        apply_alone(entry, dispatch.module)
    except mlir.MLIRError as failure:
        reason = f"the interpreter rejects its action: {first_error(failure)}"
        return Answer(Verdict.REFUTED, reason)
    windows: list[mlir.Operation] = []

    def look(operation: mlir.Operation) -> None:
        if StructuredOp(operation).kind is OpKind.CONVOLUTION:
            windows.append(operation)

    visit(dispatch.module, look)
    if windows:
        return Answer(Verdict.NOT_DECIDED, f"a window is left in '{windows[0].name}'")
    return Answer(Verdict.PROVEN)


NO_PROGRAM: Final = "no program could be made for it"


@dataclass(frozen=True)
class JudgingOptions:
    """Options for judging entries.

    Attributes:
        target: the target of the programs, None for any.
        attribute: the target as a `#hal.executable.target`, in MLIR; empty without one.
        limits: the time limit of a solver query.
        wants_programs: whether programs for `iree-compile` are written.
    """

    target: Target | None
    attribute: str
    limits: Limits
    wants_programs: bool


@dataclass(frozen=True)
class Judgement:
    """The findings about a single entry, which can be sent to another process.

    Attributes:
        matches: whether it matches the program generated for it.
        payload: the operand types of the op of that program, in words; empty without a program.
        program: the program, for `iree-compile`; empty if it was not requested or could not be generated.
        judged: the verdict about its configuration; None if not requested.
    """

    matches: Answer
    payload: str = ""
    program: str = ""
    judged: Judged | None = None


class Judge:
    """Judges entries.

    Args:
        options: the options.
        warn: receives warnings about unusable plug-ins.
        matchers: the conditions of a spec's matchers that were already read.
    """

    def __init__(
        self,
        options: JudgingOptions,
        warn: Callable[[Diagnostic], None],
        matchers: MatcherConditions | None = None,
    ) -> None:
        self._synthesizer = Synthesizer(options.target, matchers)
        self._checks = ConfigurationChecks(ProviderRegistry(warn), options.limits)
        self._options = options

    @cached_property
    def _target(self) -> mlir.Attribute:
        return mlir.Attribute.parse(self._options.attribute, thread_context())

    def judge(self, entry: Entry, *, is_asked: bool) -> Judgement:
        """Judge an entry.

        Args:
            entry: the entry.
            is_asked: whether to judge its configuration, too.
        """
        (judgement,) = self.judge_all([(entry, is_asked)])
        return judgement

    def judge_all(self, entries: Sequence[tuple[Entry, bool]]) -> list[Judgement]:
        """Judge entries of one spec.

        Args:
            entries: the entries, each with whether to judge its configuration, too.
        """
        asked = [entry for entry, is_asked in entries if is_asked and not _rewrites(entry)]
        configured = self._synthesizer.configured_together(asked, self._target) if asked else ()
        payloads = iter(configured)
        return [
            self._match(entry)
            if not is_asked
            else self._judge_rewriting(entry)
            if _rewrites(entry)
            else self._judge(next(payloads))
            for entry, is_asked in entries
        ]

    def _match(self, entry: Entry) -> Judgement:
        """Judge an entry without its configuration."""
        try:
            payload = self._synthesizer.payload(entry)
        except PayloadError as failure:
            return Judgement(Answer(failure.verdict, failure.reason))
        return Judgement(Answer(Verdict.PROVEN), payload.shapes)

    def _judge_rewriting(self, entry: Entry) -> Judgement:
        """Judge an entry that rewrites its op, by running the interpreter on the program generated for it."""
        try:
            payload = self._synthesizer.payload(entry)
        except PayloadError as failure:
            nothing = Judged(Answer(Verdict.NOT_DECIDED, NO_PROGRAM))
            return Judgement(Answer(failure.verdict, failure.reason), judged=nothing)
        program = payload.text if self._options.wants_programs else ""
        judged = Judged(_judge_unrolling(entry, payload, self._target))
        return Judgement(Answer(Verdict.PROVEN), payload.shapes, program, judged)

    def _judge(self, configured: Configured | PayloadError) -> Judgement:
        """Judge an entry with its configuration."""
        if isinstance(configured, PayloadError):
            nothing = Judged(Answer(Verdict.NOT_DECIDED, NO_PROGRAM))
            return Judgement(Answer(configured.verdict, configured.reason), judged=nothing)
        if configured.dispatch is None:
            judged = self._checks.judge_payload(configured.write(), self._target)
        else:
            judged = self._checks.judge(configured.dispatch)
        program = configured.write().text if self._options.wants_programs else ""
        if configured.dispatch is not None and not judged.answer.crash:
            judged = self._with_consumer(configured.dispatch, judged)
        # Generating the program included a match by the interpreter.
        return Judgement(Answer(Verdict.PROVEN), configured.shapes, program, judged)

    def _with_consumer(self, dispatch: Workload, judged: Judged) -> Judged:
        """Return a verdict with the reason for a crash of the code after an elementwise op is fused into the dispatch.

        Args:
            dispatch: the dispatch, for a CPU or another target. It is changed.
            judged: the verdict about it.
        """
        is_proven = judged.answer.verdict is Verdict.PROVEN
        target = self._options.target
        is_for_cpu = target is not None and target.backend == CPU_BACKEND
        if not (is_proven and is_for_cpu):
            return judged
        assert dispatch.module is not None
        if not add_consumer(dispatch.module, collect(dispatch.function, "func.return")):
            return judged
        changed = replace(dispatch, family=None)  # others of the family have no consumer
        crash = self._checks.judge(changed).answer.crash
        if not crash:
            return judged
        crash = f"with an elementwise operation after it, {crash}"
        return replace(judged, answer=replace(judged.answer, crash=crash))

    def details(self, entry: Entry) -> Details:
        """Return all details about the configuration of an entry, including the nearest valid one."""
        dispatch = self._synthesizer.configured(entry, self._target).dispatch
        assert dispatch is not None
        return self._checks.details(dispatch)
