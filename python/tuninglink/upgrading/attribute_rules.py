"""Rules for attributes, in the order of their application: intrinsics, lowering configs, translation infos, pipelines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import gcd
from typing import Final

from tuninglink.iree import CPU_PIPELINES, gpu_enumerators, unknown
from tuninglink.upgrading import operation_rules  # noqa: F401 - its rules come first
from tuninglink.upgrading.rule_definition import (
    REGISTRY,
    AttributeSite,
    Refusal,
    UpgradeRule,
    attribute_rule,
)
from tuninglink.upgrading.trees import (
    SUBGROUP_COUNTS,
    TILE_AND_FUSE,
    TILE_SIZES_CONFIG,
    VECTOR_DISTRIBUTE,
    CompilationInfo,
    Field,
    Leaf,
    Node,
    as_node,
    copied,
    enumerator,
    integer,
    integers,
    levels_of,
    options_of,
    set_subgroup_basis,
    subgroup_counts,
)

_SOURCE: Final = "compiler/src/iree/compiler/Codegen/Dialect"
_COMPILATION_INFO: Final = "iree_codegen.compilation_info"
_TRANSLATION_INFO: Final = "iree_codegen.translation_info"
_OPTIONS: Final = "translation_info.options"
_PIPELINE_OPTIONS: Final = "iree_gpu.pipeline_options"
_LOWERING_CONFIG: Final = "iree_gpu.lowering_config"
_TILE_SIZES: Final = "iree_codegen.lowering_config"
_MMA: Final = "#iree_gpu.mma_layout"
_VIRTUAL_MMA: Final = "#iree_gpu.virtual_mma_layout"

# --- Intrinsics ----------------------------------------------------------------------------------

_PREFIXES: Final = {"#iree_gpu.mfma_layout": "MFMA_", "#iree_gpu.wmma_layout": "WMMA_"}


@attribute_rule(
    "iree_gpu.mfma_layout",
    "iree_gpu.wmma_layout",
    since=(2, 9),
    evidence=(f"iree@bc987188c017ce9c6c0d7d9101f6fe8e1ea38f66:{_SOURCE}/GPU/IR/IREEGPUAttrs.td",),
)
def mma_layouts(site: AttributeSite) -> None:
    """`mfma_layout` and `wmma_layout` became `mma_layout`. The kind is part of the enumerator."""
    node, prefix = site.node, _PREFIXES[site.node.head]
    intrinsic = node.positional()
    if intrinsic is not None and isinstance(intrinsic.value, Leaf):
        site.changed(f"'{node.head}' is '{_MMA}'")
        node.head = _MMA
        if not intrinsic.value.text.startswith(prefix):
            intrinsic.value = Leaf(prefix + intrinsic.value.text)


@attribute_rule(_VIRTUAL_MMA[1:], since=(3, 7), evidence=("iree#21537",))
def virtual_intrinsics(site: AttributeSite) -> None:
    """`virtual_mma_layout<intrinsic = X>` became `virtual_mma_layout<X>`."""
    field = site.node.find("intrinsic")
    if field is not None and field.key is not None:
        field.key = None
        site.changed("the virtual intrinsic is written without 'intrinsic ='")


_OLD_INTRINSIC: Final = re.compile(
    r"(?P<kind>V?MFMA|WMMA|NV_WMMA|NV_MMA_SYNC)_(?P<operands>[A-Z]\w*?)_(?P<shape>\d+x\d+x\d+)_(?P<result>\w+)"
)


@attribute_rule(_MMA[1:], _VIRTUAL_MMA[1:], since=(3, 3), evidence=("iree#18127", "iree#20048"))
def intrinsic_names(site: AttributeSite) -> None:
    """Intrinsics are named `KIND_RESULT_MxNxK_OPERANDS`, and those of WMMA include the architecture."""
    node, field = site.node, site.node.positional()
    if field is None or not isinstance(field.value, Leaf):
        return
    layouts = {
        _MMA: gpu_enumerators("MMAIntrinsic"),
        _VIRTUAL_MMA: gpu_enumerators("VirtualMMAIntrinsic"),
    }
    name = field.value.text
    if name in layouts.get(node.head, layouts[_MMA]):
        return
    # Possible present names, the likeliest first. `WMMA` without a number is older than RDNA4.
    match = _OLD_INTRINSIC.fullmatch(name)
    turned = "{kind}_{result}_{shape}_{operands}".format(**match.groupdict()) if match else name
    candidates = [turned] if match else []
    if turned.startswith("WMMA_"):
        candidates.append("WMMAR3" + turned.removeprefix("WMMA"))
    candidates.append(name)
    for candidate in candidates:
        head = next((head for head, present in layouts.items() if candidate in present), None)
        if head is not None:
            field.value = Leaf(candidate)
            node.head = head if node.head or head != _MMA else ""
            site.changed(f"intrinsic '{name}' is '{candidate}'")
            return
    everything = frozenset().union(*layouts.values())
    raise Refusal(unknown("intrinsic", name, everything, likely=candidates[0]))


# --- The syntax of lowering configs and translation infos ----------------------------------------


@attribute_rule(_LOWERING_CONFIG, since=(3, 7), evidence=("iree#21412",))
def lane_basis(site: AttributeSite) -> None:
    """`thread_basis` in a lowering config became `lane_basis`. Today's pipelines ignore the old name."""
    levels = levels_of(site.node)
    field = levels.find("thread_basis") if levels is not None else None
    if field is not None and field.key is not None:
        field.key = "lane_basis"
        site.changed("'thread_basis' is 'lane_basis'")


