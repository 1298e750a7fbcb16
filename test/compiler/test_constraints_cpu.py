"""Our own constraints for llvm-cpu: right about what the compiler refuses, never against what it chooses."""

from __future__ import annotations

import random
from itertools import islice

import pytest
from cpu_dispatches import (
    CONVOLUTION,
    DOUBLE_TILING,
    compile_configured,
    configuration_of,
    dispatch_of,
    judge,
    matmul,
    registry,
    sources_for,
)
from generated_programs import random_program
from hypothesis import given, settings, strategies as st
from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager
from programs import TARGETS, configure, configured_programs

from tuninglink.iree import CpuLevel, OpKind, find_root_ops, read_cpu_configuration
from tuninglink.mlir import names
from tuninglink.solver import AssignmentError, Limits, UndecidedError, Verdict
from tuninglink.spaces import verify_configuration
from tuninglink.spaces.cpu import LOOP_PEELING, PIPELINES, CpuProvider, CpuSpace, neighbors
from tuninglink.spaces.model import Problem, Workload, read_configuration, read_workload

MMT4D = "#iree_cpu.pipeline<Mmt4dTilingExpert>"
X86 = (
    '#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {native_vector_size = 16 : i64, '
    'target_triple = "x86_64-unknown-unknown-eabi-elf"}>'
)


def dispatch(m: object = 256, n: object = 256, k: object = 512, target: str = X86) -> Workload:
    lhs, rhs, out = f"tensor<{m}x{k}xf32>", f"tensor<{k}x{n}xf32>", f"tensor<{m}x{n}xf32>"
    operation = f"linalg.matmul ins(%0, %1 : {lhs}, {rhs}) outs(%2 : {out}) -> {out}"
    return _dispatch(operation, (lhs, rhs, out), target)


def _dispatch(operation: str, kinds: tuple[str, str, str], target: str = X86) -> Workload:
    arguments = ", ".join(f"%{number}: {kind}" for number, kind in enumerate(kinds))
    module = mlir.Module.parse(
        f"func.func @f({arguments}) -> {kinds[2]} attributes {{hal.executable.target = {target}}} {{\n"
        f"  %3 = {operation}\n  return %3 : {kinds[2]}\n}}",
        mlir.Context(),
    )
    function = module.body.operations[0].operation
    root = function.regions[0].blocks[0].operations[0].operation
    return read_workload(root, function, module.operation)


def space(pipeline: str = DOUBLE_TILING, **sizes: object) -> CpuSpace:
    (found,) = CpuProvider().spaces(dispatch(**sizes), pipeline)
    assert isinstance(found, CpuSpace)
    return found


def verdicts(configured: str) -> list[tuple[Verdict, str]]:
    found = []
    for part in configured.split("// -----"):
        module = mlir.Module.parse(part, mlir.Context())
        for each in find_root_ops(module.operation):
            for root in each.roots:
                configuration = read_configuration(root, each.function)
                if configuration is None:
                    continue
                what = read_workload(root, each.function)
                answer = verify_configuration(what, configuration, registry())
                words = "; ".join(map(str, answer.violations)) or answer.reason
                found.append((answer.verdict, f"{words}\n{root}"))
    return found


def test_what_the_compiler_chooses_is_never_refuted() -> None:
    found = verdicts(configured_programs("llvm-cpu"))
    assert [words for verdict, words in found if verdict is Verdict.REFUTED] == []
    proven = sum(verdict is Verdict.PROVEN for verdict, _ in found)
    assert proven >= 0.6 * len(found) > 30


@pytest.mark.parametrize("seed", range(4))
def test_what_it_chooses_for_random_programs_is_never_refuted(seed: int) -> None:
    program = random_program(random.Random(seed), formed=seed % 2 == 0)
    found = verdicts(configure(program, *TARGETS["llvm-cpu"]))
    assert found
    assert [words for verdict, words in found if verdict is Verdict.REFUTED] == []


# --- Against the compiler ------------------------------------------------------------------------------------

TILES = st.sampled_from((0, 0, 0, 1, 4, 8, 16, 64))
LEVELS = st.fixed_dictionaries(
    {CpuLevel.DISTRIBUTION.value: st.lists(TILES, min_size=3, max_size=3)},
    optional={
        level.value: st.lists(TILES, max_size=3)
        for level in CpuLevel
        if level is not CpuLevel.DISTRIBUTION
    },
)


