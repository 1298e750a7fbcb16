"""`tuninglink link`: many specs in, one out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuninglink.cli import process
from tuninglink.cli.completion import known_specs, known_targets
from tuninglink.cli.progress import progress
from tuninglink.cli.project_options import project_specs
from tuninglink.cli.shared_options import NoProject, NoUpgrade, ProjectFile  # noqa: TC001 - typer reads them
from tuninglink.errors import TuninglinkError
from tuninglink.files import STANDARD_STREAM, write_output
from tuninglink.iree.targets import Target
from tuninglink.matching.derivation.expansion import expanded_forms
from tuninglink.matching.index import index_matchers
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error
from tuninglink.specs.bindings import binding_of, check_bindings
from tuninglink.specs.library import default_spec
from tuninglink.specs.linking.link_form import LinkForm
from tuninglink.specs.linking.linker import LINKED_SPEC_NAME, link_specs
from tuninglink.specs.loading import load_spec
from tuninglink.specs.sources import SpecFiles, read_specs
from tuninglink.specs.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.specs.linking.linker import LinkedSpec


_Specs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SPEC",
        help="Specs, as text or bytecode; the first wins. Each is a file, a directory, a pattern, library:NAME "
        "or a URL; `-` is standard input, and TARGET=SPEC binds the entries of a spec to an SKU, an "
        "architecture or a family. Default: those of the project file.",
        autocompletion=known_specs,
        show_default=False,
    ),
]
_Target = Annotated[
    str | None,
    typer.Option(
        metavar="TARGET",
        help="Link the default spec of this SKU, architecture or family last.",
        autocompletion=known_targets,
        show_default=False,
    ),
]
_SpecDir = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="DIR",
        help="Look for the default spec here before the shipped ones; may be repeated.",
        show_default=False,
    ),
]
_NoDefaultSpecs = Annotated[
    bool, typer.Option("--no-default-specs", help="Link nothing but the given specs.")
]
_Output = Annotated[
    str, typer.Option("--output", "-o", metavar="OUT", help="Where the linked spec goes.")
]
_EmitBytecode = Annotated[
    bool,
    typer.Option("--emit-bytecode", help="Write bytecode, as for an OUT named *.mlirbc."),
]
_Name = Annotated[str, typer.Option(metavar="NAME", help="The symbol of the linked spec.")]
_Index = Annotated[
    bool,
    typer.Option(
        "--index",
        help="Arrange the entries so that a compiler compares an operation with a handful of them.",
    ),
]
_ExpandForms = Annotated[
    bool,
    typer.Option(
        "--expand-forms",
        help="Also write the entries for other forms of their problems that `tuninglink compile` derives: with a "
        "batch of 1 added or removed, and the loop orders of attention. For a compiler that reads the spec itself.",
    ),
]


def link(
    specs: _Specs = None,
    *,
    target: _Target = None,
    spec_dir: _SpecDir = None,
    no_default_specs: _NoDefaultSpecs = False,
    output: _Output = STANDARD_STREAM,
    emit_bytecode: _EmitBytecode = False,
    name: _Name = LINKED_SPEC_NAME,
    index: _Index = False,
    expand_forms: _ExpandForms = False,
    project: ProjectFile = None,
    no_project: NoProject = False,
    no_upgrade: NoUpgrade = False,
) -> None:
    """Link specs into one that `iree-compile --iree-codegen-tuning-spec-path` accepts.

    The first spec whose entry matches an operation decides about it, and the target's default spec comes
    last.

    Examples:
        tuninglink link mine.mlir theirs.mlir --target mi300x -o linked.mlirbc
        tuninglink link gfx942=amd.mlir sm_80=nvidia.mlir -o linked.mlir
    """
    if target is not None and no_default_specs:
        message = (
            "--target asks for a default spec and --no-default-specs for none; give one of them"
        )
        raise TuninglinkError(error(message))
    as_bytecode = emit_bytecode or output.endswith(".mlirbc")
    if as_bytecode and output == STANDARD_STREAM:
        process.refuse_binary_on_terminal()
    with progress("linking"):
        inputs = [
            loaded
            for spec in specs or project_specs(project, no_project=no_project)
            for loaded in _load(spec, upgrade=not no_upgrade)
        ]
        if target is not None:
            inputs += _default_spec(target, spec_dir or [], upgrade=not no_upgrade)
        if expand_forms:
            inputs += [derived for input_ in inputs for derived in expanded_forms(input_)]
        linked = _linked(inputs, name, index=index)
        content = linked.bytecode() if as_bytecode else linked.text().encode()
    write_output(output, content)


def _linked(inputs: list[Spec], name: str, *, index: bool) -> Spec:
    """Return the linked spec, with its entries arranged in a tree if an index is to be made."""
    diagnostics = process.shown_diagnostics()
    for spec in inputs:
        check_bindings(spec.module, diagnostics)
    linked = link_specs(inputs, name=name, diagnostics=diagnostics)
    process.keep(inputs, linked)
    return _with_index(linked, name) if index else linked.spec


def _load(argument: str, *, upgrade: bool) -> Sequence[Spec]:
    sink = process.shown_diagnostics()
    if argument == STANDARD_STREAM:
        content = process.read_standard_input()
        return [load_spec(content, name="<stdin>", upgrade=upgrade, diagnostics=sink)]
    return SpecFiles(read_specs([argument], sink), upgrade=upgrade, diagnostics=sink)


def _with_index(linked: LinkedSpec, name: str) -> Spec:
    """Return a linked spec with an index of its entries."""
    inputs = [part.spec for part in linked.parts]
    # An index applies as a whole, so that each member of a chain, and each binding, needs its own.
    if linked.form is LinkForm.CHAINED or len({binding_of(spec.module) for spec in inputs}) > 1:
        return link_specs([_indexed(spec) for spec in inputs], name=name).spec
    return _indexed(linked.spec)


def _indexed(spec: Spec) -> Spec:
    """Return a copy of a spec whose entries are arranged in a tree."""
    module = spec.module.clone()
    index_matchers(module, diagnostics=process.shown_diagnostics())
    return Spec(module, spec.source)


def _default_spec(target_name: str, directories: list[Path], *, upgrade: bool) -> list[Spec]:
    """Return the default spec for a target, or nothing and say so."""
    target = Target.parse(target_name)
    diagnostics = process.shown_diagnostics()
    spec = default_spec(target, directories=directories, upgrade=upgrade, diagnostics=diagnostics)
    if spec is None:
        looked_for = ", ".join(f"'{name}'" for name in target.names)
        message = f"there is no default spec for {looked_for}; linking the given specs alone"
        process.show(Diagnostic(Severity.WARNING, message))
        return []
    return [spec]
