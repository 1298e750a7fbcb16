"""The pool of workers: what jobs come to, and that nothing is left of them."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import worker_jobs as jobs
from places import SUPPORT
from processes import PATIENCE, eventually, in_a_fork, is_gone, marked, state

from tuninglink.interrupt_hooks import SYMBOLIZATION, omit_symbols_from_crashes
from tuninglink.solver import UndecidedError
from tuninglink.workers import (
    JobError,
    JobTimeoutError,
    Pool,
    WorkerCrashedError,
    pool as worker_process,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MEGABYTE = bytes(range(256)) * 4096


@pytest.fixture
def pool() -> Iterator[Pool]:
    with Pool(1) as pool:
        yield pool


def children() -> set[int]:
    """Return the processes that this one has started, zombies included."""
    found: set[int] = set()
    for thread in Path("/proc/self/task").iterdir():
        # A thread of an earlier test may end between the listing and the reading.
        with suppress(FileNotFoundError, ProcessLookupError):
            found.update(map(int, (thread / "children").read_text().split()))
    return found


def numbers_in(path: Path) -> list[int]:
    assert eventually(path.exists)
    assert eventually(lambda: bool(path.read_text()))
    return list(map(int, path.read_text().split()))


# --- Outcomes --------------------------------------------------------------------------------------------


def test_a_job_returns_its_result(pool: Pool) -> None:
    assert pool.submit(jobs.add, 20, 22).result() == 42


def test_a_job_may_have_no_time_limit(pool: Pool) -> None:
    assert pool.submit(jobs.add, 20, 22, seconds=math.inf).result() == 42


def test_a_job_raises_what_its_function_raises(pool: Pool) -> None:
    with pytest.raises(KeyError, match="tea") as failure:
        pool.submit(jobs.fail, "tea").result()
    assert "worker_jobs.py" in failure.value.__notes__[0]


def test_an_exception_that_cannot_be_pickled_keeps_its_text(pool: Pool) -> None:
    with pytest.raises(JobError, match=r"^UnpicklableError: teapot"):
        pool.submit(jobs.fail_oddly).result()


def test_our_own_exceptions_arrive_with_all_they_hold(pool: Pool) -> None:
    with pytest.raises(UndecidedError) as failure:
        pool.submit(jobs.give_up, "it is late").result()
    assert failure.value.reason == "it is late"
    assert failure.value.diagnostics == UndecidedError("it is late").diagnostics


def test_a_result_that_cannot_be_pickled_is_an_exception(pool: Pool) -> None:
    failure = pool.submit(jobs.return_the_unpicklable).exception()
    assert failure is not None
    assert "pickle" in str(failure)


def test_a_failure_leaves_the_process_in_place(pool: Pool) -> None:
    before = pool.submit(jobs.pid).result()
    pool.submit(jobs.fail, "tea").exception()
    assert pool.submit(jobs.pid).result() == before


@pytest.mark.parametrize(
    ("before", "after"), [(None, "1"), ("1", "1"), ("yes", "yes"), ("", ""), ("0", None)]
)
def test_crash_traces_have_no_symbols_unless_the_user_wants_them(
    monkeypatch: pytest.MonkeyPatch, before: str | None, after: str | None
) -> None:
    monkeypatch.setenv(SYMBOLIZATION, before or "")
    if before is None:
        monkeypatch.delenv(SYMBOLIZATION)
    with Pool(1) as pool:
        assert pool.submit(os.getenv, SYMBOLIZATION).result() == after
    # A command sets it for the compiler in its own process and for its children.
    omit_symbols_from_crashes()
    assert os.getenv(SYMBOLIZATION) == after


@pytest.mark.parametrize(
    ("job", "arguments", "code", "status"),
    [
        (jobs.abort, ("an assertion failed\n",), -signal.SIGABRT, "aborted"),
        (jobs.segfault, (), -signal.SIGSEGV, "segmentation fault"),
        (jobs.leave, (3,), 3, "exit code 3"),
        (jobs.leave, (0,), 0, "exit code 0"),
    ],
)
def test_a_crash_is_told_and_the_process_replaced(
    pool: Pool, job: Callable[..., object], arguments: tuple[object, ...], code: int, status: str
) -> None:
    before = pool.submit(jobs.pid).result()
    with pytest.raises(WorkerCrashedError) as failure:
        pool.submit(job, *arguments).result()
    assert failure.value.code == code
    assert failure.value.status == status
    assert state(before) is None
    assert pool.submit(jobs.pid).result() != before


def test_a_crash_comes_with_what_was_printed_last(pool: Pool) -> None:
    pool.submit(jobs.send, "before\n", 2).result()
    with pytest.raises(WorkerCrashedError) as failure:
        pool.submit(jobs.abort, "x" * 100_000 + " an assertion failed\n").result()
    assert failure.value.output.endswith("xxx an assertion failed\n")
    assert "before" not in failure.value.output
    assert len(failure.value.output) < 10_000


def test_a_process_that_closes_its_connection_is_replaced(pool: Pool) -> None:
    before = pool.submit(jobs.pid).result()
    with pytest.raises(WorkerCrashedError):
        pool.submit(jobs.close_everything_and_hang).result()
    assert state(before) is None
    assert pool.submit(jobs.add, 1, 1).result() == 2


def test_a_process_that_was_killed_between_jobs_is_replaced(pool: Pool) -> None:
    before = pool.submit(jobs.pid).result()
    os.kill(before, signal.SIGKILL)
    assert eventually(
        lambda: os.waitid(os.P_PID, before, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    )
    assert pool.submit(jobs.pid).result() != before


def test_a_job_that_takes_too_long_is_killed_with_what_it_started(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = tmp_path / "pids"
    # The time is up as soon as the job hangs.
    clock = SimpleNamespace(monotonic=lambda: 1.0 if pids.exists() else 0.0)
    monkeypatch.setattr(worker_process, "time", clock)
    future = pool.submit(jobs.hang_in_native_code, str(pids), seconds=0.2)
    with pytest.raises(JobTimeoutError, match=r"did not finish within 0\.2 s"):
        future.result()
    monkeypatch.undo()
    worker, child = numbers_in(tmp_path / "pids")
    assert state(worker) is None
    assert eventually(lambda: is_gone(child))
    assert pool.submit(jobs.pid).result() != worker


def test_a_crash_takes_along_what_the_job_started(pool: Pool, tmp_path: Path) -> None:
    with pytest.raises(WorkerCrashedError, match="aborted") as raised:
        pool.submit(jobs.leave_a_child_and_crash, str(tmp_path / "pids")).result()
    assert not raised.value.is_from_outside
    _, child = numbers_in(tmp_path / "pids")
    assert eventually(lambda: is_gone(child))


def test_starting_a_process_does_not_count_as_time_of_a_job() -> None:
    with Pool(1, jobs.initialize_slowly, (4.0,)) as pool:
        assert pool.submit(jobs.add, 1, 1, seconds=3.0).result() == 2


def test_a_process_that_is_stopped_keeps_nobody_waiting(pool: Pool) -> None:
    process = pool.submit(jobs.pid).result()
    os.kill(process, signal.SIGSTOP)
    assert eventually(lambda: state(process) == "T")
    with pytest.raises(JobTimeoutError) as raised:  # although it does not read the argument
        pool.submit(jobs.same, MEGABYTE, seconds=0.2).result()
    assert raised.value.is_starved
    assert pool.submit(jobs.pid).result() != process


def test_a_process_that_is_killed_is_told_from_one_that_crashes(pool: Pool) -> None:
    with pytest.raises(WorkerCrashedError, match="killed") as raised:
        pool.submit(signal.raise_signal, signal.SIGKILL).result()
    assert raised.value.is_from_outside


def test_large_values_go_both_ways(pool: Pool) -> None:
    value = MEGABYTE * 32
    assert pool.submit(jobs.same, value).result() == value


def test_what_a_job_prints_does_not_block_it(pool: Pool) -> None:
    for stream in (1, 2):
        assert pool.submit(jobs.send, "x" * 4_000_000, stream).result() is None


def test_a_job_that_prints_without_end_is_ended(pool: Pool) -> None:
    with pytest.raises(JobTimeoutError):
        pool.submit(jobs.print_forever, seconds=0.3).result()


# --- Processes -------------------------------------------------------------------------------------------


def test_processes_start_when_they_are_needed() -> None:
    before = children()
    with Pool(4) as pool:
        assert children() == before
        assert len({pool.submit(jobs.pid).result() for _ in range(20)}) == 1
        assert len(children() - before) == 1
    assert children() == before


def test_jobs_run_at_once(tmp_path: Path) -> None:
    with Pool(3) as pool:
        futures = [pool.submit(jobs.wait_for, str(tmp_path / "go")) for _ in range(3)]
        assert eventually(lambda: all(each.running() for each in futures))
        (tmp_path / "go").touch()
        assert len({each.result() for each in futures}) == 3


def test_each_process_is_initialized_once() -> None:
    with Pool(1, jobs.initialize, ("tea",)) as pool:
        assert pool.submit(jobs.initialized).result() == ["tea"]
        assert pool.submit(jobs.initialized).result() == ["tea"]
        pool.submit(jobs.segfault).exception()
        assert pool.submit(jobs.initialized).result() == ["tea"]


def test_a_job_gets_the_exception_of_the_initializer() -> None:
    before = children()
    with Pool(1, jobs.fail_to_initialize) as pool:
        for _ in range(2):
            with pytest.raises(OSError, match="no device"):
                pool.submit(jobs.pid).result()
            assert children() == before


def test_many_jobs_come_back_each_to_its_own_future() -> None:
    with Pool(2) as pool:
        futures = [pool.submit(jobs.add, number, number) for number in range(2000)]
        assert [each.result() for each in futures] == list(range(0, 4000, 2))


def test_threads_share_a_pool() -> None:
    def ask(number: int) -> list[int]:
        return [pool.submit(jobs.add, number, each).result() for each in range(50)]

    with Pool(2) as pool, ThreadPoolExecutor(8) as threads:
        for number, found in enumerate(threads.map(ask, range(8))):
            assert found == list(range(number, number + 50))


def test_crashes_leave_no_files_open(pool: Pool) -> None:
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    pool.submit(jobs.leave, 1).exception()
    before = count()
    for _ in range(3):
        pool.submit(jobs.leave, 1).exception()
    assert count() == before


# --- Ending ----------------------------------------------------------------------------------------------


def test_a_job_that_waits_can_be_cancelled(pool: Pool, tmp_path: Path) -> None:
    go = tmp_path / "go"
    running = pool.submit(jobs.wait_for, str(go))
    waiting = pool.submit(jobs.add, 1, 1)
    assert eventually(running.running)
    assert waiting.cancel()
    assert not running.cancel()
    go.touch()
    assert running.result()
    with pytest.raises(CancelledError):
        waiting.result()
    assert pool.submit(jobs.add, 1, 1).result() == 2


def test_closing_kills_what_runs_and_cancels_what_waits(tmp_path: Path) -> None:
    pool = Pool(1)
    running = pool.submit(jobs.hang_in_native_code, str(tmp_path / "pids"))
    waiting = pool.submit(jobs.add, 1, 1)
    worker, child = numbers_in(tmp_path / "pids")
    pool.close()
    for each in (running, waiting):
        with pytest.raises(CancelledError):
            each.result(PATIENCE)
    assert wait([running, waiting], PATIENCE).not_done == set()
    assert state(worker) is None
    assert eventually(lambda: is_gone(child))
    with pytest.raises(RuntimeError, match="the pool is closed"):
        pool.submit(jobs.pid)
    pool.close()


def test_leaving_the_block_waits_for_jobs() -> None:
    with Pool(1) as pool:
        futures = [pool.submit(jobs.add, each, 1) for each in range(10)]
    assert [each.result(0) for each in futures] == list(range(1, 11))


def test_leaving_the_block_with_an_exception_waits_for_nothing(tmp_path: Path) -> None:
    future: Future[None] | None = None

    def leave() -> None:
        nonlocal future
        with Pool(1) as pool:
            future = pool.submit(jobs.hang_in_native_code, str(tmp_path / "pids"))
            numbers_in(tmp_path / "pids")
            raise KeyError

    with pytest.raises(KeyError):
        leave()
    assert future is not None
    with pytest.raises(CancelledError):
        future.result(0)
    assert state(numbers_in(tmp_path / "pids")[0]) is None


def test_a_fork_has_processes_of_its_own(pool: Pool, tmp_path: Path) -> None:
    go = tmp_path / "go"
    own = pool.submit(jobs.pid).result()
    running = pool.submit(jobs.wait_for, str(go))
    assert eventually(running.running)

    def ask() -> str:
        with pool:
            return str(pool.submit(jobs.pid).result())

    assert int(in_a_fork(ask)) != own
    go.touch()
    assert running.result() == own


MARKER = "TUNINGLINK_TEST_MARKER"

COMMAND = f"""
import os, sys, threading
sys.path.insert(0, {str(SUPPORT)!r})
import worker_jobs as jobs
from tuninglink.workers import Pool

