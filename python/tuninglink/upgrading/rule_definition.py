"""Upgrade rules, each for one change of the syntax or semantics of specs, and their application to attributes.

A rule is a function with the decorator `attribute_rule` or `operation_rule`. Its name is the name of the rule, and its
docstring the documentation of the rule. Rules apply in the order of their definition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tuninglink.errors import SpecError, counted
from tuninglink.mlir import error, names
from tuninglink.upgrading.spec_text import TRANSFORM, Edits
from tuninglink.upgrading.trees import (
    TILE_AND_FUSE,
    VECTOR_DISTRIBUTE,
    CompilationInfo,
    Leaf,
    Node,
    Value,
    as_node,
    copied,
    parse,
    shown,
)

if TYPE_CHECKING:
    from tuninglink.errors import Diagnostic, Place
    from tuninglink.upgrading.loops import Generalization, IterationSpace, IterationSpaces
    from tuninglink.upgrading.spec_text import Mark, NamedSequence, SpecText, Token

REGISTRY: Final[dict[str, UpgradeRule]] = {}
"""The imported rules, by name. `attribute_rules.RULES` contains all of them."""

_Rewrite = TypeVar("_Rewrite", bound="Callable[..., None]")


class Refusal(Exception):  # noqa: N818 - an answer, not an error
    """An error for an attribute or operation that cannot be upgraded. The message is the reason."""


@dataclass(frozen=True)
class UpgradeRule:
    """One change between two versions of the compiler.

    Attributes:
        summary: the change, in Markdown.
        since: the first release with the new form.
        evidence: references for the change: a pull request such as `iree#21322`, or a file at a version,
            `iree@v3.13.0:compiler/...`.
        targets: the attributes, without `#`, or operations that it applies to.
        is_decisive: whether the old form proves that the spec is old. Other rules apply only to specs known to be old.
        is_for_attributes: whether it edits the tree of an attribute in place, not the text of an operation.
        rewrite: applies the rule to an `AttributeSite` or an `OperationSite`.
    """

    name: str
    summary: str
    since: tuple[int, int]
    evidence: tuple[str, ...]
    targets: tuple[str, ...]
    is_decisive: bool
    is_for_attributes: bool
    rewrite: Callable[[Any], None]


def _rule(
    *targets: str,
    is_for_attributes: bool,
    since: tuple[int, int],
    evidence: tuple[str, ...],
    is_decisive: bool = True,
) -> Callable[[_Rewrite], _Rewrite]:
    """Register a function as a rule. For the arguments see `UpgradeRule`."""

    def register(function: _Rewrite) -> _Rewrite:
        name = function.__name__.replace("_", "-")
        summary = " ".join(cleandoc(function.__doc__ or "").split())
        REGISTRY[name] = UpgradeRule(
            name, summary, since, evidence, targets, is_decisive, is_for_attributes, function
        )
        return function

    return register


attribute_rule = partial(_rule, is_for_attributes=True)
operation_rule = partial(_rule, is_for_attributes=False)


@dataclass
class Site:
    """An occurrence of an attribute or operation that a rule applies to."""

    notes: list[tuple[str, bool]] = field(default_factory=list, kw_only=True)

    def changed(self, message: str) -> None:
        self.notes.append((message, False))

    def decided(self, message: str) -> None:
        self.notes.append((message, True))


@dataclass
class AttributeSite(Site):
    """An attribute that a rule applies to."""

    node: Node
    was_old: bool
    find_space: Callable[[], IterationSpace | None]


@dataclass
class OperationSite(Site):
    """An operation that a rule applies to, by its name in the text."""

    mark: Mark
    sequence: NamedSequence | None
    spec: SpecText
    edits: Edits
    generalization: Generalization

    def head(self) -> Iterator[Token]:
        """Yield the tokens after the name of a transform operation, up to its types."""
        for token in self.spec.following(self.mark):
            if token.text == ":" or token.text.startswith(TRANSFORM):
                return
            yield token

    def matched_names(self) -> tuple[Token | None, list[Token]]:
        """Return the brackets of a `transform.match.operation_name`, and the operation names in them."""
        listed = next((token for token in self.head() if token.text == "["), None)
        inside = self.spec.inside(listed) if listed else ()
        return listed, [token for token in inside if token.kind == "string"]


# --- The results of an upgrade, and the parts that could not be upgraded -------------------------


@dataclass(frozen=True)
class RuleChange:
    """A change by a rule, at a place in the original.

    Attributes:
        message: the change, and its reason.
        is_decision: whether the change has alternatives, such as a changed default or a removed field.
        sequence: the enclosing named sequence, or None.
    """

    rule: str
    message: str
    place: Place
    is_decision: bool
    sequence: str | None


@dataclass(frozen=True)
class KeptOut:
    """A part of the spec that could not be upgraded. It is a comment in the result.

    Attributes:
        what: the named sequence or alias, with `@` or `#`.
    """

    what: str
    reason: str
    place: Place


@dataclass(frozen=True)
class UpgradedEntry:
    """The result for one entry.

    Attributes:
        changes: the changes in its sequences, including those that they include.
        kept_out: the reason why it is not in the result, or None.
    """

    matcher: str
    action: str
    place: Place
    changes: tuple[RuleChange, ...]
    kept_out: KeptOut | None

    @property
    def state(self) -> str:
        """The state: `kept out`, `upgraded` or `unchanged`."""
        if self.kept_out:
            return "kept out"
        return "upgraded" if self.changes else "unchanged"


@dataclass(frozen=True)
class Upgraded:
    """A spec in today's syntax.

    Attributes:
        text: the spec. Parts that rules did not change are identical to the original.
        changes: all changes, in order.
        kept_out: the parts that could not be upgraded.
        entries: the result for each entry, in order of precedence.
        hints: warnings about upgraded configurations that are known not to compile, and remarks on parts in today's
            syntax with a possibly unexpected effect.
        origin: returns the place in the old text for an offset of the new text.
    """

    text: str
    changes: tuple[RuleChange, ...]
    kept_out: tuple[KeptOut, ...]
    entries: tuple[UpgradedEntry, ...]
    origin: Callable[[int], Place] = field(compare=False, repr=False)
    hints: tuple[Diagnostic, ...] = ()

    @property
    def decisions(self) -> tuple[RuleChange, ...]:
        """The changes that are decisions."""
        return tuple(change for change in self.changes if change.is_decision)


def render_report(upgraded: Upgraded) -> str:
    """Return a report in words: the result for each entry, with the changes and their reasons."""

    def described(change: RuleChange) -> str:
        decided = "decided: " if change.is_decision else ""
        where = f"{change.place.line}:{change.place.column}"
        return f"  {where} {change.rule}: {decided}{change.message}"

    states = Counter(entry.state for entry in upgraded.entries)
    counts = ", ".join(
        f"{states[state]} {state}" for state in ("upgraded", "unchanged", "kept out")
    )
    lines = [f"{counted(len(upgraded.entries), 'entry', 'entries')}: {counts}"]
    reported: set[str | None] = set()
    for entry in upgraded.entries:
        lines += ["", f"@{entry.matcher} -> @{entry.action} ({entry.place}): {entry.state}"]
        if entry.kept_out:
            lines.append(f"  {entry.kept_out.what}: {entry.kept_out.reason}")
        lines += map(described, entry.changes)
        reported |= {change.sequence for change in entry.changes}
    elsewhere = [change for change in upgraded.changes if change.sequence not in reported]
    if elsewhere:
        lines += ["", "outside of the entries", *map(described, elsewhere)]
    if upgraded.kept_out:
        lines += ["", "kept out, as comments"]
        lines += [f"  {part.what} ({part.place}): {part.reason}" for part in upgraded.kept_out]
    if upgraded.hints:
        lines += ["", "notes", *(f"  {hint}" for hint in upgraded.hints)]
    return "\n".join(lines) + "\n"


# --- Application of attribute rules to every attribute of a spec ---------------------------------


@dataclass
class Rewrites:
    """The changes of some rules to a spec.

    Attributes:
        refused: for the index of a named sequence, the reason why it cannot be upgraded, and the offset.
        failures: the offsets of upgraded configurations that are known not to compile, with the reasons.
        is_old: whether a rule changed or refused something.
    """

    spec: SpecText
    edits: Edits = field(default_factory=Edits)
    changes: list[RuleChange] = field(default_factory=list)
    refused: dict[int, tuple[str, int]] = field(default_factory=dict)
    failures: list[tuple[int, str]] = field(default_factory=list)
    is_old: bool = False

    def record(self, rule: str, offset: int, notes: Iterable[tuple[str, bool]]) -> None:
        """Record the changes of a rule at `offset`."""
        sequence = self.spec.sequence_at(offset)
        name = sequence.name if sequence is not None else None
        for message, is_decision in notes:
            place = self.spec.place(offset)
            self.changes.append(RuleChange(rule, message, place, is_decision, name))
            self.is_old = True

    def refuse(self, offset: int, reason: str) -> None:
        """Record that the part at `offset` cannot be upgraded, and neither can its sequence."""
        sequence = self.spec.sequence_at(offset)
        if sequence is not None:
            self.refused.setdefault(sequence.index, (reason, offset))
        self.is_old = True


_DIALECTS: Final = ("#iree_codegen.", "#iree_gpu.", "#iree_cpu.")

_LEAST_EXPANSION: Final = 1 << 17
_MOST_EXPANSION: Final = 16
"""The greatest expansion of aliases, as a multiple of the spec's length, beyond the least limit."""

