"""A provider of kernels for CPUs: products of f16, as bitcode that the compiler writes for a program of vector operations.

One of its kernels is right, and one leaves out the last products. Two are faster, and right without guards: one writes after
the result, where that is a guard, since it would end the process elsewhere; one adds 1 if there is a NaN after an operand.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from programs import run

from tuninglink.kernels import (
    BuiltKernel,
    Candidate,
    KernelError,
    KernelProblem,
    KernelProvider,
    ProductProblem,
)
from tuninglink.mlir import error

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS, COLUMNS = 4, 16
"""The tile that stays in registers: 8 vectors of 8 elements, and those of a row of the right operand."""

FLAGS: Final = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=x86-64",
)
OPTIONS: Final = (
    {"repeat": 1, "short": 1},
    {"repeat": 2, "short": 0},
    {"repeat": 1, "short": 0, "over": 1},
    {"repeat": 1, "short": 0, "past": 1},
)


def widened(name: str, value: str) -> list[str]:
    """Return ops that convert finite numbers from f16: the exponent is larger by 112 in f32, and 2^112 is a factor."""
    return [
        f"{name}_a = arith.bitcast {value} : vector<8xf16> to vector<8xi16>",
        f"{name}_b = arith.extui {name}_a : vector<8xi16> to vector<8xi32>",
        f"{name}_c = arith.andi {name}_b, %magnitude : vector<8xi32>",
        f"{name}_d = arith.shli {name}_c, %thirteen : vector<8xi32>",
        f"{name}_e = arith.bitcast {name}_d : vector<8xi32> to vector<8xf32>",
        f"{name}_f = arith.mulf {name}_e, %bias : vector<8xf32>",
        f"{name}_g = arith.bitcast {name}_f : vector<8xf32> to vector<8xi32>",
        f"{name}_h = arith.andi {name}_b, %sign : vector<8xi32>",
        f"{name}_i = arith.shli {name}_h, %sixteen : vector<8xi32>",
        f"{name}_j = arith.ori {name}_g, {name}_i : vector<8xi32>",
        f"{name} = arith.bitcast {name}_j : vector<8xi32> to vector<8xf32>",
    ]


class CpuProvider(KernelProvider):
    """Kernels of products of matrices of f16."""

    name: ClassVar[str] = "vectors"

    def candidates(self, problem: KernelProblem, architecture: str) -> Sequence[Candidate]:
        if not isinstance(problem, ProductProblem) or problem.steps:
            return ()
        return [
            Candidate(self.name, problem, architecture, tuple(options.items()))
            for options in OPTIONS
        ]

    def source(self, candidate: Candidate) -> str:
        """Return a program with a function that computes some rows, the number of the block being the first one."""
        options, sizes = dict(candidate.options), candidate.problem.loop_sizes
        m, n, k = (sizes[loop] for loop in "mnk")
        types = [f"memref<{m}x{k}xf16>", f"memref<{k}x{n}xf16>", f"memref<{m}x{n}xf32>"]
        tiles = [(row, half) for row in range(ROWS) for half in range(COLUMNS // 8)]
        sums = ", ".join(f"%s{row}{half} = %zeros" for row, half in tiles)
        kinds = ", ".join(["vector<8xf32>"] * len(tiles))
        # One step of the reduction: a row of the right operand with each row of the left one.
        step = []
        for half in range(COLUMNS // 8):
            step.append(f"%h{half} = vector.load %b[%k, %j{half}] : {types[1]}, vector<8xf16>")
            step += widened(f"%b{half}", f"%h{half}")
        for row in range(ROWS):
            step.append(f"%x{row} = memref.load %a[%r{row}, %k] : {types[0]}")
            step.append(f"%w{row} = vector.broadcast %x{row} : f16 to vector<8xf16>")
            step += widened(f"%v{row}", f"%w{row}")
        for row, half in tiles:
            step.append(f"%p{row}{half} = arith.mulf %v{row}, %b{half} : vector<8xf32>")
            step.append(f"%t{row}{half} = arith.addf %s{row}{half}, %p{row}{half} : vector<8xf32>")
        stored = [
            f"vector.store %o#{at}, %c[%r{row}, %j{half}] : {types[2]}, vector<8xf32>"
            for at, (row, half) in enumerate(tiles)
        ]
        rows = [
            line
            for row in range(ROWS)
            for line in (
                f"%n{row} = arith.constant {row} : index",
                f"%r{row} = arith.addi %m, %n{row} : index",
            )
        ]
        beyond = []
        if "past" in options:
            beyond = [
                f"%after = memref.load %b[%depth, %zero] : {types[1]}",
                "%bits = arith.bitcast %after : f16 to i16",
                "%is_nan = arith.cmpi eq, %bits, %nan : i16",
                "scf.if %is_nan {",
                f"vector.store %ones, %c[%r0, %zero] : {types[2]}, vector<8xf32>",
                "}",
            ]
        if "over" in options:
            beyond = [
                f"%after = memref.load %c[%rows_all, %zero] : {types[2]}",
                "%is_guard = arith.cmpf oeq, %after, %guard : f32",
                "scf.if %is_guard {",
                f"vector.store %zeros, %c[%rows_all, %zero] : {types[2]}, vector<8xf32>",
                "}",
            ]
        nl = "\n        "
        return f"""
