"""`tuninglink link`: linking of many specs into one; `lock`: pinning of those of a project; `targets`: those that come along."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.process import SUCCESS
from tuninglink.cli.project_options import PROJECT_FLAGS, ProjectOptions, used_project
from tuninglink.cli.terminal import is_verbose, print_table, progress
from tuninglink.cli.usage import Positional, Usage, usage_error
from tuninglink.compiler import COMPILE_FLAGS, TARGET_FLAG, named_target, set_up_command_line
from tuninglink.errors import counted, escaped
from tuninglink.files import STANDARD_STREAM, check_output, write_output
from tuninglink.iree import known_target_names
from tuninglink.llvm_flags import flags_of, group, option, options_from, read_name, switch, toggle
from tuninglink.mlir import DiagnosticSink
from tuninglink.specs import (
    LIBRARY,
    LINKED_SPEC_NAME,
    LOCK_FILE,
    OWN_FILE,
    LinkForm,
    Spec,
    SpecFiles,
    binding_of,
    check_bindings,
    choose_form,
    default_spec,
    library_files,
    library_names,
    link_specs,
    load_spec,
    misspelt_markers,
    no_replace_entries,
    origin_of,
    read_specs,
    shipped,
    spec_names,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True)
class LinkOptions:
    specs: tuple[str, ...]
    target: str = option(
        "",
        TARGET_FLAG,
        help="Link the default spec of this SKU, architecture or family last; host is the CPU of this machine.",
    )
    spec_directories: tuple[str, ...] = option(
        (),
        COMPILE_FLAGS["spec-dir"],
        name="spec-dir",
        help="Look for the default spec in this directory first. May be repeated.",
    )
    default_specs: bool = toggle(
        "Link nothing but the given specs.", name="no-default-specs", default=True
    )
    output: str = option(
        STANDARD_STREAM,
        COMPILE_FLAGS["output"],
        help="Where to write the linked spec. Default: standard output.",
    )
    preprocessing: str = option(
        "",
        read=read_name,
        metavar="FILE",
        help="Write the replace entries to this file, for `iree-compile --iree-preprocessing-transform-spec-filename`, "
        "and only the configure entries to OUT. Default: OUT has both.",
    )
    emit_bytecode: bool = toggle("Write bytecode, as for an OUT named *.mlirbc.")
    name: str = option(
        LINKED_SPEC_NAME,
        read=read_name,
        metavar="NAME",
        help=f"The symbol of the linked spec. Default: {LINKED_SPEC_NAME}.",
    )
    index: bool = toggle(
        "Arrange the entries so that a compiler compares an operation with a handful of them."
    )
    derived_entries: bool = toggle(
        "Also write entries that `tuninglink compile` derives for other spellings of problems: with a batch of 1 "
        "added or removed, and the loop orders of attention. For a compiler that reads the spec itself."
    )
    upgrade: bool = toggle(COMPILE_FLAGS["no-upgrade"].help, name="no-upgrade", default=True)
    project: ProjectOptions = group(ProjectOptions)


LINK_USAGE: Final[Usage] = Usage(
    name="link",
    positionals=(
        Positional(
            "SPEC",
            "Specs, as text or bytecode; the first wins. A file, a directory, a pattern, library:NAME or a URL; - is "
            "standard input, and TARGET=SPEC binds the entries of a spec to an SKU, an architecture or a family. "
            "Default: those of the project file.",
            optional=True,
            repeats=True,
            values=spec_names,
        ),
    ),
    flags={**flags_of(LinkOptions), "expand-forms": switch("derived_entries", "")},
    main_flags=("target", "output"),
    description="""
