"""Programs as the compiler configures them, for tests of constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from places import SUPPORT
from programs import configured_bytecode

from tuninglink.iree import find_root_ops
from tuninglink.mlir import collect, names
from tuninglink.spaces.model import Workload, read_workload

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAMS = SUPPORT / "constraint_programs"
TARGETS = {
    "gfx942": ("--iree-hal-target-backends=rocm", "--iree-rocm-target=gfx942"),
    "gfx1100": ("--iree-hal-target-backends=rocm", "--iree-rocm-target=gfx1100"),
    "gfx1201": ("--iree-hal-target-backends=rocm", "--iree-rocm-target=gfx1201"),
    "sm_80": ("--iree-hal-target-backends=cuda", "--iree-cuda-target=sm_80"),
    "cpu": ("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=generic"),
}
EMIT_CONSTRAINTS = "--iree-codegen-emit-pipeline-constraints"


_kept: list[mlir.Module] = []
"""The modules of returned operations, which must outlive these."""


def configured(program: str, target: str, *flags: str) -> mlir.Module:
    """Return a program at executable-configurations, in a separate context."""
    source = (PROGRAMS / f"{program}.mlir").read_text()
    module = mlir.Module.parse(
        configured_bytecode(source, *TARGETS[target], *flags), mlir.Context()
    )
    _kept.append(module)
    return module


def constraints_ops(module: mlir.Module) -> Sequence[mlir.Operation]:
    """Return the compiler's constraints in a program."""
    return collect(module.operation, names.CONSTRAINTS)


def only_dispatch(module: mlir.Module) -> Workload:
    """Return the dispatch of a program with one root op."""
    (root,) = (
        (root, each.function) for each in find_root_ops(module.operation) for root in each.roots
    )
    return read_workload(*root)
