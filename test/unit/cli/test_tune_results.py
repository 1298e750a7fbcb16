"""Results of `tuninglink tune` that cannot be written where they should be."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tuninglink.cli.tune_options import user_flags
from tuninglink.cli.tune_run import save_result
from tuninglink.files import write_output

if TYPE_CHECKING:
    import pytest


def test_a_result_that_cannot_be_written_is_kept_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    failure = save_result(
        str(tmp_path / "removed" / "mine.mlir"), lambda path: write_output(path, "spec")
    )
    assert failure is not None
    (diagnostic,) = failure.diagnostics
    assert diagnostic.message.startswith("cannot write '")
    (note,) = diagnostic.notes
    place = re.fullmatch("it is in '(.*)'", note.message)
    assert place is not None
    assert Path(place[1]).name == "mine.mlir"
    assert Path(place[1]).read_text() == "spec"


def test_a_result_is_kept_if_the_reader_of_standard_output_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def write(path: str) -> None:
        if path == "-":
            raise BrokenPipeError(32, "broken pipe")
        write_output(path, "spec")

    assert save_result("-", write) is not None
    (kept,) = tmp_path.glob("*/tuned.mlir")
    assert kept.read_text() == "spec"


def test_a_result_that_can_be_written_is_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "mine.mlir"
    assert save_result(str(path), lambda place: write_output(place, "spec")) is None
    assert path.read_text() == "spec"


def test_the_command_to_copy_has_the_flags_as_the_user_wrote_them() -> None:
    own = ["model.mlir", "-o", "tuned.mlir", "--budget", "5m", "--only", "matmul"]
    assert user_flags([*own, "--target", "host", "--iree-opt-level=O2"]) == (
        "--target",
        "host",
        "--iree-opt-level=O2",
    )
    assert user_flags([*own, "--iree-hal-target-backends", "vmvx"]) == (
        "--iree-hal-target-backends=vmvx",
    )
