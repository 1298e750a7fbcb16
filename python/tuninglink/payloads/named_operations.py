"""Named structured ops, built with the bindings' own builders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import linalg  # type: ignore[attr-defined]

from tuninglink.mlir import names
from tuninglink.payloads.op_templates import Template, Value, new_block, open_tensor

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


def named(name: str, types: Sequence[mlir.Type | None], rank: int) -> Iterator[Template]:
    """Yield named structured operations. The compiler may reject some of them.

    Args:
        name: the name, such as `linalg.batch_matmul`.
        types: the element types of the first operands; None for any.
        rank: the rank of operations of any rank.
    """
    if name.endswith("_unsigned"):
        # The bindings abort on a float.
        if any(isinstance(kind, mlir.FloatType) for kind in types):
            return
        types = [kind or mlir.IntegerType.get_signless(32) for kind in types]
    builder: Any = getattr(linalg, name.removeprefix("linalg."), None)
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
    linalg.contract(lhs, rhs, outs=[output], indexing_maps=maps)


def _build_elementwise(arguments: Sequence[Value], rank: int) -> None:
    source, output = arguments
    identity = mlir.AffineMap.get_identity(rank)
    kind = linalg.ElementwiseKind.exp
    linalg.elementwise(source, outs=[output], kind=kind, indexing_maps=[identity, identity])


def _build_softmax(arguments: Sequence[Value], rank: int) -> None:
    source, output = arguments
    linalg.softmax([output.type], source, output, rank - 1)


def _build_transpose(arguments: Sequence[Value], rank: int) -> None:
    source, output = arguments
    linalg.transpose(source, outs=[output], permutation=list(reversed(range(rank))))


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
