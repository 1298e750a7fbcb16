"""Problems of kernels: attention, with the ops that move its heads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree import StructuredOp
from tuninglink.kernels.problems import constant_of
from tuninglink.kernels.producers import COLLAPSE, EXPAND, Producer, reshaped
from tuninglink.mlir import defining_op, names
from tuninglink.payloads import Value, computed, constant
from tuninglink.replacing import UNIT, Attention, NoFormError, Spelled, maps_of, spellings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SCALE: Final = 3
_MASK: Final = 4
_GROUPS: Final = [[0, 1], [2], [3]]
"""The dimensions of batches, heads, rows and elements, of which attention has the first two as one."""

_ORDER: Final = [0, 2, 1, 3]
"""The dimensions of a tensor of batches, rows, heads and elements, as it is transposed for attention, and back."""


@dataclass(frozen=True)
class Heads:
    """The ops by which PyTorch moves heads to batches for attention, and back.

    Attributes:
        count: the heads of a batch.
        moved: whether queries, keys and values are transposed from batches, rows, heads and elements.
        mask: the loops of the mask that is broadcast to the heads, `a1mj`; empty if none is.
        result: whether the result is transposed to batches, rows, heads and elements.
    """

    count: int
    moved: tuple[bool, bool, bool]
    mask: str = ""
    result: bool = False


@dataclass(frozen=True)
class ScaledAttention(Spelled):
    """An attention with a constant scale.

    Attributes:
        attention: the attention.
        scale: its scale.
        heads: the ops that move its heads; None if there are none, or others.
    """

    attention: Attention
    scale: float
    heads: Heads | None = None

    @classmethod
    def of(
        cls, operation: mlir.Operation, following: Sequence[mlir.Operation] = ()
    ) -> ScaledAttention:
        """Read an attention of a program, and the ops that transpose its result, if there are any.

        Raises:
            NoFormError: it is something else, or no kernel computes it.
        """
        attention = Attention.of(operation)
        scale = constant_of(operation.operands[_SCALE])
        if scale is None:
            raise NoFormError("its scale is not a constant")
        plain = cls(attention, scale.value)
        if attention.outer != "a" or any(
            len(loops) != 3 or loops[0] != "a"  # noqa: PLR2004
            for loops, _ in plain.operands
        ):
            return plain
        # Which operands are moved, and how many heads they have.
        sources = [_collapsed(operation.operands[at]) for at in range(_SCALE)]
        left, keys, values = (one is not None and _is_transposed(one) for one in sources)
        counts = {
            mlir.RankedTensorType(source.results[0].type).shape[1]
            for source, is_moved in zip(sources, (left, keys, values), strict=True)
            if source is not None and is_moved
        }
        mask = (
            "" if attention.mask is None else _broadcast(operation.operands[_MASK], attention.mask)
        )
        if mask:
            counts.add(_collapsed(operation.operands[_MASK]).results[0].type.shape[1])  # type: ignore[union-attr]
        if following:
            counts.add(mlir.RankedTensorType(following[0].results[0].type).shape[1])
        if not counts:
            return plain
        if len(counts) > 1:
            raise NoFormError("its operands have different numbers of heads")
        heads = Heads(counts.pop(), (left, keys, values), mask, bool(following))
        return replace(plain, heads=heads)

    @property
    def loop_sizes(self) -> Mapping[str, int]:
        """The sizes of the loops by letter."""
        return self.attention.loop_sizes

    @property
    def work(self) -> int:
        """The number of multiplications of its two products."""
        sizes = self.loop_sizes
        outer = prod(size for loop, size in sizes.items() if loop not in "nk")
        return outer * (sizes["n"] + sizes["k"])

    @cached_property
    def spellings(self) -> tuple[ScaledAttention, ...]:
        """The ways in which the problem may be written, with keys and values of the same layout; its own first."""
        if self.heads is not None:
            return (self,)
        layout = [loops[-2:] for loops in self.attention.operands]
        others = spellings(self.attention)
        same = [other for other in others if [at[-2:] for at in other.operands] == layout]
        return tuple(replace(self, attention=other) for other in same)

    @cached_property
    def plain(self) -> ScaledAttention:
        """The problem that the kernel computes in memory: with loops over batches, a, and over heads, b."""
        heads = self.heads
        if heads is None:
            return self
        *read, output = self.attention.operands
        both = [loops.replace("a", "ab") for loops in read]
        for at, is_moved in enumerate(heads.moved):
            both[at] = _apart(read[at]) if is_moved else both[at]
        if heads.mask:
            both[_MASK] = heads.mask.replace(UNIT, "")
        both.append(_apart(output) if heads.result else output.replace("a", "ab"))
        sizes = self._sizes
        attention = replace(
            self.attention, operands=tuple(both), loops="".join(sizes), sizes=(*sizes.values(),)
        )
        return ScaledAttention(attention, self.scale)

    @property
    def _sizes(self) -> dict[str, int]:
        """The sizes of the loops, with those over batches and over heads."""
        assert self.heads is not None, "heads are moved"
        sizes = dict(self.loop_sizes)
        batches = sizes.pop("a") // self.heads.count
        return {"a": batches, "b": self.heads.count, **sizes}

    @cached_property
    def operands(self) -> tuple[tuple[str, str], ...]:
        """The loops and the element types of the operands and the result of the kernel, the result last."""
        attention = self.plain.attention if self.heads is not None else self.attention
        both = [*zip(attention.operands, attention.types, strict=True)]
        return tuple(both[:_SCALE] + both[_SCALE + 1 :])

    def loaded(self, operands: Sequence[Value]) -> Sequence[Value]:
        """Return the operands that the kernel reads: those of the problem."""
        return operands

    @property
    def _destinations(self) -> tuple[bool, ...]:
        """Whether each operand is followed by the destination of an op that moves it: queries, keys, values, and the mask."""
        heads, count = self.heads, len(self.operands) - 1
        given = (False,) * count if heads is None else (*heads.moved, bool(heads.mask))
        return given[:count]

    @property
    def taken(self) -> tuple[int, ...]:
        """The positions, among the values of the graph, of the operands of the kernel."""
        has = self._destinations
        return tuple(at + sum(has[:at]) for at in range(len(has)))

    def tensors(self) -> tuple[mlir.Type, ...]:
        """Return the types of the values of the graph: operands but the scale, and destinations.

        An operand that is moved is the tensor before, and the destination.
        """
        given = self.attention.tensors()
        given = given[:_SCALE] + given[_SCALE + 1 :]
        if self.heads is None:
            return given
        kinds: list[mlir.Type] = []
        read = [loops for at, loops in enumerate(self.attention.operands) if at != _SCALE]
        for at, has in enumerate(self._destinations):
            element = self.operands[at][1]
            if has:
                own = self.heads.mask if at == _SCALE else _apart(read[at])
                kinds += [self._tensor(own, element), self._tensor("ab" + read[at][1:], element)]
            else:
                kinds.append(given[at])
        kinds.append(given[-1])
        if self.heads.result:
            kinds.append(self._tensor(_apart(read[-1]), self.operands[-1][1]))
        return tuple(kinds)

    def _tensor(self, loops: str, element: str) -> mlir.Type:
        sizes = {UNIT: 1, **self._sizes}
        return mlir.RankedTensorType.get([sizes[at] for at in loops], mlir.Type.parse(element))

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the graph at the current insertion point."""
        scale = constant(mlir.Type.parse(self.attention.types[_SCALE]), self.scale)
        rest, read = list(operands), list[Value]()
        for at, has in enumerate(self._destinations):
            value = rest.pop(0)
            if has:
                assert self.heads is not None, "an operand is moved"
                if at == _SCALE:
                    loops = "abmj"
                    maps = maps_of([self.heads.mask, loops], loops)
                    value = computed([value], maps, rest.pop(0), lambda element, _: element)
                else:
                    value = _transposed(value, rest.pop(0))
                whole = self.attention.tensors()[at + (at == _SCALE)]
                value = reshaped(value, mlir.RankedTensorType(whole), _GROUPS)
            read.append(value)
        read.insert(_SCALE, scale)
        result = self.attention.build([*read, rest.pop(0)])
        if self.heads is None or not self.heads.result:
            return result
        destination = rest.pop(0)
        batches, rows, heads, elements = destination.type.shape
        apart = mlir.RankedTensorType.get(
            [batches, heads, rows, elements], destination.type.element_type
        )
        expanded = reshaped(result, apart, _GROUPS)
        return _transposed(expanded, destination)

    def __str__(self) -> str:
        heads = "" if self.heads is None else f"_heads{self.heads.count}"
        return f"attention_{self.attention}{heads}"


