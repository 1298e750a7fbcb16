"""Counts right results that are called wrong, or not decided: none in 200 dispatches.

Run by hand. Random dispatches of many kinds are compiled by default, run, and compared with both references: code for
another target, and single elements by NumPy. A dispatch that both accept is right. For a GPU, the first is code for this
machine's CPU; for a CPU, code for a generic one that is not vectorized:

    python test/campaigns/false_alarms.py --count 200 --seed 21
    python test/campaigns/false_alarms.py --count 200 --seed 21 --device cuda://0 -- \
        --iree-hal-target-device=cuda --iree-cuda-target=sm_80
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from tuninglink.devices import DeviceProcess
from tuninglink.programs import Correctness, Failure, read_program
from tuninglink.tuning.candidates import CandidateCompiler
from tuninglink.tuning.references import Reference, References, sums_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tuninglink.devices import Device
    from tuninglink.programs import TuningTask

HOST: Final = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
SECONDS: Final = 300.0
SIZES: Final = (1, 3, 8, 17, 32, 48, 64, 100, 128, 160)
FLOATS: Final = ("f32", "f16", "bf16")
FUNCTIONS: Final = (
    *("exp", "exp2", "expm1", "tanh", "erf", "sin", "cos", "atan", "absf", "floor", "ceil"),
    *("roundeven", "cbrt"),
)
"""Functions that are finite for any input."""

POSITIVE: Final = ("log", "log2", "log1p", "sqrt", "rsqrt")
"""Functions of positive numbers."""


def _tensor(element: str, *sizes: int) -> str:
    return f"tensor<{'x'.join(map(str, (*sizes, element)))}>"


def _sizes(chance: Random, count: int) -> list[int]:
    return [chance.choice(SIZES) for _ in range(count)]


def _maps(*results: str, loops: str) -> str:
    maps = ", ".join(f"affine_map<({loops}) -> ({result})>" for result in results)
    return f"indexing_maps = [{maps}]"


def product(chance: Random) -> str:
    """Return a product, maybe with an activation behind it."""
    m, n, k = _sizes(chance, 3)
    element = chance.choice(FLOATS)
    a, b, c = _tensor(element, m, k), _tensor(element, k, n), _tensor("f32", m, n)
    function = chance.choice(("tanh", "erf", "exp", "absf"))
    return f"""
func.func @main(%a: {a}, %b: {b}) -> {c} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {c}
  %start = linalg.fill ins(%zero : f32) outs(%empty : {c}) -> {c}
  %product = linalg.matmul ins(%a, %b : {a}, {b}) outs(%start : {c}) -> {c}
  %result = linalg.generic {{{_maps("i, j", "i, j", loops="i, j")}, iterator_types = ["parallel", "parallel"]}}
      ins(%product : {c}) outs(%empty : {c}) {{
  ^bb0(%x: f32, %out: f32):
    %scale = arith.constant 0.1 : f32
    %small = arith.mulf %x, %scale : f32
    %y = math.{function} %small : f32
    linalg.yield %y : f32
  }} -> {c}
  return %result : {c}
}}"""


def integer_product(chance: Random) -> str:
    """Return a product of bytes."""
    m, n, k = _sizes(chance, 3)
    a, b, c = _tensor("i8", m, k), _tensor("i8", k, n), _tensor("i32", m, n)
    return f"""
func.func @main(%a: {a}, %b: {b}) -> {c} {{
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : {c}
  %start = linalg.fill ins(%zero : i32) outs(%empty : {c}) -> {c}
  %product = linalg.matmul ins(%a, %b : {a}, {b}) outs(%start : {c}) -> {c}
  return %product : {c}
}}"""


def convolution(chance: Random) -> str:
    """Return a convolution with strides."""
    height, width, channels, filters = (chance.choice((4, 7, 16, 24)) for _ in range(4))
    kernel, stride = chance.choice((1, 3)), chance.choice((1, 2))
    element = chance.choice(FLOATS[:2])
    image = _tensor(
        element, 2, height * stride + kernel - stride, width * stride + kernel - stride, channels
    )
    weights = _tensor(element, kernel, kernel, channels, filters)
    result = _tensor("f32", 2, height, width, filters)
    return f"""
func.func @main(%image: {image}, %filter: {weights}) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {result}
  %start = linalg.fill ins(%zero : f32) outs(%empty : {result}) -> {result}
  %result = linalg.conv_2d_nhwc_hwcf {{strides = dense<{stride}> : tensor<2xi64>}}
      ins(%image, %filter : {image}, {weights}) outs(%start : {result}) -> {result}
  return %result : {result}
}}"""


def elementwise(chance: Random) -> str:
    """Return a chain of three functions of two tensors, one of them broadcast."""
    m, n = _sizes(chance, 2)
    element = chance.choice(FLOATS)
    x, y = _tensor(element, m, n), _tensor(element, n)
    first, last = chance.sample(FUNCTIONS, 2)
    positive = chance.choice(POSITIVE)
    return f"""
