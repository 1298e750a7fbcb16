"""Enumerating all valid configurations, against blocking clauses over the compiler's SMT-LIB export.

    python benchmarks/enumeration.py [--runs N]

The dispatch is an f16 matmul, 2048x1280x5120, for sm_80; the compiler's constraints of both of its pipelines
are enumerated, in turn, in the same process. Ours starts at the constraints op, as theirs does, and every run
plans its search again. Both must find the same set. Then samples are drawn, and their per-knob histograms
compared with those of the whole space.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import z3
from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen
from measure import describe_machine, parse_runs, tool

from tuninglink.iree import OpKind
from tuninglink.mlir import collect, names
from tuninglink.spaces import knob_template, read_constraints
from tuninglink.spaces.model import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Solutions = set[tuple[int, ...]]

PROGRAM = """
func.func @matmul(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>) -> tensor<2048x1280xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2048x1280xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
  %result = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%fill : tensor<2048x1280xf32>) {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<2048x1280xf32>
  return %result : tensor<2048x1280xf32>
}
"""
TARGET = 0.25
PROBLEM = Problem(OpKind.CONTRACTION)
SAMPLES = (50, 200, 500)
SEEDS = 10


def configured_program() -> mlir.Module:
    """Return the program with the compiler's constraints in it."""
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "matmul.mlir", Path(folder) / "configured.mlirbc"
        source.write_text(PROGRAM)
        command = [
            tool("iree-compile"),
            str(source),
            "--iree-hal-target-backends=cuda",
            "--iree-cuda-target=sm_80",
            "--iree-codegen-emit-pipeline-constraints",
            "--compile-to=executable-configurations",
            "--emit-mlir-bytecode",
            "-o",
            str(output),
        ]
        subprocess.run(command, check=True)
        return mlir.Module.parse(output.read_bytes(), mlir.Context())


def ours(operation: mlir.Operation, knobs: Sequence[str]) -> Solutions:
    """Enumerate with a constraint set."""
    constraints = read_constraints(operation, knob_template(operation), PROBLEM)
    return {tuple(each[name] for name in knobs) for each in constraints.enumerate()}


def theirs(operation: mlir.Operation, knobs: Sequence[str]) -> Solutions:
    """Enumerate the export: a solution is found and excluded, then the next one is found."""
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    text = iree_codegen.convert_constraints_op_to_smtlib(operation)
    solver.add(z3.parse_smt2_string(text, ctx=context))
    unknowns = [z3.Int(name, context) for name in knobs]
    found: Solutions = set()
    while solver.check() == z3.sat:
        model = solver.model()
        values = [model.eval(each, model_completion=True) for each in unknowns]
        found.add(tuple(each.as_long() for each in values))
        pairs = zip(unknowns, values, strict=True)
        solver.add(z3.Or([unknown != value for unknown, value in pairs]))
    return found


def timed(
    enumerate_all: Callable[[mlir.Operation, Sequence[str]], Solutions],
    operation: mlir.Operation,
    knobs: Sequence[str],
) -> tuple[float, Solutions]:
    """Return the duration of an enumeration, and its solutions."""
    start = time.perf_counter()
    found = enumerate_all(operation, knobs)
    return time.perf_counter() - start, found


def distance(sample: Sequence[int], space: Sequence[int]) -> float:
    """Return the total variation between two histograms: 0 if they are the same, 1 if disjoint."""
    shares = (
        sample.count(value) / len(sample) - space.count(value) / len(space) for value in set(space)
    )
    return sum(map(abs, shares)) / 2


def worst_distances(operation: mlir.Operation, size: int) -> Iterable[float]:
    """Yield the distance of a sample's histogram from the space's for some seeds, for the worst knob."""
    constraints = read_constraints(operation, knob_template(operation), PROBLEM)
    space = list(constraints.enumerate())
    for seed in range(SEEDS):
        sample = constraints.sample(size, seed)
        yield max(
            distance([each[knob.name] for each in sample], [each[knob.name] for each in space])
            for knob in constraints.knobs
        )


def main() -> int:
    """Run the benchmark; the exit status is 0 if the target was met."""
    runs = parse_runs(__doc__.partition("\n")[0])
    describe_machine()
    module = configured_program()
    is_met = True
    for operation in collect(module.operation, names.CONSTRAINTS):
        constraints = read_constraints(operation, knob_template(operation), PROBLEM)
        knobs = [each.name for each in constraints.knobs]
        times: tuple[list[float], list[float]] = ([], [])
        # Both must find the same solutions.
        for _ in range(runs):
            our_time, our_set = timed(ours, operation, knobs)
            their_time, their_set = timed(theirs, operation, knobs)
            if our_set != their_set:
                sys.exit(f"{constraints.pipeline}: {len(our_set ^ their_set)} solutions differ")
            times[0].append(our_time)
            times[1].append(their_time)
        # Compare the times, and the histograms of samples with that of the space.
        medians = [statistics.median(each) for each in times]
        ratio = medians[0] / medians[1]
        is_met &= ratio <= TARGET
        print(f"{constraints.pipeline}: {len(our_set)} solutions, the same set")
        print(f"  constraint set    {medians[0] * 1000:8.1f} ms")
        print(f"  blocking clauses  {medians[1] * 1000:8.1f} ms")
        print(f"  ratio             {ratio:8.4f}    (target: at most {TARGET})")
        for size in SAMPLES:
            worst = statistics.median(worst_distances(operation, size))
            print(
                f"  sample of {size:3}: worst knob's histogram is {worst:.3f} away (total variation)"
            )
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
