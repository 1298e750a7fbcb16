"""The database: recorded trials survive faults of the process, the file and the disk."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import database_writers
import jsonschema
import pytest
from database_writers import HERE, PROBLEM, failed, trial
from recorded_pool import RecordedPool

from tuninglink.cli import process
from tuninglink.errors import Diagnostic, TuninglinkError
from tuninglink.iree import Spills
from tuninglink.plain_data import plain, to_json
from tuninglink.programs import FailureKind
from tuninglink.tuning.candidates import SearchProblem
from tuninglink.tuning.database import (
    VERSION,
    Database,
    DatabaseError,
    PriorData,
    best_of,
    export,
    read_trials,
    to_t4,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WRITER = Path(database_writers.__file__)


def one_diagnostic(raised: pytest.ExceptionInfo[TuninglinkError]) -> str:
    assert len(raised.value.diagnostics) == 1
    return str(raised.value)


def test_trials_come_back_as_they_were(tmp_path: Path) -> None:
    recorded = [
        trial(0, origin="default", clocks_mhz=(1980, 1965)),
        trial(1, stage="final", caches="cold"),
        failed(2, FailureKind.OUT_OF_BOUNDS),
        replace(trial(3), spills=Spills(992, scratch_bytes=1620, scalar_registers=3)),
        replace(trial(4), spills=Spills()),
    ]
    with Database(tmp_path / "t.db") as database:
        for each in recorded:
            database.record(each)
        assert database.trials(PROBLEM.key, HERE) == recorded
    with Database(tmp_path / "t.db", read_only=True) as database:
        assert database.trials(PROBLEM.key) == recorded
        assert database.trials("other") == []


def test_a_trial_is_recorded_once() -> None:
    with Database() as database:
        each = trial(1)
        assert database.record_all([each, each]) == 1
        assert len(database.trials(PROBLEM.key)) == 1


def test_an_older_database_has_no_spills(tmp_path: Path) -> None:
    path, plain_trial = tmp_path / "t.db", trial(0)
    with Database(path) as database:
        database.record(plain_trial)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE spills")
    with Database(path, read_only=True) as database:
        assert list(database.all_trials()) == [plain_trial]
    spilling = replace(trial(1), spills=Spills(4))
    with Database(path) as database:
        database.record(spilling)
    with Database(path, read_only=True) as database:
        assert list(database.all_trials()) == [plain_trial, spilling]


def test_spills_are_exported(tmp_path: Path) -> None:
    trials = [replace(trial(0), spills=Spills(4, scratch_bytes=16)), trial(1)]
    path = tmp_path / "export.json"
    path.write_text(to_json(export(trials)))
    assert read_trials(path) == trials
    path.write_text(path.read_text().replace('"scratch_bytes": 16', '"scratch_bytes": "16"'))
    with pytest.raises(DatabaseError, match="is not an export of version 1"):
        read_trials(path)
    older = json.loads(to_json(export(trials)))
    for each in older["trials"]:
        del each["spills"]
    path.write_text(json.dumps(older))
    assert read_trials(path) == [replace(trials[0], spills=None), trials[1]]


def test_another_environment_is_another_result() -> None:
    newer = dataclasses.replace(HERE, compiler="3.14.0")
    with Database() as database:
        database.record_all([trial(1), dataclasses.replace(trial(1), environment=newer)])
        assert len(database.trials(PROBLEM.key, newer)) == 1
        facts = SearchProblem("contraction", (8, 8, 8), ("m", "n", "k"), ("f32",), {})
        (other,) = PriorData.read(database, facts, PROBLEM.key, newer).same
        assert other.environment == HERE


def test_winners_are_judged_by_their_latest_stage_and_were_compared() -> None:
    with Database() as database:
        database.record_all(
            [
                trial(0, origin="default", samples=(100.0,)),
                trial(1, samples=(50.0,)),
                trial(1, samples=(95.0,), stage="final"),
                trial(2, samples=(60.0,)),
                trial(2, samples=(70.0,), stage="race"),
                trial(3, samples=(10.0,)),
                failed(3, FailureKind.WRONG),
                trial(4, samples=(20.0,)),
            ]
        )
        default, best = best_of([*database.all_trials()])
    assert default is not None
    assert default.median == 100.0
    assert best is not None
    assert best.configuration.key == "c2"


def test_exports_call_right_what_was_compared() -> None:
    wrong_default = replace(failed(0, FailureKind.WRONG), origin="default", stage="race")
    trials = [
        trial(0, origin="default", samples=(100.0,)),
        wrong_default,
        trial(1, samples=(50.0,), stage="race"),
        trial(2, samples=(10.0,)),
        replace(failed(2, FailureKind.WRONG), stage="race"),
        trial(3, samples=(20.0,)),
    ]
    results = [entry["result"] for entry in plain(export(trials))["trials"]]
    assert results == ["wrong", "wrong", "right", "wrong", "wrong", "not checked"]
    t4 = to_t4(trials)["results"]
    assert [entry["correctness"] for entry in t4] == [0, 0, 1, 0, 0, 0]
    assert [entry["invalidity"] for entry in t4] == [
        *("correctness", "correctness", "correct", "correctness", "correctness", "correct")
    ]
    default, best = best_of(trials)
    assert default is None
    assert best is not None
    assert best.configuration.key == "c1"
    assert best_of([trial(3, samples=(20.0,))]) == (None, None)


def test_records_are_never_changed(tmp_path: Path) -> None:
    with Database(tmp_path / "t.db") as database:
        database.record(trial(1))
    connection = sqlite3.connect(tmp_path / "t.db")
    for statement in ("UPDATE trial SET batch = 9", "DELETE FROM problem"):
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            connection.execute(statement)
    connection.close()


def test_a_killed_writer_loses_nothing_that_it_reported(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    chance = random.Random(0)
    reported: set[int] = set()
    for _ in range(8):
        first = max(reported, default=-1) + 1
        command = [sys.executable, WRITER, path, str(first), "100000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(chance.randrange(1, 12)):
                reported.add(int(writer.stdout.readline()))
            writer.kill()
            reported |= {int(line) for line in writer.stdout if line.endswith("\n")}
    with Database(path) as database:
        found = {each.configuration.knobs["workgroup[0]"] for each in database.trials(PROBLEM.key)}
    assert reported <= found
    assert len(found) <= len(reported) + 8  # at most one in flight each time


def test_two_processes_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    commands = [
        [sys.executable, WRITER, path, str(start), str(start + 40)] for start in (0, 1000, 2000)
    ]
    writers = [subprocess.Popen(each, stdout=subprocess.DEVNULL) for each in commands]
    assert [each.wait() for each in writers] == [0, 0, 0]
    with Database(path) as database:
        assert len(database.trials(PROBLEM.key)) == 120


class Interleaved(sqlite3.Connection):
    """A connection with actions of another process between its statements."""

    actions: ClassVar[dict[int, Callable[[], object]]] = {}
    """Actions by the number of the statement that they come before."""

    statements: ClassVar[list[str]] = []

    def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
        action = self.actions.pop(len(self.statements), None)
        self.statements.append(statement)
        if action is not None:
            action()
        return super().execute(statement, *arguments)


@pytest.fixture
def interleaved(monkeypatch: pytest.MonkeyPatch) -> type[Interleaved]:
    """Make connections that run actions between their statements."""
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", partial(connect, factory=Interleaved))
    monkeypatch.setattr(Interleaved, "actions", {})
    monkeypatch.setattr(Interleaved, "statements", [])
    return Interleaved


def test_another_process_creates_the_database_between_two_statements(
    tmp_path: Path, interleaved: type[Interleaved]
) -> None:
    Database(tmp_path / "alone.db").close()
    locked = interleaved.statements.index("BEGIN IMMEDIATE")
    for number in range(locked + 1):
        path = tmp_path / f"{number}.db"
        interleaved.statements.clear()
        interleaved.actions[number] = partial(
            subprocess.run,
            [sys.executable, WRITER, path, "1", "2"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with Database(path) as database:
            assert database.record_all([trial(0)]) == 1
        assert not interleaved.actions


def test_another_process_locks_the_file_that_becomes_a_database(
    tmp_path: Path, interleaved: type[Interleaved]
) -> None:
    Database(tmp_path / "alone.db").close()
    switching = interleaved.statements.index("PRAGMA journal_mode = WAL")
    interleaved.statements.clear()
    path = tmp_path / "t.db"
    other = sqlite3.Connection(path, isolation_level=None)
    interleaved.actions[switching] = lambda: other.execute("BEGIN IMMEDIATE")
    interleaved.actions[switching + 1] = lambda: other.execute("ROLLBACK")
    with Database(path) as database:
        assert database.record_all([trial(0)]) == 1
    other.close()
    assert not interleaved.actions


def test_databases_merge_once(tmp_path: Path) -> None:
    with Database(tmp_path / "a.db") as one, Database(tmp_path / "b.db") as other:
        common = trial(1)
        one.record_all([common, trial(2)])
        other.record_all([common, trial(3), failed(4)])
        assert one.merge(tmp_path / "b.db") == 2
        assert one.merge(tmp_path / "b.db") == 0
        assert len(one.trials(PROBLEM.key)) == 4


def test_a_missing_database_cannot_be_shown(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="there is no database") as raised:
        Database(tmp_path / "none.db", read_only=True)
    one_diagnostic(raised)
    with pytest.raises(DatabaseError, match="cannot be opened"):
        Database(tmp_path / "no" / "directory.db")


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("shopping list, long enough to be no empty database " * 20)
    with pytest.raises(DatabaseError, match="is not an SQLite database"):
        Database(text)
    assert text.read_text().startswith("shopping")
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE bookmarks (address TEXT)")
    connection.close()
    before = foreign.read_bytes()
    for read_only in (True, False):
        with pytest.raises(DatabaseError, match="belongs to another program") as raised:
            Database(foreign, read_only=read_only)
        one_diagnostic(raised)
    assert foreign.read_bytes() == before


def test_waiting_for_another_process_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "locked.db"
    Database(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    reports: list[str] = []

    def release(remark: Diagnostic) -> None:
        reports.append(remark.message)
        other.execute("ROLLBACK")

    with Database(path, warn=release) as database:
        database.record(trial(0))
    other.close()
    assert reports == [f"database '{path}' is locked by another process; waiting for up to 30 s"]


def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    Database(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    with pytest.raises(DatabaseError, match=f"is of version {VERSION + 1}") as raised:
        Database(path)
    one_diagnostic(raised)


@contextmanager
def unprivileged() -> Iterator[None]:
    """Drop the privilege to write everywhere."""
    identity = os.geteuid()
    if identity == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(identity)


def test_a_read_only_file_is_refused_before_the_first_trial(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Database(path) as database:
        database.record(trial(1))
    for each in (*tmp_path.parents[:2], tmp_path):
        each.chmod(0o755)
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with unprivileged(), pytest.raises(DatabaseError, match=r"read-only|cannot be opened"):
            Database(path)
    finally:
        tmp_path.chmod(0o755)
    with Database(path, read_only=True) as database:
        assert len(database.trials(PROBLEM.key)) == 1


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Database(path) as database:
        database.record(trial(0))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
        kept = 1

        def fill() -> None:
            nonlocal kept
            for number in range(1, 10_000):
                database.record(trial(number, samples=tuple(map(float, range(500)))))
                kept += 1

        try:
            with pytest.raises(DatabaseError, match=r"disk is full|input/output error") as raised:
                fill()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, handler)
        one_diagnostic(raised)
    with Database(path) as database:
        assert len(database.trials(PROBLEM.key)) == kept
        database.record(trial(20_000))


T4_SCHEMA = {
    "type": "object",
    "required": ["schema_version", "results"],
    "properties": {
        "schema_version": {"type": "string", "pattern": r"^[0-9]{1,}.[0-9]{1,}.[0-9]{1,}$"},
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["configuration", "times", "invalidity", "correctness"],
                "properties": {
                    "configuration": {"type": "object"},
                    "times": {"type": "object"},
                    "correctness": {"type": "number"},
                    "invalidity": {
                        "enum": [
                            "timeout",
                            "compile",
                            "runtime",
                            "correctness",
                            "constraints",
                            "correct",
                        ]
                    },
                },
            },
        },
    },
}
"""The schema of Kernel Tuner for T4 results."""


def test_exports_are_complete_and_importable(tmp_path: Path) -> None:
    trials = [
        trial(1, origin="default"),
        *(failed(2 + i, kind) for i, kind in enumerate(FailureKind)),
    ]
    path = tmp_path / "export.json"
    path.write_text(to_json(export(trials)))
    assert read_trials(path) == trials
    t4 = to_t4(trials)
    jsonschema.validate(t4, T4_SCHEMA)
    assert t4["results"][0]["times"]["runtimes"] == [0.101, 0.09]


TABLE = {
    "version": 1,
    "target": "sm_80",
    "device": "NVIDIA H200",
    "compiler": "3.13.0",
    "date": "2026-11-21",
    "program": """func.func @f(%a: tensor<8x4xf32>, %b: tensor<4x16xf32>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
      %r = linalg.matmul ins(%a, %b : tensor<8x4xf32>, tensor<4x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
      return %r : tensor<8x16xf32>
    }""",
    "default": {"microseconds": 10.0},
    "trials": [
        {"pipeline": "#p", "knobs": {"workgroup[0]": 8}, "microseconds": 8.0},
        {"pipeline": "#p", "knobs": {"workgroup[0]": 4}, "failure": "compile"},
    ],
}


def run(*arguments: object) -> int:
    return process.run_command([str(each) for each in arguments])


def test_the_commands(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    table, one, other = (tmp_path / name for name in ("table.json", "one.db", "other.db"))
    table.write_text(json.dumps(TABLE))
    assert run("database", "import", one, table) == 0
    assert "3 trials added" in capfd.readouterr().out
    assert run("database", "merge", other, one, one) == 0
    assert capfd.readouterr().out == f"{one}: 3 trials added\n{one}: 0 trials added\n"
    assert run("database", "show", other, "--trials") == 0
    shown = " ".join(capfd.readouterr().out.split())
    assert "contraction 8x16x4" in shown
    assert "10.00 10.00 1.00 1" in shown  # the faster one was never compared
    assert "8.00 not checked screen" in shown
    assert "workgroup[0] = 4" in shown
    assert run("database", "export", other, "--format", "t4") == 0
    assert len(json.loads(capfd.readouterr().out)["results"]) == 3
    assert run("database", "export", other, "-o", tmp_path / "all.json") == 0
    assert run("database", "import", one, tmp_path / "all.json") == 0
    assert "0 trials added" in capfd.readouterr().out


def test_problems_of_the_same_kind_are_prior_data(tmp_path: Path) -> None:
    trials = [
        {"pipeline": "#p", "knobs": {"workgroup[0]": number}, "microseconds": 20.0 - number}
        for number in range(8)
    ]
    path = tmp_path / "table.json"
    path.write_text(json.dumps({**TABLE, "trials": trials}))
    pool = RecordedPool(path)
    with Database() as database:
        database.record_all(read_trials(path))
        read = partial(PriorData.read, database)
        prior = read(pool.problem, "another", HERE)
        half = read(dataclasses.replace(prior.problem, element_types=("f16",)), "another", HERE)
    (measured,) = prior.measured()
    assert (measured.problem.sizes, len(measured.times)) == ((8, 16, 4), 8)
    assert not half.measured()
    assert [each.knobs["workgroup[0]"] for each in prior.winners(pool)] == [7, 6, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r":1:2: error: invalid JSON"),
        ("[]", "is not a recorded table of version 1: it has another structure"),
        ('{"version": 7}', "is not a recorded table of version 1"),
        ("{}", "is not a recorded table of version 1: 'version' is missing"),
        (json.dumps({**TABLE, "program": "func.func @f( {"}), "cannot be parsed"),
        ('{"format": "tuninglink.trials", "version": 9}', "is not an export of version 1"),
    ],
)
def test_a_table_that_is_none_is_one_diagnostic(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "table.json"
    path.write_text(content)
    with pytest.raises(TuninglinkError, match=message) as raised:
        read_trials(path)
    one_diagnostic(raised)


def damaged_database(path: Path, seed: int) -> list[Any]:
    """Write a database of many pages with eight flipped bits, and return its trials before."""
    recorded = [trial(number) for number in range(200)]
    with Database(path) as database:
        database.record_all(recorded)
    content = bytearray(path.read_bytes())
    assert len(content) > 20 * 4096
    numbers = random.Random(seed)
    for _ in range(8):
        content[numbers.randrange(4096, len(content))] ^= 1 << numbers.randrange(8)
    path.write_bytes(content)
    return recorded


@pytest.mark.parametrize("seed", range(30))
def test_damaged_database_keeps_what_can_be_read(tmp_path: Path, seed: int) -> None:
    recorded = damaged_database(tmp_path / "t.db", seed)
    errors: list[Diagnostic] = []
    with Database(tmp_path / "new.db", warn=errors.append) as database:
        database.merge(tmp_path / "t.db")
        kept = list(database.all_trials())
    assert len(errors) <= 1
    assert len(kept) > len(recorded) / 2
    with Database(tmp_path / "t.db", read_only=True, warn=[].append) as database:
        # A bit of an index may hide a part of them.
        assert len(database.trials(PROBLEM.key)) > len(recorded) / 3
    with Database(tmp_path / "t.db", read_only=True) as database:
        if errors:
            with pytest.raises(DatabaseError, match="is damaged"):
                list(database.all_trials())
        else:
            list(database.all_trials())


def test_a_file_that_is_no_journal_hides_no_trials(tmp_path: Path) -> None:
    path, recorded = tmp_path / "t.db", trial(0)
    with Database(path) as database:
        database.record(recorded)
    Path(f"{path}-journal").write_bytes(b"not a journal" * 500)
    with pytest.raises(DatabaseError, match="middle of a transaction") as raised:
        Database(path, read_only=True)
    remedy = raised.value.diagnostics[0].notes[0].message
    assert remedy == "'tuninglink database merge FILE FILE' undoes it"
    assert run("database", "merge", path, path) == 0
    with Database(path, read_only=True) as database:
        assert list(database.all_trials()) == [recorded]


def test_reading_undoes_no_transaction_that_was_left(tmp_path: Path) -> None:
    path, left = tmp_path / "t.db", tmp_path / "left.db"
    recorded = [trial(number) for number in range(200)]
    with Database(path) as database:
        database.record_all(recorded)
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in (
        "PRAGMA journal_mode = DELETE",
        "PRAGMA cache_size = 2",
        "DROP TRIGGER keep_trial_on_UPDATE",
        "BEGIN",
        "UPDATE trial SET samples = '[1.0]'",
    ):
        connection.execute(statement)
    for suffix in ("", "-journal"):
        Path(f"{left}{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
    connection.close()
    with pytest.raises(DatabaseError, match="was left in the middle of a transaction"):
        Database(left, read_only=True)
    with Database(left) as database:
        assert list(database.all_trials()) == recorded


@pytest.mark.parametrize("numbers", ["", "[", "[1]", '{"other": 1}', '{"registers": "1"}'])
def test_damaged_spills_are_damage(tmp_path: Path, numbers: str) -> None:
    path, plain_trial = tmp_path / "t.db", trial(0)
    with Database(path) as database:
        database.record_all([plain_trial, replace(trial(1), spills=Spills(4))])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE spills SET numbers = ?", (numbers,))
    errors: list[Diagnostic] = []
    with Database(path, read_only=True, warn=errors.append) as database:
        assert list(database.all_trials())[:1] == [plain_trial]
    assert len(errors) == bool(numbers)


def test_value_of_another_type_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with Database(path) as database:
        database.record_all([trial(0), trial(1), trial(2), trial(3)])
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER keep_trial_on_UPDATE")
        for number, samples in enumerate(("[" * 100_000, "5", '["a"]', "[1" + "0" * 5000 + "]"), 1):
            connection.execute("UPDATE trial SET samples = ? WHERE id = ?", (samples, number))
        connection.execute("UPDATE trial SET stage = 'none' WHERE id = 4")
    errors: list[Diagnostic] = []
    with Database(path, read_only=True, warn=errors.append) as database:
        assert list(database.all_trials()) == []
    assert len(errors) == 1
