"""`tuninglink compile`: `iree-compile`, with specs; `dump`: the specs in a program; `init`: a spec to start from."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tuninglink.cli import process
from tuninglink.cli.project_options import PROJECT_FLAGS, read_flags, set_up_compiler, with_project
from tuninglink.cli.terminal import is_verbose, progress
from tuninglink.cli.usage import SPEC_SECTION, Positional, Section, Usage, usage_error
from tuninglink.compiler import (
    COMPILE_FLAGS,
    DIM_FLAG,
    TARGET_FLAG,
    CompileOptions,
    ExplanationFormat,
    Phase,
    check_has_target,
    check_targets,
    compile_options,
)
from tuninglink.errors import CompileError, counted
from tuninglink.files import STANDARD_STREAM, check_output, check_output_directory, write_output
from tuninglink.iree import iree_compile
from tuninglink.llvm_flags import flags_of, option, read_count, toggle
from tuninglink.mlir import error, note, parse_module, thread_context
from tuninglink.specs import (
    NOT_PREDICTED,
    DefaultLibrary,
    SpecFiles,
    collect_specs,
    provenance_of,
    read_specs,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.compiler import SpecChoice
    from tuninglink.iree import GivenSizes
    from tuninglink.specs import Spec


PROGRAM: Final = "tuninglink compile"

COMPILE_USAGE: Final[Usage] = Usage(
    name="compile",
    positionals=(
        Positional(
            "INPUT", "MLIR text or bytecode, or a model of ONNX (*.onnx); - is standard input."
        ),
    ),
    flags={**COMPILE_FLAGS, **PROJECT_FLAGS},
    sections=(
        Section("Target", ("target",)),
        SPEC_SECTION,
        Section("Output", ("output", "explain", "dump-specs-to", "prune")),
    ),
    main_flags=("target", "spec", "output"),
    takes_compiler_flags=True,
    description="""
The default spec of each target is applied, too, and a remark names it. With --no-default-specs and no spec the output
is, byte for byte, that of iree-compile; every flag of iree-compile is known, see `iree-compile --help`.
""",
    examples=(
        "tuninglink compile model.mlir --target gfx942 --spec mine.mlir -o model.vmfb",
        (
            "tuninglink compile model.mlir --spec gfx942=amd.mlir --spec sm_80=nvidia.mlir "
            "--iree-hal-target-device=hip \\\n      --iree-hal-target-device=cuda --iree-rocm-target=gfx942 "
            "--iree-cuda-target=sm_80 -o model.vmfb"
        ),
    ),
    more="""
These mean what they mean to iree-compile, and reach every backend:
  --iree-codegen-tuning-spec-path=SPEC
  --iree-codegen-enable-default-tuning-specs[=BOOL]
  --iree-codegen-dump-tuning-specs-to=DIR
