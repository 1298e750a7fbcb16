"""Candidates: the ops that a matcher may match, most likely ones first, as templates.

Matchers that differ only in sizes share the candidates.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product as choices_of
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree import ATTENTION_OUTPUTS, OpKind, affine_maps, indexing_loops
from tuninglink.matching import STEPS
from tuninglink.mlir import body, collect, names
from tuninglink.payloads.building import (
    added_product,
    attended,
    clone_into,
    computed,
    is_number,
    new_block,
    open_tensor,
    product,
)
from tuninglink.payloads.templates import Template

if TYPE_CHECKING:
    from tuninglink.matching import Condition


class UnknownArithmeticError(Exception):
    """The error for an op that would compute on types without arithmetic. The message names the types."""


def generic(maps: Sequence[mlir.AffineMap], types: Sequence[mlir.Type]) -> Template:
    """Return a `linalg.generic` with one output that sums up the products of its inputs, or stores them without reductions.

    The output has the last of the maps.
    """
    for type_ in types:
        if not is_number(type_):
            raise UnknownArithmeticError(f"no arithmetic for '{type_}'")
    ranks = (len(map_.results) for map_ in maps)
    owner, block = new_block([*map(open_tensor, ranks, types)])
    reduces = not set(indexing_loops(maps[-1])).issuperset(range(maps[-1].n_dims))
    with mlir.InsertionPoint(block):
        *inputs, output = block.arguments
        computed(inputs, maps, output, added_product if reduces else product)
    return Template(owner, block)


_SCALE: Final = 3
"""The position of the scale, a number, among the operands of an attention."""

TAKING_MAPS: Final = frozenset(
    {"linalg.batch_matmul", "linalg.batch_reduce_matmul", "linalg.contract", "linalg.matmul"}
)
"""Named operations that accept other indexing maps than their usual ones."""

_RANKS: Final[Mapping[str, Sequence[int | None]]] = {
    "linalg.matmul": (2, 2, 2),
    "linalg.batch_matmul": (3, 3, 3),
    "linalg.batch_reduce_matmul": (3, 3, 2),
    "linalg.contract": (None, None, None),
    "linalg.elementwise": (None, None),
    "linalg.softmax": (None, None),
    "linalg.transpose": (None, None),
}
"""The ranks of the operands of named operations that the bindings do not define, None for any common rank."""

_ANY_RANK: Final = frozenset({"linalg.copy", names.FILL})
"""Operations that the bindings define for any rank."""

_VALUES: Final = frozenset({"INPUT_TENSOR", "OUTPUT_TENSOR", "SCALAR"})


def named(name: str, types: Sequence[mlir.Type | None], rank: int) -> Iterator[Template]:
    """Yield named structured operations. The compiler may reject some of them."""
    from iree.compiler.dialects import linalg  # type: ignore[attr-defined] # noqa: PLC0415

    if name.endswith("_unsigned"):
        # The bindings abort on a float.
        if any(isinstance(kind, mlir.FloatType) for kind in types):
            return
        types = [kind or mlir.IntegerType.get_signless(32) for kind in types]
    default = next((kind for kind in types if kind is not None), mlir.F32Type.get())
    builder: Any = getattr(linalg, name.removeprefix("linalg."), None)
    definition: Any = getattr(builder, "op_def", None)
    operands: list[mlir.Type] = []
    if definition is not None:
        # The definition states which operands have the same element type.
        definitions = definition.registered_operands.values()
        values = [value for value in definitions if value.kind.name in _VALUES]
        elements: dict[str, mlir.Type] = {
            "I32": mlir.IntegerType.get_signless(32),
            "I64": mlir.IntegerType.get_signless(64),
            "F64": mlir.F64Type.get(),
        }
        for value, kind in zip(values, types, strict=False):
            if kind is not None:
                elements[value.type_var.name] = kind
        for value in values:
            element = elements.get(value.type_var.name, default)
            count = rank if name in _ANY_RANK else len(value.size_exprs or ())
            is_scalar = value.kind.name == "SCALAR"
            operands.append(element if is_scalar else open_tensor(count, element))
        are_outputs = [value.kind.name == "OUTPUT_TENSOR" for value in values]
    elif name in _RANKS:
        kinds = [*types, *[None] * len(_RANKS[name])]
        for size_count, kind in zip(_RANKS[name], kinds, strict=False):
            count = rank if size_count is None else size_count
            operands.append(open_tensor(count, kind or default))
        are_outputs = [*[False] * (len(operands) - 1), True]
    else:
        return
    owner, block = new_block(operands)
    arguments = [*zip(block.arguments, are_outputs, strict=True)]
    inputs = [value for value, is_output in arguments if not is_output]
    outputs = [value for value, is_output in arguments if is_output]
    with mlir.InsertionPoint(block):
        if name == "linalg.softmax":
            builder([outputs[0].type], *inputs, *outputs, rank - 1)
        else:
            further: dict[str, Any] = {}
            if name == "linalg.contract":
                *batch, m, n, k = map(mlir.AffineExpr.get_dim, range(rank + 1))
                further["indexing_maps"] = [
                    mlir.AffineMap.get(rank + 1, 0, [*batch, *loops])
                    for loops in ((m, k), (k, n), (m, n))
                ]
            elif name == "linalg.elementwise":
                further["kind"] = linalg.ElementwiseKind.exp
                further["indexing_maps"] = [mlir.AffineMap.get_identity(rank)] * 2
            elif name == "linalg.transpose":
                further["permutation"] = list(reversed(range(rank)))
            builder(*inputs, outs=outputs, **further)
    yield Template(owner, block)


# --- Common indexing maps for matchers without maps, and the candidates ----------------------------

Expressions = list[mlir.AffineExpr]
_MOST_OF_A_ROLE = 3
_IMAGES = (2, 1, 3)


@dataclass(frozen=True)
class Ranks:
    """Constraints on the ranks of operands: an exact or a minimum rank, by operand number."""

    exact: Mapping[int, int]
    least: Mapping[int, int]

    def allow(self, *ranks: int) -> bool:
        """Return whether the first operands may have these ranks."""
        return all(
            self.exact.get(at, rank) == rank and self.least.get(at, 0) <= rank
            for at, rank in enumerate(ranks)
        )


@dataclass
class _Loops:
    """A generator of loops in order."""

    count: int = 0

    def take(self, count: int) -> Expressions:
        self.count += count
        return list(map(mlir.AffineExpr.get_dim, range(self.count - count, self.count)))

    def maps(self, *operands: Sequence[mlir.AffineExpr]) -> list[mlir.AffineMap]:
        return [mlir.AffineMap.get(self.count, 0, list(operand)) for operand in operands]


def _contraction_maps(counts: Mapping[str, int], ranks: Ranks) -> Iterator[list[mlir.AffineMap]]:
    """Yield maps of contractions, given the number of loops of some roles, such as `contraction m`."""
    known_counts = [counts.get(f"contraction {role}") for role in ("batch", "m", "n", "k")]
    choices = [range(_MOST_OF_A_ROLE + 1) if count is None else (count,) for count in known_counts]
    # Start with a plain matmul.
    for batch, m, n, k in sorted(
        choices_of(*choices),
        key=lambda count: (abs(count[1] - 1) + abs(count[2] - 1) + count[3], count),
    ):
        if k == 0 or not ranks.allow(batch + m + k, batch + n + k, batch + m + n):
            continue
        loops = _Loops()
        b_, m_, n_, k_ = map(loops.take, (batch, m, n, k))
        for k_is_last_in_lhs, k_is_last_in_rhs in ((1, 0), (1, 1), (0, 0), (0, 1)):
            lhs = [*b_, *m_, *k_] if k_is_last_in_lhs else [*b_, *k_, *m_]
            rhs = [*b_, *n_, *k_] if k_is_last_in_rhs else [*b_, *k_, *n_]
            yield loops.maps(lhs, rhs, [*b_, *m_, *n_])
        if m == n == k:  # Packed: tiles of m and k alternate.
            packed = (zip(*pair, strict=True) for pair in ((m_, k_), (n_, k_), (m_, n_)))
            yield loops.maps(*([*b_, *chain.from_iterable(pairs)] for pairs in packed))


def _convolution_maps(condition: Condition, ranks: Ranks) -> Iterator[list[mlir.AffineMap]]:
    """Yield maps of convolutions."""
    counts = condition.counts

    def choices(role: str, usual: Sequence[int]) -> Sequence[int]:
        count = counts.get(f"convolution {role}")
        return usual if count is None else (count,)

    # The required strides and dilations, and the possible numbers of dimensions of the image.
    strides, dilations = (
        {
            fact.dimension[1]: fact.extent.size
            for fact in condition.sizes
            if fact.extent.size is not None and fact.dimension[0] == f"convolution {role}"
        }
        for role in ("strides", "dilations")
    )
    roles = ("output_image", "filter", "strides", "dilations")
    images = {counts[name] for role in roles if (name := f"convolution {role}") in counts}
    for image, depth, batch, outputs, inputs, step in choices_of(
        sorted(images) or _IMAGES,
        choices("depth", (0, 1)),
        choices("batch", (1, 2, 0)),
        choices("output_channel", (1, 0, 2)),
        choices("input_channel", (1, 0, 2)),
        (1,) if strides else (1, 2),
    ):
        loops = _Loops()
        b, i, o, d, f, c = map(loops.take, (batch, image, outputs, depth, image, inputs))
        window = [
            i[at] * strides.get(at, step) + f[at] * dilations.get(at, 1) for at in range(image)
        ]
        layouts = (
            ([*b, *window, *d, *c], [*f, *d, *c, *o], [*b, *i, *d, *o]),
            ([*b, *window, *d, *c], [*d, *o, *f, *c], [*b, *i, *d, *o]),
            ([*b, *d, *c, *window], [*d, *o, *c, *f], [*b, *d, *o, *i]),
        )
        # A pooling, whose channels are like a batch.
        pooling = ([*b[:1], *window, *b[1:]], f, [*b[:1], *i, *b[1:]])
        for layout in layouts if o or d or c else (pooling,):
            if ranks.allow(*map(len, layout)):
                yield loops.maps(*layout)


_STEPS: Final = frozenset(f"convolution {step}" for step in STEPS)
"""Roles in conditions that are strides and dilations, not sizes."""

_ATTENTIONS: Final = (names.ONLINE_ATTENTION, names.ATTENTION)


class Candidates:
    """The operations that a matcher may match, built once, in the context and at the location of the first iteration."""

    def __init__(
        self, condition: Condition, sequences: Sequence[mlir.Operation], *, generalizes: bool
    ) -> None:
        self._condition = condition
        self._ranks = Ranks(condition.ranks, condition.least_ranks)
        least = max(2, *condition.least_ranks.values(), 0)
        self._common_rank = next(iter(condition.ranks.values()), least)
        self._generalizes = generalizes
        self._maps_attribute: mlir.Attribute | None = None
        self._maps: Sequence[mlir.AffineMap] = ()
        self._source = self._all()
        self._templates: list[Template] = []
        self._failure: Exception | None = None
        # The first match op of each name that contains a graph or regions.
        self._shown: dict[str, mlir.Operation] = {}
        for sequence in sequences:
            for op in collect(sequence, names.MATCH_DAG, names.MATCH_REGIONS):
                self._shown.setdefault(op.name, op)
        tables = (condition.types, condition.ranks, condition.least_ranks, condition.counts)
        parts = (
            condition.names,
            condition.kinds,
            None if condition.maps is None else condition.maps.text,
            condition.operands,
            *(frozenset(table.items()) for table in tables),
            frozenset(size for size in condition.sizes if size.dimension[0] in _STEPS),
        )
        self.key: Hashable = None if self._shown else parts

    def __iter__(self) -> Iterator[Template]:
        """Yield operations with the structure that the matcher requires, but possibly without valid sizes."""
        yield from self._templates
        if self._failure is not None:
            raise self._failure
        try:
            for template in self._source:
                template.is_shared = not self._shown
                self._templates.append(template)
                yield template
        except Exception as failure:
            self._failure = failure
            raise

    def _all(self) -> Iterator[Template]:
        if names.MATCH_DAG in self._shown:
            graph = self._shown[names.MATCH_DAG]
            yield Template(graph, graph.regions[0].blocks[0], is_exact=True)
            return
        if self._condition.maps is not None:
            self._maps_attribute = mlir.Attribute.parse(self._condition.maps.text)
            self._maps = affine_maps(self._maps_attribute)
        if names.MATCH_REGIONS in self._shown:
            # The operation with the required regions; its other properties are unconstrained.
            target = next(body(self._shown[names.MATCH_REGIONS]))
            operands, results = (
                [
                    open_tensor(value.type.rank, value.type.element_type)
                    if isinstance(value.type, mlir.RankedTensorType)
                    else value.type
                    for value in values
                ]
                for values in (target.operands, target.results)
            )
            owner, block = new_block(operands)
            values: dict[Any, Any] = dict(zip(target.operands, block.arguments, strict=True))
            with mlir.InsertionPoint(block):
                clone = clone_into(target, values, results)
            if self._maps_attribute is not None:
                clone.attributes["indexing_maps"] = self._maps_attribute
            yield Template(owner, block)
            return

        # Start with operations that a backend leaves unchanged. A fill accompanies many other operations.
        generalizes, allowed = self._generalizes, self._condition.names
        for *_, name in sorted(
            (
                generalizes and name in _GENERALIZED,
                name == names.FILL,
                generalizes and name != names.GENERIC,
                name,
            )
            for name in ([names.GENERIC] if allowed is None else allowed)
        ):
            if name in _ATTENTIONS:
                yield from self._attentions(name)
            elif name == names.GENERIC:
                for layout in [self._maps] if self._maps else self._layouts():
                    # Open element types are those of the other operands, or common ones.
                    types = self._types(len(layout))
                    output = types[-1]
                    inputs = next(filter(None, types[:-1]), output or mlir.F32Type.get())
                    filled = [*(kind or inputs for kind in types[:-1]), output or inputs]
                    yield generic(layout, filled)
            else:
                # Named operations, with the required indexing maps if the operations support them.
                maps = self._maps_attribute
                for template in named(name, self._types(_MANY_OPERANDS), self._common_rank):
                    if maps is not None and name in TAKING_MAPS:
                        template.root.attributes["indexing_maps"] = maps
                    if not self._maps or self._maps == template.op.maps:
                        yield template

    def _types(self, count: int) -> list[mlir.Type | None]:
        types = {at: mlir.Type.parse(text) for at, text in self._condition.types.items()}
        return [types.get(position) for position in range(count)]

    def _attentions(self, name: str) -> Iterator[Template]:
        """Yield attentions or online attentions."""
        outputs = ATTENTION_OUTPUTS[name]
        layouts = [self._maps] if self._maps else []
        # Without maps: common ones, without and with a mask.
        for batch, has_mask in () if layouts else choices_of((1, 2, 0), (False, True)):
            loops = _Loops()
            b = loops.take(batch)
            m, n, k1, k2 = loops.take(4)
            inputs = [[*b, m, k1], [*b, k2, k1], [*b, k2, n], []]
            masks = [[*b, m, k2]] if has_mask else []
            results = [[*b, m, n], [*b, m], [*b, m]][:outputs]
            layouts.append(loops.maps(*inputs, *masks, *results))
        for maps in layouts:
            if not self._ranks.allow(*(len(map_.results) for map_ in maps)):
                continue
            types = self._types(len(maps))
            common = next((kind for kind in types[:3] if kind is not None), mlir.F16Type.get())
            rest = mlir.F32Type.get() if name == names.ONLINE_ATTENTION else common
            operands: list[mlir.Type] = []
            for at, (map_, kind) in enumerate(zip(maps, types, strict=True)):
                element = kind or (common if at < len(maps) - outputs else rest)
                operands.append(
                    element if at == _SCALE else open_tensor(len(map_.results), element)
                )
            owner, block = new_block(operands)
            with mlir.InsertionPoint(block):
                attended(name, list(block.arguments), maps)
            yield Template(owner, block)

    def _layouts(self) -> Iterator[list[mlir.AffineMap]]:
        """Yield common maps of generic ops."""
        condition, ranks = self._condition, self._ranks
        exact, least = ranks.exact, ranks.least
        # Prefer the least ranks: a matcher that reads dimensions of all operands usually reads the last ones.
        tightened = Ranks({**least, **exact}, {})
        is_tight = all(at in exact or at in least for at in range(3))
        attempts = (tightened, ranks) if is_tight else (ranks,)
        if OpKind.CONVOLUTION in condition.kinds:
            for attempt in attempts:
                yield from _convolution_maps(condition, attempt)
            return
        for attempt in attempts:
            yield from _contraction_maps(condition.counts, attempt)
        if OpKind.CONTRACTION not in condition.kinds:
            # Maps without reduction: for operands of equal rank, and for operands that share no loop, of any shapes.
            count = max(2, condition.operands)
            loops = _Loops()
            yield loops.maps(*[loops.take(self._common_rank)] * count)
            loops = _Loops()
            likely = [exact.get(at, max(2, least.get(at, 0))) for at in range(count)]
            separate = list(map(loops.take, likely))
            yield loops.maps(*separate)


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
