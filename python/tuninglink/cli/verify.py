"""`tuninglink verify`: verification of a program's dispatches against references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.measuring_options import PROGRAM_ARGUMENT
from tuninglink.cli.usage import Usage
from tuninglink.cli.verify_options import VERIFY_FLAGS, parse_verify_arguments
from tuninglink.compiler.probing import check_targets
from tuninglink.compiler.session import set_up_command_line

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM: Final = "tuninglink verify"

USAGE: Final = Usage(
    name="verify",
    positionals=(PROGRAM_ARGUMENT,),
    flags=VERIFY_FLAGS,
    main_flags=("spec", "device"),
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
        "tuninglink verify model.mlir --iree-hal-target-device=cuda --iree-cuda-target=sm_80 --failures wrong",
        "tuninglink verify model.mlir --spec tuned.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942",
        (
            "tuninglink verify model.mlir --trace --input @x.npy --expected @y.npy "
            "--iree-hal-target-device=vulkan"
        ),
    ),
)


def verify_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink verify` with the arguments after the command's name.

    It sets process-wide flags, so a process can run it only once.

    Returns:
        The exit code: 1 if a result is wrong or a dispatch fails.

    Raises:
        TuninglinkError: the program cannot be verified.
    """
    options = parse_verify_arguments(arguments)
    check_targets(options.flags)
    set_up_command_line(PROGRAM, options.flags)
    from tuninglink.cli.verify_run import verify  # noqa: PLC0415 - usage errors do not need to load it

    return process.SUCCESS if verify(options) else process.FAILURE
