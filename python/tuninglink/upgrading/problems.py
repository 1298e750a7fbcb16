"""What the operation that a matcher looks for computes: which loops it has, and what they are for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

from tuninglink.mlir import names
from tuninglink.upgrading.outline import Outline, plain
from tuninglink.upgrading.source import Source
from tuninglink.upgrading.trees import Leaf, Node, as_node, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.upgrading.outline import NamedSequence
    from tuninglink.upgrading.source import Mark, Token
    from tuninglink.upgrading.trees import Value

DAG: Final = "transform.iree.match.cast_compatible_dag_from_root"
OPERATION_NAME: Final = "transform.match.operation_name"
_MATCHERS: Final = frozenset(
    {
        "transform.iree.match.contraction",
        "transform.iree.match.convolution",
        "transform.iree.match.attention",
        "transform.iree.match.online_attention",
    }
)
_DEEPEST_INCLUDE: Final = 16
_TYPE: Final = "transform.iree.match.cast_compatible_type"
_LEAST_QUERY_RANK: Final = 2
_MOST_QUERY_RANK: Final = 6
_OPERANDS: Final = 3
"""Left-hand side, right-hand side and result."""
_ATTENTION_OPERANDS: Final = 4
"""At least: query, key, value and result."""


@dataclass(frozen=True)
class Problem:
    """The loops of an operation.

    Attributes:
        loops: how many there are.
        maps: for each operand, inputs first, the loops that index each of its dimensions.
        is_attention: whether it is an attention, whose operands are query, key, value, perhaps scale and
            mask, and output.
        is_assumed: whether the matcher gives only a name and the shape of the query, so that the usual order
            of loops has to be assumed: batches, M, N, K1, K2.
    """

    loops: int
    maps: tuple[tuple[frozenset[int], ...], ...]
    is_attention: bool = False
    is_assumed: bool = False

    @cached_property
    def _used(self) -> tuple[frozenset[int], ...]:
        return tuple(frozenset().union(*results) for results in self.maps)

    @property
    def _lhs(self) -> frozenset[int]:
        return self._used[0]

    @property
    def _rhs(self) -> frozenset[int]:
        return self._used[1]

    @property
    def _out(self) -> frozenset[int]:
        return self._used[-1]

    @cached_property
    def is_contraction_like(self) -> bool:
        """Whether it multiplies two operands and adds up: contractions and convolutions."""
        return len(self.maps) == _OPERANDS and bool(self.m and self.n and self.reductions)

    @cached_property
    def reductions(self) -> tuple[int, ...]:
        """The loops that the result does not have."""
        return tuple(loop for loop in range(self.loops) if loop not in self._out)

    @cached_property
    def m(self) -> tuple[int, ...]:
        """The loops of the left-hand side and the result alone; of a convolution those of the image."""
        return tuple(sorted((self._lhs & self._out) - self._rhs))

    @cached_property
    def n(self) -> tuple[int, ...]:
        """The loops of the right-hand side and the result alone."""
        return tuple(sorted((self._rhs & self._out) - self._lhs))

    @cached_property
    def query_key(self) -> tuple[int, ...]:
        """The loops of an attention's first product, query by key."""
        return tuple(sorted(self._used[0] | self._used[1]))

    @cached_property
    def probability_value(self) -> tuple[int, ...]:
        """The loops of an attention's second product."""
        query, key, value = self._used[:3]
        rows = (query - key) | (query & key & value)
        return tuple(sorted(rows | value))

    @cached_property
    def query_rows(self) -> tuple[int, ...]:
        """The loops of an attention's rows."""
        query, key, value = self._used[:3]
        return tuple(sorted(query - key - value))


def problem_of(outline: Outline, sequence: NamedSequence) -> Problem | None:
    """Returns what the operation that a matcher looks for computes, or None if the text does not say."""
    return _problem(outline, sequence, {sequence.name})


def _problem(outline: Outline, sequence: NamedSequence, seen: set[str]) -> Problem | None:
    if sequence.body is None:
        return None
    included: list[NamedSequence] = []
    is_attention = False
    for mark in outline.marks(sequence.body.start, sequence.end):
        found = None
        if mark.text == OPERATION_NAME:
            is_attention = is_attention or _names_attention(outline.source, mark)
        elif mark.text == _TYPE and is_attention:
            found = _usual_attention(outline.source, mark)
        if mark.text == DAG:
            found = _of_dag(outline, mark)
        elif mark.text in _MATCHERS:
            found = _of_matcher(outline, sequence, mark)
        elif mark.text == names.INCLUDE:
            other = _included(outline, sequence, mark)
            if other is not None and other.name not in seen and len(seen) < _DEEPEST_INCLUDE:
                seen.add(other.name)
                included.append(other)
        if found is not None:
            return found
    return next(filter(None, (_problem(outline, each, seen) for each in included)), None)


def _included(outline: Outline, sequence: NamedSequence, mark: Mark) -> NamedSequence | None:
    target = next(outline.source.tokens(mark.end, sequence.end), None)
    if target is None or target.kind != "symbol":
        return None
    return outline.by_name.get((sequence.scope, plain(target.text)))


def _names_attention(source: Source, mark: Mark) -> bool:
    """Tells whether an operation matched by name is an attention."""
    names_ = next(
        (each for each in source.tokens(mark.end, source.closers[mark.inside]) if each.text == "["),
        None,
    )
    return names_ is not None and "attention" in source.text[names_.start : names_.end]


