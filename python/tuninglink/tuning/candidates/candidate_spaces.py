"""The candidates of one problem: the valid configurations of its spaces, and given ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind
from tuninglink.mlir import names
from tuninglink.solver.answers import AssignmentError, Limits, UndecidedError, Verdict
from tuninglink.spaces.compiler_provider import CompilerSpace
from tuninglink.spaces.configuration import Configuration, MismatchError
from tuninglink.spaces.configuration_answers import Miscompilations
from tuninglink.spaces.gpu.code_options import code_options, read_options, with_options
from tuninglink.spaces.selection import EVERYTHING, SpaceSelection
from tuninglink.tuning.candidates import Candidate, CandidateOrigin, SearchProblem
from tuninglink.tuning.candidates.sampling import (
    CHECKING,
    CandidateMaker,
    SpaceSampler,
    near_values,
    written,
)

if TYPE_CHECKING:
    from tuninglink.spaces.provider_registry import ProviderRegistry
    from tuninglink.spaces.providers import Space
    from tuninglink.spaces.workload import Workload

_SEARCHING: Final = Limits(seconds=2.0, steps=5000)
"""The limits of a search for the neighbors of one candidate."""

_MOST_CHANGES: Final = 2
"""The number of knobs in which a neighbor may differ."""


class CandidateSpaces:
    """The candidates of one problem, from which a search chooses.

    Use it only in the thread that created it.

    Args:
        dispatch: the dispatch, without a configuration.
        default: the compiler's choice.
        given: configurations from specs.
        registry: the providers of spaces.
        limits: the limits of the device.
        selection: the part of the spaces that candidates come from. Its options of code generation are set in all
            candidates.

    Attributes:
        problem: the computation of the root op.
        program: the function of the dispatch with its target, as MLIR text.
        default: the compiler's choice, as a candidate.
        default_fault: the reason why the compiler's choice is known to be miscompiled; empty without one.
        given: candidates from specs, other than the default.
        spaces: the selected spaces.
        sampler: draws from them.

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
        self.problem = SearchProblem.of(dispatch.problem, limits)
        self.program = _text(dispatch)
        self._reasons: list[str] = []
        self._miscompilations = Miscompilations.of(dispatch)
        self.default_fault = self._miscompilations.reason(default)
        self._all_spaces = tuple(self._find_spaces(dispatch, default, registry))
        pipelines = {space.constraints.pipeline for space in self._all_spaces}
        self._options = {pipeline: code_options(dispatch, pipeline) for pipeline in pipelines}
        self._context = dispatch.root.context
        options = [option for options in self._options.values() for option in options]
        fixed, selection = selection.with_options(options)
        self._fixed_options = fixed
        self.spaces: tuple[Space, ...] = tuple(selection.of(self._all_spaces))
        self.sampler = SpaceSampler(self.spaces, self._maker)
        self.default = self._in_space(default, CandidateOrigin.DEFAULT)
        unlike = {self.default.key: self.default}
        for configuration in given:
            candidate = self._in_space(configuration, CandidateOrigin.SPEC)
            if not selection or candidate.space >= 0:
                unlike.setdefault(candidate.key, candidate)
        self.given = tuple(unlike.values())[1:]

    def around(self, start: Candidate) -> CandidateSpaces:
        """Return these candidates with a different default as the baseline."""
        result = copy(self)
        result.default = start
        result.given = ()
        return result

    def _find_spaces(
        self, dispatch: Workload, default: Configuration, registry: ProviderRegistry
    ) -> Iterator[Space]:
        is_attention = dispatch.problem.kind is OpKind.ATTENTION
        for pipeline in _pipelines(default, registry):
            try:
                for space in registry.spaces(dispatch, pipeline):
                    # The compiler writes no intrinsics for the parts of an attention.
                    is_whole = not (is_attention and isinstance(space, CompilerSpace))
                    if is_whole and not self._miscompilations.fill(space):
                        yield space
            except UndecidedError as failure:
                self._reasons.append(failure.reason)

    def sample(self, n: int, seed: int) -> list[Candidate]:
        """Return candidates drawn evenly from the spaces.

        Args:
            n: the number of candidates.
            seed: the seed of the draw, which determines it unless the time limit cuts it.
        """
        return [self._with_options(candidate, {}) for candidate in self.sampler.sample(n, seed)]

    def begin_sample(self, n: int, seed: int) -> bool:
        """Begin a draw for a later call of `sample`, see `SpaceSampler.begin`."""
        return self.sampler.begin(n, seed)

    @property
    def reason(self) -> str:
        """The reason for having no candidates; empty if there are some."""
        return "; ".join(dict.fromkeys((*self._reasons, *self.sampler.reasons.values())))

    def neighbors(self, candidate: Candidate) -> list[Candidate]:
        """Return the valid candidates that differ by a step in one knob, or in two interdependent knobs.

        A step doubles, halves, or selects the next option. Two steps at once let a tile grow with the threads that share
        it. Candidates with one step come first.
        """
        if candidate.space < 0:
            return []
        result: list[tuple[int, dict[str, int]]] = []
        try:
            constraints = self.spaces[candidate.space].constraints
            start, options = self._split(candidate)
            near = {knob.name: near_values(knob, start[knob.name]) for knob in constraints.knobs}
            broken = constraints.broken_heuristics(start)
            for assignment in constraints.enumerate_near(
                start, near, _MOST_CHANGES, _SEARCHING, without=broken
            ):
                changed = sum(start[name] != value for name, value in assignment.items())
                if changed:
                    result.append((changed, {**assignment, **options}))
        except UndecidedError:
            pass  # use the neighbors so far
        result.sort(key=lambda pair: pair[0])
        return _unlike(candidate, (self._make(candidate.space, knobs) for _, knobs in result))

    def variants(self, candidate: Candidate) -> list[Candidate]:
        """Return the candidates that differ in one option of code generation."""
        if candidate.space < 0:
            return []
        options = [
            option
            for option in self._options[candidate.pipeline]
            if option.name not in self._fixed_options
        ]
        changes = [
            {option.name: value} for option in options for value in (0, *option.values.values())
        ]
        made = [self._make(candidate.space, {**candidate.knobs, **change}) for change in changes]
        return _unlike(candidate, made)

    def _split(self, candidate: Candidate) -> tuple[dict[str, int], dict[str, int]]:
        """Return the knobs of a candidate in its space, and its options."""
        names_of_knobs = {knob.name for knob in self.spaces[candidate.space].constraints.knobs}
        knobs = {name: value for name, value in candidate.knobs.items() if name in names_of_knobs}
        return knobs, {
            name: value for name, value in candidate.knobs.items() if name not in names_of_knobs
        }

    def _make(self, number: int, knobs: Mapping[str, int]) -> Candidate | None:
        """Return the candidate of a space with values of its knobs and options; None if it is invalid or unpromising."""
        space = self.spaces[number]
        options = self._options[space.constraints.pipeline]
        values = {option.name: knobs[option.name] for option in options if option.name in knobs}
        made = self._maker(number)(
            {name: value for name, value in knobs.items() if name not in values}
        )
        return None if made is None else self._with_options(made, values)

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

        Args:
            pipeline: its pipeline, in MLIR syntax.
            knobs: the values.

        Returns:
            None if no space has these knobs or the values are invalid.
        """
        for number, space in enumerate(self.spaces):
            constraints = space.constraints
            names_of_knobs = {knob.name for knob in constraints.knobs}
            options = {option.name for option in self._options[constraints.pipeline]}
            own = {name: value for name, value in knobs.items() if name not in options}
            if constraints.pipeline != pipeline or names_of_knobs != set(own):
                continue
            if constraints.check(own, CHECKING).verdict is not Verdict.REFUTED:
                return self._make(number, knobs)
        return None

    def _maker(self, number: int) -> CandidateMaker:
        space = self.spaces[number]
        pipeline = space.constraints.pipeline
        others = () if space.is_sufficient else self._all_spaces
        judges = [
            judge
            for judge in others
            if judge.is_sufficient and judge.constraints.pipeline == pipeline
        ]
        return CandidateMaker(space, number, judges, self._miscompilations)

    def _present_options(self, configuration: Configuration) -> dict[str, int]:
        """Return the options that a configuration sets."""
        translation = configuration.translation_info
        if translation is None:
            return {}
        options = self._options.get(str(configuration.pipeline), ())
        return read_options(configuration.lowering_config, translation, options)

    def _in_space(self, configuration: Configuration, origin: CandidateOrigin) -> Candidate:
        """Return a configuration as a candidate of the first space in which it is valid."""
        text = written(configuration)
        decomposition = configuration.decomposition_config
        candidate = Candidate(
            str(configuration.pipeline), {}, text, str(decomposition or ""), origin
        )
        for number, space in enumerate(self.spaces):
            if space.constraints.pipeline != candidate.pipeline:
                continue
            try:
                knobs = dict(space.assignment(configuration))
                verdict = space.constraints.check(knobs, CHECKING).verdict
                knobs |= self._present_options(configuration)
            except (MismatchError, AssignmentError, UndecidedError):
                continue
            if verdict is not Verdict.REFUTED:
                return Candidate(
                    candidate.pipeline, knobs, text, candidate.decomposition, origin, number
                )
        return candidate


def _unlike(candidate: Candidate, others: Iterable[Candidate | None]) -> list[Candidate]:
    """Return the candidates that differ from a given one, without duplicates."""
    made = {other.key: other for other in others if other is not None}
    made.pop(candidate.key, None)
    return list(made.values())


def _text(dispatch: Workload) -> str:
    """Return the function of a dispatch with its target, as text that parses in a separate module."""
    function = dispatch.function.clone().operation
    if dispatch.target is not None:
        function.attributes[names.EXECUTABLE_TARGET] = dispatch.target
    return str(function.get_asm(use_local_scope=True))


def _pipelines(default: Configuration, registry: ProviderRegistry) -> list[str]:
    """Return the pipelines to query: the default's, and all others for the same GPUs."""
    own = str(default.pipeline)
    pipelines = {pipeline for provider in registry.all() for pipeline in provider.pipelines or ()}
    attribute = own.partition("<")[0]
    others = sorted(pipeline for pipeline in pipelines if pipeline.startswith(f"{attribute}<"))
    if attribute == _CPU:
        others = [_DOUBLE_TILING] if own != _DOUBLE_TILING and own in _VECTORIZING else []
    return list(dict.fromkeys((own, *others)))


_CPU: Final = "#iree_cpu.pipeline"
_DOUBLE_TILING: Final = "#iree_cpu.pipeline<DoubleTilingExpert>"
_VECTORIZING: Final = frozenset({"#iree_cpu.pipeline<ConvTileAndDecomposeExpert>"})
"""The pipelines that the general one may replace."""
