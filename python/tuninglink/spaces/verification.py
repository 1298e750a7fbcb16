"""The verification of a workload's configuration: the answer, the nearest valid configuration, known miscompilations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.errors import Severity, misspelt
from tuninglink.iree import (
    ENTRIES,
    MMA_KIND,
    PARALLEL,
    PIPELINE_OPTIONS,
    SUBGROUP,
    THREAD,
    TILE_AND_FUSE,
    OpKind,
    Role,
    StructuredOp,
    read_cpu_configuration,
    read_executable_target,
    shared_reductions,
    uses_igemm,
)
from tuninglink.solver import (
    DEFAULT_LIMITS,
    AssignmentError,
    Grade,
    Limits,
    UndecidedError,
    Verdict,
    Violation,
)
from tuninglink.spaces.compiler_constraints import CompilerProvider, CompilerSpace
from tuninglink.spaces.knobs import entries_of_knob
from tuninglink.spaces.model import (
    Configuration,
    MismatchError,
    MissingEntryError,
    NearMismatchError,
    OneOfKnob,
    UncompilableError,
    dictionary_of,
)

if TYPE_CHECKING:
    from tuninglink.spaces.model import Space, Workload
    from tuninglink.spaces.provider_registry import ProviderRegistry


def verify_configuration(
    workload: Workload,
    configuration: Configuration,
    registry: ProviderRegistry,
    limits: Limits = DEFAULT_LIMITS,
) -> ConfigurationAnswer:
    """Return whether a configuration is valid.

    It is refuted if it breaks a necessary rule of a provider. It is proven if the sufficient constraints of a provider
    accept it and no provider refutes it. The compiler's own constraints neither prove nor refute: they accept
    configurations that do not compile, and reject others that do. Entries with a default in code generation may be
    missing. If it is not refuted, and its code is known to compute wrong results, the answer has a violation of that
    grade. The limits are those of each query.
    """
    if configuration.pipeline is None:
        reason = "the function has no translation_info, so there is no pipeline"
        return ConfigurationAnswer(Verdict.NOT_DECIDED, "", reason=reason)
    pipeline, miscompilations = str(configuration.pipeline), Miscompilations.of(workload)
    try:
        spaces = registry.spaces(workload, pipeline)
    except UndecidedError as failure:
        wrong = miscompilations.violations(configuration)
        return ConfigurationAnswer(Verdict.NOT_DECIDED, pipeline, wrong, failure.reason)
    findings = [
        _Finding.of(space, configuration.complete, limits)
        for space in spaces
        # The compiler's own constraints accept padding, but do not cover it.
        if not isinstance(space, CompilerSpace)
        or _PADDING.isdisjoint(configuration.complete.entries)
    ]
    for finding in findings:
        if violations := finding.broken[Grade.NECESSARY]:
            propose = partial(finding.propose, configuration, limits)
            return ConfigurationAnswer(Verdict.REFUTED, pipeline, violations, propose=propose)
    return _weigh(findings, configuration, miscompilations, limits)


_ZERO: Final = "0 (all {})"
"""The display text of a tile of 0, which stands for the whole loop."""

_PADDING: Final = frozenset({"padding", "padding_conv"})


def broken_rules(
    spaces: Iterable[Space],
    configuration: Configuration,
    *grades: Grade,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Violation, ...]:
    """Return the rules of some grades that a configuration breaks in the first space of the pipeline where it breaks any."""
    findings = (_Finding.of(space, configuration.complete, limits) for space in spaces)
    broken = (finding.broken[grade] for finding in findings for grade in grades)
    return next(filter(None, broken), ())


def verify_like_compiler(
    workload: Workload, configuration: Configuration, limits: Limits = DEFAULT_LIMITS
) -> ConfigurationAnswer:
    """Return whether the compiler's own verifier accepts a configuration."""
    pipeline = str(configuration.pipeline)
    provider = CompilerProvider()
    try:
        kind = workload.problem.kind
        is_known = configuration.pipeline is not None and provider.knows(pipeline, kind)
        spaces = provider.spaces(workload, pipeline) if is_known else []
    except UndecidedError as failure:
        return ConfigurationAnswer(Verdict.NOT_DECIDED, pipeline, reason=failure.reason)
    findings = [_Finding.of(space, configuration, limits) for space in spaces]
    for finding in findings:
        if violations := finding.broken[Grade.COMPILER] or finding.lacks:
            propose = partial(finding.propose, configuration, limits)
            return ConfigurationAnswer(Verdict.REFUTED, pipeline, violations, propose=propose)
    if any(finding.assignment is not None for finding in findings):
        return ConfigurationAnswer(Verdict.PROVEN, pipeline)
    nothing = f"the compiler has no constraints for {workload.problem} in {pipeline}"
    reason = _join(finding.doubt for finding in findings) or nothing
    return ConfigurationAnswer(Verdict.NOT_DECIDED, pipeline, reason=reason)


