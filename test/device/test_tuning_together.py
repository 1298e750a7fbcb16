"""Two tuners at once, on one device and one database."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from framework_programs import CPU
from tuning_programs import matmul

from tuninglink.tuning.database import Database

if TYPE_CHECKING:
    from pathlib import Path


def test_two_tuners_share_a_device_and_a_database(tmp_path: Path) -> None:
    program = tmp_path / "program.mlir"
    program.write_text(matmul(4, 256, 256))
    command = [sys.executable, "-m", "tuninglink", "tune", str(program), *CPU]
    command += ["--database", str(tmp_path / "tuning.db"), "--no-model", "--trials", "3"]
    command += ["--search", "random", "--jobs", "1"]
    running = [
        subprocess.Popen(
            [*command, "--seed", str(seed), "-o", str(tmp_path / f"tuned{seed}.mlir")],
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in (1, 2)
    ]
    said = [each.communicate()[1] for each in running]
    assert [each.returncode for each in running] == [0, 0], "\n".join(said)
    assert all("candidates tried" in each for each in said)
    with Database(tmp_path / "tuning.db") as database:
        tried = {each.configuration.key for each in database.all_trials()}
    assert len(tried) >= 4  # The default, and what each has drawn.
