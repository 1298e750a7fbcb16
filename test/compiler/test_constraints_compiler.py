"""The compiler's own constraints: read from its attributes, compared with its verifier, and evaluated in other processes."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import worker_jobs
import z3
from configured_programs import EMIT_CONSTRAINTS, configured, constraints_ops, only_dispatch
from forked_workers import started_workers
from hypothesis import given, settings, strategies as st
from iree.compiler.dialects import iree_codegen
from processes import PATIENCE

from tuninglink.iree import OpKind
from tuninglink.mlir import collect, names, to_bytecode
from tuninglink.solver import Limits, UndecidedError, Verdict
from tuninglink.spaces import (
    SHARED_PASS_MANAGER,
    CompilerProvider,
    IsolatedPassManager,
    compiler_constraints as smt,
    knob_template,
    read_constraints,
)
from tuninglink.spaces.compiler_constraints import _isolated
from tuninglink.spaces.model import MismatchError, MissingEntryError, Problem, read_configuration
from tuninglink.workers import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from iree.compiler import ir as mlir

    from tuninglink.spaces.model import ConstraintSet, Space, Workload

TARGETS = ("gfx942", "gfx1100", "gfx1201", "sm_80")
CASES = [
    (program, target)
    for program in ("matmul", "convolution", "attention")
    for target in TARGETS
    if (program, target) != ("attention", "sm_80")
]
"""Ops that the compiler has constraints for; for a convolution two sets, as it is and as a matmul."""

PROBLEM = Problem(OpKind.OTHER)


class Export:
    """The compiler's SMT-LIB export of a constraints op."""

    def __init__(self, operation: mlir.Operation, knobs: list[str]) -> None:
        self._context = z3.Context()
        text = iree_codegen.convert_constraints_op_to_smtlib(operation)
        self._solver = z3.Solver(ctx=self._context)
        self._solver.add(z3.parse_smt2_string(text, ctx=self._context))
        exported = {place: name for name, place in smt.knob_names(operation).items()}
        self._unknowns = [z3.Int(exported.get(knob, knob), self._context) for knob in knobs]

    def has_others(self, solutions: list[tuple[int, ...]]) -> bool:
        """Return whether further solutions exist."""
        self._solver.push()
        for values in solutions:
            pairs = zip(self._unknowns, values, strict=True)
            self._solver.add(z3.Or([unknown != value for unknown, value in pairs]))
        result = self._solver.check()
        self._solver.pop()
        assert result != z3.unknown
        return bool(result == z3.sat)

    def holds(self, values: tuple[int, ...]) -> bool:
        """Return whether an assignment is a solution."""
        pairs = zip(self._unknowns, values, strict=True)
        result = self._solver.check([unknown == value for unknown, value in pairs])
        assert result != z3.unknown
        return bool(result == z3.sat)


def knob_names(constraints: ConstraintSet) -> list[str]:
    return [each.name for each in constraints.knobs]


def sets(program: str, target: str) -> Iterator[tuple[mlir.Operation, ConstraintSet]]:
    module = configured(program, target, EMIT_CONSTRAINTS)
    operations = constraints_ops(module)
    assert operations
    for operation in operations:
        yield operation, read_constraints(operation, knob_template(operation), PROBLEM)


def assignments(
    knobs: list[str], solutions: list[tuple[int, ...]]
) -> st.SearchStrategy[tuple[int, ...]]:
    """Return a strategy for assignments: of values from solutions, and of any."""
    seen = [sorted({each[position] for each in solutions} or {1}) for position in range(len(knobs))]
    odd = st.sampled_from([0, 1, -1, 3, 8, 17, 48, 96, 256, 1 << 20, 1 << 62, -(1 << 62)])
    usual = [st.sampled_from(values) for values in seen]
    mixed = [st.one_of(each, each, each, odd, st.integers(0, 4096)) for each in usual]
    strategies = [st.tuples(*usual), st.tuples(*mixed)]
    if solutions:
        changed = st.tuples(st.sampled_from(solutions), st.sampled_from(range(len(knobs))), odd)
        strategies.append(changed.map(lambda parts: _changed(*parts)))
    return st.one_of(*strategies)


