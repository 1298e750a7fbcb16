"""Speedups from tuning whole models that were not written for the tuner, over the default and the best flags.

    python benchmarks/models.py --suite gpu --budget 3m --device cuda://0 -- \
        --iree-hal-target-device=cuda --iree-cuda-target=sm_80
    python benchmarks/models.py --suite cpu --budget 5m --device local-sync -- --iree-hal-target-device=local \
        --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host

The suites `fresh`, `mixed`, `encoders` and `mixed-cpu` have models that the tuner was not made with. Each model is exported and
run with its framework (PyTorch, ONNX or JAX), compiled as it is and under each set of flags of `--flag-sets`, tuned by
`tuninglink tune`, and compiled with the resulting spec and flags. All programs are then timed with
`iree-benchmark-module`, in turn, and their outputs are compared with the framework's in f32: all that is printed is
measured outside the tuner. A set counts as the best only if its error is at most twice that of the default, or 1e-4;
sets under which the program does not compile, fails or does not end are left out. Needs the extras `tune`, `torch`,
`onnx`, `jax`, `transformers` and `torchvision`.
Not part of `make bench`: it takes minutes for each model, and a quiet device.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from model_figures import Figures, Model, StepError, ending, measure, run
from program_files import FIGURES

from tuninglink.tuning.flag_sets import flag_sets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE: Final = Path(__file__).parent


@dataclass(frozen=True)
class Suite:
    """Models that run on one kind of device.

    Attributes:
        dtype: the type of their weights.
        device: the device of PyTorch.
        backend: the backend of the compiler, which has the sets of flags.
        models: their names.
    """

    dtype: str
    device: str
    backend: str
    models: tuple[str, ...]


_JAX: Final = ("convnext", "transformer", "perceiver")

SUITES: Final = {
    "gpu": Suite(
        *("f16", "cuda", "cuda"),
        ("bert", "resnet50", "llama", "gpt2", "vit", "whisper", "unet_block", "bottleneck"),
    ),
    "fresh": Suite(
        *("f16", "cuda", "cuda"),
        ("decoder_step", "dit", "convnext_tiny", "vae_decoder", "clip_image", "experts"),
    ),
    "mixed": Suite(
        *("f16", "cuda", "cuda"), ("prompt", "windows", "conformer", "regnet", "relative")
    ),
    "encoders": Suite(
        *("f16", "cuda", "cuda"),
        ("encoder_197", "encoder_249", "encoder_257", "encoder_577"),
    ),
    "mixed-cpu": Suite(
        *("f32", "cpu", "llvm-cpu"), ("conformer_small", "regnet_small", "relative_small")
    ),
    "cpu": Suite(
        *("f32", "cpu", "llvm-cpu"),
        ("vit_tiny", "mobilenet", "small_llama", "unet", "ranker", *_JAX),
    ),
}

_LEAST_ERROR: Final = 1e-4
_DEFAULT: Final = "default"
_OURS: Final = "ours"


def export(name: str, directory: Path, suite: str, device: str) -> Model:
    """Export a model, and run it with its framework, unless its directory holds it already.

    Args:
        name: its name.
        directory: gets the program, its inputs, and what the framework computed.
        suite: which of `SUITES`.
        device: the device of IREE that will run it.
    """
    model = Model(name, directory, device)
    if (directory / FIGURES).exists():
        return model
    threads = ("--threads", "1") if device == "local-sync" else ()
    kind = SUITES[suite]
    if name in _JAX:
        exporter: Sequence[object] = (HERE / "jax_export.py", name)
    else:
        types = ("--dtype", kind.dtype, "--device", kind.device)
        exporter = (HERE / "torch_export.py", name, *types)
    run(sys.executable, *exporter, "--directory", directory, *threads)
    return model


def tune(model: Model, options: Sequence[str]) -> dict[str, Any]:
    """Tune a model and return the report."""
    spec, report = model.directory / "tuned.mlir", model.directory / "report"
    names = list(model.framework)
    functions = [f"--function={name}" for name in names] if len(names) > 1 else []
    begin = time.monotonic()
    run("tuninglink", "tune", model.program, "-o", spec, "--report", report, *functions, *options)
    written: dict[str, Any] = json.loads((report / "report.json").read_text())
    return {**written, "wall_seconds": time.monotonic() - begin}


def compile_tuned(model: Model, module: Path, flags: Sequence[str]) -> None:
    """Compile a model with the spec and the flags that tuning wrote."""
    chosen = model.directory / "tuned.flags"
    response = [f"@{chosen}"] if chosen.exists() else []
    spec = model.directory / "tuned.mlir"
    run("tuninglink", "compile", model.program, "-o", module, "--spec", spec, *response, *flags)


def compile_sets(
    model: Model, sets: Mapping[str, Sequence[str]], flags: Sequence[str]
) -> dict[str, Path]:
    """Compile a model under each set of flags; return the modules of those that compile."""

    def compile_set(name: str) -> Path | None:
        module = model.directory / f"{name.replace(' ', '_')}.vmfb"
        try:
            run("iree-compile", model.program, "-o", module, *flags, *sets[name])
        except StepError as failure:
            print(failure, file=sys.stderr)
            return None
        return module

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        modules = dict(zip(sets, threads.map(compile_set, sets), strict=True))
    return {name: module for name, module in modules.items() if module is not None}


@dataclass(frozen=True)
class Row:
    """The outcome for one model.

    Attributes:
        model: the model.
        figures: the figures of all programs: the default, those of the sets, and ours.
        report: the report of the tuner.
    """

    model: Model
    figures: Mapping[str, Figures]
    report: dict[str, Any]

    def speedup(self, name: str) -> float:
        """Return the speedup of a program against the default."""
        return self.figures[name].speedup(self.figures[_DEFAULT])

    @property
    def best(self) -> str:
        """The name of the fastest set with the results of the default."""
        bound = max(2 * self.figures[_DEFAULT].error, _LEAST_ERROR)
        right = [
            name
            for name, figures in self.figures.items()
            if name == _DEFAULT or (name != _OURS and figures.error <= bound)
        ]
        return max(right, key=self.speedup)

    @property
    def against_best(self) -> float:
        """The speedup of ours against the best set."""
        return self.figures[_OURS].speedup(self.figures[self.best])

    def __str__(self) -> str:
        """Return the row of the table."""
        default, ours = self.figures[_DEFAULT], self.figures[_OURS]
        functions = self.model.framework.values()
        framework = sum(function["milliseconds"] for function in functions)
        dispatches = self.report["dispatches"]
        won = sum(dispatch["outcome"] == "won" for dispatch in dispatches)
        taken = [each["name"] for each in self.report["flag_sets"] if each["taken"]]
        cells = (
            self.model.name,
            f"{framework:.3g} ms",
            f"{default.total:.4g} ms, {default.error:.1g}",
            f"{self.speedup(self.best):.2f} ({self.best})",
            f"{self.speedup(_OURS):.2f} ({', '.join(taken) or _DEFAULT}), {ours.error:.1g}",
            f"{self.against_best:.3f}",
            f"{won} of {len(dispatches)}",
            f"{self.report['wall_seconds']:.0f} s",
        )
        return f"| {' | '.join(cells)} |"


_HEADER: Final = """\
| model | framework | default, error | best set | ours, error | ours against the best set | won | tuned in |
| --- | --- | --- | --- | --- | --- | --- | --- |"""


def benchmark(name: str, directory: Path, arguments: argparse.Namespace) -> Row:
    """Export, tune and measure one model."""
    model = export(name, directory, arguments.suite, arguments.device)
    options = ["--budget", arguments.budget, "--device", arguments.device, *arguments.tune]
    report = tune(model, [*options, *arguments.flags])
    backend = SUITES[arguments.suite].backend
    listed = flag_sets(backend, arguments.flag_sets, arguments.flags, program=str(model.program))
    sets = {_DEFAULT: (), **{flag_set.name: flag_set.flags for flag_set in listed}}
    modules = ending(model, compile_sets(model, sets, arguments.flags))
    if _DEFAULT not in modules:
        raise StepError(f"{name}: the program does not run with the flags that are given")
    modules[_OURS] = directory / "tuned.vmfb"
    compile_tuned(model, modules[_OURS], arguments.flags)
    return Row(model, measure(model, modules), report)


def main() -> None:
    """Tune the models and print a table with the geometric means."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--suite", choices=sorted(SUITES), required=True)
    parser.add_argument("--only", nargs="*", metavar="MODEL")
    parser.add_argument("--device", required=True)
    parser.add_argument("--budget", default="3m")
    parser.add_argument(
        "--flag-sets", default="", metavar="FILE", help="the sets to compare with, or none"
    )
    parser.add_argument(
        "--directory",
        type=Path,
        help="keep programs, specs and reports here, and use models that it holds",
    )
    parser.add_argument(
        "--tune", action="append", default=[], metavar="OPTION", help="an option of tuninglink tune"
    )
    parser.add_argument(
        "--record", type=Path, help="write the figures and the spec of each model to this folder"
    )
    parser.add_argument("flags", nargs="*", help="flags of iree-compile, behind --")
    arguments = parser.parse_args()
    # A model that fails is a row of the table, too.
    print(_HEADER, flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.only or SUITES[arguments.suite].models:
            directory = (arguments.directory or Path(scratch)) / name
            try:
                row = benchmark(name, directory, arguments)
            except StepError as failure:
                print(f"| {name} | failed |\n{failure}", flush=True)
                continue
            print(row, flush=True)
            rows.append(row)
            if arguments.record:
                record(row, arguments.record)
    if rows:
        means = (
            math.exp(statistics.fmean(math.log(value) for value in values))
            for values in zip(
                *((row.speedup(_OURS), row.speedup(row.best), row.against_best) for row in rows),
                strict=True,
            )
        )
        ours, best, ratio = means
        print(
            f"geometric means of {len(rows)}: ours {ours:.3f}, best set {best:.3f}, ours against it {ratio:.3f}"
        )


def record(row: Row, directory: Path) -> None:
    """Keep the figures of a model, its spec, and the flags that were chosen for it."""
    directory.mkdir(parents=True, exist_ok=True)
    figures = {name: asdict(figures) for name, figures in row.figures.items()}
    content = {"figures": figures, "framework": row.model.framework, "report": row.report}
    name = row.model.name
    (directory / f"{name}.json").write_text(json.dumps(content, indent=1))
    for suffix in ("mlir", "flags"):
        path = row.model.directory / f"tuned.{suffix}"
        if path.exists():
            (directory / f"{name}.{suffix}").write_bytes(path.read_bytes())


if __name__ == "__main__":
    main()
