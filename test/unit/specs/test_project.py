"""Project files: which one is found, whose it may be, which flags it may give; and lock files, which prove all specs."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING

import pytest
from elementwise_specs import spec

from tuninglink.compiler import check_found_flags
from tuninglink.errors import TuninglinkError
from tuninglink.mlir import DiagnosticSink
from tuninglink.specs import Project, read_specs

if TYPE_CHECKING:
    from pathlib import Path

SPEC = spec("vmvx", "mine")
HASH = hashlib.sha256(SPEC.encode()).hexdigest()
QUIET = DiagnosticSink(lambda _: None)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory with a project of one spec, the working directory."""
    (tmp_path / "s.mlir").write_text(SPEC)
    (tmp_path / "tuninglink.toml").write_text('specs = ["s.mlir"]')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found() -> Project:
    project = Project.find()
    assert project is not None
    return project


@pytest.mark.parametrize("root", [".git", ".hg", None])
def test_search_ends_at_the_root_of_the_repository(
    project: Path, monkeypatch: pytest.MonkeyPatch, root: str | None
) -> None:
    folder = project / "inner" / "below"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert Project.find() is None  # outside of a repository, only the working directory counts
    if root is not None:
        (project / root).mkdir()
        assert found().path == project / "tuninglink.toml"
        (project / "inner" / root).touch()
        assert Project.find() is None


def test_search_ends_at_another_file_system(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".git").mkdir()
    folder = project / "mounted"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert found()
    device = folder.stat().st_dev
    stat = os.stat

    def elsewhere(path: Path, **options: bool) -> os.stat_result:
        result = stat(path, **options)
        if os.fspath(path) == os.fspath(folder):
            result = os.stat_result((*result[:2], device + 1, *result[3:]))
        return result

    monkeypatch.setattr(os, "stat", elsewhere)
    assert Project.find() is None


def test_removed_working_directory_has_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert Project.find() is None


@pytest.mark.parametrize("name", ["tuninglink.toml", "pyproject.toml"])
def test_file_of_another_user_is_refused_unless_it_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = project / "tuninglink.toml"
    if name == "pyproject.toml":
        path.unlink()
        path = project / name
        path.write_text("[tool.other]")
    owner = path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    if name == "pyproject.toml":
        assert Project.find() is None  # it does not configure a project
        path.write_text('[tool.tuninglink]\nspecs = ["s.mlir"]')
    with pytest.raises(TuninglinkError, match="belongs to another user") as failure:
        Project.find()
    assert f"--project {name}" in failure.value.diagnostics[0].notes[0].message
    assert Project.named(path).arguments == ("s.mlir",)


