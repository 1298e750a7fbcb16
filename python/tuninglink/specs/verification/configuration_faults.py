"""Faults in the configurations of entries that can be detected from the spec alone.

A fault is a warning if the compiler silently uses another configuration, and an error if code generation fails or no
device runs the code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.errors import Diagnostic, Severity, counted, misspelt, nearest
from tuninglink.iree import (
    MMA_KIND,
    PIPELINE_DEPTH,
    PIPELINE_OPTIONS,
    STORE_STAGE,
    TENSOR_UKERNELS,
    VECTOR_DISTRIBUTE,
    Target,
    element_types,
    foreign_reason,
    instruction_set,
    intrinsic_name,
    intrinsics_multiplying,
    lowering_configs as gpu,
    uses_igemm,
)
from tuninglink.mlir import (
    DiagnosticSink,
    collect,
    entries_of,
    is_dialect_attribute,
    names,
    note,
    place_of,
)
from tuninglink.rules import Rule
from tuninglink.specs import CONFIGURATIONS, Spec, configured_arguments, is_bound_for, settings_of
from tuninglink.specs.verification.entry_checks import RequiredOp, required_op
from tuninglink.specs.verification.faults import (
    LEVELS,
    Fault,
    KnobPlaces,
    level_faults,
    similar_integers,
    tile_size_faults,
)

_HINTS: Final = {
    names.UKERNEL: '#iree_codegen.ukernel_descriptor<"pingpong_large_f16", tensor>',
    names.INNER_TILE_ALIGNMENTS: "#iree_cpu.inner_tile_alignments<vector_common_parallel = [Multiple, Equal]>",
}
"""The attributes that code generation reads next to a configuration, each with an example."""

_PREFIXES: Final = {name: hint[: hint.index("<") + 1] for name, hint in _HINTS.items()}

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

_UKERNEL: Final = re.compile(r'"(.*)", (tensor|memref)>')
_OF_TENSORS: Final = frozenset(name for ukernels in TENSOR_UKERNELS.values() for name in ukernels)
_WITHOUT_UKERNELS: Final = "the microkernels of tensors are for gfx942 and gfx950"

_GPU_PIPELINES: Final = ("#iree_gpu.pipeline<", "#iree_gpu.spirv_pipeline<")


def check_configurations(
    spec: Spec,
    diagnostics: DiagnosticSink,
    target: Target | None = None,
    positions: Iterable[int] | None = None,
) -> None:
    """Report faults in the configurations of entries, by default all, of a spec that the compiler's verifier accepts."""
    places = KnobPlaces()
    # Misspelt names of attributes in actions.
    table = spec.anatomy.table
    for action in dict.fromkeys(action for _, action in spec.anatomy.pairs):
        for annotation in table.annotations(action) or ():
            if suggestion := misspelt(annotation.name, sorted(_READ)):
                name, rule = annotation.name, Rule.UNKNOWN_NAME
                message = f"sets '{name}', which the compiler does not read: what its entries match stays as it is"
                fault = Fault(message, knob=name, suggestion=suggestion, rule=rule)
                _report(fault, f"action '@{action}' ", table.lookup(action), places, diagnostics)
    # Faults of the values that entries set.
    reported: set[tuple[mlir.Attribute, str]] = set()
    faults_by_key: dict[Hashable, tuple[Fault, ...]] = {}
    for position in range(len(spec.anatomy.pairs)) if positions is None else positions:
        entry = spec.anatomy.entry(position)
        matcher = table.lookup(entry.matcher)
        is_for_target = target is not None and is_bound_for(entry, target)
        required = required_op(matcher)
        settings = settings_of(spec, entry, _READ) or {}
        # A microkernel needs no knobs.
        ukernel = str(settings.get(names.UKERNEL))
        needless = Rule.MISSING_KNOB if ukernel.startswith(_PREFIXES[names.UKERNEL]) else None
        values = [(name, value, required) for name, value in settings.items()]
        for at in configured_arguments(table, entry.action, neighbors=True):
            own, op = settings_of(spec, entry, neighbor=at) or {}, required_op(matcher, at)
            values += [(name, value, op) for name, value in own.items()]
        for name, value, required in values:
            key = (name, value, is_for_target, required)  # many entries share a constant
            if key not in faults_by_key:
                faults_by_key[key] = (
                    *_attribute_faults(name, value, target if is_for_target else None),
                    *_findings(value, target if is_for_target else None, required),
                )
            for finding in faults_by_key[key]:
                if (value, finding.message) in reported or finding.rule is needless:
                    continue
                reported.add((value, finding.message))
                # The constant in the matcher that holds the configuration.
                constants = collect(matcher, names.PARAM_CONSTANT) if matcher else []
                holders = (op for op in constants if op.attributes["value"] == value)
                operation = next(holders, matcher)
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


