"""Reading the arguments of `iree-compile`, and ours beside them.

Three programs' worth of flags meet on one command line: those of the driver (`-o`, `--compile-to`), which
`iree-compile` itself reads and we read here; those about specs, which are ours or which the compiler would
read too late; and everything else, which is handed to the compiler as it is.
"""

from __future__ import annotations

import difflib
import shlex
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tuninglink.compiler.phases import Phase
from tuninglink.compiler.probing import compiler_options
from tuninglink.compiler.session import session_flags
from tuninglink.errors import CompileError
from tuninglink.mlir.diagnostics import error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


class OutputFormat(Enum):
    """What becomes of the compiled program, named as in `--output-format`."""

    BYTECODE = "vm-bytecode"
    C_SOURCE = "vm-c"
    ASSEMBLY = "vm-asm"


class Mode(Enum):
    """What is run, named as in `--compile-mode`."""

    STANDARD = "std"
    VM = "vm"
    HAL_EXECUTABLE = "hal-executable"
    PRECOMPILE = "precompile"


class ReportFormat(Enum):
    """How an explanation is written, named as in `--format`."""

    TABLE = "table"
    JSON = "json"
    HTML = "html"


@dataclass(frozen=True)
class CompileOptions:
    """What the arguments of a compilation ask for.

    Attributes:
        input: the path of the program, `-` for standard input, None where none was given.
        output: where the result goes, `-` for standard output.
        output_format: what the result is, unless the compilation ends early.
        mode: what is run.
        compile_from: the phase that the input has gone through already.
        compile_to: the phase to end after.
        verify: whether the IR is verified after each pass.
        phase_dumps: a directory for the IR after each phase, or nothing.
        emit_bytecode: whether IR is written as bytecode.
        bytecode_version: the version of that bytecode, or -1 for the current one.
        remarks_filter: which remarks are written to a file, or nothing.
        remarks_file: that file.
        split_input: whether the parts of the input between `// -----` are compiled one by one.
        specs: the paths of the user's specs, in order of precedence.
        spec_directories: where default specs are looked for beside the shipped ones.
        default_specs: whether default specs are used.
        upgrade: whether specs that were written for an older compiler are upgraded; else they are refused.
        spec_dumps: a directory for the linked specs, `-` for standard output, or nothing.
        prune: whether each dispatch gets only the entries that may match in it.
        explanation: the file that gets an explanation, or nothing for standard error; None for no explanation.
        report_format: how it is written, None where the name of the file tells.
        flags: everything else, one `--name` or `--name=value` each.
    """

    input: str | None = None
    output: str = "-"
    output_format: OutputFormat = OutputFormat.BYTECODE
    mode: Mode = Mode.STANDARD
    compile_from: Phase = Phase.START
    compile_to: Phase = Phase.END
    verify: bool = True
    phase_dumps: str = ""
    emit_bytecode: bool = False
    bytecode_version: int = -1
    remarks_filter: str = ""
    remarks_file: str = "mlir-remarks.yaml"
    split_input: bool = False
    specs: tuple[str, ...] = ()
    spec_directories: tuple[str, ...] = ()
    default_specs: bool = True
    upgrade: bool = True
    spec_dumps: str = ""
    prune: bool = True
    explanation: str | None = None
    report_format: ReportFormat | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class KnownFlag:
    """A flag that is read here.

    Attributes:
        target: the field of `CompileOptions`.
        read: makes the field's value of the text after `=`.
        switch: whether the flag can stand without a value.
        repeats: whether each occurrence adds a value; any other flag may be given once.
    """

    target: str
    read: Callable[[str], object] = str
    switch: bool = False
    repeats: bool = False


_Choice = TypeVar("_Choice", bound=Enum)


def one_of(kind: type[_Choice]) -> Callable[[str], _Choice]:
    """Returns what reads one of the values of an enumeration; it raises a ValueError on others."""

    def read(value: str) -> _Choice:
        try:
            return kind(value)
        except ValueError:
            choices = [str(each.value) for each in kind]
            raise ValueError(
                f"expected one of {', '.join(choices)}{_nearest(value, choices)}"
            ) from None

    return read


def _boolean(value: str) -> bool:
    if value in ("", "true", "TRUE", "True", "1"):
        return True
    if value in ("false", "FALSE", "False", "0"):
        return False
    raise ValueError("expected true or false")


def _switch(value: str) -> bool:
    if value not in ("on", "off"):
        raise ValueError("expected on or off")
    return value == "on"


def _version(value: str) -> int:
    if not value.isdecimal():
        raise ValueError("expected a number")
    return int(value)


_EXPLAIN: Final = "explain"

COMPILE_FLAGS: Final = {
    "o": KnownFlag("output"),
    "output-format": KnownFlag("output_format", one_of(OutputFormat)),
    "compile-mode": KnownFlag("mode", one_of(Mode)),
    "compile-from": KnownFlag("compile_from", one_of(Phase)),
    "compile-to": KnownFlag("compile_to", one_of(Phase)),
    "verify": KnownFlag("verify", _boolean, switch=True),
    "dump-compilation-phases-to": KnownFlag("phase_dumps"),
    "emit-mlir-bytecode": KnownFlag("emit_bytecode", _boolean, switch=True),
    "emit-mlir-bytecode-version": KnownFlag("bytecode_version", _version),
    "remarks-filter": KnownFlag("remarks_filter"),
    "remarks-output-file": KnownFlag("remarks_file"),
    "split-input-file": KnownFlag("split_input", _boolean, switch=True),
    "spec": KnownFlag("specs", repeats=True),
    "spec-dir": KnownFlag("spec_directories", repeats=True),
    "no-default-specs": KnownFlag("default_specs", lambda value: not _boolean(value), switch=True),
    "no-upgrade": KnownFlag("upgrade", lambda value: not _boolean(value), switch=True),
    "dump-specs-to": KnownFlag("spec_dumps"),
    "prune": KnownFlag("prune", _switch),
    _EXPLAIN: KnownFlag("explanation", switch=True),
    "iree-codegen-tuning-spec-path": KnownFlag("specs", repeats=True),
    "iree-codegen-enable-default-tuning-specs": KnownFlag("default_specs", _boolean, switch=True),
    "iree-codegen-dump-tuning-specs-to": KnownFlag("spec_dumps"),
}
"""The flags of `tuninglink compile` that are read here."""

