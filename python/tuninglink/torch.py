"""Tuning of PyTorch programs: modules and exported programs, through the exporter of iree-turbine.

It needs the extra `torch`; `tune` needs the extra `tune` as well.
"""

from __future__ import annotations

import copy
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from iree.turbine import aot
from torch.utils._pytree import tree_leaves, tree_map

import tuninglink
from tuninglink.mlir.serialization import to_bytecode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.compiler import Compilation
    from tuninglink.explaining import Explanation
    from tuninglink.tuning.programs.call_options import CallOptions
    from tuninglink.tuning.results.task_result import TuningResult
    from tuninglink.tuning.settings import TuningSettings

__all__ = ["compile", "explain", "export", "tune"]


def export(
    model: torch.nn.Module | torch.export.ExportedProgram, arguments: Sequence[torch.Tensor] = ()
) -> bytes:
    """Export a model as a program in MLIR bytecode, with its weights. Its function is `@main`.

    Args:
        model: a module, or an exported program.
        arguments: example arguments of the module, for their shapes and types; none for an exported program.
    """
    exported = aot.export(model, *arguments)
    return to_bytecode(exported.mlir_module)


def compile(  # noqa: A001 - as `tuninglink.compile`
    model: torch.nn.Module | torch.export.ExportedProgram,
    arguments: Sequence[torch.Tensor] = (),
    **options: Any,
) -> Compilation:
    """Compile a model with tuning specs.

    Args:
        model: see `export`.
        arguments: see `export`.
        options: options of `tuninglink.compile`, such as `specs` and `flags`.

    Raises:
        TuninglinkError: see `tuninglink.compile`.
    """
    return tuninglink.compile(export(model, arguments), **options)


def explain(
    model: torch.nn.Module | torch.export.ExportedProgram,
    arguments: Sequence[torch.Tensor] = (),
    **options: Any,
) -> Explanation:
    """Explain the effect of specs on a model, dispatch by dispatch.

    Args:
        model: see `export`.
        arguments: see `export`.
        options: options of `tuninglink.explain`, such as `specs` and `flags`.

    Raises:
        TuninglinkError: see `tuninglink.explain`.
    """
    return tuninglink.explain(export(model, arguments), **options)


def call_options(
    model: torch.nn.Module | torch.export.ExportedProgram,
    arguments: Sequence[Any],
    directory: Path,
) -> CallOptions:
    """Return a call of a model with its arguments and the results that PyTorch computes.

    Args:
        model: see `export`. It is not changed.
        arguments: see `export`. By default an exported program has those that it was exported with.
        directory: the directory for the values.

    Returns:
        The call. It has random inputs without example arguments, or if some are not tensors. It has no expected
        results for a model in training mode.
    """
    from tuninglink.tuning.programs.call_options import CallOptions, GivenInput  # noqa: PLC0415 - as in `tune`

    is_random = isinstance(model, torch.nn.Module) and model.training  # such as dropout
    if isinstance(model, torch.export.ExportedProgram):
        if not arguments and model.example_inputs is not None:
            arguments, keywords = model.example_inputs
            arguments = () if keywords else arguments
        model = model.module()
    inputs = _tensors(arguments)
    if not inputs:
        return CallOptions()
    given = [
        GivenInput("", f"@{_saved(tensor, directory / f'input{number}.npy')}")
        for number, tensor in enumerate(inputs)
    ]
    results = [] if is_random else _computed(model, arguments)
    expected = [
        GivenInput("", f"@{_saved(tensor, directory / f'expected{number}.npy')}")
        for number, tensor in enumerate(results)
    ]
    return CallOptions(inputs=tuple(given), expected=tuple(expected))


def _computed(model: torch.nn.Module, arguments: Sequence[Any]) -> list[torch.Tensor]:
    """Return the results of a model, in f32 where it can be converted; none if it cannot run here."""
    for dtype in (torch.float32, None):
        try:
            copied, values = copy.deepcopy((model, arguments))
            if dtype is not None:
                copied = copied.to(dtype)
                values = tree_map(partial(_converted, dtype=dtype), values)
            with torch.no_grad():
                return _tensors(copied(*values))
        except Exception:  # noqa: BLE001, S112 - a model may reject other types with any error
            continue
    return []


def _converted(value: Any, dtype: torch.dtype) -> Any:
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.to(dtype) if is_float else value


def _tensors(values: Any) -> list[torch.Tensor]:
    """Return all tensors of a tree in order, or none if it has other leaves."""
    leaves = tree_leaves(values)
    return leaves if all(isinstance(leaf, torch.Tensor) for leaf in leaves) else []


def _saved(tensor: torch.Tensor, path: Path) -> Path:
    """Write a tensor in NumPy's format; types that NumPy lacks as plain bytes."""
    plain = tensor.detach().cpu().contiguous()
    try:
        array = plain.numpy()
    except TypeError:
        width = plain.element_size()
        array = plain.reshape(-1).view(torch.uint8).numpy().view(f"V{width}").reshape(plain.shape)
    np.save(path, array)
    return path


def tune(
    model: torch.nn.Module | torch.export.ExportedProgram,
    arguments: Sequence[torch.Tensor] = (),
    *,
    flags: Sequence[str],
    settings: TuningSettings,
) -> TuningResult:
    """Tune a model on a device.

    The expected results of the program are those of PyTorch, in f32 where the model can be converted.

    Args:
        model: see `export`.
        arguments: see `export`.
        flags: flags of the compiler, such as `--iree-hal-target-device=local`.
        settings: the settings of the tuner.

    Returns:
        The spec, as text, and the measurements.

    Raises:
        TuninglinkError: see `tuninglink.tuning.tune.tune`.
    """
    from tuninglink.tuning.tune import tune as tune_program  # noqa: PLC0415 - the runtime may be missing

    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "model.mlirbc"
        program.write_bytes(export(model, arguments))
        options = call_options(model, arguments, Path(folder))
        return tune_program(program, flags=flags, settings=settings, calls=options)
