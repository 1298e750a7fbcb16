"""Checks of entries one by one: a program is generated for each entry, and its configuration checked on the program.

A program with a fused elementwise op shows how much stack the code of an entry may need in a model.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from hashlib import blake2b
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias

from iree.compiler import ir as mlir

from tuninglink.compiler import compile_flags, executable_target
from tuninglink.errors import Diagnostic, TuninglinkError
from tuninglink.iree import OpKind, StructuredOp, find_spills, stack_overflow, stack_report_flag
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
)
from tuninglink.payloads import (
    PayloadError,
    Synthesizer,
    apply_alone,
    build,
    computed,
    configured,
    describe_fact,
    payload_for,
    spec_of,
)
from tuninglink.plain_data import EMPTY_IS_NULL, HIDDEN
from tuninglink.rules import Rule
from tuninglink.solver import DEFAULT_LIMITS, Grade, Limits, Verdict
from tuninglink.spaces import (
    ConfigurationAnswer,
    ProviderRegistry,
    replaced_entries,
    verify_configuration,
)
from tuninglink.spaces.cpu import BACKEND as CPU_BACKEND
from tuninglink.spaces.model import Configuration, read_configuration
from tuninglink.specs import Anatomy, Entry, Spec, hidden_failure, unrolled_loops
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError, processor_count

if TYPE_CHECKING:
    from tuninglink.iree import Target
    from tuninglink.payloads import Configured, Payload, Value
    from tuninglink.spaces.model import Workload


def _add_consumer(module: mlir.Operation, returns: Sequence[mlir.Operation]) -> bool:
    """Add an elementwise op to the results of a dispatch if they are static tensors of floats; return whether."""
    # `x * erf(x)` is the expensive part of a GELU.
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

_DIGEST_SIZE: Final = 16

_MOST_CACHED: Final = 256
"""The capacity of the caches of digests and configurations."""

MOST_PROPOSALS: Final = 20
"""The number of rejected configurations whose nearest valid one is computed, unless specs are fixed."""


@dataclass(frozen=True)
class EntryOptions:
    """Options for checking entries.

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
class EntryAnswers:
    """The findings about a single entry, which can be sent to another process."""

    matches: Answer
    payload: str = ""
    program: str = ""
    is_valid: Answer | None = None


