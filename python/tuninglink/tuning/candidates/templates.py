"""Templates: benchmarks configured by the compiler, whose configuration can be replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.compiler.compile_options import CompileOptions, Phase
from tuninglink.compiler.session import session_flags
from tuninglink.iree.dispatches import find_root_ops
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import thread_context
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.walk import visit
from tuninglink.passes.strip_configs import strip_configurations
from tuninglink.spaces.configuration import Configuration, read_configuration
from tuninglink.spaces.workload import Workload, read_workload
from tuninglink.specs.spec import Spec
from tuninglink.tuning.candidates import Candidate, CandidateOrigin, configuration_of

if TYPE_CHECKING:
    from tuninglink.compiler.compilation import Compilation

_ROOT: Final = "tuninglink.root"
"""The attribute that marks the root op of a template."""


@dataclass(frozen=True)
class ConfiguredDispatch:
    """A dispatch configured by the compiler.

    Attributes:
        dispatch: the dispatch without its configuration.
        configuration: the removed configuration; None if there was none or several ops were configured.
        template: the configured benchmark with a marked root op, as bytecode.
        has_microkernel: whether the compiler chose a microkernel.
    """

    dispatch: Workload | None
    configuration: Configuration | None
    template: bytes
    has_microkernel: bool = False


def configure(source: bytes, flags: Sequence[str], spec: Spec | None = None) -> ConfiguredDispatch:
    """Let the compiler configure a benchmark.

    Args:
        source: the benchmark at `executable-sources`.
        flags: compiler flags; process-wide flags must already be set.
        spec: the spec to apply; None for none.

    Raises:
        CompileError: it does not compile.
    """
    content = apply_specs(source, flags, [spec] if spec else []).output
    module = mlir.Module.parse(content, thread_context()).operation
    result = [(root, op.function) for op in find_root_ops(module) for root in op.roots]
    if len(result) != 1:
        return ConfiguredDispatch(None, None, content)
    ((root, function),) = result
    configuration = read_configuration(root, function)
    has_microkernel = names.UKERNEL in root.attributes
    root.attributes[_ROOT] = mlir.UnitAttr.get(module.context)
    template = to_bytecode(module)
    del root.attributes[_ROOT]
    strip_configurations(module)
    dispatch = read_workload(root, function, module)
    return ConfiguredDispatch(dispatch, configuration, template, has_microkernel)


def apply_specs(
    source: bytes,
    flags: Sequence[str],
    specs: Sequence[Spec],
    first: Phase = Phase.EXECUTABLE_SOURCES,
) -> Compilation:
    """Configure a program with specs; return it as bytecode, with the applied entries.

    Args:
        source: the program.
        flags: flags of the session.
        specs: the specs, in order of precedence.
        first: the phase that the program has passed.

    Raises:
        CompileError: it does not compile.
    """
    # Workers that compile candidates do without these.
    from tuninglink.compiler.applying import SpecChoice  # noqa: PLC0415
    from tuninglink.compiler.compilation import Compiler  # noqa: PLC0415

    options = CompileOptions(
        compile_from=first,
        compile_to=Phase.EXECUTABLE_CONFIGURATIONS,
        emit_bytecode=True,
    )
    session = session_flags()
    flags = [flag for flag in flags if flag.partition("=")[0] in session]
    return Compiler(options, SpecChoice(specs), flags).compile_bytes(source, "<dispatches>")


def apply_candidate(module: mlir.Operation, candidate: Candidate) -> None:
    """Replace the configuration of a template, with the same result as a spec for the candidate.

    The compiler's configuration of other ops is removed, unless the candidate is the compiler's choice itself, or a
    rewriting, whose template has it.
    """
    roots: list[mlir.Operation] = []

    def look(operation: mlir.Operation) -> None:
        if _ROOT in operation.attributes:
            roots.append(operation)

    visit(module, look)
    for root in roots:
        del root.attributes[_ROOT]
    if candidate.origin in (CandidateOrigin.DEFAULT, CandidateOrigin.REWRITING):
        return
    (root,) = roots
    strip_configurations(module)
    attributes = configuration_of(candidate, module.context)
    info = attributes.pop(names.COMPILATION_INFO)
    assert isinstance(info, iree_codegen.CompilationInfoAttr)
    function = _function_around(root)
    function.attributes[names.TRANSLATION_INFO] = info.translation_info
    root.attributes[names.LOWERING_CONFIG] = info.lowering_config
    for name, attribute in attributes.items():
        root.attributes[name] = attribute


def _function_around(root: mlir.Operation) -> mlir.Operation:
    operation = root
    while operation.name not in (names.FUNCTION, names.UTIL_FUNCTION):
        parent = operation.parent
        assert parent is not None
        operation = parent.operation
    return operation
