"""Predictions: for each problem of a program, the configuration that a model expects to be faster than the compiler's.

`predicted_spec` makes the configure entries of `library:predicted`, `predicted_forms` its replace entries. Problems outside
of the cache are decided in worker processes.
"""

from __future__ import annotations

import json
import random
import re
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache, partial
from hashlib import sha256
from importlib import metadata
from itertools import product
from math import inf, log2, prod
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.emission import FORMS, NoMatcherError, SpecEntry, matcher_key, write_spec
from tuninglink.errors import Diagnostic, Severity, TuninglinkError
from tuninglink.files import make_directory, write_file
from tuninglink.forms import PaddedAttention, attention_needs, forms_of
from tuninglink.iree import (
    WORKGROUP,
    WORKGROUP_SIZE,
    Target,
    find_dispatches,
    find_root_ops,
    function_ops,
)
from tuninglink.mlir import FreshNames, collect, names, symbols, thread_context
from tuninglink.predicting.model import GainModel, model_for, model_names
from tuninglink.replacing import COLUMNS, FEATURES, KEYS, QUERIES, Attention, NoFormError, spec
from tuninglink.scaffolding import LeftOut, ProgramReader, StartingPoint, can_be_predicted
from tuninglink.solver import Limits, Verdict
from tuninglink.spaces import ProviderRegistry, verify_configuration
from tuninglink.spaces.cpu import CpuProvider
from tuninglink.spaces.gpu import GpuProvider
from tuninglink.spaces.model import (
    Configuration,
    OneOfKnob,
    configuration_from,
    read_workload,
)
from tuninglink.spaces.spirv import SpirvProvider
from tuninglink.specs import (
    EXPECTED_SPEEDUP,
    LEAST_SPEEDUP,
    NOT_PREDICTED,
    PREDICTED,
    PROVENANCE,
    THREADS,
    WRONG_DEFAULT,
    bind,
    cache_directory,
    expected_gain,
    load_spec,
    provenance_attribute,
)
from tuninglink.tuning.candidates import Candidate, CandidateSpaces, configure
from tuninglink.workers import Pool, processor_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tuninglink.spaces.model import Knob, Workload
    from tuninglink.tuning.candidates import SearchProblem


_DRAWN: Final = 64
"""The number of candidates that are drawn from the spaces of a problem where the compiler's choice has a known flaw."""

_PROVEN: Final = 4
_LIKELY: Final = 32
"""The number of best candidates of which one must be proven valid, and of those among which they are sought; of all, where
the compiler's choice has a known flaw."""

_CHECKING: Final[Limits] = Limits(seconds=10.0, solver_seconds=10.0, steps=5000)
"""The limits of each check. An answer that took as long may depend on how busy the machine was."""

_IN_PROCESS: Final = 2
"""The number of problems that are decided in this process: a worker takes a second to start."""

_MOST_WORKERS: Final = 8

_KEPT: Final = "other dispatches with the same op keep the compiler's choice"


@dataclass(frozen=True)
class Prediction:
    """What is predicted for a problem.

    Attributes:
        attributes: the attributes that configure the root op, by name, in MLIR syntax; empty if the compiler's choice stays.
        expected: the expected speedup over the compiler's choice: its time divided by that of the prediction.
        least: the lower bound of the speedup.
        fault: why the compiler's choice computes wrong results; empty if that is not known.
        reason: why nothing is predicted; empty for a prediction.
        is_final: whether another attempt would give the same.
    """

    attributes: Mapping[str, str]
    expected: float = 1.0
    least: float = 1.0
    fault: str = ""
    reason: str = ""
    is_final: bool = True

    @property
    def configuration(self) -> Configuration:
        """The configuration of the root op."""
        return _configuration(self.attributes)

    def provenance(self, version: str, model: GainModel | None) -> dict[str, object]:
        """Return the provenance of an entry that a model, or another of this version, predicts."""
        threads = model.provenance.cores if model else 0
        return {
            "source": PREDICTED,
            "model": version,
            EXPECTED_SPEEDUP: round(self.expected, 3),
            LEAST_SPEEDUP: round(self.least, 3),
            **({THREADS: threads} if threads else {}),
            **({WRONG_DEFAULT: self.fault} if self.fault else {}),
        }


