"""Models of gains: training, their arrays against scikit-learn's predictions, files, and calibrated bounds."""

from __future__ import annotations

import itertools
import json
import math
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tuninglink.errors import TuninglinkError
from tuninglink.iree import CPU_VECTORS, Target
from tuninglink.predicting import (
    GainModel,
    MeasuredGains,
    Provenance,
    Selection,
    model_for,
    model_names,
    train,
)
from tuninglink.predicting.candidate_features import prediction_features
from tuninglink.predicting.model import feature_table, name_of_model, trees_of
from tuninglink.predicting.training import Table, exported, fit, margin_of
from tuninglink.tuning.candidates import Candidate, SearchProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

PIPELINE = "#iree_cpu.pipeline<DoubleTilingExpert>"


def candidate(rows: int, columns: int, tile: int = 64) -> Candidate:
    knobs = {
        **{f"distribution[{loop}]": size for loop, size in enumerate((tile, tile, 0))},
        **{f"vector_common_parallel[{loop}]": size for loop, size in enumerate((rows, columns, 0))},
        "vector_reduction[2]": 8,
    }
    return Candidate(PIPELINE, knobs, json.dumps(knobs))


def matmul(m: int, n: int, k: int) -> SearchProblem:
    loops = ((0, 2), (2, 1), (0, 1))
    types = ("f32", "f32", "f32")
    return SearchProblem("contraction", (m, n, k), ("m", "n", "k"), types, {}, loops)


def measured(count: int, groups: int) -> list[MeasuredGains]:
    """Return problems for which vectors of four rows and 32 columns are the fastest, with noise."""
    chance = random.Random(0)
    result = []
    for number in range(count):
        problem = matmul(64 << number % 3, 128 << number % 2, 96 + 32 * (number % 5))
        default = candidate(1, 16)
        candidates = tuple(
            candidate(rows, columns, tile)
            for rows, columns, tile in itertools.product((1, 2, 4, 8), (8, 32, 64), (32, 64))
        )
        gains = tuple(
            1.5
            - 0.5 * abs(math.log2(one.knobs["vector_common_parallel[0]"] / 4))
            - abs(math.log2(one.knobs["vector_common_parallel[1]"] / 32))
            + chance.gauss(0, 0.02)
            for one in candidates
        )
        result.append(
            MeasuredGains(problem, default, candidates, gains, f"model {number % groups}")
        )
    return result


@pytest.fixture(scope="module")
def trained() -> GainModel:
    return train(measured(12, 2), Provenance("znver4", "a processor", "3.13.0"))


def test_arrays_predict_what_scikit_learn_predicts() -> None:
    table = Table.of(measured(6, 2))
    regressor = fit(table, np.ones(len(table.gains), np.bool_))
    values = exported(regressor).leaves(table.rows).mean(axis=1)
    # Leaves are rounded to hundredths, and nothing else is.
    assert np.abs(values - regressor.predict(table.rows)).max() < 1e-2
    assert values.std() > 0.1


def test_a_model_survives_its_file(trained: GainModel) -> None:
    again = GainModel.load(trained.dump())
    problem, default = matmul(100, 200, 300), candidate(1, 16)
    candidates = [candidate(4, 32), candidate(1, 8), default]
    before, after = (one.gains(problem, default, candidates) for one in (trained, again))
    assert before.expected.tolist() == after.expected.tolist()
    assert before.lower.tolist() == after.lower.tolist()
    assert again.provenance == trained.provenance
    assert again.provenance.problems == 12
    assert again.provenance.groups == 2


def test_the_fastest_candidate_is_expected_to_be_fast(trained: GainModel) -> None:
    problem, default = matmul(128, 256, 192), candidate(1, 16)
    candidates = [default, candidate(8, 64), candidate(4, 32), candidate(1, 8)]
    gains = trained.gains(problem, default, candidates)
    assert gains.expected.argmax() == 2
    assert gains.expected[2] > 1
    assert (gains.lower <= gains.expected).all()
    # The default is a candidate like any other, and gains nothing over itself.
    assert gains.expected[0] == gains.lower[0] == 0


def test_a_problem_of_another_form_or_a_smaller_one_has_no_lower_bound(trained: GainModel) -> None:
    problem, default = matmul(128, 256, 192), candidate(1, 16)
    for other in (
        replace(problem, kind="convolution"),
        replace(problem, roles=("m", "m", "k")),
        replace(problem, element_types=("i8", "i8", "i32")),
        replace(problem, sizes=(8, 16, 32)),
    ):
        gains = trained.gains(other, default, [candidate(4, 32)])
        assert gains.lower[0] == -math.inf
        assert math.isfinite(gains.expected[0])


def test_no_candidates_have_no_gains(trained: GainModel) -> None:
    gains = trained.gains(matmul(8, 8, 8), candidate(1, 16), [])
    assert len(gains.expected) == len(gains.lower) == 0


def test_trees_are_read_in_depth_first_order() -> None:
    # x <= 1: (y <= 5: 0.1, else 0.2), else 0.3; and a tree that is a leaf.
    trees = trees_of([0, 1, -1, -1, -1, -1], [100, 500, 10, 20, 30, 50])
    table = np.array([[0, 0], [100, 900], [200, 0]])
    assert trees.leaves(table).tolist() == [[0.1, 0.5], [0.2, 0.5], [0.3, 0.5]]