""",
)

_ABOUT_THE_COMPILER: Final = frozenset(
    (
        *("--help-hidden", "--help-list", "--help-list-hidden", "--version"),
        *("--iree-hal-list-target-backends", "--iree-list-plugins"),
    )
)
"""Flags that make `iree-compile` print something about itself and compile nothing."""


def compile_command(arguments: Sequence[str]) -> int:
    if not _ABOUT_THE_COMPILER.isdisjoint(arguments):
        os.execv(iree_compile(), [PROGRAM, *arguments])  # noqa: S606 - it is the compiler's own tool
    own, project_specs = with_project(arguments)
    options = compile_options(read_flags(COMPILE_FLAGS, own))
    path = checked_program(options)
    if options.output == STANDARD_STREAM and not options.writes_text:
        process.refuse_binary_on_terminal()
    # Check that the results can be written before compiling.
    check_output(options.output)
    if options.explanation:
        check_output(options.explanation)
    if options.spec_dumps and options.spec_dumps != STANDARD_STREAM:
        check_output_directory(options.spec_dumps)
    set_up_compiler(PROGRAM, options.flags, upgrade=options.upgrade)
    # Load the compiler after usage errors, and the modules of explanations only for an explained compilation.
    if options.explanation is None:
        from tuninglink.compiler import Compiler  # noqa: PLC0415

        with progress(f"compiling {path}") as step:
            choice = specs_of(options, project_specs)
            compiler = Compiler(options, choice, report=process.show, step=step)
            result = compiler.compile(path)
        if is_verbose():
            sys.stderr.writelines(map(_predicted, compiler.specs))
        write_output(options.output, result.output)
        return process.SUCCESS
    from tuninglink.cli.page_output import format_for, render  # noqa: PLC0415
    from tuninglink.explaining import explain_file  # noqa: PLC0415

    report_format = format_for(options.explanation, None)
    is_page = report_format is ExplanationFormat.HTML
    with progress(f"compiling {path}") as step:
        choice = specs_of(options, project_specs)
        result, explanation = explain_file(
            path, options, choice, report=process.show, step=step, is_detailed=is_page
        )
    write_output(options.output, result.output)
    if options.explanation:
        write_output(options.explanation, render(explanation, report_format, None))
    else:
        sys.stderr.write(render(explanation, ExplanationFormat.TABLE, sys.stderr))
    return process.SUCCESS


def _predicted(spec: Spec) -> str:
    """Return a line with the numbers of predictions, of problems, and of forms; empty for other specs."""
    reasons: Any = provenance_of(spec.anatomy.table).get(NOT_PREDICTED)
    if reasons is None:
        return ""
    problems = counted(len(spec.entries) + len(reasons), "problem")
    return f"{spec.source}: configurations for {len(spec.entries)} of {problems}, {counted(len(spec.replace_entries), 'form')}; 'init --predict' gives reasons\n"


def checked_program(options: CompileOptions) -> str:
    """Return the program to compile, after a check that it is named and that the compiler knows its target."""
    if options.input is None:
        raise usage_error("no input; name a program, or - for standard input")
    check_targets(options.flags)
    if options.needs_target:
        check_has_target(options.flags, options.input)
    return options.input


def specs_of(options: CompileOptions, project_specs: Sequence[str]) -> SpecChoice:
    """Return the specs from the options, then the specs of a project, all loaded on first access."""
    from tuninglink.compiler import SpecChoice  # noqa: PLC0415 - loads linker and matchers

    upgrade = options.upgrade
    library = None
    if options.default_specs:
        library = DefaultLibrary(options.spec_directories, upgrade=upgrade)
    sink = process.shown_diagnostics()
    files = read_specs(options.specs, sink, for_program=True)
    from_project = read_specs(project_specs, sink, for_program=True)
    return SpecChoice(
        SpecFiles((*files, *from_project), upgrade=upgrade, diagnostics=sink),
        from_project=len(from_project),
        automatic=frozenset(at for at, file in enumerate(files) if file.is_automatic),
        library=library,
        exact=False,
        dump=options.spec_dumps,
        prune=options.prune,
        derive=options.derived_entries,
    )


@dataclass(frozen=True, kw_only=True)
class DumpOptions:
    specs: tuple[str, ...] = option(
        (), COMPILE_FLAGS["spec"], name="spec", help="Compile it with this spec. May be repeated."
    )
    output: str = option(
        STANDARD_STREAM,
        COMPILE_FLAGS["output"],
        metavar="DIR",
        help="The directory to write to, which also gets an index.json: it lists the dispatches that use a file. "
        "Default: standard output.",
    )
    emit_bytecode: bool = toggle("Write bytecode instead of text.")


DUMP_USAGE: Final[Usage] = Usage(
    name="dump",
    positionals=(
        Positional(
            "PROGRAM",
            "A program whose dispatches are formed, as text or bytecode, or with a target any program; - is standard input.",
        ),
    ),
    flags={
        "target": replace(
            TARGET_FLAG,
            help="Compile the program for this target until its dispatches carry specs; see `tuninglink compile --help`.",
        ),
        **flags_of(DumpOptions),
    },
    main_flags=("target", "output", "emit-bytecode"),
    takes_compiler_flags=True,
    examples=(
        "tuninglink dump sources.mlir -o specs",
        "tuninglink dump model.mlir --target gfx942 --spec mine.mlir -o specs",
    ),
)


def dump_command(arguments: Sequence[str]) -> int:
    reader = read_flags(DUMP_USAGE.flags, arguments)
    options = DumpOptions(**reader.values)
    until_embedded = CompileOptions(
        reader.input,
        compile_to=Phase.EXECUTABLE_SOURCES,
        emit_bytecode=True,
        specs=options.specs,
        flags=reader.flags,
        target=reader.target,
    )
    name = checked_program(until_embedded)
    if options.output != STANDARD_STREAM:
        check_output_directory(options.output)
    elif options.emit_bytecode:
        process.refuse_binary_on_terminal()
    set_up_compiler("tuninglink dump", reader.flags)
    with progress("reading"):
        if reader.flags:
            # Compile it until its dispatches carry specs.
            from tuninglink.compiler import Compiler  # noqa: PLC0415 - usage errors come before

            choice = specs_of(until_embedded, ())
            content = Compiler(until_embedded, choice, report=process.show).compile(name).output
        else:
            name, content = process.read_input(name)
        module = parse_module(content, name, thread_context())
        specs = collect_specs(module, "mlirbc" if options.emit_bytecode else "mlir")
    if not specs.uses:
        compiled = "no entry of a default spec, or of one named with '--spec', may apply to it"
        reason = compiled if reader.flags else "'--target' compiles it until they carry specs"
        message = f"no dispatch of '{name}' carries a spec"
        process.shown_diagnostics().warning(message, notes=[note(reason)])
    if options.output == STANDARD_STREAM:
        write_output(options.output, specs.as_stream())
    else:
        specs.write(options.output)
    return process.SUCCESS


@dataclass(frozen=True, kw_only=True)
class InitOptions:
    dispatches: tuple[str, ...] = option(
        (),
        name="dispatch",
        repeats=True,
        metavar="NAME",
        help="Only dispatches with NAME in their name or in that of their function; * and ? match. May be repeated.",
    )
    top: int | None = option(
        None,
        read=read_count,
        metavar="N",
        help="Only the N problems with the most arithmetic, over all calls.",
    )
    sizes: tuple[GivenSizes, ...] = option((), DIM_FLAG, name="dim")
    is_frozen: bool = toggle(
        "Write the choice for every dispatch that an entry can configure, by the specs or by the compiler, so that a "
        "newer compiler makes the same ones.",
        name="all",
    )
    is_predicted: bool = toggle(
        "Write the configurations that a model expects to be faster than the compiler's choices, with the expected gain: "
        "the entries of library:predicted.",
        name="predict",
    )
    specs: tuple[str, ...] = option(
        (),
        COMPILE_FLAGS["spec"],
        name="spec",
        help="With --all: the specs that the program is compiled with, in order.",
    )
    default_specs: bool = option(True, COMPILE_FLAGS["no-default-specs"], name="no-default-specs")  # noqa: FBT003
    output: str = option(
        STANDARD_STREAM,
        COMPILE_FLAGS["output"],
        metavar="SPEC.mlir",
        help="Where to write the spec. Default: standard output.",
    )
    compile_from: Phase = option(Phase.START, COMPILE_FLAGS["compile-from"])


_INIT_FLAGS: Final = {"target": TARGET_FLAG, **flags_of(InitOptions)}

INIT_USAGE: Final[Usage] = Usage(
    name="init",
    positionals=COMPILE_USAGE.positionals,
    flags={**_INIT_FLAGS, **PROJECT_FLAGS},
    main_flags=("target", "dispatch", "top", "all", "predict", "output"),
    takes_compiler_flags=True,
    description="""
