"""Candidates of tasks, the problems that they solve, and the spaces that they come from."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, partial
from hashlib import sha256
from itertools import islice, zip_longest
from math import inf, prod
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.iree import OpKind, Role, StructuredOp, Target, function_ops
from tuninglink.mlir import names, thread_context
from tuninglink.plain_data import HIDDEN
from tuninglink.solver import AssignmentError, Grade, Limits, UndecidedError, Verdict
from tuninglink.spaces import (
    EVERYTHING,
    CompilerSpace,
    Miscompilations,
    SpaceSelection,
    broken_rules,
)
from tuninglink.spaces.gpu import NO_VECTORS, code_options, read_options, with_options
from tuninglink.spaces.model import Configuration, MismatchError, OneOfKnob, Space

if TYPE_CHECKING:
    from tuninglink.spaces import ProviderRegistry
    from tuninglink.spaces.model import Workload


class CandidateOrigin(Enum):
    """The origin of a candidate."""

    DEFAULT = "default"
    SPACE = "space"
    SPEC = "spec"
    REWRITING = "rewriting"


@dataclass(frozen=True)
class Candidate:
    """A configuration to try, as plain data independent of any MLIR context.

    Attributes:
        pipeline: the pipeline, in MLIR syntax.
        knobs: the values of the knobs and of the options of code generation that are set; empty if no space contains
            the configuration.
        configuration: the `#iree_codegen.compilation_info`, in MLIR syntax; the copies by loop if the op is
            rewritten and then configured by the compiler; a unique text if only the knobs were recorded.
        decomposition: the `decomposition_config` of an attention; empty for other ops.
        space: the number of its space; -1 if no space contains it.
    """

    pipeline: str
    knobs: Mapping[str, int] = field(hash=False)
    configuration: str = field(metadata=HIDDEN)
    decomposition: str = field(default="", metadata=HIDDEN)
    origin: CandidateOrigin = field(default=CandidateOrigin.SPACE, metadata=HIDDEN)
    space: int = field(default=-1, metadata=HIDDEN)

    @cached_property
    def key(self) -> str:
        """A hash that identifies the configuration."""
        return sha256(f"{self.configuration}\n{self.decomposition}".encode()).hexdigest()

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes that configure a root op, by name, in MLIR syntax; the loops to unroll if it is rewritten."""
        if self.origin is CandidateOrigin.REWRITING:
            return {names.UNROLLED_LOOPS: self.configuration}
        attributes = {names.COMPILATION_INFO: self.configuration}
        if self.decomposition:
            attributes[names.DECOMPOSITION_CONFIG] = self.decomposition
        return attributes

    def __str__(self) -> str:
        if self.origin is CandidateOrigin.REWRITING:
            return f"{names.UNROLLED_LOOPS} = {self.configuration}"
        if not self.knobs:
            return self.configuration
        knobs = ", ".join(f"{name} = {value}" for name, value in self.knobs.items())
        return f"{self.pipeline} {knobs}"


def rewriting_candidate(default: Candidate, copies: Sequence[int]) -> Candidate:
    """Return the candidate that rewrites the op into some copies by loop, 0 for the other loops.

    The compiler is expected to choose the pipeline of the default for the new ops, too.
    """
    numbers = mlir.DenseI64ArrayAttr.get(list(copies), context=thread_context())
    return Candidate(default.pipeline, {}, str(numbers), origin=CandidateOrigin.REWRITING)