class EntryChecker:
    """Checks entries.

    Args:
        options: the options.
        warn: receives warnings about unusable plug-ins.
        matchers: the conditions of a spec's matchers that were already read.
        proposals: the number of rejected configurations whose nearest valid one is computed.
    """

    def __init__(
        self,
        options: EntryOptions,
        warn: Callable[[Diagnostic], None],
        matchers: MatcherConditions | None = None,
        proposals: int = 0,
    ) -> None:
        self._synthesizer = Synthesizer(options.target, matchers)
        self._checks = ConfigurationChecks(ProviderRegistry(warn), options.limits, proposals)
        self._options = options

    @cached_property
    def _target(self) -> mlir.Attribute:
        return mlir.Attribute.parse(self._options.attribute, thread_context())

    def check_all(self, entries: Sequence[tuple[Entry, bool]]) -> list[EntryAnswers]:
        """Check entries of one spec, each given with whether to check its configuration, too."""
        # Programs for many entries are generated together, but not for those that rewrite their op.
        rewriting = [any(unrolled_loops(entry.anatomy.table, entry.action)) for entry, _ in entries]
        pairs = list(zip(entries, rewriting, strict=True))
        asked = [entry for (entry, is_asked), rewrites in pairs if is_asked and not rewrites]
        together = iter(self._synthesizer.configured_together(asked, self._target) if asked else ())
        checked: list[EntryAnswers] = []
        for (entry, is_asked), rewrites in pairs:
            try:
                is_alone = rewrites or not is_asked
                configured = self._synthesizer.configured(entry) if is_alone else next(together)
                if isinstance(configured, PayloadError):
                    raise configured
            except PayloadError as failure:
                nothing = Answer(Verdict.NOT_DECIDED, NO_PROGRAM) if is_asked else None
                answers = EntryAnswers(Answer(failure.verdict, failure.reason), is_valid=nothing)
                checked.append(answers)
                continue
            draft = configured.draft
            # Generating the program included a match by the interpreter.
            answers = EntryAnswers(Answer(Verdict.PROVEN), draft.shapes)
            if is_asked:
                program = draft.payload.text if self._options.wants_programs else ""
                answer = (
                    self._check_unrolling(entry, draft.payload)
                    if rewrites
                    else self._check_configuration(configured)
                )
                answers = replace(answers, program=program, is_valid=answer)
            checked.append(answers)
        return checked

    def _check_unrolling(self, entry: Entry, payload: Payload) -> Answer:
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
        for operation in collect(dispatch.module):
            if StructuredOp(operation).kind is OpKind.CONVOLUTION:
                return Answer(Verdict.NOT_DECIDED, f"a window is left in '{operation.name}'")
        return Answer(Verdict.PROVEN)

    def _check_configuration(self, configured: Configured) -> Answer:
        """Return whether the configuration that an entry gives to its program is valid."""
        dispatch = configured.dispatch
        if dispatch is None:
            answer = self._checks.answer_for_payload(configured.draft.payload, self._target)
        else:
            answer = self._checks.answer(dispatch)
        # The code for a CPU may crash once an elementwise op is fused into the dispatch.
        target = self._options.target
        is_for_cpu = target is not None and target.backend == CPU_BACKEND
        if dispatch is not None and is_for_cpu and answer.verdict is Verdict.PROVEN:
            assert dispatch.module is not None
            returns = collect(dispatch.function, "func.return")
            if not answer.crash and _add_consumer(dispatch.module, returns):
                changed = replace(dispatch, family=None)  # others of the family have no consumer
                if crash := self._checks.answer(changed).crash:
                    crash = f"with an elementwise operation after it, {crash}"
                    answer = replace(answer, crash=crash)
        return answer

    def completed(self, entry: Entry, answer: Answer) -> Answer:
        """Return the answer about the configuration of an entry, with the nearest valid one for the first few."""
        return self._checks.completed(
            answer, lambda: self._synthesizer.configured(entry, self._target).dispatch
        )


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


def reachability(
    spec: Spec, matchers: MatcherConditions
) -> tuple[dict[int, Answer], dict[int, EntryOverlap]]:
    """Return whether each entry can be the first to match, and its overlap with earlier ones if any, by position."""
    conditions = EntryConditions(spec, matchers)
    # Why an entry point that may fail makes entries unreachable.
    may_fail = ""
    for entry_point in spec.anatomy.entry_points:
        check = hidden_failure(spec.anatomy.table, entry_point.sequence)
        if check is not None and not may_fail:
            may_fail = f"entry point '@{entry_point.name}' may fail at '{check.name}'"
    answers = {}
    for result in find_reachability(spec, conditions=conditions):
        answer = Answer(result.verdict, result.reason)
        if result.is_unreachable:
            answer = Answer(result.verdict, result.why_unreachable)
        elif may_fail and result.verdict is Verdict.PROVEN:
            answer = Answer(Verdict.NOT_DECIDED, may_fail)
        answers[result.position] = answer
    overlaps = find_overlaps(spec, conditions=conditions)
    return answers, {overlap.position: overlap for overlap in overlaps}


def check_sizes(
    entries: Iterable[Entry], matchers: MatcherConditions, diagnostics: DiagnosticSink
) -> None:
    """Warn about entries that only match ops over loops or dimensions of size 0."""
    # The interpreter matches such ops, but the compiler removes them, or crashes on a reduction of size 0, before it
    # applies specs.
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


