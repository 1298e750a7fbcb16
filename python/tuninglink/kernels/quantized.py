"""Problems of kernels: products of quantized numbers, which the compiler's own passes rewrite as products of integers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.iree import OpKind, StructuredOp
from tuninglink.kernels.graph_texts import built_graph, graph_tensors, graph_text
from tuninglink.kernels.problems import ProductProblem
from tuninglink.mlir import collect, defining_op, names, thread_context, to_text
from tuninglink.payloads import Value, build, computed, constant
from tuninglink.replacing import NoFormError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.replacing import Spelled

_QUANTIZED: Final = ("linalg.quantized_matmul", "linalg.quantized_batch_matmul")
_AFFINE: Final = f"{{filter-ops={names.QUANTIZE},{names.DEQUANTIZE}}}"
_TO_INTEGERS: Final = f"""builtin.module(func.func(
    iree-global-opt-quantized-matmul-to-matmul,iree-global-opt-convert-qdq-to-integer-math,
    iree-linalg-ext-decompose-aggregated-ops{_AFFINE},canonicalize,cse))"""
"""What the compiler does to such products at later stages."""

_HALF: Final = 128
"""The difference of a byte without a sign, and of one with a sign whose other bits are the same."""


@dataclass(frozen=True)
class QuantizedProduct(ProductProblem):
    """A product of quantized numbers and ops after it, as that of integers to which the compiler rewrites it.

    Attributes:
        graph: the ops of the program as text, see `graph_text`; scales and zero points are among the values that it takes.
        given: the ops that compute the operands of the kernel, such as sums of columns, as text.
        taken: the positions, among the values of the graph, of those that these ops take.
    """

    graph: str = ""
    given: str = ""
    taken: tuple[int, ...] = ()

    @property
    def spellings(self) -> tuple[QuantizedProduct, ...]:
        """The ways in which the problem may be written: its own."""
        return (self,)

    def loaded(self, operands: Sequence[Value]) -> Sequence[Value]:
        """Build the operands that the kernel reads."""
        return built_graph(self.given, operands)

    def tensors(self) -> tuple[mlir.Type, ...]:
        """Return the types of the values of the graph: integers, other values, and destinations."""
        return graph_tensors(self.graph)

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the graph at the current insertion point."""
        return built_graph(self.graph, operands)[0]

    def begins_with(self, other: Spelled) -> bool:
        """Return whether another graph is this one, or this one without its last steps."""
        if not isinstance(other, QuantizedProduct):
            return False
        both = [ProductProblem(at.contraction, at.steps, at.producers) for at in (self, other)]
        return both[0].begins_with(both[1])

    def __str__(self) -> str:
        conversions = {"subi", "sitofp", "roundeven", "maxnumf", "minnumf", "fptosi", "fptoui"}
        words = [word for word in super().__str__().split("_") if word not in conversions]
        return "_".join(["quantized", *words])


