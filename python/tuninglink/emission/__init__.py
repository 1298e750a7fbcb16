"""Writers of specs for root ops: matchers in several forms, actions and entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import prod
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from iree.compiler import ir as mlir

from tuninglink.emission.op_matchers import (
    ANY_OP,
    ANY_PARAMETER,
    ANY_VALUE,
    BY_SIGNATURE as BY_SIGNATURE,
    FORMS as FORMS,
    MATCHERS,
    Neighbor as Neighbor,
    Neighborhood as Neighborhood,
    NoMatcherError as NoMatcherError,
    add_sequence,
    by_neighborhood as by_neighborhood,
    dag_fails,
    has_signature,
    integer,
    lowering_configs as lowering_configs,
    match_neighbors,
    matcher_key as matcher_key,
    neighborhood as neighborhood,
)
from tuninglink.errors import SpecError
from tuninglink.iree import (
    RANGES,
    UNBOUNDED,
    OpKind,
    Role,
    SizeRange,
    StructuredOp,
    read_executable_target,
    specialization_ranges,
)
from tuninglink.mlir import (
    FreshNames,
    collect,
    names,
    place_of,
    symbol_name,
    thread_context,
    to_text,
)
from tuninglink.specs import (
    PROVENANCE,
    Revision,
    SequenceTable,
    add_kernel_config,
    bind,
    create,
    link_nothing,
    pair_attributes,
    provenance_attribute,
    provenance_of,
    yield_,
)

if TYPE_CHECKING:
    from tuninglink.iree import Target
    from tuninglink.spaces.model import Workload
    from tuninglink.specs import Spec


Problem = TypeVar("Problem")


# --- The writer of specs: for each entry a matcher of its problem, and an action that configures it


class EntryForm(NamedTuple):
    """The form of the matcher of an entry, and whether the entry also configures the neighbors of its root op."""

    matcher: str
    is_wide: bool = False


def forms_for(dispatch: Workload, *, by_signature: bool = False) -> tuple[list[str], str]:
    """Return the forms of matchers for the root op, the most robust first, and the reason why the last one fails.

    `BY_SIGNATURE`, which does not compare what ops compute, is for entries that keep configurations only.
    """
    forms = []
    reason = ""
    root = dispatch.root
    is_last = by_signature and dag_fails(root) and has_signature(root)
    for form in (*FORMS, BY_SIGNATURE) if is_last else FORMS:
        try:
            matcher_key(dispatch, form)
        except NoMatcherError as failure:
            reason = str(failure)
            continue
        forms.append(form)
    return forms, reason


class Failure(NamedTuple):
    """The reason why an entry does not have the intended effect.

    Attributes:
        is_code: whether it configures the root op, and the code differs.
        by: the position of the entry that matches the root op instead, or -1.
    """

    reason: str
    is_code: bool = False
    by: int = -1


@dataclass
class _Trial(Generic[Problem]):
    """A problem with the forms that were not tried, and why the last one fails; parts of a problem have its rank.

    For a part, `part` is the reason why no entry configures its neighborhood, empty if one may.
    """

    problem: Problem
    forms: Iterator[EntryForm]
    reason: str
    rank: int
    part: str | None = None


def accepted(
    problems: Sequence[Problem],
    forms: Callable[[Problem], tuple[list[str], str]],
    failures: Callable[[Sequence[tuple[Problem, EntryForm]]], Mapping[int, Failure]],
    parts: Callable[[Problem], Iterable[tuple[Problem, str]]],
) -> tuple[list[tuple[Problem, EntryForm]], list[tuple[Problem, str]]]:
    """Return the problems for which a form of entries works, each with the first such form, and the others with the reason.

    Args:
        problems: the problems, in the order of their entries.
        forms: returns the forms of matchers for a problem, as `forms_for` does.
        failures: returns the failures of entries that are tried together, by position.
        parts: returns the parts of a problem with one neighborhood each, and the reason why no entry configures that, or
            nothing if entries configure root ops only.
    """
    others: list[tuple[Problem, str]] = []
    trials: list[tuple[_Trial[Problem], EntryForm]] = []

    def advance(trial: _Trial[Problem]) -> None:
        form = next(trial.forms, None)
        if form is None:
            others.append((trial.problem, trial.reason))
        else:
            trials.append((trial, form))

    for rank, problem in enumerate(problems):
        matchers, reason = forms(problem)
        advance(_Trial(problem, map(EntryForm, matchers), reason, rank))
    while True:
        chosen = [(trial.problem, form) for trial, form in trials]
        failed = failures(chosen)
        if not failed:
            return chosen, others
        # An entry may match what a failing entry has matched before it.
        first = {
            at
            for at, failure in failed.items()
            if failure.by in (-1, at) or failure.by not in failed
        }
        before, trials[:] = list(trials), []
        for at, (trial, form) in enumerate(before):
            if at not in (first or failed):
                trials.append((trial, form))
                continue
            failure = failed[at]
            if not trial.part:
                trial.reason = failure.reason
            split = [*parts(trial.problem)] if failure.is_code and trial.part is None else []
            if not split:
                advance(trial)
            for part, problem_ in split:
                # Without its neighbors, an entry is right for a part that no earlier entry is for.
                matchers, _ = forms(part)
                tried = [EntryForm(matcher, is_wide=True) for matcher in matchers if not problem_]
                tried += [EntryForm(matcher) for matcher in matchers]
                reason = f"its code depends on configurations of other ops, and {problem_}"
                advance(_Trial(part, iter(tried), reason, trial.rank, problem_))
        trials.sort(key=lambda item: (item[0].rank, not item[1].is_wide))


@dataclass(frozen=True)
class SpecEntry:
    """An entry to be written.

    Attributes:
        label: the name of the matcher, after `match_`.
        dispatch: the dispatch whose root op the entry matches, as matchers see it, without a configuration.
        form: the form of the matcher, one of `FORMS` or `BY_SIGNATURE`.
        configuration: the attributes that configure the operation, by name, as MLIR prints them. Without any, the
            compiler chooses. `names.UNROLLED_LOOPS` rewrites it instead.
        target: the target that the entry is bound to; None for any target.
        ranges: the ranges of loop sizes. Other loops have the sizes of the dispatch.
        bounds: bounds on the sizes of dynamic loops, for the compiler.
        specializations: the boxes of sizes that the compiler specializes code for; see `specialization_ranges`.
        neighbors: other ops of the dispatch that the entry requires and configures, each after those on its path.
    """

    label: str
    dispatch: Workload
    form: str
    configuration: Mapping[str, str]
    provenance: Mapping[str, object] = field(default_factory=dict)
    target: Target | None = None
    ranges: Mapping[int, SizeRange] = field(default_factory=dict)
    bounds: Mapping[int, SizeRange] = field(default_factory=dict)
    specializations: tuple[Mapping[int, SizeRange], ...] = ()
    neighbors: tuple[Neighbor, ...] = ()

    @property
    def annotated(self) -> tuple[tuple[str, ...], int]:
        """The names of the attributes that the entry sets on the root op, and the number of configured neighbors."""
        return tuple(self.configuration), sum(bool(one.lowering_config) for one in self.neighbors)

    @property
    def copies(self) -> tuple[int, ...]:
        """The number of copies of the operation by loop if the entry unrolls it; else empty."""
        text = self.configuration.get(names.UNROLLED_LOOPS)
        if text is None:
            return ()
        return tuple(mlir.DenseI64ArrayAttr(mlir.Attribute.parse(text, self.dispatch.root.context)))


def write_spec(name: str, entries: Sequence[SpecEntry]) -> str:
    """Return a spec in default-entrypoint form, as text.

    The form requires an entry. Without entries, the spec has an entry point that does nothing. If entries need a
    preparation, the entry point runs it first. A spec with a preparation, or with entries that rewrite their
    operations, is not in default-entrypoint form.

    Raises:
        NoMatcherError: the form of an entry cannot match its operation.
    """
    context = entries[0].dispatch.root.context if entries else thread_context()
    with context, mlir.Location.unknown(context):
        module = mlir.Module.create().operation
        unit = mlir.UnitAttr.get()
        configuring = [entry for entry in entries if not entry.copies]
        dispatches = [entry.dispatch for entry in configuring]
        # Mark the module; only a plain matcher list has the default form.
        module.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)
        module.attributes[names.WITH_NAMED_SEQUENCE] = unit
        preparations = [kind for kind in Preparation if any(map(kind.is_for, dispatches))]
        if configuring == list(entries) and entries and not preparations:
            module.attributes[names.DEFAULT_ENTRY_POINT] = unit
        # Entries with equal configurations share an action.
        actions = {
            annotated: _add_action(module, *annotated)
            for annotated in sorted(
                {entry.annotated for entry in configuring}, key=lambda item: (len(item[0]), item[1])
            )
        }
        unrolling = {
            copies: add_unrolling(module, copies)
            for copies in dict.fromkeys(entry.copies for entry in entries if entry.copies)
        }
        # Add a matcher for each entry.
        fresh = FreshNames([])
        pairs, rewriting = [], []
        for entry in entries:
            matcher = fresh.take(f"match_{entry.label}")
            _add_matcher(module, matcher, entry)
            if entry.copies:
                rewriting.append((matcher, unrolling[entry.copies]))
            else:
                pairs.append((matcher, actions[entry.annotated]))
        # Add an entry point that rewrites ops of a dispatch, prepares it and walks it with one `foreach_match`. The entries
        # that rewrite their op are walked separately and first, since preparations change their ops.
        entry_point = add_kernel_config(module, consumes=bool(pairs or rewriting))
        block = entry_point.regions[0].blocks[0]
        root = block.arguments[0]
        with mlir.InsertionPoint(block):
            if rewriting:
                named = pair_attributes(rewriting)
                (root,) = create(names.FOREACH_MATCH, [root], [ANY_OP], **named)
            for preparation in preparations:
                # The compiler hands over a function, which both passes run on.
                pass_name = mlir.StringAttr.get(preparation.value)
                (root,) = create(names.RUN_REGISTERED, [root], [ANY_OP], pass_name=pass_name)
            if pairs:
                named = pair_attributes(pairs)
                (root,) = create(names.FOREACH_MATCH, [root], [ANY_OP], **named)
            yield_([root])
        module.verify()
        return to_text(module)


def _add_action(module: mlir.Operation, annotated: Sequence[str], neighbors: int = 0) -> str:
    name = "configure" if annotated else "keep"
    if names.DECOMPOSITION_CONFIG in annotated:
        name = "configure_attention"
    if neighbors:
        name += f"_and_{neighbors}_more"
    inputs = [ANY_OP, *[ANY_PARAMETER] * len(annotated)]
    inputs += [ANY_OP, ANY_PARAMETER] * neighbors
    block = add_sequence(module, name, inputs)
    operation, *others = block.arguments
    parameters, others = others[: len(annotated)], others[len(annotated) :]
    with mlir.InsertionPoint(block):
        for attribute, parameter in zip(annotated, parameters, strict=True):
            text = mlir.StringAttr.get(attribute)
            create(names.ANNOTATE, [operation, parameter], [], name=text)
        for neighbor, parameter in zip(others[::2], others[1::2], strict=True):
            text = mlir.StringAttr.get(names.LOWERING_CONFIG)
            create(names.ANNOTATE, [neighbor, parameter], [], name=text)
        yield_([])
    return name


def _add_matcher(module: mlir.Operation, name: str, entry: SpecEntry) -> None:
    """Add the matcher of an entry, which yields the op and its configuration."""
    context = entry.dispatch.root.context
    texts = () if entry.copies else entry.configuration.values()
    configurations = [mlir.Attribute.parse(text, context) for text in texts]
    results = [ANY_OP, *[ANY_PARAMETER] * len(configurations)]
    results += [ANY_OP, ANY_PARAMETER] * entry.annotated[1]
    block = add_sequence(module, name, [ANY_OP], results)
    operation = block.arguments[0]
    # The body matches the op, and yields it with its configuration.
    with mlir.InsertionPoint(block):
        # The compiler has configured an op that it chose a microkernel for.
        if names.UKERNEL not in entry.configuration:
            create(names.HAS_NO_LOWERING_CONFIG, [operation], [])
        MATCHERS[entry.form](entry.dispatch, operation, entry.ranges)
        op = StructuredOp(entry.dispatch.root)
        # A matcher op handles a whole role, so that the other loops of a role with a range get exact ranges.
        bounded = [
            (loop, 0, entry.ranges.get(loop, SizeRange(op.sizes[loop] or 0, op.sizes[loop] or 0)))
            for role in op.loops.values()
            if any(loop in entry.ranges for loop in role)
            for loop in role
        ]
        # Bounds of dynamic loops refer to the output, since the compiler does not propagate those of an input on GPUs.
        bounded += [(loop, -1, sizes) for loop, sizes in entry.bounds.items()]
        for loop, choice, sizes in bounded:
            places = [
                (number, loops.index(loop))
                for number, loops in enumerate(op.operand_loops)
                if loop in loops
            ]
            if not places:
                raise NoMatcherError(f"no operand has loop {loop} for a dimension")
            number, dimension = places[choice]
            position = mlir.DenseI64ArrayAttr.get([number])
            (value,) = create(
                names.GET_OPERAND, [operation], [ANY_VALUE], raw_position_list=position
            )
            bounds = {"dim": integer(dimension), "lower_bound": integer(sizes.low)}
            if sizes.high < UNBOUNDED:
                bounds["upper_bound"] = integer(sizes.high)
            create(names.MATCH_DIM_BOUNDS, [value], [], **bounds)
            if sizes.divisor > 1:
                dim, divisor = integer(dimension), integer(sizes.divisor)
                create(names.MATCH_DIM_MULTIPLE, [value], [], dim=dim, size=divisor)
        parameters = [
            create(names.PARAM_CONSTANT, [], [ANY_PARAMETER], value=configuration)[0]
            for configuration in configurations
        ]
        # Last, as the readers of matchers do not follow them.
        others = match_neighbors(operation, entry.neighbors)
        yield_([operation, *parameters, *others])
    # The attributes of the sequence.
    sequence: Any = block.owner
    if entry.target is not None:
        bind(sequence.operation, [entry.target.name])
    if entry.specializations:
        loops = len(entry.dispatch.problem.dimensions)
        ranges = specialization_ranges(entry.specializations, loops, context)
        sequence.operation.attributes[RANGES] = ranges
    if entry.provenance:
        sequence.operation.attributes[PROVENANCE] = provenance_attribute(entry.provenance)


# --- Entry points of generated specs: the preparation of a dispatch, the walk over it, and actions that rewrite an op

_DATA_TILED: Final = (
    "linalg.mmt4d",
    "linalg.batch_mmt4d",
    names.PACK,
    names.UNPACK,
    "iree_codegen.inner_tiled",
)
"""The compiler's lowering of data-tiled operations and of layout changes."""


