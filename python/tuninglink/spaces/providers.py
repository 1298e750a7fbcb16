"""Configuration spaces of workloads, and the providers of spaces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.iree.op_kinds import OpKind
    from tuninglink.solver.answers import CheckAnswer, Limits
    from tuninglink.spaces.configuration import Configuration
    from tuninglink.spaces.constraint_set import ConstraintSet
    from tuninglink.spaces.workload import Workload


class Space(ABC):
    """The configurations of a workload in a pipeline.

    A verification reads a configuration in all spaces, and asks for the constraints of those that can. A space with
    many rules may have `constraints` as a property, and write them down when it is asked for them.

    Attributes:
        constraints: which of them are valid.
        is_sufficient: whether the configurations that the constraints accept compile.
    """

    constraints: ConstraintSet
    is_sufficient: ClassVar[bool] = True

    @property
    def provider(self) -> str:
        """Who says which of them are valid: the provider of the constraints."""
        return self.constraints.provider

    @abstractmethod
    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Returns the values that a configuration gives to the knobs.

        Raises:
            MismatchError: the configuration is not of the form that the constraints speak of.
        """

    def untiled(self, configuration: Configuration) -> frozenset[str]:  # noqa: ARG002
        """Returns the knobs that are 0 in a configuration and stand for all of a loop."""
        return frozenset()

    def check(self, assignment: Mapping[str, int], limits: Limits) -> CheckAnswer:
        """Tells whether the constraints accept an assignment; see `ConstraintSet.check`."""
        return self.constraints.check(assignment, limits)

    @abstractmethod
    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Returns the configuration that gives the knobs these values.

        Raises:
            AssignmentError: the values make no configuration.
        """


class Provider(ABC):
    """Knows the configuration spaces of some workloads.

    Attributes:
        name: what diagnostics call it.
        pipelines: the pipelines that it knows, as MLIR writes them; None for any.
        kinds: the kinds of root ops that it knows; None for any.
    """

    name: ClassVar[str]
    pipelines: ClassVar[frozenset[str] | None] = None
    kinds: ClassVar[frozenset[OpKind] | None] = None

    def knows(self, pipeline: str, kind: OpKind) -> bool:
        """Tells whether it is worth asking about workloads of a kind in a pipeline."""
        return (self.pipelines is None or pipeline in self.pipelines) and (
            self.kinds is None or kind in self.kinds
        )

    @abstractmethod
    def spaces(self, workload: Workload, pipeline: str) -> Sequence[Space]:
        """Returns the spaces of a workload in a pipeline, none if there are no constraints for it.

        Raises:
            UndecidedError: it cannot tell; says why.
        """
