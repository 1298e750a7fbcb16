"""Faults of configurations, and the places of knobs in the text of a spec, since MLIR attributes have no locations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.errors import Place, Replacement, SpecError, misspelt
from tuninglink.iree import CpuLevel, Target, lowering_configs as gpu, read_cpu_configuration
from tuninglink.mlir import names
from tuninglink.rules import Rule

if TYPE_CHECKING:
    from tuninglink.upgrading import SpecText


@dataclass(frozen=True)
class Fault:
    """A fault of a configuration."""

    message: str
    remedy: str = ""
    is_error: bool = False
    knob: str = ""
    suggestion: str = ""
    rule: Rule = Rule.KNOB_VALUE


_ARROW: Final = "->"
_COMMENT: Final = "//"


_VALUE: Final = re.compile(r'"?\w+"?\s*=\s*(?P<value>\[|-?\d+)')
"""A knob with the beginning of its value."""


@dataclass(eq=False)
class KnobPlaces:
    """A finder of knobs in the files that specs were read from; each file is read once."""

    _texts: dict[str, SpecText | None] = field(default_factory=dict, init=False)

    def find(self, at: Place | None, knob: str) -> Place | None:
        """Return the place of a knob in the op at a place, or in an alias that it uses; else the place of the op."""
        located = self._locate(at, knob)
        return at if located is None else located[0].place(located[1])

    def renamed(self, at: Place | None, knob: str, name: str) -> tuple[Replacement, ...]:
        """Return the replacement of a knob's name; empty if the knob is not found. For the arguments see `find`."""
        located = self._locate(at, knob)
        if located is None:
            return ()
        source, start = located
        start += source.text[start] == '"'
        return (Replacement(source.place(start), source.place(start + len(knob)), name),)

    def revalued(self, at: Place | None, knob: str, value: str) -> tuple[Replacement, ...]:
        """Return the replacement of a knob's value, a list or a number; see `renamed`."""
        source, position = self._locate(at, knob) or (None, 0)
        match = source and _VALUE.match(source.text, position)
        if not source or not match:
            return ()
        start, end = match.start("value"), match.end("value")
        if source.text[start] == "[":
            end = source.closers[start] + 1
        return (Replacement(source.place(start), source.place(end), value),)

    def _locate(self, at: Place | None, knob: str) -> tuple[SpecText, int] | None:
        """Return the text that contains a knob, and the knob's position in it; None if the knob is not found."""
        if at is None or not knob:
            return None
        if at.file not in self._texts:
            # Most specs have no faults; this takes longer to load than to check a small spec.
            from tuninglink.upgrading import SpecText  # noqa: PLC0415

            try:
                text = SpecText(Path(at.file).read_text(encoding="utf-8"), at.file)
            except (OSError, ValueError, SpecError):
                text = None
            self._texts[at.file] = text
        source = self._texts[at.file]
        if source is None:
            return None
        start = source.offset(at)
        # The op ends after the body of a named sequence, or before the result type of any other op.
        end, is_sequence = len(source.text), False
        for token in source.tokens(start, end):
            is_sequence |= token.text == names.NAMED_SEQUENCE
            if is_sequence and token.kind == "group" and token.text == "{":
                end = token.end
                break
            if not is_sequence and token.text == _ARROW:
                end = token.start
                break
        position = _first(source, start, end, knob)
        if position is None:
            position = next(_in_aliases(source, start, end, knob, set()), None)
        return None if position is None else (source, position)


def _first(source: SpecText, start: int, end: int, knob: str) -> int | None:
    """Return the first position of a knob in a part of the text, outside of comments."""
    text = source.text
    pattern = re.compile(rf'(?<![\w.$#@%])"?{re.escape(knob)}"?(?![\w.$])')
    position = text.find(knob, start, end)
    while position >= 0:
        quote = position - (position > start and text[position - 1] == '"')
        match = pattern.match(text, quote, end) or pattern.match(text, position, end)
        if match and _COMMENT not in text[source.line_start(match.start()) : match.start()]:
            return match.start()
        position = text.find(knob, position + 1, end)
    return None


def _in_aliases(
    source: SpecText, start: int, end: int, knob: str, aliases: set[str]
) -> Iterator[int]:
    """Yield the places of a knob in the aliases that a part of the text uses."""
    for mark in source.marks(start, end):
        alias = source.aliases.get(mark.text)
        if alias is None or alias.name in aliases:
            continue
        aliases.add(alias.name)
        place = _first(source, alias.value, alias.end, knob)
        if place is not None:
            yield place
        yield from _in_aliases(source, alias.value, alias.end, knob, aliases)


