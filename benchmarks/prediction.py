"""Predictions of gains: measures candidates of the dispatches of small models, trains on them, and evaluates the model.

    python benchmarks/prediction.py collect DIR --python TORCH_PYTHON -- FLAG...
    python benchmarks/prediction.py campaign DIR --device local-sync --core 1 --processes 2 --budget 3600 -- FLAG...
    python benchmarks/prediction.py train DIR -o MODEL.json --folds FOLDS
    python benchmarks/prediction.py campaign DIR --stage 2 --models FOLDS --trials 12 ... -- FLAG...
    python benchmarks/prediction.py evaluate DIR --model MODEL.json

`collect` exports the models of `prediction_models.py`, with a Python that has the extra `torch`, and finds their
dispatches. `campaign` measures candidates of each distinct dispatch: near the compiler's choice, near the best so far,
first by the estimate, and drawn evenly; outputs of fast ones are compared with that of the compiler's choice. All of it can be
interrupted and continued. `train` leaves out `HELD_OUT`, and calibrates by leaving out one model after another. A second
stage measures what these models would choose from the whole spaces. DIR gets a database for each model, `MODEL.db`, and the times of a fixed dispatch, which show
whether the machine was quiet, `thermometer.jsonl`.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import statistics
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from prediction_campaign import HELD_OUT, TRIALS, campaign, collect

from tuninglink.devices import SAMPLE_SECONDS
from tuninglink.predicting import Fold, GainModel, MeasuredGains, Provenance, Selection, train
from tuninglink.tuning.database import (
    Database,
    EnvironmentRecord,
    Trial,
    gains_among,
    grouped_trials,
    read_trials,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_SAMPLE_US: Final = SAMPLE_SECONDS * 1e6
_AGREEING: Final = 1.5
_ENOUGH_SAMPLES: Final = 4


def steady(trials: Iterable[Trial]) -> Iterator[Trial]:
    """Leave out trials on GPUs that other processes disturbed: those of few samples of which no two agree.

    The size of a batch shows another time, that of the iterations which it was chosen by. It counts as a sample.
    """
    for trial in trials:
        is_local = trial.environment.driver.startswith("local")
        if is_local or trial.stage != "screen" or not trial.samples:
            yield trial
            continue
        before = (_SAMPLE_US / trial.batch,) if trial.batch > _ROUGH_BATCH else ()
        low, *others = sorted((*trial.samples, *before))
        is_steady = len(trial.samples) >= _ENOUGH_SAMPLES
        is_steady = is_steady or bool(others and others[0] <= _AGREEING * low)
        if is_steady or trial.origin == "default":
            yield replace(trial, samples=(*trial.samples, *before))


_ROUGH_BATCH: Final = 2


def measured_in(directory: Path, names: Iterable[str]) -> list[MeasuredGains]:
    """Return the gains that the databases of models have."""
    result = []
    for name in names:
        path = directory / f"{name}.db"
        if path.exists():
            with Database(path, read_only=True) as database:
                result += gains_among(steady(database.all_trials()), name)
    return result


def environment_in(directory: Path) -> EnvironmentRecord:
    """Return the environment of a campaign."""
    path = next(directory.glob("*.db"))
    with Database(path, read_only=True) as database:
        return next(iter(database.all_trials())).environment


def train_models(arguments: argparse.Namespace) -> None:
    """Train on the models that are not held out; write the model, and those of the calibration."""
    directory, folds = arguments.directory, arguments.folds
    names_in = {path.stem for path in directory.glob("*.db")} - set(arguments.held_out)
    measured = measured_in(directory, sorted(names_in))
    for table in arguments.tables:
        measured += gains_among(read_trials(table), table.stem)
    place = environment_in(directory)
    date = datetime.now(UTC).date().isoformat()
    provenance = Provenance(
        place.target, place.device, place.compiler, date=date, cores=place.cores
    )
    names: dict[str, str] = {}
    selected: list[Selection] = []

    def keep(fold: Fold) -> None:
        selected.extend(fold.selected)
        if folds is not None:
            folds.mkdir(exist_ok=True)
            name = f"fold{len(set(names.values()))}.json"
            (folds / name).write_bytes(fold.model.dump())
            names.update(dict.fromkeys(fold.groups, name))

    model = train(measured, provenance, keep)
    model = replace(model, margin=max(model.margin, arguments.margin))
    arguments.output.write_bytes(model.dump())
    if folds is not None:
        (folds / "all.json").write_bytes(model.dump())
        names.update(dict.fromkeys(arguments.held_out, "all.json"))
        (folds / "folds.json").write_text(json.dumps(names))
    size = arguments.output.stat().st_size
    print(f"{provenance}: {len(measured)} problems, {size} bytes")
    bounded = [replace(one, low=one.low - model.margin) for one in selected]
    print_figures("left out in the calibration", bounded)
    print(f"margin {model.margin:.3f}")


def taken_gain(one: Selection) -> float:
    """Return the gain of what a prediction takes: the candidate, or the default if the bound is not positive."""
    return one.gain if one.low > 0 else 0.0


def share(part: float, whole: float) -> str:
    """Return a part of a gain in percent; a dash if there is no gain."""
    return f"{part / whole:.0%}" if whole else "-"


def print_figures(title: str, figures: Sequence[Selection]) -> None:
    """Print the regret and the calibration by kind of operation; `low` are the lower bounds."""
    print(f"\n{title}")
    heads = (
        "problems",
        "predicted",
        "of the gain",
        "selected",
        "losses",
        "below",
        "regret p50",
        "p90",
    )
    print(f"{'kind':14}" + "".join(f"{head:>13}" for head in heads))
    kinds = sorted({one.kind for one in figures})
    for kind in (*kinds, ""):
        own = [one for one in figures if kind in ("", one.kind)]
        taken = [one for one in own if one.low > 0]
        best = sum(one.best for one in own)
        regrets = np.exp2([one.best - taken_gain(one) for one in own])
        cells = (
            f"{len(own)}",
            f"{len(taken)}",
            share(sum(map(taken_gain, own)), best),
            share(sum(one.gain for one in own), best),
            f"{sum(one.is_loss for one in taken)}",
            f"{sum(one.gain < one.low for one in taken)}",
            *(f"{np.quantile(regrets, part):.3f}" for part in (0.5, 0.9)),
        )
        print(f"{kind or 'all':14}" + "".join(f"{cell:>13}" for cell in cells))


def evaluate(arguments: argparse.Namespace) -> None:
    """Judge a model by the measured candidates of the models that are held out."""
    model = GainModel.load(arguments.model.read_bytes())
    everything: list[Selection] = []
    lines = []
    for name in arguments.held_out:
        tasks = pickle.loads((arguments.directory / "tasks" / f"{name}.pickle").read_bytes())
        calls = {task.key: task.calls for task in tasks}
        with Database(arguments.directory / f"{name}.db", read_only=True) as database:
            trials = list(steady(database.all_trials()))
        figures = []
        # The time of all calls: by default, with the best candidates, and with the predicted ones.
        totals = np.zeros(3)
        for own in grouped_trials(trials):
            for one in gains_among(own, name):
                gains = model.gains(one.problem, one.default, one.candidates)
                place = int(np.argmax(gains.lower))
                best = max(0.0, *one.gains)
                low = float(gains.lower[place])
                figures.append(Selection(one.problem.kind, low, one.gains[place], best))
                default = [trial.median for trial in own if trial.origin == "default"]
                us = calls[own[0].problem.key] * statistics.median(filter(None, default))
                totals += us * np.exp2([0.0, -best, -taken_gain(figures[-1])])
        if not figures:
            lines.append(f"{name:18} no dispatch was measured")
            continue
        print_figures(name, figures)
        everything += figures
        won, possible = math.log2(totals[0] / totals[2]), math.log2(totals[0] / totals[1])
        taken = [one for one in figures if one.low > 0]
        lines.append(
            f"{name:18} {totals[0] / 1000:9.3f} ms, best {2**possible:.2f}, predicted {2**won:.2f}: "
            f"{share(won, possible)} of the gain; {len(taken)} of {len(figures)} dispatches, the slowest "
            f"{2 ** min((one.gain for one in taken), default=0.0):.2f}"
        )
    if everything:
        print_figures("all models that are held out", everything)
    print("\ntime of all calls of the dispatches that can be tuned, and speedups")
    print("\n".join(lines))


def main() -> None:
    """Run a step."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    steps = parser.add_subparsers(required=True)
    step = steps.add_parser("collect")
    step.add_argument("directory", type=Path)
    step.add_argument("--python", default=sys.executable)
    step.add_argument("--programs", type=Path, nargs="+", default=[], help="instead of the models")
    step.set_defaults(run=lambda own: collect(own.directory, own.python, own.flags, own.programs))
    step = steps.add_parser("campaign")
    step.add_argument("directory", type=Path)
    step.add_argument("--device", required=True)
    step.add_argument("--core", type=int, help="the core of a CPU that measures")
    step.add_argument("--processes", type=int, default=1)
    step.add_argument("--jobs", type=int, default=1, help="compilations at once in a process")
    step.add_argument("--trials", type=int, default=TRIALS)
    step.add_argument("--budget", type=float, default=3600.0, metavar="SECONDS")
    step.add_argument(
        "--models", type=Path, help="the models of `train --folds`, whose best are tried"
    )
    step.add_argument(
        "--design", action="store_true", help="with --models, try one in three of theirs"
    )
    step.add_argument("--stage", type=int, default=1, help="another number measures all again")
    step.add_argument("--held-out", nargs="+", default=HELD_OUT, metavar="MODEL")
    step.add_argument("--until", type=float, help=argparse.SUPPRESS)
    step.add_argument("--number", type=int, help=argparse.SUPPRESS)
    step.set_defaults(run=campaign)
    step = steps.add_parser("train")
    step.add_argument("directory", type=Path)
    step.add_argument("-o", dest="output", type=Path, required=True)
    step.add_argument("--folds", type=Path, help="where to keep the models of the calibration")
    step.add_argument(
        "--tables", type=Path, nargs="+", default=[], help="recorded tables of other problems"
    )
    step.add_argument("--margin", type=float, default=0.0, help="the least margin of the bounds")
    step.add_argument("--held-out", nargs="+", default=HELD_OUT, metavar="MODEL")
    step.set_defaults(run=train_models)
    step = steps.add_parser("evaluate")
    step.add_argument("directory", type=Path)
    step.add_argument("--model", type=Path, required=True)
    step.add_argument("--held-out", nargs="+", default=HELD_OUT, metavar="MODEL")
    step.set_defaults(run=evaluate)
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments = parser.parse_args(sys.argv[1:split])
    arguments.flags = tuple(sys.argv[split + 1 :])
    arguments.run(arguments)


if __name__ == "__main__":
    main()
