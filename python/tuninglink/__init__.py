"""Tuninglink: the toolchain around tuning specs for IREE.

A tuning spec is a transform-dialect library that overrides the compiler's heuristics, dispatch by dispatch.

    import tuninglink

    linked = tuninglink.link(["mine.mlir"], target="gfx942")
    result = tuninglink.compile("model.mlir", specs=linked, flags="--iree-hal-target-device=hip")
"""

from typing import TYPE_CHECKING

from tuninglink.lazy import lazy_getattr

if TYPE_CHECKING:
    from tuninglink.compiler import compile  # noqa: A004 - as `re.compile` is
    from tuninglink.errors import (
        CompileError,
        PipelineError,
        SpecError,
        TargetError,
        TuninglinkError,
    )
    from tuninglink.explaining import Explanation, explain
    from tuninglink.iree.targets import Target
    from tuninglink.payloads import Payload, PayloadError, payload_for
    from tuninglink.scaffolding import InitSpec, init_spec
    from tuninglink.specs.default_library import default_spec
    from tuninglink.specs.linking.linker import link
    from tuninglink.specs.spec import Spec, load_spec
    from tuninglink.upgrading import Upgraded, upgrade

__all__ = [
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
    "TuninglinkError",
    "Upgraded",
    "compile",
    "default_spec",
    "explain",
    "init_spec",
    "link",
    "load_spec",
    "payload_for",
    "upgrade",
]

_HOMES = {
    **dict.fromkeys(
        ("CompileError", "PipelineError", "SpecError", "TargetError", "TuninglinkError"), "errors"
    ),
    **dict.fromkeys(("Payload", "PayloadError", "payload_for"), "payloads"),
    "Spec": "specs.spec",
    "Target": "iree.targets",
    "compile": "compiler",
    "default_spec": "specs.default_library",
    "InitSpec": "scaffolding",
    "explain": "explaining",
    "init_spec": "scaffolding",
    "Explanation": "explaining",
    "link": "specs.linking.linker",
    "load_spec": "specs.spec",
    "Upgraded": "upgrading",
    "upgrade": "upgrading",
}

__getattr__ = lazy_getattr(__name__, _HOMES)  # a command imports only the names that it uses


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
