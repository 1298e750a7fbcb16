"""What a rule is: one change of the syntax or meaning of specs, and how to follow it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from tuninglink.upgrading.edits import Edits
    from tuninglink.upgrading.outline import NamedSequence, Outline
    from tuninglink.upgrading.problems import Problem
    from tuninglink.upgrading.source import Mark
    from tuninglink.upgrading.trees import Node

CURRENT: Final = (3, 13)
"""The version whose syntax is written."""


class Refusal(Exception):  # noqa: N818 - it is an answer, not an error
    """What is read cannot be upgraded.

    Attributes:
        reason: why, in words that a reader can check.
        offset: where the matter is in the text, -1 if it is the attribute at hand.
    """

    def __init__(self, reason: str, offset: int = -1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


@dataclass(frozen=True)
class Rule:
    """One change between two versions of the compiler.

    Attributes:
        name: what reports call it.
        version: the first release with the new form; the rule bridges all before to this one.
        summary: what changed, in one sentence.
        before: the old form, as a whole attribute or operation.
        after: the new form.
        evidence: where the change can be looked up.
        keeps: whether the compiler still reads the old form, so that the rule has nothing to do. It stands
            here so that nobody wonders.
    """

    name: str
    version: tuple[int, int]
    summary: str
    before: str
    after: str
    evidence: tuple[str, ...]
    keeps: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class AttributeRule(Rule):
    """A rule that rewrites attributes.

    Attributes:
        kinds: the attributes that it looks at, by name without `#`.
        rewrite: changes the tree in place, and tells the context what it did; raises `Refusal`.
    """

    kinds: frozenset[str] = frozenset()
    rewrite: Callable[[Node, AttributeContext], None] = field(kw_only=True)


@dataclass(frozen=True)
class OperationRule(Rule):
    """A rule that rewrites operations in the text.

    Attributes:
        operations: the operations that it looks at.
        rewrite: adds its changes to the context; raises `Refusal`.
    """

    operations: frozenset[str] = frozenset()
    rewrite: Callable[[Mark, OperationContext], None] = field(kw_only=True)


@dataclass
class OperationContext:
    """What an operation rule may know and do.

    Attributes:
        outline: the spec.
        sequence: the sequence that the operation stands in.
        edits: where changes go.
        report: takes what was changed and why, and whether something had to be decided.
    """

    outline: Outline
    sequence: NamedSequence | None
    edits: Edits
    report: Callable[[str, bool], None]

    def changed(self, message: str) -> None:
        """Records a change."""
        self.report(message, False)  # noqa: FBT003 - it is a plain callable

    def decided(self, message: str) -> None:
        """Records a change that is a decision: another one would have been possible."""
        self.report(message, True)  # noqa: FBT003


@dataclass
class AttributeContext:
    """What an attribute rule may know and do.

    Attributes:
        report: takes what was changed and why, and whether something had to be decided.
        find_problem: finds what the operation computes that the attribute is for.
        count: how many changes the configuration at hand has had.
    """

    report: Callable[[str, bool], None]
    find_problem: Callable[[], Problem | None]
    count: int = 0

    @property
    def was_old(self) -> bool:
        """Whether a rule has changed the configuration at hand: it was written for an older compiler."""
        return self.count > 0

    def changed(self, message: str) -> None:
        """Records a change."""
        self.count += 1
        self.report(message, False)  # noqa: FBT003

    def decided(self, message: str) -> None:
        """Records a change that is a decision: another one would have been possible."""
        self.count += 1
        self.report(message, True)  # noqa: FBT003

    @property
    def problem(self) -> Problem | None:
        """What the operation computes that the attribute is for, None if the text does not say."""
        return self.find_problem()
