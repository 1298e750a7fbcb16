"""Builders for the ops of payloads on tensors of dynamic sizes: generic ops, and named structured ops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import ATTENTION_OUTPUTS
from tuninglink.mlir import names
from tuninglink.payloads.op_templates import (
    Template,
    Value,
    build,
    is_number,
    new_block,
    open_tensor,
)


class UnknownArithmeticError(Exception):
    """The error for an op that would compute on types without arithmetic. The message names the types."""


def generic(maps: Sequence[mlir.AffineMap], types: Sequence[mlir.Type]) -> Template:
    """Return a `linalg.generic` with one output that sums up the products of its inputs.

    Without reduction loops, the op stores the product.

    Args:
        maps: the indexing maps, the output's last.
        types: the element types of the operands.

    Raises:
        UnknownArithmeticError: there is no arithmetic on a type.
    """
    for type_ in types:
        if not is_number(type_):
            raise UnknownArithmeticError(f"no arithmetic for '{type_}'")
    operands = [
        open_tensor(len(map_.results), kind) for map_, kind in zip(maps, types, strict=True)
    ]
    # Loops over no dimension of the output are reductions.
    owner, block = new_block(operands)
    kept = {dim.position for dim in maps[-1].results if isinstance(dim, mlir.AffineDimExpr)}
    iterators = ["parallel" if loop in kept else "reduction" for loop in range(maps[-1].n_dims)]
    kinds = [mlir.Attribute.parse(f"#linalg.iterator_type<{iterator}>") for iterator in iterators]
    attributes: dict[str, mlir.Attribute] = {
        "indexing_maps": mlir.ArrayAttr.get([mlir.AffineMapAttr.get(map_) for map_ in maps]),
        "iterator_types": mlir.ArrayAttr.get(kinds),
        "operandSegmentSizes": mlir.DenseI32ArrayAttr.get([len(operands) - 1, 1]),
    }
    with mlir.InsertionPoint(block):
        operation = mlir.Operation.create(
            names.GENERIC,
            results=[operands[-1]],
            operands=list(block.arguments),
            attributes=attributes,
            regions=1,
        )
    locations = [mlir.Location.unknown() for _ in types]
    inner = operation.regions[0].blocks.append(*types, arg_locs=locations)
    # The body multiplies the inputs, and adds the product to the accumulator.
    with mlir.InsertionPoint(inner):
        *inputs, accumulator = inner.arguments
        value = _cast(inputs[0], types[-1])
        for input_ in inputs[1:]:
            value = _arithmetic("mul", value, _cast(input_, types[-1]))
        if "reduction" in iterators:
            value = _arithmetic("add", accumulator, value)
        mlir.Operation.create("linalg.yield", operands=[value])
    return Template(owner, block, is_exact=False)


def _arithmetic(what: str, lhs: Value, rhs: Value) -> Value:
    suffix = "f" if isinstance(lhs.type, mlir.FloatType) else "i"
    return build(f"arith.{what}{suffix}", lhs.type, lhs, rhs)


def _cast(value: Value, type_: mlir.Type) -> Value:
    """Build the conversion of a number to another type, with the casts of frontends."""
    kind = value.type
    if kind == type_:
        return value
    if isinstance(kind, mlir.FloatType) and isinstance(type_, mlir.FloatType):
        if kind.width == type_.width:
            return _cast(_cast(value, mlir.F32Type.get()), type_)
        name = "extf" if kind.width < type_.width else "truncf"
    elif isinstance(kind, mlir.IntegerType) and isinstance(type_, mlir.IntegerType):
        name = "extsi" if kind.width < type_.width else "trunci"
    else:
        name = "sitofp" if isinstance(type_, mlir.FloatType) else "fptosi"
    return build(f"arith.{name}", type_, value)


def attention(name: str, maps: Sequence[mlir.AffineMap], types: Sequence[mlir.Type]) -> Template:
    """Return an attention or online attention with the given maps and element types of its operands."""
    outputs = ATTENTION_OUTPUTS[name]
    operands = [
        kind if position == _SCALE else open_tensor(len(map_.results), kind)
        for position, (map_, kind) in enumerate(zip(maps, types, strict=True))
    ]
    owner, block = new_block(operands)
    attributes: dict[str, mlir.Attribute] = {
        "indexing_maps": mlir.ArrayAttr.get([mlir.AffineMapAttr.get(map_) for map_ in maps])
    }
    with mlir.InsertionPoint(block):
        operation = mlir.Operation.create(
            name,
            results=operands[len(operands) - outputs :],
            operands=list(block.arguments),
            attributes=attributes,
            regions=1,
        )
    f32 = mlir.F32Type.get()
    inner = operation.regions[0].blocks.append(f32, arg_locs=[mlir.Location.unknown()])
    with mlir.InsertionPoint(inner):
        mlir.Operation.create("iree_linalg_ext.yield", operands=list(inner.arguments))
    return Template(owner, block, is_exact=False)


_SCALE: Final = 3
"""The position of the scale, a number, among the operands of an attention."""


TAKING_MAPS: Final = frozenset(
    {"linalg.batch_matmul", "linalg.batch_reduce_matmul", "linalg.contract", "linalg.matmul"}
)
"""Named operations that accept other indexing maps than their usual ones."""

_MATMUL_RANKS: Final = {
    "linalg.matmul": (2, 2, 2),
    "linalg.batch_matmul": (3, 3, 3),
    "linalg.batch_reduce_matmul": (3, 3, 2),
}
"""The ranks of named operations that the bindings do not provide."""


def _builders() -> Any:
    """Return the dialect with the builders of named ops, loaded on first use since loading takes 90 ms."""
    from iree.compiler.dialects import linalg  # type: ignore[attr-defined] # noqa: PLC0415

    return linalg


def named(name: str, types: Sequence[mlir.Type | None], rank: int) -> Iterator[Template]:
    """Yield named structured operations. The compiler may reject some of them.

    Args:
        name: the name, such as `linalg.batch_matmul`.
        types: the element types of the first operands; None for any.
        rank: the rank to use for operations that support any rank.
    """
    if name.endswith("_unsigned"):
        # The bindings abort on a float.
        if any(isinstance(kind, mlir.FloatType) for kind in types):
            return
        types = [kind or mlir.IntegerType.get_signless(32) for kind in types]
    builder: Any = getattr(_builders(), name.removeprefix("linalg."), None)
    definition: Any = getattr(builder, "op_def", None)
    if definition is not None:
        operands = list(definition.registered_operands.values())
        yield _defined(builder, operands, types, None if name not in _ANY_RANK else rank)
    elif name in _MATMUL_RANKS:
        elements = _filled(types, 3)
        tensors = [
            open_tensor(*tensor) for tensor in zip(_MATMUL_RANKS[name], elements, strict=True)
        ]
        owner, block = new_block(tensors)
        lhs, rhs, output = block.arguments
        with mlir.InsertionPoint(block):
            builder(lhs, rhs, outs=[output])
        yield Template(owner, block, is_exact=False)
    elif name in _BUILDERS:
        yield _listed(name, types, rank)


def _defined(
    builder: Any, operands: Sequence[Any], types: Sequence[mlir.Type | None], rank: int | None
) -> Template:
    """Return an operation whose definition the bindings provide."""
    elements: dict[str, mlir.Type] = {
        "I32": mlir.IntegerType.get_signless(32),
        "I64": mlir.IntegerType.get_signless(64),
        "F64": mlir.F64Type.get(),
    }
    values = [operand for operand in operands if operand.kind.name in _VALUES]
    for value, kind in zip(values, types, strict=False):
        if kind is not None:
            elements[value.type_var.name] = kind
    default = next((kind for kind in types if kind is not None), mlir.F32Type.get())
    types_: list[mlir.Type] = []
    for value in values:
        element = elements.get(value.type_var.name, default)
        size_count = len(value.size_exprs or ()) if rank is None else rank
        is_scalar = value.kind.name == "SCALAR"
        types_.append(element if is_scalar else open_tensor(size_count, element))
    owner, block = new_block(types_)
    inputs: list[Value] = []
    outputs: list[Value] = []
    for value, argument in zip(values, block.arguments, strict=True):
        (outputs if value.kind.name == "OUTPUT_TENSOR" else inputs).append(argument)
    with mlir.InsertionPoint(block):
        builder(*inputs, outs=outputs)
    return Template(owner, block, is_exact=False)


def _listed(name: str, types: Sequence[mlir.Type | None], rank: int) -> Template:
    """Return an op of `_BUILDERS`."""
    inputs, build = _BUILDERS[name]
    operands = [open_tensor(rank, element) for element in _filled(types, inputs + 1)]
    owner, block = new_block(operands)
    with mlir.InsertionPoint(block):
        build(list(block.arguments), rank)
    return Template(owner, block, is_exact=False)


def _build_contract(arguments: Sequence[Value], rank: int) -> None:
    loops = [mlir.AffineExpr.get_dim(position) for position in range(rank + 1)]
    *batch, m, n, k = loops
    maps = [
        mlir.AffineMap.get(rank + 1, 0, [*batch, *loops_]) for loops_ in ((m, k), (k, n), (m, n))
    ]
    lhs, rhs, output = arguments
    _builders().contract(lhs, rhs, outs=[output], indexing_maps=maps)


def _build_elementwise(arguments: Sequence[Value], rank: int) -> None:
    source, output = arguments
    identity = mlir.AffineMap.get_identity(rank)
    linalg = _builders()
    kind = linalg.ElementwiseKind.exp
    linalg.elementwise(source, outs=[output], kind=kind, indexing_maps=[identity, identity])


def _build_softmax(arguments: Sequence[Value], rank: int) -> None:
    source, output = arguments
    _builders().softmax([output.type], source, output, rank - 1)


def _build_transpose(arguments: Sequence[Value], rank: int) -> None:
    source, output = arguments
    _builders().transpose(source, outs=[output], permutation=list(reversed(range(rank))))


_BUILDERS: Final[dict[str, tuple[int, Callable[[Sequence[Value], int], None]]]] = {
    "linalg.contract": (2, _build_contract),
    "linalg.elementwise": (1, _build_elementwise),
    "linalg.softmax": (1, _build_softmax),
    "linalg.transpose": (1, _build_transpose),
}
"""The number of inputs and the builder of each op."""


def _filled(types: Sequence[mlir.Type | None], count: int) -> list[mlir.Type]:
    default = next((type_ for type_ in types if type_ is not None), mlir.F32Type.get())
    return [type_ or default for type_ in [*types, *([None] * count)][:count]]


_VALUES: Final = frozenset({"INPUT_TENSOR", "OUTPUT_TENSOR", "SCALAR"})
_ANY_RANK: Final = frozenset({"linalg.copy", names.FILL})
"""Operations that the bindings define for any rank."""
