"""Tuning programs of PyTorch: modules and exported programs, through the exporter of iree-turbine.

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


def call_options(
    model: torch.nn.Module | torch.export.ExportedProgram,
    arguments: Sequence[Any],
    directory: Path,
) -> CallOptions:
    """Returns a call of a model with its arguments, and with what PyTorch computes from them.

    Args:
        model: see `export`; it is not changed.
        arguments: see `export`; of an exported program without any, those that it was exported with.
        directory: gets the values as files.

    Returns:
        The call; one with random inputs if there are no example arguments, or some are not tensors, and one without
        expected results if the model is being trained.
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
    """Returns what a model computes, in f32 where it can be converted; nothing if it cannot be run here."""
    for dtype in (torch.float32, None):
        try:
            copied, values = copy.deepcopy((model, arguments))
            if dtype is not None:
                copied = copied.to(dtype)
                values = tree_map(partial(_converted, dtype=dtype), values)
            with torch.no_grad():
                return _tensors(copied(*values))
        except Exception:  # noqa: BLE001, S112 - a model may refuse other types with any error
            continue
    return []


def _converted(value: Any, dtype: torch.dtype) -> Any:
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.to(dtype) if is_float else value


def _tensors(values: Any) -> list[torch.Tensor]:
    """Returns all tensors of a tree in order; nothing if it has other leaves."""
    leaves = tree_leaves(values)
    return leaves if all(isinstance(leaf, torch.Tensor) for leaf in leaves) else []


def _saved(tensor: torch.Tensor, path: Path) -> Path:
    """Writes a tensor as NumPy does; types that NumPy lacks as plain bytes."""
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
    """Tunes a model on a device.

    Its results in PyTorch, in f32 where the model can be converted, are what the program is expected to compute.

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
        options = call_options(model, arguments, Path(folder))
        return calls.tune(program, flags=flags, settings=settings, calls=options)
