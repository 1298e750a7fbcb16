"""Batches on boards that are this machine: the transport of files and results, failures, and what is left behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from boards import connection, small_directory
from places import ROOT
from processes import eventually

from tuninglink.runner import Board, BoardAccess, BoardError, BoardFile, Call, SharedConnection

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = ("env",)
SYSTEM = str(Path(shutil.which("cat") or "").parent)
NO_PAUSES = (0.0, 0.0, 0.0)


def access(directory: Path, *command: str, tools: str = SYSTEM) -> BoardAccess:
    return BoardAccess(command or HERE, tools, str(directory))


def read(file: BoardFile) -> Call:
    return Call("cat", (file.path,), (file,))


def test_calls_get_their_files_and_return_what_they_write(tmp_path: Path) -> None:
    pattern, tail = BoardFile(b"abc"), BoardFile(b"xyz")
    whole = BoardFile(pieces=((pattern, 7), (BoardFile(pieces=((tail, 2),)), 4)))
    local = tmp_path / "local"
    local.write_bytes(b"from a file")
    own = BoardFile(local)
    with Board(access(tmp_path / "board")) as board:
        results = board.run(
            [
                read(whole),
                Call("cp", (own.path, "copy with 'a quote'"), (own,)),
                Call("cat", ("missing",)),
            ]
        )
    assert results[0].stdout == "abcabcaxyxy"
    assert results[1].files == {"copy with 'a quote'": b"from a file"}
    assert results[2].status == 1
    assert "missing" in results[2].stderr
    assert list((tmp_path / "board").iterdir()) == []


def test_files_travel_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = ("sh", "-c", f'cat >"{log}.in"; wc -c <"{log}.in" >>"{log}"; "$@" <"{log}.in"', "c")
    file = BoardFile(os.urandom(1 << 20))
    with Board(access(tmp_path / "board", *command)) as board:
        for _ in range(2):
            assert (
                board.run([Call("wc", ("-c", file.path), (file,))])[0].stdout.split()[0]
                == "1048576"
            )
        first, second = [int(line) for line in log.read_text().split()[-2:]]
    assert first > 1 << 20
    assert second < 1 << 14


def test_calls_of_several_threads_travel_together(tmp_path: Path) -> None:
    held, log = tmp_path / "held", tmp_path / "log"
    command = connection(
        f'case $* in *serve.sh*) echo batch >>"{log}"; while [ -e "{held}" ]; do sleep 0.05; done;; esac'
    )
    with Board(access(tmp_path / "board", *command)) as board:
        held.touch()
        log.unlink()
        outputs: list[str] = []
        threads = [
            threading.Thread(
                target=lambda n=n: outputs.append(board.run([Call("echo", (str(n),))])[0].stdout)
            )
            for n in range(5)
        ]
        threads[0].start()
        assert eventually(log.exists)
        for thread in threads[1:]:
            thread.start()
        assert eventually(lambda: len(board._waiting) == 4)
        held.unlink()
        for thread in threads:
            thread.join()
    assert sorted(outputs) == [f"{n}\n" for n in range(5)]
    assert log.read_text().split() == ["batch", "batch"]


def test_a_time_limit_ends_a_call(tmp_path: Path) -> None:
    killed = BoardFile(b"kill -9 $$")
    with Board(access(tmp_path)) as board:
        slow, ended, other = board.run(
            [
                Call("sleep", ("60",), seconds=1),
                Call("sh", (killed.path,), (killed,)),
                Call("echo", ("done",)),
            ]
        )
    assert slow.is_timeout
    assert ended.status == slow.status
    assert not ended.is_timeout
    assert other.stdout == "done\n"


def test_a_broken_connection_is_retried_in_a_new_session_with_its_files(tmp_path: Path) -> None:
    broken, log = tmp_path / "broken", tmp_path / "log"
    command = connection(
        f'case $* in *serve.sh*) cat >"{log}"; rm "{broken}" 2>/dev/null && exit 255; exec "$@" <"{log}";; esac'
    )
    file = BoardFile(os.urandom(1 << 20))
    with Board(access(tmp_path / "board", *command), pauses=NO_PAUSES) as board:
        assert board.run([Call("wc", ("-c", file.path), (file,))])[0].status == 0
        assert log.stat().st_size > 1 << 20
        (first,) = (tmp_path / "board").iterdir()
        broken.touch()
        again, other = board.run([Call("wc", ("-c", file.path), (file,)), Call("echo", ("b",))])
        assert again.stdout.split()[0] == "1048576"
        assert other.stdout == "b\n"
        assert log.stat().st_size < 1 << 14
        (second,) = (tmp_path / "board").iterdir()
        assert second != first


def test_a_board_that_stays_away_ends_the_work(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    command = connection(f'[ ! -e "{gone}" ] || {{ echo "no route to host" >&2; exit 255; }}')
    with Board(access(tmp_path / "board", *command), pauses=NO_PAUSES) as board:
        gone.touch()
        with pytest.raises(BoardError, match=r"does not answer any more: .*no route to host"):
            board.run([Call("echo", ("a",))])


def test_a_call_that_breaks_the_board_is_lost_alone(tmp_path: Path) -> None:
    breaking = BoardFile(b'kill -9 "$(cat ../../batch)"')
    with Board(access(tmp_path), pauses=NO_PAUSES) as board:
        results = board.run(
            [Call("echo", ("a",)), Call("sh", (breaking.path,), (breaking,)), Call("echo", ("b",))]
        )
    assert [result.is_lost for result in results] == [False, True, False]
    assert results[2].stdout == "b\n"


@pytest.fixture
def small(tmp_path: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield a directory with room for a megabyte, and the command that runs others with it."""
    with small_directory(tmp_path / "small", 1) as command:
        yield tmp_path / "small", command