class Preparation(Enum):
    """Passes that llvm-cpu runs after specs and that replace ops of entries, in the compiler's order.

    A spec that runs them first configures the resulting ops, also with the stock compiler.
    """

    ENCODINGS = names.MATERIALIZE_ENCODINGS
    BATCH_LOOP = names.ADD_BATCH_LOOP

    def is_for(self, dispatch: Workload) -> bool:
        """Return whether an entry for a dispatch needs the preparation."""
        if not _is_for_cpu(dispatch):
            return False
        if self is Preparation.ENCODINGS:
            return bool(collect(dispatch.function, *_DATA_TILED))
        # The compiler removes loops of one iteration before it forms dispatches, so it added such a batch loop.
        problem = dispatch.problem
        return problem.kind is OpKind.CONVOLUTION and any(
            problem.dimensions[loop].size == 1 for loop in problem.loops(Role.BATCH)
        )


_MOST_COPIES: Final = 25
"""The elements of the largest window that is unrolled: one of 5x5. The compilation time grows with them."""

_CLEANUP: Final = (
    "transform.apply_patterns.canonicalization",
    "transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices",
    "transform.apply_patterns.linalg.tiling_canonicalization",
)
"""The patterns that turn a window of one element into a slice of the image."""


def window_copies(dispatch: Workload) -> tuple[int, ...]:
    """Return the number of copies of the root op by loop if its window is unrolled, 0 for the other loops.

    There are none if the op has no window or a large one, or sums over channels, as a matmul does.
    """
    if not _is_for_cpu(dispatch) or dispatch.problem.kind is not OpKind.CONVOLUTION:
        return ()
    dimensions = dispatch.problem.dimensions
    adds_channels = any(each.role is Role.INPUT_CHANNEL and each.size != 1 for each in dimensions)
    if adds_channels or any(each.size is None for each in dimensions):
        return ()
    copies = tuple(
        each.size if each.size and each.size > 1 and each.role is Role.FILTER else 0
        for each in dimensions
    )
    return copies if 1 < prod(count or 1 for count in copies) <= _MOST_COPIES else ()


