"""Parts of scripts that reproduce failures with the stock tools."""

from __future__ import annotations

from typing import Final

from tuninglink.tuning.devices.inputs import patterns
from tuninglink.tuning.programs.benchmark import BufferLayout

DRAWING: Final = """\
EIGHT_BITS = ("E4M3FN", "E4M3FNUZ", "E5M2", "E5M2FNUZ")


def dtype(name):
    special = {"bf16": ml_dtypes.bfloat16, "i1": np.bool_, "index": np.int64, "bytes": np.uint8}
    special |= {"f8" + kind: getattr(ml_dtypes, "float8_" + kind.lower()) for kind in EIGHT_BITS}
    return np.dtype(special.get(name) or name.lstrip("su").replace("f", "float").replace("i", "int"))


def values(name, count, seed, largest):
    random = np.random.default_rng(seed)
    drawn = min(count, 1_048_583)
    if name == "bytes":
        x = random.integers(1, 256, drawn, np.uint8)
    elif "f" in name:
        x = random.random(drawn, np.float32) * np.float32(1.875) - np.float32(0.9375)
        x = x + np.copysign(np.float32(0.0625), x)
    elif dtype(name) == np.int8:
        x = random.integers(1, 8, drawn, np.int8) * random.choice((-1, 1), drawn)
    elif name == "i1":
        x = random.integers(0, 2, drawn, np.uint8)
    else:
        x = random.integers(min(1, largest), largest + 1, drawn, dtype(name))
    return np.resize(x.astype(dtype(name)), count)


def content(binding):
    length, largest, parts = BINDINGS[binding]
    whole = np.zeros(length, np.uint8)
    for number, (name, start, size) in enumerate(parts):
        seed = (SEED, binding, start) if number else (SEED, binding)
        data = values(name, size // dtype(name).itemsize, seed, largest).view(np.uint8)
        whole[start : start + size] = data
    return whole
"""
"""Functions of a script that draw the contents of `BINDINGS` for `SEED`, as `devices.inputs` does."""


def binding_rows(layout: BufferLayout) -> list[tuple[int, int, list[tuple[str, int, int]]]]:
    """Return `BINDINGS` of a script: bytes, the largest integer, and parts with their type, start and length."""
    rows = []
    for binding, parts in zip(layout.bindings, patterns(layout, 0), strict=True):
        shown = [(part.name, part.start, part.length) for part in parts]
        rows.append((binding.byte_length, binding.largest_integer, shown))
    return rows