_EXPLAIN_FLAGS: Final = {
    **{name: known for name, known in COMPILE_FLAGS.items() if name != _EXPLAIN},
    "format": KnownFlag("report_format", one_of(ReportFormat)),
}
"""Those of `tuninglink explain`."""


def parse_explain_arguments(arguments: Iterable[str]) -> CompileOptions:
    """Reads the arguments of `tuninglink explain`; see `parse_arguments`."""
    return _options(FlagReader(_EXPLAIN_FLAGS, arguments))


def parse_arguments(arguments: Iterable[str]) -> CompileOptions:
    """Reads the arguments of `tuninglink compile` that come after the program's name.

    Raises:
        CompileError: a value is malformed or missing, a flag is given twice, there is more than one input,
            or a flag is unknown.
    """
    return _options(FlagReader(COMPILE_FLAGS, arguments))


def _options(reader: FlagReader) -> CompileOptions:
    values: dict[str, Any] = reader.values
    return CompileOptions(input=reader.input, flags=reader.flags, **values)


class FlagReader:
    """Reads the arguments of a command that takes flags of the compiler beside its own.

    Args:
        known: the flags that the command reads itself, by their names without dashes.
        arguments: the arguments that come after the program's name.

    Attributes:
        values: what the command's own flags say, by the field that they are for.

    Raises:
        CompileError: a value is malformed or missing, a flag is given twice, there is more than one input,
            or a flag is unknown.
    """

    def __init__(self, known: Mapping[str, KnownFlag], arguments: Iterable[str]) -> None:
        self._known = known
        self.values: dict[str, Any] = {}
        self._given: set[str] = set()
        self._flags: list[str] = []
        # Words without dashes. Behind an unknown flag without `=` one may be that flag's value.
        self._words: list[tuple[str, int | None]] = []
        self._read(iter(_with_response_files(arguments)))
        self.input = self._only_input()

    @property
    def flags(self) -> tuple[str, ...]:
        """Everything else, one `--name` or `--name=value` each."""
        return tuple(self._flags)

    def _read(self, arguments: Iterator[str]) -> None:
        before: int | None = None
        for argument in arguments:
            if argument == "--":
                self._words += [(word, None) for word in arguments]
                return
            if argument == "-" or not argument.startswith("-"):
                self._words.append((argument, before))
                before = None
                continue
            name, equals, value = argument.removeprefix("-").removeprefix("-").partition("=")
            known = self._known.get(name)
            if known is not None:
                if not equals and not known.switch:
                    value = self._next(arguments, name)
                self._take(name, known, value)
                before = None
            else:
                self._refuse_unknown(name)
                before = None if equals else len(self._flags)
                self._flags.append(f"--{name}{equals}{value}")

    def _refuse_unknown(self, name: str) -> None:
        # Most flags belong to sessions; only for the others is a list of everything needed, which costs 20 ms.
        if f"--{name}" in session_flags() or name in compiler_options():
            return
        nearest = _nearest(_dashed(name), map(_dashed, [*self._known, *compiler_options()]))
        raise CompileError(error(f"unknown flag '{_dashed(name)}'{nearest}"))

    def _next(self, arguments: Iterator[str], name: str) -> str:
        value = next(arguments, None)
        if value is None:
            raise CompileError(error(f"flag '{_dashed(name)}' needs a value"))
        return value

    def _take(self, name: str, known: KnownFlag, text: str) -> None:
        if known.repeats and not text:
            return
        if name in self._given and not known.repeats:
            raise CompileError(error(f"flag '{_dashed(name)}' is given more than once"))
        self._given.add(name)
        try:
            value = known.read(text)
        except ValueError as failure:
            message = f"'{text}' is no value for flag '{_dashed(name)}': {failure}"
            raise CompileError(error(message)) from None
        before = self.values.get(known.target, ())
        self.values[known.target] = (*before, value) if known.repeats else value

    def _only_input(self) -> str | None:
        """Returns the path of the program, None where none was given."""
        inputs = self._inputs()
        if len(inputs) > 1:
            listed = ", ".join(f"'{each}'" for each in inputs)
            raise CompileError(error(f"expected one input, found {len(inputs)}: {listed}"))
        return inputs[0] if inputs else None

    def _inputs(self) -> list[str]:
        if len(self._words) <= 1:
            return [word for word, _ in self._words]
        inputs = []
        for word, flag in self._words:
            name = self._flags[flag].removeprefix("--") if flag is not None else ""
            if flag is not None and compiler_options().get(name):
                self._flags[flag] += f"={word}"
            else:
                inputs.append(word)
        return inputs


def _dashed(name: str) -> str:
    return f"--{name}" if len(name) > 1 else f"-{name}"


def _nearest(value: str, choices: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(value, choices, n=1)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""


def _with_response_files(arguments: Iterable[str]) -> Iterator[str]:
    """Replaces `@file` by the arguments in that file, as every LLVM tool does."""
    for argument in arguments:
        path = Path(argument[1:])
        if argument.startswith("@") and path.is_file():
            yield from _with_response_files(shlex.split(path.read_text()))
        else:
            yield argument