def _attribute_faults(name: str, value: mlir.Attribute, target: Target | None) -> Iterator[Fault]:
    """Yield faults of an attribute that is set under the name of another one, or that code generation does not read."""
    # `verify_spec` reports that attributes of no dialect are ignored.
    kinds = [other for other, kind in _WANTED.items() if isinstance(value, kind)]
    is_other = (kinds and name not in kinds) or (not kinds and name in _WANTED)
    if is_dialect_attribute(value) and is_other:
        kind = str(value).partition("<")[0]
        remedy = f"set it as '{kinds[0]}'" if kinds else ""
        message = f"'{name}' is set to a '{kind}', which code generation does not read"
        yield Fault(message, remedy, rule=Rule.IGNORED)
    if name not in _HINTS:
        return
    # Attributes that code generation reads next to a configuration.
    if not str(value).startswith(_PREFIXES[name]):
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
    elif (ukernel := _UKERNEL.search(str(value))) and ukernel[2] == "memref":
        if ukernel[1] in _OF_TENSORS:
            message = f"'{ukernel[1]}' is a microkernel of tensors, which code generation does not use for memrefs"
            form = f'write #iree_codegen.ukernel_descriptor<"{ukernel[1]}", tensor>'
            yield Fault(message, form, knob=ukernel[1], rule=Rule.IGNORED)
    elif ukernel and target is not None:
        ukernels = TENSOR_UKERNELS.get(target.architecture or "", ())
        if ukernel[1] not in ukernels:
            yield Fault(
                f"{target} has no microkernel '{ukernel[1]}'",
                "" if (suggestion := nearest(ukernel[1], ukernels)) else _WITHOUT_UKERNELS,
                is_error=True,
                knob=ukernel[1],
                suggestion=suggestion,
                rule=Rule.OTHER_TARGET,
            )


def _findings(
    value: mlir.Attribute, target: Target | None, required: RequiredOp | None
) -> Iterator[Fault]:
    """Yield faults of a configuration for a target, if any, and for the matched op."""
    foreign: list[Fault] = []
    if target is not None:
        parts = [value]
        if isinstance(value, iree_codegen.CompilationInfoAttr):
            parts = [value.translation_info, value.lowering_config]
        remedy = f"bind the entry to its targets, 'tuninglink.targets' on the matcher, if that is not {target}"
        for part in parts:
            if reason := foreign_reason(part, target):
                knob = names.LOWERING_CONFIG
                if isinstance(part, iree_codegen.TranslationInfoAttr):
                    knob = "pipeline"
                elif isinstance(part, iree_gpu.LoweringConfigAttr) and part.mma_kind is not None:
                    knob = MMA_KIND
                rule = Rule.OTHER_TARGET
                foreign.append(Fault(reason, remedy, is_error=True, knob=knob, rule=rule))
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
        loops = None if required is None else len(required.parallel)
        yield from level_faults(lowering, loops, target)
        yield from tile_size_faults(lowering, pipeline, loops)
        yield from _product_faults(lowering, required)
        return
    # Lowering configs of GPUs. A convolution as a matmul has fewer loops.
    op = None if required is None or uses_igemm(translation) else required
    knobs = entries_of(lowering.attributes)
    intrinsic = "" if required is None else _usual_intrinsic(required.types, target, value.context)
    yield from knob_faults(knobs, pipeline, op, intrinsic, target)
    if pipeline == VECTOR_DISTRIBUTE:
        yield from idle_faults(knobs)
    if isinstance(translation, iree_codegen.TranslationInfoAttr):
        name = "" if foreign else intrinsic_name(lowering.mma_kind) or ""
        yield from subgroup_faults(knobs, translation, name)
    if required is not None:
        yield from _types(lowering, required)


