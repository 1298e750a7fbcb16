"""Parts of scripts that reproduce failures with the stock tools."""

from __future__ import annotations

from typing import Final

DRAWING: Final = """\
def dtype(name):
    special = {"bf16": ml_dtypes.bfloat16, "i1": np.bool_, "index": np.int64, "bytes": np.uint8}
    special |= {"f8" + kind: getattr(ml_dtypes, "float8_" + kind.lower()) for kind in EIGHT_BITS}
    return np.dtype(special.get(name) or name.lstrip("su").replace("f", "float").replace("i", "int"))


EIGHT_BITS = ("E4M3FN", "E4M3FNUZ", "E5M2", "E5M2FNUZ")


def values(name, count, binding):
    random = np.random.default_rng((SEED, binding))
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
        x = random.integers(1, 4, drawn, dtype(name))
    return np.tile(x.astype(dtype(name)), -(-count // drawn))[:count]
"""
"""Functions of a script that draw the values of `devices.inputs` for `SEED`."""
