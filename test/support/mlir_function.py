"""Writes functions on tensors as MLIR text: the programs of campaigns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

MULTIPLY_ADD: Final = "%p = mul %0, %1 : T\n%r = add %out, %p : T"
"""The body of a contraction."""


_ARITHMETIC: Final = ("mul", "add", "sub", "div", "maximum")


@dataclass(frozen=True)
class Tensor:
    """A tensor in a function.

    Attributes:
        name: its SSA name.
        sizes: the size of each dimension; None for a dynamic one.
        element: its element type.
    """

    name: str
    sizes: tuple[int | None, ...]
    element: str

    def __str__(self) -> str:
        shape = "".join(f"{'?' if each is None else each}x" for each in self.sizes)
        return f"tensor<{shape}{self.element}>"


class Function:
    """A function under construction.

    Args:
        name: its name.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._arguments: list[Tensor] = []
        self._lines: list[str] = []
        self._count = 0

    def argument(self, *sizes: int | None, element: str = "f32") -> Tensor:
        """Add an argument."""
        found = Tensor(f"%arg{len(self._arguments)}", sizes, element)
        self._arguments.append(found)
        return found

    def text(self, result: Tensor) -> str:
        """Return the function, which returns `result`."""
        arguments = ", ".join(f"{each.name}: {each}" for each in self._arguments)
        body = "\n".join(f"  {each}" for each in self._lines)
        return (
            f"func.func @{self._name}({arguments}) -> {result} {{\n"
            f"{body}\n  return {result.name} : {result}\n}}\n"
        )

    def generic(
        self,
        accesses: str,
        *inputs: Tensor,
        body: str,
        element: str | None = None,
        start: float | None = None,
    ) -> Tensor:
        """Add a `linalg.generic`.

        Args:
            accesses: the loops of each operand, as in `mk,kn->mn`; loops of inputs alone are reductions.
            inputs: the inputs.
            body: operations on the elements `%0`, `%1`, … and `%out`, which give `%r`; `T` is their type. The
                operations of `arith` that depend on the type are written as `add`, `mul` and so on.
            element: the element type of the result, in which the body computes; by default that of the inputs.
            start: what a reduction starts from.
        """
        element = element or inputs[0].element
        listed, _, output = accesses.partition("->")
        loops = listed.split(",")
        order = output + "".join(
            dict.fromkeys(each for each in "".join(loops) if each not in output)
        )
        where = {
            loop: (tensor, position)
            for tensor, names in zip(inputs, loops, strict=True)
            for position, loop in enumerate(names)
        }
        sizes = tuple(tensor.sizes[position] for tensor, position in map(where.__getitem__, output))
        dynamic = [where[loop] for loop, size in zip(output, sizes, strict=True) if size is None]
        init = self._empty(sizes, element, dynamic)
        if start is not None:
            init = self._fill(init, start)
        maps = ", ".join(
            f"affine_map<({', '.join(order)}) -> ({', '.join(each)})>" for each in (*loops, output)
        )
        iterators = ", ".join(
            f'"{"parallel" if each in output else "reduction"}"' for each in order
        )
        casts, arguments = [], []
        for number, each in enumerate(inputs):
            is_cast = each.element != element
            arguments.append(f"%{'in' if is_cast else ''}{number}: {each.element}")
            if is_cast:
                casts.append(_cast(f"%{number}", f"%in{number}", each.element, element))
        arguments.append(f"%out: {element}")
        inside = "\n    ".join([*casts, *_typed(body, element).split("\n")])
        return self._add(
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}} "
            f"{_operands(inputs, init)} {{\n  ^bb0({', '.join(arguments)}):\n"
            f"    {inside}\n    linalg.yield %r : {element}\n  }} -> {init}",
            sizes,
            element,
        )

    def contraction(
        self, accesses: str, lhs: Tensor, rhs: Tensor, element: str | None = None
    ) -> Tensor:
        """Add a contraction that starts from zero."""
        return self.generic(accesses, lhs, rhs, body=MULTIPLY_ADD, element=element, start=0)

    def named(
        self,
        operation: str,
        inputs: Sequence[Tensor],
        sizes: tuple[int | None, ...],
        element: str,
        start: float,
    ) -> Tensor:
        """Add an operation with a name, such as `linalg.conv_2d_nhwc_hwcf {strides = …}`."""
        init = self._fill(self._empty(sizes, element), start)
        return self._add(f"{operation} {_operands(inputs, init)} -> {init}", sizes, element)

    def window(self, *sizes: int) -> Tensor:
        """Add the tensor with the size of a pooling's window."""
        return self._empty(sizes, "f32")

    def softmax(self, tensor: Tensor) -> Tensor:
        """Add a softmax over the last dimension."""
        init = self._empty(tensor.sizes, tensor.element)
        last = len(tensor.sizes) - 1
        text = f"linalg.softmax dimension({last}) {_operands([tensor], init)} -> {init}"
        return self._add(text, tensor.sizes, tensor.element)

    def pad(self, tensor: Tensor, margins: Sequence[int], value: float = 0.0) -> Tensor:
        """Add margins on both sides of each dimension."""
        sizes = tuple(
            None if size is None else size + 2 * margin
            for size, margin in zip(tensor.sizes, margins, strict=True)
        )
        constant = self._constant(value, tensor.element)
        listed = ", ".join(map(str, margins))
        indices = ", ".join(f"%i{number}: index" for number in range(len(margins)))
        result = Tensor("", sizes, tensor.element)
        return self._add(
            f"tensor.pad {tensor.name} low[{listed}] high[{listed}] {{\n  ^bb0({indices}):\n"
            f"    tensor.yield {constant} : {tensor.element}\n  }} : {tensor} to {result}",
            sizes,
            tensor.element,
        )

    def attention(
        self, accesses: str, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Add an attention; `accesses` lists the loops of query, key, value, mask and result, as for `generic`."""
        tensors = [query, key, value]
        listed, _, output = accesses.partition("->")
        loops = listed.split(",")
        order = dict.fromkeys("".join([*loops, output]))
        sizes = tuple(
            next(
                tensor.sizes[names.index(loop)]
                for tensor, names in zip(tensors, loops, strict=False)
                if loop in names
            )
            for loop in output
        )
        element = query.element
        init = self._empty(sizes, element)
        scale = Tensor(self._constant(0.125, element), (), element)
        masks = [] if mask is None else [mask]
        maps = ", ".join(
            f"affine_map<({', '.join(order)}) -> ({', '.join(each)})>"
            for each in (*loops[:3], "", *loops[3:], output)
        )
        names = ", ".join(each.name for each in (*tensors, scale, *masks))
        types = ", ".join([*map(str, tensors), element, *map(str, masks)])
        return self._add(
            f"iree_linalg_ext.attention <{{indexing_maps = [{maps}]}}> ins({names} : {types}) "
            f"outs({init.name} : {init}) {{\n  ^bb0(%score: f32):\n    iree_linalg_ext.yield %score : f32\n"
            f"  }} -> {init}",
            sizes,
            element,
        )

    def _add(self, text: str, sizes: tuple[int | None, ...], element: str) -> Tensor:
        name = self._define(text)
        return Tensor(name, sizes, element)

    def _define(self, text: str) -> str:
        self._count += 1
        name = f"%v{self._count}"
        self._lines.append(f"{name} = {text}")
        return name

    def _constant(self, value: float, element: str) -> str:
        written = str(int(value)) if element.startswith("i") else f"{value:e}"
        return self._define(f"arith.constant {written} : {element}")

    def _empty(
        self,
        sizes: tuple[int | None, ...],
        element: str,
        dynamic: Sequence[tuple[Tensor, int]] = (),
    ) -> Tensor:
        names = []
        for tensor, position in dynamic:
            index = self._define(f"arith.constant {position} : index")
            names.append(self._define(f"tensor.dim {tensor.name}, {index} : {tensor}"))
        result = Tensor("", sizes, element)
        return self._add(f"tensor.empty({', '.join(names)}) : {result}", sizes, element)

    def _fill(self, tensor: Tensor, value: float) -> Tensor:
        constant = self._constant(value, tensor.element)
        text = f"linalg.fill ins({constant} : {tensor.element}) outs({tensor.name} : {tensor}) -> {tensor}"
        return self._add(text, tensor.sizes, tensor.element)


def _operands(inputs: Sequence[Tensor], init: Tensor) -> str:
    names, types = (", ".join(each) for each in ([each.name for each in inputs], map(str, inputs)))
    ins = f"ins({names} : {types}) " if inputs else ""
    return f"{ins}outs({init.name} : {init})"


def _cast(result: str, name: str, element: str, wanted: str) -> str:
    is_wider = width(wanted) > width(element)
    if wanted.startswith("i"):
        operation = "extsi" if is_wider else "trunci"
    elif element.startswith("i"):
        operation = "sitofp"
    else:
        operation = "extf" if is_wider else "truncf"
    return f"{result} = arith.{operation} {name} : {element} to {wanted}"


def width(element: str) -> int:
    """Return the bits of an element, such as 8 for `f8E4M3FN`."""
    return int(re.match(r"\D+(\d+)", element)[1])  # type: ignore[index]


def _typed(body: str, element: str) -> str:
    letter = "i" if element.startswith("i") else "f"
    for each in _ARITHMETIC:
        body = body.replace(f"= {each} ", f"= arith.{each}{letter} ")
    return body.replace(": T", f": {element}")