print("imported", flush=True)
idle = Pool(1)
idle.submit(jobs.pid).result()
busy = Pool(1)
# The thread that has a process started may end before it.
thread = threading.Thread(target=lambda: busy.submit(jobs.hang_in_native_code, sys.argv[1], seconds=600))
thread.start()
thread.join()
while not os.path.exists(sys.argv[1]):
    pass
print("ready", flush=True)
"""

ENDINGS = {
    "returns": "",
    "fails": "sys.exit(3)",
    "ends at once": "os._exit(3)",
    "is killed": "os.kill(os.getpid(), 9)",
    "is terminated": "os.kill(os.getpid(), 15)",
    "crashes": "os.abort()",
    "is interrupted": "os.kill(os.getpid(), 2)",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_process_is_left_however_the_command_ends(ending: str, tmp_path: Path) -> None:
    marker = f"{MARKER}_{os.urandom(8).hex()}"
    script = tmp_path / "command.py"
    script.write_text(COMMAND + ENDINGS[ending])
    subprocess.run(
        [sys.executable, str(script), str(tmp_path / "pids")],
        capture_output=True,
        env={**os.environ, marker: "1"},
        check=False,
        timeout=PATIENCE,
    )
    worker, child = numbers_in(tmp_path / "pids")
    assert eventually(lambda: is_gone(worker) and is_gone(child))
    assert eventually(lambda: not marked(marker))


INTERRUPTED = f"""
import os, sys, signal
sys.path.insert(0, {str(SUPPORT)!r})
import worker_jobs as jobs
from tuninglink.workers import Pool

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with Pool(2) as pool:
        pool.submit(jobs.send, "to the output", 1).result()
        pool.submit(jobs.send, "to the errors", 2).result()
        future = pool.submit(jobs.wait_for, "/there/is/no/such/file")
        while not future.running():
            pass
        os.killpg(0, signal.SIGINT)  # as a terminal does
        future.result()
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_and_what_workers_print_are_not_seen(tmp_path: Path) -> None:
    script = tmp_path / "command.py"
    script.write_text(INTERRUPTED)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        start_new_session=True,
        check=False,
        timeout=PATIENCE,
    )
    assert (done.stdout, done.stderr, done.returncode) == (b"interrupted\n", b"", 0)


