"""Checks all entries of the specs that come with the package, and compiles a program with each of them.

    python test/campaigns/libraries.py
    python test/campaigns/libraries.py --spec library:boo-gfx942 --list

It prints a table: for how many entries a program was made, how many of the configurations are valid for it, and how many
of the programs compile with what the entry configures. With `--list` it names what was not proven, and why. The exit
code is 1 if anything was refuted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from shipped_specs import NAMES, shipped_spec

from tuninglink.checking import Checker, CompileLimits
from tuninglink.solver import Verdict

if TYPE_CHECKING:
    from tuninglink.checking import SpecReport

QUESTIONS = ("matches_itself", "valid", "compiles")


def row(*cells: object) -> str:
    """Return a row of the table."""
    return f"| {' | '.join(map(str, cells))} |"


def counted(report: SpecReport, question: str) -> str:
    """Return the numbers of good and of other answers to a question."""
    found = Counter(each.answers[question].verdict for each in report.entries)
    return " / ".join(str(found[each]) for each in Verdict)


def missing(name: str, report: SpecReport) -> list[str]:
    """Return the unproven entries, with reasons."""
    return [
        f"{name}: '{each.entry.matcher}': {question}: {answer.verdict.value}: {answer.reason}"
        for each in report.entries
        for question in QUESTIONS
        if (answer := each.answers[question]).verdict is not Verdict.PROVEN
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Checks and compiles all shipped entries.")
    parser.add_argument("--spec", action="append", choices=NAMES)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=CompileLimits.seconds)
    parser.add_argument("--list", action="store_true", help="name what was not proven")
    arguments = parser.parse_args()
    verdicts = " / ".join(each.value for each in Verdict)
    print(f"Each cell: {verdicts}")
    print(row("spec", "entries", *QUESTIONS, "seconds"))
    print(row("---", *["---:"] * (len(QUESTIONS) + 2)))
    listed: list[str] = []
    is_good = True
    for name in arguments.spec or NAMES:
        content, target = shipped_spec(name)
        limits = CompileLimits(arguments.seconds, arguments.jobs)
        began = time.monotonic()
        report = Checker(target=target, compile_limits=limits).check(content, name)
        seconds = round(time.monotonic() - began)
        cells = [counted(report, each) for each in QUESTIONS]
        print(row(name, len(report.entries), *cells, seconds), flush=True)
        listed += missing(name, report)
        answers = [each.answers[question] for each in report.entries for question in QUESTIONS]
        is_good &= all(each.verdict is not Verdict.REFUTED for each in answers)
    if arguments.list:
        print("\n".join(["", *listed]))
    sys.exit(not is_good)


if __name__ == "__main__":
    main()
