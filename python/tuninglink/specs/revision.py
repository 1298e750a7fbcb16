"""Revisions of specs: copies with fewer entries, other configurations, or another provenance."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError, counted
from tuninglink.mlir import (
    FreshNames,
    body,
    entries_of,
    error,
    join_path,
    names,
    postorder,
    references_in,
    split_path,
    symbol_name,
    symbols,
)
from tuninglink.specs.sequences import Annotation, SequenceTable
from tuninglink.specs.spec import Anatomy, Entry, Spec, SpecKind
from tuninglink.specs.transform_ops import defining_constant, is_entry_point, pairs_of, set_pairs


class Revision:
    """A copy of a spec that is changed entry by entry; the entries keep their positions until it is finished."""

    def __init__(self, spec: Spec) -> None:
        self._source, self._replacing = spec.source, spec.replacing
        self._module = spec.module.clone().operation
        self._unused = {op for scope in scopes(self._module) for op in scope.unused()}
        self._anatomy = Anatomy(self._module)
        self._lists = [
            operation
            for point in self._anatomy.entry_points
            for operation in body(point.sequence)
            if operation.name == names.FOREACH_MATCH
        ]
        self._pairs = [pair for operation in self._lists for pair in pairs_of(operation)]
        # A list can be left out if what it yields is what it walks.
        widening = [op for op in self._lists if len(op.results) > len(op.operands)]
        may_go = len(self._lists) == 1 or not widening
        if not self._pairs or len(self._pairs) != len(self._anatomy.pairs) or not may_go:
            message = f"the entries of '{spec.source}' are not in lists of its entry points"
            raise SpecError(error(message, spec.module))
        self._fresh = FreshNames(symbols(self._module))

    def configures_with(self, position: int) -> frozenset[str]:
        """Return the attributes that an entry sets if their values can be replaced; empty otherwise, as with neighbors."""
        matcher, action = self._anatomy.pairs[position]
        annotations = self._anatomy.table.annotations(action) or ()
        if configured_arguments(self._anatomy.table, action, neighbors=True) or not all(
            self._constant(matcher, action, annotation) for annotation in annotations
        ):
            return frozenset()
        return frozenset(annotation.name for annotation in annotations)

    def configure(self, position: int, attributes: Mapping[str, str]) -> None:
        """Change the values, as MLIR prints them, of all attributes that `configures_with` returns for an entry."""
        matcher, action = self._anatomy.pairs[position]
        sequence = self._anatomy.table.lookup(action)
        assert sequence is not None
        copy: mlir.Operation | None = None
        for annotation in self._anatomy.table.annotations(action) or ():
            value = mlir.Attribute.parse(attributes[annotation.name], self._module.context)
            if copy is None and not isinstance(annotation.value, int):
                # The constant is in the action, which other entries may share, so the entry gets a copy of the action.
                with mlir.InsertionPoint(sequence):
                    copy = sequence.clone().operation
                name = self._fresh.take(symbol_name(sequence) or "")
                with self._module.context:
                    copy.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)
                    reference = mlir.FlatSymbolRefAttr.get(name)
                self._pairs[position] = self._pairs[position][0], reference
            constant = self._constant(matcher, action, annotation, copy)
            assert constant is not None
            constant.attributes["value"] = value

    def set_provenance(self, position: int, values: Mapping[str, object]) -> None:
        """Record the provenance of the configuration of an entry."""
        matcher = self._anatomy.table.lookup(self._anatomy.pairs[position][0])
        assert matcher is not None
        with self._module.context, mlir.Location.unknown():
            matcher.attributes[PROVENANCE] = provenance_attribute(values)

    def finish(self, kept: Iterable[int]) -> Spec:
        """Return the spec with the kept entries, at least one, and without sequences that only removed entries used."""
        positions = set(kept)
        first = 0
        for operation in self._lists:
            end = first + len(pairs_of(operation))
            pairs = [self._pairs[at] for at in range(first, end) if at in positions]
            first = end
            if pairs:
                set_pairs(operation, pairs)
            else:
                for result, operand in zip(operation.results, operation.operands, strict=False):
                    result.replace_all_uses_with(operand)
                operation.erase()
        erase_unused(self._module, self._unused)
        self._module.verify()
        return Spec(self._module, self._source, self._replacing)

    def _constant(
        self, matcher: str, action: str, annotation: Annotation, copy: mlir.Operation | None = None
    ) -> mlir.Operation | None:
        """Return the constant of an annotation if it is in the matcher, or in the action itself or a copy of the action."""
        if isinstance(annotation.value, int):
            sequence = self._anatomy.table.lookup(matcher)
            operations = [] if sequence is None else list(body(sequence))
            return (
                defining_constant(operations[-1].operands[annotation.value]) if operations else None
            )
        sequence = copy or self._anatomy.table.lookup(action)
        if sequence is None or sequence.parent is None:
            return None
        for op in body(sequence) if sequence.parent.operation == self._module else ():
            if op.name == names.ANNOTATE and len(op.operands) > 1:
                name = op.attributes["name"]
                if isinstance(name, mlir.StringAttr) and name.value == annotation.name:
                    return defining_constant(op.operands[1])
        return None


def subset(spec: Spec, kept: Sequence[int]) -> Spec:
    """Return a copy of a matcher list with some of its entries, at least one, and the sequences that they use.

    Apart from the list itself, the cost depends on these entries, not on the spec. Entries keep their order and names.
    """
    assert spec.kind is SpecKind.MATCHER_LIST
    module, table, entry_point = spec.module, spec.anatomy.table, spec.anatomy.entry_points[0]
    # The sequences that the entries use, each after the sequences that refer to it.
    paths = [path for position in kept for path in spec.anatomy.pairs[position]]
    reached: dict[str, mlir.Operation] = {}
    waiting = [split_path(path)[0] for path in reversed(paths)]
    waiting += [path[0] for op in table.others for path in references_in(op)]
    while waiting:
        name = waiting.pop()
        sequence = table.lookup(join_path([name]))
        if name not in reached and name != entry_point.name and sequence is not None:
            reached[name] = sequence
            waiting.extend(dict.fromkeys(table.referenced(name)))
    with module.context, module.location:
        attributes = dict(module.attributes.items())
        copy = mlir.Operation.create(names.MODULE, attributes=attributes, regions=1)
        with mlir.InsertionPoint(copy.regions[0].blocks.append()):
            for operation in (*table.others, *reached.values()):
                operation.clone()
            run = entry_point.sequence.clone()
        foreach_match = next(body(run.operation))
        pairs = pairs_of(foreach_match)
        set_pairs(foreach_match, [pairs[position] for position in kept])
    return Spec(copy, spec.source)


# --- The settings of entries: their configurations, and the provenance of the configurations -----

PROVENANCE: Final = "tuninglink.provenance"
"""The attribute: a dictionary."""

DERIVED: Final = "derived"
"""The key in `PROVENANCE` for the original of a derived entry, and the changes."""

FLAGS: Final = "flags"
"""The key in `PROVENANCE` for the compiler flags that the configuration was tuned under, besides those of the target."""


def provenance_attribute(value: object) -> mlir.Attribute:
    """Convert a Boolean, a number, a text, a list or a dictionary to an attribute of the current context."""
    if isinstance(value, Mapping):
        return mlir.DictAttr.get({name: provenance_attribute(item) for name, item in value.items()})
    if isinstance(value, list | tuple):
        return mlir.ArrayAttr.get([provenance_attribute(item) for item in value])
    if isinstance(value, bool):
        return mlir.BoolAttr.get(value)
    if isinstance(value, int):
        return mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return mlir.FloatAttr.get(mlir.F64Type.get(), value)
    return mlir.StringAttr.get(str(value))


def provenance_of(table: SequenceTable, matcher: str = "") -> dict[str, object]:
    """Return the provenance that a matcher records, or the spec for an empty name; empty if there is none."""
    holder = table.lookup(matcher) if matcher else table.module
    attribute = holder.attributes.get(PROVENANCE) if holder is not None else None
    return {name: _plain(value) for name, value in entries_of(attribute).items()}


def origin_of(spec: Spec, entry: Entry | None = None) -> str:
    """Return where an entry comes from, or the spec itself, or an empty string if that is not recorded."""
    provenance = provenance_of(spec.anatomy.table, entry.matcher if entry else "")
    source, device = provenance.get("source"), provenance.get("device")
    return str(source or (f"tuned on {device}" if device else ""))


EXPECTED_SPEEDUP: Final = "expected_speedup"
LEAST_SPEEDUP: Final = "least_speedup"
THREADS: Final = "threads"
"""The keys for the speedup that a model expects, its lower bound, and the threads on a CPU that it was measured with."""

WRONG_DEFAULT: Final = "wrong_default"
"""The key for the reason why the compiler's choice, which a prediction replaces, computes wrong results."""

