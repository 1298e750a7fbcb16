"""The finite-domain solver: terms, bounds, search, counting and sampling, with Z3 as the fallback. No MLIR."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.solver.compiled import Judgements as Judgements
    from tuninglink.solver.decider import (
        Decider as Decider,
        Solver as Solver,
        TermWriter as TermWriter,
    )
    from tuninglink.solver.expressions import (
        Assumptions as Assumptions,
        Expression as Expression,
        SizeParameter as SizeParameter,
        all_of as all_of,
        any_of as any_of,
        negation as negation,
        number as number,
        select as select,
        term_of as term_of,
        unknown as unknown,
    )
    from tuninglink.solver.search import (
        CostLimit as CostLimit,
        changes as changes,
        divisors as divisors,
        nearest_by_search as nearest_by_search,
    )
    from tuninglink.solver.terms import (
        DEFAULT_LIMITS as DEFAULT_LIMITS,
        Assertion as Assertion,
        AssignmentError as AssignmentError,
        CheckAnswer as CheckAnswer,
        CountAnswer as CountAnswer,
        Deadline as Deadline,
        Grade as Grade,
        Kind as Kind,
        Limits as Limits,
        NearestAnswer as NearestAnswer,
        Term as Term,
        UndecidedError as UndecidedError,
        UnsatAnswer as UnsatAnswer,
        Verdict as Verdict,
        Violation as Violation,
        evaluate as evaluate,
        is_condition as is_condition,
        make as make,
    )
