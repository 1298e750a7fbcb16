"""Tuninglink: the toolchain around tuning specs for IREE.

A tuning spec is a transform-dialect library that overrides the compiler's heuristics, dispatch by dispatch.

    import tuninglink

    linked = tuninglink.link(["mine.mlir"], target="gfx942")
    result = tuninglink.compile("model.mlir", specs=linked, flags="--iree-hal-target-device=hip")
"""

from tuninglink.lazy import lazy_imports
from tuninglink.specs.program_libraries import PREDICTED, register

with lazy_imports(globals()):
    from tuninglink.checking import CheckReport as CheckReport, check as check
    from tuninglink.compiler import compile as compile, link as link  # noqa: A004 - as in `re`
    from tuninglink.errors import (
        CompileError as CompileError,
        Diagnostic as Diagnostic,
        PipelineError as PipelineError,
        Place as Place,
        Severity as Severity,
        SpecError as SpecError,
        TargetError as TargetError,
        TuninglinkError as TuninglinkError,
    )
    from tuninglink.explaining import Explanation as Explanation, explain as explain
    from tuninglink.iree import Target as Target
    from tuninglink.opt import run_passes as run_passes
    from tuninglink.payloads import (
        Payload as Payload,
        PayloadError as PayloadError,
        payload_for as payload_for,
    )
    from tuninglink.programs import CallOptions as CallOptions
    from tuninglink.scaffolding import InitSpec as InitSpec, init_spec as init_spec
    from tuninglink.specs import Spec as Spec, default_spec as default_spec, load_spec as load_spec
    from tuninglink.tuning import (
        Tuned as Tuned,
        Verification as Verification,
        tune as tune,
        verify as verify,
    )
    from tuninglink.tuning.deciding import TuningSettings as TuningSettings
    from tuninglink.upgrading import Upgraded as Upgraded, upgrade as upgrade

register(PREDICTED, "tuninglink.predicting", "predicted_forms", "predicted_spec")
