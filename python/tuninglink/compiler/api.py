"""Compiling as a function."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tuninglink.compiler.applying import SpecChoice
from tuninglink.compiler.compilation import Compilation, Compiler
from tuninglink.compiler.flags import parse_arguments
from tuninglink.compiler.probing import check_targets
from tuninglink.compiler.session import session_flags
from tuninglink.errors import CompileError
from tuninglink.files import STANDARD_STREAM
from tuninglink.mlir.diagnostics import DiagnosticSink, error
from tuninglink.specs.library import DefaultLibrary
from tuninglink.specs.loading import load_spec
from tuninglink.specs.sources import SpecFiles, automatic_positions, read_specs
from tuninglink.specs.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tuninglink.compiler.flags import CompileOptions
    from tuninglink.mlir.diagnostics import Diagnostic


def compile(  # noqa: A001 - as in `re`, the module's own word for what it does
    source: str | os.PathLike[str] | bytes,
    *,
    specs: Iterable[Spec | str | os.PathLike[str] | bytes] = (),
    default_specs: bool = True,
    spec_directories: Iterable[str | os.PathLike[str]] = (),
    flags: Iterable[str] = (),
    dump_specs_to: str | os.PathLike[str] = "",
    name: str = "<memory>",
    trace: bool = True,
    prune: bool = True,
    derived_entries: bool = True,
    upgrade: bool = True,
    diagnostics: DiagnosticSink | None = None,
) -> Compilation:
    """Compile a program in this process, tuned by specs.

    It may be called any number of times, also from several threads: flags hold for one call.

    Args:
        source: the path of a program in MLIR, or its content; text or bytecode either way.
        specs: the user's specs in order of precedence: loaded ones, paths, or contents.
        default_specs: whether the default spec of each target comes last.
        spec_directories: where default specs are looked up before those that are shipped.
        flags: flags of `iree-compile`, such as `--iree-hal-target-device=hip` or `--compile-to=flow`, as far
            as they belong to one compilation and not to the whole process.
        dump_specs_to: a directory that gets the specs that were linked for the targets.
        name: what diagnostics and locations call a content.
        trace: whether it is found out which entry configured what. Else it is which spec did, and the entry
            only where it has an action of its own or is one of few; with a thousand entries that saves a tenth
            of the time.
        prune: whether each dispatch gets only the entries that may match in it. That saves time and memory, and
            configures nothing otherwise.
        derived_entries: whether entries are derived for ops that have another form of a problem than the entry for it.
        upgrade: whether specs that were written for an older compiler are upgraded; else they are refused. One
            that is loaded already is taken as it is.
        diagnostics: told about warnings and remarks as they are emitted. Errors are raised.

    Returns:
        What `iree-compile` would have written, and what took effect.

    Raises:
        CompileError: the program or a flag is malformed, or the compiler reported an error, whatever it
            returned.
        SpecError: a spec is malformed, or cannot be linked.
        TuninglinkError: a file or a directory cannot be read or written.
    """
    asked = read_request(
        specs=specs,
        default_specs=default_specs,
        spec_directories=spec_directories,
        flags=flags,
        derived_entries=derived_entries,
        upgrade=upgrade,
    )
    dump = os.fspath(dump_specs_to) or asked.options.spec_dumps
    prune = prune and asked.options.prune
    choice = replace(asked.choice, exact=trace, dump=dump, prune=prune)
    report = diagnostics.emit if diagnostics else None
    compiler = Compiler(asked.options, choice, asked.options.flags, report, asked.said)
    return compile_with(compiler, source, name)


@dataclass(frozen=True)
class CompileRequest:
    """What a call asks for.

    Attributes:
        options: what its flags say.
        choice: the specs, loaded.
        said: warnings about them.
    """

    options: CompileOptions
    choice: SpecChoice
    said: tuple[Diagnostic, ...]


def read_request(
    *,
    specs: Iterable[Spec | str | os.PathLike[str] | bytes],
    default_specs: bool,
    spec_directories: Iterable[str | os.PathLike[str]],
    flags: Iterable[str],
    upgrade: bool,
    derived_entries: bool = True,
) -> CompileRequest:
    """Read the flags of a call, and loads its specs; see `compile` for the arguments and for what is raised."""
    options = parse_arguments(flags)
    _check_flags(options)
    upgrade = upgrade and options.upgrade
    library = None
    if default_specs and options.default_specs:
        library = DefaultLibrary((*spec_directories, *options.spec_directories), upgrade=upgrade)
    said: list[Diagnostic] = []
    sink = DiagnosticSink(said.append)
    given: list[Spec] = []
    automatic: set[int] = set()
    for spec in (*specs, *options.specs):
        if isinstance(spec, Spec):
            given.append(spec)
        elif isinstance(spec, str):
            files = read_specs([spec], sink)
            automatic.update(len(given) + position for position in automatic_positions(files))
            given += SpecFiles(files, upgrade=upgrade, diagnostics=sink)
        else:
            given.append(load_spec(spec, upgrade=upgrade, diagnostics=sink))
    derives = derived_entries and options.derived_entries
    choice = SpecChoice(given, automatic=frozenset(automatic), library=library, derive=derives)
    return CompileRequest(options, choice, tuple(said))


def compile_with(
    compiler: Compiler, source: str | os.PathLike[str] | bytes, name: str
) -> Compilation:
    """Compile a program: a file, or content that is called `name`.

    Raises:
        CompileError: see `compile`.
    """
    if isinstance(source, bytes):
        return compiler.compile_bytes(source, name)
    return compiler.compile_file(os.fspath(source))


def _check_flags(options: CompileOptions) -> None:
    """Refuse what a call cannot do, or the process would not survive."""
    if options.input is not None:
        raise CompileError(error(f"'{options.input}' is no flag; the program is given as source"))
    if options.explanation is not None:
        raise CompileError(error("flag '--explain' is of no use here: call 'tuninglink.explain'"))
    if options.output != STANDARD_STREAM:
        raise CompileError(error("flag '-o' is of no use here: the output is returned"))
    for flag in options.flags:
        flag_name = flag.partition("=")[0]
        if flag_name not in session_flags():
            message = (
                f"flag '{flag_name}' holds for a whole process, not for one compilation; "
                "'tuninglink compile' takes it"
            )
            raise CompileError(error(message))
    check_targets(options.flags)
