"""Bindings of specs and their entries to targets.

The attribute `tuninglink.targets` holds names of targets: SKUs, architectures or families. On the module of a spec it
applies to all of its entries, on a matcher to the entries of that matcher. Linking preserves bindings entry by entry.
The compiler ignores the attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError, did_you_mean
from tuninglink.iree.cpus import CpuVectors, known_cpu_vectors
from tuninglink.iree.targets import Target, known_target_names
from tuninglink.mlir.diagnostics import DiagnosticSink, error, note
from tuninglink.rules import Rule

if TYPE_CHECKING:
    from tuninglink.specs.structure import Anatomy, Entry

BINDING: Final = "tuninglink.targets"
"""The attribute with the names of targets."""

Binding = tuple[str, ...] | None
"""Names of targets; None for any target."""


def binding_of(operation: mlir.Operation) -> Binding:
    """Return the targets that a module or a matcher is bound to.

    Raises:
        SpecError: the attribute is not an array of strings.
    """
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
    """Return the targets that an entry is bound to by the module of its spec and by its matcher.

    Raises:
        SpecError: see `binding_of`.
    """
    matcher = entry.anatomy.table.lookup(entry.matcher)
    own = binding_of(matcher) if matcher is not None else None
    return narrow(binding_of(entry.anatomy.module), own)


def check_bindings(operations: Iterable[mlir.Operation], diagnostics: DiagnosticSink) -> None:
    """Warn about bindings of specs and of matchers that are empty or name an unknown target.

    An unknown name may belong to an architecture newer than the table of targets.

    Raises:
        SpecError: see `binding_of`.
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
    """Bind a module or a matcher to targets, within its existing binding.

    Raises:
        SpecError: its existing attribute is not an array of strings.
    """
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
    """Return whether code with a binding is for a target similar to another one.

    Args:
        binding: the binding, which does not cover the target.
        target: the target.
        element_types: the element types of the bound code.
    """
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
    """Return whether code for a target with another name suits the given target equally well.

    Args:
        name: the name of the target that the code is for.
        target: the target.
        element_types: the element types that the code computes with.
    """
    made_for = known_target_names().get(name)
    if made_for is None or made_for.backend != target.backend:
        return False
    if target.backend == "cuda":
        return made_for.architecture == "sm_80" and target.architecture in _LIKE_SM_80
    if target.backend != "llvm-cpu" or made_for.family != target.family:
        return False
    own, other = _cpu_vectors(target), _cpu_vectors(made_for)
    return own is not None and other is not None and own.runs_code_for(other, element_types)


def _cpu_vectors(target: Target) -> CpuVectors | None:
    """Return the vector instructions of a CPU, derived from its name if the target lists none."""
    return target.cpu_vectors or known_cpu_vectors().get(target.architecture or "")