def _product_faults(decomposition: mlir.Attribute, required: RequiredOp | None) -> Iterator[Fault]:
    """Yield faults of the configurations of the products of an attention."""
    if required is None or not isinstance(decomposition, mlir.DictAttr):
        return
    entries = entries_of(decomposition)
    yield from _misspelt(entries, [name for name, _ in required.products])
    for name, product in required.products:
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
    # The attributes of the LLVM function, which may set the subgroups of a compute unit.
    attributes = entries_of(entries_of(translation.configuration).get(_FUNCTION_ATTRIBUTES))
    for name in attributes:
        if misspelt(name, (_WAVES,)):
            message = f"LLVM reads no function attribute '{name}'"
            yield Fault(message, knob=name, suggestion=_WAVES, rule=Rule.UNREAD_KNOB)
    waves = attributes.get(_WAVES)
    text = waves.value if isinstance(waves, mlir.StringAttr) else ""
    if waves is not None and not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)?", text):
        message = f"'{_WAVES}' is {waves}, which LLVM does not read"
        remedy = 'it is a least number, or a least and a greatest one, such as "2" or "2,4"'
        yield Fault(message, remedy, knob=_WAVES)
    elif waves is not None and target is not None and target.backend != "rocm":
        message = f"'{_WAVES}' has no effect on {target}: it is for AMD GPUs"
        yield Fault(message, knob=_WAVES, rule=Rule.OTHER_TARGET)
    # The thread counts.
    sizes = list(translation.workgroup_size or ())
    subgroup_size = translation.subgroup_size or 0
    if not sizes:
        yield Fault(
            "its 'translation_info' has no 'workgroup_size'",
            "write the number of threads in each dimension, such as workgroup_size = [256, 1, 1]",
            knob="translation_info",
            rule=Rule.MISSING_KNOB,
        )
    elif prod(sizes) > _MOST_THREADS:
        yield Fault(
            f"a workgroup of {prod(sizes):,} threads is more than GPUs run",
            f"they run {_MOST_THREADS:,} at most",
            is_error=True,  # The compiler compiles it, and no device runs it.
            knob=gpu.WORKGROUP_SIZE,
            rule=Rule.THREAD_COUNT,
        )
    architecture = target.architecture or "" if target is not None else ""
    starts = (start for start in _SUBGROUP_SIZES if architecture.startswith(start))
    subgroup_sizes = _SUBGROUP_SIZES.get(next(starts, ""), ())
    if subgroup_sizes and subgroup_size and subgroup_size not in subgroup_sizes:
        is_amd = target is not None and target.backend == "rocm"
        yield Fault(
            f"a subgroup of {target} has {' or '.join(map(str, subgroup_sizes))} threads, not {subgroup_size}",
            f"write subgroup_size = {min(subgroup_sizes, key=lambda size: abs(size - subgroup_size))}",
            is_error=is_amd and subgroup_size not in gpu.AMD_SUBGROUP_SIZES,
            knob=gpu.SUBGROUP_SIZE,
            rule=Rule.THREAD_COUNT,
        )


def _types(lowering: iree_gpu.LoweringConfigAttr, required: RequiredOp) -> Iterator[Fault]:
    kind = lowering.mma_kind
    name = intrinsic_name(kind)
    if kind is None or name is None or not all(required.types):
        return
    types = element_types(kind)[:2]
    if sorted(types) != sorted(required.types):
        remedy = "choose an intrinsic for the types that are matched"
        fitting = [*intrinsics_multiplying(required.types, lowering.context)]
        if closest := nearest(name, fitting, cutoff=0):
            remedy += f", such as '{closest}'"
        yield Fault(
            f"'{name}' multiplies {'·'.join(types)}, the matcher requires {'·'.join(required.types)}",
            remedy,
            is_error=True,
            knob=MMA_KIND,
            rule=Rule.INTRINSIC_TYPES,
        )


def _usual_intrinsic(types: tuple[str, str], target: Target | None, context: mlir.Context) -> str:
    """Return an intrinsic for these types, of the target if it is known; empty if no intrinsic exists."""
    names_of_types = intrinsics_multiplying(types, context)
    return next(
        (name for name in names_of_types if target is None or name in target.intrinsics), ""
    )


# --- Faults of the knobs of a GPU configuration that do not depend on the target -----------------

_SIZES: Final = (*gpu.TILES, gpu.PADDING)
"""The knobs with one size for each loop."""

_INTEGERS: Final = (*_SIZES, gpu.PADDING_CONV, gpu.PROMOTED_OPERANDS)
"""The knobs that are lists of integers."""