Each entry has a matcher for the root op of a dispatch and the compiler's own configuration, with a comment on each
knob: its meaning, and the values that are valid now. The spec takes effect in the program and changes no code until
you edit it, which the compiler verifies. Without --dispatch, entries are written for all dispatches but those that only
compute element by element or move data.
""",
    examples=(
        "tuninglink init model.mlir --target gfx942 --top 5 -o start.mlir",
        "tuninglink init --predict model.mlir --target znver4 -o predicted.mlir",
        "tuninglink init --all model.mlir --spec tuned.mlir @tuned.flags --target gfx942 -o frozen.mlir",
    ),
)


def init_command(arguments: Sequence[str]) -> int:
    # Only the compilation that is to be kept has the specs and flags of a project.
    own, project_specs = with_project(arguments) if "--all" in arguments else (arguments, ())
    reader = read_flags(_INIT_FLAGS, own)
    options = InitOptions(**reader.values)
    if options.is_frozen and (
        options.dispatches or options.top is not None or options.is_predicted
    ):
        selecting = "--top" if options.top is not None else "--dispatch"
        selecting = "--predict" if options.is_predicted else selecting
        raise usage_error(f"flags '--all' and '{selecting}' exclude each other")
    for name in ("spec", "no-default-specs"):
        if _INIT_FLAGS[name].target in reader.values and not options.is_frozen:
            raise usage_error(f"flag '--{name}' needs '--all'")
    compilation = CompileOptions(
        reader.input,
        flags=reader.flags,
        sizes=options.sizes,
        compile_from=options.compile_from,
        specs=options.specs,
        target=reader.target,
        default_specs=options.default_specs,
    )
    path = checked_program(compilation)
    check_output(options.output)
    set_up_compiler("tuninglink init", reader.flags)
    from tuninglink import scaffolding  # noqa: PLC0415 - help must not wait for Z3

    with progress(f"writing a spec for {path}"):
        if options.is_frozen:
            choice = specs_of(compilation, project_specs)
            own_flags = [flag for flag in reader.flags if flag not in reader.target_flags]
            written = scaffolding.frozen_spec_for_file(compilation, choice, own_flags, process.show)
        else:
            written = scaffolding.init_spec_for_file(
                *(compilation, options.dispatches, options.top, process.show),
                predict=options.is_predicted,
            )
    for omission in written.left_out:
        process.shown_diagnostics().remark(f"no entry for {omission}")
    if not (written.coverage or written.entries or written.forms):
        raise CompileError(error(f"no entry can be written for '{path}'"))
    if written.coverage:
        process.shown_diagnostics().remark(f"choices written for {written.coverage}")
    write_output(options.output, written.text)
    return process.SUCCESS


USAGES: Final = {"compile": COMPILE_USAGE, "dump": DUMP_USAGE, "init": INIT_USAGE}
