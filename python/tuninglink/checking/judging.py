"""Judging entries one by one: a program is generated for each entry, and its configuration checked on the program.

A program with a fused elementwise op shows how much stack the code of an entry may need in a model.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from hashlib import blake2b
from importlib import import_module
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.errors import Diagnostic
from tuninglink.iree import OpKind, StructuredOp
from tuninglink.matching import (
    EntryConditions,
    EntryOverlap,
    HasExtent,
    MatcherConditions,
    Opaque,
    box,
    find_overlaps,
    find_reachability,
    static_box,
)
from tuninglink.mlir import (
    DiagnosticSink,
    collect,
    first_error,
    names,
    parse_module,
    thread_context,
    visit,
)
from tuninglink.payloads import (
    PayloadError,
    Synthesizer,
    apply_alone,
    configured,
    describe_fact,
    spec_of,
)
from tuninglink.plain_data import EMPTY_IS_NULL, HIDDEN
from tuninglink.rules import Rule
from tuninglink.solver import Limits, Verdict
from tuninglink.spaces import (
    ConfigurationAnswer,
    ProviderRegistry,
    miscompilation,
    replaced_entries,
    verify_configuration,
)
from tuninglink.spaces.cpu import BACKEND as CPU_BACKEND
from tuninglink.spaces.model import Configuration, read_configuration
from tuninglink.specs import Anatomy, Entry, Spec, hidden_failure, unrolled_loops
from tuninglink.workers import Pool

if TYPE_CHECKING:
    from tuninglink.iree import Target
    from tuninglink.payloads import Configured, Payload
    from tuninglink.spaces.model import Workload


def with_fused_consumer(program: str) -> str:
    """Return a program whose dispatch ends with an elementwise op: `x * erf(x)`, the expensive part of a GELU."""
    module = parse_module(program.encode(), "payload.mlir", thread_context())
    return str(module) if add_consumer(module, collect(module, "flow.return")) else ""


def add_consumer(module: mlir.Operation, returns: Sequence[mlir.Operation]) -> bool:
    """Add the elementwise op `x * erf(x)` before ops that return the results of a dispatch."""
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
    """The findings about a single entry, which can be sent to another process."""

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
        """Return a verdict with the reason for a crash of the code after an elementwise op is fused into the dispatch."""
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


# --- Answers about entries and specs -------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """The answer to a question: proven, refuted or undecided.

    Attributes:
        verdict: proven, refuted or not decided.
        reason: the reason if it is not proven.
        details: further sentences for the report.
        warning: the objection of the compiler's own constraints, if not refuted; may be empty.
        crash: why the code may crash, if not refuted; may be empty.
        slow: why the configuration may take minutes to compile, if not decided; may be empty.
        knobs: the knobs that the answer is about, starting with the one to change; may be empty.
        replaced: the entries that the nearest valid configuration changes, with their new values; may be empty.
        spills: the registers that the code spills to memory, in words; empty if none are known.
        miscompilation: why the code computes wrong results although it compiles; empty if no reason is known.
    """

    verdict: Verdict
    reason: str = field(default="", metadata=EMPTY_IS_NULL)
    details: tuple[str, ...] = ()
    warning: str = field(default="", metadata=EMPTY_IS_NULL)
    crash: str = field(default="", metadata=EMPTY_IS_NULL)
    slow: str = field(default="", metadata=EMPTY_IS_NULL)
    knobs: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = field(default=(), metadata=HIDDEN)
    miscompilation: str = field(default="", metadata=EMPTY_IS_NULL)
    spills: str = field(default="", metadata=EMPTY_IS_NULL)


@dataclass(frozen=True)
class Details:
    """The nearest valid configuration, which takes longer to compute than the answer."""

    notes: tuple[str, ...] = ()
    knobs: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()


class Reachability:
    """Reachability of entries after the earlier entries of a spec."""

    def __init__(self, spec: Spec, matchers: MatcherConditions) -> None:
        conditions = EntryConditions(spec, matchers)
        self._found = {
            reachability.position: reachability
            for reachability in find_reachability(spec, conditions=conditions)
        }
        self._overlaps = {
            overlap.position: overlap for overlap in find_overlaps(spec, conditions=conditions)
        }
        self._may_fail = _failing_entry_point(spec)

    def answer(self, position: int) -> Answer:
        """Return whether the entry at a position can be the first to match."""
        result = self._found[position]
        if result.is_unreachable:
            return Answer(result.verdict, result.why_unreachable)
        if self._may_fail and result.verdict is Verdict.PROVEN:
            return Answer(Verdict.NOT_DECIDED, self._may_fail)
        return Answer(result.verdict, result.reason)

    def overlap(self, position: int) -> EntryOverlap | None:
        return self._overlaps.get(position)


def _failing_entry_point(spec: Spec) -> str:
    """Return why an entry point that may fail makes entries unreachable; empty without such an entry point."""
    for entry_point in spec.anatomy.entry_points:
        check = hidden_failure(spec.anatomy.table, entry_point.sequence)
        if check is not None:
            return f"entry point '@{entry_point.name}' may fail at '{check.name}'"
    return ""


def check_sizes(
    entries: Iterable[Entry], matchers: MatcherConditions, diagnostics: DiagnosticSink
) -> None:
    """Warn about entries that only match ops over loops or dimensions of size 0.

    The interpreter matches such ops, but the compiler removes them, or crashes on a reduction of size 0, before it
    applies specs.
    """
    for entry in {entry.matcher: entry for entry in entries}.values():
        condition = matchers.of(entry.matcher)
        if isinstance(condition, Opaque):
            continue
        extents = static_box(box(condition.sizes))
        sizes = {dimension: extent.static_size() for dimension, extent in extents.items()}
        if None in sizes.values():
            continue  # It matches nothing, which is an error.
        for dimension, size in sizes.items():
            if size == 0:
                fact = describe_fact(HasExtent(dimension, extents[dimension]))
                message = f"entry '{entry.matcher}' can never match: {fact}, and no dispatch has a size of 0"
                diagnostics.warning(message, entry.place, rule=Rule.MATCHES_NOTHING)


# --- Checks of configurations against the constraints of their pipelines -------------------------

_DIGEST_SIZE: Final = 16

_MOST_CACHED: Final = 256
"""The capacity of the caches of digests and configurations."""

MOST_PROPOSALS: Final = 20
"""The number of rejected configurations whose nearest valid one is computed, unless specs are fixed."""


@dataclass(frozen=True)
class Judged:
    """The verdict about a configuration, which can be sent to another process."""

    answer: Answer
    key: bytes = b""
    details: Callable[[], Details] | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, object]:
        return {"answer": self.answer, "key": self.key, "details": None}


class Proposals:
    """The nearest valid configurations for the first few rejected ones."""

    def __init__(self, most: int = MOST_PROPOSALS) -> None:
        self._most = most
        self._known: dict[bytes, Answer] = {}

    def answer(self, judged: Judged, again: Callable[[], Details]) -> Answer:
        """Return the answer about a configuration; the first few rejected ones get the nearest valid one."""
        if not judged.key:
            return judged.answer
        if judged.key not in self._known:
            answer = judged.answer
            if len(self._known) < self._most:
                details = (judged.details or again)()
                knobs = details.knobs or answer.knobs
                answer = replace(
                    answer, details=details.notes, knobs=knobs, replaced=details.replaced
                )
            self._known[judged.key] = answer
        return self._known[judged.key]


class ConfigurationChecks:
    """Checks configurations; equal ones of equal ops are checked once.

    Args:
        registry: the providers of constraints.
        limits: the time limit of a solver query.
    """

    def __init__(self, registry: ProviderRegistry, limits: Limits) -> None:
        self._registry = registry
        self._limits = limits
        self._known: dict[bytes, Judged] = {}
        self._digest = lru_cache(_MOST_CACHED)(_digest)
        self._first_equal = lru_cache(_MOST_CACHED)(_same)
        self._proposals = Proposals()

    def check(self, dispatch: Workload) -> Answer:
        """Return whether the configuration of the root op of a dispatch is valid."""
        return self._proposals.answer(self.judge(dispatch), lambda: self.details(dispatch))

    def check_payload(self, payload: Payload, target: mlir.Attribute) -> Answer:
        """Return whether the configuration that its entry gives to a payload is valid.

        Args:
            payload: the payload.
            target: a `#hal.executable.target`.
        """
        return self._proposals.answer(
            self.judge_payload(payload, target),
            lambda: self.details(configured(payload.entry, payload, target)),
        )

    def judge_payload(self, payload: Payload, target: mlir.Attribute) -> Judged:
        """Return the verdict about the configuration that its entry gives to a payload."""
        try:
            dispatch = configured(payload.entry, payload, target)
        except mlir.MLIRError as failure:
            reason = f"the compiler refuses it: {first_error(failure)}"
            return Judged(Answer(Verdict.REFUTED, reason))
        return self.judge(dispatch)

    def judge(self, dispatch: Workload) -> Judged:
        """Return the verdict about the configuration of the root op of a dispatch."""
        configuration = read_configuration(dispatch.root, dispatch.function)
        if configuration is None:
            reason = "it sets no lowering_config, so there is nothing to check"
            return Judged(Answer(Verdict.NOT_DECIDED, reason))
        configuration = self._first_equal(configuration)
        key = self._key(dispatch, configuration)
        judged = self._known.get(key)
        if judged is None:
            judged = _judged(self._verify(dispatch, configuration), key, configuration)
            reason = miscompilation(dispatch, configuration)
            if reason:
                judged = replace(judged, answer=replace(judged.answer, miscompilation=reason))
            self._known[key] = replace(
                judged, details=None
            )  # the details would keep the constraints alive
        return judged

    def details(self, dispatch: Workload) -> Details:
        """Return all details about the configuration of a dispatch, including the nearest valid one."""
        configuration = read_configuration(dispatch.root, dispatch.function)
        if configuration is None:
            return Details()
        return _details(self._verify(dispatch, configuration), configuration)

    def _verify(self, dispatch: Workload, configuration: Configuration) -> ConfigurationAnswer:
        return verify_configuration(dispatch, configuration, self._registry, self._limits)

    def _key(self, dispatch: Workload, configuration: Configuration) -> bytes:
        """Return a key that equal dispatches share, in this process and in others."""
        if dispatch.family is not None:
            # The operands determine the sizes of the other values.
            types = ", ".join(str(operand.type) for operand in dispatch.root.operands)
            parts = (self._digest(dispatch.family), self._digest(configuration), types.encode())
            return blake2b(b"".join(parts), digest_size=_DIGEST_SIZE).digest()
        # The local scope leaves other functions of the module alone.
        text = str(dispatch.function.get_asm(use_local_scope=True))
        if names.EXECUTABLE_TARGET not in dispatch.function.attributes:
            text += str(dispatch.target)
        return _digest(text)


def _details(answer: ConfigurationAnswer, configuration: Configuration) -> Details:
    replaced = replaced_entries(configuration, answer.proposal)
    return Details(answer.notes, answer.knobs, replaced)


def _judged(outcome: ConfigurationAnswer, key: bytes, configuration: Configuration) -> Judged:
    if outcome.violations:
        reason = f"{outcome.violations[0]} in pipeline {outcome.pipeline}"
        knobs = outcome.violations[0].knobs
        answer = Answer(outcome.verdict, reason, outcome.further_violations, knobs=knobs)
    elif outcome.discouraged:
        warning = f"{outcome.discouraged[0]} in pipeline {outcome.pipeline}"
        knobs = outcome.discouraged[0].knobs
        answer = Answer(
            outcome.verdict, outcome.reason, outcome.further_violations, warning, knobs=knobs
        )
    elif outcome.unsafe:
        crash, knobs = str(outcome.unsafe[0]), outcome.unsafe[0].knobs
        answer = Answer(
            outcome.verdict, outcome.reason, outcome.further_violations, crash=crash, knobs=knobs
        )
    elif outcome.slow:
        slow, knobs = str(outcome.slow[0]), outcome.slow[0].knobs
        answer = Answer(
            outcome.verdict, outcome.reason, outcome.further_violations, slow=slow, knobs=knobs
        )
    else:
        return Judged(Answer(outcome.verdict, outcome.reason))
    return Judged(answer, key, lambda: _details(outcome, configuration))


def _same(configuration: Configuration) -> Configuration:
    return configuration


def _digest(value: Hashable) -> bytes:
    return blake2b(str(value).encode(), digest_size=_DIGEST_SIZE).digest()


# --- Parallel judging of the entries of a spec ---------------------------------------------------

_FEW: Final = 100
"""About as many entries as are judged in the time that a process takes to start."""

_SLICE: Final = 20
"""The number of entries that are handed to a process at once."""

_SECONDS: Final = 3600.0
"""The time limit of a slice; its queries have their own limits."""


@dataclass(frozen=True)
class Asked:
    """An entry to judge."""

    position: int
    entry: Entry
    is_asked: bool


class ParallelJudge:
    """Judges entries in this process and, for many entries, in further processes.

    This process begins with the first entries and the others with the last, until they meet. The judgements equal those
    of a single process; only their order differs.
    """

    def __init__(
        self,
        judge: Judge,
        options: JudgingOptions,
        processes: int,
        warn: Callable[[Diagnostic], None],
        finished: Callable[[Asked, Judgement], None],
    ) -> None:
        self._judge = judge
        self._judging_options = options
        self._others = processes - 1
        self._warn = warn
        self._finished = finished

    @contextmanager
    def begin(self, entries: Sequence[Asked]) -> Iterator[Iterator[Judgement]]:
        """Start the other processes, and yield the judgements in order.

        This process takes part while the caller iterates.
        """
        if len(entries) <= _FEW or not self._others:
            yield self._here(entries)
            return
        slices = [entries[start : start + _SLICE] for start in range(0, len(entries), _SLICE)]
        with Pool(self._others, import_module, (__name__,)) as pool:
            # All at once: the other processes need not wait while this one does something else.
            futures = [self._submit(pool, part) for part in reversed(slices)]
            yield self._together(slices, reversed(futures))

    def _together(
        self, slices: Iterable[Sequence[Asked]], futures: Iterable[Future[_Outcome]]
    ) -> Iterator[Judgement]:
        for entries, future in zip(slices, futures, strict=True):
            yield from self._there(entries, future)

    def _submit(self, pool: Pool, entries: Sequence[Asked]) -> Future[_Outcome]:
        future = pool.submit(_judge, _Slice.of(entries), self._judging_options, seconds=_SECONDS)
        future.add_done_callback(partial(self._note, entries))
        return future

    def _note(self, entries: Sequence[Asked], future: Future[_Outcome]) -> None:
        if not future.cancelled() and future.exception() is None:
            for each, judgement in zip(entries, future.result().judgements, strict=True):
                self._finished(each, judgement)

    def _here(self, entries: Sequence[Asked]) -> Iterator[Judgement]:
        for start in range(0, len(entries), _SLICE):
            part = entries[start : start + _SLICE]
            judgements = self._judge.judge_all([(entry.entry, entry.is_asked) for entry in part])
            for entry, judgement in zip(part, judgements, strict=True):
                self._finished(entry, judgement)
            yield from judgements

    def _there(self, entries: Sequence[Asked], future: Future[_Outcome]) -> Iterator[Judgement]:
        """Yield the judgements of another process; a slice that is not begun, or failed, is judged in this process."""
        if future.cancel() or future.exception() is not None:
            yield from self._here(entries)
            return
        for warning in future.result().warnings:
            self._warn(warning)
        yield from future.result().judgements


@dataclass(frozen=True)
class _Slice:
    """A slice of the entries of a spec, for another process."""

    spec: bytes
    entries: tuple[tuple[str, str, bool], ...]

    @classmethod
    def of(cls, entries: Sequence[Asked]) -> _Slice:
        asked = ((entry.entry.matcher, entry.entry.action, entry.is_asked) for entry in entries)
        return cls(spec_of(*(asked_entry.entry for asked_entry in entries)), tuple(asked))


@dataclass(frozen=True)
class _Outcome:
    """The judgements and warnings of another process about a slice."""

    judgements: tuple[Judgement, ...]
    warnings: tuple[Diagnostic, ...]


def _judge(part: _Slice, options: JudgingOptions) -> _Outcome:
    """Judge a slice in another process."""
    anatomy = Anatomy(parse_module(part.spec, "<slice>", thread_context()))
    judge = _judge_for(options)
    judgements = judge.judge_all(
        [
            (Entry(matcher, action, None, anatomy), is_asked)
            for matcher, action, is_asked in part.entries
        ]
    )
    warnings = tuple(_said)
    _said.clear()
    return _Outcome(tuple(judgements), warnings)


@lru_cache(maxsize=1)
def _judge_for(options: JudgingOptions) -> Judge:
    return Judge(options, _said.append)


_said: Final[list[Diagnostic]] = []
"""The warnings since the last slice."""
