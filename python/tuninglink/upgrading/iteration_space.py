"""The loops of the operation that a matcher matches, and their roles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import ProductLoops, loops_in
from tuninglink.mlir import names
from tuninglink.mlir.attributes import parse_attribute
from tuninglink.mlir.diagnostics import thread_context
from tuninglink.upgrading.spec_text import Mark, SpecText
from tuninglink.upgrading.trees import Leaf, Node, Value, as_node, parse

if TYPE_CHECKING:
    from tuninglink.upgrading.generic_forms import Generalization
    from tuninglink.upgrading.outline import SpecOutline
    from tuninglink.upgrading.outline_parts import Dag, NamedSequence

_MATCHERS: Final = frozenset(
    {
        names.MATCH_CONTRACTION,
        names.MATCH_CONVOLUTION,
        names.MATCH_ATTENTION,
        names.MATCH_ONLINE_ATTENTION,
    }
)
_DEEPEST_INCLUDE: Final = 16
_QUERY_RANKS: Final = range(2, 7)
_OPERANDS: Final = 3
"""Left-hand side, right-hand side and result."""
_ATTENTION_OPERANDS: Final = 4
"""The least number of operands: query, key, value and result."""

Dimensions = tuple[frozenset[int], ...]
"""The loops that index each dimension of an operand."""


@dataclass(frozen=True)
class IterationSpace:
    """The loops of an operation.

    Attributes:
        loops: the number of loops.
        maps: for each operand, inputs first, the loops that index each of its dimensions.
        is_attention: whether it is an attention, whose operands are query, key, value, optionally scale and mask, and
            output.
        is_assumed: whether the matcher shows only a name and the shape of the query, so that the usual order of loops
            is assumed: batches, M, N, K1, K2.
    """

    loops: int
    maps: tuple[Dimensions, ...]
    is_attention: bool = False
    is_assumed: bool = False

    @cached_property
    def _used(self) -> tuple[frozenset[int], ...]:
        return tuple(frozenset().union(*results) for results in self.maps)

    @cached_property
    def _product(self) -> ProductLoops:
        return ProductLoops.of(self._used[0], self._used[1], self._used[-1])

    @cached_property
    def is_contraction_like(self) -> bool:
        """Whether it is a sum of products of two operands: a contraction or a convolution."""
        return len(self.maps) == _OPERANDS and bool(self.m and self.n and self.reductions)

    @cached_property
    def reductions(self) -> tuple[int, ...]:
        """The loops that do not index the result."""
        return tuple(loop for loop in range(self.loops) if loop not in self._used[-1])

    @cached_property
    def m(self) -> tuple[int, ...]:
        """The loops of only the left-hand side and the result; for a convolution, those of the image."""
        return self._product.rows

    @cached_property
    def n(self) -> tuple[int, ...]:
        """The loops of only the right-hand side and the result."""
        return self._product.columns

    @cached_property
    def query_key(self) -> tuple[int, ...]:
        """The loops of an attention's first product, of query and key."""
        return tuple(sorted(self._used[0] | self._used[1]))

    @cached_property
    def probability_value(self) -> tuple[int, ...]:
        """The loops of an attention's second product."""
        query, key, value = self._used[:3]
        rows = (query - key) | (query & key & value)
        return tuple(sorted(rows | value))

    @cached_property
    def query_rows(self) -> tuple[int, ...]:
        """The loops of an attention's query rows."""
        query, key, value = self._used[:3]
        return tuple(sorted(query - key - value))


