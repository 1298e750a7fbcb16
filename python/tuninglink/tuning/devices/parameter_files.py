"""Weights next to a program, as a module of the runtime that loads them."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import iree.runtime as rt
import numpy as np

from tuninglink.tuning.devices.inputs import random_bytes
from tuninglink.tuning.devices.running import MeasurementError
from tuninglink.tuning.programs.element_types import element_type, is_float
from tuninglink.tuning.results.failures import Failure, FailureKind

if TYPE_CHECKING:
    from tuninglink.tuning.programs.parameters import Parameter, ParameterSource


def parameter_module(instance: rt.VmInstance, source: ParameterSource, seed: int) -> rt.VmModule:
    """Return the module that programs load their parameters from.

    Args:
        instance: what the module is made in.
        source: the parameters, and the files that hold them.
        seed: fixes the parameters where there are no files.

    Raises:
        MeasurementError: a file cannot be read.
    """
    indexes: defaultdict[str, rt.ParameterIndex] = defaultdict(rt.ParameterIndex)
    try:
        for file in source.files:
            indexes[file.scope].load(file.path)
    except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
        message = f"cannot read parameters: {failure}"
        raise MeasurementError(Failure(FailureKind.LOAD, message)) from None
    if source.is_synthetic:
        for number, parameter in enumerate(source.parameters):
            values = _random(parameter, (seed, number))
            rt.parameter_index_add_numpy_ndarray(indexes[parameter.scope], parameter.key, values)
    providers = [index.create_provider(scope=scope) for scope, index in indexes.items()]
    return rt.create_io_parameters_module(instance, *providers)


def _random(parameter: Parameter, seed: tuple[int, int]) -> np.ndarray:
    """Return random values that keep the magnitude of what they are multiplied with."""
    data = random_bytes(parameter.element_type, math.prod(parameter.shape), seed)
    dtype = element_type(parameter.element_type)
    if dtype is None or not is_float(parameter.element_type) or len(parameter.shape) < 2:  # noqa: PLR2004
        return data
    scale = 1 / math.sqrt(math.prod(parameter.shape[1:]) or 1)
    return (data.view(dtype).astype(np.float32) * scale).astype(dtype).view(np.uint8)
