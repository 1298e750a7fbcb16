"""What `tuninglink tune` wins on a device: one line a problem, against the compiler's own choice.

    python benchmarks/tuning.py --suite gpu --budget 60s --device cuda://0 --reports DIR -- \
        --iree-hal-target-device=cuda --iree-cuda-target=sm_80
    python benchmarks/tuning.py --suite cpu --budget 60s -- --iree-hal-target-device=local \
        --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host

Each problem is tuned by a command of its own, `tuninglink tune --no-model`. Not part of `make bench`: it needs a
quiet device, and minutes for each problem.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from problems import Convolution, Matmul

if TYPE_CHECKING:
    from problems import Problem


SUITES = {
    "gpu": (
        Matmul(2048, 1280, 5120, "f16"),
        Matmul(2048, 2048, 2048, "bf16"),
        Matmul(16, 4096, 4096, "f16"),
        Matmul(512, 14336, 4096, "f16"),
        Matmul(1024, 4096, 4096, "f16"),
        Matmul(8192, 5120, 640, "f16"),
        Convolution(2, 32, 1280, 1280),
    ),
    "cpu": (
        Matmul(1, 4096, 4096, "f32"),  # Llama 3 8B, attention projections, decode
        Matmul(1, 14336, 4096, "f32"),  # Llama 3 8B, feed-forward, decode
        Matmul(1, 768, 3072, "f32"),  # BERT and Whisper small
        Matmul(8, 4096, 4096, "f32"),
        Matmul(8, 14336, 4096, "f32"),
        Matmul(8, 768, 3072, "f32"),
        Matmul(512, 512, 512, "f32"),
        Matmul(128, 3072, 768, "f32"),  # BERT, feed-forward
        Convolution(2, 14, 256, 256, "f32"),
    ),
}


def tune(
    problem: Problem, directory: Path, options: list[str], flags: list[str]
) -> dict[str, object]:
    """Tunes one problem and returns the report on its dispatch."""
    name = problem.name
    program = directory / f"{name}.mlir"
    program.write_text(problem.program)
    report = directory / name
    command = ["tuninglink", "tune", program, "-o", report.with_suffix(".spec.mlir")]
    command += ["--report", report, "--no-model", *options, *flags]
    done = subprocess.run(
        [str(each) for each in command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{problem.name}: exit code {done.returncode}\n{done.stderr}")
    found = json.loads((report / "report.json").read_text())
    dispatches: list[dict[str, object]] = found["dispatches"]
    if not dispatches:
        sys.exit(f"{problem.name}: nothing to tune\n{done.stderr}")
    return {**dispatches[0], "seconds": found["seconds"], "device": found["device"]}


def main() -> None:
    """Tunes a suite and prints a table with the geometric mean."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--suite", choices=sorted(SUITES), required=True)
    parser.add_argument("--only", type=int, nargs="*", help="positions in the suite")
    parser.add_argument("--device")
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--trials")
    parser.add_argument("--database", type=Path)
    parser.add_argument("--reports", type=Path, help="keep reports and specs here")
    parser.add_argument("flags", nargs="*", help="flags of iree-compile, behind --")
    arguments = parser.parse_args()
    options = ["--budget", arguments.budget]
    for name in ("device", "trials", "database"):
        if getattr(arguments, name):
            options += [f"--{name}", str(getattr(arguments, name))]
    speedups = []
    with tempfile.TemporaryDirectory() as scratch:
        directory = arguments.reports or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        for position, problem in enumerate(SUITES[arguments.suite]):
            if arguments.only and position not in arguments.only:
                continue
            found = tune(problem, directory, options, arguments.flags)
            # Where nothing won, the spec leaves the dispatch to the compiler.
            speedups.append(float(str(found["speedup"])) if found["outcome"] == "won" else 1.0)
            print(
                f"{problem.name}: {found['default_us']} us to {found['tuned_us']} us, "
                f"{found['outcome']} {found['speedup']} {found['interval']}, {found['trials']} trials, "
                f"{found['seconds']} s on {found['device']}",
                flush=True,
            )
    mean = math.exp(sum(map(math.log, speedups)) / len(speedups))
    print(f"geometric mean of {len(speedups)}: {mean:.3f}")


if __name__ == "__main__":
    main()
