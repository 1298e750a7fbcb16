"""Problems given without a program, as words or as lines of other tools: their kinds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tuninglink.tuning.problems.operands import ElementType
from tuninglink.tuning.problems.problem_text import ProblemError, joined_sizes
from tuninglink.tuning.problems.windows import Convolution, Pooling


@dataclass(frozen=True)
class Product:
    """A product of matrices.

    Attributes:
        m: the rows of the result.
        n: the columns of the result.
        k: the terms of each sum.
        element: the type of the operands.
        batch: the number of products; None for one without its own dimension.
        transposes_a: whether the left-hand side is stored as k by m.
        transposes_b: whether the right-hand side is stored as n by k.
    """

    m: int
    n: int
    k: int
    element: ElementType
    batch: int | None = None
    transposes_a: bool = False
    transposes_b: bool = False

    def __str__(self) -> str:
        batch = () if self.batch is None else (self.batch,)
        kind = "batch_matmul" if batch else "matmul"
        sizes = joined_sizes(*batch, self.m, self.n, self.k)
        transposes = {"transpose_a": self.transposes_a, "transpose_b": self.transposes_b}
        words = [word for word, is_given in transposes.items() if is_given]
        return " ".join([kind, sizes, self.element.value, *words])


@dataclass(frozen=True)
class Attention:
    """An attention.

    Attributes:
        heads: the number of heads, of all sequences together.
        queries: the length of the queries.
        keys: the length of the keys and values.
        features: the size of a query, a key and a value.
        element: the type of the operands.
        has_mask: whether a mask is added to the scores.
    """

    heads: int
    queries: int
    keys: int
    features: int
    element: ElementType
    has_mask: bool = False

    def __str__(self) -> str:
        sizes = joined_sizes(self.heads, self.queries, self.keys, self.features)
        return f"attention {sizes} {self.element.value}{' mask' if self.has_mask else ''}"


class RowOperation(Enum):
    """An operation on each row of a matrix. The values are the words for it."""

    SUM = "sum"
    SOFTMAX = "softmax"
    ARG_COMPARE = "arg_compare"


@dataclass(frozen=True)
class Rows:
    """An operation on each row of a matrix.

    Attributes:
        operation: the operation.
        rows: the number of rows.
        columns: the size of a row.
        element: the type of the matrix.
    """

    operation: RowOperation
    rows: int
    columns: int
    element: ElementType

    def __str__(self) -> str:
        return (
            f"{self.operation.value} {joined_sizes(self.rows, self.columns)} {self.element.value}"
        )


@dataclass(frozen=True)
class TopK:
    """The largest elements of each row of a matrix, and their positions.

    Attributes:
        rows: the number of rows.
        columns: the size of a row.
        count: the number of elements that are taken of a row.
        element: the type of the matrix.
    """

    rows: int
    columns: int
    count: int
    element: ElementType

    def __post_init__(self) -> None:
        if self.count > self.columns:
            raise ProblemError(f"rows of {self.columns} do not have {self.count} elements")

    def __str__(self) -> str:
        return f"topk {joined_sizes(self.rows, self.columns, self.count)} {self.element.value}"


Problem = Product | Convolution | Pooling | Attention | Rows | TopK
