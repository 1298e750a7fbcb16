"""Tuning of PyTorch programs: modules and exported programs, through the exporter of iree-turbine.

The module needs the extra `torch`; `tune` needs the extra `tune` as well.
"""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

import tuninglink
from tuninglink.mlir import collect, to_bytecode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.compiler import Compilation
    from tuninglink.explaining import Explanation
    from tuninglink.programs import CallOptions
    from tuninglink.specs import Spec
    from tuninglink.tuning import Tuned
    from tuninglink.tuning.deciding import TuningSettings


try:
    import numpy as np
    import torch
    from iree.turbine import aot
    from torch.utils._pytree import tree_leaves, tree_map
except ModuleNotFoundError as missing:
    remedy = "install the extra: pip install 'tuninglink[torch]'"
    message = f"tuninglink.torch needs the package '{missing.name}'; {remedy}"
    raise ModuleNotFoundError(message, name=missing.name) from missing


__all__ = ["backend", "compile", "explain", "export", "tune"]


def export(
    model: torch.nn.Module | torch.export.ExportedProgram, arguments: Sequence[torch.Tensor] = ()
) -> bytes:
    """Export a model as a program in MLIR bytecode, with its weights. Its function is `@main`.

    Norms, means and other sums of f16 and bf16 are computed in f32, as in PyTorch. Products of tensors of rank 4 or more with
    a matrix are products of matrices, for which weights are not repeated.

    Args:
        model: a module, or an exported program.
        arguments: example arguments of the module, for their shapes and types; none for an exported program.
    """
    if isinstance(model, torch.export.ExportedProgram):
        program = model
        sums = (node for node in program.graph.nodes if node.target in _SUMS)
        operands = (operand.meta.get("val") for node in sums for operand in node.all_input_nodes)
        is_narrow = any(getattr(operand, "dtype", None) in _NARROW for operand in operands)
        table = _PRODUCTS | _SUMS if is_narrow else _PRODUCTS
        if not any(node.target in table for node in program.graph.nodes):
            table = {}
    else:
        program = torch.export.export(model, tuple(arguments), strict=True)
        table = aot.decompositions.current_aot_decompositions() | _PRODUCTS | _SUMS
    exported = aot.export(program.run_decompositions(table) if table else program).mlir_module
    if needed := _needed_decompositions(exported):
        exported = aot.export(program.run_decompositions(needed | _PRODUCTS | _SUMS)).mlir_module
    return to_bytecode(exported)


def compile(  # noqa: A001 - as `tuninglink.compile`
    model: torch.nn.Module | torch.export.ExportedProgram,
    arguments: Sequence[torch.Tensor] = (),
    **options: Any,
) -> Compilation:
    """Compile a model, see `export`, with tuning specs and the other options of `tuninglink.compile`.

    Raises:
        TuninglinkError: see `tuninglink.compile`.
    """
    return tuninglink.compile(export(model, arguments), **options)


def explain(
    model: torch.nn.Module | torch.export.ExportedProgram,
    arguments: Sequence[torch.Tensor] = (),
    **options: Any,
) -> Explanation:
    """Explain the effect of specs on a model, see `export`, dispatch by dispatch, with the options of `tuninglink.explain`.

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
        arguments: see `export`. The default for an exported program is the arguments of its export.
        directory: the directory for the values.

    Returns:
        The call. Its inputs are random without example arguments, or if some arguments are not tensors. It has no
        expected results for a model in training mode.
    """
    from tuninglink.programs import CallOptions, GivenInput  # noqa: PLC0415 - as in `tune`

    is_random = isinstance(model, torch.nn.Module) and model.training  # such as dropout
    if isinstance(model, torch.export.ExportedProgram):
        if not arguments and model.example_inputs is not None:
            arguments, keywords = model.example_inputs
            arguments = () if keywords else arguments
        model = model.module()
    inputs = _tensors(arguments)
    if not inputs:
        return CallOptions()
    results = [] if is_random else _computed(model, arguments)
    # Write the tensors in NumPy's format, or as plain bytes if NumPy lacks their type.
    given: dict[str, list[GivenInput]] = {"input": [], "expected": []}
    for name, tensors in (("input", inputs), ("expected", results)):
        for number, tensor in enumerate(tensors):
            plain, path = tensor.detach().cpu().contiguous(), directory / f"{name}{number}.npy"
            try:
                array = plain.numpy()
            except TypeError:
                parts = plain.reshape(-1).view(torch.uint8).numpy()
                array = parts.view(f"V{plain.element_size()}").reshape(plain.shape)
            np.save(path, array)
            given[name].append(GivenInput("", f"@{path}"))
    return CallOptions(inputs=tuple(given["input"]), expected=tuple(given["expected"]))