def _changed(solution: tuple[int, ...], position: int, value: int) -> tuple[int, ...]:
    return (*solution[:position], value, *solution[position + 1 :])


@pytest.mark.parametrize(("program", "target"), CASES)
def test_solutions_are_those_of_the_export(program: str, target: str) -> None:
    for operation, constraints in sets(program, target):
        found = [tuple(each.values()) for each in constraints.enumerate()]
        assert len(found) == len(set(found))
        chance = random.Random(0)
        names_in_order = knob_names(constraints)
        export = Export(operation, names_in_order)
        if len(found) <= 200:
            assert all(map(export.holds, found))
            assert not export.has_others(found)
        # Where there are more, the export is asked about each of many, valid and not.
        for values in chance.sample(found, min(20, len(found))):
            assert export.holds(values)
            changed = list(values)
            position = chance.randrange(len(values))
            changed[position] += chance.choice([-1, 1, changed[position], 16])
            assert export.holds(tuple(changed)) is (tuple(changed) in set(found))
        assert_check_agrees(constraints, export, found)


def assert_check_agrees(
    constraints: ConstraintSet, export: Export, solutions: list[tuple[int, ...]]
) -> None:
    """Ask about random assignments, most of them near to being valid."""
    knobs = knob_names(constraints)

    @settings(max_examples=15)
    @given(assignments(knobs, solutions))
    def agree(values: tuple[int, ...]) -> None:
        answer = constraints.check(dict(zip(knobs, values, strict=True)))
        expected = Verdict.PROVEN if export.holds(values) else Verdict.REFUTED
        assert answer.verdict is expected
        assert bool(answer.violations) is (expected is Verdict.REFUTED)

    agree()


def test_the_cases_are_all_that_the_compiler_gives() -> None:
    pipelines = {
        (program, str(operation.attributes["pipeline"]))
        for program in ("matmul", "convolution", "attention")
        for operation in constraints_ops(configured(program, "gfx1201", EMIT_CONSTRAINTS))
    }
    tile_and_fuse = "#iree_gpu.pipeline<TileAndFuse>"
    vector_distribute = "#iree_gpu.pipeline<VectorDistribute>"
    assert pipelines == {
        ("matmul", tile_and_fuse),
        ("matmul", vector_distribute),
        ("convolution", tile_and_fuse),
        ("convolution", vector_distribute),
        ("attention", vector_distribute),
    }
    assert not constraints_ops(configured("attention", "sm_80", EMIT_CONSTRAINTS))
    assert not constraints_ops(configured("matmul", "cpu", EMIT_CONSTRAINTS))


def test_every_assertion_keeps_its_message_and_fills_its_placeholders() -> None:
    for operation, constraints in sets("large_matmul", "sm_80"):
        messages = [
            each.attributes["msg"].value for each in collect(operation, names.CONSTRAINT_ASSERT)
        ]
        ours = [each for each in constraints.assertions if "bounds of" not in each.provenance]
        former = smt.knob_names(operation)
        for message, each in zip(messages, ours, strict=True):
            # Only the words for knobs are others.
            assert re.sub(r"[\w.]+(\[\w\])?", "", each.message) == re.sub(r"\w+", "", message)
            assert not any(
                re.search(rf"\b{name}\b", each.message) for name in former if former[name] != name
            )
        assert all(each.provenance.startswith("the compiler's constraints of") for each in ours)
        wrong = {**next(constraints.enumerate()), "workgroup[0]": 96}
        said = [each.message for each in constraints.check(wrong).violations]
        assert "dim_0 must be divisible by workgroup[0] (2048 % 96 == 0)" in said
        assert not any("{}" in each for each in said)


