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
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Matmul:
    """A matmul with transposed right-hand side that accumulates in f32.

    Attributes:
        m, n, k: the sizes.
        element: the element type of the operands.
    """

    m: int
    n: int
    k: int
    element: str

    @property
    def name(self) -> str:
        """The name in the table."""
        return f"matmul {self.m}x{self.n}x{self.k} {self.element}"

    @property
    def program(self) -> str:
        """The program, a function that is one dispatch."""
        lhs, rhs = (
            f"tensor<{self.m}x{self.k}x{self.element}>",
            f"tensor<{self.n}x{self.k}x{self.element}>",
        )
        result = f"tensor<{self.m}x{self.n}xf32>"
        factors = ("%x", "%y")
        extensions = ""
        if self.element != "f32":
            factors = ("%xe", "%ye")
            extensions = (
                f"    %xe = arith.extf %x : {self.element} to f32\n"
                f"    %ye = arith.extf %y : {self.element} to f32\n"
            )
        return f"""\
func.func @f(%a: {lhs}, %b: {rhs}) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {result}
  %fill = linalg.fill ins(%zero : f32) outs(%empty : {result}) -> {result}
  %r = linalg.generic {{
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                     affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  }} ins(%a, %b : {lhs}, {rhs}) outs(%fill : {result}) {{
  ^bb0(%x: {self.element}, %y: {self.element}, %sum: f32):
{extensions}    %product = arith.mulf {factors[0]}, {factors[1]} : f32
    %next = arith.addf %product, %sum : f32
    linalg.yield %next : f32
  }} -> {result}
  return %r : {result}
}}
"""


@dataclass(frozen=True)
class Convolution:
    """A convolution, nhwc with a filter in hwcf, stride 1.

    Attributes:
        batch, height, width, channels: the image, padding included.
        filters: the output channels.
        window: height and width of the filter.
        element: the element type of the operands; the result is f32.
    """

    batch: int
    height: int
    width: int
    channels: int
    filters: int
    window: int
    element: str

    @property
    def name(self) -> str:
        """The name in the table."""
        return (
            f"conv {self.batch}x{self.height}x{self.width}x{self.channels} "
            f"{self.window}x{self.window} to {self.filters} {self.element}"
        )

    @property
    def program(self) -> str:
        """The program, a function that is one dispatch."""
        image = f"tensor<{self.batch}x{self.height}x{self.width}x{self.channels}x{self.element}>"
        kernel = (
            f"tensor<{self.window}x{self.window}x{self.channels}x{self.filters}x{self.element}>"
        )
        height, width = self.height - self.window + 1, self.width - self.window + 1
        result = f"tensor<{self.batch}x{height}x{width}x{self.filters}xf32>"
        return f"""\
func.func @f(%a: {image}, %b: {kernel}) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {result}
  %fill = linalg.fill ins(%zero : f32) outs(%empty : {result}) -> {result}
  %r = linalg.conv_2d_nhwc_hwcf {{dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}}
    ins(%a, %b : {image}, {kernel}) outs(%fill : {result}) -> {result}
  return %r : {result}
}}
"""


SUITES = {
    "gpu": (
        Matmul(2048, 1280, 5120, "f16"),
        Matmul(2048, 2048, 2048, "bf16"),
        Matmul(16, 4096, 4096, "f16"),
        Matmul(512, 14336, 4096, "f16"),
        Matmul(1024, 4096, 4096, "f16"),
        Matmul(8192, 5120, 640, "f16"),
        Convolution(2, 34, 34, 1280, 1280, 3, "f16"),
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
        Convolution(2, 16, 16, 256, 256, 3, "f32"),
    ),
}


def tune(
    problem: Matmul | Convolution, directory: Path, options: list[str], flags: list[str]
) -> dict[str, object]:
    """Tunes one problem and returns the report on its dispatch."""
    name = problem.name.replace(" ", "_")
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
