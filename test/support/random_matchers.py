"""Random matchers of matmuls, and matmuls for them, some of whose dimensions are dynamic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from interpreter import apply_spec
from iree.compiler import ir as mlir
from known_dimensions import NOTHING, Known, holds

from tuninglink.matching import ANYTHING, box
from tuninglink.mlir import body, collect, names, symbol_name

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from tuninglink.matching import Condition, Dimension
    from tuninglink.specs import Spec

MAPS = {
    "nt": ("(m, n, k) -> (m, k)", "(m, n, k) -> (n, k)", "(m, n, k) -> (m, n)"),
    "nn": ("(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)"),
}
SIZES = (16, 32, 48, 64, 100, 128, None)


@dataclass(frozen=True)
class Matmul:
    """A payload operation; a size of None is dynamic.

    `forgotten` are dimensions, as (operand, dimension), which are dynamic even if their loops have sizes elsewhere.
    `known` are the facts that the compiler has about dynamic dimensions.
    """

    maps: str
    m: int | None
    n: int | None
    k: int | None
    element: str = "f16"
    forgotten: frozenset[tuple[int, int]] = frozenset()
    known: Mapping[tuple[int, int], Known] = field(default_factory=dict)

    def dimensions(self) -> dict[tuple[int, int], int | Known]:
        """Return each dimension of each operand: its size, or the known facts about it."""
        rhs = (self.n, self.k) if self.maps == "nt" else (self.k, self.n)
        found: dict[tuple[int, int], int | Known] = {}
        for operand, sizes in enumerate(((self.m, self.k), rhs, (self.m, self.n))):
            for dimension, size in enumerate(sizes):
                place = operand, dimension
                is_dynamic = size is None or place in self.forgotten
                found[place] = self.known.get(place, NOTHING) if is_dynamic else size
        return found

    def shapes(self) -> tuple[str, str, str]:
        dimensions = self.dimensions()
        shapes = []
        for operand, element in enumerate((self.element, self.element, "f32")):
            sizes = (dimensions[operand, dimension] for dimension in range(2))
            text = "x".join("?" if isinstance(size, Known) else str(size) for size in sizes)
            shapes.append(f"tensor<{text}x{element}>")
        return shapes[0], shapes[1], shapes[2]

    def text(self, number: int) -> str:
        """Return a function with the operation, whose operands follow from the known facts."""
        lines, operands = [], []
        for operand, shape in enumerate(self.shapes()):
            sizes = []
            for dimension in range(2):
                known = self.dimensions()[operand, dimension]
                if isinstance(known, Known):
                    size = f"%size_{operand}_{dimension}"
                    lines.append(f"{size} = {known.text(f'%any_{operand}_{dimension}')} : index")
                    sizes.append(size)
            operands.append(f"%operand_{operand}")
            lines.append(f"{operands[-1]} = tensor.empty({', '.join(sizes)}) : {shape}")
        body = "\n            ".join([*lines, f"%0 = {self.operation(*operands)}"])
        arguments = ", ".join(
            f"%any_{operand}_{dimension}: index" for operand in range(3) for dimension in range(2)
        )
        return f"""
          func.func @f{number}({arguments}) -> {self.shapes()[2]} {{
            {body}
            return %0 : {self.shapes()[2]}
          }}"""

    def operation(self, lhs: str, rhs: str, out: str) -> str:
        types = self.shapes()
        maps = ", ".join(f"affine_map<{each}>" for each in MAPS[self.maps])
        return f"""linalg.generic {{indexing_maps = [{maps}],
                iterator_types = ["parallel", "parallel", "reduction"]}}
              ins({lhs}, {rhs} : {types[0]}, {types[1]}) outs({out} : {types[2]}) {{
            ^bb0(%l: {self.element}, %r: {self.element}, %o: f32):
              %wide_l = arith.extf %l : {self.element} to f32
              %wide_r = arith.extf %r : {self.element} to f32
              %product = arith.mulf %wide_l, %wide_r : f32
              %sum = arith.addf %o, %product : f32
              linalg.yield %sum : f32
            }} -> {types[2]}"""


def contraction(element: str, maps: str | None, *facts: str) -> str:
    """Return the body of a matcher of contractions."""
    wanted = ""
    if maps:
        wanted = ", indexing_maps = [" + ", ".join(f"affine_map<{m}>" for m in MAPS[maps]) + "]"
    return f"""
      %b, %m, %n, %k = transform.iree.match.contraction %op,
        lhs_type = {element}, rhs_type = {element}, output_type = f32{wanted}
        : !transform.any_op -> !transform.param<i64>
      %lhs = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
      %rhs = transform.get_operand %op[1] : (!transform.any_op) -> !transform.any_value
      """ + "\n".join(facts)


def graph(matmul: Matmul) -> str:
    """Return the body of a matcher of one operation, written out."""
    lhs, rhs, out = matmul.shapes()
    return f"""
      %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {{
        ^bb0(%lhs: {lhs}, %rhs: {rhs}, %out: {out}):
          %0 = {matmul.operation("%lhs", "%rhs", "%out")}
      }} : (!transform.any_op) -> (!transform.any_value, !transform.any_value)"""


def dims(role: str, size: int) -> str:
    return f"transform.iree.match.dims_equal %{role}, [{size}] : !transform.param<i64>"


def multiple(operand: str, dim: int, factor: int) -> str:
    return f"transform.iree.match.dim_is_multiple_of %{operand}[{dim}], {factor} : !transform.any_value"


def bounds(operand: str, dim: int, low: int | None, high: int | None) -> str:
    # In the generic form: the other one does not parse its own `none`.
    ends = {"lower_bound": low, "upper_bound": high}
    given = "".join(f", {name} = {end} : i64" for name, end in ends.items() if end is not None)
    return (
        f'"transform.iree.match.dim_bounds"(%{operand}) <{{dim = {dim} : i64{given}}}> '
        ": (!transform.any_value) -> ()"
    )


def cast(operand: str, type_: str) -> str:
    return f"transform.iree.match.cast_compatible_type %{operand} = {type_} : !transform.any_value"


RESULT = """
      transform.named_sequence @result(%op: !transform.any_op {transform.readonly})
          -> !transform.any_value {
        %result = transform.get_result %op[0] : (!transform.any_op) -> !transform.any_value
        transform.yield %result : !transform.any_value
      }"""
"""A sequence that looks at a result, which only an included one can."""


def of_result(fact: str, name: str = "result") -> str:
    """Return the matcher op that requires a fact about the result, under a name."""
    return f"""
      %{name} = transform.include @library::@result failures(propagate) (%op)
        : (!transform.any_op) -> !transform.any_value
      {fact}"""


def random_body(chance: random.Random, maps: str | None = None) -> str:
    if maps is None and chance.random() < 0.2:
        return graph(Matmul(chance.choice(["nt", "nn"]), *(chance.choice(SIZES) for _ in range(3))))
    facts = []
    for number in range(chance.randint(0, 2)):
        result = f"result_{number}"
        size = chance.choice([each for each in SIZES if each])
        facts.append(
            chance.choice(
                [
                    dims(chance.choice("mnk"), size),
                    multiple(
                        chance.choice(["lhs", "rhs"]),
                        chance.randint(0, 1),
                        chance.choice([4, 8, 16, 32]),
                    ),
                    bounds(
                        "lhs",
                        chance.randint(0, 1),
                        chance.choice([None, 32, 33]),
                        chance.choice([None, 64, 99]),
                    ),
                    cast("lhs", f"tensor<?x{size}xf16>"),
                    cast("lhs", f"tensor<{size}x?xf16>"),
                    cast("rhs", f"tensor<?x{size}xf16>"),
                    of_result(cast(result, f"tensor<?x{size}xf32>"), result),
                    of_result(bounds(result, chance.randint(0, 1), 32, None), result),
                ]
            )
        )
    return contraction("f16", maps or chance.choice(["nt", "nt", "nn", None]), *facts)


def random_payloads(chance: random.Random, count: int) -> list[Matmul]:
    return [
        Matmul(
            chance.choice(["nt", "nn"]),
            *(chance.choice(SIZES) for _ in range(3)),
            forgotten=frozenset(
                (chance.randint(0, 2), chance.randint(0, 1))
                for _ in range(chance.choice([0, 0, 2]))
            ),
        )
        for _ in range(count)
    ]


PLACES = {
    "nt": {"m": [(0, 0), (2, 0)], "n": [(1, 0), (2, 1)], "k": [(0, 1), (1, 1)]},
    "nn": {"m": [(0, 0), (2, 0)], "n": [(1, 1), (2, 1)], "k": [(0, 1), (1, 0)]},
}
"""The dimensions of operands that run over a loop, in order."""


def payload_of(maps: str, witness: Mapping[Dimension, int | None], condition: Condition) -> Matmul:
    """Return a payload with the sizes of a witness; dynamic ones only have the facts that a condition requires."""
    sizes: dict[str, int] = {"m": 16, "n": 16, "k": 16}
    forgotten = set()
    known = {}
    asked = box(condition.sizes)
    for (kind, number, occurrence), size in witness.items():
        loop = "mnk"[number] if kind == "loop" else kind.removeprefix("contraction ")
        if size is None:
            place = PLACES[maps][loop][occurrence]
            forgotten.add(place)
            each = asked.get((kind, number, occurrence), ANYTHING)
            known[place] = Known(each.low, each.high, each.factor)
        else:
            sizes[loop] = size
    return Matmul(maps, **sizes, forgotten=frozenset(forgotten), known=known)


def spec_text(bodies: Sequence[str], values: Sequence[str] | None = None, helpers: str = "") -> str:
    """Return a spec in default-entrypoint form.

    Args:
        bodies: those of the matchers, which look at `%op`.
        values: what the attribute `who` becomes where each entry matches; the number of the entry if left out.
        helpers: sequences that the matchers may include; `@library::@result` is there.
    """
    named = values or [str(number) for number in range(len(bodies))]
    matchers = "\n".join(
        f"""
      transform.named_sequence @match_{number}(%op: !transform.any_op {{transform.readonly}})
          -> (!transform.any_op, !transform.any_param) {{
        {body}
        %who = transform.param.constant "{value}" -> !transform.any_param
        transform.yield %op, %who : !transform.any_op, !transform.any_param
      }}"""
        for number, (body, value) in enumerate(zip(bodies, named, strict=True))
    )
    pairs = ", ".join(f"@match_{number} -> @apply" for number in range(len(bodies)))
    return f"""
    module attributes {{transform.with_named_sequence,
                        iree_codegen.tuning_spec_with_default_entrypoint}} {{
      {helpers}
      module @library attributes {{transform.with_named_sequence}} {{ {RESULT} }}
      {matchers}
      transform.named_sequence @apply(%op: !transform.any_op {{transform.readonly}},
                                      %who: !transform.any_param {{transform.readonly}}) {{
        transform.annotate %op "who" = %who : !transform.any_op, !transform.any_param
        transform.yield
      }}
      transform.named_sequence @__kernel_config(%root: !transform.any_op {{transform.consumed}})
          -> !transform.any_op attributes {{iree_codegen.tuning_spec_entrypoint}} {{
        %0 = transform.foreach_match in %root {pairs} : (!transform.any_op) -> !transform.any_op
        transform.yield %0 : !transform.any_op
      }}
    }}"""


def payload_text(payloads: Sequence[Matmul]) -> str:
    """Return a program with a function for each of them."""
    return "\n".join(each.text(number) for number, each in enumerate(payloads))


def decisions(spec: Spec, payloads: Sequence[Matmul]) -> dict[int, str]:
    """Return the value of `who` that the interpreter sets on each matching payload."""
    found: dict[int, str] = {}
    module = apply_spec(spec, payload_text(payloads))
    for function in collect(module, names.FUNCTION):
        for operation in body(function):
            who = operation.attributes.get("who")
            if isinstance(who, mlir.StringAttr):
                found[int((symbol_name(function) or "")[1:])] = who.value
    return found


def as_known(condition: Condition, payload: Matmul) -> bool:
    """Return whether a condition on loops of matmuls with the maps of `payload` holds for its sizes."""
    dimensions = payload.dimensions()
    return all(
        holds(fact, dimensions[PLACES[payload.maps]["mnk"[loop]][occurrence]])
        for fact in condition.sizes
        for _, loop, occurrence in [fact.dimension]
    )