def test_a_full_directory_keeps_what_fits(small: tuple[Path, tuple[str, ...]]) -> None:
    place, command = small
    files = [BoardFile(os.urandom(400_000)) for _ in range(4)]
    with Board(access(place, *command), pauses=NO_PAUSES) as board:
        calls = [Call("wc", ("-c", file.path), (file,)) for file in files]
        assert [result.stdout.split()[0] for result in board.run(calls)] == 4 * ["400000"]
        large = BoardFile(os.urandom(3_000_000))
        result, other = board.run(
            [Call("wc", ("-c", large.path), (large,)), read(BoardFile(b"small"))]
        )
        assert result.is_full
        assert "no space left in" in result.stderr
        assert other.stdout == "small"


def test_a_result_that_does_not_fit_is_no_result(small: tuple[Path, tuple[str, ...]]) -> None:
    place, command = small
    with Board(access(place, *command), pauses=NO_PAUSES) as board:
        (result,) = board.run([Call("dd", ("if=/dev/zero", "of=large", "bs=1024", "count=3000"))])
        assert result.is_full
        assert board.run([Call("echo", ("a",))])[0].stdout == "a\n"
    assert list(place.iterdir()) == []


OPENING = """
import sys, time
from tuninglink.runner import Board, BoardAccess, Call
board = Board(BoardAccess(("env",), "/bin", sys.argv[1], 2))
print("open", flush=True)
board.run([Call("sleep", (sys.argv[2],))])
print("done", flush=True)
time.sleep(600)
"""


