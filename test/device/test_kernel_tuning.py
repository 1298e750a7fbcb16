"""Kernels are candidates of a program: wrong and slow ones are left out, and the spec holds the code of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from iree import runtime
from kernel_programs import product_program

import tuninglink
from tuninglink.kernels import GROUP
from tuninglink.tuning.deciding import TuningSettings
from tuninglink.tuning.flag_sets import Listener

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.errors import Diagnostic

FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=x86-64",
)
# The op after the product has no code in kernels.
PROGRAM = (
    product_program(128, 64, 256, ("residual",), rhs="kn")
    .replace("ins(%p, %o0", "ins(%p, %p")
    .replace(", %o0: tensor<128x64xf32>", "")
    .replace(
        "%r = arith.addf %x, %y : f32", "%t = math.sin %x : f32\n %r = arith.addf %t, %y : f32"
    )
    .replace("util.func public", "func.func")
    .replace("util.return", "return")
)


class Remarks(Listener):
    """Writes all remarks and warnings to a file: the listener is pickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def noticed(self, diagnostic: Diagnostic) -> None:
        with self.path.open("a") as file:
            file.write(f"{diagnostic.severity.value}: {diagnostic.message}\n")


@pytest.fixture
def _provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "cpu_kernels-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: cpu-kernels\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\nvectors = cpu_kernels:CpuProvider\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("_provider")
def test_the_fastest_right_kernel_is_in_the_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuninglink.tuning.flag_sets.sets._SETS", {})
    program, log = tmp_path / "program.mlir", tmp_path / "log"
    program.write_text(PROGRAM)
    # It ends long before.
    settings = TuningSettings(devices=("local-sync",), seconds=7200.0, trials=1)
    tuned = tuninglink.tune(
        program, flags=FLAGS, settings=settings, kernels=True, listener=Remarks(log)
    )
    remarks = log.read_text()
    name = "vectors_product_128x64x256_f16_f32_repeat"
    # The one that leaves out a product would be the fastest.
    assert f"warning: kernel '{name}1_short1' is left out: " in remarks
    # The fastest ones that compute the same touch memory after their buffers.
    assert f"warning: kernel '{name}1_short0_over1' is left out: it writes past the end" in remarks
    assert f"warning: kernel '{name}1_short0_past1' is left out: it reads past the end" in remarks
    assert f"'{name}2_short0' is the fastest" in remarks
    assert "4 kernels, 3 wrong; " in remarks
    assert tuned.whole is not None
    assert tuned.whole.speedup.low > 1.2
    assert f"kernel '{name}2_short0'" in tuned.spec
    assert f"{name}1" not in tuned.spec
    # The spec needs nothing beside it.
    with_kernel, default = (
        tuninglink.compile(program, specs=specs, flags=FLAGS, default_specs=False)
        for specs in ([tuned.spec.encode()], [])
    )
    assert [op.operation for op in with_kernel.replaced] == ["linalg.matmul"]
    random = np.random.default_rng(0)
    inputs = [random.uniform(-1, 1, shape).astype(np.float16) for shape in ((128, 256), (256, 64))]
    modules = (
        runtime.load_vm_flatbuffer(image.output, driver="local-sync")
        for image in (default, with_kernel)
    )
    expected, found = (module["main"](*inputs).to_host() for module in modules)
    assert np.abs(found - expected).max() < 1e-3
