"""Threads and processes: nothing is shared that must not be."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import z3
from configured_programs import configured, only_dispatch
from processes import PATIENCE, in_a_fork

from tuninglink.iree import OpKind
from tuninglink.solver import Limits, UndecidedError, Verdict
from tuninglink.spaces import CompilerProvider
from tuninglink.spaces.model import ConstraintSetBuilder, IntegerKnob, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.spaces.model import ConstraintSet

# --- The compiler ----------------------------------------------------------------------------------------


def test_the_compiler_is_asked_from_several_threads() -> None:
    counts: list[int] = []

    def ask() -> None:
        dispatch = only_dispatch(configured("matmul", "sm_80"))
        for each in CompilerProvider().spaces(dispatch, "#iree_gpu.pipeline<TileAndFuse>"):
            counts.append(each.constraints.count().count)  # noqa: PERF401

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(PATIENCE)
    assert len(counts) == 3
    assert len(set(counts)) == 1


# --- Z3's contexts ---------------------------------------------------------------------------------------


def squares() -> ConstraintSet:
    """Return a set whose knobs have bounds through their squares alone."""
    builder = ConstraintSetBuilder()
    x, y = (builder.knob(IntegerKnob(name, 1)) for name in "xy")
    builder.require(x * x + y * y == 5525, "x * x + y * y == 5525", x * x, provenance="test")
    builder.require(x * y >= 0, "not negative", provenance="test")
    return builder.build(Problem(OpKind.OTHER), "#test", "test")


def unbounded() -> ConstraintSet:
    """Return a set that only the solver answers questions about, as nothing bounds its knob."""
    builder = ConstraintSetBuilder()
    x = builder.knob(IntegerKnob("x", 1))
    builder.require(x * x >= 50, "x * x >= 50", provenance="test")
    return builder.build(Problem(OpKind.OTHER), "#test", "test")


def test_sets_have_nothing_in_common() -> None:
    first, second = squares(), squares()
    contexts = {id(each._solver._context) for each in (first, second)}
    assert len(contexts) == 2
    assert id(z3.main_ctx()) not in contexts


def test_threads_take_turns_at_the_solver() -> None:
    constraints = squares()
    answers: list[tuple[Verdict, Verdict]] = []

    def ask() -> None:
        for x in (1, 14, 22, 3):
            solved = constraints._solver.solve(
                constraints._decider.expressions(), {"x": x}, Limits(PATIENCE, PATIENCE).start()
            )
            words = constraints.check({"x": x, "y": 73})
            answers.append((solved is not None, words.verdict is Verdict.PROVEN))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(PATIENCE)
    assert sorted(answers) == sorted(
        [(False, False), (True, True), (True, False)] * 4 + [(False, False)] * 4
    )


@contextmanager
def held_by_another_thread(constraints: ConstraintSet) -> Iterator[None]:
    """Let another thread's query occupy the solver of a set while the block runs."""
    asked, answered = threading.Event(), threading.Event()

    def hold() -> None:
        with constraints._solver.turn():
            asked.set()
            answered.wait(PATIENCE)

    thread = threading.Thread(target=hold)
    thread.start()
    asked.wait(PATIENCE)
    try:
        yield
    finally:
        answered.set()
        thread.join(PATIENCE)


def test_a_question_does_not_wait_longer_for_another_than_it_may() -> None:
    constraints = squares()
    with (
        held_by_another_thread(constraints),
        pytest.raises(UndecidedError, match="the query of another thread took all the time"),
    ):
        constraints._solver.solve([], {}, Limits(0.1).start())
    assert constraints._solver.solve([], {}, Limits().start()) is not None


def test_a_fork_cannot_use_the_contexts_of_its_parent() -> None:
    constraints = unbounded()
    assert constraints.nearest({"x": 3}).assignment == {"x": 8}

    def ask() -> str:
        return constraints.nearest({"x": 3}).reason

    assert "belongs to another process" in in_a_fork(ask)


def test_a_fork_can_ask_what_needs_no_solver() -> None:
    constraints = squares()
    assert in_a_fork(lambda: constraints.check({"x": 14, "y": 73}).verdict.value) == "proven"


def test_a_fork_builds_its_own_sets_and_keeps_their_limits() -> None:
    squares().explain_unsat({"x": 3})

    def ask() -> str:
        own = squares()
        builder = ConstraintSetBuilder()
        x, y, z = (builder.knob(IntegerKnob(name, 1)) for name in "xyz")
        builder.require(x * x * x + y * y * y == z * z * z, "cubes", provenance="test")
        hard = builder.build(Problem(OpKind.OTHER), "#test", "test")
        verdicts = (
            own.explain_unsat({"x": 3}).verdict,
            own.explain_unsat({"x": 14}).verdict,
            hard.explain_unsat({}, Limits(0.5, 0.5)).verdict,
        )
        return ", ".join(each.value for each in verdicts)

    assert in_a_fork(ask) == "proven, refuted, not decided"


def test_a_fork_while_a_thread_solves_does_not_hang() -> None:
    constraints = unbounded()
    with held_by_another_thread(constraints):
        assert "belongs to another process" in in_a_fork(
            lambda: constraints.nearest({"x": 3}).reason
        )
        assert in_a_fork(lambda: squares().check({"x": 14, "y": 73}).verdict.value) == "proven"
