"""The reader of matchers: from a `transform.named_sequence` to predicates."""

from __future__ import annotations

from iree.compiler import ir as mlir

from tuninglink.matching.matcher import Matcher, ReadingCache, Stop
from tuninglink.matching.matcher_ops import READERS
from tuninglink.matching.matcher_reading import Reading
from tuninglink.specs.sequences import SequenceTable


def read_matcher(sequence: mlir.Operation, table: SequenceTable | None = None) -> Matcher:
    """Read a matcher.

    Args:
        sequence: a `transform.named_sequence`.
        table: the sequences that it can include.
    """
    return MatcherReader(table).read_sequence(sequence)


class MatcherReader:
    """Reads the matchers of one module; shared parts are read once.

    Args:
        table: the sequences of the module; without it, matchers cannot include sequences.
    """

    def __init__(self, table: SequenceTable | None = None) -> None:
        self._table = table
        self._matchers: dict[str, Matcher] = {}
        self._cache = ReadingCache()

    def read(self, path: str) -> Matcher:
        """Read the matcher at a path."""
        matcher = self._matchers.get(path)
        if matcher is None:
            result = self._table.resolve(path) if self._table else None
            if result is None:
                matcher = Matcher((), Stop("there is no such matcher"))
            else:
                matcher = self.read_sequence(result[1], result[0])
            self._matchers[path] = matcher
        return matcher

    def read_sequence(
        self, sequence: mlir.Operation, table: SequenceTable | None = None
    ) -> Matcher:
        """Read a sequence, given the sequences that it can include."""
        return Reading(self._cache, table or self._table, READERS).run(sequence)
