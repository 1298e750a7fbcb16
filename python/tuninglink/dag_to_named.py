"""Conversion of DAG matchers to contraction and convolution matchers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeVar

from iree.compiler import ir as mlir

from tuninglink.iree import OpKind, StructuredOp, element_type
from tuninglink.mlir import (
    body,
    collect,
    names,
    parse_module,
    reference,
    symbol_name,
    value_range,
)
from tuninglink.payloads import (
    DYNAMIC,
    PayloadError,
    build,
    generic,
    new_function,
    payload_for,
    root_of,
    spec_of,
    winners,
)
from tuninglink.specs import Anatomy, Entry, create

if TYPE_CHECKING:
    from tuninglink.errors import Place
    from tuninglink.specs import Spec

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class ConvertedEntry:
    """The result for one entry.

    Attributes:
        place: the definition of its matcher, or None without a location.
        matcher_ops: the ops that replace its DAG matchers, such as `transform.iree.match.contraction`; empty if
            the entry is unchanged.
        programs: the number of programs on which the old and the new matcher agree.
        reason: the reason why the entry is unchanged; empty if it is converted.
    """

    matcher: str
    action: str
    place: Place | None
    matcher_ops: tuple[str, ...] = ()
    programs: int = 0
    reason: str = ""


@dataclass(frozen=True)
class ConvertedSpec:
    """A spec with its DAG matchers converted where the interpreter shows no difference, as the compiler prints it."""

    text: str
    entries: tuple[ConvertedEntry, ...]

    def __str__(self) -> str:
        count = sum(bool(entry.matcher_ops) for entry in self.entries)
        lines = [f"{count} of {len(self.entries)} entries modernized"]
        for entry in self.entries:
            ops = " and ".join(f"'{op}'" for op in entry.matcher_ops)
            result = f"{ops}; the same answers on {entry.programs} programs"
            result = result if ops else f"as it was: {entry.reason}"
            lines.append(f"  @{entry.matcher} -> @{entry.action}: {result}")
        return "\n".join(lines) + "\n"


def convert_dags(spec: Spec) -> ConvertedSpec:
    """Convert DAG matchers to contraction and convolution matchers where the matches stay the same.

    For each entry, a matching program and variants with one difference each are generated. The interpreter runs the
    old and the new matcher on all of them. An entry is converted if both match the first program and agree on the
    others. One difference is intended: a DAG matcher rejects an op with any attribute that the DAG lacks, and the new
    matcher only one with a configuration.

    Args:
        spec: the spec. It is not changed.
    """
    includes = {
        symbol_name(sequence) or "": [
            reference(op.attributes["target"]) for op in collect(sequence, names.INCLUDE)
        ]
        for sequence in body(spec.module)
        if sequence.name == names.NAMED_SEQUENCE
    }
    # The reasons why sequences stay unchanged, or else the matcher op that replaces their DAG matchers.
    reasons: dict[str, str] = {}
    matcher_ops: dict[str, str] = {}

    def used(entry: Entry | ConvertedEntry) -> list[str]:
        """Return the sequences with DAG matchers that an entry's matcher includes."""
        waiting, seen = [entry.matcher], {entry.matcher}
        while waiting:
            targets = set(includes.get(waiting.pop(), ())) - seen
            seen |= targets
            waiting += targets
        return [name for name in sorted(seen) if name in matcher_ops or name in reasons]

    while True:
        module = _converted(spec, reasons, matcher_ops)
        entries = []
        for old, new in zip(spec.entries, Anatomy(module).entries, strict=True):
            sequences = used(old)
            ops = (*dict.fromkeys(matcher_ops[name] for name in sequences if name in matcher_ops),)
            programs, reason = 0, "; ".join(reasons[name] for name in sequences if name in reasons)
            if ops:
                programs, reason = _same_answers(old, new)
            reason = reason or ("" if ops else "it has no dag matcher")
            entries.append(
                ConvertedEntry(
                    old.matcher, old.action, old.place, () if reason else ops, programs, reason
                )
            )
        # A sequence that one entry needs unchanged stays unchanged for all its users.
        needed = [
            (name, f"@{entry.matcher} needs it: {entry.reason}")
            for entry in entries
            if entry.reason
            for name in used(entry)
            if name not in reasons
        ]
        if not needed:
            left = [(one.matcher, one.action, one.place) for one in spec.replace_entries]
            entries += (ConvertedEntry(*fields, reason="it replaces ops") for fields in left)
            return ConvertedSpec(replace(spec, module=module).text(), tuple(entries))
        for name, reason in needed:
            reasons.setdefault(name, reason)
            matcher_ops.pop(name, None)


