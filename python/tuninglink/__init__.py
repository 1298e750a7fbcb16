"""Tuninglink: the toolchain around tuning specs for IREE.

A tuning spec is a transform-dialect library that overrides the compiler's heuristics, dispatch by dispatch.

    import tuninglink

    linked = tuninglink.link([tuninglink.load_spec("mine.mlir")], target="gfx942")
    result = tuninglink.compile("model.mlir", specs=[linked], flags=["--iree-hal-target-device=hip"])
"""

from importlib import import_module
from typing import TYPE_CHECKING

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
    from tuninglink.payloads import Payload, PayloadError, payload_for
    from tuninglink.spec.library import default_spec
    from tuninglink.spec.loading import load_spec
    from tuninglink.spec.model import Spec
    from tuninglink.spec.precedence import link
    from tuninglink.spec.targets import Target
    from tuninglink.upgrading import Upgraded, upgrade

__all__ = [
    "CompileError",
    "Explanation",
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
    "Spec": "spec.model",
    "Target": "spec.targets",
    "compile": "compiler",
    "default_spec": "spec.library",
    "explain": "explaining",
    "Explanation": "explaining",
    "link": "spec.precedence",
    "load_spec": "spec.loading",
    "Upgraded": "upgrading",
    "upgrade": "upgrading",
}


def __getattr__(name: str) -> object:
    """Imports a name when it is first asked for: a command pays only for what it uses."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
