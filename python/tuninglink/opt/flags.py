"""The flags of `tuninglink-opt`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, cast

from tuninglink.opt.inputs import SPLIT_MARKER
from tuninglink.opt.instrumentation import Instrumentation, Printing
from tuninglink.opt.llvm_arguments import Flag, UsageError, Value, parse_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.opt.llvm_arguments import ParsedArguments, Unknown

_REQUIRED = Value.REQUIRED

FLAGS: Final = (
    Flag("help", "Display available options"),
    Flag("version", "Display the versions of this program and of the compiler"),
    Flag("list-passes", "Print the list of registered passes and exit"),
    Flag(
        "completion",
        "Print a script that completes flags and passes in this shell",
        _REQUIRED,
        "bash|zsh|fish",
        ("bash", "zsh", "fish"),
    ),
    Flag("o", "Output filename", _REQUIRED, "filename"),
    Flag("pass-pipeline", "Textual description of the pass pipeline to run", _REQUIRED, "string"),
    Flag("no-implicit-module", "Disable implicit addition of a top-level module op during parsing"),
    Flag("allow-unregistered-dialect", "Allow operation with no registered dialects"),
    Flag("emit-bytecode", "Emit bytecode when generating output"),
    Flag(
        "emit-bytecode-version",
        "Use specified bytecode when generating output",
        _REQUIRED,
        "number",
    ),
    Flag(
        "split-input-file",
        "Split the input file into chunks using the given or default marker and process each chunk "
        "independently",
        Value.OPTIONAL,
        "string",
    ),
    Flag(
        "output-split-marker",
        "Split marker to use for merging the output",
        _REQUIRED,
        "string",
    ),
    Flag(
        "verify-diagnostics",
        "Check that emitted diagnostics match expected-* lines on the corresponding line",
        Value.OPTIONAL,
        "all|only-expected",
        ("", "all", "only-expected"),
    ),
    Flag("verify-each", "Run the verifier after each transformation pass"),
    Flag("dump-pass-pipeline", "Print the pipeline that will be run"),
    Flag("mlir-print-ir-before-all", "Print IR before each pass"),
    Flag("mlir-print-ir-after-all", "Print IR after each pass"),
    Flag(
        "mlir-print-ir-before",
        "Print IR before specified passes",
        _REQUIRED,
        "pass-arg",
        repeatable=True,
    ),
    Flag(
        "mlir-print-ir-after",
        "Print IR after specified passes",
        _REQUIRED,
        "pass-arg",
        repeatable=True,
    ),
    Flag(
        "mlir-print-ir-after-change",
        "When printing the IR after a pass, only print if the IR changed",
    ),
    Flag(
        "mlir-print-ir-after-failure",
        "When printing the IR after a pass, only print if the pass failed",
    ),
    Flag(
        "mlir-print-ir-module-scope",
        "When printing IR for print-ir-[before|after]{-all} always print the top-level operation",
    ),
    Flag(
        "mlir-print-ir-tree-dir",
        "When printing the IR before/after a pass, print file tree rooted at this directory",
        _REQUIRED,
        "string",
    ),
    Flag("mlir-timing", "Display execution times"),
    Flag("mlir-pass-statistics", "Display the statistics of each pass"),
    Flag(
        "mlir-pass-statistics-display",
        "Display method for pass statistics",
        _REQUIRED,
        "list|pipeline",
        ("list", "pipeline"),
    ),
    Flag("mlir-disable-threading", "Disable multi-threading within MLIR"),
    Flag("mlir-disable-diagnostic-notes", "Disable diagnostic notes."),
    Flag(
        "mlir-diagnostic-verbosity-level",
        "Choose level of diagnostic information",
        _REQUIRED,
        "errors|warnings|remarks",
        ("errors", "warnings", "remarks"),
    ),
    Flag("color", "Use colors in diagnostics (default=autodetect)"),
)

ALIASES: Final = {"h": "help", "p": "pass-pipeline"}

IREE_OPT_ONLY: Final = frozenset(
    {
        "elide-resource-data-from-bytecode",
        "emit-bytecode-producer",
        "help-hidden",
        "help-list",
        "help-list-hidden",
        "irdl-file",
        "load-dialect-plugin",
        "load-pass-plugin",
        "log-actions-to",
        "log-mlir-actions-filter",
        "mlir-debug-counter",
        "mlir-enable-debugger-hook",
        "mlir-generate-reproducer",
        "mlir-output-format",
        "mlir-pass-pipeline-crash-reproducer",
        "mlir-pass-pipeline-local-reproducer",
        "mlir-print-debug-counter",
        "mlir-timing-display",
        "mlir-very-unsafe-disable-verifier-on-parsing",
        "print-all-options",
        "print-options",
        "profile-actions-to",
        "remark-format",
        "remark-policy",
        "remarks-filter",
        "remarks-filter-analyse",
        "remarks-filter-failed",
        "remarks-filter-missed",
        "remarks-filter-passed",
        "remarks-output-file",
        "run-reproducer",
        "show-dialects",
        "verify-roundtrip",
    }
)
"""Flags that `iree-opt` acts on itself and nobody else can: a run with one of them becomes one of it."""


@dataclass(frozen=True)
class Options:
    """What a command line asks for.

    Attributes:
        action: what to do.
        shell: the shell to complete commands in.
        positional: the arguments that are no flags: one of them at most is the input, the others are
            values of flags of the compiler.
        unknown: the flags that are not in `FLAGS`, in order: passes, and flags of the compiler.
        output: where the result goes.
        pipeline: the textual pipeline, if there is one.
        split_marker: what separates the chunks of the input, or None if it is one.
        output_marker: what separates them in the output.
        expectations: whether diagnostics are compared with comments, and which of them.
        implicit_module: whether what is not a module is put into one.
        allow_unregistered: whether operations of unknown dialects are fine.
        bytecode: whether to write bytecode.
        bytecode_version: the version of bytecode, or None for the latest.
        dump_pipeline: whether to print the pipeline first.
        threads: whether the compiler may use several.
        notes: whether to show the notes of diagnostics.
        verbosity: the least grave diagnostics that are shown.
        color: whether to use colors, or None to find out.
        instrumentation: what the run tells about itself.
    """

    action: Literal["run", "help", "version", "list-passes", "completion"]
    shell: str
    positional: tuple[str, ...]
    unknown: tuple[Unknown, ...]
    output: str
    pipeline: str | None
    split_marker: str | None
    output_marker: str
    expectations: Literal["all", "only-expected"] | None
    implicit_module: bool
    allow_unregistered: bool
    bytecode: bool
    bytecode_version: int | None
    dump_pipeline: bool
    threads: bool
    notes: bool
    verbosity: Literal["errors", "warnings", "remarks"]
    color: bool | None
    instrumentation: Instrumentation


def read_options(arguments: Sequence[str]) -> Options:
    """Reads a command line, without the name of the program.

    Raises:
        UsageError: something is wrong with it.
    """
    parsed = parse_arguments(arguments, {flag.name: flag for flag in FLAGS}, ALIASES)
    verbosity = parsed.get("mlir-diagnostic-verbosity-level") or "remarks"
    split_marker = parsed.get("split-input-file")
    expectations = parsed.get("verify-diagnostics")
    output_marker = parsed.get("output-split-marker")
    if output_marker is None:
        output_marker = SPLIT_MARKER
    return Options(
        action=_action(parsed),
        shell=parsed.get("completion") or "",
        positional=tuple(parsed.positional),
        unknown=tuple(parsed.unknown),
        output=parsed.get("o") or "-",
        pipeline=parsed.get("pass-pipeline"),
        split_marker=None if split_marker is None else split_marker or SPLIT_MARKER,
        output_marker=f"{output_marker}\n",
        expectations=_expectations(expectations),
        implicit_module=not parsed.has("no-implicit-module"),
        allow_unregistered=parsed.has("allow-unregistered-dialect"),
        bytecode=parsed.has("emit-bytecode"),
        bytecode_version=_number(parsed, "emit-bytecode-version"),
        dump_pipeline=parsed.has("dump-pass-pipeline"),
        threads=not parsed.has("mlir-disable-threading"),
        notes=not parsed.has("mlir-disable-diagnostic-notes"),
        verbosity=cast("Literal['errors', 'warnings', 'remarks']", verbosity),
        color=parsed.has("color") if "color" in parsed.values else None,
        instrumentation=_instrumentation(parsed),
    )


def _action(
    parsed: ParsedArguments,
) -> Literal["run", "help", "version", "list-passes", "completion"]:
    if parsed.has("help"):
        return "help"
    if parsed.has("version"):
        return "version"
    if parsed.get("completion"):
        return "completion"
    return "list-passes" if parsed.has("list-passes") else "run"


def _expectations(value: str | None) -> Literal["all", "only-expected"] | None:
    if value is None:
        return None
    return "only-expected" if value == "only-expected" else "all"


def _number(parsed: ParsedArguments, name: str) -> int | None:
    text = parsed.get(name)
    if text is None:
        return None
    if not text.isdecimal():
        raise UsageError(f"for the --{name} option: '{text}' value invalid for integer argument!")
    return int(text)


def _instrumentation(parsed: ParsedArguments) -> Instrumentation:
    display = parsed.get("mlir-pass-statistics-display") or "pipeline"
    statistics = cast("Literal['list', 'pipeline']", display)
    printing = Printing(
        before_all=parsed.has("mlir-print-ir-before-all"),
        after_all=parsed.has("mlir-print-ir-after-all"),
        before=_names(parsed, "mlir-print-ir-before"),
        after=_names(parsed, "mlir-print-ir-after"),
        module_scope=parsed.has("mlir-print-ir-module-scope"),
        only_on_change=parsed.has("mlir-print-ir-after-change"),
        only_on_failure=parsed.has("mlir-print-ir-after-failure"),
        tree_directory=parsed.get("mlir-print-ir-tree-dir"),
    )
    return Instrumentation(
        printing=printing,
        timing=parsed.has("mlir-timing"),
        statistics=statistics if parsed.has("mlir-pass-statistics") else None,
        verify_each=parsed.get("verify-each") != "false",
    )


def _names(parsed: ParsedArguments, name: str) -> frozenset[str]:
    return frozenset(each for value in parsed.values.get(name, ()) for each in value.split(","))