@dataclass(frozen=True)
class _Finding:
    """The answer of one space: the knobs if it reads the configuration, broken rules, missing entries, and a doubt."""

    space: Space
    assignment: Mapping[str, int] | None
    broken: Mapping[Grade, tuple[Violation, ...]]
    lacks: tuple[Violation, ...] = ()
    doubt: str = ""
    untiled: frozenset[str] = frozenset()

    @classmethod
    def of(cls, space: Space, configuration: Configuration, limits: Limits) -> _Finding:
        origin = f"{space.provider}'s constraints of {configuration.pipeline}"
        form = f"{space.provider}'s constraints cover configurations of another form"
        broken: dict[Grade, tuple[Violation, ...]] = dict.fromkeys(Grade, ())
        near: NearMismatchError | None = None
        try:
            assignment = space.assignment(configuration)
        except UncompilableError as failure:
            broken[Grade.NECESSARY] = (Violation(str(failure), origin, knobs=failure.knobs),)
            return cls(space, None, broken)
        except NearMismatchError as failure:
            assignment, near = failure.assignment, failure
        except MismatchError as failure:
            is_missing = isinstance(failure, MissingEntryError)
            lacks = (Violation(str(failure), origin),) if is_missing else ()
            return cls(space, None, broken, lacks, f"{form}: {failure}")
        # Grade the violated rules, which display tiles of 0 as they are written.
        answer, untiled = space.check(assignment, limits), space.untiled(configuration)
        for violation in answer.violations:
            if not untiled.isdisjoint(violation.knobs):
                values = (
                    f"{knob} = {_ZERO.format(value.rpartition(' ')[2])}"
                    if knob in untiled
                    else value
                    for knob, value in zip(violation.knobs, violation.values, strict=True)
                )
                broken[violation.grade] += (replace(violation, values=tuple(values)),)
            else:
                broken[violation.grade] += (violation,)
        if near is not None:
            # Only rules that code generation needs apply to a configuration of another form.
            kept = (Grade.NECESSARY, Grade.SLOW)
            broken = {grade: broken[grade] if grade in kept else () for grade in Grade}
            read = assignment if broken[Grade.NECESSARY] else None
            return cls(space, read, broken, doubt=f"{form}: {near}", untiled=untiled)
        # Doubts remain only if no necessary rule is violated.
        doubt = answer.reason
        if broken[Grade.SUFFICIENT]:
            doubt = f"the compiler may refuse it: {_join(map(str, broken[Grade.SUFFICIENT]))}"
        elif broken[Grade.SLOW]:
            doubt = f"it may take minutes to compile: {_join(map(str, broken[Grade.SLOW]))}"
        elif not space.is_sufficient:
            doubt = f"only {space.provider}'s own constraints cover it, which accept what does not compile"
        return cls(space, assignment, broken, doubt=doubt, untiled=untiled)

    def propose(self, configuration: Configuration, limits: Limits) -> tuple[Proposal | None, str]:
        """Return the valid configuration in the space that is nearest to the user's, or why there is none."""
        if self.assignment is None:
            return None, ""
        space, assignment, constraints = self.space, self.assignment, self.space.constraints
        start = assignment
        # Code generation does not read misspelt entries, but their values are what the user wants.
        intended, lowering = configuration, configuration.lowering_config
        if isinstance(lowering, iree_gpu.LoweringConfigAttr):
            entries = dictionary_of(lowering) or {}
            right = {misspelt(name, ENTRIES): entry for name, entry in entries.items()}
            missing = {name: right[name] for name in right if name and name not in entries}
            if missing:
                with lowering.context:
                    attributes = mlir.DictAttr.get({**entries, **missing})
                    corrected = iree_gpu.LoweringConfigAttr.get(attributes)
                intended = replace(configuration, lowering_config=corrected)
        with suppress(MismatchError):
            start = space.assignment(intended.complete)
        answer = constraints.nearest(start, limits)
        # An invalid configuration needs one change; the right names may be all of it.
        needed = 1 if start is assignment else 0
        if len(answer.changed) > needed:
            # Preferences that the configuration does not follow do not justify changes of further knobs.
            ignored = constraints.broken_heuristics(start)
            direct = constraints.nearest(start, limits, without=ignored) if ignored else answer
            if direct.assignment is not None and len(direct.changed) < len(answer.changed):
                answer = direct
        if answer.assignment is None:
            if answer.verdict is Verdict.REFUTED:
                return None, "there is no valid configuration in this pipeline"
            return None, f"no valid configuration was found in time: {answer.reason}"
        info = None
        with suppress(AssignmentError):
            info = space.compilation_info(answer.assignment)
        valid = {**start, **answer.changed}
        names = (name for name in answer.assignment if valid[name] != assignment[name])
        changes = tuple((name, assignment[name], valid[name]) for name in names)
        knobs = (knob for knob in constraints.knobs if isinstance(knob, OneOfKnob))
        options = {knob.name: knob.options for knob in knobs}
        return Proposal(changes, info, answer.verdict is Verdict.PROVEN, self.untiled, options), ""


