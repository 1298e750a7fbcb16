"""The model of a spec: its entry points, entries and kind; loading; and the distinction between specs and programs.

The analysis does not change the IR. Linking makes its decisions from it; no later step can fail.

The compiler's linker nests specs in one module and adds an entry point that runs their entry points. Earlier versions
of Tuninglink did the same. Such a spec is read as a chain: the sequences of nested modules move to the outer module.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

from iree.compiler import ir as mlir

from tuninglink.arguments import Content, content_as_path, described, several
from tuninglink.errors import Diagnostic, Place, SpecError, did_you_mean, printable
from tuninglink.files import cannot
from tuninglink.iree import CPU_VECTORS, CUDA_CODE, Target, known_target_names
from tuninglink.mlir import (
    DiagnosticSink,
    FreshNames,
    body,
    collect,
    entries_of,
    error,
    is_bytecode,
    join_path,
    names,
    note,
    parameters,
    parse_module,
    place_of,
    reference,
    references,
    rename_symbols,
    symbol_name,
    symbols,
    thread_context,
    to_bytecode,
    to_text,
)
from tuninglink.plain_data import HIDDEN
from tuninglink.rules import Rule
from tuninglink.specs.replacing import (
    ReplaceEntry,
    ReplaceList,
    add_replace_entries,
    form_problem,
    take_replace_entries,
)
from tuninglink.specs.sequences import SequenceTable, inner_name
from tuninglink.specs.transform_ops import (
    PREPROCESSING_FLAG,
    Handle,
    add_empty_kernel_config,
    has_entry_point,
    is_any_op,
    is_entry_point,
    nested_specs,
    no_entry_point,
    pairs_of,
    prepares,
    preprocessing_entry_points,
    signature,
    unmark,
)
from tuninglink.upgrading import read_module

UNNAMED = "unnamed_spec"
"""The name of a spec without one in the attribute of its entry points in a chain."""


class SpecKind(Enum):
    """The two kinds of specs that linking distinguishes; the value is the word for diagnostics."""

    MATCHER_LIST = "matcher list"
    OPAQUE = "opaque spec"


_OUTLINED: Final = 64
"""The number of elements of a constant that an outline shows."""


@dataclass(frozen=True)
class EntryPoint:
    """A named sequence that the compiler runs on a dispatch, with its symbol and the reference to it."""

    sequence: mlir.Operation
    name: str
    path: str


@dataclass(frozen=True)
class Entry:
    """One `matcher -> action` pair of a `foreach_match`.

    Attributes:
        matcher: the matcher's symbol, with nested references joined by `::`.
        anatomy: the structure of the spec that the entry belongs to. Comparisons of entries ignore it.
    """

    matcher: str
    action: str
    place: Place | None
    anatomy: Anatomy = field(compare=False, repr=False, metadata=HIDDEN)


class Anatomy:
    """The structure of the spec in `module`.

    Attributes:
        entry_points: the entry points of the spec or, if it is a chain, of its members.
        driver: the entry point that linking writes to run the members in order; None if the spec is not a chain.
    """

    def __init__(self, module: mlir.Operation) -> None:
        self.module = module
        self.table = SequenceTable(module)
        self.driver: EntryPoint | None = None
        self._entries: dict[int, Entry] = {}
        ops = self.table.entry_points
        if not ops:
            raise SpecError(no_entry_point(module))
        for sequence in ops:
            if problem := signature_problem(sequence):
                raise SpecError(problem)
        symbols_of_ops = [symbol_name(op) or "" for op in ops]
        points = tuple(
            EntryPoint(op, name, join_path([name]))
            for op, name in zip(ops, symbols_of_ops, strict=True)
        )
        self.entry_points = points
        # Split the entry points of a chain into the one that runs the others, and the others in execution order.
        chained = {p.name: p for p in points if names.CHAINED_ENTRY_POINT in p.sequence.attributes}
        drivers = tuple(point for point in points if point.name not in chained)
        if chained and drivers:
            self.entry_points = drivers
            order = [path[-1] for path in sequences_run(drivers[0].sequence)]
            if len(drivers) == 1 and sorted(order) == sorted(chained):
                self.driver = drivers[0]
                if self.is_used(drivers[0]):
                    self.driver = None
                else:
                    self.entry_points = tuple(chained[name] for name in order)

    @cached_property
    def opaque_because(self) -> Diagnostic | None:
        """The reason why the spec is opaque, as a note at the op that causes it; None for a matcher list."""
        if len(self.entry_points) != 1:
            return note("it has more than one entry point", self.entry_points[1].sequence)
        sequence = self.entry_points[0].sequence
        operations = list(body(sequence))
        is_plain = [op.name for op in operations] == [names.FOREACH_MATCH, names.YIELD]
        if is_plain:
            foreach_match, terminator = operations
            results = list(foreach_match.results)
            # Older specs have no result and yield nothing.
            is_plain = (
                {"restrict_root", "flatten_results"}.isdisjoint(foreach_match.attributes.keys())
                and len(foreach_match.operands) == len(results) == 1
                and list(terminator.operands) in ([], results)
                and is_any_op(results[0].type)
            )
        if not is_plain:
            message = "its entry point is more than one plain 'foreach_match' and a yield"
            return note(message, sequence)
        return self._unreadable_because

    @cached_property
    def is_readable(self) -> bool:
        """Whether the spec is a matcher list, apart from compiler passes that it may run first."""
        operations = list(body(self.entry_points[0].sequence))
        last = [operation.name for operation in operations[-2:]]
        return (
            len(self.entry_points) == 1
            and last == [names.FOREACH_MATCH, names.YIELD]
            and all(map(prepares, operations[:-2]))
            and self._unreadable_because is None
        )

    @cached_property
    def _unreadable_because(self) -> Diagnostic | None:
        """The reason why the spec's only list is not a plain list of annotating entries, or None."""
        if self.driver or self.is_used(self.entry_points[0]):
            return note(
                "its entry point is used by another sequence", self.entry_points[0].sequence
            )
        table = self.table
        for matcher, action in table.distinct(self.pairs):
            sequence = table.lookup(matcher)
            if problem := pair_problem(table, self.foreach_match, matcher, action):
                return problem
            if sequence in table.including and table.may_change(matcher):
                return note(f"its matcher '{matcher}' may change the program", sequence)
            if table.annotations(action) is None:
                message = f"its action '{action}' does more than annotate"
                return note(message, table.lookup(action))
        return None

    def is_used(self, entry_point: EntryPoint) -> bool:
        """Return whether an include or a list outside the driver of a chain refers to an entry point."""
        is_driven = self.driver not in (None, entry_point)
        symbol = mlir.FlatSymbolRefAttr.get(entry_point.name, self.module.context)
        return self.table.included[entry_point.path] > is_driven or symbol in self._listed

    @cached_property
    def _listed(self) -> frozenset[mlir.Attribute]:
        pairs = chain.from_iterable(map(pairs_of, self.table.foreach_matches))
        return frozenset(chain.from_iterable(pairs))

    @cached_property
    def foreach_match(self) -> mlir.Operation:
        """The one `foreach_match` of a matcher list."""
        return next(body(self.entry_points[0].sequence))

    @cached_property
    def reaches_other_ops(self) -> bool:
        """Whether an entry of this matcher list configures an op other than its matcher's operand."""
        return any(
            self.table.yielded(matcher, annotation.operand) != 0
            for matcher, action in self.table.distinct(self.pairs)
            for annotation in self.table.annotations(action) or ()
        )

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """The `(matcher, action)` pairs of all entries, in order of precedence; empty for a guarded chain.

        The pairs of a guarded chain are in its parts.
        """
        # Only guards add pairs that are not entries.
        are_guarded = is_guarded(self.entry_points[0].sequence)
        if are_guarded and self.driver is not None:
            return []
        return [
            pair
            for entry_point in self.entry_points
            for foreach_match in self.table.lists(entry_point.sequence)
            for pair in self.table.pairs(foreach_match)
            if not (are_guarded and self.table.is_bookkeeping(pair[0]))
        ]

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The entries of all `foreach_match` ops in the entry points, in order of precedence."""
        return tuple(map(self.entry, range(len(self.pairs))))

    def entry(self, position: int) -> Entry:
        """Return the entry at `position`, without computing all `entries`."""
        entry = self._entries.get(position)
        if entry is None:
            matcher, action = self.pairs[position]
            sequence = self.table.lookup(matcher)
            place = place_of(sequence.location) if sequence is not None else None
            entry = self._entries[position] = Entry(matcher, action, place, self)
        return entry


def sequences_run(entry_point: mlir.Operation) -> list[tuple[str, ...]]:
    """Return the sequences that an entry point chains by includes that pass on the root; empty if it does more."""
    root: Handle = entry_point.regions[0].blocks[0].arguments[0]
    *operations, terminator = body(entry_point)
    targets: list[tuple[str, ...]] = []
    for operation in operations:
        passes_root = list(operation.operands)[:1] == [root] and len(operation.results) > 0
        if operation.name == names.INCLUDE and passes_root:
            targets += references(operation.attributes["target"])
            root = operation.results[0]
        elif operation.name not in (names.SELECT, names.MERGE_HANDLES):
            return []
    return targets if list(terminator.operands) == [root] else []


def signature_problem(sequence: mlir.Operation) -> Diagnostic | None:
    """Return the reason why the signature of an entry point prevents linking, or None if it can be linked."""
    kind = signature(sequence)
    name = symbol_name(sequence)
    if names.CHAINED_ENTRY_POINT in sequence.attributes:
        return None
    if len(kind.inputs) != 1 or not is_any_op(kind.inputs[0]):
        return error(f"entry point '@{name}' must take one '!transform.any_op'", sequence)
    if len(kind.results) > 1 or not all(map(is_any_op, kind.results)):
        return error(f"entry point '@{name}' must return one '!transform.any_op'", sequence)
    if not sequence.regions[0].blocks:
        return error(f"entry point '@{name}' has no body", sequence)
    return None


def is_guarded(sequence: mlir.Operation) -> bool:
    """Return whether an entry point takes the decided ops next to the root."""
    return len(signature(sequence).inputs) > 1


def pair_problem(
    table: SequenceTable, foreach_match: mlir.Operation, matcher: str, action: str
) -> Diagnostic | None:
    """Return the reason why a pair of a list cannot be an entry for ops of any name, or None if it can."""
    sequence = table.lookup(matcher)
    if sequence is None or table.lookup(action) is None:
        return note(f"its entry '{matcher} -> {action}' is dangling", foreach_match)
    if not is_any_op(signature(sequence).inputs[0]):
        return note(f"its matcher '{matcher}' takes a typed operation", sequence)
    return None


@dataclass(frozen=True)
class Spec:
    """A transform-dialect library with at least one entry point.

    A spec is immutable; linking works on copies.

    Attributes:
        module: the `builtin.module`, in the context of the spec.
        source: the origin of the spec in diagnostics: a path, or a name given by the caller.
        replacing: the replace entries, which are not in `module`; None if there are none.
        maker: the library that makes the spec for each program, see `SpecMaker`; the module has no entries then.
    """

    module: mlir.Operation
    source: str
    replacing: ReplaceList | None = None
    maker: str = ""

    @cached_property
    def anatomy(self) -> Anatomy:
        """The structure of the spec that linking uses."""
        return Anatomy(self.module)

    @property
    def name(self) -> str:
        """The module's name, or the source if the module has none."""
        return symbol_name(self.module) or self.source

    @property
    def kind(self) -> SpecKind:
        """Whether the spec is a matcher list or opaque."""
        return SpecKind.OPAQUE if self.anatomy.opaque_because else SpecKind.MATCHER_LIST

    @property
    def kind_words(self) -> str:
        """The words for the kind of the spec; one that does nothing is an empty spec."""
        if self.only_replaces:
            return PREPROCESSING_SPEC
        return "empty spec" if self._is_empty else self.kind.value

    @cached_property
    def _is_empty(self) -> bool:
        return all(len(list(body(point.sequence))) == 1 for point in self.anatomy.entry_points)

    @property
    def only_replaces(self) -> bool:
        """Whether the spec has replace entries, and configures nothing."""
        return self.replacing is not None and self._is_empty

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The configure entries, in order of precedence."""
        return self.anatomy.entries

    @property
    def replace_entries(self) -> tuple[ReplaceEntry, ...]:
        """The replace entries, in order of precedence."""
        return self.replacing.entries if self.replacing is not None else ()

    def text(self) -> str:
        """Return the spec as MLIR text."""
        return to_text(self._whole)

    def outline(self) -> str:
        """Return the spec as MLIR text without the contents of objects, which is not a spec that can be used."""
        whole = self._whole
        for kernel in collect(whole, names.DISPATCH_EXTERN) if self.replacing else ():
            objects = [
                [
                    f"#hal.executable.object<{{path = {entries_of(fields[0])['path']}}}>"
                    for item in mlir.ArrayAttr(of_target)
                    if (fields := parameters(item))
                ]
                for of_target in mlir.ArrayAttr(kernel.attributes["target_objects"])
            ]
            listed = ", ".join(f"[{', '.join(of_target)}]" for of_target in objects)
            kernel.attributes["target_objects"] = mlir.Attribute.parse(f"[{listed}]", whole.context)
        return str(whole.get_asm(large_elements_limit=_OUTLINED)).rstrip("\n") + "\n"

    def bytecode(self) -> bytes:
        """Return the spec as MLIR bytecode, with locations."""
        return to_bytecode(self._whole)

    @property
    def _whole(self) -> mlir.Operation:
        if self.replacing is None:
            return self.module
        whole = self.module.clone().operation
        add_replace_entries(whole, [self.replacing])
        return whole


def specs_in(module: mlir.Operation) -> list[Spec]:
    """Return the specs among a module and its nested modules."""
    own = [module] if has_entry_point(module) else []
    return [Spec(operation, "") for operation in (*own, *nested_specs(module))]


def load_spec(
    source: str | os.PathLike[str] | Content,
    *,
    name: str | None = None,
    context: mlir.Context | None = None,
    upgrade: bool = True,
    diagnostics: DiagnosticSink | None = None,
    targets: Sequence[str] = (),
) -> Spec:
    """Load a spec from a file or from memory.

    Args:
        source: the path of a file, or its content; text or bytecode.
        name: the name of the spec in diagnostics and reports; by default the path, or `<memory>`.
        context: the context of the spec; by default that of the calling thread.
        upgrade: whether text for an older compiler is upgraded; otherwise it is rejected.
        diagnostics: receives warnings about entries that cannot be upgraded; by default they are Python warnings.
        targets: the names of the targets that the spec is bound to; empty for any target.

    Raises:
        SpecError: the file cannot be read, does not parse or verify, or is not a spec.
        TargetError: one of the names is unknown.
        TypeError: the source has another type.
    """
    targets = several(targets, "targets")
    for target in targets:
        Target.parse(target)
    data = read_source(source)
    name = printable(name or ("<memory>" if isinstance(source, Content) else source))
    where = context or thread_context()
    module = read_module(data, name, where, upgrade=upgrade, diagnostics=diagnostics)
    if targets:
        bind(module, [target.lower() for target in targets])
    try:
        may_replace = names.TRANSFORM_MAIN.encode() in data
        replacing = take_replace_entries(module) if may_replace else None
        if replacing and not has_entry_point(module) and not nested_specs(module, replacing=True):
            # The compiler rejects a tuning spec without an entry point.
            add_empty_kernel_config(module)
        spec = Spec(module, name, replacing)
        if spec.anatomy.table.has_nested and _chained(module):
            # The replace entries of the module itself come first, then those of nested modules, in order.
            parts = [part for part in body(module) if part.name == names.MODULE and may_replace]
            nested = list(filter(None, map(take_replace_entries, parts)))
            for entries in nested:
                bind_entries(entries)
            if nested:
                empty = b"module attributes {transform.with_named_sequence} {}"
                whole = parse_module(empty, name, where)
                add_replace_entries(whole, [replacing, *nested] if replacing else nested)
                replacing = ReplaceList(whole)
                if (binding := binding_of(module)) is not None:
                    bind(whole, binding)
            dissolve_nested(module)
            spec = Spec(module, name, replacing)
    except RuntimeError:
        if not is_bytecode(data):
            raise
        # The bindings raise for a name that is not UTF-8.
        message = "the bytecode is damaged: a name in it is not UTF-8"
        raise SpecError(error(message, Place(name, 1, 1))) from None
    for table in (spec.anatomy.table, *([replacing.table] if replacing else ())):
        check_passes(table)
    return spec


def read_source(source: str | os.PathLike[str] | Content) -> bytes:
    """Return the content of a spec."""
    if isinstance(source, Content):
        return bytes(source)
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"a spec is a path, or content as bytes; found {described(source)}")
    if mistake := content_as_path(source, "a spec"):
        raise SpecError(mistake)
    try:
        return Path(source).read_bytes()
    except OSError as failure:
        raise SpecError(cannot("read the spec", source, failure)) from None


_ACTING_PASSES: Final = re.compile(
    r"dump|view-|snapshot|to-binary|preprocess-executables|serialize|substitute"
)
"""Passes that run a tool or write files."""

_ACTING_OPTIONS: Final = re.compile(
    r"file|path|library|link|toolkit|opts|options|command|substitutions|pipeline|^l$"
)
"""Options of passes that name a file, a tool, or further passes."""


def check_passes(table: SequenceTable) -> None:
    """Check that a spec runs no pass that could run a program, or read or write a file, and prints no control characters."""
    for operation in table.printing:
        # The compiler writes the name to standard output as it is.
        title = operation.attributes.get("name")
        if isinstance(title, mlir.StringAttr) and not title.value.isprintable():
            message = "the name in 'transform.print' has characters that do not print"
            raise SpecError(error(message, operation))
    for operation in table.looking:
        if operation.name != names.RUN_REGISTERED:
            continue
        pass_name = mlir.StringAttr(operation.attributes["pass_name"]).value
        options = entries_of(operation.attributes.get("options"))
        if _ACTING_PASSES.search(pass_name) or any(map(_ACTING_OPTIONS.search, options)):
            message = f"pass '{pass_name}' could run a program, or read or write a file; a spec must not run it"
            raise SpecError(error(message, operation))


PREPROCESSING_SPEC: Final = "preprocessing spec"
"""The words for the kind of a spec that replaces ops of the program before dispatches are formed."""


def preprocessing_spec(
    data: bytes,
    name: str,
    context: mlir.Context,
    *,
    is_required: bool = False,
    upgrade: bool = True,
    diagnostics: DiagnosticSink | None = None,
) -> mlir.Operation | None:
    """Return the module of a preprocessing spec, read as tuning specs are; None for any other file.

    A list of replace entries is a spec that `load_spec` loads. If a preprocessing spec is required, the compiler will
    preprocess a program with it: a tuning spec is an error, and any other module is returned.
    """
    if not is_required and names.TRANSFORM_MAIN.encode() not in data:
        return None
    module = read_module(data, name, context, upgrade=upgrade, diagnostics=diagnostics)
    mains = preprocessing_entry_points(module)
    is_tuning_spec, has_main = has_entry_point(module), bool(mains)
    is_spec = is_tuning_spec or not has_main or form_problem(mains[0]) is None
    if not is_required and is_spec:
        return None
    if is_tuning_spec and not has_main:
        remedy = note("pass it with '--spec FILE'")
        message = f"a tuning spec, not a spec for '{PREPROCESSING_FLAG}'"
        raise SpecError(error(message, module, [remedy]))
    check_passes(SequenceTable(module))
    return module


def in_context(spec: Spec, context: mlir.Context) -> Spec:
    """Return `spec` itself if it is in `context`, else a copy in that context."""
    if spec.module.context == context:
        return spec
    replacing = spec.replacing.in_context(context) if spec.replacing else None
    module = parse_module(to_bytecode(spec.module), spec.source, context)
    return Spec(module, spec.source, replacing)


def check_is_program(
    root: mlir.Operation, remedy: str = "give the program that it is meant for"
) -> None:
    """Check that `root` is not a tuning spec.

    A module that holds the sequences of a spec next to other ops is a program.
    """
    if is_only_a_spec(root):
        raise SpecError(error(f"expected a program, found a tuning spec; {remedy}", root))


def is_only_a_spec(root: mlir.Operation) -> bool:
    """Return whether `root` is a module that only contains a tuning spec."""
    is_spec = root.name == names.MODULE and (
        has_entry_point(root) or preprocessing_entry_points(root)
    )
    # The functions that a spec imports into programs belong to it.
    imported = {
        reference(op.attributes["symbol"])
        for op in (collect(root, names.IMPORT_SYMBOL) if is_spec else ())
    }
    return bool(is_spec) and all(
        op.name == names.MODULE
        or op.name.startswith("transform.")
        or (op.name == names.UTIL_FUNCTION and symbol_name(op) in imported)
        for op in body(root)
    )


def dissolve_nested(module: mlir.Operation) -> None:
    """Move the ops of nested modules into `module`, under free names."""
    # The entry points of nested modules are not run in the outer one, except in a chain.
    # Mark the entry points of nested modules that belong to a chain, and unmark the others. A guarded entry point belongs
    # to a separate spec. Without guards, a later entry point may override an earlier one, as in one spec. But a spec
    # applies to a target as a whole or not at all, so modules with bindings are separate specs.
    chained, specs = _chained(module), nested_specs(module)
    are_bound = any(binding_of(part) is not None for part in specs)
    for part in specs:
        if are_bound:
            bind_entries(Anatomy(part))
        for sequence in filter(is_entry_point, body(part)):
            is_chained = sequence in chained  # The hash of an op depends on its attributes.
            unmark(sequence)
            if is_chained:
                owner = part if are_bound or is_guarded(sequence) else module
                name = mlir.StringAttr.get(symbol_name(owner) or UNNAMED, module.context)
                sequence.attributes[names.CHAINED_ENTRY_POINT] = name
    fresh = FreshNames([*symbols(module), names.KERNEL_CONFIG])
    # The strings of each part name its own imported symbols.
    groups = [[op for op in body(module) if op.name != names.MODULE]]
    groups += [[op] for op in body(module) if op.name == names.MODULE]
    # A pass of the loop dissolves one level of nesting: the references to it are renamed together.
    while parts := [op for op in body(module) if op.name == names.MODULE]:
        new_names: dict[tuple[str, str], str] = {}
        for part in parts:
            renames = {name: fresh.take(inner_name(name)) for name in symbols(part)}
            rename_symbols(body(part), renames)
            scope = symbol_name(part) or ""
            new_names |= {(scope, old): new for old, new in renames.items()}
        for group in groups:
            rename_symbols(group, {}, new_names)
        for part in parts:
            group = next(group for group in groups if part in group)
            group.remove(part)
            for operation in list(body(part)):
                operation.move_before(part)
                group.append(operation)
            part.erase()


def _chained(module: mlir.Operation) -> set[mlir.Operation]:
    """Return the entry points of nested modules if the module's only entry point does nothing but run them all."""
    entry_points = {
        (symbol_name(nested) or "", symbol_name(sequence) or ""): sequence
        for nested in body(module)
        if nested.name == names.MODULE
        for sequence in filter(is_entry_point, body(nested))
    }
    own = list(filter(is_entry_point, body(module)))
    if len(own) == 1 and sorted(sequences_run(own[0])) == sorted(entry_points):
        return set(entry_points.values())
    return set()


