"""Writes the products and convolutions of a model as a program, to make a library for a CPU of.

    python benchmarks/cpu_models.py BERT > bert.mlir
    tuninglink tune bert.mlir -o specs/library/bert-avx512.mlir --no-model --trials 30 --database cpu.db \
        --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host

The models are ResNet-50 and BERT, for one image and 384 tokens, and a small Llama (TinyLlama's 2,048 features, 256 of
them for keys and values, 5,632 inside): a prompt of 128 tokens, 8 tokens, and one. All in f32.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "support"))

from mlir_function import Function
from model_programs import linear, program

FEATURES, KEYS, INSIDE = 2048, 256, 5632
"""The sizes of TinyLlama 1.1B."""


def llama() -> list[str]:
    """Returns the linear layers of a small Llama as functions."""
    found = []
    for rows in (128, 8, 1):
        for n, k in (
            (FEATURES, FEATURES),
            (KEYS, FEATURES),
            (INSIDE, FEATURES),
            (FEATURES, INSIDE),
        ):
            function = Function(f"llama_{rows}x{n}x{k}")
            found.append(function.text(linear(function, (rows, n, k))))
    return found


def main() -> None:
    """Prints a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", choices=["ResNet-50", "BERT", "Llama"])
    model = parser.parse_args().model
    print("\n".join(llama() if model == "Llama" else program(model)))


if __name__ == "__main__":
    main()