def similar_integers(value: mlir.Attribute) -> list[int]:
    """Return the integers in an array, or in a list of numbers or strings, with 0 for all other elements."""
    # The result is empty if there are no integers.
    if isinstance(value, (mlir.DenseI32ArrayAttr, mlir.DenseI64ArrayAttr)):
        return [max(0, integer) for integer in value]
    if not isinstance(value, mlir.ArrayAttr):
        return []
    if len(value) == 1 and isinstance(value[0], mlir.ArrayAttr):
        return similar_integers(value[0])
    texts = [str(getattr(element, "value", element)).removesuffix(".0") for element in value]
    issimilar = any(map(str.isdecimal, texts))
    return [int(text) if text.isdecimal() else 0 for text in texts] if issimilar else []


LEVELS: Final = tuple(level.value for level in CpuLevel)

_LEVELS_OF_GPUS: Final = {
    gpu.WORKGROUP: CpuLevel.DISTRIBUTION.value,
    gpu.REDUCTION_LEVEL: CpuLevel.VECTOR_REDUCTION.value,
}
"""Entries of configurations for GPUs with the level that has their place on CPUs."""


def level_faults(
    lowering: mlir.Attribute, loops: int | None, target: Target | None
) -> Iterator[Fault]:
    """Yield faults in the levels of a `#iree_cpu.lowering_config`."""
    # The compiler ignores levels with unknown names. It rejects a level with a negative size.
    levels = read_cpu_configuration(lowering) or {}
    for name, tiling in levels.items():
        if name not in LEVELS:
            similar = misspelt(name, LEVELS)
            level = similar or _LEVELS_OF_GPUS.get(name, "")
            is_open = bool(similar) or (bool(level) and level not in levels)
            remedy = "" if is_open else f"the levels are {', '.join(LEVELS)}"
            message = f"'{name}' is not a level of tiling, and ignored"
            suggestion = level if is_open else ""
            yield Fault(message, remedy, bool(similar), name, suggestion, Rule.UNREAD_KNOB)
            continue
        sizes = () if tiling is None else tiling.sizes
        if min(sizes, default=0) < 0:
            message = f"'{name}' is {list(sizes)}, and none may be negative"
            yield Fault(message, "0 leaves a loop as it is", is_error=True, knob=name)
        elif loops is not None and sizes and len(sizes) != loops:
            yield Fault(
                f"'{name}' has {len(sizes)} sizes for the {loops} loops that the matcher requires",
                f"write one size for each loop, such as {[*sizes[:loops], *[0] * (loops - len(sizes))]}",
                knob=name,
                rule=Rule.LOOP_COUNT,
            )
        elif tiling and tiling.scalable and name != CpuLevel.DISTRIBUTION.value:
            # The compiler crashes for scalable sizes on a CPU without scalable vectors.
            if target is None or target.backend != "llvm-cpu":
                continue
            is_error = target.has_scalable_vectors is False
            if is_error or target.architecture is None:
                lack = (
                    f"{target} has no scalable vectors"
                    if is_error
                    else f"a generic {target} has none"
                )
                message = f"'{name}' has a scalable size, in brackets, and {lack}"
                rule = Rule.OTHER_TARGET
                yield Fault(message, f"write {[*sizes]}", is_error=is_error, knob=name, rule=rule)


_TILE_SIZES: Final = "tile_sizes"


def tile_size_faults(lowering: mlir.Attribute, pipeline: str, loops: int | None) -> Iterator[Fault]:
    """Yield faults in the levels of a `#iree_codegen.lowering_config`. The compiler ignores surplus sizes."""
    levels = gpu.read_tile_levels(lowering) or ()
    names_of_levels = gpu.SPIRV_LEVELS.get(pipeline, ())
    if names_of_levels and len(levels) > len(names_of_levels):
        listed = ", ".join(names_of_levels)
        right = [[*level] for level in levels[: len(names_of_levels)]]
        message = f"'{_TILE_SIZES}' has {len(levels)} levels, of which the pipeline reads {len(names_of_levels)}: {listed}"
        yield Fault(message, f"write {right}", knob=_TILE_SIZES, rule=Rule.UNREAD_KNOB)
    for number, sizes in enumerate(levels):
        if loops is not None and len(sizes) > loops:
            message = f"level {number} of '{_TILE_SIZES}' is {[*sizes]}, and the matcher requires {loops} loops"
            remedy = f"write {[*sizes[:loops]]}"
            yield Fault(message, remedy, knob=_TILE_SIZES, rule=Rule.LOOP_COUNT)
        elif min(sizes, default=0) < 0:
            message = f"level {number} of '{_TILE_SIZES}' is {[*sizes]}, and none may be negative"
            yield Fault(message, f"write {[*map(abs, sizes)]}", knob=_TILE_SIZES)
