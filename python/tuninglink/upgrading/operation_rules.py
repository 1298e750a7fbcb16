"""Rules for operations, in the order of their application.

The first ones are for operations that today's parser rejects. Those after are for operations that it reads and that
today's compiler interprets differently; they apply to old specs only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import dropwhile, islice, pairwise
from typing import Final

from tuninglink.iree import HAS_ATTENTION_PROPERTIES, HAS_BARE_KINDS, elementwise_op
from tuninglink.mlir import names
from tuninglink.upgrading.loops import NAMED_OPERATION, read_affine_map
from tuninglink.upgrading.rule_definition import OperationSite, Refusal, operation_rule
from tuninglink.upgrading.spec_text import TRANSFORM, VALUE, Dag, Token
from tuninglink.upgrading.trees import Leaf, Node, enumerator, parse

_LINALG_EXT: Final = "compiler/src/iree/compiler/Dialect/LinalgExt/IR/LinalgExtOps.td"
_PRODUCTS: Final = (names.MATCH_CONTRACTION, names.MATCH_CONVOLUTION)


def _maps(domain: str, *results: str) -> str:
    return ", ".join(f"affine_map<({domain}) -> ({result})>" for result in results)


_MATMUL: Final = "d0, d1, d2"
_BATCHED: Final = "d0, d1, d2, d3"
_MAPS: Final = {
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


@operation_rule(*_MAPS, since=(3, 7), evidence=("llvm#147961",))
def transposed_matmuls(site: OperationSite) -> None:
    """`linalg.matmul_transpose_a`, `_b` and their batched forms became `indexing_maps` on the matmul."""
    name, maps = _MAPS[site.mark.text]
    site.edits.replace(site.mark.start, site.mark.end, f"{name} indexing_maps = [{maps}]")
    site.changed(f"'{site.mark.text}' is '{name}' with indexing maps")


_SAME: Final = (
    "exp log abs ceil floor negf reciprocal round sqrt rsqrt square tanh erf "
    "add sub mul div div_unsigned powf select"
)
_KINDS: Final = {
    **{f"linalg.{kind}": kind for kind in _SAME.split()},
    "linalg.max": "max_signed",
    "linalg.min": "min_signed",
    "linalg.elemwise_unary": "exp",
    "linalg.elemwise_binary": "add",
}
"""The present kind for each old name. The last two had the function as an attribute, with this default."""

_ELEMENTWISE: Final = "linalg.elementwise"
_NAMED_KIND: Final = ["kind", "=", "#linalg.elementwise_kind", "<"]


@operation_rule(
    *_KINDS, _ELEMENTWISE, since=(3, 13), evidence=("llvm#147082", "llvm#220916", "llvm#222569")
)
def elementwise_operations(site: OperationSite) -> None:
    """`linalg.exp` and the other elementwise operations became `linalg.elementwise <exp>`."""
    mark, following = site.mark, list(islice(site.spec.following(site.mark), 4))
    if mark.text == _ELEMENTWISE:
        if [token.text for token in following] == _NAMED_KIND and HAS_BARE_KINDS:
            site.edits.replace(following[0].start, following[2].end, "")
            site.changed(f"the kind of '{mark.text}' is written without its name")
        return
    end, kind = mark.end, _KINDS[mark.text]
    if mark.text.startswith("linalg.elemwise_") and following and following[0].text == "{":
        end = following[0].end
        # The function in the attributes of an operation.
        attributes = parse(site.spec, following[0].start, end)
        assert isinstance(attributes, Node)
        cast = attributes.value("cast")
        if isinstance(cast, Leaf) or (cast is not None and "cast_unsigned" in cast.render()):
            raise Refusal("an elementwise operation with an unsigned cast has no counterpart")
        kind = enumerator(attributes.value("fun")) or kind
    site.edits.replace(mark.start, end, elementwise_op(kind))
    site.changed(f"'{mark.text}' is '{elementwise_op(kind)}'")


_PACKS: Final = {"tensor.pack": "linalg.pack", "tensor.unpack": "linalg.unpack"}


@operation_rule(
    *_PACKS, names.MATCH_OPERATION_NAME, since=(3, 3), evidence=("llvm#123902", "iree#19993")
)
def packs(site: OperationSite) -> None:
    """`tensor.pack` and `tensor.unpack` moved into `linalg`."""
    if site.mark.text in _PACKS:
        site.edits.replace(site.mark.start, site.mark.end, _PACKS[site.mark.text])
        site.changed(f"'{site.mark.text}' is '{_PACKS[site.mark.text]}'")
        return
    for token in site.matched_names()[1]:
        old = token.text.strip('"')
        if old in _PACKS:
            site.edits.replace(token.start, token.end, f'"{_PACKS[old]}"')
            site.changed(f"'{old}' is '{_PACKS[old]}'")


# --- Properties and types in the syntax of operations --------------------------------------------


@operation_rule(
    names.ATTENTION,
    names.ONLINE_ATTENTION,
    since=(3, 13),
    evidence=(f"iree@v3.13.0:{_LINALG_EXT}",),
)
def attention_properties(site: OperationSite) -> None:
    """The properties of attention operations are in `<{…}>`."""
    first = next(site.spec.following(site.mark), None)
    if not HAS_ATTENTION_PROPERTIES or first is None or first.text != "{":
        return
    attributes = parse(site.spec, first.start, first.end)
    assert isinstance(attributes, Node)
    properties = Node("", "{")
    for name in [item.name for item in attributes.fields]:
        if name in {"indexing_maps", "decomposition_config"}:
            field = attributes.remove(name)
            assert field is not None
            properties.add(field.key, field.value)
    if properties.fields:
        rest = f" {attributes.render()}" if attributes.fields else ""
        site.edits.replace(first.start, first.end, f"<{properties.render()}>{rest}")
        site.changed(f"the indexing maps of '{site.mark.text}' are in '<{{...}}>'")


_POSITIONS: Final = ("permutation", "projected_permutation", "single", "any")
_PROPERTIES: Final = {
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

_BRACKETS: Final = frozenset({"transform.get_parent_op", "transform.iree.bufferize"})
"""Operations whose properties are in brackets: `<op_name = "x">`."""


@operation_rule(*_PROPERTIES, since=(3, 12), evidence=("llvm#217290",))
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
    tree = parse(site.spec, group.start, group.end)
    assert isinstance(tree, Node)
    taken = [field for field in tree.fields if field.name in _PROPERTIES[operation]]
    if not taken:
        return
    spelled = []
    for field in taken:
        tree.remove(field)
        text = str(field.name)
        if field.key is not None:
            value = field.value.render()
            if not value.startswith(('"', "[")):  # without the type of an integer
                value = value.partition(":")[0].strip()
            text += f" = {value}"
        spelled.append(text)
    # Write the properties at the place that the assembly format gives them.
    rest = f" {tree.render()}" if tree.fields else ""
    start = group.start
    if operation == "transform.merge_handles":  # before the operands
        site.edits.insert(site.mark.end, "".join(f" {text}" for text in spelled))
        start, written = previous, ""
    elif operation in _PRODUCTS:  # at the end of the list: `output_type = f32, indexing_maps = […]`
        start, written = previous, "".join(f", {text}" for text in spelled)
    elif operation in _BRACKETS:
        written = f"<{', '.join(spelled)}>"
    else:
        written = " ".join(spelled)
    site.edits.replace(start, group.end, written + rest)
    named = ", ".join(f"'{field.name}'" for field in taken)
    site.changed(f"{named} of '{operation}' moved out of the attributes")


@operation_rule(*_PRODUCTS, since=(3, 8), evidence=("iree#21981", "iree#22201"))
def matcher_types(site: OperationSite) -> None:
    """`match.contraction` and `match.convolution` have one type for all their results, without parentheses."""
    tokens = dropwhile(lambda token: token.text != ":", site.spec.following(site.mark))
    signature = list(islice(tokens, 4))
    if [token.text for token in signature] != [":", "(", "->", "("]:
        return
    spec, (_, operand, _, results) = site.spec, signature
    types = {word.strip() for word in spec.text[results.start + 1 : results.end - 1].split(",")}
    if len(types) != 1:
        raise Refusal(f"the results of '{site.mark.text}' have different types")
    operand_type = spec.text[operand.start + 1 : operand.end - 1].strip()
    site.edits.replace(operand.start, results.end, f"{operand_type} -> {types.pop()}")
    site.changed(f"the results of '{site.mark.text}' have one type")


_EMIT_REMARK: Final = "transform.iree.emit_remark"
_WITHOUT_EFFECT: Final = {
    _EMIT_REMARK: "it only printed a remark",
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


@operation_rule(*_WITHOUT_EFFECT, *_REMOVED, since=(3, 12), evidence=("iree#24500",))
def gone_operations(site: OperationSite) -> None:
    """`transform.iree.emit_remark` and `register_match_callbacks` are gone. They do not affect matching.

    An entry that needs `match_callback` or `take_first` is excluded.
    """
    name, spec = site.mark.text, site.spec
    if name in _REMOVED:
        raise Refusal(f"'{name}' is gone: {_REMOVED[name]}")
    # Its end: `emit_remark` has operands and their type.
    start, end, is_type = site.mark.start, site.mark.end, False
    for token in site.spec.following(site.mark) if name == _EMIT_REMARK else ():
        if token.text.startswith(TRANSFORM) and not is_type:
            break
        end = token.end
        if is_type:
            break
        is_type = token.text == ":"
    # Remove its line if nothing else is on it.
    line, stop = spec.line_start(start), spec.line_end(end)
    is_alone = not spec.text[line:start].strip() and not spec.text[end:stop].strip()
    if is_alone and stop < len(spec.text):
        start, end = line, stop + 1
    site.edits.replace(start, end, "")
    site.decided(f"'{name}' is removed: {_WITHOUT_EFFECT[name]}")


# --- Entry points --------------------------------------------------------------------------------

_ANY_OP: Final = "!transform.any_op"


@operation_rule(
    names.NAMED_SEQUENCE, since=(3, 1), evidence=("iree#19281", "iree#19449"), is_decisive=False
)
def entry_points(site: OperationSite) -> None:
    """An entry point is marked `iree_codegen.tuning_spec_entrypoint` and returns an operation.

    Without the mark, it is silently dropped next to another spec.
    """
    spec, sequence = site.spec, site.sequence
    if sequence is None or sequence.body is None or sequence.start != site.mark.start:
        return
    if not sequence.is_entry_point:
        return
    # Annotate the argument.
    group = sequence.arguments
    tokens = list(spec.inside(group))
    if [token.text for token in tokens[1:3]] != [":", _ANY_OP]:
        return
    matches = sequence.foreach_matches
    if len(tokens) == 3:  # noqa: PLR2004 - `%root : type`, and no attributes
        ownership = names.CONSUMED if matches else names.READONLY
        site.edits.insert(tokens[2].end, f" {{{ownership}}}")
        site.changed(f"the entry point's argument is marked '{ownership}', as its body treats it")
    # Return the root, or the handle that its last `foreach_match` updates.
    addition, end = "", group.end if sequence.results is None else sequence.results[1]
    body = sequence.body
    yields = [
        mark
        for mark in spec.marks(body.start, body.end)
        if mark.text == names.YIELD and mark.inside == body.start
    ]
    if sequence.results is None and yields:
        value = tokens[0].text
        for match in matches:
            value = match.result or ""
            if not value:
                taken = set(VALUE.findall(spec.text[body.start : body.end]))
                value, number = "%updated", 0
                while value in taken:
                    value, number = f"%updated_{number}", number + 1
                site.edits.insert(match.start, f"{value} = ")
        site.edits.insert(yields[-1].end, f" {value} : {_ANY_OP}")
        addition = f" -> {_ANY_OP}"
        site.changed("the entry point returns its argument")
    # Add the mark.
    if not sequence.is_marked:
        attributes = sequence.attributes
        if attributes is None:
            addition += f" attributes {{ {names.ENTRY_POINT} }}"
        else:
            inside = spec.text[attributes.start + 1 : attributes.end - 1].strip()
            comma = ", " if inside else ""
            site.edits.insert(attributes.start + 1, names.ENTRY_POINT + comma)
        site.changed(f"the entry point is marked '{names.ENTRY_POINT}'")
    if addition:
        site.edits.insert(end, addition)


# --- Matchers of attention -----------------------------------------------------------------------

_OPERANDS: Final = ("query", "key", "value", "scale", "output")
_PARAMETER: Final = "!transform.param<i64>"
_ANY_VALUE: Final = "!transform.any_value"


@operation_rule(
    names.MATCH_DAG, since=(3, 12), evidence=("iree#24110", "iree#24125"), is_decisive=False
)
def attention_dags(site: OperationSite) -> None:
    """A DAG of `iree_linalg_ext.attention` became `match.online_attention`.

    The types of query, key and value are checked separately.
    """
    # Read the DAG, and refuse one whose results are used.
    dag = site.spec.dag(site.mark)
    if dag is None or dag.root.text != names.ATTENTION:
        return
    spec, sequence = site.spec, site.sequence
    start, results = spec.results(site.mark.start)
    operand = next(spec.tokens(site.mark.end, dag.region.start), None)
    signature = list(spec.tokens(dag.region.end, spec.closers[site.mark.inside]))[:4]
    if not results or operand is None or sequence is None or len(signature) < 4:  # noqa: PLR2004 - `: () -> ()`
        raise Refusal("the DAG of the attention cannot be read")
    end = signature[-1].end
    for name in results:
        if re.search(re.escape(name) + r"(?![\w$.\-])", spec.text[end : sequence.end]):
            raise Refusal(
                "the results of the DAG are used later, and 'match.online_attention' has no such results"
            )
    # Write the matcher op, and checks of the operand types.
    types = _operand_types(site, dag)
    maps, row = _maps_of_attention(site, spec.tokens(dag.root.end, dag.region.end - 1))
    elements = [(type_.partition("<")[2].removesuffix(">") or type_) for type_ in types[:4]]
    attributes = [
        f"{name}_type = {element.rpartition('x')[2].strip()}"
        for name, element in zip(_OPERANDS, elements, strict=False)
    ]
    attributes.append("output_type = f32, max_type = f32, sum_type = f32")
    attributes.append(f"indexing_maps = {spec.text[maps.start : maps.end - 1]}, {row}, {row}]")
    # Values are named with a prefix that the sequence does not use.
    text = spec.text[sequence.start : sequence.end]

    def fresh(*suffixes: str) -> list[str]:
        prefix = "%"
        while any(re.search(re.escape(prefix + suffix) + r"\b", text) for suffix in suffixes):
            prefix += "attention_"
        return [prefix + suffix for suffix in suffixes]

    parameters = ", ".join(fresh("batch", "m", "n", "k1", "k2"))
    matcher = f"{names.MATCH_ONLINE_ATTENTION} {operand.text}, {', '.join(attributes)}"
    lines = [f"{parameters} = {matcher} : !transform.any_op -> {_PARAMETER}"]
    for number, (value, type_) in enumerate(zip(fresh(*_OPERANDS[:3]), types, strict=False)):
        lines += (
            f"{value} = {names.GET_OPERAND} {operand.text}[{number}] : (!transform.any_op) -> {_ANY_VALUE}",
            f"{names.MATCH_TYPE} {value} = {type_} : {_ANY_VALUE}",
        )
    separator = "\n" + spec.indent(start)
    site.edits.replace(start, end, separator.join(lines))
    site.changed(
        "the DAG of an attention is 'match.online_attention' with the same maps and the same types of query, key "
        "and value"
    )


def _operand_types(site: OperationSite, dag: Dag) -> list[str]:
    """Return the types of the operands of an attention, or refuse a DAG that a matcher cannot express."""
    spec, region = site.spec, dag.region
    # The types of the arguments of the block.
    label, *rest = spec.inside(region)
    arguments: dict[str, str] = {}
    name, start = "", -1
    has_arguments = label.text.startswith("^")
    for token in spec.inside(rest[0]) if has_arguments else ():
        if token.text.startswith("%"):
            name, start = token.text, -1
        elif token.text not in {":", ","}:
            start = token.start if start < 0 else start
            arguments[name] = spec.text[start : token.end]
    # The operands of the attention, in order, and the operations around and inside it.
    tokens = list(spec.tokens(dag.root.end, dag.region.end - 1))
    used = [
        value
        for word, operands in pairwise(tokens)
        if word.text in {"ins", "outs"} and operands.text == "("
        for value in VALUE.findall(spec.text[operands.start : operands.end].partition(":")[0])
    ]
    operations = [
        mark
        for mark in site.spec.marks(region.start, region.end)
        if mark.inside == region.start and not mark.text.startswith("#")
    ]
    if len(operations) != 1 or not set(used) <= set(arguments):
        raise Refusal("a DAG of an attention and other operations has no counterpart")
    if len(used) != len(_OPERANDS):
        raise Refusal("a DAG of an attention with a mask has no counterpart")
    bodies = [token for token in tokens if token.text == "{"]
    body = spec.inside(bodies[-1]) if bodies else ()
    if [token.text for token in body if token.kind == "word" and "." in token.text] not in (
        [],
        ["iree_linalg_ext.yield"],
    ):
        raise Refusal("a DAG of an attention that changes its scores has no counterpart")
    return [arguments[value] for value in used]


_OLD: Final = f'"{names.ATTENTION}"'
_NEW: Final = f'"{names.ONLINE_ATTENTION}"'


@operation_rule(
    names.MATCH_OPERATION_NAME,
    names.MATCH_ATTENTION,
    since=(3, 12),
    evidence=("iree#24110", "iree#24125"),
    is_decisive=False,
)
def online_attention(site: OperationSite) -> None:
    """Attention is `iree_linalg_ext.online_attention` when it is matched.

    A matcher for `iree_linalg_ext.attention` matches nothing.
    """
    if site.mark.text == names.MATCH_OPERATION_NAME:
        name_tokens = site.matched_names()[1]
        for token in name_tokens:
            if token.text == _OLD and all(other.text != _NEW for other in name_tokens):
                site.edits.replace(token.start, token.end, _NEW)
                site.changed(f"{_OLD} is {_NEW} when it is matched")
        return
    # Read the fields of the matcher op.
    fields: dict[str, Token] = {}
    previous = key = ""
    for token in site.head():
        if token.text == "=":
            key = previous
        elif key:
            fields[key], key = token, ""
        previous = token.text
    if not fields.keys() >= {"indexing_maps", "output_type", "value_type"}:
        return
    # Add the scale, and maximum and sum of each row.
    maps, output, value = fields["indexing_maps"], fields["output_type"], fields["value_type"]
    _, rows = _maps_of_attention(site, site.spec.following(site.mark))
    site.edits.replace(site.mark.start, site.mark.end, names.MATCH_ONLINE_ATTENTION)
    if "scale_type" not in fields:
        query = fields.get("query_type", value)
        site.edits.insert(value.end, f", scale_type = {query.text}")
        site.decided(
            "the scale is assumed to have the type of the query, as the matcher does not give it"
        )
    site.edits.replace(output.start, output.end, "f32, max_type = f32, sum_type = f32")
    site.edits.insert(maps.end - 1, f", {rows}, {rows}")
    site.changed(
        "attention is online attention when it is matched, with maximum and sum of each row"
    )


def _maps_of_attention(site: OperationSite, tokens: Iterator[Token]) -> tuple[Token, str]:
    """Return the brackets with the indexing maps of an attention, and the map of its rows.

    The latter is that of the result without its columns.
    """
    maps, brackets = site.spec.maps(tokens)
    query = read_affine_map(maps[0]) if maps else None
    result = read_affine_map(maps[-1]) if len(maps) > 1 else None
    if brackets is not None and query is not None and result is not None:
        loops = frozenset().union(*query[1])
        domain, _, results = maps[-1].partition("->")
        named = [word.strip() for word in results.strip().removesuffix(">").strip(" ()").split(",")]
        if len(named) == len(result[1]):
            rows = [name for name, used in zip(named, result[1], strict=True) if used <= loops]
            return brackets, f"{domain.rstrip()} -> ({', '.join(rows)})>"
    raise Refusal("the indexing maps of the attention cannot be read")


# --- Named operations, which are `linalg.generic` on a GPU when they are matched -----------------

_GENERIC: Final = '"linalg.generic"'


@operation_rule(
    names.MATCH_OPERATION_NAME,
    since=(3, 8),
    evidence=("llvm#147961", "iree#21778"),
    is_decisive=False,
)
def matched_names(site: OperationSite) -> None:
    """Named operations are gone, or `linalg.generic` on a GPU when they are matched.

    Next to a DAG or a matcher of its form, the name becomes `linalg.generic`. Otherwise the entry would match nothing,
    and is excluded.
    """
    (listed, tokens), sequence = site.matched_names(), site.sequence
    if listed is None or sequence is None:
        return
    op_names = [token.text.strip('"') for token in tokens]
    gone = [name for name in op_names if name in _KINDS or name in _MAPS]
    named = [name for name in op_names if NAMED_OPERATION.fullmatch(name)]
    is_for_gpu = sequence.start in site.generalization.gpu_sequences
    if not gone and not (is_for_gpu and named and len(named) == len(op_names)):
        return
    # Another matcher op identifies the operation, or the entry is excluded.
    old = (gone or named)[0]
    other_ops = {mark.text for mark in site.spec.marks(sequence.start, sequence.end)}
    change = f"'{old}' is {_GENERIC} on a GPU when it is matched; the "
    if is_for_gpu and names.MATCH_DAG in other_ops:
        site.edits.replace(listed.start, listed.end, f"[{_GENERIC}]")
        site.changed(change + "DAG identifies it")
        return
    if is_for_gpu and not other_ops.isdisjoint(_PRODUCTS):
        site.edits.replace(listed.start, listed.end, f"[{_GENERIC}]")
        site.decided(change + "other matcher op identifies it, except for the body")
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
    evidence=("iree#21778", "iree#21955", "iree#20424"),
    is_decisive=False,
)
def generalized_operations(site: OperationSite) -> None:
    """On a GPU, named contractions and convolutions are `linalg.generic` when they are matched.

    A matcher for the named form matches nothing. The compiler's own generalization writes the new form.
    """
    dag, sequence = site.spec.dag(site.mark), site.sequence
    if dag is None or sequence is None or sequence.start not in site.generalization.gpu_sequences:
        return
    generic = site.generalization.dags.get(dag.region.start)
    if generic is not None:
        site.edits.replace(generic.start, generic.end, generic.text)
        site.changed(
            f"'{generic.name}' in the matcher becomes 'linalg.generic', its form on a GPU when it is "
            "matched"
        )