class ConfigurationChecks:
    """Checks configurations; equal ones of equal ops are checked once.

    `proposals` is the number of rejected configurations whose nearest valid one is computed.
    """

    def __init__(
        self, registry: ProviderRegistry, limits: Limits, proposals: int = MOST_PROPOSALS
    ) -> None:
        self._registry = registry
        self._limits = limits
        self._proposals = proposals
        self._answers: dict[bytes, Answer] = {}
        self._completed: dict[bytes, Answer] = {}
        self._digest = lru_cache(_MOST_CACHED)(_digest)
        self._first_equal = lru_cache(_MOST_CACHED)(lambda configuration: configuration)

    def check(self, dispatch: Workload) -> Answer:
        """Return whether the configuration of the root op of a dispatch is valid."""
        return self.completed(self.answer(dispatch), lambda: dispatch)

    def completed(self, answer: Answer, dispatch: Callable[[], Workload | None]) -> Answer:
        """Return an answer with the nearest valid configuration, if it is among the first few rejected ones.

        `dispatch` returns the dispatch of an answer that was made by another process, or earlier.
        """
        if not answer.key:
            return answer
        if answer.key not in self._completed:
            outcome = answer.outcome
            if len(self._completed) >= self._proposals:
                outcome = None
            elif outcome is None and (workload := dispatch()) is not None:
                configuration = read_configuration(workload.root, workload.function)
                if configuration is not None:
                    registry, limits = self._registry, self._limits
                    verified = verify_configuration(workload, configuration, registry, limits)
                    outcome = verified, configuration
            if outcome is not None:
                # The nearest configuration takes longer to find than the answer.
                verified, configuration = outcome
                answer = replace(
                    answer,
                    details=verified.notes,
                    knobs=verified.knobs or answer.knobs,
                    replaced=replaced_entries(configuration, verified.proposal),
                )
            # The outcome would keep the constraints alive.
            self._completed[answer.key] = replace(answer, outcome=None)
        return self._completed[answer.key]

    def answer_for_payload(self, payload: Payload, target: mlir.Attribute) -> Answer:
        """Return the answer about the configuration that its entry gives to a payload, not completed."""
        try:
            dispatch = configured(payload.entry, payload, target)
        except mlir.MLIRError as failure:
            reason = f"the compiler refuses it: {first_error(failure)}"
            return Answer(Verdict.REFUTED, reason)
        return self.answer(dispatch)

    def answer(self, dispatch: Workload) -> Answer:
        """Return the answer about the configuration of the root op of a dispatch, not completed."""
        configuration = read_configuration(dispatch.root, dispatch.function)
        if configuration is None:
            reason = "it sets no lowering_config, so there is nothing to check"
            return Answer(Verdict.NOT_DECIDED, reason)
        configuration = self._first_equal(configuration)
        # Equal dispatches share a key, in this process and in others.
        if dispatch.family is not None:
            # The operands determine the sizes of the other values.
            types = ", ".join(str(operand.type) for operand in dispatch.root.operands)
            parts = (self._digest(dispatch.family), self._digest(configuration), types.encode())
            key = blake2b(b"".join(parts), digest_size=_DIGEST_SIZE).digest()
        else:
            # The local scope leaves other functions of the module alone.
            text = str(dispatch.function.get_asm(use_local_scope=True))
            if names.EXECUTABLE_TARGET not in dispatch.function.attributes:
                text += str(dispatch.target)
            key = _digest(text)
        answer = self._answers.get(key)
        if answer is None:
            outcome = verify_configuration(dispatch, configuration, self._registry, self._limits)
            wrong = outcome.miscompilation
            answer = Answer(outcome.verdict, outcome.reason, miscompilation=wrong)
            if outcome.violations:
                # The worst kind of broken rule decides.
                worst = outcome.violations[0]
                text = f"{worst} in pipeline {outcome.pipeline}"
                if outcome.verdict is Verdict.REFUTED:
                    answer = replace(answer, reason=text)
                elif worst.grade is Grade.COMPILER:
                    answer = replace(answer, warning=text)
                elif worst.grade is Grade.UNSAFE:
                    answer = replace(answer, crash=str(worst))
                elif worst.grade is Grade.SLOW:
                    answer = replace(answer, slow=str(worst))
                answer = replace(
                    answer,
                    details=outcome.further_violations,
                    knobs=worst.knobs,
                    key=key,
                    outcome=(outcome, configuration),
                )
            # The outcome would keep the constraints alive.
            self._answers[key] = replace(answer, outcome=None)
        return answer


