"""Problems of kernels: attention that a program computes as two products with a softmax between them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree import StructuredOp
from tuninglink.kernels.attentions import ScaledAttention
from tuninglink.kernels.graph_texts import graph_text
from tuninglink.kernels.layouts import LETTERS, MOST_MOVES, Move, moves_of
from tuninglink.kernels.masks import EXCLUDED, is_causal_mask, uniform_number
from tuninglink.kernels.problems import check_start
from tuninglink.kernels.producers import COLLAPSE, EXPAND, Producer, loops_read
from tuninglink.kernels.steps import Step, is_elementwise
from tuninglink.mlir import defining_op, entries_of, names, thread_context
from tuninglink.replacing import LOOPS, UNIT, Attention, Contraction, NoFormError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.payloads import Value

_CASTS: Final = (["arith.extf"], ["arith.truncf"])
_RESHAPES: Final = (COLLAPSE, EXPAND)
_MASKS: Final = ("f16", "bf16", "f32", "i1")
_OTHER: Final = "it is not a softmax between two products"


@dataclass(frozen=True)
class DecomposedAttention(ScaledAttention):
    """An attention as two products with a softmax of the scaled scores between them.

    Attributes:
        products: the two products.
        masks: the loops and the element types of the tensors that are added to the scaled scores.
    """

    products: tuple[Contraction, ...] = ()
    masks: tuple[tuple[str, str], ...] = ()

    @property
    def spellings(self) -> tuple[DecomposedAttention, ...]:
        """The ways in which the problem may be written: its own."""
        return (self,)

    @cached_property
    def operands(self) -> tuple[tuple[str, str], ...]:
        """The loops and the element types of the operands and the result of the kernel, the result last."""
        *read, output = super().operands
        return (*read, *self.masks, output)

    def __str__(self) -> str:
        return f"decomposed_{super().__str__()}" + "_masked" * bool(self.masks)


def decomposed_attention(
    last: mlir.Operation, following: Sequence[mlir.Operation]
) -> tuple[DecomposedAttention, list[mlir.Operation]]:
    """Read the graph of an attention whose last op but those that move its result is given; return also its ops.

    Raises:
        NoFormError: it is something else, or no kernel computes it.
    """
    reader = _Reader([*following[::-1], last])
    is_cast = _words(last) in _CASTS
    output = _step(last).result if is_cast else ""
    attending = reader.take(last.operands[0]) if is_cast else last
    right = Contraction.of(attending)
    scale, masks = reader.scores(reader.softmax(attending))
    scoring = reader.graph[-1]
    left = Contraction.of(scoring)
    reader.start(scoring)
    # A kernel excludes keys last: what takes the place of a score after a causal mask must exclude it, too.
    finite = [mask for mask in masks if mask.fill > -inf]
    causal = [mask for mask in masks if not {*finite} - {mask} and mask.is_causal(left)]
    masks = [mask for mask in masks if mask not in causal]
    problem = DecomposedAttention(
        _attention(left, right, output or right.types[-1]),
        scale,
        following=tuple(move for move in (Move.of(other, 0) for other in following) if move),
        is_causal=bool(causal),
        selections=tuple((not mask.excludes, mask.fill) for mask in masks),
        products=(left, right),
        masks=tuple((left.operands[-1].replace("n", "j"), own.moves[0].element) for own in masks),
    )
    # What only moves an operand is read as it is, if that has a layout.
    read = [*list(scoring.operands)[:2], attending.operands[1], *(mask.value for mask in masks)]
    constants = [*(mask.value for mask in causal), *reader.constants]
    for most in (MOST_MOVES, 0):
        sources, moves, inputs = moves_of(read, most)
        for number, mask in enumerate(masks, 3):
            for move in mask.moves:
                moves.append(replace(move, source=inputs[number]))
                inputs[number] = len(sources) + len(moves) - 1
        shapes = tuple((tuple(at.type.shape), str(at.type.element_type)) for at in sources)
        moved = replace(problem, sources=shapes, moves=tuple(moves), inputs=tuple(inputs))
        with suppress(NoFormError):
            _ = moved.layouts
            text = graph_text(reader.graph, read, sources, constants)
            return replace(moved, graph=text), reader.graph
    raise NoFormError("an operand has no layout")


@dataclass(frozen=True, eq=False)
class _Mask:
    """A tensor that is added to scores, or the bits by which a number takes their place.

    Attributes:
        value: the tensor.
        moves: what would bring it to the shape of the product; the first one broadcasts it.
        fill: the number.
        excludes: whether bits are 1 where the number takes the place of a score.
    """

    value: Value
    moves: list[Move]
    fill: float = -inf
    excludes: bool = False

    def is_causal(self, product: Contraction) -> bool:
        """Return whether queries attend to the keys until their own only with it."""
        shape, producer = self.moves[0].shapes[1], self.moves[0].producer
        rows, columns = (product.loop_sizes[loop] for loop in "mn")
        assert producer is not None, "it broadcasts"
        return (
            self.fill <= EXCLUDED
            and product.operands[-1][-2:] == "mn"
            and producer.loops[-2:] == LETTERS[: len(shape)][-2:]
            and is_causal_mask(self.value, rows, columns, excludes=self.excludes)
        )


@dataclass(frozen=True)
class _Reader:
    """Reads a graph from its end, and collects its ops; each method raises `NoFormError` for another one.

    Attributes:
        graph: the ops.
        constants: tensors that the program computes from no others.
    """

    graph: list[mlir.Operation]
    constants: list[Value] = field(default_factory=list)

    def take(self, value: Value) -> mlir.Operation:
        """Take the op that computes a value."""
        if (operation := defining_op(value)) is None:
            raise NoFormError(_OTHER)
        self.graph.append(operation)
        return operation

    def unshaped(self, value: Value) -> mlir.Operation:
        """Take reshapes before a value, and the op before these."""
        while (operation := self.take(value)).name in _RESHAPES:
            value = operation.operands[0]
        return operation

    def start(self, operation: mlir.Operation) -> None:
        """Take the fill with zeros that sums start from."""
        check_start(operation)
        self.take(operation.operands[-1])

    def softmax(self, attending: mlir.Operation) -> Value:
        """Take the softmax before the product of weights and values; return the scores."""
        self.start(attending)
        dividing = self.unshaped(attending.operands[0])
        while _words(dividing) in _CASTS:
            _step(dividing)  # which moves nothing
            dividing = self.unshaped(dividing.operands[0])
        exponents, sums = self.of_rows(dividing, "arith.divf")
        # Reshapes keep the order of elements: rows as long as those of the weights are these.
        if exponents.type.shape[-1] != attending.operands[0].type.shape[-1]:
            raise NoFormError(_OTHER)
        adding = self.unshaped(sums)
        if _words(adding) != ["arith.addf"]:
            raise NoFormError(_OTHER)
        op, block = StructuredOp(adding), adding.regions[0].blocks[0]
        loops = LETTERS[: op.loop_count]
        written = (loops_read(op, 1, loops) or "").replace(UNIT, "")
        is_sum = {*block.operations[0].operands} == {*block.arguments}
        is_sum = is_sum and loops_read(op, 0, loops) == loops
        if adding.operands[0] != exponents or not is_sum or written != loops[:-1]:
            raise NoFormError(_OTHER)
        self.start(adding)
        exponential = self.take(exponents)
        _step(exponential, ["math.exp"])
        # The result is the same whatever number is subtracted from all scores of a row.
        scores, peaks = self.of_rows(self.take(exponential.operands[0]), "arith.subf")
        maximum = self.unshaped(peaks)
        if [*maximum.operands][:1] != [scores]:
            raise NoFormError(_OTHER)
        fills = filter(None, map(defining_op, list(maximum.operands)[1:]))
        self.graph.extend(fill for fill in fills if fill.name == names.FILL)
        return scores

    def of_rows(self, operation: mlir.Operation, body: str) -> list[Value]:
        """Return the operands of an elementwise op, the second of which has one element for each row, which may be broadcast."""
        first, second = _step(operation, [body]).inputs
        operands = list(operation.operands)[:2]
        before = defining_op(operands[1])
        if second == first and before and before.name == names.GENERIC:
            producer = Producer.of(before, first)
            if producer is None:
                raise NoFormError(_OTHER)
            self.graph.append(before)
            operands[1], second = before.operands[0], producer.loops
        if not all(isinstance(at.type, mlir.RankedTensorType) for at in operands):
            raise NoFormError(_OTHER)
        shape, own = ([*mlir.RankedTensorType(at.type).shape] for at in operands)
        rows, single = ([size for size in sizes if size != 1] for sizes in (shape[:-1], own))
        is_ordered = [*second.replace(UNIT, "")] == [loop for loop in first if loop in second]
        if not first or first[-1] in second or rows != single or not is_ordered:
            raise NoFormError(_OTHER)
        return operands

    def scores(self, value: Value) -> tuple[float, list[_Mask]]:
        """Take the ops that scale scores and mask them, and their product, the last one; return the scale and the masks."""
        scale, masks = 1.0, list[_Mask]()
        while (operation := self.take(value)).name in _RESHAPES or is_elementwise(operation):
            value, *others = operation.operands
            if operation.name in _RESHAPES:
                inverse = COLLAPSE if operation.name == EXPAND else EXPAND
                if (move := Move.of(operation, 0)) is None:
                    raise NoFormError(_OTHER)
                for mask in masks:
                    mask.moves.append(replace(move, name=inverse, shapes=move.shapes[::-1]))
            elif len(others) == 1:
                scale *= _factor(_step(operation))
            else:
                if scale != 1:
                    raise NoFormError(_OTHER)
                is_chosen = _words(operation)[-1:] == ["arith.select"]
                value, mask = (self.selection if is_chosen else _added)(operation)
                masks.append(mask)
        return scale, masks

    def selection(self, operation: mlir.Operation) -> tuple[Value, _Mask]:
        """Return the scores in whose place an op may put a number, and the mask by which it does."""
        *constants, choosing, end = operation.regions[0].blocks[0].operations
        op, arguments = StructuredOp(operation), [*operation.regions[0].blocks[0].arguments]
        loops = LETTERS[: op.loop_count]
        # Each value that it chooses from is an operand, or a constant.
        given = {own: operation.operands[at] for at, own in enumerate(arguments[:-1])}
        bit, *chosen = (given.get(at, at) for at in choosing.operands)
        numbers = [uniform_number(at) for at in chosen]
        excludes = numbers[1] is None
        scores, other = chosen[:: -1 if excludes else 1]
        fill, number = numbers[not excludes], choosing.operands[1 + excludes]
        if (
            any(item.name != names.CONSTANT for item in constants)
            or [*end.operands] != [choosing.results[0]]
            or fill is None
            or scores not in given.values()
            or bit not in given.values()
            or loops_read(op, arguments.index(number), loops) != loops
            or op.operand_loops[-1] != (*range(len(loops)),)
        ):
            raise NoFormError(_OTHER)
        if isinstance(other.type, mlir.RankedTensorType):
            self.constants.append(other)
        at = arguments.index(choosing.operands[0])
        mask = _mask(operation, at, loops_read(op, at, loops))
        return scores, replace(mask, fill=fill, excludes=excludes)


def _attention(left: Contraction, right: Contraction, output: str) -> Attention:
    """Return the attention of two products, the first of which computes scores, with the element type of its result."""
    query, key, scores = (loops.replace("n", "j") for loops in left.operands)
    letters = dict(zip(right.operands[0], scores, strict=False)) | {"n": "n"}
    own = {letters.get(loop, ""): size for loop, size in right.loop_sizes.items()}
    sizes = {("j" if loop == "n" else loop): size for loop, size in left.loop_sizes.items()}
    sizes["n"] = own["n"]
    is_same = len(scores) == len(right.operands[0]) and own.items() <= sizes.items()
    if not is_same or scores[-1] != "j" or letters.get("m") != "m" or letters.get("k") != "j":
        raise NoFormError(_OTHER)
    value, result = ("".join(letters[loop] for loop in loops) for loops in right.operands[1:])
    loops = "".join(loop for loop in result if loop not in LOOPS) + "mnkj"
    types = (*left.types[:2], right.types[1], "f32", output)
    return Attention(
        (query, key, value, "", result), types, loops, tuple(sizes[loop] for loop in loops)
    )


def _added(operation: mlir.Operation) -> tuple[Value, _Mask]:
    """Return the scores to which an op adds a mask, and the mask; one of them may be extended."""
    op, block = StructuredOp(operation), operation.regions[0].blocks[0]
    if len({*operation.operands}) != 3 or len(block.operations) < 2:  # noqa: PLR2004 - scores, a mask, the result
        raise NoFormError(_OTHER)
    *others, adding, end = (item.operation for item in block.operations)
    before = {item.results[0]: item.operands[0] for item in others if item.name == "arith.extf"}
    terms = {before.get(value, value) for value in adding.operands}
    is_sum = adding.name == "arith.addf" and terms == {*list(block.arguments)[:-1]}
    is_sum = is_sum and [*end.operands] == [adding.results[0]]
    loops = LETTERS[: op.loop_count]
    read = [loops_read(op, at, loops) for at in range(2)]
    scores = int(read[0] != loops)
    if (
        not is_sum
        or len(others) > len(before)
        or read[scores] != loops
        or op.operand_loops[-1] != (*range(len(loops)),)
    ):
        raise NoFormError(_OTHER)
    return operation.operands[scores], _mask(operation, 1 - scores, read[1 - scores])


def _mask(operation: mlir.Operation, number: int, loops: str | None) -> _Mask:
    """Return the mask that an op on scores reads as an operand with some loops."""
    if not loops:
        raise NoFormError(_OTHER)
    value = operation.operands[number]
    before, after = (mlir.RankedTensorType(at.type) for at in (value, operation.results[0]))
    element = str(before.element_type)
    if element not in _MASKS:
        raise NoFormError(_OTHER)
    producer = Producer(names.GENERIC, loops, element)
    shapes = tuple(before.shape), tuple(after.shape)
    return _Mask(value, [Move(0, shapes, element, producer, names.GENERIC, "{}")])


def _words(operation: mlir.Operation) -> list[str]:
    """Return the names of the ops in the body of a `linalg.generic` but the last one; none for another op."""
    is_generic = operation.name == names.GENERIC
    return [op.name for op in operation.regions[0].blocks[0].operations][:-1] if is_generic else []


def _step(operation: mlir.Operation, *bodies: Sequence[str]) -> Step:
    """Read an elementwise op on its first operand with one of these bodies, or with any."""
    if operation.name != names.GENERIC:
        raise NoFormError(_OTHER)
    rank = mlir.RankedTensorType(operation.results[0].type).rank
    step = Step.of(operation, LETTERS[:rank], ((0, 0),))
    is_ordered = step.body[0].operands == (*range(len(step.inputs)),)
    if bodies and not (is_ordered and [item.name for item in step.body] in bodies):
        raise NoFormError(_OTHER)
    return step


def _factor(step: Step) -> float:
    """Return the number by which an elementwise op multiplies its operand."""
    # Each value with whether it is one of the operand.
    values = [(True, 1.0)]
    with thread_context(), mlir.Location.unknown():
        for item in step.body:
            (is_scaled, number), *others = [values[at] for at in item.operands] or [(False, 0.0)]
            if item.name == names.CONSTANT:
                attributes = entries_of(mlir.Attribute.parse(item.attributes))
                number = mlir.FloatAttr(attributes["value"]).value
            elif item.name == "arith.mulf" and not (is_scaled and others[0][0]):
                number *= others[0][1]
            elif item.name == "arith.divf" and not others[0][0] and others[0][1]:
                number /= others[0][1]
            elif [item.name] not in _CASTS:
                raise NoFormError(_OTHER)
            elif not is_scaled:
                number = mlir.FloatAttr.get(mlir.Type.parse(item.type), number).value
            values.append((is_scaled or any(at for at, _ in others), number))
    if not values[-1][0]:
        raise NoFormError(_OTHER)
    return values[-1][1]
