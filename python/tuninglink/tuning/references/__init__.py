"""References: the expected outputs of tasks, from computations independent of the tuned code, and verdicts on results."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.tuning.references.points import stored_tensors as stored_tensors
    from tuninglink.tuning.references.references import (
        HOST as HOST,
        SCALAR as SCALAR,
        SUM_REMEDY as SUM_REMEDY,
        ProgramReference as ProgramReference,
        Reference as Reference,
        ReferenceOutputs as ReferenceOutputs,
        References as References,
        compile_reference as compile_reference,
        compute_reference as compute_reference,
        narrow_sums as narrow_sums,
        program_reference_target as program_reference_target,
        reference_measurer as reference_measurer,
        set_up_process as set_up_process,
        sums_of as sums_of,
    )
    from tuninglink.tuning.references.reproducers import Reproducers as Reproducers