def transposing(operation: mlir.Operation) -> list[mlir.Operation]:
    """Return an attention and the ops that transpose its result, the last of which is the given one; empty if it does not."""
    expanding = defining_op(operation.operands[0]) if _is_transposed(operation) else None
    if expanding is None or expanding.name != EXPAND or _groups(expanding) != _GROUPS:
        return []
    attention = defining_op(expanding.operands[0])
    if attention is None or attention.name != names.ATTENTION:
        return []
    uses = [len([*op.results[0].uses]) for op in (attention, expanding)]
    return [attention, expanding, operation] if uses == [1, 1] else []


def _apart(loops: str) -> str:
    """Return the loops of an operand before its heads were moved: `ambk` for `amk`."""
    return f"{loops[:2]}b{loops[2:]}"


def _transposed(value: Value, destination: Value) -> Value:
    loops = "abcd"
    source = "".join(loops[at] for at in _ORDER)
    return Producer(names.TRANSPOSE, source, "f16").build(value, destination, loops)


def _groups(operation: mlir.Operation) -> list[list[int]]:
    groups = mlir.ArrayAttr(operation.attributes["reassociation"])
    return [[mlir.IntegerAttr(at).value for at in mlir.ArrayAttr(group)] for group in groups]


def _collapsed(value: Value) -> mlir.Operation | None:
    """Return the op before a reshape that makes batches and heads one dimension."""
    reshaping = defining_op(value)
    if reshaping is None or reshaping.name != COLLAPSE or _groups(reshaping) != _GROUPS:
        return None
    return defining_op(reshaping.operands[0])


