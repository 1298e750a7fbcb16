"""The model of a spec, the loading of specs, and the distinction between specs and programs.

The compiler's linker nests specs in one module and adds an entry point that runs their entry points. Earlier versions
of Tuninglink did the same. Such a spec is read as a chain: the sequences of nested modules move to the outer module.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from iree.compiler import ir as mlir

from tuninglink.arguments import Content, content_as_path, described, several
from tuninglink.errors import Place, SpecError, did_you_mean, printable
from tuninglink.files import cannot
from tuninglink.iree import Target, known_cpu_vectors, known_target_names
from tuninglink.mlir import (
    DiagnosticSink,
    FreshNames,
    body,
    entries_of,
    error,
    is_bytecode,
    names,
    note,
    parse_module,
    rename_references,
    rename_symbols,
    symbol_name,
    symbols,
    thread_context,
    to_bytecode,
    to_text,
)
from tuninglink.rules import Rule
from tuninglink.specs.module_scan import (
    PREPROCESSING_FLAG,
    has_entry_point,
    is_entry_point,
    nested_specs,
    preprocessing_entry_points,
    unmark,
)
from tuninglink.specs.sequences import SequenceTable
from tuninglink.specs.structure import UNNAMED, Anatomy, Entry, SpecKind, is_guarded, sequences_run
from tuninglink.upgrading import read_module

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Spec:
    """A transform-dialect library with at least one entry point.

    A spec is immutable; linking works on copies.

    Attributes:
        module: the `builtin.module`, in the context of the spec.
        source: the origin of the spec in diagnostics: a path, or a name given by the caller.
    """

    module: mlir.Operation
    source: str

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
        return self.anatomy.kind

    @property
    def kind_words(self) -> str:
        """The words for the kind of the spec; one that does nothing is an empty spec."""
        is_empty = all(len(list(body(point.sequence))) == 1 for point in self.anatomy.entry_points)
        return "empty spec" if is_empty else self.kind.value

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries, in order of precedence."""
        return self.anatomy.entries

    def text(self) -> str:
        """Return the spec as MLIR text."""
        return to_text(self.module)

    def bytecode(self) -> bytes:
        """Return the spec as MLIR bytecode, with locations."""
        return to_bytecode(self.module)


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
    spec = Spec(module, name)
    try:
        if spec.anatomy.table.scan.has_nested and _chained(module):
            dissolve_nested(module)
            spec = Spec(module, name)
    except RuntimeError:
        if not is_bytecode(data):
            raise
        # The bindings raise for a name that is not UTF-8.
        message = "the bytecode is damaged: a name in it is not UTF-8"
        raise SpecError(error(message, Place(name, 1, 1))) from None
    check_passes(spec.anatomy.table)
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
    scan = table.scan
    for operation in scan.printing:
        # The compiler writes the name to standard output as it is.
        title = operation.attributes.get("name")
        if isinstance(title, mlir.StringAttr) and not title.value.isprintable():
            message = "the name in 'transform.print' has characters that do not print"
            raise SpecError(error(message, operation))
    for operation in scan.looking:
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

    If it is required, the compiler will preprocess a program with it: a tuning spec is an error, and any other module is
    returned.
    """
    if not is_required and names.TRANSFORM_MAIN.encode() not in data:
        return None
    module = read_module(data, name, context, upgrade=upgrade, diagnostics=diagnostics)
    is_tuning_spec, has_main = has_entry_point(module), bool(preprocessing_entry_points(module))
    if not is_required and (is_tuning_spec or not has_main):
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
    return Spec(parse_module(to_bytecode(spec.module), spec.source, context), spec.source)


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
    if root.name != names.MODULE or not has_entry_point(root):
        return False
    return all(op.name == names.MODULE or op.name.startswith("transform.") for op in body(root))


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
    groups += [[part] for part in _nested(module)]
    # A pass of the loop dissolves one level of nesting: the references to it are renamed together.
    while parts := list(_nested(module)):
        new_names: dict[tuple[str, str], str] = {}
        for part in parts:
            renames = {name: fresh.take(inner_name(name)) for name in symbols(part)}
            rename_symbols(part, renames)
            scope = symbol_name(part) or ""
            new_names |= {(scope, old): new for old, new in renames.items()}
        for group in groups:
            rename_references(group, new_names)
        for part in parts:
            group = next(group for group in groups if part in group)
            group.remove(part)
            for operation in list(body(part)):
                operation.move_before(part)
                group.append(operation)
            part.erase()


def inner_name(name: str) -> str:
    """Return a name for a symbol that moves to another module."""
    # When the compiler links a spec with its own default spec, it renames entry points to `__kernel_config_1` and so
    # on, even if these names are taken.
    return name.lstrip("_") if name.startswith(names.KERNEL_CONFIG) else name


def _nested(module: mlir.Operation) -> Iterator[mlir.Operation]:
    return (op for op in body(module) if op.name == names.MODULE)


def _chained(module: mlir.Operation) -> set[mlir.Operation]:
    """Return the entry points of nested modules if the module's only entry point does nothing but run them all."""
    entry_points = {
        (symbol_name(nested) or "", symbol_name(sequence) or ""): sequence
        for nested in _nested(module)
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


def entry_binding(entry: Entry) -> Binding:
    """Return the targets that an entry is bound to by the module of its spec and by its matcher."""
    matcher = entry.anatomy.table.lookup(entry.matcher)
    own = binding_of(matcher) if matcher is not None else None
    return narrow(binding_of(entry.anatomy.module), own)


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


def bind_entries(member: Anatomy) -> None:
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
    common = [name for name in one if any(each in _names(name) for each in other)]
    common += [name for name in other if any(each in _names(name) for each in one)]
    return tuple(dict.fromkeys(common))


def covers(binding: Binding, target: Target | None) -> bool:
    """Return whether code with a binding is for a target; None stands for an unknown target."""
    if binding is None:
        return True
    return target is not None and not set(binding).isdisjoint(target.names)


def is_for_like_target(
    binding: Binding, target: Target | None, element_types: Iterable[str]
) -> bool:
    """Return whether code with a binding is for a target similar to another one."""
    types = tuple(element_types)
    return target is not None and any(is_like(name, target, types) for name in binding or ())


def _names(name: str) -> tuple[str, ...]:
    """Return the names of the target called `name`, from the most to the least specific."""
    target = known_target_names().get(name)
    if target is None:
        return (name,)
    names = target.names
    return names[names.index(name) :] if name in names else (name, *names)


_LIKE_SM_80: Final = frozenset({"sm_90"})
"""The architectures with the intrinsics of sm_80 and at least its shared memory.

sm_86 and sm_89 have the intrinsics and 99 KiB: 14 of the 59 entries of `library:models-h200` do not compile for sm_89.
"""


def is_like(name: str, target: Target, element_types: Iterable[str]) -> bool:
    """Return whether code for a target with another name, computing with some types, suits the given target equally well."""
    made_for = known_target_names().get(name)
    if made_for is None or made_for.backend != target.backend:
        return False
    if target.backend == "cuda":
        return made_for.architecture == "sm_80" and target.architecture in _LIKE_SM_80
    if target.backend != "llvm-cpu" or made_for.family != target.family:
        return False
    own, other = (
        cpu.cpu_vectors or known_cpu_vectors().get(cpu.architecture or "")
        for cpu in (target, made_for)
    )
    return own is not None and other is not None and own.runs_code_for(other, element_types)
