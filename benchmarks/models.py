"""What tuning wins for whole models of PyTorch that were not written for the tuner.

    python benchmarks/models.py --suite gpu --budget 3m --device cuda://0 -- \
        --iree-hal-target-device=cuda --iree-cuda-target=sm_80
    python benchmarks/models.py --suite cpu --budget 3m --device local-sync -- --iree-hal-target-device=local \
        --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host

Each model is exported and run with PyTorch, compiled as it is, tuned by `tuninglink tune`, and compiled with the spec
(and flags) that came of it. Both programs are then timed with `iree-benchmark-module`, in turn, and their outputs are
compared with PyTorch's in f32: all that is printed is measured outside the tuner. Needs the extras `tune` and `torch`,
and `transformers`. Not part of `make bench`: it takes minutes for each model, and a quiet device.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE: Final = Path(__file__).parent
MODELS: Final = ("bert", "resnet50", "llama", "gpt2", "vit", "whisper", "unet_block", "bottleneck")
SUITES: Final = {"gpu": ("f16", "cuda"), "cpu": ("f32", "cpu")}
"""The type of a suite, and the device of PyTorch."""

_ROUNDS: Final = 3
_TIMEOUT: Final = 1200


class StepError(Exception):
    """A command failed; holds the end of what it wrote."""


def run(*command: object, timeout: float = _TIMEOUT) -> str:
    """Runs a command and returns what it writes to standard output.

    Raises:
        StepError: it fails.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired as failure:
        raise StepError(f"{words[0]} {words[1]}: no end after {timeout:.0f} s") from failure
    if words[:2] == ["tuninglink", "tune"]:
        print(done.stderr, file=sys.stderr, flush=True)  # its progress
    if done.returncode:
        raise StepError(
            f"{' '.join(words[:4])}: exit code {done.returncode}\n{done.stderr[-2000:]}"
        )
    return done.stdout


@dataclass
class Figures:
    """The figures of one program.

    Attributes:
        milliseconds: the median time of each function.
        error: the largest relative error of its outputs against PyTorch in f32.
    """

    milliseconds: dict[str, float] = field(default_factory=dict)
    error: float = math.nan

    @property
    def total(self) -> float:
        """The sum of all functions, in milliseconds."""
        return sum(self.milliseconds.values())


@dataclass(frozen=True)
class Model:
    """A model that was exported.

    Attributes:
        name: its name.
        directory: what `torch_export.py` wrote.
        device: the device of IREE that runs it.
    """

    name: str
    directory: Path
    device: str

    @property
    def program(self) -> Path:
        """The program."""
        return self.directory / "program.mlirbc"

    @property
    def pytorch(self) -> dict[str, Any]:
        """The figures of PyTorch by function."""
        figures: dict[str, Any] = json.loads((self.directory / "pytorch.json").read_text())
        return figures

    def _arguments(self, module: Path, function: str) -> list[str]:
        inputs = [
            f"--input=@{self.directory / f'{function}.input.{position}.npy'}"
            for position in range(self.pytorch[function]["inputs"])
        ]
        return [f"--module={module}", f"--function={function}", f"--device={self.device}", *inputs]

    def milliseconds(self, module: Path, function: str) -> float:
        """Returns the time of a call; on a CPU with one thread, that thread's processor time."""
        arguments = self._arguments(module, function)
        text = run(
            "iree-benchmark-module",
            *arguments,
            "--benchmark_format=json",
            "--benchmark_min_time=0.5s",
            "--benchmark_repetitions=3",
        )
        begin = text.index("{")  # it may write about its device before
        samples = [
            entry
            for entry in json.loads(text[begin:])["benchmarks"]
            if entry["run_type"] == "iteration"
        ]
        units = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
        key = "cpu_time" if self.device == "local-sync" else "real_time"
        return min(entry[key] * units[entry["time_unit"]] for entry in samples)

    def error(self, module: Path) -> float:
        """Returns the largest relative error of a module's outputs against PyTorch in f32."""
        worst = 0.0
        for function, figures in self.pytorch.items():
            count = figures["outputs"]
            paths = [self.directory / f"{function}.actual.{n}.npy" for n in range(count)]
            run(
                "iree-run-module",
                *self._arguments(module, function),
                *(f"--output=@{path}" for path in paths),
            )
            for position, path in enumerate(paths):
                actual = np.load(path).astype(np.float32)
                expected = np.load(self.directory / f"{function}.expected.{position}.npy")
                norm = np.linalg.norm(actual.reshape(expected.shape) - expected)
                # A NaN is larger than any error.
                worst = max(
                    worst, float(np.nan_to_num(norm / np.linalg.norm(expected), nan=np.inf))
                )
        return worst


def measure(model: Model, modules: dict[str, Path]) -> dict[str, Figures]:
    """Measures modules in turn, each function in several rounds."""
    figures = {name: Figures() for name in modules}
    for function in model.pytorch:
        times: dict[str, list[float]] = {name: [] for name in modules}
        for _ in range(_ROUNDS):
            for name, module in modules.items():
                times[name].append(model.milliseconds(module, function))
        for name, samples in times.items():
            figures[name].milliseconds[function] = statistics.median(samples)
    for name, module in modules.items():
        figures[name].error = model.error(module)
    return figures