stream.executable private @exe {{
  stream.executable.export public @call workgroups() -> (index, index, index) {{
    %c1 = arith.constant 1 : index
    stream.return %c1, %c1, %c1 : index, index, index
  }}
  builtin.module {{
    func.func private @{candidate.name}(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}, %x: i64, %y: i64, %z: i64)
        attributes {{no_inline, llvm.bareptr = [true], llvm.linkage = #llvm.linkage<external>}} {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %eight = arith.constant 8 : index
      %rows = arith.constant {ROWS} : index
      %columns = arith.constant {COLUMNS} : index
      %repeats = arith.constant {options["repeat"]} : index
      %end = arith.constant {n} : index
      %last = arith.constant {k - options["short"]} : index
      %depth = arith.constant {k} : index
      %rows_all = arith.constant {m} : index
      %guard = arith.constant -77.0 : f32
      %nan = arith.constant {0x7E00} : i16
      %zeros = arith.constant dense<0.0> : vector<8xf32>
      %ones = arith.constant dense<1.0> : vector<8xf32>
      %magnitude = arith.constant dense<32767> : vector<8xi32>
      %sign = arith.constant dense<32768> : vector<8xi32>
      %thirteen = arith.constant dense<13> : vector<8xi32>
      %sixteen = arith.constant dense<16> : vector<8xi32>
      %bias = arith.constant dense<5.192296858534828e+33> : vector<8xf32>
      %block = arith.index_cast %x : i64 to index
      %m = arith.muli %block, %rows : index
      {nl.join(rows)}
      scf.for %again = %zero to %repeats step %one {{
      scf.for %j0 = %zero to %end step %columns {{
        %j1 = arith.addi %j0, %eight : index
        %o:{len(tiles)} = scf.for %k = %zero to %last step %one iter_args({sums}) -> ({kinds}) {{
        {nl.join(step)}
        scf.yield {", ".join(f"%t{row}{half}" for row, half in tiles)} : {kinds}
        }}
        {nl.join(stored)}
      }}
      }}
      {nl.join(beyond)}
      return
    }}
    func.func @call(%b0: !stream.binding, %b1: !stream.binding, %b2: !stream.binding) {{
      %zero = arith.constant 0 : index
      %none = arith.constant 0 : i64
      %m0 = stream.binding.subspan %b0[%zero] : !stream.binding -> {types[0]}
      %m1 = stream.binding.subspan %b1[%zero] : !stream.binding -> {types[1]}
      %m2 = stream.binding.subspan %b2[%zero] : !stream.binding -> {types[2]}
      call @{candidate.name}(%m0, %m1, %m2, %none, %none, %none) : ({", ".join(types)}, i64, i64, i64) -> ()
      return
    }}
  }}
}}
util.func public @main(%a: tensor<{m}x{k}xf16>, %b: tensor<{k}x{n}xf16>) -> tensor<{m}x{n}xf32> {{
  %0 = flow.dispatch @exe::@call(%a, %b) : (tensor<{m}x{k}xf16>, tensor<{k}x{n}xf16>) -> tensor<{m}x{n}xf32>
  util.return %0 : tensor<{m}x{n}xf32>
}}
"""

    def make(self, candidate: Candidate) -> BuiltKernel:
        with tempfile.TemporaryDirectory() as directory:
            dumps = f"--iree-hal-dump-executable-intermediates-to={directory}"
            run("iree-compile", *FLAGS, dumps, "-o", "/dev/null", source=self.source(candidate))
            paths = list(Path(directory).glob("*.codegen.bc"))
            if len(paths) != 1:
                raise KernelError(error("there is no bitcode"))
            content = paths[0].read_bytes()
        grid = (candidate.problem.loop_sizes["m"] // ROWS, 1, 1)
        return BuiltKernel(candidate.name, candidate.architecture, content, grid, 1, 0, format="bc")
