"""Search spaces: the valid configurations for a problem, a target and a pipeline, found by constraint solving.

The package is usable by itself: it does not depend on specs, and neither parses nor prints MLIR text.

    from tuninglink.spaces import ConstraintSetBuilder, IntegerKnob, OpKind, Problem

    builder = ConstraintSetBuilder()
    tile = builder.knob(IntegerKnob("tile", low=1))
    builder.require(640 % tile == 0, "it must divide 640", provenance="me")
    constraints = builder.build(Problem(OpKind.CONTRACTION), pipeline="#my.pipeline", provider="me")
    constraints.check({"tile": 48}).violations

Names are imported on first access, so that importing the package does not load Z3.
"""

from typing import TYPE_CHECKING

from tuninglink.lazy import lazy_getattr

if TYPE_CHECKING:
    from tuninglink.iree.op_kinds import OpKind, Role
    from tuninglink.solver import Assertion, Grade
    from tuninglink.solver.answers import (
        AssignmentError,
        CheckAnswer,
        CountAnswer,
        Limits,
        NearestAnswer,
        UndecidedError,
        UnsatAnswer,
        Verdict,
        Violation,
    )
    from tuninglink.solver.expressions import (
        Expression,
        all_of,
        any_of,
        negation,
        number,
        select,
    )
    from tuninglink.spaces.configuration import (
        Configuration,
        MismatchError,
        read_configuration,
    )
    from tuninglink.spaces.configuration_answers import ConfigurationAnswer
    from tuninglink.spaces.constraint_set import ConstraintSet
    from tuninglink.spaces.knobs import IntegerKnob, Knob, OneOfKnob
    from tuninglink.spaces.proposals import Proposal
    from tuninglink.spaces.provider_registry import ProviderRegistry
    from tuninglink.spaces.providers import Provider, Space
    from tuninglink.spaces.set_builder import ConstraintSetBuilder
    from tuninglink.spaces.verification import verify_configuration
    from tuninglink.spaces.workload import Dimension, Problem, Workload, read_workload

__all__ = [
    "Assertion",
    "AssignmentError",
    "CheckAnswer",
    "Configuration",
    "ConfigurationAnswer",
    "ConstraintSet",
    "ConstraintSetBuilder",
    "CountAnswer",
    "Dimension",
    "Expression",
    "Grade",
    "IntegerKnob",
    "Knob",
    "Limits",
    "MismatchError",
    "NearestAnswer",
    "OneOfKnob",
    "OpKind",
    "Problem",
    "Proposal",
    "Provider",
    "ProviderRegistry",
    "Role",
    "Space",
    "UndecidedError",
    "UnsatAnswer",
    "Verdict",
    "Violation",
    "Workload",
    "all_of",
    "any_of",
    "negation",
    "number",
    "read_configuration",
    "read_workload",
    "select",
    "verify_configuration",
]

_HOMES = {
    **dict.fromkeys(("AssignmentError", "Limits", "UndecidedError", "Verdict"), "solver.answers"),
    **dict.fromkeys(("CheckAnswer", "CountAnswer", "NearestAnswer"), "solver.answers"),
    **dict.fromkeys(("UnsatAnswer", "Violation"), "solver.answers"),
    **dict.fromkeys(("Assertion", "Grade"), "solver"),
    **dict.fromkeys(("Expression", "all_of", "any_of"), "solver.expressions"),
    **dict.fromkeys(("negation", "number", "select"), "solver.expressions"),
    "ConstraintSetBuilder": "spaces.set_builder",
    **dict.fromkeys(
        ("Configuration", "MismatchError", "read_configuration"), "spaces.configuration"
    ),
    "ConstraintSet": "spaces.constraint_set",
    **dict.fromkeys(("IntegerKnob", "Knob", "OneOfKnob"), "spaces.knobs"),
    **dict.fromkeys(("Dimension", "Problem"), "spaces.workload"),
    **dict.fromkeys(("OpKind", "Role"), "iree.op_kinds"),
    **dict.fromkeys(("Provider", "Space"), "spaces.providers"),
    **dict.fromkeys(("Workload", "read_workload"), "spaces.workload"),
    "ProviderRegistry": "spaces.provider_registry",
    "ConfigurationAnswer": "spaces.configuration_answers",
    "Proposal": "spaces.proposals",
    "verify_configuration": "spaces.verification",
}

__getattr__ = lazy_getattr(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
