"""Operations that were renamed, generalized or removed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import dropwhile, islice
from typing import TYPE_CHECKING, Final

from tuninglink.iree import HAS_ATTENTION_PROPERTIES, HAS_BARE_KINDS, elementwise_op
from tuninglink.mlir import names
from tuninglink.upgrading.loops import is_named_operation
from tuninglink.upgrading.rule_definition import OperationSite, Refusal, operation_rule
from tuninglink.upgrading.spec_text import VALUE
from tuninglink.upgrading.trees import Field, Leaf, Node, enumerator, parse

if TYPE_CHECKING:
    from tuninglink.upgrading.outline import SpecOutline
    from tuninglink.upgrading.spec_text import NamedSequence


def _maps(domain: str, *results: str) -> str:
    return ", ".join(f"affine_map<({domain}) -> ({result})>" for result in results)


_MATMUL: Final = "d0, d1, d2"
_BATCHED: Final = "d0, d1, d2, d3"
MAPS: Final = {
    "linalg.matmul_transpose_a": ("linalg.matmul", _maps(_MATMUL, "d2, d0", "d2, d1", "d0, d1")),
    "linalg.matmul_transpose_b": ("linalg.matmul", _maps(_MATMUL, "d0, d2", "d1, d2", "d0, d1")),
    "linalg.batch_matmul_transpose_a": (
        "linalg.batch_matmul",
        _maps(_BATCHED, "d0, d3, d1", "d0, d3, d2", "d0, d1, d2"),
    ),
    "linalg.batch_matmul_transpose_b": (
        "linalg.batch_matmul",
        _maps(_BATCHED, "d0, d1, d3", "d0, d2, d3", "d0, d1, d2"),
    ),
}
"""The present name and indexing maps for each old name."""


@operation_rule(
    *MAPS,
    since=(3, 7),
    before="%r = linalg.matmul_transpose_b ins(%a, %b : tensor<?x?xf16>, tensor<?x?xf16>) "
    "outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>",
    after="%r = linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, "
    "affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>] "
    "ins(%a, %b : tensor<?x?xf16>, tensor<?x?xf16>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>",
    evidence=("llvm#147961",),
)
def transposed_matmuls(site: OperationSite) -> None:
    """`linalg.matmul_transpose_a`, `_b` and their batched forms became `indexing_maps` on the matmul."""
    name, maps = MAPS[site.mark.text]
    site.edits.replace(site.mark.start, site.mark.end, f"{name} indexing_maps = [{maps}]")
    site.changed(f"'{site.mark.text}' is '{name}' with indexing maps")


_SAME: Final = (
    "exp log abs ceil floor negf reciprocal round sqrt rsqrt square tanh erf "
    "add sub mul div div_unsigned powf select"
)
KINDS: Final = {
    **{f"linalg.{kind}": kind for kind in _SAME.split()},
    "linalg.max": "max_signed",
    "linalg.min": "min_signed",
    "linalg.elemwise_unary": "exp",
    "linalg.elemwise_binary": "add",
}
"""The present kind for each old name. The last two had the function as an attribute, with this default."""

_ELEMENTWISE: Final = "linalg.elementwise"


@operation_rule(
    *KINDS,
    _ELEMENTWISE,
    since=(3, 13),
    before="%r = linalg.exp ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>",
    after="%r = linalg.elementwise <exp> ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>",
    evidence=("llvm#147082", "llvm#220916", "llvm#222569"),
)
def elementwise_operations(site: OperationSite) -> None:
    """`linalg.exp` and the other elementwise operations became `linalg.elementwise <exp>`."""
    mark, following = site.mark, list(islice(site.tokens(), 4))
    if mark.text == _ELEMENTWISE:
        is_named = [token.text for token in following] == [
            "kind",
            "=",
            "#linalg.elementwise_kind",
            "<",
        ]
        if is_named and HAS_BARE_KINDS:
            site.edits.replace(following[0].start, following[2].end, "")
            site.changed(f"the kind of '{mark.text}' is written without its name")
        return
    end, kind = mark.end, KINDS[mark.text]
    if mark.text.startswith("linalg.elemwise_") and following and following[0].text == "{":
        end = following[0].end
        # The function in the attributes of an operation.
        attributes = parse(site.source, following[0].start, end)
        assert isinstance(attributes, Node)
        cast = attributes.value("cast")
        if isinstance(cast, Leaf) or (cast is not None and "cast_unsigned" in cast.render()):
            raise Refusal("an elementwise operation with an unsigned cast has no counterpart")
        kind = enumerator(attributes.value("fun")) or kind
    site.edits.replace(mark.start, end, elementwise_op(kind))
    site.changed(f"'{mark.text}' is '{elementwise_op(kind)}'")


_PACKS: Final = {"tensor.pack": "linalg.pack", "tensor.unpack": "linalg.unpack"}


@operation_rule(
    *_PACKS,
    names.MATCH_OPERATION_NAME,
    since=(3, 3),
    before='transform.match.operation_name %op ["tensor.pack"] : !transform.any_op',
    after='transform.match.operation_name %op ["linalg.pack"] : !transform.any_op',
    evidence=("llvm#123902", "iree#19993"),
)
def packs(site: OperationSite) -> None:
    """`tensor.pack` and `tensor.unpack` moved into `linalg`."""
    if site.mark.text in _PACKS:
        site.edits.replace(site.mark.start, site.mark.end, _PACKS[site.mark.text])
        site.changed(f"'{site.mark.text}' is '{_PACKS[site.mark.text]}'")
        return
    for token in site.matched_name_tokens():
        old = token.text.strip('"')
        if old in _PACKS:
            site.edits.replace(token.start, token.end, f'"{_PACKS[old]}"')
            site.changed(f"'{old}' is '{_PACKS[old]}'")


_WITHOUT_EFFECT: Final = {
    "transform.iree.emit_remark": "it only printed a remark",
    "transform.iree.register_match_callbacks": "it only prepared 'transform.iree.match_callback'",
}
_REMOVED: Final = {
    "transform.iree.match_callback": "its callbacks were defined in the compiler "
    "(https://github.com/iree-org/iree/pull/24500)",
    "transform.iree.take_first": "no operation selects one of two handles "
    "(https://github.com/iree-org/iree/pull/24500)",
    "transform.iree.set_contraction_layout_attributes": "since 3.1 pipelines set layouts, from lowering configs; "
    "a script cannot set them",
}


@operation_rule(
    *_WITHOUT_EFFECT,
    *_REMOVED,
    since=(3, 12),
    before='transform.iree.emit_remark "seen" at %op : !transform.any_op\ntransform.yield',
    after="transform.yield",
    evidence=("iree#24500",),
)
def gone_operations(site: OperationSite) -> None:
    """`transform.iree.emit_remark` and `register_match_callbacks` are gone. They do not affect matching.

    An entry that needs `match_callback` or `take_first` is excluded.
    """
    name, source = site.mark.text, site.source
    if name in _REMOVED:
        raise Refusal(f"'{name}' is gone: {_REMOVED[name]}")
    start, end = site.mark.start, _end(site)
    line, stop = source.line_start(start), source.line_end(end)
    is_alone = not source.text[line:start].strip() and not source.text[end:stop].strip()
    if is_alone and stop < len(source.text):
        start, end = line, stop + 1
    site.edits.replace(start, end, "")
    site.decided(f"'{name}' is removed: {_WITHOUT_EFFECT[name]}")


def _end(site: OperationSite) -> int:
    """Return the end of an operation without results."""
    end, is_type = site.mark.end, False
    for token in site.tokens():
        if is_type:
            return token.end
        if token.is_transform or site.mark.text != "transform.iree.emit_remark":
            return end
        is_type = token.text == ":"
        end = token.end
    return end


_FORMS: Final = frozenset({names.MATCH_CONTRACTION, names.MATCH_CONVOLUTION})
_GENERIC: Final = '"linalg.generic"'


@operation_rule(
    names.MATCH_OPERATION_NAME,
    since=(3, 8),
    before="transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
    '  transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op\n'
    "  %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, "
    "output_type = f32 : !transform.any_op -> !transform.param<i64>\n"
    "  %c = transform.param.constant #iree_gpu.derived_thread_config -> !transform.any_param\n"
    "  transform.yield\n}",
    after="transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
    '  transform.match.operation_name %op ["linalg.generic"] : !transform.any_op\n'
    "  %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, "
    "output_type = f32 : !transform.any_op -> !transform.param<i64>\n"
    "  %c = transform.param.constant #iree_gpu.derived_thread_config -> !transform.any_param\n"
    "  transform.yield\n}",
    evidence=("llvm#147961", "iree#21778"),
    is_decisive=False,
)
def matched_names(site: OperationSite) -> None:
    """Named operations are gone, or `linalg.generic` on a GPU when they are matched.

    Next to a DAG or a matcher of its form, the name becomes `linalg.generic`. Otherwise the entry would match nothing,
    and is excluded.
    """
    listed, sequence = site.name_list(), site.sequence
    if listed is None or sequence is None:
        return
    op_names = [token.text.strip('"') for token in site.matched_name_tokens()]
    gone = [name for name in op_names if name in KINDS or name in MAPS]
    named = [name for name in op_names if is_named_operation(name)]
    is_for_gpu = site.generalization.configures_gpu(sequence)
    if not gone and not (is_for_gpu and named and len(named) == len(op_names)):
        return
    # Another matcher op identifies the operation, or the entry is excluded.
    old = (gone or named)[0]
    other_ops = {mark.text for mark in site.outline.marks(sequence.start, sequence.end)}
    if is_for_gpu and names.MATCH_DAG in other_ops:
        site.edits.replace(listed.start, listed.end, f"[{_GENERIC}]")
        site.changed(f"'{old}' is {_GENERIC} on a GPU when it is matched; the DAG identifies it")
        return
    if is_for_gpu and not other_ops.isdisjoint(_FORMS):
        site.edits.replace(listed.start, listed.end, f"[{_GENERIC}]")
        site.decided(
            f"'{old}' is {_GENERIC} on a GPU when it is matched; the other matcher op identifies it, except for the "
            "body"
        )
        return
    what = "is gone" if gone else f"is {_GENERIC} on a GPU when it is matched"
    raise Refusal(
        f"it matches '{old}' by name, which {what} (https://github.com/iree-org/iree/pull/21778), and does not "
        "show its computation; use a matcher with a DAG, or 'transform.iree.match.contraction' or "
        "'.convolution'"
    )


@operation_rule(
    names.MATCH_DAG,
    since=(3, 8),
    before="transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
    "  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {\n"
    "  ^bb0(%a: tensor<?x8xf32>, %b: tensor<8x?xf32>, %c: tensor<?x?xf32>):\n"
    "    %r = linalg.matmul ins(%a, %b : tensor<?x8xf32>, tensor<8x?xf32>) "
    "outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>\n"
    "  } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)\n"
    "  %c = transform.param.constant #iree_gpu.derived_thread_config -> !transform.any_param\n"
    "  transform.yield\n}",
    after="transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
    "  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {\n"
    "  ^bb0(%a: tensor<?x8xf32>, %b: tensor<8x?xf32>, %c: tensor<?x?xf32>):\n"
    "    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, "
    "affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], "
    'iterator_types = ["parallel", "parallel", "reduction"]} '
    "ins(%a, %b : tensor<?x8xf32>, tensor<8x?xf32>) outs(%c : tensor<?x?xf32>) {\n"
    "    ^bb0(%dag_in: f32, %dag_in_0: f32, %dag_out: f32):\n"
    "      %dag_1 = arith.mulf %dag_in, %dag_in_0 : f32\n"
    "      %dag_2 = arith.addf %dag_out, %dag_1 : f32\n"
    "      linalg.yield %dag_2 : f32\n"
    "    } -> tensor<?x?xf32>\n"
    "  } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)\n"
    "  %c = transform.param.constant #iree_gpu.derived_thread_config -> !transform.any_param\n"
    "  transform.yield\n}",
    evidence=("iree#21778", "iree#21955", "iree#20424"),
    is_decisive=False,
)
def generalized_operations(site: OperationSite) -> None:
    """On a GPU, named contractions and convolutions are `linalg.generic` when they are matched.

    A matcher for the named form matches nothing. The compiler's own generalization writes the new form.
    """
    dag = site.outline.dag(site.mark)
    if (
        dag is None
        or site.sequence is None
        or not site.generalization.configures_gpu(site.sequence)
    ):
        return
    generic = site.generalization.dags.get(dag.region.start)
    if generic is not None:
        site.edits.replace(generic.start, generic.end, generic.text)
        site.changed(
            f"'{generic.name}' in the matcher becomes 'linalg.generic', its form on a GPU when it is "
            "matched"
        )


# --- Properties and types in the syntax of operations, and the signature of entry points ---------

_PROPERTIES: Final = frozenset({"indexing_maps", "decomposition_config"})


@operation_rule(
    names.ATTENTION,
    names.ONLINE_ATTENTION,
    since=(3, 13),
    before="%r = iree_linalg_ext.attention {indexing_maps = [#q, #k, #v, #s, #o]} "
    "ins(%q, %k, %v, %s : !q, !k, !v, f16) outs(%o : !o) -> !o",
    after="%r = iree_linalg_ext.attention <{indexing_maps = [#q, #k, #v, #s, #o]}> "
    "ins(%q, %k, %v, %s : !q, !k, !v, f16) outs(%o : !o) -> !o",
    evidence=("iree@v3.13.0:compiler/src/iree/compiler/Dialect/LinalgExt/IR/LinalgExtOps.td",),
)
def attention_properties(site: OperationSite) -> None:
    """The properties of attention operations are in `<{…}>`."""
    first = next(site.tokens(), None)
    if not HAS_ATTENTION_PROPERTIES or first is None or first.text != "{":
        return
    attributes = parse(site.source, first.start, first.end)
    assert isinstance(attributes, Node)
    properties = Node("", "{")
    for field in [item for item in attributes.fields if item.name in _PROPERTIES]:
        attributes.remove_field(field)
        properties.add(field.key, field.value)
    if not properties.fields:
        return
    rest = f" {attributes.render()}" if attributes.fields else ""
    site.edits.replace(first.start, first.end, f"<{properties.render()}>{rest}")
    site.changed(f"the indexing maps of '{site.mark.text}' are in '<{{...}}>'")


_POSITIONS: Final = ("permutation", "projected_permutation", "single", "any")
_NAMES: Final = {
    names.PRINT: ("name", "assume_verified", "use_local_scope", "skip_regions"),
    "transform.split_handle": (
        "pass_through_empty_handle",
        "fail_on_payload_too_small",
        "overflow_result",
    ),
    "transform.match.structured.body": (
        "reduction_position",
        "passthrough",
        "elementwise",
        "contraction",
    ),
    "transform.match.structured.dim": ("parallel", "reduction"),
    "transform.match.structured.init": _POSITIONS,
    "transform.match.structured.input": _POSITIONS,
    "transform.match.structured.result": _POSITIONS,
    "transform.merge_handles": ("deduplicate",),
    names.MATCH_CONTRACTION: ("indexing_maps",),
    names.MATCH_CONVOLUTION: ("indexing_maps",),
    "transform.get_parent_op": (
        "isolated_from_above",
        "allow_empty_results",
        "op_name",
        "deduplicate",
        "nth_parent",
    ),
    "transform.iree.bufferize": ("target_gpu", "test_analysis_only", "print_conflicts"),
}
"""The properties of each operation that follow its operands: `name = "x" skip_regions`."""

_FIRST: Final = frozenset({"transform.merge_handles"})
"""Operations whose properties precede their operands."""

_LISTED: Final = frozenset({names.MATCH_CONTRACTION, names.MATCH_CONVOLUTION})
"""Operations whose properties end the list: `output_type = f32, indexing_maps = […]`."""

_BRACKETS: Final = frozenset({"transform.get_parent_op", "transform.iree.bufferize"})
"""Operations whose properties are in brackets: `<op_name = "x">`."""


@operation_rule(
    *_NAMES,
    since=(3, 12),
    before='transform.print %op {name = "seen"} : !transform.any_op',
    after='transform.print %op name = "seen" : !transform.any_op',
    evidence=("llvm#217290",),
)
def strict_properties(site: OperationSite) -> None:
    """Properties of transform operations left the attribute dictionary."""
    # Find the attribute dictionary.
    operation, previous, group = site.mark.text, site.mark.end, None
    for group in site.head():
        if group.text == "{":
            break
        previous = group.end
    if group is None or group.text != "{":
        return
    tree = parse(site.source, group.start, group.end)
    assert isinstance(tree, Node)
    # Move the properties to the place that the assembly format gives them.
    taken = [field for field in tree.fields if field.name in _NAMES[operation]]
    if not taken:
        return
    for field in taken:
        tree.remove_field(field)
    rest = f" {tree.render()}" if tree.fields else ""
    spelled = [_spelled(field) for field in taken]
    if operation in _FIRST:
        site.edits.insert(site.mark.end, "".join(f" {text}" for text in spelled))
        site.edits.replace(previous, group.end, rest)
    elif operation in _LISTED:
        listed = "".join(f", {text}" for text in spelled)
        site.edits.replace(previous, group.end, listed + rest)
    elif operation in _BRACKETS:
        site.edits.replace(group.start, group.end, f"<{', '.join(spelled)}>{rest}")
    else:
        site.edits.replace(group.start, group.end, f"{' '.join(spelled)}{rest}")
    named = ", ".join(f"'{field.name}'" for field in taken)
    site.changed(f"{named} of '{operation}' moved out of the attributes")


def _spelled(field: Field) -> str:
    if field.key is None:
        return str(field.name)
    value = field.value.text if isinstance(field.value, Leaf) else field.value.render()
    if not value.startswith(('"', "[")):
        value = value.partition(":")[0].strip()
    return f"{field.name} = {value}"


@operation_rule(
    names.MATCH_CONTRACTION,
    names.MATCH_CONVOLUTION,
    since=(3, 8),
    before="%b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, "
    "output_type = f32 : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, "
    "!transform.param<i64>, !transform.param<i64>)",
    after="%b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, "
    "output_type = f32 : !transform.any_op -> !transform.param<i64>",
    evidence=("iree#21981", "iree#22201"),
)
def matcher_types(site: OperationSite) -> None:
    """`match.contraction` and `match.convolution` have one type for all their results, without parentheses."""
    tokens = dropwhile(lambda token: token.text != ":", site.tokens())
    signature = list(islice(tokens, 4))
    if [token.text for token in signature] != [":", "(", "->", "("]:
        return
    source, (_, operand, _, results) = site.source, signature
    types = {word.strip() for word in source.text[results.start + 1 : results.end - 1].split(",")}
    if len(types) != 1:
        raise Refusal(f"the results of '{site.mark.text}' have different types")
    operand_type = source.text[operand.start + 1 : operand.end - 1].strip()
    site.edits.replace(operand.start, results.end, f"{operand_type} -> {types.pop()}")
    site.changed(f"the results of '{site.mark.text}' have one type")


_ANY_OP: Final = "!transform.any_op"


@operation_rule(
    names.NAMED_SEQUENCE,
    since=(3, 1),
    before="transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.readonly}) {\n"
    "  transform.yield\n}",
    after="transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.readonly})"
    " -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {\n"
    "  transform.yield %root : !transform.any_op\n}",
    evidence=("iree#19281", "iree#19449"),
    is_decisive=False,
)
def entry_points(site: OperationSite) -> None:
    """An entry point is marked `iree_codegen.tuning_spec_entrypoint` and returns an operation.

    Without the mark, it is silently dropped next to another spec.
    """
    sequence = site.sequence
    if sequence is None or sequence.body is None or sequence.start != site.mark.start:
        return
    is_marked = _is_marked(site.outline, sequence)
    if sequence.name != names.KERNEL_CONFIG and not is_marked:
        return
    # Annotate the argument.
    group = sequence.arguments
    tokens = list(site.source.tokens(group.start + 1, group.end - 1))
    if [token.text for token in tokens[1:3]] != [":", _ANY_OP]:
        return
    if len(tokens) == 3:  # noqa: PLR2004 - `%root : type`, and no attributes
        searches = any(site.outline.foreach_matches(sequence))
        ownership = names.CONSUMED if searches else names.READONLY
        site.edits.insert(tokens[2].end, f" {{{ownership}}}")
        site.changed(f"the entry point's argument is marked '{ownership}', as its body treats it")
    # Return the root.
    addition, end = "", group.end if sequence.results is None else sequence.results[1]
    if sequence.results is None and _yield(site, sequence, tokens[0].text):
        addition = f" -> {_ANY_OP}"
        site.changed("the entry point returns its argument")
    # Add the mark.
    if not is_marked:
        attributes = sequence.attributes
        if attributes is None:
            addition += f" attributes {{ {names.ENTRY_POINT} }}"
        else:
            inside = site.source.text[attributes.start + 1 : attributes.end - 1].strip()
            comma = ", " if inside else ""
            site.edits.insert(attributes.start + 1, names.ENTRY_POINT + comma)
        site.changed(f"the entry point is marked '{names.ENTRY_POINT}'")
    if addition:
        site.edits.insert(end, addition)


def unmarked(outline: SpecOutline) -> Iterator[NamedSequence]:
    """Yield entry points that today's compiler recognizes only by their name."""
    for sequence in outline.sequences:
        is_runnable = sequence.name == names.KERNEL_CONFIG and sequence.body is not None
        if is_runnable and not _is_marked(outline, sequence):
            yield sequence


