"""Writes the products, convolutions and attentions of models as a program, to make a library for a GPU of.

    python benchmarks/gpu_models.py Llama > llama.mlir
    tuninglink tune llama.mlir -o llama.spec.mlir --no-model --trials 100 --database gpu.db \
        --iree-hal-target-device=cuda --iree-cuda-target=sm_80 --device cuda://0
    python benchmarks/gpu_models.py Llama --pytorch report/report.json

The models are Llama 3 8B (prompts of 2,048, 512 and 128 tokens, 16 sequences at once, one), SDXL (1,024 pixels, two
images), Flux (4,096 tokens of an image, 512 of text), BERT base and large (384 tokens, also 8 texts at once) and
Whisper large. With `--pytorch` the same operations are run by PyTorch on the same device, and compared with a report.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from problems import Attention, Batched, Convolution, Linear

if TYPE_CHECKING:
    from collections.abc import Callable

    from problems import Problem


def _llama() -> list[Problem]:
    layers = ((4096, 4096), (1024, 4096), (14336, 4096), (4096, 14336))
    found: list[Problem] = [Linear(m, *each) for m in (2048, 512, 128, 16) for each in layers]
    return [*found, Linear(1, 4096, 4096), Linear(1, 14336, 4096), Attention(32, 2048, 128)]


def _sdxl() -> list[Problem]:
    wide = ((640, 640), (5120, 640), (640, 2560))
    deep = ((1280, 1280), (10240, 1280), (1280, 5120))
    found: list[Problem] = [Linear(8192, *each) for each in wide]
    found += [Linear(2048, *each) for each in deep]
    found += [Linear(154, 640, 2048), Linear(154, 1280, 2048)]
    images = ((128, 320, 320), (64, 640, 640), (32, 1280, 1280), (64, 960, 640))
    found += [Convolution(2, *each) for each in images]
    return [*found, Attention(20, 4096, 64), Attention(40, 1024, 64)]


def _flux() -> list[Problem]:
    layers = ((3072, 3072), (9216, 3072), (12288, 3072), (3072, 12288))
    found: list[Problem] = [Linear(m, *each, "bf16") for m in (4096, 512) for each in layers]
    found += [Linear(4608, 21504, 3072, "bf16"), Linear(4608, 3072, 15360, "bf16")]
    return [*found, Attention(24, 4608, 128, "bf16")]


def _bert() -> list[Problem]:
    base = ((768, 768), (3072, 768), (768, 3072))
    large = ((1024, 1024), (4096, 1024), (1024, 4096))
    found: list[Problem] = [Linear(m, *each) for m in (384, 3072) for each in base]
    found += [Linear(384, *each) for each in large]
    found += [Batched(12, 384, 384, 64, is_transposed=True)]
    found += [Batched(12, 384, 64, 384, is_transposed=False)]
    return [*found, Attention(12, 384, 64)]


def _whisper() -> list[Problem]:
    layers = ((1280, 1280), (5120, 1280), (1280, 5120))
    return [*(Linear(1500, *each) for each in layers), Attention(20, 1500, 64)]


MODELS = {"Llama": _llama, "SDXL": _sdxl, "Flux": _flux, "BERT": _bert, "Whisper": _whisper}


def microseconds(call: Callable[[], object]) -> float:
    """Return the median time of a call on the current device, ten calls at a time in a graph."""
    import torch  # noqa: PLC0415 - only where it is asked for

    for _ in range(3):
        call()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(10):
            call()
    times: list[float] = []
    for _ in range(20):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 100)
    return statistics.median(times)


def compare(problems: list[Problem], reports: list[Path]) -> None:
    """Print a table: the compiler's choice, the tuned one, and PyTorch, in microseconds."""
    found: dict[str, dict[str, Any]] = {}
    for report in reports:
        for each in json.loads(report.read_text())["dispatches"]:
            found |= {problem.name: each for problem in problems if problem.name in str(each)}
    print("| operation | compiler's choice | tuned | speedup | PyTorch |")
    print("| --- | --- | --- | --- | --- |")
    speedups, against = [], []
    for problem in problems:
        torch_us = microseconds(problem.in_pytorch())
        each = found.get(problem.name)
        if each is None:
            print(f"| {problem.name} | | | | {torch_us:.1f} |")
            continue
        has_won = each["outcome"] == "won"
        tuned = each["tuned_us"] if has_won else each["default_us"]
        cell = f"{each['speedup']:.2f} {each['interval']}" if has_won else each["outcome"]
        print(f"| {problem.name} | {each['default_us']} | {tuned} | {cell} | {torch_us:.1f} |")
        against.append(tuned / torch_us)
        speedups += [each["speedup"]] * has_won
    for name, ratios in (("speedups of winners", speedups), ("tuned over PyTorch", against)):
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
            print(f"{name}: geometric mean of {len(ratios)}: {mean:.2f} ({spread})")


def main() -> None:
    """Print a program, or a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", nargs="+", choices=MODELS)
    parser.add_argument("--pytorch", type=Path, action="append", metavar="REPORT")
    arguments = parser.parse_args()
    problems = [each for model in arguments.model for each in MODELS[model]()]
    if arguments.pytorch:
        compare(problems, arguments.pytorch)
    else:
        print("\n".join(each.program for each in problems))


if __name__ == "__main__":
    main()