def _computed(model: torch.nn.Module, arguments: Sequence[Any]) -> list[torch.Tensor]:
    """Return the results of a model, in f32 where it can be converted; none if it cannot run here."""

    def converted(value: Any) -> Any:
        is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.to(torch.float32) if is_float else value

    for dtype in (torch.float32, None):
        try:
            copied, values = copy.deepcopy((model, arguments))
            if dtype is not None:
                copied, values = copied.to(dtype), tree_map(converted, values)
            with torch.no_grad():
                return _tensors(copied(*values))
        except Exception:  # noqa: BLE001, S112 - a model may reject other types with any error
            continue
    return []


def _tensors(values: Any) -> list[torch.Tensor]:
    """Return all tensors of a tree in order, or none if it has other leaves."""
    leaves = tree_leaves(values)
    return leaves if all(isinstance(leaf, torch.Tensor) for leaf in leaves) else []


def tune(
    model: torch.nn.Module | torch.export.ExportedProgram,
    arguments: Sequence[torch.Tensor] = (),
    *,
    flags: Sequence[str],
    settings: TuningSettings | None = None,
    flag_sets: str | Path = "",
) -> Tuned:
    """Tune a model on a device.

    The expected results of the program are those of PyTorch, in f32 where the model can be converted.

    Args:
        model: see `export`.
        arguments: see `export`.
        flags: flags of the compiler, such as `--iree-hal-target-device=local`.
        settings: the settings of the tuner.
        flag_sets: see `tuninglink.tune`.

    Returns:
        The spec, as text, the flags that win, and the measurements.

    Raises:
        TuninglinkError: see `tuninglink.tune`.
    """
    from tuninglink.tuning import tune as tune_program  # noqa: PLC0415 - the runtime may be missing

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mlirbc"
        path.write_bytes(export(model, arguments))
        calls = call_options(model, arguments, Path(folder))
        return tune_program(path, flags=flags, settings=settings, calls=calls, flag_sets=flag_sets)