@attribute_rule(
    _TILE_SIZES,
    since=(2, 9),
    evidence=(
        f"iree@004152ecc3865e995638b2119b5d01e3049599ea:{_SOURCE}/Codegen/IR/IREECodegenAttrs.td",
    ),
)
def elided_lowering_config(site: AttributeSite) -> None:
    """`lowering_config = <…>` in a compilation info requires its name."""
    if not site.node.head and site.node.bracket == "<":
        site.node.head = TILE_SIZES_CONFIG
        site.changed("the lowering config is written with its name")


@attribute_rule(_TILE_SIZES, since=(3, 6), evidence=("iree#21322",))
def native_vector_size(site: AttributeSite) -> None:
    """`native_vector_size` left the lowering config."""
    if site.node.remove("native_vector_size"):
        site.decided("'native_vector_size' removed: it was ignored, and the target determines it")


@attribute_rule(_LOWERING_CONFIG, since=(2, 9), evidence=("iree#18651",))
def lowering_config_braces(site: AttributeSite) -> None:
    """The fields of a GPU lowering config are in braces."""
    node = site.node
    is_bare = all(field.key is not None and field.value.render() for field in node.fields)
    if node.fields and is_bare:
        node.fields, node.tail = [Field(Node("", "{", node.fields, node.tail))], ""
        site.changed("the fields of the GPU lowering config are in braces")


@attribute_rule(_TRANSLATION_INFO, since=(3, 0), evidence=("iree#19107",))
def pipeline_keyword(site: AttributeSite) -> None:
    """`translation_info<X …>` became `translation_info<pipeline = X …>`."""
    first = site.node.fields[0] if site.node.fields else None
    if first is None or first.key is not None or not isinstance(first.value, Leaf):
        return
    if re.fullmatch(r"[A-Za-z]\w*", first.value.text):
        first.key, first.equals = "pipeline", " = "
        site.changed("the pipeline is written 'pipeline = ...'")


@attribute_rule(
    _TRANSLATION_INFO,
    since=(2, 9),
    evidence=(
        f"iree@5c32ba2dc41be222ff3d8e264cd9fd73e690880c:{_SOURCE}/Codegen/IR/IREECodegenAttrs.td",
        "iree#16665",
    ),
)
def software_pipelining(site: AttributeSite) -> None:
    """`pipeline_depth` and `store_stage` left the translation info with the pipelines that read them."""
    gone = [f"'{name}'" for name in ("pipeline_depth", "store_stage") if site.node.remove(name)]
    if gone:
        site.decided(f"{' and '.join(gone)} removed: today's pipelines ignore it")


