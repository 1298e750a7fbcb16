"""`tuninglink verify`: whether a program's dispatches compute what they should."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.usage import COMMON_FLAGS, flag_lines
from tuninglink.cli.verify_options import parse_verify_arguments
from tuninglink.compiler.probing import check_targets
from tuninglink.compiler.session import set_up_command_line

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM: Final = "tuninglink verify"

USAGE: Final = f"""\
Usage: tuninglink verify INPUT [--spec SPEC]... [--device URI] [any iree-compile flag]...

Run a program dispatch by dispatch, and compare what each computes with a reference: the same dispatch compiled for
the CPU of this machine, and some elements computed with NumPy. Nothing is tuned. Run it after a compiler upgrade, or
with a spec before you ship it.

A result is right, wrong, not decided (the reference differs, and NumPy does not support it), or not checked; or the
dispatch fails: it does not compile, or crashes. The exit code is 1 if a result is wrong or a dispatch fails.

INPUT is a program in MLIR, a model of ONNX (*.onnx), one dispatch, or a dispatch benchmark that iree-compile has
dumped; - is standard input. It is compiled with the flags that you give.

  --spec SPEC          Verify the program with this spec. May be repeated, the first wins.
  --no-upgrade         Refuse specs that were written for an older compiler, instead of upgrading them.
  --device URI         The device, as in cuda://0. Default: the one that runs what is compiled for.
  --only PATTERN       Verify dispatches with this in their name or their function's. May be repeated; * and ?.
  --failures DIR       Write the program of each wrong result and failure to DIR, with a script for the stock tools.
  --format FORMAT      How the report is written: table or json. Default: table.
  --jobs N             How many compilations run at once. Default: one for each core.
  --timeout TIME       When a compilation, a run or a reference counts as hanging. Default: 60s.
  --seed N             Fixes the inputs. Default: 0.
{flag_lines(COMMON_FLAGS)}
Examples:
  tuninglink verify model.mlir --iree-hal-target-device=cuda --iree-cuda-target=sm_80 --failures wrong
  tuninglink verify model.mlir --spec tuned.mlir --iree-hal-target-device=local \\
      --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host
"""


def verify_command(arguments: Sequence[str]) -> int:
    """Runs `tuninglink verify` with the arguments after the command's name.

    It sets the flags of the whole process, so a process can run it once.

    Returns:
        The exit code: 1 if a result is wrong or a dispatch fails.

    Raises:
        TuninglinkError: the program cannot be verified.
    """
    if not {"--help", "-help", "-h"}.isdisjoint(arguments):
        sys.stdout.write(USAGE)
        return process.SUCCESS
    options = parse_verify_arguments(arguments)
    check_targets(options.flags)
    set_up_command_line(PROGRAM, options.flags)
    from tuninglink.cli.verify_run import verify  # noqa: PLC0415 - usage errors come before it is loaded

    return process.SUCCESS if verify(options) else process.FAILURE
