"""Counts the valid and the refuted configurations that compile.

Makes random programs of a form, and for each tries the compiler's own choice, some of the valid configurations of each
space, and some near them that break rules. Each is judged as `tuninglink-verify-configs` does, and compiled to the end
in a separate process:

    python test/campaigns/verdicts.py --target gfx942 --form matmul batched --samples 20 --seed 1 --output trials.jsonl

Programs are tried in parallel, each in a separate process that appends a line of JSON for each trial to the output.
The tables are made from that file, with what earlier runs have left there; `--samples 0` makes them and tries nothing.

`--judge-only` compiles no configuration, and counts the verdicts.

The seed and the number of a sample determine its program: `--sample 7` repeats it. The exit code is 1 if a valid
configuration does not compile, or a refuted one does. Known targets and forms are in `test/support/verdict_trials.py`
and `test/support/verdict_programs.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from iree.compiler import ir as mlir
from verdict_programs import FORMS
from verdict_trials import TARGETS, Trials, changed, sampled

from tuninglink.errors import Severity
from tuninglink.mlir import names
from tuninglink.solver import UndecidedError, Verdict
from tuninglink.spaces import ProviderRegistry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tuninglink.spaces import ConfigurationAnswer
    from tuninglink.spaces.model import Space

COLUMNS = ("valid", "warning", "not decided", "refuted")
ROOT_ATTRIBUTES = (names.LOWERING_CONFIG, names.DECOMPOSITION_CONFIG, names.COMPILATION_INFO)
HANDED_ON = ("seed", "configurations", "seconds", "output")


@dataclass(frozen=True, order=True)
class Trial:
    """A configuration that was tried.

    Attributes:
        target: what was compiled for.
        form: what the program computes.
        seed: the seed of the campaign.
        sample: the number of the program.
        pipeline: the name of the pipeline.
        origin: where the configuration comes from.
        verdict: the column of the verdict.
        problem: what the program computes, in words.
        configuration: the attributes of the root op and of its function that configure it.
        answer: the verdict in words.
        error: the compiler's first error, empty if it compiled, None if it was not tried.
    """

    target: str
    form: str
    seed: int
    sample: int
    pipeline: str
    origin: str
    verdict: str
    problem: str
    configuration: str
    answer: str
    error: str | None

    @property
    def contradicts(self) -> bool:
        """Whether the compiler contradicts the verdict."""
        if self.error is None:
            return False
        return (
            bool(self.error)
            if self.verdict == "valid"
            else self.verdict == "refuted" and not self.error
        )

    def __str__(self) -> str:
        where = (
            f"--target {self.target} --form {self.form} --seed {self.seed} --sample {self.sample}"
        )
        outcome = "not compiled" if self.error is None else self.error[:300] or "it compiles"
        return (
            f"{self.verdict}, and: {outcome}\n  {self.answer}\n"
            f"  {where}: {self.problem}, {self.pipeline}, {self.origin}, {self.configuration}"
        )


def verdict_of(answer: ConfigurationAnswer) -> str:
    """Return the column of an answer; a warning about a valid configuration counts as valid."""
    if answer.verdict is Verdict.PROVEN:
        return "valid"
    if answer.verdict is Verdict.REFUTED:
        return "refuted"
    return "warning" if answer.severity is Severity.WARNING else "not decided"


def origins(trials: Trials, registry: ProviderRegistry, count: int, seed: int) -> Iterator[str]:
    """Configure a dispatch in all ways that are tried, and yield the origin of each."""
    own = trials.judge(registry)
    if own is not None:
        yield "the compiler's"
    for pipeline in trials.target.pipelines:
        for space in spaces_of(trials, registry, pipeline):
            for assignment in sampled(space, count, seed):
                trials.configure(space, assignment)
                yield "sampled"
            for assignment in changed(space, count, seed):
                trials.configure(space, assignment)
                yield "changed"


def spaces_of(trials: Trials, registry: ProviderRegistry, pipeline: str) -> list[Space]:
    """Return the spaces in a pipeline whose configurations are known to compile."""
    try:
        spaces = registry.spaces(trials.workload, pipeline)
    except UndecidedError:
        return []
    return [each for each in spaces if each.is_sufficient]


def try_sample(
    target: str, form: str, number: int, arguments: argparse.Namespace
) -> Iterator[Trial]:
    """Try configurations of one random program."""
    source = FORMS[form](random.Random(f"{arguments.seed}/{form}/{number}"))
    registry = ProviderRegistry(lambda _: None, entry_points=tuple)
    trials = Trials.of(source, TARGETS[target], arguments.seconds)
    for origin in origins(trials, registry, arguments.configurations, number):
        answer = trials.judge(registry)
        assert answer is not None
        yield Trial(
            target=target,
            form=form,
            seed=arguments.seed,
            sample=number,
            pipeline=answer.pipeline.partition("<")[2].rstrip(">"),
            origin=origin,
            verdict=verdict_of(answer),
            problem=str(trials.workload.problem),
            configuration=configuration_of(trials),
            answer=str(answer),
            error=None if arguments.judge_only else trials.compile().error,
        )


def configuration_of(trials: Trials) -> str:
    """Return the attributes that configure the root op, as MLIR writes a dictionary."""
    root, function = trials.workload.root.attributes, trials.workload.function.attributes
    found = {each: root[each] for each in ROOT_ATTRIBUTES if each in root}
    if names.TRANSLATION_INFO in function:
        found[names.TRANSLATION_INFO] = function[names.TRANSLATION_INFO]
    return str(mlir.DictAttr.get(found, trials.workload.root.context))


def run_sample(target: str, form: str, arguments: argparse.Namespace) -> None:
    """Try one program in this process, and append each trial to the output."""
    label = f"--target {target} --form {form} --seed {arguments.seed} --sample {arguments.sample}"
    try:
        for trial in try_sample(target, form, arguments.sample, arguments):
            if trial.contradicts or not arguments.quiet:
                sys.stderr.write(f"{trial}\n")
            with arguments.output.open("a") as output:
                output.write(f"{json.dumps(asdict(trial))}\n")
    except ValueError as failure:
        sys.stderr.write(f"{label}: no dispatch: {failure}\n")
    else:
        sys.stderr.write(f"{label}: done\n")


async def run_process(limiter: asyncio.Semaphore, command: Sequence[str]) -> None:
    """Run a command, and end it with all that it has started when this is cancelled."""
    async with limiter:
        process = await asyncio.create_subprocess_exec(*command, start_new_session=True)
        try:
            if await process.wait():
                sys.stderr.write(f"exit code {process.returncode}: {' '.join(command)}\n")
        finally:
            if process.returncode is None:
                # It may have ended since.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


async def run_campaign(arguments: argparse.Namespace) -> None:
    """Try all programs, each in a separate process, until the time is over."""
    limiter = asyncio.Semaphore(arguments.jobs)
    options = (
        "--quiet",
        *["--judge-only"] * arguments.judge_only,
        *(f"--{name}={getattr(arguments, name)}" for name in HANDED_ON),
    )
    samples = itertools.product(range(arguments.samples), arguments.form, arguments.target)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(arguments.minutes and arguments.minutes * 60):
            async with asyncio.TaskGroup() as group:
                for number, form, target in samples:
                    which = (f"--target={target}", f"--form={form}", f"--sample={number}")
                    command = (sys.executable, __file__, *which, *options)
                    group.create_task(run_process(limiter, command))


def table(trials: Iterable[Trial], *fields: str) -> str:
    """Return a table in Markdown: for each value of the fields, how many compiled of how many.

    Where nothing was compiled, the number of trials alone.
    """
    compiled: Counter[tuple[str, ...]] = Counter()
    tried: Counter[tuple[str, ...]] = Counter()
    total: Counter[tuple[str, ...]] = Counter()
    for trial in trials:
        cell = (*(getattr(trial, field) for field in fields), trial.verdict)
        compiled[cell] += trial.error == ""
        tried[cell] += trial.error is not None
        total[cell] += 1
    lines = [(*fields, *COLUMNS), ("---",) * (len(fields) + len(COLUMNS))]
    for row in sorted({each[:-1] for each in total}):
        cells = [(*row, each) for each in COLUMNS]
        counts = [
            f"{compiled[cell]} of {tried[cell]}" if tried[cell] else str(total[cell] or "")
            for cell in cells
        ]
        lines.append((*row, *counts))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def report(trials: Sequence[Trial]) -> str:
    """Return the results of a campaign."""
    reasons = Counter(each.answer[:200] for each in trials if each.verdict == "not decided")
    sections = [
        table(trials, "target", "pipeline"),
        table(trials, "target", "form"),
        table(trials, "target", "form", "pipeline", "origin"),
        "\n".join(["Not decided:", *(f"{n} x {each}" for each, n in reasons.most_common(20))]),
        "\n".join(["Contradictions:", *(str(each) for each in trials if each.contradicts)]),
    ]
    return "\n\n".join(sections)


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", nargs="+", choices=sorted(TARGETS), default=["gfx942"])
    parser.add_argument("--form", nargs="+", choices=sorted(FORMS), default=sorted(FORMS))
    parser.add_argument("--samples", type=int, default=20, help="programs of each form")
    parser.add_argument("--configurations", type=int, default=2, help="of each space and origin")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, help="try this program only, and show each trial")
    parser.add_argument("--seconds", type=float, default=60, help="for each compilation")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="programs at a time")
    parser.add_argument("--minutes", type=float, help="end after this time with what there is")
    parser.add_argument(
        "--output", type=Path, help="the file of trials; a temporary one by default"
    )
    parser.add_argument("--judge-only", action="store_true", help="compile no configuration")
    parser.add_argument("--quiet", action="store_true", help="make no tables")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        arguments.output = arguments.output or Path(scratch, "trials.jsonl")
        if arguments.sample is None:
            asyncio.run(run_campaign(arguments))
        else:
            for target, form in itertools.product(arguments.target, arguments.form):
                run_sample(target, form, arguments)
        if arguments.quiet:
            return
        arguments.output.touch()
        lines = arguments.output.read_text().splitlines()
    trials = sorted({Trial(**json.loads(line)) for line in lines})
    sys.stdout.write(f"{report(trials)}\n")
    sys.exit(any(each.contradicts for each in trials))


if __name__ == "__main__":
    main()