def configurations_in_words(spec: Spec, target: Target, warn: Callable[[Diagnostic], None]) -> str:
    """Return a line per entry that states whether its configuration is valid on a generated program."""
    attribute = executable_target(compile_flags(target), spec.module.context)
    checks = ConfigurationChecks(ProviderRegistry(warn), DEFAULT_LIMITS)
    lines = [f"configurations on {target}"]
    for entry in spec.entries:
        try:
            payload = payload_for(entry, target)
        except PayloadError as failure:
            words = f"not decided: no program can be made that it matches: {failure.reason}"
        else:
            answer = checks.completed(
                checks.answer_for_payload(payload, attribute),
                partial(configured, payload.entry, payload, attribute),
            )
            warning = answer.warning and (
                f"the compiler's own constraints reject it: {answer.warning}"
            )
            details = filter(None, (answer.reason, warning, *answer.details))
            words = ": ".join(filter(None, (VERDICT_WORDS[answer.verdict], "; ".join(details))))
        lines.append(f"  @{entry.matcher}: {words}")
    return "\n".join(lines) + "\n"


VERDICT_WORDS: Final = {
    Verdict.PROVEN: "valid",
    Verdict.REFUTED: "invalid",
    Verdict.NOT_DECIDED: "not decided",
}
"""The verdicts on configurations, in words."""


def _digest(value: Hashable) -> bytes:
    return blake2b(str(value).encode(), digest_size=_DIGEST_SIZE).digest()


# --- Parallel checks of the entries of a spec ----------------------------------------------------

_FEW: Final = 100
"""About as many entries as are checked in the time that a process takes to start."""

_SLICE: Final = 20
"""The number of entries that are handed to a process at once."""

_SECONDS: Final = 3600.0
"""The time limit of a slice; its queries have their own limits."""


@contextmanager
def check_in_parallel(
    checker: EntryChecker,
    options: EntryOptions,
    entries: Sequence[tuple[Entry, bool]],
    *,
    processes: int,
    warn: Callable[[Diagnostic], None],
    finished: Callable[[int, EntryAnswers], object],
) -> Iterator[Iterator[EntryAnswers]]:
    """Check entries in this process and, for many entries, in further processes. Yield the answers in order."""
    # This process takes part while the caller iterates. It begins with the first entries and the others with the last,
    # until they meet. The answers equal those of a single process; only the order of the calls of `finished` with the
    # position of an entry differs.

    def check_here(start: int) -> Sequence[EntryAnswers]:
        checked = checker.check_all(entries[start : start + _SLICE])
        for position, answers in enumerate(checked, start):
            finished(position, answers)
        return checked

    def note(start: int, future: Future[_Checked]) -> None:
        if not future.cancelled() and future.exception() is None:
            for position, answers in enumerate(future.result()[0], start):
                finished(position, answers)

    starts = range(0, len(entries), _SLICE)
    if len(entries) <= _FEW or processes == 1:
        yield chain.from_iterable(map(check_here, starts))
        return

    def together(futures: Mapping[int, Future[_Checked]]) -> Iterator[EntryAnswers]:
        for start in starts:
            # A slice that is not begun, or failed, is checked in this process.
            if futures[start].cancel() or futures[start].exception() is not None:
                yield from check_here(start)
                continue
            answers, warnings = futures[start].result()
            for warning in warnings:
                warn(warning)
            yield from answers

    with Pool(processes - 1, import_module, (__name__,)) as pool:
        # All at once: the other processes need not wait while this one does something else.
        futures: dict[int, Future[_Checked]] = {}
        for start in reversed(starts):
            part = entries[start : start + _SLICE]
            pairs = [(entry.matcher, entry.action, is_asked) for entry, is_asked in part]
            spec = spec_of(*(entry for entry, _ in part))
            futures[start] = pool.submit(_check_slice, spec, pairs, options, seconds=_SECONDS)
            futures[start].add_done_callback(partial(note, start))
        yield together(futures)


_Checked: TypeAlias = tuple[Sequence[EntryAnswers], Sequence[Diagnostic]]
"""The answers about a slice of the entries of a spec, and the warnings of another process."""


