"""Materialization: the specs of each dispatch of a program, chosen, linked, pruned and embedded; specialization ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.errors import Diagnostic, Severity, SpecError, counted
from tuninglink.iree import (
    RANGES,
    SPECIALIZATION_RANGES,
    Dispatch,
    find_dispatches,
    find_root_ops,
)
from tuninglink.matching.derivation import DerivedEntry, Deriver, EntryList
from tuninglink.matching.nearest_entries import compare
from tuninglink.matching.predicates import HasMaps
from tuninglink.matching.prunable import (
    STRUCTURAL,
    UNKNOWN_DISPATCH,
    DispatchSignature,
    Pruning,
    SignatureReader,
)
from tuninglink.matching.reader import MatcherReader, OpInfo
from tuninglink.matching.spellings import Root, RootReader
from tuninglink.mlir import DiagnosticSink, collect, error, names, note, once, to_bytecode
from tuninglink.rules import Rule
from tuninglink.specs import (
    LINKED_SPEC_NAME,
    LinkedSpec,
    LinkForm,
    Part,
    Selection,
    Spec,
    carried_spec,
    check_can_hold_specs,
    check_is_program,
    choose_form,
    in_context,
    link_nothing,
    link_parts,
    load_embedded_spec,
    only_reads,
    spec_attribute,
    split,
)

if TYPE_CHECKING:
    from tuninglink.iree import Target
    from tuninglink.matching.reader import Matcher
    from tuninglink.specs import DefaultLibrary, SpecFile

    _Key = tuple[Target | None, mlir.Attribute | SpecFile | None]


@dataclass(frozen=True)
class LinkedDispatch:
    """A dispatch with the spec that is linked for it."""

    dispatch: Dispatch
    linked: LinkedSpec | None


def link_dispatches(
    root: mlir.Operation,
    specs: Sequence[Spec],
    *,
    library: DefaultLibrary | None,
    pruning: Pruning | None = None,
    derives: bool = False,
    diagnostics: DiagnosticSink | None = None,
    context: mlir.Context | None = None,
) -> tuple[LinkedDispatch, ...]:
    """Select and link the specs of each dispatch, without changing the program.

    A dispatch receives those of `specs` that apply to its target, followed by the default spec of the target. A spec
    that is already embedded replaces the default. Dispatches of a target with the same specs share one linked spec.

    Args:
        root: a module, an executable or a variant.
        specs: the user's specs in order of precedence, in any context.
        library: the library of default specs; None for no default specs.
        pruning: the pruning data of specs. If given, each dispatch receives only the entries that may match in it, or
            no spec if none may match. The resulting configurations are the same.
        derives: whether entries are derived for other spellings of their problems.
        diagnostics: receives warnings about entries that are foreign to a target, specs that may override an earlier
            one, and entries of an old default spec that cannot be upgraded.
        context: the context in which specs are loaded and linked; by default that of `root`. A compilation passes a
            separate one, since linked specs are owned by Python and may outlive its session.

    Raises:
        SpecError: `root` is not a program, a spec cannot be linked, or an embedded one is damaged.
        TargetError: see `find_dispatches`.
        TuninglinkError: the default library cannot be read.
    """
    check_is_program(root, remedy="give specs to materialize in the option 'specs'")
    check_can_hold_specs(root)
    inside = context or root.context
    given = [in_context(spec, inside) for spec in specs]
    dispatches = find_dispatches(root)
    signatures, root_reader = SignatureReader(), RootReader()
    # Diagnostics about specs are reported for each target.
    sink = once(diagnostics) if diagnostics else None
    selections: dict[Target | None, Selection] = {}
    linkers: dict[_Key, PruningLinker | None] = {}
    find_default = cache(library.find) if library is not None else None
    # Without pruning, the dispatches of a target share a spec, with entries for the root ops of all of them.
    by_target: dict[Target | None, tuple[Root, ...]] = {}

    def roots_of(dispatch: Dispatch) -> Sequence[Root]:
        if not derives or pruning is not None:
            return root_reader.read(dispatch) if derives else ()
        target = dispatch.target
        if target not in by_target:
            same = (other for other in dispatches if other.target == target)
            by_target[target] = tuple(root for other in same for root in root_reader.read(other))
        return by_target[target]

    def linker_for(
        dispatch: Dispatch, last: mlir.Attribute | SpecFile | None
    ) -> PruningLinker | None:
        selection = selections.setdefault(dispatch.target, Selection(dispatch.target))
        # Entries that are bound to other targets do not affect this one.
        used = {
            position: spec
            for position, spec in enumerate(given)
            if not spec.only_replaces and not selection.of(spec).is_bound_elsewhere
        }
        linked = [*used.values()]
        if isinstance(last, mlir.Attribute):
            carried = load_embedded_spec(last, dispatch.name, dispatch.module, inside)
            if not linked and selection.is_whole(carried):
                return None
            linked.append(carried)
        elif last is not None:
            assert library is not None
            linked.append(last.load(inside, upgrade=library.upgrade, diagnostics=sink))
        if not linked:
            return None
        return PruningLinker(
            linked,
            diagnostics=sink,
            pruning=pruning,
            selection=selection,
            sources=[*used, len(given)],
        )

    linked_dispatches = []
    for dispatch in dispatches:
        target = dispatch.target
        # The last spec is the one embedded in the dispatch, or the default spec.
        carried = carried_spec(dispatch.module)
        last: mlir.Attribute | SpecFile | None = carried
        if carried is None and find_default is not None and target is not None:
            last = find_default(target)
        key = target, last
        if key not in linkers:
            linkers[key] = linker_for(dispatch, last)
        linker = linkers[key]
        # An embedded spec must be replaced, otherwise the compiler would apply it.
        linked = (
            linker.link(
                UNKNOWN_DISPATCH if pruning is None else signatures.read(dispatch.module),
                partial(roots_of, dispatch),
                never_nothing=carried is not None,
            )
            if linker is not None
            else None
        )
        linked_dispatches.append(LinkedDispatch(dispatch, linked))
    if sink:
        for selection in selections.values():
            selection.warn(sink)
    return tuple(linked_dispatches)


def embed_specs(dispatches: Iterable[LinkedDispatch], context: mlir.Context) -> None:
    """Embed the linked specs in their dispatches; shared specs are converted to an attribute once."""
    attributes: dict[int, mlir.Attribute] = {}
    for dispatch in dispatches:
        linked = dispatch.linked
        if linked is None:
            continue
        if id(linked) not in attributes:
            attributes[id(linked)] = spec_attribute(to_bytecode(linked.spec.module), context)
        dispatch.dispatch.module.attributes[names.EMBEDDED_SPEC] = attributes[id(linked)]


# --- Pruning: each dispatch receives only the entries that may match in it -----------------------

_RUNNING: Final = frozenset(
    {
        names.COLLECT_MATCHING,
        names.FOREACH,
        names.FOREACH_MATCH,
        names.INCLUDE,
        names.NAMED_SEQUENCE,
    }
)
"""The operations of a spec whose effects are those of the operations that they run."""


class PruningLinker:
    """Links specs for dispatches, with only the entries that may match.

    Equal results for several dispatches are linked once. A single spec that was already linked as a chain is split
    again: its original specs become the parts of the result.

    Args:
        specs: at least one spec, in order of precedence, all in one context.
        name: the symbol of the results.
        diagnostics: receives warnings about specs that may override an earlier one, once.
        selection: the applicable entries; all of them by default.
        pruning: existing pruning data of specs.
        sources: the positions of specs in the parts of results; by default those in `specs`. The parts of a chain are
            numbered.
    """

    def __init__(
        self,
        specs: Sequence[Spec],
        *,
        name: str = LINKED_SPEC_NAME,
        diagnostics: DiagnosticSink | None = None,
        selection: Selection | None = None,
        pruning: Pruning | None = None,
        sources: Sequence[int] | None = None,
    ) -> None:
        self._given = specs  # The parts of a chain live as long as the whole.
        form = choose_form(specs, diagnostics=diagnostics)
        if len(specs) == 1 and (members := split(specs[0])):
            # A previously linked chain is pruned part by part.
            name = specs[0].name
            is_for_others = selection is not None and selection.of(specs[0]).is_bound_elsewhere
            specs = [] if is_for_others else members
            form = LinkForm.CHAINED
            sources = None
        self._name = name
        self._form = form
        self._selection = selection
        self._sources = range(len(specs)) if sources is None else sources
        self._specs = list(map((pruning or Pruning()).prunable, specs))
        # The specs that can be pruned; those after one that changes programs cannot.
        self._prunable: list[bool] | None = None
        self._deriver = Deriver(self._specs)
        self._forms_with: dict[object, LinkForm] = {}
        self._linked: dict[object, LinkedSpec | None] = {}
        self._nothing: LinkedSpec | None = None

    def link(
        self,
        signature: DispatchSignature,
        roots: Callable[[], Sequence[Root]] = tuple,
        *,
        never_nothing: bool = False,
    ) -> LinkedSpec | None:
        """Link the entries that may match in a dispatch.

        Args:
            signature: the signature of the dispatch.
            roots: reads the root ops for which entries are derived and appended; none by default.
            never_nothing: whether to return a linked spec even if no entry can match.
        """
        kept: list[Sequence[int] | None] = [None for _ in self._specs]
        if signature != UNKNOWN_DISPATCH:
            if self._prunable is None:
                self._prunable = []
                is_unchanged = True
                for prunable in self._specs:
                    self._prunable.append(is_unchanged and prunable.is_prunable)
                    is_unchanged = is_unchanged and (
                        prunable.is_prunable or not may_restructure(prunable.spec.module)
                    )
            kept = [
                prunable.index.candidates(signature) if is_prunable else None
                for prunable, is_prunable in zip(self._specs, self._prunable, strict=True)
            ]
        # The applicable entries; those for similar targets come last.
        exact: list[EntryList] = []
        like: list[EntryList] = []
        for at, positions in enumerate(kept):
            spec = self._specs[at].spec
            if self._selection is None:
                exact.append((at, positions))
                continue
            applicability = self._selection.of(spec)
            if applicability.members:
                exact.append((at, () if applicability.is_bound_elsewhere else positions))
                continue
            own, others = applicability.split(applicability.among(positions))
            exact.append((at, own))
            like += [(at, others)] if others != () else []
        lists = (*exact, *like)
        linked = self._link_lists(lists, self._deriver.derive(roots, lists))
        if linked is None and never_nothing:
            if self._nothing is None:
                self._nothing = link_nothing(self._given, name=self._name)
            return self._nothing
        return linked

    def _link_lists(
        self, lists: tuple[EntryList, ...], derived: tuple[DerivedEntry, ...]
    ) -> LinkedSpec | None:
        key = lists, derived
        if key not in self._linked:
            parts: list[Part] = []
            for at, positions in lists:
                prunable = self._specs[at]
                if positions is not None:
                    part = prunable.part(positions)
                elif self._selection is None or self._selection.is_whole(prunable.spec):
                    part = Part(prunable.spec, prunable.spec)
                else:
                    # Only the applicable members of a chain are kept.
                    whole = PruningLinker([prunable.spec], selection=self._selection)
                    members = whole.link(UNKNOWN_DISPATCH)
                    part = Part(prunable.spec, members.spec if members else None)
                parts.append(replace(part, source=self._sources[at]))
            parts += [
                Part(each.spec, each.spec, source=self._sources[each.source]) for each in derived
            ]
            used = [part for part in parts if part.copy is not None]
            is_as_given = len(used) <= 1 and self._form is LinkForm.UNTOUCHED
            form = self._form
            added = parts[len(self._specs) :]
            if added and not is_as_given and form is not LinkForm.CHAINED:
                # All derived entries require the same kinds of predicates, so one form holds for all of a source.
                given = [spec.spec for spec in self._specs]
                kinds = tuple(part.spec in given and part.source for part in added)
                if kinds not in self._forms_with:
                    specs = [*given, *(part.spec for part in added)]
                    self._forms_with[kinds] = choose_form(specs)
                form = self._forms_with[kinds]
            linked = used if is_as_given else parts
            self._linked[key] = link_parts(linked, form, name=self._name) if linked else None
        return self._linked[key]


def may_restructure(module: mlir.Operation) -> bool:
    """Return whether a spec may change a program other than by setting attributes."""
    for operation in collect(module):
        name = operation.name
        if name == names.ANNOTATE:
            attribute = operation.attributes["name"]
            if isinstance(attribute, mlir.StringAttr) and attribute.value in STRUCTURAL:
                return True
        elif name.startswith("transform.") and name not in _RUNNING and not only_reads(operation):
            return True
    return False


# --- Specialization ranges: the loop sizes for which a dynamic op is compiled separately ----------
#
# An entry with unconstrained sizes may have ranges on its matcher. The ranges are set on the matched root ops before
# the compiler configures dispatches. `iree-codegen-specialize-exports` then creates a function for each range, and
# entries with bounds configure these functions.

_EXAMPLE: Final = "#util<int.assumption.multi_array[[<umin = 1, umax = 1>, <>, <>]]>"


def specialize_dispatches(dispatches: Iterable[LinkedDispatch]) -> None:
    """Set the ranges of specs on the root ops of dispatches, in place; the first matching entry decides.

    Raises:
        SpecError: the ranges of an entry have another form, or their number differs from the number of loops.
    """
    # By linked spec: each matcher with ranges in order of precedence, and its sequence.
    specializations: dict[int, list[tuple[Matcher, mlir.Operation]]] = {}
    for dispatch in dispatches:
        linked = dispatch.linked
        if linked is None:
            continue
        if id(linked) not in specializations:
            specializations[id(linked)] = []
            for part in linked.parts:
                table = part.spec.anatomy.table
                reader = MatcherReader(table)
                for entry in part.entries:
                    sequence = table.lookup(entry.matcher)
                    if sequence is None or RANGES not in sequence.attributes:
                        continue
                    matcher = reader.read(entry.matcher)
                    if fault := _fault(sequence, matcher):
                        raise SpecError(fault)
                    specializations[id(linked)].append((matcher, sequence))
        specialized = specializations[id(linked)]
        functions = find_root_ops(dispatch.dispatch.module) if specialized else ()
        for root in (root for function in functions for root in function.roots):
            op = OpInfo(root)
            if None not in op.sizes or SPECIALIZATION_RANGES in root.attributes:
                continue
            matches = (item for item in specialized if compare(item[0], op).matches)
            for matcher, sequence in islice(matches, 1):
                if fault := _fault(sequence, matcher, len(op.sizes)):
                    raise SpecError(fault)
                # The spec and the program live in different contexts.
                copy = mlir.Attribute.parse(str(sequence.attributes[RANGES]), root.context)
                root.attributes[SPECIALIZATION_RANGES] = copy


def has_ranges(spec: Spec) -> bool:
    """Return whether a matcher of a spec has ranges."""
    sequences = map(spec.anatomy.table.lookup, {entry.matcher for entry in spec.entries})
    return any(sequence is not None and RANGES in sequence.attributes for sequence in sequences)


def check_ranges(spec: Spec, diagnostics: DiagnosticSink) -> None:
    """Report malformed ranges of a spec as errors, and wrong numbers of ranges as warnings.

    Both make a compilation with the spec fail, since the compiler itself silently accepts wrong numbers of ranges.
    """
    table = spec.anatomy.table
    reader = MatcherReader(table)
    for matcher in dict.fromkeys(entry.matcher for entry in spec.entries):
        sequence = table.lookup(matcher)
        if sequence is not None and RANGES in sequence.attributes:
            fault = _fault(sequence, reader.read(matcher), severity=Severity.WARNING)
            if fault is not None:
                diagnostics.emit(fault)


def _fault(
    sequence: mlir.Operation,
    matcher: Matcher,
    loops: int | None = None,
    severity: Severity = Severity.ERROR,
) -> Diagnostic | None:
    """Return the fault of the ranges of a matcher, None if there is none; a wrong number has a severity of its own.

    The number of loops is by default that of the indexing maps that the matcher requires.
    """
    ranges = sequence.attributes[RANGES]
    if ranges.typeid != mlir.Attribute.parse(_EXAMPLE, ranges.context).typeid:
        message = f"'{RANGES}' must hold a range for each loop, such as {_EXAMPLE}"
        return error(message, sequence, rule=Rule.RANGES)
    if loops is None:
        maps = (one.maps for one in matcher.predicates if isinstance(one, HasMaps))
        loops = next((map_.loop_count for map_ in maps), None)
    # The bindings provide only the text of the attribute, which has a list of ranges in `<>` for each specialization.
    lists = str(ranges).partition("[")[2].split("[")[1:]
    for number, count in enumerate(list_.count("<") for list_ in lists):
        if loops is not None and count != loops:
            message = (
                f"list {number} of '{RANGES}' has {counted(count, 'range')}, "
                f"and the operation {counted(loops, 'loop')}"
            )
            remedy = note("write a range for each loop, <> for any size")
            fault = error(message, sequence, [remedy], Rule.RANGES)
            return replace(fault, severity=severity)
    return None
