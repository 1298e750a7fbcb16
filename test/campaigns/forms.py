"""Counts the programs around forms that compute something else with the entries of forms than without.

Makes random programs of each kind of problem that has forms, and for each a form of it or of a near problem, whose
entries are applied to the program:

    python test/campaigns/forms.py --programs 300 --matched 10000 --seed 1 --jobs 2

Of each kind, `--programs` are compiled for this machine's CPU twice, with and without the entries, run on random inputs,
and compared; `--matched` are only given to the compiler's interpreter, which must replace the op if the program is a
spelling of the form's problem, and leave it alone otherwise. Programs are made in `--jobs` processes.

The seed, the kind and the number of a program determine it: `--kinds contraction --only 7` repeats it. The exit code is
1 if a program differs, or fewer were made within `--seconds`.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import attention_programs as attentions
import contraction_programs as contractions
import depthwise_programs as depthwises
import ml_dtypes
import numpy as np
from attention_programs import TOLERANCES, called, loaded, worst_error
from replaced_operations import is_replaced

from tuninglink.forms import Depthwise, FoldedBatch, PaddedContraction, ShiftedSum
from tuninglink.replacing import Attention, Contraction, spec, spellings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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


def attention_case(choose: random.Random, fits: Callable[[Attention], bool]) -> Case:
    """Return a program of an attention that fits, with padding as its form, or products if these are what it fits."""
    problem = attentions.random_attention(choose)
    while not fits(problem):
        problem = attentions.random_attention(choose)
    if choose.random() < 0.3:
        # All layouts of operands have the same types.
        problem = problem.resized(dict.fromkeys("mnkj", problem.loop_sizes["m"]))
    other, body, attributes = problem, "", ""
    kind = choose.random()
    if kind < 0.3:
        other = choose.choice([*filter(fits, attentions.near_problems(problem))])
    elif kind < 0.4:
        body = choose.choice(BODIES)
    elif kind < 0.45:
        attributes = "{note}"
    scale = choose.choice(("0.5", "0.5", "-1.0", "0.0", "3.0"))
    # The inputs have sizes that neither the program nor the entries know.
    are_products = fits is attentions.can_be_products
    is_dynamic = not are_products and choose.random() < 0.4
    dynamic = "".join(choose.sample("abmj", choose.randint(0, 4))) if is_dynamic else ""
    own, other = (attentions.opened(one, dynamic) for one in (problem, other))
    program = attentions.program_of(own, body, attributes)
    program = program.replace("constant 0.5", f"constant {scale}")
    is_same = own in spellings(other) and not body and not attributes
    form = (
        attentions.random_products(other, choose)
        if are_products
        else attentions.random_padding(other, choose)
    )
    return Case(problem, program, spec([form]), is_same, float(scale))


def masks_keys_alone(problem: Attention) -> bool:
    """Return whether a problem has a mask without a loop over queries."""
    return problem.mask is not None and "m" not in problem.mask


def contraction_case(choose: random.Random) -> Case:
    """Return a program of a contraction that accumulates onto one of its arguments."""
    problem = contractions.random_contraction(choose)
    if choose.random() < 0.3:
        problem = problem.resized(dict.fromkeys("mnk", problem.loop_sizes["m"]))
    if choose.random() < 0.3:
        # The form has wide sums.
        problem = replace(problem, types=problem.types[:1] * 3)
    other, program = problem, contractions.program_of(problem)
    kind = choose.random()
    if kind < 0.3:
        other = choose.choice(contractions.near_problems(problem))
    elif kind < 0.45:
        program = program.replace("arith.addf", choose.choice(("arith.maximumf", "arith.subf")))
    has_body = program == contractions.program_of(problem)
    padded = contractions.random_padding(other, choose)
    has_wide_sums = other.types[-1] != "f32" and choose.random() < 0.5
    form = PaddedContraction(other, ()) if has_wide_sums else padded
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
    library = spec([ShiftedSum(other, is_last=choose.random() < 0.5)])
    is_same = problem in other.spellings and "note" not in program
    return Case(problem, program, library, is_same)


KINDS: Mapping[str, Callable[[random.Random], Case]] = {
    "attention": lambda choose: attention_case(choose, lambda _: True),
    "key-masks": lambda choose: attention_case(choose, masks_keys_alone),
    "products": lambda choose: attention_case(choose, attentions.can_be_products),
    "contraction": contraction_case,
    "folded": folded_case,
    "depthwise": depthwise_case,
}
"""The kinds of programs: attention with any mask, with a mask of keys alone, and attention as products, and others."""


def case(seed: int, kind: str, number: int) -> Case:
    """Return a program of the campaign."""
    return KINDS[kind](random.Random(f"{seed} {kind} {number}"))


def compare(seed: int, title: str, number: int) -> tuple[str, str]:
    """Compile and run a program with and without the entries, and return what happened, and the error if any."""
    made = case(seed, title, number)
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
    if not is_right and made.is_same and isinstance(made.problem, Contraction):
        # A wide sum is rounded once, so that it is nearer to the result in double precision than a narrow one.
        exact = contractions.summed(made.problem, inputs)
        half = float(ml_dtypes.finfo(result.dtype).eps) / 2
        rounding = half * np.abs(exact) + 1e-4
        is_right = bool((np.abs(result.astype(np.float64) - exact) <= rounding).all())
    return kind, "" if is_right else f"{number}: {made.problem} differs by {error}"


def match(seed: int, title: str, number: int) -> tuple[str, str]:
    """Apply the entries to a program by the interpreter, and return what should happen, and the error if any."""
    made = case(seed, title, number)
    kind = "replaced" if made.is_same else "left alone"
    is_right = is_replaced(made.library, made.program) == made.is_same
    return kind, "" if is_right else f"{number}: {made.problem} is not {kind}"


def outcomes_of(
    action: Callable[[int, str, int], tuple[str, str]], seed: int, kind: str, numbers: Sequence[int]
) -> list[tuple[str, str]]:
    """Return what happened to programs; called in a process."""
    return [action(seed, kind, number) for number in numbers]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign, and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=[*KINDS])
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--matched", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int)
    parser.add_argument("--seconds", type=float, default=math.inf)
    options = parser.parse_args(arguments)
    end = time.monotonic() + options.seconds
    # Modules are printed to files, for which all processes would wait on a disk.
    if Path("/dev/shm").is_dir():
        tempfile.tempdir = "/dev/shm"
    is_wrong = False
    with ProcessPoolExecutor(options.jobs) as pool:
        jobs = {}
        for title, action, count, size in (
            ("compiled", compare, options.programs, 2),
            ("matched", match, options.matched, 50),
        ):
            numbers = range(count) if options.only is None or not count else [options.only]
            parts = [numbers[at : at + size] for at in range(0, len(numbers), size)]
            for kind in options.kinds if count else ():
                jobs[title, kind] = [
                    pool.submit(outcomes_of, action, options.seed, kind, part) for part in parts
                ]
        for (title, kind), own in jobs.items():
            left = end - time.monotonic()
            done, undone = wait(own, None if left == math.inf else max(0.0, left))
            is_wrong |= bool(undone)
            outcomes = [outcome for job in own if job in done for outcome in job.result()]
            names = sorted({name for name, _ in outcomes})
            counts = ", ".join(
                f"{sum(name == one for one, _ in outcomes)} {name}" for name in names
            )
            failures = [error for _, error in outcomes if error]
            is_wrong |= bool(failures)
            note = " (out of time)" if undone else ""
            print(f"{kind}, {title}{note}: {counts}; {len(failures)} wrong", *failures, sep="\n  ")
            sys.stdout.flush()
        pool.shutdown(cancel_futures=True)
    return is_wrong


if __name__ == "__main__":
    sys.exit(main())