@dataclass(frozen=True)
class Question:
    """A problem with the compiler's choice, as text, so that another process can read it.

    Attributes:
        function: the function around the root op, without a configuration, with its target.
        default: the attributes that configure the root op as the compiler does.
    """

    function: str
    default: tuple[tuple[str, str], ...]

    def key(self, model: str) -> str:
        """Return a hash of everything that an answer by a model depends on."""
        parts = [*_versions(), _RULES, model, self.function, *self.default]
        return sha256(json.dumps(parts).encode()).hexdigest()


_RULES: Final = 4
"""The version of the search for a candidate, which changes what a model answers."""


@cache
def _versions() -> tuple[str, ...]:
    return tuple(metadata.version(package) for package in ("tuninglink", "iree-base-compiler"))


def predicted_spec(
    sources: bytes, configure: Callable[[bytes], bytes], report: Callable[[Diagnostic], None]
) -> str:
    """Make the spec of `library:predicted` for a program; see `SpecMaker`.

    The provenance of an entry has the expected speedup and its lower bound, that of the spec the dispatches without a
    prediction, with reasons.
    """
    # 1. The targets with a model. Those of one name may differ in features.
    dispatches = find_dispatches(mlir.Module.parse(sources, thread_context()).operation)
    models = [(str(each.target), model_for(each.target)) for each in dispatches if each.target]
    for name in dict.fromkeys(name for name, model in models if model is None):
        others = ", ".join(model_names()) or "none"
        message = f"nothing is predicted for {name}: there is no model for it; known: {others}"
        report(Diagnostic(Severity.REMARK, message))
    if not any(model for _, model in models):
        return write_spec(PREDICTED, [])
    # 2. The problems with the compiler's choices: matchers see only the root op, but each function around it is asked.
    reader = ProgramReader(sources, configure(sources))
    left_out = list(reader.left_out)
    asked: dict[Question, str] = {}
    kept: set[tuple[str, str, str]] = set()
    groups: dict[tuple[str, str, str], list[tuple[StartingPoint, list[Question]]]] = {}
    for point in reader.points:
        versions = _questions(point)
        (form, matcher), reason = _matcher(point.workload), ""
        if not all(versions.values()):
            reason = f"there is no model for {point.target}"
        elif not can_be_predicted(point.workload):
            reason = "it computes element by element or moves data"
        elif point.workload.static_sizes is None:
            reason = "its sizes are dynamic"
        elif not form:
            reason = "no matcher fits its root op"
        key = form, matcher, point.target
        if reason:
            kept.add(key)
            left_out.append(LeftOut(point.dispatches, point.words, reason))
        else:
            asked |= versions
            groups.setdefault(key, []).append((point, [*versions]))
    kept |= set(_beside(reader))
    # 3. An entry for each prediction that all dispatches that its matcher accepts share.
    fresh, entries = FreshNames([]), list[SpecEntry]()
    answers = predictions(asked)
    for key, group in groups.items():
        found = [answers[question] for _, questions in group for question in questions]
        is_shared = all(one.attributes == found[0].attributes for one in found)
        if key in kept or not is_shared or found[0].reason:
            for point, questions in group:
                why = [answers[question].reason for question in questions]
                reason = why[0] if all(why) else _KEPT
                left_out.append(LeftOut(point.dispatches, point.words, reason))
            continue
        point, questions = group[0]
        together = [name for each, _ in group for name in each.dispatches]
        label, target = fresh.take(point.label), Target.parse(point.target)
        least = min(one.least for one in found)
        shared = replace(found[0], expected=min(one.expected for one in found), least=least)
        provenance = shared.provenance(asked[questions[0]], model_for(target))
        provenance |= reader.record(together, point.words)
        entry = SpecEntry(label, point.workload, key[0], shared.attributes, provenance, target)
        entries.append(entry)
    module = mlir.Module.parse(write_spec(PREDICTED, entries), thread_context()).operation
    with module.context, mlir.Location.unknown():
        reasons = {left.dispatches[0]: left.reason for left in left_out}
        about = {"source": PREDICTED, NOT_PREDICTED: reasons}
        module.attributes[PROVENANCE] = provenance_attribute(about)
    return str(module)


