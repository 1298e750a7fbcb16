"""Times and errors of compiled models, measured with IREE's own tools."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from program_files import FIGURES

from tuninglink.devices import physical_cores

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_FIRST_ROUNDS: Final = 5
_ROUNDS: Final = 25
"""The rounds of all programs, and of those that may be the fastest: other work makes half of the rounds 1.5 times as long."""

_FAR: Final = 1.3
"""The factor of the fastest program's time from which another one is not the fastest."""

_TIMEOUT: Final = 1200
_RUN_TIMEOUT: Final = 120
"""The seconds after which a run of a module fails: some programs do not end under a set of flags."""

_MILLISECONDS: Final = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}


_CUDA_ARGUMENTS: Final = ("--cuda_async_allocations=false", "--device_allocator=caching")
"""Arguments that keep the memory of results, as the framework does: new memory for large ones hides differences."""


class StepError(Exception):
    """A command failed; holds the end of what it wrote."""


def run(*command: object, timeout: float = _TIMEOUT) -> str:
    """Run a command and return what it writes to standard output.

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
        rounds: the milliseconds of all functions together, by round.
        error: the largest relative error of its outputs against the framework in f32.
    """

    rounds: list[float] = field(default_factory=list)
    error: float = math.nan

    @property
    def total(self) -> float:
        """The least of the rounds: other work on the machine, through caches and memory, only adds to a time."""
        return min(self.rounds)

    def speedup(self, default: Figures) -> float:
        """Return the ratio of another program's time to this one's."""
        return default.total / self.total


@dataclass(frozen=True)
class Model:
    """A model that was exported.

    Attributes:
        name: its name.
        directory: what an exporter wrote.
        device: the device of IREE that runs it.
    """

    name: str
    directory: Path
    device: str

    @property
    def program(self) -> Path:
        """The program."""
        bytecode = self.directory / "program.mlirbc"
        return bytecode if bytecode.exists() else bytecode.with_suffix(".mlir")

    @property
    def framework(self) -> dict[str, Any]:
        """The figures of the framework by function."""
        figures: dict[str, Any] = json.loads((self.directory / FIGURES).read_text())
        return figures

    def _arguments(self, module: Path, function: str) -> list[str]:
        inputs = [
            f"--input=@{self.directory / f'{function}.input.{position}.npy'}"
            for position in range(self.framework[function]["inputs"])
        ]
        return [
            f"--module={module}",
            f"--function={function}",
            f"--device={self.device}",
            f"--task_topology_cpu_ids={','.join(map(str, physical_cores()))}",
            *(_CUDA_ARGUMENTS if self.device.startswith("cuda") else ()),
            *inputs,
        ]

    def milliseconds(self, module: Path) -> float:
        """Return the time of a call of all functions; on a CPU with one thread, that thread's processor time."""
        return sum(self._function_milliseconds(module, function) for function in self.framework)

    def _function_milliseconds(self, module: Path, function: str) -> float:
        text = run(
            "iree-benchmark-module",
            *self._arguments(module, function),
            "--benchmark_format=json",
            "--benchmark_min_time=0.2s",
            timeout=_RUN_TIMEOUT,
        )
        begin = text.index("{")  # it may write about its device before
        entries = json.loads(text[begin:])["benchmarks"]
        (entry,) = [each for each in entries if each["run_type"] == "iteration"]
        key = "cpu_time" if self.device == "local-sync" else "real_time"
        if entry.get("error_occurred") or not entry[key] > 0:  # the tool ends with 0 after an abort
            raise StepError(f"iree-benchmark-module {module}: {entry.get('error_message', entry)}")
        return float(entry[key] * _MILLISECONDS[entry["time_unit"]])

    def error(self, module: Path) -> float:
        """Return the largest relative error of a module's outputs against the framework in f32."""
        worst = 0.0
        for function, figures in self.framework.items():
            count = figures["outputs"]
            paths = [self.directory / f"{function}.actual.{n}.npy" for n in range(count)]
            run(
                "iree-run-module",
                *self._arguments(module, function),
                *(f"--output=@{path}" for path in paths),
                timeout=_RUN_TIMEOUT,
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


def ending(model: Model, modules: Mapping[str, Path]) -> dict[str, Path]:
    """Return the modules that run to their end, and report the others."""
    result = {}
    for name, module in modules.items():
        try:
            model.milliseconds(module)
        except StepError as failure:
            print(f"{name}: {failure}", file=sys.stderr)
            continue
        result[name] = module
    return result


def measure(model: Model, modules: Mapping[str, Path]) -> dict[str, Figures]:
    """Measure modules in several rounds, each in random order; equal ones once.

    The first one, the default, and those that may be the fastest take part in all rounds, the others in the first ones.
    """
    chance = random.Random(0)
    names: dict[bytes, str] = {}
    originals = {
        name: names.setdefault(module.read_bytes(), name) for name, module in modules.items()
    }
    figures = {name: Figures() for name in names.values()}
    running = list(figures)
    for count in range(_ROUNDS):
        if count == _FIRST_ROUNDS:
            bound = _FAR * min(figure.total for figure in figures.values())
            running = [running[0], *(n for n in running[1:] if figures[n].total <= bound)]
        for name in chance.sample(running, len(running)):
            figures[name].rounds.append(model.milliseconds(modules[name]))
    for name, figure in figures.items():
        figure.error = model.error(modules[name])
    return {name: figures[original] for name, original in originals.items()}
