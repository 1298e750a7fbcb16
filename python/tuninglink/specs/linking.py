"""Linking: many specs in, one out, in order of precedence, like IREE's LinkTuningSpecsPass.

A spec comes from `cli/link`, from pruning, or from the pass `tuninglink-link-specs`. Loading has already converted chains
in nested modules, which the compiler and earlier versions write, to chains in one module (`specs/spec`). The steps:

1. Check each spec, and choose the form of the linked spec once: a single spec unchanged, one list, or a chain.
2. Copy the sequences of the specs into one module, under names that differ.
3. A list: add an entry point with the entries of all lists.
4. A chain: convert the specs' entry points to the current form. Where a later spec configures anything, `guards` protects
   the ops that earlier specs decided. Add an entry point that runs the others in order.

After step 1, no step can fail.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import groupby
from operator import itemgetter
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError
from tuninglink.mlir import (
    DiagnosticSink,
    FreshNames,
    body,
    collect,
    error,
    names,
    note,
    reference,
    references_in,
    repeated_matcher,
    symbol_name,
    symbols,
)
from tuninglink.specs.guards import (
    configures,
    declare_ownership,
    depend_on_each_other,
    guard,
    restriction,
    untraced,
)
from tuninglink.specs.replacing import (
    ReplaceList,
    add_main,
    add_replace_entries,
    take_replace_entries,
)
from tuninglink.specs.revision import hidden_failure
from tuninglink.specs.sequences import copy_ops, shared_symbols
from tuninglink.specs.spec import (
    UNNAMED,
    Anatomy,
    Entry,
    EntryPoint,
    Spec,
    bind_entries,
    binding_of,
    dissolve_nested,
    in_context,
    is_guarded,
)
from tuninglink.specs.transform_ops import (
    FAILURES_SUPPRESS,
    Handle,
    Pair,
    add_empty_kernel_config,
    add_kernel_config,
    add_list,
    argument_attributes,
    change_signature,
    consumes,
    copy_sequence,
    empty_handle,
    has_entry_point,
    include,
    is_entry_point,
    merge_handles,
    nested_specs,
    pairs_of,
    preprocessing_entry_points,
    signature,
    unmark,
    yield_,
    yield_more,
)

LINKED_SPEC_NAME = "iree_linked_tuning_spec"
"""The name of a linked spec; the one that the compiler gives."""


class LinkForm(Enum):
    """The form of a linked spec.

    Attributes:
        UNTOUCHED: a single input that is already in default-entrypoint form.
        FLAT: one `foreach_match` with all entries in order.
        CHAINED: a new entry point that runs the entry points of the inputs in order.
    """

    UNTOUCHED = "untouched"
    FLAT = "flat"
    CHAINED = "chained"


@dataclass(frozen=True)
class Part:
    """An input, and its linked part.

    Attributes:
        copy: the linked spec: the input itself, a copy with some of its entries, or None if no entry is linked.
        kept: the positions of the linked entries in the input, in order; None for all.
        source: the position of the input that the entries were derived from; None for an input given by the caller.
    """

    spec: Spec
    copy: Spec | None
    kept: Sequence[int] | None = None
    source: int | None = None

    @property
    def entries(self) -> Sequence[Entry]:
        """The entries of the input that are in the result, in order."""
        if self.kept is None:
            return self.spec.entries
        return [self.spec.anatomy.entry(position) for position in self.kept]


@dataclass(frozen=True)
class LinkedSpec:
    """The result of linking.

    Attributes:
        spec: the linked spec, ready for the compiler.
        parts: the inputs in order of precedence. The result has their entries and entry points in the same order,
            except that a flat spec has only one entry point.
    """

    spec: Spec
    form: LinkForm
    parts: tuple[Part, ...]


def link_specs(
    specs: Sequence[Spec],
    *,
    name: str = LINKED_SPEC_NAME,
    diagnostics: DiagnosticSink | None = None,
    form: LinkForm | None = None,
) -> LinkedSpec:
    """Link specs into one. The inputs stay as they are.

    Args:
        specs: at least one spec, in order of precedence. The result lives in the context of the first.
        name: the symbol of the result.
        diagnostics: receives warnings, such as about specs that may override an earlier one; by default they are dropped.
        form: the form of the result; by default the one that `choose_form` returns.

    Raises:
        SpecError: there is no spec, or one cannot be linked.
    """
    form = form or choose_form(specs, diagnostics=diagnostics)
    parts = [Part(spec, None if spec.only_replaces else spec) for spec in specs]
    linked = link_parts(parts, form, name=name) or link_nothing(specs, name=name)
    lists = filter(None, (spec.replacing for spec in specs))
    replacing = link_replace_entries(lists, linked.spec.module.context, name)
    spec = replace(linked.spec, replacing=replacing)
    return linked if replacing is None else replace(linked, spec=spec)


def link_replace_entries(
    lists: Iterable[ReplaceList],
    context: mlir.Context,
    name: str = LINKED_SPEC_NAME,
    taken: Iterable[str] = (),
) -> ReplaceList | None:
    """Return lists of replace entries, in order of precedence, as one in a context; None without a list.

    No symbol gets one of the `taken` names.
    """
    members = []
    for entries in lists:
        own = entries.in_context(context)
        if binding_of(own.module) is not None:
            own = ReplaceList(own.module.clone().operation)
            bind_entries(own)
        members.append(own)
    if not members:
        return None
    with context, mlir.Location.fused([entries.module.location for entries in members]):
        container = spec_module(name)
    add_replace_entries(container, members, taken)
    return ReplaceList(container)


def link_parts(
    parts: Sequence[Part], form: LinkForm, *, name: str = LINKED_SPEC_NAME
) -> LinkedSpec | None:
    """Link a subset of the entries of specs in the form that the whole specs would have; None if no entry is left.

    The parts, in order of precedence, are in one context.
    """
    copies = [part.copy for part in parts if part.copy is not None]
    if not copies:
        return None
    if form is LinkForm.UNTOUCHED:
        return LinkedSpec(copies[0], form, tuple(parts))
    context = copies[0].module.context
    specs = [in_context(copy, context) for copy in copies]
    with context, mlir.Location.fused([spec.module.location for spec in specs]):
        container = spec_module(name)
    _merge(container, [spec.anatomy for spec in specs], form)
    return LinkedSpec(Spec(container, name), form, tuple(parts))


def no_replace_entries(spec: Spec) -> ReplaceList:
    """Return the preprocessing spec that changes nothing, in the context of `spec`."""
    with spec.module.context, mlir.Location.unknown():
        container = spec_module(spec.name)
    add_main(container, (), cleans_up=False)
    return ReplaceList(container)


def link_nothing(specs: Sequence[Spec], *, name: str = LINKED_SPEC_NAME) -> LinkedSpec:
    """Return a spec that configures nothing, for specs without an entry to link."""
    with specs[0].module.context, specs[0].module.location:
        container = spec_module(name)
    add_empty_kernel_config(container)
    parts = tuple(Part(spec, None, ()) for spec in specs)
    return LinkedSpec(Spec(container, name), LinkForm.FLAT, parts)


def link_nested_specs(
    module: mlir.Operation, name: str | None, diagnostics: DiagnosticSink
) -> None:
    """Link the specs that are nested in `module`, in place; the first match wins.

    A module that holds no spec, or was linked before, stays as it is, as does one with a spec that cannot be linked. As in
    the compiler's own linking, an entry point of the module itself is not run if there are nested specs; a warning
    reports it.
    """
    nested = nested_specs(module, replacing=True)
    replaces = any(map(preprocessing_entry_points, nested))
    own = [op for op in body(module) if is_entry_point(op)]
    # As the compiler links specs, they stay nested, and an entry point runs them.
    if not nested or any(len(path) > 1 for op in own for path in references_in(op)):
        return
    for entry_point in (*own, *(preprocessing_entry_points(module) if replaces else ())):
        symbol = symbol_name(entry_point)
        remedy = "put it into a module of its own, at its place in the order of precedence"
        notes = [note("this nested module is a spec", nested[0])]
        if symbol in (names.KERNEL_CONFIG, names.TRANSFORM_MAIN):
            fault = "is next to nested specs, whose entry point it would be"
            raise SpecError(error(f"'@{symbol}' {fault}; {remedy}", entry_point, notes))
        message = f"entry point '@{symbol}' is not run, as only nested specs are linked; {remedy}"
        diagnostics.warning(message, entry_point, notes)
    # Replace entries are linked by themselves. Their specs are copied, as linking may fail.
    members = [op.clone().operation for op in nested] if replaces else nested
    lists = list(filter(None, map(take_replace_entries, members)))
    specs = [Spec(op, "unnamed") for op in members if has_entry_point(op)]
    form = specs and choose_form(specs, diagnostics=diagnostics, next_to_entry_point=bool(own))
    for op in nested:
        op.detach_from_parent()
    if form:
        _merge(module, [Anatomy(spec.module) for spec in specs], form)
    else:
        add_empty_kernel_config(module)
    for entries in lists:
        bind_entries(entries)
    if lists:
        add_replace_entries(module, lists)
    with module.context:
        module.attributes[names.WITH_NAMED_SEQUENCE] = mlir.UnitAttr.get()
        if name is not None:
            module.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)


def specs_of(spec: Anatomy) -> Iterator[tuple[str, list[EntryPoint]]]:
    """Yield the name and the entry points of each spec in a chain, or of the only spec."""
    if spec.driver is None:
        yield symbol_name(spec.module) or UNNAMED, list(spec.entry_points)
        return
    markers = [
        point.sequence.attributes.get(names.CHAINED_ENTRY_POINT) for point in spec.entry_points
    ]
    spec_names = [mark.value if isinstance(mark, mlir.StringAttr) else UNNAMED for mark in markers]
    for name, points in groupby(zip(spec_names, spec.entry_points, strict=True), itemgetter(0)):
        yield name, [point for _, point in points]


def split(spec: Spec) -> list[Spec]:
    """Return the specs in a chain, as copies of its parts; empty if `spec` is not a chain."""
    if spec.anatomy.driver is None:
        return []
    table = spec.anatomy.table
    specs = []
    for name, points in specs_of(spec.anatomy):
        paths = [point.path for point in points]
        used = {sequence for _, sequence in table.closure(*paths, with_matchers=True)}
        with spec.module.context, spec.module.location:
            module = spec_module(name)
            with mlir.InsertionPoint(module.regions[0].blocks[0]):
                for operation in (operation for _, operation in table.top if operation in used):
                    operation.clone()
        specs.append(Spec(module, spec.source))
    return specs


# --- Step 1: checks, and the form of the linked spec ---------------------------------------------


def choose_form(
    specs: Sequence[Spec],
    *,
    diagnostics: DiagnosticSink | None = None,
    next_to_entry_point: bool = False,
) -> LinkForm:
    """Return the form that the given specs would have when linked, without linking them.

    Args:
        specs: at least one spec, in order of precedence.
        diagnostics: receives warnings about entries and specs without the expected effect; by default they are dropped.
        next_to_entry_point: whether the linked spec will be next to an entry point, which rules out default-entrypoint
            form.
    """
    if not specs:
        raise SpecError(error("nothing to link: no spec was given"))
    # A spec that only replaces takes no part in configuring.
    is_alone = len(specs) == 1
    specs = [spec for spec in specs if not spec.only_replaces]
    if not specs:
        return LinkForm.FLAT
    members = [spec.anatomy for spec in specs]
    # Check that the compiler can run each spec.
    for member in members:
        for foreach_match in member.table.foreach_matches:
            matchers = Counter(matcher for matcher, _ in pairs_of(foreach_match))
            for matcher in (matcher for matcher, uses in matchers.items() if uses > 1):
                raise SpecError(repeated_matcher(reference(matcher), foreach_match))
        paths = [point.path for point in member.entry_points if member.table.has_declarations]
        for _, sequence in member.table.closure(*paths, with_matchers=True):
            if not sequence.regions[0].blocks:
                remedy = "give it a body, or remove what refers to it"
                message = f"'@{symbol_name(sequence)}' is declared and not defined; {remedy}"
                raise SpecError(error(message, sequence))
    _check_imported_names(members)
    is_default = names.DEFAULT_ENTRY_POINT in members[0].module.attributes
    if is_alone and is_default and not next_to_entry_point:
        return LinkForm.UNTOUCHED
    for entry_point in (point for member in members for point in member.entry_points):
        sequence = entry_point.sequence
        if not signature(sequence).results and _handle_to_yield(sequence) is None:
            message = f"entry point '@{entry_point.name}' consumes its argument and returns nothing"
            raise SpecError(error(f"{message}; let it return the updated handle", sequence))
    # One walk over the program makes the same decisions as one walk for each spec, unless an entry configures an op other
    # than the matched one, or the result of a matcher depends on an op that another spec configures. In one walk, that
    # configuration may come too early or too late.
    can_be_flat = all(member.opaque_because is None for member in members) and (
        len(members) == 1
        or not (
            any(member.reaches_other_ops for member in members) or depend_on_each_other(members)
        )
    )
    if can_be_flat and not next_to_entry_point:
        return LinkForm.FLAT
    if diagnostics:
        _warn_about_chain(specs, diagnostics)
    return LinkForm.CHAINED


def _check_imported_names(members: Sequence[Anatomy]) -> None:
    """Check that imported symbols whose names clash can be renamed wherever the compiler looks for them by name."""
    for position, (member, owners) in enumerate(
        zip(members, shared_symbols([member.table for member in members]), strict=True)
    ):
        for name, owner in owners.items():
            earlier = (other.table.symbols.get(name) for other in members[:position])
            taken = next(filter(None, earlier), None)
            if taken is None or owner != position:
                continue
            # The strings that name symbols are in the options of a pass, in a pipeline, and in microkernels.
            texts = []
            for operation in collect(member.module, names.RUN_REGISTERED, names.UKERNEL_GENERIC):
                options = [operation.attributes.get(key) for key in ("options", "u_kernel_fn_name")]
                constants = (op.owner for op in operation.operands if isinstance(op, mlir.OpResult))
                options += [constant.attributes.get("value") for constant in constants]
                texts += [(operation, str(option)) for option in options if option is not None]
            for operation in collect(member.module, names.PARAM_CONSTANT):
                pipelines = _PIPELINE.findall(str(operation.attributes["value"]))
                texts += [(operation, pipeline) for pipeline in pipelines]
            word = re.compile(rf"(?<![\w$.-]){re.escape(name)}(?![\w$.-])")
            for operation in (operation for operation, text in texts if word.search(text)):
                message = (
                    f"'@{name}' is named in a string here, and another spec defines another '@{name}'; "
                    "rename it in one of the specs"
                )
                raise SpecError(error(message, operation, [note("the other one", taken)]))


_PIPELINE: Final = re.compile(r'#iree_codegen\.pass_pipeline<"(.*?)">')


def _warn_about_chain(specs: Sequence[Spec], diagnostics: DiagnosticSink) -> None:
    """Warn about the specs of a chain that have not the effect that they would have alone or in one list."""
    # Failing checks in entry points are errors in a spec alone. Where a chain suppresses failures already, linking
    # changes nothing.
    for spec in specs:
        for entry_point in () if spec.anatomy.driver else spec.anatomy.entry_points:
            check = hidden_failure(spec.anatomy.table, entry_point.sequence)
            if check is not None:
                diagnostics.warning(
                    f"entry point '@{entry_point.name}' of '{spec.name}' may fail here, which is an error where the "
                    "spec is applied alone; linked, it goes on without a diagnostic",
                    check,
                )
    # Later specs can change configured ops of earlier ones despite the guards.
    for position, spec in enumerate(specs):
        reason = restriction(spec.anatomy) if position else None
        if reason:
            earlier = ", ".join(f"'{other.name}'" for other in specs[:position])
            diagnostics.warning(
                f"opaque spec '{spec.name}' may override what {earlier} configured: "
                "it cannot be guarded",
                spec.module,
                [reason, note(f"'{specs[0].name}' comes first", specs[0].module)],
            )
    # Specs decide ops unknown to later specs, which skip configured ops instead.
    for position, spec in enumerate(specs):
        later = [other for other in specs[position + 1 :] if configures(other.anatomy)]
        reason = untraced(spec.anatomy, is_first=not position) if later else None
        if reason:
            names_of_later = ", ".join(f"'{other.name}'" for other in later)
            diagnostics.warning(
                f"the operations that '{spec.name}' decides are not known after it: "
                f"{names_of_later} may configure them, and may skip others that arrive with a configuration",
                spec.module,
                [reason, note(f"'{later[0].name}' comes later", later[0].module)],
            )


# --- Steps 2 to 4: the linked spec in its form ---------------------------------------------------


def spec_module(name: str) -> mlir.Operation:
    """Return an empty module for sequences, in the current context and at the current location."""
    module = mlir.Module.create().operation
    module.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)
    module.attributes[names.WITH_NAMED_SEQUENCE] = mlir.UnitAttr.get()
    return module


def _merge(container: mlir.Operation, members: Sequence[Anatomy], form: LinkForm) -> None:
    """Merge specs into one module, and add the entry point of a list or of a chain."""
    # Step 2. Copy the ops, except for the entry points that the new one replaces. A spec with a binding or with nested
    # modules is first copied, to move the binding to its entries, and the sequences out of the modules.
    own: list[Anatomy] = []
    for member in members:
        if member.table.has_nested or binding_of(member.module) is not None:
            module = member.module.clone().operation
            if member.table.has_nested:
                dissolve_nested(module)
            own.append(Anatomy(module))
            bind_entries(own[-1])
        else:
            own.append(member)
    if form is LinkForm.CHAINED:
        replaced = [{member.driver.name} if member.driver else set() for member in own]
        _add_chain(container, own, copy_ops(container, [member.table for member in own], replaced))
        return
    replaced = [{point.name for point in member.entry_points} for member in own]
    renames = copy_ops(container, [member.table for member in own], replaced)
    # Step 3. A list, or a single spec in that form already, has all entries, and is in default-entrypoint form.
    pairs: list[Pair] = []
    with container.context:
        for member, new_names in zip(own, renames, strict=True):
            pairs += pairs_of(member.foreach_match, new_names)
        container.attributes[names.DEFAULT_ENTRY_POINT] = mlir.UnitAttr.get()
    add_list(container, pairs)


def _add_chain(
    container: mlir.Operation, members: Sequence[Anatomy], renames: Sequence[Mapping[str, str]]
) -> None:
    """Add the entry point of a chain, which runs the entry points of merged specs in order (step 4)."""
    # Mark the entry points and convert them to the current form. The flag of those of a spec tells whether they change
    # the program by annotations alone.
    steps: list[tuple[list[mlir.Operation], bool]] = []
    merged = symbols(container)
    for symbol in (symbol for new_names in renames for symbol in new_names.values()):
        unmark(merged[symbol])
    spec_names, fresh = FreshNames(), FreshNames(merged)
    parts = (
        (member, new_names, *part)
        for member, new_names in zip(members, renames, strict=True)
        for part in specs_of(member)
    )
    for member, new_names, name, points in parts:
        marker = mlir.StringAttr.get(spec_names.take(name), container.context)
        entry_points = []
        for point in points:
            sequence = merged[new_names[point.name]]
            if member.is_used(point):
                # Where other sequences include it, only the copy is an entry point.
                sequence = copy_sequence(sequence, fresh.take(new_names[point.name]))
            sequence.attributes[names.CHAINED_ENTRY_POINT] = marker
            # Add the argument's ownership and the result if they are missing.
            with sequence.context, sequence.location:
                if argument_attributes(sequence, 0).isdisjoint({names.CONSUMED, names.READONLY}):
                    declare_ownership(sequence)
                if not signature(sequence).results:
                    handle = _handle_to_yield(sequence)
                    assert handle is not None, "checked by choose_form"
                    change_signature(sequence, [], [handle.type])
                    yield_more(sequence, [handle])
            entry_points.append(sequence)
        is_tame = len(points) == 1 or restriction(member, points) is None
        steps.append((entry_points, is_tame))
    # A guarded entry point passes the decided ops to the next one. If no later spec configures anything, all entry points
    # run unchanged. Specs that were linked before have guards already, and keep them if only one is left.
    are_guarded = any(map(configures, members[1:])) or any(
        is_guarded(point.sequence) for member in members for point in member.entry_points
    )
    if are_guarded:
        guard(container, [sequence for entry_points, _ in steps for sequence in entry_points])
    # The chain suppresses failures.
    chain = add_kernel_config(container, consumes=False)
    block = chain.regions[0].blocks[0]
    root: Handle = block.arguments[0]
    with container.context, container.location, mlir.InsertionPoint(block):
        decided: Sequence[Handle] = [empty_handle(root)] if are_guarded else []
        for entry_points, is_tame in steps:
            # A later entry point may change the ops that an earlier one of its spec decided. Only entry points that change
            # the program other than by annotations may leave a handle to erased ops.
            before = decided
            results: list[Handle] = []
            for entry_point in entry_points:
                path, operands = [symbol_name(entry_point) or ""], [root, *before]
                kinds = [root.type] * len(operands)
                root, *decided = include(path, operands, kinds, FAILURES_SUPPRESS)
                results += decided
                before = before if is_tame else decided
            if is_tame and len(results) > 1:
                decided = [merge_handles(results, deduplicate=True)]
        yield_([root])
        declare_ownership(chain)


def _handle_to_yield(sequence: mlir.Operation) -> Handle | None:
    """Return the handle to the payload that is valid at the end of the entry point."""
    handle: Handle = sequence.regions[0].blocks[0].arguments[0]
    for operation in body(sequence):
        if consumes(operation, handle):
            if [result.type for result in operation.results] != [handle.type]:
                return None
            handle = operation.results[0]
    return handle
