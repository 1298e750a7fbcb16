"""Operations that a matcher may match, the most likely ones first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import ATTENTION_OUTPUTS, OpKind, affine_maps
from tuninglink.matching.predicates import STEPS
from tuninglink.mlir import names
from tuninglink.mlir.walk import body, collect
from tuninglink.payloads import layouts
from tuninglink.payloads.layouts import Ranks
from tuninglink.payloads.op_templates import Template, clone_into, new_block, open_tensor
from tuninglink.payloads.operations import TAKING_MAPS, attention, generic, named

if TYPE_CHECKING:
    from tuninglink.matching.conditions import Condition

CONVOLUTION_STEPS: Final = frozenset(f"convolution {step}" for step in STEPS)
"""Roles in conditions that are strides and dilations, not sizes."""

_ATTENTIONS: Final = (names.ONLINE_ATTENTION, names.ATTENTION)


class Candidates:
    """The operations that a matcher may match.

    They are built in the current context, at the current location.

    Args:
        condition: the condition of the matcher.
        sequences: the matcher and the sequences that it includes.
        generalizes: whether the target's backend generalizes named operations before it matches.
    """

    def __init__(
        self, condition: Condition, sequences: Sequence[mlir.Operation], *, generalizes: bool
    ) -> None:
        self._condition = condition
        self._ranks = Ranks(condition.ranks, condition.least_ranks)
        self._sequences = sequences
        self._generalizes = generalizes

    @cached_property
    def _maps_attribute(self) -> mlir.Attribute | None:
        maps = self._condition.maps
        return None if maps is None else mlir.Attribute.parse(maps.text)

    @cached_property
    def _maps(self) -> Sequence[mlir.AffineMap]:
        return () if self._maps_attribute is None else affine_maps(self._maps_attribute)

    @cached_property
    def _shown(self) -> Mapping[str, mlir.Operation]:
        """The first of the ops that show a graph, or regions, by name."""
        shown: dict[str, mlir.Operation] = {}
        for sequence in self._sequences:
            for op in collect(sequence, names.MATCH_DAG, names.MATCH_REGIONS):
                shown.setdefault(op.name, op)
        return shown

    @property
    def has_shown_ops(self) -> bool:
        """Whether the matcher shows a graph or regions. The operations then depend on more than the condition."""
        return bool(self._shown)

    def all(self) -> Iterator[Template]:
        """Yield operations with the structure that the matcher requires. Their sizes may not fit."""
        if names.MATCH_DAG in self._shown:
            yield _graph(self._shown[names.MATCH_DAG])
            return
        if names.MATCH_REGIONS in self._shown:
            yield self._with_regions(self._shown[names.MATCH_REGIONS])
            return
        for name in self._names():
            if name in _ATTENTIONS:
                yield from self._attentions(name)
            elif name == names.GENERIC:
                yield from self._generics()
            else:
                yield from self._named(name)

    def _names(self) -> list[str]:
        """Return the names of the operations to try, those that a backend leaves unchanged first."""
        condition_names = self._condition.names
        if condition_names is None:
            return [names.GENERIC]

        def order(name: str) -> tuple[bool, bool, bool, str]:
            is_lost = self._generalizes and name in _GENERALIZED
            is_last = name == names.FILL  # A fill accompanies many other operations.
            return is_lost, is_last, self._generalizes and name != names.GENERIC, name

        return sorted(condition_names, key=order)

    def _types(self, count: int) -> list[mlir.Type | None]:
        types = {at: mlir.Type.parse(text) for at, text in self._condition.types.items()}
        return [types.get(position) for position in range(count)]

    def _named(self, name: str) -> Iterator[Template]:
        """Yield named operations, with the required indexing maps where they can have them."""
        maps = self._maps_attribute
        for template in named(name, self._types(_MANY_OPERANDS), self._ranks.common):
            if maps is not None and name in TAKING_MAPS:
                template.root.attributes["indexing_maps"] = maps
            if not self._maps or self._maps == template.op.maps:
                yield template

    def _attentions(self, name: str) -> Iterator[Template]:
        outputs = ATTENTION_OUTPUTS[name]
        for maps in [self._maps] if self._maps else layouts.attentions(outputs):
            if not self._ranks.allow(*(len(map_.results) for map_ in maps)):
                continue
            types = self._types(len(maps))
            inputs = next((kind for kind in types[:3] if kind is not None), mlir.F16Type.get())
            rest = mlir.F32Type.get() if name == names.ONLINE_ATTENTION else inputs
            first = len(maps) - outputs
            filled = [kind or (inputs if at < first else rest) for at, kind in enumerate(types)]
            yield attention(name, maps, filled)

    def _generics(self) -> Iterator[Template]:
        for layout in [self._maps] if self._maps else self._layouts():
            yield generic(layout, self._filled(len(layout)))

    def _layouts(self) -> Iterator[list[mlir.AffineMap]]:
        condition, ranks = self._condition, self._ranks
        # Prefer the least ranks: a matcher that reads dimensions of all operands usually reads the last ones.
        attempts = (ranks.tightened(), ranks) if ranks.mention(3) else (ranks,)
        if OpKind.CONVOLUTION in condition.kinds:
            strides, dilations = self._steps("strides"), self._steps("dilations")
            for attempt in attempts:
                yield from layouts.convolutions(condition.counts, attempt, strides, dilations)
            return
        for attempt in attempts:
            yield from layouts.contractions(condition.counts, attempt)
        if OpKind.CONTRACTION not in condition.kinds:
            last = condition.operands - 1
            yield from layouts.elementwise(ranks, last)
            yield from layouts.separate(ranks, last)

    def _steps(self, role: str) -> dict[int, int]:
        return {
            fact.dimension[1]: fact.extent.size
            for fact in self._condition.sizes
            if fact.extent.size is not None and fact.dimension[0] == f"convolution {role}"
        }

    def _filled(self, count: int) -> list[mlir.Type]:
        """Return element types. Open ones are those of the other operands, or the usual ones."""
        types = self._types(count)
        inputs = next((kind for kind in types[:-1] if kind is not None), None)
        output = types[-1]
        if inputs is None:
            inputs = output or mlir.F32Type.get()
        return [*(kind or inputs for kind in types[:-1]), output or inputs]

    def _with_regions(self, shown: mlir.Operation) -> Template:
        """Return the operation with the required regions. Everything else about it is open."""
        target = next(body(shown))
        types = [_opened(operand.type) for operand in target.operands]
        owner, block = new_block(types)
        values: dict[Any, Any] = dict(zip(target.operands, block.arguments, strict=True))
        with mlir.InsertionPoint(block):
            clone = clone_into(target, values, [_opened(result.type) for result in target.results])
        maps = self._maps_attribute
        if maps is not None:
            clone.attributes["indexing_maps"] = maps
        return Template(owner, block, is_exact=False)


_GENERALIZED: Final = frozenset(
    {
        *_ATTENTIONS[1:],
        *("linalg.batch_matmul", "linalg.batch_matvec", "linalg.batch_vecmat", "linalg.dot"),
        *("linalg.matmul", "linalg.matvec", "linalg.quantized_matmul", "linalg.softmax"),
        *("linalg.transpose", "linalg.vecmat"),
    }
)
"""Operations that GPU backends replace before they match, as `tuninglink.compile` shows."""

_MANY_OPERANDS: Final = 16


def _graph(shown: mlir.Operation) -> Template:
    return Template(shown, shown.regions[0].blocks[0], is_exact=True)


def _opened(kind: mlir.Type) -> mlir.Type:
    if isinstance(kind, mlir.RankedTensorType):
        return open_tensor(kind.rank, kind.element_type)
    return kind
