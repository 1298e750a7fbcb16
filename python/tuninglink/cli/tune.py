"""`tuninglink tune`: from a program to a spec that wins."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.measuring_options import MEASURING_HELP
from tuninglink.cli.project_options import HELP as PROJECT_HELP
from tuninglink.cli.project_options import with_project
from tuninglink.cli.tune_options import parse_tune_arguments
from tuninglink.cli.usage import COMMON_FLAGS, flag_lines
from tuninglink.compiler.probing import check_targets
from tuninglink.tuning.search import check_search

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM: Final = "tuninglink tune"

USAGE: Final = f"""\
Usage: tuninglink tune INPUT -o SPEC.mlir [--device URI]... [--budget TIME] [any iree-compile flag]...

Measure configurations of a program's dispatches on a device, and write a spec with those that are faster than
the compiler's own.

INPUT is a program in MLIR, a model of ONNX (*.onnx), one dispatch, or a dispatch benchmark that iree-compile has
dumped; - is standard input. It is compiled with the flags that you give. An interrupt ends with what was won so far, written.

  -o SPEC              Where to write the spec. Default: standard output.
  --dim [A.D=]SIZES    Tune dynamic dispatches at these sizes of dimension D of argument A, or of all dynamic dimensions.
                       SIZES is SIZE[:WEIGHT],... such as 0.0=1,8:2,64,512. 0.1=1.1=16,64: both have the same. May be
                       repeated.
  --function NAME[=N]  Count this function of the program, each call N times. May be repeated. Default: all functions,
                       one call each.
  --input [F:]VALUE    An input of function F for the comparison of the whole program, as iree-run-module takes them:
                       @FILE.npy, 2x3xf32=0 or a number. One for each argument. Default: random.
  --expected [F:]@FILE What function F should return for these inputs, as computed by the framework that the model comes
                       from. One for each result. Default: what the same program computes on the CPU.
  --parameters [S=]FILE  Weights of the program (.irpa, .safetensors, .gguf) with scope S. May be repeated. Default:
                       random weights.
  --flag-sets FILE     Compare these sets of compiler flags first, one a line; none for no sets. Default: those for the
                       backend, in at most a quarter of --budget. The best ones are written to SPEC.flags.
  --only-flags         Compare sets of flags and nothing else.
  --allow-numerics     Take flags and entries that change the results of the program by more than rounding; the same as
                       --numerics any.
  --only PATTERN       Tune dispatches with this in their name or their function's. May be repeated; * and ?.
  --top N              Tune the N dispatches that take most of the time.
  --min-share PART     Tune dispatches that take at least this part of the time, as in 5%, and those whose default
                       computes a wrong result.
  --spec SPEC          Try the configurations of this spec, too. May be repeated.
  --spec-dir DIR       Look for default specs, which are tried as well, in this directory first. May be repeated.
  --no-default-specs   Try no default specs.
  --no-upgrade         Refuse specs that were written for an older compiler, instead of upgrading them.
{PROJECT_HELP}\
  --report DIR         Write a report to DIR, as JSON and as a page.
  --generalize         Add entries for ranges of sizes in which winners are measured not to lose.
  --no-model           Do not run the whole program with the spec in the end.
{MEASURING_HELP}\
{flag_lines(COMMON_FLAGS)}
Examples:
  tuninglink tune model.mlir -o tuned.mlir --iree-hal-target-device=local \\
      --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --budget 5m
  tuninglink tune model.mlir -o tuned.mlir --iree-hal-target-device=cuda --iree-cuda-target=sm_80 \\
      --device cuda://0 --top 3 --database tuning.db --report report
"""


def tune_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink tune` with the arguments that stand behind these words.

    It sets the flags of the whole process, so a process can run it once.

    Returns:
        The exit code.

    Raises:
        TuninglinkError: the program cannot be tuned, or a result not written.
    """
    if not {"--help", "-help", "-h"}.isdisjoint(arguments):
        sys.stdout.write(USAGE)
        return process.SUCCESS
    own, project_specs = with_project(arguments)
    options = parse_tune_arguments(own)
    options = replace(options, specs=(*options.specs, *project_specs))
    check_targets(options.flags)
    check_search(options.settings.search)  # an unknown one is told before anything takes time
    # Mistakes in the arguments are reported before the tuner is loaded.
    from tuninglink.cli.tuning import tune_program  # noqa: PLC0415

    failure = tune_program(options, PROGRAM)
    if failure is not None:
        raise failure
    return process.SUCCESS