def _usual_attention(source: Source, mark: Mark) -> Problem | None:
    """Returns the problem of an attention whose query has the type that is checked at `mark`."""
    type_ = next(
        (each for each in source.tokens(mark.end, source.closers[mark.inside]) if each.text == "<"),
        None,
    )
    if type_ is None:
        return None
    rank = source.text.count("x", type_.start, type_.end)
    if not _LEAST_QUERY_RANK <= rank <= _MOST_QUERY_RANK:
        return None
    *batches, m, n, k1, k2 = range(rank + 2)

    def operand(*loops: int) -> tuple[frozenset[int], ...]:
        return tuple(frozenset({loop}) for loop in (*batches, *loops))

    maps = (operand(m, k1), operand(k2, k1), operand(n, k2), operand(m, n))
    return Problem(rank + 2, maps, is_attention=True, is_assumed=True)


def dag_region(source: Source, mark: Mark) -> Token | None:
    """Returns the brackets of the region of a dag matcher."""
    for token in source.tokens(mark.end, min(len(source.text), source.closers.get(mark.inside, 0))):
        if token.text == "{":
            return token
        if token.kind == "word" or token.text == "=":
            return None
    return None


def dag_root(outline: Outline, region: Token) -> Mark | None:
    """Returns the last operation in the region of a dag matcher, which is the root."""
    root = None
    for mark in outline.marks(region.start, region.end):
        is_operation = mark.text.startswith(("linalg.", "iree_linalg_ext."))
        if mark.inside == region.start and is_operation:
            root = mark
    return root


def _of_dag(outline: Outline, mark: Mark) -> Problem | None:
    region = dag_region(outline.source, mark)
    root = dag_root(outline, region) if region else None
    if root is None or region is None:
        return None
    attributes, after_equals = None, False
    for token in outline.source.tokens(root.end, region.end - 1):
        if token.kind == "word" and token.text in {"ins", "outs"}:
            break
        if token.kind == "group" and token.text in "{<":
            text = outline.source.text[token.start : token.end]
            if "#" not in text:
                return _of_attributes(text, is_attention="attention" in root.text)
            attributes = parse(outline.source, token.start, token.end)
            break
        if token.kind == "group" and token.text == "[" and after_equals:
            maps = parse(outline.source, token.start, token.end)
            return _of_maps(outline, maps, is_attention="attention" in root.text)
        after_equals = token.text == "="
    maps_value = _maps_in(attributes)
    return _of_maps(outline, maps_value, is_attention="attention" in root.text)


@lru_cache(maxsize=1024)
def _of_attributes(text: str, *, is_attention: bool) -> Problem | None:
    """Reads the attributes of an operation that use no alias; many matchers of a spec have the same."""
    outline = Outline(Source(text))
    return _of_maps(
        outline, _maps_in(parse(outline.source, 0, len(text))), is_attention=is_attention
    )


def _maps_in(attributes: Value | None) -> Value | None:
    """Returns the indexing maps in `{…}` or `<{…}>` or `<…>`."""
    node = as_node(attributes)
    if node is None:
        return None
    if node.bracket == "<" and node.fields and node.node("indexing_maps") is None:
        node = as_node(node.fields[0].value) or node
    return node.value("indexing_maps")


def _of_matcher(outline: Outline, sequence: NamedSequence, mark: Mark) -> Problem | None:
    previous = ""
    for token in outline.source.tokens(mark.end, sequence.end - 1):
        if token.text == "[" and previous == "indexing_maps":
            maps = parse(outline.source, token.start, token.end)
            return _of_maps(outline, maps, is_attention="attention" in mark.text)
        if token.text == ":" or token.text.startswith("transform."):
            return None
        if token.text != "=":
            previous = token.text
    return None


def _of_maps(outline: Outline, maps: object, *, is_attention: bool) -> Problem | None:
    if not isinstance(maps, Node):
        return None
    read: list[tuple[frozenset[int], ...]] = []
    loops = 0
    for each in maps.fields:
        text = _map_text(outline, each.value)
        found = read_affine_map(text) if text else None
        if found is None:
            return None
        loops, results = found
        read.append(results)
    if len(read) < (_ATTENTION_OPERANDS if is_attention else _OPERANDS - 1):
        return None
    return Problem(loops, tuple(read), is_attention)


def _map_text(outline: Outline, value: Value) -> str | None:
    if isinstance(value, Leaf) and value.text.startswith("#"):
        alias = outline.aliases.get(value.text)
        return outline.source.text[alias.value : alias.end] if alias else None
    return value.render()


def read_affine_map(text: str) -> tuple[int, tuple[frozenset[int], ...]] | None:
    """Reads `affine_map<(d0, d1) -> (d0 + d1)>`: how many loops, and which index each dimension."""
    inside = text[text.find("<") + 1 : text.rfind(">")]
    domain, arrow, results = inside.partition("->")
    if not arrow:
        return None
    loops = {name: index for index, name in enumerate(_words(domain.partition("[")[0]))}
    read = tuple(
        frozenset(loops[word] for word in _words(each) if word in loops)
        for each in _split(results.strip().removeprefix("(").removesuffix(")"))
    )
    return len(loops), read


def _split(results: str) -> Iterator[str]:
    """Splits at the commas that are in no brackets."""
    depth = start = 0
    for position, character in enumerate(results):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            yield results[start:position]
            start = position + 1
    if results[start:].strip():
        yield results[start:]


def _words(text: str) -> list[str]:
    cleaned = "".join(each if each.isalnum() or each == "_" else " " for each in text)
    return [word for word in cleaned.split() if not word[0].isdigit()]
