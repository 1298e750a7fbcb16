"""Matchers of convolutions, attentions and regions: their condition holds where the interpreter finds a match."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from interpreter import apply_spec, numbered_attributes
from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, linalg
from matched_operations import ANY_OP, PARAM, spec_of

from tuninglink.iree import OpKind, StructuredOp
from tuninglink.matching import Condition, MatcherReader, Opaque, exact_condition, regions_key
from tuninglink.mlir import collect, names, parse_module, visit
from tuninglink.specs import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tuninglink.matching import HasExtent

CONTEXT = mlir.Context()
ANY_VALUE = "!transform.any_value"


def tensor(*shape: int, element: str) -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


# --- Payloads: each the text of one operation and the types of what it is given ---------------------------

Payload = tuple[str, list[str], str]
"""An operation over `%0`, `%1` and so on with its number to be filled in, their types, and its results."""


def operands(types: Sequence[str], inputs: int) -> str:
    """Return `ins` and `outs`."""
    values = [f"%{index}" for index in range(len(types))]
    parts = (values[:inputs], types[:inputs]), (values[inputs:], types[inputs:])
    ins, outs = (f"({', '.join(each)} : {', '.join(kinds)})" for each, kinds in parts)
    return f"ins{ins} outs{outs}"


CONVOLUTIONS: Mapping[
    str, Callable[[int, int, int, int, int], tuple[list[int], list[int], list[int]]]
] = {
    "conv_2d_nhwc_hwcf": lambda n, size, c, f, step: (
        [n, size * step + 2, size * step + 2, c],
        [3, 3, c, f],
        [n, (size * step - 1) // step + 1, (size * step - 1) // step + 1, f],
    ),
    "conv_2d_nchw_fchw": lambda n, size, c, f, step: (
        [n, c, size * step + 2, size * step + 2],
        [f, c, 3, 3],
        [n, f, (size * step - 1) // step + 1, (size * step - 1) // step + 1],
    ),
    "conv_1d_nwc_wcf": lambda n, size, c, f, step: (
        [n, size * step + 2, c],
        [3, c, f],
        [n, (size * step - 1) // step + 1, f],
    ),
    "depthwise_conv_2d_nhwc_hwc": lambda n, size, c, _, step: (
        [n, size * step + 2, size * step + 2, c],
        [3, 3, c],
        [n, (size * step - 1) // step + 1, (size * step - 1) // step + 1, c],
    ),
}


def convolution(chance: random.Random) -> Payload:
    name, step = chance.choice(list(CONVOLUTIONS)), chance.choice([1, 1, 2])
    element = chance.choice(["f16", "f16", "f32"])
    sizes = (
        chance.choice([1, 2]),
        chance.choice([4, 8]),
        chance.choice([8, 16]),
        chance.choice([8, 24]),
    )
    image, weights, output = CONVOLUTIONS[name](*sizes, step)
    types = [
        tensor(*image, element=element),
        tensor(*weights, element=element),
        tensor(*output, element="f32"),
    ]
    spatial = 1 if "1d" in name else 2
    steps = f"dilations = dense<1> : tensor<{spatial}xi64>, strides = dense<{step}> : tensor<{spatial}xi64>"
    return f"linalg.{name} {{{steps}, NUMBER}} {operands(types, 2)} -> {types[2]}", types, types[2]


MAPS = {
    "plain": "(b, m, n, k1, k2) -> ({})",
    "key": ("b, k2, k1", "b, k1, k2"),
    "value": ("b, k2, n", "b, n, k2"),
}


def attention(chance: random.Random) -> Payload:
    size = {"b": chance.choice([1, 4]), "m": chance.choice([64, 128]), "n": 64}
    size |= {"k1": chance.choice([32, 64]), "k2": chance.choice([128, 256])}
    element, output = "f16", chance.choice(["f16", "f32"])
    is_online = chance.random() < 0.5
    accesses = ["b, m, k1", chance.choice(MAPS["key"]), chance.choice(MAPS["value"]), "", "b, m, n"]
    accesses += ["b, m", "b, m"] if is_online else []
    maps = ", ".join(f"affine_map<{MAPS['plain'].format(each)}>" for each in accesses)
    elements = [element, element, element, element, "f32" if is_online else output, "f32", "f32"]
    types = [
        tensor(*(size[loop] for loop in access.split(", ")), element=kind) if access else kind
        for access, kind in zip(accesses, elements, strict=False)
    ]
    name = "online_attention" if is_online else "attention"
    results = ", ".join(types[4:])
    text = (
        f"iree_linalg_ext.{name} <{{indexing_maps = [{maps}]}}> {{NUMBER}} {operands(types, 4)} {{\n"
        f"    ^bb0(%score: f32):\n      iree_linalg_ext.yield %score : f32\n    }} -> {results}"
    )
    return text, types, results


BODIES = {
    "add": "%x = arith.addf %a, %b : f32\n linalg.yield %x : f32",
    "twice": "%y = arith.addf %a, %b : f32\n linalg.yield %y : f32",
    "swapped": "%x = arith.addf %b, %a : f32\n linalg.yield %x : f32",
    "multiply": "%x = arith.mulf %a, %b : f32\n linalg.yield %x : f32",
    "add and multiply": "%x = arith.addf %a, %b : f32\n %y = arith.mulf %x, %c : f32\n linalg.yield %y : f32",
    "fast": "%x = arith.addf %a, %b fastmath<fast> : f32\n linalg.yield %x : f32",
    "number": "%x = arith.constant 1.0 : f32\n %y = arith.addf %a, %x : f32\n linalg.yield %y : f32",
    "index": (
        "%i = linalg.index 0 : index\n %j = arith.index_cast %i : index to i32\n"
        " %x = arith.sitofp %j : i32 to f32\n linalg.yield %x : f32"
    ),
}


def generic(body: str, rows: int, columns: int, number: str) -> tuple[str, list[str]]:
    types = [tensor(rows, columns, element="f32")] * 3
    maps = ", ".join(["affine_map<(d0, d1) -> (d0, d1)>"] * 3)
    text = (
        f'linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}} '
        f"{operands(types, 2)}{number} {{\n    ^bb0(%a: f32, %b: f32, %c: f32):\n      {BODIES[body]}\n"
        f"    }} -> {types[2]}"
    )
    return text, types


def elementwise(chance: random.Random) -> Payload:
    shape = chance.choice([4, 8]), chance.choice([16, 32])
    text, types = generic(chance.choice(list(BODIES)), *shape, " attrs = {NUMBER}")
    return text, types, types[2]


def program(payloads: Sequence[Payload]) -> str:
    functions = []
    for number, (text, types, results) in enumerate(payloads):
        arguments = ", ".join(f"%{index}: {each}" for index, each in enumerate(types))
        count = len(results.split(", tensor"))
        left = "%r" if count == 1 else f"%r:{count}"
        functions.append(
            f"func.func @f{number}({arguments}) {{\n  {left} = {text}\n  return\n}}".replace(
                "NUMBER", f"number = {number} : i64"
            )
        )
    return "module {\n" + "\n".join(functions) + "\n}"


# --- Matchers --------------------------------------------------------------------------------------------

ROLES = {
    "convolution": ("batch", "output_image", "output_channel", "filter", "input_channel", "depth"),
    "attention": ("batch", "m", "n", "k1", "k2"),
}
SIZES = (1, 2, 3, 4, 8, 16, 24, 32, 64, 128, 256)


def facts(chance: random.Random, roles: int) -> str:
    """Return random demands on sizes, some of which every payload fails."""
    lines = []
    for _ in range(chance.choice([0, 1, 1, 2])):
        operand, dimension = chance.choice([0, 0, 1, 2]), chance.choice([0, 1, 2])
        value = f"%v{len(lines)}"
        get = f"  {value} = transform.get_operand %op[{operand}] : ({ANY_OP}) -> {ANY_VALUE}\n"
        factor, bound = chance.choice([1, 2, 4, 8, 64]), chance.choice([2, 8, 16, 64, 100])
        sizes = ", ".join(
            str(chance.choice([*SIZES, -1, -1])) for _ in range(chance.choice([1, 1, 2]))
        )
        end = chance.choice(["lower_bound", "upper_bound"])
        bounds = (
            f'  "transform.iree.match.dim_bounds"({value}) <{{{{dim = {dimension} : i64, '
            f"{{end}} = {{bound}} : i64}}}}> : ({ANY_VALUE}) -> ()\n"
        )
        lines.append(
            chance.choice(
                [
                    f"  transform.iree.match.dims_equal %d#{chance.randrange(roles)}, [{sizes}] : {PARAM}\n",
                    f"{get}  transform.iree.match.dim_is_multiple_of {value}[{dimension}], {factor} : {ANY_VALUE}\n",
                    get + bounds.format(end=end, bound=bound),
                ]
            )
        )
    return "".join(lines)


def maps_of(operation: mlir.Operation) -> str:
    return str(StructuredOp(operation).maps_attribute)


def convolution_matcher(chance: random.Random, seen: Sequence[mlir.Operation]) -> str:
    element = chance.choice(["f16", "f16", "f32"])
    wanted = f"lhs_type = {element}, rhs_type = {element}, output_type = f32"
    if chance.random() < 0.6:
        wanted += f", indexing_maps = {maps_of(chance.choice(seen))}"
    head = f"  %d:8 = transform.iree.match.convolution %op, {wanted} : {ANY_OP} -> {PARAM}\n"
    return head + facts(chance, 6)


def attention_matcher(chance: random.Random, seen: Sequence[mlir.Operation]) -> str:
    example = chance.choice(seen)
    output = chance.choice(["f16", "f32"])
    wanted = "query_type = f16, key_type = f16, value_type = f16"
    is_online = example.name == names.ONLINE_ATTENTION
    if is_online:
        wanted += ", scale_type = f16, output_type = f32, max_type = f32, sum_type = f32"
    else:
        wanted += f", output_type = {output}"
    wanted += f", indexing_maps = {maps_of(example)}"
    kind = "online_attention" if is_online else "attention"
    head = f"  %d:5 = transform.iree.match.{kind} %op, {wanted} : {ANY_OP} -> {PARAM}\n"
    return head + facts(chance, 5)


def regions_matcher(chance: random.Random, _: Sequence[mlir.Operation]) -> str:
    text, types = generic(chance.choice(list(BODIES)), 4, 16, "")
    arguments = ", ".join(f"%{index}: {each}" for index, each in enumerate(types))
    return f"  transform.iree.match.regions %op : {ANY_OP} {{\n    ^bb0({arguments}):\n    %r = {text}\n  }}\n"


# --- What a condition asks for, looked up in an operation with the compiler's help -------------------------


def roles_of(operation: mlir.Operation) -> dict[str, list[int]]:
    """Return the loops of each role, as the compiler reports them."""
    if operation.name in (names.ATTENTION, names.ONLINE_ATTENTION):
        maps = [each.value for each in operation.attributes["indexing_maps"]]
        found: Any = iree_codegen.get_attention_op_detail(maps[0], maps[1], maps[2], maps[4])
        return {
            f"attention {each}": list(getattr(found, f"{each}_dims")) for each in ROLES["attention"]
        }
    if operation.name.startswith("linalg.") and linalg.isa_convolution_op(operation):
        found = linalg.infer_convolution_dimensions(operation)
        return {
            f"convolution {each}": list(getattr(found, "filter_loop" if each == "filter" else each))
            for each in ROLES["convolution"]
        }
    return {}


def sizes_of(operation: mlir.Operation) -> dict[int, int]:
    """Return the sizes of the loops that index a dimension of an operand."""
    return {
        result.position: operand.type.shape[dimension]
        for operand, each in zip(operation.operands, StructuredOp(operation).maps, strict=True)
        for dimension, result in enumerate(each.results)
        if isinstance(result, mlir.AffineDimExpr)
    }


def holds(condition: Condition, operation: mlir.Operation) -> bool:
    """Return whether a condition holds for an operation with static shapes."""
    roles = roles_of(operation)
    return has_the_form(condition, operation, roles) and has_the_sizes(condition, operation, roles)


def has_the_form(
    condition: Condition, operation: mlir.Operation, roles: Mapping[str, list[int]]
) -> bool:
    types = [each.type for each in operation.operands]
    elements = [each.element_type if isinstance(each, mlir.ShapedType) else each for each in types]
    ranks = [each.rank if isinstance(each, mlir.ShapedType) else 0 for each in types]
    is_linalg = operation.name.startswith("linalg.")
    tests = {
        OpKind.CONTRACTION: linalg.isa_contraction_op,
        OpKind.CONVOLUTION: linalg.isa_convolution_op,
    }
    kinds = {kind for kind, test in tests.items() if is_linalg and test(operation)}
    assert condition.root is None
    return (
        (condition.names is None or operation.name in condition.names)
        and condition.kinds <= kinds
        and (condition.maps is None or condition.maps.text == maps_of(operation))
        and condition.operands <= len(types)
        and all(str(elements[number]) == each for number, each in condition.types.items())
        and all(str(types[number]) == each for number, each in condition.scalars.items())
        and all(isinstance(types[number], mlir.ShapedType) for number in condition.tensors)
        and all(ranks[number] == each for number, each in condition.ranks.items())
        and all(ranks[number] >= each for number, each in condition.least_ranks.items())
        and all(len(roles[role]) == each for role, each in condition.counts.items())
        and (condition.regions is None or condition.regions == regions_key(operation))
    )


def has_the_sizes(
    condition: Condition, operation: mlir.Operation, roles: Mapping[str, list[int]]
) -> bool:
    loops = sizes_of(operation)

    def size(kind: str, number: int, dimension: int) -> int:
        if kind == "loop":
            return loops[number]
        if kind == "operand":
            return operation.operands[number].type.shape[dimension]
        return loops[roles[kind][number]]

    def fits(fact: HasExtent) -> bool:
        found, asked = size(*fact.dimension), fact.extent
        is_between = asked.low <= found <= asked.high
        return asked.size in (None, found) and is_between and found % asked.factor == 0

    return all(map(fits, condition.sizes))


KINDS = {
    "convolution": (convolution, convolution_matcher),
    "attention": (attention, attention_matcher),
    "regions": (elementwise, regions_matcher),
}


def numbered(text: str) -> dict[int, mlir.Operation]:
    """Return the operations of a program that have a number."""
    found: dict[int, mlir.Operation] = {}
    module = parse_module(text.encode(), "payload.mlir", CONTEXT)
    _kept.append(module)

    def visitor(operation: mlir.Operation) -> None:
        number = operation.attributes.get("number")
        if isinstance(number, mlir.IntegerAttr):
            found[number.value] = operation

    visit(module, visitor)
    return found


_kept: list[mlir.Operation] = []
"""Operations live as long as their module."""


CONTRADICTIONS = (
    "it requires other numbers of dimensions than its maps have",
    "it requires different numbers of dimensions",
)
"""Reasons for opaque matchers in this test: nothing can match them."""


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_conditions_hold_where_the_interpreter_matches(kind: str, seed: int) -> None:
    chance = random.Random(f"{kind} {seed}")
    payload, matcher = KINDS[kind]
    strangers = [other(chance) for other, _ in KINDS.values() for _ in range(3)]
    text = program([payload(chance) for _ in range(40)] + strangers)
    operations = numbered(text)
    assert len(operations) == 40 + len(strangers)
    own = [operations[number] for number in range(40)]
    matches = 0
    for _ in range(20):
        body = matcher(chance, own)
        spec = Spec(parse_module(spec_of([body]).encode(), "test.mlir", CONTEXT), "test.mlir")
        condition = exact_condition(
            MatcherReader().read_sequence(collect(spec.module, names.NAMED_SEQUENCE)[1])
        )
        expected = set(numbered_attributes(apply_spec(spec, text), "tuned"))
        if isinstance(condition, Opaque):
            is_contradiction = condition.reason in CONTRADICTIONS
            assert is_contradiction or "; write one size for each" in condition.reason, body
            assert not expected, body
            continue
        found = {number for number, each in operations.items() if holds(condition, each)}
        assert found == expected, body
        matches += bool(expected)
    assert matches > 2
