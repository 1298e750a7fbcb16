"""Faults in the configurations of entries that can be detected from the spec alone.

A fault is a warning if the compiler silently uses another configuration, and an error if code generation fails or no
device runs the code.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.errors import misspelt, nearest
from tuninglink.iree.intrinsics import (
    element_types,
    foreign_reason,
    intrinsic_name,
    intrinsics_multiplying,
)
from tuninglink.iree.lowering_configs import (
    MMA_KIND,
    PIPELINE_DEPTH,
    PIPELINE_OPTIONS,
    STORE_STAGE,
    TENSOR_UKERNELS,
    VECTOR_DISTRIBUTE,
    uses_igemm,
)
from tuninglink.iree.targets import Target
from tuninglink.mlir import names
from tuninglink.mlir.attributes import entries_of, is_dialect_attribute
from tuninglink.mlir.diagnostics import Diagnostic, DiagnosticSink, Severity, note, place_of
from tuninglink.mlir.walk import body
from tuninglink.rules import Rule
from tuninglink.specs.applicability import is_bound_for
from tuninglink.specs.entry_settings import CONFIGURATIONS, settings_of
from tuninglink.specs.spec import Spec
from tuninglink.specs.verification.faults import (
    LEVELS,
    Fault,
    KnobPlaces,
    level_faults,
    tile_size_faults,
)
from tuninglink.specs.verification.gpu_knobs import TILING_WORKGROUPS, knob_faults, load_faults
from tuninglink.specs.verification.gpu_threads import (
    function_faults,
    idle_faults,
    intrinsic_faults,
    subgroup_faults,
    thread_faults,
)
from tuninglink.specs.verification.reach import MatchedOp, matched_op

_HINTS: Final = {
    names.UKERNEL: '#iree_codegen.ukernel_descriptor<"pingpong_large_f16", tensor>',
    names.INNER_TILE_ALIGNMENTS: "#iree_cpu.inner_tile_alignments<vector_common_parallel = [Multiple, Equal]>",
}
"""The attributes that code generation reads next to a configuration, each with an example."""

_READ: Final = CONFIGURATIONS | {names.DECOMPOSITION_CONFIG, *_HINTS}
"""The attributes of an operation that the compiler takes a configuration from."""

_WANTED: Final[Mapping[str, type[mlir.Attribute]]] = {
    names.COMPILATION_INFO: iree_codegen.CompilationInfoAttr,
    names.TRANSLATION_INFO: iree_codegen.TranslationInfoAttr,
}
"""The required classes of attributes that have one class."""

_FUNCTION_ATTRIBUTES: Final = "llvm_func_attrs"
_TRANSLATION_ENTRIES: Final = (
    *(PIPELINE_OPTIONS, _FUNCTION_ATTRIBUTES, "enable_loop_peeling", PIPELINE_DEPTH, STORE_STAGE),
    "iree_codegen.denormal_fp_math_f32",
)
"""Entries of a `translation_info` that code generation reads, of those that are easily misspelt."""

_LEVEL: Final = re.compile(r"(\w+) = \[")
"""A level in `#iree_cpu.inner_tile_alignments`."""

_TENSOR_UKERNEL: Final = re.compile(r'"(.*)", tensor>')
_WITHOUT_UKERNELS: Final = "the microkernels of tensors are for gfx942 and gfx950"

_GPU_PIPELINES: Final = ("#iree_gpu.pipeline<", "#iree_gpu.spirv_pipeline<")


def check_configurations(
    spec: Spec,
    diagnostics: DiagnosticSink,
    target: Target | None = None,
    positions: Iterable[int] | None = None,
) -> None:
    """Report faults in the configurations of a spec's entries.

    Args:
        spec: a spec that the compiler's verifier accepts.
        diagnostics: receives the findings.
        target: the target of the configurations, if known.
        positions: the positions of the entries to check; None for all.
    """
    places = KnobPlaces()
    _check_annotations(spec, diagnostics, places)
    reported: set[tuple[mlir.Attribute, str]] = set()
    faults_by_key: dict[Hashable, tuple[Fault, ...]] = {}
    for position in range(len(spec.anatomy.pairs)) if positions is None else positions:
        entry = spec.anatomy.entry(position)
        matcher = spec.anatomy.table.lookup(entry.matcher)
        is_for_target = target is not None and is_bound_for(entry, target)
        matched = matched_op(matcher)
        settings = settings_of(spec, entry, _READ) or {}
        # A microkernel needs no knobs.
        needless = Rule.MISSING_KNOB if _is_hint(names.UKERNEL, settings) else None
        for name, value in settings.items():
            key = (name, value, is_for_target, matched)  # many entries share a constant
            if key not in faults_by_key:
                faults_by_key[key] = (
                    *_of_another_kind(name, value),
                    *_hint_faults(name, value, target if is_for_target else None),
                    *_findings(value, target if is_for_target else None, matched),
                )
            for finding in faults_by_key[key]:
                if (value, finding.message) in reported or finding.rule is needless:
                    continue
                reported.add((value, finding.message))
                operation = _constant(matcher, value) or matcher
                _report(finding, f"entry '{entry.matcher}': ", operation, places, diagnostics)


def _report(
    fault: Fault,
    subject: str,
    operation: mlir.Operation | None,
    places: KnobPlaces,
    diagnostics: DiagnosticSink,
) -> None:
    """Report a fault in an operation, at the place of its knob and with the replacement text."""
    start = None if operation is None else place_of(operation.location)
    at = places.find(start, fault.knob)
    severity = Severity.ERROR if fault.is_error else Severity.WARNING
    hint = f"; did you mean '{fault.suggestion}'?" if fault.suggestion else ""
    message = f"{subject}{fault.message}{hint}"
    notes = (note(fault.remedy, at),) if fault.remedy else ()
    fix = places.renamed(start, fault.knob, fault.suggestion) if fault.suggestion else ()
    diagnostics.emit(Diagnostic(severity, message, at, notes, fix, fault.rule))


def _check_annotations(spec: Spec, diagnostics: DiagnosticSink, places: KnobPlaces) -> None:
    table = spec.anatomy.table
    for action in dict.fromkeys(action for _, action in spec.anatomy.pairs):
        sequence = table.lookup(action)
        for annotation in table.annotations(action) or ():
            suggestion = misspelt(annotation.name, sorted(_READ))
            if suggestion:
                name = annotation.name
                message = f"sets '{name}', which the compiler does not read: what its entries match stays as it is"
                rule = Rule.UNKNOWN_NAME
                fault = Fault(message, knob=name, suggestion=suggestion, rule=rule)
                _report(fault, f"action '@{action}' ", sequence, places, diagnostics)


def _of_another_kind(name: str, value: mlir.Attribute) -> Iterator[Fault]:
    """Yield a fault for an attribute that is set under the name of another attribute."""
    if not is_dialect_attribute(value):
        return  # `verify_spec` reports that it is ignored.
    kinds = [other for other, kind in _WANTED.items() if isinstance(value, kind)]
    if (kinds and name not in kinds) or (not kinds and name in _WANTED):
        kind = str(value).partition("<")[0]
        remedy = f"set it as '{kinds[0]}'" if kinds else ""
        message = f"'{name}' is set to a '{kind}', which code generation does not read"
        yield Fault(message, remedy, rule=Rule.IGNORED)


def _is_hint(name: str, settings: Mapping[str, mlir.Attribute]) -> bool:
    return str(settings.get(name)).startswith(_HINTS[name].partition("<")[0] + "<")


def _hint_faults(name: str, value: mlir.Attribute, target: Target | None) -> Iterator[Fault]:
    """Yield faults of attributes that code generation reads next to a configuration."""
    if name not in _HINTS:
        return
    if not _is_hint(name, {name: value}):
        # A unit attribute removes the microkernel that the compiler chose.
        if name != names.UKERNEL or not isinstance(value, mlir.UnitAttr):
            message = f"'{name}' is set to '{value}', which code generation does not read"
            yield Fault(message, f"it is such as {_HINTS[name]}", rule=Rule.IGNORED)
    elif name == names.INNER_TILE_ALIGNMENTS:
        for level in _LEVEL.findall(str(value)):
            if level not in LEVELS:
                suggestion = misspelt(level, LEVELS)
                message, rule = f"'{level}' is not a level of tiling, and ignored", Rule.UNREAD_KNOB
                remedy = "" if suggestion else f"the levels are {', '.join(LEVELS)}"
                yield Fault(message, remedy, knob=level, suggestion=suggestion, rule=rule)
    elif (ukernel := _TENSOR_UKERNEL.search(str(value))) and target is not None:
        known = TENSOR_UKERNELS.get(target.architecture or "", ())
        if ukernel[1] not in known:
            yield Fault(
                f"{target} has no microkernel '{ukernel[1]}'",
                "" if (suggestion := nearest(ukernel[1], known)) else _WITHOUT_UKERNELS,
                is_error=True,
                knob=ukernel[1],
                suggestion=suggestion,
                rule=Rule.OTHER_TARGET,
            )


def _findings(
    value: mlir.Attribute, target: Target | None, matched: MatchedOp | None
) -> Iterator[Fault]:
    """Yield faults of a configuration for a target, if any, and for the matched op."""
    foreign = [*_foreign_parts(value, target)]
    yield from foreign[:1]
    # The translation info.
    lowering = value
    if isinstance(value, iree_codegen.CompilationInfoAttr):
        lowering = value.lowering_config
    translation = getattr(value, "translation_info", None)
    pipeline = ""
    if isinstance(translation, iree_codegen.TranslationInfoAttr):
        pipeline = str(translation.pass_pipeline)
        if pipeline.startswith(_GPU_PIPELINES):
            yield from _translation_faults(translation, target)
    # Lowering configs of CPUs and of other forms.
    if not isinstance(lowering, iree_gpu.LoweringConfigAttr):
        loops = None if matched is None else len(matched.parallel)
        yield from level_faults(lowering, loops, target)
        yield from tile_size_faults(lowering, pipeline, loops)
        yield from _part_faults(lowering, matched)
        return
    # Lowering configs of GPUs. A convolution as a matmul has fewer loops.
    op = None if matched is None or uses_igemm(translation) else matched
    knobs = entries_of(lowering.attributes)
    intrinsic = "" if matched is None else _usual_intrinsic(matched.types, target, value.context)
    yield from knob_faults(knobs, pipeline, op, intrinsic)
    yield from load_faults(knobs, target)
    if pipeline == VECTOR_DISTRIBUTE:
        yield from idle_faults(knobs)
    if isinstance(translation, iree_codegen.TranslationInfoAttr):
        sizes = list(translation.workgroup_size or ())
        subgroup_size = translation.subgroup_size or 0
        yield from subgroup_faults(knobs, sizes, subgroup_size)
        if not foreign:
            name = intrinsic_name(lowering.mma_kind)
            yield from intrinsic_faults(name, pipeline, subgroup_size)
    if matched is not None:
        yield from _types(lowering, matched)


def _part_faults(decomposition: mlir.Attribute, matched: MatchedOp | None) -> Iterator[Fault]:
    """Yield faults of the configurations of the products of an attention."""
    if matched is None or not isinstance(decomposition, mlir.DictAttr):
        return
    entries = entries_of(decomposition)
    yield from _misspelt(entries, [name for name, _ in matched.parts])
    for name, product in matched.parts:
        part = entries_of(entries.get(name))
        yield from _misspelt(part, [names.LOWERING_CONFIG])
        lowering = part.get(names.LOWERING_CONFIG)
        if isinstance(lowering, iree_gpu.LoweringConfigAttr):
            intrinsic = _usual_intrinsic(product.types, None, lowering.context)
            knobs = entries_of(lowering.attributes)
            faults = (*knob_faults(knobs, "", product, intrinsic), *_types(lowering, product))
            yield from (replace(fault, message=f"in '{name}', {fault.message}") for fault in faults)


def _misspelt(entries: Iterable[str], valid: Sequence[str]) -> Iterator[Fault]:
    """Yield an error for each name that resembles a valid name, without which code generation fails."""
    for name in entries:
        if suggestion := misspelt(name, valid):
            message, rule = f"code generation reads no '{name}'", Rule.UNREAD_KNOB
            yield Fault(message, is_error=True, knob=name, suggestion=suggestion, rule=rule)


def _foreign_parts(value: mlir.Attribute, target: Target | None) -> Iterator[Fault]:
    """Yield faults for the parts of a configuration that the target does not support."""
    if target is None:
        return
    parts = [value]
    if isinstance(value, iree_codegen.CompilationInfoAttr):
        parts = [value.translation_info, value.lowering_config]
    remedy = f"bind the entry to its targets, 'tuninglink.targets' on the matcher, if that is not {target}"
    for part in parts:
        if reason := foreign_reason(part, target):
            knob, rule = _foreign_knob(part), Rule.OTHER_TARGET
            yield Fault(reason, remedy, is_error=True, knob=knob, rule=rule)


def _foreign_knob(part: mlir.Attribute) -> str:
    if isinstance(part, iree_codegen.TranslationInfoAttr):
        return "pipeline"
    has_intrinsic = isinstance(part, iree_gpu.LoweringConfigAttr) and part.mma_kind is not None
    return MMA_KIND if has_intrinsic else names.LOWERING_CONFIG


def _translation_faults(
    translation: iree_codegen.TranslationInfoAttr, target: Target | None
) -> Iterator[Fault]:
    for name in entries_of(translation.configuration):
        if suggestion := misspelt(name, _TRANSLATION_ENTRIES):
            message, rule = f"code generation reads no '{name}'", Rule.UNREAD_KNOB
            yield Fault(message, knob=name, suggestion=suggestion, rule=rule)
    tiling = TILING_WORKGROUPS.get(str(translation.pass_pipeline))
    if tiling and PIPELINE_OPTIONS in entries_of(translation.configuration):
        yield Fault(
            f"{tiling} reads no '{PIPELINE_OPTIONS}'",
            "leave it out",
            knob=PIPELINE_OPTIONS,
            rule=Rule.UNREAD_KNOB,
        )
    attributes = entries_of(entries_of(translation.configuration).get(_FUNCTION_ATTRIBUTES))
    yield from function_faults(attributes, target)
    sizes = list(translation.workgroup_size or ())
    yield from thread_faults(sizes, translation.subgroup_size or 0, target)


def _types(lowering: iree_gpu.LoweringConfigAttr, matched: MatchedOp) -> Iterator[Fault]:
    kind = lowering.mma_kind
    name = intrinsic_name(kind)
    if kind is None or name is None or not all(matched.types):
        return
    types = element_types(kind)[:2]
    if sorted(types) != sorted(matched.types):
        yield Fault(
            f"'{name}' multiplies {'·'.join(types)}, the matcher requires {'·'.join(matched.types)}",
            _intrinsic_for(matched.types, name, lowering.context),
            is_error=True,
            knob=MMA_KIND,
            rule=Rule.INTRINSIC_TYPES,
        )


def _intrinsic_for(types: tuple[str, str], name: str, context: mlir.Context) -> str:
    """Return the remedy for an intrinsic with the wrong types: the most similarly named intrinsic for these types."""
    closest = nearest(name, [*intrinsics_multiplying(types, context)], cutoff=0)
    if not closest:
        return "choose an intrinsic for the types that are matched"
    return f"choose an intrinsic for the types that are matched, such as '{closest}'"


def _usual_intrinsic(types: tuple[str, str], target: Target | None, context: mlir.Context) -> str:
    """Return an intrinsic for these types, of the target if it is known; empty if no intrinsic exists."""
    names_of_types = intrinsics_multiplying(types, context)
    return next(
        (name for name in names_of_types if target is None or name in target.intrinsics), ""
    )


def _constant(matcher: mlir.Operation | None, value: mlir.Attribute) -> mlir.Operation | None:
    """Return the constant in a matcher that holds a configuration, None if the constant is elsewhere."""
    if matcher is None:
        return None
    constants = (op for op in body(matcher) if op.name == names.PARAM_CONSTANT)
    return next((constant for constant in constants if constant.attributes["value"] == value), None)
