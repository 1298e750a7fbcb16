"""Models of PyTorch compute what they compute in PyTorch, before and after tuning."""

from __future__ import annotations

import numpy as np
import pytest
from framework_programs import CLOSE, CPU, run

import tuninglink
from tuninglink.tuning.settings import TuningSettings

torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
pytest.importorskip("iree.turbine.aot", reason="the extra 'torch' is not installed")

import tuninglink.torch  # noqa: E402


def dense() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    layers = (torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 32))
    return torch.nn.Sequential(*layers).eval(), (torch.randn(16, 64),)


def convolution() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    layers = (torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten())
    return torch.nn.Sequential(*layers).eval(), (torch.randn(1, 3, 16, 16),)


@pytest.mark.parametrize("make", [dense, convolution])
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


def test_a_tuned_module_computes_the_same() -> None:
    torch.manual_seed(0)
    model, arguments = dense()
    settings = TuningSettings(trials=3, runs_model=False)
    tuned = tuninglink.torch.tune(model, arguments, flags=CPU, settings=settings)
    assert tuned.tasks
    spec = tuninglink.load_spec(tuned.spec.encode())
    result = tuninglink.torch.compile(model, arguments, specs=[spec], flags=CPU)
    inputs = [each.numpy() for each in arguments]
    np.testing.assert_allclose(
        run(result.output, inputs), model(*arguments).detach().numpy(), **CLOSE
    )
    explained = tuninglink.torch.explain(model, arguments, specs=[spec], flags=CPU)
    assert explained.dispatches
