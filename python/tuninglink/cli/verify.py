"""`tuninglink verify`: verification of a program's dispatches against references."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.known_values import known_dispatches
from tuninglink.cli.measuring_options import (
    CALL_FLAGS,
    MEASURING_FLAGS,
    PROGRAM_ARGUMENT,
    VerifyOptions,
)
from tuninglink.cli.target_options import read_flags, set_up_compiler
from tuninglink.cli.usage import FORMAT_FLAG, JOBS_FLAG, Usage
from tuninglink.compiler.compile_options import Phase
from tuninglink.compiler.flags import COMPILE_FLAGS, DIM_FLAG, TARGET_FLAG
from tuninglink.compiler.probing import check_targets
from tuninglink.compiler.target_flags import check_has_target
from tuninglink.errors import UsageError
from tuninglink.files import STANDARD_STREAM
from tuninglink.llvm_flags import Flag, switch
from tuninglink.mlir.diagnostics import error

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM: Final = "tuninglink verify"

_FLAGS: Final = {
    "target": TARGET_FLAG,
    "spec": replace(
        COMPILE_FLAGS["spec"],
        help="Verify the program with this spec. May be repeated, the first wins.",
    ),
    "no-upgrade": COMPILE_FLAGS["no-upgrade"],
    "device": replace(
        MEASURING_FLAGS["device"],
        help="The device, as in cuda://0. Default: the one that runs what is compiled for.",
    ),
    "only": Flag(
        "patterns",
        repeats=True,
        metavar="PATTERN",
        values=known_dispatches,
        help="Verify dispatches with this in their name or their function's, and not the whole program. May be repeated; "
        "* and ? match.",
    ),
    "trace": switch(
        "traces",
        "Run the program once, and compare its dispatches on the values that they get there, instead of alone on "
        "random ones.",
    ),
    "dim": replace(
        DIM_FLAG,
        help="Verify dynamic dispatches at these sizes: ARGUMENT.DIMENSION=SIZE,... such as 0.0=1,8,64, or sizes alone for "
        "all dynamic dimensions. May be repeated.",
    ),
    **CALL_FLAGS,
    "function": replace(
        CALL_FLAGS["function"],
        metavar="NAME",
        help="Call this function of the program. May be repeated. Default: all.",
    ),
    "failures": replace(
        MEASURING_FLAGS["failures"],
        help="Write the program of each wrong result and failure to DIR, with a script for the stock tools.",
    ),
    "format": FORMAT_FLAG,
    "jobs": JOBS_FLAG,
    "timeout": replace(
        MEASURING_FLAGS["timeout"],
        help="When a compilation, a run or a reference counts as hanging. Default: 60s.",
    ),
    "seed": replace(MEASURING_FLAGS["seed"], help="Fixes the inputs. Default: 0."),
    "compile-from": COMPILE_FLAGS["compile-from"],
}

USAGE: Final = Usage(
    name="verify",
    positionals=(PROGRAM_ARGUMENT,),
    flags=_FLAGS,
    main_flags=("target", "spec", "device"),
    takes_compiler_flags=True,
    description="""
The program runs dispatch by dispatch, compiled with the flags that you give. Nothing is tuned. The reference of a
dispatch is the same dispatch compiled for the CPU of this machine, and some elements computed with NumPy; that of the
whole program, the last row, is the same program on the CPU, or what --expected names. Run it after a compiler upgrade,
or with a spec before you ship it.

A result is right, wrong, not decided (the reference differs, and nothing else supports it), or not checked; or the
dispatch fails: it does not compile, or crashes. The exit code is 1 if a result is wrong or a dispatch fails.
""",
    examples=(
        "tuninglink verify model.mlir --target sm_80 --failures wrong",
        "tuninglink verify model.mlir --target gfx942 --spec tuned.mlir",
        "tuninglink verify model.mlir --target vulkan --trace --input @x.npy --expected @y.npy",
    ),
)


def _parse(arguments: Sequence[str]) -> VerifyOptions:
    """Parse the arguments after the command's name.

    Raises:
        UsageError: the input is missing, a value is malformed or missing, or a flag is unknown.
    """
    reader = read_flags(_FLAGS, arguments)
    if reader.input is None:
        raise UsageError(error("no input; name a program, or - for standard input"))
    if reader.values.get("traces") and reader.input == STANDARD_STREAM:
        raise UsageError(
            error("--trace compiles the program twice; standard input can be read once only")
        )
    return VerifyOptions(input=reader.input, flags=reader.flags, **reader.values)


def verify_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink verify` with the arguments after the command's name.

    The command sets process-wide flags, so a process can run it only once.

    Returns:
        The exit code: 1 if a result is wrong or a dispatch fails.

    Raises:
        TuninglinkError: the program cannot be verified.
    """
    options = _parse(arguments)
    check_targets(options.flags)
    if options.compile_from < Phase.EXECUTABLE_SOURCES:
        check_has_target(options.flags, options.input)
    set_up_compiler(PROGRAM, options.flags, upgrade=options.upgrade)
    from tuninglink.cli.verify_run import verify  # noqa: PLC0415 - usage errors do not need to load it

    return process.SUCCESS if verify(options) else process.FAILURE
