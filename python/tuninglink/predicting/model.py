"""The model that predicts gains over the compiler's choice: trees as plain arrays, and where shipped ones are."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tuninglink.errors import TuninglinkError, reason_for_user
from tuninglink.iree import CPU_VECTORS, CUDA_CODE
from tuninglink.mlir import error
from tuninglink.predicting.candidate_features import prediction_features

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from tuninglink.iree import Target
    from tuninglink.tuning.candidates import Candidate, SearchProblem

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

FORMAT: Final = "tuninglink.prediction"
VERSION: Final = 1

HUNDREDTHS: Final = 100

_CAUTION: Final = 1.25
"""How many standard deviations of the trees' guesses are subtracted from their mean."""

_MALFORMED = LookupError, TypeError, AttributeError, ValueError, RecursionError, OverflowError

_ABSENT: Final = -1.0
"""The value of a feature that a candidate lacks."""


@dataclass(frozen=True)
class Trees:
    """Regression trees, whose nodes are in one table. All numbers are in hundredths.

    Attributes:
        roots: the root of each tree.
        columns: the column of the feature that a node compares; negative in a leaf.
        values: features up to this one go left; in a leaf, the value of the leaf.
        left: the node on the left of each.
        right: the node on the right of each.
    """

    roots: Integers
    columns: Integers
    values: Integers
    left: Integers
    right: Integers

    def leaves(self, table: Integers) -> Floats:
        """Return the value that each tree has for each row of a table of features."""
        rows = np.arange(len(table))[:, None]
        nodes = np.broadcast_to(self.roots, (len(table), len(self.roots)))
        while ((columns := self.columns[nodes]) >= 0).any():
            goes_left = table[rows, np.maximum(columns, 0)] <= self.values[nodes]
            following = np.where(goes_left, self.left[nodes], self.right[nodes])
            nodes = np.where(columns >= 0, following, nodes)
        result: Floats = self.values[nodes] / HUNDREDTHS
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
        cores: the threads that ran the measurements on a CPU; 0 for other devices, and if they are unknown.
    """

    target: str = ""
    device: str = ""
    compiler: str = ""
    problems: int = 0
    trials: int = 0
    groups: int = 0
    date: str = ""
    cores: int = 0


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
        trees: randomized trees, each of which guesses the gain.
        margin: what is subtracted for the lower bound.
        forms: the forms of the problems that it was trained on, see `form_of`, each with the least work of its problems.
            For others and for smaller ones, there is no lower bound: they gain little, and move the code of others.
        provenance: what it was trained on.
    """

    names: tuple[str, ...]
    trees: Trees
    margin: float
    forms: Mapping[str, float]
    provenance: Provenance = field(default_factory=Provenance)

    def gains(
        self, problem: SearchProblem, default: Candidate, candidates: Sequence[Candidate]
    ) -> Gains:
        """Predict the gains of candidates over the default, whose own gain is 0."""
        if not candidates:
            return Gains(np.zeros(0), np.zeros(0))
        described = prediction_features(problem, default, candidates)
        expected, cautious = self.guesses(feature_table(described, self.names))
        lower = cautious - self.margin
        if not self.knows(problem):
            lower[:] = -np.inf
        same = [candidate.key == default.key for candidate in candidates]
        expected[same], lower[same] = 0.0, 0.0
        return Gains(expected, lower)

    def knows(self, problem: SearchProblem) -> bool:
        """Return whether the model was trained on problems of this form, and the problem is as large as these."""
        return work_of(problem) >= self.forms.get(form_of(problem), math.inf)

    def guesses(self, table: Integers) -> tuple[Floats, Floats]:
        """Return the mean guess of the trees for each row, and a lower one where they disagree."""
        leaves = self.trees.leaves(table)
        mean, deviation = leaves.mean(axis=1), leaves.std(axis=1)
        return mean, mean - _CAUTION * deviation

    @cached_property
    def key(self) -> str:
        """A hash that identifies the model."""
        return sha256(self.dump()).hexdigest()[:16]

    def dump(self) -> bytes:
        """Return the model as a JSON document with a line for each array."""
        document: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "provenance": asdict(self.provenance),
            "margin": self.margin,
            "forms": dict(sorted(self.forms.items())),
            "names": list(self.names),
            "columns": self.trees.columns.tolist(),
            "values": self.trees.values.tolist(),
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
            names, columns = tuple(document["names"]), document["columns"]
            if any(not -1 <= column < len(names) for column in columns):
                raise ValueError("a column has no name")
            provenance = Provenance(**document["provenance"])
            trees = trees_of(columns, document["values"])
            forms = {str(form): float(least) for form, least in document["forms"].items()}
            margin = float(document["margin"])
            if not all(map(math.isfinite, (margin, *forms.values()))):
                raise ValueError("the margin or a form is not finite")
            return cls(names, trees, margin, forms, provenance)
        except _MALFORMED as failure:
            reason = reason_for_user(failure)
            message = f"this is not a model of gains of version {VERSION}: {reason}"
            raise TuninglinkError(error(message)) from None