@attribute_rule(_COMPILATION_INFO, since=(2, 9), evidence=("iree#16665",))
def workgroup_sizes(site: AttributeSite) -> None:
    """`workgroup_size` and `subgroup_size` moved from the compilation info into the translation info."""
    translation = site.node.node("translation_info")
    if translation is None:
        return
    fields = translation.fields
    for name in ("workgroup_size", "subgroup_size"):
        moved = site.node.remove(name)
        if moved is None or moved.key is None:
            continue
        if translation.find(name) is None:
            sizes = integers(moved.value)
            value = Leaf(f"[{', '.join(map(str, sizes))}]") if sizes else moved.value
            fresh = Field(value, name, lead=" ")
            # In the assembly format it follows the other names, and precedes the options.
            position = len(fields)
            if position > 1 and fields[-1].key is None:
                position -= 1
            if position:
                previous = fields[position - 1]
                fresh.trail, fresh.comma = previous.trail, previous.comma
                previous.trail, previous.comma = "", ""
            else:
                fresh.lead = ""
            fields.insert(position, fresh)
        site.changed(f"'{name}' moved from the compilation info into the translation info")


# --- Options of pipelines ------------------------------------------------------------------------

_WAVES: Final = '"amdgpu-waves-per-eu"'


@attribute_rule(_OPTIONS, since=(2, 9), evidence=("iree#16573", "iree#17308"))
def waves_per_eu(site: AttributeSite) -> None:
    """The option `"waves-per-eu"` became the function attribute `"amdgpu-waves-per-eu"`."""
    node = site.node
    for name in ("waves-per-eu", "waves_per_eu"):
        field, count = node.find(name), integer(node.value(name))
        if field is None or count is None:
            continue
        attributes = node.node("llvm_func_attrs")
        if attributes is None:
            attributes = Node("", "{")
            field.key, field.value = "llvm_func_attrs", attributes
        else:
            node.remove(field)
        if attributes.find(_WAVES.strip('"')) is None:
            attributes.add(_WAVES, f'"{count}"')
        site.changed(f"'{name} = {count}' is the function attribute {_WAVES}")


_STRATEGY: Final = "reorder_workgroups_strategy"
_STRATEGIES: Final = {"none": "None", "transpose": "Transpose", "swizzle": "Swizzle"}
_UNIT_OPTIONS: Final = frozenset(
    {
        "prefetch_shared_memory",
        "no_reduce_shared_memory_bank_conflicts",
        "no_reorder_workgroups",
        "reorder_workgroups",
    }
)


@attribute_rule(_OPTIONS, since=(2, 9), evidence=("iree#17340", "iree#17645", "iree#18458"))
def pipeline_options(site: AttributeSite) -> None:
    """Unit attributes among the options became fields of `gpu_pipeline_options`."""
    fields = [field for field in site.node.fields if field.name in _UNIT_OPTIONS]
    if not fields:
        return
    # The present option for each old one.
    moved: list[tuple[str, str]] = []
    for field in fields:
        name, old = field.name or "", field.value
        text = old.text.strip('"') if isinstance(old, Leaf) and field.key is not None else ""
        if name == "no_reorder_workgroups":
            moved.append((_STRATEGY, "None"))
        elif name != "reorder_workgroups":
            moved.append((name, text if text in {"true", "false"} else "true"))
        elif text.lower() in _STRATEGIES:
            moved.append((_STRATEGY, _STRATEGIES[text.lower()]))
        else:
            raise Refusal(f"unknown strategy to reorder workgroups '{text}'")
    # The new attribute takes the place of the first old one.
    options = site.node.node("gpu_pipeline_options")
    if options is None:
        options = Node(f"#{_PIPELINE_OPTIONS}", "<")
        first = fields.pop(0)
        first.key, first.equals, first.value = "gpu_pipeline_options", " = ", options
    for field in fields:
        site.node.remove(field)
    for name, value in moved:
        if options.find(name) is None:
            options.add(name, value)
    named = ", ".join(f"'{name}'" for name, _ in moved)
    site.changed(f"{named} moved into 'gpu_pipeline_options'")


@attribute_rule(_PIPELINE_OPTIONS, since=(3, 0), evidence=("iree#19039", "iree#19094"))
def reorder_workgroups(site: AttributeSite) -> None:
    """`reorder_workgroups_strategy` takes an attribute, and `Swizzle` is gone."""
    field = site.node.find(_STRATEGY)
    if field is None or field.key is None:
        return
    name = enumerator(field.value)
    if name == "Swizzle":
        site.node.remove(field)
        site.decided(
            "the compiler does not swizzle workgroups any longer: the strategy is gone, and the compiler's default applies"
        )
    elif isinstance(field.value, Leaf) and name in {"None", "Transpose"}:
        field.value = Leaf(f"<{name}>")
        site.changed(f"'{_STRATEGY} = {name}' is '<{name}>'")


