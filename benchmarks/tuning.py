"""Speedups of `tuninglink tune` on a device over the compiler's own choice, one line a problem.

    python benchmarks/tuning.py --suite gpu --budget 60s --device cuda://0 --reports DIR -- \
        --iree-hal-target-device=cuda --iree-cuda-target=sm_80
    python benchmarks/tuning.py --suite cpu --budget 80s --trials 50 --remeasure -- --iree-hal-target-device=local \
        --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host

Each problem is tuned by its own command, `tuninglink tune --no-model`. With --remeasure, `tuninglink retune` then
measures the speedups again, in three blocks of rounds and a separate process. Not part of `make bench`: it needs a
quiet device, and minutes for each problem.

In the CPU suite, weights have k rows, as `linalg.matmul` takes them. Llama 3 has 4,096 features; TinyLlama 2,048, and
5,632 inside; BERT and GPT-2 768, and 3,072 inside.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from problems import Convolution, Matmul, PlainMatmul

if TYPE_CHECKING:
    from collections.abc import Sequence

    from problems import Problem


SUITES: dict[str, tuple[Problem, ...]] = {
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
        PlainMatmul(1, 4096, 4096, "f32"),  # Llama 3 8B, attention projections
        PlainMatmul(8, 4096, 4096, "f32"),
        PlainMatmul(1, 2048, 5632, "f32"),  # TinyLlama 1.1B, feed-forward
        PlainMatmul(8, 2048, 5632, "f32"),
        PlainMatmul(1, 768, 3072, "f32"),  # GPT-2 small, feed-forward
        PlainMatmul(8, 768, 3072, "f32"),
        PlainMatmul(512, 512, 512, "f32"),
        PlainMatmul(128, 3072, 768, "f32"),  # BERT base, feed-forward
        Convolution(1, 56, 64, 64, "f32"),  # ResNet-50
        Convolution(1, 28, 128, 128, "f32"),
        Convolution(1, 14, 256, 256, "f32"),
    ),
}
FEW_ROWS = 8
"""Matmuls with at most this number of rows have their own mean."""


def run(*command: object) -> str:
    """Run a command and return what it writes to standard output."""
    words = [str(each) for each in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def tune(problem: Problem, directory: Path, options: Sequence[str]) -> dict[str, Any]:
    """Tune one problem and return the report on its dispatch."""
    program, report = directory / f"{problem.name}.mlir", directory / problem.name
    program.write_text(problem.program)
    spec = report.with_suffix(".spec.mlir")
    run("tuninglink", "tune", program, "-o", spec, "--report", report, "--no-model", *options)
    found = json.loads((report / "report.json").read_text())
    if not found["dispatches"]:
        sys.exit(f"{problem.name}: nothing to tune")
    return {**found["dispatches"][0], "seconds": found["seconds"], "device": found["device"]}


def remeasure(problem: Problem, directory: Path, options: Sequence[str]) -> dict[str, Any]:
    """Measure the speedup of one problem again, and return the report on its entry."""
    spec = directory / f"{problem.name}.spec.mlir"
    kept = ("-o", directory / f"{problem.name}.kept.mlir", "--no-improve", "--format", "json")
    found = json.loads(run("tuninglink", "retune", spec, *kept, *options))
    measured: dict[str, Any] = found["entries"][0]["problems"][0]
    return measured


def mean(speedups: Sequence[float]) -> str:
    """Return the geometric mean in words."""
    value = math.exp(sum(map(math.log, speedups)) / len(speedups))
    return f"{value:.3f} of {len(speedups)}"


def main() -> None:
    """Tune a suite and print a table with the geometric means."""
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
    parser.add_argument("--remeasure", action="store_true", help="measure what was won again")
    parser.add_argument("flags", nargs="*", help="flags of iree-compile, behind --")
    arguments = parser.parse_args()
    target = [*arguments.flags, *(("--device", arguments.device) if arguments.device else ())]
    options = ["--budget", arguments.budget, *target]
    for name in ("trials", "database"):
        if getattr(arguments, name):
            options += [f"--{name}", str(getattr(arguments, name))]
    speedups: list[float] = []
    few_rows: list[float] = []
    slower: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        directory = arguments.reports or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        for position, problem in enumerate(SUITES[arguments.suite]):
            if arguments.only and position not in arguments.only:
                continue
            found = tune(problem, directory, options)
            print(
                f"{problem.name}: {found['default_us']} us to {found['tuned_us']} us, "
                f"{found['outcome']} {found['speedup']} {found['interval']}, {found['trials']} trials, "
                f"{found['seconds']} s on {found['device']}",
                flush=True,
            )
            # Where nothing won, the spec leaves the dispatch to the compiler.
            speedup = found["speedup"] if found["outcome"] == "won" else 1.0
            if arguments.remeasure and found["outcome"] == "won":
                again = remeasure(problem, directory, target)
                speedup = again["speedup"] or 1.0
                print(f"  again: {again['standing']} {speedup} {again['interval']}", flush=True)
                if again["standing"] != "faster":
                    slower.append(problem.name)
            speedups.append(speedup)
            if isinstance(problem, Matmul) and problem.m <= FEW_ROWS:
                few_rows.append(speedup)
    print(f"geometric mean: {mean(speedups)}")
    if few_rows:
        print(f"geometric mean of those with at most {FEW_ROWS} rows: {mean(few_rows)}")
    if arguments.remeasure:
        print(f"not faster when measured again: {', '.join(slower) or 'none'}")


if __name__ == "__main__":
    main()
