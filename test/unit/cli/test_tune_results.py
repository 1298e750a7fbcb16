"""Results of `tuninglink tune` that cannot be written where they should be."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tuninglink.cli.tune import busy_warnings, save_result, user_flags
from tuninglink.files import write_output
from tuninglink.tuning.deciding import ConfidenceInterval


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


@pytest.mark.parametrize(("driver", "notes"), [("local-task 3.13", 2), ("cuda 570", 1)])
def test_a_machine_that_is_too_busy_is_a_warning_with_the_evidence(driver: str, notes: int) -> None:
    report = SimpleNamespace(noise=ConfidenceInterval(0.82, 0.99, 1.18), driver=driver)
    (warning,) = busy_warnings(report)
    assert warning.message.endswith("the default against itself is 0.990 [0.820, 1.180]")
    assert len(warning.notes) == notes
    for noise in (None, ConfidenceInterval(0.98, 1.0, 1.02)):
        assert not list(busy_warnings(SimpleNamespace(noise=noise, driver=driver)))
