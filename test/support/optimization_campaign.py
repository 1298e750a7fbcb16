"""Compares specs that are pruned, indexed, and rid of copies with specs as they are.

Programs are random, specs are written for what the compiler shows to matchers in them. Run it by hand for any
number of programs: `python test/support/optimization_campaign.py --programs 500`. A folder of specs can be
given as well: `--specs FOLDER` compares each on payloads of all its entries.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from generated_programs import random_program
from interpreter import apply_spec
from matched_operations import matchable, matchers_for, seen, spec_of
from programs import SOURCES, TARGETS, run

import tuninglink
from tuninglink.matching import (
    UNKNOWN_DISPATCH as ANYTHING,
    EntryIndex,
    MatcherReader,
    SignatureReader,
    index_matchers,
    pruning_key,
)
from tuninglink.passes.dedupe_sequences import deduplicate_sequences
from tuninglink.payloads import PayloadError
from tuninglink.specs import Spec, link_specs, load_spec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matched_operations import Seen

FROM_SOURCES = "--compile-from=executable-sources"
CONFIGURED = "--compile-to=executable-configurations"
BACKENDS = ("hip", "cuda", "llvm-cpu", "vmvx", "vulkan")


@dataclass
class Outcome:
    """The result of a comparison.

    Attributes:
        counts: the numbers of comparisons.
        failures: what went wrong.
    """

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def sources_of(program: str, target: str) -> str:
    """Return a program at `executable-sources`."""
    return run("iree-compile", SOURCES, *TARGETS[target], "-o=-", source=program)


def matchers_of(dispatches: Sequence[Seen]) -> list[str]:
    """Return matchers for all that matchers see in these dispatches, each body once."""
    return list(
        dict.fromkeys(
            matcher
            for dispatch in dispatches
            for operation in matchable(dispatch.prepared)
            for matcher in matchers_for(operation)
        )
    )


def check_matchers(dispatches: Sequence[Seen], outcome: Outcome) -> None:
    """Check that all entries that would match in a dispatch are among its candidates."""
    for dispatch in dispatches:
        signature = SignatureReader().read(dispatch.source)
        outcome.counts["dispatches"] += 1
        outcome.counts["unknown dispatches"] += signature == ANYTHING
        for operation in matchable(dispatch.prepared):
            for matcher in matchers_for(operation):
                outcome.counts["matchers"] += 1
                table = load_spec(spec_of([matcher]).encode()).anatomy.table
                key = pruning_key(MatcherReader(table).read("m0").predicates)
                if EntryIndex([key]).candidates(signature) != (0,):
                    outcome.failures.append(
                        f"{dispatch.name}: left out\n{matcher}\nfor {operation}\n{signature}"
                    )


MOST_MISSES = 2
"""The maximum number of near misses of a matcher in a spec."""


def near_misses(matcher: str, choice: random.Random) -> list[str]:
    """Return the matcher with one of its sizes, or of its types, changed, in a few ways."""
    numbers = list(re.finditer(r"(?<=\[)\d+(?=[\],])|(?<=[<x])\d+(?=x)", matcher))[:6]
    kinds = list(re.finditer(r"(?<=_type = )(f16|f32|i8|i32)\b", matcher))[:3]
    changes = [(each.span(), str(int(each[0]) + 8)) for each in numbers]
    changes += [(each.span(), "bf16" if each[0][0] == "f" else "i16") for each in kinds]
    chosen = choice.sample(changes, min(MOST_MISSES, len(changes)))
    return [matcher[:start] + other + matcher[end:] for (start, end), other in chosen]


OPAQUE_MATCHER = (
    '  transform.match.operation_name %op ["linalg.fill", "linalg.generic"] : !transform.any_op\n'
)


def specs_for(matchers: Sequence[str], choice: random.Random) -> list[str]:
    """Return one to three specs with these matchers, near misses and others, in random order."""
    every = [*matchers, *(miss for matcher in matchers for miss in near_misses(matcher, choice))]
    if choice.random() < 0.3:
        every.append(OPAQUE_MATCHER)
    choice.shuffle(every)
    count = choice.randint(1, 3)
    specs = [spec_of(every[start::count]) for start in range(count) if every[start::count]]
    for index, text in enumerate(specs):
        if choice.random() < 0.3:
            specs[index] = _as_opaque(text)
    return specs


def _as_opaque(text: str) -> str:
    """Return a spec that does the same with two `foreach_match` instead of one."""
    marker = "iree_codegen.tuning_spec_with_default_entrypoint"
    pairs = re.search(r"in %op (.*) : \(", text)
    assert pairs
    again = (
        f"  %1 = transform.foreach_match in %0 {pairs[1].split(', ')[0]}"
        " : (!transform.any_op) -> !transform.any_op\n  transform.yield %1"
    )
    return text.replace(f", {marker}", "").replace("  transform.yield %0", again)


_OPTIMIZATIONS: Final = (
    ("without copies", True, False),
    ("indexed", False, True),
    ("indexed without copies", True, True),
)


def optimized(spec: Spec, *, every: bool = True) -> Iterator[tuple[str, Spec]]:
    """Yield a spec without its copies, indexed, and both, or both only; each with what was done to it."""
    for name, deduplicates, indexes in _OPTIMIZATIONS[0 if every else -1 :]:
        module = spec.module.clone()
        if deduplicates:
            deduplicate_sequences(module)
        if indexes:
            index_matchers(module, longest=2)
        assert module.verify()
        yield name, Spec(module, spec.source)


def check_output(
    sources: str, target: str, specs: Sequence[str], outcome: Outcome, *, every: bool = True
) -> None:
    """Check that a program is configured by optimized specs byte for byte as by the specs themselves.

    Args:
        sources: the program at `executable-sources`.
        target: what it is compiled for.
        specs: the specs.
        outcome: gets what is found.
        every: whether each optimization of what the specs are linked to is tried by itself.
    """
    given = [load_spec(each.encode()) for each in specs]
    default_specs = len(specs) > 1

    def output(specs: Sequence[Spec], *, prune: bool, default_specs: bool = default_specs) -> bytes:
        return tuninglink.compile(
            sources.encode(),
            specs=specs,
            flags=[*TARGETS[target], FROM_SOURCES, CONFIGURED],
            prune=prune,
            default_specs=default_specs,
        ).output

    expected = output(given, prune=False)
    outcome.counts["outputs"] += 1
    outcome.counts["configured operations"] += expected.count(b"tuned = ")
    if output(given, prune=True) != expected:
        outcome.failures.append(f"{target}: another output pruned with\n" + "\n".join(specs))
    linked = link_specs(given).spec
    if default_specs:
        expected = output([linked], prune=False, default_specs=False)
    for what, spec in optimized(linked, every=every):
        outcome.counts[f"outputs {what}"] += 1
        if output([spec], prune=False, default_specs=False) != expected:
            outcome.failures.append(f"{target}: another output {what} with\n" + "\n".join(specs))


def check_payloads(spec: Spec, outcome: Outcome) -> None:
    """Check that payloads of all entries are configured by an optimized spec as by the spec itself."""
    whole = link_specs([spec]).spec
    copies = list(optimized(whole))
    for entry in spec.entries:
        try:
            payload = tuninglink.payload_for(entry).body
        except PayloadError:
            outcome.counts["entries without a payload"] += 1
            continue
        expected = str(apply_spec(whole, payload))
        outcome.counts["payloads"] += 1
        for what, copy in copies:
            if str(apply_spec(copy, payload)) != expected:
                outcome.failures.append(f"{spec.source}: other than {what}:\n{payload}")


def compare(seed: int, number: int, outcome: Outcome) -> None:
    """Compare on one random program."""
    choice = random.Random(f"{seed}/{number}")
    program = random_program(choice, formed=choice.random() < 0.5)
    target = choice.choice(BACKENDS)
    failures = len(outcome.failures)
    try:
        sources = sources_of(program, target)
        dispatches = seen(sources, TARGETS[target])
    except AssertionError:  # Without any spec: the compiler has errors of its own.
        outcome.counts["programs that do not compile"] += 1
        return
    check_matchers(dispatches, outcome)
    matchers = matchers_of(dispatches)
    if matchers:
        check_output(sources, target, specs_for(matchers, choice), outcome)
    for position in range(failures, len(outcome.failures)):
        outcome.failures[position] += f"\nprogram {number} for {target}:\n{program}"


def main() -> None:
    """Run a campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--specs", type=Path, help="a folder with specs")
    arguments = parser.parse_args()
    outcome = Outcome()
    if arguments.specs:
        for path in sorted(arguments.specs.glob("*.mlir")):
            check_payloads(load_spec(path), outcome)
    for number in range(arguments.programs):
        compare(arguments.seed, number, outcome)
    counts = ", ".join(f"{count} {what}" for what, count in sorted(outcome.counts.items()))
    sys.stdout.write("\n".join([counts, *outcome.failures, ""]))
    sys.exit(bool(outcome.failures))


if __name__ == "__main__":
    main()
