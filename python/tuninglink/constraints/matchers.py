"""Reading matchers: the condition under which the compiler's interpreter finds that one matches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from iree.compiler import ir as mlir
from iree.compiler.dialects import (  # type: ignore[attr-defined]
    iree_codegen,
    linalg,
)

from tuninglink.constraints.conditions import (
    AtLeast,
    AtMost,
    Condition,
    Equals,
    MultipleOf,
    Opaque,
    SizeFact,
)
from tuninglink.ir import names
from tuninglink.ir.walk import body

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from tuninglink.constraints.conditions import Dimension

    Value = mlir.Value[Any]

_ANY_SIZE = -1
"""What stands for any size in `dims_equal`."""


class _OpaqueError(Exception):
    """The matcher is outside of what is understood."""


def read_matcher(sequence: mlir.Operation) -> Condition | Opaque:
    """Returns the condition under which a matcher matches the operation that it is given.

    Args:
        sequence: a `transform.named_sequence` that only matches.

    Returns:
        The condition, or that the matcher is opaque and why.
    """
    try:
        return _MatcherReader(sequence).read()
    except _OpaqueError as failure:
        return Opaque(str(failure))


class _MatcherReader:
    def __init__(self, sequence: mlir.Operation) -> None:
        blocks = list(sequence.regions[0].blocks)
        if len(blocks) != 1 or len(blocks[0].arguments) != 1:
            raise _OpaqueError("it is no sequence of one argument")
        self._operations = list(body(sequence))
        self._root = blocks[0].arguments[0]
        self._operands: dict[Value, int] = {}
        self._roles: dict[Value, str] = {}
        self._loops: dict[str, tuple[int, ...]] = {}
        self._condition = Condition()

    def read(self) -> Condition:
        """Reads all operations of the sequence."""
        for operation in self._operations:
            reader = _READERS.get(operation.name)
            if reader is None:
                raise _OpaqueError(f"'{operation.name}' is not understood")
            reader(self, operation)
        return self._by_loops()

    # --- What each operation adds --------------------------------------------------------------------------

    def _nothing(self, operation: mlir.Operation) -> None:
        """Adds nothing."""

    def _name(self, operation: mlir.Operation) -> None:
        self._expect_root(operation)
        wanted = operation.attributes["op_names"]
        assert isinstance(wanted, mlir.ArrayAttr)
        self._require_names(
            frozenset(each.value for each in wanted if isinstance(each, mlir.StringAttr))
        )

    def _unconfigured(self, operation: mlir.Operation) -> None:
        self._expect_root(operation)
        self._condition = replace(self._condition, is_unconfigured=True)

    def _contraction(self, operation: mlir.Operation) -> None:
        self._structured(operation, "contraction", ("batch", "m", "n", "k"))

    def _convolution(self, operation: mlir.Operation) -> None:
        roles = ("batch", "output_image", "output_channel", "filter", "input_channel", "depth")
        self._structured(operation, "convolution", (*roles, "strides", "dilations"))

    def _structured(self, operation: mlir.Operation, kind: str, roles: Sequence[str]) -> None:
        self._expect_root(operation)
        types = _type_attributes(operation, ("lhs_type", "rhs_type", "output_type"))
        self._require(types=dict(enumerate(types)), maps=operation.attributes.get("indexing_maps"))
        self._condition = replace(self._condition, kinds=self._condition.kinds | {kind})
        self._roles |= {
            result: f"{kind} {role}" for result, role in zip(operation.results, roles, strict=True)
        }

    def _attention(self, operation: mlir.Operation) -> None:
        wanted = ("query_type", "key_type", "value_type", "output_type")
        self._any_attention(operation, "iree_linalg_ext.attention", wanted[:3], wanted[3:])

    def _online_attention(self, operation: mlir.Operation) -> None:
        inputs = ("query_type", "key_type", "value_type", "scale_type")
        outputs = ("output_type", "max_type", "sum_type")
        self._any_attention(operation, "iree_linalg_ext.online_attention", inputs, outputs)

    def _any_attention(
        self, operation: mlir.Operation, name: str, inputs: Sequence[str], outputs: Sequence[str]
    ) -> None:
        self._expect_root(operation)
        self._require_names(frozenset({name}))
        maps = operation.attributes["indexing_maps"]
        assert isinstance(maps, mlir.ArrayAttr)
        types = dict(enumerate(_type_attributes(operation, inputs)))
        first = len(maps) - len(outputs)
        types |= dict(enumerate(_type_attributes(operation, outputs), first))
        self._require(types=types, maps=maps)
        roles = ("batch", "m", "n", "k1", "k2")
        self._roles |= {
            result: f"attention {role}"
            for result, role in zip(operation.results, roles, strict=True)
        }

    def _operand(self, operation: mlir.Operation) -> None:
        self._expect_root(operation)
        attributes = operation.attributes
        positions = attributes["raw_position_list"]
        assert isinstance(positions, mlir.DenseI64ArrayAttr)
        if len(positions) != 1 or positions[0] < 0 or {"is_inverted", "is_all"} & {*attributes}:
            raise _OpaqueError("it takes several operands at once")
        self._operands[operation.results[0]] = positions[0]

    def _dims_equal(self, operation: mlir.Operation) -> None:
        role = self._roles.get(operation.operands[0])
        if role is None:
            raise _OpaqueError("it compares something else than dimensions of a role")
        wanted = operation.attributes["expected_values"]
        assert isinstance(wanted, mlir.DenseI64ArrayAttr)
        if self._condition.counts.get(role, len(wanted)) != len(wanted):
            raise _OpaqueError("it asks for different numbers of dimensions")
        self._condition = replace(
            self._condition, counts={**self._condition.counts, role: len(wanted)}
        )
        for position, size in enumerate(wanted):
            if size != _ANY_SIZE:
                self._add(Equals((role, position, 0), size))

    def _dim_multiple(self, operation: mlir.Operation) -> None:
        factor = _integer(operation.attributes["size"])
        if factor <= 0:
            raise _OpaqueError("it asks for multiples of nothing")
        self._add(MultipleOf(self._dimension(operation), factor))

    def _dim_bounds(self, operation: mlir.Operation) -> None:
        dimension = self._dimension(operation)
        for name, fact in (("lower_bound", AtLeast), ("upper_bound", AtMost)):
            bound = operation.attributes.get(name)
            if bound is not None:
                self._add(fact(dimension, _integer(bound)))

    def _cast_compatible(self, operation: mlir.Operation) -> None:
        number = self._operand_number(operation)
        attribute = operation.attributes["target_type"]
        assert isinstance(attribute, mlir.TypeAttr)
        self._require_type(number, attribute.value)

    def _regions(self, operation: mlir.Operation) -> None:
        self._expect_root(operation)
        (target, _) = body(operation)
        regions = _regions_key(target)
        if self._condition.regions is not None and self._condition.regions != regions:
            raise _OpaqueError("it asks for different regions")
        self._condition = replace(self._condition, regions=regions)

    def _dag(self, operation: mlir.Operation) -> None:
        self._expect_root(operation)
        if self._condition.root is not None:
            raise _OpaqueError("it matches several graphs")
        *_, root, _ = body(operation)
        graph = _Graph(operation)
        dag = graph.key(root)
        kinds = set()
        if root.name.startswith("linalg."):
            kinds |= {"contraction"} if linalg.isa_contraction_op(root) else set()
            kinds |= {"convolution"} if linalg.isa_convolution_op(root) else set()
        self._require_names(frozenset({root.name}))
        self._require(types={}, maps=root.attributes.get("indexing_maps"))
        self._condition = replace(
            self._condition,
            kinds=self._condition.kinds | kinds,
            regions=_regions_key(root),
            root=graph.own_key(root),
            dag=dag,
            has_free_operands=graph.has_free_operands,
            is_unconfigured=self._condition.is_unconfigured or not _is_configured(root),
        )
        for number, operand in enumerate(root.operands):
            self._require_type(number, operand.type)

    # --- Helpers -------------------------------------------------------------------------------------------

    def _expect_root(self, operation: mlir.Operation) -> None:
        if operation.operands[0] != self._root:
            raise _OpaqueError("it looks at other operations than the one that it is given")

    def _operand_number(self, operation: mlir.Operation) -> int:
        number = self._operands.get(operation.operands[0])
        if number is None:
            raise _OpaqueError("it looks at values that are no operands of the operation")
        return number

    def _dimension(self, operation: mlir.Operation) -> Dimension:
        return ("operand", self._operand_number(operation), _integer(operation.attributes["dim"]))

    def _add(self, fact: SizeFact) -> None:
        self._condition = replace(self._condition, sizes=self._condition.sizes | {fact})

    def _require_names(self, wanted: frozenset[str]) -> None:
        known = self._condition.names
        self._condition = replace(
            self._condition, names=wanted if known is None else known & wanted
        )

    def _require(self, *, types: Mapping[int, mlir.Type], maps: mlir.Attribute | None) -> None:
        known = self._condition
        if maps is not None and known.maps is not None and known.maps != maps:
            raise _OpaqueError("it asks for different indexing maps")
        if any(known.types.get(number, each) != each for number, each in types.items()):
            raise _OpaqueError("it asks for different element types")
        self._condition = replace(
            known, types={**known.types, **types}, maps=known.maps if maps is None else maps
        )

    def _require_type(self, number: int, wanted: mlir.Type) -> None:
        if not isinstance(wanted, mlir.RankedTensorType):
            self._require(types={number: wanted}, maps=None)
            return
        self._require(types={number: wanted.element_type}, maps=None)
        if self._condition.ranks.get(number, wanted.rank) != wanted.rank:
            raise _OpaqueError("it asks for different ranks")
        ranks = {**self._condition.ranks, number: wanted.rank}
        self._condition = replace(self._condition, ranks=ranks)
        for dimension in range(wanted.rank):
            if not wanted.is_dynamic_dim(dimension):
                size = wanted.get_dim_size(dimension)
                self._add(Equals(("operand", number, dimension), size))

    def _by_loops(self) -> Condition:
        """Names dimensions by their loop where the indexing maps are known, so that they compare."""
        maps = self._condition.maps
        if not isinstance(maps, mlir.ArrayAttr):
            return self._condition
        affine = [each.value for each in maps if isinstance(each, mlir.AffineMapAttr)]
        loops: dict[Dimension, int] = {}
        for number, each in enumerate(affine):
            for dimension, result in enumerate(each.results):
                if isinstance(result, mlir.AffineDimExpr):
                    loops["operand", number, dimension] = result.position
        roles = self._loops_of_roles(affine)
        loops |= {
            (role, position, 0): loop
            for role, found in roles.items()
            for position, loop in enumerate(found)
        }
        counts = {role: len(found) for role, found in roles.items()}
        ranks = {number: len(each.results) for number, each in enumerate(affine)}
        known = self._condition
        if any(counts.get(role, count) != count for role, count in known.counts.items()) or any(
            ranks.get(number, rank) != rank for number, rank in known.ranks.items()
        ):
            raise _OpaqueError("it asks for other numbers of dimensions than its maps have")

        def by_loop(fact: SizeFact) -> SizeFact:
            loop = loops.get(fact.dimension)
            return fact if loop is None else replace(fact, dimension=("loop", loop, 0))

        return replace(
            known,
            sizes=frozenset(map(by_loop, known.sizes)),
            counts={**known.counts, **counts},
            ranks={**known.ranks, **ranks},
        )

    def _loops_of_roles(self, maps: Sequence[mlir.AffineMap]) -> dict[str, list[int]]:
        """Returns the loops of the roles where the maps tell, in the order in which the compiler does."""
        wanted = self._condition.names
        if "contraction" in self._condition.kinds and len(maps) == _CONTRACTION_OPERANDS:
            return _contraction_roles(maps)
        if wanted is not None and wanted <= _ATTENTION_OUTPUTS.keys():
            (name,) = wanted
            output = maps[len(maps) - _ATTENTION_OUTPUTS[name]]
            found: Any = iree_codegen.get_attention_op_detail(maps[0], maps[1], maps[2], output)
            roles = ("batch", "m", "n", "k1", "k2")
            return {f"attention {role}": list(getattr(found, f"{role}_dims")) for role in roles}
        return {}


_CONTRACTION_OPERANDS = 3


_ATTENTION_OUTPUTS = {"iree_linalg_ext.attention": 1, "iree_linalg_ext.online_attention": 3}


def _contraction_roles(maps: Sequence[mlir.AffineMap]) -> dict[str, list[int]]:
    lhs, rhs, out = (
        {each.position for each in one.results if isinstance(each, mlir.AffineDimExpr)}
        for one in maps
    )
    return {
        "contraction batch": sorted(lhs & rhs & out),
        "contraction m": sorted((lhs & out) - rhs),
        "contraction n": sorted((rhs & out) - lhs),
        "contraction k": sorted((lhs & rhs) - out),
    }


class _Graph:
    """Keys of the graph in a `cast_compatible_dag_from_root`: equal for graphs that match the same payloads.

    Sizes are left out of the keys of the root op, whose operands are constrained on their own.
    """

    def __init__(self, operation: mlir.Operation) -> None:
        self._block = operation.regions[0].blocks[0]
        self._seen_arguments: set[int] = set()
        self.has_free_operands = True

    def own_key(self, operation: mlir.Operation) -> Hashable:
        """Returns the key of an operation but for its operands."""
        return (
            operation.name,
            frozenset(operation.attributes.items()),
            len(operation.results),
            len(operation.operands),
            _regions_key(operation),
        )

    def key(self, root: mlir.Operation) -> Hashable:
        """Returns the key of the graph that ends in `root`."""
        operands = tuple(self._value_key(each) for each in root.operands)
        return self.own_key(root), operands

    def _value_key(self, value: Value) -> Hashable:
        if isinstance(value, mlir.BlockArgument):
            if value.arg_number in self._seen_arguments:
                self.has_free_operands = False  # the same value twice is more than any two
            self._seen_arguments.add(value.arg_number)
            return value.arg_number
        self.has_free_operands = False
        owner = value.owner
        assert isinstance(owner, mlir.OpView | mlir.Operation)
        producer = owner.operation
        if "match.operation_name_only" in producer.attributes:
            return "name", producer.name
        types = tuple(each.type for each in producer.operands)
        return self.own_key(producer), types, tuple(map(self._value_key, producer.operands))


def _regions_key(operation: mlir.Operation) -> Hashable:
    """Returns a key that is equal for regions that do the same, whatever their values are called."""
    numbers: dict[Value, int] = {}

    def number(value: Value) -> Hashable:
        if value not in numbers:
            raise _OpaqueError("a region uses values from around it")
        return numbers[value]

    def region_key(region: mlir.Region) -> Hashable:
        blocks = []
        for block in region.blocks:
            for argument in block.arguments:
                numbers[argument] = len(numbers)
            types = tuple(each.type for each in block.arguments)
            blocks.append(
                (types, tuple(operation_key(each.operation) for each in block.operations))
            )
        return tuple(blocks)

    def operation_key(inner: mlir.Operation) -> Hashable:
        operands = tuple(map(number, inner.operands))
        regions = tuple(map(region_key, inner.regions))
        for result in inner.results:
            numbers[result] = len(numbers)
        types = tuple(each.type for each in inner.results)
        return inner.name, frozenset(inner.attributes.items()), operands, types, regions

    return tuple(map(region_key, operation.regions))


def _is_configured(operation: mlir.Operation) -> bool:
    return bool({names.LOWERING_CONFIG, names.COMPILATION_INFO} & {*operation.attributes})


def _type_attributes(operation: mlir.Operation, wanted: Sequence[str]) -> list[mlir.Type]:
    attributes = [operation.attributes[name] for name in wanted]
    return [each.value for each in attributes if isinstance(each, mlir.TypeAttr)]


def _integer(attribute: mlir.Attribute) -> int:
    assert isinstance(attribute, mlir.IntegerAttr)
    return int(attribute.value)


_READERS: Mapping[str, Callable[[_MatcherReader, mlir.Operation], None]] = {
    "transform.match.operation_name": _MatcherReader._name,  # noqa: SLF001 - a table of the class
    "transform.iree.match.contraction": _MatcherReader._contraction,  # noqa: SLF001
    "transform.iree.match.convolution": _MatcherReader._convolution,  # noqa: SLF001
    "transform.iree.match.attention": _MatcherReader._attention,  # noqa: SLF001
    "transform.iree.match.online_attention": _MatcherReader._online_attention,  # noqa: SLF001
    "transform.iree.match.dims_equal": _MatcherReader._dims_equal,  # noqa: SLF001
    "transform.iree.match.dim_is_multiple_of": _MatcherReader._dim_multiple,  # noqa: SLF001
    "transform.iree.match.dim_bounds": _MatcherReader._dim_bounds,  # noqa: SLF001
    "transform.iree.match.cast_compatible_type": _MatcherReader._cast_compatible,  # noqa: SLF001
    "transform.iree.match.cast_compatible_dag_from_root": _MatcherReader._dag,  # noqa: SLF001
    "transform.iree.match.regions": _MatcherReader._regions,  # noqa: SLF001
    "transform.get_operand": _MatcherReader._operand,  # noqa: SLF001
    names.HAS_NO_LOWERING_CONFIG: _MatcherReader._unconfigured,  # noqa: SLF001
    names.PARAM_CONSTANT: _MatcherReader._nothing,  # noqa: SLF001
    names.YIELD: _MatcherReader._nothing,  # noqa: SLF001
}