# --- Bindings of specs and their entries to targets ----------------------------------------------

BINDING: Final = "tuninglink.targets"
"""The attribute with the names of targets."""

Binding: TypeAlias = tuple[str, ...] | None
"""Names of targets; None for any target."""


def binding_of(operation: mlir.Operation) -> Binding:
    """Return the targets that a module or a matcher is bound to."""
    attribute = operation.attributes.get(BINDING)
    if attribute is None:
        return None
    elements = list(attribute) if isinstance(attribute, mlir.ArrayAttr) else []
    names = [element.value.lower() for element in elements if isinstance(element, mlir.StringAttr)]
    if not isinstance(attribute, mlir.ArrayAttr) or len(names) != len(attribute):
        message = f"'{BINDING}' must be an array of strings, the names of targets"
        raise SpecError(error(message, operation))
    return tuple(names)


def entry_binding(entry: Entry | ReplaceEntry, part: Anatomy | ReplaceList) -> Binding:
    """Return the targets that an entry of a spec is bound to by its module and by its matcher."""
    matcher = part.table.lookup(entry.matcher)
    own = binding_of(matcher) if matcher is not None else None
    return narrow(binding_of(part.module), own)


def check_bindings(operations: Iterable[mlir.Operation], diagnostics: DiagnosticSink) -> None:
    """Warn about bindings of specs and of matchers that are empty or name an unknown target.

    An unknown name may belong to an architecture newer than the table of targets.
    """
    for operation in operations:
        binding = binding_of(operation)
        if binding == ():
            message = f"'{BINDING}' is empty, so the entries are never applied; name targets, or remove it"
            diagnostics.warning(message, operation, rule=Rule.UNKNOWN_TARGET)
        for name in binding or ():
            if name not in known_target_names():
                hint = did_you_mean(name, known_target_names())
                message = f"'{BINDING}' names an unknown target '{name}'{hint}"
                remedy = note("'tuninglink targets --all' lists the known targets")
                diagnostics.warning(message, operation, [remedy], Rule.UNKNOWN_TARGET)


