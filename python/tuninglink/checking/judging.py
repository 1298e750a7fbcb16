"""Judging entries one by one: a program is generated for each entry, and its configuration checked on the program.

A program with a fused elementwise op shows how much stack the code of an entry may need in a model.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from hashlib import blake2b
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias

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
    build,
    computed,
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
    from tuninglink.payloads import Configured, Payload, Value
    from tuninglink.spaces.model import Workload


def with_fused_consumer(program: str) -> str:
    """Return a program whose dispatch ends with an elementwise op: `x * erf(x)`, the expensive part of a GELU."""
    module = parse_module(program.encode(), "payload.mlir", thread_context())
    return str(module) if add_consumer(module, collect(module, "flow.return")) else ""


def add_consumer(module: mlir.Operation, returns: Sequence[mlir.Operation]) -> bool:
    """Add the elementwise op `x * erf(x)` before ops that return the results of a dispatch.

    Return whether all results are tensors of floating-point numbers with static shapes, so that it could be added.
    """
    numbers = (mlir.F16Type, mlir.BF16Type, mlir.F32Type, mlir.F64Type)
    kinds = [operand.type for terminator in returns for operand in terminator.operands]
    if not kinds or not all(
        isinstance(kind, mlir.RankedTensorType)
        and kind.has_static_shape
        and isinstance(kind.element_type, numbers)
        for kind in kinds
    ):
        return False

    def activated(number: Value, _: Value) -> Value:
        error_function = build("math.erf", number.type, number)
        return build("arith.mulf", number.type, number, error_function)

    with module.context, mlir.Location.unknown():
        for terminator in returns:
            with mlir.InsertionPoint(terminator):
                for position, operand in enumerate(terminator.operands):
                    maps = [mlir.AffineMap.get_identity(operand.type.rank)] * 2
                    init = build("tensor.empty", operand.type)
                    terminator.operands[position] = computed([operand], maps, init, activated)
    return True


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
    is_valid: Answer | None = None


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
        """Judge an entry; `is_asked` is whether to judge its configuration, too."""
        (judgement,) = self.judge_all([(entry, is_asked)])
        return judgement

    def judge_all(self, entries: Sequence[tuple[Entry, bool]]) -> list[Judgement]:
        """Judge entries of one spec, each given with whether to judge its configuration, too."""
        rewriting = [any(unrolled_loops(entry.anatomy.table, entry.action)) for entry, _ in entries]
        asked = [
            entry
            for (entry, is_asked), rewrites in zip(entries, rewriting, strict=True)
            if is_asked and not rewrites
        ]
        # Programs for many entries are generated together.
        configured = self._synthesizer.configured_together(asked, self._target) if asked else ()
        payloads = iter(configured)
        return [
            self._judge(next(payloads))
            if is_asked and not rewrites
            else self._judge_payload(entry, is_asked=is_asked)
            for (entry, is_asked), rewrites in zip(entries, rewriting, strict=True)
        ]

    def _judge_payload(self, entry: Entry, *, is_asked: bool) -> Judgement:
        """Judge an entry without its configuration; one that rewrites its op, by running the interpreter."""
        try:
            payload = self._synthesizer.payload(entry)
        except PayloadError as failure:
            nothing = Answer(Verdict.NOT_DECIDED, NO_PROGRAM) if is_asked else None
            return Judgement(Answer(failure.verdict, failure.reason), is_valid=nothing)
        if not is_asked:
            return Judgement(Answer(Verdict.PROVEN), payload.shapes)
        program = payload.text if self._options.wants_programs else ""
        answer = self._judge_unrolling(entry, payload)
        return Judgement(Answer(Verdict.PROVEN), payload.shapes, program, answer)

    def _judge_unrolling(self, entry: Entry, payload: Payload) -> Answer:
        """Return whether an entry unrolls the window of the op that it matches in a payload."""
        copies = unrolled_loops(entry.anatomy.table, entry.action)
        for size, count in zip(payload.sizes, copies, strict=False):
            if count not in (0, size.size):
                reason = f"it makes {count} copies for a loop of {size.size} iterations"
                return Answer(Verdict.NOT_DECIDED, reason)
        dispatch = payload.dispatch(self._target, entry.anatomy.module.context)
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

    def _judge(self, configured: Configured | PayloadError) -> Judgement:
        """Judge an entry with its configuration."""
        if isinstance(configured, PayloadError):
            nothing = Answer(Verdict.NOT_DECIDED, NO_PROGRAM)
            return Judgement(Answer(configured.verdict, configured.reason), is_valid=nothing)
        dispatch = configured.dispatch
        if dispatch is None:
            answer = self._checks.judge_payload(configured.write(), self._target)
        else:
            answer = self._checks.judge(dispatch)
        program = configured.write().text if self._options.wants_programs else ""
        # The code for a CPU may crash once an elementwise op is fused into the dispatch.
        target = self._options.target
        is_for_cpu = target is not None and target.backend == CPU_BACKEND
        if dispatch is not None and is_for_cpu and answer.verdict is Verdict.PROVEN:
            assert dispatch.module is not None
            returns = collect(dispatch.function, "func.return")
            if not answer.crash and add_consumer(dispatch.module, returns):
                changed = replace(dispatch, family=None)  # others of the family have no consumer
                if crash := self._checks.judge(changed).crash:
                    crash = f"with an elementwise operation after it, {crash}"
                    answer = replace(answer, crash=crash)
        # Generating the program included a match by the interpreter.
        return Judgement(Answer(Verdict.PROVEN), configured.shapes, program, answer)

    def completed(self, entry: Entry, answer: Answer) -> Answer:
        """Return the answer about the configuration of an entry, with the nearest valid one."""
        dispatch = self._synthesizer.configured(entry, self._target).dispatch
        assert dispatch is not None
        return self._checks.completed(dispatch, answer)


# --- Answers about entries and specs -------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """The answer to a question: proven, refuted or undecided. It can be sent to another process.

    Attributes:
        reason: the reason if it is not proven.
        details: further sentences for the report.
        warning: the objection of the compiler's own constraints, if not refuted; may be empty.
        crash: why the code may crash, if not refuted; may be empty.
        slow: why the configuration may take minutes to compile, if not decided; may be empty.
        knobs: the knobs that the answer is about, starting with the one to change; may be empty.
        replaced: the entries that the nearest valid configuration changes, with their new values; may be empty.
        spills: the registers that the code spills to memory, in words; empty if none are known.
        miscompilation: why the code computes wrong results although it compiles; empty if no reason is known.
        key: of a configuration that has a nearest valid one, a key that equal ones share; otherwise empty.
        outcome: what the answer was made of, with which that is found.
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
    key: bytes = field(default=b"", metadata=HIDDEN)
    outcome: tuple[ConfigurationAnswer, Configuration] | None = field(
        default=None, repr=False, compare=False, metadata=HIDDEN
    )

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "outcome": None}

    def completed(self) -> Answer:
        """Return the answer with the nearest valid configuration, which takes longer to find than the answer."""
        assert self.outcome is not None
        outcome, configuration = self.outcome
        replaced = replaced_entries(configuration, outcome.proposal)
        knobs = outcome.knobs or self.knobs
        return replace(self, details=outcome.notes, knobs=knobs, replaced=replaced)


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
        # Why an entry point that may fail makes entries unreachable.
        self._may_fail = ""
        for entry_point in spec.anatomy.entry_points:
            check = hidden_failure(spec.anatomy.table, entry_point.sequence)
            if check is not None and not self._may_fail:
                self._may_fail = f"entry point '@{entry_point.name}' may fail at '{check.name}'"

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