def is_entry_point(outline: SpecOutline, sequence: NamedSequence) -> bool:
    """Return whether a sequence is an entry point, by its marker or its name."""
    return sequence.name == names.KERNEL_CONFIG or _is_marked(outline, sequence)


def _is_marked(outline: SpecOutline, sequence: NamedSequence) -> bool:
    marker = sequence.attributes
    return (
        marker is not None and names.ENTRY_POINT in outline.source.text[marker.start : marker.end]
    )


def _yield(site: OperationSite, sequence: NamedSequence, argument: str) -> bool:
    """Make the entry point yield a handle, and return whether that is possible."""
    body = sequence.body
    assert body is not None
    yields = [
        mark
        for mark in site.outline.marks(body.start, body.end)
        if mark.text == names.YIELD and mark.inside == body.start
    ]
    if not yields:
        return False
    value = argument
    for match in site.outline.foreach_matches(sequence):
        value = match.result or ""
        if not value:
            value = _fresh(site.source.text[body.start : body.end])
            site.edits.insert(match.start, f"{value} = ")
    site.edits.insert(yields[-1].end, f" {value} : {_ANY_OP}")
    return True


def _fresh(body: str) -> str:
    taken = set(VALUE.findall(body))
    name, number = "%updated", 0
    while name in taken:
        name, number = f"%updated_{number}", number + 1
    return name