GAIN: Final = (EXPECTED_SPEEDUP, LEAST_SPEEDUP, THREADS, WRONG_DEFAULT)
"""The keys for the gain that `expected_gain` states."""

NOT_PREDICTED: Final = "not_predicted"
"""The key in the `PROVENANCE` of a spec of predictions for the reasons of the dispatches without one, by their names."""


def expected_gain(provenance: Mapping[str, object]) -> str:
    """Return the gain that a model expects of a configuration, in words; empty without a prediction."""
    expected, least = provenance.get(EXPECTED_SPEEDUP), provenance.get(LEAST_SPEEDUP)
    if not (isinstance(expected, float) and isinstance(least, float)):
        return ""
    gain = f"{expected:.2f} times as fast as the compiler's choice, at least {least:.2f}"
    threads, wrong = provenance.get(THREADS), provenance.get(WRONG_DEFAULT)
    gain += f", on {counted(threads, 'thread')}" if isinstance(threads, int) else ""
    return f"{gain}; the compiler's choice computes wrong results: {wrong}" if wrong else gain


def _plain(attribute: mlir.Attribute) -> object:
    if isinstance(attribute, mlir.ArrayAttr):
        return [_plain(item) for item in attribute]
    if isinstance(attribute, mlir.BoolAttr | mlir.IntegerAttr | mlir.FloatAttr | mlir.StringAttr):
        return attribute.value
    if isinstance(attribute, mlir.DictAttr):
        return {name: _plain(value) for name, value in entries_of(attribute).items()}
    return str(attribute)


