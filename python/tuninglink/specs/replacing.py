"""Replace entries: a matcher, and a function that the compiler calls in place of the op that it matches.

The compiler's preprocessing runs `@__transform_main` on the whole program, before dispatches are formed; configure entries
run later, on each dispatch. Loading moves the replace entries of a spec to a module of their own, so that the analyses of
configure entries do not see them. Linking treats both kinds separately, and writing a spec joins them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.errors import Diagnostic, Place, SpecError
from tuninglink.mlir import (
    body,
    collect,
    error,
    names,
    note,
    parse_module,
    place_of,
    postorder,
    reference,
    to_bytecode,
)
from tuninglink.specs.sequences import SequenceTable, copy_ops
from tuninglink.specs.transform_ops import (
    Pair,
    any_op,
    create,
    has_entry_point,
    named_sequence,
    no_entry_point,
    pair_attributes,
    pairs_of,
    preprocessing_entry_points,
    set_pairs,
    yield_,
)

INLINE: Final = "inline"
"""The pass after replacing: the compiler itself inlines calls too late, and copies their operands."""


@dataclass(frozen=True)
class ReplaceEntry:
    """One `matcher -> action` pair whose action calls a function in place of the matched op.

    Attributes:
        function: the symbol of the function that the action imports into the program; empty if it imports none.
        form: what the function does, in words; empty if it does not say so.
    """

    matcher: str
    action: str
    function: str
    place: Place | None
    form: str = ""


@dataclass(frozen=True)
class ReplaceList:
    """The replace entries of a spec.

    Attributes:
        module: their sequences and functions, with the entry point `@__transform_main`.
    """

    module: mlir.Operation

    @cached_property
    def table(self) -> SequenceTable:
        """The sequences of the module."""
        return SequenceTable(self.module)

    @cached_property
    def foreach_match(self) -> mlir.Operation:
        """The list of all entries."""
        (operation,) = collect(self.table.symbols[names.TRANSFORM_MAIN], names.FOREACH_MATCH)
        return operation

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """The `(matcher, action)` pairs, in order of precedence."""
        return self.table.pairs(self.foreach_match)

    @cached_property
    def entries(self) -> tuple[ReplaceEntry, ...]:
        """The entries, in order of precedence."""
        entries = []
        for matcher, action in self.pairs:
            sequences = [self.table.lookup(path) for path in (matcher, action)]
            imports = collect(sequences[1], names.IMPORT_SYMBOL) if sequences[1] else []
            called = (reference(op.attributes["symbol"]) for op in imports if [*op.results[0].uses])
            place = place_of(sequences[0].location) if sequences[0] else None
            name = next(called, "")
            form = ""
            if (function := self.table.symbols.get(name)) and names.FORM in function.attributes:
                form = mlir.StringAttr(function.attributes[names.FORM]).value
            entries.append(ReplaceEntry(matcher, action, name, place, form))
        return tuple(entries)

    def subset(self, kept: Sequence[int]) -> ReplaceList:
        """Return the list with some of its entries, at least one; the list itself if all are kept."""
        if len(kept) == len(self.pairs):
            return self
        copy = ReplaceList(self.module.clone().operation)
        pairs = pairs_of(copy.foreach_match)
        set_pairs(copy.foreach_match, [pairs[position] for position in kept])
        return ReplaceList(copy.module)

    def in_context(self, context: mlir.Context) -> ReplaceList:
        """Return the list itself if it is in `context`, else a copy in that context."""
        if self.module.context == context:
            return self
        return ReplaceList(parse_module(to_bytecode(self.module), "replace entries", context))


def take_replace_entries(module: mlir.Operation) -> ReplaceList | None:
    """Move the replace entries out of the module of a spec, and return them; None if there are none.

    What both kinds of entries use is copied.

    Raises:
        SpecError: `@__transform_main` does anything else.
    """
    main = next(iter(preprocessing_entry_points(module)), None)
    if main is None:
        return None
    if problem := form_problem(main):
        if not has_entry_point(module):
            missing = no_entry_point(module)
            raise SpecError(replace(missing, notes=(*missing.notes, problem)))
        message = f"'@{names.TRANSFORM_MAIN}' of a tuning spec must be a list of replace entries"
        raise SpecError(error(message, main, [problem]))
    table = SequenceTable(module)

    def used(*roots: str) -> set[str]:
        return set(postorder(roots, lambda name: filter(table.symbols.get, table.referenced(name))))

    replacing = used(names.TRANSFORM_MAIN)
    configuring = used(*(name for name in table.symbols if name not in replacing))
    attributes = dict(module.attributes.items())
    attributes.pop(names.DEFAULT_ENTRY_POINT, None)
    with module.context, module.location:
        own = mlir.Operation.create(names.MODULE, attributes=attributes, regions=1)
    block = own.regions[0].blocks.append()
    for name, operation in table.top:
        if name in replacing:
            block.append(operation.clone().operation if name in configuring else operation)
    return ReplaceList(own)


def form_problem(main: mlir.Operation) -> Diagnostic | None:
    """Return why `@__transform_main` is not a list of replace entries, as a note; None if it is one."""
    operations = list(body(main))
    kinds = [operation.name for operation in operations]
    end = {names.APPLY_DCE, names.RUN_REGISTERED, names.YIELD}
    if kinds[:2] != [names.STRUCTURED_MATCH, names.FOREACH] or not end.issuperset(kinds[2:]):
        form = "matching of 'util.func', a 'foreach' over them, 'apply_dce' and the pass 'inline'"
        return note(f"expected {form}, and nothing else", main)
    functions, foreach, *rest = operations
    with main.context:
        kind = mlir.ArrayAttr.get([mlir.StringAttr.get(names.UTIL_FUNCTION)])
    if dict(functions.attributes.items()) != {"ops": kind}:
        return note("replace entries apply to all ops of 'util.func'", functions)
    inner = list(body(foreach))
    is_plain = [op.name for op in inner] == [names.FOREACH_MATCH, names.YIELD] and {
        *inner[0].attributes.keys()
    } == {"matchers", "actions"}
    if not is_plain or len(inner[0].operands) != 1 or len(foreach.operands) != 1:
        return note("expected one plain 'foreach_match' for each function", foreach)
    for operation in rest:
        name = operation.attributes.get("pass_name")
        if isinstance(name, mlir.StringAttr) and name.value != INLINE:
            return note(f"after replacing, only the pass '{INLINE}' runs", operation)
    return None


def add_replace_entries(
    container: mlir.Operation, lists: Sequence[ReplaceList], taken: Iterable[str] = ()
) -> None:
    """Add the entries of lists to a module, in order, with the functions and sequences that they use, renamed if needed.

    No symbol gets one of the `taken` names.
    """
    pairs: list[Pair] = []
    omitted = [{names.TRANSFORM_MAIN}] * len(lists)
    tables = [entries.table for entries in lists]
    renames = copy_ops(container, tables, omitted, names.TRANSFORM_MAIN, taken)
    with container.context:
        for entries, new_names in zip(lists, renames, strict=True):
            pairs += pairs_of(entries.foreach_match, new_names)
    add_main(container, pairs)


def add_main(container: mlir.Operation, pairs: Sequence[Pair], *, cleans_up: bool = True) -> None:
    """Add an entry point `@__transform_main` that replaces in all functions, removes dead code, and inlines the calls."""
    with container.context, container.location:
        with mlir.InsertionPoint(container.regions[0].blocks[0]):
            ownership = names.CONSUMED if cleans_up else names.READONLY
            sequence = named_sequence(names.TRANSFORM_MAIN, [any_op()], (), ownership)
        block = sequence.regions[0].blocks[0]
        root = block.arguments[0]
        with mlir.InsertionPoint(block):
            if pairs:
                kind = mlir.ArrayAttr.get([mlir.StringAttr.get(names.UTIL_FUNCTION)])
                functions = create(names.STRUCTURED_MATCH, [root], [root.type], ops=kind)
                foreach = mlir.Operation.create(names.FOREACH, operands=functions, regions=1)
                inner = foreach.regions[0].blocks.append(root.type)
                with mlir.InsertionPoint(inner):
                    function = inner.arguments[0]
                    create(names.FOREACH_MATCH, [function], [root.type], **pair_attributes(pairs))
                    yield_([])
            if cleans_up:
                inline = mlir.StringAttr.get(INLINE)
                create(names.APPLY_DCE, [root])
                create(names.RUN_REGISTERED, [root], [root.type], pass_name=inline)
            yield_([])