@pytest.mark.parametrize(
    ("columns", "values"), [([0, -1], [1, 2]), ([-1], []), ([], []), ([0, -1, 0], [1, 2, 3])]
)
def test_incomplete_trees_are_refused(columns: Sequence[int], values: Sequence[int]) -> None:
    with pytest.raises(ValueError, match=r"complete|length"):
        trees_of(columns, values)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"format": "another"},
        {"names": []},
        {"margin": "much"},
        {"margin": math.nan},
        {"margin": 10**400},
        {"columns": [-1], "values": [1 << 64]},
        {"columns": [0]},
        {"provenance": {"color": "red"}},
    ],
)
def test_a_file_that_is_no_model_is_refused(trained: GainModel, change: dict[str, object]) -> None:
    document = json.loads(trained.dump())
    with pytest.raises(TuninglinkError, match="not a model of gains"):
        GainModel.load(json.dumps(document | change).encode())
    with pytest.raises(TuninglinkError, match="not a model of gains"):
        GainModel.load(trained.dump()[:-100])


def chosen(low: float, gain: float, kind: str = "contraction") -> Selection:
    return Selection(kind, low, gain, max(gain, 0.0))


def test_a_margin_leaves_few_losses() -> None:
    selected = [chosen(0.01 * number, 0.2 if number > 30 else -0.5) for number in range(331)]
    margin = margin_of(selected)
    left = [one for one in selected if one.low > margin]
    # One in a hundred may be left.
    assert len(left) == 303
    assert sum(one.is_loss for one in left) == 3
    assert 0 < margin_of([chosen(0.1, 0.2)]) < 0.1


def test_one_loss_may_be_one_of_measurement() -> None:
    assert margin_of([chosen(0.5, -1.0), chosen(0.4, 1.0)]) < 0.1
    assert margin_of([chosen(0.5, -1.0), chosen(0.4, 1.0), chosen(0.3, -1.0)]) == 0.3


def test_a_loss_within_the_noise_of_a_measurement_is_none() -> None:
    assert not chosen(1.0, -0.01).is_loss
    assert chosen(1.0, -0.1).is_loss


def test_features_do_not_depend_on_the_order_of_loops() -> None:
    """A product whose loops are listed in another order has the same features."""
    problem = matmul(64, 128, 256)
    order = (2, 0, 1)  # k, m, n
    place = {loop: position for position, loop in enumerate(order)}
    turned = replace(
        problem,
        sizes=tuple(problem.sizes[loop] for loop in order),
        roles=tuple(problem.roles[loop] for loop in order),
        operand_loops=tuple(
            tuple(place[loop or 0] for loop in own) for own in ((0, 2), (2, 1), (0, 1))
        ),
    )

    def renamed(one: Candidate) -> Candidate:
        knobs = {}
        for name, value in one.knobs.items():
            level, _, loop = name.removesuffix("]").partition("[")
            knobs[f"{level}[{place[int(loop)]}]"] = value
        return Candidate(one.pipeline, knobs, json.dumps(knobs))

    default, other = candidate(1, 16), candidate(4, 32)
    expected = prediction_features(problem, default, [other])[0]
    found = prediction_features(turned, renamed(default), [renamed(other)])[0]
    assert found.keys() == expected.keys()
    assert all(math.isclose(found[name], expected[name], abs_tol=1e-9) for name in expected)
    # 64 and 128 in tiles of 64 are two workgroups.
    table = feature_table([found], ["nest tasks", "missing"])
    assert table.tolist() == [[100, -100]]


def test_targets_without_a_model_have_none() -> None:
    assert model_for(Target.parse("gfx942")) is None
    assert model_for(Target.parse("neoverse-v2")) is None
    # An entry for a CPU without a name would also be for those without AVX-512.
    vectors = CPU_VECTORS["znver4"]
    assert model_for(Target("llvm-cpu", "x86_64", "a CPU", cpu_vectors=vectors)) is not None
    assert model_for(Target("llvm-cpu", "x86_64", cpu_vectors=vectors)) is None


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("sm_80", "sm_80"),
        ("a100", "sm_80"),
        ("h200", "sm_80"),  # its code is that for sm_80
        ("sm_86", ""),  # has the intrinsics of sm_80, and less shared memory
        ("l4", ""),
        ("ampere", "sm_80"),
        ("vulkan-sm_80", ""),
        ("mi300x", "gfx942"),
        ("vulkan-gfx942", ""),
        ("znver4", "x86_64-avx512"),
        ("haswell", "haswell"),
        ("x86_64", ""),
    ],
)
def test_a_model_is_for_an_architecture(target: str, name: str) -> None:
    available = ["gfx942", "haswell", "sm_80", "x86_64-avx512"]
    assert name_of_model(Target.parse(target), available) == name


def test_the_shipped_models_load() -> None:
    for name in model_names():
        target = Target.parse(name.replace("x86_64-avx512", "znver4"))
        model = model_for(target)
        assert model is not None
        assert model.forms
        assert model_for(target) is model
