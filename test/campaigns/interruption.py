"""Kills a tuner at random moments and starts it again: nothing is lost, and it finds what it finds undisturbed.

Timings come from a record, so that the same candidates win (`test/support/recorded_tuning.py`):

    python test/campaigns/interruption.py --kills 20
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from recorded_tuning import interrupt
from tuning_programs import matmul


def main() -> None:
    """Run the campaign; the exit code is 1 if something was lost, repeated or found differently."""
    parser = argparse.ArgumentParser(description="Kills a tuner and starts it again.")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        program = directory / "program.mlir"
        program.write_text(matmul(8, 64, 128))
        undisturbed, killed = (
            interrupt(program, directory, kills, arguments.trials, arguments.seed)
            for kills in (0, arguments.kills)
        )
    lost = killed.reported - set(killed.recorded)
    repeated = [key for key, count in killed.recorded.items() if count > 1]
    same = killed.recorded == undisturbed.recorded and killed.spec == undisturbed.spec
    print(
        f"{arguments.kills} kills: of {len(killed.reported)} trials reported before a kill {len(lost)} lost; "
        f"{len(killed.recorded)} recorded, {len(repeated)} twice; "
        f"trials and spec {'the same as' if same else 'other than'} undisturbed"
    )
    sys.exit(1 if lost or repeated or not same else 0)


if __name__ == "__main__":
    main()
