"""Side effects of transform ops (changes to the program and failures), and sequences that no entry point reaches."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import references_in, symbol_name, symbols
from tuninglink.mlir.walk import body, postorder, visit
from tuninglink.specs.module_scan import is_entry_point

_READING: Final = frozenset(
    {
        names.MERGE_HANDLES,
        names.NEAREST_SYMBOL_TABLE,
        names.NUM_ASSOCIATIONS,
        names.PARAM_CONSTANT,
        names.PRINT,
        names.SELECT,
        names.STRUCTURED_MATCH,
        names.YIELD,
    }
)
CHECKING_PREFIXES: Final = ("transform.iree.match.", "transform.match.")
"""The beginnings of names of ops that fail for some operands and otherwise only read."""

_READING_PREFIXES: Final = ("transform.get_", *CHECKING_PREFIXES)


def only_reads(operation: mlir.Operation) -> bool:
    """Return whether an op of a sequence, other than an include, changes neither the program nor any handle."""
    name = operation.name
    if name in _READING or name.startswith(_READING_PREFIXES):
        return True
    if name == names.CREATE_SERIALIZED_MODULE:
        return is_closed(operation)
    if name in _DECIDED_BY_CONTENT or len(operation.regions):
        return False
    effects = _effects(operation)
    return effects is not None and not any(
        effect.effect == mlir.MemoryEffect.Free or _writes(effect) for effect in effects
    )


def adds_symbol(operation: mlir.Operation) -> bool:
    """Return whether an op adds a symbol to a program and leaves everything else there as it is."""
    return operation.name == names.IMPORT_SYMBOL and "force_import" not in operation.attributes


def is_closed(operation: mlir.Operation) -> bool:
    """Return whether the ops inside an op use no values from outside."""
    operations: list[mlir.Operation] = []
    visit(operation, operations.append)
    blocks = [block for op in operations for region in op.regions for block in region.blocks]
    values: set[mlir.Value[mlir.Type]] = {arg for block in blocks for arg in block.arguments}
    values |= {result for op in operations[1:] for result in op.results}
    return all(operand in values for op in operations[1:] for operand in op.operands)


def _effects(operation: mlir.Operation) -> list[mlir.MemoryEffectInstance] | None:
    with operation.context:
        try:
            return list(mlir.MemoryEffectsOpInterface(operation).get_effects())
        except ValueError:
            return None


def _writes(effect: mlir.MemoryEffectInstance) -> bool:
    """Return whether an effect is a write to the payload, not to a handle: the bindings name no other resource."""
    return effect.effect == mlir.MemoryEffect.Write and effect.value is None


_INFALLIBLE: Final = _READING | {
    names.ANNOTATE,
    names.COLLECT_MATCHING,
    names.CREATE_SERIALIZED_MODULE,
    names.FOREACH_MATCH,
    names.IMPORT_SYMBOL,
    names.RUN_REGISTERED,
}
"""Ops that fail only where a sequence that they run does, or with an error that nothing suppresses.

