"""Linking and compilation as functions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tuninglink.arguments import Content, content_as_path, described, flag_words, several
from tuninglink.compiler.application import SpecChoice
from tuninglink.compiler.compilation import Compilation, Compiler
from tuninglink.compiler.flags import check_targets, named_target, parse_arguments
from tuninglink.compiler.options import CompileOptions
from tuninglink.compiler.session import session_flags, spec_diagnostics
from tuninglink.errors import CompileError, Diagnostic, printable
from tuninglink.files import STANDARD_STREAM, temporary_directory
from tuninglink.iree import Target
from tuninglink.mlir import DiagnosticSink, error
from tuninglink.specs import (
    LINKED_SPEC_NAME,
    DefaultLibrary,
    Spec,
    SpecSource,
    default_spec,
    link_specs,
    load_specs,
)


def compile(  # noqa: A001 - the usual word, as in `re`
    source: str | os.PathLike[str] | Content,
    *,
    specs: SpecSource | Iterable[SpecSource] = (),
    default_specs: bool = True,
    spec_directories: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    target: str | Target | None = None,
    flags: str | Iterable[str] = (),
    dump_specs_to: str | os.PathLike[str] = "",
    name: str = "<memory>",
    trace: bool = True,
    prune: bool = True,
    derived_entries: bool = True,
    upgrade: bool = True,
    diagnostics: DiagnosticSink | None = None,
) -> Compilation:
    """Compile a program in this process, with tuning specs.

    The function may be called repeatedly and from several threads. The flags apply to one call.

    Args:
        source: the path of a program in MLIR, or its content; text or bytecode.
        specs: the user's specs in order of precedence: loaded specs, paths, or contents.
        default_specs: whether to apply the default spec of each target last.
        spec_directories: directories of default specs, searched before the shipped ones.
        target: what to compile for: `host`, an SKU, an architecture or a family; stands for flags.
        flags: flags of `iree-compile`, such as `--iree-hal-target-device=hip` or `--compile-to=flow`, except for
            process-wide ones; a single text is split as in a shell.
        dump_specs_to: a directory for the linked specs of each target.
        name: the name of a program given as content, in diagnostics and locations.
        trace: whether to determine which entry configured which operation. Otherwise only the spec is determined; its
            entry is known only if it has a separate action or the spec has few entries. With a thousand entries,
            disabling the trace saves a tenth of the time.
        prune: whether each dispatch receives only the entries that may match in it. Pruning saves time and memory, and
            does not change the configurations.
        derived_entries: whether to derive entries for ops that express the problem of an entry in another form.
        upgrade: whether to upgrade specs that were written for an older compiler; otherwise they are rejected. Loaded
            specs are not affected.
        diagnostics: receives warnings and remarks as they are emitted. Errors are raised.

    Returns:
        The output of `iree-compile`, and the applied entries.

    Raises:
        CompileError: the program is malformed, or the compiler reported an error, with any exit code.
        SpecError: a spec is malformed, or cannot be linked.
        TuninglinkError: a flag is malformed, or a file or a directory cannot be read or written.
        TypeError: an argument has another type.
    """
    request = read_request(
        specs=specs,
        default_specs=default_specs,
        spec_directories=spec_directories,
        target=target,
        flags=flags,
        derived_entries=derived_entries,
        upgrade=upgrade,
    )
    dump = os.fspath(dump_specs_to) or request.options.spec_dumps
    prune = prune and request.options.prune
    choice = replace(request.choice, exact=trace, dump=dump, prune=prune)
    report = diagnostics.emit if diagnostics else None
    compiler = Compiler(request.options, choice, request.options.flags, report, request.warnings)
    return compiler.compile(program_source(source), name)


def link(
    specs: SpecSource | Iterable[SpecSource],
    target: str | Target | None = None,
    *,
    directories: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    name: str = LINKED_SPEC_NAME,
    diagnostics: DiagnosticSink | None = None,
) -> Spec:
    """Link specs into one; the first match wins, and the target's default spec comes last.

    Args:
        specs: the specs in order of precedence: loaded specs, which stay as they are, paths or other sources as on the
            command line, or contents.
        target: the target whose default spec, if any, comes last; `host` is the processor of this machine, and None is
            for no default spec.
        directories: the directories searched for the default spec before the shipped specs.
        name: the symbol of the result.
        diagnostics: receives warnings about opaque specs that may override an earlier one; by default they are dropped.

    Returns:
        A spec that the compiler accepts unchanged. A single input in default-entrypoint form is returned as is.

    Raises:
        SpecError: there is nothing to link, or a spec cannot be read or linked.
        TargetError: no target has this name.
        TypeError: an argument has another type.
    """
    inputs, _ = load_specs(specs, diagnostics=diagnostics)
    if isinstance(target, str):
        target = named_target(target)
    default = default_spec(target, directories=directories) if target is not None else None
    inputs += [default] if default is not None else []
    return link_specs(inputs, name=name, diagnostics=diagnostics).spec


@dataclass(frozen=True)
class CompileRequest:
    """The request of a call."""

    options: CompileOptions
    choice: SpecChoice
    warnings: tuple[Diagnostic, ...]


def read_request(
    *,
    specs: SpecSource | Iterable[SpecSource],
    default_specs: bool,
    spec_directories: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    flags: str | Iterable[str],
    target: str | Target | None = None,
    upgrade: bool,
    derived_entries: bool = True,
) -> CompileRequest:
    """Read the flags of a call, and load its specs. For the arguments and exceptions see `compile`."""
    options = parse_arguments(_words(flags, target))
    _check_flags(options)
    upgrade = upgrade and options.upgrade
    library = None
    if default_specs and options.default_specs:
        directories = several(spec_directories, "spec_directories")
        library = DefaultLibrary((*directories, *options.spec_directories), upgrade=upgrade)
    warnings = spec_diagnostics(options.flags, upgrade=upgrade)
    sources = (*several(specs, "specs"), *options.specs)
    given, automatic = load_specs(
        sources, upgrade=upgrade, diagnostics=DiagnosticSink(warnings.append)
    )
    derives = derived_entries and options.derived_entries
    choice = SpecChoice(given, automatic=automatic, library=library, derive=derives)
    return CompileRequest(options, choice, tuple(warnings))


def compiler_flags(
    flags: str | Iterable[str],
    target: str | Target | None = None,
    *,
    is_process_wide: bool = False,
) -> tuple[str, ...]:
    """Return the flags of a call for the compiler, with those that the target stands for.

    Args:
        flags: the flags.
        target: the target.
        is_process_wide: whether flags may apply to a whole process.

    Raises:
        UsageError: a flag is not one of the compiler, or conflicts with the target.
        TargetError: the target is unknown.
        TypeError: an argument has another type.
    """
    options = parse_arguments(_words(flags, target))
    _check_flags(options, is_process_wide=is_process_wide)
    return options.flags


def _words(flags: str | Iterable[str], target: str | Target | None) -> list[str]:
    words = flag_words(flags)
    if target is None:
        return words
    if not isinstance(target, str | Target):
        raise TypeError(f"a target is a Target or its name; found {described(target)}")
    return [f"--target={target if isinstance(target, str) else target.names[0]}", *words]


@contextmanager
def program_path(source: str | os.PathLike[str] | Content) -> Iterator[str]:
    """Yield the path of a program; that of a temporary file for a content.

    Raises:
        CompileError: a text is a content where a path is expected.
        TypeError: the source has another type.
    """
    program = program_source(source)
    if isinstance(program, str):
        yield program
        return
    with temporary_directory() as folder:
        path = folder / "program.mlir"
        path.write_bytes(program)
        yield str(path)


def program_source(source: str | os.PathLike[str] | Content) -> str | bytes:
    """Return the path of a program, or its content as bytes.

    Raises:
        CompileError: a text is a content where a path is expected.
        TypeError: the source has another type.
    """
    if isinstance(source, Content):
        return bytes(source)
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"a program is a path, or content as bytes; found {described(source)}")
    if mistake := content_as_path(source, "the program"):
        raise CompileError(mistake)
    return os.fspath(source)


def program_name(source: str | os.PathLike[str] | Content, name: str) -> str:
    """Return the name of a program in reports: its path, or the given name of a content."""
    return printable(source) if isinstance(source, str | os.PathLike) else name


def _check_flags(options: CompileOptions, *, is_process_wide: bool = False) -> None:
    """Check that a call supports the flags and that the process survives them."""
    if options.input is not None:
        raise CompileError(
            error(f"'{options.input}' is not a flag; the program is the argument 'source'")
        )
    if options.explanation is not None:
        raise CompileError(
            error("flag '--explain' is not supported here: call 'tuninglink.explain'")
        )
    if options.output != STANDARD_STREAM:
        raise CompileError(error("flag '-o' is not supported here: the output is returned"))
    for flag in () if is_process_wide else options.flags:
        flag_name = flag.partition("=")[0]
        if flag_name not in session_flags():
            message = (
                f"flag '{flag_name}' applies to a whole process, not to one compilation; "
                "use 'tuninglink compile'"
            )
            raise CompileError(error(message))
    check_targets(options.flags)
