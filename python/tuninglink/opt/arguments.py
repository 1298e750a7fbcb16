"""The options of `tuninglink-opt`, and the passes and inputs on its command line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tuninglink.errors import nearest
from tuninglink.files import STANDARD_STREAM
from tuninglink.llvm_flags import (
    CommandLine,
    CommandLineError,
    Flag,
    Unknown,
    flags_of,
    option,
    read_number,
    read_word,
    switch,
    toggle,
)
from tuninglink.mlir import names
from tuninglink.opt import pass_registry
from tuninglink.opt.inputs import SPLIT_MARKER
from tuninglink.opt.pass_registry import (
    OWN_PREFIX,
    CompilerPasses,
    Element,
    OpPipeline,
    PassLookup,
    PassRegistry,
    leaves,
    parse_pipeline,
)

if TYPE_CHECKING:
    from iree.compiler import ir as mlir


def _value(default: Any, value: str, help_: str, name: str = "", **changes: Any) -> Any:
    """Return a field of the options that a flag with a value sets."""
    return option(default, name=name, metavar=f"<{value}>", help=help_, **changes)


def _choice(
    words: str, help_: str, name: str = "", default: str = "", *, switch: bool = False
) -> Any:
    """Return a field of the options that is one of several words; the first one for a switch without a value."""
    choices = [""] * switch + words.split("|")
    flag = Flag("", lambda text: read_word(choices, text) or choices[1], switch)
    return option(default, flag, name=name, help=help_, metavar=words)


@dataclass(frozen=True)
class Options:
    """The options of a command line, each with its flag."""

    help: bool = option(default=False, base=switch("", "Display available options"), short="h")
    version: bool = toggle("Display the versions of this program and of the compiler")
    list_passes: bool = toggle("Print the list of registered passes and exit")
    completion: str = _choice(
        "bash|zsh|fish", "Print a script that completes flags and passes in this shell"
    )
    output: str = _value("-", "filename", "Output filename", "o")
    pipeline: str | None = _value(
        None,
        "string",
        "Textual description of the pass pipeline to run",
        "pass-pipeline",
        short="p",
    )
    implicit_module: bool = toggle(
        "Disable implicit addition of a top-level module op during parsing",
        name="no-implicit-module",
        default=True,
    )
    allow_unregistered: bool = toggle(
        "Allow operation with no registered dialects", name="allow-unregistered-dialect"
    )
    bytecode: bool = toggle("Emit bytecode when generating output", name="emit-bytecode")
    bytecode_version: int | None = _value(
        None,
        "number",
        "Use specified bytecode when generating output",
        "emit-bytecode-version",
        read=read_number,
    )
    split_marker: str | None = _value(
        None,
        "string",
        "Split the input file into chunks using the given or default marker and process each chunk "
        "independently",
        "split-input-file",
        read=lambda text: text or SPLIT_MARKER,
        switch=True,
    )
    output_marker: str = _value(
        SPLIT_MARKER, "string", "Split marker to use for merging the output", "output-split-marker"
    )
    expectations: str = _choice(
        "all|only-expected",
        "Check that emitted diagnostics match expected-* lines on the corresponding line",
        "verify-diagnostics",
        switch=True,
    )
    verify_each: bool = option(
        default=True, base=switch("", "Run the verifier after each transformation pass")
    )
    dump_pipeline: bool = toggle("Print the pipeline that will be run", name="dump-pass-pipeline")
    before_all: bool = toggle("Print IR before each pass", name="mlir-print-ir-before-all")
    after_all: bool = toggle("Print IR after each pass", name="mlir-print-ir-after-all")
    before: tuple[str, ...] = _value(
        (), "pass-arg", "Print IR before specified passes", "mlir-print-ir-before", repeats=True
    )
    after: tuple[str, ...] = _value(
        (), "pass-arg", "Print IR after specified passes", "mlir-print-ir-after", repeats=True
    )
    only_on_change: bool = toggle(
        "When printing the IR after a pass, only print if the IR changed",
        name="mlir-print-ir-after-change",
    )
    only_on_failure: bool = toggle(
        "When printing the IR after a pass, only print if the pass failed",
        name="mlir-print-ir-after-failure",
    )
    module_scope: bool = toggle(
        "When printing IR for print-ir-[before|after]{-all} always print the top-level operation",
        name="mlir-print-ir-module-scope",
    )
    tree_directory: str | None = _value(
        None,
        "string",
        "When printing the IR before/after a pass, print file tree rooted at this directory",
        "mlir-print-ir-tree-dir",
    )
    timing: bool = toggle("Display execution times", name="mlir-timing")
    statistics: bool = toggle("Display the statistics of each pass", name="mlir-pass-statistics")
    statistics_display: str = _choice(
        "list|pipeline",
        "Display method for pass statistics",
        "mlir-pass-statistics-display",
        "pipeline",
    )
    threads: bool = toggle(
        "Disable multi-threading within MLIR", name="mlir-disable-threading", default=True
    )
    notes: bool = toggle(
        "Disable diagnostic notes.", name="mlir-disable-diagnostic-notes", default=True
    )
    verbosity: str = _choice(
        "errors|warnings|remarks",
        "Choose level of diagnostic information",
        "mlir-diagnostic-verbosity-level",
        "remarks",
    )
    color: bool | None = option(None, switch("", "Use colors in diagnostics (default=autodetect)"))

    @property
    def prints_selected(self) -> bool:
        """Whether to print IR around some passes only."""
        return bool(self.before or self.after)

    @property
    def prints(self) -> bool:
        return self.prints_selected or self.before_all or self.after_all or self.only_on_failure


FLAGS: Final = flags_of(Options)

IREE_OPT_ONLY: Final = frozenset(
    [
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
    ]
)
"""Flags that only the main function of `iree-opt` implements. A run with one of them executes `iree-opt`."""


# --- The passes and the input of a command line --------------------------------------------------

_PASS_NAME = re.compile(r"[\w.-]+")


class OptRequest(NamedTuple):
    """The passes to run and their input."""

    options: Options
    context: mlir.Context
    input: str
    pipeline: OpPipeline
    runs_python: bool = False
    needs_target_backends: bool = False
    compiler_flags: tuple[str, ...] = ()
    is_handed_over: bool = False


def resolve(
    options: Options, line: CommandLine, registry: PassRegistry, context: mlir.Context
) -> OptRequest:
    """Determine the passes and the input. The compiler's passes are looked up in `context`."""
    lookup = PassLookup(CompilerPasses(context), registry)
    passes: list[Unknown] = []
    other: list[Unknown] = []
    for flag in line.unknown:
        is_pass, name = False, flag.name
        if name not in IREE_OPT_ONLY and _PASS_NAME.fullmatch(name):
            # Querying the compiler's flags takes less time than loading passes and looking for plug-ins.
            is_pass = lookup.compiler.knows(name) or (
                (name.startswith(OWN_PREFIX) or name not in pass_registry.flags_with_value())
                and lookup.python_pass(name) is not None
            )
        (passes if is_pass else other).append(flag)
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
    is_inside = options.prints_selected and any(
        compiler.knows(leaf.name) and compiler.expand(leaf) != (leaf,) for leaf in leaves(pipeline)
    )
    if exclusive or (is_inside and not python_pass):
        return OptRequest(options, context, "", pipeline, is_handed_over=True)
    for flag in other:
        _check_spelling(flag, registry)
    # The remaining flags are the compiler's, and the words are inputs.
    flags, inputs = line.split(other, pass_registry.flags_with_value)
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


def dump(nest: OpPipeline, indent: str = "") -> str:
    """Return a pipeline in the format of `--dump-pass-pipeline`."""
    inner = indent + "  "
    children = ",\n".join(
        dump(child, inner) if isinstance(child, OpPipeline) else f"{inner}{child}"
        for child in nest.children
    )
    return f"{indent}{nest.anchor}(\n{children}\n{indent})"


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
