"""An interrupted check writes its findings so far."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

from long_specs import long_spec
from places import TOOLS
from processes import eventually, marked
from programs import listening
from terminals import TerminalCommand

if TYPE_CHECKING:
    from pathlib import Path

ENTRIES = 4000
"""More than can be checked before the interrupt comes."""


def test_an_interrupt_shows_the_entries_that_were_checked(tmp_path: Path) -> None:
    spec = tmp_path / "spec.mlir"
    spec.write_text(long_spec([128 * (number + 1) for number in range(ENTRIES)]))
    table = tmp_path / "table.txt"
    flags = ["--target", "gfx942", "--jobs", "3", "--all", "-o", table.name]
    marker = f"TUNINGLINK_TEST_{os.urandom(8).hex()}"
    with TerminalCommand(
        listening([str(TOOLS / "tuninglink"), "check", spec.name, *flags]),
        {**os.environ, marker: ""},
        directory=tmp_path,
    ) as command:
        command.wait_for(r"spec\.mlir: [1-9][\d,]* of 4,000 entries")
        assert eventually(lambda: len(marked(marker)) >= 4)  # the two of the command, and workers
        command.process.send_signal(signal.SIGINT)
        code, shown = command.finish()
    assert code == 130
    assert "interrupted" in shown
    assert eventually(lambda: not marked(marker))
    output = table.read_text()
    found = re.search(r"spec.mlir \(matcher list, ([\d,]+) entr", output)
    assert found
    assert 0 < int(found[1].replace(",", "")) < ENTRIES
    assert "not decided: reachable: " in output
    assert "the check was interrupted before" in output
