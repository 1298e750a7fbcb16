"""Copies of a spec with a subset of its entries."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import join_path, references_in, split_path
from tuninglink.mlir.walk import body
from tuninglink.specs.foreach_match import pairs_of, set_pairs
from tuninglink.specs.spec import Spec
from tuninglink.specs.structure import SpecKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Subsets:
    """Makes copies of a matcher list, each with some of its entries and the sequences that these use.

    The cost of a copy depends on its own size, not on that of the spec. Entries keep their order and their names.

    Args:
        spec: the matcher list.
    """

    def __init__(self, spec: Spec) -> None:
        assert spec.kind is SpecKind.MATCHER_LIST
        self._spec = spec
        self._pairs = spec.anatomy.table.pairs(spec.anatomy.foreach_match)
        self._uses: dict[str, tuple[str, ...]] = {}

    @cached_property
    def _others(self) -> list[mlir.Operation]:
        """The ops of the module other than sequences, which are in every copy."""
        return [op for op in body(self._spec.module) if op.name != names.NAMED_SEQUENCE]

    @cached_property
    def _used_by_others(self) -> tuple[str, ...]:
        return tuple(path[0] for op in self._others for path in references_in(op))

    def subset(self, kept: Sequence[int]) -> Spec:
        """Return a copy with the entries at the positions `kept`, of which there is at least one.

        It has the context and the name of the spec.
        """
        spec = self._spec
        module = spec.module
        with module.context, module.location:
            attributes = dict(module.attributes.items())
            copy = mlir.Operation.create(names.MODULE, attributes=attributes, regions=1)
            block = copy.regions[0].blocks.append()
            pairs = [self._pairs[position] for position in kept]
            with mlir.InsertionPoint(block):
                for operation in self._others:
                    operation.clone()
                for sequence in self._reached(path for pair in pairs for path in pair):
                    sequence.clone()
                entry_point = spec.anatomy.entry_points[0].sequence.clone()
            foreach_match = next(body(entry_point.operation))
            every = pairs_of(foreach_match)
            set_pairs(foreach_match, [every[position] for position in kept])
        return Spec(copy, spec.source)

    def _reached(self, paths: Iterable[str]) -> list[mlir.Operation]:
        """Return the sequences that the entries use, each after the sequences that refer to it."""
        table = self._spec.anatomy.table
        entry_point = self._spec.anatomy.entry_points[0].name
        reached: dict[str, mlir.Operation] = {}
        waiting = [*reversed([split_path(path)[0] for path in paths]), *self._used_by_others]
        while waiting:
            name = waiting.pop()
            sequence = table.lookup(join_path([name]))
            if name in reached or name == entry_point or sequence is None:
                continue
            reached[name] = sequence
            if name not in self._uses:
                uses = dict.fromkeys(path[0] for path in references_in(sequence))
                self._uses[name] = tuple(uses)
            waiting.extend(self._uses[name])
        return list(reached.values())
