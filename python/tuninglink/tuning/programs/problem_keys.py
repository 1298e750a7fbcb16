"""Keys of problems: equal dispatches have equal keys, whatever they are called."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.walk import visit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.programs.benchmark import BufferLayout, SizedFunction

_CONSTANT: Final = "arith.constant"
_VALUE: Final = "value"
_RESOURCE: Final = "dense_resource<"


def problem_key(
    variant: mlir.Operation, layout: BufferLayout, sized: Sequence[SizedFunction] = ()
) -> str:
    """Return a hash of a dispatch that depends neither on its symbols nor on the contents of resources.

    Args:
        variant: the variant of the dispatch.
        layout: the buffer of its benchmark.
        sized: of a dynamic dispatch, the functions of its benchmark, whose weights tell its problem from others.
    """
    copy = variant.operation.clone().operation
    anonymous = mlir.StringAttr.get("dispatch", copy.context)

    def forget(operation: mlir.Operation) -> None:
        if names.SYMBOL_NAME in operation.attributes:
            operation.attributes[names.SYMBOL_NAME] = anonymous
        if operation.name == _CONSTANT and str(operation.attributes[_VALUE]).startswith(_RESOURCE):
            kind = operation.results[0].type
            operation.attributes[_VALUE] = mlir.StringAttr.get(f"constant {kind}", copy.context)

    visit(copy, forget)
    weights = [(function.layout, function.weight) for function in sized if function.weight]
    text = f"{copy.get_asm()}\n{layout}" + "".join(f"\n{weight}" for weight in weights)
    return sha256(text.encode()).hexdigest()