_READ_BY: Final = {
    gpu.SUBGROUP: ("TileAndFuse", gpu.SUBGROUP_BASIS),
    gpu.SUBGROUP_BASIS: ("VectorDistribute", gpu.SUBGROUP),
    gpu.LANE_BASIS: ("VectorDistribute", gpu.THREAD),
}
"""The pipeline of knobs that only one of two has, and the closest knob of the other pipeline."""

_PIPELINES: Final = {
    gpu.TILE_AND_FUSE: "TileAndFuse",
    gpu.VECTOR_DISTRIBUTE: "VectorDistribute",
}

TILING_WORKGROUPS: Final = {
    "#iree_gpu.pipeline<Vectorize>": "Vectorize",
    "#iree_gpu.pipeline<Distribute>": "Distribute",
}
"""The pipelines that read the tiles of workgroups only; those of reductions are among them."""

_READ_ANYWHERE: Final = (gpu.WORKGROUP, "workgroup_reordering_strategy", "lowering_strategy")


def knob_faults(
    knobs: Mapping[str, mlir.Attribute],
    pipeline: str,
    op: RequiredOp | None,
    intrinsic: str,
    target: Target | None = None,
) -> Iterator[Fault]:
    """Yield faults of the entries of a `#iree_gpu.lowering_config`."""
    tiling, configured = TILING_WORKGROUPS.get(pipeline), _PIPELINES.get(pipeline, "")
    for name, value in knobs.items():
        if name not in gpu.ENTRIES:
            message, remedy = f"code generation reads no '{name}'", ""
            suggestion = misspelt(name, gpu.ENTRIES)
            if name in (gpu.WORKGROUP_SIZE, gpu.SUBGROUP_SIZE):
                message, remedy = f"{message} here", "it belongs in the 'translation_info'"
                suggestion = ""
            elif not suggestion:
                remedy = f"it reads {', '.join(gpu.ENTRIES)}"
            yield Fault(message, remedy, knob=name, suggestion=suggestion, rule=Rule.UNREAD_KNOB)
            continue
        faults = [*_malformed(name, value, op, intrinsic)]
        # Vectorize unrolls the windows of convolutions by reduction tiles.
        is_open = name == gpu.REDUCTION_LEVEL and tiling == "Vectorize"
        if tiling and name not in _READ_ANYWHERE and not is_open:
            remedy = "it reads 'workgroup', also for reductions; TileAndFuse and VectorDistribute read more"
            faults.append(Fault(f"{tiling} reads no '{name}'", remedy, rule=Rule.UNREAD_KNOB))
        reader, other = _READ_BY.get(name, ("", ""))
        if reader and configured and configured != reader:
            message = f"{configured} reads no '{name}', which is a knob of {reader}"
            remedy = f"{configured} reads '{other}' instead"
            is_error = name != gpu.LANE_BASIS and other not in knobs
            faults.append(Fault(message, remedy, is_error=is_error, rule=Rule.UNREAD_KNOB))
        if op is not None and not faults:
            faults += _of_other_loops(name, value, op)
            if op.is_product and not faults:
                faults += _of_wrong_loops(name, pipeline, knobs, op.parallel)
        yield from (replace(fault, knob=name) for fault in faults)
    read = {name: value for name, value in knobs.items() if gpu.is_read(name, value)}
    if op is not None and op.is_product:
        yield from _missing(read, configured, intrinsic)
    # Direct loads into shared memory.
    architecture = "" if target is None else target.architecture
    types = knobs.get(gpu.PROMOTION_TYPES)
    if (
        architecture
        and architecture not in gpu.DIRECTLY_LOADING
        and isinstance(types, mlir.ArrayAttr)
        and gpu.DIRECT_LOAD in str(types)
    ):
        yield Fault(
            f"'{gpu.DIRECT_LOAD}' has no effect on {target}, which does not load straight into shared memory",
            "write #iree_gpu.derived_thread_config",
            knob=gpu.PROMOTION_TYPES,
            rule=Rule.OTHER_TARGET,
        )


