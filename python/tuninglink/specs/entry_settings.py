"""The settings of entries: their configurations, and the provenance of the configurations.

The provenance is an attribute of the matcher that linking preserves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.attributes import entries_of
from tuninglink.mlir.symbols import join_path, symbol_name
from tuninglink.mlir.walk import body

if TYPE_CHECKING:
    from tuninglink.specs.sequences import SequenceTable
    from tuninglink.specs.spec import Spec
    from tuninglink.specs.structure import Entry

PROVENANCE: Final = "tuninglink.provenance"
"""The attribute: a dictionary."""

DERIVED: Final = "derived"
"""The key in `PROVENANCE` for the original of a derived entry, and the changes."""

FLAGS: Final = "flags"
"""The key in `PROVENANCE` for the compiler flags that the configuration was tuned under, besides those of the target."""


def provenance_attribute(values: Mapping[str, object]) -> mlir.Attribute:
    """Convert Booleans, numbers, text, lists and dictionaries to an attribute of the current context."""
    return mlir.DictAttr.get({name: _attribute(value) for name, value in values.items()})


def provenance_of(table: SequenceTable, matcher: str) -> dict[str, object]:
    """Return the provenance that a matcher records, or an empty dictionary if it records none."""
    sequence = table.lookup(matcher)
    attribute = sequence.attributes.get(PROVENANCE) if sequence is not None else None
    return {name: _plain(value) for name, value in entries_of(attribute).items()}


def _attribute(value: object) -> mlir.Attribute:
    if isinstance(value, list | tuple):
        return mlir.ArrayAttr.get([_attribute(item) for item in value])
    if isinstance(value, bool):
        return mlir.BoolAttr.get(value)
    if isinstance(value, int):
        return mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return mlir.FloatAttr.get(mlir.F64Type.get(), value)
    return mlir.StringAttr.get(str(value))


def _plain(attribute: mlir.Attribute) -> object:
    if isinstance(attribute, mlir.ArrayAttr):
        return [_plain(item) for item in attribute]
    if isinstance(attribute, mlir.BoolAttr | mlir.IntegerAttr | mlir.FloatAttr | mlir.StringAttr):
        return attribute.value
    return str(attribute)


CONFIGURATIONS: Final = frozenset(
    {names.COMPILATION_INFO, names.LOWERING_CONFIG, names.TRANSLATION_INFO}
)
"""The attributes that make an annotation a configuration."""


def configured_arguments(table: SequenceTable, action: str) -> dict[int, frozenset[str]]:
    """Return the names of the configuring attributes that an action sets, by the number of the annotated argument.

    The result is empty for an action that does anything other than annotate.
    """
    sets: dict[int, set[str]] = {}
    for annotation in table.annotations(action) or ():
        if annotation.name in CONFIGURATIONS:
            sets.setdefault(annotation.operand, set()).add(annotation.name)
    return {argument: frozenset(sets[argument]) for argument in sorted(sets)}


IN_ONE: Final = (
    "set both on the op, in one 'compilation_info', as in #iree_codegen.compilation_info<"
    "lowering_config = ..., translation_info = ...>"
)
"""The form of a configuration that the compiler reads from an op."""


def reason_without_effect(sets: frozenset[str], *, is_function: bool = False) -> str:
    """Return why configuring attributes do not reach code generation; empty if they do.

    `MaterializeUserConfigs` of the compiler splits the `compilation_info` of an op into a `lowering_config` of the op
    and a `translation_info` of the function, which code generation reads there. In a function without
    `translation_info`, the compiler replaces the `lowering_config` of the root op.

    Args:
        sets: the names of the attributes that an action sets on an op or a function.
        is_function: whether it is a function.
    """
    if is_function:
        on_op = [name for name in sorted(sets) if name != names.TRANSLATION_INFO]
        return (
            f"the compiler reads '{on_op[0]}' from the op, and it is set on the function"
            if on_op
            else ""
        )
    if names.COMPILATION_INFO in sets or not sets:
        return ""
    if names.TRANSLATION_INFO in sets:
        return "the compiler reads 'translation_info' from the function, and it is set on the op"
    return "'lowering_config' is set without 'translation_info', so the compiler chooses both"


def entry_without_effect(entry: Entry) -> str:
    """Return why no configuration of an entry reaches code generation; empty if one does, or if that is not known."""
    arguments = configured_arguments(entry.anatomy.table, entry.action)
    return reason_without_effect(*arguments.values()) if len(arguments) == 1 else ""


_UNROLLING: Final = frozenset(
    {
        *(names.GET_PARENT, names.TILE_USING_FOR, names.UNROLL),
        *(names.APPLY_PATTERNS, names.APPLY_CSE, names.YIELD),
        names.SELECT,  # of a guard
    }
)
"""The operations of an action that unrolls loops of its op; see `emission.entry_points`."""


def unrolled_loops(table: SequenceTable, action: str) -> tuple[int, ...]:
    """Return the unroll factor of each loop, 0 for loops that stay as they are; empty if the action unrolls nothing."""
    sequence = table.lookup(action)
    operations = list(body(sequence)) if sequence is not None else []
    tilings = [operation for operation in operations if operation.name == names.TILE_USING_FOR]
    if len(tilings) != 1 or any(operation.name not in _UNROLLING for operation in operations):
        return ()
    (tiling,) = tilings
    factors = {
        operation.operands[0]: mlir.IntegerAttr(operation.attributes["factor"]).value
        for operation in operations
        if operation.name == names.UNROLL
    }
    loops = iter(list(tiling.results)[1:])
    sizes = list(mlir.DenseI64ArrayAttr(tiling.attributes["static_sizes"]))
    copies = tuple(factors.get(next(loops), 0) if size else 0 for size in sizes)
    is_whole = all(
        (size, count > 0) in ((0, False), (1, True))
        for size, count in zip(sizes, copies, strict=True)
    )
    return copies if is_whole and isinstance(tiling.operands[0], mlir.BlockArgument) else ()


def hidden_failure(table: SequenceTable, entry_point: mlir.Operation) -> mlir.Operation | None:
    """Return the first op whose failure makes an entry point fail, which a chain suppresses; None without one.

    An op that an entry unrolls has the loops that its action tiles.
    """
    for operation in table.failing_ops(entry_point):
        sequence = operation.parent
        path = join_path([symbol_name(sequence.operation) or ""]) if sequence else ""
        if not unrolled_loops(table, path):
            return operation
    return None


def rewriting_words(table: SequenceTable, action: str) -> str:
    """Describe how an action rewrites its op instead of configuring it; empty if it does not."""
    copies = [str(count) for count in unrolled_loops(table, action) if count]
    return f"unrolls its window: {'x'.join(copies)} copies" if copies else ""


def settings_of(
    spec: Spec, entry: Entry, attributes: frozenset[str] = CONFIGURATIONS
) -> dict[str, mlir.Attribute] | None:
    """Return the values that an entry sets for the given attributes, by name; None if a value is computed."""
    table = spec.anatomy.table
    annotations = table.annotations(entry.action)
    if annotations is None:
        return None
    settings: dict[str, mlir.Attribute] = {}
    for annotation in annotations:
        if annotation.name in attributes:
            value: mlir.Attribute | int | None = annotation.value
            if isinstance(value, int):
                value = table.yielded(entry.matcher, value)
            if not isinstance(value, mlir.Attribute):
                return None
            settings[annotation.name] = value
    return settings
