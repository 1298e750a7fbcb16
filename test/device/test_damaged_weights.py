"""Files with weights that are damaged, or are those of another program: an error before anything is measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from iree import runtime as rt

from tuninglink.errors import CompileError
from tuninglink.programs import Parameter, ParameterFile, ParameterSource

WEIGHT = Parameter("model", "w", "f32", (64, 64))


@pytest.fixture
def file(tmp_path: Path) -> ParameterFile:
    index = rt.ParameterIndex()
    index.add_buffer("w", np.ones((64, 64), np.float32))
    path = tmp_path / "w.irpa"
    index.create_archive_file(str(path))
    return ParameterFile("model", str(path))


def test_complete_weights_pass(file: ParameterFile) -> None:
    ParameterSource((WEIGHT,), (file,)).check()


@pytest.mark.parametrize("content", [b"", b"IRPA", b"hello" * 100, None])
def test_damaged_weights_are_an_error(file: ParameterFile, content: bytes | None) -> None:
    path = Path(file.path)
    path.write_bytes(path.read_bytes()[:3000] if content is None else content)
    with pytest.raises(CompileError, match="cannot read parameters from"):
        ParameterSource((WEIGHT,), (file,)).check()


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (Parameter("model", "v", "f32", (64, 64)), "'v' is missing"),
        (Parameter("model", "w", "f32", (64, 65)), "has 16384 bytes instead of 16640"),
    ],
)
def test_weights_of_another_program_are_an_error(
    file: ParameterFile, weight: Parameter, message: str
) -> None:
    with pytest.raises(CompileError, match=message):
        ParameterSource((weight,), (file,)).check()