def _missing(knobs: Mapping[str, mlir.Attribute], pipeline: str, intrinsic: str) -> Iterator[Fault]:
    """Yield the missing knobs of a product; experiments show that code generation fails without most of them."""
    missing = Fault("", is_error=True, knob=names.LOWERING_CONFIG, rule=Rule.MISSING_KNOB)
    advice = f"such as mma_kind = #iree_gpu.mma_layout<{intrinsic}>; or " if intrinsic else "write "
    without = "where no intrinsic multiplies"
    if pipeline == "VectorDistribute":
        if not {gpu.SUBGROUP, gpu.SUBGROUP_BASIS} & knobs.keys():
            remedy = (
                "such as subgroup_basis = [[2, 2, 1], [0, 1, 2]], the subgroups along each loop"
            )
            message = f"{pipeline} needs 'subgroup_basis', which is missing"
            yield replace(missing, message=message, remedy=remedy)
        if not {gpu.MMA_KIND, gpu.LANE_BASIS} & knobs.keys():
            remedy = f"{advice}'lane_basis' and 'thread', {without}"
            message = f"{pipeline} needs 'mma_kind', which is missing"
            yield replace(missing, message=message, remedy=remedy)
        elif gpu.MMA_KIND in knobs and gpu.is_tiling(knobs.get(gpu.PARTIAL_REDUCTION)):
            message = f"{pipeline} cannot lay out 'mma_kind' with '{gpu.PARTIAL_REDUCTION}'"
            remedy = "'reduction' tiles reductions"
            yield Fault(message, remedy, is_error=True, knob=gpu.PARTIAL_REDUCTION)
    elif pipeline == "TileAndFuse":
        has_subgroups = gpu.SUBGROUP_BASIS in knobs or gpu.is_tiling(knobs.get(gpu.SUBGROUP))
        if gpu.MMA_KIND in knobs and not has_subgroups:
            state = "tiles no loop" if gpu.SUBGROUP in knobs else "is missing"
            remedy = "such as subgroup = [2, 2, 0], the intrinsics of a subgroup along each loop"
            message = f"{pipeline} needs 'subgroup' with 'mma_kind', and it {state}"
            is_error = gpu.THREAD not in knobs
            yield replace(missing, message=message, remedy=remedy, is_error=is_error)
        if not {gpu.MMA_KIND, gpu.THREAD} & knobs.keys():
            effect = "" if has_subgroups else ": every thread computes the whole tile"
            message = f"{pipeline} needs 'mma_kind' or 'thread', which are missing{effect}"
            remedy = f"{advice}'thread', {without}"
            yield replace(missing, message=message, remedy=remedy, is_error=has_subgroups)


_Check = Callable[[mlir.Attribute], object]

_BASIS: Final[tuple[_Check, bool, str]] = (
    gpu.read_basis,
    True,
    "two lists, such as [[2, 2, 1], [0, 1, 2]]: counts, and for each loop the one that is along it",
)
_FORMS: Final[Mapping[str, tuple[_Check, bool, str]]] = {
    **{
        name: (
            lambda value: gpu.read_integers(value) is not None,
            False,
            "a list of integers, none of them negative",
        )
        for name in _INTEGERS
    },
    gpu.SUBGROUP_BASIS: _BASIS,
    gpu.LANE_BASIS: _BASIS,
    gpu.PROMOTION_TYPES: (
        lambda value: isinstance(value, mlir.ArrayAttr),
        False,
        "a list, with one for each of 'promote_operands'",
    ),
    gpu.MMA_KIND: (is_dialect_attribute, True, "an intrinsic, such as #iree_gpu.mma_layout<{}>"),
}
"""For each knob a check of its form, whether code generation fails for another form, and the form in words."""


def _malformed(
    name: str, value: mlir.Attribute, op: RequiredOp | None, intrinsic: str
) -> Iterator[Fault]:
    """Yield a fault for a knob with a value that code generation does not read, or with negative integers."""
    if name not in _FORMS:
        return
    is_formed, is_error, form = _FORMS[name]
    reason = "which code generation does not read"
    integers = gpu.read_integers(value) or ()
    if not is_formed(value):
        form = form.format(intrinsic or "MFMA_F32_16x16x16_F16")
        if name in _INTEGERS:
            # The readable integers of the list, one for each loop of a known op.
            right = similar_integers(value)
            loops = len(right) if op is None or name not in _SIZES else len(op.parallel)
            if name == gpu.PROMOTED_OPERANDS:
                right = right or [0, 1]
            elif right and len(right) != loops:
                right = _resized(name, right, loops) if name in gpu.TILES else []
            if right:
                form += f", such as {right}"
            elif name in _SIZES:
                form += ", with one for each loop"
            reason = "which code generation takes as missing"
            if isinstance(value, mlir.ArrayAttr):
                misfits = (item for item in value if not isinstance(item, mlir.IntegerAttr))
                reason += f": {next(misfits)} is not an integer"
    elif isinstance(value, mlir.ArrayAttr) and name == gpu.PROMOTION_TYPES:
        # The copy of each promotion must be one of these, or a lowering config.
        matches = (_COPY.search(str(promotion)) for promotion in value)
        copies = (match[1] or match[2] for match in matches if match)
        readable = (*_COPIES, "#iree_gpu.lowering_config<")
        copy = next((copy for copy in copies if not copy.startswith(readable)), "")
        if not copy:
            return
        form = f"a promotion whose copy is {' or '.join(_COPIES)}"
        reason = f"and code generation does not read {copy}"
    else:
        if name in _INTEGERS and min(integers, default=0) < 0:
            right = [max(0, integer) for integer in integers]
            remedy = "0 leaves a loop as it is" if name in gpu.TILES else f"write {right}"
            message = f"'{name}' is {[*integers]}, and none may be negative"
            yield Fault(message, remedy, is_error=True)
        return
    yield Fault(f"'{name}' is {value}, {reason}", f"it is {form}", is_error=is_error)


