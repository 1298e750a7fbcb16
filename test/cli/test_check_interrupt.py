"""An interrupted check writes what it knows."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING

from long_specs import long_spec
from places import TOOLS
from processes import eventually, marked, processor_seconds

if TYPE_CHECKING:
    from pathlib import Path

ENTRIES = 4000
"""More than can be checked before the interrupt comes."""


def test_an_interrupt_shows_the_entries_that_were_checked(tmp_path: Path) -> None:
    spec = tmp_path / "spec.mlir"
    spec.write_text(long_spec([128 * (number + 1) for number in range(ENTRIES)]))
    command = [TOOLS / "tuninglink", "check", spec, "--target", "gfx942", "--jobs", "3"]
    marker = f"TUNINGLINK_TEST_{os.urandom(8).hex()}"
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, marker: ""},
    ) as process:
        eventually(lambda: processor_seconds(process.pid) > 6)
        assert len(marked(marker)) > 3  # of which each may ask a compiler in a process of its own
        process.send_signal(signal.SIGINT)
        output, said = process.communicate()
    assert process.returncode == 130
    assert "interrupted" in said
    assert eventually(lambda: not marked(marker))
    found = re.search(r"spec.mlir \(matcher list, ([\d,]+) entr", output)
    assert found
    assert 0 < int(found[1].replace(",", "")) < ENTRIES
    assert "not decided: reachable: " in output
    assert "the check was interrupted before" in output
