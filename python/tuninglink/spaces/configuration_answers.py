"""Answers about configurations: validity, broken rules, the nearest valid configuration, and known miscompilations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tuninglink.iree.lowering_configs import (
    MMA_KIND,
    SUBGROUP,
    THREAD,
    TILE_AND_FUSE,
    shared_reductions,
    uses_igemm,
)
from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.iree.structured_op import PARALLEL, StructuredOp
from tuninglink.iree.targets import read_executable_target
from tuninglink.mlir.diagnostics import Severity
from tuninglink.solver.answers import Verdict, Violation
from tuninglink.spaces.configuration import Configuration

if TYPE_CHECKING:
    from tuninglink.spaces.proposals import Proposal
    from tuninglink.spaces.providers import Space
    from tuninglink.spaces.workload import Workload


@dataclass(frozen=True)
class ConfigurationAnswer:
    """The answer to whether a configuration is valid.

    Attributes:
        verdict: proven: the configuration compiles; refuted: it does not compile.
        pipeline: the pipeline that it configures, as MLIR prints it.
        violations: if refuted, the necessary rules that it breaks.
        discouraged: if not refuted, the rules of the compiler's own constraints that it breaks.
        unsafe: if not refuted, the broken rules that keep the code from crashing.
        slow: if not decided, the broken rules that keep compilation from taking minutes.
        reason: if not decided, why not.
        propose: finds the nearest valid configuration, or returns the reason why there is none.
    """

    verdict: Verdict
    pipeline: str
    violations: tuple[Violation, ...] = ()
    discouraged: tuple[Violation, ...] = ()
    unsafe: tuple[Violation, ...] = ()
    slow: tuple[Violation, ...] = ()
    reason: str = ""
    propose: Callable[[], tuple[Proposal | None, str]] = field(
        default=lambda: (None, ""), repr=False, compare=False
    )

    @property
    def proposal(self) -> Proposal | None:
        """If refuted, discouraged, unsafe or slow, the nearest valid configuration, or None if none was found."""
        return self._proposed[0]

    @cached_property
    def _proposed(self) -> tuple[Proposal | None, str]:
        """The proposal. The search runs on first access, since it takes longer than the verdict."""
        return self.propose()

    @property
    def severity(self) -> Severity | None:
        """The severity of the answer; None for a valid configuration that the compiler's constraints accept.

        Their objection to a valid one is a remark.
        """
        if self.verdict is Verdict.REFUTED:
            return Severity.ERROR
        is_proven = self.verdict is Verdict.PROVEN
        if self.unsafe or self.slow or (self.discouraged and not is_proven):
            return Severity.WARNING
        return Severity.REMARK if self.discouraged or not is_proven else None

    def __str__(self) -> str:
        if self.verdict is Verdict.REFUTED:
            return f"the configuration is invalid in pipeline {self.pipeline}: {self.violations[0]}"
        if self.discouraged:
            first = self.discouraged[0]
            who = "the compiler's own constraints would not choose the configuration"
            return f"{who} in pipeline {self.pipeline}: {first}"
        if self.unsafe:
            return f"the code of the configuration may crash in pipeline {self.pipeline}: {self.unsafe[0]}"
        if self.slow:
            return f"the configuration may take minutes to compile in pipeline {self.pipeline}: {self.slow[0]}"
        if self.verdict is Verdict.NOT_DECIDED:
            return f"the configuration was not decided: {self.reason}"
        return f"the configuration is valid in pipeline {self.pipeline}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Further notes, one sentence each; the nearest valid configuration comes last."""
        proposal, why_none = self._proposed
        if proposal is not None:
            return (*self.further_violations, str(proposal))
        is_doubted = self.discouraged or self.unsafe or self.slow
        reason = why_none if self.violations else self.reason if is_doubted else ""
        return (*self.further_violations, *filter(None, [reason]))

    @property
    def knobs(self) -> tuple[str, ...]:
        """The invalid knobs of the first violation; those that the nearest valid configuration changes come first."""
        proposal, _ = self._proposed
        changes = () if proposal is None else proposal.changes
        changed = [name for name, _, _ in sorted(changes, key=_factor, reverse=True)]
        violated = next((violation.knobs for violation in self._broken), ())
        both = [name for name in changed if name in violated]
        return tuple(dict.fromkeys((*both, *violated, *changed)))

    @property
    def further_violations(self) -> tuple[str, ...]:
        """The violations after the first, one sentence each."""
        return tuple(f"violated as well: {other}" for other in self._broken[1:])

    @property
    def _broken(self) -> tuple[Violation, ...]:
        return (*self.violations, *self.discouraged, *self.unsafe, *self.slow)