def quantized_product(graph: Sequence[mlir.Operation]) -> QuantizedProduct:
    """Read a product of quantized numbers and the ops after it, the last of which computes the result.

    Raises:
        NoFormError: it is something else, or no kernel computes it.
    """
    product = graph[0]
    is_plain = product.name not in _QUANTIZED
    sources = _sources(product, ProductProblem.of(product)) if is_plain else product.operands[:2]
    if is_plain:
        factors = [*map(defining_op, sources)]
        sources = [at.operands[0] for at in factors if at and at.name == names.DEQUANTIZE]
    fill = defining_op(product.operands[-1])
    if len(sources) != 2 or fill is None:  # noqa: PLR2004
        raise NoFormError("it does not multiply quantized numbers")
    text = graph_text([*graph[::-1], fill], list(product.operands)[:2], sources)
    with thread_context(), mlir.Location.unknown():
        module = mlir.Module.parse(text).operation
        (function,) = collect(module, names.FUNCTION)
        block = function.regions[0].blocks[0]
        for operation in [at.operation for at in block.operations]:
            if "input_unsigned" in operation.attributes:
                _give_sign(operation)
        # The compiler looks for quantized numbers among the operands themselves.
        if is_plain:
            moved = _contraction(block)
            floats = ProductProblem.of(moved)
            loops = (*(own for own, _ in floats.operands[:2]), floats.operands[-1][0])
            plain = replace(floats.contraction, operands=loops, name=names.GENERIC)
            with mlir.InsertionPoint(moved):
                result = plain.build([*_sources(moved, floats), moved.operands[-1]])
            moved.results[0].replace_all_uses_with(result)
            moved.erase()
        try:
            PassManager.parse(_TO_INTEGERS).run(module)
        except mlir.MLIRError as failure:
            raise NoFormError("the compiler does not multiply integers") from failure
        product, following = _contraction(block), list[mlir.Operation]()
        *operations, end = (at.operation for at in block.operations)
        for operation in operations:
            if {product, *following}.intersection(map(defining_op, operation.operands)):
                following.append(operation)
        problem = ProductProblem.of(product, following)
        if {*problem.contraction.types} != {"i8", "i32"}:
            raise NoFormError("the compiler does not multiply integers")
        # What is left are the ops that compute the operands of the kernel.
        operands = _sources(product, problem)
        for operation, step in zip(following, problem.steps, strict=True):
            operands += [operation.operands[at] for at in step.others]
        with mlir.InsertionPoint(end):
            mlir.Operation.create("func.return", operands=operands)
        for operation in [end, *reversed(operations)]:
            if not any(True for at in operation.results for _ in at.uses):
                operation.erase()
        # Destinations, which come last, are not read.
        while not any(True for _ in block.arguments[len(block.arguments) - 1].uses):
            block.erase_argument(len(block.arguments) - 1)
        inputs, results = ([value.type for value in own] for own in (block.arguments, operands))
        kind = mlir.FunctionType.get(inputs, results)
        function.attributes["function_type"] = mlir.TypeAttr.get(kind)
        fields = (problem.contraction, problem.steps, problem.producers, None)
        return QuantizedProduct(*fields, text, to_text(module), (*range(len(inputs)),))


def _contraction(block: mlir.Block) -> mlir.Operation:
    """Return the product of a graph."""
    ops = (op.operation for op in block.operations if op.operation.name.startswith("linalg."))
    products = [op for op in ops if StructuredOp(op).kind is OpKind.CONTRACTION]
    if len(products) != 1:
        raise NoFormError("it is not one product")
    return products[0]


def _sources(product: mlir.Operation, problem: ProductProblem) -> list[Value]:
    """Return what the operands of a product are moved from."""
    values = [*product.operands][:2]
    for at, producers in enumerate(problem.producers):
        for _ in producers:
            operation = defining_op(values[at])
            assert operation is not None, "each producer is an op"
            values[at] = operation.operands[0]
    return values


def _give_sign(dequantize: mlir.Operation) -> None:
    """Have an op read bytes less 128, which have a sign, as tensor cores multiply them; less zero points are the same."""
    values, scale, *zero, destination = dequantize.operands
    first, scales, *_, last = mlir.ArrayAttr(dequantize.attributes["indexing_maps"])
    long, byte = map(mlir.IntegerType.get_signless, (64, 8))
    if zero and zero[0].type != long:
        raise NoFormError("it has several zero points")
    with mlir.InsertionPoint(dequantize):
        zero.append(constant(long, 0))
        point = build("arith.subi", long, zero[0], constant(long, _HALF))
        identity = mlir.AffineMapAttr(first).value
        empty = build("tensor.empty", values.type)
        half = constant(byte, -_HALF)
        own = [identity, identity]
        moved = computed([values], own, empty, lambda one, _: build("arith.xori", byte, one, half))
        none = mlir.AffineMapAttr.get(mlir.AffineMap.get(identity.n_dims, 0, []))
        attributes = {
            "indexing_maps": mlir.ArrayAttr.get([first, scales, none, last]),
            "quant_min": mlir.IntegerAttr.get(long, -_HALF),
            "quant_max": mlir.IntegerAttr.get(long, _HALF - 1),
        }
        operands = (moved, scale, point, destination)
        result = build(names.DEQUANTIZE, destination.type, *operands, **attributes)
    dequantize.results[0].replace_all_uses_with(result)
    dequantize.erase()
