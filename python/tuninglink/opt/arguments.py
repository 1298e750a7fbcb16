"""Classification of command line arguments: passes, flags of the compiler, inputs, and mistakes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tuninglink.errors import nearest
from tuninglink.files import STANDARD_STREAM
from tuninglink.llvm_flags import (
    CommandLine,
    CommandLineError,
    Flag,
    Unknown,
    ambiguous,
    one_of,
    read_boolean,
    read_number,
)
from tuninglink.mlir import names
from tuninglink.opt import pass_registry
from tuninglink.opt.execution import Instrumentation
from tuninglink.opt.inputs import SPLIT_MARKER
from tuninglink.opt.pass_registry import (
    OWN_PREFIX,
    Element,
    OpPipeline,
    PassLookup,
    PassRegistry,
    leaves,
    parse_pipeline,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from iree.compiler import ir as mlir


_PASS_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class OptRequest:
    """The passes to run and their input."""

    options: Options
    context: mlir.Context
    input: str
    pipeline: OpPipeline
    runs_python: bool = False
    needs_target_backends: bool = False
    compiler_flags: tuple[str, ...] = ()
    handed_over: tuple[str, ...] = ()


def resolve(
    options: Options, arguments: Sequence[str], registry: PassRegistry, context: mlir.Context
) -> OptRequest:
    """Determine the passes and the input. The compiler's passes are looked up in `context`."""
    lookup = PassLookup(context, registry)
    passes = [flag for flag in options.line.unknown if _is_pass(flag, lookup)]
    other = [flag for flag in options.line.unknown if flag not in passes]
    # Passes are given as flags, or as a textual pipeline.
    if passes and options.pipeline is not None:
        raise CommandLineError("'-pass-pipeline' option can't be used with individual pass options")
    if options.pipeline is None:
        elements = (Element(pass_.name, pass_.value or "") for pass_ in passes)
        pipeline = OpPipeline(names.MODULE, tuple(elements))
    else:
        pipeline = parse_pipeline(options.pipeline)
    # Run `iree-opt` for features that only it has, as long as no pass is written in Python.
    python_pass = next(
        (leaf.name for leaf in leaves(pipeline) if lookup.python_pass(leaf.name)), None
    )
    exclusive = next((flag.name for flag in other if flag.name in IREE_OPT_ONLY), None)
    if exclusive and python_pass:
        raise CommandLineError(
            f"for the --{exclusive} option: only iree-opt supports it, and iree-opt does not have "
            f"'{python_pass}'; run the compiler's passes separately from those written in Python"
        )
    # The same goes for selected passes to be printed that may be inside pipelines of the compiler.
    compiler = lookup.compiler
    is_inside = options.instrumentation.is_selective and any(
        compiler.knows(leaf.name) and compiler.expand(leaf) != (leaf,) for leaf in leaves(pipeline)
    )
    if exclusive or (is_inside and not python_pass):
        command = (pass_registry.executable(), *arguments)
        return OptRequest(options, context, "", pipeline, handed_over=command)
    for flag in other:
        _check_spelling(flag, registry)
    # The remaining flags are the compiler's, and the words are inputs.
    flags, inputs = options.line.split(other, pass_registry.flags_with_value)
    if len(inputs) > 1:
        raise CommandLineError(
            "Too many positional arguments specified!\n"
            "Can specify at most 1 positional arguments: See: tuninglink-opt --help"
        )
    return OptRequest(
        options,
        context,
        inputs[0] if inputs else STANDARD_STREAM,
        pipeline,
        runs_python=python_pass is not None,
        needs_target_backends=any(map(compiler.needs_target_backends, leaves(pipeline))),
        compiler_flags=flags,
    )


def dump(pipeline: OpPipeline) -> str:
    """Return a pipeline in the format of `--dump-pass-pipeline`."""

    def indented(nest: OpPipeline, indent: str) -> str:
        inner = indent + "  "
        children = ",\n".join(
            indented(child, inner) if isinstance(child, OpPipeline) else f"{inner}{child}"
            for child in nest.children
        )
        return f"{indent}{nest.anchor}(\n{children}\n{indent})"

    return f"Pass Manager with {len(pipeline.children)} passes:\n{indented(pipeline, '')}\n\n"


def _is_pass(flag: Unknown, lookup: PassLookup) -> bool:
    if flag.name in IREE_OPT_ONLY or not _PASS_NAME.fullmatch(flag.name):
        return False
    if lookup.compiler.knows(flag.name):
        return True
    # Querying the compiler's flags takes less time than loading passes and looking for plug-ins.
    is_flag = not flag.name.startswith(OWN_PREFIX) and flag.name in pass_registry.flags_with_value()
    return not is_flag and lookup.python_pass(flag.name) is not None


def _check_spelling(flag: Unknown, registry: PassRegistry) -> None:
    """Reject an argument similar to one of Tuninglink's own flags, which the compiler cannot suggest."""
    if flag.name in pass_registry.flags_with_value():
        return
    own = (*FLAGS, *registry.all())
    if not nearest(flag.name, own):
        # It may be a flag that the compiler does not list. The compiler reports an unknown one.
        return
    suggestion = nearest(
        flag.name, (*pass_registry.flags_with_value(), *pass_registry.pass_names(), *own)
    )
    raise CommandLineError(
        f"Unknown command line argument '{flag.argument}'.  Try: 'tuninglink-opt --help'\n"
        f"tuninglink-opt: Did you mean '--{suggestion}'?"
    )


# --- The flags of `tuninglink-opt` ---------------------------------------------------------------


