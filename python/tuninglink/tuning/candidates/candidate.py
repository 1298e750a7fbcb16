"""Candidates: configurations that may be tried, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from hashlib import sha256

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.plain_data import HIDDEN


class CandidateOrigin(Enum):
    """The origin of a candidate."""

    DEFAULT = "default"
    SPACE = "space"
    SPEC = "spec"


@dataclass(frozen=True)
class Candidate:
    """A configuration to try, as plain data independent of any MLIR context.

    Attributes:
        pipeline: the pipeline, in MLIR syntax.
        knobs: the values of the knobs and of the options of code generation that are set; empty if no space contains
            the configuration.
        configuration: the `#iree_codegen.compilation_info`, in MLIR syntax; a unique text if only the knobs were
            recorded.
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
        """The attributes that configure a root op, by name, in MLIR syntax."""
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
    """Return the attributes that a spec sets on a root op for a candidate."""
    return {
        name: mlir.Attribute.parse(text, context) for name, text in candidate.attributes.items()
    }