def _converted(spec: Spec, reasons: dict[str, str], matcher_ops: dict[str, str]) -> mlir.Operation:
    """Return a copy of the spec with its DAG matchers converted, except for sequences in `reasons`."""
    module = spec.module.clone()
    for sequence in body(module):
        name = symbol_name(sequence) or ""
        dags = collect(sequence, names.MATCH_DAG) if sequence.name == names.NAMED_SEQUENCE else ()
        if name in reasons:
            continue
        try:
            matchers = [read_dag(dag) for dag in dags]
        except NotExpressible as failure:
            reasons[name] = str(failure)
            continue
        for matcher in matchers:
            matcher_ops[name] = matcher.named
            replace_dag(matcher)
    return module


def _same_answers(old: Entry, new: Entry) -> tuple[int, str]:
    """Return the number of programs on which two entries were compared, and their difference; empty without one."""
    try:
        payload = payload_for(old)
    except PayloadError as failure:
        return 0, f"no matching program was found: {failure.reason}"
    programs = list(perturbations(payload.body, old.anatomy.module.context))
    if not programs:
        return 0, "the program that is made for it has no 'linalg.generic' at its end"
    # Which programs a spec with only the entry matches, for the old and the new one.
    payloads = [replace(payload, body=program.text) for program in programs]
    answers = []
    for entry in (old, new):
        alone = Anatomy(parse_module(spec_of(entry), "entry", entry.anatomy.module.context))
        try:
            answers.append([winner is not None for winner in winners(alone, payloads)])
        except mlir.MLIRError as failure:
            return 0, f"the interpreter fails on it: {failure}"
    before, after = answers
    if not (before[0] and after[0]):
        return 0, "the new matcher does not match the program that is made for the old one"
    for program, was, now in zip(programs, before, after, strict=True):
        if was != now:
            return 0, (
                f"where {program.what}, the dag {'matches' if was else 'does not match'}, and "
                f"what would replace it {'does' if now else 'does not'}"
            )
    return len(programs), ""


# --- DAG matchers of a single contraction or convolution, and their replacement by a matcher op --

_NAMED: Final[Mapping[OpKind, str]] = {
    OpKind.CONTRACTION: names.MATCH_CONTRACTION,
    OpKind.CONVOLUTION: names.MATCH_CONVOLUTION,
}
"""The matcher op for each kind."""

_OPERANDS: Final = 3
"""Left-hand side, right-hand side and result."""
_ATTRIBUTES: Final = frozenset({"indexing_maps", "iterator_types", "operandSegmentSizes"})


class NotExpressible(Exception):  # noqa: N818 - an answer, not an error
    """An error for a DAG matcher without an equivalent named matcher op. The message is the reason."""


@dataclass(frozen=True)
class DagMatcher:
    """A DAG matcher of one contraction or convolution: a `linalg.generic` on tensors.

    Attributes:
        named: the name of the matcher op for ops of this kind.
        dimensions: for each operand the loop that each dimension indexes, if it is one, and the size, if it is static.
    """

    dag: mlir.Operation
    op: StructuredOp
    named: str
    dimensions: tuple[tuple[tuple[int | None, int | None], ...], ...]

    def size(self, loop: int) -> int | None:
        """Return the size of a loop, or None if it is dynamic in an operand or the operands disagree."""
        every = chain.from_iterable(self.dimensions)
        sizes = {size for indexed, size in every if indexed == loop}
        return sizes.pop() if len(sizes) == 1 else None

    def needs_type(self, operand: int) -> bool:
        """Return whether the sizes of the loops leave a static size of an operand undetermined.

        The size of a loop is that of the first operand dimension that it indexes. In a program, its other dimensions
        may be dynamic.
        """
        before = {loop for loops in self.op.operand_loops[:operand] for loop in loops}
        return any(
            size is not None and (loop is None or loop in before or self.size(loop) is None)
            for loop, size in self.dimensions[operand]
        )


