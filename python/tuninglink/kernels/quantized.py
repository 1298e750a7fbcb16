"""Problems of kernels: products of quantized numbers, which the compiler's own passes rewrite as products of integers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.iree import OpKind, StructuredOp
from tuninglink.kernels.graph_texts import built_graph, graph_tensors, graph_text
from tuninglink.kernels.masks import uniform_number
from tuninglink.kernels.problems import ProductProblem
from tuninglink.mlir import collect, defining_op, names, thread_context, to_text
from tuninglink.payloads import Value, added_product, build, computed, constant, filled
from tuninglink.replacing import UNIT, NoFormError, maps_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.replacing import Spelled

_QUANTIZED: Final = ("linalg.quantized_matmul", "linalg.quantized_batch_matmul")
_AFFINE: Final = f"{{filter-ops={names.QUANTIZE},{names.DEQUANTIZE}}}"
_TO_INTEGERS: Final = f"""builtin.module(func.func(
    iree-global-opt-quantized-matmul-to-matmul,iree-global-opt-convert-qdq-to-integer-math,
    iree-linalg-ext-decompose-aggregated-ops{_AFFINE},canonicalize,cse))"""
"""What the compiler does to such products at later stages."""

_WIDE: Final = (["i32", "i32", "i64"], ["i32", "i32", "i32"])
"""The types of a product of bytes less zero points, as ONNX's MatMulInteger is imported."""

_EXTENSIONS: Final = (["arith.extsi"], ["arith.extui"])
_SUBTRACTIONS: Final = tuple([*extension, "arith.subi"] for extension in _EXTENSIONS)
_OTHER: Final = "it does not multiply bytes less zero points"

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
    sources, zeros = [*product.operands][:2], list[Value]()
    change: Callable[[mlir.Operation], None] | None = None
    if product.name not in _QUANTIZED:
        sources, zeros, change = _sources_of_plain(product)
    fill = defining_op(product.operands[-1])
    if fill is None:
        raise NoFormError(_OTHER)
    text = graph_text([*graph[::-1], fill], list(product.operands)[:2], sources, zeros)
    with thread_context(), mlir.Location.unknown():
        module = mlir.Module.parse(text).operation
        (function,) = collect(module, names.FUNCTION)
        block = function.regions[0].blocks[0]
        unsigned = [at for at in collect(function) if "input_unsigned" in at.attributes]
        for operation in unsigned:
            _give_sign(operation)
        if change is not None:
            change(_contraction(block))
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


def _sources_of_plain(
    product: mlir.Operation,
) -> tuple[list[Value], list[Value], Callable[[mlir.Operation], None]]:
    """Return the quantized numbers that a product of others multiplies, the zero points of 0, and what changes the product.

    A kernel for zero points of 0 has less to do, and is for these only.
    """
    sources = _sources(product, ProductProblem.of(product))
    if _types(product) in _WIDE:
        shifted = [*map(_Shifted.of, sources)]
        points = [own.point for own in shifted if own.point is not None and own.number == 0]
        return [own.source for own in shifted], points, _narrow
    factors = [*map(defining_op, sources)]
    quantized = [at.operands[0] for at in factors if at and at.name == names.DEQUANTIZE]
    if len(quantized) != len(sources):
        raise NoFormError("it does not multiply quantized numbers")
    return quantized, [], _multiply_sources


def _multiply_sources(product: mlir.Operation) -> None:
    """Have a product read what its operands are moved from, among which the compiler looks for quantized numbers."""
    floats = ProductProblem.of(product)
    loops = (*(own for own, _ in floats.operands[:2]), floats.operands[-1][0])
    plain = replace(floats.contraction, operands=loops, name=names.GENERIC)
    with mlir.InsertionPoint(product):
        result = plain.build([*_sources(product, floats), product.operands[-1]])
    product.results[0].replace_all_uses_with(result)
    product.erase()


@dataclass(frozen=True)
class _Shifted:
    """A tensor of i32 that is computed from bytes, less a zero point.

    Attributes:
        source: the bytes.
        extension: the op that extends them, with or without a sign.
        point: the zero point, a tensor of one byte; None for 0.
    """

    source: Value
    extension: str
    point: Value | None = None

    @classmethod
    def of(cls, value: Value) -> _Shifted:
        """Read the ops that compute a tensor.

        Raises:
            NoFormError: they compute something else.
        """
        operation, point, before = defining_op(value), None, ""
        if operation and _words(operation) in _SUBTRACTIONS:
            op, block = StructuredOp(operation), operation.regions[0].blocks[0]
            (extending, subtracting, _), point = block.operations, operation.operands[1]
            same, (number, own, _) = (
                (*range(op.loop_count),),
                [block.arguments[at] for at in (1, 0, 2)],
            )
            is_shift = op.operand_loops == (same, op.operand_loops[1], same)
            is_single = not op.operand_loops[1] or uniform_number(point) is not None
            is_shift = is_shift and is_single and [*extending.operands] == [number]
            is_shift = is_shift and _types(operation) == ["i32", "i8", "i32"]
            if not is_shift or [*subtracting.operands] != [own, extending.results[0]]:
                raise NoFormError(_OTHER)
            before, operation = extending.name, defining_op(operation.operands[0])
        words = _words(operation) if operation else []
        if words != [before] if before else words not in _EXTENSIONS:
            raise NoFormError(_OTHER)
        assert operation is not None, "it has a body"
        op, (source, _) = StructuredOp(operation), operation.operands
        if len({*op.operand_loops, (*range(op.loop_count),)}) > 1 or _types(operation) != [
            "i8",
            "i32",
        ]:
            raise NoFormError(_OTHER)
        return cls(source, words[0], point)

    @property
    def half(self) -> int:
        """The number by which bytes are less as they have a sign."""
        return _HALF if self.extension == "arith.extui" else 0

    @property
    def number(self) -> int | None:
        """The zero point of bytes with a sign; None if it is not a constant."""
        number = 0.0 if self.point is None else uniform_number(self.point)
        if number is None:
            return None
        # The constant is a byte with a sign.
        return (int(number) % (2 * self.half) if self.half else int(number)) - self.half

    def operands(self) -> tuple[Value, Value | None]:
        """Build bytes with a sign and their zero point, an i32 or None for 0, at the current insertion point."""
        byte, word = map(mlir.IntegerType.get_signless, (8, 32))
        source = _with_sign(self.source) if self.half else self.source
        if self.number is not None:
            return source, constant(word, self.number) if self.number else None
        assert self.point is not None, "it is not 0"
        point = build(self.extension, word, build("tensor.extract", byte, self.point))
        return source, build("arith.subi", word, point, constant(word, self.half))


