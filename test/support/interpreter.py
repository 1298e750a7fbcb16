"""The compiler's transform interpreter as the oracle of tests: it applies a spec to a payload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from iree.compiler.dialects.transform import interpreter
from iree.compiler.passmanager import PassManager

from tuninglink.mlir import collected_diagnostics, names, symbols, visit

if TYPE_CHECKING:
    from tuninglink.specs import Spec

NUMBER = "number"
"""The attribute by which tests distinguish the operations of a payload."""


def apply_spec(spec: Spec, payload: str) -> mlir.Operation:
    """Apply `spec`, which must have a current `@__kernel_config`, to a copy of `payload`.

    Raises:
        MLIRError: the interpreter fails.
    """
    context = spec.module.context
    module = mlir.Module.parse(payload, context).operation
    data = spec.bytecode()
    with context, mlir.Location.unknown():
        kind = mlir.VectorType.get([len(data)], mlir.IntegerType.get_signless(8))
        attribute = mlir.DenseElementsAttr.get(memoryview(data), type=kind)
        module.attributes[names.EMBEDDED_SPEC] = attribute
    manager = PassManager.parse("builtin.module(iree-codegen-materialize-user-configs)", context)
    with collected_diagnostics(context):
        manager.run(module)
    return module


def apply_to_module(spec: Spec, payload: str) -> mlir.Operation:
    """Apply `spec` to the module of `payload`, where the compiler applies it to each function.

    Raises:
        ValueError: the interpreter fails.
    """
    module = mlir.Module.parse(payload, spec.module.context).operation
    sequence = symbols(spec.module)[names.KERNEL_CONFIG]
    options = interpreter.TransformOptions()
    options.expensive_checks = True
    with collected_diagnostics(spec.module.context):
        interpreter.apply_named_sequence(module, sequence, spec.module, options)
    return module


def numbered_attributes(module: mlir.Operation, name: str) -> dict[int, str]:
    """Return the attribute `name`, as text, of each numbered operation that has it."""
    found: dict[int, str] = {}

    def visitor(operation: mlir.Operation) -> None:
        number = operation.attributes.get(NUMBER)
        attribute = operation.attributes.get(name)
        if isinstance(number, mlir.IntegerAttr) and attribute is not None:
            found[number.value] = str(attribute)

    visit(module, visitor)
    return found
