"""Classification of command line arguments: passes, flags of the compiler, inputs, and mistakes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tuninglink.errors import nearest
from tuninglink.files import STANDARD_STREAM
from tuninglink.llvm_flags import CommandLineError, Unknown
from tuninglink.mlir import names
from tuninglink.opt import compiler_passes
from tuninglink.opt.pass_registry import OWN_PREFIX, PassLookup, PassRegistry
from tuninglink.opt.pipeline import Element, OpPipeline, leaves, parse_pipeline
from tuninglink.opt.tool_flags import FLAGS, IREE_OPT_ONLY, Options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler import ir as mlir

_PASS_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class OptRequest:
    """The passes to run and their input.

    Attributes:
        context: the context for looking up passes.
        input: the path of the input.
        pipeline: the passes.
        nest_implicitly: whether the passes were given as flags. They then run on the outermost operation of the input,
            of any name, and passes for other operations are nested.
        runs_python: whether a pass written in Python is among them.
        needs_target_backends: whether a pass among them uses target backends.
        compiler_flags: the flags for the compiler.
        handed_over: the command to run instead for features of `iree-opt` only, or empty.
    """

    context: mlir.Context
    input: str
    pipeline: OpPipeline
    nest_implicitly: bool
    runs_python: bool = False
    needs_target_backends: bool = False
    compiler_flags: tuple[str, ...] = ()
    handed_over: tuple[str, ...] = ()

    def pipeline_for(self, root: str) -> OpPipeline:
        """Return the passes for an input with an outermost operation called `root`."""
        return replace(self.pipeline, anchor=root) if self.nest_implicitly else self.pipeline


def resolve(
    options: Options, arguments: Sequence[str], registry: PassRegistry, context: mlir.Context
) -> OptRequest:
    """Determine the passes and the input. The compiler's passes are looked up in `context`.

    Raises:
        CommandLineError: the command line is wrong.
        PipelineError: the pipeline is malformed, or contains an unknown name.
    """
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
    nest_implicitly = options.pipeline is None
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
    if exclusive or (_prints_selected_passes(options, pipeline, lookup) and not python_pass):
        command = (compiler_passes.executable(), *arguments)
        return OptRequest(context, "", pipeline, nest_implicitly, handed_over=command)
    for flag in other:
        _check_spelling(flag, registry)
    # The remaining flags are the compiler's, and the words are inputs.
    flags, inputs = options.line.split(other, compiler_passes.flags_with_value)
    if len(inputs) > 1:
        raise CommandLineError(
            "Too many positional arguments specified!\n"
            "Can specify at most 1 positional arguments: See: tuninglink-opt --help"
        )
    return OptRequest(
        context,
        inputs[0] if inputs else STANDARD_STREAM,
        pipeline,
        nest_implicitly,
        runs_python=python_pass is not None,
        needs_target_backends=any(map(lookup.compiler.needs_target_backends, leaves(pipeline))),
        compiler_flags=flags,
    )


def dump(pipeline: OpPipeline) -> str:
    """Return a pipeline in the format of `--dump-pass-pipeline`."""
    count = len(pipeline.children)
    return f"Pass Manager with {count} passes:\n{_indented(pipeline, '')}\n\n"


def _is_pass(flag: Unknown, lookup: PassLookup) -> bool:
    if flag.name in IREE_OPT_ONLY or not _PASS_NAME.fullmatch(flag.name):
        return False
    if lookup.compiler.knows(flag.name):
        return True
    # Querying the compiler's flags takes less time than loading passes and looking for plug-ins.
    is_flag = (
        not flag.name.startswith(OWN_PREFIX) and flag.name in compiler_passes.flags_with_value()
    )
    return not is_flag and lookup.python_pass(flag.name) is not None


def _prints_selected_passes(options: Options, pipeline: OpPipeline, lookup: PassLookup) -> bool:
    """Return whether selected passes may be inside pipelines of the compiler, and are to be printed."""
    compiler = lookup.compiler
    return options.instrumentation.is_selective and any(
        compiler.knows(leaf.name) and compiler.expand(leaf) != (leaf,) for leaf in leaves(pipeline)
    )


def _check_spelling(flag: Unknown, registry: PassRegistry) -> None:
    """Reject an argument similar to one of Tuninglink's own flags, which the compiler cannot suggest.

    Raises:
        CommandLineError: the flag is unknown. The message names the nearest one.
    """
    if flag.name in compiler_passes.flags_with_value():
        return
    own = (*FLAGS, *registry.all())
    if not nearest(flag.name, own):
        # It may be a flag that the compiler does not list. The compiler reports an unknown one.
        return
    suggestion = nearest(
        flag.name, (*compiler_passes.flags_with_value(), *compiler_passes.pass_names(), *own)
    )
    raise CommandLineError(
        f"Unknown command line argument '{flag.argument}'.  Try: 'tuninglink-opt --help'\n"
        f"tuninglink-opt: Did you mean '--{suggestion}'?"
    )


def _indented(nest: OpPipeline, indent: str) -> str:
    inner = indent + "  "
    children = ",\n".join(
        _indented(child, inner) if isinstance(child, OpPipeline) else f"{inner}{child}"
        for child in nest.children
    )
    return f"{indent}{nest.anchor}(\n{children}\n{indent})"