def is_refused(
    configured: Workload, levels: dict[str, list[int]], pipeline: str = DOUBLE_TILING
) -> bool:
    """Return whether the compiler's verifier of configurations refuses one."""
    context = configured.root.context
    info = configuration_of(pipeline, levels, context)
    configured.root.attributes[names.LOWERING_CONFIG] = info.lowering_config
    configured.function.attributes[names.TRANSLATION_INFO] = info.translation_info
    try:
        with context:
            manager = PassManager.parse("builtin.module(iree-llvmcpu-select-lowering-strategy)")
            manager.run(configured.module)
    except mlir.MLIRError:
        return True
    return False


@given(LEVELS)
@settings(max_examples=40)
def test_levels_are_kept_apart_as_the_compiler_does_it(levels: dict[str, list[int]]) -> None:
    (found,) = CpuProvider().spaces(what := dispatch(), DOUBLE_TILING)
    refused = is_refused(what, levels)
    configuration = read_configuration(what.root, what.function)
    assert configuration is not None
    answer = found.constraints.check(found.assignment(configuration))
    separating = [each for each in answer.violations if "must be 0" in each.message]
    assert bool(separating) == refused
    if refused:
        assert answer.verdict is Verdict.REFUTED


CONVOLUTIONS = {
    "linalg.conv_2d_nhwc_hwcf": ("2x9x9x4", "3x3x4x8", "2x7x7x8"),
    "linalg.conv_2d_nchw_fchw": ("2x4x9x?", "8x4x3x3", "2x8x7x?"),
    "linalg.depthwise_conv_2d_nhwc_hwc": ("2x9x9x4", "3x3x4", "2x7x7x4"),
    "linalg.pooling_nhwc_sum": ("2x9x?x4", "3x3", "2x7x?x4"),
    "linalg.pooling_nchw_max": ("2x4x9x9", "3x3", "2x4x7x7"),
    "linalg.conv_1d_nwc_wcf": ("2x9x4", "3x4x8", "2x7x8"),
}


@pytest.mark.parametrize("operation", sorted(CONVOLUTIONS))
def test_named_convolutions_are_refuted_exactly_where_the_compiler_refuses_them(
    operation: str,
) -> None:
    image, filters, out = (f"tensor<{each}xf32>" for each in CONVOLUTIONS[operation])
    what = _dispatch(
        f"{operation} ins(%0, %1 : {image}, {filters}) outs(%2 : {out}) -> {out}",
        (image, filters, out),
    )
    loops = len(what.problem.dimensions)
    choice = random.Random(operation)
    seen = set()
    for _ in range(40):
        levels = {
            level: [choice.choice((0, 0, 1, 1, 1, 7, 3, 2)) for _ in range(loops)]
            for level in ("distribution", "vector_common_parallel", "vector_reduction")
            if choice.random() < 0.95
        }
        refused = is_refused(what, levels, CONVOLUTION)
        seen.add(refused)
        configuration = read_configuration(what.root, what.function)
        assert configuration is not None
        answer = verify_configuration(what, configuration, registry())
        assert (answer.verdict is Verdict.REFUTED) == refused, (levels, answer)
    assert True in seen


SAMPLE = {
    "znver4": [
        ((64, 64), (8, 16), 16, Verdict.PROVEN),
        ((60, 64), (16, 16), 16, Verdict.PROVEN),
        ((60, 64), (32, 32), 16, Verdict.REFUTED),
        ((64, 64), (64, 64), 2, Verdict.REFUTED),
        ((64, 64), (64, 64), 1, Verdict.PROVEN),
    ],
    "neoverse-v1": [
        ((16, 16), (8, 8), 8, Verdict.PROVEN),
        ((64, 64), (32, 16), 4, Verdict.REFUTED),
    ],
    "aarch64": [((60, 64), (32, 16), 4, Verdict.PROVEN), ((64, 64), (32, 16), 4, Verdict.REFUTED)],
}
CASES = [(cpu, *case) for cpu, cases in SAMPLE.items() for case in cases]


@pytest.mark.parametrize(("cpu", "distribution", "vector", "reduction", "verdict"), CASES)
def test_a_sample_compiles_or_does_not_as_the_verdict_says(
    cpu: str,
    distribution: tuple[int, int],
    vector: tuple[int, int],
    reduction: int,
    verdict: Verdict,
) -> None:
    sources = sources_for(matmul(128, 128, 64), cpu)
    what = dispatch_of(sources)
    levels = {
        "distribution": (*distribution, 0),
        "vector_common_parallel": (*vector, 0),
        "vector_reduction": (0, 0, reduction),
    }
    info = configuration_of(DOUBLE_TILING, levels, what.root.context)
    assert judge(what, info).verdict is verdict
    outcome = compile_configured(sources, cpu, info)
    assert (outcome.result == "compiled") == (verdict is Verdict.PROVEN), outcome.message


