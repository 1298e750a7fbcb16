"""A dag of an attention matches nothing: a matcher of online attention says the same of what it became."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.problems import DAG, dag_region, dag_root
from tuninglink.upgrading.rule import OperationRule, Refusal
from tuninglink.upgrading.rules.online_attention import row_map

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import OperationContext
    from tuninglink.upgrading.source import Mark, Source, Token

_ATTENTION: Final = "iree_linalg_ext.attention"
_OPERANDS: Final = ("query", "key", "value", "scale", "output")
_RESULTS: Final = re.compile(r"(?P<names>%[\w$.\-]+(?:\s*,\s*%[\w$.\-]+)*)\s*=\s*$")
_PARAMETER: Final = "!transform.param<i64>"
_VALUE: Final = "!transform.any_value"


@dataclass(frozen=True)
class _Dag:
    """The text of a dag matcher.

    Attributes:
        start: where its results are named.
        end: where its types end.
        operand: the operation that it looks at, with `%`.
        types: the types of the attention's operands.
        maps: the brackets with its indexing maps.
    """

    start: int
    end: int
    operand: str
    types: tuple[str, ...]
    maps: Token


def _rewrite(mark: Mark, context: OperationContext) -> None:
    region = dag_region(context.outline.source, mark)
    root = dag_root(context.outline, region) if region is not None else None
    if region is None or root is None or root.text != _ATTENTION:
        return
    dag = _read(mark, region, root, context)
    source = context.outline.source
    rows = row_map(source, dag.maps)
    if rows is None:
        raise Refusal("the indexing maps of the attention cannot be read", mark.start)
    elements = [_element(each) for each in dag.types]
    named = [f"{name}_type = {each}" for name, each in zip(_OPERANDS, elements, strict=True)]
    named[-1] = "output_type = f32, max_type = f32, sum_type = f32"
    maps = f"{source.text[dag.maps.start : dag.maps.end - 1]}, {rows}, {rows}]"
    results = _fresh(context, ("batch", "m", "n", "k1", "k2"))
    lines = [
        (
            f"{', '.join(results)} = transform.iree.match.online_attention {dag.operand}, {', '.join(named)}, "
            f"indexing_maps = {maps} : !transform.any_op -> {_PARAMETER}"
        )
    ]
    operands = _fresh(context, _OPERANDS[:3])
    for number, (name, type_) in enumerate(zip(operands, dag.types, strict=False)):
        lines.append(
            f"{name} = transform.get_operand {dag.operand}[{number}] : (!transform.any_op) -> {_VALUE}"
        )
        lines.append(f"transform.iree.match.cast_compatible_type {name} = {type_} : {_VALUE}")
    context.edits.replace(dag.start, dag.end, ("\n" + _indent(source, dag.start)).join(lines))
    context.changed(
        "the dag of an attention is a matcher of the online attention that it is when it is matched, with the "
        "same maps and the same types of query, key and value"
    )


def _read(mark: Mark, region: Token, root: Mark, context: OperationContext) -> _Dag:
    """Returns what a dag matcher says.

    Raises:
        Refusal: it says more than a matcher of online attention can.
    """
    source, sequence = context.outline.source, context.sequence
    found = _RESULTS.search(source.text, max(0, mark.start - 200), mark.start)
    operand = next(source.tokens(mark.end, region.start), None)
    types = list(source.tokens(region.end, source.closers[mark.inside]))[:4]
    if found is None or operand is None or sequence is None or len(types) < 4:  # noqa: PLR2004 - `: () -> ()`
        raise Refusal("the dag of an attention cannot be read", mark.start)
    later = source.text[types[-1].end : sequence.end]
    for name in re.findall(r"%[\w$.\-]+", found["names"]):
        if re.search(re.escape(name) + r"(?![\w$.\-])", later):
            raise Refusal(
                "the operands of a dag of an attention, which it is not any more, are used",
                mark.start,
            )
    tokens = list(source.tokens(region.start + 1, region.end - 1))
    arguments = _typed(source, tokens[1]) if tokens[0].text.startswith("^") else {}
    others = [
        each
        for each in context.outline.marks(region.start, region.end)
        if each.inside == region.start
    ]
    used = _operands(source, root, region)
    if len([each for each in others if not each.text.startswith("#")]) != 1 or not set(used) <= set(
        arguments
    ):
        raise Refusal("a dag of an attention and other operations has no counterpart", mark.start)
    if len(used) != len(_OPERANDS):
        raise Refusal("a dag of an attention with a mask has no counterpart", mark.start)
    if not _is_plain(source, root, region):
        raise Refusal(
            "a dag of an attention that changes its scores has no counterpart", mark.start
        )
    kinds = tuple(arguments[each] for each in used)
    return _Dag(found.start(), types[-1].end, operand.text, kinds, _maps(source, root, region))


def _typed(source: Source, group: Token) -> dict[str, str]:
    """Returns the types of the arguments of a block, by name."""
    found: dict[str, str] = {}
    name, start, end = "", -1, -1
    for token in source.tokens(group.start + 1, group.end - 1):
        if token.text.startswith("%"):
            name, start = token.text, -1
        elif token.text not in {":", ","}:
            start = token.start if start < 0 else start
            end = token.end
            found[name] = source.text[start:end]
    return found


def _operands(source: Source, root: Mark, region: Token) -> list[str]:
    """Returns the names of the operands of an attention, in order."""
    found: list[str] = []
    previous = ""
    for token in source.tokens(root.end, region.end - 1):
        if previous in {"ins", "outs"} and token.text == "(":
            for each in source.tokens(token.start + 1, token.end - 1):
                if each.text == ":":
                    break
                if each.text.startswith("%"):
                    found.append(each.text)
        previous = token.text
    return found


def _is_plain(source: Source, root: Mark, region: Token) -> bool:
    """Tells whether the scores of an attention are used as they are."""
    groups = [each for each in source.tokens(root.end, region.end - 1) if each.text == "{"]
    if not groups:
        return True
    tokens = list(source.tokens(groups[-1].start + 1, groups[-1].end - 1))
    operations = [each.text for each in tokens if each.kind == "word" and "." in each.text]
    return operations == ["iree_linalg_ext.yield"]


def _maps(source: Source, root: Mark, region: Token) -> Token:
    """Returns the brackets with the indexing maps of an attention."""
    pending = [each for each in source.tokens(root.end, region.end - 1) if each.text in "<{"][:1]
    while pending:
        group = pending.pop()
        previous = ""
        for token in source.tokens(group.start + 1, group.end - 1):
            if token.text == "[" and previous == "=":
                return token
            if token.text == "{":
                pending.append(token)
            previous = token.text
    raise Refusal("an attention without indexing maps", root.start)


def _element(type_: str) -> str:
    """Returns the element type of a tensor, or a scalar's type itself."""
    inside = type_.partition("<")[2].removesuffix(">") or type_
    return inside.rpartition("x")[2].strip()