def read_dag(dag: mlir.Operation) -> DagMatcher:
    """Read a DAG matcher of one contraction or convolution."""
    operations = [op for op in body(dag) if op.name != names.YIELD]
    if len(operations) != 1:
        raise NotExpressible(f"its dag has {len(operations)} operations, not one")
    (root,) = operations
    if root.name != names.GENERIC:
        raise NotExpressible(f"its dag is a '{root.name}'")
    if any(list(result.uses) for result in dag.results):
        raise NotExpressible("the operands that its dag returns are used")
    if any(attribute not in _ATTRIBUTES for attribute in root.attributes):
        raise NotExpressible("the operation in its dag has additional attributes")
    operands: list[Any] = list(root.operands)
    if len(operands) != _OPERANDS or operands != list(dag.regions[0].blocks[0].arguments):
        raise NotExpressible(
            "its operation does not take left-hand side, right-hand side and result"
        )
    op = StructuredOp(root)
    if not all(operand.is_tensor for operand in op.operands):
        raise NotExpressible("its operands are not all tensors")
    if op.kind not in _NAMED:
        raise NotExpressible("its operation is neither a contraction nor a convolution")
    dimensions = (
        tuple(zip(loops, operand.sizes or (), strict=True))
        for loops, operand in zip(op.operand_loops, op.operands, strict=True)
    )
    return DagMatcher(dag, op, _NAMED[op.kind], tuple(dimensions))


_PARAMETER: Final = "!transform.param<i64>"
_VALUE: Final = "!transform.any_value"
_WINDOW_RESULTS: Final = 2
"""Strides and dilations, which a convolution matcher returns after the loops."""
_DYNAMIC: Final = -1


def replace_dag(matcher: DagMatcher) -> None:
    """Replace a DAG matcher by equivalent matcher ops.

    The named matcher op checks operands, element types and maps. Sizes are checked on the loops, or on operands where
    the loops do not determine them. The body must be equal. As a DAG matcher rejects an op with a configuration, that
    is checked as well.
    """
    dag, op = matcher.dag, matcher.op
    handle, block = dag.operands[0], dag.regions[0].blocks[0]
    around: Any = dag.operation.block
    with dag.context, dag.location, mlir.InsertionPoint(dag):
        name = mlir.ArrayAttr.get([mlir.StringAttr.get(names.GENERIC)])
        if not any(
            check.operation.name == names.MATCH_OPERATION_NAME
            and check.operation.operands[0] == handle
            and check.operation.attributes["op_names"] == name
            for check in around.operations
        ):
            create(names.MATCH_OPERATION_NAME, [handle], [], op_names=name)
        create(names.HAS_NO_LOWERING_CONFIG, [handle], [])
        # The named matcher op returns the sizes of the loops by role, and then those of a window.
        lhs, rhs, result = (
            mlir.TypeAttr.get(element_type(operand.type)) for operand in op.operation.operands
        )
        windows = _WINDOW_RESULTS if op.kind is OpKind.CONVOLUTION else 0
        roles = create(
            matcher.named,
            [handle],
            [_PARAMETER] * (len(op.loops) + windows),
            lhs_type=lhs,
            rhs_type=rhs,
            output_type=result,
            indexing_maps=op.operation.attributes["indexing_maps"],
        )
        for role, loops in zip(roles, op.loops.values(), strict=False):
            sizes = [matcher.size(loop) for loop in loops]
            if any(size is not None for size in sizes):
                expected = [_DYNAMIC if size is None else size for size in sizes]
                values = mlir.DenseI64ArrayAttr.get(expected)
                create(names.MATCH_DIMS_EQUAL, [role], [], expected_values=values)
        for number, value in enumerate(op.operation.operands):
            if matcher.needs_type(number):
                position = mlir.DenseI64ArrayAttr.get([number])
                (operand,) = create(
                    names.GET_OPERAND, [handle], [_VALUE], raw_position_list=position
                )
                kind = mlir.TypeAttr.get(value.type)
                create(names.MATCH_TYPE, [operand], [], target_type=kind)
        regions = mlir.Operation.create(names.MATCH_REGIONS, operands=[handle], regions=1)
    block.append_to(regions.regions[0])
    dag.erase()


# --- Perturbations of a program, each with a single difference -----------------------------------

_ELEMENTS: Final = ("f16", "bf16", "f32", "i8", "i32")
"""The element types to try."""

_SIBLINGS: Final = {
    "arith.mulf": ("arith.addf", "arith.divf"),
    "arith.addf": ("arith.subf", "arith.maximumf", "arith.mulf"),
    "arith.muli": ("arith.addi", "arith.andi"),
    "arith.addi": ("arith.subi", "arith.ori", "arith.muli"),
    "arith.extsi": ("arith.extui",),
    "arith.extui": ("arith.extsi",),
}
"""Ops of the same types that may replace an op of a body."""

_BINARY: Final = 2