def test_a_configuration_of_a_convolution_without_batch_is_lost() -> None:
    image, filters, out = "1x18x18x4xf32", "3x3x4x8xf32", "1x16x16x8xf32"
    program = (
        f"func.func @main(%0: tensor<{image}>, %1: tensor<{filters}>, %init: tensor<{out}>) -> tensor<{out}> {{\n"
        f"  %2 = linalg.conv_2d_nhwc_hwcf ins(%0, %1 : tensor<{image}>, tensor<{filters}>)"
        f" outs(%init : tensor<{out}>) -> tensor<{out}>\n  return %2 : tensor<{out}>\n}}"
    )
    sources = sources_for(program, "x86_64")
    what = dispatch_of(sources)
    assert what.problem.kind is OpKind.CONVOLUTION
    assert len(what.problem.dimensions) == 6
    (found,) = CpuProvider().spaces(what, DOUBLE_TILING)
    assert not found.constraints.sample(1)
    levels = {"distribution": (2, 16, 8, 0, 0, 0), "vector_common_parallel": (1, 4, 4, 0, 0, 0)}
    info = configuration_of(DOUBLE_TILING, levels, what.root.context)
    answer = judge(what, info)
    assert answer.verdict is Verdict.REFUTED
    assert "batch loop" in answer.violations[0].message
    # The pipeline is built for the configuration of a root op, which no longer exists.
    assert "failed to build pass pipeline" in compile_configured(sources, "x86_64", info).message


def test_only_rows_and_columns_of_a_generic_convolution_are_tried() -> None:
    maps = ", ".join(
        f"affine_map<(b, y, x, o, r, s, c) -> ({each})>"
        for each in ("b, y + r, x + s, c", "r, s, c, o", "b, y, x, o")
    )
    kinds = ("tensor<2x18x18x8xf32>", "tensor<3x3x8x16xf32>", "tensor<2x16x16x16xf32>")
    iterators = ", ".join(['"parallel"'] * 4 + ['"reduction"'] * 3)
    what = _dispatch(
        f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}} "
        f"ins(%0, %1 : {kinds[0]}, {kinds[1]}) outs(%2 : {kinds[2]}) {{\n^bb0(%a: f32, %b: f32, %c: f32):\n"
        "%p = arith.mulf %a, %b : f32\n%s = arith.addf %c, %p : f32\nlinalg.yield %s : f32\n"
        f"}} -> {kinds[2]}",
        kinds,
    )
    (found,) = CpuProvider().spaces(what, CONVOLUTION)
    sample = found.constraints.sample(40)
    assert len(sample) == 40
    for knobs in sample:
        # The part of the rows and columns, of the result and of the filter, that a vector tile leaves
        parts = [
            min(knobs[f"{level}[{loop}]"] or size, size)
            for level, loop, size in (
                ("vector_common_parallel", 1, knobs["distribution[1]"] or 16),
                ("vector_common_parallel", 2, knobs["distribution[2]"] or 16),
                ("vector_reduction", 4, 3),
                ("vector_reduction", 5, 3),
            )
        ]
        assert parts[::2] == [1, 1] or parts[1::2] == [1, 1], knobs


def test_what_may_not_be_vectorized_is_not_refuted() -> None:
    kind, values, places = "tensor<64x512xf32>", "tensor<64xf32>", "tensor<64xi32>"
    program = (
        f"func.func @main(%0: {kind}, %1: {values}, %2: {places}) -> ({values}, {places}) {{\n"
        "  %3:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, "
        'affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}\n'
        f"      ins(%0 : {kind}) outs(%1, %2 : {values}, {places}) {{\n"
        "    ^bb0(%x: f32, %most: f32, %place: i32):\n"
        "      %here = arith.fptosi %x : f32 to i32\n"
        "      %is_more = arith.cmpf ogt, %x, %most : f32\n"
        "      %value = arith.select %is_more, %x, %most : f32\n"
        "      %where = arith.select %is_more, %here, %place : i32\n"
        f"      linalg.yield %value, %where : f32, i32\n  }} -> ({values}, {places})\n"
        f"  return %3#0, %3#1 : {values}, {places}\n}}"
    )
    sources = sources_for(program, "znver4")
    what = dispatch_of(sources)
    assert what.problem.kind is OpKind.REDUCTION
    levels = {"distribution": (32, 0), "vector_common_parallel": (32, 0)}
    info = configuration_of(DOUBLE_TILING, levels, what.root.context)
    assert judge(what, info).verdict is Verdict.NOT_DECIDED
    assert compile_configured(sources, "znver4", info).result == "compiled"


