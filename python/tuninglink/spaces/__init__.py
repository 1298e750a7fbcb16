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

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.iree import OpKind as OpKind, Role as Role
    from tuninglink.solver import (
        Assertion as Assertion,
        AssignmentError as AssignmentError,
        CheckAnswer as CheckAnswer,
        CountAnswer as CountAnswer,
        Expression as Expression,
        Grade as Grade,
        Limits as Limits,
        NearestAnswer as NearestAnswer,
        UndecidedError as UndecidedError,
        UnsatAnswer as UnsatAnswer,
        Verdict as Verdict,
        Violation as Violation,
        all_of as all_of,
        any_of as any_of,
        negation as negation,
        number as number,
        select as select,
    )
    from tuninglink.spaces.compiler_constraints import (
        SHARED_PASS_MANAGER as SHARED_PASS_MANAGER,
        CompilerProvider as CompilerProvider,
        CompilerSpace as CompilerSpace,
        FamilyConstraints as FamilyConstraints,
        FixedSize as FixedSize,
        IsolatedPassManager as IsolatedPassManager,
        UnsizedConstraints as UnsizedConstraints,
        knob_template as knob_template,
        read_constraints as read_constraints,
    )
    from tuninglink.spaces.knobs import (
        EVERYTHING as EVERYTHING,
        KNOBS as KNOBS,
        AllowedValues as AllowedValues,
        SelectionError as SelectionError,
        SpaceSelection as SpaceSelection,
        check_selection as check_selection,
        current_name as current_name,
        current_names as current_names,
        entries_of_knob as entries_of_knob,
        knob_values as knob_values,
        meaning as meaning,
        pipeline_name as pipeline_name,
        tiled_problem as tiled_problem,
        value_text as value_text,
    )
    from tuninglink.spaces.model import (
        Configuration as Configuration,
        ConstraintSet as ConstraintSet,
        ConstraintSetBuilder as ConstraintSetBuilder,
        Dimension as Dimension,
        IntegerKnob as IntegerKnob,
        Knob as Knob,
        MismatchError as MismatchError,
        OneOfKnob as OneOfKnob,
        Problem as Problem,
        Provider as Provider,
        Space as Space,
        Workload as Workload,
        read_configuration as read_configuration,
        read_workload as read_workload,
    )
    from tuninglink.spaces.provider_registry import ProviderRegistry as ProviderRegistry
    from tuninglink.spaces.verification import (
        ConfigurationAnswer as ConfigurationAnswer,
        Miscompilations as Miscompilations,
        Proposal as Proposal,
        broken_rules as broken_rules,
        replaced_entries as replaced_entries,
        verify_configuration as verify_configuration,
        verify_like_compiler as verify_like_compiler,
    )
