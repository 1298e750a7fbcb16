"""Candidates of tasks, and the problems that they solve, as plain data.

The modules of this package create candidates from search spaces and given configurations, and compile them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree import Role
from tuninglink.mlir import names, thread_context
from tuninglink.plain_data import HIDDEN

if TYPE_CHECKING:
    from tuninglink.spaces.model import Problem


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
        origin: its origin.
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
        decomposition = {names.DECOMPOSITION_CONFIG: self.decomposition}
        return {
            names.COMPILATION_INFO: self.configuration,
            **(decomposition if self.decomposition else {}),
        }

    def __str__(self) -> str:
        if self.origin is CandidateOrigin.REWRITING:
            return f"{names.UNROLLED_LOOPS} = {self.configuration}"
        if not self.knobs:
            return self.configuration
        knobs = ", ".join(f"{name} = {value}" for name, value in self.knobs.items())
        return f"{self.pipeline} {knobs}"


def rewriting_candidate(default: Candidate, copies: Sequence[int]) -> Candidate:
    """Return the candidate that rewrites the op.

    Args:
        default: the compiler's choice; the compiler is expected to choose its pipeline for the new ops, too.
        copies: the number of copies by loop, 0 for the other loops.
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
    """

    kind: str
    sizes: tuple[int | None, ...]
    roles: tuple[str, ...]
    element_types: tuple[str, ...]
    limits: Mapping[str, int]

    @classmethod
    def of(cls, problem: Problem, limits: Mapping[str, int]) -> SearchProblem:
        """Return a constraint problem as plain data, with limits of the device in addition to the target's."""
        return cls(
            problem.kind.value,
            tuple(dimension.size for dimension in problem.dimensions),
            tuple(dimension.role.value for dimension in problem.dimensions),
            problem.element_types,
            {**problem.limits, **limits},
        )

    @property
    def reduction(self) -> int:
        """The number of values summed for one element of the result, at least 1."""
        sizes = zip(self.roles, self.sizes, strict=True)
        return math.prod(size or 1 for role, size in sizes if side_of(role) == "k")

    def __str__(self) -> str:
        sizes = "x".join("?" if size is None else str(size) for size in self.sizes)
        return " ".join(filter(None, (self.kind, sizes, "x".join(self.element_types))))


_DESCRIPTION: Final = re.compile(r"(\S+) ([\dx]+) (\S+)")


def distance(one: str, other: str) -> float:
    """Return the distance of two problems in the syntax of `str`: the sum of the base-2 logarithms of size ratios.

    It is infinite if the kinds, element types or numbers of loops differ, or if a size is dynamic.
    """
    read = [_DESCRIPTION.fullmatch(text) for text in (one, other)]
    if read[0] is None or read[1] is None:
        return math.inf
    sizes = [[int(size) for size in match[2].split("x")] for match in read if match]
    alike = read[0].group(1, 3) == read[1].group(1, 3) and len(sizes[0]) == len(sizes[1])
    if not alike:
        return math.inf
    return sum(abs(math.log2(left / right)) for left, right in zip(*sizes, strict=True))


_ROLES: Final = {
    "m": (Role.M, Role.OUTPUT_IMAGE),
    "n": (Role.N, Role.OUTPUT_CHANNEL),
    "k": (Role.K, Role.K1, Role.K2, Role.FILTER, Role.INPUT_CHANNEL, Role.REDUCTION),
}
_SIDES: Final = {role.value: side for side, roles in _ROLES.items() for role in roles}
_WIDTH: Final = re.compile(r"\d+")


def side_of(role: str) -> str:
    """Return the side of a role: `m`, `n`, `k`, or `b` for batches and all others."""
    return _SIDES.get(role, "b")


def operand_bytes(problem: SearchProblem) -> float:
    """Return the bytes of an element of the first operand."""
    width = _WIDTH.search(problem.element_types[0]) if problem.element_types else None
    return int(width[0]) / 8 if width else 4.0


def logarithm(value: float) -> float:
    """Return the logarithm to the base of 2, and -1 for numbers without one."""
    return math.log2(value) if value > 0 else -1.0
