"""Compilation as a function."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tuninglink.arguments import Content, content_as_path, described, flag_words, several
from tuninglink.compiler.applying import SpecChoice
from tuninglink.compiler.compilation import Compilation, Compiler
from tuninglink.compiler.compile_options import CompileOptions
from tuninglink.compiler.flags import parse_arguments
from tuninglink.compiler.probing import check_targets
from tuninglink.compiler.session import session_flags
from tuninglink.errors import CompileError, printable
from tuninglink.files import STANDARD_STREAM
from tuninglink.mlir.diagnostics import Diagnostic, DiagnosticSink, error
from tuninglink.specs.default_library import DefaultLibrary
from tuninglink.specs.sources import SpecSource, load_specs


def compile(  # noqa: A001 - the usual word, as in `re`
    source: str | os.PathLike[str] | Content,
    *,
    specs: SpecSource | Iterable[SpecSource] = (),
    default_specs: bool = True,
    spec_directories: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
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
        flags=flags,
        derived_entries=derived_entries,
        upgrade=upgrade,
    )
    dump = os.fspath(dump_specs_to) or request.options.spec_dumps
    prune = prune and request.options.prune
    choice = replace(request.choice, exact=trace, dump=dump, prune=prune)
    report = diagnostics.emit if diagnostics else None
    compiler = Compiler(request.options, choice, request.options.flags, report, request.warnings)
    return compile_with(compiler, source, name)


@dataclass(frozen=True)
class CompileRequest:
    """The request of a call.

    Attributes:
        options: the options from its flags.
        choice: the loaded specs.
        warnings: warnings about the specs.
    """

    options: CompileOptions
    choice: SpecChoice
    warnings: tuple[Diagnostic, ...]


def read_request(
    *,
    specs: SpecSource | Iterable[SpecSource],
    default_specs: bool,
    spec_directories: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    flags: str | Iterable[str],
    upgrade: bool,
    derived_entries: bool = True,
) -> CompileRequest:
    """Read the flags of a call, and load its specs. For the arguments and exceptions see `compile`."""
    options = parse_arguments(flag_words(flags))
    _check_flags(options)
    upgrade = upgrade and options.upgrade
    library = None
    if default_specs and options.default_specs:
        directories = several(spec_directories, "spec_directories")
        library = DefaultLibrary((*directories, *options.spec_directories), upgrade=upgrade)
    warnings: list[Diagnostic] = []
    sources = (*several(specs, "specs"), *options.specs)
    given, automatic = load_specs(
        sources, upgrade=upgrade, diagnostics=DiagnosticSink(warnings.append)
    )
    derives = derived_entries and options.derived_entries
    choice = SpecChoice(given, automatic=automatic, library=library, derive=derives)
    return CompileRequest(options, choice, tuple(warnings))


def compile_with(
    compiler: Compiler, source: str | os.PathLike[str] | Content, name: str
) -> Compilation:
    """Compile a file, or content with the given name.

    Raises:
        CompileError: see `compile`.
        TypeError: the source has another type.
    """
    if isinstance(source, Content):
        return compiler.compile_bytes(bytes(source), name)
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"a program is a path, or content as bytes; found {described(source)}")
    if mistake := content_as_path(source, "the program"):
        raise CompileError(mistake)
    return compiler.compile_file(os.fspath(source))


def program_name(source: str | os.PathLike[str] | Content, name: str) -> str:
    """Return the name of a program in reports: its path, or the given name of a content."""
    return printable(source) if isinstance(source, str | os.PathLike) else name


def _check_flags(options: CompileOptions) -> None:
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
    for flag in options.flags:
        flag_name = flag.partition("=")[0]
        if flag_name not in session_flags():
            message = (
                f"flag '{flag_name}' applies to a whole process, not to one compilation; "
                "use 'tuninglink compile'"
            )
            raise CompileError(error(message))
    check_targets(options.flags)
