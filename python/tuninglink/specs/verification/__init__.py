"""Verification of a spec as a whole: errors of the compiler, and faults that it does not diagnose."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.specs.verification.configuration_faults import (
        check_configurations as check_configurations,
    )
    from tuninglink.specs.verification.entry_checks import verify_spec as verify_spec
    from tuninglink.specs.verification.faults import KnobPlaces as KnobPlaces
    from tuninglink.specs.verification.kernel_checks import kernel_faults as kernel_faults