The first spec whose entry matches an operation decides about it, and the target's default spec comes last.
""",
    examples=(
        "tuninglink link mine.mlir theirs.mlir --target mi300x -o linked.mlirbc",
        "tuninglink link gfx942=amd.mlir sm_80=nvidia.mlir -o linked.mlir",
    ),
)


def link_command(arguments: Sequence[str]) -> int:
    values, specs = LINK_USAGE.parse(arguments)
    options = options_from(LinkOptions, values, specs=specs)
    if options.target and not options.default_specs:
        message = "--target selects a default spec and --no-default-specs none; give one of them"
        raise usage_error(message)
    as_bytecode = options.emit_bytecode or options.output.endswith(".mlirbc")
    if as_bytecode and options.output == STANDARD_STREAM:
        process.refuse_binary_on_terminal()
    for path in filter(None, (options.output, options.preprocessing)):
        check_output(path)
    set_up_command_line("tuninglink link", ())
    with progress("linking"):
        # Read the given specs, then the default spec; add derived entries.
        sink, upgrade = process.shown_diagnostics(), options.upgrade
        inputs: list[Spec] = []
        for spec in options.specs or options.project.specs():
            if spec == STANDARD_STREAM:
                content = process.read_standard_input()
                inputs.append(load_spec(content, name="<stdin>", upgrade=upgrade, diagnostics=sink))
            else:
                inputs += SpecFiles(read_specs([spec], sink), upgrade=upgrade, diagnostics=sink)
        if options.target:
            target = named_target(options.target)
            folders = [Path(directory) for directory in options.spec_directories]
            default = default_spec(target, directories=folders, upgrade=upgrade, diagnostics=sink)
            if default is None:
                names = ", ".join(f"'{name}'" for name in target.names)
                message = f"there is no default spec for {names}; linking the given specs alone"
                sink.warning(message)
            else:
                inputs.append(default)
        others = ("-", options.output, *(spec.source for spec in inputs))
        if Path(options.preprocessing).resolve() in {Path(other).resolve() for other in others}:
            raise usage_error("--preprocessing names a file of its own, neither OUT nor a SPEC")
        if options.derived_entries:
            from tuninglink.matching import derived_specs  # noqa: PLC0415 - takes as long as a small link

            inputs += [derived for input_ in inputs for derived in derived_specs(input_)]
        linked = _linked(inputs, options.name, sink, index=options.index)
        preprocessing = b""
        if options.preprocessing:
            entries = linked.replacing
            if entries is None:
                none = "no spec has replace entries"
                sink.warning(f"{none}, so '{options.preprocessing}' replaces nothing")
                entries = no_replace_entries(linked)
            is_binary = options.emit_bytecode or options.preprocessing.endswith(".mlirbc")
            separate = Spec(entries.module, linked.source)
            preprocessing = separate.bytecode() if is_binary else separate.text().encode()
            linked = replace(linked, replacing=None)
        content = linked.bytecode() if as_bytecode else linked.text().encode()
    if options.preprocessing:
        write_output(options.preprocessing, preprocessing)
    write_output(options.output, content)
    return process.SUCCESS


def _linked(inputs: list[Spec], name: str, diagnostics: DiagnosticSink, *, index: bool) -> Spec:
    """Return the linked spec, with its entries arranged in a tree if an index is requested."""

    def indexed(spec: Spec) -> Spec:
        from tuninglink.matching import index_matchers  # noqa: PLC0415 - it takes as long as a small link

        module = spec.module.clone()
        index_matchers(module, diagnostics=diagnostics)
        return replace(spec, module=module)

    for spec in inputs:
        table = spec.anatomy.table
        check_bindings([spec.module, *table.symbols.values()], diagnostics)
        for operation, message in misspelt_markers([spec.module, *table.entry_points]):
            diagnostics.warning(message, operation)
    process.keep(inputs)
    # An index applies as a whole, so that each member of a chain, and each binding, needs its own.
    indexes_inputs = index and (
        choose_form(inputs, diagnostics=diagnostics) is LinkForm.CHAINED
        or len({binding_of(spec.module) for spec in inputs}) > 1
    )
    if indexes_inputs:
        inputs = [indexed(spec) for spec in inputs]
    warnings = None if indexes_inputs else diagnostics
    result = link_specs(inputs, name=name, diagnostics=warnings)
    process.keep(inputs, result)
    if is_verbose():
        # Show what was linked, in order of precedence.
        specs = [part.spec for part in result.parts]
        lines = [f"{spec.source}: {spec.kind_words}, {_counted_entries([spec])}" for spec in specs]
        entries = _counted_entries(specs)
        lines.append(f"linked {_FORMS[result.form]}: {counted(len(specs), 'spec')} with {entries}")
        sys.stderr.write("".join(f"{escaped(line)}\n" for line in lines))
    return indexed(result.spec) if index and not indexes_inputs else result.spec


def _counted_entries(specs: Sequence[Spec]) -> str:
    """Return the number of entries of specs in words; that of replace entries if there are any."""
    words = counted(sum(len(spec.entries) for spec in specs), "entry", "entries")
    replacing = sum(len(spec.replace_entries) for spec in specs)
    more = f" and {counted(replacing, 'replace entry', 'replace entries')}" if replacing else ""
    return words + more


_FORMS: Final = {
    LinkForm.UNTOUCHED: "as it is",
    LinkForm.FLAT: "into one list",
    LinkForm.CHAINED: "into a chain",
}


@dataclass(frozen=True, kw_only=True)
class LockOptions:
    project: str = option(
        "",
        PROJECT_FLAGS["project"],
        help=f"The project file. Default: {OWN_FILE}, or pyproject.toml with [tool.tuninglink], in the working "
        "directory or above it in its repository.",
    )
    check: bool = toggle("Write nothing; fail if a spec is not as locked.")


LOCK_USAGE: Final[Usage] = Usage(
    name="lock",
    flags=flags_of(LockOptions),
    main_flags=("project", "check"),
    description="""
