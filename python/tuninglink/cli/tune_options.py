"""Reading the arguments of `tuninglink tune`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.cli.measuring_options import (
    MEASURING_FLAGS,
    MeasuringOptions,
    measuring_values,
    read_fraction,
)
from tuninglink.compiler.flags import COMPILE_FLAGS, FlagReader
from tuninglink.compiler.phases import Phase
from tuninglink.errors import CompileError
from tuninglink.iree.given_sizes import GivenSizes
from tuninglink.llvm_flags import Flag, read_count
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


_SHARED: Final = (
    *("o", "spec", "spec-dir", "no-default-specs", "no-upgrade", "compile-from"),
    *("iree-codegen-tuning-spec-path", "iree-codegen-enable-default-tuning-specs"),
)
"""The flags of `tuninglink compile` that mean the same here."""

_FLAGS: Final = {
    **{name: COMPILE_FLAGS[name] for name in _SHARED},
    **MEASURING_FLAGS,
    "dim": Flag("sizes", GivenSizes.parse, repeats=True),
    "function": Flag("functions", FunctionWeight.parse, repeats=True),
    "input": Flag("inputs", GivenInput.parse, repeats=True),
    "expected": Flag("expected", GivenInput.parse, repeats=True),
    "parameters": Flag("parameters", ParameterFile.parse, repeats=True),
    "flag-sets": Flag("flag_sets"),
    "only-flags": Flag("only_flags", lambda _: True, switch=True),
    "allow-numerics": Flag("numerics", lambda _: Numerics.ANY, switch=True),
    "report": Flag("report"),
    "top": Flag("top", read_count),
    "only": Flag("patterns", repeats=True),
    "min-share": Flag("min_share", read_fraction),
    "generalize": Flag("generalizes", lambda _: True, switch=True),
    "no-model": Flag("runs_model", lambda _: False, switch=True),
}


def parse_tune_arguments(arguments: Sequence[str]) -> TuneOptions:
    """Read the arguments that come after the program's name.

    Raises:
        CompileError: there is no input, a value is malformed or missing, or a flag is unknown or of no use.
    """
    reader = FlagReader(_FLAGS, arguments)
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