A matcher that fails does not match. An annotation also fails if it has not one value.
"""


def fails(operation: mlir.Operation) -> bool:
    """Return whether an op of a sequence, other than an include, may fail by itself, which an include may suppress."""
    if operation.name == names.ALTERNATIVES:
        return all(any(map(fails, _inside(region))) for region in operation.regions)
    if operation.name in (names.FOREACH, names.SEQUENCE):
        return any(any(map(fails, _inside(region))) for region in operation.regions)
    if operation.name == names.GET_PARENT:
        # Every op that a spec is applied to is in a function, and that in a module.
        return bool({"nth_parent", "op_name", "allow_empty_results"} & _given(operation))
    # Handles to several ops are an error of a `foreach_match` with further results.
    is_strict = len(operation.results) > 1 and "flatten_results" not in operation.attributes
    is_list = operation.name == names.FOREACH_MATCH
    return operation.name not in _INFALLIBLE or (is_list and is_strict)


def _inside(region: mlir.Region) -> Iterator[mlir.Operation]:
    for block in region.blocks:
        yield from (operation.operation for operation in block.operations)


def _given(operation: mlir.Operation) -> set[str]:
    """Return the names of the attributes of an op, except for a number of 1, which is the default."""
    return {
        name
        for name, value in operation.attributes.items()
        if not (isinstance(value, mlir.IntegerAttr) and value.value == 1)
    }


_DECIDED_BY_CONTENT: Final = frozenset(
    {
        names.INCLUDE,
        names.FOREACH_MATCH,
        names.COLLECT_MATCHING,
        names.SEQUENCE,
        names.FOREACH,
        names.MATCH_STRUCTURED,
        names.PRINT,
    }
)
"""Ops that declare more effects on the payload than they have: their bodies decide, and a print writes elsewhere."""


def declares_a_write(operation: mlir.Operation) -> bool:
    """Return whether an op declares a write to the payload, apart from the sequences that it runs."""
    if operation.name in _DECIDED_BY_CONTENT:
        return False
    return any(map(_writes, _effects(operation) or ()))


def unused_sequences(
    module: mlir.Operation, kept: Collection[mlir.Operation] = ()
) -> list[mlir.Operation]:
    """Return the unused named sequences of a module and of those nested in it; those in `kept` count as used.

    Sequences that other symbols refer to count as used, and so do all sequences in a module without an entry point. If
    only an unused sequence refers to a sequence of a nested module, the latter is returned once the former is erased.
    """
    return [sequence for scope in scopes(module) for sequence in scope.unused(kept)]


def erase_unused(module: mlir.Operation, before: set[mlir.Operation]) -> int:
    """Erase the sequences that neither an entry point nor one in `before` uses; return their number."""
    count = 0
    while unused := unused_sequences(module, before):
        count += len(unused)
        for sequence in unused:
            sequence.erase()
    return count


def scopes(
    module: mlir.Operation, from_outside: frozenset[str] = frozenset()
) -> Iterator[SequenceScope]:
    """Yield the scopes of a module and of the modules nested in it.

    Args:
        module: a `builtin.module`.
        from_outside: the symbols in it that the enclosing modules refer to.
    """
    yield SequenceScope(module, from_outside)
    nested = {name: op for name, op in symbols(module).items() if op.name == names.MODULE}
    if not nested:
        return
    used: dict[str, set[str]] = {name: set() for name in nested}
    for path in references_in(module):
        if len(path) > 1 and path[0] in used:
            used[path[0]].add(path[1])
    for name, table in nested.items():
        yield from scopes(table, frozenset(used[name]))


class SequenceScope:
    """The named sequences of one module, which can refer to each other.

    Args:
        module: the module.
        from_outside: the symbols in it that the enclosing modules refer to.

    Attributes:
        module: the module.
        sequences: its named sequences, by symbol.
        is_used: whether an entry point or an enclosing module uses its sequences. If not, their purpose is unknown.
        pinned: the symbols that must not be erased.
    """

    def __init__(self, module: mlir.Operation, from_outside: frozenset[str]) -> None:
        self.module = module
        operations = list(body(module))
        self.sequences = {
            name: op
            for op in operations
            if op.name == names.NAMED_SEQUENCE and (name := symbol_name(op)) is not None
        }
        used = from_outside | {name for name, op in self.sequences.items() if is_entry_point(op)}
        self.is_used = bool(used)
        others = [op for op in operations if op.name != names.NAMED_SEQUENCE]
        # References out of a nested module end in it, unless nothing there has the name.
        self.pinned = used | {path[0] for op in others for path in references_in(op)}

    def unused(self, kept: Collection[mlir.Operation] = ()) -> list[mlir.Operation]:
        """Return the unused sequences; empty if the purpose of the module's sequences is unknown.

        Args:
            kept: sequences that count as used.
        """
        if not self.is_used:
            return []
        roots = [name for name, op in self.sequences.items() if name in self.pinned or op in kept]
        reached = set(postorder(roots, self.uses))
        return [sequence for name, sequence in self.sequences.items() if name not in reached]

    def uses(self, name: str) -> list[str]:
        """Return the sequences that a sequence refers to."""
        used = (path[0] for path in references_in(self.sequences[name]))
        return [name for name in used if name in self.sequences]