def backend(
    *,
    specs: Sequence[Spec] = (),
    flags: Sequence[str] | None = None,
    settings: TuningSettings | None = None,
    database: str | Path = "",
) -> Callable[..., Any]:
    """Return a backend for `torch.compile` that compiles graphs with tuning specs.

    It runs models for inference with static shapes, on the device of their tensors.

    Args:
        specs: the specs. With settings, their configurations are candidates as well.
        flags: compiler flags; by default those for the device of a graph.
        settings: the settings for tuning a graph when it is first called; None to compile with the specs alone.
        database: the file that stores the results of tuning, so that later processes need not repeat measurements.

    Raises:
        TuninglinkError: raised by the backend if a graph does not compile, or cannot be tuned on the device.
    """
    from torch._dynamo.backends.common import aot_autograd  # noqa: PLC0415 - takes long to import

    def compile_graph(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        from functorch.compile import make_boxed_func  # noqa: PLC0415 - as above
        from iree.compiler.extras.fx_importer import FxImporter  # noqa: PLC0415 - as above
        from iree.runtime import VmModule  # noqa: PLC0415 - an extra
        from iree.turbine.dynamo.passes import turbine_cpu_pass_pipeline  # noqa: PLC0415 - as above
        from iree.turbine.runtime import Launchable  # noqa: PLC0415 - takes long to import
        from iree.turbine.runtime.device import get_device_from_torch  # noqa: PLC0415 - as above

        # Import and compile the graph, tuned if settings are given.
        device = next(value.device for value in inputs if isinstance(value, torch.Tensor))
        used = get_device_from_torch(device).compile_target_flags if flags is None else flags
        values = (leaf for node in graph.graph.nodes for leaf in tree_leaves(node.meta.get("val")))
        has_double = any(
            isinstance(value, torch.Tensor) and value.dtype is torch.float64 for value in values
        )
        if has_double and not any(flag.startswith(_DEMOTION) for flag in used):
            used = (*used, f"{_DEMOTION}=false")
        importer = FxImporter()
        importer.import_graph_module(turbine_cpu_pass_pipeline(graph, inputs))
        program = to_bytecode(importer.module_op)
        chosen = list(specs)
        if settings is not None:
            chosen = [_tuned_spec(program, used, settings, specs, database)]
        image = tuninglink.compile(program, specs=chosen, flags=used).output
        # Wrap the module as a callable on tensors.
        launch = Launchable.from_vm_module(
            lambda runtime: VmModule.copy_buffer(runtime.vm_instance, image)
        )
        launch.preload(device)

        def call(*values: Any) -> Any:
            results = launch(*[value.data for value in values], device=device)
            return [results] if isinstance(results, torch.Tensor) else results

        boxed: Callable[..., Any] = make_boxed_func(call)
        return boxed

    made: Callable[..., Any] = aot_autograd(fw_compiler=compile_graph, decompositions=_SUMS)
    return made


_DEMOTION: Final = "--iree-input-demote-f64-to-f32"
"""The compiler's default, with which tensors of f64 do not have the sizes that the program reads and writes."""


def _tuned_spec(
    program: bytes,
    flags: Sequence[str],
    settings: TuningSettings,
    specs: Sequence[Spec],
    database: str | Path,
) -> Spec:
    """Return the spec of a program's winners under the given flags, the only ones that apply to a compilation here."""
    from tuninglink.tuning import tune as tune_program  # noqa: PLC0415
    from tuninglink.tuning.flag_sets import NONE  # noqa: PLC0415 - the runtime may be missing

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.mlirbc"
        path.write_bytes(program)
        result = tune_program(
            path, flags=flags, settings=settings, specs=specs, database=database, flag_sets=NONE
        )
    return tuninglink.load_spec(result.spec.encode())


def _needed_decompositions(program: mlir.Operation) -> dict[Any, Callable[..., Any]]:
    """Return the decompositions without which the compiler (IREE 3.13) refuses or miscompiles a program, if any."""
    operators = collect(program, "torch.operator")
    names = (mlir.StringAttr(operator.attributes["name"]).value for operator in operators)
    if any(name.startswith("torch.aten.") for name in names):
        # The compiler knows attention as a whole.
        table = dict(torch.export.default_decompositions())
        table.pop(torch.ops.aten.scaled_dot_product_attention.default, None)
        return table | {torch.ops.aten.squeeze.dims: _squeezed} | _PADS
    # A pad with a negative size, at which the compiler may fold the pad to its operand.
    pads = (pad for name in _PAD_OPS for pad in collect(program, name))
    sizes = (size.owner for pad in pads for size in pad.operands[1].owner.operands)
    if any(
        size.name == "torch.constant.int" and mlir.IntegerAttr(size.attributes["value"]).value < 0
        for size in sizes
    ):
        return {**aot.decompositions.current_aot_decompositions(), **_PADS}
    return {}


def _padded(
    tensor: torch.Tensor, pads: Sequence[int], mode: str = "constant", value: float | None = None
) -> torch.Tensor:
    """Decompose a pad with a constant and negative sizes into slices and a pad."""
    if mode != "constant" or all(pad >= 0 for pad in pads):
        return NotImplemented
    for position in range(0, len(pads), 2):
        dim = tensor.dim() - 1 - position // 2
        low, high = (max(0, -pad) for pad in pads[position : position + 2])
        tensor = torch.ops.aten.slice.Tensor(tensor, dim, low, tensor.shape[dim] - high)
    return torch.ops.aten.constant_pad_nd(tensor, [max(0, pad) for pad in pads], value or 0)


_PAD_OPS: Final = ("torch.aten.constant_pad_nd", "torch.aten.pad")
_PADS: Final = {
    torch.ops.aten.constant_pad_nd.default: lambda x, pads, value=0: _padded(x, pads, value=value),
    torch.ops.aten.pad.default: _padded,
}
"""Decompositions of pads, which the compiler (IREE 3.13) may fold to their operands if they also cut."""


def _squeezed(tensor: torch.Tensor, dims: Sequence[int]) -> torch.Tensor:
    """Decompose `aten.squeeze.dims`, for which PyTorch has no decomposition."""
    removed = {dim % max(tensor.dim(), 1) for dim in dims}
    sizes = enumerate(tensor.shape)
    return tensor.reshape([size for dim, size in sizes if dim not in removed or size != 1])


def _product(tensor: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """Decompose a product with a matrix, which is otherwise repeated for each of the first dimensions of the tensor."""
    if tensor.dim() <= _BATCHED or matrix.dim() != 2:  # noqa: PLR2004
        return NotImplemented
    rows = tensor.reshape(-1, tensor.shape[-1])
    return torch.ops.aten.mm(rows, matrix).reshape(*tensor.shape[:-1], matrix.shape[1])


def _linear(
    tensor: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    product = _product(tensor, weight.t())
    return product if product is NotImplemented or bias is None else product + bias


def _attention(q: Any, k: Any, v: Any, mask: Any = None, *rest: Any, **options: Any) -> Any:
    """Give matrices a batch, and a mask the rank of the query: the compiler (IREE 3.13) refuses other ones."""
    if q.dim() == 2:  # noqa: PLR2004
        operands = (x if x is None else x[None] for x in (q, k, v, mask))
        return _ATTENTION(*operands, *rest, **options)[0]
    if mask is None or mask.dim() >= q.dim():
        return NotImplemented
    return _ATTENTION(q, k, v, mask[(None,) * (q.dim() - mask.dim())], *rest, **options)


_ATTENTION: Final = torch.ops.aten.scaled_dot_product_attention.default
_BATCHED: Final = 3
_PRODUCTS: Final = {
    _ATTENTION: _attention,
    torch.ops.aten.linear.default: _linear,
    torch.ops.aten.matmul.default: _product,
}
"""Decompositions of products of tensors of rank 4 or more, whose matrix the compiler (IREE 3.13) repeats, and of masks."""

_NARROW: Final = (torch.float16, torch.bfloat16)


def _in_f32(operator: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decomposition that computes an operator in f32 for operands of f16 and bf16."""

    def widened(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.float() if value.dtype in _NARROW else value
        return None if value in (*_NARROW, torch.float32) else value  # the type of the result

    def computed(tensor: torch.Tensor, *arguments: Any, **keywords: Any) -> Any:
        if tensor.dtype not in _NARROW:
            return NotImplemented
        types = (value for value in (*arguments, *keywords.values()) if type(value) is torch.dtype)
        dtype = next(types, tensor.dtype)
        wide, options = tree_map(widened, ((tensor, *arguments), keywords))
        return tree_map(lambda result: result.to(dtype), operator(*wide, **options))

    return computed


def _layer_norm(
    tensor: torch.Tensor,
    shape: Sequence[int],
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
    *_: bool,
) -> torch.Tensor:
    if tensor.dtype not in _NARROW:
        return NotImplemented
    scale, shift = _standardization(tensor.float(), [*range(-len(shape), 0)], eps)
    result = tensor.float() * scale + shift
    result = result if weight is None else result * weight.float()
    return (result if bias is None else result + bias.float()).to(tensor.dtype)


def _group_norm(
    tensor: torch.Tensor,
    groups: int,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
    *_: bool,
) -> torch.Tensor:
    if tensor.dtype not in _NARROW:
        return NotImplemented
    # The statistics are those of groups of channels; scale and shift are those of channels.
    count, channels = tensor.shape[:2]
    scale, shift = (
        value.expand(count, groups, channels // groups).reshape(count, channels)
        for value in _standardization(tensor.reshape(count, groups, -1).float(), [-1], eps)
    )
    if weight is not None:
        scale, shift = scale * weight.float(), shift * weight.float()
    shift = shift if bias is None else shift + bias.float()
    shape = count, channels, *(1,) * (tensor.dim() - 2)
    return (tensor.float() * scale.reshape(shape) + shift.reshape(shape)).to(tensor.dtype)


def _instance_norm(tensor: torch.Tensor, *options: Any) -> torch.Tensor:
    weight, bias, _, _, is_of_input, _, eps, _ = options
    if not is_of_input:
        return NotImplemented
    return torch.nn.functional.group_norm(tensor, tensor.shape[1], weight, bias, eps)


def _standardization(
    tensor: torch.Tensor, dims: list[int], eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the factor and the addend that give a tensor a mean of 0 and a variance of 1 along dimensions."""
    variance, mean = torch.var_mean(tensor, dims, correction=0, keepdim=True)
    scale = torch.rsqrt(variance + eps)
    return scale, -mean * scale


_aten = torch.ops.aten
_SUMS: Final = {
    _aten.layer_norm.default: _layer_norm,
    _aten.group_norm.default: _group_norm,
    _aten.instance_norm.default: _instance_norm,
    **{
        operator: _in_f32(operator)
        for operator in (
            *(_aten.sum.default, _aten.sum.dim_IntList, _aten.mean.default, _aten.mean.dim),
            *(_aten.cumsum.default, _aten.log_softmax.int, _aten._log_softmax.default),  # noqa: SLF001
            *(_aten.var_mean.default, _aten.var_mean.dim, _aten.var_mean.correction),
            *(_aten.linalg_vector_norm.default, _aten.cosine_similarity.default),
            *(_aten.native_layer_norm.default, _aten.native_group_norm.default),
            _aten.rms_norm.default,
            *(_aten.avg_pool1d.default, _aten.avg_pool2d.default, _aten.avg_pool3d.default),
            *(_aten.adaptive_avg_pool1d.default, _aten.adaptive_avg_pool2d.default),
            *(_aten._adaptive_avg_pool2d.default, _aten._adaptive_avg_pool3d.default),  # noqa: SLF001
        )
    },
}
"""Decompositions of operators that PyTorch computes in f32, and the compiler (IREE 3.13) in the type of their operands: sums
of f16 overflow at 65504. It computes products, convolutions, attention, `softmax` and `var` in f32 as well. The norms also
take fewer passes over memory than by the compiler's decompositions."""
