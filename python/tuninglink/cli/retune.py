"""`tuninglink retune`: specs that keep up with the compiler."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.measuring_options import MEASURING_HELP
from tuninglink.cli.retune_options import parse_retune_arguments
from tuninglink.cli.usage import COMMON_FLAGS, flag_lines
from tuninglink.compiler.probing import check_targets
from tuninglink.compiler.session import set_up_command_line
from tuninglink.tuning.search import check_search

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM: Final = "tuninglink retune"

USAGE: Final = f"""\
Usage: tuninglink retune SPEC... -o NEW.mlir [--model MODEL] [--device URI]... [--budget TIME] [any iree-compile flag]...

Measure every entry of specs against the compiler's own choice again, and write the specs without those that are
not faster, with better configurations where some are found.

Each SPEC is a file, a directory, a pattern, library:NAME or a URL; by default those of the project file. An entry is
measured on a program that is made for it, compiled with the flags that you give. Entries for other targets, and those about
which nothing can be told, stay as they are, with a remark. An interrupt ends with what was decided so far, written.

  -o NEW.mlir          Where the new spec goes; a directory for several. Default: standard output.
  --model MODEL        Measure each entry on the ops of this program that it configures, too.
  --format FORMAT      How the report is written: table or json. It goes to standard output if the spec goes
                       elsewhere, else to standard error.
  --no-improve         Search for no better configurations: only keep or drop.
  --no-upgrade         Refuse specs that were written for an older compiler, instead of upgrading them.
{MEASURING_HELP}\
{flag_lines(COMMON_FLAGS)}
Examples:
  tuninglink retune tuned.mlir -o tuned.mlir --iree-hal-target-device=cuda --iree-cuda-target=sm_80 \\
      --device cuda://0 --budget 30m --database tuning.db
  tuninglink retune library:boo-gfx942 -o boo.mlir --no-improve --iree-hal-target-device=hip \\
      --iree-rocm-target=gfx942 --format json
"""


def retune_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink retune` with the arguments that stand behind these words.

    It sets the flags of the whole process, so a process can run it once.

    Returns:
        The exit code.

    Raises:
        TuninglinkError: a spec cannot be read, nothing can be measured, or a result not written.
    """
    if not {"--help", "-help", "-h"}.isdisjoint(arguments):
        sys.stdout.write(USAGE)
        return process.SUCCESS
    options = parse_retune_arguments(arguments)
    check_targets(options.flags)
    set_up_command_line(PROGRAM, options.flags)
    check_search(options.settings.search)  # an unknown one is told before anything takes time
    from tuninglink.cli.retune_run import retune  # noqa: PLC0415 - mistakes are told before it is loaded

    failure = retune(options, PROGRAM)
    if failure is not None:
        raise failure
    return process.SUCCESS