class Proposals:
    """The nearest valid configurations for the first few rejected ones."""

    def __init__(self, most: int = MOST_PROPOSALS) -> None:
        self._most = most
        self._known: dict[bytes, Answer] = {}

    def answer(self, answer: Answer, again: Callable[[Answer], Answer]) -> Answer:
        """Return an answer about a configuration, completed if it is among the first few rejected ones.

        `again` completes an answer that was made by another process, or earlier.
        """
        if not answer.key:
            return answer
        if answer.key not in self._known:
            if len(self._known) < self._most:
                answer = again(answer) if answer.outcome is None else answer.completed()
            # The outcome would keep the constraints alive.
            self._known[answer.key] = replace(answer, outcome=None)
        return self._known[answer.key]


class ConfigurationChecks:
    """Checks configurations; equal ones of equal ops are checked once.

    Args:
        registry: the providers of constraints.
        limits: the time limit of a solver query.
    """

    def __init__(self, registry: ProviderRegistry, limits: Limits) -> None:
        self._registry = registry
        self._limits = limits
        self._known: dict[bytes, Answer] = {}
        self._digest = lru_cache(_MOST_CACHED)(_digest)
        self._first_equal = lru_cache(_MOST_CACHED)(lambda configuration: configuration)
        self._proposals = Proposals()

    def check(self, dispatch: Workload) -> Answer:
        """Return whether the configuration of the root op of a dispatch is valid."""
        return self._proposals.answer(
            self.judge(dispatch), lambda answer: self.completed(dispatch, answer)
        )

    def check_payload(self, payload: Payload, target: mlir.Attribute) -> Answer:
        """Return whether the configuration that its entry gives to a payload is valid.

        Args:
            payload: the payload.
            target: a `#hal.executable.target`.
        """
        return self._proposals.answer(
            self.judge_payload(payload, target),
            lambda answer: self.completed(configured(payload.entry, payload, target), answer),
        )

    def judge_payload(self, payload: Payload, target: mlir.Attribute) -> Answer:
        """Return the answer about the configuration that its entry gives to a payload, not completed."""
        try:
            dispatch = configured(payload.entry, payload, target)
        except mlir.MLIRError as failure:
            reason = f"the compiler refuses it: {first_error(failure)}"
            return Answer(Verdict.REFUTED, reason)
        return self.judge(dispatch)

    def judge(self, dispatch: Workload) -> Answer:
        """Return the answer about the configuration of the root op of a dispatch, not completed."""
        configuration = read_configuration(dispatch.root, dispatch.function)
        if configuration is None:
            reason = "it sets no lowering_config, so there is nothing to check"
            return Answer(Verdict.NOT_DECIDED, reason)
        configuration = self._first_equal(configuration)
        key = self._key(dispatch, configuration)
        answer = self._known.get(key)
        if answer is None:
            answer = self._answer(dispatch, configuration, key)
            if reason := miscompilation(dispatch, configuration):
                answer = replace(answer, miscompilation=reason)
            # The outcome would keep the constraints alive.
            self._known[key] = replace(answer, outcome=None)
        return answer

    def completed(self, dispatch: Workload, answer: Answer) -> Answer:
        """Return the answer about the configuration of a dispatch, with the nearest valid one."""
        configuration = read_configuration(dispatch.root, dispatch.function)
        if configuration is None:
            return answer
        outcome = verify_configuration(dispatch, configuration, self._registry, self._limits)
        return replace(answer, outcome=(outcome, configuration)).completed()

    def _answer(self, dispatch: Workload, configuration: Configuration, key: bytes) -> Answer:
        outcome = verify_configuration(dispatch, configuration, self._registry, self._limits)
        broken = outcome.violations or outcome.discouraged or outcome.unsafe or outcome.slow
        if not broken:
            return Answer(outcome.verdict, outcome.reason)
        answer = Answer(
            outcome.verdict,
            outcome.reason,
            outcome.further_violations,
            knobs=broken[0].knobs,
            key=key,
            outcome=(outcome, configuration),
        )
        # The worst kind of broken rule decides.
        if outcome.violations:
            return replace(answer, reason=f"{broken[0]} in pipeline {outcome.pipeline}")
        if outcome.discouraged:
            return replace(answer, warning=f"{broken[0]} in pipeline {outcome.pipeline}")
        if outcome.unsafe:
            return replace(answer, crash=str(broken[0]))
        return replace(answer, slow=str(broken[0]))

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


