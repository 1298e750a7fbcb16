"""The root ops of dispatches as matchers see them, and the forms of their problems."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.iree.dispatch_roots import find_root_ops
from tuninglink.iree.dispatches import Dispatch
from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.matching.derivation.problem_form import OPERANDS, ProblemForm, problem_form
from tuninglink.matching.op_info import OpInfo
from tuninglink.mlir import names
from tuninglink.mlir.contexts import thread_context
from tuninglink.mlir.serialization import to_bytecode

_TO_ONLINE_ATTENTION: Final = (
    "builtin.module(func.func(iree-linalg-ext-convert-attention-to-online-attention))"
)
"""What all backends run before matchers and what changes the maps of root ops."""

_BATCH_LOOP_ADDED: Final = "llvm-cpu"
"""The backend that adds a batch loop to convolutions of one image, and loses what specs gave them."""


@dataclass(frozen=True)
class RootForm:
    """A root op, with the form of its problem.

    Attributes:
        op: the op as matchers see it.
        form: the form.
    """

    op: OpInfo
    form: ProblemForm


class RootFormReader:
    """Reads the root ops of dispatches; shared parts are read once."""

    def __init__(self) -> None:
        self._converted: dict[Hashable, OpInfo | None] = {}
        self._alive: list[mlir.Module] = []

    def read(self, dispatch: Dispatch) -> tuple[RootForm, ...]:
        """Return the root ops of a dispatch for which entries can be derived."""
        backend = dispatch.target.backend if dispatch.target else ""
        return tuple(self._forms(dispatch.module, backend))

    def _forms(self, module: mlir.Operation, backend: str) -> Iterator[RootForm]:
        for function in find_root_ops(module):
            if names.TRANSLATION_INFO in function.function.attributes:
                continue
            for root in function.roots:
                op: OpInfo | None = OpInfo(root)
                if root.name == names.ATTENTION:
                    op = self._online(module, OpInfo(root))
                if op is None or _is_configured(op) or _is_lost(op, backend):
                    continue
                form = root_form(op)
                if form is not None:
                    yield form

    def _online(self, module: mlir.Operation, attention: OpInfo) -> OpInfo | None:
        """Return the online attention to which the compiler converts an attention."""
        if attention.key not in self._converted:
            context = thread_context()
            copy = mlir.Module.parse(to_bytecode(module), context)
            self._alive.append(copy)
            PassManager.parse(_TO_ONLINE_ATTENTION, context).run(copy.operation)
            roots = [
                OpInfo(root)
                for function in find_root_ops(copy.operation)
                for root in function.roots
                if root.name == names.ONLINE_ATTENTION
            ]
            self._converted[attention.key] = roots[0] if len(roots) == 1 else None
        return self._converted[attention.key]


def root_form(op: OpInfo) -> RootForm | None:
    """Return an op with the form of its problem; None if derivation does not support the op."""
    if op.kind not in OPERANDS or any(operand.encoding for operand in op.operands):
        return None
    operands = {at: each.sizes for at, each in enumerate(op.operands) if each.sizes is not None}
    form = problem_form(op.kind, op.maps, op.sizes, operands, op.element_types)
    return None if form is None else RootForm(op, form)


def _is_configured(op: OpInfo) -> bool:
    attributes = op.operation.attributes
    return names.COMPILATION_INFO in attributes or names.LOWERING_CONFIG in attributes


def _is_lost(op: OpInfo, backend: str) -> bool:
    """Return whether the backend replaces an op and loses its configuration."""
    is_image = op.kind is OpKind.CONVOLUTION and not op.loops.get(Role.BATCH)
    return is_image and backend == _BATCH_LOOP_ADDED
