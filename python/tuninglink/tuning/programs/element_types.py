"""Element types of MLIR as types of NumPy."""

from __future__ import annotations

from typing import Final

import ml_dtypes
import numpy as np

_FLOATS: Final[dict[str, type]] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}
_INTEGERS: Final[dict[str, type]] = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
}


def element_type(name: str) -> np.dtype | None:
    """Return the type of the elements of a tensor in memory.

    Args:
        name: an element type as MLIR writes it.

    Returns:
        The type, or None if elements do not lie at whole bytes or are not known here: then their bytes are random,
        and outputs must be equal to the bit.
    """
    dtype = _FLOATS.get(name) or _INTEGERS.get(name.lstrip("su")) or {"i1": np.bool_}.get(name)
    return None if dtype is None else np.dtype(dtype)


def is_float(name: str) -> bool:
    """Return whether an element type is a floating-point type with a tolerance."""
    return name in _FLOATS
