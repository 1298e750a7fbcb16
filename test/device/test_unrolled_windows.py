"""Programs whose windows a spec unrolls compute the same results, with our compiler and with the stock one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from framework_programs import CPU, run
from programs import iree_compile
from tuning_programs import ONE_CHANNEL, ONE_IMAGE, POOLING, depthwise, dispatched, prepared

import tuninglink
from tuninglink.checking import Checker, CompileLimits
from tuninglink.compiler import executable_target
from tuninglink.emission import write_spec
from tuninglink.explaining import Status, explain
from tuninglink.iree import Target
from tuninglink.mlir import thread_context
from tuninglink.solver import Verdict
from tuninglink.spaces import ProviderRegistry
from tuninglink.specs import link_specs, load_spec
from tuninglink.tuning.candidates import CandidateOrigin, prepare

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
    unrolled, configured = prepared(source, "host-cpu"), prepared(KEPT, "host-cpu")
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


def unrolling_and_other() -> tuple[str, str]:
    """Return a spec that unrolls the window of `depthwise(stride=2)`, and one that configures `KEPT`."""
    unrolled, configured = prepared(depthwise(stride=2), "host-cpu"), prepared(KEPT, "host-cpu")
    neighbor = configured.spaces.neighbors(configured.spaces.default)[0]
    provenance = {"default_us": 9.0, "tuned_us": 1.5}
    return (
        write_spec("unrolling", [unrolled.entry(unrolled.spaces.given[0], provenance)]),
        write_spec("other", [configured.entry(neighbor, {})]),
    )


def test_an_explanation_shows_which_entry_unrolls_a_window() -> None:
    unrolling, other = (text.encode() for text in unrolling_and_other())
    program = (depthwise(stride=2) + KEPT).encode()
    linked = str(link_specs([load_spec(unrolling), load_spec(other)]).spec.module).encode()
    # In the other order, the batch loop that the other spec adds hides the window.
    for specs in ([unrolling], [unrolling, other], [linked]):
        result = explain(program, specs=specs, default_specs=False, flags=CPU)
        window = next(
            dispatch for dispatch in result.dispatches if dispatch.name.startswith("@main")
        )
        (operation,) = window.operations
        assert window.status is Status.TUNED
        assert operation.rewriting == "unrolls its window: 3x3 copies"
        assert operation.words.startswith("depthwise convolution 16x16x16")
        assert not operation.cannot_tell
        assert operation.compilers_choice is not None
        assert operation.compilers_choice != operation.configuration
        assert operation.match is not None
        assert operation.match.entry is not None
        assert operation.match.entry.action.startswith("unroll")
        assert window.saved_microseconds == 7.5
        if specs == [unrolling]:
            assert [spec.used for spec in result.specs] == [1]
            kept = result.dispatches[1 - result.dispatches.index(window)]
            assert kept.status is Status.UNMATCHED
            assert not kept.operations[0].rewriting


def test_tags_of_rewritten_ops_change_no_code() -> None:
    unrolling, other = (text.encode() for text in unrolling_and_other())
    program = (depthwise(stride=2) + KEPT).encode()
    compilation = tuninglink.compile(
        program, specs=[unrolling, other], default_specs=False, flags=CPU
    )
    texts = sorted(map(str, compilation.applied))
    assert len(texts) == 2
    assert "func.func rewritten by entry" in texts[1]


def test_tags_of_rewritten_ops_follow_typed_handles() -> None:
    unrolling = unrolling_and_other()[0]
    action, separator, others = unrolling.partition("  transform.named_sequence @match")
    typed = action.replace("%arg0: !transform.any_op", '%arg0: !transform.op<"linalg.generic">')
    typed = re.sub(
        r"(%arg0 (?:<|tile_sizes).*: \()!transform.any_op",
        r'\1!transform.op<"linalg.generic">',
        typed,
    )
    assert typed.count("linalg.generic") == 3
    program = depthwise(stride=2).encode()
    plain, same = (
        tuninglink.compile(program, specs=[spec.encode()], default_specs=False, flags=CPU)
        for spec in (unrolling, typed + separator + others)
    )
    assert same.output == plain.output
    assert len(same.applied) == 1


def test_check_verifies_entries_that_unroll_windows() -> None:
    unrolling = unrolling_and_other()[0]
    target = Target.from_attribute(executable_target(CPU, thread_context()))
    checker = Checker(target=target, compile_limits=CompileLimits())
    (entry,) = checker.check(unrolling.encode(), "unrolling.mlir").entries
    assert entry.matches.verdict is Verdict.PROVEN
    assert entry.is_valid is not None
    assert entry.is_valid.verdict is Verdict.PROVEN
    assert entry.compiles is not None
    assert entry.compiles.verdict is Verdict.PROVEN
    for right, wrong, reason in (
        ("factor = 3", "factor = 2", "it makes 2 copies for a loop of 3 iterations"),
        ("[0, 0, 0, 1, 1]", "[0, 0, 1, 1, 0]", "it makes 3 copies for a loop of 16 iterations"),
    ):
        text = unrolling.replace(right, wrong)
        assert text != unrolling
        (entry,) = Checker(target=target).check(text.encode(), "unrolling.mlir").entries
        assert entry.is_valid is not None
        assert entry.is_valid.verdict is Verdict.NOT_DECIDED
        assert entry.is_valid.reason == reason


def test_what_an_op_was_rewritten_into_gives_no_candidate() -> None:
    """With a spec of an earlier run, the configuration of the new ops became a candidate for the old one."""
    unrolling, other = (load_spec(text.encode()) for text in unrolling_and_other())
    registry = ProviderRegistry(lambda _: None)
    (task,) = dispatched(depthwise(stride=2), "host-cpu").tasks
    given = prepare(task, CPU, [unrolling], registry, {}).spaces.given
    assert [candidate.origin for candidate in given] == [CandidateOrigin.REWRITING]
    (task,) = dispatched(KEPT, "host-cpu").tasks
    given = prepare(task, CPU, [other], registry, {}).spaces.given
    assert [candidate.origin for candidate in given] == [CandidateOrigin.SPEC]
