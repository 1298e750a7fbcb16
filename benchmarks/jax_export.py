"""Exports a model of `jax_models.py` and runs it with JAX: called by `models.py`, in a separate process.

    python benchmarks/jax_export.py convnext --directory DIR

Writes `program.mlir` in StableHLO, and the files of `program_files.py`.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from program_files import FrameworkRun, median_milliseconds, write_runs


def main() -> None:
    """Export one model and run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, help="1: JAX runs on one thread")
    parser.add_argument("--directory", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.threads == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    import jax  # noqa: PLC0415 - reads the environment
    from jax_models import JAX_MODELS  # noqa: PLC0415 - likewise

    directory = arguments.directory
    directory.mkdir(parents=True, exist_ok=True)
    function = JAX_MODELS[arguments.model]()
    jitted = jax.jit(function.call)
    module = jitted.lower(*function.inputs).compiler_ir("stablehlo")
    (directory / "program.mlir").write_text(str(module))
    expected = np.asarray(jitted(*function.inputs))
    took = median_milliseconds(lambda: jitted(*function.inputs).block_until_ready())
    write_runs(directory, {"main": FrameworkRun(function.inputs, [expected], took, 0.0)})


if __name__ == "__main__":
    main()
