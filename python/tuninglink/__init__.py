"""Tuninglink: the toolchain around tuning specs for IREE.

A tuning spec is a transform-dialect library that overrides the compiler's heuristics, dispatch by dispatch.

    import tuninglink

    linked = tuninglink.link(["mine.mlir"], target="gfx942")
    result = tuninglink.compile("model.mlir", specs=linked, flags="--iree-hal-target-device=hip")
"""

from typing import TYPE_CHECKING

from tuninglink.lazy import lazy_getattr

if TYPE_CHECKING:
    from tuninglink.checking.api import check
    from tuninglink.checking.check_report import CheckReport
    from tuninglink.compiler import compile  # noqa: A004 - as `re.compile` is
    from tuninglink.compiler.api import link
    from tuninglink.errors import (
        CompileError,
        PipelineError,
        SpecError,
        TargetError,
        TuninglinkError,
    )
    from tuninglink.explaining import Explanation, explain
    from tuninglink.iree.targets import Target
    from tuninglink.opt.api import run_passes
    from tuninglink.payloads import Payload, PayloadError, payload_for
    from tuninglink.scaffolding import InitSpec, init_spec
    from tuninglink.specs.default_library import default_spec
    from tuninglink.specs.spec import Spec, load_spec
    from tuninglink.tuning.programs import CallOptions
    from tuninglink.tuning.settings import TuningSettings
    from tuninglink.tuning.tune import Tuned, tune
    from tuninglink.tuning.verification import Verification, verify
    from tuninglink.upgrading import Upgraded, upgrade

__all__ = [
    "CallOptions",
    "CheckReport",
    "CompileError",
    "Explanation",
    "InitSpec",
    "Payload",
    "PayloadError",
    "PipelineError",
    "Spec",
    "SpecError",
    "Target",
    "TargetError",
    "Tuned",
    "TuningSettings",
    "TuninglinkError",
    "Upgraded",
    "Verification",
    "check",
    "compile",
    "default_spec",
    "explain",
    "init_spec",
    "link",
    "load_spec",
    "payload_for",
    "run_passes",
    "tune",
    "upgrade",
    "verify",
]

_HOMES = {
    **dict.fromkeys(
        ("CompileError", "PipelineError", "SpecError", "TargetError", "TuninglinkError"), "errors"
    ),
    **dict.fromkeys(("Payload", "PayloadError", "payload_for"), "payloads"),
    "Spec": "specs.spec",
    "Target": "iree.targets",
    "CallOptions": "tuning.programs",
    "CheckReport": "checking.check_report",
    "TuningSettings": "tuning.settings",
    "Verification": "tuning.verification",
    "check": "checking.api",
    "run_passes": "opt.api",
    **dict.fromkeys(("Tuned", "tune"), "tuning.tune"),
    "verify": "tuning.verification",
    "compile": "compiler",
    "default_spec": "specs.default_library",
    "InitSpec": "scaffolding",
    "explain": "explaining",
    "init_spec": "scaffolding",
    "Explanation": "explaining",
    "link": "compiler.api",
    "load_spec": "specs.spec",
    "Upgraded": "upgrading",
    "upgrade": "upgrading",
}

__getattr__ = lazy_getattr(__name__, _HOMES)  # a command imports only the names that it uses


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