def _check_slice(
    spec: bytes, pairs: Iterable[tuple[str, str, bool]], options: EntryOptions
) -> _Checked:
    """Check a slice in another process."""
    anatomy = Anatomy(parse_module(spec, "<slice>", thread_context()))
    answers = _checker_for(options).check_all(
        [(Entry(matcher, action, None, anatomy), is_asked) for matcher, action, is_asked in pairs]
    )
    warnings = tuple(_said)
    _said.clear()
    return answers, warnings


@lru_cache(maxsize=1)
def _checker_for(options: EntryOptions) -> EntryChecker:
    return EntryChecker(options, _said.append)


_said: Final[list[Diagnostic]] = []
"""The warnings since the last slice."""

# --- Compilation of programs in worker processes with a time limit -------------------------------


@dataclass(frozen=True)
class Job:
    """One compilation.

    Attributes:
        program: the program, as text.
        spec: the spec to apply, as bytecode.
        flags: the compiler flags that select the target.
        without_effect: the reason why the spec configures nothing; empty if it sets a configuration.
    """

    program: str
    spec: bytes
    flags: tuple[str, ...]
    without_effect: str = ""


@dataclass(frozen=True)
class CompileLimits:
    """The limits of compilations.

    Attributes:
        seconds: the time limit of each compilation.
        processes: the number of parallel compilations.
    """

    seconds: float = 120.0
    processes: int = processor_count()


@dataclass(frozen=True)
class Model:
    """A model that specs are checked on.

    Attributes:
        path: the program in MLIR, text or bytecode.
        flags: the flags of `iree-compile` that select its target.
    """

    path: str
    flags: tuple[str, ...]


def compile_all(jobs: Iterable[Job], limits: CompileLimits) -> list[Answer]:
    """Run jobs; return for each job whether its program compiles with the spec's configuration."""
    answers: list[Answer] = []
    with Pool(limits.processes, _prepare) as pool:
        futures = [pool.submit(_compile, job, seconds=limits.seconds) for job in jobs]
        for future in futures:
            try:
                answer = future.result()
            except TuninglinkError as failure:
                reason = f"the compiler refuses it: {failure.diagnostics[0].message}"
                answer = Answer(Verdict.REFUTED, reason)
            except WorkerCrashedError as failure:
                answer = Answer(Verdict.REFUTED, f"the compiler crashed ({failure.status})")
            except JobTimeoutError as failure:
                reason = f"it did not compile within {failure.seconds:g} s"
                answer = Answer(Verdict.NOT_DECIDED, reason)
            answers.append(answer)
    return answers


def _prepare() -> None:
    from tuninglink.compiler import set_up_command_line  # noqa: PLC0415 - loads the compiler

    import_module("tuninglink.compiler.compilation")
    set_up_command_line("tuninglink check", (stack_report_flag(),))


def _compile(job: Job) -> Answer:
    """Run a job in a worker."""
    from tuninglink.compiler import compile as compile_program  # noqa: PLC0415 - loads the compiler

    compile_alone = partial(
        compile_program,
        specs=[job.spec],
        default_specs=False,
        flags=job.flags,
        name="payload.mlir",
    )
    compilation = compile_alone(job.program.encode())
    overflow = stack_overflow()
    if all(item.ignored for item in compilation.applied):
        ignored = next((item.ignored for item in compilation.applied), "")
        unmatched = "the compiler prepared the operation in a way that the entry does not match"
        reason = f"without effect: {ignored}" if ignored else job.without_effect or unmatched
        return Answer(Verdict.NOT_DECIDED, f"it compiles, but {reason}")
    spills = str(find_spills(compilation.output))
    if not overflow and any(flag.endswith(f"={CPU_BACKEND}") for flag in job.flags):
        # The code may overflow the stack once an elementwise op is fused into it.
        module = parse_module(job.program.encode(), "payload.mlir", thread_context())
        if _add_consumer(module, collect(module, "flow.return")):
            applied: Sequence[object] = ()
            with suppress(TuninglinkError):  # the failure does not concern the entry itself
                applied = compile_alone(str(module).encode()).applied
            fused = stack_overflow()
            if applied and fused:
                overflow = f"with an elementwise operation after it, {fused}"
    return Answer(Verdict.PROVEN, crash=overflow, spills=spills)
