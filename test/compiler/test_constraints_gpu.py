"""Constraints of our own on GPUs: never more than the compiler's, never against its choices, true to its code."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import programs
import pytest
from configured_programs import configured, only_dispatch
from gpu_programs import attention, configured_source, matmul
from hypothesis import given, strategies as st
from iree.compiler import ir as mlir
from mlir_function import Function
from model_programs import rms_norm, softmax
from programs import PROGRAMS, configure
from verdict_trials import TARGETS, Trials, breaking

from tuninglink.iree import TILE_AND_FUSE, VECTOR_DISTRIBUTE, find_root_ops
from tuninglink.solver import AssignmentError, UndecidedError, Verdict, evaluate, number
from tuninglink.spaces import (
    CompilerProvider,
    IsolatedPassManager,
    ProviderRegistry,
    verify_configuration,
)
from tuninglink.spaces.gpu import DISTRIBUTE, MOST_INTRINSICS, GpuProvider, GpuSpace, is_derivable
from tuninglink.spaces.model import (
    Configuration,
    Dimension,
    MismatchError,
    Workload,
    read_configuration,
    read_workload,
)
from tuninglink.workers import Pool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.spaces.model import Space

LARGE = matmul(2048, 1280, 5120, transposed=True)
BATCHED = matmul(64, 96, 128, batch=4)
BATCHED_F32 = matmul(64, 96, 128, "f32", batch=4)


def ours(dispatch: Workload, pipeline: str) -> list[Space]:
    return list(GpuProvider().spaces(dispatch, pipeline))


def as_configured(space: Space, assignment: dict[str, int]) -> Configuration:
    info = space.compilation_info(assignment)
    return Configuration(info.lowering_config, info.translation_info)  # type: ignore[attr-defined]


def read_by(space: Space, configuration: Configuration) -> Mapping[str, int] | None:
    """Return the values of the knobs, or None if the configuration is of another form."""
    try:
        return space.assignment(configuration)
    except MismatchError:
        return None


# --- Beside the compiler's own -----------------------------------------------------------------------------


@pytest.mark.parametrize("pipeline", [TILE_AND_FUSE, VECTOR_DISTRIBUTE])
@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1201", "sm_80"])
def test_we_accept_nothing_that_the_compiler_refuses(target: str, pipeline: str) -> None:
    dispatch = configured_source(LARGE, target)
    (theirs,) = CompilerProvider().spaces(dispatch, pipeline)
    space = ours(dispatch, pipeline)[0]
    accepted = 0
    for assignment in space.constraints.sample(60, seed=2):
        read = read_by(theirs, as_configured(space, assignment))
        if read is None:
            continue  # they do not speak of one operand promoted alone
        answer = theirs.constraints.check(read)
        assert answer.verdict is Verdict.PROVEN, (assignment, answer)
        accepted += 1
    assert accepted


@pytest.mark.parametrize("target", ["gfx942", "sm_80"])
def test_in_tile_and_fuse_even_sizes_make_no_difference(target: str) -> None:
    dispatch = configured_source(LARGE, target)
    (theirs,) = CompilerProvider().spaces(dispatch, TILE_AND_FUSE)
    space = ours(dispatch, TILE_AND_FUSE)[0]
    for assignment in theirs.constraints.sample(40, seed=3):
        read = space.assignment(as_configured(theirs, assignment))
        answer = space.constraints.check(read)
        said = {each.message.partition(" in a step")[0] for each in answer.violations}
        assert said <= {f"a thread must have at most {MOST_INTRINSICS} intrinsics"}


# --- Against the compiler's choices and its code ----------------------------------------------------------


@pytest.mark.parametrize("source", [LARGE, BATCHED, BATCHED_F32, matmul(200, 96, 72, "f32")])
@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1201", "sm_80"])
def test_the_compilers_choice_is_not_refused(source: str, target: str) -> None:
    dispatch = configured_source(source, target)
    chosen = read_configuration(dispatch.root, dispatch.function)
    assert chosen is not None
    for space in ours(dispatch, str(chosen.pipeline)):
        read = read_by(space, chosen)
        assert read is None or space.constraints.check(read).verdict is Verdict.PROVEN


@pytest.mark.parametrize("program", ["matmul", "attention"])
def test_no_choice_on_the_test_programs_is_refused(program: str) -> None:
    source = (PROGRAMS / f"{program}.mlir").read_text()
    text = configure(source, *programs.TARGETS["cuda"])
    module = mlir.Module.parse(text, mlir.Context())
    registry = ProviderRegistry(pytest.fail, own=[GpuProvider()], entry_points=list)
    verdicts = Counter()
    for each in find_root_ops(module.operation):
        for root in each.roots:
            chosen = read_configuration(root, each.function)
            assert chosen is not None
            dispatch = read_workload(root, each.function)
            verdicts[verify_configuration(dispatch, chosen, registry).verdict] += 1
    assert not verdicts[Verdict.REFUTED]
    assert verdicts[Verdict.PROVEN] >= 3


@pytest.mark.parametrize(
    ("source", "target", "pipeline"),
    [
        (BATCHED, "gfx942", TILE_AND_FUSE),
        (matmul(192, 320, 640, batch=2), "sm_80", VECTOR_DISTRIBUTE),
    ],
)
def test_what_is_valid_compiles_and_what_breaks_a_hard_rule_does_not(
    source: str, target: str, pipeline: str
) -> None:
    trials = Trials.of(source, TARGETS[target])
    space = ours(trials.workload, pipeline)[0]
    for assignment in space.constraints.sample(2, seed=5):
        trials.configure(space, assignment)
        assert trials.compile().compiles
    for assignment in breaking(space, 2, seed=5):
        trials.configure(space, assignment)
        assert not trials.compile().compiles


@given(
    st.lists(st.sampled_from([1, 2, 4, 8, 16, 20, 24, 32, 48, 64, 80]), min_size=1, max_size=3),
    st.sampled_from([32, 64, 96, 128, 160, 256, 320]),
    st.sampled_from([8, 16, 32]),
)
def test_layouts_are_derived_as_the_compiler_does(tile: list[int], threads: int, bits: int) -> None:
    condition = is_derivable(list(map(number, tile)), number(threads), bits)
    assert bool(evaluate(condition.term, {})) is derives(tile, threads, 128 // bits)


def derives(tile: list[int], threads: int, widest: int) -> bool:
    """Return the rule, step by step with numbers."""
    total = 1
    for each in tile:
        total *= each
    pieces = [1] * len(tile)
    if total % threads:
        pieces[-1] = min(widest, tile[-1])
    else:
        width = min(widest, total // threads)
        if tile[-1] % width == 0 or width % tile[-1] == 0:
            pieces[-1] = min(width, tile[-1])
            rest = width // pieces[-1] if tile[-1] < width else 1
            for position in range(len(tile) - 2, -1, -1):
                if rest % tile[position]:
                    break
                pieces[position] = tile[position]
                rest //= tile[position]
    left = threads
    for size, piece in zip(reversed(tile), reversed(pieces), strict=True):
        count = size // piece
        if size % piece or (left % count and count % left):
            return False
        left = left // count if left % count == 0 else 1
    return True


# --- Spaces ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pipeline", [TILE_AND_FUSE, VECTOR_DISTRIBUTE])
@pytest.mark.parametrize("target", ["gfx942", "sm_80"])
def test_real_spaces_can_be_searched(target: str, pipeline: str) -> None:
    space = ours(configured_source(matmul(512, 1280, 640, batch=8), target), pipeline)[0]
    sample = space.constraints.sample(20, seed=1)
    assert len({tuple(each.items()) for each in sample}) == 20
    for assignment in sample[:2]:
        assert space.assignment(as_configured(space, assignment)) == assignment
        wrong = {**assignment, "workgroup[0]": 5, "workgroup[1]": 1000}
        assert space.constraints.check(wrong).verdict is Verdict.REFUTED
        nearest = space.constraints.nearest(wrong)
        assert nearest.verdict is Verdict.PROVEN
        assert nearest.assignment is not None
        assert space.constraints.check(nearest.assignment).verdict is Verdict.PROVEN
    first = [each for each, _ in zip(space.constraints.enumerate(seed=4), range(20), strict=False)]
    again = [each for each, _ in zip(space.constraints.enumerate(seed=4), range(20), strict=False)]
    assert first == again


def test_threads_without_intrinsics_can_be_sampled() -> None:
    space = ours(configured_source(BATCHED_F32, "sm_80"), TILE_AND_FUSE)[-1]
    sample = space.constraints.sample(10, seed=1)
    assert all(space.constraints.check(each).verdict is Verdict.PROVEN for each in sample)
    assert all(space.assignment(as_configured(space, each)) == each for each in sample)


COPY = """
func.func @copy(%part: tensor<7x9x30xf16>, %whole: tensor<9x9x32xf16>) -> tensor<9x9x32xf16> {
  %0 = tensor.insert_slice %part into %whole[1, 0, 2] [7, 9, 30] [1, 1, 1]
      : tensor<7x9x30xf16> into tensor<9x9x32xf16>
  return %0 : tensor<9x9x32xf16>
}"""


def test_copies_need_no_more_than_tiles_that_are_not_negative() -> None:
    trials = Trials.of(COPY, TARGETS["gfx942"])
    registry = ProviderRegistry(pytest.fail, own=[GpuProvider()], entry_points=list)
    chosen = trials.judge(registry)
    assert chosen is not None
    assert (chosen.verdict, chosen.pipeline) == (Verdict.PROVEN, DISTRIBUTE)
    (space,) = ours(trials.workload, DISTRIBUTE)
    valid, *_ = space.constraints.sample(1, seed=1)
    assert space.assignment(as_configured(space, valid)) == valid
    for tile, is_valid in ((5, True), (-1, False)):
        trials.configure(space, {**valid, "tile_sizes[0]": tile})
        answer = trials.judge(registry)
        assert answer is not None
        assert answer.verdict is (Verdict.PROVEN if is_valid else Verdict.REFUTED)
        assert trials.compile().compiles is is_valid
    with pytest.raises(UndecidedError, match="in buffers, not in tensors"):
        ours(trials.workload, TILE_AND_FUSE)


def test_tiles_that_do_not_divide_need_a_reduction_in_one_step() -> None:
    trials = Trials.of(matmul(160, 160, 320, batch=4), TARGETS["gfx942"])
    space = ours(trials.workload, TILE_AND_FUSE)[0]
    uneven = {
        "workgroup[1]": 48,
        "subgroup[1]": 1,
        "workgroup[2]": 32,
        "subgroup[2]": 1,
        "workgroup[0]": 1,
        "subgroup[0]": 0,
    }
    uneven |= {"mma_kind": 0, "promote_operands": 0, "prefetch_num_stages": 0}
    uneven |= {"workgroup_size": 384, "subgroup_size": 64}
    registry = ProviderRegistry(pytest.fail, own=[GpuProvider()], entry_points=list)
    for steps, verdict in ((20, Verdict.NOT_DECIDED), (2, Verdict.REFUTED)):
        trials.configure(space, {**uneven, "reduction[3]": steps})
        answer = trials.judge(registry)
        assert answer is not None
        assert answer.verdict is verdict
        assert trials.compile().compiles is (verdict is Verdict.NOT_DECIDED)


# --- Lanes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [None, 1])
def test_a_normalization_of_any_number_of_rows_and_of_one(rows: int | None) -> None:
    function = Function("normalized")
    source = function.text(rms_norm(function, rows, 4096, "f16"))
    dispatch = configured_source(source, "sm_80")
    chosen = read_configuration(dispatch.root, dispatch.function)
    assert chosen is not None
    (space,) = ours(dispatch, VECTOR_DISTRIBUTE)
    assert space.constraints.check(space.assignment(chosen)).verdict is Verdict.PROVEN


def test_the_ops_beside_a_reduction_take_as_many_rows() -> None:
    function = Function("softmax")
    dispatch = configured_source(function.text(softmax(function, (384, 384))), "sm_80")
    chosen = read_configuration(dispatch.root, dispatch.function)
    assert chosen is not None
    (space,) = ours(dispatch, VECTOR_DISTRIBUTE)
    read = space.assignment(chosen)
    assert space.constraints.check(read).verdict is Verdict.PROVEN
    reading = {each: value for each, value in read.items() if each.startswith("red")}
    answer = space.constraints.check({**read, **dict.fromkeys(reading, 32), "workgroup[0]": 384})
    assert any("elements of linalg.generic beside it" in str(each) for each in answer.violations)


def test_the_loops_of_ops_beside_must_be_spread_over_threads() -> None:
    function = Function("softmax")
    dispatch = configured_source(function.text(softmax(function, (384, 77))), "gfx942")
    with pytest.raises(UndecidedError, match="beside it has no configuration"):
        ours(dispatch, VECTOR_DISTRIBUTE)


def test_all_threads_must_share_what_is_prefetched() -> None:
    space = ours(configured_source(matmul(28, 56, 256, "f32"), "gfx942"), TILE_AND_FUSE)[-1]
    tiles = {
        "workgroup[0]": 28,
        "thread[0]": 1,
        "workgroup[1]": 28,
        "thread[1]": 1,
        "reduction[2]": 16,
    }
    assignment = {**tiles, "promote_operands": 2, "workgroup_size": 784, "subgroup_size": 64}
    for stages, is_refused in ((0, False), (2, True)):
        answer = space.constraints.check({**assignment, "prefetch_num_stages": stages})
        assert any("prefetched" in str(each) for each in answer.violations) is is_refused


# --- Attention --------------------------------------------------------------------------------------------

PLAIN_ATTENTION = attention(2, 64, 64, 64, 128)


@pytest.mark.parametrize("source", [PLAIN_ATTENTION, attention(3, 96, 64, 32, 80)])
@pytest.mark.parametrize("target", ["gfx942", "sm_80"])
def test_the_compilers_choice_for_attention_is_not_refused(source: str, target: str) -> None:
    dispatch = configured_source(source, target)
    chosen = read_configuration(dispatch.root, dispatch.function)
    assert chosen is not None
    space, _ = ours(dispatch, VECTOR_DISTRIBUTE)
    read = space.assignment(chosen)
    assert space.constraints.check(read).verdict is Verdict.PROVEN
    assert space.constraints.check({**read, "workgroup[1]": 40}).verdict is Verdict.REFUTED


def test_both_matmuls_of_an_attention_have_the_same_subgroups() -> None:
    dispatch = configured_source(PLAIN_ATTENTION, "sm_80")
    space, _ = ours(dispatch, VECTOR_DISTRIBUTE)
    assert isinstance(space, GpuSpace)
    chosen = read_configuration(dispatch.root, dispatch.function)
    assert chosen is not None
    read = dict(space.assignment(chosen))
    written = replace(
        as_configured(space, read), decomposition_config=space.decomposition_config(read)
    )
    assert space.assignment(written) == read
    parts = space.definition.template.entries.entries["decomposition_config"]
    part = parts.entries["pv_attrs"].entries["lowering_config"].entries["subgroup_basis"]
    other = {"subgroup_basis[1]": 1, "subgroup_basis[2]": 1}
    with dispatch.root.context, pytest.raises(MismatchError, match=r"subgroup_basis.* is"):
        part.read("pv_attrs.subgroup_basis", part.write(other), dict(read))


def test_attention_without_an_intrinsic() -> None:
    dispatch = configured_source(attention(2, 32, 32, 32, 64, element="f32"), "sm_80")
    chosen = read_configuration(dispatch.root, dispatch.function)
    assert chosen is not None
    (space,) = ours(dispatch, VECTOR_DISTRIBUTE)
    read = space.assignment(chosen)
    assert space.constraints.check(read).verdict is Verdict.PROVEN
    assert not ours(dispatch, TILE_AND_FUSE)


# --- Bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "words"), [(0, "of size 0"), (1 << 40, "of size")])
def test_sizes_that_are_none(size: int, words: str) -> None:
    dispatch = configured_source(BATCHED, "gfx942")
    first, *rest = dispatch.problem.dimensions
    problem = replace(dispatch.problem, dimensions=(Dimension(first.role, size), *rest))
    with pytest.raises(UndecidedError, match=words):
        ours(replace(dispatch, problem=problem), TILE_AND_FUSE)


def test_a_large_size_is_answered() -> None:
    dispatch = configured_source(BATCHED, "sm_80")
    sizes = [Dimension(each.role, (1 << 20) * 3) for each in dispatch.problem.dimensions]
    large = replace(dispatch, problem=replace(dispatch.problem, dimensions=tuple(sizes)))
    chosen = read_configuration(dispatch.root, dispatch.function)
    assert chosen is not None
    space = ours(large, TILE_AND_FUSE)[0]
    assert space.constraints.check(space.assignment(chosen)).verdict is Verdict.PROVEN


def test_a_target_that_says_nothing() -> None:
    dispatch = only_dispatch(configured("batched_matmul", "gfx942"))
    problem = replace(dispatch.problem, limits={})
    with pytest.raises(UndecidedError, match="does not describe its GPU"):
        ours(replace(dispatch, problem=problem), TILE_AND_FUSE)


@pytest.mark.parametrize(
    "knob", ["workgroup_size", "subgroup_size", "mma_kind", "promote_operands"]
)
def test_values_that_make_no_configuration(knob: str) -> None:
    space = ours(configured_source(BATCHED, "gfx942"), TILE_AND_FUSE)[0]
    chance = random.Random(1)
    valid = next(iter(space.constraints.enumerate(seed=chance.randrange(9))))
    with pytest.raises(AssignmentError, match="the values make no configuration"):
        space.compilation_info({**valid, knob: -1})


def test_the_compiler_is_not_asked_again_about_what_it_crashes_on() -> None:
    dispatch = configured_source(BATCHED, "gfx942")
    with Pool(1) as pool:
        provider = CompilerProvider(IsolatedPassManager(pool))
        with pytest.raises(UndecidedError) as first:
            provider.spaces(dispatch, TILE_AND_FUSE)
    # The pool is closed, so that asking would fail.
    with pytest.raises(UndecidedError, match="on a batched contraction") as second:
        provider.spaces(dispatch, TILE_AND_FUSE)
    assert second.value.reason == first.value.reason
