"""The executable targets that the compiler derives from flags."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.compiler.api import compile as compile_program
from tuninglink.mlir import names
from tuninglink.mlir.contexts import thread_context
from tuninglink.mlir.serialization import parse_module
from tuninglink.mlir.walk import collect

_PROGRAM: Final = b"""
func.func @target(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %sum = arith.addf %a, %b : tensor<4xf32>
  return %sum : tensor<4xf32>
}
"""
"""A program with a dispatch."""


def executable_target(flags: Iterable[str], context: mlir.Context) -> mlir.Attribute:
    """Return the `#hal.executable.target` that the compiler derives from flags; of several, the first.

    Args:
        flags: flags of the compiler that name a target, each `--name=value`.
        context: the context of the attribute.

    Raises:
        CompileError: the target is unknown.
    """
    return mlir.Attribute.parse(_executable_target(tuple(flags)), context)


@lru_cache(maxsize=64)
def _executable_target(flags: tuple[str, ...]) -> str:
    """Return the attribute as text, which is valid in any context."""
    result = compile_program(
        _PROGRAM,
        default_specs=False,
        flags=[*flags, "--compile-to=executable-sources"],
        name="target.mlir",
    )
    module = parse_module(result.output, "target.mlir", thread_context())
    (variant, *_) = collect(module, names.EXECUTABLE_VARIANT)
    return str(variant.attributes["target"])