def test_the_large_spaces_have_the_sizes_known() -> None:
    counts = {
        constraints.pipeline: constraints.count().count
        for _, constraints in sets("large_matmul", "sm_80")
    }
    assert counts == {
        "#iree_gpu.pipeline<TileAndFuse>": 3136,
        "#iree_gpu.pipeline<VectorDistribute>": 2056,
    }


def test_a_sample_has_the_histograms_of_the_space() -> None:
    for _, constraints in sets("large_matmul", "sm_80"):
        everything = list(constraints.enumerate())
        sample = constraints.sample(200, seed=1)
        for knob in knob_names(constraints):
            values = {each[knob] for each in everything}
            distance = sum(
                abs(
                    sum(each[knob] == value for each in sample) / len(sample)
                    - sum(each[knob] == value for each in everything) / len(everything)
                )
                for value in values
            )
            assert distance / 2 < 0.12, knob


# --- Against the compiler's verifier ---------------------------------------------------------------------

VERIFY = "builtin.module(func.func(iree-codegen-insert-smt-constraints,iree-codegen-verify-smt-constraints))"


def compiler_accepts(module: mlir.Module) -> bool:
    try:
        SHARED_PASS_MANAGER.call(worker_jobs.run_passes, VERIFY, to_bytecode(module.operation))
    except UndecidedError as failure:
        reason = failure.reason
    else:
        return True
    assert "pipeline constraints violated" in reason
    return False