CONFIGURATIONS: Final[frozenset[str]] = frozenset(
    {names.COMPILATION_INFO, names.LOWERING_CONFIG, names.TRANSLATION_INFO}
)
"""The attributes that make an annotation a configuration."""


def configured_arguments(
    table: SequenceTable, action: str, *, neighbors: bool = False
) -> dict[int, frozenset[str]]:
    """Return the names of the configuring attributes that an action sets, by the number of the annotated argument.

    The result is empty for an action that does anything other than annotate. It has either the `neighbors`, which get a
    lowering config beside an op with a `compilation_info`, or the other arguments.
    """
    sets: dict[int, set[str]] = {}
    for annotation in table.annotations(action) or ():
        if annotation.name in CONFIGURATIONS:
            sets.setdefault(annotation.operand, set()).add(annotation.name)
    has_root = any(names.COMPILATION_INFO in attributes for attributes in sets.values())
    return {
        argument: frozenset(attributes)
        for argument, attributes in sorted(sets.items())
        if (has_root and attributes == {names.LOWERING_CONFIG}) is neighbors
    }


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


def configuration_lines(spec: Spec, entry: Entry) -> tuple[str, ...]:
    """Return the configuration that an entry sets, a line for each attribute, also of neighbors."""
    beside = configured_arguments(spec.anatomy.table, entry.action, neighbors=True)
    return tuple(
        f"{name}{f' of neighbor {number}' if number else ''} = {value}"
        for number, neighbor in enumerate([None, *beside])
        for name, value in (settings_of(spec, entry, neighbor=neighbor) or {}).items()
    )


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
    spec: Spec,
    entry: Entry,
    attributes: frozenset[str] = CONFIGURATIONS,
    neighbor: int | None = None,
) -> dict[str, mlir.Attribute] | None:
    """Return the values that an entry sets for the given attributes, by name; None if a value is computed.

    They are those of a neighbor, by the argument of the action, or else all but those of neighbors.
    """
    table = spec.anatomy.table
    beside = configured_arguments(table, entry.action, neighbors=True)
    annotations = table.annotations(entry.action)
    if annotations is None:
        return None
    settings: dict[str, mlir.Attribute] = {}
    for annotation in annotations:
        at = annotation.operand
        if annotation.name in attributes and neighbor == (at if at in beside else None):
            value: mlir.Attribute | int | None = annotation.value
            if isinstance(value, int):
                value = table.yielded(entry.matcher, value)
            if not isinstance(value, mlir.Attribute):
                return None
            settings[annotation.name] = value
    return settings


# --- Sequences that no entry point reaches --------------------------------------------------------


def erase_unused(module: mlir.Operation, before: set[mlir.Operation]) -> int:
    """Erase the sequences, also of nested modules, that neither an entry point nor one in `before` uses.

    Sequences that other symbols refer to count as used, and so do all sequences in a module without an entry point.

    Returns:
        The number of erased sequences.
    """
    count = 0
    # Once an unused sequence is erased, a sequence of a nested module that only the former refers to is unused, too.
    while unused := [sequence for scope in scopes(module) for sequence in scope.unused(before)]:
        count += len(unused)
        for sequence in unused:
            sequence.erase()
    return count


def scopes(
    module: mlir.Operation, from_outside: frozenset[str] = frozenset()
) -> Iterator[SequenceScope]:
    """Yield the scopes of a module, of which modules around it refer to some symbols, and of the modules nested in it."""
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

    Attributes:
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
        used |= {names.TRANSFORM_MAIN} & self.sequences.keys()
        self.is_used = bool(used)
        further = [op for op in operations if op.name != names.NAMED_SEQUENCE]
        # References out of a nested module end in it, unless nothing there has the name.
        self.pinned = used | {path[0] for op in further for path in references_in(op)}

    def unused(self, kept: Collection[mlir.Operation] = ()) -> list[mlir.Operation]:
        """Return the unused sequences; empty if the purpose of the module's sequences is unknown."""
        if not self.is_used:
            return []
        roots = [name for name, op in self.sequences.items() if name in self.pinned or op in kept]
        reached = set(postorder(roots, self.uses))
        return [sequence for name, sequence in self.sequences.items() if name not in reached]

    def uses(self, name: str) -> list[str]:
        """Return the sequences that a sequence refers to."""
        used = (path[0] for path in references_in(self.sequences[name]))
        return [name for name in used if name in self.sequences]