def test_root_may_use_the_files_of_the_user_of_sudo(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project / "tuninglink.toml"
    lstat, stat = path.lstat(), path.stat()
    owned = {"st_uid": 1234}

    def as_owned(result: os.stat_result) -> os.stat_result:
        fields = list(result)
        fields[4] = owned["st_uid"]
        return os.stat_result(fields)

    monkeypatch.setattr("tuninglink.specs.project.Path.stat", lambda _: as_owned(stat))
    monkeypatch.setattr("tuninglink.specs.project.Path.lstat", lambda _: as_owned(lstat))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("SUDO_UID", raising=False)
    with pytest.raises(TuninglinkError, match="another user"):
        Project.find()
    monkeypatch.setenv("SUDO_UID", "1234")
    assert found()
    monkeypatch.setattr(os, "geteuid", lambda: 1)
    with pytest.raises(TuninglinkError, match="another user"):
        Project.find()


@pytest.mark.parametrize("name", ["tuninglink.lock", "more.flags"])
def test_files_of_another_user_next_to_the_project_are_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (project / "tuninglink.toml").write_text('specs = ["s.mlir"]\nflags = ["@more.flags"]')
    (project / "more.flags").write_text("--iree-opt-data-tiling")
    found().write_lock(QUIET)
    project_ = found()
    owner = (project / name).stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(TuninglinkError, match=f"'{name}', which the project file uses, belongs"):
        assert project_.arguments if name == "tuninglink.lock" else project_.expanded_flags


ACCEPTED = [
    ("--iree-opt-level=O2",),
    ("-iree-opt-data-tiling",),
    ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"),
    ("--target=gfx942",),
    ("--iree-llvmcpu-target-cpu-features=+avx512f,-sse4.2",),
    ("--no-default-specs", "--prune=off"),
    (
        "--iree-preprocessing-pass-pipeline=builtin.module(util.func(iree-linalg-ext-decompose-attention,cse))",
    ),
]
REFUSED = [
    "--iree-llvmcpu-system-linker-path=./linker.sh",
    "-iree-llvmcpu-embedded-linker-path=./linker.sh",
    "--iree-llvmcpu-link-embedded=false",
    "--iree-hal-dump-executable-files-to=out",
    "--iree-flow-dump-dispatch-graph",
    "--iree-cuda-use-ptxas",
    "--iree-load-plugin=x.so",
    "--iree-plugin=x",
    "--iree-opt-export-parameters=x.irpa",
    "--iree-hal-executable-object-search-path=.",
    "--iree-hal-target-device=#hal.device.target<x>",
    "--iree-rocm-bc-dir=.",
    "--iree-preprocessing-pass-pipeline=builtin.module(iree-util-dump-module{path=x})",
    "--iree-preprocessing-pass-pipeline=builtin.module(view-op-graph)",
    "--mlir-pass-pipeline-crash-reproducer=x",
    "--print-on-crash-path=x",
    "--x86-lvi-load-opt-plugin=x.so",
    "--output=x",
    "-o",
    "-ox",
    "--explain=x.html",
    "--dump-specs-to=x",
    "--remarks-output-file=x",
    "--dump-compilation-phases-to=x",
    "--no-such-flag",
    "@nested.flags",
    "model.mlir",
    "--",
    "",
]


@pytest.mark.parametrize("flags", ACCEPTED)
def test_flags_that_name_no_file_are_accepted(flags: tuple[str, ...]) -> None:
    check_found_flags(flags, "tuninglink.toml")


@pytest.mark.parametrize("flag", REFUSED)
def test_flags_that_could_act_are_refused(flag: str) -> None:
    with pytest.raises(TuninglinkError, match="is not accepted from a project file") as failure:
        check_found_flags((flag,), "tuninglink.toml")
    assert "--project tuninglink.toml" in failure.value.diagnostics[0].notes[0].message


LOCKS = [
    {"s.mlir": {"s.mlir": ""}},
    {"s.mlir": {"s.mlir": None}},
    {"s.mlir": {"s.mlir": 5}},
    {"s.mlir": {"s.mlir": HASH[:-1]}},
    {"s.mlir": {"s.mlir": [HASH]}},
    {"s.mlir": {}},
    {"s.mlir": None},
    {"s.mlir": HASH},
    {"s.mlir": [HASH]},
    {"s.mlir": {"other.mlir": HASH}},
    {"s.mlir": {"s.mlir": HASH, "other.mlir": HASH}},
    {"other.mlir": {"s.mlir": HASH}},
    {"s.mlir": {"s.mlir": HASH}, "other.mlir": {"other.mlir": HASH}},
    {},
    [],
    None,
    "s.mlir",
]


@pytest.mark.parametrize(
    "lock",
    [
        '{"version": 1, "specs": {"s.mlir": {"s.mlir": "ZERO", "s.mlir": "HASH"}}}',
        '{"version": 1, "specs": {"s.mlir": {"s.mlir": "ZERO"}, "s.mlir": {"s.mlir": "HASH"}}}',
        '{"version": 1, "specs": {}, "specs": {"s.mlir": {"s.mlir": "HASH"}}}',
    ],
)
def test_key_of_a_lock_that_is_there_twice_is_an_error(project: Path, lock: str) -> None:
    sha256 = hashlib.sha256((project / "s.mlir").read_bytes()).hexdigest()
    text = lock.replace("ZERO", "0" * 64).replace("HASH", sha256)
    (project / "tuninglink.lock").write_text(text)
    with pytest.raises(TuninglinkError, match=r"lock is malformed|is not a lock file"):
        found().check_lock(QUIET)


@pytest.mark.parametrize("specs", LOCKS)
def test_lock_that_proves_nothing_fails(project: Path, specs: object) -> None:
    (project / "other.mlir").write_text(SPEC)
    (project / "tuninglink.lock").write_text(json.dumps({"version": 1, "specs": specs}))
    for use in (lambda: found().arguments, lambda: found().check_lock(QUIET)):
        with pytest.raises(TuninglinkError) as failure:
            use()
        assert len(failure.value.diagnostics) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "1",
        "null",
        "[" * 100_000,
        '{"version": ' + "1" * 5000 + "}",
        "\0\xff",
        *(f'{{"version": {one}, "specs": {{}}}}' for one in ("true", "1.0", "1e0", '"1"')),
    ],
)
def test_malformed_lock_is_one_error(project: Path, text: str) -> None:
    (project / "tuninglink.lock").write_text(text)
    with pytest.raises(TuninglinkError, match="is not a lock file of this version"):
        found().check_lock(QUIET)
    (project / "tuninglink.toml").write_text('flags = ["--iree-opt-level=O2"]')
    with pytest.raises(TuninglinkError, match="is not a lock file of this version"):
        assert found().arguments


