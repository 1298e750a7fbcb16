"""The model that predicts gains over the compiler's choice: boosted trees as plain arrays, and where shipped ones are."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tuninglink.errors import TuninglinkError, reason_for_user
from tuninglink.iree import CPU_VECTORS
from tuninglink.mlir import error
from tuninglink.predicting.candidate_features import prediction_features

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tuninglink.iree import Target
    from tuninglink.tuning.candidates import Candidate, SearchProblem

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

FORMAT: Final = "tuninglink.prediction"
VERSION: Final = 1

_DIGITS: Final = 3
"""The digits of features after the decimal point."""

_ABSENT: Final = -1.0
"""The value of a feature that a candidate lacks."""


@dataclass(frozen=True)
class Trees:
    """The sum of regression trees, whose nodes are in one table. A node is a leaf if its column is negative.

    Attributes:
        roots: the root of each tree.
        columns: the column of the feature that a node compares; negative in a leaf.
        thresholds: values up to this one go left; in a leaf, the value of the leaf.
        left: the node on the left of each.
        right: the node on the right of each.
        base: the value without any tree.
    """

    roots: Integers
    columns: Integers
    thresholds: Floats
    left: Integers
    right: Integers
    base: float

    def values(self, table: Floats) -> Floats:
        """Return the value of each row of a table of features."""
        rows = np.arange(len(table))[:, None]
        nodes = np.broadcast_to(self.roots, (len(table), len(self.roots)))
        while True:
            columns = self.columns[nodes]
            inner = columns >= 0
            if not inner.any():
                break
            compared = table[rows, np.maximum(columns, 0)] <= self.thresholds[nodes]
            following = np.where(compared, self.left[nodes], self.right[nodes])
            nodes = np.where(inner, following, nodes)
        result: Floats = self.thresholds[nodes].sum(axis=1) + self.base
        return result


@dataclass(frozen=True)
class Provenance:
    """What a model was trained on.

    Attributes:
        target: the architecture of the target, as databases record it.
        device: the name of the device.
        compiler: the version of the compiler.
        problems: the number of problems.
        trials: the number of measured candidates.
        groups: the number of groups of problems, of which one at a time was left out for the calibration.
        date: the day of the training.
    """

    target: str = ""
    device: str = ""
    compiler: str = ""
    problems: int = 0
    trials: int = 0
    groups: int = 0
    date: str = ""


@dataclass(frozen=True)
class Gains:
    """The predicted gains of candidates, as binary logarithms of the default's time over theirs.

    Attributes:
        expected: the expected gains.
        lower: lower bounds, which hold for the candidate with the largest one.
    """

    expected: Floats
    lower: Floats


@dataclass(frozen=True)
class GainModel:
    """Predicts the gains of the candidates of a problem over the compiler's choice.

    Attributes:
        names: the features, in the order of the columns.
        expected: the trees of the expected gain.
        low: the trees of a low quantile of the gain.
        margins: what is subtracted from the low quantile for the lower bound, by kind of operation; "" for all others.
        provenance: what it was trained on.
    """

    names: tuple[str, ...]
    expected: Trees
    low: Trees
    margins: Mapping[str, float]
    provenance: Provenance = field(default_factory=Provenance)

    def gains(
        self, problem: SearchProblem, default: Candidate, candidates: Sequence[Candidate]
    ) -> Gains:
        """Predict the gains of candidates over the default, whose own gain is 0."""
        if not candidates:
            return Gains(np.zeros(0), np.zeros(0))
        table = feature_table(prediction_features(problem, default, candidates), self.names)
        margin = self.margins.get(problem.kind, self.margins[""])
        expected, lower = self.expected.values(table), self.low.values(table) - margin
        lower = np.minimum(lower, expected)
        same = [candidate.key == default.key for candidate in candidates]
        expected[same], lower[same] = 0.0, 0.0
        return Gains(expected, lower)

    def dump(self) -> bytes:
        """Return the model as a JSON document with a line for each array."""
        document: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "provenance": asdict(self.provenance),
            "margins": dict(self.margins),
            "names": list(self.names),
        }
        for name, trees in (("expected", self.expected), ("low", self.low)):
            document |= {
                f"{name} base": trees.base,
                f"{name} columns": trees.columns.tolist(),
                f"{name} thresholds": trees.thresholds.tolist(),
            }
        lines = (
            f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}"
            for key, value in document.items()
        )
        return ("{" + ",\n".join(lines) + "}\n").encode()

    @classmethod
    def load(cls, content: bytes) -> Self:
        """Read a model.

        Raises:
            TuninglinkError: it is not a model of this version.
        """
        try:
            document = json.loads(content)
            if (document["format"], document["version"]) != (FORMAT, VERSION):
                raise ValueError(f"version {document['version']}")
            return cls(
                tuple(document["names"]),
                _read_trees(document, "expected"),
                _read_trees(document, "low"),
                {str(kind): float(margin) for kind, margin in document["margins"].items()},
                Provenance(**document["provenance"]),
            )
        except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as failure:
            reason = reason_for_user(failure)
            message = f"this is not a model of gains of version {VERSION}: {reason}"
            raise TuninglinkError(error(message)) from None


def feature_table(described: Sequence[Mapping[str, float]], names: Sequence[str]) -> Floats:
    """Return features as a table with a column for each name, rounded so that thresholds can be written with few digits."""
    rows = [[row.get(name, _ABSENT) for name in names] for row in described]
    return np.array(rows, np.float64).round(_DIGITS)


def trees_of(columns: Sequence[int], thresholds: Sequence[float], base: float) -> Trees:
    """Return trees whose nodes are listed in depth-first order, each before its left part and then its right one.

    Raises:
        ValueError: the last tree is not complete, or the lists are not of equal length.
    """
    if len(columns) != len(thresholds):
        raise ValueError("columns and thresholds are of different length")
    left, right = np.zeros(len(columns), np.int64), np.zeros(len(columns), np.int64)
    roots: list[int] = []
    waiting: list[int] = []  # nodes whose right part is still to come
    is_new = True
    for node, column in enumerate(columns):
        if is_new:
            roots.append(node)
        is_new = False
        if column >= 0:
            left[node] = node + 1
            waiting.append(node)
        elif waiting:
            right[waiting.pop()] = node + 1
        else:
            is_new = True
    if waiting or not is_new:
        raise ValueError("a tree is not complete")
    return Trees(
        np.array(roots, np.int64),
        np.array(columns, np.int64),
        np.array(thresholds, np.float64),
        left,
        right,
        base,
    )


def _read_trees(document: Mapping[str, Any], name: str) -> Trees:
    columns, thresholds = document[f"{name} columns"], document[f"{name} thresholds"]
    names = len(document["names"])
    if any(not -1 <= column < names for column in columns):
        raise ValueError("a column has no name")
    return trees_of(columns, thresholds, float(document[f"{name} base"]))


# --- Shipped models ------------------------------------------------------------------------------------------

_SHIPPED: Final = {"x86_64-avx512": ("llvm-cpu", "x86_64", "avx512f")}
"""The backend, the family of processors and the vector instructions of the targets of each shipped model."""


def model_for(target: Target) -> GainModel | None:
    """Return the shipped model for a target; None if there is none."""
    vectors = target.cpu_vectors or CPU_VECTORS.get(target.architecture or "")
    for name, (backend, family, instructions) in _SHIPPED.items():
        is_like = target.backend == backend and target.family == family
        if is_like and vectors is not None and instructions in vectors.features:
            return _shipped(name)
    return None


@cache
def _shipped(name: str) -> GainModel | None:
    file = files("tuninglink").joinpath("shipped", "models", f"{name}.json")
    return GainModel.load(file.read_bytes()) if file.is_file() else None
