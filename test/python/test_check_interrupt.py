"""An interrupted check writes what it knows."""

from __future__ import annotations

import re
import signal
import subprocess
from typing import TYPE_CHECKING

from processes import eventually, processor_seconds
from programs import EXAMPLES, TOOLS

if TYPE_CHECKING:
    from pathlib import Path

ENTRIES = 1000
"""More than can be checked before the interrupt comes."""


def long_spec() -> str:
    """Returns the spec of an example with its entry a thousand times, each for another size."""
    text = (EXAMPLES / "spec_gfx942.mlir").read_text()
    before, rest = text.split("transform.named_sequence @match_linear_2048x1280x5120(")
    matcher, after = rest.split("transform.named_sequence @__kernel_config(")
    matchers = [
        f"transform.named_sequence @match_{number}("
        + matcher.replace("[2048]", f"[{128 * (number + 1)}]")
        for number in range(ENTRIES)
    ]
    pairs = ", ".join(f"@match_{number} -> @configure" for number in range(ENTRIES))
    after = after.replace("@match_linear_2048x1280x5120 -> @configure", pairs)
    return f"{before}{''.join(matchers)}transform.named_sequence @__kernel_config({after}"


def test_an_interrupt_shows_the_entries_that_were_checked(tmp_path: Path) -> None:
    spec = tmp_path / "spec.mlir"
    spec.write_text(long_spec())
    command = [TOOLS / "tuninglink", "check", spec, "--target", "gfx942"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        eventually(lambda: processor_seconds(process.pid) > 5)
        process.send_signal(signal.SIGINT)
        output, said = process.communicate()
    assert process.returncode == 130
    assert "interrupted" in said
    found = re.search(r"spec.mlir \(matcher list, (\d+) entr", output)
    assert found
    assert 0 < int(found[1]) < ENTRIES
    assert "not decided: reachable: " in output
    assert "the check was interrupted before" in output
