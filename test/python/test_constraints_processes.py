"""Threads and processes: nothing is shared that must not be, nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import z3
from configured_programs import configured, only_dispatch

from tuninglink.iree.op_kinds import OpKind
from tuninglink.solver.answers import Limits, UndecidedError, Verdict
from tuninglink.spaces.builder import ConstraintSetBuilder
from tuninglink.spaces.compiler_process import CompilerProcess
from tuninglink.spaces.compiler_provider import CompilerProvider
from tuninglink.spaces.knobs import IntegerKnob
from tuninglink.spaces.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tuninglink.spaces.constraint_set import ConstraintSet

NOTHING = "builtin.module()"
EMPTY = b"module {}"
PATIENCE = 60
"""Seconds after which something that takes far less does not happen at all."""


def pid_of(compiler: CompilerProcess) -> int:
    assert compiler._process is not None
    return compiler._process.pid


def state(pid: int) -> str | None:
    """Returns the state of a process as the kernel calls it, `Z` for a zombie, or None if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def has_ended(child: int) -> bool:
    """Tells whether a child can be waited for: a zombie may still have threads that are ending."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def eventually(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def in_a_fork(action: Callable[[], str]) -> str:
    """Returns what `action` returns in a process that is forked from this one, or how it failed there."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(PATIENCE)
            said = action()
        except BaseException as failure:  # noqa: BLE001 - the parent is to hear of it
            said = f"{type(failure).__name__}: {failure}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        said = file.read()
    assert os.waitpid(child, 0)[1] == 0, "the process did not end by itself"
    return said


# --- The compiler's process ------------------------------------------------------------------------------


def test_a_process_that_was_killed_is_replaced() -> None:
    with CompilerProcess() as compiler:
        compiler.run(NOTHING, EMPTY)
        first = pid_of(compiler)
        os.kill(first, signal.SIGKILL)
        assert eventually(lambda: has_ended(first))
        assert compiler.run(NOTHING, EMPTY)
        assert pid_of(compiler) != first
        assert state(first) is None, "the dead process is still in the table"


def test_a_process_that_is_killed_at_work_is_an_answer() -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    with CompilerProcess(command=sleeper) as compiler:
        answers: list[UndecidedError] = []

        def ask() -> None:
            with pytest.raises(UndecidedError) as failure:
                compiler.run(NOTHING, EMPTY)
            answers.append(failure.value)

        thread = threading.Thread(target=ask)
        thread.start()
        assert eventually(lambda: compiler._process is not None)
        os.kill(pid_of(compiler), signal.SIGKILL)
        thread.join(PATIENCE)
        assert [each.reason for each in answers] == ["the compiler crashed (killed)"]


def test_closing_does_not_wait_for_an_answer() -> None:
    compiler = CompilerProcess(command=[sys.executable, "-c", "import time; time.sleep(600)"])
    failures: list[str] = []

    def ask() -> None:
        try:
            compiler.run(NOTHING, EMPTY)
        except UndecidedError as failure:
            failures.append(failure.reason)

    thread = threading.Thread(target=ask)
    thread.start()
    assert eventually(lambda: compiler._process is not None)
    pid = pid_of(compiler)
    compiler.close()
    thread.join(PATIENCE)
    assert failures == ["the compiler crashed (killed)"]
    assert state(pid) is None


def test_a_process_that_does_not_read_keeps_nobody_waiting() -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    more_than_a_pipe_holds = bytes(1 << 20)
    with (
        CompilerProcess(seconds=0.5, command=sleeper) as compiler,
        pytest.raises(UndecidedError, match=r"did not answer within 0\.5 s"),
    ):
        compiler.run(NOTHING, more_than_a_pipe_holds)


def test_large_modules_go_both_ways() -> None:
    numbers = ", ".join(map(str, range(100_000)))
    module = f"func.func private @f() attributes {{numbers = array<i64: {numbers}>}}"
    with CompilerProcess() as compiler:
        assert len(compiler.run(NOTHING, module.encode())) > 1 << 17


