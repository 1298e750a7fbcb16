"""Searches: their choices from tables with known times."""

from __future__ import annotations

import json
import math
import random
import statistics
import subprocess
import sys
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import pytest
from recorded_pool import RecordedPool

from tuninglink.devices import DeviceDescription, compute_units, known_compute_units
from tuninglink.errors import TuninglinkError
from tuninglink.iree import TYPICAL, Spills
from tuninglink.predicting import GainModel, features
from tuninglink.tuning import unknown_device_remarks
from tuninglink.tuning.candidates import SearchProblem, distance
from tuninglink.tuning.database import recorded_candidate
from tuninglink.tuning.search import (
    FIRST_CANDIDATES,
    MOST_CANDIDATES,
    MeasuredProblem,
    RandomSearch,
    fastest_first,
    load_trees,
    model_search,
    search_named,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tuninglink.iree import Target
    from tuninglink.tuning.candidates import Candidate
    from tuninglink.tuning.search import Search

SEARCHES = ["random", "neighbors", "model"]
MATMUL = SearchProblem(
    "contraction",
    (2048, 2048, 2048),
    ("m", "n", "k"),
    ("f16", "f16", "f32"),
    {"compute_units": 132},
)
CPU_MATMUL = SearchProblem(
    "contraction", (512, 512, 512), ("m", "n", "k"), ("f32", "f32", "f32"), {}
)


@dataclass
class Pool:
    """Candidates with times, some of which fail."""

    problem: SearchProblem
    times: Mapping[Candidate, float | None]
    default: Candidate | None = None
    given: tuple[Candidate, ...] = ()
    options: Mapping[Candidate, Sequence[Candidate]] = field(default_factory=dict)
    late: set[int] = field(default_factory=set)
    first: Sequence[Candidate] = ()
    target: Target | None = None

    def sample(self, n: int, seed: int) -> Sequence[Candidate]:
        everything = list(self.first if self.first and n == FIRST_CANDIDATES else self.times)
        return random.Random(seed).sample(everything, min(n, len(everything)))

    def begin_sample(self, n: int, seed: int) -> bool:  # noqa: ARG002 - of all seeds alike
        return n not in self.late

    def neighbors(self, candidate: Candidate) -> Sequence[Candidate]:
        return [
            each
            for each in self.times
            if sum(value != candidate.knobs[name] for name, value in each.knobs.items()) == 1
        ]

    def variants(self, candidate: Candidate) -> Sequence[Candidate]:
        return self.options.get(candidate, ())

    @property
    def best(self) -> float:
        return min(each for each in self.times.values() if each is not None)


def gpu_pool(seed: int = 0, count: int = 200) -> Pool:
    """Return a pool in which tiles that are large but fit are fast, with 10 % of noise; some do not compile."""
    chance = random.Random(seed)
    times: dict[Candidate, float | None] = {}
    while len(times) < count:
        rows, columns, step = (2 ** chance.randrange(4, 10) for _ in range(3))
        threads = 2 ** chance.randrange(5, 9)
        knobs = {
            "mma_kind": 0,
            "workgroup[0]": rows,
            "workgroup[1]": columns,
            "reduction[2]": step,
            "workgroup_size": threads,
            "subgroup_size": 32,
        }
        candidate = recorded_candidate("#iree_gpu.pipeline<VectorDistribute>", knobs)
        spilled = max(1.0, rows * columns / threads / 128) ** 2
        time = 100 * (1 + 32 / rows + 32 / columns + 32 / step + threads / 512) * spilled
        fails = step * (rows + columns) > 1 << 17
        times[candidate] = None if fails else time * chance.lognormvariate(0, 0.1)
    return Pool(MATMUL, times)


def cpu_pool(seed: int = 0) -> Pool:
    """Return a pool around a default that is nearly the best, in which most are much slower."""
    chance = random.Random(seed)
    times: dict[Candidate, float | None] = {}
    sizes = (1, 2, 4, 8, 16, 32)
    for rows in sizes:
        for columns in sizes:
            for step in sizes:
                knobs = {
                    "distribution[0]": 64,
                    "distribution[1]": 64,
                    "vector_common_parallel[0]": rows,
                    "vector_common_parallel[1]": columns,
                    "vector_reduction[2]": step,
                }
                candidate = recorded_candidate("#iree_cpu.pipeline<DoubleTilingExpert>", knobs)
                distance = (
                    abs(math.log2(rows / 8))
                    + abs(math.log2(columns / 32))
                    + abs(math.log2(step / 2))
                )
                times[candidate] = 100 * 1.6**distance * chance.lognormvariate(0, 0.05)
    default = next(each for each in times if list(each.knobs.values())[2:] == [8, 16, 1])
    return Pool(CPU_MATMUL, times, default)


def replay(
    name: str, pool: Pool, seed: int, goal: float = 1.05, most: int = 1000
) -> tuple[int, list[Candidate]]:
    """Return the number of trials until the search comes close to the best, and these trials."""
    default = pool.times[pool.default] if pool.default else None
    search = search_named(name)(pool, seed, default)
    tried: list[Candidate] = []
    while chosen := search.ask(min(4, most - len(tried))):
        for each in chosen:
            tried.append(each)
            time = pool.times[each]
            if time is not None and time <= pool.best * goal:
                return len(tried), tried
            search.tell(each, time)
    return len(tried), tried


def median(name: str, make: Callable[[int], Pool]) -> float:
    return statistics.median(replay(name, make(seed), seed)[0] for seed in range(3))


def predicted(monkeypatch: pytest.MonkeyPatch, gain: float, form: str = "k, m, n") -> Pool:
    """Return a pool whose target has a model: it expects a gain of candidates with more than eight sums in registers."""
    document = {
        "format": "tuninglink.prediction",
        "version": 1,
        "provenance": {},
        "margin": 0.0,
        "forms": {f"contraction, {form}, f32": 99.0},  # larger than the problem
        "names": ["accumulators", "unrolled"],
        "columns": [0, -1, 1, -1, -1],
        "values": [300, round(-100 * gain), 500, round(100 * gain), round(200 * gain)],
    }
    model = GainModel.load(json.dumps(document).encode())
    monkeypatch.setattr(model_search, "model_for", {"znver4": model}.get)
    return replace(cpu_pool(), target="znver4")  # type: ignore[arg-type] # looked up by its name


def sums(candidate: Candidate) -> int:
    """Return the vectors of sums of a candidate for CPUs, and whether they are for more than four steps."""
    rows, columns, step = list(candidate.knobs.values())[2:]
    count = rows * math.ceil(columns / 16)
    return (count > 8) + (count > 8 and count * step > 32)


def test_predicted_candidates_come_first_and_others_beside_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = predicted(monkeypatch, 1.0)
    asked = search_named("model")(pool, 0, None).ask(40)
    # Of equal guesses there is one.
    assert [sums(each) for each in asked[:3]] == [2, 1, 0]
    assert pool.default is not None
    beside = {*fastest_first(pool.problem, list(pool.times))[:2], *pool.neighbors(pool.default)[:2]}
    assert beside <= {*asked[:8]}
    # Without times, the others are in the order of the expected gains.
    later = [sums(each) for each in asked[7:]]
    assert later == sorted(later, reverse=True)


def test_a_search_recovers_from_wrong_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = predicted(monkeypatch, -3.0)
    counts = [replay("model", pool, seed)[0] for seed in range(3)]
    assert statistics.median(counts) <= median("random", cpu_pool) / 2


def test_other_forms_are_searched_as_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = predicted(monkeypatch, 1.0, form="batch, k, m, n")
    asked = [search_named("model")(each, 0, 50.0).ask(40) for each in (pool, cpu_pool())]
    assert asked[0] == asked[1]


@pytest.mark.parametrize("name", SEARCHES)
def test_every_candidate_is_asked_for_once(name: str) -> None:
    pool = gpu_pool(count=40)
    count, tried = replay(name, pool, 0, goal=0)
    assert count == len(set(tried)) == len(pool.times)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_depends_on_seed_and_times_alone(name: str) -> None:
    first, again, other = (replay(name, gpu_pool(), seed, goal=0, most=24)[1] for seed in (3, 3, 4))
    assert first == again
    assert first != other


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_goes_on_while_times_are_missing(name: str) -> None:
    search = search_named(name)(gpu_pool(), 0, None)
    asked = [each.key for _ in range(6) for each in search.ask(5)]
    assert len(asked) == len(set(asked)) == 30


def test_a_search_does_not_wait_for_a_draw_while_times_are_missing() -> None:
    """The device has work meanwhile. Without any, the search waits, and goes on with what was drawn."""
    pool = gpu_pool(count=40)
    first = list(pool.times)
    later = {
        recorded_candidate(each.pipeline, {**each.knobs, "mma_kind": 1, "subgroup_size": 64}): 50.0
        for each in first
    }
    pool.times = {**pool.times, **later}
    pool.first, pool.late = first, {MOST_CANDIDATES}
    search = search_named("model")(pool, 0, None)
    asked: list[Candidate] = []
    while new := search.ask(10):
        asked += new
    assert set(asked) == set(first)
    for candidate in asked:
        search.tell(candidate, pool.times[candidate])
    assert set(search.ask(100)) == set(later)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_survives_failures_alone(name: str) -> None:
    pool = gpu_pool(count=50)
    search = search_named(name)(pool, 0, 100.0)
    tried = 0
    while chosen := search.ask(8):
        tried += len(chosen)
        for each in chosen:
            search.tell(each, None)
    assert tried == 50


@pytest.mark.parametrize("name", SEARCHES)
def test_what_is_known_comes_first(name: str) -> None:
    pool = gpu_pool()
    everything = list(pool.times)
    pool.given = (everything[5],)
    search = search_named(name)(pool, 0, None, [everything[7]])
    asked = search.ask(200)
    assert everything[5] in asked[:2]
    # Winners of other problems come first, or after the best eight by the estimate.
    assert everything[7] in asked[:10]


@pytest.mark.parametrize("name", ["model", "random", "neighbors"])
def test_options_are_varied_on_the_best_candidates_after_the_tiles(name: str) -> None:
    pool = gpu_pool()
    variants = {
        candidate: (recorded_candidate(candidate.pipeline, {**candidate.knobs, "option": 1}),)
        for candidate in pool.times
    }
    pool = replace(pool, options=variants)
    search = search_named(name)(pool, 0, None)
    tried: list[Candidate] = []
    times: dict[str, float] = {}
    while len(tried) < 60:
        (candidate,) = search.ask(1)
        tried.append(candidate)
        own = {other: value for other, value in candidate.knobs.items() if other != "option"}
        time = pool.times[recorded_candidate(candidate.pipeline, own)]
        search.tell(candidate, time)
        if time is not None and "option" not in candidate.knobs:
            times[candidate.key] = time
        if len(tried) == 48:
            best = sorted(times, key=lambda key: times[key])[:3]
    positions = [place for place, each in enumerate(tried) if "option" in each.knobs]
    assert positions == [48, 49, 50]
    of = {each.key: candidate.key for candidate, (each,) in variants.items()}
    assert [of[tried[place].key] for place in positions] == best


def test_the_model_needs_few_trials_on_a_gpu() -> None:
    assert median("model", gpu_pool) <= median("random", gpu_pool) / 2


@pytest.mark.parametrize("name", ["model", "neighbors"])
def test_the_neighborhood_of_the_default_comes_first_on_a_cpu(name: str) -> None:
    assert median(name, cpu_pool) <= median("random", cpu_pool) / 4


def test_what_is_fast_on_other_problems_is_tried_early() -> None:
    def inverted(seed: int, count: int) -> Pool:
        """Return a pool about which the estimate is wrong."""
        pool = gpu_pool(seed, count)
        pool.times = {each: time and 1e4 / time for each, time in pool.times.items()}
        return pool

    smaller = replace(MATMUL, sizes=(1024, 2048, 1024))
    measured = [
        MeasuredProblem(smaller, tuple((each, time) for each, time in other.times.items() if time))
        for other in (inverted(seed, 40) for seed in range(1, 17))
    ]
    pool = inverted(0, 200)
    search = search_named("model")(pool, 0, None, (), measured)
    asked = [pool.times[each] for each in search.ask(16)]
    fast = sorted(filter(None, pool.times.values()))[: len(pool.times) // 20]
    assert any(time in fast for time in asked)


def test_a_problem_without_candidates_is_no_error_after_others() -> None:
    pool = gpu_pool(count=40)
    times = [(each, time) for each, time in pool.times.items() if time]
    pool.times = {}
    search = search_named("model")(pool, 0, None, (), [MeasuredProblem(MATMUL, tuple(times))])
    assert not search.ask(8)


def test_a_failing_region_is_left() -> None:
    pool = gpu_pool(count=200)
    pool.times = {
        each: None if each.knobs["workgroup_size"] < 256 else time
        for each, time in pool.times.items()
    }
    _, tried = replay("model", pool, 0, goal=0, most=60)
    failed = [each for each in tried[24:] if each.knobs["workgroup_size"] < 256]
    assert len(failed) <= len(tried[24:]) / 4


BASIS = "subgroup_basis[2]"
"""The subgroups that share a reduction."""


def divided_pool(seed: int = 0, count: int = 100) -> Pool:
    """Return a pool in which the fastest half of the candidates divide the reduction among subgroups."""
    chance = random.Random(seed)
    times: dict[Candidate, float | None] = {}
    while len(times) < count:
        rows, columns, step = (2 ** chance.randrange(4, 9) for _ in range(3))
        parts = chance.choice((1, 1, 1, 2, 4, 8))
        knobs = {
            "mma_kind": 0,
            "workgroup[0]": rows,
            "workgroup[1]": columns,
            "reduction[2]": step,
            BASIS: parts,
            "workgroup_size": 64 * parts,
            "subgroup_size": 32,
        }
        candidate = recorded_candidate("#iree_gpu.pipeline<VectorDistribute>", knobs)
        times[candidate] = (100 + 1000 / rows + 1000 / columns + step / 8) / parts
    return Pool(MATMUL, times)


def checked(
    search: Search, pool: Pool, is_wrong: Callable[[Candidate], bool], most: int
) -> tuple[list[Candidate], list[int]]:
    """Return the candidates that are tried, and the number of them before each rejection, if each best one is checked."""
    tried: list[Candidate] = []
    rejections: list[int] = []
    right: set[str] = set()
    while len(tried) < most and (chosen := search.ask(4)):
        for each in chosen:
            tried.append(each)
            search.tell(each, pool.times[each])
        while (best := search.best(1)) and best[0].key not in right:
            if is_wrong(best[0]):
                rejections.append(len(tried))
                search.reject(best[0])
            else:
                right.add(best[0].key)
                search.confirm(best[0])
    return tried, rejections


@pytest.mark.parametrize("has_default", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", SEARCHES)
def test_what_two_wrong_results_share_is_not_proposed_again(
    name: str, seed: int, *, has_default: bool
) -> None:
    pool = divided_pool(seed)
    if has_default:
        pool.default = next(each for each in pool.times if each.knobs[BASIS] == 1)
    search = search_named(name)(pool, seed, 300.0 if has_default else None)
    tried, rejections = checked(search, pool, lambda each: each.knobs[BASIS] > 1, len(pool.times))
    assert len(rejections) > 1
    # All right candidates come first, although the wrong ones had other knobs in common, too.
    later = tried[rejections[1] :]
    right = [each for each in later if each.knobs[BASIS] == 1]
    assert len(right) > 20
    assert later[: len(right)] == right
    assert {*tried, pool.default} >= {each for each in pool.times if each.knobs[BASIS] == 1}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_pair_of_values_can_be_to_blame(name: str) -> None:
    """Each value alone occurs in right results, too."""
    pool = gpu_pool(count=200)
    search = search_named(name)(pool, 0, None)
    threads, step = ("workgroup_size", 128), ("reduction[2]", 32)
    wrong = [each for each in pool.times if {threads, step} <= each.knobs.items()]
    assert wrong[2:]
    right = [each for each in pool.times if each not in wrong]
    for each in right[:60]:
        search.confirm(each)
    for each in wrong[:2]:
        search.reject(each)
    asked = search.ask(60)
    assert not set(wrong[2:]) & set(asked)
    assert any(threads in each.knobs.items() for each in asked)
    assert any(step in each.knobs.items() for each in asked)


@pytest.mark.parametrize("name", SEARCHES)
def test_what_wrong_results_share_comes_last_where_all_do(name: str) -> None:
    pool = gpu_pool(count=60)
    search = search_named(name)(pool, 0, None)
    tried, rejections = checked(search, pool, lambda _: True, 1000)
    assert set(tried) == set(pool.times)
    assert len(rejections) == sum(time is not None for time in pool.times.values())


def test_a_right_result_clears_its_values() -> None:
    pool = divided_pool()
    search = search_named("random")(pool, 0, None)
    divided = [each for each in pool.times if each.knobs[BASIS] > 1]
    for each in divided[:2]:
        search.reject(each)
    assert not set(search.ask(40)) & set(divided)
    for each in divided[2:12]:
        search.confirm(each)
    assert set(search.ask(40)) & set(divided[12:])


def test_neighbors_of_code_that_spills_are_left_before_it_is_measured() -> None:
    pool = gpu_pool(count=200)

    def spilling(*, knows_spills: bool) -> int:
        search = search_named("model")(pool, 0, None)
        for each in search.ask(24):
            spills = each.knobs["reduction[2]"] >= 128
            search.compiled(each, Spills(400 * spills) if knows_spills else None)
            if not spills:
                search.tell(each, 100.0)
        return sum(each.knobs["reduction[2]"] >= 128 for each in search.ask(40))

    assert 4 * spilling(knows_spills=True) < spilling(knows_spills=False)


def test_the_estimate_ranks_what_spills_and_what_idles_last() -> None:
    def time(rows: int, columns: int, threads: int) -> float:
        knobs = {
            "mma_kind": 0,
            "workgroup[0]": rows,
            "workgroup[1]": columns,
            "reduction[2]": 32,
            "workgroup_size": threads,
            "subgroup_size": 32,
        }
        candidate = recorded_candidate("#iree_gpu.pipeline<VectorDistribute>", knobs)
        return features(MATMUL, candidate)["estimate"]

    assert time(128, 128, 256) < time(16, 16, 32)
    assert time(128, 128, 256) < time(512, 512, 64)
    assert time(128, 128, 256) < time(2048, 2048, 1024)


def test_the_estimate_without_intrinsics_ranks_padded_tiles_and_idle_lanes_last() -> None:
    """A 1x1 convolution in NCHW: batch, channels, 7x7 pixels as one loop, and the sum."""
    problem = SearchProblem(
        "contraction", (4, 192, 49, 672), ("m", "n", "m", "k"), ("f16", "f16", "f32"), {}
    )

    def time(tiles: tuple[int, int, int], threads: tuple[int, int, int], step: int = 64) -> float:
        knobs = {f"workgroup[{loop}]": tile for loop, tile in enumerate(tiles)}
        knobs |= {f"thread[{loop}]": tile for loop, tile in enumerate(threads)}
        count = math.prod(tiles) // math.prod(threads)
        knobs |= {"reduction[3]": step, "workgroup_size": count, "subgroup_size": 32}
        candidate = recorded_candidate("#iree_gpu.pipeline<TileAndFuse>", knobs)
        return features(problem, candidate)["estimate"]

    good = time((1, 16, 16), (1, 2, 2))
    assert good < time((16, 16, 1), (4, 1, 1))  # 12 of 16 images are padding
    assert good < time((1, 16, 16), (1, 8, 8))  # four threads of a warp
    assert good < time((1, 16, 16), (1, 2, 2), step=2)


def test_preferred_candidates_come_before_all_others() -> None:
    pool = gpu_pool()
    everything = list(pool.times)
    search = search_named("model")(pool, 0, None)
    search.prefer(everything[11:14])
    assert search.ask(4)[:3] == everything[11:14]


def test_the_estimate_for_cpus_ranks_idle_lanes_and_spilled_sums_last() -> None:
    def time(rows: int, columns: int, task: int = 64) -> float:
        knobs = {
            "distribution[0]": task,
            "distribution[1]": task,
            "vector_common_parallel[0]": rows,
            "vector_common_parallel[1]": columns,
            "vector_reduction[2]": 4,
        }
        candidate = recorded_candidate("#iree_cpu.pipeline<P>", knobs)
        return features(CPU_MATMUL, candidate)["estimate"]

    assert time(8, 32) < time(8, 4)
    assert time(8, 32) < time(32, 32)
    assert time(8, 32) < time(1, 1)
    assert time(8, 32) < time(8, 32, task=512)
    assert time(8, 32) < time(8, 32, task=8)


def test_features_are_finite_for_whatever_knobs_there_are() -> None:
    knobs = {
        "workgroup[0]": 0,
        "subgroup[1]": 3,
        "workgroup[9]": 4,
        "odd": -2,
        "workgroup_size": 0,
        "thread[1]": 7,
    }
    for problem in (MATMUL, SearchProblem("other", (None,), ("parallel",), (), {})):
        found = features(problem, recorded_candidate("#p", knobs))
        assert all(map(math.isfinite, found.values()))


def test_devices_are_known_by_name() -> None:
    assert compute_units("NVIDIA H200") == 132
    assert compute_units("NVIDIA H100 PCIe") == 114
    assert compute_units("AMD Instinct MI300X OAM") == 304
    assert compute_units("NVIDIA GeForce RTX 5090") == 170
    assert compute_units("NVIDIA GeForce RTX 5090 Laptop GPU") == 82
    assert compute_units("NVIDIA GeForce RTX 5070 Ti") == 70
    assert compute_units("AMD Radeon RX 9070 XT") == 64
    assert compute_units("AMD Radeon RX 9070") == 56
    assert compute_units("Radeon 8060S Graphics (RADV GFX1151)") == 40
    assert compute_units("NVIDIA L40S") == 142
    assert compute_units("NVIDIA A100-SXM4-80GB") == 108
    assert compute_units("NVIDIA RTX A4000") == 48
    assert compute_units("something new") == TYPICAL


@pytest.mark.parametrize("name", ["NVIDIA RTX A1000", "NVIDIA GeForce RTX 3050 Laptop GPU", "new"])
def test_other_devices_are_unknown(name: str) -> None:
    assert known_compute_units(name) is None


def test_what_is_assumed_of_an_unknown_device_is_a_remark() -> None:
    names = [
        ("cuda", "NVIDIA H200"),
        ("cuda", "NVIDIA X1"),
        ("cuda", "NVIDIA X1"),
        ("local-sync", "a CPU"),
    ]
    devices = [DeviceDescription(driver, name, driver, "", "", 0) for driver, name in names]
    (remark,) = unknown_device_remarks(devices)
    assert "compute units of 'NVIDIA X1' is unknown; estimates of candidates assume 132" in str(
        remark
    )


def test_an_unknown_search_is_one_diagnostic() -> None:
    with pytest.raises(TuninglinkError, match="there is no search 'genetic'") as raised:
        search_named("genetic")
    assert "model" in str(raised.value.diagnostics[0].notes[0])


def test_a_plug_in_adds_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("mine", f"{RandomSearch.__module__}:RandomSearch", model_search.GROUP),
        EntryPoint("broken", "nowhere:Nothing", model_search.GROUP),
        EntryPoint("other", "json:dumps", model_search.GROUP),
    ]
    monkeypatch.setattr(model_search, "plug_ins", lambda group: points if group else [])
    assert search_named("mine") is RandomSearch
    with pytest.raises(TuninglinkError, match="plug-in 'broken'"):
        search_named("broken")
    with pytest.raises(TuninglinkError, match="is not a subclass"):
        search_named("other")


def test_a_recorded_table_becomes_a_pool(tmp_path: Path) -> None:
    program = """func.func @f(%a: tensor<64x32xf16>, %b: tensor<32x16xf16>, %c: tensor<64x16xf32>) -> tensor<64x16xf32> {
      %r = linalg.matmul ins(%a, %b : tensor<64x32xf16>, tensor<32x16xf16>) outs(%c : tensor<64x16xf32>) -> tensor<64x16xf32>
      return %r : tensor<64x16xf32>
    }"""
    trials = [
        {"pipeline": "#p", "knobs": {"workgroup[0]": 16, "workgroup[1]": 16}, "microseconds": 3.0},
        {"pipeline": "#p", "knobs": {"workgroup[0]": 32, "workgroup[1]": 16}, "microseconds": 2.0},
        {"pipeline": "#q", "knobs": {"workgroup[0]": 32, "workgroup[1]": 16}, "failure": "compile"},
    ]
    facts = {
        "version": 1,
        "target": "sm_80",
        "device": "NVIDIA H200",
        "compiler": "3.13.0",
        "date": "2026-11-21",
    }
    path = tmp_path / "table.json"
    path.write_text(
        json.dumps(
            {**facts, "program": program, "default": {"microseconds": 4.0}, "trials": trials}
        )
    )
    pool = RecordedPool(path)
    problem = pool.problem
    assert (problem.kind, problem.sizes, problem.roles) == (
        "contraction",
        (64, 16, 32),
        ("m", "n", "k"),
    )
    assert pool.best_us == 2.0
    first = pool.candidates[0]
    assert [each.knobs["workgroup[0]"] for each in pool.neighbors(first)] == [32]
    assert len(pool.sample(10, 0)) == 3


def test_problems_are_near_by_their_sizes() -> None:
    here = SearchProblem("contraction", (8, 256, 512), ("m", "n", "k"), ("f32", "f32", "f32"), {})
    others = [
        "contraction 64x256x512 f32xf32xf32",
        "contraction 8x256x1024 f32xf32xf32",
        "contraction 8x256x512 f32xf32xf32",
        "contraction 8x256x512 f16xf16xf32",
        "contraction 8x256x?x512 f32xf32xf32",
        "a table's program",
    ]
    assert [distance(str(here), each) for each in others] == [3, 1, 0, *[math.inf] * 3]


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)  # type: ignore[arg-type] # it cannot be imported
    for use in (lambda: search_named("model"), load_trees):
        with pytest.raises(TuninglinkError, match="needs scikit-learn") as raised:
            use()
        assert "tuninglink[tune]" in raised.value.diagnostics[0].notes[0].message


def test_a_search_of_few_trials_loads_no_trees() -> None:
    """They take a second to load."""
    script = (
        "import sys; from tuninglink.tuning.search import begin_loading, search_named; "
        "begin_loading('model', 3); search_named('model'); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "tuninglink.tuning.search.search" in done.stdout
    assert "sklearn" not in done.stdout


def test_loading_damaged_trees_ahead_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "sklearn.py").write_text("raise ImportError('damaged')")
    script = (
        f"import sys, threading; sys.path.insert(0, {str(tmp_path)!r}); "
        "from tuninglink.tuning.search import begin_loading; begin_loading('model', None); "
        "[thread.join() for thread in threading.enumerate() if thread.daemon]"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert not done.stderr
