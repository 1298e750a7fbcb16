"""The effects of specs on one root op, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuninglink.iree.op_kinds import OpKind
from tuninglink.matching.differences import Difference
from tuninglink.mlir.diagnostics import Place


@dataclass(frozen=True)
class EntryReference:
    """An entry of a spec.

    Attributes:
        spec: the position of the spec among those of the explanation.
        matcher: the matcher's symbol.
        action: the action's symbol.
        place: the location of the matcher.
    """

    spec: int
    matcher: str
    action: str
    place: Place | None


@dataclass(frozen=True)
class ConfigurationText:
    """The configuration of an op. Each attribute is as MLIR prints it, and empty if absent.

    Attributes:
        translation_info: the attribute of the function around the op.
        lowering_config: the attribute of the op.
        decomposition_config: the attribute of an attention for its two matmuls.
    """

    translation_info: str = ""
    lowering_config: str = ""
    decomposition_config: str = ""

    def lines(self) -> list[str]:
        """Return the attributes that are present."""
        parts = (self.translation_info, self.lowering_config, self.decomposition_config)
        return [part for part in parts if part]


@dataclass(frozen=True)
class Match:
    """The match that configured an op, read from the configured program.

    Attributes:
        spec: the position of the spec among those of the explanation.
        entry: the entry; None if unknown.
        is_own: whether the entry set the whole configuration; None if unknown.
        provenance: the provenance of the configuration, as recorded in the matcher.
    """

    spec: int
    entry: EntryReference | None
    is_own: bool | None
    provenance: Mapping[str, object] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class NearMiss:
    """An entry that nearly matches an op.

    Attributes:
        entry: the entry.
        differences: the conditions that do not hold, in order of evaluation.
        unsure: the reason why further conditions of the entry are unknown; empty if all are known.
        excluded: the reason why the entry cannot apply to the target; empty if it can.
        is_match: whether its matcher matched, so that `excluded` is the only obstacle.
    """

    entry: EntryReference
    differences: tuple[Difference, ...]
    unsure: str = ""
    excluded: str = ""
    is_match: bool = False

    def __str__(self) -> str:
        if self.is_match:
            return f"matched and configured nothing: {self.excluded}"
        if self.excluded:
            return f"configures nothing: {self.excluded}"
        if not self.differences:
            return f"cannot tell: {self.unsure}"
        more = len(self.differences) - 1
        rest = f" (and {more} more)" if more else ""
        return f"{self.differences[0]}{rest}"


@dataclass(frozen=True)
class KnobRow:
    """A knob of a configuration.

    Attributes:
        name: its place in the configuration, such as `workgroup[0]`.
        value: its value; empty if the configuration does not set it.
        compilers_value: its value in the compiler's own choice, None if unknown.
        meaning: its meaning.
        allowed: the values that are valid if the other knobs stay; None if not requested or unknown.
    """

    name: str
    value: str
    compilers_value: str | None = None
    meaning: str = ""
    allowed: tuple[str, ...] | None = None


@dataclass(frozen=True)
class OperationReport:
    """A root op of a dispatch.

    Attributes:
        words: a description of its computation.
        name: the name of the op, such as `linalg.generic`.
        kind: the compiler's kind of the op, such as `contraction`.
        types: the types of its operands, as MLIR prints them.
        maps: its indexing maps, likewise.
        place: its location in the program.
        configuration: its configuration.
        knobs: the same knob by knob.
        match: the match that set it, None for the compiler.
        compilers_choice: the configuration that the compiler would have chosen, if a spec configured the op and the
            compiler's choice is known.
        shadowed: entries that match as well, and come later.
        nearest: the nearest entries, if none matched.
        cannot_tell: the facts that could not be determined.
        hint: a change to the program that no configuration can replace; empty without a hint.
    """

    words: str
    name: str
    place: Place | None
    configuration: ConfigurationText
    kind: str = OpKind.OTHER.value
    types: tuple[str, ...] = ()
    maps: tuple[str, ...] = ()
    knobs: tuple[KnobRow, ...] = ()
    match: Match | None = None
    compilers_choice: ConfigurationText | None = None
    shadowed: tuple[EntryReference, ...] = ()
    nearest: tuple[NearMiss, ...] = ()
    cannot_tell: tuple[str, ...] = ()
    hint: str = ""