def test_requests_of_threads_do_not_mix() -> None:
    answers: dict[int, bytes] = {}
    with CompilerProcess() as compiler:

        def ask(number: int) -> None:
            text = f"module {{ func.func private @function_{number}() }}"
            answers[number] = compiler.run(NOTHING, text.encode())

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(PATIENCE)
    assert {number: b"function_%d" % number in data for number, data in answers.items()} == (
        dict.fromkeys(range(8), True)
    )


def test_a_fork_starts_a_process_of_its_own() -> None:
    with CompilerProcess() as compiler:
        compiler.run(NOTHING, EMPTY)
        own = pid_of(compiler)

        def ask() -> str:
            assert compiler.run(NOTHING, EMPTY)
            other = pid_of(compiler)
            compiler.close()
            return str(other)

        assert int(in_a_fork(ask)) != own
        assert state(own) not in (None, "Z")
        assert compiler.run(NOTHING, EMPTY)
        assert pid_of(compiler) == own


def test_a_fork_while_a_thread_asks_does_not_hang() -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    with CompilerProcess(command=sleeper) as compiler:

        def ask() -> None:
            with pytest.raises(UndecidedError):
                compiler.run(NOTHING, EMPTY)

        thread = threading.Thread(target=ask)
        thread.start()
        assert eventually(lambda: compiler._process is not None)

        def close() -> str:
            compiler.close()
            return "closed"

        assert in_a_fork(close) == "closed"
        assert state(pid_of(compiler)) not in (None, "Z")
        compiler.close()
        thread.join(PATIENCE)


ENDINGS = {"returns": "", "fails": "raise SystemExit(3)", "is killed": "os.kill(os.getpid(), 9)"}


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_process_is_left_when_the_program_ends(ending: str) -> None:
    program = (
        "import os\n"
        "from tuninglink.spaces.compiler_process import shared_compiler\n"
        f"shared_compiler().run({NOTHING!r}, {EMPTY!r})\n"
        "print(shared_compiler()._process.pid, flush=True)\n" + ENDINGS[ending]
    )
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stdout, result.stderr
    pid = int(result.stdout)
    assert eventually(lambda: state(pid) in (None, "Z"))
    assert not result.stderr


def test_files_where_the_user_is_are_not_taken_for_modules(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from tuninglink.spaces.compiler_process import CompilerProcess\n"
        f"with CompilerProcess() as compiler: compiler.run({NOTHING!r}, {EMPTY!r})\n"
    )
    for name in ("struct", "io", "iree", "tuninglink"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')\n")
    subprocess.run([sys.executable, "-P", "-c", program], check=True, cwd=tmp_path)


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
    """A set that only the solver answers questions about, as nothing bounds its knobs."""
    builder = ConstraintSetBuilder()
    x, y = (builder.knob(IntegerKnob(name, 1)) for name in "xy")
    builder.require(x * x + y * y == 5525, "x * x + y * y == 5525", x * x, provenance="test")
    builder.require(x * y >= 0, "not negative", provenance="test")
    return builder.build(Problem(OpKind.OTHER), "#test", "test")


def test_sets_have_nothing_in_common() -> None:
    first, second = squares(), squares()
    contexts = {id(each.assertions[0].expression.ctx) for each in (first, second)}
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
    """Has another thread's question occupy the solver of a set while the block runs."""
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
        pytest.raises(UndecidedError, match="another thread's question took all the time"),
    ):
        constraints._solver.solve([], {}, Limits(0.1).start())
    assert constraints._solver.solve([], {}, Limits().start()) is not None


def test_a_fork_cannot_use_the_contexts_of_its_parent() -> None:
    constraints = squares()
    assert constraints.check({"x": 14, "y": 73}).verdict is Verdict.PROVEN

    def ask() -> str:
        return constraints.explain_unsat({"x": 3}).verdict.value

    assert "UndecidedError" in in_a_fork(ask)
    assert "belongs to another process" in in_a_fork(ask)


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
    constraints = squares()
    with held_by_another_thread(constraints):
        assert "belongs to another process" in in_a_fork(
            lambda: str(constraints.check({"x": 1, "y": 1}))
        )
        assert in_a_fork(lambda: squares().check({"x": 14, "y": 73}).verdict.value) == "proven"
