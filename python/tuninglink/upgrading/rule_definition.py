"""Upgrade rules, each for one change of the syntax or semantics of specs.

A rule is a function with the decorator `attribute_rule` or `operation_rule`. Its name is the name of the rule, and its
docstring the documentation of the rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from inspect import cleandoc
from typing import TYPE_CHECKING, Final, TypeVar

from tuninglink.upgrading.compilation_info import levels_of

if TYPE_CHECKING:
    from tuninglink.upgrading.generic_forms import Generalization
    from tuninglink.upgrading.iteration_space import IterationSpace
    from tuninglink.upgrading.outline import SpecOutline
    from tuninglink.upgrading.outline_parts import Edits, NamedSequence
    from tuninglink.upgrading.spec_text import Mark, SpecText, Token
    from tuninglink.upgrading.trees import Node

REGISTRY: Final[dict[str, UpgradeRule]] = {}
"""The imported rules, by name. `rules.RULES` contains all of them, in order."""

_REPOSITORIES: Final = {
    "iree": "iree-org/iree",
    "llvm": "llvm/llvm-project",
    "amd-shark-ai": "nod-ai/amd-shark-ai",
}


_Rewrite = TypeVar("_Rewrite", bound="Callable[..., None]")


class Refusal(Exception):  # noqa: N818 - an answer, not an error
    """An error for an attribute or operation that cannot be upgraded. The message is the reason."""


@dataclass(frozen=True)
class UpgradeRule:
    """One change between two versions of the compiler.

    Attributes:
        name: its name in reports.
        since: the first release with the new form.
        summary: the change, in Markdown.
        before: an example of the old form, a whole attribute or operation.
        after: the example in the new form.
        evidence: references for the change: a pull request such as `iree#21322`, or a file at a version,
            `iree@v3.13.0:compiler/...`.
        targets: the attributes, without `#`, or operations that it applies to.
        is_decisive: whether the old form proves that the spec is old. Other rules apply only to specs known to be old.
    """

    name: str
    since: tuple[int, int]
    summary: str
    before: str
    after: str
    evidence: tuple[str, ...]
    targets: frozenset[str]
    is_decisive: bool

    def links(self) -> Iterator[tuple[str, str]]:
        """Yield the title and the address of each reference."""
        for reference in self.evidence:
            repository, kind, what = re.split("([#@])", reference, maxsplit=1)
            address = f"https://github.com/{_REPOSITORIES[repository]}"
            if kind == "#":
                yield what, f"{address}/pull/{what}"
            else:
                yield "source", f"{address}/blob/{what.replace(':', '/')}"


@dataclass(frozen=True)
class AttributeRule(UpgradeRule):
    """A rule that edits the tree of an attribute in place."""

    rewrite: Callable[[AttributeSite], None]


@dataclass(frozen=True)
class OperationRule(UpgradeRule):
    """A rule that edits the text of an operation."""

    rewrite: Callable[[OperationSite], None]


def attribute_rule(
    *targets: str, since: tuple[int, int], before: str, after: str, evidence: tuple[str, ...]
) -> Callable[[Callable[[AttributeSite], None]], Callable[[AttributeSite], None]]:
    """Register a function as a rule for attributes. For the arguments see `UpgradeRule`."""
    facts = (before, after, evidence, frozenset(targets), True)
    return lambda function: _register(function, AttributeRule, since, *facts)


def operation_rule(
    *targets: str,
    since: tuple[int, int],
    before: str,
    after: str,
    evidence: tuple[str, ...],
    is_decisive: bool = True,
) -> Callable[[Callable[[OperationSite], None]], Callable[[OperationSite], None]]:
    """Register a function as a rule for operations. For the arguments see `UpgradeRule`."""
    facts = (before, after, evidence, frozenset(targets), is_decisive)
    return lambda function: _register(function, OperationRule, since, *facts)


def _register(
    function: _Rewrite, rule: Callable[..., UpgradeRule], since: tuple[int, int], *facts: object
) -> _Rewrite:
    name, summary = function.__name__.replace("_", "-"), cleandoc(function.__doc__ or "")
    REGISTRY[name] = rule(name, since, " ".join(summary.split()), *facts, function)
    return function


@dataclass
class Site:
    """An occurrence of an attribute or operation that a rule applies to.

    Attributes:
        notes: the changes with their reasons, and whether each was a decision.
    """

    notes: list[tuple[str, bool]] = field(default_factory=list, kw_only=True)

    def changed(self, message: str) -> None:
        """Record a change."""
        self.notes.append((message, False))

    def decided(self, message: str) -> None:
        """Record a decision: a change that has alternatives."""
        self.notes.append((message, True))


@dataclass
class AttributeSite(Site):
    """An attribute that a rule applies to.

    Attributes:
        node: the attribute.
        was_old: whether a rule has changed the configuration that the attribute is part of.
        find_space: returns the iteration space of the operation that the attribute configures, or None if the matcher
            does not show it.
    """

    node: Node
    was_old: bool
    find_space: Callable[[], IterationSpace | None]

    @property
    def levels(self) -> Node | None:
        """The dictionary of a GPU lowering config."""
        return levels_of(self.node)


@dataclass
class OperationSite(Site):
    """An operation that a rule applies to.

    Attributes:
        mark: the name of the operation in the text.
        outline: the spec.
        edits: the edits of the text.
        generalization: the generalized forms of named operations in matchers.
    """

    mark: Mark
    outline: SpecOutline
    edits: Edits
    generalization: Generalization

    @property
    def source(self) -> SpecText:
        """The text of the spec."""
        return self.outline.source

    @property
    def sequence(self) -> NamedSequence | None:
        """The named sequence that contains the operation."""
        return self.outline.sequence_at(self.mark.start)

    def tokens(self) -> Iterator[Token]:
        """Yield the tokens after the name, up to the end of the block."""
        return self.source.following(self.mark)

    def head(self) -> Iterator[Token]:
        """Yield the tokens after the name of a transform operation, up to its types."""
        for token in self.tokens():
            if token.text == ":" or token.is_transform:
                return
            yield token

    def name_list(self) -> Token | None:
        """Return the brackets with the operation names of a `transform.match.operation_name`."""
        return next((token for token in self.head() if token.text == "["), None)

    def matched_name_tokens(self) -> list[Token]:
        """Return the operation names of a `transform.match.operation_name`."""
        listed = self.name_list()
        if listed is None:
            return []
        inside = self.source.tokens(listed.start + 1, listed.end - 1)
        return [token for token in inside if token.kind == "string"]
