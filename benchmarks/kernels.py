"""Kernels of Triton in programs of IREE: make candidates for problems, and check and time them on a GPU.

    python benchmarks/kernels.py --candidates 8 --output kernels.json      # on a machine with a GPU
    python benchmarks/kernels.py --candidates 2 --compile-only             # without one
    python benchmarks/kernels.py --suite fresh --models clip_image dit --budget 15m --directory models --output models.json

A program computes its problem several times, from different operands, into buffers that are given. Printed are microseconds
for each: the compiler's default, the best kernel that is right, and PyTorch in a CUDA graph if it is installed. Kernels are
compared with PyTorch or NumPy in f32; the error is relative to the largest element. Needs the package with the extra
`kernels`.

With `--models`, whole models of a suite of `models.py` are tuned three times: configurations only, with flags and forms, and
with kernels as well. All programs are timed in turn with `iree-benchmark-module`; the framework's time is that of the export.
A directory that holds a model already, with the figures of its framework, needs no PyTorch.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from iree.compiler import ir as mlir

import tuninglink
from tuninglink.errors import TuninglinkError
from tuninglink.kernels import KernelCall, TritonProvider, kernel_problem
from tuninglink.mlir import collect, thread_context
from tuninglink.replacing import spec

GELU = """
    %q = arith.constant 0.70710678118 : f32
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %s = arith.addf %x, %y : f32
    %a = arith.mulf %s, %q : f32
    %e = math.erf %a : f32
    %f = arith.addf %e, %one : f32
    %g = arith.mulf %f, %half : f32
    %h = arith.mulf %s, %g : f32
    %r = arith.truncf %h : f32 to f16"""
TOLERANCE = 5e-3
ROUNDS, CALLS = 5, 5


def product(m: int, n: int, k: int, *, gelu: bool, count: int = 20) -> dict[str, Any]:
    """Return a product with rows of the right operand, its operands and its program."""
    left, right, sums = f"tensor<{m}x{k}xf16>", f"tensor<{n}x{k}xf16>", f"tensor<{m}x{n}xf32>"
    result = f"tensor<{m}x{n}xf16>" if gelu else sums
    maps = ", ".join(f"affine_map<(m, n, k) -> {at}>" for at in ("(m, k)", "(n, k)", "(m, n)"))
    body = ["%zero = arith.constant 0.0 : f32", f"%empty = tensor.empty() : {sums}"]
    body.append(f"%start = linalg.fill ins(%zero : f32) outs(%empty : {sums}) -> {sums}")
    if gelu:
        body.append(f"%other = tensor.empty() : {result}")
    for at in range(count):
        name = f"%p{at}" if gelu else f"%r{at}"
        body.append(
            f"{name} = linalg.matmul indexing_maps = [{maps}] ins(%v{at}, %w0 : {left}, {right}) outs(%start : {sums}) -> {sums}"
        )
        if gelu:
            own = ", ".join(f"affine_map<(m, n) -> {dims}>" for dims in ("(m, n)", "(n)", "(m, n)"))
            body.append(
                f'%r{at} = linalg.generic {{indexing_maps = [{own}], iterator_types = ["parallel", "parallel"]}} '
                f"ins(%p{at}, %w1 : {sums}, tensor<{n}xf32>) outs(%other : {result}) {{\n"
                f"  ^bb0(%x: f32, %y: f32, %z: f16):{GELU}\n    linalg.yield %r : f16\n  }} -> {result}"
            )
    shared = [((n, k), "f16"), *([((n,), "f32")] if gelu else [])]
    name = f"product {m}x{n}x{k}" + (" bias gelu" if gelu else "")
    value = ((m, n), "f16" if gelu else "f32")
    return problem_of(name, count, ((m, k), "f16"), shared, result=value, body=body)


def attention(batch: int, heads: int, length: int, size: int, count: int = 10) -> dict[str, Any]:
    """Return an attention, its operands and its program."""
    shape = (batch, heads, length, size)
    kind = "tensor<" + "x".join(map(str, shape)) + "xf16>"
    dims = ("(b, h, m, k)", "(b, h, j, k)", "(b, h, j, n)", "()", "(b, h, m, n)")
    maps = ", ".join(f"affine_map<(b, h, m, n, k, j) -> {at}>" for at in dims)
    body = [f"%scale = arith.constant {size**-0.5:.9f} : f32", f"%empty = tensor.empty() : {kind}"]
    body += [
        f"%r{at} = iree_linalg_ext.attention <{{indexing_maps = [{maps}]}}> "
        f"ins(%v{at}, %w0, %w1, %scale : {kind}, {kind}, {kind}, f32) outs(%empty : {kind}) {{\n"
        f"  ^bb0(%x: f32):\n    iree_linalg_ext.yield %x : f32\n  }} -> {kind}"
        for at in range(count)
    ]
    one = (shape, "f16")
    return problem_of(
        f"attention {'x'.join(map(str, shape))}", count, one, [one, one], result=one, body=body
    )


def problem_of(
    name: str, count: int, varied: Any, shared: list[Any], *, result: Any, body: list[str]
) -> dict[str, Any]:
    """Return a problem: `count` operands differ, others are shared; each result has a buffer."""

    def kind(operand: Any) -> str:
        return f"tensor<{'x'.join(map(str, operand[0]))}x{operand[1]}>"

    arguments = [f"%v{at}: {kind(varied)}" for at in range(count)]
    arguments += [f"%w{at}: {kind(operand)}" for at, operand in enumerate(shared)]
    arguments += [
        f"%o{at}: {kind(result)} {{iree.abi.output = {at} : index}}" for at in range(count)
    ]
    results = ", ".join([kind(result)] * count)
    returned = ", ".join(f"%r{at}" for at in range(count))
    text = "\n  ".join([*body, f"return {returned} : {results}"])
    program = f"func.func @main({', '.join(arguments)}) -> ({results}) {{\n  {text}\n}}\n"
    operands = [*[varied] * count, *shared]
    return {
        "name": name,
        "count": count,
        "operands": operands,
        "result": result,
        "program": program,
    }


PROBLEMS = (
    product(2048, 1280, 5120, gelu=False),
    product(1028, 1024, 4096, gelu=True),
    attention(4, 16, 257, 64),
    attention(2, 16, 1024, 72),
    attention(2, 16, 1024, 64),
)


def compiled(number: int, position: int, target: str, architecture: str) -> tuple[str, bytes | str]:
    """Compile a problem with a candidate, or by default for -1. Return its name, and the program or why there is none."""
    program, provider = PROBLEMS[number]["program"], TritonProvider()
    specs, name = [], "default"
    if position >= 0:
        module = mlir.Module.parse(program, thread_context()).operation
        (end,) = collect(module, "func.return")
        problem = kernel_problem(end.operands[0].owner.operation)
        candidates = provider.candidates(problem, architecture)
        if position >= len(candidates):
            return "", "there are no more candidates"
        name = candidates[position].name
        try:
            specs = [spec([KernelCall(problem, provider.make(candidates[position]))]).encode()]
        except TuninglinkError as failure:
            return name, str(failure)
    result = tuninglink.compile(program.encode(), specs=specs, target=target, default_specs=False)
    if len(result.replaced) != bool(specs) * PROBLEMS[number]["count"]:
        return name, f"it replaced {len(result.replaced)} ops"
    return name, result.output


def reference(problem: dict[str, Any], first: list[Any]) -> Any:
    """Compute the first result in f32."""
    query, *others = [array.astype(np.float32) for array in first]
    if problem["name"].startswith("product"):
        value = query @ others[0].T
        if len(others) > 1:
            value = value + others[1]
            value = value * 0.5 * (1 + np.vectorize(math.erf)(value * 0.70710678118))
        return value
    scores = query @ others[0].swapaxes(-1, -2) * query.shape[-1] ** -0.5
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ others[1]


def torch_time(problem: dict[str, Any], operands: list[Any]) -> float | None:
    """Time PyTorch in a CUDA graph, in microseconds; None without PyTorch or a GPU."""
    try:
        import torch  # noqa: PLC0415
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    functional = torch.nn.functional
    count = problem["count"]
    tensors = [torch.from_numpy(array).cuda() for array in operands]
    varied, shared = tensors[:count], tensors[count:]

    def step(value: Any) -> Any:
        if not problem["name"].startswith("product"):
            return functional.scaled_dot_product_attention(value, *shared)
        if len(shared) > 1:
            return functional.gelu(functional.linear(value, shared[0], shared[1].half()))
        return value @ shared[0].T

    for value in varied:
        step(value)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = [step(value) for value in varied]
    times = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(CALLS):
            graph.replay()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - began) / CALLS / count * 1e6)
    del kept
    return statistics.median(times)


class Device:
    """A device of IREE's runtime."""

    def __init__(self, uri: str) -> None:
        from iree import runtime  # noqa: PLC0415

        self.runtime = runtime
        self.config = runtime.Config(device=runtime.get_device(uri))

    def put(self, array: Any) -> Any:
        """Return a copy of an array on the device."""
        return self.runtime.asdevicearray(self.config.device, array)

    def run(self, image: bytes, arguments: list[Any], count: int) -> tuple[Any, float]:
        """Return the first result of a program, and microseconds for each of its computations."""
        module = self.runtime.VmModule.copy_buffer(self.config.vm_instance, image)
        context = self.runtime.SystemContext(vm_modules=[module], config=self.config)
        function = context.modules.module["main"]
        results = function(*arguments)
        first = (results[0] if isinstance(results, tuple | list) else results).to_host()
        times = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            for _ in range(CALLS):
                function(*arguments)
            times.append((time.perf_counter() - began) / CALLS / count * 1e6)
        return np.array(first), statistics.median(times)


