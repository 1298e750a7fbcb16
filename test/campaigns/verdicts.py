"""How often does a configuration compile that is called valid, and one that is refuted?

Makes random programs of a form, and for each tries the compiler's own choice, some of the valid configurations of each
space, and some near them that break rules. Each is judged as `tuninglink-verify-configs` does, and compiled to the end
in a process of its own:

    python test/campaigns/verdicts.py --target gfx942 --form matmul batched --samples 20 --seed 1

The seed and the number of a sample tell its program: `--sample 7` repeats it. The exit code is 1 if a valid
configuration does not compile, or a refuted one does. Known targets and forms are in `test/python/verdict_trials.py`
and `test/python/verdict_programs.py`.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

from verdict_programs import FORMS
from verdict_trials import TARGETS, Trials, changed, sampled

from tuninglink.mlir.diagnostics import Severity
from tuninglink.solver.answers import UndecidedError, Verdict
from tuninglink.spaces.registry import ProviderRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdict_trials import Outcome

    from tuninglink.spaces.providers import Space
    from tuninglink.spaces.verification import ConfigurationAnswer

COLUMNS = ("valid", "warning", "not decided", "refuted")


@dataclass
class Tally:
    """What a campaign has found.

    Attributes:
        compiled: how many configurations compiled, by target, form, pipeline, origin and verdict.
        total: how many there were.
        reasons: why configurations were not decided.
        contradictions: what was valid and did not compile, or refuted and did.
    """

    compiled: Counter[tuple[str, ...]] = field(default_factory=Counter)
    total: Counter[tuple[str, ...]] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    contradictions: list[str] = field(default_factory=list)

    def add(self, row: tuple[str, ...], answer: ConfigurationAnswer, outcome: Outcome) -> None:
        """Counts one configuration."""
        verdict = verdict_of(answer)
        self.total[*row, verdict] += 1
        self.compiled[*row, verdict] += outcome.compiles
        if verdict == "not decided":
            self.reasons[answer.reason[:200]] += 1

    def contradict(self, what: str, answer: ConfigurationAnswer, outcome: Outcome) -> None:
        """Keeps what contradicts the compiler."""
        if answer.verdict is Verdict.PROVEN and not outcome.compiles:
            self.contradictions.append(f"valid, but: {outcome.error[:300]}\n  {what}")
        if answer.verdict is Verdict.REFUTED and outcome.compiles:
            self.contradictions.append(f"compiles, but: {answer}\n  {what}")

    def table(self) -> str:
        """Returns the counts as a table in Markdown: how many compiled of how many."""
        rows = sorted({each[:-1] for each in self.total})
        head = ("target", "form", "pipeline", "configuration", *COLUMNS)
        lines = [head, ("---",) * len(head)]
        for row in rows:
            cells = [(*row, each) for each in COLUMNS]
            counts = [
                f"{self.compiled[each]} of {self.total[each]}" if self.total[each] else ""
                for each in cells
            ]
            lines.append((*row, *counts))
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def verdict_of(answer: ConfigurationAnswer) -> str:
    """Returns the column of an answer; a warning about what is valid counts as valid."""
    if answer.verdict is Verdict.PROVEN:
        return "valid"
    if answer.verdict is Verdict.REFUTED:
        return "refuted"
    return "warning" if answer.severity is Severity.WARNING else "not decided"


def origins(trials: Trials, registry: ProviderRegistry, count: int, seed: int) -> Iterator[str]:
    """Configures a dispatch in all ways that are tried, and yields where each comes from."""
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
    """Returns the spaces in a pipeline whose configurations are known to compile."""
    try:
        spaces = registry.spaces(trials.workload, pipeline)
    except UndecidedError:
        return []
    return [each for each in spaces if each.is_sufficient]


def try_sample(
    target: str, form: str, number: int, arguments: argparse.Namespace, tally: Tally
) -> None:
    """Tries configurations of one random program."""
    source = FORMS[form](random.Random(f"{arguments.seed}/{form}/{number}"))
    registry = ProviderRegistry(lambda _: None, entry_points=tuple)
    label = f"--target {target} --form {form} --seed {arguments.seed} --sample {number}"
    try:
        trials = Trials.of(source, TARGETS[target], arguments.seconds)
    except ValueError as failure:
        sys.stderr.write(f"{label}: no dispatch: {failure}\n")
        return
    for origin in origins(trials, registry, arguments.configurations, number):
        answer = trials.judge(registry)
        assert answer is not None
        outcome = trials.compile()
        pipeline = answer.pipeline.partition("<")[2].rstrip(">")
        tally.add((target, form, pipeline, origin), answer, outcome)
        root = trials.workload.root.attributes
        what = f"{label}: {trials.workload.problem}, {origin}, {dict_of(root)}"
        tally.contradict(what, answer, outcome)
        if arguments.sample is not None:
            sys.stderr.write(f"{what}\n  {answer}\n  {outcome}\n")
    sys.stderr.write(f"{label}: {trials.workload.problem}\n")


def dict_of(attributes: object) -> str:
    """Returns the attributes that configure an op, and nothing else of it."""
    found = ("lowering_config", "decomposition_config", "compilation_info")
    return ", ".join(str(attributes[each]) for each in found if each in attributes)  # type: ignore[index,operator]


def main() -> None:
    """Runs the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", nargs="+", choices=sorted(TARGETS), default=["gfx942"])
    parser.add_argument("--form", nargs="+", choices=sorted(FORMS), default=sorted(FORMS))
    parser.add_argument("--samples", type=int, default=20, help="programs of each form")
    parser.add_argument("--configurations", type=int, default=2, help="of each space and origin")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, help="try this program only, and show each trial")
    parser.add_argument("--seconds", type=float, default=60, help="for each compilation")
    arguments = parser.parse_args()
    numbers = range(arguments.samples) if arguments.sample is None else [arguments.sample]
    tally = Tally()
    for target in arguments.target:
        for form in arguments.form:
            for number in numbers:
                try_sample(target, form, number, arguments, tally)
    reasons = [f"{count} x {reason}" for reason, count in tally.reasons.most_common(20)]
    sections = [tally.table(), "Not decided:", *reasons, "Contradictions:", *tally.contradictions]
    sys.stdout.write("\n".join([*sections, ""]))
    sys.exit(bool(tally.contradictions))


if __name__ == "__main__":
    main()
