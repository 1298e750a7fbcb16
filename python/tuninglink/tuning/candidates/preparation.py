"""Preparation of tasks: their candidates, and matchers for their dispatches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import cycle
from typing import Final, TypeAlias

from iree.compiler import ir as mlir

from tuninglink.emission import (
    FORMS,
    NoMatcherError,
    SpecEntry,
    matcher_key,
    window_copies,
    write_spec,
)
from tuninglink.errors import TuninglinkError
from tuninglink.iree import OpKind, StructuredOp, find_root_ops
from tuninglink.mlir import collect, names, thread_context
from tuninglink.programs import TuningTask
from tuninglink.spaces import EVERYTHING, ProviderRegistry, SpaceSelection
from tuninglink.spaces.model import Configuration, Workload, read_workload
from tuninglink.specs import Spec, load_spec
from tuninglink.tuning.candidates.candidate_spaces import (
    Candidate,
    CandidateOrigin,
    CandidateSpaces,
    Draw,
    rewriting_candidate,
)
from tuninglink.tuning.candidates.compilation import (
    BenchmarkTemplate,
    ConfiguredDispatch,
    apply_specs,
    configure,
    prepare_worker,
)
from tuninglink.workers import Pool, do_nothing, processor_count


@dataclass(frozen=True)
class TunableTask(ABC):
    """A task that can be tuned, with the template of its candidates."""

    task: TuningTask
    template: BenchmarkTemplate
    spaces: CandidateSpaces

    @abstractmethod
    def spec(self, candidate: Candidate, provenance: Mapping[str, object]) -> str:
        """Return a spec that configures the dispatches of the task and nothing else."""


class NotTunableError(Exception):
    """A task cannot be tuned; the message is the reason."""


@dataclass(frozen=True)
class Rewriting:
    """A candidate that rewrites the root op instead of configuring it."""

    entry: SpecEntry
    content: bytes


@dataclass(frozen=True)
class PreparedTask(TunableTask):
    """A task that can get a new entry.

    Attributes:
        dispatch: the dispatch as matchers see it.
        form: the form of matchers that matches it.
        matcher: a text that identifies the entry: equal for all tasks that one entry configures.
        rewriting: the candidate that rewrites the root op; None without one.
        replacing: attributes of an entry that remove choices of the compiler besides the configuration: a microkernel.
    """

    dispatch: Workload
    form: str
    matcher: str
    rewriting: Rewriting | None = None
    replacing: Mapping[str, str] = field(default_factory=dict)

    def entry(self, candidate: Candidate, provenance: Mapping[str, object]) -> SpecEntry:
        """Return the entry that configures the dispatches of the task with a candidate."""
        if self.rewriting is not None and candidate.origin is CandidateOrigin.REWRITING:
            return replace(self.rewriting.entry, provenance=provenance)
        # The compiler's choice includes more than the configuration of the root op.
        is_default = candidate.origin is CandidateOrigin.DEFAULT
        configuration = {} if is_default else {**candidate.attributes, **self.replacing}
        entry = _entry(self.task, self.dispatch, self.form, configuration)
        return replace(entry, provenance=provenance, target=self.task.target)

    def spec(self, candidate: Candidate, provenance: Mapping[str, object]) -> str:
        """See `TunableTask`."""
        return write_spec("tuned", [self.entry(candidate, provenance)])


def prepare(
    task: TuningTask,
    flags: Sequence[str],
    specs: Sequence[Spec],
    registry: ProviderRegistry,
    limits: Mapping[str, int],
    *,
    selection: SpaceSelection = EVERYTHING,
) -> PreparedTask:
    """Find the candidates of a task, and a matcher for its dispatches.

    The configurations of specs are candidates, too. The limits are those of the device, in addition to the target's. Flags of
    the whole process must have been set before.

    Raises:
        CompileError: the compiler fails on the dispatch.
        NotTunableError: the dispatch cannot be tuned.
        SelectionError: the selection leaves no space of the dispatch.
    """
    configured = configure(task.source, flags)
    dispatch, default = tunable_parts(configured)
    is_open = any(dimension.size is None for dimension in dispatch.problem.dimensions)
    if is_open and not task.is_dynamic:
        raise NotTunableError("its sizes are dynamic; --dim gives sizes at which it is tuned")
    given = []
    for spec in specs:
        other = configure(task.source, flags, spec)
        # A configuration of what an op was rewritten into does not fit the op.
        is_same_op = (
            other.dispatch is not None
            and other.dispatch.problem.dimensions == dispatch.problem.dimensions
        )
        if is_same_op and other.configuration is not None and other.configuration.pipeline:
            given.append(other.configuration)
    workload = with_sizes(dispatch, task)
    rewriting = None if selection else _rewriting(task, flags)
    if rewriting is not None:
        # Every other configuration of such an op gives scalar code. Ops with a name may have vector code. Steps over an
        # image are scalar in both forms.
        op = StructuredOp(rewriting.entry.dispatch.root)
        if op.name == names.GENERIC and set(op.steps.get("strides", ())) == {1}:
            registry = ProviderRegistry(lambda _: None, (), tuple)  # no spaces
    spaces = CandidateSpaces(workload, default, given, registry, limits, selection=selection)
    if rewriting is not None:
        spaces.given = (rewriting_candidate(spaces.default, rewriting.entry.copies), *spaces.given)
    if not spaces.spaces and not spaces.given:
        raise NotTunableError(f"there is no space: {spaces.reason}")
    replacing = {names.UKERNEL: "unit"} if configured.has_microkernel else {}
    form = _form(task, dispatch, {**spaces.default.attributes, **replacing}, flags)
    content = configured.template
    if collect(dispatch.function, names.MAP_STORE):
        # The compiler makes it of a pack, unless a spec has configured the root op.
        entry = _entry(task, dispatch, form, spaces.default.attributes)
        trial = load_spec(write_spec("trial", [entry]).encode())
        content = configure(task.source, flags, trial).template
    rewritten = b"" if rewriting is None else rewriting.content
    template = BenchmarkTemplate(content, task.function, task.layout, task.sized, rewritten)
    matcher = f"{task.target.name}\n{matcher_key(dispatch, form)}"
    return PreparedTask(task, template, spaces, dispatch, form, matcher, rewriting, replacing)


def _entry(
    task: TuningTask, dispatch: Workload, form: str, configuration: Mapping[str, str]
) -> SpecEntry:
    return SpecEntry(task.label, dispatch, form, configuration, bounds=task.bounds)


def _rewriting(task: TuningTask, flags: Sequence[str]) -> Rewriting | None:
    """Return the candidate that unrolls the window of the root op, as it is before the compiler adds a batch loop, or None."""
    module = mlir.Module.parse(task.source, thread_context()).operation
    roots = [(root, op.function) for op in find_root_ops(module) for root in op.roots]
    if task.is_dynamic or len(roots) != 1:
        return None
    dispatch = read_workload(*roots[0], module)
    copies = window_copies(dispatch)
    if not copies:
        return None
    numbers = mlir.DenseI64ArrayAttr.get(copies, context=module.context)
    configuration = {names.UNROLLED_LOOPS: str(numbers)}
    for form in FORMS:
        try:
            entry = SpecEntry(task.label, dispatch, form, configuration, target=task.target)
            trial = load_spec(write_spec("trial", [entry]).encode())
            content = configure(task.source, flags, trial).template
        except (NoMatcherError, TuninglinkError):
            continue
        rewritten = mlir.Module.parse(content, thread_context())  # the operations live in it
        kinds = {StructuredOp(operation).kind for operation in collect(rewritten.operation)}
        if OpKind.CONVOLUTION not in kinds:
            return Rewriting(entry, content)
    return None


def tunable_parts(configured: ConfiguredDispatch) -> tuple[Workload, Configuration]:
    """Return the dispatch of a configured benchmark and the compiler's choice."""
    dispatch, default = configured.dispatch, configured.configuration
    if dispatch is None or default is None or default.pipeline is None:
        raise NotTunableError("the compiler gives none of its operations a configuration")
    return dispatch, default