def _is_for_cpu(dispatch: Workload) -> bool:
    target = read_executable_target(dispatch.target) if dispatch.target is not None else None
    return target is not None and target.backend == "llvm-cpu"


def add_unrolling(module: mlir.Operation, copies: Sequence[int]) -> str:
    """Add an action that unrolls the loops of an op with a number of copies, and return its name."""
    name = "unroll_" + "_".join(map(str, copies))
    block = add_sequence(module, name, [ANY_OP], ownership=names.CONSUMED)
    with mlir.InsertionPoint(block):
        (operation,) = block.arguments
        function_name = mlir.StringAttr.get(names.FUNCTION)
        (function,) = create(names.GET_PARENT, [operation], [ANY_OP], op_name=function_name)
        unrolled = [count for count in copies if count]
        # Tile the unrolled loops by one, and unroll the new loops, the innermost first.
        _, *loops = create(
            names.TILE_USING_FOR,
            [operation],
            [ANY_OP] * (1 + len(unrolled)),
            static_sizes=mlir.DenseI64ArrayAttr.get([int(count > 0) for count in copies]),
            scalable_sizes=mlir.DenseBoolArrayAttr.get([False] * len(copies)),
            operandSegmentSizes=mlir.DenseI32ArrayAttr.get([1, 0, 0, 0, 0]),
        )
        integer = mlir.IntegerType.get_signless(64)
        for loop, count in reversed(list(zip(loops, unrolled, strict=True))):
            create(names.UNROLL, [loop], [], factor=mlir.IntegerAttr.get(integer, count))
        # Clean up the function with patterns, then CSE.
        patterns = mlir.Operation.create(names.APPLY_PATTERNS, operands=[function], regions=1)
        with mlir.InsertionPoint(patterns.regions[0].blocks.append()):
            for pattern in _CLEANUP:
                create(pattern, [], [])
        create(names.APPLY_CSE, [function], [])
        yield_([])
    return name