def bind(operation: mlir.Operation, names: Sequence[str]) -> None:
    """Bind a module or a matcher to targets, within its existing binding."""
    narrowed = narrow(binding_of(operation), tuple(names)) or ()
    with operation.context:
        values = [mlir.StringAttr.get(name) for name in narrowed]
        operation.attributes[BINDING] = mlir.ArrayAttr.get(values)


def bind_entries(member: Anatomy | ReplaceList) -> None:
    """Copy the binding of a spec's module to each entry, so that the entries can be moved elsewhere."""
    binding = binding_of(member.module)
    if binding is None:
        return
    for path in dict.fromkeys(matcher for matcher, _ in member.pairs):
        matcher = member.table.lookup(path)
        if matcher is not None:
            bind(matcher, binding)


def narrow(one: Binding, other: Binding) -> Binding:
    """Return the targets that two bindings have in common; if their names differ, under the more specific name."""
    if one is None or other is None:
        return one if other is None else other
    common = []
    for targets, other_targets in ((one, other), (other, one)):
        for name in targets:
            # The names of the target, from its own to the least specific.
            target = known_target_names().get(name)
            wider = (name,) if target is None else target.names
            wider = wider[wider.index(name) :] if name in wider else (name, *wider)
            if not set(wider).isdisjoint(other_targets):
                common.append(name)
    return tuple(dict.fromkeys(common))


def covers(binding: Binding, target: Target | None) -> bool:
    """Return whether code with a binding is for a target; None stands for an unknown target."""
    if binding is None:
        return True
    return target is not None and not set(binding).isdisjoint(target.names)


def suits(binding: Binding, target: Target | None, element_types: Collection[str]) -> bool:
    """Return whether code with a binding is for a target, or for one similar to it."""
    return covers(binding, target) or (
        target is not None and any(is_like(name, target, element_types) for name in binding or ())
    )


def is_like(name: str, target: Target, element_types: Collection[str]) -> bool:
    """Return whether code for a target with another name, computing with some types, suits the given target equally well."""
    made_for = known_target_names().get(name)
    if made_for is None or made_for.backend != target.backend:
        return False
    if target.backend == "cuda":
        return made_for.architecture == CUDA_CODE.get(target.architecture or "", "")
    if target.backend != "llvm-cpu" or made_for.family != target.family:
        return False
    own, other = (
        cpu.cpu_vectors or CPU_VECTORS.get(cpu.architecture or "") for cpu in (target, made_for)
    )
    return own is not None and other is not None and own.runs_code_for(other, element_types)
