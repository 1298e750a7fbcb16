"""Do the processes that load modules ahead inflate the measured overhead of an empty batch?

Run by hand. The overhead is measured while nothing else happens and while other processes load modules, as the least of
five empty batches. What is taken for too long is subtracted from each sample, and makes a candidate seem faster.

    python test/campaigns/empty_batches.py
    python test/campaigns/empty_batches.py --device cuda://0 -- --iree-hal-target-device=cuda --iree-cuda-target=sm_80
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.append(str(Path(__file__).parents[1] / "support"))

import iree.runtime as rt
from device_benchmarks import make_inputs
from tuning_programs import matmul

from tuninglink.compiler import set_up_command_line
from tuninglink.devices import (
    AheadLoader,
    Loader,
    open_device,
)
from tuninglink.programs import Benchmark, read_program
from tuninglink.spaces import ProviderRegistry
from tuninglink.tuning.candidates import CandidateCompiler, prepare

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HOST: Final = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
SAMPLE_MICROSECONDS: Final = 3000.0
"""The length of a sample; the part of it that the overhead takes is the error of a time."""


@dataclass(frozen=True)
class Overheads:
    """Overheads of empty batches in microseconds, each the least of five.

    Attributes:
        values: the overheads.
    """

    values: Sequence[float]

    def __str__(self) -> str:
        least, most = min(self.values), max(self.values)
        error = (most - least) / SAMPLE_MICROSECONDS
        return (
            f"least {least:.1f} us, median {statistics.median(self.values):.1f} us, most {most:.1f} us: "
            f"a sample of 3 ms comes out {error:.1%} too fast at worst"
        )


def compile_candidates(flags: Sequence[str], count: int) -> list[Benchmark]:
    """Return compiled candidates of a matmul, all different."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "matmul.mlir"
        element = "f16" if "--iree-hal-target-device=cuda" in flags else "f32"
        path.write_text(matmul(512, 512, 512, element))
        (task,) = read_program(str(path), flags).tasks
        prepared = prepare(task, flags, [], ProviderRegistry(print), {})
        candidates = prepared.spaces.sample(count, 0)
        with CandidateCompiler(flags) as compiler:
            jobs = [compiler.submit(prepared.template, each, 60.0) for each in candidates]
            outcomes = [each.result() for each in jobs]
    return [each for each in outcomes if isinstance(each, Benchmark)]


def measure(uri: str, benchmarks: Sequence[Benchmark], count: int) -> Overheads:
    """Measure overheads on a device, of a fresh module each time."""
    device = open_device(uri)
    loader = Loader(device)
    layout = benchmarks[0].layout
    buffer = device.allocator.allocate_buffer_copy(
        memory_type=rt.MemoryType.DEVICE_LOCAL,
        allowed_usage=rt.BufferUsage.DEFAULT,
        device=device,
        buffer=make_inputs(layout),
    )
    values = []
    for number in range(count):
        each = benchmarks[number % len(benchmarks)]
        function = loader.load(each.image, each.function, number)
        empty = (function.run((buffer, 1, layout.stride, 0))[0] for _ in range(5))
        values.append(min(empty) * 1e6)
    return Overheads(values)


@contextmanager
def loading(uri: str, benchmarks: Sequence[Benchmark], workers: int) -> Iterator[None]:
    """Load modules in other processes while the block runs."""
    loader = AheadLoader(uri, workers, timeout=60.0)
    ended = threading.Event()

    def load() -> None:
        number = 0
        while not ended.is_set():
            loader.load(benchmarks[number % len(benchmarks)])
            number += 1

    threads = [threading.Thread(target=load) for _ in range(workers)]
    for each in threads:
        each.start()
    try:
        yield
    finally:
        ended.set()
        for each in threads:
            each.join()
        loader.pool.close()


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="local-sync")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--candidates", type=int, default=40)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("flags", nargs="*", help="flags of iree-compile; for the host by default")
    arguments = parser.parse_args()
    flags = tuple(arguments.flags) or HOST
    set_up_command_line("empty_batches", flags)
    benchmarks = compile_candidates(flags, arguments.candidates)
    print(f"{len(benchmarks)} modules on {arguments.device}")
    print("quiet:  ", measure(arguments.device, benchmarks, arguments.count))
    with loading(arguments.device, benchmarks, arguments.workers):
        print("loading:", measure(arguments.device, benchmarks, arguments.count))
    print("quiet:  ", measure(arguments.device, benchmarks, arguments.count))


if __name__ == "__main__":
    main()
