"""Reading the arguments of `tuninglink tune`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.cli.known_values import known_dispatches
from tuninglink.cli.measuring_options import (
    MEASURING_FLAGS,
    MeasuringOptions,
    measuring_values,
)
from tuninglink.cli.usage import Positional
from tuninglink.compiler.flags import COMPILE_FLAGS, DIM_FLAG, FlagReader
from tuninglink.compiler.phases import Phase
from tuninglink.errors import CompileError
from tuninglink.llvm_flags import Flag, read_count, read_fraction, switch
from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning.flag_sets.sets import NONE
from tuninglink.tuning.programs.call_options import (
    CallOptions,
    FunctionWeight,
    GivenInput,
    ParameterFile,
)
from tuninglink.tuning.settings import Numerics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.iree.given_sizes import GivenSizes


@dataclass(frozen=True, kw_only=True)
class TuneOptions(MeasuringOptions):
    """What the arguments ask for.

    Attributes:
        input: the path of the program, `-` for standard input.
        compile_from: the phase that the program has gone through already.
        specs: specs whose configurations are candidates.
        spec_directories: where default specs are looked for beside the shipped ones.
        default_specs: whether configurations of default specs are candidates.
        report: a directory for the report, or nothing.
        sizes: the sizes of dynamic dimensions at which the program is tuned.
        functions: the functions of the program that count; none for all.
        inputs: what they are called with.
        parameters: files with the program's weights.
        flag_sets: a file with sets of flags, `none`, or nothing for the usual ones.
        only_flags: whether sets of flags are all that is compared.
        expected: what its functions should return for these inputs.
    """

    input: str
    compile_from: Phase = Phase.START
    specs: tuple[str, ...] = ()
    spec_directories: tuple[str, ...] = ()
    default_specs: bool = True
    report: str = ""
    sizes: tuple[GivenSizes, ...] = ()
    functions: tuple[FunctionWeight, ...] = ()
    inputs: tuple[GivenInput, ...] = ()
    parameters: tuple[ParameterFile, ...] = ()
    flag_sets: str = ""
    only_flags: bool = False
    expected: tuple[GivenInput, ...] = ()

    @property
    def calls(self) -> CallOptions:
        """How the whole program is called."""
        return CallOptions(self.functions, self.inputs, self.parameters, self.expected)


PROGRAM_ARGUMENT: Final = Positional(
    "INPUT",
    "A program in MLIR, a model of ONNX (*.onnx), one dispatch, or a dispatch benchmark that iree-compile has dumped; "
    "- is standard input.",
)

CALL_FLAGS: Final = {
    "function": Flag(
        "functions",
        FunctionWeight.parse,
        repeats=True,
        metavar="NAME[=N]",
        help="Count this function of the program, each call N times. May be repeated. Default: all functions, one call "
        "each.",
    ),
    "input": Flag(
        "inputs",
        GivenInput.parse,
        repeats=True,
        metavar="[F:]VALUE",
        help="An input of function F for the whole program, as iree-run-module takes them: @FILE.npy, 2x3xf32=0 or a "
        "number. One for each argument. Default: random.",
    ),
    "expected": Flag(
        "expected",
        GivenInput.parse,
        repeats=True,
        metavar="[F:]VALUE",
        help="What function F should return for these inputs, as for --input, such as the outputs of the framework that "
        "the model comes from. One for each result. Default: what the same program computes on the CPU.",
    ),
    "parameters": Flag(
        "parameters",
        ParameterFile.parse,
        repeats=True,
        metavar="[S=]FILE",
        help="Weights of the program (.irpa, .safetensors, .gguf) with scope S. May be repeated. Default: random weights.",
    ),
}
"""The flags for calls of the whole program."""

_HIDDEN: Final = (
    *("compile-from", "iree-codegen-tuning-spec-path"),
    "iree-codegen-enable-default-tuning-specs",
)
"""The hidden flags of `tuninglink compile` that mean the same here."""

TUNE_FLAGS: Final = {
    "output": replace(
        COMPILE_FLAGS["output"],
        metavar="SPEC.mlir",
        help="Where to write the spec. Default: standard output.",
    ),
    "dim": replace(
        DIM_FLAG,
        help="Tune dynamic dispatches at these sizes of dimension D of argument A, or of all dynamic dimensions. SIZES is "
        "SIZE[:WEIGHT],... such as 0.0=1,8:2,64,512. 0.1=1.1=16,64: both have the same. May be repeated.",
    ),
    **CALL_FLAGS,
    "flag-sets": Flag(
        "flag_sets",
        metavar="FILE",
        help="Compare these sets of compiler flags first, one a line; none for no sets. Default: those for the backend, "
        "in at most a quarter of --budget. The best ones are written to SPEC.flags.",
        values=lambda: (NONE,),
    ),
    "only-flags": switch("only_flags", "Compare sets of flags and nothing else."),
    "allow-numerics": Flag(
        "numerics",
        lambda _: Numerics.ANY,
        switch=True,
        help="Take flags and entries that change the results of the program by more than rounding; the same as "
        "--numerics any.",
    ),
    "only": Flag(
        "patterns",
        repeats=True,
        metavar="PATTERN",
        values=known_dispatches,
        help="Tune dispatches with this in their name or their function's. May be repeated; * and ? match.",
    ),
    "top": Flag(
        "top", read_count, metavar="N", help="Tune the N dispatches that take most of the time."
    ),
    "min-share": Flag(
        "min_share",
        read_fraction,
        metavar="PART",
        help="Tune dispatches that take at least this part of the time, as in 5%, and those whose default computes a wrong "
        "result.",
    ),
    "spec": replace(
        COMPILE_FLAGS["spec"], help="Try the configurations of this spec, too. May be repeated."
    ),
    "spec-dir": replace(
        COMPILE_FLAGS["spec-dir"],
        help="Look for default specs, which are tried as well, in this directory first. May be repeated.",
    ),
    "no-default-specs": replace(COMPILE_FLAGS["no-default-specs"], help="Try no default specs."),
    "no-upgrade": COMPILE_FLAGS["no-upgrade"],
    "report": Flag("report", metavar="DIR", help="Write a report to DIR, as JSON and as a page."),
    "generalize": switch(
        "generalizes", "Add entries for ranges of sizes in which winners are measured not to lose."
    ),
    "no-model": switch(
        "runs_model", "Do not run the whole program with the spec in the end.", value=False
    ),
    **MEASURING_FLAGS,
    **{name: COMPILE_FLAGS[name] for name in _HIDDEN},
}


def parse_tune_arguments(arguments: Sequence[str]) -> TuneOptions:
    """Read the arguments that come after the program's name.

    Raises:
        CompileError: there is no input, a value is malformed or missing, or a flag is unknown or of no use.
    """
    reader = FlagReader(TUNE_FLAGS, arguments)
    values = measuring_values(reader)
    if reader.input is None:
        raise CompileError(error("no input; name a program, or - for standard input"))
    if values.get("only_flags") and values.get("flag_sets") == NONE:
        remedy = note(
            "'--flag-sets FILE' names sets; without it, those for the backend are compared"
        )
        raise CompileError(
            error(
                "flag '--only-flags' has nothing to compare with '--flag-sets none'", notes=[remedy]
            )
        )
    return TuneOptions(input=reader.input, **values)
