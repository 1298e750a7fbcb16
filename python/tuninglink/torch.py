"""Tuning programs of PyTorch: modules and exported programs, through the exporter of iree-turbine.

It needs the extra `torch`; `tune` needs the extra `tune` as well.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iree.turbine import aot

import tuninglink
from tuninglink.mlir.serialization import to_bytecode

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from tuninglink.compiler import Compilation
    from tuninglink.explaining import Explanation
    from tuninglink.tuning.results.task_result import TuningResult
    from tuninglink.tuning.settings import TuningSettings

__all__ = ["compile", "explain", "export", "tune"]


def export(
    model: torch.nn.Module | torch.export.ExportedProgram, arguments: Sequence[torch.Tensor] = ()
) -> bytes:
    """Returns a model as a program in MLIR bytecode, with its weights. Its function is `@main`.

    Args:
        model: a module, or an exported program.
        arguments: an example of the module's arguments, which gives their shapes and types; none for an exported
            program.
    """
    exported = aot.export(model, *arguments)
    return to_bytecode(exported.mlir_module)


def compile(  # noqa: A001 - as `tuninglink.compile`
    model: torch.nn.Module | torch.export.ExportedProgram,
    arguments: Sequence[torch.Tensor] = (),
    **options: Any,
) -> Compilation:
    """Compiles a model, tuned by specs.

    Args:
        model: see `export`.
        arguments: see `export`.
        options: those of `tuninglink.compile`, such as `specs` and `flags`.

    Raises:
        TuninglinkError: see `tuninglink.compile`.
    """
    return tuninglink.compile(export(model, arguments), **options)


def explain(
    model: torch.nn.Module | torch.export.ExportedProgram,
    arguments: Sequence[torch.Tensor] = (),
    **options: Any,
) -> Explanation:
    """Says what specs do to a model, dispatch by dispatch.

    Args:
        model: see `export`.
        arguments: see `export`.
        options: those of `tuninglink.explain`, such as `specs` and `flags`.

    Raises:
        TuninglinkError: see `tuninglink.explain`.
    """
    return tuninglink.explain(export(model, arguments), **options)


def tune(
    model: torch.nn.Module | torch.export.ExportedProgram,
    arguments: Sequence[torch.Tensor] = (),
    *,
    flags: Sequence[str],
    settings: TuningSettings,
) -> TuningResult:
    """Tunes a model on a device.

    Args:
        model: see `export`.
        arguments: see `export`.
        flags: flags of the compiler, such as `--iree-hal-target-device=local`.
        settings: how to tune.

    Returns:
        The spec, as text, and what was measured.

    Raises:
        TuninglinkError: see `tuninglink.tuning.calls.tune`.
    """
    from tuninglink.tuning import calls  # noqa: PLC0415 - the runtime may be missing

    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "model.mlirbc"
        program.write_bytes(export(model, arguments))
        return calls.tune(program, flags=flags, settings=settings)