def _weigh(
    findings: Sequence[_Finding],
    configuration: Configuration,
    miscompilations: Miscompilations,
    limits: Limits,
) -> ConfigurationAnswer:
    """Return the answer about a configuration that no space refutes."""
    # Tuninglink's copies of the compiler's rules count only where the compiler has no constraints.
    read = [finding for finding in findings if finding.assignment is not None]
    judges = [finding for finding in read if isinstance(finding.space, CompilerSpace)] or read
    accepted = any(not judge.broken[Grade.COMPILER] for judge in judges)
    rejecting = None if accepted or not judges else judges[0]
    is_proven = any(
        finding.space.is_sufficient and not finding.doubt and not finding.broken[Grade.COMPILER]
        for finding in read
    )
    verdict = Verdict.PROVEN if is_proven else Verdict.NOT_DECIDED
    doubts: list[str] = []
    for finding in findings:
        refused = finding.broken[Grade.COMPILER]
        is_own = not isinstance(finding.space, CompilerSpace)
        if finding is not rejecting and refused and is_own:
            doubts.append(f"the compiler may refuse it: {_join(map(str, refused))}")
        elif finding is not rejecting:
            doubts.append(finding.doubt)
    reason = "" if is_proven else _join(doubts) or _REJECTED
    if not findings:
        reason = "no constraints cover its padding"
    # What may not compile is not decided yet; a crash is for code that compiles.
    grades = (Grade.WRONG, Grade.UNSAFE if is_proven else Grade.SLOW)
    objections = ((each, grade) for grade in grades for each in findings if each.broken[grade])
    other, grade = next(objections, (None, grades[0]))
    broken = () if other is None else other.broken[grade]
    wrong = miscompilations.violations(configuration, broken)
    discouraged = () if rejecting is None else rejecting.broken[Grade.COMPILER]
    answer = ConfigurationAnswer(
        verdict, str(configuration.pipeline), (*discouraged, *(wrong or broken)), reason
    )
    objecting = rejecting or other
    if objecting is None:
        return answer
    return replace(answer, propose=partial(objecting.propose, configuration, limits))


_REJECTED: Final = "the compiler's own constraints reject it, and may accept less than compiles"


def _join(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(filter(None, texts)))