_COPIES: Final = ("#iree_gpu.derived_thread_config", "#iree_gpu.use_global_load_dma")
"""How copies are distributed, besides a lowering config."""

_COPY: Final = re.compile(r"promote_with_cache_swizzle<(.*)>$|copy_config = (.*), swizzle = ")


def _resized(name: str, sizes: Sequence[int], loops: int) -> list[int]:
    zeros = [0] * (loops - len(sizes))
    return [*zeros, *sizes[:loops]] if name in gpu.REDUCING else [*sizes[:loops], *zeros]


def _of_wrong_loops(
    name: str, pipeline: str, knobs: Mapping[str, mlir.Attribute], parallel: Sequence[bool]
) -> Iterator[Fault]:
    """Yield a fault for tiles of the wrong loops of a product."""
    # Workgroup tiles of reductions, and reduction tiles of parallel loops. The pipelines for tiles of workgroups only read
    # both there.
    has_steps = name in (gpu.WORKGROUP, gpu.REDUCTION_LEVEL) and pipeline not in TILING_WORKGROUPS
    sizes = list(gpu.read_integers(knobs[name]) or ())
    if has_steps and sizes:
        takes_parallel = name == gpu.WORKGROUP
        kept = {1} if takes_parallel else set()  # The compiler itself writes 1 there.
        pairs = zip(sizes, parallel, strict=True)
        right = [
            size if is_parallel == takes_parallel or size in kept else 0
            for size, is_parallel in pairs
        ]
        loop = next((loop for loop, size in enumerate(sizes) if size != right[loop]), None)
        if loop is not None:
            fault, remedy = f"loop {loop} is parallel", "'workgroup' tiles parallel loops"
            if takes_parallel:
                fault = f"ignored for loop {loop}, a reduction"
                remedy = "'reduction' tiles reductions"
            advice = f"{remedy}; write {right}" if any(right) else remedy
            yield Fault(f"'{name}' is {sizes}, and {fault}", advice, rule=Rule.LOOP_COUNT)
            return
    # Tiles that make threads or subgroups add to one result without synchronization.
    loops = gpu.shared_reductions(name, knobs, parallel) if pipeline == gpu.TILE_AND_FUSE else ()
    if loops:
        right = [0 if loop in loops else size for loop, size in enumerate(sizes)]
        message = f"'{name}' is {sizes}, and loop {loops[0]} is a reduction: {name}s add to one result at the same time"
        text, remedy = f"{message}, which is wrong", f"write {right}"
        yield Fault(text, remedy, is_error=True, rule=Rule.WRONG_RESULT)