# Attributes that may be printed without their name, by their parent and key.
_ELIDED: Final = {
    ("iree_codegen.compilation_info", "lowering_config"): "iree_codegen.lowering_config",
    ("iree_codegen.compilation_info", "translation_info"): "iree_codegen.translation_info",
    ("iree_gpu.mma_schedule", "intrinsic"): "iree_gpu.mma_layout",
}


class AttributeRewriter:
    """The application of rules, in order, to all attributes of a spec."""

    def __init__(
        self, spec: SpecText, rules: Sequence[UpgradeRule], spaces: IterationSpaces
    ) -> None:
        self._spec = spec
        self._rules = rules
        self._spaces = spaces
        self._definitions: dict[str, Node] = {}
        self._trees: dict[str, Node | None] = {}
        self._sizes: dict[str, int] = {}
        self._expanded = 0

    def rewrite(self, rewrites: Rewrites) -> None:
        """Add the changes to `rewrites`.

        Raises:
            SpecError: the expansion of aliases exceeds its limit.
        """
        spec, aliases = self._spec, self._spec.aliases
        # 1. Expand the outermost attributes to which rules apply, except for the definitions of aliases.
        roots: list[tuple[int, int, Value]] = []
        done = 0
        for mark in spec.marks():
            if mark.start < done:
                continue
            alias, closer, start = aliases.get(mark.text), spec.closers.get(mark.end), mark.start
            if alias is not None and start == alias.start:
                done = alias.end
                continue
            if alias is not None:
                done = mark.end
            elif mark.text.startswith(_DIALECTS) and closer is not None:
                done = closer + 1
            elif mark.text == names.PARAM_CONSTANT:
                token = next(spec.tokens(mark.end, len(spec.text)), None)
                if token is None or token.text != "{":
                    continue
                start, done = token.start, token.end
            else:
                continue
            roots.append((start, done, self._expand(parse(spec, start, done))))
        # 2. Upgrade them, and the values of unused aliases, the last first, since later ones may use earlier ones.
        upgraded = [root for root in roots if self._upgrade(root[2], root[0], rewrites)]
        for alias in reversed(aliases.values()):
            tree = None if alias.name in self._definitions else self._tree(alias.name)
            if tree is not None:
                self._upgrade(tree, alias.value, rewrites, is_alias=True)
        # 3. Write those that changed.
        parts = [(start, end, shown(root)) for start, end, root in upgraded]
        for alias in aliases.values():
            tree = self._definitions.get(alias.name)
            if tree is not None:
                parts.append((alias.value, alias.end, tree.render()))
        for start, end, fresh in parts:
            if fresh != spec.text[start:end]:
                rewrites.edits.replace(start, end, fresh)

    def _tree(self, alias: str) -> Node | None:
        """Return a copy of the value of an alias, or None if rules do not apply to it."""
        if alias not in self._trees:
            self._trees[alias] = None  # ends the recursion for an alias that uses itself
            spec, definition, before = self._spec, self._spec.aliases[alias], self._expanded
            if spec.text.startswith((*_DIALECTS, "{"), definition.value):
                value = parse(spec, definition.value, definition.end)
                self._trees[alias] = as_node(self._expand(value))
            self._sizes[alias] = definition.end - definition.value + self._expanded - before
        tree = self._trees[alias]
        if tree is None:
            return None
        copy = copied(tree)
        assert isinstance(copy, Node)
        return replace(copy, alias=alias, definitions=self._definitions)

    def _expand(self, value: Value) -> Value:
        """Replace aliases with their values."""
        if isinstance(value, Leaf) and value.text in self._spec.aliases:
            tree = self._tree(value.text)
            if tree is None:
                return value
            alias = self._spec.aliases[value.text]
            self._expanded += self._sizes[alias.name]
            if self._expanded > _LEAST_EXPANSION + _MOST_EXPANSION * len(self._spec.text):
                place = self._spec.place(alias.start)
                raise SpecError(error(f"'{alias.name}' is used too often to be expanded", place))
            return tree
        if isinstance(value, Node):
            for field_ in value.fields:
                field_.value = self._expand(field_.value)
        return value

    def _upgrade(
        self, root: Value, start: int, rewrites: Rewrites, *, is_alias: bool = False
    ) -> bool:
        """Apply the rules to one attribute, and return whether none refused it."""
        sequence = self._spec.sequence_at(start)
        uses = list(_uses(root))  # Rules may remove some.
        # Nodes are collected again after each rule that changed something.
        kinds, last_count, count = _kinds(root), 0, 0
        for rule in self._rules:
            if count != last_count:
                kinds, last_count = _kinds(root), count
            for node in [node for target in rule.targets for node in kinds.get(target, ())]:
                site = AttributeSite(node, count > 0, lambda: self._spaces.of(sequence))
                try:
                    rule.rewrite(site)
                except Refusal as refusal:
                    if not is_alias:
                        rewrites.refuse(start, str(refusal))
                    return False
                finally:
                    rewrites.record(rule.name, start, site.notes)
                    count += len(site.notes)
        # Combinations that still fail in code generation are reported as failures.
        for node in _kinds(root).get("iree_codegen.compilation_info", ()) if count else ():
            info = CompilationInfo.of(node)
            levels = info.levels if info is not None else None
            if info is None or levels is None:
                continue
            lacks_subgroups = (
                levels.find("mma_kind") is not None and levels.find("subgroup") is None
            )
            if info.pipeline in TILE_AND_FUSE and lacks_subgroups:
                failure = (
                    "TileAndFuse needs 'subgroup' tile sizes with an intrinsic; without them today's compiler "
                    "fails ('lane distributed scf.forall must have a parent subgroup distributed loop')"
                )
                rewrites.failures.append((start, failure))
            elif info.pipeline in VECTOR_DISTRIBUTE and levels.find("subgroup_basis") is None:
                space = self._spaces.of(sequence)
                if space is not None and space.is_contraction_like:
                    failure = (
                        "VectorDistribute needs a 'subgroup_basis', and the spec has no subgroup counts to derive one "
                        "from; without it today's compiler fails ('Could not find a subgroup basis from lowering "
                        "config')"
                    )
                    rewrites.failures.append((start, failure))
        for use in uses:
            self._definitions.setdefault(use.alias, use)
        return True


def _uses(value: Value) -> Iterator[Node]:
    """Yield the uses of aliases in a tree."""
    if isinstance(value, Node):
        if value.alias:
            yield value
        for item in value.fields:
            yield from _uses(item.value)


def _kinds(root: Value) -> dict[str, list[Node]]:
    """Return the nodes of a tree by kind: their name, or one that follows from their parent and key."""
    kinds: dict[str, list[Node]] = {}
    first = as_node(root)
    pending: list[tuple[Node, str, str | None]] = [(first, "", None)] if first is not None else []
    while pending:
        node, parent, key = pending.pop()
        kind = ""
        if node.head:
            kind = node.head[1:]
        elif node.bracket == "<":
            kind = _ELIDED.get((parent, key or ""), "")
        elif node.bracket == "{" and parent == "iree_codegen.translation_info":
            kind = "translation_info.options"
        elif node.bracket == "{" and any(
            field_.key in {"qk_attrs", "pv_attrs"} for field_ in node.fields
        ):
            kind = "decomposition_config"
        if kind:
            kinds.setdefault(kind, []).append(node)
        for field_ in reversed(node.fields):
            inner = as_node(field_.value)
            if inner is not None and inner.bracket != "[":
                pending.append((inner, kind, field_.key))
    return kinds