_EXCHANGE: Final = "its operands are exchanged"
_NEGATE: Final = "the result is negated"
_ACCUMULATE: Final = "the body returns its accumulator"
_REPEAT: Final = "both operands are the same"
_COMPUTE: Final = "an operand is computed"
_CONFIGURE: Final = "it is configured"


@dataclass(frozen=True)
class Program:
    """A program as text, with its difference from the original. Its root op is the last op of its function."""

    what: str
    text: str


@dataclass(frozen=True)
class _Variant:
    """A `linalg.generic` to build, by maps, element types and sizes of loops, and an edit of it.

    Attributes:
        body: the op with the body; by default a product of the operands.
        shapes: the shapes of operands that do not follow from the loops.
        edit: the edit, or the name of another op for the one at `index` of the body; empty for none.
    """

    maps: tuple[mlir.AffineMap, ...]
    types: tuple[mlir.Type, ...]
    sizes: tuple[int, ...]
    body: mlir.Operation | None
    shapes: Mapping[int, tuple[int, ...]]
    edit: str = ""
    index: int = -1

    def shape(self, operand: int) -> tuple[int, ...]:
        """Return the shape of an operand: one more than the last index in each dimension."""
        if operand in self.shapes:
            return self.shapes[operand]
        sizes = [inf if size == DYNAMIC else size for size in self.sizes]
        ends = (value_range(index, sizes)[1] for index in self.maps[operand].results)
        return tuple(DYNAMIC if end == inf else end + 1 for end in ends)


def perturbations(
    text: str, context: mlir.Context, selects: Callable[[str], bool] = lambda _: True
) -> Iterator[Program]:
    """Yield the perturbations of a program, a function whose last operation is a contraction or convolution.

    Perturbations make loops longer, shorter or dynamic; make single sizes of operands dynamic; change element types;
    exchange or transpose operands; exchange loops; replace or add operations of the body or exchange their operands;
    make operands computed or equal; and add a configuration. Variants that the compiler rejects are left out.

    Args:
        text: the program.
        context: the context of the programs.
        selects: returns whether to build the program with a given difference.
    """
    with context, mlir.Location.unknown():
        module = mlir.Module.parse(text).operation
        (function,) = collect(module, names.FUNCTION)
        root = root_of(function)
        if root.name != names.GENERIC:
            return
        # The root op with static sizes.
        op = StructuredOp(root)
        kinds: list[Any] = [operand.type for operand in root.operands]
        types = tuple(kind.element_type for kind in kinds)
        first = _Variant(op.maps, types, tuple(size or 1 for size in op.sizes), root, {})
        shapes = {number: tuple(kind.shape) for number, kind in enumerate(kinds)}
        unusual = {
            number: sizes for number, sizes in shapes.items() if sizes != first.shape(number)
        }
        for what, variant in _variants(replace(first, shapes=unusual)):
            if selects(what):
                try:
                    program = _write(variant)
                    program.verify()
                except (mlir.MLIRError, ValueError, TypeError):
                    continue
                yield Program(what, str(program))


def _variants(first: _Variant) -> Iterator[tuple[str, _Variant]]:
    """Yield variants of an op, each with its difference from the first one."""
    yield "nothing", first
    # Other sizes of a loop, or of one dimension of an operand; other element types.
    for loop, size in enumerate(first.sizes):
        for other in (size + 1, size - 1, 2 * size, DYNAMIC):
            if other > 0 or other == DYNAMIC:
                text = "open" if other == DYNAMIC else str(other)
                sizes = _with(first.sizes, loop, other)
                yield f"loop {loop} is {text}", replace(first, sizes=sizes)
    for operand in range(len(first.types)):
        dimensions = first.shape(operand)
        for position, size in enumerate(dimensions):
            for other in (DYNAMIC, size + 1):
                changed = _with(dimensions, position, other)
                shapes = {**first.shapes, operand: changed}
                yield f"operand {operand} is {changed}", replace(first, shapes=shapes)
    for operand, kind in enumerate(first.types):
        for name in _ELEMENTS:
            element = mlir.Type.parse(name)
            if element != kind:
                types = _with(first.types, operand, element)
                yield f"operand {operand} has {name}", replace(first, types=types, body=None)
    yield from _other_maps(first)
    # Edits of the body, of operands and of attributes.
    assert first.body is not None
    for index, operation in enumerate(body(first.body)):
        what = f"'{operation.name}'"
        for name in _SIBLINGS.get(operation.name, ()):
            yield f"{what} is '{name}'", replace(first, edit=name, index=index)
        if len(operation.operands) == _BINARY:
            what = f"{what} has its operands exchanged"
            yield what, replace(first, edit=_EXCHANGE, index=index)
    edits = (_NEGATE, _ACCUMULATE, _REPEAT, _COMPUTE, _CONFIGURE)
    yield from ((what, replace(first, edit=what)) for what in edits)