def with_sizes(dispatch: Workload, task: TuningTask) -> Workload:
    """Return a workload with the loop sizes for which a dispatch is specialized."""
    dimensions = list(dispatch.problem.dimensions)
    for loop, sizes in task.bounds.items():
        if sizes.low == sizes.high and loop < len(dimensions):
            dimensions[loop] = replace(dimensions[loop], size=sizes.low)
    return replace(dispatch, problem=replace(dispatch.problem, dimensions=tuple(dimensions)))


def _form(
    task: TuningTask, dispatch: Workload, configuration: Mapping[str, str], flags: Sequence[str]
) -> str:
    """Return the first form of matchers that matches the dispatch in the compiler's interpreter.

    The compiler may change an operation between matching and configuration.
    """
    reasons = []
    no_matcher = ""
    for form in FORMS:
        try:
            text = write_spec("trial", [_entry(task, dispatch, form, configuration)])
            applied = apply_specs(task.source, flags, [load_spec(text.encode())]).applied
        except NoMatcherError as failure:
            no_matcher = str(failure)  # of the last form, which is the most general
        except TuninglinkError as failure:
            reasons.append(failure.diagnostics[0].message)
        else:
            if len(applied) == 1 and applied[0].is_own:
                return form
            reasons.append("the compiler changes the operation after it has asked specs")
    raise NotTunableError(f"a spec cannot configure it: {[*reasons, no_matcher][0]}")