def tune(model: Model, options: Sequence[str]) -> dict[str, Any]:
    """Tunes a model and returns the report."""
    spec, report = model.directory / "tuned.mlir", model.directory / "report"
    functions = [f"--function={name}" for name in model.pytorch] if len(model.pytorch) > 1 else []
    begin = time.monotonic()
    run("tuninglink", "tune", model.program, "-o", spec, "--report", report, *functions, *options)
    found: dict[str, Any] = json.loads((report / "report.json").read_text())
    return {**found, "wall_seconds": time.monotonic() - begin}


def row(model: Model, figures: dict[str, Figures], report: dict[str, Any]) -> str:
    """Returns the row of a model in the table."""
    default, tuned = figures["default"], figures["tuned"]
    pytorch = sum(function["milliseconds"] for function in model.pytorch.values())
    error = max(function["error"] for function in model.pytorch.values())
    trials = sum(dispatch["trials"] for dispatch in report["dispatches"])
    won = sum(dispatch["outcome"] == "won" for dispatch in report["dispatches"])
    guarded = "yes" if report.get("model") else "no"
    return (
        f"| {model.name} | {pytorch:.3g} ms, {error:.1g} | {default.total:.4g} ms, {default.error:.1g} "
        f"| {tuned.total:.4g} ms, {tuned.error:.1g} | {default.total / tuned.total:.2f} "
        f"| {won} of {len(report['dispatches'])}, {trials} trials | {guarded} |"
    )


def export(name: str, directory: Path, suite: str, device: str) -> Model:
    """Exports a model of `torch_models.py`, and runs it with PyTorch.

    Args:
        name: its name.
        directory: gets the program, its inputs, and what PyTorch computed.
        suite: which of `SUITES`.
        device: the device of IREE that will run it.
    """
    dtype, torch_device = SUITES[suite]
    run(
        *(sys.executable, HERE / "torch_export.py", name, "--directory", directory),
        *("--dtype", dtype, "--device", torch_device),
        *(("--threads", "1") if device == "local-sync" else ()),
    )
    return Model(name, directory, device)


def benchmark(
    name: str, directory: Path, arguments: argparse.Namespace
) -> tuple[str, float, dict[str, Any]]:
    """Exports, tunes and measures one model; returns its row, its speedup, and all figures."""
    model = export(name, directory, arguments.suite, arguments.device)
    default, tuned = directory / "default.vmfb", directory / "tuned.vmfb"
    run("iree-compile", model.program, "-o", default, *arguments.flags)
    options = ["--budget", arguments.budget, "--device", arguments.device, *arguments.tune]
    report = tune(model, [*options, *arguments.flags])
    flags = directory / "tuned.flags"
    chosen = [f"@{flags}"] if flags.exists() else []
    spec = directory / "tuned.mlir"
    run(
        "tuninglink",
        "compile",
        model.program,
        "-o",
        tuned,
        "--spec",
        spec,
        *chosen,
        *arguments.flags,
    )
    figures = measure(model, {"default": default, "tuned": tuned})
    record = {key: asdict(value) for key, value in figures.items()}
    speedup = figures["default"].total / figures["tuned"].total
    return (
        row(model, figures, report),
        speedup,
        {**record, "pytorch": model.pytorch, "report": report},
    )


def keep(name: str, directory: Path, record: dict[str, Any], folder: Path) -> None:
    """Keeps the figures of a model, its spec, and the flags that were chosen for it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1))
    for suffix in ("mlir", "flags"):
        path = directory / f"tuned.{suffix}"
        if path.exists():
            (folder / f"{name}.{suffix}").write_bytes(path.read_bytes())


def main() -> None:
    """Tunes the models and prints a table with the geometric mean."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--suite", choices=sorted(SUITES), required=True)
    parser.add_argument("--only", nargs="*", choices=MODELS, default=MODELS, metavar="MODEL")
    parser.add_argument("--device", required=True)
    parser.add_argument("--budget", default="3m")
    parser.add_argument("--directory", type=Path, help="keep programs, specs and reports here")
    parser.add_argument(
        "--tune", action="append", default=[], metavar="OPTION", help="an option of tuninglink tune"
    )
    parser.add_argument(
        "--record", type=Path, help="write the figures and the spec of each model to this folder"
    )
    parser.add_argument("flags", nargs="*", help="flags of iree-compile, behind --")
    arguments = parser.parse_args()
    print(
        "| model | PyTorch, error | default, error | tuned, error | speedup | dispatches | guarded |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    speedups = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.only:
            directory = (arguments.directory or Path(scratch)) / name
            try:
                text, speedup, record = benchmark(name, directory, arguments)
            except StepError as failure:
                print(f"| {name} | failed |\n{failure}", flush=True)
                continue
            print(text, flush=True)
            speedups.append(speedup)
            if arguments.record:
                keep(name, directory, record, arguments.record)
    if speedups:
        mean = math.exp(statistics.fmean(map(math.log, speedups)))
        print(f"geometric mean of {len(speedups)}: {mean:.3f}")


if __name__ == "__main__":
    main()