# --- What a worker imports -------------------------------------------------------------------------------


def test_the_program_is_not_run_again(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(SUPPORT)!r})\n"
        "import worker_jobs\n"
        "from tuninglink.workers import Pool\n"
        "def own(): pass\n"
        "with Pool(1) as pool:\n"  # not guarded by the name of the module
        "    print(pool.submit(worker_jobs.add, 1, 2).result())\n"
        "    pool.submit(own)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.stdout == "3\n"
    assert done.stderr.endswith(
        "ValueError: 'own' is defined in __main__, which workers do not import\n"
    )


def test_what_cannot_be_pickled_is_not_submitted(pool: Pool) -> None:
    with pytest.raises((AttributeError, TypeError, ValueError)):
        pool.submit(lambda: None)
    with pytest.raises(TypeError):
        pool.submit(jobs.same, threading.Lock())  # type: ignore[arg-type]
    assert pool.submit(jobs.add, 1, 1).result() == 2


@pytest.mark.skipif(
    not os.access("/proc/self/autogroup", os.W_OK), reason="this kernel does not group sessions"
)
def test_the_niceness_of_the_command_counts_for_its_workers() -> None:
    program = "import worker_jobs as jobs; from tuninglink.workers import Pool\n"
    program += "with Pool(1) as pool: print(pool.submit(jobs.session_niceness).result())"
    path = os.pathsep.join((str(SUPPORT), *sys.path))
    done = subprocess.run(
        ["nice", "-n", "7", sys.executable, "-c", program],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert int(done.stdout) - os.getpriority(os.PRIO_PROCESS, 0) == 7


def test_files_where_the_user_is_are_not_taken_for_modules(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        f"sys.path.insert(0, {str(SUPPORT)!r})\n"
        "import worker_jobs\n"
        "from tuninglink.workers import Pool\n"
        "with Pool(1) as pool: pool.submit(worker_jobs.pid).result()\n"
    )
    for name in ("struct", "pickle", "iree", "tuninglink"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')\n")
    subprocess.run([sys.executable, "-P", "-c", program], check=True, cwd=tmp_path)
