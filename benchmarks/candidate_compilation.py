"""Compiling 100 candidates of one matmul for gfx942, against one process of `iree-compile` for each.

    python benchmarks/candidate_compilation.py [--jobs 2] [--table FILE]...
    python benchmarks/candidate_compilation.py --write   # draws new candidates

The candidates are those in `candidates_gfx942.json`: 25 from each space of the f16 matmul 2048x1280x5120 but that of
single threads. The tuner leaves some out, see `tuninglink.tuning.candidates.candidate_spaces`; the last line is the time of the
rest. With recorded tables it also prints the number of configurations that are faster than the default and would be left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from iree.compiler import ir as mlir

from tuninglink.mlir import thread_context
from tuninglink.programs import Failure, read_program
from tuninglink.spaces import ProviderRegistry, current_names
from tuninglink.tuning.candidates import (
    MOST_ACCUMULATORS,
    Candidate,
    CandidateCompiler,
    PreparedTask,
    accumulators_per_thread,
    apply_candidate,
    prepare,
)

HERE = Path(__file__).parent
PROGRAM = HERE.parent / "examples" / "mmt_2048x1280x5120.mlir"
LIST = HERE / "candidates_gfx942.json"
FLAGS = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")
FROM_EACH = 25
SECONDS = 600.0


def task() -> PreparedTask:
    """Return the matmul."""
    (found,) = read_program(str(PROGRAM), FLAGS).tasks
    return prepare(found, FLAGS, [], ProviderRegistry(print), {})


def write(prepared: PreparedTask) -> None:
    """Draw the candidates and write them down."""
    found = []
    for space in prepared.spaces.spaces:
        if any(each.name.startswith("thread[") for each in space.constraints.knobs):
            continue
        for assignment in space.constraints.sample(FROM_EACH, 0):
            info = space.compilation_info(assignment)
            found.append({"pipeline": space.constraints.pipeline, "configuration": str(info)})
    LIST.write_text(json.dumps(found, indent=0) + "\n")
    print(f"{len(found)} candidates")


def candidates() -> list[Candidate]:
    """Return the candidates that are written down."""
    return [Candidate(knobs={}, **each) for each in json.loads(LIST.read_text())]


def by_processes(prepared: PreparedTask, chosen: list[Candidate], jobs: int) -> float:
    """Return the time of compiling each candidate in its own process, in seconds."""
    tool = Path(sys.executable).parent / "iree-compile"
    with tempfile.TemporaryDirectory() as directory:
        paths = []
        for number, each in enumerate(chosen):
            module = mlir.Module.parse(prepared.template.content, thread_context()).operation
            apply_candidate(module, each)
            paths.append(Path(directory) / f"{number}.mlir")
            paths[-1].write_text(str(module))

        def compile_one(path: Path) -> None:
            command = [
                tool,
                path,
                *FLAGS,
                "--compile-from=executable-configurations",
                "-o",
                "/dev/null",
            ]
            subprocess.run(command, capture_output=True, check=False)

        began = time.monotonic()
        with ThreadPoolExecutor(jobs) as threads:
            list(threads.map(compile_one, paths))
        return time.monotonic() - began


def by_workers(
    prepared: PreparedTask, chosen: list[Candidate], compiler: CandidateCompiler
) -> tuple[float, int]:
    """Return the time of the tuner's workers, in seconds, and the number of failing candidates."""
    began = time.monotonic()
    answers = [compiler.submit(prepared.template, each, SECONDS) for each in chosen]
    failed = sum(isinstance(each.result(), Failure) for each in answers)
    return time.monotonic() - began, failed


def is_kept(candidate: Candidate) -> bool:
    """Return whether the tuner would try a candidate."""
    info = mlir.Attribute.parse(candidate.configuration, thread_context())
    return accumulators_per_thread(info) <= MOST_ACCUMULATORS


def dropped_winners(path: Path) -> tuple[int, int]:
    """Return the number of omitted configurations of a table that beat the default, and of all that do."""
    table = json.loads(path.read_text())
    default = table["default"]["microseconds"]
    better = [
        current_names(each["knobs"])
        for each in table["trials"]
        if each.get("microseconds", default) < default
    ]
    tiles = [
        (each["workgroup[0]"] * each["workgroup[1]"], each["workgroup_size"])
        for each in better
        if "mma_kind" in each
    ]
    return sum(tile // threads > MOST_ACCUMULATORS for tile, threads in tiles), len(tiles)


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", type=Path, action="append", default=[])
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    prepared = task()
    if arguments.write:
        write(prepared)
        return
    for table in arguments.table:
        dropped, better = dropped_winners(table)
        print(f"{table.name}: {dropped} of {better} that beat the default are left out")
    chosen = candidates()
    kept = [each for each in chosen if is_kept(each)]
    with CandidateCompiler(FLAGS, arguments.jobs) as compiler:
        by_workers(prepared, chosen[: arguments.jobs], compiler)  # the processes start
        workers, failed = by_workers(prepared, chosen, compiler)
        capped, _ = by_workers(prepared, kept, compiler)
    processes = by_processes(prepared, chosen, arguments.jobs)
    print(f"{len(chosen)} candidates, {failed} fail, {arguments.jobs} jobs")
    print(f"a process for each: {processes:.1f} s")
    print(f"workers: {workers:.1f} s, ratio {workers / processes:.2f}")
    print(f"workers, {len(kept)} that are kept: {capped:.1f} s, ratio {capped / processes:.2f}")


if __name__ == "__main__":
    main()
