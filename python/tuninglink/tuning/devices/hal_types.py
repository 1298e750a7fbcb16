"""Element types of buffer views."""

from __future__ import annotations

from typing import Any

import iree.runtime as rt

from tuninglink.tuning.devices.inputs import element_type
from tuninglink.tuning.devices.running import MeasurementError
from tuninglink.tuning.results.failures import Failure, FailureKind


def hal_type(name: str) -> Any:
    """Returns the runtime's element type for one that MLIR writes as `name`.

    Raises:
        MeasurementError: there are no inputs of this type.
    """
    dtype = element_type(name)
    if dtype is None:
        message = f"inputs of type '{name}' are not supported"
        raise MeasurementError(Failure(FailureKind.LOAD, message))
    known = {
        "f64": rt.HalElementType.FLOAT_64,
        "f32": rt.HalElementType.FLOAT_32,
        "f16": rt.HalElementType.FLOAT_16,
        "bf16": rt.HalElementType.BFLOAT_16,
        "f8E4M3FN": rt.HalElementType.FLOAT_8_E4M3_FN,
        "f8E4M3FNUZ": rt.HalElementType.FLOAT_8_E4M3_FNUZ,
        "f8E5M2": rt.HalElementType.FLOAT_8_E5M2,
        "f8E5M2FNUZ": rt.HalElementType.FLOAT_8_E5M2_FNUZ,
        "i1": rt.HalElementType.BOOL_8,
    }
    integers = {
        1: rt.HalElementType.INT_8,
        2: rt.HalElementType.INT_16,
        4: rt.HalElementType.INT_32,
        8: rt.HalElementType.INT_64,
    }
    return known.get(name, integers[dtype.itemsize])
