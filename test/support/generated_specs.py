"""Random specs and payloads for property tests, as hypothesis strategies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from hypothesis import strategies as st

OPERATIONS = ("linalg.fill", "linalg.copy", "linalg.matmul", "linalg.generic")
HELPERS = ("helper", "helper_0", "match", "match_0", "apply")
ANY_OP = "!transform.any_op"


class Shape(Enum):
    """The form of the entry point of a generated spec."""

    DEFAULT = "default-entrypoint form"
    UNMARKED_LIST = "a matcher list under another name"
    LEGACY = "a @__kernel_config without marker and result"
    TWO_LOOPS = "two foreach_match in one entry point"
    TWO_ENTRY_POINTS = "two entry points"
    RESTRICTED = "restrict_root"

    @property
    def is_list(self) -> bool:
        return self in (Shape.DEFAULT, Shape.UNMARKED_LIST, Shape.LEGACY)


@dataclass(frozen=True)
class GeneratedEntry:
    """One entry.

    Attributes:
        operations: the names that the matcher accepts.
        through_helper: the symbol of a helper that the matcher includes, or None.
        value: what the action sets `lowering_config` to, or None if it configures nothing.
        action_helper: whether the action annotates through an include.
        reaches: whether the entry configures the producer of the first operand instead.
        can_fail: whether the action holds an operation that can fail, so that the spec is opaque.
    """

    operations: tuple[str, ...]
    through_helper: str | None
    value: int | None
    action_helper: bool
    reaches: bool = False
    can_fail: bool = False


@dataclass(frozen=True)
class GeneratedSpec:
    """A spec that `text` prints."""

    name: str | None
    shape: Shape
    entries: tuple[GeneratedEntry, ...]

    @property
    def is_list(self) -> bool:
        return self.shape.is_list and not any(entry.can_fail for entry in self.entries)

    def marking(self) -> GeneratedSpec:
        """Return the same spec with actions that mark all ops that they were called for."""
        return replace(
            self, entries=tuple(replace(each, value=each.value or 0) for each in self.entries)
        )

    @staticmethod
    def silent(entry: GeneratedEntry) -> GeneratedEntry:
        """Return an entry that matches the same and configures nothing."""
        return replace(entry, value=None)

    def text(self) -> str:
        """Return the spec as MLIR."""
        sequences = [self._helper(name) for name in sorted(self._helper_names())]
        for index, entry in enumerate(self.entries):
            sequences += [_matcher(index, entry), *_action(index, entry)]
        marker = ""
        if self.shape is Shape.DEFAULT:
            marker = ", iree_codegen.tuning_spec_with_default_entrypoint"
        name = f" @{self.name}" if self.name else ""
        return "\n".join(
            [
                f"module{name} attributes {{transform.with_named_sequence{marker}}} {{",
                *sequences,
                *self._entry_points(),
                "}",
            ]
        )

    def _helper_names(self) -> set[str]:
        return {each.through_helper for each in self.entries if each.through_helper}

    def _helper(self, name: str) -> str:
        """Every helper accepts the operations of the first entry that includes it."""
        entry = next(each for each in self.entries if each.through_helper == name)
        return f"""transform.named_sequence @{name}(%op: {ANY_OP} {{transform.readonly}}) -> {ANY_OP} {{
  transform.match.operation_name %op [{_names(entry.operations)}] : {ANY_OP}
  transform.yield %op : {ANY_OP}
}}"""

    def accepts(self, entry: GeneratedEntry) -> tuple[str, ...]:
        """Return the names that the matcher of `entry` accepts, its helper considered."""
        if entry.through_helper is None:
            return entry.operations
        asked = next(e for e in self.entries if e.through_helper == entry.through_helper)
        return asked.operations

    def _entry_points(self) -> list[str]:
        pairs = [f"@m{index} -> @a{index}" for index in range(len(self.entries))]
        half = (len(pairs) + 1) // 2
        marked = "attributes {iree_codegen.tuning_spec_entrypoint}"
        match self.shape:
            case Shape.DEFAULT:
                return [_entry_point("__kernel_config", [pairs], marked)]
            case Shape.UNMARKED_LIST:
                return [_entry_point("main", [pairs], marked)]
            case Shape.LEGACY:
                loop = _loop("%r", "%v", pairs)
                return [
                    (
                        f"transform.named_sequence @__kernel_config(%v: {ANY_OP} {{transform.consumed}}) {{"
                        f"\n{loop}\n transform.yield\n}}"
                    )
                ]
            case Shape.TWO_LOOPS:
                return [_entry_point("main", [pairs[:half], pairs[half:] or pairs[:1]], marked)]
            case Shape.TWO_ENTRY_POINTS:
                second = pairs[half:] or pairs[:1]
                return [
                    _entry_point("main", [pairs[:half]], marked),
                    _entry_point("main_1", [second], marked),
                ]
            case Shape.RESTRICTED:
                return [_entry_point("main", [pairs], marked, "restrict_root ")]


def _names(operations: tuple[str, ...]) -> str:
    return ", ".join(f'"{name}"' for name in operations)


def _loop(result: str, root: str, pairs: list[str], flag: str = "") -> str:
    return (
        f"  {result} = transform.foreach_match {flag}in {root} {', '.join(pairs)}"
        f" : ({ANY_OP}) -> {ANY_OP}"
    )


def _entry_point(name: str, loops: list[list[str]], marked: str, flag: str = "") -> str:
    lines, handle = [], "%v"
    for index, pairs in enumerate(loops):
        lines.append(_loop(f"%r{index}", handle, pairs, flag))
        handle = f"%r{index}"
    inner = "\n".join(lines)
    return (
        f"transform.named_sequence @{name}(%v: {ANY_OP} {{transform.consumed}}) -> {ANY_OP} {marked} {{"
        f"\n{inner}\n  transform.yield {handle} : {ANY_OP}\n}}"
    )


def _matcher(index: int, entry: GeneratedEntry) -> str:
    if entry.through_helper:
        check = f"  %seen = transform.include @{entry.through_helper} failures(propagate) (%op) : ({ANY_OP}) -> {ANY_OP}"
        configured = "%seen"
    else:
        check = f"  transform.match.operation_name %op [{_names(entry.operations)}] : {ANY_OP}"
        configured = "%op"
    if entry.reaches:
        check += (
            f"\n  %producer = transform.get_producer_of_operand %op[0] : ({ANY_OP}) -> {ANY_OP}"
        )
        configured = "%producer"
    return f"""transform.named_sequence @m{index}(%op: {ANY_OP} {{transform.readonly}}) -> {ANY_OP} {{
{check}
  transform.yield {configured} : {ANY_OP}
}}"""


def _action(index: int, entry: GeneratedEntry) -> list[str]:
    name = f"set{index}" if entry.action_helper else f"a{index}"
    lines = []
    if entry.can_fail:
        lines.append(f"  %parent = transform.get_parent_op %op : ({ANY_OP}) -> {ANY_OP}")
    if entry.value is not None:
        lines += [
            (
                f"  %c = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[{entry.value}]]>"
                " -> !transform.any_param"
            ),
            f'  transform.annotate %op "lowering_config" = %c : {ANY_OP}, !transform.any_param',
        ]
    inner = "\n".join([*lines, "  transform.yield"])
    sequences = [
        f"transform.named_sequence @{name}(%op: {ANY_OP} {{transform.readonly}}) {{\n{inner}\n}}"
    ]
    if entry.action_helper:
        sequences.append(
            f"transform.named_sequence @a{index}(%op: {ANY_OP} {{transform.readonly}}) {{\n"
            f"  transform.include @{name} failures(propagate) (%op) : ({ANY_OP}) -> ()\n"
            "  transform.yield\n}"
        )
    return sequences


def entries(*, reaches: bool = False, can_fail: bool = False) -> st.SearchStrategy[GeneratedEntry]:
    """Draw entries whose `value` is not set yet."""
    return st.builds(
        GeneratedEntry,
        operations=st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=2, unique=True).map(
            tuple
        ),
        through_helper=st.none() | st.sampled_from(HELPERS[:2]),
        value=st.none() | st.just(0),
        action_helper=st.booleans(),
        reaches=st.booleans() if reaches else st.just(value=False),
        can_fail=st.booleans() if can_fail else st.just(value=False),
    )


@st.composite
def spec_lists(
    draw: st.DrawFn,
    shapes: tuple[Shape, ...] = tuple(Shape),
    *,
    reaches: bool = False,
    can_fail: bool = False,
) -> list[GeneratedSpec]:
    """Draw one to four specs; every action that configures sets its own value."""
    specs: list[GeneratedSpec] = []
    value = 0
    for _ in range(draw(st.integers(1, 4))):
        drawn = draw(st.lists(entries(reaches=reaches, can_fail=can_fail), min_size=1, max_size=4))
        numbered = []
        for entry in drawn:
            value += 1
            numbered.append(replace(entry, value=None if entry.value is None else value))
        name = draw(st.sampled_from([None, "a", "b", "helper"]))
        specs.append(GeneratedSpec(name, draw(st.sampled_from(shapes)), tuple(numbered)))
    return specs


@st.composite
def payloads(draw: st.DrawFn) -> str:
    """Draw a function with a chain of numbered linalg operations."""
    kind = "tensor<4x4xf32>"
    lines = [f"func.func @payload(%v0: {kind}, %e: {kind}, %c: f32) -> {kind} {{"]
    drawn = draw(st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=6))
    for index, name in enumerate(drawn):
        source, number = f"%v{index}", f"number = {index} : i64"
        result = f"  %v{index + 1} ="
        match name:
            case "linalg.fill":
                text = f"linalg.fill {{{number}}} ins(%c : f32) outs({source} : {kind}) -> {kind}"
            case "linalg.generic":
                text = (
                    "linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, "
                    'affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} '
                    f"ins({source} : {kind}) outs(%e : {kind}) attrs = {{{number}}} {{\n"
                    "  ^bb0(%x: f32, %y: f32):\n    linalg.yield %x : f32\n  }"
                    f" -> {kind}"
                )
            case "linalg.matmul":
                text = (
                    f"linalg.matmul {{{number}}} ins({source}, {source} : {kind}, {kind}) "
                    f"outs(%e : {kind}) -> {kind}"
                )
            case _:
                text = (
                    f"linalg.copy {{{number}}} ins({source} : {kind}) outs(%e : {kind}) -> {kind}"
                )
        lines.append(f"{result} {text}")
    return "\n".join([*lines, f"  return %v{len(drawn)} : {kind}", "}"])
