"""What is wrong with the configurations of entries, as far as the spec itself tells.

These are warnings where the compiler goes on and takes something else than is meant, and errors where code generation
fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.iree.foreign import why_foreign
from tuninglink.iree.intrinsics import element_types, intrinsic_name
from tuninglink.mlir import names
from tuninglink.mlir.attributes import entries_of
from tuninglink.mlir.diagnostics import note
from tuninglink.mlir.walk import body
from tuninglink.specs.bindings import covers, entry_binding
from tuninglink.specs.settings import settings_of
from tuninglink.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from tuninglink.iree.targets import Target
    from tuninglink.mlir.diagnostics import DiagnosticSink
    from tuninglink.specs.model import Spec

KNOBS: Final = (
    *("workgroup", "reduction", "thread", "subgroup", "serial", "partial_reduction"),
    *("mma_kind", "promote_operands", "promotion_types", "subgroup_basis", "lane_basis"),
    *("padding", "padding_conv", "convert_acc_gemm"),
)
"""The knobs of a `#iree_gpu.lowering_config` that code generation reads.

Source: the strings of the compiler's library, `iree-base-compiler` 3.13.
"""

_PER_LOOP: Final = ("workgroup", "reduction", "thread", "subgroup", "serial", "partial_reduction")
"""The knobs that have a size for each loop."""

_READ: Final = (
    *(names.COMPILATION_INFO, names.LOWERING_CONFIG, names.TRANSLATION_INFO),
    names.DECOMPOSITION_CONFIG,
)
"""The attributes of an operation that the compiler takes a configuration from."""

_LIKE: Final = 0.8
"""How much of two names must be the same for one to be the other, misspelt."""


def check_configurations(
    spec: Spec,
    diagnostics: DiagnosticSink,
    target: Target | None = None,
    positions: Iterable[int] | None = None,
) -> None:
    """Reports what is wrong with the configurations of a spec's entries.

    Args:
        spec: a spec that the compiler's verifier takes.
        diagnostics: where the findings go.
        target: what the configurations are for, if that is known.
        positions: the positions of the entries to check; None for all.
    """
    _check_annotations(spec, diagnostics)
    reported: set[tuple[mlir.Attribute, str]] = set()
    known: dict[Hashable, tuple[_Fault, ...]] = {}
    for position in range(len(spec.anatomy.pairs)) if positions is None else positions:
        entry = spec.anatomy.entry(position)
        matcher = spec.anatomy.table.lookup(entry.matcher)
        is_for_target = target is not None and covers(entry_binding(entry), target)
        matched = _matched(matcher)
        for value in (settings_of(spec, entry) or {}).values():
            key = (value, is_for_target, matched)  # which many entries have in common
            if key not in known:
                known[key] = tuple(_findings(value, target if is_for_target else None, matched))
            for finding in known[key]:
                if (value, finding.message) in reported:
                    continue
                reported.add((value, finding.message))
                emit = diagnostics.error if finding.is_error else diagnostics.warning
                at = _constant(matcher, value) or matcher
                notes = [note(finding.remedy, at)] if finding.remedy else []
                emit(f"entry '{entry.matcher}': {finding.message}", at, notes)


def _check_annotations(spec: Spec, diagnostics: DiagnosticSink) -> None:
    table = spec.anatomy.table
    for action in dict.fromkeys(action for _, action in spec.anatomy.pairs):
        for each in table.annotations(action) or ():
            meant = _misspelt(each.name, _READ)
            if meant:
                diagnostics.warning(
                    f"action '@{action}' sets '{each.name}', which the compiler does not read: what its entries "
                    f"match stays as it is; did you mean '{meant}'?",
                    table.lookup(action),
                )


@dataclass(frozen=True)
class _Fault:
    message: str
    remedy: str = ""
    is_error: bool = False


def _findings(
    value: mlir.Attribute, target: Target | None, matched: _Matched | None
) -> Iterator[_Fault]:
    """Yields what is wrong with a configuration for a target, if there is one, and for what is matched."""
    reason = why_foreign(value, target) if target is not None else ""
    if reason:
        remedy = f"bind the entry to what it is for, 'tuninglink.targets' on the matcher, if that is not {target}"
        yield _Fault(reason, remedy, is_error=True)
    lowering = value
    if isinstance(value, iree_codegen.CompilationInfoAttr):
        lowering = value.lowering_config
    if not isinstance(lowering, iree_gpu.LoweringConfigAttr):
        return
    knobs = entries_of(lowering.attributes)
    yield from _unread(knobs)
    if matched is None:
        return
    if not _is_igemm(value):  # a convolution as a matmul has fewer loops
        yield from _ranks(knobs, matched)
    yield from _types(lowering, matched)


def _is_igemm(value: mlir.Attribute) -> bool:
    translation = getattr(value, "translation_info", None)
    if not isinstance(translation, iree_codegen.TranslationInfoAttr):
        return False
    options = entries_of(translation.configuration).get("gpu_pipeline_options")
    return isinstance(options, iree_gpu.PipelineOptionsAttr) and bool(options.use_igemm_convolution)


def _unread(knobs: Iterable[str]) -> Iterator[_Fault]:
    for name in knobs:
        if meant := _misspelt(name, KNOBS):
            yield _Fault(f"code generation reads no '{name}'; did you mean '{meant}'?")


def _misspelt(name: str, known: Sequence[str]) -> str:
    """Returns the known name that `name` is meant to be; nothing if it is known, or like none."""
    return "" if name in known else nearest(name, known, cutoff=_LIKE)


@dataclass(frozen=True)
class _Matched:
    """What a matcher asks of a contraction or a convolution.

    Attributes:
        loops: how many loops it has.
        types: the element types of its operands.
    """

    loops: int
    types: tuple[str, str]


def _matched(matcher: mlir.Operation | None) -> _Matched | None:
    """Returns what a matcher asks of the operation that it is given, None if it asks for no contraction."""
    for operation in body(matcher) if matcher is not None and matcher.regions[0].blocks else ():
        if operation.name not in (names.MATCH_CONTRACTION, names.MATCH_CONVOLUTION):
            continue
        maps = operation.attributes.get("indexing_maps")
        types = [operation.attributes.get(each) for each in ("lhs_type", "rhs_type")]
        if not isinstance(maps, mlir.ArrayAttr) or not len(maps):
            return None
        lhs, rhs = (str(each.value) if isinstance(each, mlir.TypeAttr) else "" for each in types)
        return _Matched(mlir.AffineMapAttr(maps[0]).value.n_dims, (lhs, rhs))
    return None


def _ranks(knobs: dict[str, mlir.Attribute], matched: _Matched) -> Iterator[_Fault]:
    for name in _PER_LOOP:
        sizes = knobs.get(name)
        if isinstance(sizes, mlir.ArrayAttr) and len(sizes) != matched.loops:
            yield _Fault(
                f"'{name}' has {_count(len(sizes), 'size')} for the {_count(matched.loops, 'loop')} that the "
                "matcher asks for",
                "there is one size for each loop, 0 for one that is not tiled",
            )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _types(lowering: iree_gpu.LoweringConfigAttr, matched: _Matched) -> Iterator[_Fault]:
    kind = lowering.mma_kind
    name = intrinsic_name(kind) if kind is not None else None
    if kind is None or name is None or not all(matched.types):
        return
    types = element_types(kind)[:2]
    if sorted(types) != sorted(matched.types):
        yield _Fault(
            f"'{name}' multiplies {'·'.join(types)}, the matcher asks for {'·'.join(matched.types)}",
            "choose an intrinsic for the types that are matched",
            is_error=True,
        )


def _constant(matcher: mlir.Operation | None, value: mlir.Attribute) -> mlir.Operation | None:
    """Returns the constant in a matcher that holds a configuration, None if it is elsewhere."""
    if matcher is None:
        return None
    constants = (each for each in body(matcher) if each.name == names.PARAM_CONSTANT)
    return next((each for each in constants if each.attributes["value"] == value), None)