# --- Draws of candidates in separate processes: the process that feeds the devices does not wait for the solver

_MOST_TASKS: Final = 64
"""The number of tasks whose spaces a process keeps."""

_PROCESSES: Final = 4
_PROCESSORS: Final = 4
"""The number of processes, and of processors for one of them. A draw takes up to two seconds, and many tasks may begin at
once, as those with wrong defaults do."""


class DrawingProcesses(ExitStack):
    """Processes that draw candidates of tasks.

    All draws of a task are made by the same process, which continues the last one, so that a run can be repeated.

    Args:
        flags: compiler flags, including process-wide ones.
        first: the first draws of a task, each with its number of candidates and its seed.
    """

    def __init__(self, flags: Sequence[str], first: Sequence[tuple[Draw, int, int]]) -> None:
        super().__init__()
        self._first, self._flags = first, tuple(flags)
        count = max(1, min(_PROCESSES, processor_count() // _PROCESSORS))
        pools = [Pool(1, prepare_worker, (self._flags,)) for _ in range(count)]
        for pool in pools:
            self.callback(pool.close)
            pool.submit(do_nothing)  # starts the process
        self._pools = cycle(pools)
        self._begun: dict[_Question, _Begun] = {}

    def begin(
        self, task: TuningTask, limits: Mapping[str, int], selection: SpaceSelection
    ) -> _Begun:
        """Begin the first draws of a task, unless they were begun before; return how others begin, and these."""
        question = task, self._flags, tuple(limits.items()), selection
        if question in self._begun:
            return self._begun[question]
        pool = next(self._pools)

        def begin(draw: Draw, n: int, seed: int) -> _Drawn:
            return pool.submit(drawn, question, draw, n, seed)

        self._begun[question] = begin, {first: begin(*first) for first in self._first}
        return self._begun[question]

    def prepare(
        self,
        task: TuningTask,
        limits: Mapping[str, int],
        selection: SpaceSelection,
        prepare_here: Callable[[], PreparedTask],
    ) -> PreparedTask:
        """Prepare a task in the calling process, whose candidates are drawn here; the first draws begin at once."""
        draws = self.begin(task, limits, selection)
        prepared = prepare_here()
        prepared.spaces.draw_elsewhere(*draws)
        return prepared


_Drawn: TypeAlias = Future[list[Candidate]]
_Begun: TypeAlias = tuple[Callable[[Draw, int, int], _Drawn], dict[tuple[Draw, int, int], _Drawn]]
_Question: TypeAlias = tuple[
    "TuningTask", tuple[str, ...], tuple[tuple[str, int], ...], SpaceSelection
]
"""A task whose candidates are drawn, with flags, limits and a selection."""


def drawn(question: _Question, draw: Draw, n: int, seed: int) -> list[Candidate]:
    """Draw candidates of a task in this process, whose command line holds the flags."""
    return _spaces(*question).made(draw, n, seed)


@lru_cache(_MOST_TASKS)
def _spaces(
    task: TuningTask,
    flags: tuple[str, ...],
    limits: tuple[tuple[str, int], ...],
    selection: SpaceSelection,
) -> CandidateSpaces:
    dispatch, default = tunable_parts(configure(task.source, flags))
    workload = with_sizes(dispatch, task)
    registry = ProviderRegistry(lambda _: None)  # the other process warns
    return CandidateSpaces(workload, default, (), registry, dict(limits), selection=selection)