_STAGES: Final = {"true": "2", "false": "0"}


@attribute_rule(_PIPELINE_OPTIONS, since=(3, 10), evidence=("iree#22818",))
def prefetch_num_stages(site: AttributeSite) -> None:
    """`prefetch_shared_memory` became `prefetch_num_stages`: 2 for true, 0 for false."""
    field = site.node.find("prefetch_shared_memory")
    if field is None or field.key is None or not isinstance(field.value, Leaf):
        return
    old, stages = field.value.text, _STAGES.get(field.value.text)
    if stages is None:
        return
    if site.node.find("prefetch_num_stages") is not None:
        site.node.remove(field)
    else:
        field.key, field.value = "prefetch_num_stages", Leaf(stages)
        site.changed(f"'prefetch_shared_memory = {old}' is 'prefetch_num_stages = {stages}'")


# --- Tile sizes by level, and the distribution of threads and subgroups over loops ---------------

_RANKS: Final = {
    3: ("a matmul", 1),
    4: ("a batched or broadcast matmul", 1),
    5: ("a contraction", 1),
    6: ("a contraction", 1),
    7: ("a 2-d convolution", 3),
}
"""The assumed operation by number of loops, and its number of trailing reductions."""


def _split_sizes(sizes: list[int], site: AttributeSite) -> tuple[list[int], list[int]]:
    """Split tile sizes into those of a workgroup and those of the reductions."""
    loops, space = len(sizes), site.find_space()
    if space is not None:
        if space.loops < loops:
            raise Refusal(
                f"{loops} tile sizes for an operation with {space.loops} loops: they never fit"
            )
        reductions = space.reductions
    elif loops in _RANKS:
        assumed, count = _RANKS[loops]
        site.decided(
            f"the matcher does not show the operation; with {loops} tile sizes it is assumed to be {assumed}"
        )
        reductions = tuple(range(loops - count, loops))
    else:
        raise Refusal(
            f"the matcher does not show which of the {loops} loops are reductions, and tile sizes on a "
            "GPU depend on that"
        )
    workgroup = [0 if loop in reductions else size for loop, size in enumerate(sizes)]
    return workgroup, [size if loop in reductions else 0 for loop, size in enumerate(sizes)]


@attribute_rule(_COMPILATION_INFO, since=(2, 9), evidence=("iree#18651",))
def tile_levels(site: AttributeSite) -> None:
    """VectorDistribute requires a GPU lowering config.

    It contains `workgroup` and `reduction` sizes, and the promoted operands.
    """
    info = CompilationInfo.of(site.node)
    if info is None or info.pipeline not in VECTOR_DISTRIBUTE:
        return
    if info.lowering.head != TILE_SIZES_CONFIG:
        return
    levels = info.tile_sizes
    if len(levels) != 1:
        raise Refusal(
            f"tile sizes on {len(levels)} levels: VectorDistribute had one level, so their meaning is "
            "unknown"
        )
    sizes = levels[0]
    if sizes is None:
        raise Refusal("tile sizes with interchange or scalable sizes have no counterpart on a GPU")
    workgroup, reduction = _split_sizes(sizes, site)
    info.tile_by_levels(workgroup=workgroup, reduction=reduction)
    site.changed(
        f"tile sizes {sizes} are workgroup {workgroup} and reduction {reduction}; both operands are "
        "promoted, as the pipeline then always did"
    )


_SIMT: Final = "LLVMGPUMatmulSimt"
_DIMENSIONS: Final = 3
"""The dimensions of a workgroup: x, y and z."""


