"""The ops that matchers see in the dispatches of a program, and entries that match exactly these.

They come from the compiler itself: its IR is printed before the pass in which it applies specs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compilations import run_compiler
from iree.compiler import ir as mlir
from iree.compiler.dialects import linalg

from tuninglink.mlir import collect, names, symbol_name, thread_context, visit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ANY_OP = "!transform.any_op"
PARAM = "!transform.param<i64>"
APPLYING_PASS = "iree-codegen-materialize-user-configs"
HEADER = "// -----// IR Dump Before MaterializeUserConfigsPass"
CONFIGURATION = "#iree_codegen.lowering_config<tile_sizes = [[{}]]>"


@dataclass(frozen=True)
class Seen:
    """A dispatch.

    Attributes:
        name: the name of its function.
        source: its module at `executable-sources`.
        prepared: its module as matchers see it.
        program: the owner of `source`, which lives as long as this.
    """

    name: str
    source: mlir.Operation
    prepared: mlir.Operation
    program: mlir.Operation


def compile_with_dumps(tool: str, *arguments: str, source: str) -> tuple[str, list[mlir.Operation]]:
    """Run a tool on `source`; return its output, and each module that specs were about to be applied to."""
    flags = (f"--mlir-print-ir-before={APPLYING_PASS}", "--mlir-disable-threading")
    answer = run_compiler(tool, (*arguments, *flags, "-"), source.encode())
    errors = answer.errors.decode()
    assert answer.code == 0, errors[-2000:]
    dumps = [each.partition("\n")[2] for each in errors.split(HEADER)[1:]]
    modules = [mlir.Module.parse(text, thread_context()).operation for text in dumps]
    return answer.output.decode(), modules


def seen(sources: str, flags: Sequence[str]) -> list[Seen]:
    """Return the dispatches of a program at `executable-sources`."""
    phases = ("--compile-from=executable-sources", "--compile-to=executable-configurations")
    _, prepared = compile_with_dumps("iree-compile", *flags, *phases, "-o=-", source=sources)
    program = mlir.Module.parse(sources, thread_context()).operation
    modules = {
        symbol_name(function): variant.regions[0].blocks[0].operations[1].operation
        for variant in collect(program, names.EXECUTABLE_VARIANT)
        for function in collect(variant, names.FUNCTION)
    }
    found = []
    for module in prepared:
        name = symbol_name(collect(module, names.FUNCTION)[0]) or ""
        source = modules[name]
        assert source.name == names.MODULE
        found.append(Seen(name, source, module, program))
    return found


def matchable(module: mlir.Operation) -> Iterator[mlir.Operation]:
    """Yield the operations that `match.contraction` and the like can match."""
    found: list[mlir.Operation] = []

    def visitor(operation: mlir.Operation) -> None:
        name = operation.name
        is_matched = name in (names.ATTENTION, names.ONLINE_ATTENTION)
        if name.startswith("linalg."):
            is_matched = linalg.isa_contraction_op(operation)
            is_matched |= linalg.isa_convolution_op(operation)
        if is_matched:
            found.append(operation)

    visit(module, visitor)
    yield from found


def matchers_for(operation: mlir.Operation) -> Iterator[str]:
    """Yield the bodies of matchers, in several styles, that match an operation and as little else as can be."""
    kind = _kind(operation)
    types = [operand.type for operand in operation.operands]
    elements = [str(each.element_type) for each in types if isinstance(each, mlir.ShapedType)]
    named = f'  transform.match.operation_name %op ["{operation.name}"] : {ANY_OP}\n'
    operands = "".join(
        f"  %v{n} = transform.get_operand %op[{n}] : ({ANY_OP}) -> !transform.any_value\n"
        f"  transform.iree.match.cast_compatible_type %v{n} = {each} : !transform.any_value\n"
        for n, each in enumerate(types)
    )
    checks = "".join(
        f"  transform.iree.match.dim_is_multiple_of %v{n}[{d}], {size} : !transform.any_value\n"
        f"  transform.iree.match.dim_bounds %v{n}[{d}], umin = {size}, umax = {size} : !transform.any_value\n"
        for n, each in enumerate(types)
        if isinstance(each, mlir.ShapedType) and each.has_static_shape
        for d, size in enumerate(each.shape)
    )
    values = "".join(
        f"  %v{n} = transform.get_operand %op[{n}] : ({ANY_OP}) -> !transform.any_value\n"
        for n in range(len(types))
    )
    yield named + operands
    if kind in ("contraction", "convolution") and len(elements) == 3:
        lhs, rhs, output = elements
        typed = f"lhs_type = {lhs}, rhs_type = {rhs}, output_type = {output}"
        maps = f", indexing_maps = {linalg.get_indexing_maps(operation)}"
        yield _match(kind, typed + maps) + _sizes(operation, kind)
        yield _match(kind, typed) + _sizes(operation, kind)
        yield _match(kind, typed) + operands
        yield _match(kind, typed) + values + checks
        yield _match(kind, typed)
    elif kind.endswith("attention"):
        query, key, value = elements[:3]
        maps = operation.attributes["indexing_maps"]
        typed = f"query_type = {query}, key_type = {key}, value_type = {value}"
        if kind == "attention":
            typed += f", output_type = {elements[-1]}"
        else:
            output, maximum, total = elements[-3:]
            typed += f", scale_type = {types[3]}, output_type = {output}"
            typed += f", max_type = {maximum}, sum_type = {total}"
        yield _match(kind, f"{typed}, indexing_maps = {maps}") + operands
        yield _match(kind, f"{typed}, indexing_maps = {maps}") + values + checks
        yield _match(kind, f"{typed}, indexing_maps = {maps}")


def _kind(operation: mlir.Operation) -> str:
    if operation.name.startswith("iree_linalg_ext."):
        return operation.name.partition(".")[2]
    return "contraction" if linalg.isa_contraction_op(operation) else "convolution"


RESULTS = {"contraction": 4, "convolution": 8, "attention": 5, "online_attention": 5}


def _match(kind: str, demands: str) -> str:
    return (
        f"  %d:{RESULTS[kind]} = transform.iree.match.{kind} %op, {demands} : {ANY_OP} -> {PARAM}\n"
    )


def _sizes(operation: mlir.Operation, kind: str) -> str:
    """Require the sizes of the loops in each role."""
    maps = [each.value for each in linalg.get_indexing_maps(operation)]
    sizes: dict[int, int] = {}
    for each, operand in zip(maps, operation.operands, strict=True):
        for result, size in zip(each.results, operand.type.shape, strict=True):
            if isinstance(result, mlir.AffineDimExpr):
                sizes[result.position] = size
    if kind == "contraction":
        found = linalg.infer_contraction_dimensions(operation)
        roles = [found.batch, found.m, found.n, found.k]
    else:
        found = linalg.infer_convolution_dimensions(operation)
        roles = [
            *(found.batch, found.output_image, found.output_channel),
            *(found.filter_loop, found.input_channel, found.depth),
        ]
    return "".join(
        f"  transform.iree.match.dims_equal %d#{n}, [{', '.join(str(sizes[i]) for i in loops)}] : {PARAM}\n"
        for n, loops in enumerate(roles)
        if all(sizes[loop] >= 0 for loop in loops)
    )


def spec_of(matchers: Sequence[str]) -> str:
    """Return a spec with these matchers, each with its own configuration."""
    lines = [
        "module attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {",
        f"transform.named_sequence @set(%op: {ANY_OP} {{transform.readonly}}, %c: !transform.any_param {{transform.readonly}}) {{",
        f'  transform.annotate %op "tuned" = %c : {ANY_OP}, !transform.any_param',
        "  transform.yield\n}",
    ]
    for number, body in enumerate(matchers):
        lines.append(
            f"transform.named_sequence @m{number}(%op: {ANY_OP} {{transform.readonly}}) -> ({ANY_OP}, !transform.any_param) {{\n"
            f"{body}  %c = transform.param.constant {number} : i64 -> !transform.any_param\n"
            f"  transform.yield %op, %c : {ANY_OP}, !transform.any_param\n}}"
        )
    pairs = ", ".join(f"@m{number} -> @set" for number in range(len(matchers)))
    lines.append(
        f"transform.named_sequence @__kernel_config(%op: {ANY_OP} {{transform.consumed}}) -> {ANY_OP}\n"
        "    attributes {iree_codegen.tuning_spec_entrypoint} {\n"
        f"  %0 = transform.foreach_match in %op {pairs} : ({ANY_OP}) -> {ANY_OP}\n"
        f"  transform.yield %0 : {ANY_OP}\n}}\n}}"
    )
    return "\n".join(lines)
