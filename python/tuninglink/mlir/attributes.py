"""Access to the parameters of attributes without classes in the bindings, and ranges of affine expressions.

The compiler prints the parameters of some attributes like the elements of an array, and of others like the entries of
a dictionary. The compiler's own parser reads them in that form. Attributes that it rejects are not interpreted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from iree.compiler import ir as mlir

if TYPE_CHECKING:
    from collections.abc import Sequence

_BUILTIN = (
    mlir.ArrayAttr,
    mlir.DictAttr,
    mlir.FloatAttr,
    mlir.IntegerAttr,
    mlir.StringAttr,
    mlir.TypeAttr,
    mlir.UnitAttr,
)


def parameters(attribute: mlir.Attribute) -> mlir.ArrayAttr | None:
    """Return the parameters of an attribute that is printed like an array, or None."""
    parsed = parse_attribute(f"[{_between_brackets(attribute)}]", attribute.context)
    return parsed if isinstance(parsed, mlir.ArrayAttr) else None


def named_parameters(attribute: mlir.Attribute) -> dict[str, mlir.Attribute] | None:
    """Return the parameters of an attribute that is printed like a dictionary, or None."""
    parsed = parse_attribute(f"{{{_between_brackets(attribute)}}}", attribute.context)
    return entries_of(parsed) if isinstance(parsed, mlir.DictAttr) else None


def is_dialect_attribute(attribute: mlir.Attribute) -> bool:
    """Return whether an attribute belongs to a dialect of the compiler, other than MLIR's builtin dialect."""
    return not isinstance(attribute, _BUILTIN)


def entries_of(attribute: mlir.Attribute | None) -> dict[str, mlir.Attribute]:
    """Return the entries of a dictionary attribute. Any other attribute has none."""
    if not isinstance(attribute, mlir.DictAttr):
        return {}
    named = (attribute[position] for position in range(len(attribute)))
    return {entry.name: entry.attr for entry in named}


def integers_of(attribute: mlir.Attribute | None) -> list[int]:
    """Return the integers in an array attribute. Any other attribute has none."""
    elements = attribute if isinstance(attribute, mlir.ArrayAttr) else ()
    return [int(element.value) for element in elements if isinstance(element, mlir.IntegerAttr)]


def integer_value(attribute: mlir.Attribute) -> int:
    """Return the value of an integer attribute of any width."""
    assert isinstance(attribute, mlir.IntegerAttr)
    return int(attribute.value)


def parse_attribute(text: str, context: mlir.Context) -> mlir.Attribute | None:
    """Return the attribute that a text denotes, or None if the compiler rejects the text."""
    try:
        return mlir.Attribute.parse(text, context)
    except mlir.MLIRError:
        return None


def _between_brackets(attribute: mlir.Attribute) -> str:
    _, _, inside = str(attribute).partition("<")
    # A type may follow.
    return inside.rpartition(">")[0]


def value_range(expression: Any, sizes: Sequence[Any]) -> tuple[Any, Any]:
    """Return the least and the greatest value of an affine expression over loops.

    Args:
        expression: a sum of dimensions, constants, and dimensions multiplied by constants.
        sizes: the size of each loop: numbers, or terms of a solver.

    Raises:
        ValueError: the expression is of another form.
    """
    if isinstance(expression, mlir.AffineDimExpr):
        return 0, sizes[expression.position] - 1
    if isinstance(expression, mlir.AffineConstantExpr):
        return expression.value, expression.value
    if isinstance(expression, mlir.AffineAddExpr):
        lhs, rhs = (value_range(operand, sizes) for operand in (expression.lhs, expression.rhs))
        return lhs[0] + rhs[0], lhs[1] + rhs[1]
    if isinstance(expression, mlir.AffineMulExpr):
        low, high = value_range(expression.lhs, sizes)
        factor = expression.rhs  # MLIR puts the constant there.
        if isinstance(factor, mlir.AffineConstantExpr):
            ends = low * factor.value, high * factor.value
            return ends if factor.value >= 0 else (ends[1], ends[0])
    raise ValueError(f"the range of '{expression}' cannot be determined")