@dataclass
class IterationSpaces:
    """The iteration spaces of the operations that the sequences of a spec match or configure."""

    outline: SpecOutline
    generalization: Generalization

    def __post_init__(self) -> None:
        self._spaces: dict[int, IterationSpace | None] = {}

    def of(self, sequence: NamedSequence | None) -> IterationSpace | None:
        """Return the iteration space of the operation that a sequence matches or configures, if the text shows it."""
        if sequence is None:
            return None
        if sequence.start not in self._spaces:
            space = self._matched(sequence, {sequence.name})
            if space is None:
                matched = {
                    self._matched(matcher, {matcher.name})
                    for matcher in self.outline.matchers_of(sequence)
                }
                space = matched.pop() if len(matched) == 1 else None
            self._spaces[sequence.start] = space
        return self._spaces[sequence.start]

    def _matched(self, sequence: NamedSequence, seen: set[str]) -> IterationSpace | None:
        """Return the iteration space in a matcher, or in a sequence that it includes."""
        for matched in self._shown(sequence):
            if matched is not None:
                return matched
        for callee in self.outline.includes(sequence):
            if callee.name not in seen and len(seen) < _DEEPEST_INCLUDE:
                seen.add(callee.name)
                matched = self._matched(callee, seen)
                if matched is not None:
                    return matched
        return None

    def _shown(self, sequence: NamedSequence) -> Iterator[IterationSpace | None]:
        """Yield the iteration spaces in the operations of a sequence."""
        is_attention = False
        for mark in self.outline.marks(sequence.start, sequence.end):
            if mark.text == names.MATCH_OPERATION_NAME:
                is_attention = is_attention or _names_attention(self.outline.source, mark)
            elif mark.text == names.MATCH_TYPE and is_attention:
                yield _usual_attention(self.outline.source, mark)
            elif mark.text == names.MATCH_DAG:
                dag = self.outline.dag(mark)
                yield self._of_dag(dag) if dag is not None else None
            elif mark.text in _MATCHERS:
                yield self._of_matcher(mark)

    def _of_dag(self, dag: Dag) -> IterationSpace | None:
        """Return the iteration space of the root op of a DAG."""
        source, is_attention = self.outline.source, "attention" in dag.root.text
        attributes, after_equals = None, False
        for token in source.tokens(dag.root.end, dag.region.end - 1):
            if token.kind == "group" and token.text in "{<":
                text = source.text[token.start : token.end]
                if "#" not in text:
                    attributes = _of_attributes(text, is_attention=is_attention)
                else:
                    maps = _maps_in(parse(source, token.start, token.end))
                    attributes = self._of_maps(maps, is_attention=is_attention)
                break
            if token.kind == "group" and token.text == "[" and after_equals:
                maps = parse(source, token.start, token.end)
                attributes = self._of_maps(maps, is_attention=is_attention)
                break
            if token.text in {"ins", "outs"}:
                break
            after_equals = token.text == "="
        if attributes is None and dag.region.start in self.generalization.dags:
            maps_text = self.generalization.dags[dag.region.start].maps
            attributes = _of_attributes(f"{{indexing_maps = {maps_text}}}", is_attention=False)
        return attributes

    def _of_matcher(self, mark: Mark) -> IterationSpace | None:
        """Return the iteration space of a matcher op such as `match.contraction`."""
        source, previous = self.outline.source, ""
        for token in source.following(mark):
            is_maps = token.text == "[" and previous == "indexing_maps"
            if is_maps or token.text == "{":
                value = parse(source, token.start, token.end)
                maps = value if is_maps else _maps_in(value)
                return self._of_maps(maps, is_attention="attention" in mark.text)
            if token.text == ":" or token.is_transform:
                return None
            if token.text != "=":
                previous = token.text
        return None

    def _of_maps(self, maps: Value | None, *, is_attention: bool) -> IterationSpace | None:
        if not isinstance(maps, Node):
            return None
        return _space([self._map_text(field.value) for field in maps.fields], is_attention)

    def _map_text(self, value: Value) -> str:
        if isinstance(value, Leaf) and value.text.startswith("#"):
            alias = self.outline.aliases.get(value.text)
            return self.outline.source.text[alias.value : alias.end] if alias else ""
        return value.render()


@lru_cache(maxsize=1024)
def _of_attributes(text: str, *, is_attention: bool) -> IterationSpace | None:
    """Read attributes without aliases. Results are cached, since many matchers of a spec share attributes."""
    maps = _maps_in(parse(SpecText(text), 0, len(text)))
    if not isinstance(maps, Node):
        return None
    return _space([field.value.render() for field in maps.fields], is_attention)


def _space(maps: list[str], is_attention: bool) -> IterationSpace | None:  # noqa: FBT001
    read = [read_affine_map(map_) for map_ in maps]
    valid = [map_ for map_ in read if map_ is not None]
    least = _ATTENTION_OPERANDS if is_attention else _OPERANDS - 1
    if len(valid) < max(least, len(read)):
        return None
    return IterationSpace(valid[-1][0], tuple(map_[1] for map_ in valid), is_attention)


def _names_attention(source: SpecText, mark: Mark) -> bool:
    """Return whether an operation matched by name is an attention."""
    listed = next((token for token in source.following(mark) if token.text == "["), None)
    return listed is not None and "attention" in source.text[listed.start : listed.end]


def _usual_attention(source: SpecText, mark: Mark) -> IterationSpace | None:
    """Return the iteration space of an attention whose query type is checked at `mark`."""
    type_ = next((token for token in source.following(mark) if token.text == "<"), None)
    rank = source.text.count("x", type_.start, type_.end) if type_ is not None else 0
    if rank not in _QUERY_RANKS:
        return None
    *batches, m, n, k1, k2 = range(rank + 2)

    def operand(*loops: int) -> Dimensions:
        return tuple(frozenset({loop}) for loop in (*batches, *loops))

    maps = (operand(m, k1), operand(k2, k1), operand(n, k2), operand(m, n))
    return IterationSpace(rank + 2, maps, is_attention=True, is_assumed=True)


def _maps_in(attributes: Value | None) -> Value | None:
    """Return the indexing maps in `{…}`, `<{…}>` or `<…>`."""
    node = as_node(attributes)
    if node is None:
        return None
    if node.bracket == "<" and node.fields and node.node("indexing_maps") is None:
        node = as_node(node.fields[0].value) or node
    return node.value("indexing_maps")


def read_affine_map(text: str) -> tuple[int, Dimensions] | None:
    """Read `affine_map<(d0, d1) -> (d0 + d1)>`: the number of loops, and the loops of each dimension."""
    attribute = parse_attribute(text, thread_context())
    if not isinstance(attribute, mlir.AffineMapAttr):
        return None
    return attribute.value.n_dims, tuple(map(loops_in, attribute.value.results))
