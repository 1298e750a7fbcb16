"""Conversion of DAG matchers to contraction and convolution matchers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree import OpKind, StructuredOp, element_type
from tuninglink.mlir import (
    body,
    collect,
    names,
    parse_module,
    reference,
    symbol_name,
    to_text,
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
from tuninglink.specs import Anatomy, Entry

if TYPE_CHECKING:
    from tuninglink.errors import Place
    from tuninglink.payloads import Payload
    from tuninglink.specs import Spec


@dataclass(frozen=True)
class ConvertedEntry:
    """The result for one entry.

    Attributes:
        matcher: the symbol of its matcher.
        action: the symbol of its action.
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

    def __str__(self) -> str:
        names = f"@{self.matcher} -> @{self.action}"
        if not self.matcher_ops:
            return f"{names}: as it was: {self.reason}"
        replaced_by = " and ".join(f"'{op}'" for op in self.matcher_ops)
        return f"{names}: {replaced_by}; the same answers on {self.programs} programs"


@dataclass(frozen=True)
class ConvertedSpec:
    """A spec with its DAG matchers converted where the interpreter shows no difference.

    Attributes:
        text: the spec, as the compiler prints it.
        entries: the result for each entry, in order of precedence.
    """

    text: str
    entries: tuple[ConvertedEntry, ...]

    def __str__(self) -> str:
        """Return the results in words, one line each."""
        count = sum(bool(entry.matcher_ops) for entry in self.entries)
        lines = [f"{count} of {len(self.entries)} entries modernized"]
        lines += [f"  {entry}" for entry in self.entries]
        return "\n".join(lines) + "\n"


class _Different(Exception):  # noqa: N818 - an answer, not an error
    """An error for an old and a new matcher that are not proven equivalent."""


def convert_dags(spec: Spec) -> ConvertedSpec:
    """Convert DAG matchers to contraction and convolution matchers where the matches stay the same.

    For each entry, a matching program and variants with one difference each are generated. The interpreter runs the
    old and the new matcher on all of them. An entry is converted if both match the first program and agree on the
    others. One difference is intended: a DAG matcher rejects an op with any attribute that the DAG lacks, and the new
    matcher only one with a configuration.

    Args:
        spec: the spec. It is not changed.
    """
    return _Conversion(spec).run()