def test_sessions_last_as_long_as_the_command(tmp_path: Path) -> None:
    """The sessions of two commands that are killed, between two batches and during one, and one that stays unused."""
    places = [tmp_path / "between", tmp_path / "during"]
    with (
        Board(BoardAccess(HERE, SYSTEM, str(tmp_path / "stays"), lease_seconds=4)) as board,
        ExitStack() as killed,
    ):
        (session,) = (tmp_path / "stays").iterdir()
        processes = [
            killed.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", OPENING, str(place), seconds],
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for place, seconds in zip(places, ("0", "600"), strict=True)
        ]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
        assert processes[0].stdout is not None
        assert processes[0].stdout.readline() == "done\n"
        sessions = [next(place.iterdir()) for place in places]
        assert eventually((sessions[1] / "running").exists)
        for process in processes:
            process.send_signal(signal.SIGKILL)
        assert eventually(lambda: not any(session.exists() for session in sessions))
        renewals: set[int] = set()

        def is_renewed() -> bool:
            renewals.add((session / "lease").stat().st_mtime_ns)
            return len(renewals) > 2

        assert eventually(is_renewed)
        assert board.run([Call("echo", ("a",))])[0].stdout == "a\n"
        assert next((tmp_path / "stays").iterdir()) == session


def test_sessions_of_another_boot_are_removed(tmp_path: Path) -> None:
    old = tmp_path / "tuninglink-session-old"
    old.mkdir()
    (old / "boot").write_text("an earlier one\n")
    (old / "keeper").write_text(f"{os.getpid()}\n")
    # A directory for temporary files of another command on the same machine.
    (tmp_path / "tuninglink-x1y2z3").mkdir()
    with Board(access(tmp_path)) as board:
        assert not old.exists()
        assert (tmp_path / "tuninglink-x1y2z3").exists()
        assert board.state.first("others") == "0"
        with Board(access(tmp_path)) as other:
            assert other.state.first("others") == "1"


def test_a_session_outlives_the_group_of_the_command_that_opened_it(tmp_path: Path) -> None:
    command = ("sh", "-c", '"$@"; kill -9 0', "launcher")
    with Board(access(tmp_path, *command)) as board:
        assert board.is_kept


def test_a_command_that_ends_all_processes_leaves_sessions_to_later_runs(tmp_path: Path) -> None:
    command = ("sh", "-c", f'"$@"; kill -9 $(cat "{tmp_path}"/*/keeper)', "launcher")
    with Board(access(tmp_path, *command)) as board:
        assert not board.is_kept
        (session,) = tmp_path.iterdir()
        with Board(access(tmp_path)) as other:
            assert other.is_kept
            assert other.state.first("others") == "1"
        assert board.run([Call("echo", ("a",))])[0].stdout == "a\n"
        os.utime(session / "lease", (0, 0))  # long ago
        with Board(access(tmp_path)) as other:
            assert other.state.first("others") == "0"
            assert not session.exists()


def test_a_session_names_processes_by_digits_alone(tmp_path: Path) -> None:
    old, target = tmp_path / "tuninglink-session-old", tmp_path / "target"
    old.mkdir()
    target.mkdir()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    with subprocess.Popen(["sleep", "60"]) as named, subprocess.Popen(["sleep", "60"]) as other:
        (old / "running").write_text(f"{named.pid}\n")
        (old / "batch").write_text(f"-KILL {other.pid}\n0\n")
        (target / "running").write_text(f"{other.pid}\n")
        for place in (old, target):
            (place / "boot").write_text(boot)
        (tmp_path / "tuninglink-session-link").symlink_to(target)
        with Board(access(tmp_path)):
            assert named.wait(60) == -signal.SIGTERM
            assert not old.exists()
            assert target.exists()
        assert other.poll() is None
        other.kill()


def test_a_session_that_is_about_to_be_opened_is_kept(tmp_path: Path) -> None:
    young, old = (tmp_path / f"tuninglink-session-{name}" for name in ("young", "old"))
    for place in (young, old):
        place.mkdir()
    (young / "boot").touch()
    os.utime(old, (0, 0))
    with Board(access(tmp_path)):
        assert young.exists()
        assert not old.exists()


def test_a_process_of_this_boot_is_not_ended_for_a_session_of_another(tmp_path: Path) -> None:
    old = tmp_path / "tuninglink-session-old"
    old.mkdir()
    with subprocess.Popen(["sleep", "60"]) as other:
        (old / "boot").write_text("an earlier one\n")
        (old / "running").write_text(f"{other.pid}\n")
        with Board(access(tmp_path)):
            assert not old.exists()
        assert other.poll() is None
        other.kill()


