"""Products whose sizes no intrinsic divides, or whose sums are f16 or bf16: by default, tuned, and in each form.

    python benchmarks/product_forms.py --output products.json --directory products     # on a machine with a GPU
    python benchmarks/product_forms.py --compile-only                                  # without one

A program computes its product several times, from different left operands and one right operand, into buffers that are
given. All programs of a product are called in turn; printed are microseconds for each product, medians over the rounds,
and the largest error relative to the largest element of the result in f32. The tuner gets a program of one product:
`tuned` configures the compiler's choice, `tuned form` the fastest form. It starts no tuning after `--seconds`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import tuninglink
from tuninglink.compiler import executable_target
from tuninglink.errors import CompileError
from tuninglink.forms import forms_of
from tuninglink.iree import Target
from tuninglink.mlir import thread_context
from tuninglink.replacing import MATMUL, Contraction, NoFormError, spec

FLAGS = ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80")
TYPES: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}
ROUNDS, CALLS = 9, 4


@dataclass(frozen=True)
class Product:
    """A product of m x k and k x n elements, the right operand stored in rows of n (`kn`) or of k (`nk`)."""

    m: int
    n: int
    k: int
    rhs: str = "nk"
    element: str = "f16"
    sums: str = "f32"

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}_{self.rhs}_{self.element}_{self.sums}"

    @property
    def problem(self) -> Contraction:
        """The product as it arrives."""
        types = (self.element, self.element, self.sums)
        return Contraction(("mk", self.rhs, "mn"), types, "mnk", (self.m, self.n, self.k), MATMUL)

    @property
    def shapes(self) -> list[list[int]]:
        """The shapes of the operands and the result."""
        return [
            [self.problem.loop_sizes[loop] for loop in loops] for loops in self.problem.operands
        ]

    def program(self, count: int, *, has_buffers: bool) -> str:
        """Return a program of several such products, whose results are in buffers of the caller or its own."""
        shapes = ["x".join(map(str, shape)) for shape in self.shapes]
        left, right, sums = (
            f"tensor<{shape}x{type_}>"
            for shape, type_ in zip(shapes, self.problem.types, strict=True)
        )
        maps = ", ".join(
            f"affine_map<(m, n, k) -> ({', '.join(loops)})>" for loops in self.problem.operands
        )
        arguments = [f"%v{at}: {left}" for at in range(count)] + [f"%w: {right}"]
        if has_buffers:
            arguments += [
                f"%o{at}: {sums} {{iree.abi.output = {at} : index}}" for at in range(count)
            ]
        body = [f"%zero = arith.constant 0.0 : {self.sums}", f"%empty = tensor.empty() : {sums}"]
        body.append(
            f"%start = linalg.fill ins(%zero : {self.sums}) outs(%empty : {sums}) -> {sums}"
        )
        body += [
            f"%r{at} = linalg.matmul indexing_maps = [{maps}] ins(%v{at}, %w : {left}, {right}) outs(%start : {sums}) -> {sums}"
            for at in range(count)
        ]
        results = ", ".join([sums] * count)
        body.append(f"return {', '.join(f'%r{at}' for at in range(count))} : {results}")
        return (
            f"func.func @main({', '.join(arguments)}) -> ({results}) {{\n  "
            + "\n  ".join(body)
            + "\n}\n"
        )


PRODUCTS = (
    Product(1028, 1024, 4096),
    Product(788, 3072, 768),
    Product(1028, 1024, 4096, "kn", "bf16", "bf16"),
    Product(788, 768, 3072),
    Product(1024, 1024, 4100, "kn"),
    Product(1024, 1001, 4096),
    Product(1028, 1024, 4096, "kn"),
    Product(1028, 1024, 4096, "kn", "f16", "f16"),
    Product(1024, 1024, 4096, "kn", "f16", "f16"),
    Product(1024, 1024, 4096, "kn", "bf16", "bf16"),
    Product(1024, 1024, 4096, "kn"),
)


def compiled(program: str, specs: list[str]) -> bytes:
    """Compile a program with specs."""
    encoded = [text.encode() for text in specs]
    result = tuninglink.compile(program.encode(), specs=encoded, flags=FLAGS, default_specs=False)
    output: bytes = result.output
    if specs and specs[0].count("transform_main") and not result.replaced:
        raise RuntimeError("the form replaced nothing")
    return output


def tuned(product: Product, directory: Path, name: str, replacing: str, budget: str) -> list[str]:
    """Tune a program of one product, after a spec has replaced it, and return the spec if anything won."""
    own = directory / f"{product}_{name}"
    own.mkdir(parents=True, exist_ok=True)
    program, path = own / "program.mlir", own / "tuned.mlir"
    program.write_text(product.program(1, has_buffers=False))
    more = []
    if replacing:
        (own / "form.mlir").write_text(replacing)
        more = [f"--iree-preprocessing-transform-spec-filename={own / 'form.mlir'}"]
    command = ["tuninglink", "tune", program, "-o", path, "--budget", budget, "--device", "cuda"]
    command += ["--no-forms", "--flag-sets", "none", *FLAGS, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    (own / "log").write_text(done.stdout + done.stderr)
    return [path.read_text()] if path.exists() and path.read_text().strip() else []


class Comparison:
    """The programs of a product on a device, with their times in each round."""

    def __init__(self, product: Product, count: int, uri: str) -> None:
        from iree import runtime  # noqa: PLC0415 - `--compile-only` needs no runtime

        self.runtime, self.count = runtime, count
        self.config = runtime.Config(device=runtime.get_device(uri))
        generator = np.random.default_rng(0)
        left, right, result = product.shapes
        numbers = [generator.uniform(-0.5, 0.5, left) for _ in range(count)]
        numbers.append(generator.uniform(-0.5, 0.5, right))
        operands = [array.astype(TYPES[product.element]) for array in numbers]
        buffers = [np.full(result, 7, TYPES[product.sums]) for _ in range(count)]
        self.arguments = [
            runtime.asdevicearray(self.config.device, array) for array in [*operands, *buffers]
        ]
        first, last = (operands[at].astype(np.float32) for at in (0, count))
        self.expected = first @ (last.T if product.rhs == "nk" else last)
        self.functions: dict[str, Any] = {}
        self.errors: dict[str, float] = {}
        self.times: dict[str, list[float]] = {}

    def add(self, name: str, image: bytes) -> None:
        """Load a program and compare its first result."""
        module = self.runtime.VmModule.copy_buffer(self.config.vm_instance, image)
        context = self.runtime.SystemContext(vm_modules=[module], config=self.config)
        function = self.functions[name] = context.modules.module["main"]
        first = np.array(function(*self.arguments)[0].to_host()).astype(np.float32)
        error = np.abs(first - self.expected).max() / np.abs(self.expected).max()
        self.errors[name] = float(error)

    def measure(self, names: list[str]) -> None:
        """Time programs in turn."""
        for _ in range(ROUNDS):
            for name in names:
                began = time.perf_counter()
                for _ in range(CALLS):
                    self.functions[name](*self.arguments)
                seconds = time.perf_counter() - began
                self.times.setdefault(name, []).append(seconds / CALLS / self.count * 1e6)

    def row(self) -> dict[str, dict[str, float]]:
        """Return the figures."""
        return {
            name: {
                "us": round(statistics.median(times), 2),
                "fastest": round(min(times), 2),
                "error": self.errors[name],
            }
            for name, times in self.times.items()
        }


def compile_all(
    replacing: dict[Product, dict[str, str]], options: argparse.Namespace
) -> dict[tuple[Product, str], bytes]:
    """Return the programs that compile, and print why others do not."""
    images = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = {
            (product, name): pool.submit(
                compiled, product.program(options.count, has_buffers=True), [text] if text else []
            )
            for product, own in replacing.items()
            for name, text in own.items()
        }
        for key, job in jobs.items():
            try:
                images[key] = job.result()
            except CompileError as failure:
                print(f"{key[0]}, {key[1]}: {failure.diagnostics[0].message}")
    return images


def main() -> None:
    """Compile all, then measure, and tune while there is time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--count", type=int, default=20, help="products in a program")
    parser.add_argument("--budget", default="20s", help="that of each run of the tuner")
    parser.add_argument("--seconds", type=float, default=420, help="start no tuning after this")
    parser.add_argument("--directory", type=Path, default=Path("products"))
    parser.add_argument("--products", type=int, nargs="*", default=range(len(PRODUCTS)))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    began = time.monotonic()
    target = Target.from_attribute(executable_target(FLAGS, thread_context()))
    products = [PRODUCTS[number] for number in options.products]
    replacing: dict[Product, dict[str, str]] = {}
    for product in products:
        replacing[product] = {"default": ""}
        try:
            replacing[product] |= {
                str(form): spec([form]) for form in forms_of(product.problem, target)
            }
        except NoFormError as failure:
            print(f"{product}: {failure}")
    images = compile_all(replacing, options)
    print(f"{len(images)} programs compiled in {time.monotonic() - began:.0f} s", flush=True)
    if options.compile_only:
        return
    comparisons = {
        product: Comparison(product, options.count, options.device) for product in products
    }
    for (product, name), image in images.items():
        comparisons[product].add(name, image)
    rows: dict[str, Any] = {}

    def report(product: Product) -> None:
        rows[str(product)] = comparisons[product].row()
        print(product, *rows[str(product)].items(), sep="\n  ", flush=True)
        if options.output:
            options.output.write_text(json.dumps(rows, indent=2) + "\n")

    names = {
        product: [at for at in own if (product, at) in images] for product, own in replacing.items()
    }
    for product in products:
        comparisons[product].measure(names[product])
        report(product)
    for product in products:
        for stage in ("tuned", "tuned form"):
            if time.monotonic() - began > options.seconds:
                print("out of time", flush=True)
                return
            text = ""
            if stage == "tuned form":
                row = rows[str(product)]
                forms = [name for name in names[product] if name != "default"]
                if not forms:
                    continue
                text = replacing[product][min(forms, key=lambda name: row[name]["us"])]
            won = tuned(product, options.directory, stage.replace(" ", "_"), text, options.budget)
            if not won:
                print(f"{product}: nothing won, {stage}", flush=True)
                continue
            program = product.program(options.count, has_buffers=True)
            comparisons[product].add(stage, compiled(program, [*([text] if text else []), *won]))
            comparisons[product].measure([*names[product], stage])
            report(product)


if __name__ == "__main__":
    main()