def _questions(point: StartingPoint) -> dict[Question, str]:
    """Return the distinct functions around a root op, each with the version of its model; empty if there is none."""
    return dict(_question(workload, point.attributes) for workload in point.workloads)


def _question(workload: Workload, attributes: Mapping[str, str]) -> tuple[Question, str]:
    """Return the question for a root op that the compiler configures with attributes, and the version of its model."""
    function, model = workload.function.clone().operation, None
    function.attributes["sym_name"] = mlir.StringAttr.get(PREDICTED, function.context)
    if workload.target is not None:
        function.attributes[names.EXECUTABLE_TARGET] = workload.target
        model = model_for(Target.from_attribute(workload.target))
    text = str(function.get_asm(use_local_scope=True))
    return Question(text, tuple(attributes.items())), model.key if model else ""


def _beside(reader: ProgramReader) -> Iterator[tuple[str, str, str]]:
    """Yield the matchers of ops beside root ops, and of those in dispatches that a reader leaves out, with targets."""
    read = {name for point in reader.points for name in point.dispatches}
    for dispatch in reader.dispatches:
        for each in find_root_ops(dispatch.module):
            own = each.roots if dispatch.name in read else ()
            for op in function_ops(each.function).computing:
                workload = read_workload(op, each.function, dispatch.module)
                if op not in own and can_be_predicted(workload):
                    yield *_matcher(workload), str(dispatch.target)


def _matcher(workload: Workload) -> tuple[str, str]:
    """Return the most robust form of matchers for a root op, and the key of its matcher; empty if there is none."""
    for form in FORMS:
        with suppress(NoMatcherError):
            return form, matcher_key(workload, form)
    return "", ""


# --- Replacements whose gain is certain ----------------------------------------------------------

_FORM_GAINS: Final = {EXPECTED_SPEEDUP: 11.4, LEAST_SPEEDUP: 3.44}
"""The geometric mean and the least of the gains of eleven attentions, each alone in a program, on an H200, see "Predictions"
in `docs/benchmarks.md`."""

_LARGEST_HEAD: Final = 128
_MOST_PADDING: Final = 2.01
_LEAST_WORK: Final = 30.17
_LEAST_DIVIDED: Final = 33.64
"""Of the forms that were measured, the largest head, the largest factor by which one multiplied the operations (257 tokens,
heads of 80), and the least work, as a binary logarithm (12 times 157 tokens, heads of 64); of those whose sizes intrinsics
divide, 32 times 256 tokens, heads of 80."""


def predicted_forms(program: mlir.Operation, targets: Sequence[Target]) -> str:
    """Make the replace entries of `library:predicted` for a program at `preprocessing`; empty for none.

    An attention is padded where the compiler's choice uses intrinsics for the padded one only, it is as large as those that
    were measured, and it is padded no more than these. Of several forms it gets the first, which was always the fastest.
    """
    attentions, distinct = collect(program, names.ATTENTION), {*targets}
    if not attentions or len(distinct) != 1 or model_for(*distinct) is None:
        return ""
    # 1. The problems whose forms certainly gain.
    (target,) = distinct
    forms: dict[Attention, PaddedAttention] = {}
    for op in attentions:
        with suppress(NoFormError):
            problem = Attention.of(op)
            form, needs = forms_of(problem, target)[0], attention_needs(target, *problem.types[:3])
            if not isinstance(form, PaddedAttention):
                continue
            old, new = problem.loop_sizes, {**problem.loop_sizes, **dict(form.sizes)}
            own, padded = (
                sizes[QUERIES] * sizes[KEYS] * (sizes[FEATURES] + sizes[COLUMNS])
                for sizes in (old, new)
            )
            least = _LEAST_DIVIDED if any(need.divide(old) for need in needs) else _LEAST_WORK
            if (
                form.is_default
                and log2(max(1, prod(problem.sizes))) >= least
                and max(new[FEATURES], new[COLUMNS]) <= _LARGEST_HEAD
                and padded <= _MOST_PADDING * own
            ):
                forms[problem] = form
    if not forms:
        return ""
    # 2. Their entries, with provenance.
    text = spec([*forms.values()], as_written=True)
    made = load_spec(text.encode()).replacing
    module = mlir.Module.parse(text, thread_context()).operation
    with module.context, mlir.Location.unknown():
        for form, entry in zip(forms.values(), made.entries if made else (), strict=True):
            matcher, function = (symbols(module)[at] for at in (entry.matcher, entry.function))
            provenance = {"source": PREDICTED, **_FORM_GAINS}
            matcher.attributes[PROVENANCE] = provenance_attribute(provenance)
            bind(matcher, [target.name])
            gain = f"{expected_gain(provenance)}, as eleven like it on an H200"
            about = f"{form}; the default uses no intrinsic of {target}; expected: {gain}"
            function.attributes[names.FORM] = mlir.StringAttr.get(about)
    return str(module)


