"""The share of old specs that works after `tuninglink upgrade`, and the time of upgrading.

    python benchmarks/upgrade.py SPEC... [--target gfx942] [--time MEGABYTES]

For each entry of each upgraded spec a program is made that its matcher accepts, and compiled with that entry
alone: it applies when the operation carries the entry's lowering config, and compiles when the result is a
`.vmfb`. The rows are the tables of docs/benchmarks.md. With `--time`, a spec of that size is upgraded and timed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError
from tuninglink.mlir import collect, names, parse_module
from tuninglink.payloads import PayloadError, payload_for, spec_of
from tuninglink.specs import Spec
from tuninglink.upgrading import upgrade

if TYPE_CHECKING:
    from tuninglink.specs import Entry

TARGET_FLAGS = ("--iree-hal-target-device=hip",)


@dataclass(frozen=True)
class Outcome:
    """The outcome for an entry: whether it applies, whether the program compiles, and the faults."""

    applies: bool
    compiles: bool
    problem: str = ""


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("specs", nargs="*", type=Path)
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--time", type=float, metavar="MEGABYTES")
    arguments = parser.parse_args()
    print("| spec | entries | upgraded | apply | compile | kept out |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    problems = [line for spec in arguments.specs for line in _measure(spec, arguments.target)]
    print("\n".join(problems))
    if arguments.time:
        _time(int(arguments.time * 1e6))


def _measure(path: Path, target: str) -> list[str]:
    """Print a row about a spec, and return the faults of its entries."""
    upgraded = upgrade(path.read_text(), str(path))
    kept = [each for each in upgraded.entries if not each.kept_out]
    entries = Spec(
        parse_module(upgraded.text.encode(), path.stem, mlir.Context()), path.stem
    ).entries
    with tempfile.TemporaryDirectory() as folder:
        outcomes = [_try(each, target, Path(folder)) for each in entries]
    applied = sum(each.applies for each in outcomes)
    compiled = sum(each.applies and each.compiles for each in outcomes)
    out = len(upgraded.entries) - len(kept)
    print(
        f"| {path.stem} | {len(upgraded.entries)} | {len(kept)} | {applied} | {compiled} | {out} |",
        flush=True,
    )
    return [
        f"{path.stem}: @{entry.matcher}: {outcome.problem}"
        for entry, outcome in zip(kept, outcomes, strict=True)
        if outcome.problem
    ] + [
        f"{path.stem}: @{each.matcher}: kept out: {each.kept_out.reason}"
        for each in upgraded.entries
        if each.kept_out
    ]


def _try(entry: Entry, target: str, folder: Path) -> Outcome:
    """Compile a program made for an entry with this entry alone."""
    wanted = _lowering_config(entry)
    spec, program = folder / "spec.mlirbc", folder / "program.mlir"
    spec.write_bytes(spec_of(entry))
    flags = [
        *TARGET_FLAGS,
        f"--iree-rocm-target={target}",
        f"--iree-codegen-tuning-spec-path={spec}",
    ]
    try:
        payload = payload_for(entry, target)
    except PayloadError as failure:
        return Outcome(applies=False, compiles=False, problem=failure.reason)
    program.write_text(payload.text)
    configured = _compile(program, [*flags, "--compile-to=executable-configurations"])
    if wanted not in _local(configured.stdout):
        return Outcome(applies=False, compiles=False, problem=f"does not apply to {payload.shapes}")
    result = _compile(program, [*flags, "-o", str(folder / "program.vmfb")])
    errors = [line for line in result.stderr.splitlines() if "error:" in line]
    if result.returncode:
        return Outcome(
            applies=True, compiles=False, problem=f"applies, but does not compile: {errors[:1]}"
        )
    return Outcome(applies=True, compiles=True)


def _lowering_config(entry: Entry) -> str:
    """Return the lowering config that an entry's matcher or action holds, as text."""
    for name in (entry.matcher, entry.action):
        sequence = entry.anatomy.table.lookup(name)
        assert sequence is not None
        for constant in collect(sequence, names.PARAM_CONSTANT):
            value: Any = constant.attributes["value"]
            if hasattr(value, "lowering_config"):
                return str(value.lowering_config)
    return f"nothing: @{entry.matcher} configures nothing"


def _local(text: str) -> str:
    """Return a module with its aliases spelled out."""
    command = [str(Path(sys.executable).with_name("iree-opt")), "--mlir-print-local-scope"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).stdout


def _compile(program: Path, flags: list[str]) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("iree-compile")), str(program), *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


ENTRY = """\
  transform.named_sequence @match_{index}(%op: !transform.any_op {{transform.readonly}})
      -> (!transform.any_op, !transform.any_param) {{
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {{
    ^bb0(%lhs: tensor<{m}x256xf16>, %rhs: tensor<512x256xf16>, %out: tensor<{m}x512xf32>):
      %r = linalg.generic {{indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
          affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel", "reduction"]}}
          ins(%lhs, %rhs : tensor<{m}x256xf16>, tensor<512x256xf16>) outs(%out : tensor<{m}x512xf32>) {{
      ^bb0(%a: f16, %b: f16, %acc: f32):
        %0 = arith.extf %a : f16 to f32
        %1 = arith.extf %b : f16 to f32
        %2 = arith.mulf %0, %1 : f32
        %3 = arith.addf %acc, %2 : f32
        linalg.yield %3 : f32
      }} -> tensor<{m}x512xf32>
    }} : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %config = transform.param.constant #iree_codegen.compilation_info<lowering_config =
      #iree_gpu.lowering_config<{{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
      promote_operands = [0, 1], reduction = [0, 0, 64], subgroup_m_count = 2 : i64,
      subgroup_n_count = 2 : i64, workgroup = [64, 128, 0]}}>, translation_info =
      <pipeline = LLVMGPUVectorDistribute workgroup_size = [128, 2, 1] subgroup_size = 64,
      {{gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_shared_memory = true>}}>>
      -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }}
"""


def _time(size: int) -> None:
    """Print the time for a spec of `size` bytes."""
    count = size // len(ENTRY)
    action = (
        "  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}, "
        "%config: !transform.any_param {transform.readonly}) {\n"
        '    transform.annotate %op "compilation_info" = %config : !transform.any_op, '
        "!transform.any_param\n    transform.yield\n  }\n"
    )
    entries = "".join(ENTRY.format(index=index, m=16 * index + 16) for index in range(count))
    pairs = ", ".join(f"@match_{index} -> @apply" for index in range(count))
    text = (
        f"module attributes {{transform.with_named_sequence}} {{\n{action}{entries}"
        "  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) {\n"
        f"    transform.foreach_match in %root {pairs} : (!transform.any_op) -> !transform.any_op\n"
        "    transform.yield\n  }\n}\n"
    )
    start, cpu = time.perf_counter(), time.process_time()
    upgrade(text)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"{len(text) / 1e6:.1f} MB, {count} entries: {seconds:.1f} s ({cpu:.1f} s of CPU)")


if __name__ == "__main__":
    try:
        main()
    except SpecError as failure:
        sys.exit("\n".join(map(str, failure.diagnostics)))