def measure(
    problem: dict[str, Any], images: list[tuple[str, bytes | str]], device: Device
) -> dict[str, Any]:
    """Check and time the programs of a problem."""
    random = np.random.default_rng(0)
    types = {"f16": np.float16, "f32": np.float32}
    operands = [
        random.uniform(-0.5, 0.5, shape).astype(types[kind]) for shape, kind in problem["operands"]
    ]
    shape, kind = problem["result"]
    count = problem["count"]
    expected = reference(problem, [operands[0], *operands[count:]])
    arguments = [device.put(array) for array in operands]
    arguments += [device.put(np.full(shape, 7, types[kind])) for _ in range(count)]
    row: dict[str, Any] = {"problem": problem["name"], "kernels": {}}
    for name, image in images:
        if isinstance(image, str):
            row["kernels"][name or "none"] = image
            continue
        result, microseconds = device.run(image, arguments, count)
        error = float(np.abs(result - expected).max() / np.abs(expected).max())
        entry = {"us": round(microseconds, 2), "error": error, "right": error < TOLERANCE}
        (row if name == "default" else row["kernels"])[name] = entry
    row["torch"] = torch_time(problem, operands)
    return row


STAGES: dict[str, tuple[str, ...] | None] = {
    "default": None,
    "tuned": ("--no-forms", "--flag-sets", "none"),
    "forms": (),
    "kernels": ("--kernels",),
}
"""The programs of a model: options of `tuninglink tune`, or none for the compiler's own choices."""


