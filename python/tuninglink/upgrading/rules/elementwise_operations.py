from __future__ import annotations

from itertools import islice
from typing import Final

from tuninglink.iree.release import HAS_BARE_KINDS, elementwise_op
from tuninglink.upgrading.rule_definition import OperationSite, Refusal, operation_rule
from tuninglink.upgrading.trees import Leaf, Node, enumerator, parse

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
        kind = _function(parse(site.source, following[0].start, end), kind)
    site.edits.replace(mark.start, end, elementwise_op(kind))
    site.changed(f"'{mark.text}' is '{elementwise_op(kind)}'")


def _function(attributes: object, default: str) -> str:
    """Return the function in the attributes of an operation."""
    assert isinstance(attributes, Node)
    cast = attributes.value("cast")
    if isinstance(cast, Leaf) or (cast is not None and "cast_unsigned" in cast.render()):
        raise Refusal("an elementwise operation with an unsigned cast has no counterpart")
    return enumerator(attributes.value("fun")) or default
