"""Finding the unreachable and the overlapping entries of specs of growing size, up to 10,000 entries.

Two kinds of specs: entries with fixed sizes, which rarely meet, and entries with bounds and multiples of all three
sizes, which nearly all do. A run reads all conditions anew; loading the spec is not a part of it.
"""

from __future__ import annotations

import random
import statistics
import time
from typing import TYPE_CHECKING

from generate import write_spec
from measure import describe_machine, parse_runs, scratch

from tuninglink.matching import EntryConditions, find_overlaps, find_reachability
from tuninglink.specs import load_spec

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.specs import Spec

GROWTH = (1_250, 2_500, 5_000, 10_000)
ENTRIES, TARGET_SECONDS = 5_000, 30.0


def main() -> None:
    """Run the benchmark."""
    runs = parse_runs(__doc__ or "")
    describe_machine()
    with scratch() as folder:
        for kind, write in (("fixed sizes", write_spec), ("bounds", write_bounded_spec)):
            print(kind)
            for entries in GROWTH:
                spec = load_spec(write(folder / "spec.mlir", entries))
                seconds, processor, unreachable, overlaps = _measure(spec, runs)
                target = f", target {TARGET_SECONDS:g} s" if entries == ENTRIES else ""
                print(
                    f"  {entries:>6,} entries: {seconds:6.2f} s{target} ({processor:.2f} s of the processor, "
                    f"{processor / entries * 1e6:.0f} us an entry); {unreachable:,} unreachable, {overlaps:,} overlap",
                    flush=True,
                )


def _measure(spec: Spec, runs: int) -> tuple[float, float, int, int]:
    seconds, processor = [], []
    for _ in range(runs):
        start, processor_start = time.perf_counter(), time.process_time()
        conditions = EntryConditions(spec)
        unreachable = sum(
            each.is_unreachable for each in find_reachability(spec, conditions=conditions)
        )
        overlaps = len(find_overlaps(spec, conditions=conditions))
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - processor_start)
    return statistics.median(seconds), statistics.median(processor), unreachable, overlaps


def write_bounded_spec(path: Path, entries: int) -> Path:
    """Write a spec whose matchers ask for bounds and multiples of m, n and k, and return its path."""
    chance = random.Random(0)
    handle = "!transform.any_op"
    maps = ", ".join(f"affine_map<(m, n, k) -> ({each})>" for each in ("m, k", "n, k", "m, n"))
    lines = [
        (
            "module attributes { transform.with_named_sequence,"
            " iree_codegen.tuning_spec_with_default_entrypoint } {"
        )
    ]
    # Matchers with random bounds, and actions with the number of the entry.
    for index in range(entries):
        checks = []
        for operand, dimension in (("lhs", 0), ("rhs", 0), ("lhs", 1)):
            low, high = chance.randint(1, 2000), chance.randint(2001, 8192)
            factor = chance.choice((1, 2, 8, 16, 48))
            bounds = f"umin = {low}, umax = {high}"
            checks += [
                f"transform.iree.match.{check} : !transform.any_value"
                for check in (
                    f"dim_bounds %{operand}[{dimension}], {bounds}",
                    f"dim_is_multiple_of %{operand}[{dimension}], {factor}",
                )
            ]
        lines += [
            f"transform.named_sequence @match_{index}(%op: {handle} {{transform.readonly}}) -> {handle} {{",
            "%b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16,",
            f"  output_type = f32, indexing_maps = [{maps}] : {handle} -> !transform.param<i64>",
            *(
                f"%{name} = transform.get_operand %op[{number}] : ({handle}) -> !transform.any_value"
                for number, name in enumerate(("lhs", "rhs"))
            ),
            *checks,
            f"transform.yield %op : {handle} }}",
            f"transform.named_sequence @apply_{index}(%op: {handle} {{transform.readonly}}) {{",
            f"%value = transform.param.constant {index} : i64 -> !transform.any_param",
            f'transform.annotate %op "choice" = %value : {handle}, !transform.any_param',
            "transform.yield }",
        ]
    # The entry point.
    pairs = ", ".join(f"@match_{index} -> @apply_{index}" for index in range(entries))
    lines += [
        f"transform.named_sequence @__kernel_config(%root: {handle} {{transform.consumed}}) -> {handle}",
        "  attributes {iree_codegen.tuning_spec_entrypoint} {",
        f"%done = transform.foreach_match in %root {pairs} : ({handle}) -> {handle}",
        f"transform.yield %done : {handle} }}",
        "}",
    ]
    path.write_text("\n".join(lines))
    return path


if __name__ == "__main__":
    main()