def _with(items: tuple[_Item, ...], position: int, item: _Item) -> tuple[_Item, ...]:
    return (*items[:position], item, *items[position + 1 :])


def _exchanged(items: Sequence[_Item], left: int, right: int) -> list[_Item]:
    turned = list(items)
    turned[left], turned[right] = turned[right], turned[left]
    return turned


def _other_maps(first: _Variant) -> Iterator[tuple[str, _Variant]]:
    """Yield variants with operands exchanged or transposed, or loops exchanged."""
    maps, types = tuple(_exchanged(first.maps, 0, 1)), tuple(_exchanged(first.types, 0, 1))
    yield "the operands are exchanged", replace(first, maps=maps, types=types, body=None)
    yield "the maps of the operands are exchanged", replace(first, maps=maps)
    for operand, map_ in enumerate(first.maps):
        for left, right in combinations(range(len(map_.results)), 2):
            results = _exchanged(list(map_.results), left, right)
            transposed = mlir.AffineMap.get(map_.n_dims, 0, results)
            maps = _with(first.maps, operand, transposed)
            yield f"operand {operand} is transposed", replace(first, maps=maps)
    loops = range(len(first.sizes))
    for left, right in combinations(loops, 2):
        order = _exchanged(loops, left, right)
        sizes = tuple(first.sizes[loop] for loop in order)
        dims = mlir.AffineMap.get(len(order), 0, [mlir.AffineDimExpr.get(loop) for loop in order])
        maps = tuple(
            mlir.AffineMap.get(len(order), 0, [index.compose(dims) for index in map_.results])
            for map_ in first.maps
        )
        yield f"loops {left} and {right} are exchanged", replace(first, maps=maps, sizes=sizes)


def _write(variant: _Variant) -> mlir.Operation:
    """Return a module with a function that applies the op to its arguments, after its edit."""
    types: list[Any] = [
        mlir.RankedTensorType.get(variant.shape(number), element)
        for number, element in enumerate(variant.types)
    ]
    module, block = new_function(types, types[-1:])
    template = generic(variant.maps, variant.types)
    copied = ("indexing_maps", "iterator_types", "operandSegmentSizes")
    with mlir.InsertionPoint(block):
        root = mlir.Operation.create(
            names.GENERIC,
            results=types[-1:],
            operands=list(block.arguments),
            attributes={name: template.root.attributes[name] for name in copied},
            regions=1,
        )
        copy = (template.root if variant.body is None else variant.body).clone()
        copy.regions[0].blocks[0].append_to(root.regions[0])
        copy.erase()
        mlir.Operation.create("func.return", operands=list(root.results))
    # The edit.
    operations = list(body(root))
    operation, yielded = operations[variant.index], operations[-1]
    if variant.edit == _EXCHANGE:
        operation.operands[0], operation.operands[1] = operation.operands[1], operation.operands[0]
    elif variant.edit == _NEGATE:  # or double
        value = yielded.operands[0]
        is_float = isinstance(value.type, mlir.FloatType)
        with mlir.InsertionPoint(yielded):
            name, operands = ("arith.negf", [value]) if is_float else ("arith.addi", [value] * 2)
            yielded.operands[0] = build(name, value.type, *operands)
    elif variant.edit == _ACCUMULATE:
        *_, yielded.operands[0] = root.regions[0].blocks[0].arguments
    elif variant.edit == _REPEAT:
        root.operands[1] = root.operands[0]
    elif variant.edit == _COMPUTE:
        with mlir.InsertionPoint(root):
            root.operands[0] = build("tensor.cast", types[0], root.operands[0])
    elif variant.edit == _CONFIGURE:
        config = mlir.Attribute.parse("#iree_gpu.lowering_config<{workgroup = [1]}>")
        root.attributes[names.LOWERING_CONFIG] = config
    elif variant.edit:  # another op on the same types
        with mlir.InsertionPoint(operation):
            results, operands = (
                [result.type for result in operation.results],
                list(operation.operands),
            )
            fresh = mlir.Operation.create(variant.edit, results=results, operands=operands)
        for before, after in zip(operation.results, fresh.results, strict=True):
            before.replace_all_uses_with(after)
        operation.erase()
    return module
