"""Contractions as data, and their padded forms: rows, columns and steps of a reduction that intrinsics divide.

A padded contraction computes the same. Operands are zero where they are padded. A longer reduction (k) adds products of
0 and 0; an added row (m) or column (n) depends on nothing but itself, and is cut off. The destination is passed on and
padded, too, so that an accumulation starts from what the program gives.

The compiler pads contractions itself, tile by tile, and uses intrinsics for all. Whether padding before helps is to be
measured: loads are then whole, and a reduction of 4,100 elements takes steps of 128 instead of 16 on sm_80.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import lcm
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

# `iree.compiler.dialects` re-exports it, but takes 140 ms to build the classes of the ops.
from iree.compiler._mlir_libs import _mlirDialectsLinalg  # type: ignore[attr-defined]

from tuninglink.forms.building import cut, padded
from tuninglink.forms.intrinsics import shapes
from tuninglink.forms.problem import FLOATS, NoFormError, Problem, read_problem
from tuninglink.iree import OpKind, Role, StructuredOp
from tuninglink.mlir import names
from tuninglink.payloads import Value, added_product, computed, constant, with_maps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.iree import Target

_LOOPS: Final = "mnk"
_TILES: Final = (
    {"m": 64, "n": 64, "k": 128},
    {"m": 32, "n": 32, "k": 64},
    {"m": 1, "n": 1, "k": 1},
)
"""The numbers whose multiples loops are padded to where no intrinsic divides them: the tiles of the default first."""

_MOST_WORK: Final = 1.5
"""The largest factor by which padding may multiply the operations."""

_MATMUL: Final = "linalg.matmul"
_BATCH_MATMUL: Final = "linalg.batch_matmul"


@dataclass(frozen=True)
class Contraction(Problem):
    """A contraction with one loop each of m, n and k, and any batches.

    Attributes:
        name: the name of the op: a matmul, a batch matmul, or a generic op.
    """

    name: str = names.GENERIC

    @classmethod
    def of(cls, operation: mlir.Operation) -> Contraction:
        """Read a contraction on tensors of static sizes.

        Raises:
            NoFormError: the operation is something else, or has properties that no form covers.
        """
        op = StructuredOp(operation.operation)
        taken = (_MATMUL, _BATCH_MATMUL, names.GENERIC)
        if op.kind is not OpKind.CONTRACTION or op.name not in taken:
            raise NoFormError("it is neither a matmul nor a generic contraction")
        attributes = {"indexing_maps", "iterator_types", "operandSegmentSizes"}
        problem = cls(*read_problem(op, (Role.N, Role.K), attributes), op.name)
        if any(type_ not in FLOATS for type_ in problem.types):
            raise NoFormError("it has element types other than f16, bf16 and f32")
        return problem

    @cached_property
    def spellings(self) -> tuple[Contraction, ...]:
        """The ways in which the problem may be written at the preprocessing stage, its own first."""
        lhs, rhs, output = self.operands
        named = {"": _MATMUL, "a": _BATCH_MATMUL}.get(self.outer, names.GENERIC)
        # A named op has its batch loop first in all operands, and rows before columns in the result.
        shapes_of = [(operand[:-2], {*operand[-2:]}) for operand in (lhs, rhs)]
        usual = [(self.outer, {*loops}) for loops in ("mk", "kn")]
        if shapes_of != usual or output != self.outer + "mn":
            named = names.GENERIC
        ordered = self.renumbered(self.outer + _LOOPS)
        others = (
            replace(ordered, name=name, operands=(lhs, columns, output))
            for name in (named, names.GENERIC)
            for columns in (rhs, rhs[:-2] + rhs[:-3:-1])
        )
        return tuple(dict.fromkeys([self, *others]))

    def numbers(self) -> Mapping[int, float]:
        """Return an empty dictionary: no operand is a number."""
        return {}

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the op at the current insertion point."""
        *inputs, init = operands
        if self.name == names.GENERIC:
            return computed(inputs, self.maps(), init, added_product)
        segments = mlir.DenseI32ArrayAttr.get([2, 1])
        operation = with_maps(self.name, operands, self.maps(), 1, operandSegmentSizes=segments)
        _mlirDialectsLinalg.fill_builtin_region(operation)
        result: Value = operation.results[0]
        return result

    def __str__(self) -> str:
        """Return the sizes of the batches, m, n and k, and the types, such as `1028x1024x4096_f16_f32`."""
        sizes = (self.loop_sizes[loop] for loop in self.outer + _LOOPS)
        return "_".join(["x".join(map(str, sizes)), *dict.fromkeys(self.types)])


@dataclass(frozen=True)
class PaddedContraction:
    """A contraction of larger sizes in place of another.

    Attributes:
        problem: the contraction that is replaced.
        sizes: the new sizes of the padded loops.
    """

    problem: Contraction
    sizes: tuple[tuple[str, int], ...]
    is_default: bool = False

    @property
    def label(self) -> str:
        """The name of the form, for symbols."""
        return f"pad_matmul_{self.problem}_to_" + "_".join(f"{at}{n}" for at, n in self.sizes)

    def __str__(self) -> str:
        old = self.problem.loop_sizes
        return "padded: " + ", ".join(f"{old[at]} to {size} along {at}" for at, size in self.sizes)

    @cached_property
    def spellings(self) -> tuple[PaddedContraction, ...]:
        """The form for each spelling of its problem."""
        return tuple(replace(self, problem=problem) for problem in self.problem.spellings)

    @property
    def passed(self) -> range:
        """The positions of the operands that `build` takes: all."""
        return range(len(self.problem.operands))

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the form at the current insertion point."""
        sizes = dict(self.sizes)
        parts = [
            padded(part, loops, sizes, constant(part.type.element_type, 0))
            for part, loops in zip(operands, self.problem.operands, strict=True)
        ]
        return cut(self.problem.resized(sizes).build(parts), self.problem.tensors()[-1])


def padded_contractions(problem: Contraction, target: Target) -> tuple[PaddedContraction, ...]:
    """Return the padded forms of a problem for a target.

    Raises:
        NoFormError: there is none, with the reason.
    """
    sizes = problem.loop_sizes
    lhs, rhs, result = problem.types
    needs = [dict(zip(_LOOPS, shape, strict=True)) for shape in shapes(target, lhs, rhs)]
    if result != "f32" or not needs:
        raise NoFormError(f"no intrinsic of {target} multiplies {lhs}x{rhs} into {result}")
    if any(all(sizes[loop] % need[loop] == 0 for loop in _LOOPS) for need in needs):
        raise NoFormError(f"intrinsics of {target} divide its sizes")
    forms: dict[PaddedContraction, None] = {}
    need = min(needs, key=lambda need: need["m"] * need["n"] * need["k"])
    for tile in _TILES:
        steps = {loop: lcm(need[loop], tile[loop]) for loop in _LOOPS if sizes[loop] % need[loop]}
        new = {loop: -(-sizes[loop] // step) * step for loop, step in steps.items()}
        work = 1.0
        for loop, size in new.items():
            work *= size / sizes[loop]
        if work <= _MOST_WORK:
            forms[PaddedContraction(problem, tuple(new.items()))] = None
    if not forms:
        raise NoFormError(f"padding multiplies its operations by more than {_MOST_WORK}")
    return tuple(forms)