@dataclass
class _Conversion:
    """The conversion of a spec."""

    spec: Spec
    _reasons: dict[str, str] = field(default_factory=dict)
    """The reasons why sequences stay unchanged, by name."""
    _matcher_ops: dict[str, str] = field(default_factory=dict)
    """The matcher op that replaces the DAG matchers of each sequence."""

    def run(self) -> ConvertedSpec:
        module = self._converted()
        entries = self._compare(Anatomy(module))
        while any(entry.reason and self._convertible(entry) for entry in entries):
            # A sequence that one entry needs unchanged stays unchanged for all its users.
            for entry in entries:
                if entry.reason:
                    sequences = self._convertible(entry)
                    for sequence in sequences:
                        self._reasons[sequence] = f"@{entry.matcher} needs it: {entry.reason}"
                        self._matcher_ops.pop(sequence, None)
            module = self._converted()
            entries = self._compare(Anatomy(module))
        return ConvertedSpec(to_text(module), tuple(entries))

    def _converted(self) -> mlir.Operation:
        """Return a copy of the spec with its DAG matchers converted, except for sequences in `_reasons`."""
        module = self.spec.module.clone()
        for sequence in body(module):
            name = symbol_name(sequence) or ""
            if sequence.name != names.NAMED_SEQUENCE:
                continue
            dags = collect(sequence, names.MATCH_DAG)
            if not dags or name in self._reasons:
                continue
            try:
                matchers = [read_dag(dag) for dag in dags]
            except NotExpressible as failure:
                self._reasons[name] = failure.reason
                continue
            for matcher in matchers:
                self._matcher_ops[name] = matcher.named
                replace_dag(matcher)
        return module

    @cached_property
    def _includes(self) -> dict[str, list[str]]:
        """The sequences that each sequence includes, by name."""
        return {
            symbol_name(sequence) or "": [
                reference(op.attributes["target"]) for op in collect(sequence, names.INCLUDE)
            ]
            for sequence in body(self.spec.module)
            if sequence.name == names.NAMED_SEQUENCE
        }

    def _used(self, entry: Entry | ConvertedEntry) -> list[str]:
        """Return the sequences with DAG matchers that an entry's matcher includes."""
        waiting, seen = [entry.matcher], {entry.matcher}
        while waiting:
            for target in self._includes.get(waiting.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return [name for name in sorted(seen) if name in self._matcher_ops or name in self._reasons]

    def _convertible(self, entry: ConvertedEntry) -> list[str]:
        return [name for name in self._used(entry) if name not in self._reasons]

    def _compare(self, fresh: Anatomy) -> list[ConvertedEntry]:
        return [
            self._answer(old, new)
            for old, new in zip(self.spec.entries, fresh.entries, strict=True)
        ]

    def _answer(self, old: Entry, new: Entry) -> ConvertedEntry:
        answer = ConvertedEntry(old.matcher, old.action, old.place)
        used = self._used(old)
        matcher_ops = tuple(
            dict.fromkeys(self._matcher_ops[name] for name in used if name in self._matcher_ops)
        )
        if not matcher_ops:
            reasons = [self._reasons[name] for name in used]
            return replace(answer, reason="; ".join(reasons) or "it has no dag matcher")
        try:
            programs = _same_answers(old, new)
        except _Different as failure:
            return replace(answer, reason=str(failure))
        return replace(answer, matcher_ops=matcher_ops, programs=programs)


def _same_answers(old: Entry, new: Entry) -> int:
    """Compare two entries, and return the number of programs."""
    try:
        payload = payload_for(old)
    except PayloadError as failure:
        raise _Different(f"no matching program was found: {failure.reason}") from None
    context = old.anatomy.module.context
    programs = list(perturbations(payload.body, context))
    if not programs:
        raise _Different("the program that is made for it has no 'linalg.generic' at its end")
    before, after = (_matched(entry, payload, programs) for entry in (old, new))
    if not (before[0] and after[0]):
        raise _Different("the new matcher does not match the program that is made for the old one")
    for program, was, now in zip(programs, before, after, strict=True):
        if was != now:
            raise _Different(
                f"where {program.what}, the dag {'matches' if was else 'does not match'}, and "
                f"what would replace it {'does' if now else 'does not'}"
            )
    return len(programs)


def _matched(entry: Entry, payload: Payload, programs: Sequence[Program]) -> list[bool]:
    """Return for each program whether a spec with only one entry matches it."""
    context = entry.anatomy.module.context
    alone = Anatomy(parse_module(spec_of(entry), "entry", context))
    payloads = [replace(payload, body=program.text) for program in programs]
    try:
        return [winner is not None for winner in winners(alone, payloads)]
    except mlir.MLIRError as failure:
        raise _Different(f"the interpreter fails on it: {failure}") from None


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
    """An error for a DAG matcher without an equivalent named matcher op; `reason` is the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class DagMatcher:
    """A DAG matcher of one contraction or convolution: a `linalg.generic` on tensors."""

    dag: mlir.Operation
    op: StructuredOp

    @property
    def named(self) -> str:
        """The name of the matcher op for ops of this kind."""
        return _NAMED[self.op.kind]

    def size(self, loop: int) -> int | None:
        """Return the size of a loop, or None if it is dynamic in an operand or the operands disagree."""
        sizes = {
            size
            for operand in range(_OPERANDS)
            for indexed, size in self._dimensions(operand)
            if indexed == loop
        }
        return sizes.pop() if len(sizes) == 1 else None

    def needs_type(self, operand: int) -> bool:
        """Return whether the sizes of the loops leave a static size of an operand undetermined.

        The size of a loop is that of the first operand dimension that it indexes. In a program, its other dimensions
        may be dynamic.
        """
        before = {loop for loops in self.op.operand_loops[:operand] for loop in loops}
        return any(
            size is not None and (loop is None or loop in before or self.size(loop) is None)
            for loop, size in self._dimensions(operand)
        )

    def _dimensions(self, operand: int) -> list[tuple[int | None, int | None]]:
        sizes = self.op.operands[operand].sizes or ()
        return list(zip(self.op.operand_loops[operand], sizes, strict=True))


def read_dag(dag: mlir.Operation) -> DagMatcher:
    """Read a DAG matcher of one contraction or convolution.

    Raises:
        NotExpressible: the DAG matcher matches something else.
    """
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
    return DagMatcher(dag, op)


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
    handle = dag.operands[0]
    with dag.context, dag.location, mlir.InsertionPoint(dag):
        name = mlir.ArrayAttr.get([mlir.StringAttr.get(names.GENERIC)])
        if not _checks_name(name, dag):
            _check(names.MATCH_OPERATION_NAME, handle, op_names=name)
        _check(names.HAS_NO_LOWERING_CONFIG, handle)
        for sizes, dimensions in _dimensions(matcher, handle):
            _check(names.MATCH_DIMS_EQUAL, dimensions, expected_values=sizes)
        for number, value in enumerate(op.operation.operands):
            if matcher.needs_type(number):
                operand = _operand(handle, number)
                _check(names.MATCH_TYPE, operand, target_type=mlir.TypeAttr.get(value.type))
        regions = mlir.Operation.create(names.MATCH_REGIONS, operands=[handle], regions=1)
    block = dag.regions[0].blocks[0]
    block.append_to(regions.regions[0])
    dag.erase()


def _checks_name(name: mlir.Attribute, dag: mlir.Operation) -> bool:
    """Return whether a matcher checks the name of the op in addition to its DAG."""
    block: Any = dag.operation.block
    return any(
        operation.operation.name == names.MATCH_OPERATION_NAME
        and operation.operation.operands[0] == dag.operands[0]
        and operation.operation.attributes["op_names"] == name
        for operation in block.operations
    )


def _check(name: str, handle: Any, **attributes: mlir.Attribute) -> None:
    mlir.Operation.create(name, operands=[handle], attributes=attributes)


def _dimensions(matcher: DagMatcher, handle: Any) -> list[tuple[mlir.Attribute, Any]]:
    """Build the named matcher op. Return the required sizes of each role, with the handle to them."""
    op = matcher.op
    lhs, rhs, result = (
        mlir.TypeAttr.get(element_type(operand.type)) for operand in op.operation.operands
    )
    count = len(op.loops) + (_WINDOW_RESULTS if op.kind is OpKind.CONVOLUTION else 0)
    named = mlir.Operation.create(
        matcher.named,
        results=[mlir.Type.parse(_PARAMETER)] * count,
        operands=[handle],
        attributes={
            "lhs_type": lhs,
            "rhs_type": rhs,
            "output_type": result,
            "indexing_maps": op.operation.attributes["indexing_maps"],
        },
    )
    required: list[tuple[mlir.Attribute, Any]] = []
    for dimensions, loops in zip(named.results, op.loops.values(), strict=False):
        sizes = [matcher.size(loop) for loop in loops]
        if any(size is not None for size in sizes):
            expected = [_DYNAMIC if size is None else size for size in sizes]
            required.append((mlir.DenseI64ArrayAttr.get(expected), dimensions))
    return required


def _operand(handle: Any, number: int) -> Any:
    position = mlir.DenseI64ArrayAttr.get([number])
    return build(names.GET_OPERAND, mlir.Type.parse(_VALUE), handle, raw_position_list=position)


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


@dataclass(frozen=True)
class Program:
    """A program as text, with its difference from the original. Its root op is the last op of its function."""

    what: str
    text: str


@dataclass(frozen=True)
class _Shape:
    """A `linalg.generic` to build, by maps, element types and sizes of loops."""

    maps: tuple[mlir.AffineMap, ...]
    types: tuple[mlir.Type, ...]
    sizes: tuple[int, ...]
    body: mlir.Operation | None
    shapes: Mapping[int, tuple[int, ...]]

    def shape(self, operand: int) -> tuple[int, ...]:
        """Return the shape of an operand."""
        given = self.shapes.get(operand)
        if given is not None:
            return given
        return tuple(_extent(result, self.sizes) for result in self.maps[operand].results)


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
        shape = _read(root)
        for what, changed in _shapes(shape):
            if selects(what):
                yield from _written(what, partial(_write, changed))
        for what, edit in _edits(root):
            if selects(what):
                yield from _written(what, partial(_edited, shape, edit))


def _written(what: str, write: Callable[[], mlir.Operation]) -> Iterator[Program]:
    """Yield the program that `write` returns, unless the compiler rejects it."""
    try:
        module = write()
        module.verify()
    except (mlir.MLIRError, ValueError, TypeError):
        return
    yield Program(what, str(module))


def _read(root: mlir.Operation) -> _Shape:
    """Return the shape of a root op with static sizes."""
    op = StructuredOp(root)
    kinds: list[Any] = [operand.type for operand in root.operands]
    types = tuple(kind.element_type for kind in kinds)
    read = _Shape(op.maps, types, tuple(size or 1 for size in op.sizes), root, {})
    shapes = {number: tuple(kind.shape) for number, kind in enumerate(kinds)}
    usual = {number: shape for number, shape in shapes.items() if shape != read.shape(number)}
    return replace(read, shapes=usual)


def _extent(expression: Any, sizes: Sequence[int]) -> int:
    _, last = value_range(expression, [inf if size == DYNAMIC else size for size in sizes])
    return DYNAMIC if last == inf else last + 1


def _shapes(shape: _Shape) -> Iterator[tuple[str, _Shape]]:
    yield "nothing", shape
    for loop, size in enumerate(shape.sizes):
        for other in (size + 1, size - 1, 2 * size, DYNAMIC):
            if other > 0 or other == DYNAMIC:
                sizes = (*shape.sizes[:loop], other, *shape.sizes[loop + 1 :])
                text = "open" if other == DYNAMIC else str(other)
                yield f"loop {loop} is {text}", replace(shape, sizes=sizes)
    for operand in range(len(shape.types)):
        dimensions = shape.shape(operand)
        for position, size in enumerate(dimensions):
            for other in (DYNAMIC, size + 1):
                changed = (*dimensions[:position], other, *dimensions[position + 1 :])
                shapes = {**shape.shapes, operand: changed}
                yield f"operand {operand} is {changed}", replace(shape, shapes=shapes)
    yield from _other_types(shape)
    yield from _other_maps(shape)


def _other_types(shape: _Shape) -> Iterator[tuple[str, _Shape]]:
    for operand, kind in enumerate(shape.types):
        for name in _ELEMENTS:
            other = mlir.Type.parse(name)
            if other != kind:
                types = (*shape.types[:operand], other, *shape.types[operand + 1 :])
                yield f"operand {operand} has {name}", replace(shape, types=types, body=None)


def _other_maps(shape: _Shape) -> Iterator[tuple[str, _Shape]]:
    lhs, rhs, *rest = shape.maps
    first, second, *other_types = shape.types
    exchanged = replace(
        shape, maps=(rhs, lhs, *rest), types=(second, first, *other_types), body=None
    )
    yield "the operands are exchanged", exchanged
    yield "the maps of the operands are exchanged", replace(shape, maps=(rhs, lhs, *rest))
    for operand, map_ in enumerate(shape.maps):
        results = list(map_.results)
        for left, right in combinations(range(len(results)), 2):
            turned = list(results)
            turned[left], turned[right] = turned[right], turned[left]
            maps = list(shape.maps)
            maps[operand] = mlir.AffineMap.get(map_.n_dims, 0, turned)
            yield f"operand {operand} is transposed", replace(shape, maps=tuple(maps))
    for left, right in combinations(range(len(shape.sizes)), 2):
        order = list(range(len(shape.sizes)))
        order[left], order[right] = right, left
        sizes = tuple(shape.sizes[loop] for loop in order)
        maps = [_renamed(map_, order) for map_ in shape.maps]
        yield (
            f"loops {left} and {right} are exchanged",
            replace(shape, maps=tuple(maps), sizes=sizes),
        )


def _renamed(map_: mlir.AffineMap, order: Sequence[int]) -> mlir.AffineMap:
    dims = [mlir.AffineDimExpr.get(loop) for loop in order]
    results = [result.compose(mlir.AffineMap.get(len(order), 0, dims)) for result in map_.results]
    return mlir.AffineMap.get(len(order), 0, results)


def _write(shape: _Shape) -> mlir.Operation:
    """Return a module with a function that applies the op to its arguments."""
    types: list[Any] = [
        mlir.RankedTensorType.get(shape.shape(number), element)
        for number, element in enumerate(shape.types)
    ]
    module, block = new_function(types, types[-1:])
    with mlir.InsertionPoint(block):
        root = _generic(shape, types, list(block.arguments))
        mlir.Operation.create("func.return", operands=list(root.results))
    return module


def _generic(shape: _Shape, types: Sequence[mlir.Type], operands: list[Any]) -> mlir.Operation:
    template = generic(shape.maps, shape.types)
    source = shape.body if shape.body is not None else template.root
    copy = source.clone()
    attributes: dict[str, mlir.Attribute] = {
        name: template.root.attributes[name]
        for name in ("indexing_maps", "iterator_types", "operandSegmentSizes")
    }
    root = mlir.Operation.create(
        names.GENERIC, results=list(types[-1:]), operands=operands, attributes=attributes, regions=1
    )
    copy.regions[0].blocks[0].append_to(root.regions[0])
    copy.erase()
    return root


def _edits(root: mlir.Operation) -> Iterator[tuple[str, Callable[[mlir.Operation], None]]]:
    """Yield edits of a root op, with the differences that they make."""
    for index, operation in enumerate(body(root)):
        for name in _SIBLINGS.get(operation.name, ()):
            yield f"'{operation.name}' is '{name}'", partial(_exchange_op, index=index, name=name)
        if len(operation.operands) == _BINARY:
            yield (
                f"'{operation.name}' has its operands exchanged",
                partial(_swap_operands, index=index),
            )
    yield "the result is negated", _negate
    yield "the body returns its accumulator", _return_accumulator
    yield "both operands are the same", _repeat_operand
    yield "an operand is computed", _compute_operand
    yield "it is configured", _configure


def _edited(shape: _Shape, edit: Callable[[mlir.Operation], None]) -> mlir.Operation:
    module = _write(shape)
    (function,) = body(module)
    edit(root_of(function))
    return module


def _exchange_op(root: mlir.Operation, index: int, name: str) -> None:
    """Replace an operation in the body with another operation on the same types."""
    old = list(body(root))[index]
    with mlir.InsertionPoint(old):
        fresh = mlir.Operation.create(
            name, results=[result.type for result in old.results], operands=list(old.operands)
        )
    for before, after in zip(old.results, fresh.results, strict=True):
        before.replace_all_uses_with(after)
    old.erase()


def _swap_operands(root: mlir.Operation, index: int) -> None:
    operation = list(body(root))[index]
    operation.operands[0], operation.operands[1] = operation.operands[1], operation.operands[0]


def _negate(root: mlir.Operation) -> None:
    """Negate, or double, the value that the body returns."""
    *_, yielded = body(root)
    value = yielded.operands[0]
    name = "arith.negf" if isinstance(value.type, mlir.FloatType) else "arith.addi"
    operands = [value] if name == "arith.negf" else [value, value]
    with mlir.InsertionPoint(yielded):
        yielded.operands[0] = build(name, value.type, *operands)


def _return_accumulator(root: mlir.Operation) -> None:
    *_, yielded = body(root)
    *_, yielded.operands[0] = root.regions[0].blocks[0].arguments


def _repeat_operand(root: mlir.Operation) -> None:
    root.operands[1] = root.operands[0]


def _compute_operand(root: mlir.Operation) -> None:
    value: Any = root.operands[0]
    with mlir.InsertionPoint(root):
        root.operands[0] = build("tensor.cast", value.type, value)


def _configure(root: mlir.Operation) -> None:
    config = mlir.Attribute.parse("#iree_gpu.lowering_config<{workgroup = [1]}>")
    root.attributes[names.LOWERING_CONFIG] = config