def _narrow(product: mlir.Operation) -> None:
    """Multiply bytes, and subtract what zero points add to the product, in 32 bits: sums of 64 bits are truncated later."""
    problem, replaced = ProductProblem.of(product), product
    word = mlir.IntegerType.get_signless(32)
    if _types(product)[-1] != "i32":
        (use, *others) = product.results[0].uses
        replaced = use.owner.operation
        is_cut = _words(replaced) == ["arith.trunci"] and _types(replaced)[-1] == "i32"
        op = StructuredOp(replaced) if is_cut else None
        if others or op is None or {*op.operand_loops} != {(*range(op.loop_count),)}:
            raise NoFormError(_OTHER)
    (left, _), (right, _) = problem.operands[:2]
    out, sizes = problem.contraction.operands[-1], {UNIT: 1, **problem.loop_sizes}
    with mlir.InsertionPoint(product):

        def zeros(loops: str) -> Value:
            return filled(mlir.RankedTensorType.get([sizes[loop] for loop in loops], word), 0)

        read = [*map(_Shifted.of, _sources(product, problem))]
        both = [own.operands() for own in read]
        points = [point for _, point in both if point is not None]
        if UNIT in out or not any(own.half or own.point is not None for own in read):
            raise NoFormError(_OTHER)  # it is one of bytes as it is
        loops = (left, right, out)
        narrow = replace(
            problem.contraction, operands=loops, types=("i8", "i8", "i32"), name=names.GENERIC
        )
        result = narrow.build([*(value for value, _ in both), zeros(out)])
        # The sums over k of an operand count as often as the zero point of the other one.
        inputs, own = [result], [out]
        for (value, _), (_, point), indexed in zip(both, both[::-1], loops, strict=False):
            if point is not None:
                kept = "".join(loop for loop in indexed if loop in out)
                maps = maps_of([indexed, kept], f"{kept}k")
                inputs += [computed([value], maps, zeros(kept), added_product), point]
                own += [kept, ""]
        if len(points) > 1:
            times = build("arith.muli", word, *points)
            inputs.append(build("arith.muli", word, times, constant(word, sizes["k"])))
            own.append("")

        def shifted(total: Value, *numbers: Value) -> Value:
            *rest, _ = numbers
            while len(rest) > 1:
                factors = rest.pop(0), rest.pop(0)
                total = build("arith.subi", word, total, build("arith.muli", word, *factors))
            return build("arith.addi", word, total, *rest) if rest else total

        if points:
            empty = build("tensor.empty", result.type)
            result = computed(inputs, maps_of([*own, out], out), empty, shifted)
    replaced.results[0].replace_all_uses_with(result)
    for operation in dict.fromkeys((replaced, product)):
        operation.erase()


def _types(operation: mlir.Operation) -> list[str]:
    return [*StructuredOp(operation).element_types]


def _words(operation: mlir.Operation) -> list[str]:
    """Return the names of the ops in the body of a `linalg.generic` but the last one; none for another op."""
    is_generic = operation.name == names.GENERIC
    return [op.name for op in operation.regions[0].blocks[0].operations][:-1] if is_generic else []


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


def _with_sign(values: Value) -> Value:
    """Build bytes less 128 at the current insertion point."""
    byte = values.type.element_type
    half = constant(byte, -_HALF)
    maps = [mlir.AffineMap.get_identity(values.type.rank)] * 2
    empty = build("tensor.empty", values.type)
    return computed([values], maps, empty, lambda one, _: build("arith.xori", byte, one, half))


def _give_sign(dequantize: mlir.Operation) -> None:
    """Have an op read bytes less 128, which have a sign, as tensor cores multiply them; less zero points are the same."""
    values, scale, *zero, destination = dequantize.operands
    first, scales, *_, last = mlir.ArrayAttr(dequantize.attributes["indexing_maps"])
    long = mlir.IntegerType.get_signless(64)
    if zero and zero[0].type != long:
        raise NoFormError("it has several zero points")
    with mlir.InsertionPoint(dequantize):
        zero.append(constant(long, 0))
        point = build("arith.subi", long, zero[0], constant(long, _HALF))
        identity = mlir.AffineMapAttr(first).value
        none = mlir.AffineMapAttr.get(mlir.AffineMap.get(identity.n_dims, 0, []))
        attributes = {
            "indexing_maps": mlir.ArrayAttr.get([first, scales, none, last]),
            "quant_min": mlir.IntegerAttr.get(long, -_HALF),
            "quant_max": mlir.IntegerAttr.get(long, _HALF - 1),
        }
        operands = (_with_sign(values), scale, point, destination)
        result = build(names.DEQUANTIZE, destination.type, *operands, **attributes)
    dequantize.results[0].replace_all_uses_with(result)
    dequantize.erase()