@dataclass(frozen=True)
class SearchProblem:
    """The computation of a root op, as plain data.

    Attributes:
        kind: the kind of operation, such as `contraction`.
        sizes: the trip count of each loop; None if dynamic.
        roles: the role of each loop in the operation, such as `m`.
        element_types: the element types of the operands, in MLIR syntax.
        limits: the limits of the target, under the compiler's names, and of the device.
        operand_loops: the loop that indexes each dimension of each operand, None for other expressions; empty if unknown.
        operation: the name of the root op.
        body: the number of operations in its body.
        beside: the number of other operations that the dispatch computes.
        steps: the strides of a convolution's image.
    """

    kind: str
    sizes: tuple[int | None, ...]
    roles: tuple[str, ...]
    element_types: tuple[str, ...]
    limits: Mapping[str, int]
    operand_loops: tuple[tuple[int | None, ...], ...] = ()
    operation: str = ""
    body: int = 0
    beside: int = 0
    steps: tuple[int, ...] = ()

    @classmethod
    def of(cls, dispatch: Workload, limits: Mapping[str, int]) -> SearchProblem:
        """Return the problem of a dispatch, with limits of the device in addition to the target's."""
        problem, op = dispatch.problem, StructuredOp(dispatch.root)
        body = [
            len(block.operations) for region in dispatch.root.regions for block in region.blocks
        ]
        computing = function_ops(dispatch.function).computing
        return cls(
            problem.kind.value,
            tuple(dimension.size for dimension in problem.dimensions),
            tuple(dimension.role.value for dimension in problem.dimensions),
            problem.element_types,
            {**problem.limits, **limits},
            op.operand_loops,
            dispatch.root.name,
            sum(body),
            len(computing) - 1,
            tuple(op.steps.get("strides", ())),
        )

    @property
    def reduction(self) -> int:
        """The number of values summed for one element of the result, at least 1."""
        sizes = zip(self.roles, self.sizes, strict=True)
        return prod(size or 1 for role, size in sizes if side_of(role) == "k")

    def __str__(self) -> str:
        sizes = "x".join("?" if size is None else str(size) for size in self.sizes)
        return " ".join(filter(None, (self.kind, sizes, "x".join(self.element_types))))


_DESCRIPTION: Final = re.compile(r"(\S+) ([\dx]+) (\S+)")


def distance(one: str, other: str) -> float:
    """Return the distance of two problems in the syntax of `str`: the sum of the base-2 logarithms of size ratios.

    It is infinite if the kinds, element types or numbers of loops differ, or if a size is dynamic.
    """
    left, right = _DESCRIPTION.fullmatch(one), _DESCRIPTION.fullmatch(other)
    if left is None or right is None or left.group(1, 3) != right.group(1, 3):
        return inf
    sizes, other_sizes = ([int(size) for size in match[2].split("x")] for match in (left, right))
    if len(sizes) != len(other_sizes):
        return inf
    return sum(abs(math.log2(a / b)) for a, b in zip(sizes, other_sizes, strict=True))


_SIDES: Final = {
    role.value: side
    for side, roles in {
        "m": (Role.M, Role.OUTPUT_IMAGE),
        "n": (Role.N, Role.OUTPUT_CHANNEL),
        "k": (Role.K, Role.K1, Role.K2, Role.FILTER, Role.INPUT_CHANNEL, Role.REDUCTION),
    }.items()
    for role in roles
}
_WIDTH: Final = re.compile(r"\d+")


def side_of(role: str) -> str:
    """Return the side of a role: `m`, `n`, `k`, or `b` for batches and all others."""
    return _SIDES.get(role, "b")


def element_bytes(element_type: str) -> float:
    """Return the bytes of an element of a type in MLIR syntax; 4 if its width is unknown."""
    width = _WIDTH.search(element_type)
    return int(width[0]) / 8 if width else 4.0


def operand_bytes(problem: SearchProblem) -> float:
    """Return the bytes of an element of the first operand."""
    return element_bytes(problem.element_types[0]) if problem.element_types else 4.0


def logarithm(value: float) -> float:
    """Return the logarithm to the base of 2, and -1 for numbers without one."""
    return math.log2(value) if value > 0 else -1.0


# --- The candidates of one problem: the valid configurations of its spaces, and given ones -------------

_CHECKING: Final[Limits] = Limits(seconds=5.0, solver_seconds=1.0)
"""The limits of a check of one assignment."""

MOST_ACCUMULATORS: Final = 256
"""Accumulators of one thread. A thread has 255 registers of 32 bits (CUDA C++ Programming Guide, table "Technical
Specifications per Compute Capability") or 512 (CDNA3 ISA, 3.6.4), so more than this is spilled; such candidates are
slow and take longest to compile. The fastest in the recorded tables have up to 160."""

_SEARCHING: Final[Limits] = Limits(seconds=2.0, steps=5000)
"""The limits of a search for the neighbors of one candidate."""

_FIRST_STEPS: Final = frozenset({1, 2, 4, 8, 16, 32, 64})
"""The values that a knob may take instead of 0."""

_SECONDS: Final = 2.0
"""Time limit for one sample of all spaces of a dispatch, for which a device may wait. It is processor time, so that
busy and idle machines sample the same candidates."""