@attribute_rule(_COMPILATION_INFO, since=(3, 1), evidence=("iree#19335",))
def simt_matmuls(site: AttributeSite) -> None:
    """TileAndFuse replaced `LLVMGPUMatmulSimt`.

    The tile sizes of its threads are those that the old pipeline computed from the size of the workgroup.
    """
    info = CompilationInfo.of(site.node)
    if info is None or info.pipeline != _SIMT:
        return
    levels = info.tile_sizes
    sizes = levels[0] if len(levels) == 1 else None
    if sizes is None or info.lowering.head != TILE_SIZES_CONFIG:
        raise Refusal(f"the pipeline '{_SIMT}' is gone; it had one list of tile sizes")
    workgroup, reduction = _split_sizes(sizes, site)
    given = integers(info.translation.value("workgroup_size")) or []
    if not given or integer(info.translation.value("subgroup_size")) is None:
        raise Refusal(
            f"the pipeline '{_SIMT}' did not need a subgroup size, and TileAndFuse, which replaced it, does "
            "(https://github.com/iree-org/iree/pull/19335); the spec does not give it"
        )
    # Divide a workgroup's tile among its threads: the innermost loop along x, the next along y.
    threads = (given + [1] * _DIMENSIONS)[:_DIMENSIONS]
    thread, rest = list(workgroup), list(threads)
    for loop in reversed([loop for loop, size in enumerate(workgroup) if size]):
        along = rest.pop(0) if rest else 1
        if thread[loop] % along:
            raise Refusal(f"{along} threads do not divide the workgroup tile {workgroup}")
        thread[loop] //= along
    if any(threads_left != 1 for threads_left in rest):
        raise Refusal(f"more dimensions of threads, {threads}, than tiled loops, {workgroup}")
    info.tile_by_levels(workgroup=workgroup, reduction=reduction, thread=thread)
    pipeline = info.translation.find("pipeline")
    assert pipeline is not None
    pipeline.value = Leaf("LLVMGPUTileAndFuse")
    site.decided(
        f"pipeline '{_SIMT}' is 'LLVMGPUTileAndFuse' with the same tiles: workgroup {workgroup}, reduction {reduction}, "
        f"thread {thread}, both operands promoted"
    )


@attribute_rule(_COMPILATION_INFO, since=(2, 9), evidence=("iree#17195", "iree#18984"))
def mma_schedule(site: AttributeSite) -> None:
    """`mma_schedule` left the translation info. The intrinsic and the subgroup counts are in the lowering config.

    Tile counts, formerly part of it, follow from the rest.
    """
    info = CompilationInfo.of(site.node)
    options = options_of(info.translation) if info is not None else None
    schedule = options.node("mma_schedule") if options is not None else None
    if info is None or options is None or schedule is None:
        return
    levels, pipeline = info.levels, info.pipeline or ""
    if levels is None:
        _attribute_for(pipeline)  # the pipeline may be gone, which is the better reason
        raise Refusal(
            f"an 'mma_schedule' with the pipeline '{pipeline}': its lowering config has "
            "no place for the intrinsic"
        )
    # Move the intrinsic and the subgroup counts.
    intrinsic = schedule.value("intrinsic")
    if intrinsic is not None and levels.find("mma_kind") is None:
        levels.add("mma_kind", copied(intrinsic), is_first=True)
    for name in SUBGROUP_COUNTS:
        count = schedule.value(name)
        if count is not None and levels.find(name) is None:
            levels.add(name, copied(count))
    # Remove the schedule, and options that become empty.
    options.remove("mma_schedule")
    if not options.fields:
        fields = info.translation.fields
        info.translation.remove(next(field for field in fields if as_node(field.value) is options))
    site.changed("intrinsic and subgroup counts moved from 'mma_schedule' into the lowering config")


_SHAPE: Final = re.compile(r"_(\d+)x(\d+)x\d+")