# --- The space of a real matmul ------------------------------------------------------------------------------


def test_what_is_enumerated_is_valid_and_complete() -> None:
    found = space(m=64, n=48, k=32)
    everything = list(found.constraints.enumerate(seed=3))
    assert len({tuple(each.values()) for each in everything}) == len(everything)
    assert found.constraints.count().count == len(everything) > 1000
    for each in everything[:: len(everything) // 50]:
        assert found.constraints.check(each).verdict is Verdict.PROVEN
    first = list(islice(found.constraints.enumerate(seed=3), 5))
    assert first == everything[:5]


def test_a_large_space_is_sampled_and_counted() -> None:
    found = space(m=2048, n=1280, k=5120)
    sample = found.constraints.sample(20, seed=1)
    assert len({tuple(each.values()) for each in sample}) == 20
    assert all(found.constraints.check(each).verdict is Verdict.PROVEN for each in sample)
    assert found.constraints.count().verdict is Verdict.PROVEN


@given(st.lists(st.integers(-3, 300), min_size=18, max_size=18))
@settings(max_examples=10)
def test_the_nearest_configuration_is_valid_and_not_further_than_a_sampled_one(
    values: list[int],
) -> None:
    found = space(m=32, n=32, k=32)
    wanted = dict(zip((each.name for each in found.constraints.knobs), [*values, 0], strict=True))
    answer = found.constraints.nearest(wanted)
    assert answer.verdict is Verdict.PROVEN
    assert answer.assignment is not None
    assert found.constraints.check(answer.assignment).verdict is Verdict.PROVEN
    for each in found.constraints.sample(10):
        assert len(answer.changed) <= sum(each[name] != wanted[name] for name in wanted)


def test_a_configuration_is_written_as_it_is_read() -> None:
    found = space()
    for each in found.constraints.sample(20):
        info = found.compilation_info(each)
        what = dispatch()
        what.root.attributes[names.COMPILATION_INFO] = mlir.Attribute.parse(
            str(info), what.root.context
        )
        configuration = read_configuration(what.root, what.function)
        assert configuration is not None
        assert found.assignment(configuration) == each


# --- Bad input -----------------------------------------------------------------------------------------------


def test_strange_values_are_answered_in_words() -> None:
    found = space()
    knobs = {each.name: 0 for each in found.constraints.knobs}
    assert found.constraints.check(knobs).verdict is not Verdict.PROVEN
    huge = knobs | {"distribution[0]": 1 << 70}
    assert found.constraints.check(huge).verdict in set(Verdict)
    with pytest.raises(AssignmentError, match="make no configuration"):
        found.compilation_info(huge)
    with pytest.raises(AssignmentError, match="has no knob 'workgroup_0'"):
        found.constraints.check(knobs | {"workgroup_0": 1})
    with pytest.raises(AssignmentError, match="is not an integer"):
        found.constraints.check(knobs | {"distribution[0]": "many"})  # type: ignore[dict-item]
    with pytest.raises(AssignmentError, match="there is no value for knob"):
        found.constraints.check({})


@pytest.mark.parametrize("sizes", [(0, 8, 8), (1, 1, 1), ("?", "?", "?"), (1 << 40, 8, 8)])
def test_strange_shapes_have_spaces(sizes: tuple[object, object, object]) -> None:
    m, n, k = sizes
    found = space(m=m, n=n, k=k)
    sample = found.constraints.sample(3)
    assert sample
    assert all(found.constraints.check(each).verdict is Verdict.PROVEN for each in sample)


@pytest.mark.parametrize(
    "target", ['#hal.executable.target<"vmvx", "vmvx-bytecode-fb">', '"nothing"', "unit"]
)
def test_other_targets_are_not_decided(target: str) -> None:
    with pytest.raises(UndecidedError, match="the target is unknown, or not a CPU"):
        CpuProvider().spaces(dispatch(target=target), DOUBLE_TILING)


def test_an_operation_without_known_loops_is_not_decided() -> None:
    what = dispatch()
    nothing = Workload(what.root, what.function, what.target, Problem(OpKind.OTHER), what.module)
    with pytest.raises(UndecidedError, match=r"which loops 'linalg\.matmul' has is not known"):
        CpuProvider().spaces(nothing, DOUBLE_TILING)


def test_where_nothing_is_certain_nothing_is_proposed() -> None:
    found = space(MMT4D)
    knobs = {each.name: 0 for each in found.constraints.knobs}
    assert found.constraints.check(knobs).verdict is Verdict.NOT_DECIDED
    assert found.constraints.nearest(knobs).verdict is Verdict.NOT_DECIDED
    assert found.constraints.count().verdict is Verdict.NOT_DECIDED
    with pytest.raises(UndecidedError):
        found.constraints.sample(1)
    with pytest.raises(UndecidedError):
        next(found.constraints.enumerate())
    assert found.constraints.check(knobs | {"distribution[0]": -1}).verdict is Verdict.REFUTED


def test_every_pipeline_is_one_of_the_compiler() -> None:
    with mlir.Context():
        for each in PIPELINES:
            assert str(mlir.Attribute.parse(each)) == each
    assert {DOUBLE_TILING, CONVOLUTION, MMT4D} <= set(PIPELINES)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("<>", {}),
        ("<distribution = []>", {"distribution": ((), frozenset(), ())}),
        (
            "<distribution = {sizes = [8, [4]], interchange = [1, 0]}>",
            {"distribution": ((8, 4), frozenset({1}), (1, 0))},
        ),
        ("<other = 4 : i64>", {"other": None}),
    ],
)
def test_configurations_are_read(text: str, levels: dict[str, object]) -> None:
    attribute = mlir.Attribute.parse(f"#iree_cpu.lowering_config{text}", mlir.Context())
    found = read_cpu_configuration(attribute)
    assert found is not None
    read = {
        name: each and (each.sizes, each.scalable, each.interchange) for name, each in found.items()
    }
    assert read == levels
    assert read_cpu_configuration(mlir.Attribute.parse("unit", attribute.context)) is None


