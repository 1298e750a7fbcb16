"""Telling apart what a command line names: passes, flags of the compiler, the input, and mistakes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tuninglink.files import STANDARD_STREAM
from tuninglink.llvm_flags import UsageError
from tuninglink.mlir import names
from tuninglink.opt import iree_opt
from tuninglink.opt.lookup import OWN_PREFIX, PassLookup
from tuninglink.opt.pipeline import Element, OpPipeline, leaves, parse_pipeline
from tuninglink.opt.tool_flags import FLAGS, IREE_OPT_ONLY
from tuninglink.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler import ir as mlir

    from tuninglink.llvm_flags import Unknown
    from tuninglink.opt.pass_registry import PassRegistry
    from tuninglink.opt.tool_flags import Options

_PASS_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class OptRequest:
    """What is to be run on what.

    Attributes:
        context: the context in which passes were looked up.
        input: the path of the input.
        pipeline: the passes.
        nest_implicitly: whether they were given as flags: then they run on whatever the input's
            outermost operation is, and what runs on other operations is nested.
        runs_python: whether a pass written in Python is among them.
        needs_target_backends: whether a pass among them looks for target backends.
        compiler_flags: the flags that are for the compiler.
        handed_over: the command that does instead what only `iree-opt` can do, or nothing.
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
        """Returns the passes for an input whose outermost operation is called `root`."""
        return replace(self.pipeline, anchor=root) if self.nest_implicitly else self.pipeline


def resolve(
    options: Options, arguments: Sequence[str], registry: PassRegistry, context: mlir.Context
) -> OptRequest:
    """Finds out what is to be run on what, with passes of the compiler looked up in `context`.

    Raises:
        UsageError: the command line is wrong.
        PipelineError: the pipeline is malformed, or names what there is not.
    """
    lookup = PassLookup(context, registry)
    passes = [each for each in options.line.unknown if _is_pass(each, lookup)]
    other = [each for each in options.line.unknown if each not in passes]
    if passes and options.pipeline is not None:
        raise UsageError("'-pass-pipeline' option can't be used with individual pass options")
    if options.pipeline is None:
        elements = (Element(pass_.name, pass_.value or "") for pass_ in passes)
        pipeline = OpPipeline(names.MODULE, tuple(elements))
    else:
        pipeline = parse_pipeline(options.pipeline)
    nest_implicitly = options.pipeline is None
    python_pass = next(
        (leaf.name for leaf in leaves(pipeline) if lookup.python_pass(leaf.name)), None
    )
    exclusive = next((each.name for each in other if each.name in IREE_OPT_ONLY), None)
    if exclusive and python_pass:
        raise UsageError(
            f"for the --{exclusive} option: only iree-opt can do that, and it does not know "
            f"'{python_pass}'; run the passes of the compiler apart from those written in Python"
        )
    if exclusive or (_prints_inside_pipelines(options, pipeline, lookup) and not python_pass):
        command = (iree_opt.executable(), *arguments)
        return OptRequest(context, "", pipeline, nest_implicitly, handed_over=command)
    for each in other:
        _check_spelling(each, registry)
    flags, inputs = options.line.split(other, iree_opt.flags_with_value)
    if len(inputs) > 1:
        raise UsageError(
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
    """Returns a pipeline as `--dump-pass-pipeline` prints it."""
    count = len(pipeline.children)
    return f"Pass Manager with {count} passes:\n{_indented(pipeline, '')}\n\n"


def _is_pass(flag: Unknown, lookup: PassLookup) -> bool:
    if flag.name in IREE_OPT_ONLY or not _PASS_NAME.fullmatch(flag.name):
        return False
    if lookup.compiler.knows(flag.name):
        return True
    # Asking for the compiler's flags takes less time than loading passes and looking for plug-ins.
    is_flag = not flag.name.startswith(OWN_PREFIX) and flag.name in iree_opt.flags_with_value()
    return not is_flag and lookup.python_pass(flag.name) is not None


def _prints_inside_pipelines(options: Options, pipeline: OpPipeline, lookup: PassLookup) -> bool:
    """Tells whether selected passes are to be printed that may be inside pipelines of the compiler."""
    compiler = lookup.compiler
    return options.instrumentation.is_selective and any(
        compiler.knows(leaf.name) and compiler.expand(leaf) != (leaf,) for leaf in leaves(pipeline)
    )


def _check_spelling(flag: Unknown, registry: PassRegistry) -> None:
    """Refuses what looks like one of our own flags, which the compiler cannot suggest.

    Raises:
        UsageError: there is no such flag; names the nearest.
    """
    if flag.name in iree_opt.flags_with_value():
        return
    ours = (*FLAGS, *registry.all())
    if not nearest(flag.name, ours):
        # It may be a flag that the compiler does not list; if not, the compiler says so.
        return
    meant = nearest(flag.name, (*iree_opt.flags_with_value(), *iree_opt.pass_names(), *ours))
    raise UsageError(
        f"Unknown command line argument '{flag.argument}'.  Try: 'tuninglink-opt --help'\n"
        f"tuninglink-opt: Did you mean '--{meant}'?"
    )


def _indented(nest: OpPipeline, indent: str) -> str:
    inner = indent + "  "
    children = ",\n".join(
        _indented(child, inner) if isinstance(child, OpPipeline) else f"{inner}{child}"
        for child in nest.children
    )
    return f"{indent}{nest.anchor}(\n{children}\n{indent})"
