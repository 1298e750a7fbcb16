"""Configuration spaces of workloads, and the providers of spaces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.iree import OpKind
    from tuninglink.solver import CheckAnswer, Limits
    from tuninglink.spaces.model.configuration import Configuration
    from tuninglink.spaces.model.constraint_set import ConstraintSet
    from tuninglink.spaces.model.workload import Workload


class Space(ABC):
    """The configurations of a workload in a pipeline.

    Verification reads a configuration in all spaces, and uses the constraints of the spaces that can read it. A space
    with many rules may define `constraints` as a property that builds them on first access.

    Attributes:
        constraints: the constraints on valid configurations.
        is_sufficient: whether all configurations that the constraints accept compile.
    """

    constraints: ConstraintSet
    is_sufficient: ClassVar[bool] = True

    @property
    def provider(self) -> str:
        """The name of the provider of the constraints."""
        return self.constraints.provider

    @abstractmethod
    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Return the values of the knobs in a configuration.

        Raises:
            MismatchError: the configuration does not have the form that the constraints cover.
        """

    def untiled(self, configuration: Configuration) -> frozenset[str]:  # noqa: ARG002
        """Return the knobs that are 0 in a configuration, which means the whole loop."""
        return frozenset()

    def check(self, assignment: Mapping[str, int], limits: Limits) -> CheckAnswer:
        """Return whether the constraints accept an assignment; see `ConstraintSet.check`."""
        return self.constraints.check(assignment, limits)

    @abstractmethod
    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Return the configuration that gives the knobs these values.

        Raises:
            AssignmentError: the values do not form a configuration.
        """

    def decomposition_config(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:  # noqa: ARG002
        """Return the configuration of the parts of an attention; None for other operations."""
        return None


class Provider(ABC):
    """A provider of the configuration spaces of some workloads.

    Attributes:
        name: its name in diagnostics.
        pipelines: the supported pipelines, as MLIR prints them; None for any.
        kinds: the supported kinds of root ops; None for any.
    """

    name: ClassVar[str]
    pipelines: ClassVar[frozenset[str] | None] = None
    kinds: ClassVar[frozenset[OpKind] | None] = None

    def knows(self, pipeline: str, kind: OpKind) -> bool:
        """Return whether the provider supports workloads of a kind in a pipeline."""
        return (self.pipelines is None or pipeline in self.pipelines) and (
            self.kinds is None or kind in self.kinds
        )

    @abstractmethod
    def spaces(self, workload: Workload, pipeline: str) -> Sequence[Space]:
        """Return the spaces of a workload in a pipeline, none if there are no constraints for it.

        Raises:
            UndecidedError: the spaces cannot be determined; the message gives the reason.
        """