def test_specs_that_left_the_project_must_leave_its_lock(project: Path) -> None:
    found().write_lock(QUIET)
    (project / "tuninglink.toml").write_text("specs = []")
    with pytest.raises(TuninglinkError, match=r"'s.mlir' is locked, and is not in") as failure:
        assert found().arguments
    assert "remove it" in failure.value.diagnostics[0].notes[0].message


@pytest.mark.parametrize("name", ["tuninglink.lock", "more.flags"])
def test_named_pipe_is_not_waited_for(project: Path, name: str) -> None:
    (project / "tuninglink.toml").write_text('specs = ["s.mlir"]\nflags = ["@more.flags"]')
    os.mkfifo(project / name)
    for project_ in (found(), Project.named(project / "tuninglink.toml")):
        with pytest.raises(TuninglinkError, match=f"{name}': it is a named pipe"):
            assert project_.arguments if name == "tuninglink.lock" else project_.expanded_flags


def test_lock_of_another_user_is_refused_without_specs(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "tuninglink.toml").write_text('flags = ["--iree-opt-level=O2"]')
    (project / "tuninglink.lock").write_text('{"version": 1, "specs": {}}')
    project_ = found()
    owner = (project / "tuninglink.lock").stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(TuninglinkError, match=r"'tuninglink\.lock', which the project file uses"):
        assert project_.arguments


@pytest.mark.parametrize(
    "text", ["x = " + "[" * 100_000, "x = " + "1" * 5000, "x = {" * 5000, "\0", "x = '\xff"]
)
def test_malformed_project_file_is_one_error(project: Path, text: str) -> None:
    (project / "tuninglink.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(TuninglinkError, match="cannot read"):
        Project.find()


@pytest.mark.parametrize("text", ["tool = 1", "[tool]\ntuninglink = 1", "[[tool]]"])
def test_section_of_another_structure(project: Path, text: str) -> None:
    (project / "tuninglink.toml").unlink()
    (project / "pyproject.toml").write_text(text)
    if "tuninglink" not in text:
        assert Project.find() is None
        return
    with pytest.raises(TuninglinkError, match="must be a table"):
        Project.find()


def test_lock_has_all_files_of_a_directory(project: Path) -> None:
    (project / "specs").mkdir()
    (project / "tuninglink.toml").write_text('specs = ["specs"]')
    (project / "specs" / "a.mlir").write_text(SPEC)
    found().write_lock(QUIET)
    found().check_lock(QUIET)
    (project / "specs" / "b.mlir").write_text(SPEC)
    with pytest.raises(TuninglinkError, match=r"'specs/b.mlir' is not locked"):
        found().check_lock(QUIET)


def test_lock_does_not_replace_the_hash_of_the_project(project: Path) -> None:
    spec_ = f"s.mlir#sha256={'0' * 64}"
    (project / "tuninglink.toml").write_text(f'specs = ["{spec_}"]')
    lock = {"version": 1, "specs": {spec_: {"s.mlir": HASH}}}
    (project / "tuninglink.lock").write_text(json.dumps(lock))
    with pytest.raises(TuninglinkError, match="another hash"):
        found().check_lock(QUIET)


@pytest.mark.parametrize("bound", ["", "vmvx="])
def test_file_named_like_a_pinned_spec_does_not_replace_it(project: Path, bound: str) -> None:
    other = spec("vmvx", "other")
    pinned = f"{bound}s.mlir#sha256={HASH}"
    (project / pinned).write_text(other)
    assert [file.content.decode() for file in read_specs([pinned], QUIET)] == [SPEC]
    (project / "s.mlir").write_text(other)
    with pytest.raises(TuninglinkError, match="has changed"):
        read_specs([pinned], QUIET)


def test_specs_with_odd_names_are_locked(project: Path) -> None:
    names = ["vmvx=s.mlir", "s#sha256=0.mlir", "[s].mlir", "library.mlir"]
    for name in names:
        (project / name).write_text(SPEC)
    (project / "tuninglink.toml").write_text(
        f"specs = {json.dumps(['vmvx=s.mlir', '[s].mlir', '.'])}"
    )
    found().write_lock(QUIET)
    found().check_lock(QUIET)
    (project / "s#sha256=0.mlir").write_text(spec("vmvx", "other"))
    with pytest.raises(TuninglinkError, match="has changed"):
        found().check_lock(QUIET)