def _factor(change: tuple[str, int, int]) -> float:
    """Return the factor by which a change increases or decreases a knob."""
    _, old, new = change
    return max(old, new, 1) / max(1, min(old, new))


_TRANSPOSED_RESULT: Final = (
    "the innermost dimension of the result is an m dimension: with NV_MMA_SYNC intrinsics, IREE 3.13 puts elements of "
    "the accumulator at the places of others"
)


@dataclass(frozen=True)
class Miscompilations:
    """The configurations of an op whose code is known to compute wrong results.

    Measured on an NVIDIA H200 with code for sm_80, IREE 3.13.0: 40 of 40 configurations of an NCHW 1x1 convolution with
    an `NV_MMA_SYNC` intrinsic, in both pipelines and with any promoted operands, give the same wrong elements, and 16 of
    16 without an intrinsic are right (`docs/background/wrong-defaults.md`). For NCHW convolutions of other sizes, the code without
    implicit GEMM stores the fragments in the same order.

    Attributes:
        kind: the kind of the op.
        ends_with_rows: whether the m of an intrinsic runs over the innermost dimension of the op's result.
        is_for_cuda: whether all intrinsics of the target are `NV_MMA_SYNC` or WMMA intrinsics.
    """

    kind: OpKind
    ends_with_rows: bool
    is_for_cuda: bool

    @classmethod
    def of(cls, workload: Workload) -> Miscompilations:
        """Return the configurations of a root op that are miscompiled."""
        problem, ends_with_rows = workload.problem, False
        if problem.kind in (OpKind.CONTRACTION, OpKind.CONVOLUTION):
            loops = StructuredOp(workload.root).operand_loops
            innermost = loops[-1][-1] if loops and loops[-1] else None
            role = None if innermost is None else problem.dimensions[innermost].role
            ends_with_rows = role in (Role.M, Role.OUTPUT_IMAGE)
        target = read_executable_target(workload.target) if workload.target is not None else None
        return cls(problem.kind, ends_with_rows, target is not None and target.backend == "cuda")

    def fill(self, space: Space) -> bool:
        """Return whether all configurations of a space are miscompiled."""
        are_all = self.is_for_cuda and self.ends_with_rows and self.kind is OpKind.CONTRACTION
        return are_all and any(knob.name == MMA_KIND for knob in space.constraints.knobs)

    def reason(self, configuration: Configuration) -> str:
        """Return why a configuration is miscompiled; empty if no reason is known."""
        if not self.ends_with_rows or not _has_nv_mma_sync(configuration):
            return ""
        # The rows of such an implicit GEMM are the channels.
        return "" if uses_igemm(configuration.translation_info) else _TRANSPOSED_RESULT


def miscompilation(workload: Workload, configuration: Configuration) -> str:
    """Return why the configuration of a root op is miscompiled; empty if no reason is known."""
    reason = _shared_sum(workload, configuration)
    if reason or not _has_nv_mma_sync(configuration):
        return reason
    return Miscompilations.of(workload).reason(configuration)


def _shared_sum(workload: Workload, configuration: Configuration) -> str:
    """Return the level that distributes a reduction over threads that add to one result; empty if there is none."""
    translation = configuration.translation_info
    # The loops of an implicit GEMM are others.
    if str(configuration.pipeline) != TILE_AND_FUSE or uses_igemm(translation):
        return ""
    iterators = StructuredOp(workload.root).iterator_types
    parallel = [iterator == PARALLEL for iterator in iterators]
    for level in (THREAD, SUBGROUP):
        loops = shared_reductions(level, configuration.entries, parallel)
        if loops:
            return f"loop {loops[0]} is a reduction, and '{level}' has its {level}s add to one result at the same time"
    return ""


def _has_nv_mma_sync(configuration: Configuration) -> bool:
    return "NV_MMA_SYNC" in str(configuration.entries.get("mma_kind"))