def test_peeling_is_a_knob() -> None:
    found = space()
    assert {0, 1} == {each[LOOP_PEELING] for each in found.constraints.sample(50)}


def test_an_operation_whose_result_is_stored_by_index_has_candidates() -> None:
    """Data tiling packs a result with a `map_store`, which is tiled with the root op."""
    kind, packed = "tensor<1x128x48x48xf32>", "tensor<48x3x128x16x1xf32>"
    module = mlir.Module.parse(
        f"""
        #image = affine_map<(n, c, h, w, i, j) -> (n, c, h + i, w + j)>
        #filter = affine_map<(n, c, h, w, i, j) -> (c, i, j)>
        #result = affine_map<(n, c, h, w, i, j) -> (n, c, h, w)>
        func.func @f(%image: tensor<1x128x50x50xf32>, %filter: tensor<128x3x3xf32>, %sum: {kind}) -> {packed}
            attributes {{hal.executable.target = {X86}}} {{
          %true = arith.constant true
          %0 = linalg.generic {{
              indexing_maps = [#image, #filter, #result],
              iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}}
              ins(%image, %filter : tensor<1x128x50x50xf32>, tensor<128x3x3xf32>) outs(%sum : {kind}) {{
          ^bb0(%a: f32, %b: f32, %c: f32):
            %p = arith.mulf %a, %b : f32
            %s = arith.addf %c, %p : f32
            linalg.yield %s : f32
          }} -> {kind}
          %1 = tensor.empty() : {packed}
          %2 = iree_linalg_ext.map_store %0 into %1 {{
          ^bb0(%n: index, %c: index, %h: index, %w: index):
            %zero = arith.constant 0 : index
            %l:2 = affine.delinearize_index %w into (3, 16) : index, index
            iree_linalg_ext.yield %h, %l#0, %c, %l#1, %zero, %true : index, index, index, index, index, i1
          }} : {kind} into {packed} -> {packed}
          return %2 : {packed}
        }}""",
        mlir.Context(),
    )
    (roots,) = find_root_ops(module.operation)
    workload = read_workload(roots.roots[0], roots.function)
    (store,) = [each for each in neighbors(workload) if "map_store" in each.what]
    assert store.shared == (0, 1, 2, 3)
    assert store.own == 1
    (space,) = CpuProvider().spaces(workload, DOUBLE_TILING)
    assert len(list(islice(space.constraints.draws(0, Limits()), 8))) == 8