def _of_other_loops(name: str, value: mlir.Attribute, op: RequiredOp) -> Iterator[Fault]:
    """Yield the faults of a knob whose value is for another number of loops or operands."""
    loops = len(op.parallel)
    required = f"for the {counted(loops, 'loop')} that the matcher requires"
    if name in _SIZES and isinstance(value, mlir.ArrayAttr) and len(value) != loops:
        right = _resized(name, gpu.read_integers(value) or (), loops)
        remedy = f"there is one size for each loop, 0 for one that is not tiled, such as {right}"
        if name == gpu.PADDING:
            remedy = "there is one size for each loop, that of its tile"
        cannot_tile = op.is_product and name == gpu.REDUCTION_LEVEL and len(value) > loops
        message = f"'{name}' has {counted(len(value), 'size')} {required}"
        yield Fault(message, remedy, is_error=cannot_tile, rule=Rule.LOOP_COUNT)
    if name in gpu.BASES:
        for fault in basis_faults(name, value, loops, required):
            yield replace(fault, is_error=fault.is_error and op.is_product)
    if name == gpu.PROMOTED_OPERANDS:
        operands = gpu.read_integers(value) or ()
        outside = [number for number in operands if not 0 <= number < op.operands]
        if outside:
            message = f"'{name}' names operand {outside[0]}, which does not exist"
            inside = [number for number in operands if 0 <= number < op.operands]
            remedy = f"0 to {op.operands - 1} are the operands and results, such as {inside or [0]}"
            if op.is_product:
                remedy = "0 and 1 are the operands, 2 is the result, such as [0, 1]"
            # The compiler reads beyond the operands: it crashes or does not end.
            yield Fault(message, remedy, is_error=True)
        elif len(right := [*dict.fromkeys(operands)]) < len(operands):
            twice = next(number for number in right if operands.count(number) > 1)
            yield Fault(f"'{name}' names operand {twice} twice", f"write {right}")


# --- Faults of the numbers of threads, of subgroups and of waves in a GPU configuration ----------

_MOST_THREADS: Final = 1024
"""The threads of a workgroup on any GPU that the compiler knows: `max_thread_count_per_workgroup`."""

_INTRINSIC_THREADS: Final = {"MFMA": 64, "WMMAR3": 32, "WMMAR4": 32, "WMMA": 32}
"""The threads of a subgroup that execute an AMD intrinsic together, by instruction set."""

_SUBGROUP_SIZES: Final = {"gfx9": (64,), "gfx1": gpu.AMD_SUBGROUP_SIZES, "sm_": (32,)}
"""The threads of a subgroup, by the prefix of the name of an architecture: the `subgroup_size_choices` of targets."""


_WAVES: Final = "amdgpu-waves-per-eu"


def subgroup_faults(
    knobs: Mapping[str, mlir.Attribute],
    translation: iree_codegen.TranslationInfoAttr,
    intrinsic: str,
) -> Iterator[Fault]:
    """Yield faults of the numbers of subgroups and of their threads, for a basis and for an intrinsic, if any."""
    sizes = list(translation.workgroup_size or ())
    subgroup_size = translation.subgroup_size or 0
    basis = gpu.read_basis(knobs.get(gpu.SUBGROUP_BASIS))
    if basis and sizes and subgroup_size and min(basis.counts, default=0) >= 1:
        threads = prod(basis.counts) * subgroup_size
        if threads != prod(sizes):
            yield Fault(
                f"'subgroup_basis' has {prod(basis.counts)} subgroups of {subgroup_size} threads, and the workgroup has "
                f"{prod(sizes):,} threads, not {threads:,}",
                f"write workgroup_size = [{threads}, 1, 1], or other counts"
                if threads <= _MOST_THREADS
                else f"write counts with a product of {max(1, prod(sizes) // subgroup_size)}",
                knob=gpu.SUBGROUP_BASIS,
                rule=Rule.THREAD_COUNT,
            )
    # An intrinsic without a subgroup, or with a subgroup of a size that VectorDistribute cannot distribute it to.
    threads = _INTRINSIC_THREADS.get(instruction_set(intrinsic), 0) if intrinsic else 0
    is_distributed = str(translation.pass_pipeline) == gpu.VECTOR_DISTRIBUTE
    if intrinsic and not subgroup_size:
        yield Fault(
            f"its 'translation_info' has no 'subgroup_size', which '{intrinsic}' needs",
            f"write subgroup_size = {threads or 32}",
            knob="translation_info",
            rule=Rule.MISSING_KNOB,
        )
    elif threads and is_distributed and subgroup_size != threads:
        yield Fault(
            f"'{intrinsic}' takes a subgroup of {threads} threads, not {subgroup_size}",
            f"write subgroup_size = {threads}",
            is_error=True,
            knob=gpu.SUBGROUP_SIZE,
            rule=Rule.THREAD_COUNT,
        )


_INTRINSIC_SIDE: Final = 32
"""A multiple of the rows and columns of all intrinsics."""