def _fresh(context: OperationContext, names: tuple[str, ...]) -> list[str]:
    assert context.sequence is not None
    text = context.outline.source.text[context.sequence.start : context.sequence.end]
    prefix = "%"
    while any(re.search(re.escape(prefix + each) + r"\b", text) for each in names):
        prefix += "attention_"
    return [prefix + each for each in names]


def _indent(source: Source, start: int) -> str:
    line = source.text[source.text.rfind("\n", 0, start) + 1 : start]
    return line[: len(line) - len(line.lstrip())]


RULE = OperationRule(
    name="attention-dags",
    version=(3, 12),
    summary="A dag of `iree_linalg_ext.attention` became `match.online_attention` with the types of query, key "
    "and value, as that is what backends configure.",
    before="transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
    "  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {\n"
    "  ^bb0(%q: tensor<?x64xf16>, %k: tensor<?x64xf16>, %v: tensor<?x32xf16>, %s: f16, %o: tensor<?x32xf16>):\n"
    "    %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(m, n, k, l) -> (m, k)>, "
    "affine_map<(m, n, k, l) -> (l, k)>, affine_map<(m, n, k, l) -> (l, n)>, affine_map<(m, n, k, l) -> ()>, "
    "affine_map<(m, n, k, l) -> (m, n)>]}> ins(%q, %k, %v, %s : tensor<?x64xf16>, tensor<?x64xf16>, "
    "tensor<?x32xf16>, f16) outs(%o : tensor<?x32xf16>) {\n"
    "    ^bb0(%score: f32):\n      iree_linalg_ext.yield %score : f32\n    } -> tensor<?x32xf16>\n"
    "  } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)\n  transform.yield\n}",
    after="transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
    "  %batch, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op, query_type = f16, "
    "key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32, "
    "indexing_maps = [affine_map<(m, n, k, l) -> (m, k)>, affine_map<(m, n, k, l) -> (l, k)>, "
    "affine_map<(m, n, k, l) -> (l, n)>, affine_map<(m, n, k, l) -> ()>, affine_map<(m, n, k, l) -> (m, n)>, "
    "affine_map<(m, n, k, l) -> (m)>, affine_map<(m, n, k, l) -> (m)>] "
    ": !transform.any_op -> !transform.param<i64>\n"
    "  %query = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value\n"
    "  transform.iree.match.cast_compatible_type %query = tensor<?x64xf16> : !transform.any_value\n"
    "  %key = transform.get_operand %op[1] : (!transform.any_op) -> !transform.any_value\n"
    "  transform.iree.match.cast_compatible_type %key = tensor<?x64xf16> : !transform.any_value\n"
    "  %value = transform.get_operand %op[2] : (!transform.any_op) -> !transform.any_value\n"
    "  transform.iree.match.cast_compatible_type %value = tensor<?x32xf16> : !transform.any_value\n"
    "  transform.yield\n}",
    evidence=(
        "https://github.com/iree-org/iree/pull/24110",
        "https://github.com/iree-org/iree/pull/24125",
    ),
    operations=frozenset({DAG}),
    rewrite=_rewrite,
)