def whole_model(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Tune a model in several ways, time all of its programs in turn, and return their figures."""
    from model_figures import measure as measure_modules, run  # noqa: PLC0415
    from models import export  # noqa: PLC0415

    directory = options.directory / name
    model = export(name, directory, options.suite, options.device)
    modules, row = {}, {"model": name, "framework": model.framework, "stages": {}}
    for stage, given in STAGES.items():
        spec: list[object] = []
        began = time.monotonic()
        if given is not None:
            path = directory / f"{stage}.mlir"
            device = ("--device", options.device, "--budget", options.budget)
            names = [f"--function={at}" for at in model.framework if len(model.framework) > 1]
            log = run(
                *("tuninglink", "tune", model.program, "-o", path, "--target", options.target),
                *(*device, *names, *given),
                timeout=7200,
            )
            print(log, flush=True)
            spec = ["--spec", path, f"@{path.with_suffix('.flags')}"]
        modules[stage] = directory / f"{stage}.vmfb"
        command = ("tuninglink", "compile", model.program, "-o", modules[stage])
        run(*command, "--target", options.target, *spec)
        size = modules[stage].stat().st_size
        row["stages"][stage] = {"seconds": round(time.monotonic() - began), "bytes": size}
    framework = sum(function["milliseconds"] for function in model.framework.values())
    for stage, figures in measure_modules(model, modules).items():
        row["stages"][stage] |= {"ms": figures.total, "error": figures.error}
    cells = (
        f"{stage} {own['ms']:.3f} ms (error {own['error']:.1e})"
        for stage, own in row["stages"].items()
        if "ms" in own
    )
    print(f"{name}: framework {framework:.3f} ms, {', '.join(cells)}", flush=True)
    return row


def main() -> None:
    """Compile in processes, then measure in this one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--target", default="h200")
    parser.add_argument("--architecture", default="sm_90a")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--problems", type=int, nargs="*", default=range(len(PROBLEMS)))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--models", nargs="*", default=[], help="whole models instead of problems")
    parser.add_argument("--suite", default="fresh", help="the suite of models.py")
    parser.add_argument("--budget", default="15m", help="that of each run of the tuner")
    parser.add_argument("--directory", type=Path, default=Path("kernel-models"))
    options = parser.parse_args()
    if options.models:
        models = []
        for name in options.models:
            models.append(whole_model(name, options))
            if options.output:
                options.output.write_text(json.dumps(models, indent=2) + "\n")
        return
    began = time.monotonic()
    with ProcessPoolExecutor(options.jobs) as pool:
        jobs = {
            number: [
                pool.submit(compiled, number, position, options.target, options.architecture)
                for position in range(-1, options.candidates)
            ]
            for number in options.problems
        }
        images = {number: [job.result() for job in own] for number, own in jobs.items()}
    print(f"compiled in {time.monotonic() - began:.0f} s")
    for number, own in images.items():
        faults = [f"{name}: {image}" for name, image in own if isinstance(image, str)]
        print(f"{PROBLEMS[number]['name']}: {len(own) - len(faults)} programs", *faults, sep="\n  ")
    if options.compile_only:
        return
    device, rows = Device(options.device), []
    for number, own in images.items():
        row = measure(PROBLEMS[number], own, device)
        rows.append(row)
        kernels = {name: at for name, at in row["kernels"].items() if isinstance(at, dict)}
        right = {name: at["us"] for name, at in kernels.items() if at["right"]}
        best = min(right, key=right.__getitem__, default="none")
        print(
            f"{row['problem']}: default {row['default']['us']} us, best {right.get(best)} us ({best}), "
            f"PyTorch {row['torch'] and round(row['torch'], 2)} us, {len(right)} of {len(kernels)} right"
        )
        for name, at in kernels.items():
            print(f"  {at['us']:10.2f} us  error {at['error']:.1e}  {name}")
    print(f"{time.monotonic() - began:.0f} s")
    if options.output:
        options.output.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