def _switch(target: str, help: str, *, sets: bool = True) -> Flag:  # noqa: A002 - of the command
    return Flag(target, lambda text: read_boolean(text) is sets, switch=True, help=help)


def _value(
    target: str,
    value: str,
    help: str,  # noqa: A002 - of the command
    read: Callable[[str], object] = str,
    *,
    optional: bool = False,
    repeats: bool = False,
) -> Flag:
    value = value if "|" in value else f"<{value}>"
    return Flag(target, read, optional, repeats, help, metavar=value)


def _choice(target: str, value: str, help: str, *, optional: bool = False) -> Flag:  # noqa: A002 - as above
    words = value.split("|")
    read = one_of("", *words) if optional else one_of(*words)
    return _value(target, value, help, lambda text: read(text) or words[0], optional=optional)


FLAGS: Final = {
    "help": _switch("help", "Display available options"),
    "version": _switch("version", "Display the versions of this program and of the compiler"),
    "list-passes": _switch("list_passes", "Print the list of registered passes and exit"),
    "completion": _choice(
        "completion",
        "bash|zsh|fish",
        "Print a script that completes flags and passes in this shell",
    ),
    "o": _value("output", "filename", "Output filename"),
    "pass-pipeline": _value(
        "pipeline", "string", "Textual description of the pass pipeline to run"
    ),
    "no-implicit-module": _switch(
        "implicit_module",
        "Disable implicit addition of a top-level module op during parsing",
        sets=False,
    ),
    "allow-unregistered-dialect": _switch(
        "allow_unregistered", "Allow operation with no registered dialects"
    ),
    "emit-bytecode": _switch("bytecode", "Emit bytecode when generating output"),
    "emit-bytecode-version": _value(
        "bytecode_version",
        "number",
        "Use specified bytecode when generating output",
        read_number,
    ),
    "split-input-file": _value(
        "split_marker",
        "string",
        "Split the input file into chunks using the given or default marker and process each chunk "
        "independently",
        lambda text: text or SPLIT_MARKER,
        optional=True,
    ),
    "output-split-marker": _value(
        "output_marker", "string", "Split marker to use for merging the output"
    ),
    "verify-diagnostics": _choice(
        "expectations",
        "all|only-expected",
        "Check that emitted diagnostics match expected-* lines on the corresponding line",
        optional=True,
    ),
    "verify-each": _switch("verify_each", "Run the verifier after each transformation pass"),
    "dump-pass-pipeline": _switch("dump_pipeline", "Print the pipeline that will be run"),
    "mlir-print-ir-before-all": _switch("before_all", "Print IR before each pass"),
    "mlir-print-ir-after-all": _switch("after_all", "Print IR after each pass"),
    "mlir-print-ir-before": _value(
        "before", "pass-arg", "Print IR before specified passes", repeats=True
    ),
    "mlir-print-ir-after": _value(
        "after", "pass-arg", "Print IR after specified passes", repeats=True
    ),
    "mlir-print-ir-after-change": _switch(
        "only_on_change", "When printing the IR after a pass, only print if the IR changed"
    ),
    "mlir-print-ir-after-failure": _switch(
        "only_on_failure", "When printing the IR after a pass, only print if the pass failed"
    ),
    "mlir-print-ir-module-scope": _switch(
        "module_scope",
        "When printing IR for print-ir-[before|after]{-all} always print the top-level operation",
    ),
    "mlir-print-ir-tree-dir": _value(
        "tree_directory",
        "string",
        "When printing the IR before/after a pass, print file tree rooted at this directory",
    ),
    "mlir-timing": _switch("timing", "Display execution times"),
    "mlir-pass-statistics": _switch("statistics", "Display the statistics of each pass"),
    "mlir-pass-statistics-display": _choice(
        "statistics_display", "list|pipeline", "Display method for pass statistics"
    ),
    "mlir-disable-threading": _switch("threads", "Disable multi-threading within MLIR", sets=False),
    "mlir-disable-diagnostic-notes": _switch("notes", "Disable diagnostic notes.", sets=False),
    "mlir-diagnostic-verbosity-level": _choice(
        "verbosity", "errors|warnings|remarks", "Choose level of diagnostic information"
    ),
    "color": _switch("color", "Use colors in diagnostics (default=autodetect)"),
}

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
"""Flags that only the main function of `iree-opt` implements. A run with one of them executes `iree-opt`."""


@dataclass(frozen=True)
class Options:
    """The options of a command line."""

    line: CommandLine
    help: bool = False
    version: bool = False
    list_passes: bool = False
    completion: str = ""
    output: str = "-"
    pipeline: str | None = None
    split_marker: str | None = None
    output_marker: str = SPLIT_MARKER
    expectations: str = ""
    implicit_module: bool = True
    allow_unregistered: bool = False
    bytecode: bool = False
    bytecode_version: int | None = None
    dump_pipeline: bool = False
    threads: bool = True
    notes: bool = True
    verbosity: str = "remarks"
    color: bool | None = None
    instrumentation: Instrumentation = field(default_factory=Instrumentation)


def read_options(arguments: Sequence[str]) -> Options:
    """Parse a command line, without the name of the program."""
    if message := ambiguous(arguments):
        raise CommandLineError(message)
    aliases = {alias: FLAGS[name] for alias, name in ALIASES.items()}
    line = CommandLine(FLAGS | aliases, arguments)
    fields = Instrumentation.__dataclass_fields__
    reports = {name: value for name, value in line.values.items() if name in fields}
    rest = {name: value for name, value in line.values.items() if name not in fields}
    return Options(line, **rest, instrumentation=Instrumentation(**reports))