def disturbed(
    assignment: dict[str, int], constraints: ConstraintSet, chance: random.Random
) -> dict[str, int]:
    """Return an assignment with one or two other values, of which the compiler can make a configuration."""
    result = dict(assignment)
    for name in chance.sample(list(assignment), chance.choice([0, 1, 1, 2])):
        knob = next(each for each in constraints.knobs if each.name == name)
        if knob.high is None:
            result[name] = max(
                1, chance.choice([result[name] * 2, result[name] // 2, result[name] + 1, 48])
            )
    return result


def messages_about_hidden_unknowns(constraints: ConstraintSet) -> set[str]:
    return {
        each.message
        for each in constraints.assertions
        if any(name.endswith("'") for name in each.expression.variables)
    }


@pytest.mark.parametrize(
    ("program", "target"),
    [
        *(("large_matmul", target) for target in TARGETS),
        ("convolution", "gfx942"),
        ("convolution", "sm_80"),
    ],
)
def test_checks_agree_with_the_compilers_verifier(program: str, target: str) -> None:
    module = configured(program, target)
    dispatch = only_dispatch(module)
    chance = random.Random(1)
    outcomes = set()
    for pipeline in ("#iree_gpu.pipeline<TileAndFuse>", "#iree_gpu.pipeline<VectorDistribute>"):
        for space in CompilerProvider().spaces(dispatch, pipeline):
            for valid in space.constraints.sample(10, seed=2):
                assignment = disturbed(valid, space.constraints, chance)
                outcomes.add(verdict_like_the_compilers(dispatch, space, assignment))
    assert outcomes == {Verdict.PROVEN, Verdict.REFUTED}


def verdict_like_the_compilers(
    dispatch: Workload, space: Space, assignment: dict[str, int]
) -> Verdict:
    """Return the verdict on an assignment, after checking that the compiler's verifier agrees."""
    info = space.compilation_info(assignment)
    isolated = _isolated(dispatch)
    (root,) = (
        each
        for each in collect(isolated.operation, dispatch.root.name)
        if names.ROOT_OP in each.attributes
    )
    function = isolated.body.operations[0]
    root.attributes[names.LOWERING_CONFIG] = info.lowering_config
    function.attributes[names.TRANSLATION_INFO] = info.translation_info
    configuration = read_configuration(root, function.operation)
    assert configuration is not None
    assert space.assignment(configuration) == assignment
    answer = space.constraints.check(assignment)
    assert space.check(assignment, Limits()) == answer
    assert answer.verdict is not Verdict.NOT_DECIDED
    if compiler_accepts(isolated):
        # It leaves out assertions on unknowns that are not knobs.
        hidden = messages_about_hidden_unknowns(space.constraints)
        assert {each.message for each in answer.violations} <= hidden
    else:
        assert answer.verdict is Verdict.REFUTED
    return answer.verdict


@pytest.mark.parametrize("target", TARGETS)
def test_the_compilers_own_choice_is_valid(target: str) -> None:
    dispatch = only_dispatch(configured("large_matmul", target))
    configuration = read_configuration(dispatch.root, dispatch.function)
    assert configuration is not None
    (space,) = CompilerProvider().spaces(dispatch, str(configuration.pipeline))
    assert space.constraints.check(space.assignment(configuration)).verdict is Verdict.PROVEN


def test_a_configuration_of_another_form_is_not_taken_for_an_assignment() -> None:
    dispatch = only_dispatch(configured("convolution", "gfx942"))
    configuration = read_configuration(dispatch.root, dispatch.function)
    assert configuration is not None
    direct, implicit = CompilerProvider().spaces(dispatch, "#iree_gpu.pipeline<TileAndFuse>")
    assert implicit.assignment(configuration)
    with pytest.raises(MismatchError, match="'reduction' is") as failure:
        direct.assignment(configuration)
    assert not isinstance(failure.value, MissingEntryError)


# --- The compiler in a worker ----------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["gfx942", "sm_80"])
def test_a_crash_of_the_compiler_is_an_answer(target: str) -> None:
    with Pool(1) as pool:
        provider = CompilerProvider(IsolatedPassManager(pool))
        crashing = only_dispatch(configured("batched_matmul", target))
        with pytest.raises(UndecidedError, match=r"the compiler crashed \(segmentation fault\)"):
            provider.spaces(crashing, "#iree_gpu.pipeline<TileAndFuse>")
        healthy = only_dispatch(configured("matmul", target))
        assert provider.spaces(healthy, "#iree_gpu.pipeline<TileAndFuse>")


def test_the_compilers_errors_are_reported() -> None:
    module = to_bytecode(configured("matmul", "gfx942").operation)
    with Pool(1) as pool:
        passes = IsolatedPassManager(pool)
        with pytest.raises(UndecidedError, match="the compiler reports"):
            passes.call(worker_jobs.run_passes, "builtin.module()", b"no bytecode")
        with pytest.raises(UndecidedError, match="there-is-no-such-pass"):
            passes.call(worker_jobs.run_passes, "builtin.module(there-is-no-such-pass)", module)
        assert passes.call(worker_jobs.run_passes, "builtin.module()", module)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (worker_jobs.hang_on, r"the compiler did not answer within 0\.3 s"),
        (worker_jobs.leave_on, r"the compiler crashed \(exit code 3\)"),
    ],
)
def test_a_worker_that_does_not_answer(job: Callable[..., object], message: str) -> None:
    with Pool(1) as pool:
        passes = IsolatedPassManager(pool, seconds=0.3)
        for _ in range(2):
            with pytest.raises(UndecidedError, match=message):
                passes.call(job, "builtin.module()", b"")


def test_a_worker_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/there/is/no/such/program")
    with (
        started_workers(),
        Pool(1) as pool,
        pytest.raises(UndecidedError, match="does not start: No such file"),
    ):
        IsolatedPassManager(pool).call(worker_jobs.pid)


def test_z3_is_not_imported_before_somebody_asks() -> None:
    program = (
        "import sys, tuninglink, tuninglink.spaces, tuninglink.passes, tuninglink.cli.main, "
        "tuninglink.cli.opt; sys.exit('z3' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_limits_are_kept_on_large_spaces() -> None:
    for _, constraints in sets("large_matmul", "gfx942"):
        count = constraints.count(Limits(PATIENCE))
        assert count.verdict is Verdict.PROVEN
        assert count.count > 500
