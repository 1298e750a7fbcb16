"""Programs whose heaviest dispatch reaches a peak rate of a processor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import func, tensor  # type: ignore[attr-defined]

from tuninglink.mlir.diagnostics import thread_context
from tuninglink.mlir.serialization import to_text
from tuninglink.payloads.op_templates import Value
from tuninglink.tuning.devices.hardware import shared_cache_bytes
from tuninglink.tuning.problems import Product
from tuninglink.tuning.problems.problem_text import ElementType
from tuninglink.tuning.problems.programs import program_of

MEMORY: Final = "memory"
SINGLE: Final = "fp32"
"""The class to which narrower types can be widened, so that their rates are at least its rate."""

DOUBLE: Final = "fp64"

_CHAINS: Final = 12
"""Chains of operations side by side: enough for the latency of two units, and each in a register of AVX2."""

_CHAIN_LENGTH: Final = 64
_CHAIN_ELEMENTS: Final = 1 << 17
"""The elements of a core, which keep it busy for milliseconds."""

_ROWS: Final = 512
"""The rows of a core in a product."""

_SIDE: Final = 256
"""The other sizes of a product: a panel of it stays in the caches of a core."""

_READS: Final = 8
"""The arrays that are read for one that is written."""

_LEAST_BYTES: Final = 128 << 20
_MOST_BYTES: Final = 768 << 20
"""The limits of the size of all arrays, which otherwise is four times that of the last-level caches."""

Body = Callable[[Sequence[Value]], Value]
"""Builds the operations on an element of each array at the insertion point, and returns the result."""


def _chains(kind: str, cores: Sequence[int]) -> str:
    """Return a program of fused multiply-adds in registers."""

    def body(elements: Sequence[Value]) -> Value:
        element = elements[0]
        chains = []
        for number in range(_CHAINS):
            start = mlir.FloatAttr.get(element.type, number + 0.5)
            constant = _op("arith.constant", element.type, value=start)
            chains.append(_op("arith.addf", element.type, [element, constant]))
        for _ in range(_CHAIN_LENGTH):
            # Each reads the next one: LLVM would run one chain after another for CPUs with few registers.
            others = [*chains[1:], chains[0]]
            chains = [
                _op("math.fma", element.type, [chain, element, other])
                for chain, other in zip(chains, others, strict=True)
            ]
        return _sum(chains)

    return _elementwise(kind, len(cores) * _CHAIN_ELEMENTS, 1, body)


def _reading(cores: Sequence[int]) -> str:
    """Return a program that reads arrays that exceed the caches, and writes one."""
    size = min(max(4 * shared_cache_bytes(cores), _LEAST_BYTES), _MOST_BYTES)
    length = size // (_READS + 1) // _SINGLE_BYTES
    return _elementwise("f32", length, _READS, _sum)


_SINGLE_BYTES: Final = 4


def _product(element: ElementType, cores: Sequence[int]) -> str:
    """Return a program of a product, which the compiler packs."""
    return program_of([Product(_ROWS * len(cores), _SIDE, _SIDE, element)])


KERNELS: Final[Mapping[str, Callable[[Sequence[int]], str]]] = {
    MEMORY: _reading,
    SINGLE: partial(_chains, "f32"),
    DOUBLE: partial(_chains, "f64"),
    "fp16": partial(_product, ElementType.F16),
    "bf16": partial(_product, ElementType.BF16),
    "int8": partial(_product, ElementType.I8),
}
"""Programs in which the dispatch with most operations reaches a peak rate, given the processors that share the work."""


def _elementwise(kind: str, length: int, inputs: int, body: Body) -> str:
    """Return a program that computes an array from the elements of others."""
    with thread_context(), mlir.Location.unknown() as location:
        element = mlir.Type.parse(kind)
        array = mlir.RankedTensorType.get([length], element)
        module = mlir.Module.create()
        with mlir.InsertionPoint(module.body):
            function = func.FuncOp("kernel", ([array] * inputs, [array]))
        identity = mlir.AffineMapAttr.get(mlir.AffineMap.get_identity(1))
        # An op on all elements at once.
        attributes = {
            "indexing_maps": mlir.ArrayAttr.get([identity] * (inputs + 1)),
            "iterator_types": mlir.Attribute.parse("[#linalg.iterator_type<parallel>]"),
            "operandSegmentSizes": mlir.DenseI32ArrayAttr.get([inputs, 1]),
        }
        block = function.add_entry_block()
        with mlir.InsertionPoint(block):
            operands = [*block.arguments, tensor.empty([length], element)]
            op = mlir.Operation.create(
                "linalg.generic",
                results=[array],
                operands=operands,
                attributes=attributes,
                regions=1,
            )
            func.ReturnOp([op.results[0]])
        # Its body.
        elements = op.regions[0].blocks.append(
            *[element] * len(operands), arg_locs=[location] * len(operands)
        )
        with mlir.InsertionPoint(elements):
            result = body(list(elements.arguments)[:inputs])
            mlir.Operation.create("linalg.yield", operands=[result])
        module.operation.verify()
        return to_text(module.operation)


def _sum(values: Sequence[Value]) -> Value:
    total = values[0]
    for value in values[1:]:
        total = _op("arith.addf", total.type, [total, value])
    return total


def _op(
    name: str,
    kind: mlir.Type,
    operands: Sequence[Value] = (),
    **attributes: mlir.Attribute,
) -> Value:
    """Return the result of a new operation."""
    operation = mlir.Operation.create(
        name, results=[kind], operands=operands, attributes=attributes
    )
    value: Value = operation.results[0]
    return value