def test_relative_tools_are_those_of_an_emulator_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    assert BoardAccess(HERE, "tools").tools == str(tmp_path / "tools")
    with pytest.raises(BoardError, match="relative path: 'others'"):
        BoardAccess(HERE, "others")


def test_ssh_keeps_a_connection_unless_its_configuration_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("ssh") is None:
        pytest.skip("no ssh is installed")
    own, plain = tmp_path / "own", tmp_path / "plain"
    own.write_text("Host board\n  ControlPath ~/.ssh/%C\n")
    plain.write_text("Host board\n  ServerAliveInterval 7\n")
    words = ("ssh", "-F", str(own), "board", "env")
    assert SharedConnection(words).command == words
    words = ("ssh", "-F", str(plain), "board", "env")
    connection = SharedConnection(words)
    first = connection.command
    assert (first[0], *first[-len(words) + 1 :]) == words
    shown = subprocess.run([first[0], "-G", *first[1:]], capture_output=True, text=True, check=True)
    assert {"controlmaster auto", "serveraliveinterval 7"} <= set(shown.stdout.splitlines())
    connection.renew()
    assert connection.command != first
    connection.close()
    assert connection.command == words
    # `ssh` would split or replace these.
    for name in ("a b", "%h", "${HOME}"):
        monkeypatch.setattr(tempfile, "tempdir", f"/tmp/{name}")
        assert SharedConnection(words).command == words


def test_directories_with_special_characters_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BoardError, match="other characters than"):
        BoardAccess(HERE, directory="/tmp/$HOME")
    with pytest.raises(BoardError, match=r"cannot|no directory"):
        Board(access(Path("/proc/nothing")))
    with pytest.raises(BoardError, match="does not start"):
        Board(access(tmp_path, "/no/such/command"))
    strange = tmp_path / "a 'strange' $place"
    strange.mkdir()
    monkeypatch.setenv("TMPDIR", str(strange))
    with Board(BoardAccess(HERE, SYSTEM)) as board:
        assert board.state.first("tuninglink-session").startswith("/tmp/tuninglink-")
    assert list(strange.iterdir()) == []


def test_the_scripts_of_the_guide_make_a_board_of_a_queue(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guides" / "boards.md").read_text()
    client, worker = re.findall(r"```text\n(.*?)```", guide, re.DOTALL)
    script, queue = tmp_path / "lab-run", tmp_path / "queue"
    script.write_text(client)
    script.chmod(0o755)
    queue.mkdir()
    command = ("env", f"LAB_QUEUE={queue}", str(script))
    environment = {**os.environ, "LAB_QUEUE": str(queue)}
    with subprocess.Popen(["sh", "-c", worker], env=environment) as running:
        try:
            with Board(access(tmp_path / "board", *command), pauses=NO_PAUSES) as board:
                file = BoardFile(bytes(range(256)))
                result, failing = board.run(
                    [Call("wc", ("-c", file.path), (file,)), Call("false", ())]
                )
                assert result.stdout.split()[0] == "256"
                assert failing.status == 1
        finally:
            running.kill()
    assert list((tmp_path / "board").iterdir()) == []
    assert list(queue.iterdir()) == []


def test_scripts_of_a_directory_of_another_user_are_not_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    log = tmp_path / "log"
    with Board(
        access(tmp_path / "board", *connection(f'echo "$*" >>"{log}"')), pauses=NO_PAUSES
    ) as board:
        (directory,) = (tmp_path / "board").iterdir()
        assert board.run([Call("echo", ("a",))])[0].stdout == "a\n"
        assert f"find {directory} -prune -user {os.getuid()} -exec sh" in log.read_text()
        # The owner cannot be changed without privileges, so the expected one is.
        board._owner = str(os.getuid() + 1)
        (directory / "serve.sh").write_text(f'touch "{ran}"')
        assert board.run([Call("echo", ("b",))])[0].stdout == "b\n"
    assert not ran.exists()
