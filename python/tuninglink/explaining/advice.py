"""Advice for a program: slow layouts that no flag can compensate, and shipped libraries for its dispatches."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Final

from tuninglink.errors import SpecError
from tuninglink.explaining.explanation import LibraryCoverage
from tuninglink.explaining.members import SpecMember
from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.iree.op_words import layout
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.iree.targets import Target
from tuninglink.matching.derivation.deriver import DerivableList
from tuninglink.matching.derivation.problem_forms import root_form
from tuninglink.matching.op_info import OpInfo
from tuninglink.matching.prunable import PrunableSpec
from tuninglink.mlir.diagnostics import thread_context
from tuninglink.specs.applicability import Selection
from tuninglink.specs.libraries import shipped_libraries
from tuninglink.specs.spec import Spec, load_spec

_OPERANDS: Final = 3


def layout_hint(op: StructuredOp, target: Target | None) -> str:
    """Return a hint for a program whose convolution has a slow layout; empty for others.

    The backend for CPUs generates fast code for convolutions only if the channels of the image and the output channels
    of the filter come last. With im2col, other layouts are two to three times slower.
    """
    is_convolution = op.kind is OpKind.CONVOLUTION and not op.loops[Role.DEPTH]
    if not is_convolution or target is None or target.backend != "llvm-cpu":
        return ""
    image, _, filter_ = layout(op.maps[:_OPERANDS]).partition("_")
    if not image or (image.endswith("c") and filter_.endswith("cf")):
        return ""
    return (
        "image and filter are fast with their channels last, NHWC and HWCF: change the layout in the model, or try "
        "'--iree-global-opt-use-im2col-for-convs'"
    )


class LibraryAdvice:
    """The shipped libraries with entries for the root ops of a program.

    Args:
        given: the sources of the specs that are already applied.
    """

    def __init__(self, given: Collection[str]) -> None:
        self._given = given
        self._selections: dict[Target | None, Selection] = {}
        self._dispatches: dict[str, set[str]] = {}

    @cached_property
    def _libraries(self) -> Sequence[_Library]:
        libraries = []
        for file in shipped_libraries():
            # An unsupported compiler may not read a library. The explanation does not need it.
            with contextlib.suppress(SpecError):
                if file.name not in self._given:
                    spec = load_spec(file.content, name=file.name, context=thread_context())
                    libraries.append(_Library(spec))
        return libraries

    def add(self, dispatch: str, target: Target | None, op: OpInfo) -> None:
        """Record the libraries with an entry for the root op of a dispatch that no spec configures."""
        selection = self._selections.setdefault(target, Selection(target))
        for library in self._libraries:
            if library.covers(op, selection):
                self._dispatches.setdefault(library.source, set()).add(dispatch)

    def coverage(self) -> tuple[LibraryCoverage, ...]:
        """Return the coverage of the libraries, those with the most dispatches first."""
        coverages = [
            LibraryCoverage(name, frozenset(dispatches))
            for name, dispatches in self._dispatches.items()
        ]
        return tuple(
            sorted(coverages, key=lambda coverage: (-len(coverage.dispatches), coverage.source))
        )


class _Library:
    """A library, whose entries are looked up by op.

    Args:
        spec: its spec.
    """

    def __init__(self, spec: Spec) -> None:
        self.source = spec.source
        self._spec = spec
        self._member = SpecMember(0, spec.source, spec.name, spec)
        self._derivable = DerivableList(PrunableSpec(spec))

    def covers(self, op: OpInfo, selection: Selection) -> bool:
        """Return whether an entry for a target matches an op, or can be derived for it."""
        applicability = selection.of(self._spec)
        if applicability.is_bound_elsewhere:
            return False
        positions = [position for position, _ in self._member.matching(op)]
        root = root_form(op)
        if root is not None and self._spec.anatomy.is_readable:
            positions += self._derivable.of(root, None)
        return any(applicability.exclusion(position) is None for position in positions)
