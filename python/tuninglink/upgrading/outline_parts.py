"""The parts of a spec's text, with their offsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.upgrading.spec_text import Mark, Token


@dataclass(frozen=True, slots=True)
class Alias:
    """The definition of an alias: `#name = value`.

    Attributes:
        name: the alias, including `#`.
        start: the offset of the definition.
        value: the offset of its value.
        end: the offset of the end of its value.
    """

    name: str
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class NamedSequence:
    """A `transform.named_sequence`.

    Attributes:
        name: its symbol, without `@` and quotes.
        start: the offset of the operation.
        end: the offset of its end.
        scope: the offset of the enclosing bracket, the body of a module.
        arguments: the parentheses with its arguments.
        results: the offsets of the types of its results, or None without `->`.
        attributes: the braces with its attributes, if any.
        body: the braces with its body, or None for a declaration.
    """

    name: str
    start: int
    end: int
    scope: int
    arguments: Token
    results: tuple[int, int] | None
    attributes: Token | None
    body: Token | None


@dataclass(frozen=True, slots=True)
class Pair:
    """A `matcher -> action` pair of a `foreach_match`.

    Attributes:
        matcher: the symbol of the matcher, without `@` and quotes.
        action: the symbol of the action.
        start: the offset of the pair.
        end: the offset of its end, without a comma.
    """

    matcher: str
    action: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ForeachMatch:
    """A `transform.foreach_match`.

    Attributes:
        start: the offset of its name.
        end: the offset of the end of its types.
        pairs: its pairs, in order.
        result: the name of its first result, including `%`, or None.
    """

    start: int
    end: int
    pairs: tuple[Pair, ...]
    result: str | None


@dataclass(frozen=True, slots=True)
class Dag:
    """The DAG of a `match.cast_compatible_dag_from_root`: the name of its last operation, and the region's braces."""

    root: Mark
    region: Token