@attribute_rule(
    _COMPILATION_INFO,
    since=(3, 8),
    evidence=("iree#21895", "iree#21912", "amd-shark-ai#2272"),
)
def subgroup_basis(site: AttributeSite) -> None:
    """`subgroup_m_count` and `subgroup_n_count` became `subgroup_basis` for VectorDistribute.

    TileAndFuse always ignored them.
    """
    info = CompilationInfo.of(site.node)
    levels = info.levels if info is not None else None
    counts = subgroup_counts(levels)
    if info is None or levels is None or counts is None:
        return
    if info.pipeline in TILE_AND_FUSE:
        for name in SUBGROUP_COUNTS:
            levels.remove(name)
        site.changed(
            "subgroup counts removed: TileAndFuse uses the 'subgroup' tile sizes and always ignored the counts"
        )
    if info.pipeline not in VECTOR_DISTRIBUTE:
        return
    sizes = integers(levels.value("workgroup"))
    valid = [count for count in counts if count]
    if sizes is None or len(valid) < len(counts):
        raise Refusal(
            "subgroup counts without workgroup tile sizes: there is nothing to distribute"
        )
    # The loops of rows and of columns.
    space = site.find_space()
    if space is not None and space.is_contraction_like:
        rank, roles = max(space.loops, len(sizes)), (space.product.rows, space.product.columns)
    else:
        reduced = integers(levels.value("reduction")) or []
        tiled = [
            loop for loop, size in enumerate(sizes) if size and not any(reduced[loop : loop + 1])
        ]
        if len(tiled) < len(counts):
            raise Refusal("subgroup counts for an operation without rows and columns")
        rows, columns = tiled[-2:]
        site.decided(
            f"the matcher does not show the operation; loop {rows} is assumed to be its rows, {columns} its columns"
        )
        rank, roles = len(sizes), ((rows,), (columns,))
    # Distribute subgroups as old compilers did: outer loops first, as many as divide.
    kind = levels.node("mma_kind")
    shape = _SHAPE.search(kind.render()) if kind is not None else None
    basis = [1] * rank
    for loops, count, unit in zip(
        roles, valid, map(int, shape.groups()) if shape else (1, 1), strict=True
    ):
        rest = count
        for loop in loops:
            size = sizes[loop] if loop < len(sizes) else 1
            used = gcd(rest, max(1, size // (unit if loop == loops[-1] else 1)))
            basis[loop] *= used
            rest //= used
        if rest != 1:
            tiles = [sizes[loop] for loop in loops if loop < len(sizes)]
            raise Refusal(
                f"{count} subgroups do not divide the workgroup tile {tiles} of an intrinsic of size {unit}: "
                "old compilers accepted that, today's does not"
            )
    text = set_subgroup_basis(levels, basis, range(rank))
    site.changed(f"{valid[0]} x {valid[1]} subgroups are 'subgroup_basis = {text}'")


_BATCHES: Final = 2
"""The assumed number of batch loops of an attention, if the matcher does not show its loops."""


@attribute_rule("decomposition_config", since=(3, 8), evidence=("iree#21912",))
def attention_basis(site: AttributeSite) -> None:
    """Subgroup counts in a `decomposition_config` became a `subgroup_basis` over the attention's loops."""
    for name, levels in _products(site):
        counts = subgroup_counts(levels)
        if levels is None or counts is None:
            continue
        is_first = name == "qk_attrs"
        # The loops of the attention, and those of the product.
        space = site.find_space()
        is_attention = space is not None and space.is_attention
        query, key, value = space.used[:3] if space and is_attention else (frozenset(),) * 3
        query_rows = sorted(query - key - value)
        if space is None or not space.is_attention or not query_rows:
            rank = _BATCHES + 4
            *batches, rows, columns, k1, k2 = range(rank)
            site.decided("the loops of the attention are assumed to be two batches, M, N, K1, K2")
            loops = (*batches, rows, k1, k2) if is_first else (*batches, rows, columns, k2)
        else:
            if space.is_assumed:
                site.decided("the loops of the attention are assumed to be batches, M, N, K1, K2")
            probability = (query - key) | (query & key & value)
            loops = tuple(sorted(query | key if is_first else probability | value))
            results = sorted((probability | value) - query - key)
            rank, rows, columns = space.loops, query_rows[-1], results[-1] if results else -1
        m_count, n_count = counts
        if not m_count or not n_count:
            raise Refusal("subgroup counts of an attention are not numbers")
        if is_first and n_count != 1:
            raise Refusal(
                "subgroups along the keys of an attention: the compiler never distributed them there"
            )
        basis = [1] * rank
        basis[rows] = m_count
        if n_count != 1:
            basis[columns] = n_count
        text = set_subgroup_basis(levels, basis, loops)
        site.changed(f"{m_count} x {n_count} subgroups are 'subgroup_basis = {text}'")


_MARKERS: Final = {"qk_attrs": "attention_qk_matmul", "pv_attrs": "attention_pv_matmul"}
"""The marks of the two products of an attention."""


def _products(site: AttributeSite) -> Iterator[tuple[str, Node | None]]:
    """Yield the products of an attention with the levels of their lowering configs."""
    for name in _MARKERS:
        attributes = site.node.node(name)
        lowering = attributes.node("lowering_config") if attributes is not None else None
        yield name, levels_of(lowering)


@attribute_rule(_LOWERING_CONFIG, since=(3, 8), evidence=("iree#21912",))
def lone_subgroup_counts(site: AttributeSite) -> None:
    """Subgroup counts in a separately annotated lowering config have no effect.

    TileAndFuse, which reads `subgroup` tile sizes, always ignored them. For other pipelines, the entry is excluded.
    """
    levels = levels_of(site.node)
    if levels is None or subgroup_counts(levels) is None:
        return
    if levels.find("subgroup") is None:
        raise Refusal(
            "subgroup counts in a lowering config that is annotated without its pipeline, which determined "
            "how the compiler distributed them"
        )
    for name in SUBGROUP_COUNTS:
        levels.remove(name)
    site.changed(
        "subgroup counts removed: the lowering config has the 'subgroup' tile sizes of TileAndFuse, which "
        "always ignored the counts"
    )


_INTRINSIC: Final = re.compile(r"(?P<kind>V?MFMA)_\w+?_(?P<mn>\d+x\d+)x(?P<k>\d+)_(?P<types>\w+)")
_REUSES: Final = frozenset({("MFMA", "16x16", "16"), ("MFMA", "32x32", "8")})
_REUSES_F8: Final = frozenset({("VMFMA", "16x16", "32"), ("VMFMA", "32x32", "16")})
"""Intrinsics that accept the result of another one of the same shape as right-hand side, without a change of
layout."""


@attribute_rule(
    "decomposition_config", since=(3, 11), evidence=("iree#18505", "iree#23633", "iree#23757")
)
def attention_markers(site: AttributeSite) -> None:
    """The marks `attention_qk_matmul` and `attention_pv_matmul` are gone.

    If they made the compiler transpose both products, the intrinsics get `col_major = true`.
    """
    removed = [
        repr(marker)
        for name, marker in _MARKERS.items()
        if (product := site.node.node(name)) is not None and product.remove(marker)
    ]
    if not removed:
        return
    site.changed(
        f"the marks {', '.join(removed)} are removed, as the compiler no longer reads them"
    )
    kinds = [levels.node("mma_kind") if levels else None for _, levels in _products(site)]
    first, second = kinds
    if first is None or second is None:
        return
    # The second product could reuse the layout of the first one's result if both were transposed.
    result, operand = _INTRINSIC.search(first.render()), _INTRINSIC.search(second.render())
    if result is None or operand is None or result["mn"] != operand["mn"]:
        return
    shape = (operand["kind"], operand["mn"], operand["k"])
    if shape in _REUSES or (shape in _REUSES_F8 and operand["types"].startswith("F8")):
        for kind in (first, second):
            if kind.find("col_major") is None:
                kind.add("col_major", "true")
        site.changed(
            "both intrinsics are 'col_major = true', as the compiler then chose by itself for marked products"
        )


# --- Pipelines: their names, and those that are gone ---------------------------------------------

_ALONE: Final = {
    "None": "#iree_codegen.no_pipeline",
    "TransformDialectCodegen": "#iree_codegen.transform_dialect_codegen",
    "VMVXDefault": "#iree_codegen.vmvx_pipeline",
    "Mmt4dTilingExpert": "#iree_cpu.pipeline<Mmt4dTilingExpert>",
}

_GONE: Final = {
    "LLVMGPUMatmulSimt": "since 3.1 TileAndFuse replaces it, and this configuration lacks the tile sizes of its "
    "levels (https://github.com/iree-org/iree/pull/19335)",
    "LLVMGPUMatmulTensorCore": "since 3.7 no pipeline lowers to warp-level WMMA by these tile sizes",
    "LLVMGPUMatmulTensorCoreMmaSync": "since 3.7 no pipeline lowers to mma.sync by these tile sizes",
    "LLVMGPUPackUnPack": "since 3.4 TileAndFuse does packing, and it tiles by other levels",
    "LLVMGPUPadAndVectorDistribute": "since 3.6; VectorDistribute does not pad, and TileAndFuse, which does, tiles "
    "by other levels (https://github.com/iree-org/iree/pull/21095)",
    "LLVMGPUTransposeSharedMem": "since 3.10 TileAndFuse replaces it, which tiles by other levels "
    "(https://github.com/iree-org/iree/pull/21661)",
    "LLVMGPUWarpReduction": "since 3.7 VectorDistribute replaces it, which needs a layout of threads that "
    "these tile sizes do not determine (https://github.com/iree-org/iree/pull/21821)",
    "CPUDoubleTilingPadExpert": "no pipeline pads by these tile sizes",
    "Custom": "it denotes a pipeline outside of the compiler",
}


@attribute_rule(
    _TRANSLATION_INFO,
    since=(3, 12),
    evidence=("iree#23816", "iree#23851", "iree#23864", "iree#24398"),
)
def pipeline_attributes(site: AttributeSite) -> None:
    """The enumerators of pipelines became attributes of the dialects that own them."""
    field = site.node.find("pipeline")
    if field is None or field.key is None or not isinstance(field.value, Leaf):
        return
    name = field.value.text
    if name.startswith("#"):
        return
    if name == "CPUDoubleTilingPeelingExpert":
        field.value = Leaf("#iree_cpu.pipeline<DoubleTilingExpert>")
        options = options_of(site.node)
        if options is None:
            site.node.add(None, "{enable_loop_peeling}")
        elif options.find("enable_loop_peeling") is None:
            options.add(None, "enable_loop_peeling")
        site.changed(f"pipeline '{name}' is 'DoubleTilingExpert' with 'enable_loop_peeling'")
        return
    attribute = _attribute_for(name)
    field.value = Leaf(attribute)
    site.changed(f"pipeline '{name}' is '{attribute}'")


def _attribute_for(name: str) -> str:
    """Return the attribute that replaces an enumerator, or raise a refusal."""
    families = (
        ("LLVMGPU", "iree_gpu.pipeline", gpu_enumerators("LoweringPipeline")),
        ("SPIRV", "iree_gpu.spirv_pipeline", gpu_enumerators("SPIRVLoweringPipeline")),
        ("CPU", "iree_cpu.pipeline", CPU_PIPELINES),
    )
    for prefix, mnemonic, enumerators in families:
        rest = name.removeprefix(prefix)
        if rest != name and rest in enumerators:
            return f"#{mnemonic}<{rest}>"
    if name in _ALONE:
        return _ALONE[name]
    if name in _GONE:
        raise Refusal(f"the pipeline '{name}' is gone: {_GONE[name]}")
    present = {
        prefix + enumerator for prefix, _, enumerators in families for enumerator in enumerators
    }
    raise Refusal(unknown("pipeline", name, present | _ALONE.keys() | _GONE.keys()))


_OLD_DENORMALS: Final = "denormal-fp-math-f32"
_DENORMALS: Final = "iree_codegen.denormal_fp_math_f32"
_MODES: Final = {
    "preserve-sign": '"preserve-sign"',
    "positive-zero": '"positive-zero"',
    "ieee": "none",
}


@attribute_rule(_OPTIONS, since=(3, 8), evidence=("iree#21840", "iree#21940", "llvm#174293"))
def denormals(site: AttributeSite) -> None:
    """The mode for denormals is an option.

    The function attribute `denormal-fp-math-f32` has no effect since LLVM removed it.
    """
    attributes = site.node.node("llvm_func_attrs")
    # Present specs may still have it, without effect. These are not changed.
    if attributes is None or not site.was_old:
        return
    value = attributes.value(_OLD_DENORMALS)
    if not isinstance(value, Leaf):
        return
    modes = set(value.text.strip('"').split(","))
    mode = _MODES.get(modes.pop()) if len(modes) == 1 else None
    was = f"'{_OLD_DENORMALS} = {value.text}'"
    if mode is None:
        site.decided(f"{was} stays, but has no effect and no counterpart")
        return
    attributes.remove(_OLD_DENORMALS)
    if not attributes.fields:
        site.node.remove("llvm_func_attrs")
    if site.node.find(_DENORMALS) is None:
        site.node.add(_DENORMALS, f"#iree_codegen.denormal_fp_math<{mode}>")
    site.changed(f"{was}, which no longer has an effect, is '{_DENORMALS}'")


RULES: Final[Mapping[str, UpgradeRule]] = REGISTRY
"""Every rule, by name, in the order of application."""
