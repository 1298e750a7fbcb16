"""Operations in words: what is computed, how large it is, and of which types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.matching.necessary_conditions import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tuninglink.explaining.subject import OperandType, Sizes, Subject

_MATMULS: Final = {
    (False, False): "dot",
    (False, True): "vecmat",
    (True, False): "matvec",
    (True, True): "matmul",
}
"""What a contraction is called for whether it has loops m and n."""


def describe(subject: Subject) -> str:
    """Returns an operation in words, such as `matmul 2048x1280x5120 f16·f16→f32, rhs transposed`.

    Sizes of matmuls are m, n and k, after those of the batch; a dynamic size is `?`.
    """
    if subject.kind is Kind.CONTRACTION:
        return _contraction(subject)
    if subject.kind is Kind.CONVOLUTION:
        return _convolution(subject)
    if subject.kind is Kind.ATTENTION:
        return _attention(subject)
    if subject.name.startswith("linalg.") and subject.maps:
        return _structured(subject)
    operands = (str(each) for each in subject.operands if each.sizes is not None)
    return " ".join([subject.name, ", ".join(operands)]).rstrip()


def _contraction(subject: Subject) -> str:
    roles = subject.roles
    name = _MATMULS[bool(roles["m"]), bool(roles["n"])]
    if any(len(roles[each]) > 1 for each in ("m", "n", "k")):
        # Which of several loops belong together, only their names can tell.
        sizes = ", ".join(f"{role} {product(each)}" for role, each in roles.items() if each)
        return f"contraction {sizes} {_types(subject)}"
    if roles["batch"]:
        name = f"batch {name}"
    sizes = product([*roles["batch"], *roles["m"], *roles["n"], *roles["k"]])
    return ", ".join([f"{name} {sizes} {_types(subject)}", *_transposed(subject)])


def _transposed(subject: Subject) -> Iterable[str]:
    """Yields which operands are transposed: lhs is m x k, rhs k x n and the output m x n as a rule."""
    loops = subject.role_loops
    usual = (("m", "k"), ("k", "n"), ("m", "n"))
    for name, operand, (first, second) in zip(
        ("lhs", "rhs", "output"), subject.operand_loops, usual, strict=True
    ):
        if loops[first] and loops[second]:
            order = [operand.index(each) for each in (loops[first][0], loops[second][0])]
            if order != sorted(order):
                yield f"{name} transposed"


def _convolution(subject: Subject) -> str:
    roles = subject.roles
    image = [*roles["batch"], *roles["output image"], *roles["output channels"], *roles["depth"]]
    name = "depthwise convolution" if roles["depth"] else "convolution"
    if not roles["depth"] and not roles["input channels"]:
        name = "pooling"
    parts = [f"{name} {product(image)} {_types(subject)}", f"filter {product(roles['filter'])}"]
    if roles["input channels"]:
        parts.append(f"input channels {product(roles['input channels'])}")
    steps = (role for role in ("strides", "dilations") if any(each != 1 for each in roles[role]))
    return ", ".join([*parts, *(f"{role} {product(roles[role])}" for role in steps)])


def _attention(subject: Subject) -> str:
    sizes = ", ".join(f"{role} {product(each)}" for role, each in subject.roles.items() if each)
    name = subject.name.partition(".")[2].replace("_", " ")
    inputs = "·".join(each.element for each in subject.operands[:3])
    output = subject.results[0].element if subject.results else subject.operands[-1].element
    return f"{name} {sizes} {inputs}→{output}"


def _structured(subject: Subject) -> str:
    reduced = _reduced_loops(subject)
    name = subject.name.partition(".")[2]
    if name == "generic":
        name = "reduction" if reduced else "elementwise"
    text = f"{name} {product(subject.loops)}" if subject.loops else name
    if reduced:
        text += f" over {product([subject.loops[each] for each in reduced])}"
    return f"{text} {_types(subject)}"


def _reduced_loops(subject: Subject) -> list[int]:
    """Returns the loops of a generic operation that do not run over its results."""
    iterators = subject.operation.attributes.get("iterator_types")
    if not isinstance(iterators, mlir.ArrayAttr):
        return []
    parallel = mlir.Attribute.parse("#linalg.iterator_type<parallel>", subject.operation.context)
    return [number for number, each in enumerate(iterators) if each != parallel]


def _types(subject: Subject) -> str:
    """Returns the element types of the inputs and of the outputs."""
    count = len(subject.results) or 1
    inputs, outputs = subject.operands[:-count], subject.operands[-count:]
    return "→".join(filter(None, (_elements(inputs), _elements(outputs))))


def _elements(types: Sequence[OperandType]) -> str:
    return "·".join(each.element for each in types)


def product(sizes: Sizes | Sequence[int | None]) -> str:
    """Returns sizes as people write them: `64x?x32`."""
    return "x".join("?" if each is None else str(each) for each in sizes)