_STEPS: Final = 1000
"""Limit on the solver steps before the first assignment of a space; most need 60 to 800."""

Draw: TypeAlias = Callable[["CandidateSpaces", int, int], list[Candidate]]
"""A function that makes candidates from spaces, given a number of drawn ones and a seed."""

_Draws = dict[tuple[Draw, int, int], Future[list[Candidate]]]
"""Draws that another process makes."""

_MOST_REJECTED: Final = 64
"""The number of consecutive rejected assignments after which a space counts as empty."""


class CandidateSpaces:
    """The candidates of one problem, from which a search chooses.

    Use it only in the thread that created it.

    Args:
        dispatch: the dispatch, without a configuration.
        given: configurations from specs.
        selection: the part of the spaces that candidates come from. Its options of code generation are set in all
            candidates.

    Attributes:
        program: the function of the dispatch with its target, as MLIR text.
        target: the target; None if the dispatch has none.
        default_fault: the reason why the compiler's choice is known to be miscompiled; empty without one.
        default_flaw: the same, or the reason why its code is known to take many times as long as needed.
        given: candidates from specs, other than the default.
        spaces: the selected spaces.

    Raises:
        SelectionError: the selection leaves no space.
    """

    def __init__(
        self,
        dispatch: Workload,
        default: Configuration,
        given: Sequence[Configuration],
        registry: ProviderRegistry,
        limits: Mapping[str, int],
        *,
        selection: SpaceSelection = EVERYTHING,
    ) -> None:
        self.problem = SearchProblem.of(dispatch, limits)
        function = dispatch.function.clone().operation
        self.target = None if dispatch.target is None else Target.from_attribute(dispatch.target)
        if dispatch.target is not None:
            function.attributes[names.EXECUTABLE_TARGET] = dispatch.target
        self.program = str(function.get_asm(use_local_scope=True))
        self._reasons: list[str] = []
        self._miscompilations = Miscompilations.of(dispatch)
        self._all_spaces: list[Space] = []
        # The compiler writes no intrinsics for the parts of an attention.
        is_attention = dispatch.problem.kind is OpKind.ATTENTION
        for pipeline in _pipelines(default, registry):
            try:
                for space in registry.spaces(dispatch, pipeline):
                    is_whole = not (is_attention and isinstance(space, CompilerSpace))
                    if is_whole and not self._miscompilations.fill(space):
                        self._all_spaces.append(space)
            except UndecidedError as failure:
                self._reasons.append(failure.reason)
        own = (
            space
            for space in self._all_spaces
            if space.constraints.pipeline == str(default.pipeline)
        )
        broken = broken_rules(own, default, Grade.WRONG, limits=_CHECKING)
        self.default_fault = "; ".join(map(str, self._miscompilations.violations(default, broken)))
        pipelines = {space.constraints.pipeline for space in self._all_spaces}
        self._options = {pipeline: code_options(dispatch, pipeline) for pipeline in pipelines}
        self._context = dispatch.root.context
        options = [option for options in self._options.values() for option in options]
        self._fixed_options, selection = selection.with_options(options)
        self.spaces: tuple[Space, ...] = tuple(selection.of(self._all_spaces))
        # Draws, by their function, number of candidates and seed; and those of one space, by its position and the seed: the
        # candidates so far, and further ones in random order.
        self._drawn: dict[tuple[Draw, int, int], list[Candidate]] = {}
        self._begun: _Draws = {}
        self._samples: dict[
            tuple[int, int], tuple[dict[str, Candidate], Iterator[Candidate | None]]
        ] = {}
        self._space_reasons: dict[int, str] = {}
        self._begin_elsewhere: Callable[[Draw, int, int], Future[list[Candidate]]] | None = None
        self.default = self.in_space(default, CandidateOrigin.DEFAULT)
        self.default_flaw = self.default_fault
        if self.default.space >= 0 and not self.default_flaw:
            knobs, _ = self._split(self.default.pipeline, self.default.knobs)
            broken = self.spaces[self.default.space].constraints.check(knobs, _CHECKING).violations
            self.default_flaw = (
                NO_VECTORS if any(each.message == NO_VECTORS for each in broken) else ""
            )
        unlike = {self.default.key: self.default}
        for configuration in given:
            candidate = self.in_space(configuration, CandidateOrigin.SPEC)
            if not selection or candidate.space >= 0:
                unlike.setdefault(candidate.key, candidate)
        self.given = tuple(unlike.values())[1:]

    def around(self, start: Candidate) -> CandidateSpaces:
        """Return these candidates with a different default as the baseline."""
        result = copy(self)
        result.default = start
        result.given = ()
        # Other draws may begin with the default.
        drawn = {at: own for at, own in self._drawn.items() if at[0] is draw_evenly}
        begun = {at: job for at, job in self._begun.items() if at[0] is draw_evenly}
        vars(result).update(_drawn=drawn, _begun=begun)
        return result

    def draw_elsewhere(
        self, begin: Callable[[Draw, int, int], Future[list[Candidate]]], begun: _Draws
    ) -> None:
        """Let another process make candidates, which begins a draw; some are begun."""
        self._begin_elsewhere, self._begun = begin, begun

    def sample(self, n: int, seed: int) -> list[Candidate]:
        """Return `n` candidates drawn evenly from the spaces.

        The time limit may shorten a sample, but keeps at least one candidate if there are any. Without it, the seed
        determines the sample.
        """
        return self.made(draw_evenly, n, seed)

    def made(self, draw: Draw, n: int, seed: int) -> list[Candidate]:
        """Return what a draw makes: in another process if it was begun there, else here."""
        if (draw, n, seed) not in self._drawn:
            # Take that of another process, unless it was not begun, is still queued, or failed.
            drawn: list[Candidate] | None = None
            begun = self._begun.pop((draw, n, seed), None)
            if begun is not None and not begun.cancel():
                # The draw here meets the same error, or none.
                with suppress(Exception, CancelledError):
                    drawn = begun.result()
            if drawn is None:
                drawn = draw(self, n, seed)
            own = [self._with_options(candidate, {}) for candidate in drawn]
            self._drawn[draw, n, seed] = own
        return self._drawn[draw, n, seed]

    def begin_sample(self, n: int, seed: int) -> bool:
        """Begin a draw for a later call of `sample`: in another process if one exists, else immediately.

        Return whether that call need not wait.
        """
        if (draw_evenly, n, seed) not in {*self._drawn, *self._begun}:
            if self._begin_elsewhere is None:
                self.sample(n, seed)
            else:
                self._begun[draw_evenly, n, seed] = self._begin_elsewhere(draw_evenly, n, seed)
        return self.is_drawn(n, seed)

    def is_drawn(self, n: int, seed: int) -> bool:
        """Return whether `sample` would not wait, nor would other draws that were begun with it."""
        begun = [job for (_, *own), job in self._begun.items() if own == [n, seed]]
        is_begun = bool(begun) or (draw_evenly, n, seed) in self._drawn
        return is_begun and all(job.done() for job in begun)

    def drawn_until(self, n: int, seed: int, deadline: float) -> list[Candidate]:
        """Return the first candidates of all spaces in turn, each within its share of the time, in processor seconds."""
        numbers, share = list(range(len(self.spaces))), 1
        drawn: list[list[Candidate]] = []
        for _ in range(2):  # find the spaces with a candidate first
            drawn = [
                self._first(number, share, seed, deadline, len(numbers) - position)
                for position, number in enumerate(numbers)
            ]
            numbers = [number for number, first in zip(numbers, drawn, strict=True) if first]
            share = -(-n // max(1, len(numbers)))
        mixed = [candidate for group in zip_longest(*drawn) for candidate in group]
        unlike = {candidate.key: candidate for candidate in mixed if candidate is not None}
        return list(islice(unlike.values(), n))

    def _first(
        self, number: int, n: int, seed: int, deadline: float, spaces_left: int
    ) -> list[Candidate]:
        """Return the first candidates of a space within its share of the time."""
        now, rejected = time.thread_time(), 0
        end = now + max(0.0, deadline - now) / spaces_left
        candidates: dict[str, Candidate] = {}
        try:
            if (number, seed) not in self._samples:
                limits = Limits(seconds=inf, steps=_STEPS)
                draws = self.spaces[number].constraints.draws(seed, limits)
                self._samples[number, seed] = candidates, map(partial(self.make, number), draws)
            candidates, made = self._samples[number, seed]
            is_late = end <= now or number in self._space_reasons
            while len(candidates) < n and not is_late and rejected < _MOST_REJECTED:
                candidate = next(made)
                rejected = rejected + 1 if candidate is None else 0
                if candidate is not None:
                    candidates[candidate.key] = candidate
                    is_late = time.thread_time() > end
        except UndecidedError as failure:
            self._space_reasons[number] = failure.reason
        except StopIteration:
            pass  # all were drawn
        return list(islice(candidates.values(), n))

    @property
    def reason(self) -> str:
        """The reason for having no candidates; empty if there are some."""
        return "; ".join(dict.fromkeys((*self._reasons, *self._space_reasons.values())))

    def neighbors(self, candidate: Candidate) -> list[Candidate]:
        """Return the valid candidates that differ by a step in one knob, or in two interdependent knobs.

        A step doubles, halves, or selects the next option. Two steps at once let a tile grow with the threads that share
        it. Candidates with one step come first.
        """
        if candidate.space < 0:
            return []
        changed: dict[int, list[dict[str, int]]] = {1: [], 2: []}
        try:
            constraints = self.spaces[candidate.space].constraints
            start, options = self._split(candidate.pipeline, candidate.knobs)
            near = {}
            for knob in constraints.knobs:
                value, low, high = start[knob.name], knob.low or 0, knob.high
                steps = {value - 1, value, value + 1}
                if not isinstance(knob, OneOfKnob):
                    steps |= {value * 2, value // 2} if value else _FIRST_STEPS
                within = (step for step in steps if low <= step <= (inf if high is None else high))
                near[knob.name] = sorted(within)
            broken = constraints.broken_heuristics(start)
            # A neighbor may differ in two knobs.
            neighbors = constraints.enumerate_near(start, near, 2, _SEARCHING, without=broken)
            for assignment in neighbors:
                changes = sum(start[name] != value for name, value in assignment.items())
                if changes:
                    changed[changes].append({**assignment, **options})
        except UndecidedError:
            pass  # use the neighbors so far
        return self._unlike(candidate, [*changed[1], *changed[2]])

    def variants(self, candidate: Candidate) -> list[Candidate]:
        """Return the candidates that differ in one option of code generation."""
        if candidate.space < 0:
            return []
        changes = [
            {**candidate.knobs, option.name: value}
            for option in self._options[candidate.pipeline]
            if option.name not in self._fixed_options
            for value in (0, *option.values.values())
        ]
        return self._unlike(candidate, changes)

    def _unlike(
        self, candidate: Candidate, assignments: Iterable[Mapping[str, int]]
    ) -> list[Candidate]:
        """Return the valid candidates of the same space for values of knobs and options, other than the candidate."""
        made = [self._with_values(candidate.space, values) for values in assignments]
        unlike = {other.key: other for other in made if other is not None}
        unlike.pop(candidate.key, None)
        return list(unlike.values())

    def _split(
        self, pipeline: str, values: Mapping[str, int]
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Return the values of knobs and those of options."""
        options = {option.name for option in self._options[pipeline]} & set(values)
        knobs = {name: value for name, value in values.items() if name not in options}
        return knobs, {name: values[name] for name in values if name in options}

    def _with_values(self, number: int, values: Mapping[str, int]) -> Candidate | None:
        """Return the candidate of a space for values of knobs and options; None if it is invalid or unpromising."""
        knobs, options = self._split(self.spaces[number].constraints.pipeline, values)
        made = self.make(number, knobs)
        return None if made is None else self._with_options(made, options)

    def _with_options(self, candidate: Candidate, values: Mapping[str, int]) -> Candidate:
        """Return a candidate of a space with values of options; those of the selection take precedence."""
        values = {**values, **self._fixed_options}
        if not values:
            return candidate
        options = self._options[candidate.pipeline]
        before = mlir.Attribute.parse(candidate.configuration, self._context)
        info: Any = with_options(before, options, values)
        present = read_options(info.lowering_config, info.translation_info, options)
        return replace(candidate, knobs={**candidate.knobs, **present}, configuration=str(info))

    def candidate(self, pipeline: str, knobs: Mapping[str, int]) -> Candidate | None:
        """Return the candidate with the given values of knobs, such as a winner of a similar problem.

        There is none if no space has these knobs, or the values are invalid or unpromising.
        """
        for number, space in enumerate(self.spaces):
            constraints = space.constraints
            if constraints.pipeline == pipeline:
                own, _ = self._split(pipeline, knobs)
                is_own = {knob.name for knob in constraints.knobs} == set(own)
                if is_own and constraints.check(own, _CHECKING).verdict is not Verdict.REFUTED:
                    return self._with_values(number, knobs)
        return None

    def make(self, number: int, assignment: Mapping[str, int]) -> Candidate | None:
        """Return the candidate of a space for values of its knobs; None if they are invalid or unpromising."""
        space = self.spaces[number]
        pipeline = space.constraints.pipeline
        try:
            info = space.compilation_info(assignment)
            decomposition = space.decomposition_config(assignment)
        except AssignmentError:
            return None
        if accumulators_per_thread(info) > MOST_ACCUMULATORS:
            return None
        assert isinstance(info, iree_codegen.CompilationInfoAttr)
        translation: Any = info.translation_info
        configuration = Configuration(info.lowering_config, translation, decomposition)
        if self._miscompilations.violations(configuration):
            return None
        # The compiler's own constraints accept configurations that do not compile. Of 1,253 of their candidates for
        # contractions on sm_80, 152 failed to compile: the necessary rules of the other spaces reject exactly these.
        # Others take up to 20 s, and as long to load, for code that takes 20 times as long as the fastest.
        judges = [
            judge
            for judge in self._all_spaces
            if judge.is_sufficient and judge.constraints.pipeline == pipeline
        ]
        refused = (Grade.NECESSARY, Grade.WRONG, Grade.SLOW, Grade.HEURISTIC)
        if not space.is_sufficient and broken_rules(
            judges, configuration, *refused, limits=_CHECKING
        ):
            return None
        text, origin = str(decomposition or ""), CandidateOrigin.SPACE
        return Candidate(pipeline, dict(assignment), str(info), text, origin, number)

    def in_space(self, configuration: Configuration, origin: CandidateOrigin) -> Candidate:
        """Return a configuration as a candidate of the first space in which it is valid."""
        lowering, translation = configuration.lowering_config, configuration.translation_info
        assert translation is not None
        pipeline, attributes = str(configuration.pipeline), configuration.attributes
        decomposition = attributes.get(names.DECOMPOSITION_CONFIG, "")
        info = attributes[names.COMPILATION_INFO]
        candidate = Candidate(pipeline, {}, info, decomposition, origin)
        for number, space in enumerate(self.spaces):
            if space.constraints.pipeline != pipeline:
                continue
            try:
                knobs = dict(space.assignment(configuration))
                verdict = space.constraints.check(knobs, _CHECKING).verdict
                knobs |= read_options(lowering, translation, self._options[pipeline])
            except (MismatchError, AssignmentError, UndecidedError):
                continue
            if verdict is not Verdict.REFUTED:
                return replace(candidate, knobs=knobs, space=number)
        return candidate


def draw_evenly(spaces: CandidateSpaces, n: int, seed: int) -> list[Candidate]:
    """Draw candidates; see `CandidateSpaces.sample`."""
    limited = spaces.drawn_until(n, seed, time.thread_time() + _SECONDS)
    return limited or spaces.drawn_until(n, seed, inf)


def _pipelines(default: Configuration, registry: ProviderRegistry) -> list[str]:
    """Return the pipelines to query: the default's, and all others for the same GPUs."""
    own = str(default.pipeline)
    pipelines = {pipeline for provider in registry.all() for pipeline in provider.pipelines or ()}
    attribute = own.partition("<")[0]
    others = sorted(pipeline for pipeline in pipelines if pipeline.startswith(f"{attribute}<"))
    if attribute == "#iree_cpu.pipeline":
        # The general pipeline may replace one that also vectorizes.
        is_vectorizing = own == f"{attribute}<ConvTileAndDecomposeExpert>"
        others = [f"{attribute}<DoubleTilingExpert>"] if is_vectorizing else []
    return list(dict.fromkeys((own, *others)))


def accumulators_per_thread(info: mlir.Attribute) -> int:
    """Return the number of result elements per GPU thread; 0 if the configuration does not specify it."""
    assert isinstance(info, iree_codegen.CompilationInfoAttr)
    lowering: Any = info.lowering_config
    attributes = getattr(lowering, "attributes", None)
    translation: Any = info.translation_info
    threads = prod(translation.workgroup_size or [0])
    if not isinstance(attributes, mlir.DictAttr) or "workgroup" not in attributes or not threads:
        return 0
    tiles: Any = attributes["workgroup"]
    return int(prod(tile.value for tile in tiles if tile.value) // threads)
