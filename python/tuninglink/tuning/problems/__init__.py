"""Kinds of problems that are given without a program, as words or as lines of other tools."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tuninglink.tuning.problems.problem_text import (
    SCALED_BLOCK,
    ElementType,
    ProblemError,
    ScaledType,
    joined_sizes,
)
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
class ScaledProduct:
    """A product of matrices with a scale for each block of a row: the right-hand side has a row for each column.

    Attributes:
        m: the rows of the result.
        n: the columns of the result.
        k: the terms of each sum.
        element: the type of the operands.
        batch: the number of products; None for one without its own dimension.
    """

    m: int
    n: int
    k: int
    element: ScaledType
    batch: int | None = None

    def __post_init__(self) -> None:
        if self.k % SCALED_BLOCK:
            raise ProblemError(f"{self.k} terms are not whole blocks of {SCALED_BLOCK}")

    @property
    def blocks(self) -> int:
        """The number of blocks in a row."""
        return self.k // SCALED_BLOCK

    def __str__(self) -> str:
        batch = () if self.batch is None else (self.batch,)
        sizes = joined_sizes(*batch, self.m, self.n, self.k)
        return f"scaled_matmul {sizes} {self.element.value}"


class Mask(Enum):
    """The mask that is added to the scores of an attention. The values are its words."""

    GIVEN = "mask"
    CAUSAL = "causal"


@dataclass(frozen=True)
class Attention:
    """An attention.

    Attributes:
        heads: the number of heads of the queries, of all sequences together.
        queries: the length of the queries.
        keys: the length of the keys and values.
        features: the size of a query, a key and a value.
        element: the type of the operands.
        mask: a mask that is an operand, or the one that hides keys behind a query's position.
        kv_heads: the number of heads of the keys and values; None if equal to that of the queries.
    """

    heads: int
    queries: int
    keys: int
    features: int
    element: ElementType
    mask: Mask | None = None
    kv_heads: int | None = None

    def __post_init__(self) -> None:
        if self.kv_heads and self.heads % self.kv_heads:
            message = f"{self.heads} heads of queries cannot share {self.kv_heads} heads of keys"
            raise ProblemError(message)

    def __str__(self) -> str:
        sizes = joined_sizes(self.heads, self.queries, self.keys, self.features)
        mask = [self.mask.value] if self.mask else []
        kv_heads = [f"kv_heads={self.kv_heads}"] if self.kv_heads else []
        return " ".join(["attention", sizes, self.element.value, *mask, *kv_heads])


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


class MatrixOperation(Enum):
    """An operation on the elements of matrices. The values are the words for it."""

    ADD = "add"
    TRANSPOSE = "transpose"


@dataclass(frozen=True)
class Elementwise:
    """An operation on each element of a matrix, or of two.

    Attributes:
        operation: the operation.
        rows: the number of rows of an operand.
        columns: the size of a row of an operand.
        element: the type of the matrices.
    """

    operation: MatrixOperation
    rows: int
    columns: int
    element: ElementType

    def __str__(self) -> str:
        sizes = joined_sizes(self.rows, self.columns)
        return f"{self.operation.value} {sizes} {self.element.value}"


class MoveOperation(Enum):
    """A movement of rows. The values are the words for it."""

    GATHER = "gather"
    SCATTER = "scatter"


@dataclass(frozen=True)
class RowMove:
    """A read or a write of rows at positions of a matrix; the positions are an operand.

    Attributes:
        operation: whether rows are read or written.
        rows: the number of rows of the matrix.
        columns: the size of a row.
        count: the number of rows that are moved.
        element: the type of the matrix.
    """

    operation: MoveOperation
    rows: int
    columns: int
    count: int
    element: ElementType

    def __str__(self) -> str:
        sizes = joined_sizes(self.rows, self.columns, self.count)
        return f"{self.operation.value} {sizes} {self.element.value}"


class Norm(Enum):
    """The measure by which a normalization divides. The values are the words for it."""

    LAYER = "layer_norm"
    RMS = "rms_norm"


@dataclass(frozen=True)
class Normalization:
    """A normalization of each row of a matrix.

    Attributes:
        norm: the standard deviation, after subtracting the mean, or the root of the mean square.
        rows: the number of rows.
        columns: the size of a row.
        element: the type of the matrix.
        is_affine: whether rows are multiplied by weights, and biases are added after subtracting means.
    """

    norm: Norm
    rows: int
    columns: int
    element: ElementType
    is_affine: bool = False

    def __str__(self) -> str:
        sizes = joined_sizes(self.rows, self.columns)
        affine = ["affine"] if self.is_affine else []
        return " ".join([self.norm.value, sizes, self.element.value, *affine])


@dataclass(frozen=True)
class TopK:
    """The largest elements of each row of a matrix, and their positions.

    Attributes:
        rows: the number of rows.
        columns: the size of a row.
        count: the number of elements selected from a row.
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


Problem = (
    Product
    | ScaledProduct
    | Convolution
    | Pooling
    | Attention
    | Rows
    | Normalization
    | TopK
    | Elementwise
    | RowMove
)