@dataclass(frozen=True)
class ConfigurationAnswer:
    """The answer to whether a configuration is valid.

    Attributes:
        verdict: proven: the configuration compiles; refuted: it does not compile.
        violations: the broken rules: if refuted, those that code generation needs; otherwise those of the compiler's own
            constraints, then those that keep results right, the code from crashing, or compilation from taking minutes.
        reason: if not decided, why not.
        propose: finds the nearest valid configuration, or returns the reason why there is none.
    """

    verdict: Verdict
    pipeline: str
    violations: tuple[Violation, ...] = ()
    reason: str = ""
    propose: Callable[[], tuple[Proposal | None, str]] = field(
        default=lambda: (None, ""), repr=False, compare=False
    )

    @property
    def proposal(self) -> Proposal | None:
        """The nearest valid configuration if rules are broken, or None if none was found."""
        return self._proposed[0]

    @cached_property
    def _proposed(self) -> tuple[Proposal | None, str]:
        return self.propose()

    @property
    def miscompilation(self) -> str:
        """Why the code computes wrong results although it compiles; empty if no reason is known."""
        return next((str(rule) for rule in self.violations if rule.grade is Grade.WRONG), "")

    @property
    def severity(self) -> Severity | None:
        """The severity of the answer; None for a valid configuration that the compiler's constraints accept.

        Their objection to a valid one is a remark.
        """
        if self.verdict is Verdict.REFUTED:
            return Severity.ERROR
        grades = {violation.grade for violation in self.violations}
        is_proven = self.verdict is Verdict.PROVEN
        if grades and (grades != {Grade.COMPILER} or not is_proven):
            return Severity.WARNING
        return Severity.REMARK if grades or not is_proven else None

    def __str__(self) -> str:
        where = f"in pipeline {self.pipeline}"
        if self.violations:
            is_refuted, worst = self.verdict is Verdict.REFUTED, self.violations[0]
            objection = "the configuration is invalid" if is_refuted else _OBJECTIONS[worst.grade]
            return f"{objection} {where}: {worst}"
        if self.verdict is Verdict.NOT_DECIDED:
            return f"the configuration was not decided: {self.reason}"
        return f"the configuration is valid {where}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Further notes, one sentence each; the nearest valid configuration comes last."""
        proposal, why_none = self._proposed
        if proposal is not None:
            return (*self.further_violations, str(proposal))
        reason = why_none if self.verdict is Verdict.REFUTED else self.reason
        is_doubted = bool(self.violations and reason)
        return (*self.further_violations, *([reason] if is_doubted else ()))

    @property
    def knobs(self) -> tuple[str, ...]:
        """The invalid knobs of the first violation; those that the nearest valid configuration changes come first."""
        proposal, _ = self._proposed
        changes = () if proposal is None else proposal.changes
        factors = {name: max(old, new, 1) / max(1, min(old, new)) for name, old, new in changes}
        changed = sorted(factors, key=factors.__getitem__, reverse=True)
        violated = next((violation.knobs for violation in self.violations), ())
        both = [name for name in changed if name in violated]
        return tuple(dict.fromkeys((*both, *violated, *changed)))

    @property
    def further_violations(self) -> tuple[str, ...]:
        """The violations after the first, one sentence each."""
        return tuple(f"violated as well: {other}" for other in self.violations[1:])


_OBJECTIONS: Final = {
    Grade.COMPILER: "the compiler's own constraints would not choose the configuration",
    Grade.UNSAFE: "the code of the configuration may crash",
    Grade.WRONG: "the code of the configuration computes wrong results",
    Grade.SLOW: "the configuration may take minutes to compile",
}
"""The objections to a configuration that is not refuted, by the grade of the worst rule that it breaks."""

_NV_MMA_SYNC: Final = "NV_MMA_SYNC"
_TRANSPOSED_RESULT: Final = (
    "the innermost dimension of the result is an m dimension: with NV_MMA_SYNC intrinsics, IREE 3.13 puts elements of "
    "the accumulator at the places of others"
)


