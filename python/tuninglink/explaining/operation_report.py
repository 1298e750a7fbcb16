"""What specs did to one root op, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tuninglink.iree.op_kinds import OpKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.matching.differences import Difference
    from tuninglink.mlir.diagnostics import Place


@dataclass(frozen=True)
class EntryReference:
    """An entry of a spec.

    Attributes:
        spec: the position of the spec among those of the explanation.
        matcher: the matcher's symbol.
        action: the action's symbol.
        place: where the matcher is defined.
    """

    spec: int
    matcher: str
    action: str
    place: Place | None


@dataclass(frozen=True)
class ConfigurationText:
    """How an operation is compiled. Each attribute is written as MLIR prints it, and empty if there is none.

    Attributes:
        translation_info: what the function around the operation has.
        lowering_config: what the operation has.
        decomposition_config: what an attention has for its two matmuls.
    """

    translation_info: str = ""
    lowering_config: str = ""
    decomposition_config: str = ""

    def lines(self) -> list[str]:
        """Return the attributes that are there."""
        parts = (self.translation_info, self.lowering_config, self.decomposition_config)
        return [part for part in parts if part]


@dataclass(frozen=True)
class Match:
    """What configured an operation, read from the configured program.

    Attributes:
        spec: the position of the spec among those of the explanation.
        entry: the entry; None if that cannot be told.
        is_own: whether the configuration is the entry's own, all of it; None if that cannot be told.
        provenance: where the configuration comes from, as the matcher says.
    """

    spec: int
    entry: EntryReference | None
    is_own: bool | None
    provenance: Mapping[str, object] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class NearMiss:
    """An entry that does not match an operation, but nearly does.

    Attributes:
        entry: the entry.
        differences: the conditions that do not hold; the first is the first that fails.
        unsure: why it cannot be told what else the entry demands; nothing if all is known.
        excluded: why the entry configures nothing for the target, whatever it matches; nothing if it may.
        is_match: whether its matcher matched, so that nothing but that keeps it from configuring the op.
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
        value: its value; nothing if the configuration does not set it.
        compilers_value: its value in the compiler's own choice, None if that is not known.
        meaning: what it chooses.
        allowed: the values that are valid while the others stay; None where that was not asked or is not known.
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
        words: what it computes, for people.
        name: the kind of operation, such as `linalg.generic`.
        kind: what it computes, as the compiler tells ops apart, such as `contraction`.
        types: the types of its operands, as MLIR prints them.
        maps: its indexing maps, likewise.
        place: where it stands in the program.
        configuration: the configuration that it has.
        knobs: the same knob by knob.
        match: the entry that gave it, None for the compiler.
        compilers_choice: the configuration that the compiler would have chosen, if a spec configured it and
            that could be found out.
        shadowed: entries that match as well, and come later.
        nearest: the nearest entries, if none matched.
        cannot_tell: what could not be found out.
        hint: what to change in the program, as no configuration makes up for it; empty without a hint.
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
