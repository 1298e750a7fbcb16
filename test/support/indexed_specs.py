"""Random lists of entries that overlap in many ways, and random dispatches that they match in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

SIZES = (4, 6, 8, 16)
ANY_OP = "!transform.any_op"
PARAM = "!transform.param<i64>"
VALUE = "!transform.any_value"
MAPS = {
    "plain": "[affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]",
    "transposed": "[affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]",
}
GUARD = f"  transform.iree.match.has_no_lowering_config %op : {ANY_OP}\n"
HELPER = f"""transform.named_sequence @is_f16(%op: {ANY_OP} {{transform.readonly}}) -> {ANY_OP} {{
  %v = transform.get_operand %op[0] : ({ANY_OP}) -> {VALUE}
  transform.iree.match.cast_compatible_type %v = tensor<?x?xf16> : {VALUE}
  transform.yield %op : {ANY_OP}
}}
"""
ACTIONS = {
    "tuned": f"""transform.named_sequence @tuned(%op: {ANY_OP} {{transform.readonly}}, %c: !transform.any_param {{transform.readonly}}) {{
  transform.annotate %op "tuned" = %c : {ANY_OP}, !transform.any_param
  transform.yield
}}""",
    "configured": f"""transform.named_sequence @configured(%op: {ANY_OP} {{transform.readonly}}, %c: !transform.any_param {{transform.readonly}}) {{
  %tiles = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[4]]> -> !transform.any_param
  transform.annotate %op "lowering_config" = %tiles : {ANY_OP}, !transform.any_param
  transform.annotate %op "tuned" = %c : {ANY_OP}, !transform.any_param
  transform.yield
}}""",
    "nothing": f"""transform.named_sequence @nothing(%op: {ANY_OP} {{transform.readonly}}, %c: !transform.any_param {{transform.readonly}}) {{
  transform.yield
}}""",
}


def random_spec(random: Random, count: int) -> str:
    """Return a spec in default-entrypoint form; most entries are contractions of one kind."""
    marks = "transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint"
    lines = [f"module attributes {{{marks}}} {{", HELPER, *ACTIONS.values()]
    pairs = []
    likely = (random.choice(list(MAPS)), random.choice(("f16", "f32")))
    share_of_others = random.choice((0.0, 0.02, 0.1))
    for number in range(count):
        if random.random() < share_of_others:
            body, configured = _other(random)
        else:
            body, configured = _structured(random, *likely), "%op"
        if random.random() < 0.2:
            body = random.choice((GUARD + body, body + GUARD))
        lines.append(
            f"transform.named_sequence @m{number}(%op: {ANY_OP} {{transform.readonly}})"
            f" -> ({ANY_OP}, !transform.any_param) {{\n{body}"
            f"  %c = transform.param.constant {number} : i64 -> !transform.any_param\n"
            f"  transform.yield {configured}, %c : {ANY_OP}, !transform.any_param\n}}"
        )
        pairs.append(f"@m{number} -> @{random.choice(list(ACTIONS))}")
    lines.append(
        f"transform.named_sequence @__kernel_config(%op: {ANY_OP} {{transform.consumed}}) -> {ANY_OP}\n"
        "    attributes {iree_codegen.tuning_spec_entrypoint} {\n"
        f"  %0 = transform.foreach_match in %op {', '.join(pairs)} : ({ANY_OP}) -> {ANY_OP}\n"
        f"  transform.yield %0 : {ANY_OP}\n}}\n}}"
    )
    return "\n".join(lines)


def _structured(random: Random, maps: str, element: str) -> str:
    """Return the operations of a matcher of contractions."""
    if random.random() < 0.3:
        maps, element = random.choice(list(MAPS)), random.choice(("f16", "f32"))
    kind = random.choice((_contraction, _contraction, _contraction, _typed, _graph))
    body = kind(random, maps, element)
    if random.random() < 0.1:
        body = (
            f"  transform.include @is_f16 failures(propagate) (%op) : ({ANY_OP}) -> {ANY_OP}\n"
            + body
        )
    return body


def _contraction(random: Random, maps: str, element: str) -> str:
    demanded = "" if random.random() < 0.1 else f", indexing_maps = {MAPS[maps]}"
    body = (
        f"  %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = {element},"
        f" rhs_type = {element}, output_type = f32{demanded} : {ANY_OP} -> {PARAM}\n"
    )
    for role in "mnk":
        if random.random() < 0.95:
            size = random.choice((*SIZES, *SIZES, *SIZES, -1))
            body += f"  transform.iree.match.dims_equal %{role}, [{size}] : {PARAM}\n"
    if random.random() < 0.2:
        body += _operand(random, random.choice(("multiple", "bounds")))
    return body


def _operand(random: Random, check: str) -> str:
    number, dimension, size = random.randrange(3), random.randrange(2), random.choice(SIZES)
    body = f"  %v{number} = transform.get_operand %op[{number}] : ({ANY_OP}) -> {VALUE}\n"
    if check == "multiple":
        return f"{body}  transform.iree.match.dim_is_multiple_of %v{number}[{dimension}], {size} : {VALUE}\n"
    return f"{body}  transform.iree.match.dim_bounds %v{number}[{dimension}], umin = 4, umax = {size} : {VALUE}\n"


def _typed(random: Random, maps: str, element: str) -> str:
    body = '  transform.match.operation_name %op ["linalg.generic"] : !transform.any_op\n'
    for number, kind in enumerate(_types(random, maps, element, dynamic=0.2)):
        if random.random() < 0.6:
            body += f"  %v{number} = transform.get_operand %op[{number}] : ({ANY_OP}) -> {VALUE}\n"
            body += f"  transform.iree.match.cast_compatible_type %v{number} = {kind} : {VALUE}\n"
    return body


def _graph(random: Random, maps: str, element: str) -> str:
    kinds = _types(random, maps, element, dynamic=0.2)
    arguments = ", ".join(f"%x{number}: {kind}" for number, kind in enumerate(kinds))
    return (
        f"  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {{\n"
        f"  ^bb0({arguments}):\n"
        f"    %r = {_generic(('%x0', '%x1', '%x2'), kinds, maps, element, '')}\n"
        f"  }} : ({ANY_OP}) -> ({VALUE}, {VALUE})\n"
    )


def _other(random: Random) -> tuple[str, str]:
    """Return matchers of any operation, of several, of those in regions, and ones that reach elsewhere."""
    producer = f"  %p = transform.get_producer_of_operand %op[{random.randrange(3)}] : ({ANY_OP}) -> {ANY_OP}\n"
    parent = f"  %p = transform.get_parent_op %op : ({ANY_OP}) -> {ANY_OP}\n"
    named = "  transform.match.operation_name %op [{}] : !transform.any_op\n"
    wanted = random.sample(
        (
            "linalg.fill",
            "linalg.generic",
            "linalg.matmul",
            "arith.mulf",
            "linalg.yield",
            "func.return",
        ),
        2,
    )
    one = named.format(", ".join(f'"{each}"' for each in wanted))
    return random.choice(
        (
            (one, "%op"),
            (one + producer, "%op"),
            (one + producer, "%p"),
            (one + parent, "%p"),
            (_contraction(random, "plain", "f32") + producer, "%p"),
            ("", "%op") if random.random() < 0.1 else (one, "%op"),
        )
    )


def random_payload(random: Random, count: int) -> str:
    """Return a function with contractions of a few sizes, some dynamic and some inside of another."""
    lines: list[str] = []
    arguments: dict[str, str] = {}
    for number in range(count):
        maps, element = random.choice(list(MAPS)), random.choice(("f16", "f32"))
        kinds = _types(random, maps, element, dynamic=0.05)
        operands = tuple(f"%a{number}_{each}" for each in range(3))
        arguments |= dict(zip(operands, kinds, strict=True))
        if random.random() < 0.5:
            lines.append(
                f"  %f{number} = linalg.fill ins(%zero : f32) outs({operands[2]} : {kinds[2]}) -> {kinds[2]}"
            )
            operands = (*operands[:2], f"%f{number}")
        inner = ""
        if random.random() < 0.2:
            inside = _types(random, maps, element, dynamic=0)
            names = tuple(f"%i{number}_{each}" for each in range(3))
            arguments |= dict(zip(names, inside, strict=True))
            inner = f"    %inner = {_generic(names, inside, maps, element, '', prefix='i')}\n"
        if random.random() < 0.15 and maps == "plain":
            ins = f"{operands[0]}, {operands[1]} : {kinds[0]}, {kinds[1]}"
            operation = f"linalg.matmul ins({ins}) outs({operands[2]} : {kinds[2]}) -> {kinds[2]}"
        else:
            operation = _generic(operands, kinds, maps, element, inner)
        lines.append(f"  %r{number} = {operation}")
    taken = ", ".join(f"{name}: {kind}" for name, kind in arguments.items())
    return "\n".join([f"func.func @payload(%zero: f32, {taken}) {{", *lines, "  return", "}"])


def _types(random: Random, maps: str, element: str, dynamic: float) -> tuple[str, str, str]:
    m, n, k = (str(random.choice(SIZES)) for _ in range(3))

    def one(rows: str, columns: str, element: str) -> str:
        sizes = ["?" if random.random() < dynamic else each for each in (rows, columns)]
        return f"tensor<{'x'.join(sizes)}x{element}>"

    rhs = (k, n) if maps == "plain" else (n, k)
    return one(m, k, element), one(*rhs, element), one(m, n, "f32")


def _generic(
    operands: tuple[str, str, str],
    kinds: tuple[str, str, str],
    maps: str,
    element: str,
    inner: str,
    *,
    prefix: str = "",
) -> str:
    lhs, rhs, out = operands
    x, y, z, wide_x, wide_y, product, total = (f"%{prefix}{each}" for each in "xyzvwps")
    casts = ""
    if element == "f16":
        casts = f"    {wide_x} = arith.extf {x} : f16 to f32\n    {wide_y} = arith.extf {y} : f16 to f32\n"
    factors = f"{wide_x}, {wide_y}" if casts else f"{x}, {y}"
    return (
        f'linalg.generic {{indexing_maps = {MAPS[maps]}, iterator_types = ["parallel", "parallel", "reduction"]}}\n'
        f"    ins({lhs}, {rhs} : {kinds[0]}, {kinds[1]}) outs({out} : {kinds[2]}) {{\n"
        f"  ^bb0({x}: {element}, {y}: {element}, {z}: f32):\n{inner}{casts}"
        f"    {product} = arith.mulf {factors} : f32\n    {total} = arith.addf {z}, {product} : f32\n"
        f"    linalg.yield {total} : f32\n  }} -> {kinds[2]}"
    )