@dataclass(frozen=True)
class Miscompilations:
    """The configurations of an op whose code is known to compute wrong results (`docs/background/wrong-defaults.md`).

    Besides those that break a rule of the grade for it, these are those of TileAndFuse that distribute a reduction, and
    those with an `NV_MMA_SYNC` intrinsic whose m runs over the innermost dimension of the op's result (`ends_with_rows`).
    All intrinsics of a target of CUDA are `NV_MMA_SYNC` or WMMA intrinsics. Of the latter kind, 40 of 40 configurations of
    an NCHW 1x1 convolution on an NVIDIA H200 gave the same wrong elements, in both pipelines and with any promoted
    operands, and 16 of 16 without an intrinsic were right. For NCHW convolutions of other sizes, the code without implicit
    GEMM stores the fragments in the same order.
    """

    parallel: tuple[bool, ...]
    kind: OpKind
    ends_with_rows: bool
    is_for_cuda: bool

    @classmethod
    def of(cls, workload: Workload) -> Miscompilations:
        """Return the configurations of a root op that are miscompiled."""
        problem, ends_with_rows, op = workload.problem, False, StructuredOp(workload.root)
        if problem.kind in (OpKind.CONTRACTION, OpKind.CONVOLUTION):
            loops = op.operand_loops
            innermost = loops[-1][-1] if loops and loops[-1] else None
            role = None if innermost is None else problem.dimensions[innermost].role
            ends_with_rows = role in (Role.M, Role.OUTPUT_IMAGE)
        parallel = tuple(iterator == PARALLEL for iterator in op.iterator_types)
        target = read_executable_target(workload.target) if workload.target is not None else None
        is_for_cuda = target is not None and target.backend == "cuda"
        return cls(parallel, problem.kind, ends_with_rows, is_for_cuda)

    def fill(self, space: Space) -> bool:
        """Return whether all configurations of a space are miscompiled."""
        are_all = self.is_for_cuda and self.ends_with_rows and self.kind is OpKind.CONTRACTION
        return are_all and any(knob.name == MMA_KIND for knob in space.constraints.knobs)

    def violations(
        self, configuration: Configuration, broken: Iterable[Violation] = ()
    ) -> tuple[Violation, ...]:
        """Return why a configuration that breaks rules of spaces is miscompiled; empty if it is not known to be."""
        text = ""
        # The loops and rows of an implicit GEMM are others.
        if not uses_igemm(configuration.translation_info):
            for level in (THREAD, SUBGROUP) if str(configuration.pipeline) == TILE_AND_FUSE else ():
                if loops := shared_reductions(level, configuration.entries, self.parallel):
                    text = f"loop {loops[0]} is a reduction, and '{level}' has its {level}s add to one result at the same time"
            if self.ends_with_rows and _NV_MMA_SYNC in str(configuration.entries.get(MMA_KIND)):
                text = _TRANSPOSED_RESULT
        own = (Violation(text, "docs/background/wrong-defaults.md", grade=Grade.WRONG),)
        return (*own[: bool(text)], *(rule for rule in broken if rule.grade is Grade.WRONG))


@dataclass(frozen=True)
class Proposal:
    """The valid configuration that is nearest to another one.

    Attributes:
        changes: for each knob that differs, its name, its old and its new value.
        compilation_info: the whole configuration, None if the provider cannot write it.
        is_proven: whether it is proven to be the nearest; otherwise it is the best found within the time limit.
        untiled: the knobs whose old value is 0, which means the whole loop.
    """

    changes: tuple[tuple[str, int, int], ...]
    compilation_info: mlir.Attribute | None
    is_proven: bool
    untiled: frozenset[str] = frozenset()
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        which = "the nearest" if self.is_proven else "the nearest found in time"
        changes: list[str] = []
        for name, old, new in self.changes:
            options = self.options.get(name, ())
            if max(old, new) < len(options):
                changes.append(f"{name}: {options[old]} -> {options[new]}")
            else:
                changes.append(
                    f"{name}: {_ZERO.format(old) if name in self.untiled else old} -> {new}"
                )
        return f"{which} valid configuration: {', '.join(changes)}"


def replaced_entries(
    configuration: Configuration, proposal: Proposal | None
) -> tuple[tuple[str, str], ...]:
    """Return the entries of a configuration that a proposal changes, with their new values as text.

    They are empty if a changed knob is in another attribute, such as a `decomposition_config`.
    """
    info = None if proposal is None else proposal.compilation_info
    if proposal is None or not isinstance(info, iree_codegen.CompilationInfoAttr):
        return ()
    old = _texts(configuration.complete)
    translation = info.translation_info
    assert isinstance(translation, iree_codegen.TranslationInfoAttr)
    new = _texts(Configuration(info.lowering_config, translation))
    replaced = {name: text for name, text in new.items() if old.get(name) != text}
    for knob, _, _ in proposal.changes:
        if not any(entry in replaced for entry in entries_of_knob(knob)):
            return ()
    return tuple(replaced.items())


def _texts(configuration: Configuration) -> dict[str, str]:
    """Return the entries of a configuration as text."""
    levels = read_cpu_configuration(configuration.lowering_config)
    if levels is not None:
        return {level: str([*tiling.sizes]) for level, tiling in levels.items() if tiling}
    entries = dict(configuration.entries)
    options = entries.pop(PIPELINE_OPTIONS, None)
    entries |= {} if options is None else dictionary_of(options) or {}
    return {
        name: str(entry.value if isinstance(entry, mlir.IntegerAttr) else entry)
        for name, entry in entries.items()
    }