# --- The answers: from the cache, or by workers --------------------------------------------------


def predictions(asked: Mapping[Question, str]) -> dict[Question, Prediction]:
    """Return the predictions for problems, each with the version of its model."""
    folder = cache_directory() / "predictions"
    files = {question: folder / f"{question.key(asked[question])}.json" for question in asked}
    answers: dict[Question, Prediction] = {}
    for question, file in files.items():
        with suppress(OSError, ValueError, TypeError):
            answers[question] = Prediction(**json.loads(file.read_bytes()))
    unknown = [question for question in asked if question not in answers]
    for question, prediction in zip(unknown, _decided(unknown), strict=True):
        answers[question] = prediction
        if prediction.is_final:
            with suppress(TuninglinkError):  # the cache may be read-only
                make_directory(folder)
                write_file(files[question], json.dumps(asdict(prediction)))
    return {question: answers[question] for question in asked}


def _decided(asked: Sequence[Question]) -> Iterator[Prediction]:
    workers = min(processor_count(), _MOST_WORKERS, len(asked))
    with Pool(workers) if len(asked) > _IN_PROCESS else nullcontext() as pool:
        calls = [pool.submit(decide, one).result if pool else partial(decide, one) for one in asked]
        for call in calls:
            try:
                yield call()
            except Exception as failure:  # noqa: BLE001 - the compiler's choice stays
                yield Prediction({}, reason=f"it cannot be predicted: {failure}", is_final=False)


def predict(source: bytes, flags: Sequence[str]) -> Prediction:
    """Return the prediction for a benchmark of one dispatch, in a process whose command line holds the flags."""
    configured = configure(source, flags)
    workload, choice = configured.dispatch, configured.configuration
    if workload is None or choice is None or choice.pipeline is None:
        return Prediction({}, reason="the compiler does not configure it")
    if not can_be_predicted(workload):
        return Prediction({}, reason="it computes element by element or moves data")
    question, version = _question(workload, choice.attributes)
    return predictions({question: version})[question]


@lru_cache(1)
def _registry() -> ProviderRegistry:
    # The compiler's own constraints prove nothing valid, and take a process.
    return ProviderRegistry(lambda _: None, [GpuProvider(), SpirvProvider(), CpuProvider()], tuple)


def decide(question: Question) -> Prediction:
    """Return the prediction for a problem."""
    started = monotonic()
    prediction = _decide(question)
    return replace(prediction, is_final=monotonic() - started < _CHECKING.solver_seconds)


