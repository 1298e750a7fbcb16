"""Programs whose windows a spec unrolls compute the same results, with our compiler and with the stock one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from framework_programs import CPU, run
from programs import iree_compile
from tuning_programs import ONE_CHANNEL, ONE_IMAGE, POOLING, depthwise, prepared

import tuninglink
from tuninglink.emission.spec_writer import write_spec

if TYPE_CHECKING:
    from pathlib import Path

KEPT = ONE_IMAGE.replace("@main", "@kept")


@pytest.mark.parametrize(
    ("source", "shapes"),
    [
        (depthwise(stride=2), ((1, 16, 33, 33), (16, 3, 3))),
        (ONE_CHANNEL, ((1, 18, 18, 1), (3, 3, 1, 32))),
        (POOLING, ((1, 16, 34, 34), (3, 3))),
    ],
)
def test_unrolled_windows_compute_the_same_results(
    source: str, shapes: tuple[tuple[int, ...], ...], tmp_path: Path
) -> None:
    unrolled, configured = prepared(source, "llvm-cpu"), prepared(KEPT, "llvm-cpu")
    # The other entry needs a batch loop, which is added after the walk that unrolls.
    neighbor = configured.spaces.neighbors(configured.spaces.default)[0]
    spec = write_spec(
        "tuned",
        [configured.entry(neighbor, {}), unrolled.entry(unrolled.spaces.given[0], {})],
    )
    (tmp_path / "spec.mlir").write_text(spec)
    (tmp_path / "program.mlir").write_text(source + KEPT)
    ours = tuninglink.compile(
        tmp_path / "program.mlir", specs=[spec.encode()], default_specs=False, flags=CPU
    ).output
    path = f"--iree-codegen-tuning-spec-path={tmp_path / 'spec.mlir'}"
    stock = iree_compile(tmp_path / "program.mlir", *CPU, path, "--mlir-disable-threading")
    assert stock == ours
    default = tuninglink.compile(tmp_path / "program.mlir", default_specs=False, flags=CPU).output
    assert default != ours
    random = np.random.default_rng(0)
    # Sums of small integers are exact.
    arguments = [random.integers(-2, 3, shape).astype(np.float32) for shape in shapes]
    np.testing.assert_array_equal(run(ours, arguments), run(default, arguments))