def _is_transposed(operation: mlir.Operation) -> bool:
    if operation.name != names.TRANSPOSE or {*operation.attributes} != {"permutation"}:
        return False
    kind = operation.operands[0].type
    is_static = isinstance(kind, mlir.RankedTensorType) and kind.has_static_shape
    order = list(mlir.DenseI64ArrayAttr(operation.attributes["permutation"]))
    return is_static and kind.encoding is None and order == _ORDER


def _broadcast(value: Value, loops: str) -> str:
    """Return the loops of a mask before it is broadcast to heads; empty if it is not."""
    operation = _collapsed(value)
    if operation is None or operation.name != names.GENERIC or len(operation.operands) != 2:  # noqa: PLR2004
        return ""
    op, block = StructuredOp(operation), operation.regions[0].blocks[0]
    read, written = op.operand_loops
    (*others, last) = list(block.operations)
    is_moved = not others and last.operands[0] == block.arguments[0]
    constants = [at for at in op.maps[0].results if isinstance(at, mlir.AffineConstantExpr)]
    is_unit = len(constants) == read.count(None) and all(at.value == 0 for at in constants)
    allowed = {"indexing_maps", "iterator_types", "operandSegmentSizes"}
    if not (is_moved and is_unit) or loops != "amj" or {*operation.attributes} - allowed:
        return ""
    own = "".join(UNIT if loop is None else "abmj"[loop] for loop in read)
    is_ordered = written == (0, 1, 2, 3) and "b" not in own and own.replace(UNIT, "") in _MASKS
    return own if is_ordered else ""


_MASKS: Final = ("amj", "mj", "aj", "j")
"""The loops of masks that are broadcast to heads."""
