"""Models of PyTorch give PyTorch's results, before and after tuning."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np
import pytest
from framework_programs import CLOSE, CPU, run

import tuninglink
from tuninglink.tuning.database import Database
from tuninglink.tuning.deciding import TuningSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
pytest.importorskip("iree.turbine.aot", reason="the extra 'torch' is not installed")

import tuninglink.torch  # noqa: E402


def dense() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    layers = (torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 32))
    return torch.nn.Sequential(*layers).eval(), (torch.randn(16, 64),)


def convolution() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    layers = (torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten())
    return torch.nn.Sequential(*layers).eval(), (torch.randn(1, 3, 16, 16),)


class LastStates(torch.nn.Module):
    """Sums of the states of a recurrent layer, with operators that only PyTorch's decompositions make known."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.LSTM(8, 16, batch_first=True)

    def forward(self, steps: torch.Tensor) -> torch.Tensor:
        states = self.layer(steps)[0]
        rows = torch.tensor([0, 1, 1])
        return torch.zeros(2, 5, 16).index_add(0, rows, states)


def recurrent() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    return LastStates().eval(), (torch.randn(3, 5, 8),)


class Shift(torch.nn.Module):
    def forward(self, steps: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(steps, (0, 0, 1, -1)) + steps


def shifted() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    return Shift(), (torch.randn(2, 5, 8),)


class Channels(torch.nn.Module):
    """Products of an image with matrices, one as a layer and one written out."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 16)
        self.matrix = torch.nn.Parameter(torch.randn(16, 4))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return torch.roll(self.layer(image), 3, 1) @ self.matrix


def channels() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    return Channels().eval(), (torch.randn(2, 7, 5, 8),)


class Masked(torch.nn.Module):
    def forward(self, values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(values, values, values, mask)


def masked() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """Return attention whose mask is the same for all heads."""
    return Masked(), (torch.randn(2, 3, 9, 16), torch.randn(9, 9))


def without_heads() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    return Masked(), (torch.randn(9, 16), torch.randn(9))


@pytest.mark.parametrize("is_exported", [False, True])
def test_products_of_images_with_a_matrix_do_not_repeat_it(is_exported: bool) -> None:  # noqa: FBT001
    model, arguments = channels()
    given = (torch.export.export(model, arguments),) if is_exported else (model, arguments)
    operations = tuninglink.torch.export(*given)
    assert b"aten.mm" in operations
    assert b"aten.linear" not in operations
    assert b"aten.matmul" not in operations


@pytest.mark.parametrize(
    "make", [dense, convolution, recurrent, shifted, channels, masked, without_heads]
)
def test_a_module_and_its_exported_program_compute_the_same(make: object) -> None:
    torch.manual_seed(0)
    model, arguments = make()
    expected = model(*arguments).detach().numpy()
    inputs = [each.numpy() for each in arguments]
    exported = torch.export.export(model, arguments)
    for program in (
        tuninglink.torch.compile(model, arguments, flags=CPU),
        tuninglink.torch.compile(exported, flags=CPU),
    ):
        np.testing.assert_allclose(run(program.output, inputs), expected, **CLOSE)


class Function(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return self.function(values)


SUMS = {
    "mean": lambda x: x.mean((2, 3)),
    "typed mean": lambda x: x.mean((2, 3), dtype=torch.float32),
    "cumulative sum": lambda x: x.flatten(2)[:, :, :20000].mul(0.1).cumsum(-1),
    "variance and mean": lambda x: torch.cat(torch.var_mean(x, (2, 3)), 1),
    "vector norm": lambda x: torch.linalg.vector_norm(x.flatten(2), dim=-1),
    "log of softmax": lambda x: torch.log_softmax(x.flatten(2) * 0, -1),
    "cosine": lambda x: torch.cosine_similarity(x.flatten(2), x.flatten(2)[:, :1], -1),
    "pool": lambda x: torch.nn.functional.adaptive_avg_pool2d(x, 1),
    "layer": torch.nn.LayerNorm((256, 320)),
    "group": torch.nn.GroupNorm(2, 4),
    "group without weights": torch.nn.GroupNorm(2, 4, affine=False),
    "instance": torch.nn.InstanceNorm2d(4),
    "root mean square": torch.nn.RMSNorm((256, 320)),
}
"""Sums of 81,920 numbers around 3, which overflow in f16."""


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_f16_are_computed_in_f32(name: str) -> None:
    torch.manual_seed(0)
    values = (torch.randn(1, 4, 256, 320) + 3).half()
    model = Function(copy.deepcopy(SUMS[name])).eval()
    with torch.no_grad():
        expected = model(values.float()).numpy()
    result = tuninglink.torch.compile(model.half(), (values,), flags=CPU)
    np.testing.assert_allclose(run(result.output, [values.numpy()]), expected, rtol=2e-3, atol=2e-3)


def norms() -> tuple[torch.nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    layers = (
        *(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.GroupNorm(2, 8), torch.nn.LayerNorm(96)),
        *(torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.RMSNorm(8)),
    )
    return torch.nn.Sequential(*layers).eval().half(), 100 * torch.randn(2, 3, 128, 96).half()


def test_an_exported_program_of_a_dynamic_size_sums_in_f32() -> None:
    model, values = norms()
    sizes = {"input": {0: torch.export.Dim("batch", min=2, max=8)}}
    exported = torch.export.export(model, (values,), dynamic_shapes=sizes)
    with torch.no_grad():
        expected = copy.deepcopy(model).float()(values.float()).numpy()
    result = tuninglink.torch.compile(exported, flags=CPU)
    np.testing.assert_allclose(run(result.output, [values.numpy()]), expected, rtol=0.01, atol=0.01)


def test_a_graph_sums_in_f32() -> None:
    model, values = norms()
    compiled = torch.compile(model, backend=tuninglink.torch.backend(flags=CPU), dynamic=False)
    with torch.no_grad():
        expected = copy.deepcopy(model).float()(values.float())
        np.testing.assert_allclose(compiled(values).float(), expected, rtol=0.01, atol=0.01)


def test_a_tuned_module_computes_the_same() -> None:
    torch.manual_seed(0)
    model, arguments = dense()
    settings = TuningSettings(trials=3, runs_model=False)
    tuned = tuninglink.torch.tune(model, arguments, flags=CPU, settings=settings)
    assert tuned.report.dispatches
    spec = tuninglink.load_spec(tuned.spec.encode())
    result = tuninglink.torch.compile(model, arguments, specs=[spec], flags=CPU)
    inputs = [each.numpy() for each in arguments]
    np.testing.assert_allclose(
        run(result.output, inputs), model(*arguments).detach().numpy(), **CLOSE
    )
    explained = tuninglink.torch.explain(model, arguments, specs=[spec], flags=CPU)
    assert explained.dispatches


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_what_a_module_should_compute_is_computed_in_f32(
    tmp_path: Path, dtype: torch.dtype
) -> None:
    model, arguments = dense()
    narrow, values = model.to(dtype), tuple(value.to(dtype) for value in arguments)
    with torch.no_grad():
        exact = copy.deepcopy(narrow).float()(*(value.float() for value in values))
    options = tuninglink.torch.call_options(narrow, values, tmp_path)
    (expected,) = (np.load(given.text.removeprefix("@")) for given in options.expected)
    np.testing.assert_array_equal(expected, exact.numpy())
    assert narrow[0].weight.dtype is dtype


def test_a_tuned_module_is_compared_with_its_own_result() -> None:
    torch.manual_seed(0)
    model, arguments = dense()
    half, values = model.half(), tuple(value.half() for value in arguments)
    settings = TuningSettings(trials=2, search="random", checks_defaults=False)
    outputs = tuninglink.torch.tune(half, values, flags=CPU, settings=settings).report.outputs
    assert outputs is not None
    assert outputs.source == "--expected"
    assert outputs.default_error is not None
    assert outputs.default_error < outputs.tolerance


def test_a_module_in_training_has_no_expected_result(tmp_path: Path) -> None:
    layers = (torch.nn.Linear(64, 32), torch.nn.Dropout())
    options = tuninglink.torch.call_options(
        torch.nn.Sequential(*layers), (torch.randn(16, 64),), tmp_path
    )
    assert options.inputs
    assert not options.expected


def test_a_compiled_module_computes_the_same_in_both_ways() -> None:
    torch.manual_seed(0)
    model, (values,) = dense()
    compiled = torch.compile(model, backend=tuninglink.torch.backend(), dynamic=False)
    with torch.no_grad():
        for scale in (1.0, 2.0):
            np.testing.assert_allclose(compiled(scale * values), model(scale * values), **CLOSE)


def test_a_graph_of_doubles_computes_in_doubles() -> None:
    torch.manual_seed(0)
    model, (values,) = dense()
    model, values = model.double(), values.double()
    compiled = torch.compile(model, backend=tuninglink.torch.backend(flags=CPU), dynamic=False)
    with torch.no_grad():
        np.testing.assert_allclose(compiled(values), model(values), rtol=1e-12, atol=1e-12)


def test_a_graph_is_tuned_once(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, (values,) = dense()
    database = tmp_path / "tuning.db"
    settings = TuningSettings(trials=2, search="random", runs_model=False, checks_defaults=False)
    for _ in range(2):
        torch._dynamo.reset()
        backend = tuninglink.torch.backend(flags=CPU, settings=settings, database=database)
        compiled = torch.compile(model, backend=backend, dynamic=False)
        with torch.no_grad():
            np.testing.assert_allclose(compiled(values), model(values), **CLOSE)
    with Database(database, read_only=True) as opened:
        screened = [
            (trial.problem.key, trial.configuration.key)
            for trial in opened.all_trials()
            if trial.stage == "screen" and trial.origin != "default"
        ]
    assert len(screened) >= 4
    assert len(screened) == len(set(screened))
