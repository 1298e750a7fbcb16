"""The parts of a spec's text: where each begins and ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.upgrading.spec_text import Mark, Token


@dataclass(frozen=True, slots=True)
class Alias:
    """The definition of an alias: `#name = value`.

    Attributes:
        name: the alias, `#` included.
        start: where the definition begins.
        value: where its value begins.
        end: where its value ends.
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
        start: where the operation begins.
        end: where it ends.
        scope: where the brackets open that it stands in; a module's body.
        arguments: the brackets with its arguments.
        results: where the types of its results begin and end, None without `->`.
        attributes: the brackets with its attributes, if any.
        body: the brackets with its body, None for a declaration.
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
        start: where the pair begins.
        end: where it ends, without a comma.
    """

    matcher: str
    action: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ForeachMatch:
    """A `transform.foreach_match`.

    Attributes:
        start: where its name begins.
        end: where its types end.
        pairs: its pairs, in order.
        result: the name of its first result, `%` included, None without one.
    """

    start: int
    end: int
    pairs: tuple[Pair, ...]
    result: str | None


@dataclass(frozen=True, slots=True)
class Dag:
    """The DAG of a `match.cast_compatible_dag_from_root`: the brackets with its operations, and the last one's name."""

    root: Mark
    region: Token