def _decide(question: Question) -> Prediction:
    # 1. The problem, and its candidates.
    module = mlir.Module.parse(question.function, thread_context()).operation
    roots = [(root, op.function) for op in find_root_ops(module) for root in op.roots]
    if len(roots) != 1:
        return Prediction({}, reason="it has no single root op")
    workload, default = read_workload(*roots[0], module), _configuration(dict(question.default))
    model = None if workload.target is None else model_for(Target.from_attribute(workload.target))
    if model is None:
        return Prediction({}, reason="there is no model for its target")
    spaces = CandidateSpaces(workload, default, (), _registry(), {})
    fault, flaw = spaces.default_fault, spaces.default_flaw
    if not (model.knows(spaces.problem) or flaw):
        return Prediction({}, reason="the model was not trained on problems of this form and size")
    if not (spaces.default.knobs or flaw):
        return Prediction({}, reason="no space holds the compiler's choice")
    ranked = climb(spaces, model)
    # 2. The best of them that is proven valid. What the compiler's constraints allow may not be worth trying.
    reason, unproven = spaces.reason or "its space has no other configuration", 0
    for number, scored in enumerate(ranked if flaw else ranked[:_LIKELY]):
        guesses = (0.0, 0.0) if flaw and not fault else (scored.expected, scored.lower)
        expected, least = (2.0 ** float(guess) for guess in guesses)
        if least <= 1.0 and not flaw:
            if not number:
                gain = f"{expected:.2f} times as fast, at least {least:.2f}"
                reason = f"no gain is certain; the best: {gain}"
            break
        candidate = spaces.candidate(scored.candidate.pipeline, scored.candidate.knobs)
        reason = "the configurations expected to be fastest are not proven valid"
        if candidate is not None:
            configuration = _configuration(candidate.attributes)
            answer = verify_configuration(workload, configuration, _registry(), _CHECKING)
            if answer.verdict is Verdict.PROVEN:
                return Prediction(candidate.attributes, expected, least, fault)
            unproven += 1
            if unproven >= _PROVEN and not flaw:
                break
    return Prediction({}, fault=fault, reason=reason)


def _configuration(attributes: Mapping[str, str]) -> Configuration:
    parsed: dict[str, Any] = {
        name: mlir.Attribute.parse(text, thread_context()) for name, text in attributes.items()
    }
    return configuration_from(parsed)


# --- The search for the best candidate -----------------------------------------------------------

_MOST_SCORED: Final = (90, 60, 50)
"""The most candidates that each round scores. A score takes 0.1 ms, a check of an assignment a third of that."""

_FRONTIER: Final = 4
"""The candidates whose neighbors a round scores."""

_TILES: Final = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""The values of tiles, besides the size of the loop."""

_TILE: Final = re.compile(r"(?!workgroup_size|\w+_basis).*\[(\d+)\]")


@dataclass(frozen=True)
class Scored:
    """A candidate with its expected gain and the lower bound, as binary logarithms."""

    candidate: Candidate
    expected: float
    lower: float

    @property
    def rank(self) -> tuple[float, float]:
        """The order among candidates: the model's bounds hold for the one with the largest."""
        return -self.lower, -self.expected


def climb(
    spaces: CandidateSpaces, model: GainModel, drawn: Sequence[Candidate] = ()
) -> list[Scored]:
    """Return candidates reached from the compiler's choice, those first whose gain has the largest lower bound.

    On a GPU, the best drawn one, by default of a few, of each of three spaces (pipeline, intrinsic) is another start. Where
    the compiler's choice has a known flaw, tiles of a workgroup are beyond their loops only where its own are.
    """
    default, ranked, starts = spaces.default, list[Scored](), dict[int, Candidate]()
    if not default.knobs or any(name.startswith(WORKGROUP_SIZE) for name in default.knobs):
        drawn = drawn or spaces.sample(_DRAWN if spaces.default_flaw else _DRAWS, 0)
        drawn = [one for one in drawn if not _exceeds(spaces, one.knobs)]
        gains = model.gains(spaces.problem, default, drawn)
        scored = map(Scored, drawn, gains.expected.tolist(), gains.lower.tolist())
        for one in sorted(scored, key=lambda one: one.rank):
            if len(starts) < _STARTS and one.candidate.space not in starts:
                starts[one.candidate.space] = one.candidate
                ranked.append(one)
    for start in ((default,) if default.knobs else ()) + (*starts.values(),):
        ranked += _climb_from(start, spaces, model)
    # Two climbs may reach the same candidate.
    distinct = {(one.candidate.space, *sorted(one.candidate.knobs.items())): one for one in ranked}
    return sorted(distinct.values(), key=lambda one: one.rank)


_DRAWS: Final = 24
_STARTS: Final = 3


