"""Candidates: configurations that may be tried, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Mapping


class CandidateOrigin(Enum):
    """Where a candidate comes from."""

    DEFAULT = "default"
    SPACE = "space"
    SPEC = "spec"


@dataclass(frozen=True)
class Candidate:
    """A configuration that may be tried. It is plain data, and belongs to no context.

    Attributes:
        pipeline: the pipeline, as MLIR writes it.
        knobs: the values of the knobs; empty where no space speaks of the configuration.
        configuration: the `#iree_codegen.compilation_info`, as MLIR writes it; where only the knobs were recorded,
            something that is as unlike.
        decomposition: the `decomposition_config` of an attention, or nothing.
        origin: where it comes from.
        space: the number of its space, -1 where no space speaks of it.
    """

    pipeline: str
    knobs: Mapping[str, int] = field(hash=False)
    configuration: str
    decomposition: str = ""
    origin: CandidateOrigin = CandidateOrigin.SPACE
    space: int = -1

    @cached_property
    def key(self) -> str:
        """What tells the configuration from others: a hash of it."""
        return sha256(f"{self.configuration}\n{self.decomposition}".encode()).hexdigest()

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes that configure a root op, by name, as MLIR writes them."""
        decomposition = {names.DECOMPOSITION_CONFIG: self.decomposition}
        return {
            names.COMPILATION_INFO: self.configuration,
            **(decomposition if self.decomposition else {}),
        }

    def __str__(self) -> str:
        if not self.knobs:
            return self.configuration
        knobs = ", ".join(f"{name} = {value}" for name, value in self.knobs.items())
        return f"{self.pipeline} {knobs}"


def configuration_of(candidate: Candidate, context: mlir.Context) -> dict[str, mlir.Attribute]:
    """Return the attributes that a spec gives to a root op for a candidate."""
    return {
        name: mlir.Attribute.parse(text, context) for name, text in candidate.attributes.items()
    }