# --- Specs as texts for users, and parts of specs

ALSO: Final = "also_configures"
"""The other ops that an entry configures, in words, in its provenance."""


def with_comments(
    text: str,
    heading: Sequence[str],
    comments: Mapping[str, tuple[Sequence[str], Iterable[str]]],
) -> str:
    """Return a spec with a heading, and with comments above matchers and above the first constants in them.

    Args:
        text: the spec.
        heading: the lines at the top.
        comments: the lines above a matcher and those above its constant, by symbol.
    """
    # Without aliases, which would be shared, each entry can be edited separately.
    text = str(mlir.Module.parse(text, thread_context()).operation.get_asm(use_local_scope=True))
    module = mlir.Module.parse(text, thread_context()).operation
    table = SequenceTable(module)
    above: dict[int, list[str]] = {1: [*(f"// {line}" for line in heading), ""]}
    for sequence in collect(module, names.NAMED_SEQUENCE):
        matcher = symbol_name(sequence) or ""
        if matcher in comments:
            about, knobs = comments[matcher]
            also: Any = provenance_of(table, matcher).get(ALSO, ())
            about = [*about, *(f"also configures {op}" for op in also)]
            parts = (sequence, *collect(sequence, names.PARAM_CONSTANT)[:1])
            for part, lines, indent in zip(parts, (about, knobs), ("  ", "    "), strict=False):
                place = place_of(part.location)
                assert place is not None  # it was parsed from text
                above[place.line] = [f"{indent}// {line}" for line in lines]
    result: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        result += [*above.get(number, ()), line]
    return "\n".join(result) + "\n"


