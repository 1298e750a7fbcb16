"""Preprocessing specs applied in this process, as the compiler applies them after the conversion of its inputs."""

from __future__ import annotations

from collections import Counter

from iree.compiler import ir as mlir
from iree.compiler.dialects.transform import interpreter

from tuninglink.mlir import collect, collected_diagnostics, names, symbols, thread_context


def replaced(spec: str, program: str) -> mlir.Operation:
    """Apply a preprocessing spec to a program whose functions are `util.func`.

    Raises:
        ValueError: the interpreter fails.
    """
    context = thread_context()
    library, module = (mlir.Module.parse(text, context).operation for text in (spec, program))
    options = interpreter.TransformOptions()
    with collected_diagnostics(context):
        entry_point = symbols(library)[names.TRANSFORM_MAIN]
        interpreter.apply_named_sequence(module, entry_point, library, options)
    assert module.verify()
    return module


def is_replaced(spec: str, program: str) -> bool:
    """Return whether a preprocessing spec changes a program, by adding or removing any op other than constants.

    Inlining, which follows the entries, moves constants.
    """
    module = mlir.Module.parse(program, thread_context()).operation
    before, after = (
        Counter(operation.name for operation in collect(each))
        for each in (module, replaced(spec, program))
    )
    return {*(before - after), *(after - before)} - {"arith.constant"} != set()
