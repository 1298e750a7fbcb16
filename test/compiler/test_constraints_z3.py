"""The constraint sets of all providers, exported to Z3: both give the same answers on samples of all spaces."""

from __future__ import annotations

import random
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from constraint_problems import satisfiable
from iree.compiler import ir as mlir
from programs import configured_programs

from tuninglink.iree import find_root_ops
from tuninglink.solver import Limits, UndecidedError
from tuninglink.spaces import ProviderRegistry
from tuninglink.spaces.model import read_workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tuninglink.errors import Diagnostic
    from tuninglink.spaces.model import ConstraintSet, Workload

LEAST_SETS = {"hip": 14, "cuda": 14, "llvm-cpu": 40, "vulkan": 4}


def workloads(target: str) -> Iterator[Workload]:
    """Yield the root ops of the test programs, configured for a target."""
    for part in configured_programs(target).split("// -----"):
        module = mlir.Module.parse(part, mlir.Context())
        for function in find_root_ops(module.operation):
            for root in function.roots:
                yield read_workload(root, function.function)


def constraint_sets(target: str) -> Iterator[ConstraintSet]:
    """Yield a constraint set of every provider, for every pipeline and kind of root op."""
    warnings: list[Diagnostic] = []
    forms = set()
    registry = ProviderRegistry(warnings.append, entry_points=list)
    for workload in workloads(target):
        operation = workload.problem.kind, workload.root.name
        for pipeline in sorted(
            {name for known in registry.all() for name in known.pipelines or ()}
        ):
            if (pipeline, operation) in forms:
                continue
            try:
                spaces = registry.spaces(workload, pipeline)
            except UndecidedError:
                continue
            if spaces:
                forms.add((pipeline, operation))
            yield from {space.constraints.provider: space.constraints for space in spaces}.values()
    assert not warnings


def samples(constraints: ConstraintSet, chance: random.Random) -> list[Mapping[str, int]]:
    """Return valid assignments, if the set has any, and others that differ from them at one knob."""
    try:
        valid = list(islice(constraints.draws(chance.getrandbits(30), Limits(steps=400)), 1))
    except UndecidedError:
        valid = []
    base = valid or [{knob.name: 1 for knob in constraints.knobs}]
    names = [knob.name for knob in constraints.knobs]
    changes = [
        {**assignment, chance.choice(names): chance.choice([-1, 0, 1, 3, 8, 16, 17, 64, 4096])}
        for assignment in base
        if names
        for _ in range(3)
    ]
    return [*base, *changes]


@pytest.mark.parametrize("target", LEAST_SETS)
def test_z3_agrees_on_samples_of_all_spaces(target: str) -> None:
    chance = random.Random(7)
    compared, sets = {True: 0, False: 0}, 0
    for constraints in constraint_sets(target):
        sets += 1
        for assignment in samples(constraints, chance):
            answer = satisfiable(constraints, range(len(constraints)), assignment)
            if answer is not None:
                assert constraints.accepts(assignment) is answer, assignment
                compared[answer] += 1
    assert sets >= LEAST_SETS[target]
    # Of some sets no valid assignment is drawn within the limit.
    assert compared[True] >= sets // 3
    assert compared[False] >= sets