def form_of(problem: SearchProblem) -> str:
    """Return the form of a problem: its kind, the roles of its loops, and its first element type."""
    element = next(iter(problem.element_types), "")
    return ", ".join((problem.kind, *sorted(problem.roles), element))


def work_of(problem: SearchProblem) -> float:
    """Return the work of a problem: the binary logarithm of the iterations of its loops."""
    return math.log2(math.prod(size or 1 for size in problem.sizes))


def feature_table(described: Sequence[Mapping[str, float]], names: Sequence[str]) -> Integers:
    """Return features in hundredths, as a table with a column for each name."""
    rows = [[row.get(name, _ABSENT) for name in names] for row in described]
    table = np.array(rows, np.float64).reshape(len(described), len(names))
    return np.rint(table * HUNDREDTHS).astype(np.int64)


def trees_of(columns: Sequence[int], values: Sequence[int]) -> Trees:
    """Return trees whose nodes are listed in depth-first order, each before its left part and then its right one.

    Raises:
        ValueError: the last tree is not complete, there is none, or the lists are not of equal length.
    """
    if len(columns) != len(values) or not columns:
        raise ValueError("columns and values are of different length")
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
    own, compared = np.array(columns, np.int64), np.array(values, np.int64)
    return Trees(np.array(roots, np.int64), own, compared, left, right)


# --- Shipped models ------------------------------------------------------------------------------------------

_FOLDER: Final = files("tuninglink") / "shipped" / "models"

_INSTRUCTIONS: Final = {"x86_64-avx512": {"x86_64", "avx512f"}}
"""The models for a family of processors with vector instructions; the others have the name of an architecture."""


def model_names() -> list[str]:
    """Return the names of the shipped models: the targets that they are for."""
    return sorted(file.name.removesuffix(".json") for file in _FOLDER.iterdir())


def name_of_model(target: Target, available: Collection[str]) -> str:
    """Return which of the available models is for a target; empty if none is, or if it does not name a processor.

    A model is for the architecture of the generated code: one for `sm_80` is also for `h200`, and not for `sm_86`.
    """
    code = CUDA_CODE.get(target.architecture or "", target.architecture)
    vectors = target.cpu_vectors or CPU_VECTORS.get(code or "")
    present = (target.family, *(vectors.features if vectors else ()))
    names = (name for name, needed in _INSTRUCTIONS.items() if needed.issubset(present))
    own = replace(target, architecture=code, sku=None).name
    return next((name for name in (own, *names) if code and name in available), "")


def model_for(target: Target) -> GainModel | None:
    """Return the shipped model for a target; None if there is none, or the target does not name a processor."""
    name = name_of_model(target, model_names())
    return _shipped(name) if name else None


@cache
def _shipped(name: str) -> GainModel:
    return GainModel.load((_FOLDER / f"{name}.json").read_bytes())