def idle_faults(knobs: Mapping[str, mlir.Attribute]) -> Iterator[Fault]:
    """Yield a fault for each basis with counts that no loop is mapped to: these threads compute what others compute."""
    bases = {name: gpu.read_basis(knobs.get(name)) for name in gpu.BASES}
    lists = {level: gpu.read_integers(knobs[level]) for level in gpu.TILES if level in knobs}
    for name, basis in bases.items():
        if basis is None or not {*basis.mapping} <= {*range(len(basis.counts))}:
            continue  # `basis_faults` reports indices without a count.
        counts = {index: count for index, count in enumerate(basis.counts) if count > 1}
        idle = [count for index, count in counts.items() if index not in basis.mapping]
        if not idle:
            continue
        # Give them to the loop with the most room in its tile, if they divide it. Of several, that is the last one, whose
        # elements are contiguous.
        shares = [basis.counts[index] for index in basis.mapping]
        rooms = []
        for loop, share in enumerate(shares):
            tiles = {
                level: sizes[loop] for level, sizes in lists.items() if sizes and loop < len(sizes)
            }
            taken = share * max(1, tiles.pop(gpu.THREAD, 1))
            for other in (bases[key] for key in gpu.BASES if key != name):
                index = other.mapping[loop] if other and loop < len(other.mapping) else -1
                taken *= other.counts[index] if other and 0 <= index < len(other.counts) else 1
            taken *= _INTRINSIC_SIDE if gpu.MMA_KIND in knobs else 1
            rooms.append((max(tiles.values(), default=0) / taken, loop))
        room, loop = max(rooms, default=(0, 0))
        remedy = "map a loop to them whose tile they divide, or take fewer"
        if room >= prod(idle) and not room % prod(idle):
            shares[loop] *= prod(idle)
            remedy = f"to use them, write {name} = {[shares, [*range(len(shares))]]}"
        what = "subgroups" if name == gpu.SUBGROUP_BASIS else "lanes"
        listed = " and ".join(map(str, idle))
        yield Fault(
            f"no loop is mapped to the {listed} of '{name}', {knobs[name]}: "
            f"{prod(idle)} {what} each compute the same",
            remedy,
            knob=name,
            rule=Rule.REPEATED_WORK,
        )


def basis_faults(name: str, value: mlir.Attribute, loops: int, required: str) -> Iterator[Fault]:
    """Yield the fault of a basis: counts, and for each loop the index of its count."""
    basis = gpu.read_basis(value)
    if basis is None:
        return
    counts, mapping = list(basis.counts), list(basis.mapping)
    # The number of indices, the indices, then the counts that they name: later checks need the earlier ones.
    if len(mapping) != loops:
        message = f"'{name}' maps {counted(len(mapping), 'loop')} {required}"
        remedy = "its second list has the index of a count for each loop"
        is_error = len(mapping) < loops
        yield Fault(message, remedy, is_error=is_error, rule=Rule.LOOP_COUNT)
    elif any(not 0 <= position < len(counts) for position in mapping):
        missing = [loop for loop, position in enumerate(mapping) if not 0 <= position < len(counts)]
        unused = [index for index in range(len(counts)) if index not in mapping]
        # Loops without a count take those that no loop has, and then further ones.
        indices = [*unused, *range(len(counts), len(counts) + len(missing))]
        right = [
            indices[missing.index(loop)] if loop in missing else position
            for loop, position in enumerate(mapping)
        ]
        enough = [*counts, *[1] * (max(right) + 1 - len(counts))]
        of_counts = counted(len(counts), "count")
        message = f"'{name}' is {value}, whose second list names more than its {of_counts}"
        remedy = f"an index is less than the number of counts, such as [{enough}, {right}]"
        yield Fault(message, remedy, is_error=True)
    elif shared := [at for at in mapping if counts[at] > 1 and mapping.count(at) > 1]:
        free = [
            position if mapping.index(position) == at else len(counts)
            for at, position in enumerate(mapping)
        ]
        message = f"'{name}' is {value}: two loops cannot share its count {counts[shared[0]]}"
        remedy = (
            f"a loop that no subgroups share has a count of 1, such as [{[*counts, 1]}, {free}]"
        )
        yield Fault(message, remedy, is_error=name == gpu.SUBGROUP_BASIS)
    elif min(counts, default=1) < 1:
        remedy = f"write [{[max(1, count) for count in counts]}, {mapping}]"
        yield Fault(f"'{name}' is {value}, and a count must be positive", remedy, is_error=True)
