"""Coverage of models by a library that was not made from them.

    python benchmarks/coverage.py --suite cpu --budget 3m --device local-sync -- --iree-hal-target-device=local \
        --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host

For each model: the share of the dispatches' time for which the library has an entry, that share of the dispatches which
tuning makes faster (for the others the compiler's choice is right), the speedup of the whole program with the library alone, the speedup with `tuninglink tune`, and the part of the gain of tuning that the library gives.
Times of dispatches are those of the tuner's report; whole programs are timed with `iree-benchmark-module`, in turn.
The models have other widths and lengths than those of `models.py`; `--only` takes the names of those as well. Needs
what `models.py` needs.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from model_figures import StepError, measure, run
from models import SUITES, compile_tuned, export, tune

if TYPE_CHECKING:
    from collections.abc import Sequence

    from model_figures import Model

_LEAST_GAIN: Final = 1.02
"""A smaller speedup may be noise."""

HELD_OUT: Final = ("encoder", "short_bert", "small_resnet", "narrow_llama")


@dataclass(frozen=True)
class Coverage:
    """The effect of a library on a model.

    Attributes:
        covered: the share of the time of all tuned dispatches for which it has an entry.
        won: the share of the time of the dispatches that tuning makes faster for which it has an entry.
        library: the speedup with the library alone.
        tuned: the speedup with what the tuner found.
    """

    covered: float
    won: float
    library: float
    tuned: float

    @property
    def part(self) -> float:
        """The part of the gain of tuning that the library gives, as a ratio of logarithms; NaN without a gain."""
        has_gain = self.tuned >= _LEAST_GAIN
        return math.log(self.library) / math.log(self.tuned) if has_gain else math.nan


def configured(model: Model, library: str, flags: Sequence[str]) -> set[str]:
    """Return the names of the dispatches that a library configures."""
    text = run(
        "tuninglink", "explain", model.program, "--spec", library, "--format", "json", *flags
    )
    dispatches = json.loads(text)["dispatches"]
    return {each["name"] for each in dispatches if each["status"] == "tuned"}


def share(problems: Sequence[dict[str, Any]], names: set[str]) -> float:
    """Return the share of some dispatches in the time of problems that a tuner has measured."""
    whole = sum(each["share"] for each in problems)
    part = sum(each["share"] for each in problems if names.intersection(each["names"]))
    return part / whole if whole else 0.0


def cover(name: str, directory: Path, arguments: argparse.Namespace) -> Coverage:
    """Export, tune and measure one model."""
    model = export(name, directory, arguments.suite, arguments.device)
    library, flags = arguments.library, arguments.flags
    modules = {each: directory / f"{each}.vmfb" for each in ("default", "library", "tuned")}
    run("iree-compile", model.program, "-o", modules["default"], *flags)
    program, module = model.program, modules["library"]
    run("tuninglink", "compile", program, "-o", module, "--spec", library, *flags)
    options = ["--budget", arguments.budget, "--device", arguments.device, *arguments.tune]
    report = tune(model, [*options, *flags])
    compile_tuned(model, modules["tuned"], flags)
    figures = measure(model, modules)
    default = figures["default"].total
    names, problems = configured(model, library, flags), report["dispatches"]
    return Coverage(
        share(problems, names),
        share([problem for problem in problems if problem["outcome"] == "won"], names),
        default / figures["library"].total,
        default / figures["tuned"].total,
    )


def main() -> None:
    """Print a row for each model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--suite", choices=sorted(SUITES), required=True)
    parser.add_argument("--only", nargs="*", default=HELD_OUT, metavar="MODEL")
    parser.add_argument("--library", default="library:auto", help="what names the spec")
    parser.add_argument("--device", required=True)
    parser.add_argument("--budget", default="3m")
    parser.add_argument(
        "--tune", action="append", default=[], metavar="OPTION", help="an option of tuninglink tune"
    )
    parser.add_argument("flags", nargs="*", help="flags of iree-compile, behind --")
    arguments = parser.parse_args()
    print(
        "| model | time covered | of what tuning wins | library alone | tuned | part of the gain |"
    )
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    # A model that fails is a row of the table, too.
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.only:
            try:
                found = cover(name, Path(scratch) / name, arguments)
            except StepError as failure:
                print(f"| {name} | failed |\n{failure}", flush=True)
                continue
            print(
                f"| {name} | {100 * found.covered:.0f} % | {100 * found.won:.0f} % | {found.library:.2f} | {found.tuned:.2f} "
                f"| {100 * found.part:.0f} % |",
                flush=True,
            )


if __name__ == "__main__":
    main()