func.func @main(%x: {x}, %y: {y}) -> {x} {{
  %empty = tensor.empty() : {x}
  %result = linalg.generic {{{_maps("i, j", "j", "i, j", loops="i, j")}, iterator_types = ["parallel", "parallel"]}}
      ins(%x, %y : {x}, {y}) outs(%empty : {x}) {{
  ^bb0(%a: {element}, %b: {element}, %out: {element}):
    %one = arith.constant 1.0 : {element}
    %f = math.{first} %a : {element}
    %s = arith.addf %f, %b : {element}
    %p = math.absf %s : {element}
    %q = arith.addf %p, %one : {element}
    %g = math.{positive} %q : {element}
    %h = math.{last} %g : {element}
    linalg.yield %h : {element}
  }} -> {x}
  return %result : {x}
}}"""


def reduction(chance: Random) -> str:
    """Return a sum or a maximum of a function over one dimension."""
    m, n = _sizes(chance, 2)
    x, out = _tensor("f32", m, n), _tensor("f32", m)
    combiner, start = chance.choice((("addf", "0.0"), ("maximumf", "-1.0e+30")))
    function = chance.choice(FUNCTIONS)
    return f"""
func.func @main(%x: {x}) -> {out} {{
  %start = arith.constant {start} : f32
  %empty = tensor.empty() : {out}
  %filled = linalg.fill ins(%start : f32) outs(%empty : {out}) -> {out}
  %result = linalg.generic {{{_maps("i, j", "i", loops="i, j")}, iterator_types = ["parallel", "reduction"]}}
      ins(%x : {x}) outs(%filled : {out}) {{
  ^bb0(%a: f32, %sum: f32):
    %f = math.{function} %a : f32
    %s = arith.{combiner} %f, %sum : f32
    linalg.yield %s : f32
  }} -> {out}
  return %result : {out}
}}"""


def softmax(chance: Random) -> str:
    """Return a softmax."""
    m, n = _sizes(chance, 2)
    x = _tensor("f32", m, n)  # in f16, the compiler calls a function that its linker does not find
    return f"""
func.func @main(%x: {x}) -> {x} {{
  %empty = tensor.empty() : {x}
  %result = linalg.softmax dimension(1) ins(%x : {x}) outs(%empty : {x}) -> {x}
  return %result : {x}
}}"""


def transposition(chance: Random) -> str:
    """Return a sum of a tensor and a transposed one."""
    m, n = _sizes(chance, 2)
    element = chance.choice(FLOATS)
    x, y = _tensor(element, m, n), _tensor(element, n, m)
    return f"""
func.func @main(%x: {x}, %y: {y}) -> {x} {{
  %empty = tensor.empty() : {x}
  %result = linalg.generic {{{_maps("i, j", "j, i", "i, j", loops="i, j")}, iterator_types = ["parallel", "parallel"]}}
      ins(%x, %y : {x}, {y}) outs(%empty : {x}) {{
  ^bb0(%a: {element}, %b: {element}, %out: {element}):
    %s = arith.addf %a, %b : {element}
    linalg.yield %s : {element}
  }} -> {x}
  return %result : {x}
}}"""


KINDS: Final[tuple[Callable[[Random], str], ...]] = (
    product,
    integer_product,
    convolution,
    elementwise,
    reduction,
    softmax,
    transposition,
)


def tasks(count: int, seed: int, flags: tuple[str, ...]) -> Iterator[tuple[str, TuningTask]]:
    """Yield this number of different dispatches with the kind of their program."""
    chance = Random(seed)
    keys: set[str] = set()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "program.mlir"
        while len(keys) < count:
            kind = KINDS[len(keys) % len(KINDS)]
            path.write_text(kind(chance))
            for task in read_program(str(path), flags).tasks[: count - len(keys)]:
                if task.key not in keys:
                    keys.add(task.key)
                    yield kind.__name__, task


def findings(
    task: TuningTask, device: Device, compiler: CandidateCompiler, references: References
) -> list[str]:
    """Return the objections of the references; empty if both accept the result."""
    compiled = compiler.submit_program(task.source, "", SECONDS).result()
    if isinstance(compiled, Failure):
        return [f"not compiled: {compiled.message}"]
    outputs = device.outputs(task.benchmark(compiled.image))
    if isinstance(outputs, Failure):
        return [f"not run: {outputs.message}"]
    objections = []
    reference = references.reference(task)
    if isinstance(reference, Reference):
        failure = reference.compare(outputs, sums_of(task.source).error)
        if failure is not None:
            objections.append(f"alarm: {failure.message}")
    else:
        objections.append(f"no reference: {reference}")
    verdict = references.judge_by_points(task, outputs)
    if verdict is None:
        objections.append("not evaluated by NumPy")
    elif verdict.correctness is not Correctness.RIGHT or not verdict.reason.startswith("as NumPy"):
        objections.append(f"alarm: {verdict.correctness.value} by NumPy: {verdict.reason}")
    references.release(task)
    return objections


def main() -> None:
    """Run the campaign; the exit code is 1 if a right result raised an alarm."""
    parser = argparse.ArgumentParser(description="Compares right results with both references.")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--device", default="local-sync")
    parser.add_argument(
        "flags", nargs="*", help="flags of iree-compile; for the host's CPU by default"
    )
    arguments = parser.parse_args()
    flags = tuple(arguments.flags) or HOST
    counts: Counter[str] = Counter()
    with ExitStack() as opened:
        compiler = opened.enter_context(CandidateCompiler(flags, 2))
        device = opened.enter_context(DeviceProcess(arguments.device))
        references = opened.enter_context(References(0, SECONDS))
        for number, (kind, task) in enumerate(tasks(arguments.count, arguments.seed, flags), 1):
            objections = findings(task, device, compiler, references)
            counts.update({objection.partition(":")[0] for objection in objections} or {"right"})
            print(
                f"{number:4} {kind:16} {task.label}: {'; '.join(objections) or 'right'}", flush=True
            )
    print(", ".join(f"{count} {what}" for what, count in counts.most_common()))
    sys.exit(1 if counts["alarm"] else 0)


if __name__ == "__main__":
    main()
