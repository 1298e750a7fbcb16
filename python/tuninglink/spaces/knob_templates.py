"""Knob templates: configurations with placeholders for knobs, for reading and writing values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.iree.lowering_configs import PIPELINE_OPTIONS, SUBGROUP_SIZE, WORKGROUP_SIZE
from tuninglink.mlir import names
from tuninglink.mlir.attributes import integer_value, integers_of
from tuninglink.mlir.diagnostics import error
from tuninglink.solver.answers import AssignmentError
from tuninglink.spaces.configuration import (
    CachedReading,
    Configuration,
    NearFormError,
    StrayTileError,
    dictionary_of,
)
from tuninglink.spaces.slots import (
    ArraySlot,
    ConstantSlot,
    DictionarySlot,
    IntegerSlot,
    OptionSlot,
    Slot,
)

_NO_PARAMETERS: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True)
class KnobTemplate:
    """The form of configurations for GPUs, with slots for knobs.

    Attributes:
        pipeline: the pipeline.
        entries: the entries of a configuration, by their names in `Configuration.entries`.
    """

    pipeline: mlir.Attribute
    entries: DictionarySlot

    def read(
        self, configuration: Configuration, parameters: Mapping[str, int] = _NO_PARAMETERS
    ) -> dict[str, int]:
        """Return the values that a configuration gives to the knobs.

        Args:
            configuration: the configuration.
            parameters: the values of the parameters of the template.

        Raises:
            MismatchError: the configuration does not have the template's form.
        """
        assignment = self._read_alone(configuration)
        if assignment is None:
            return self._read(configuration.entries, parameters)
        return dict(assignment)

    @cached_property
    def _read_alone(self) -> CachedReading[Mapping[str, int] | None]:
        """Read a configuration without parameters; None if the values depend on parameters."""

        def read(configuration: Configuration) -> Mapping[str, int] | None:
            try:
                return self._read(configuration.entries, _NO_PARAMETERS)
            except KeyError:
                return None

        return CachedReading(read)

    def _read(
        self, entries: Mapping[str, mlir.Attribute], parameters: Mapping[str, int]
    ) -> dict[str, int]:
        assignment = dict(parameters)
        try:
            self.entries.read_entries("", entries, assignment)
        except StrayTileError as stray:
            near = _without(stray, partial(self._read, parameters=parameters), entries)
            raise NearFormError(str(stray), near) from None
        return {knob: value for knob, value in assignment.items() if knob not in parameters}

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Return the `#iree_codegen.compilation_info` that gives the knobs these values.

        Raises:
            AssignmentError: the values do not form a configuration.
        """
        context = self.pipeline.context
        try:
            with context:
                return self._compilation_info(assignment)
        except (ValueError, IndexError, mlir.MLIRError) as failure:
            raise AssignmentError(error(f"the values make no configuration: {failure}")) from None

    def write_decomposition(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        """Return the `decomposition_config` for the values, None if the template has none."""
        slot = self.entries.entries.get(names.DECOMPOSITION_CONFIG)
        with self.pipeline.context:
            return slot.write(assignment) if slot is not None else None

    def _compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        slots = self.entries.entries
        lowering = {name: each for name, each in slots.items() if name not in _OUTSIDE}
        sizes = integers_of(slots[WORKGROUP_SIZE].write(assignment))
        subgroup_size = integer_value(slots[SUBGROUP_SIZE].write(assignment))
        if min(*sizes, subgroup_size) < 1:
            raise ValueError("a workgroup and a subgroup have threads")
        options = dictionary_of(slots[PIPELINE_OPTIONS].write(assignment)) or {}
        given: dict[str, Any] = {
            name: each.value
            for name, each in options.items()
            if isinstance(each, mlir.IntegerAttr | mlir.BoolAttr)
        }
        return iree_codegen.CompilationInfoAttr.get(
            DictionarySlot(lowering, is_lowering_config=True).write(assignment),
            iree_codegen.TranslationInfoAttr.get(
                self.pipeline,
                None,
                sizes,
                subgroup_size,
                mlir.DictAttr.get({PIPELINE_OPTIONS: iree_gpu.PipelineOptionsAttr.get(**given)}),
            ),
        )


def _without(
    stray: StrayTileError,
    read: Callable[[Mapping[str, mlir.Attribute]], Mapping[str, int]],
    entries: Mapping[str, mlir.Attribute],
) -> dict[str, int]:
    """Return the knobs of a configuration without the tiles that its form does not cover."""
    try:
        near = read({**entries, stray.entry: stray.covered})
    except NearFormError as further:
        near = further.assignment
    narrowed = {
        knob: min(near[knob], size) for knob, size in stray.narrowed.items() if knob in near
    }
    return {**near, **narrowed}


_OUTSIDE: Final = frozenset(
    {WORKGROUP_SIZE, SUBGROUP_SIZE, PIPELINE_OPTIONS, names.DECOMPOSITION_CONFIG}
)
"""The entries that are not in the lowering config."""


def template_slot(attribute: mlir.Attribute, names_of_knobs: Mapping[str, str]) -> Slot:
    """Return the slot for a part of a compiler template, in which attributes stand for knobs.

    Args:
        attribute: the part.
        names_of_knobs: the names of the knobs, by the names in the template.
    """
    if isinstance(attribute, iree_codegen.IntKnobAttr):
        return IntegerSlot(names_of_knobs[attribute.name])
    if isinstance(attribute, iree_codegen.OneOfKnobAttr):
        return OptionSlot(names_of_knobs[attribute.name], tuple(attribute.options))
    if isinstance(attribute, mlir.ArrayAttr):
        return ArraySlot(tuple(template_slot(element, names_of_knobs) for element in attribute))
    entries = dictionary_of(attribute)
    if entries is None:
        return ConstantSlot(attribute)
    slots = {name: template_slot(entry, names_of_knobs) for name, entry in entries.items()}
    return DictionarySlot(slots)