def _climb_from(origin: Candidate, spaces: CandidateSpaces, model: GainModel) -> list[Scored]:
    """Return candidates reached from one of a space.

    A move changes all tiles of one loop, or another knob. Each round scores moves from the best candidates so far.
    """
    constraints = spaces.spaces[origin.space].constraints
    knobs = {knob.name: knob for knob in constraints.knobs}
    start = {name: origin.knobs[name] for name in knobs}
    options = {name: value for name, value in origin.knobs.items() if name not in knobs}
    is_wrong = origin is spaces.default and bool(spaces.default_flaw)
    broken = frozenset[int]() if is_wrong else constraints.broken_heuristics(start)

    def accepts(move: Mapping[str, int]) -> bool:
        after = {**start, **move}
        return not _exceeds(spaces, after) and constraints.accepts(after, _CHECKING, without=broken)

    # 1. The valid moves from it.
    moves = [move for move in _moves(spaces.problem, knobs, start) if accepts(move)]
    if any(name.startswith(WORKGROUP_SIZE) for name in knobs):
        # Threads follow the tiles that they share.
        refused = [
            {knob.name: value}
            for knob in constraints.knobs
            for value in _steps(knob, start)
            if value and start[knob.name] and not accepts({knob.name: value})
        ]
        for change in refused:
            violations = constraints.check({**start, **change}, _CHECKING).violations
            followers = {name for violation in violations for name in violation.knobs}
            pairs = (
                {**change, name: value}
                for name in sorted(followers - change.keys())
                for value in _steps(knobs[name], start)
                if start[name]
            )
            moves += filter(accepts, pairs)
    # 2. The best candidates by the model, and moves from them.
    chance = random.Random(0)  # noqa: S311 - not for cryptography
    scored: dict[tuple[int, ...], Scored] = {}
    ranked: list[Scored] = []
    frontier: list[dict[str, int]] = [start]
    for most in _MOST_SCORED:
        fresh: dict[tuple[int, ...], Candidate] = {}
        reached = [{**assignment, **move} for assignment in frontier for move in moves]
        chance.shuffle(reached)
        for changed in reached:
            key = tuple(changed.values())
            if len(fresh) == most:
                break
            if key not in scored and key not in fresh and changed != start and accepts(changed):
                fresh[key] = replace(origin, knobs={**changed, **options}, configuration=str(key))
        gains = model.gains(spaces.problem, spaces.default, [*fresh.values()])
        values = map(Scored, fresh.values(), gains.expected.tolist(), gains.lower.tolist())
        scored |= zip(fresh, values, strict=True)
        ranked = sorted(scored.values(), key=lambda one: one.rank)
        best = [one.candidate.knobs for one in ranked[:_FRONTIER]]
        frontier = [{name: values[name] for name in knobs} for values in best]
    return ranked


def _exceeds(spaces: CandidateSpaces, knobs: Mapping[str, int]) -> bool:
    """Return whether a tile of a workgroup is beyond its loop where the compiler's choice, which has a flaw, has none."""
    known, sizes = spaces.default.knobs, enumerate(spaces.problem.sizes)
    tiles = ((f"{WORKGROUP}[{loop}]", size or 0) for loop, size in sizes if spaces.default_flaw)
    return any(knobs.get(name, 0) > size >= known.get(name, 0) for name, size in tiles)


def _moves(
    problem: SearchProblem, knobs: Mapping[str, Knob], start: Mapping[str, int]
) -> Iterator[dict[str, int]]:
    """Yield changes of all tiles of a loop at once, from the outermost to the innermost, and of single knobs."""
    tiles: dict[int, list[str]] = {}
    for name in knobs:
        matched = _TILE.fullmatch(name)
        if matched and start[name] and int(matched[1]) < len(problem.sizes):
            tiles.setdefault(int(matched[1]), []).append(name)
        yield from ({name: value} for value in _steps(knobs[name], start))
    for loop, levels in tiles.items():
        size = problem.sizes[loop] or 1
        sizes = sorted({tile for tile in (*_TILES, size) if tile <= size}, reverse=True)
        for values in product(sizes, repeat=len(levels)):
            inside = [value or size for value in values]
            if inside == sorted(inside, reverse=True):
                yield dict(zip(levels, values, strict=True))


def _steps(knob: Knob, start: Mapping[str, int]) -> list[int]:
    value = start[knob.name]
    values = {value - 1, value + 1}
    if not isinstance(knob, OneOfKnob):
        values |= {value * 2, value // 2} if value else set(_TILES)
    low, high = knob.low or 0, inf if knob.high is None else knob.high
    return sorted(step for step in values - {value} if low <= step <= high)