From then on a spec that changed is an error, wherever the project is compiled. URLs are fetched and kept in the cache.
""",
    examples=("tuninglink lock", "tuninglink lock --check"),
)


def lock_command(arguments: Sequence[str]) -> int:
    values, _ = LOCK_USAGE.parse(arguments)
    options = LockOptions(**values)
    project = used_project(options.project)
    if project is None:
        raise usage_error(f"there is no project file, such as '{OWN_FILE}'")
    project.check_has_specs()
    # Warnings about URLs without a hash do not apply: this command adds the hashes.
    quiet = DiagnosticSink(lambda _: None)
    with progress("locking"):
        if options.check:
            project.check_lock(process.shown_diagnostics())
            return process.SUCCESS
        files = project.write_lock(quiet)
    print_table(("spec", "sha256"), [(file.name, file.sha256) for file in files], title=LOCK_FILE)
    return process.SUCCESS


TARGETS_USAGE: Final[Usage] = Usage(
    name="targets",
    flags={"all": switch("all", "List every known target instead, with its default spec if any.")},
    main_flags=("all",),
    examples=("tuninglink targets", "tuninglink targets --all"),
)


def targets_command(arguments: Sequence[str]) -> int:
    values, _ = TARGETS_USAGE.parse(arguments)
    set_up_command_line("tuninglink targets", ())
    specs, all_targets = shipped(), known_target_names()
    if values.get("all"):
        shipped_names = {target.name for target in specs}
        rows = [
            (
                *(name, target.backend, " > ".join(target.names)),
                next((name for name in target.names if name in shipped_names), ""),
            )
            for name, target in all_targets.items()
        ]
        print_table(("target", "backend", "looked up as", "default spec"), rows)
        return SUCCESS
    for target, spec in specs.items():
        own = target.name
        served = [name for name in all_targets if name != own and own in all_targets[name].names]
        entries = [(entry.matcher, entry.action, origin_of(spec, entry)) for entry in spec.entries]
        title = f"{target} ({target.backend})"
        print_table(("matcher", "action", "source"), entries, title=title)
        sys.stdout.write(f"\nfile: {spec.source}\nused for: {', '.join([own, *served])}\n")
    sys.stdout.write("\n")
    rows = []
    for file in (file for name in library_names() for file in library_files(name)):
        library = load_spec(file.content, name=file.name)
        targets = ", ".join(binding_of(library.module) or ("any",))
        origins = {origin_of(library, entry) for entry in (*library.entries, None)} - {""}
        listed = "; ".join(sorted(origins))
        count = len(library.entries) + len(library.replace_entries)
        name = file.name.removeprefix(LIBRARY)
        rows.append((name, targets, f"{count:,}", listed))
    title = "libraries, for --spec library:NAME"
    print_table(("library", "targets", "entries", "sources"), rows, title=title)
    return SUCCESS


USAGES: Final = {"link": LINK_USAGE, "lock": LOCK_USAGE, "targets": TARGETS_USAGE}
