"""Taking attributes apart for which the bindings have no class.

Between its angle brackets, the compiler writes some attributes just as an array attribute between square brackets,
and others as a dictionary attribute between braces; so its own parser takes them apart, and what it does not accept is
not guessed at.
"""

from __future__ import annotations

from iree.compiler import ir as mlir

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
    """Returns the parameters of an attribute that is written like an array, None if it is not."""
    result = parse_attribute(f"[{_between_brackets(attribute)}]", attribute.context)
    return result if isinstance(result, mlir.ArrayAttr) else None


def named_parameters(attribute: mlir.Attribute) -> dict[str, mlir.Attribute] | None:
    """Returns the parameters of an attribute that is written like a dictionary, None if it is not."""
    result = parse_attribute(f"{{{_between_brackets(attribute)}}}", attribute.context)
    return entries_of(result) if isinstance(result, mlir.DictAttr) else None


def is_of_a_dialect(attribute: mlir.Attribute) -> bool:
    """Tells whether an attribute is of a dialect of the compiler, not one of MLIR's common ones."""
    return not isinstance(attribute, _BUILTIN)


def entries_of(attribute: mlir.Attribute | None) -> dict[str, mlir.Attribute]:
    """Returns the entries of a dictionary attribute; none of any other attribute."""
    if not isinstance(attribute, mlir.DictAttr):
        return {}
    named = (attribute[position] for position in range(len(attribute)))
    return {each.name: each.attr for each in named}


def integers_of(attribute: mlir.Attribute | None) -> list[int]:
    """Returns the integers in an array attribute; none of any other attribute."""
    elements = attribute if isinstance(attribute, mlir.ArrayAttr) else ()
    return [int(element.value) for element in elements if isinstance(element, mlir.IntegerAttr)]


def integer_value(attribute: mlir.Attribute) -> int:
    """Returns the value of an attribute that is an integer of any width."""
    assert isinstance(attribute, mlir.IntegerAttr)
    return int(attribute.value)


def parse_attribute(text: str, context: mlir.Context) -> mlir.Attribute | None:
    """Returns an attribute that is written down, None if the compiler does not accept it."""
    try:
        return mlir.Attribute.parse(text, context)
    except mlir.MLIRError:
        return None


def _between_brackets(attribute: mlir.Attribute) -> str:
    _, _, inside = str(attribute).partition("<")
    return inside.removesuffix(">")
