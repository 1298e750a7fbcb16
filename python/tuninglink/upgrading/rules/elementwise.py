"""One operation for all that is computed element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rule import OperationRule, Refusal
from tuninglink.upgrading.trees import Leaf, Node, as_node, parse

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import OperationContext
    from tuninglink.upgrading.source import Mark, Token

_KINDS: Final = {
    **{
        f"linalg.{kind}": kind
        for kind in (
            *("exp", "log", "abs", "ceil", "floor", "negf", "reciprocal", "round", "sqrt", "rsqrt"),
            *(
                "square",
                "tanh",
                "erf",
                "add",
                "sub",
                "mul",
                "div",
                "div_unsigned",
                "powf",
                "select",
            ),
        )
    },
    "linalg.max": "max_signed",
    "linalg.min": "min_signed",
}
_GENERAL: Final = {"linalg.elemwise_unary": "exp", "linalg.elemwise_binary": "add"}
"""Operations that were told what to compute, and what they computed if they were not."""
_ELEMENTWISE: Final = "linalg.elementwise"
_KIND: Final = "#linalg.elementwise_kind"


def _rewrite(mark: Mark, context: OperationContext) -> None:
    source = context.outline.source
    limit = source.closers.get(mark.inside, len(source.text))
    stream = source.tokens(mark.end, limit)
    following = [token for _, token in zip(range(4), stream, strict=False)]
    if mark.text == _ELEMENTWISE:
        _shorten(mark, following, context)
        return
    end, kind = mark.end, _KINDS.get(mark.text)
    if kind is None:
        kind = _GENERAL[mark.text]
        if following and following[0].text == "{":
            end = following[0].end
            kind = _function(parse(source, following[0].start, end), kind)
    context.edits.replace(mark.start, end, f"{_ELEMENTWISE} <{kind}>")
    context.changed(f"'{mark.text}' is '{_ELEMENTWISE} <{kind}>'")


def _shorten(mark: Mark, following: list[Token], context: OperationContext) -> None:
    """Leaves out of `kind=#linalg.elementwise_kind<exp>` all but `<exp>`."""
    texts = [token.text for token in following]
    if texts == ["kind", "=", _KIND, "<"]:
        context.edits.replace(following[0].start, following[2].end, "")
        context.changed(f"the kind of '{mark.text}' is written without name")


def _function(attributes: object, default: str) -> str:
    """Returns the function in the attributes of an operation."""
    if not isinstance(attributes, Node):
        return default
    cast = attributes.value("cast")
    if isinstance(cast, Leaf) or (cast is not None and "cast_unsigned" in cast.render()):
        raise Refusal("an element by element operation that casts without sign has no counterpart")
    function = as_node(attributes.value("fun"))
    field = function.positional() if function is not None else None
    return field.name or default if field is not None else default


RULE = OperationRule(
    name="elementwise-operations",
    version=(3, 13),
    summary="`linalg.exp` and the other operations on single elements became `linalg.elementwise`, which has "
    "its kind in brackets.",
    before="%r = linalg.exp ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>",
    after="%r = linalg.elementwise <exp> ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>",
    evidence=(
        "https://github.com/llvm/llvm-project/pull/147082",
        "https://github.com/llvm/llvm-project/pull/220916",
        "https://github.com/llvm/llvm-project/pull/222569",
    ),
    operations=frozenset({*_KINDS, *_GENERAL, _ELEMENTWISE}),
    rewrite=_rewrite,
)
