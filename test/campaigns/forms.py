"""Counts the programs around forms that compute something else with the entries of forms than without.

Makes random attentions, contractions, batch matmuls by one matrix and depthwise convolutions, and for each a form of it or of a near problem, whose
entries are applied to the program:

    python test/campaigns/forms.py --programs 300 --matched 10000 --seed 1

Each of `--programs` is compiled for this machine's CPU twice, with and without the entries, run on random inputs, and
compared. Each of `--matched` is only given to the compiler's interpreter, which must replace the op if the program is a
spelling of the form's problem, and leave it alone otherwise. Programs are made in parallel, in `--jobs` processes.

The seed and the number of a program determine it: `--only 7` repeats it. The exit code is 1 if a program differs.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import attention_programs as attentions
import contraction_programs as contractions
import depthwise_programs as depthwises
import numpy as np
from attention_programs import TOLERANCES, called, loaded, worst_error
from replaced_operations import is_replaced

from tuninglink.forms import Depthwise, FoldedBatch, ShiftedSum
from tuninglink.replacing import Attention, spec, spellings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.forms import FormProblem

BODIES = (
    "%y = arith.mulf %x, %x : f32",
    "%y = arith.negf %x : f32",
    "%y = math.tanh %x : f32",
    "%c = arith.constant 2.0 : f32\n%y = arith.divf %x, %c : f32",
)


@dataclass(frozen=True)
class Case:
    """A program and the entries that are applied to it.

    Attributes:
        problem: the problem of the program.
        program: the program.
        library: the preprocessing spec.
        is_same: whether the program is a spelling of the problem that the spec has a form of.
        scale: the scale of an attention.
    """

    problem: FormProblem
    program: str
    library: str
    is_same: bool
    scale: float = 1.0


def attention_case(choose: random.Random) -> Case:
    """Return a program of an attention."""
    problem = attentions.random_attention(choose)
    if choose.random() < 0.3:
        # All layouts of operands have the same types.
        problem = problem.resized(dict.fromkeys("mnkj", problem.loop_sizes["m"]))
    other, body, attributes = problem, "", ""
    kind = choose.random()
    if kind < 0.3:
        other = choose.choice(attentions.near_problems(problem))
    elif kind < 0.4:
        body = choose.choice(BODIES)
    elif kind < 0.45:
        attributes = "{note}"
    scale = choose.choice(("0.5", "0.5", "-1.0", "0.0", "3.0"))
    # The inputs have sizes that neither the program nor the entries know.
    dynamic = "".join(choose.sample("abmj", choose.randint(0, 4))) if choose.random() < 0.4 else ""
    own, other = (attentions.opened(one, dynamic) for one in (problem, other))
    program = attentions.program_of(own, body, attributes)
    program = program.replace("constant 0.5", f"constant {scale}")
    is_same = own in spellings(other) and not body and not attributes
    as_products = attentions.can_be_products(other) and not dynamic and choose.random() < 0.5
    made = attentions.random_products if as_products else attentions.random_padding
    return Case(problem, program, spec([made(other, choose)]), is_same, float(scale))


def contraction_case(choose: random.Random) -> Case:
    """Return a program of a contraction that accumulates onto one of its arguments."""
    problem = contractions.random_contraction(choose)
    if choose.random() < 0.3:
        problem = problem.resized(dict.fromkeys("mnk", problem.loop_sizes["m"]))
    other, program = problem, contractions.program_of(problem)
    kind = choose.random()
    if kind < 0.3:
        other = choose.choice(contractions.near_problems(problem))
    elif kind < 0.45:
        program = program.replace("arith.addf", choose.choice(("arith.maximumf", "arith.subf")))
    has_body = program == contractions.program_of(problem)
    form = contractions.random_padding(other, choose)
    return Case(problem, program, spec([form]), problem in other.spellings and has_body)


def folded_case(choose: random.Random) -> Case:
    """Return a program of a batch matmul by one matrix."""
    problem = contractions.random_broadcast(choose)
    near = contractions.programs_near(problem)
    is_near = choose.random() < 0.4
    own, program = choose.choice(near) if is_near else (problem, contractions.program_of(problem))
    return Case(own, program, spec([FoldedBatch(problem)]), not is_near)


def depthwise_case(choose: random.Random) -> Case:
    """Return a program of a depthwise convolution that accumulates onto one of its arguments."""
    problem = depthwises.random_depthwise(choose)
    other, program = problem, depthwises.program_of(problem)
    kind = choose.random()
    if kind < 0.3:
        other = choose.choice(depthwises.near_problems(problem))
    elif kind < 0.4:
        program = program.replace("{dilations", "{note, dilations")
    is_plain = "note" not in program
    return Case(
        problem, program, spec([ShiftedSum(other)]), problem in other.spellings and is_plain
    )


def case(seed: int, number: int) -> Case:
    """Return a program of the campaign."""
    choose = random.Random(f"{seed} {number}")
    kinds = (attention_case, contraction_case, attention_case, folded_case, depthwise_case)
    made = kinds[number % len(kinds)]
    return made(choose)


def compare(seed: int, number: int) -> tuple[str, str]:
    """Compile and run a program with and without the entries, and return what happened, and the error if any."""
    made = case(seed, number)
    if isinstance(made.problem, Attention):
        inputs = attentions.inputs_of(made.problem, number)
    elif isinstance(made.problem, Depthwise):
        inputs = depthwises.inputs_of(made.problem, number)
    else:
        inputs = contractions.inputs_of(made.problem, number)
    text = made.program.replace("util.func public", "func.func").replace("util.return", "return")
    kind = "replaced" if made.is_same else "left alone"
    name = "main" if isinstance(made.problem, Attention) else "plain"
    try:
        plain = called(loaded(text)[name], inputs)
    except Exception:  # noqa: BLE001 - the entries did not cause it
        return "not compiled without entries", ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spec.mlir"
        path.write_text(made.library)
        try:
            result = called(loaded(text, path)[name], inputs)
        except Exception as failure:  # noqa: BLE001
            return kind, f"{number}: {str(failure)[:500]}"
    error = worst_error(result, plain.astype(np.float64))
    element = "f32" if isinstance(made.problem, Depthwise) else made.problem.types[0]
    tolerance = TOLERANCES[element] * max(
        1.0, float(np.nanmax(np.abs(plain.astype(np.float64)), initial=0))
    )
    is_right = error <= tolerance
    if not is_right and made.is_same and isinstance(made.problem, Attention):
        # Large scores are rounded in another order. Then the form must be as near to the result in double precision as
        # this rounding allows, row by row; how near the plain op is does not matter, as it may be wrong itself.
        exact = attentions.attended(made.problem, inputs, made.scale)
        excess = np.abs(result.astype(np.float64) - exact) - tolerance
        is_right = worst_error(result, exact) < math.inf and bool(
            (excess <= attentions.rounding(made.problem, inputs, made.scale))[
                ~np.isnan(exact)
            ].all()
        )
    return kind, "" if is_right else f"{number}: {made.problem} differs by {error}"


def match(seed: int, number: int) -> tuple[str, str]:
    """Apply the entries to a program by the interpreter, and return what should happen, and the error if any."""
    made = case(seed, number)
    kind = "replaced" if made.is_same else "left alone"
    is_right = is_replaced(made.library, made.program) == made.is_same
    return kind, "" if is_right else f"{number}: {made.problem} is not {kind}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign, and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--matched", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int)
    options = parser.parse_args(arguments)
    errors = 0
    for title, action, count in (
        ("compiled", compare, options.programs),
        ("matched", match, options.matched),
    ):
        numbers = range(count) if options.only is None else [options.only]
        with ProcessPoolExecutor(options.jobs) as pool:
            outcomes = [*pool.map(partial(action, options.seed), numbers, chunksize=4)]
        kinds = sorted({kind for kind, _ in outcomes})
        counts = ", ".join(f"{sum(kind == one for one, _ in outcomes)} {kind}" for kind in kinds)
        failures = [error for _, error in outcomes if error]
        errors += len(failures)
        print(f"{title}: {counts}; {len(failures)} wrong", *failures, sep="\n  ", flush=True)
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
