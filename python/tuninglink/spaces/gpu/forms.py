"""The forms of configurations for GPUs: where the knobs stand in them, to read and to write them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import error
from tuninglink.solver.answers import AssignmentError
from tuninglink.spaces.configuration import Configuration, MismatchError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.spaces.gpu.places import Place

OPTIONS: Final = "gpu_pipeline_options"
THREADS: Final = "wg_size_x"
SUBGROUP_SIZE: Final = "sg_size"
STAGES: Final = "prefetch_num_stages"
MOST_STAGES: Final = 3
"""More are not spoken of; what one stage would do, none does."""


@dataclass(frozen=True)
class Form:
    """A form of configurations.

    Attributes:
        pipeline: the pipeline.
        lowering: the entries of the lowering config.
        marks: those that no configuration of another form has all of.
        is_flat: whether a workgroup has one dimension; else it does not matter how its threads are arranged.
        extras: further entries that it may have, which make no difference.
        decomposition: for attention, the entries of the lowering configs of its parts.
    """

    pipeline: mlir.Attribute
    lowering: Mapping[str, Place]
    marks: frozenset[str]
    is_flat: bool = True
    extras: frozenset[str] = frozenset()
    decomposition: Mapping[str, Mapping[str, Place]] = field(default_factory=dict)

    def read(self, configuration: Configuration) -> dict[str, int]:
        """Returns the values that a configuration gives to the knobs.

        Raises:
            MismatchError: it is not of this form.
        """
        assignment: dict[str, int] = {}
        entries = _entries("lowering_config", configuration.lowering_config)
        for mark in sorted(self.marks - entries.keys()):
            raise MismatchError(f"it has no '{mark}'", is_missing=False)
        _read_entries("", self.lowering, entries, self.extras, assignment)
        if self.decomposition:
            self._read_decomposition(configuration.decomposition_config, assignment)
        info = configuration.translation_info
        assert info is not None
        sizes = [*info.workgroup_size]
        if not sizes:
            raise MismatchError("'workgroup_size' is missing", is_missing=True)
        if self.is_flat and prod(sizes) != sizes[0]:
            raise MismatchError(f"'workgroup_size' is {sizes}", is_missing=False)
        assignment[THREADS] = prod(sizes)
        assignment[SUBGROUP_SIZE] = info.subgroup_size
        assignment[STAGES] = _stages(info)
        return assignment

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Returns the `#iree_codegen.compilation_info` that gives the knobs these values.

        Raises:
            AssignmentError: the values make no configuration.
        """
        context = self.pipeline.context
        try:
            with context:
                return iree_codegen.CompilationInfoAttr.get(
                    _lowering_config(self.lowering, assignment, context),
                    self._translation_info(assignment, context),
                )
        except (ValueError, IndexError, mlir.MLIRError) as failure:
            raise AssignmentError(error(f"the values make no configuration: {failure}")) from None

    def write_decomposition(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        """Returns the `decomposition_config` that belongs to it, None if the form has none."""
        if not self.decomposition:
            return None
        context = self.pipeline.context
        with context:
            return mlir.DictAttr.get(
                {
                    part: mlir.DictAttr.get(
                        {names.LOWERING_CONFIG: _lowering_config(places, assignment, context)}
                    )
                    for part, places in self.decomposition.items()
                }
            )

    def _translation_info(
        self, assignment: Mapping[str, int], context: mlir.Context
    ) -> mlir.Attribute:
        threads, subgroup_size = assignment[THREADS], assignment[SUBGROUP_SIZE]
        if min(threads, subgroup_size) < 1:
            raise ValueError("a workgroup and a subgroup have threads")
        options = iree_gpu.PipelineOptionsAttr.get(
            prefetch_num_stages=assignment[STAGES],
            no_reduce_shared_memory_bank_conflicts=False,
            use_igemm_convolution=False,
            ctx=context,
        )
        return iree_codegen.TranslationInfoAttr.get(
            self.pipeline,
            None,
            [threads, 1, 1],
            subgroup_size,
            mlir.DictAttr.get({OPTIONS: options}),
        )

    def _read_decomposition(
        self, attribute: mlir.Attribute | None, assignment: dict[str, int]
    ) -> None:
        if attribute is None:
            raise MismatchError("'decomposition_config' is missing", is_missing=True)
        parts = _entries("decomposition_config", attribute)
        for part, places in self.decomposition.items():
            path = f"decomposition_config.{part}"
            if part not in parts:
                raise MismatchError(f"'{path}' is missing", is_missing=True)
            config = _entries(path, parts[part]).get(names.LOWERING_CONFIG)
            if config is None:
                raise MismatchError(f"'{path}.lowering_config' is missing", is_missing=True)
            _read_entries(f"{part}.", places, _entries(path, config), frozenset(), assignment)


# --- Reading ---------------------------------------------------------------------------------------------


def _entries(path: str, attribute: mlir.Attribute) -> dict[str, mlir.Attribute]:
    if isinstance(attribute, iree_gpu.LoweringConfigAttr):
        attribute = attribute.attributes
    if not isinstance(attribute, mlir.DictAttr):
        raise MismatchError(f"'{path}' is {attribute}", is_missing=False)
    named = (attribute[index] for index in range(len(attribute)))
    return {each.name: each.attr for each in named}


def _read_entries(
    path: str,
    places: Mapping[str, Place],
    entries: Mapping[str, mlir.Attribute],
    extras: frozenset[str],
    assignment: dict[str, int],
) -> None:
    for name, attribute in entries.items():
        if name not in places and name not in extras:
            raise MismatchError(f"it has '{path}{name} = {attribute}'", is_missing=False)
    for name, place in places.items():
        place.read(f"{path}{name}", entries.get(name), assignment)


def _stages(info: iree_codegen.TranslationInfoAttr) -> int:
    given = info.configuration
    found = _entries("configuration", given).get(OPTIONS) if given is not None else None
    if not isinstance(found, iree_gpu.PipelineOptionsAttr):
        return 0
    if found.use_igemm_convolution:
        raise MismatchError("'use_igemm_convolution' is true", is_missing=False)
    stages = found.prefetch_num_stages or 0
    if not 0 <= stages <= MOST_STAGES:
        raise MismatchError(f"'{STAGES}' is {stages}", is_missing=False)
    return stages


# --- Writing ---------------------------------------------------------------------------------------------


def _lowering_config(
    places: Mapping[str, Place], assignment: Mapping[str, int], context: mlir.Context
) -> mlir.Attribute:
    written = {name: place.write(assignment) for name, place in places.items()}
    present = {name: each for name, each in written.items() if each is not None}
    return iree_gpu.LoweringConfigAttr.get(mlir.DictAttr.get(present), ctx=context)