def used_part(
    spec: Spec,
    used: Mapping[str, Sequence[str]],
    record: Callable[[Sequence[str]], Mapping[str, object]],
    about: Mapping[str, object],
) -> Spec | None:
    """Return a spec with only its used entries, or None if all is unused.

    Args:
        spec: a spec.
        used: the dispatches of each used entry, by matcher.
        record: returns what is recorded in the provenance of an entry for dispatches.
        about: what else is recorded, unless the entry has it already.
    """
    has_ranges = any(RANGES in op.attributes for op in collect(spec.module, names.NAMED_SEQUENCE))
    if not used and not has_ranges:
        nothing = link_nothing([spec]).spec
        return replace(nothing, replacing=spec.replacing) if spec.replacing else None
    try:
        revision = Revision(spec)
    except SpecError:
        return spec
    pairs = spec.anatomy.pairs
    kept = [at for at, (matcher, _) in enumerate(pairs) if matcher in used]
    for at in kept:
        matcher = pairs[at][0]
        before = provenance_of(spec.anatomy.table, matcher)
        revision.set_provenance(at, {**about, **before, **record(used[matcher])})
    # Without knowledge of the entry that configured a dispatch, all stay.
    return revision.finish(range(len(pairs)) if has_ranges or "" in used else kept)