def _digest(value: Hashable) -> bytes:
    return blake2b(str(value).encode(), digest_size=_DIGEST_SIZE).digest()


# --- Parallel judging of the entries of a spec ---------------------------------------------------

_FEW: Final = 100
"""About as many entries as are judged in the time that a process takes to start."""

_SLICE: Final = 20
"""The number of entries that are handed to a process at once."""

_SECONDS: Final = 3600.0
"""The time limit of a slice; its queries have their own limits."""


@contextmanager
def judge_in_parallel(
    judge: Judge,
    options: JudgingOptions,
    entries: Sequence[tuple[Entry, bool]],
    *,
    processes: int,
    warn: Callable[[Diagnostic], None],
    finished: Callable[[int, Judgement], None],
) -> Iterator[Iterator[Judgement]]:
    """Judge entries in this process and, for many entries, in further processes. Yield the judgements in order.

    This process takes part while the caller iterates. It begins with the first entries and the others with the last,
    until they meet. The judgements equal those of a single process; only the order of the calls of `finished` with the
    position of an entry differs.
    """

    def note(start: int, judgements: Iterable[Judgement]) -> None:
        for position, judgement in enumerate(judgements, start):
            finished(position, judgement)

    def judge_here(start: int) -> Sequence[Judgement]:
        judgements = judge.judge_all(entries[start : start + _SLICE])
        note(start, judgements)
        return judgements

    def note_future(start: int, future: Future[_Judgements]) -> None:
        if not future.cancelled() and future.exception() is None:
            note(start, future.result()[0])

    starts = range(0, len(entries), _SLICE)
    if len(entries) <= _FEW or processes == 1:
        yield chain.from_iterable(map(judge_here, starts))
        return

    def together(futures: Mapping[int, Future[_Judgements]]) -> Iterator[Judgement]:
        for start in starts:
            # A slice that is not begun, or failed, is judged in this process.
            if futures[start].cancel() or futures[start].exception() is not None:
                yield from judge_here(start)
                continue
            judgements, warnings = futures[start].result()
            for warning in warnings:
                warn(warning)
            yield from judgements

    with Pool(processes - 1, import_module, (__name__,)) as pool:
        # All at once: the other processes need not wait while this one does something else.
        futures: dict[int, Future[_Judgements]] = {}
        for start in reversed(starts):
            part = entries[start : start + _SLICE]
            pairs = [(entry.matcher, entry.action, is_asked) for entry, is_asked in part]
            spec = spec_of(*(entry for entry, _ in part))
            futures[start] = pool.submit(_judge_slice, spec, pairs, options, seconds=_SECONDS)
            futures[start].add_done_callback(partial(note_future, start))
        yield together(futures)


_Judgements: TypeAlias = tuple[Sequence[Judgement], Sequence[Diagnostic]]
"""The judgements about a slice of the entries of a spec, and the warnings of another process."""


def _judge_slice(
    spec: bytes, pairs: Iterable[tuple[str, str, bool]], options: JudgingOptions
) -> _Judgements:
    """Judge a slice in another process."""
    anatomy = Anatomy(parse_module(spec, "<slice>", thread_context()))
    judgements = _judge_for(options).judge_all(
        [(Entry(matcher, action, None, anatomy), is_asked) for matcher, action, is_asked in pairs]
    )
    warnings = tuple(_said)
    _said.clear()
    return judgements, warnings


@lru_cache(maxsize=1)
def _judge_for(options: JudgingOptions) -> Judge:
    return Judge(options, _said.append)


_said: Final[list[Diagnostic]] = []
"""The warnings since the last slice."""
