"""`tuninglink-opt`: pass registry, textual pipelines, drop-in flags."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.opt.command import (
        reference as reference,
        run as run,
        sections as sections,
        summary as summary,
    )
    from tuninglink.opt.execution import (
        Execution as Execution,
        run_pass as run_pass,
        run_passes as run_passes,
    )
    from tuninglink.opt.inputs import (
        SPLIT_MARKER as SPLIT_MARKER,
        Chunk as Chunk,
        Expectations as Expectations,
        parse as parse,
        split_input as split_input,
    )
    from tuninglink.opt.pass_registry import (
        GROUP as GROUP,
        UNPRINTABLE as UNPRINTABLE,
        CompilerPasses as CompilerPasses,
        Element as Element,
        OpPipeline as OpPipeline,
        PassRegistry as PassRegistry,
        check_pass as check_pass,
        leaves as leaves,
        make_pass as make_pass,
        options_of as options_of,
        parse_pipeline as parse_pipeline,
        print_pass as print_pass,
    )
